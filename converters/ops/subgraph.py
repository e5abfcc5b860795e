"""Operators that oneDNN fuses, as ONNX. In float a node is its subgraph. Quantised it is exactly what oneDNN computes:
ConvInteger or MatMulInteger, then a bias of integers, a multiplication and a rounding, in float32.

QLinearConv and pairs of QuantizeLinear and DequantizeLinear would not do: QLinearConv has no sum and no activation, and where
onnxruntime rounds in them depends on what it fuses. What follows from parameters and known ranges is computed here, so that the
model stores weights of 8 bits.
"""

import numpy as np

from hybrid.ops.quantization import FLOAT, GREATEST, INT8, INT32, LEVELS
from hybrid.ops.subgraph import MOST_BIAS, MOST_SCALE, Weights, homogeneous, quantise_weights, steps_to

from ..builder import Value
from ..error import Unsupported
from ..registry import export_handler, exports
from .linear import join_heads, parts
from .quantization import fold, integer_convolution, integer_product, largest, product_range, whole


def steps(b, dtype, reach):
    """Steps per unit of a tensor that reaches so far from 0, a Value or a number; finite for 0 too."""
    if not isinstance(reach, Value):
        return steps_to(dtype, np.reshape(reach, ()))
    scale = b.Div(LEVELS[dtype], reach)
    return b.Where(b.IsInf(scale), MOST_SCALE, scale)


def scale_of(b, dtype, low, high):
    """Steps per unit of a tensor quantised from a range: (1,), or a number."""
    return steps(b, dtype, largest(b, low, high))


def half_away(b, x):
    """x to the nearest whole number, ties away from zero."""
    return b.Mul(b.Sign(x), b.Floor(b.Add(b.Abs(x), 0.5)))


def along(b, op, scale, rank):
    """A scale for each channel, or one, as it goes with results of that rank."""
    shape = np.shape(op.along_channels(np.empty(2), rank))
    if len(shape) < 2:
        return scale
    return b.reshape(scale, [-1, *shape[1:]]) if isinstance(scale, Value) else op.along_channels(scale, rank)


def quantised_inputs(given, *names):
    """Inputs that the operator quantises, by name. Raises Unsupported when one is no parameter."""
    fed = [n for n in names if n in given and given[n].const is None]
    if fed:
        raise Unsupported(f"{', '.join(fed)}: quantised by the operator, and no parameter; give its values")
    return {n: given[n].const for n in names if n in given}


def weights_here(b, op, weight, bias, data_scale, each):
    """float32 parameters, quantised by the operator."""
    with np.errstate(all="ignore"):
        if not isinstance(data_scale, Value):
            return quantise_weights(weight, bias, data_scale, each)
        if each and bias is not None:
            return weights_by_data(b, weight, bias, data_scale)
        made = quantise_weights(weight, None, None, each)
    if bias is None:
        return made
    return made._replace(
        bias=b.Clip(b.Round(b.Mul(bias, b.Mul(data_scale, made.scale))), -(2.0**31), float(GREATEST[INT32]))
    )


def weights_by_data(b, weight, bias, data_scale):
    """float32 parameters quantised by channels beside data whose range is known when it runs: how far a bias reaches in its units
    may take digits from the weights."""
    tops = np.abs(weight).reshape(len(weight), -1).max(axis=1)
    scale = b.Min(LEVELS[INT8] / tops, b.Div(MOST_BIAS / np.abs(bias), data_scale))
    scale = b.Where(b.IsInf(scale), MOST_SCALE, scale)
    each = b.reshape(scale, [-1, *(1,) * (weight.ndim - 1)])
    steps = whole(b, b.Mul(weight, each), INT8)
    held = b.Clip(b.Round(b.Mul(bias, b.Mul(data_scale, scale))), -(2.0**31), float(GREATEST[INT32]))
    return Weights(steps, held, scale, tops.max())


