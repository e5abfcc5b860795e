"""Arithmetic, comparison and logic. One translation per Arithmetic serves all its forms (hybrid/ops/binary.py).

ONNX has no hypot, arctan2 or copysign, its Mod takes fractions only in C's sense, and onnxruntime divides integers by
zero by ending the process; these are written out so that every special case gives what MXNet gives.
"""

import functools
import math

import numpy as np

from hybrid.core.op import Spec
from hybrid.core.shapes import identical, is_known
from hybrid.ops.binary import BinaryOp, BinaryScalarOp, PromotingBinaryOp, TrueDivide, common_dtype, quotient_dtype

from ..registry import exports, for_every_operator, imports
from .elementwise import holds_floats, is_short, is_whole, number


def _add(b, lhs, rhs):
    return b.Or(lhs, rhs) if lhs.dtype.kind == "b" else b.Add(lhs, rhs)


def _multiply(b, lhs, rhs):
    return b.And(lhs, rhs) if lhs.dtype.kind == "b" else b.Mul(lhs, rhs)


def _guard_zero(b, function, lhs, rhs):
    """function(lhs, rhs) for integers, with 0 where rhs is 0."""
    if rhs.const is not None and np.all(rhs.const):
        return function(lhs, rhs)
    zero = b.Equal(rhs, 0)
    return b.Where(zero, 0, function(lhs, b.Where(zero, 1, rhs)))


def _on_floats(function):
    """The function, applied to integers as MXNet does: to their float32, rounded to float32, and cut off.

    It is computed in float64 in between: a float32 power that is an ulp too small would be cut to the wrong integer."""

    def translate(b, lhs, rhs):
        if not is_whole(lhs):
            return function(b, lhs, rhs)
        wide = (b.cast(b.cast(x, np.float32), np.float64) for x in (lhs, rhs))
        return b.to_integer(b.cast(function(b, *wide), np.float32), lhs.dtype)

    return translate


def _divide(b, lhs, rhs):
    return _guard_zero(b, b.Div, lhs, rhs) if is_whole(lhs) else b.Div(lhs, rhs)


def _mod(b, lhs, rhs):
    if is_whole(lhs):
        return _guard_zero(b, b.Mod, lhs, rhs)
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
    """True where the sign bit of a float is set, -0.0 included (NaN counts as positive)."""
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


def _lcm(b, lhs, rhs):
    """|lhs| / gcd * |rhs|; the greatest common divisor by Euclid's steps, of which int64 needs 91 at most."""
    dtype = lhs.dtype
    if dtype.kind == "b":
        return b.And(lhs, rhs)
    lhs, rhs = b.Abs(b.cast(lhs, np.int64)), b.Abs(b.cast(rhs, np.int64))
    larger, smaller = b.Add(lhs, b.Mul(rhs, 0)), b.Add(rhs, b.Mul(lhs, 0))  # of the common shape

    def unfinished(builder, rest):
        left = builder.reduce(
            "Max", builder.Concat(builder.reshape(rest, [-1]), builder.const([0]), axis=0), None, keepdims=False
        )
        return builder.Greater(left, 0)

    def step(inner, _, going, divisor, rest):
        done = inner.Equal(rest, 0)
        after = inner.Where(done, 0, inner.Mod(divisor, inner.Where(done, 1, rest)))
        return [unfinished(inner, after), inner.Where(done, divisor, rest), after]

    count, going = Spec((), np.dtype(np.int64)), Spec((), np.dtype(np.bool_))
    graph = b.body(step, count, going, np.int64, np.int64)
    divisor, _ = b.Loop(b.const(100), unfinished(b, smaller), larger, smaller, outputs=2, body=graph)
    return b.cast(b.Mul(b.Div(lhs, b.Max(divisor, 1)), rhs), dtype)


def _ldexp(b, lhs, rhs):
    wide = b.wide(lhs)
    return b.cast(b.Mul(wide, b.Pow(b.like(2, wide), b.wide(rhs))), lhs.dtype)


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
    "lcm": _lcm,
    "ldexp": _on_floats(_ldexp),
}


def _pair(b, op, lhs, rhs):
    dtype = lhs.dtype
    if isinstance(op, PromotingBinaryOp):
        dtype = common_dtype(lhs.dtype, rhs.dtype)
    if isinstance(op, TrueDivide):
        dtype = quotient_dtype(dtype)
    return TRANSLATIONS[op.arithmetic.name](b, b.cast(lhs, dtype), b.cast(rhs, dtype))


def _scalar(b, op, data):
    dtype = op.common(data.dtype)
    data, number = b.cast(data, dtype), b.const(op.number(dtype))
    lhs, rhs = (number, data) if op.reflected else (data, number)
    return TRANSLATIONS[op.arithmetic.name](b, lhs, rhs)


@for_every_operator
def export_arithmetic(name, cls):
    """Register arithmetic of two arrays, and of an array and a number."""
    if cls.means(BinaryOp):
        exports(name)(_pair)
    elif cls.means(BinaryScalarOp):
        exports(name)(_scalar)


# -- reading -------------------------------------------------------------------------------------------------------------


def align(g, a, b, broadcast, axis):
    """b as it broadcasts with a by NumPy's rules; before opset 7 its first dim belongs to a's axis where one is given."""
    if not broadcast or axis is None or b.rank == 0:
        return b
    trailing = a.rank - a.normalize_axis(axis) - b.rank
    return g.Reshape(b, shape=(*[0] * b.rank, *[1] * trailing)) if trailing > 0 else b


def scalar_operand(data, constant):
    """The number to apply to data instead of a constant, where that gives an array of the shape of data; else None."""
    value = number(constant)
    if value is None or (constant.const.ndim and (data.shape is None or constant.const.ndim > len(data.shape))):
        return None
    return value


