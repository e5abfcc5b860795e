"""Conversions between floats and 8-bit integers with a range, as the arithmetic that MXNet does: multiply in float32, round
halves to even, saturate.

QuantizeLinear would not do: it divides by a scale where MXNet multiplies by its inverse, so that numbers near the middle between
two integers go to the other one. DequantizeLinear multiplies, but onnxruntime puts pairs of both behind it where a transpose or
reshape follows, without the zero point that says that they are int8: negative numbers become 0. Ranges that are known become
constant scales; others stay arithmetic on tensors of one element.
"""

import numpy as np

from hybrid.ops.quantization import FLOAT, GREATEST, INT8, INT32, LEVELS, PLAIN_LEVELS, UINT8

from ..builder import Value
from ..guards import is_nan, may_hold_nan
from ..registry import exports, not_exported

FOLDED = {
    "Abs": np.abs,
    "Add": np.add,
    "Div": np.divide,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Sqrt": np.sqrt,
    "Sub": np.subtract,
}


def fold(b, op_type, *inputs):
    """A node of Values and arrays, or the array that it would compute where all are known."""
    arrays = [x.const if isinstance(x, Value) else x for x in inputs]
    if any(a is None for a in arrays):
        return b.node(op_type, *inputs)
    with np.errstate(all="ignore"):
        return FOLDED[op_type](*arrays)


def largest(b, low, high):
    """The greatest magnitude in a range: (1,), or a number."""
    return fold(b, "Max", fold(b, "Abs", low), fold(b, "Abs", high))


def scale_of(b, dtype, low, high):
    """Steps per unit of a tensor quantised from a range, of so many levels: (1,), or a number."""
    return fold(b, "Div", LEVELS[dtype], largest(b, low, high))


def end(b, x):
    """An end of a range as an output: float32 (1,)."""
    return x if isinstance(x, Value) else b.const(np.reshape(x, 1).astype(FLOAT))


def around_zero(b, reach):
    """The range that reaches as far to both sides, as outputs."""
    return end(b, fold(b, "Neg", reach)), end(b, reach)


def product_range(b, dtype, data, weight):
    """The range of int32 sums of products of data of dtype with int8 weights, from their greatest magnitudes, as outputs."""
    one = fold(b, "Mul", fold(b, "Div", data, PLAIN_LEVELS[dtype]), fold(b, "Div", weight, PLAIN_LEVELS[INT8]))
    return around_zero(b, fold(b, "Mul", one, PLAIN_LEVELS[INT32]))


def whole(b, x, dtype, *, nan=False):
    """x to the nearest integer, halves to even, saturated; with ``nan`` also what becomes of NaN is settled."""
    least, most = float(np.iinfo(dtype).min), float(GREATEST[dtype])
    if b.forms.quantized == "qdq" and np.dtype(dtype) in (INT8, UINT8):
        return b.QuantizeLinear(x, np.float32(1), np.zeros((), dtype))  # rounds halves to even and saturates too
    y = b.Round(x)
    if not nan:
        return b.cast(b.Clip(y, least, most), dtype)
    if least:  # comparisons with NaN are false
        return b.cast(b.Where(b.Less(y, most), b.Max(y, least), np.float32(most)), dtype)
    return b.cast(b.Where(b.Greater(y, least), b.Min(y, most), np.float32(least)), dtype)


def finite(*scales):
    """True when all are known, and finite: integers times these are no NaN."""
    return not any(isinstance(s, Value) for s in scales) and all(np.isfinite(s).all() for s in scales)


def cut(b, x, dtype):
    """Floats cut off to integers as C for x86 has it: what int32 cannot hold is its least number, what dtype cannot wraps round."""
    inside = b.cast(x, INT32)
    if x.const is None:
        inside = b.Where(b.Less(b.Abs(x), 2.0**31), inside, np.int32(-(2**31)))
    return b.cast(inside, dtype)


def to_unsigned(b, x):
    """An int8 or uint8 Value or array as uint8, and the zero point.

    Where a CPU has no instructions for dot products of bytes, onnxruntime adds products of uint8 and int8 up in 16 bits, which
    overflow; those of uint8 and uint8 it does not."""
    x = x if isinstance(x, Value) else b.const(x)
    if x.dtype == UINT8:
        return x, np.uint8(0)
    if x.const is not None:
        return b.const((x.const.astype(np.int16) + 128).astype(UINT8), name=f"{x.name}_uint8"), np.uint8(128)
    return b.cast(b.Add(b.cast(x, INT32), np.int32(128)), UINT8), np.uint8(128)


def real(b, x, *, unsigned=False):
    """An int8 or uint8 Value or array in float32, by a node that runtimes know integers by. unsigned: from uint8, as what data is
    multiplied with has to be for onnxruntime's integer kernels to be exact (to_unsigned)."""
    x = x if isinstance(x, Value) else b.const(x)
    x, zero = to_unsigned(b, x) if unsigned else (x, np.zeros((), x.dtype))
    return b.DequantizeLinear(x, np.float32(1), np.asarray(zero))


