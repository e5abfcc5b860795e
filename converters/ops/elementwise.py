"""Functions of one element. One translation per UnaryFunction serves all its operators (hybrid/ops/elementwise.py)."""

import math

import numpy as np

from hybrid.core.attrs import is_float
from hybrid.ops.elementwise import Identity, Unary, UnaryPredicate
from hybrid.ops.unary_functions import DEGREES, RADIANS

from ..guards import is_nan, may_hold_nan
from ..registry import exports, for_every_operator, imports
from . import special


def is_whole(x):
    """True for integers and bools."""
    return x.dtype.kind in "iub"


def _same(function):
    return lambda b, x: getattr(b, function)(x)


def _times(factor):
    return lambda b, x: b.Mul(x, factor)


def _negative(b, x):
    return b.Sub(0, x) if x.dtype.kind == "u" else b.Neg(x)


def _sign(b, x):
    return b.Sign(x) if is_whole(x) or not may_hold_nan(b, x) else b.Where(is_nan(b, x), 0, b.Sign(x))


def _trunc(b, x):
    return b.Where(b.Less(x, 0), b.Ceil(x), b.Floor(x))


def _rint(b, x):
    floor, ceil = b.Floor(x), b.Ceil(x)
    return b.Where(b.LessOrEqual(b.Sub(x, floor), b.Sub(ceil, x)), floor, ceil)


def _round(b, x):
    size = b.Abs(x)
    floor = b.Floor(size)
    up = b.GreaterOrEqual(b.Sub(size, floor), 0.5)
    return b.Mul(b.Sign(x), b.Where(up, b.Add(floor, 1), floor))


def _erfinv(b, x):
    y = special.erfinv(b, b.cast(x, np.float64))
    return b.Where(b.IsNaN(y), 0, y) if is_whole(x) else y  # no whole number is NaN


def _is_infinite(**signs):
    return lambda b, x: b.IsInf(x, **signs)


def _finite(b, x):
    return b.Less(b.Abs(x), np.inf)


def _sinh(b, x):
    """Written out for float64, which onnxruntime would compute in float32: a series below 1, exponentials above."""
    if x.dtype != np.float64:
        return b.Sinh(x)
    square = b.Mul(x, x)
    series = b.like(1.0, x)
    for n in range(16, 0, -2):
        series = b.Add(1, b.Mul(b.Mul(square, 1 / (n * (n + 1))), series))
    half, size = math.log(2), b.Abs(x)
    large = b.Mul(b.Sign(x), b.Sub(b.Exp(b.Sub(size, half)), b.Exp(b.Sub(-half, size))))
    return b.Where(b.Less(size, 1), b.Mul(x, series), large)


def _cosh(b, x):
    if x.dtype != np.float64:
        return b.Cosh(x)
    half, size = math.log(2), b.Abs(x)
    return b.Add(b.Exp(b.Sub(size, half)), b.Exp(b.Sub(-half, size)))


def _tan(b, x):
    return b.Div(b.Sin(x), b.Cos(x)) if x.dtype == np.float64 else b.Tan(x)


def _expm1(b, x):
    """2 exp(x/2) sinh(x/2) where exp(x) is near 1 and the difference would lose its digits."""
    half = b.Mul(x, 0.5)
    small = b.Mul(b.Mul(2, b.Exp(half)), _sinh(b, half))
    return b.Where(b.Less(b.Abs(x), 1), small, b.Sub(b.Exp(x), 1))


def _log1p(b, x):
    """log(u) * x / (u - 1), with u the rounded 1 + x: the rounding errors cancel (W. Kahan)."""
    u = b.Add(1, x)
    near = b.Sub(u, 1)
    safe = b.Where(b.Equal(near, 0), 1, near)
    small = b.Where(b.Equal(near, 0), x, b.Mul(b.Log(u), b.Div(x, safe)))
    return b.Where(b.Less(b.Abs(x), 0.5), small, b.Log(u))


def _log(base):
    return lambda b, x: b.Mul(b.Log(x), 1 / math.log(base))