class OperatorForms:
    """The operators by which MXNet does one thing: to two arrays, and to an array and a number on either side."""

    def __init__(self, broadcasting, same=None, right=None, left=None):
        self.broadcasting, self.same, self.right, self.left = broadcasting, same, right, left

    def __call__(self, g, a, b):
        """Append the one that fits the inputs best."""
        if self.right is not None and (value := scalar_operand(a, b)) is not None:
            return g.apply(self.right, a, scalar=value)
        if self.left is not None and (value := scalar_operand(b, a)) is not None:
            return g.apply(self.left, b, scalar=value)
        if self.same is not None and a.shape is not None and is_known(a.shape) and identical(a.shape, b.shape):
            return g.apply(self.same, a, b)
        return g.apply(self.broadcasting, a, b)


ADD = OperatorForms("broadcast_add", "elemwise_add", "_plus_scalar", "_plus_scalar")
SUBTRACT = OperatorForms("broadcast_sub", "elemwise_sub", "_minus_scalar", "_rminus_scalar")
MULTIPLY = OperatorForms("broadcast_mul", "elemwise_mul", "_mul_scalar", "_mul_scalar")
DIVIDE = OperatorForms("broadcast_div", "elemwise_div", "_div_scalar", "_rdiv_scalar")
DIVIDE_WHOLE = OperatorForms("broadcast_div", "elemwise_div", "_div_scalar")
POWER = OperatorForms("broadcast_power", None, "_power_scalar", "_rpower_scalar")
MAXIMUM = OperatorForms("broadcast_maximum", None, "_maximum_scalar", "_maximum_scalar")
MINIMUM = OperatorForms("broadcast_minimum", None, "_minimum_scalar", "_minimum_scalar")
COMPARISONS = {
    "Equal": OperatorForms("_npi_equal", None, "_npi_equal_scalar", "_npi_equal_scalar"),
    "Greater": OperatorForms("_npi_greater", None, "_npi_greater_scalar", "_npi_less_scalar"),
    "Less": OperatorForms("_npi_less", None, "_npi_less_scalar", "_npi_greater_scalar"),
    "GreaterOrEqual": OperatorForms("_npi_greater_equal", None, "_npi_greater_equal_scalar", "_npi_less_equal_scalar"),
    "LessOrEqual": OperatorForms("_npi_less_equal", None, "_npi_less_equal_scalar", "_npi_greater_equal_scalar"),
}
LOGIC = {
    "And": OperatorForms("_npi_bitwise_and"),
    "Or": OperatorForms("_npi_bitwise_or"),
    "Xor": OperatorForms("_npi_bitwise_xor"),
}


def _divide_as_mxnet(g, a, b):
    return (DIVIDE if holds_floats(a) else DIVIDE_WHOLE)(g, a, b)


def _power(g, x, y):
    if holds_floats(x) and (
        (y.dtype is not None and x.dtype == y.dtype) or (scalar_operand(x, y) is not None and not is_short(x))
    ):
        return POWER(g, x, y)
    return g.apply("_onnx_Pow", x, y)


def _compare(name):
    form = COMPARISONS[name]
    return lambda g, a, b: (
        g.apply("_onnx_Equal", a, b) if a.dtype is not None and a.dtype.kind == "O" else form(g, a, b)
    )


def _of_two(read):
    """A reading that takes two inputs and nothing else, whatever read could take."""
    return lambda g, a, b: read(g, a, b)


def _both_forms(name, read):
    """Registers read(g, a, b) for opsets that broadcast by NumPy's rules, and the older form of an operator that has one."""

    def old(g, a, b, *, broadcast=0, axis=None):
        return read(g, a, align(g, a, b, broadcast, axis))

    if not name.endswith("OrEqual"):
        imports(name)(old)
    imports(name, since=7)(_of_two(read))


ARITHMETIC_READ = {"Add": ADD, "Sub": SUBTRACT, "Mul": MULTIPLY, "Div": _divide_as_mxnet, "Pow": _power}
for _name, _read in (ARITHMETIC_READ | {n: _compare(n) for n in COMPARISONS} | LOGIC).items():
    _both_forms(_name, _read)

for _name in ("And", "Or", "Xor"):
    imports(f"Bitwise{_name}", since=18)(_of_two(LOGIC[_name]))


def _chain_of_pairs(form):
    """A reading of an operator with any number of inputs as a chain of pairs."""
    return lambda g, first, *others: (
        functools.reduce(functools.partial(form, g), others, first) if others else g.identity(first)
    )


_total = _chain_of_pairs(ADD)
imports("Max")(_chain_of_pairs(MAXIMUM))
imports("Min")(_chain_of_pairs(MINIMUM))


@imports("Sum")
def import_sum(g, first, *others):
    if len(others) > 1 and is_short(first):
        return g.apply("_onnx_Sum", first, *others)
    equal = is_known(first.shape) and all(identical(first.shape, a.shape) for a in others)
    if len(others) > 1 and equal:
        return g.add_n(first, *others)
    return _total(g, first, *others)


@imports("Mean")
def import_mean(g, first, *others):
    if others and is_short(first):
        return g.apply("_onnx_Mean", first, *others)
    y = _total(g, first, *others)
    return g.apply("_div_scalar", y, scalar=float(1 + len(others))) if others else y


@imports("Mod", since=10)
def import_mod(g, a, b, *, fmod=0):
    if not fmod and a.dtype is not None and a.dtype.kind in "iu":
        return g.broadcast_mod(a, b)
    return g.passthrough(a, b, fmod=bool(fmod))
