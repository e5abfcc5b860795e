"""Layers on 8-bit integers with ranges, exactly: integer operators for sums of products, float32 arithmetic and one rounding for
what is rescaled (see quantization.py)."""

import math

import numpy as np

from hybrid.core.shapes import is_known
from hybrid.ops.common import truncate
from hybrid.ops.quantization import FLOAT, INT8, INT32, LEVELS, UINT8

from ..builder import Value
from ..error import Unsupported
from ..registry import exports
from .convolution import attributes
from .indexing import positions
from .pooling import Window, maxima, means
from .quantization import (
    around_zero,
    cut,
    end,
    finite,
    fold,
    integer_convolution,
    integer_product,
    largest,
    product_range,
    scale_of,
    whole,
    zeros,
)

EXACT = 1 << 24
"""Up to where float32 has every whole number."""


def most_of(data, length):
    """The greatest magnitude that a sum of so many products of data with int8 can have; None when the length is not known."""
    return None if length is None else length * 128 * (255 if data.dtype == UINT8 else 128)


def through_float(b, total, summand, most):
    """int32 sums plus a summand (an array or Value of int8 or int32, or None), added in float32 where that makes a difference.

    most: the greatest magnitude of the sums, None where that is not known."""
    known = summand.const if isinstance(summand, Value) else summand
    if most is not None and summand is None and most < EXACT:
        return total
    if most is not None and known is not None and most + np.abs(known.astype(np.int64)).max(initial=0) < EXACT:
        return b.Add(total, known.astype(np.int32))
    y = b.cast(total, FLOAT)
    if summand is not None:
        y = b.Add(y, b.cast(summand, FLOAT) if isinstance(summand, Value) else summand.astype(FLOAT))
    return whole(b, y, INT32)


@exports("_contrib_quantized_conv")
def export_contrib_quantized_conv(b, op, data, weight, *others):
    bias, ranges = (None, others) if op.no_bias else (others[0], others[1:])
    attrs = attributes(op)
    length = math.prod(weight.shape[1:]) if is_known(weight.shape) else None
    if length == 0:
        sizes = b.results[0].shape[2:]
        if not is_known(sizes):
            raise Unsupported("a convolution over nothing, whose sizes are only known at run time")
        total = zeros(b, b.size(data, 0), op.num_filter, *sizes)
    else:
        total = integer_convolution(b, data, weight, **attrs)
    if bias is not None:
        bias = b.reshape(bias, [-1, *(1,) * len(op.kernel)])
    y = through_float(b, total, bias, most_of(data, length))
    return y, *product_range(b, INT8, largest(b, *ranges[:2]), largest(b, *ranges[2:4]))


@exports("_contrib_quantized_fully_connected")
def export_contrib_quantized_fully_connected(b, op, data, weight, *others):
    bias, ranges = (None, others) if op.no_bias else (others[0], others[1:])
    x = b.Flatten(data) if op.flatten and data.rank > 2 else data
    length = weight.shape[1] if is_known(weight.shape) else None
    total = (
        zeros(b, *(b.size(data, a) for a in range(len(b.results[0].shape) - 1)), op.num_hidden)
        if length == 0
        else integer_product(b, x, b.transpose(weight, [1, 0]))
    )
    reaches = [largest(b, *ranges[i : i + 2]) for i in range(0, len(ranges), 2)]
    y = total
    if bias is not None:
        scales = [fold(b, "Div", LEVELS[kind], r) for kind, r in ((data.dtype, reaches[0]), (INT8, reaches[1]))]
        scale = fold(b, "Div", fold(b, "Mul", fold(b, "Mul", *scales), reaches[2]), LEVELS[INT8])
        if bias.const is not None and not isinstance(scale, Value):
            summand = truncate(bias.const * scale, INT32)
        else:
            summand = cut(b, b.Mul(b.cast(bias, FLOAT), scale), INT32)
        y = through_float(b, total, summand, most_of(data, length))
    return y, *product_range(b, data.dtype, *reaches[:2])


@exports("_contrib_quantized_act")
def export_contrib_quantized_act(b, op, data, low, high):
    return b.cast(data if data.dtype == UINT8 else b.Max(data, np.int8(0)), INT8), low, high


@exports("_contrib_quantized_flatten")
def export_contrib_quantized_flatten(b, op, data, low, high):
    return b.Flatten(data), low, high


@exports("_contrib_quantized_pooling")
def export_contrib_quantized_pooling(b, op, data, low, high):
    return _pool(b, op.plain, data), low, high


def _pool(b, op, data):
    spatial = data.sizes[2:]
    axes = list(range(2, data.rank))
    w = None if op.global_pool else Window.of(op, spatial)
    if op.pool_type == "max":
        return maxima(b, op, w, data) if w else b.reduce("Max", data, axes, keepdims=True)
    x = b.cast(data, FLOAT)
    x.shape = data.shape
    if w is not None:
        y = w.whole_mean(b, x) if op.include else means(b, op, w, x, spatial)
    elif is_known(spatial) and math.prod(spatial) * 255 < EXACT:
        y = b.GlobalAveragePool(x)
    else:  # more than float32 could add up
        sizes = [
            b.cast(v, np.float64) if isinstance(v, Value) else np.float64(v) for v in (b.size(data, a) for a in axes)
        ]
        count = sizes[0]
        for size in sizes[1:]:
            count = fold(b, "Mul", count, size)
        total = b.reduce("Sum", b.cast(data, INT32), axes, keepdims=True)
        y = b.cast(b.Round(b.Div(b.cast(total, np.float64), count)), FLOAT)
    return whole(b, y, data.dtype)


