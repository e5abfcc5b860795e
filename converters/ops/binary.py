"""Arithmetic, comparison and logic. One translation per Arithmetic serves all its forms (hybrid/ops/binary.py).

ONNX has no hypot, arctan2 or copysign, its Mod takes fractions only in C's sense, and onnxruntime divides integers by
zero by ending the process; these are written out so that every special case gives what MXNet gives.
"""

import math

import numpy as np

from hybrid.op import OPS
from hybrid.ops.binary import Mixed, Pair, Scalar, TrueDivide, common_dtype, quotient_dtype

from ..registry import to_onnx


def _integer(x):
    return x.dtype.kind in "iub"


def _add(b, lhs, rhs):
    return b.Or(lhs, rhs) if lhs.dtype.kind == "b" else b.Add(lhs, rhs)


def _multiply(b, lhs, rhs):
    return b.And(lhs, rhs) if lhs.dtype.kind == "b" else b.Mul(lhs, rhs)


def _guarded(b, function, lhs, rhs):
    """function(lhs, rhs) for integers, with 0 where rhs is 0."""
    if rhs.const is not None and np.all(rhs.const):
        return function(lhs, rhs)
    zero = b.Equal(rhs, 0)
    return b.Where(zero, 0, function(lhs, b.Where(zero, 1, rhs)))


def _on_floats(function):
    """The function, applied to integers as MXNet does: to their float32, rounded to float32, and cut off.

    It is computed in float64 in between: a float32 power that is an ulp too small would be cut to the wrong integer."""

    def translate(b, lhs, rhs):
        if not _integer(lhs):
            return function(b, lhs, rhs)
        wide = (b.cast(b.cast(x, np.float32), np.float64) for x in (lhs, rhs))
        return b.to_integer(b.cast(function(b, *wide), np.float32), lhs.dtype)

    return translate


def _divide(b, lhs, rhs):
    return _guarded(b, b.Div, lhs, rhs) if _integer(lhs) else b.Div(lhs, rhs)


def _mod(b, lhs, rhs):
    if _integer(lhs):
        return _guarded(b, b.Mod, lhs, rhs)
    rest = b.Mod(lhs, rhs, fmod=1)
    other_sign = b.Xor(b.Less(rest, 0), b.Less(rhs, 0))
    rest = b.Where(b.And(other_sign, b.Not(b.Equal(rest, 0))), b.Add(rest, rhs), rest)
    return b.Where(b.Equal(rhs, 0), 0, rest)


def _hypot(b, lhs, rhs):
    lhs, rhs = b.Abs(lhs), b.Abs(rhs)
    larger = b.Max(lhs, rhs)
    infinite = b.Or(b.Equal(lhs, np.inf), b.Equal(rhs, np.inf))
    scale = b.Where(b.Or(infinite, b.Equal(larger, 0)), 1, larger)
    lhs, rhs = b.Div(lhs, scale), b.Div(rhs, scale)
    y = b.Mul(scale, b.Sqrt(b.Add(b.Mul(lhs, lhs), b.Mul(rhs, rhs))))
    return b.Where(infinite, np.inf, y)


def _negative(b, x):
    """Whether the sign bit of a float is set, -0.0 included (NaN counts as positive)."""
    return b.Or(b.Less(x, 0), b.And(b.Equal(x, 0), b.Less(b.Div(1, x), 0)))


def _arctan2(b, lhs, rhs):
    down, left = _negative(b, lhs), _negative(b, rhs)
    y, x = b.Abs(lhs), b.Abs(rhs)
    larger, smaller = b.Max(y, x), b.Min(y, x)
    ratio = b.Where(b.Equal(larger, 0), 0, b.Div(smaller, larger))
    ratio = b.Where(b.Equal(smaller, np.inf), 1, ratio)
    angle = b.Atan(ratio)
    angle = b.Where(b.Greater(y, x), b.Sub(math.pi / 2, angle), angle)
    angle = b.Where(left, b.Sub(math.pi, angle), angle)
    return b.Where(down, b.Neg(angle), angle)


def _copysign(b, lhs, rhs):
    both = b.And(b.GreaterOrEqual(lhs, 0), b.GreaterOrEqual(rhs, 0))
    neither = b.And(b.Less(lhs, 0), b.Less(rhs, 0))
    return b.Where(b.Or(both, neither), lhs, b.Sub(0, lhs))


def _truths(function):
    """The function of two truth values, applied to whether lhs and rhs are other than 0 (NaN is)."""
    return lambda b, lhs, rhs: getattr(b, function)(*(b.cast(x, np.bool_) for x in (lhs, rhs)))


def _same(function):
    return lambda b, lhs, rhs: getattr(b, function)(lhs, rhs)


def _bits(logical, bitwise):
    """Bitwise operators exist since opset 18; bools have logical ones."""
    return lambda b, lhs, rhs: getattr(b, logical if lhs.dtype.kind == "b" else bitwise)(lhs, rhs)


TRANSLATIONS = {
    "add": _add,
    "subtract": _same("Sub"),
    "multiply": _multiply,
    "divide": _divide,
    "mod": _mod,
    "quotient": _on_floats(_same("Div")),
    "power": _on_floats(_same("Pow")),
    "hypot": _on_floats(_hypot),
    "maximum": _same("Max"),
    "minimum": _same("Min"),
    "equal": _same("Equal"),
    "not_equal": lambda b, lhs, rhs: b.Not(b.Equal(lhs, rhs)),
    "greater": _same("Greater"),
    "greater_equal": _same("GreaterOrEqual"),
    "less": _same("Less"),
    "less_equal": _same("LessOrEqual"),
    "logical_and": _truths("And"),
    "logical_or": _truths("Or"),
    "logical_xor": _truths("Xor"),
    "bitwise_and": _bits("And", "BitwiseAnd"),
    "bitwise_or": _bits("Or", "BitwiseOr"),
    "bitwise_xor": _bits("Xor", "BitwiseXor"),
    "arctan2": _on_floats(_arctan2),
    "copysign": _copysign,
}


def _pair(b, op, lhs, rhs):
    dtype = lhs.dtype
    if isinstance(op, Mixed):
        dtype = common_dtype(lhs.dtype, rhs.dtype)
    if isinstance(op, TrueDivide):
        dtype = quotient_dtype(dtype)
    return TRANSLATIONS[op.arithmetic.name](b, b.cast(lhs, dtype), b.cast(rhs, dtype))


def _scalar(b, op, data):
    dtype = op.common(data.dtype)
    data, number = b.cast(data, dtype), b.const(op.number(dtype))
    lhs, rhs = (number, data) if op.reflected else (data, number)
    return TRANSLATIONS[op.arithmetic.name](b, lhs, rhs)


for _name, _cls in OPS.items():
    if issubclass(_cls, Pair):
        to_onnx(_name)(_pair)
    elif issubclass(_cls, Scalar):
        to_onnx(_name)(_scalar)