def integer_convolution(b, data, weight, **attrs):
    """ConvInteger of 8-bit tensors, exact on any CPU; in the form "qdq" Conv, exact below 2**24."""
    if b.forms.quantized == "qdq":
        return b.cast(b.Conv(real(b, data), real(b, weight, unsigned=True), **attrs), INT32)
    (x, zero), (w, w_zero) = to_unsigned(b, data), to_unsigned(b, weight)
    return b.ConvInteger(x, w, zero, w_zero, **attrs)


def integer_product(b, lhs, rhs):
    """MatMulInteger of 8-bit tensors, exact on any CPU; in the form "qdq" MatMul, exact below 2**24."""
    if b.forms.quantized == "qdq":
        return b.cast(b.MatMul(real(b, lhs), real(b, rhs, unsigned=True)), INT32)
    (x, zero), (y, y_zero) = to_unsigned(b, lhs), to_unsigned(b, rhs)
    return b.MatMulInteger(x, y, zero, y_zero)


def zeros(b, *sizes):
    """Sums of nothing, of these sizes (as ``b.size`` gives them): onnxruntime leaves there what was in its memory."""
    return b.Expand(b.const(np.zeros((), INT32)), b.dims(*sizes))


def find_range(b, data):
    """The least and greatest number of data, (1,) each; NaN apart. Where there is none, or infinities alone, the greatest and the
    least finite number."""
    most, found = float(np.finfo(FLOAT).max), []
    nan = is_nan(b, data) if may_hold_nan(b, data) else None
    for kind, none in (("Min", np.float32(most)), ("Max", np.float32(-most))):
        extreme = b.reduce(kind, data if nan is None else b.Where(nan, none, data), None, keepdims=False)
        found.append(b.reshape(b.node(kind, extreme, none), [1]))
    return found


@exports("_contrib_quantize")
def export_contrib_quantize(b, op, data, low, high):
    dtype, reach = np.dtype(op.out_type), largest(b, low, high)
    y = whole(b, b.Mul(data, fold(b, "Div", PLAIN_LEVELS[dtype], reach)), dtype, nan=True)
    return y, *(around_zero(b, reach) if dtype == INT8 else (low, high))


@exports("_contrib_quantize_v2")
def export_contrib_quantize_v2(b, op, data):
    dtype = op.target(op.out_type)
    if data.dtype != FLOAT:
        levels = LEVELS[data.dtype]
        ends = op.calibrated or (-levels if data.dtype == INT8 else 0, levels)
        return b.cast(data, dtype), *(end(b, e) for e in ends)
    low, high = op.calibrated or find_range(b, data)
    reach = largest(b, low, high)
    y = whole(b, b.Mul(data, fold(b, "Div", LEVELS[dtype], reach)), dtype, nan=True)
    return y, *(around_zero(b, reach) if dtype == INT8 else (end(b, low), end(b, high)))


@exports("_contrib_quantize_asym")
def export_contrib_quantize_asym(b, op, data):
    low, high = op.calibrated or find_range(b, data)
    scale = fold(b, "Div", PLAIN_LEVELS[UINT8], fold(b, "Sub", high, low))
    shift = fold(b, "Sub", PLAIN_LEVELS[UINT8], fold(b, "Mul", high, scale))
    return whole(b, b.Add(b.Mul(data, scale), shift), UINT8, nan=True), end(b, scale), end(b, shift)


@exports("_contrib_dequantize")
def export_contrib_dequantize(b, op, data, low, high):
    scale = fold(b, "Div", largest(b, low, high), LEVELS[data.dtype])
    return b.Mul(b.cast(data, FLOAT), scale)


@exports("_contrib_requantize")
def export_contrib_requantize(b, op, data, low, high):
    dtype, given = op.target(op.out_type), fold(b, "Div", largest(b, low, high), PLAIN_LEVELS[INT32])
    if op.calibrated is not None:
        reach = largest(b, *op.calibrated)
    else:
        ends = [b.cast(b.reduce(kind, data, None, keepdims=False), FLOAT) for kind in ("Min", "Max")]
        most = b.Mul(b.reshape(largest(b, *ends), [1]), largest(b, low, high))
        reach = b.Div(most, PLAIN_LEVELS[INT32])
    scale = fold(b, "Mul", given, fold(b, "Div", PLAIN_LEVELS[dtype], reach))
    y = whole(b, b.Mul(b.cast(data, FLOAT), scale), dtype, nan=not finite(scale))
    return y, *(around_zero(b, reach) if dtype == INT8 else (end(b, np.float32(0)), end(b, reach)))


not_exported(
    "a step of calibration, done on a histogram while a network is quantised; no quantised network contains it",
    "_contrib_calibrate_entropy",
)