def _cbrt(b, x):
    return b.Mul(b.Sign(x), b.Pow(b.Abs(x), b.like(1 / 3, x)))


def _rcbrt(b, x):
    size = b.Reciprocal(b.Pow(b.Abs(x), b.like(1 / 3, x)))
    return b.Where(b.Less(b.Reciprocal(x), 0), b.Neg(size), size)  # -0.0 gives -inf


TRANSLATIONS = {
    "abs": _same("Abs"),
    "negative": _negative,
    "square": lambda b, x: b.Mul(x, x),
    "sign": _sign,
    "relu": lambda b, x: b.Max(x, 0) if is_whole(x) else b.Relu(x),
    "bitwise_not": lambda b, x: b.Not(x) if x.dtype.kind == "b" else b.BitwiseNot(x),
    "floor": _same("Floor"),
    "ceil": _same("Ceil"),
    "trunc": _trunc,
    "rint": _rint,
    "round": _round,
    "logical_not": lambda b, x: b.Not(b.cast(x, np.bool_)),
    "isnan": _same("IsNaN"),
    "isinf": _same("IsInf"),
    "isposinf": _is_infinite(detect_negative=0),
    "isneginf": _is_infinite(detect_positive=0),
    "isfinite": _finite,
    "exp": _same("Exp"),
    "expm1": _expm1,
    "log": _same("Log"),
    "log10": _log(10),
    "log2": _log(2),
    "log1p": _log1p,
    "sqrt": _same("Sqrt"),
    "rsqrt": lambda b, x: b.Reciprocal(b.Sqrt(x)),
    "cbrt": _cbrt,
    "rcbrt": _rcbrt,
    "reciprocal": _same("Reciprocal"),
    "sin": _same("Sin"),
    "cos": _same("Cos"),
    "tan": _tan,
    "arcsin": _same("Asin"),
    "arccos": _same("Acos"),
    "arctan": _same("Atan"),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _same("Tanh"),
    "arcsinh": _same("Asinh"),
    "arccosh": _same("Acosh"),
    "arctanh": _same("Atanh"),
    "degrees": _times(float(DEGREES)),
    "radians": _times(float(RADIANS)),
    "sigmoid": _same("Sigmoid"),
    "softsign": _same("Softsign"),
    "log_sigmoid": lambda b, x: b.Neg(b.Softplus(b.Neg(x))),
    "mish": lambda b, x: b.Mul(x, b.Tanh(b.Softplus(x))),
    "erf": lambda b, x: special.erf(b, x) if x.dtype == np.float64 else b.Erf(x),
    "erfinv": _erfinv,
    "gamma": lambda b, x: special.gamma(b, b.cast(x, np.float64)),
    "gammaln": lambda b, x: special.gammaln(b, b.cast(x, np.float64)),
}
# what integers may be without a floating function being asked
_ROUNDINGS = ("floor", "ceil", "trunc", "rint", "round")


def _whole(b, name, x, y):
    """y = name(x) of integers in float64, with what is whole but for rounding made whole before it is cut off."""
    if name == "cbrt":
        nearest = b.Round(y)
        cube = b.Mul(nearest, b.Mul(nearest, nearest))
        return b.Where(b.Equal(cube, x), nearest, y)
    if name in ("log2", "log10"):
        nearest = b.Round(y)
        return b.Where(b.Less(b.Abs(b.Sub(y, nearest)), 1e-12), nearest, y)
    if name == "tanh":  # which rounds to 1 from 19 on, and to a little less or more by an inexact kernel before
        return b.Where(b.Less(b.Abs(x), 19.0), b.like(0, x), b.Sign(x))
    return y


def _unary(b, op, x):
    function = op.unary_function
    if not is_whole(x) or (function.ints == "direct" and function.name not in _ROUNDINGS):
        return TRANSLATIONS[function.name](b, x)
    if function.name in _ROUNDINGS:
        return b.Identity(x)
    wide = b.cast(x, function.ints)
    return b.to_integer(_whole(b, function.name, wide, TRANSLATIONS[function.name](b, wide)), x.dtype)


