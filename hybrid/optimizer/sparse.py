"""Row-sparse gradients: only the rows that they hold change, in the weight and in its states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
    in_rows = grad.stype == "row_sparse" and lazy_update
    rows: Any = grad.indices if in_rows else None  # type: ignore[attr-defined]
    if in_rows and not rows.size:
        return
    held = (weight, *states)
    whole = [array if array.stype == "default" else array.tostype("default") for array in held]
    if not in_rows:
        operator(whole[0], grad, *whole[1:], out=whole[0], **options)
    else:
        parts = [array[rows] for array in whole]
        operator(parts[0], grad.data, *parts[1:], out=parts[0], **options)  # type: ignore[attr-defined]
        for array, part in zip(whole, parts):
            array[rows] = part
    for array, values in zip(held, whole):
        if values is not array:
            array[:] = values
