"""Normalizations, and Dropout, which is nothing in inference."""

import numpy as np

from ..error import Unsupported
from ..registry import to_onnx


def _wide(b, x):
    """float16 as float32, so that sums and differences round once, at the end."""
    return b.cast(x, np.float32) if x.dtype.itemsize == 2 else x


def _along(b, x, axis, rank):
    """A vector, shaped to broadcast along one axis of a tensor."""
    return b.reshape(x, [-1, *[1] * (rank - axis - 1)]) if axis < rank - 1 else x


def _normalized(b, data, mean, std, gamma, beta):
    """(data - mean) / std * gamma + beta, in this order."""
    return b.Add(b.Mul(b.Div(b.Sub(data, mean), std), gamma), beta)


def _moments(b, x, axes):
    """x minus its mean, the mean, and the variance over axes, which stay as 1."""
    mean = b.reduce("Mean", x, axes, keepdims=True)
    centered = b.Sub(x, mean)
    return centered, mean, b.reduce("Mean", b.Mul(centered, centered), axes, keepdims=True)


@to_onnx("BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm")
def _(b, op, data, gamma, beta, mean, var):
    rank, axis = data.rank, op.axis % data.rank
    x = _wide(b, data)
    if op.fix_gamma:
        gamma = b.like(np.ones(gamma.static), gamma, f"{gamma.name}_fixed")
    # ONNX's attribute is a float32
    exact = x.dtype != np.float64 or float(np.float32(op.eps)) == op.eps
    if axis == 1 and exact:
        y = b.BatchNormalization(x, gamma, beta, mean, var, epsilon=op.eps)
    else:
        std = b.Sqrt(b.Add(var, float(op.eps)))
        y = _normalized(b, x, *(_along(b, v, axis, rank) for v in (mean, std, gamma, beta)))
    if op.name == "_contrib_BatchNormWithReLU":
        y = b.Relu(y)
    if not op.output_mean_var:
        return y
    if op.plain_variance:
        return y, mean, var
    return y, mean, b.Reciprocal(b.Sqrt(b.Add(var, float(op.eps))))


@to_onnx("LayerNorm")
def _layer_norm(b, op, data, gamma, beta):
    rank, axis = data.rank, op.axis % data.rank
    centered, mean, var = _moments(b, _wide(b, data), [axis])
    std = b.Sqrt(b.Add(var, float(np.float32(op.eps))))
    gamma, beta = (_along(b, _wide(b, v), axis, rank) for v in (gamma, beta))
    y = b.Add(b.Mul(b.Div(centered, std), gamma), beta)
    return (y, mean, std) if op.output_mean_var else y


@to_onnx("LayerNorm", since=17)
def _(b, op, data, gamma, beta):
    last = op.axis % data.rank == data.rank - 1
    if not last or op.output_mean_var or data.dtype == np.float64:  # whose mean would be taken in float32
        return _layer_norm(b, op, data, gamma, beta)
    return b.LayerNormalization(*(_wide(b, v) for v in (data, gamma, beta)), axis=-1, epsilon=op.eps)


@to_onnx("InstanceNorm")
def _(b, op, data, gamma, beta):
    return b.InstanceNormalization(data, gamma, beta, epsilon=op.eps)


@to_onnx("GroupNorm")
def _(b, op, data, gamma, beta):
    # gamma and beta belong to groups, so that this is InstanceNormalization with groups for channels
    x = _wide(b, data)
    groups = b.reshape(x, [0, op.num_groups, -1])
    y = b.InstanceNormalization(groups, _wide(b, gamma), _wide(b, beta), epsilon=op.eps)
    y = b.reshape(y, b.dims(*(b.size(data, axis) for axis in range(data.rank))))
    if not op.output_mean_var:
        return y
    _, mean, var = _moments(b, groups, [2])
    return y, b.squeeze(mean, [2]), b.squeeze(b.Sqrt(b.Add(var, float(np.float32(op.eps)))), [2])


@to_onnx("L2Normalization")
def _(b, op, data):
    x = _wide(b, data)
    squares, axes = b.Mul(x, x), op.axes(data.rank)
    if axes:  # with rank 1 there is nothing to sum over
        squares = b.reduce("Sum", squares, axes, keepdims=True)
    return b.Div(x, b.Sqrt(b.Add(squares, float(np.float32(op.eps)))))


@to_onnx("LRN")
def _(b, op, data):
    size = 2 * op.reach + 1  # ONNX divides alpha by the size, MXNet by nsize even where that is even
    return b.LRN(data, size=size, alpha=op.alpha * size / op.nsize, beta=op.beta, bias=op.knorm)


@to_onnx("Dropout")
def _(b, op, data):
    if op.mode == "training" or op.p == 0:
        return data
    if op.p == 1:
        raise Unsupported("mode='always' with p=1 leaves nothing but NaN; use p < 1")
    # not ONNX's Dropout, whose training_mode onnxruntime ignores
    if op.axes:
        axes = {axis % data.rank for axis in op.axes}
        dims = b.dims(*(1 if axis in axes else b.size(data, axis) for axis in range(data.rank)))
        like = b.Expand(b.const(np.ones([1] * data.rank, np.float32)), dims)
    else:
        like = b.cast(data, np.float32)
    kept = b.Not(b.Less(b.RandomUniformLike(like, dtype=np.float32), op.p))
    return b.Mul(data, b.Mul(b.cast(kept, data.dtype), 1 / (1 - op.p)))
