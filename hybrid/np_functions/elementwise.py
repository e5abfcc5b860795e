"""Element by element: functions of one array, and of two of which either may be a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.error import OperandError
from ..core.functions import NUMBER
from ..core.op import INSTANCES, Op, lookup
from ..eager.array import _default, invoke
from .side import Side, function


class Binary(NamedTuple):
    """A function of two arguments: its operators for two arrays, for an array and a number, and for a number and an array."""

    name: str
    dunder: str | None
    """Python's operator without its underscores, where there is one."""
    array: str
    scalar: str
    reflected: str
    plain: Callable[[Any, Any], Any]
    """For two numbers."""


def _row(
    name: str, dunder: str | None = None, reflected: str | None = None, op: str | None = None, plain: Any = None
) -> Binary:
    array = f"_npi_{op or name}"
    return Binary(
        name, dunder, array, f"{array}_scalar", f"_npi_{reflected or op or name}_scalar", plain or getattr(np, name)
    )


BINARY = {
    row.name: row
    for row in (
        _row("add", "add"),
        _row("subtract", "sub", "rsubtract"),
        _row("multiply", "mul"),
        _row("true_divide", "truediv", "rtrue_divide"),
        _row("divide", None, "rtrue_divide", "true_divide"),
        _row("mod", "mod", "rmod"),
        _row("remainder", None, "rmod", "mod"),
        _row("power", "pow", "rpower"),
        _row("maximum"),
        _row("minimum"),
        _row("arctan2", None, "rarctan2"),
        _row("copysign", None, "rcopysign"),
        _row("hypot"),
        _row("ldexp", None, "rldexp"),
        _row("lcm"),
        _row("bitwise_and", "and"),
        _row("bitwise_or", "or"),
        _row("bitwise_xor", "xor"),
        _row("equal", "eq"),
        _row("not_equal", "ne"),
        _row("greater", "gt", "less"),
        _row("greater_equal", "ge", "less_equal"),
        _row("less", "lt", "greater"),
        _row("less_equal", "le", "greater_equal"),
    )
}
_SCALARS: dict[tuple[str, float, bool], Op] = {}


def _is_whole(number: Any) -> bool:
    """True for numbers of Python's or NumPy's integers and bools."""
    return isinstance(number, int | np.integer | np.bool_)


def _scalar(name: str, number: Any) -> Op:
    """The operator of a number, remembered (0.0 and -0.0 are equal, so they are not).

    MXNet takes every number beside an array for a whole one, so that integers stay integers and what 2.5 has behind the point is
    lost, and looks beside symbols. Here it is looked at beside arrays too: the sum of integers and 2.5 is of float64."""
    value, whole = float(number), _is_whole(number)
    key = (name, value, whole)
    found = _SCALARS.get(key) if value else None
    if found is None:
        found = lookup(name).bind(scalar=value, is_int=whole)
        if len(_SCALARS) >= INSTANCES:
            _SCALARS.clear()
        if value:
            _SCALARS[key] = found
    return found


DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
"""NumPy's keywords of element-wise functions, which may be given as long as they change nothing."""
_DTYPES = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")
_LEGAL: dict[str, Callable[[Any], bool]] = {
    "where": lambda value: True,
    "casting": lambda value: value in ("no", "equiv", "safe", "same_kind", "unsafe"),
    "order": lambda value: isinstance(value, str),
    "dtype": lambda value: value in _DTYPES or getattr(value, "__name__", None) in _DTYPES,
    "subok": lambda value: isinstance(value, bool),
}


def only_defaults(name: str, given: dict[str, Any]) -> None:
    """Raise NotImplementedError for keywords of NumPy that would change something, TypeError for others."""
    for key, value in given.items():
        if key not in DEFAULTS:
            raise TypeError(f"{key} is an invalid keyword to function {name!r}")
        if value != DEFAULTS[key]:
            if _LEGAL[key](value):
                raise NotImplementedError(f"{name}: {key}={value} is not supported")
            raise TypeError(f"{name}: {key}={value} means nothing")


def binary(F: Side, row: Binary, x1: Any, x2: Any, out: Any = None) -> Any:  # noqa: N803
    """A function of two arguments of which either may be a number. Raises OperandError (a TypeError) for anything else."""
    left, right = isinstance(x1, F.kind), isinstance(x2, F.kind)
    if left and right:
        return (
            getattr(F.ops, row.array)(x1, x2, out=out)
            if not F.eager or out is not None
            else invoke(_default(row.array), (x1, x2))
        )
    if (left or isinstance(x1, NUMBER)) and (right or isinstance(x2, NUMBER)):
        if not left and not right:
            return row.plain(x1, x2)
        array: Any = x1 if left else x2
        name, number = (row.scalar, x2) if left else (row.reflected, x1)
        if F.eager and out is None:
            return invoke(_scalar(name, number), (array,))
        return getattr(F.ops, name)(array, scalar=float(number), is_int=_is_whole(number), out=out)
    wrong = x2 if left or isinstance(x1, NUMBER) else x1
    raise OperandError(f"{row.name}: type {type(wrong)} not supported; wanted {F.kind.__name__}s of mx.np or numbers")


def _define_binary(row: Binary) -> None:
    def plain(F: Side, x1: Any, x2: Any, out: Any = None) -> Any:  # noqa: N803
        return binary(F, row, x1, x2, out)

    def definition(F: Side, x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803
        if kwargs:
            only_defaults(row.name, kwargs)
        return binary(F, row, x1, x2, out)

    without = row.name in ("true_divide", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
    chosen = plain if without else definition
    chosen.__doc__ = f"``{row.name}`` of two arrays, which broadcast, or of an array and a number, element by element."
    function("np", name=row.name)(chosen)


for _binary_row in BINARY.values():
    _define_binary(_binary_row)

UNARY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **{
        name: (f"_npi_{name}", getattr(np, name))
        for row in (
            "absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil cos cosh degrees exp expm1 fix floor",
            "isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not negative radians reciprocal rint sign sin",
            "sinh sqrt square tan tanh trunc",
        )
        for name in row.split()
    },
    "abs": ("_npi_absolute", np.absolute),
    "fabs": ("_npi_absolute", np.fabs),
    "deg2rad": ("_npi_radians", np.deg2rad),
    "rad2deg": ("_npi_degrees", np.rad2deg),
    "invert": ("_npi_bitwise_not", np.invert),
}
"""Functions of one array: their operator, and NumPy's for a number."""

_TESTS = ("isfinite", "isinf", "isnan", "isneginf", "isposinf")


def unary(F: Side, name: str, x: Any, out: Any = None) -> Any:  # noqa: N803
    """A function of an array, or of a number, for which NumPy answers. Raises OperandError (a TypeError) for anything else."""
    op, plain = UNARY[name]
    if isinstance(x, F.kind):
        if out is not None and name in _TESTS and F.eager and out.dtype != np.bool_:
            raise OperandError(f"{name}: out must be of dtype bool, got {out.dtype}")
        return invoke(_default(op), (x,)) if out is None and F.eager else getattr(F.ops, op)(x, out=out)
    if isinstance(x, NUMBER):
        return plain(x)
    raise OperandError(f"{name}: type {type(x)} not supported; wanted a {F.kind.__name__} of mx.np or a number")


def _define_unary(name: str) -> None:
    def definition(F: Side, x: Any, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803
        if kwargs:
            only_defaults(name, kwargs)
        return unary(F, name, x, out)

    definition.__doc__ = f"``{name}`` of an array, element by element, or of a number."
    function("np", name=name)(definition)


for _unary_name in UNARY:
    _define_unary(_unary_name)
