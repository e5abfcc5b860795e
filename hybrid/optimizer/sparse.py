"""Row-sparse gradients: only the rows that they hold change, in the weight and in its states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..eager.sparse import RowSparseNDArray, rows_of_array, write_rows
from ..ndarray import NDArray


def by_rows(
    operator: Callable[..., Any],
    weight: NDArray,
    grad: NDArray,
    states: Sequence[NDArray],
    lazy_update: bool = True,
    **options: Any,
) -> None:
    """Write ``operator(weight, grad, *states)`` over the weight; with a row_sparse gradient and lazy_update in its rows only."""
    held = (weight, *states)
    if lazy_update and isinstance(grad, RowSparseNDArray):
        rows = grad.indices.asnumpy()
        if rows.size:
            parts = [NDArray._own(rows_of_array(array, rows), array.context) for array in held]
            operator(parts[0], grad.data, *parts[1:], out=parts[0], **options)
            for array, part in zip(held, parts):
                write_rows(array, rows, part.asnumpy())
        return
    whole = [array if array.stype == "default" else array.tostype("default") for array in held]
    operator(whole[0], grad, *whole[1:], out=whole[0], **options)
    for array, values in zip(held, whole):
        if values is not array:
            array[:] = values
