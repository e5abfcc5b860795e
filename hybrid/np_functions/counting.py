"""Sorting, counting and differences: what looks at elements beside each other."""

from __future__ import annotations

from typing import Any

from ..core.functions import NUMBER
from ..eager.array import NDArray
from .side import Side, function


def _without_order(name: str, order: Any) -> None:
    if order is not None:
        raise NotImplementedError(f"{name}: order is not supported, got {order!r}")


@function("np")
def argsort(F: Side, a: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:  # noqa: N803
    """The indices that sort an array along an axis, or all of it; int64. Raises NotImplementedError for an order."""
    _without_order("argsort", order)
    return F.ops._npi_argsort(a, axis=axis, is_ascend=True, dtype="int64")


@function("np")
def sort(F: Side, a: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:  # noqa: N803
    """An array sorted along an axis, or all of it. Raises NotImplementedError for an order."""
    _without_order("sort", order)
    return F.ops._npi_sort(a, axis=axis, is_ascend=True)


@function("np")
def unique(
    F: Side,  # noqa: N803
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """The different elements, sorted, or the different parts along an axis; where asked for in a tuple with the index of each
    one's first place, the indices of which the array can be made again, and how often each occurs."""
    found = F.ops._npi_unique(
        ar, return_index=return_index, return_inverse=return_inverse, return_counts=return_counts, axis=axis
    )
    return tuple(found) if isinstance(found, list) else found


@function("np", symbols=False)
def nonzero(F: Side, a: Any) -> tuple[Any, ...]:  # noqa: N803
    """The indices of the elements that are not 0: an int64 array for each axis."""
    found = F.ops._np_transpose(F.ops._npi_nonzero(a))
    return tuple(found[axis] for axis in range(len(found)))


@function("np")
def bincount(F: Side, x: Any, weights: Any = None, minlength: int = 0) -> Any:  # noqa: N803
    """Counts of 0, 1, 2, ... in an array of integers, or the sums of the weights of each.

    minlength: how many numbers to give at least. Raises TypeError for what is no array, ValueError for a minlength below 0."""
    if not isinstance(x, F.kind):
        raise TypeError(f"bincount: wanted an array of mx.np, got {type(x).__name__}")
    if minlength < 0:
        raise ValueError(f"bincount: minlength cannot be negative, got {minlength}")
    if weights is None:
        return F.ops._npi_bincount(x, minlength=minlength, has_weights=False)
    return F.ops._npi_bincount(x, weights, minlength=minlength, has_weights=True)


@function("np")
def histogram(
    F: Side,  # noqa: N803
    a: Any,
    bins: Any = 10,
    range: Any = None,
    normed: bool | None = None,
    weights: Any = None,
    density: bool | None = None,
) -> Any:
    """The number of elements in each of the bins, and the edges of those. bins: their number, with a range, or an array of edges.

    Raises NotImplementedError for what MXNet's operator does not do: bins found from the data, densities, weights."""
    for name, given in (("normed", normed), ("density", density)):
        if given is True:
            raise NotImplementedError(f"histogram: {name} is not supported")
    if weights is not None:
        raise NotImplementedError("histogram: weights are not supported")
    if isinstance(bins, NUMBER):
        if range is None:
            raise NotImplementedError("histogram: a number of bins needs a range")
        return F.ops._npi_histogram(a, bin_cnt=bins, range=tuple(range))
    if isinstance(bins, F.kind):
        return F.ops._npi_histogram(a, bins)
    if isinstance(bins, list | tuple | str):
        raise NotImplementedError(f"histogram: bins must be a number or an array of mx.np, got {type(bins).__name__}")
    raise ValueError(f"histogram: bins must be a number or an array of mx.np, got {type(bins).__name__}")


@function("np")
def diff(F: Side, a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:  # noqa: N803
    """The n-th differences of neighbours along an axis. Raises NotImplementedError for prepend and append."""
    if prepend or append:
        raise NotImplementedError("diff: prepend and append are not supported; concatenate first")
    return F.ops._npi_diff(a, n=n, axis=axis)


@function("np")
def ediff1d(F: Side, ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:  # noqa: N803
    """The differences of neighbours among all elements, with what is to stand before and behind them: arrays or numbers."""
    ends = {"to_begin": to_begin, "to_end": to_end}
    attributes: dict[str, Any] = {}
    for name, given in ends.items():
        array = isinstance(given, F.kind)
        attributes |= {f"{name}_arr_given": array, f"{name}_scalar": None if array else given}
    return F.ops._npi_ediff1d(ary, *(v for v in ends.values() if isinstance(v, NDArray | F.kind)), **attributes)
