"""Softmax in its forms."""

import numpy as np

from ..error import Unsupported
from ..registry import exports, imports


def _apply_temperature(b, op, data):
    """data over the temperature, in the dtype to work in."""
    narrower = op.dtype is not None and data.dtype.kind == "f" and op.dtype.itemsize < data.dtype.itemsize
    x = data if op.dtype is None or narrower else b.cast(data, op.dtype)
    return x if op.temperature in (None, 1.0) else b.Div(x, op.temperature)


@exports("softmax")
def export_softmax(b, op, data, length=None):
    x = _apply_temperature(b, op, data)
    if length is None:
        return b.Softmax(x, axis=op.axis)
    axis = op.axis % data.rank
    size = b.size(data, axis)
    places = b.counting(size)
    inside = b.Less(b.unsqueeze(places, range(1, data.rank - axis)), b.unsqueeze(b.cast(length, np.int64), [axis]))
    y = b.Softmax(b.Where(inside, x, -np.inf), axis=axis)
    return b.Where(inside, y, 0)


@exports("log_softmax")
def export_log_softmax(b, op, data):
    return b.LogSoftmax(_apply_temperature(b, op, data), axis=op.axis)


@exports("softmin")
def export_softmin(b, op, data):
    return b.Softmax(b.Neg(_apply_temperature(b, op, data)), axis=op.axis)


@exports("softmax_cross_entropy")
def export_softmax_cross_entropy(b, op, data, label):
    last = b.size(data, 1)
    last = b.const(last - 1) if isinstance(last, int) else b.Sub(last, 1)
    chosen = b.Max(b.Min(b.cast(label, np.int64), last), 0)
    likely = b.GatherElements(b.Softmax(data, axis=1), b.unsqueeze(chosen, [1]), axis=1)
    return b.reshape(b.Neg(b.reduce("Sum", b.Log(b.Max(likely, 1e-8)), None, keepdims=False)), [1])


# -- reading -------------------------------------------------------------------------------------------------------------


def _flat(g, x, axis, function):
    """function of the last axis, applied to x with axis and all that follow as one, and brought back to the shape of x."""
    if axis == -1:
        return function(x)
    if axis < 0:
        axis += x.rank
    if x.shape is not None and not 0 <= axis < max(1, len(x.shape)):
        raise Unsupported(f"got axis {axis} for {len(x.shape)} dimensions, wanted 0 to {len(x.shape) - 1}")
    if x.shape is not None and axis == len(x.shape) - 1:
        return function(x)
    y = function(g.Reshape(x, shape=(*[0] * axis, -1)))
    return g.reshape_like(y, x)


def _by_groups(own):
    """A reading before opset 13: axis begins the last of two groups of axes."""
    return lambda g, x, *, axis=1: _flat(g, x, axis, lambda rows: g.apply(own, rows, axis=-1))


def _along(own):
    """A reading since opset 13."""
    return lambda g, x, *, axis=-1: g.apply(own, x, axis=axis)


for _name, _own in {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Hardmax": "_onnx_Hardmax"}.items():
    imports(_name)(_by_groups(_own))
for _name, _own in {"Softmax": "softmax", "LogSoftmax": "log_softmax"}.items():
    imports(_name, since=13)(_along(_own))