def weights_given(b, op, given, data_scale):
    """Parameters of a dense layer that are int8 already; the bias is brought to the units of the product."""
    if not isinstance(data_scale, Value) and all(v.const is not None for n, v in given.items() if n != "data"):
        return op.weights({n: v.const for n, v in given.items()}, None, data_scale)
    weight = given["weight"]
    most = largest(b, given["min_weight"], given["max_weight"])
    scale = steps(b, INT8, most)
    if "bias" not in given:
        return Weights(weight, None, scale, most)
    reach = largest(b, given["min_bias"], given["max_bias"])
    bias_scale = steps(b, INT8, reach)
    factor = fold(b, "Div", fold(b, "Mul", data_scale, scale), bias_scale)
    limit = fold(b, "Div", fold(b, "Div", MOST_BIAS, reach), bias_scale)
    less = fold(b, "Div", fold(b, "Div", fold(b, "Mul", limit, bias_scale), data_scale), scale)
    beyond = b.Greater(factor, limit)
    fewer = b.cast(half_away(b, b.Mul(b.cast(weight, FLOAT), less)), INT8)
    bias = half_away(b, b.Mul(b.cast(given["bias"], FLOAT), b.Where(beyond, limit, factor)))
    scale = b.Where(beyond, fold(b, "Mul", scale, less), scale)
    return Weights(b.Where(beyond, fewer, weight), bias, scale, most)


def follow(b, act, y, scale):
    """An activation of y, which counts in steps of 1 / scale."""
    if act is None:
        return y
    handler = export_handler(act.name, b.opset)
    assert handler is not None
    y.shape = b.results[0].shape
    return handler(b, act, y) if homogeneous(act) else b.Mul(handler(b, act, b.Div(y, scale)), scale)


def finish(b, op, parts, given, product, weights, data_scale):
    """Write what comes after the product in int32; gives the result and its range."""
    rank = len(b.results[0].shape)
    dtype, most = op.result_type(parts), weights.reach
    ranges = [b.const(np.reshape(v, 1)) for v in op.calibrated] if op.calibrated else []
    if dtype == INT32:
        ranges = product_range(b, given["data"].dtype, largest(b, given["min_data"], given["max_data"]), most)
    if op.in_whole(parts):
        return product, *ranges
    y = b.cast(product, FLOAT)
    if weights.bias is not None:
        bias = b.cast(weights.bias, FLOAT) if isinstance(weights.bias, Value) else weights.bias.astype(FLOAT)
        y = b.Add(y, along(b, op, bias, rank))
    if dtype == INT32:
        scale = fold(b, "Mul", data_scale, weights.scale)
    else:
        scale = np.float32(1) if op.in_float else scale_of(b, dtype, *op.calibrated)
        factor = fold(b, "Div", fold(b, "Div", scale, data_scale), weights.scale)
        y = b.Mul(y, along(b, op, factor, rank))
    y = follow(b, parts.act, y, scale)
    if "sum" in given:
        other = fold(b, "Div", scale, scale_of(b, given["sum"].dtype, given["min_sum"], given["max_sum"]))
        y = b.Add(y, b.Mul(b.cast(given["sum"], FLOAT), other))
    y = follow(b, parts.late, y, scale)
    if op.in_float:
        return y
    most = op.greatest(given)
    return whole(b, b.Min(y, most) if op.calibrated and most < np.inf else y, dtype), *ranges


@exports("_sg_mkldnn_conv")
def export_sg_mkldnn_conv(b, op, *inputs, subgraphs):
    if not op.quantized:
        return subgraphs[0](b, inputs)
    given, parts = dict(zip(op.input_names(), inputs)), op.parts(subgraphs)
    data, conv = given["data"], parts.product
    if given["min_data"].const is not None and (wrong := op.negative(data.dtype, given["min_data"].const.item())):
        raise Unsupported(wrong)
    data_scale = scale_of(b, data.dtype, given["min_data"], given["max_data"])
    names = ("weight", "bias", "gamma", "beta", "moving_mean", "moving_var")
    weight, bias = op.fold_norm(quantised_inputs(given, *names), parts)
    weights = weights_here(b, op, weight, bias, data_scale, op.calibrated is not None)
    product = integer_convolution(
        b, data, weights.steps, kernel_shape=list(conv.kernel), strides=list(conv.strides), dilations=list(conv.dilations),
        pads=[*conv.pads, *conv.pads], group=conv.num_group,
    )  # fmt: skip
    return finish(b, op, parts, given, product, weights, data_scale)


