"""Rounding, clipping and choosing: element by element too, with more to say than an operator's name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.error import OperandError
from ..core.functions import NUMBER
from .counting import nonzero
from .side import Side, function


def _refuse(F: Side, name: str, given: Any) -> OperandError:  # noqa: N803
    return OperandError(f"{name}: type {type(given)} not supported; wanted a {F.kind.__name__} of mx.np or a number")


def _number(value: Any) -> float:
    return float(value)


def _define_round(name: str) -> None:
    def definition(F: Side, x: Any, decimals: int = 0, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803
        if isinstance(x, F.kind):
            return F.ops._npi_around(x, decimals=decimals, out=out, **kwargs)
        if isinstance(x, NUMBER):
            return np.around(x, decimals, **kwargs)
        raise _refuse(F, name, x)

    definition.__doc__ = "Round to that many decimals, halves to the even neighbour; an array or a number."
    function("np", name=name)(definition)


for _name in ("around", "round", "round_"):
    _define_round(_name)


@function("np")
def clip(F: Side, a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:  # noqa: N803
    """Clip every element to [a_min, a_max], of which one may be None. Raises ValueError where both are."""
    if a_min is None and a_max is None:
        raise ValueError("clip: neither a_min nor a_max is given")
    low, high = -np.inf if a_min is None else a_min, np.inf if a_max is None else a_max
    low, high = (end if type(end) is int else float(end) for end in (low, high))
    if isinstance(a, F.kind):
        return F.ops._npi_clip(a, a_min=low, a_max=high, out=out)
    if isinstance(a, NUMBER):
        return np.clip(a, a_min, a_max)
    raise _refuse(F, "clip", a)


@function("np")
def nan_to_num(
    F: Side,  # noqa: N803
    x: Any,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
    **kwargs: Any,
) -> Any:
    """Numbers in the place of NaN and the infinities, which become the largest and smallest of the dtype where none are given.

    copy: False to write to the array itself. Arrays of integers are given back as they are."""
    if isinstance(x, NUMBER):
        return np.nan_to_num(x, copy, nan, posinf, neginf)
    if not isinstance(x, F.kind):
        raise _refuse(F, "nan_to_num", x)
    if F.eager and x.dtype.kind in "iu":
        return x
    out = x if F.eager and not copy else None
    return F.ops._npi_nan_to_num(x, copy=copy, nan=nan, posinf=posinf, neginf=neginf, out=out)


@function("np")
def where(F: Side, condition: Any, x: Any = None, y: Any = None) -> Any:  # noqa: N803
    """The elements of x where the condition is not 0, else those of y; either may be a number. Without x and y the indices of
    what is not 0, as nonzero gives them."""
    if x is None and y is None and F.eager:
        return nonzero(F, condition)
    if isinstance(condition, NUMBER):
        return x if condition else y
    left, right = isinstance(x, F.kind), isinstance(y, F.kind)
    if left and right:
        return F.ops._npi_where(condition, x, y)
    if right:
        return F.ops._npi_where_lscalar(condition, y, scalar=_number(x))
    if left:
        return F.ops._npi_where_rscalar(condition, x, scalar=_number(y))
    if isinstance(x, NUMBER) and isinstance(y, NUMBER):
        return F.ops._npi_where_scalar2(condition, x=float(x), y=float(y))
    raise OperandError(f"where: types {type(x)} and {type(y)} not supported; wanted arrays of mx.np or numbers")
