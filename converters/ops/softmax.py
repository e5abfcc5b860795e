"""Softmax in its forms."""

import numpy as np

from ..registry import to_onnx


def _scaled(b, op, data):
    """data over the temperature, in the dtype to work in."""
    x = data if op.dtype is None or op.dtype.itemsize < data.dtype.itemsize else b.cast(data, op.dtype)
    return x if op.temperature in (None, 1.0) else b.Div(x, op.temperature)


@to_onnx("softmax")
def _(b, op, data, length=None):
    x = _scaled(b, op, data)
    if length is None:
        return b.Softmax(x, axis=op.axis)
    axis = op.axis % data.rank
    size = b.size(data, axis)
    known = isinstance(size, int)
    places = b.const(np.arange(size)) if known else b.Range(b.const(0), b.squeeze(size, [0]), b.const(1))
    inside = b.Less(b.unsqueeze(places, range(1, data.rank - axis)), b.unsqueeze(b.cast(length, np.int64), [axis]))
    y = b.Softmax(b.Where(inside, x, -np.inf), axis=axis)
    return b.Where(inside, y, 0)


@to_onnx("log_softmax")
def _(b, op, data):
    return b.LogSoftmax(_scaled(b, op, data), axis=op.axis)


@to_onnx("softmin")
def _(b, op, data):
    return b.Softmax(b.Neg(_scaled(b, op, data)), axis=op.axis)


@to_onnx("SoftmaxActivation")
def _(b, op, data):
    return b.Softmax(data, axis=1 if op.mode == "channel" else -1)


@to_onnx("softmax_cross_entropy")
def _(b, op, data, label):
    last = b.size(data, 1)
    last = b.const(last - 1) if isinstance(last, int) else b.Sub(last, 1)
    chosen = b.Max(b.Min(b.cast(label, np.int64), last), 0)
    likely = b.GatherElements(b.Softmax(data, axis=1), b.unsqueeze(chosen, [1]), axis=1)
    return b.reshape(b.Neg(b.reduce("Sum", b.Log(b.Max(likely, 1e-8)), None, keepdims=False)), [1])