def _predicate(b, op, x):
    if x.dtype.itemsize < 4 or is_whole(
        x
    ):  # ONNX has IsInf for float32 and float64 only; casting to float32 invents no infinity
        x = b.cast(x, np.float32)
    return TRANSLATIONS[op.unary_function.name](b, x)


def _identity(b, op, data, *rest):
    return b.Identity(data)


@for_every_operator
def export_functions_of_one(name, cls):
    """Register functions of one element."""
    if cls.means(Unary) and cls.unary_function.name in TRANSLATIONS:
        exports(name)(_unary)
    elif cls.means(UnaryPredicate):
        exports(name)(_predicate)
    elif cls.means(Identity):
        exports(name)(_identity)


exports("_identity_with_attr_like_rhs")(_identity)


@exports("clip")
def export_clip(b, op, data):
    low, high = (b.const(v) for v in op.bounds(data.dtype))
    if not is_whole(data) and op.a_min <= op.a_max:
        return b.Clip(data, low, high)
    x = b.cast(data, np.float32) if is_whole(data) else data
    over, under = b.Greater(x, b.like(np.float32(op.a_max), x)), b.Less(x, b.like(np.float32(op.a_min), x))
    return b.Where(over, high, b.Where(under, low, data))


@exports("smooth_l1")
def export_smooth_l1(b, op, data):
    x = b.cast(data, np.float64) if is_whole(data) else data
    with np.errstate(all="ignore"):
        half, bound, shift = (float(v) for v in (0.5 * op.squared, 1 / op.squared, 0.5 / op.squared))
    size = b.Abs(x)
    y = b.Where(b.Greater(size, bound), b.Sub(size, shift), b.Mul(b.Mul(x, x), half))
    return b.to_integer(y, data.dtype) if is_whole(data) else y


@exports("hard_sigmoid")
def export_hard_sigmoid(b, op, data):
    if data.dtype in (np.float32, np.float16):  # onnxruntime has it for float32 (and so for float16) only
        return b.HardSigmoid(data, alpha=op.alpha, beta=op.beta)
    y = b.Add(b.Mul(data, float(np.float32(op.alpha))), float(np.float32(op.beta)))
    return b.Clip(y, 0, 1)


@exports("_contrib_quadratic")
def export_contrib_quadratic(b, op, data):
    x = b.cast(data, np.float32) if is_whole(data) else data
    a, slope, c = (float(np.float32(v)) for v in (op.a, op.b, op.c))
    y = b.Add(b.Mul(b.Add(b.Mul(x, a), slope), x), c)
    return b.to_integer(y, data.dtype) if is_whole(data) else y


@exports("_contrib_div_sqrt_dim")
def export_contrib_div_sqrt_dim(b, op, data):
    size = b.size(data, -1)
    if is_whole(data):  # whose root is cut off first; 1 where there is nothing to divide
        if isinstance(size, int):
            return b.Div(data, math.isqrt(size) or 1)
        return b.Div(data, b.cast(b.Max(b.Sqrt(b.cast(size, np.float32)), 1.0), data.dtype))
    if isinstance(size, int):
        return b.Div(data, math.sqrt(size))
    return b.Div(data, b.Sqrt(b.cast(size, data.dtype)))


@exports("_npi_around")
def export_npi_around(b, op, data):
    if is_whole(data) and op.decimals >= 0:
        return b.Identity(data)
    if is_whole(data):
        wide, unit = b.cast(data, np.int64), 10**-op.decimals
        left = b.Mul(b.Div(wide, unit), unit) if unit < 2**63 else b.Sub(wide, wide)
        return b.cast(left, data.dtype)
    factor = float(10**op.decimals)
    return b.Div(b.Round(b.Mul(data, factor)), factor)