@exports("_contrib_quantized_concat")
def export_contrib_quantized_concat(b, op, *inputs):
    n = op.num_args
    data, ranges = inputs[:n], list(zip(inputs[n::2], inputs[n + 1 :: 2]))
    low = high = np.float32(0)
    for own_low, own_high in ranges:
        low, high = fold(b, "Min", low, own_low), fold(b, "Max", high, own_high)
    dtype = op.result(*(x.dtype for x in data))
    scale = scale_of(b, dtype, low, high)
    parts = []
    for x, own in zip(data, ranges):
        given = scale_of(b, x.dtype, *own)
        known = not isinstance(given, Value) and not isinstance(scale, Value)
        if x.dtype == dtype and known and np.all(given == scale):
            parts.append(x)
            continue
        factor = fold(b, "Div", scale, given)
        part = whole(b, b.Mul(b.cast(x, FLOAT), factor), dtype, nan=not finite(factor))
        # where all ranges are 0 both are infinite, and their quotient is no number
        parts.append(part if x.dtype != dtype or known else b.Where(b.Equal(scale, given), x, part))
    y = b.Concat(*parts, axis=op.joined_axis(data[0].rank)) if n > 1 else parts[0]
    return y, end(b, low), end(b, high)


@exports("_contrib_quantized_elemwise_add")
def export_contrib_quantized_elemwise_add(b, op, lhs, rhs, *ranges):
    kinds = lhs.dtype, rhs.dtype
    dtype = op.result(*kinds)
    reaches = [largest(b, *ranges[i : i + 2]) for i in (0, 2)]
    if op.calibrated is not None:
        wanted = scale_of(b, dtype, *(np.float32(v) for v in op.calibrated))
        scales = [fold(b, "Div", wanted, fold(b, "Div", LEVELS[k], r)) for k, r in zip(kinds, reaches)]
        found = tuple(end(b, np.float32(v)) for v in op.calibrated)
    else:
        both = fold(b, "Add", *reaches)
        scales = [
            fold(b, "Div", fold(b, "Mul", r, LEVELS[dtype]), fold(b, "Mul", both, LEVELS[k]))
            for k, r in zip(kinds, reaches)
        ]
        found = around_zero(b, both)
    parts, settled = [], finite(*scales)
    for x, scale in zip((lhs, rhs), scales):
        part = b.Mul(b.cast(x, FLOAT), scale)
        parts.append(
            b.cast(whole(b, part, INT8, nan=not settled), FLOAT) if kinds[0] != kinds[1] and x.dtype == UINT8 else part
        )
    return whole(b, b.Add(*parts), dtype, nan=not settled), *found


@exports("_contrib_quantized_elemwise_mul")
def export_contrib_quantized_elemwise_mul(b, op, lhs, rhs, *ranges):
    product = b.Mul(b.cast(lhs, INT32), b.cast(rhs, INT32))
    reaches = [largest(b, *ranges[i : i + 2]) for i in (0, 2)]
    scales = [fold(b, "Div", LEVELS[INT8], r) for r in reaches]
    if op.enable_float_output:
        double = [b.cast(s, np.float64) if isinstance(s, Value) else np.asarray(s, np.float64) for s in scales]
        scale = fold(b, "Div", fold(b, "Div", np.float64(1), double[0]), double[1])
        return b.Mul(b.cast(product, FLOAT), b.cast(scale, FLOAT) if isinstance(scale, Value) else scale.astype(FLOAT))
    if op.calibrated is None:
        return product, *product_range(b, INT8, *reaches)
    scale = scale_of(b, INT8, *(np.float32(v) for v in op.calibrated))
    scale = fold(b, "Div", fold(b, "Div", scale, scales[0]), scales[1])
    return cut(b, b.Mul(b.cast(product, FLOAT), scale), INT8), *(end(b, np.float32(v)) for v in op.calibrated)


@exports("_contrib_quantized_batch_norm")
def export_contrib_quantized_batch_norm(b, op, data, gamma, beta, mean, var, low, high):
    x = b.cast(data, FLOAT)
    if data.dtype == UINT8:
        x = b.cast(whole(b, b.Mul(x, LEVELS[INT8] / LEVELS[UINT8]), INT8), FLOAT)
    reach = largest(b, low, high)
    if isinstance(reach, Value) or any(v.const is None for v in (gamma, beta, mean, var)):
        factor, summand = _factors(b, op, gamma, beta, mean, var, reach)
    else:
        factor, summand = op.factors(gamma.const, beta.const, mean.const, var.const, reach)
    dims = [1] * data.rank
    dims[op.axis % data.rank] = -1
    factor, summand = (b.reshape(v, dims) if isinstance(v, Value) else v.reshape(dims) for v in (factor, summand))
    settled = finite(factor, summand)
    y = whole(b, b.Add(b.Mul(x, factor), summand), INT8, nan=not settled)
    return y, *(end(b, np.float32(v)) for v in (op.min_calib_range, op.max_calib_range))


def _factors(b, op, gamma, beta, mean, var, reach):
    """op.factors, of which something is only known at run time."""
    rstd = b.cast(b.Div(np.float64(1), b.Sqrt(b.Add(b.cast(var, np.float64), np.float64(op.eps)))), FLOAT)
    out = max(abs(np.float32(op.min_calib_range)), abs(np.float32(op.max_calib_range)))
    scaled = b.Mul(gamma, rstd)
    factor = b.Div(b.Mul(scaled, reach), out)
    summand = b.Div(b.Mul(b.Sub(beta, b.Mul(b.Mul(mean, gamma), rstd)), LEVELS[INT8]), out)
    return b.Div(factor, np.sqrt(np.float32(1) + np.float32(op.eps))), summand


@exports("_contrib_quantized_embedding")
def export_contrib_quantized_embedding(b, op, data, weight, low, high):
    return b.Gather(weight, b.Clip(positions(b, data), 0, op.input_dim - 1), axis=0), low, high