@exports("_sg_mkldnn_fully_connected")
def export_sg_mkldnn_fully_connected(b, op, *inputs, subgraphs):
    if not op.quantized:
        return subgraphs[0](b, inputs)
    given, parts = dict(zip(op.input_names(), inputs)), op.parts(subgraphs)
    data = given["data"]
    data_scale = scale_of(b, data.dtype, given["min_data"], given["max_data"])
    if op.channel_wise_quantize:
        held = quantised_inputs(given, "weight", "bias")
        weights = weights_here(b, op, held["weight"], held.get("bias"), data_scale, op.each)
    else:
        weights = weights_given(b, op, given, data_scale)
    steps = weights.steps
    turned = b.transpose(steps, [1, 0]) if isinstance(steps, Value) else np.ascontiguousarray(steps.T)
    flat = b.Flatten(data) if parts.product.flatten and data.rank > 2 else data
    return finish(b, op, parts, given, integer_product(b, flat, turned), weights, data_scale)


def attention_result(b, op, product, given, factor):
    """The result of a product of attention in int32, and its range."""
    first, last = op.plain[0], op.plain[-1]
    reaches = [largest(b, given[f"min_{n}"], given[f"max_{n}"]) for n in (first, last)]
    y, dtype = b.cast(product, FLOAT), op.result_type
    if dtype == INT32:
        return whole(b, b.Mul(y, factor), INT32), *product_range(b, given[last].dtype, reaches[1], reaches[0])
    ends = () if op.enable_float_output else (np.float32(op.min_calib_range), np.float32(op.max_calib_range))
    scale = scale_of(b, dtype, *ends) if ends else np.float32(1)
    for name, reach in zip((first, last), reaches):
        scale = fold(b, "Div", scale, steps(b, given[name].dtype, reach))
    y = b.Mul(y, fold(b, "Mul", scale, factor))
    return (whole(b, y, dtype), *(b.const(np.reshape(e, 1)) for e in ends)) if ends else y


@exports("_sg_mkldnn_selfatt_qk")
def export_sg_mkldnn_selfatt_qk(b, op, *inputs):
    if not op.quantized:
        return _in_float(b, op, *inputs)
    qkv = inputs[0]
    queries, keys = parts(b, op, qkv, 3, 0, 1)
    t = b.size(qkv, 0)
    product = join_heads(b, op, integer_product(b, queries, b.transpose(keys, [0, 1, 3, 2])), t, t)
    width = [0, 0, qkv.dim(2)]
    return attention_result(b, op, product, dict(zip(op.input_names(), inputs)), op.factor(width))


@exports("_sg_mkldnn_selfatt_valatt")
def export_sg_mkldnn_selfatt_valatt(b, op, *inputs):
    if not op.quantized:
        return _in_float(b, op, *inputs)
    qkv, attention = inputs[:2]
    weights = b.reshape(attention, b.dims(-1, op.heads, b.size(attention, 1), b.size(attention, 2)))
    mixed = b.transpose(integer_product(b, weights, *parts(b, op, qkv, 3, 2)), [2, 0, 1, 3])
    product = b.reshape(mixed, [0, 0, qkv.dim(2) // 3])
    return attention_result(b, op, product, dict(zip(op.input_names(), inputs)), np.float32(1))


def _in_float(b, op, *inputs):
    handler = export_handler(op.name.replace("_sg_mkldnn_", "_contrib_interleaved_matmul_"), b.opset)
    assert handler is not None
    return handler(b, op, *inputs)