@exports("add_n")
def export_add_n(b, op, *arrays):
    if len(arrays) == 1:
        return b.Identity(arrays[0])
    if not is_whole(arrays[0]):
        return b.Sum(*arrays)
    y = arrays[0]
    for x in arrays[1:]:
        y = b.Add(y, x)
    return y


@exports("_npi_nan_to_num")
def export_npi_nan_to_num(b, op, data):
    if is_whole(data):
        return b.Identity(data)
    nan, high, low = op.replacements(data.dtype)
    y = b.Where(b.Equal(data, np.inf), high, b.Where(b.Equal(data, -np.inf), low, data))
    return b.Where(b.IsNaN(data), nan, y)


@exports("all_finite", "multi_all_finite")
def export_all_finite(b, op, *arrays):
    # how many are not: onnxruntime has no largest of nothing
    bad = [b.reduce("Sum", b.cast(b.Not(_finite(b, x)), np.float32), None, keepdims=False) for x in arrays]
    worst = bad[0] if len(bad) == 1 else b.Max(*bad)
    return b.unsqueeze(b.cast(b.Equal(worst, 0), np.float32), [0])


# -- reading -------------------------------------------------------------------------------------------------------------


def holds_floats(x):
    """True for floating-point numbers; False when the dtype is not known."""
    return x.dtype is not None and is_float(x.dtype)


def is_short(x):
    """True for floats of 16 bits: chains of MXNet's operators would round them at every step."""
    return holds_floats(x) and x.dtype.itemsize == 2


def number(x):
    """The number that a constant of one element holds, if a float says it exactly; else None."""
    if x is None or not x.fixed or x.const.size != 1 or x.const.dtype.kind not in "iuf":
        return None
    value = x.const.reshape(())
    exact = float(value)
    return exact if x.const.dtype.kind == "f" or int(exact) == int(value) else None


def _reads_as(name):
    """A reading of an operator without attributes as MXNet's of that name."""
    return lambda g, x: g.apply(name, x)


_SAME_NAME = ("Abs", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log", "Reciprocal", "Sin", "Sinh", "Sqrt", "Tan")
_INVERSE = ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh")
_OTHERS = {
    "Neg": "negative",
    "Round": "_npi_around",
    "Not": "_npi_logical_not",
    "IsNaN": "_npi_isnan",
    "BitwiseNot": "_npi_bitwise_not",
}
for _name, _own in (
    {n: n.lower() for n in _SAME_NAME} | {n: f"arc{n[1:].lower()}" for n in _INVERSE} | _OTHERS
).items():
    imports(_name)(_reads_as(_own))


@imports("IsInf", since=10)
def import_is_inf(g, x, *, detect_negative=1, detect_positive=1):
    if detect_negative and detect_positive:
        return g.apply("_npi_isinf", x)
    if detect_negative or detect_positive:
        return g.apply("_npi_isneginf" if detect_negative else "_npi_isposinf", x)
    return g.passthrough(x, detect_negative=False, detect_positive=False)


LARGEST = {"float16": 65504.0, "float32": float(np.finfo(np.float32).max)}


@imports("Clip")
def import_clip_first(g, x, *, min=-LARGEST["float32"], max=LARGEST["float32"]):
    return _clip(g, x, min, max)


def _clip(g, x, low, high):
    """MXNet's clip, where it means the same: its bounds are float32, and the lower must not be above the other."""
    if low <= high:
        return g.clip(x, a_min=low, a_max=high)
    bounds = (g.const(np.asarray(v).astype(x.dtype)) for v in (low, high))
    return g.apply("_onnx_Clip", x, *bounds, given=("min", "max"))


@imports("Clip", since=11)
def import_clip_since_11(g, x, min=None, max=None):
    largest = LARGEST.get(x.dtype.name if holds_floats(x) else "")
    if largest is None:
        return g.passthrough(x, min, max)
    # a bound that is missing is the largest number there is: infinity is cut too
    low, high = -largest if min is None else number(min), largest if max is None else number(max)
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return g.passthrough(x, min, max)
    return _clip(g, x, low, high)
