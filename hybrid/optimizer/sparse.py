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
    if grad.stype != "row_sparse" or not lazy_update:
        operator(weight, grad, *states, out=weight, **options)
        return
    rows = grad.indices  # type: ignore[attr-defined]
    if not rows.size:
        return
    parts = [array[rows] for array in (weight, *states)]
    operator(parts[0], grad.data, *parts[1:], out=parts[0], **options)  # type: ignore[attr-defined]
    for array, part in zip((weight, *states), parts):
        array[rows] = part
