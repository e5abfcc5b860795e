"""Sums, means and extremes: what makes fewer numbers of many."""

from __future__ import annotations

from typing import Any

from ..core.functions import NUMBER
from .side import Side, function


def along(F: Side, a: Any, axis: Any) -> Any:  # noqa: N803
    """The axis, or None where an array without axes is given the first or last: as NumPy and MXNet have it, that is all of it."""
    if axis is None or (type(axis) is int and axis > 0) or not F.eager or not isinstance(a, F.kind) or a.shape:
        return axis
    return None if axis in (0, -1, (0,), (-1,)) else axis


def _plainly(op: Any, a: Any, axis: Any, out: Any) -> Any:
    """A reduction without any attribute but the axis: what is not said need not be looked up in each call."""
    return op(a, out=out) if axis is None else op(a, axis=axis, out=out)


@function("np")
def sum(
    F: Side,  # noqa: N803
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: float | None = None,
    out: Any = None,
) -> Any:
    """The sum of all elements, or of those along axes. initial: what it begins with."""
    axis = along(F, a, axis)
    if dtype is None and initial is None and keepdims is False:
        return _plainly(F.ops._np_sum, a, axis, out)
    return F.ops._np_sum(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, out=out)


def _define_product(name: str) -> None:
    def product(
        F: Side,  # noqa: N803
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: float | None = None,
    ) -> Any:
        axis = along(F, a, axis)
        if initial is not None:
            return F.ops._np_prod(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, out=out)
        return F.ops._np_prod(a, out=out, axis=axis, dtype=dtype, keepdims=keepdims)

    product.__doc__ = "The product of all elements, or of those along axes. initial: what it begins with."
    function("np", name=name)(product)


for _product in ("prod", "product"):
    _define_product(_product)


def _define_extreme(name: str, op: str) -> None:
    def extreme(
        F: Side,  # noqa: N803
        a: Any,
        axis: Any = None,
        keepdims: bool = False,
        out: Any = None,
        initial: float | None = None,
    ) -> Any:
        axis = along(F, a, axis)
        if initial is None and keepdims is False:
            return _plainly(getattr(F.ops, op), a, axis, out)
        return getattr(F.ops, op)(a, axis=axis, keepdims=keepdims, initial=initial, out=out)

    extreme.__doc__ = (
        f"The {'largest' if op == '_np_max' else 'smallest'} of all elements, or of those along axes. "
        "Raises MXNetError for an initial value, which MXNet does not have."
    )
    function("np", name=name)(extreme)


def _define_test(name: str, op: str) -> None:
    def test(F: Side, a: Any, axis: Any = None, keepdims: bool = False, out: Any = None) -> Any:  # noqa: N803
        return getattr(F.ops, op)(a, out=out, axis=along(F, a, axis), keepdims=keepdims)

    test.__doc__ = f"True where {'all' if op == '_np_all' else 'any'} elements, or of those along axes, are not 0."
    function("np", name=name)(test)


for _name, _op in (("max", "_np_max"), ("amax", "_np_max"), ("min", "_np_min"), ("amin", "_np_min")):
    _define_extreme(_name, _op)
for _name, _op in (("all", "_np_all"), ("any", "_np_any"), ("sometrue", "_np_any")):
    _define_test(_name, _op)


@function("np")
def mean(
    F: Side,  # noqa: N803
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
) -> Any:
    """The mean of all elements, or of those along axes; of integers as float32."""
    axis = along(F, a, axis)
    if dtype is None and keepdims is False:
        return _plainly(F.ops._npi_mean, a, axis, out)
    return F.ops._npi_mean(a, axis=axis, dtype=dtype, keepdims=keepdims, out=out)


def _define_spread(name: str, what: str) -> None:
    op = f"_npi_{name}"

    def spread(
        F: Side,  # noqa: N803
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Any:
        axis = along(F, a, axis)
        return getattr(F.ops, op)(a, out=out, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)

    spread.__doc__ = f"The {what} of all elements, or of those along axes. ddof: what is taken off their number."
    function("np", name=name)(spread)


_define_spread("std", "standard deviation")
_define_spread("var", "variance")


@function("np")
def average(
    F: Side,  # noqa: N803
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    out: Any = None,
) -> Any:
    """The mean of all elements, or of those along axes, each as often as its weight says. returned: a list of it and the sum of
    the weights."""
    if weights is None:
        return F.ops._npi_average(a, axis=along(F, a, axis), returned=returned, weighted=False, out=out)
    return F.ops._npi_average(a, weights, axis=axis, returned=returned, weighted=True, out=out)


def _define_place(name: str) -> None:
    op = f"_npi_{name}"

    def place(F: Side, a: Any, axis: Any = None, out: Any = None) -> Any:  # noqa: N803
        return getattr(F.ops, op)(a, out=out, axis=along(F, a, axis), keepdims=False)

    which = "largest" if name == "argmax" else "smallest"
    place.__doc__ = f"The index of the {which} element, of all (flat) or along an axis; int64."
    function("np", name=name)(place)


for _name in ("argmax", "argmin"):
    _define_place(_name)


@function("np")
def cumsum(F: Side, a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:  # noqa: N803
    """The sums of all elements so far, of all (flat) or along an axis."""
    return F.ops._np_cumsum(a, out=out, axis=axis, dtype=dtype)


@function("np")
def trace(F: Side, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None) -> Any:  # noqa: N803
    """The sums of the diagonals of an array's matrices."""
    return F.ops._np_trace(a, offset=offset, axis1=axis1, axis2=axis2, out=out)


def _quantile(
    F: Side,  # noqa: N803
    name: str,
    a: Any,
    q: Any,
    scale: float,
    axis: Any,
    out: Any,
    overwrite_input: Any,
    interpolation: str,
    keepdims: bool,
) -> Any:
    if overwrite_input is not None:
        raise NotImplementedError(f"{name}: overwrite_input is not supported")
    rest = {"axis": axis, "interpolation": interpolation, "keepdims": keepdims, "out": out}
    if isinstance(q, NUMBER):
        return F.ops._npi_percentile(a, q_scalar=q * scale, **rest)
    return F.ops._npi_percentile(a, q if scale == 1 else q * scale, **rest)


@function("np")
def percentile(
    F: Side,  # noqa: N803
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool | None = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The numbers below which q percent of the elements are, of all or of those along axes. q: a number or an array.

    Raises NotImplementedError for overwrite_input."""
    return _quantile(F, "percentile", a, q, 1, axis, out, overwrite_input, interpolation, keepdims)


@function("np")
def quantile(
    F: Side,  # noqa: N803
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool | None = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The numbers below which that share of the elements is, of all or of those along axes. q: a number or an array.

    Raises NotImplementedError for overwrite_input."""
    return _quantile(F, "quantile", a, q, 100, axis, out, overwrite_input, interpolation, keepdims)
