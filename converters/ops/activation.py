"""Non-linearities."""

import math

import numpy as np

from hybrid.core.shapes import UNKNOWN
from hybrid.ops.activation import SELU_ALPHA, SELU_SCALE

from ..legacy_fixes import channel_slope
from ..registry import exports, imports
from .elementwise import TRANSLATIONS, holds_floats


@exports("Activation")
def export_activation(b, op, data):
    return b.Softplus(data) if op.act_type == "softrelu" else TRANSLATIONS[op.act_type](b, data)


@exports("LeakyReLU")
def _leaky_relu(b, op, data, gamma=None):
    if op.act_type == "leaky":
        return b.LeakyRelu(data, alpha=op.slope)
    if op.act_type == "rrelu":  # in inference all slopes are the mean
        slope = (op.lower_bound + op.upper_bound) / 2
        return b.LeakyRelu(data, alpha=slope), b.Expand(b.like(slope, data), b.shape_of(data))
    if op.act_type == "elu":
        return b.Elu(data, alpha=op.slope)
    if op.act_type == "selu":
        return b.Selu(data)
    if op.act_type == "prelu":
        # ONNX aligns slopes at the right, MXNet at the channel axis
        if gamma is not None and (gamma.rank or 1) > 1:
            return b.PRelu(data, b.unsqueeze(gamma, range(2, data.rank)) if data.rank > 2 else gamma)
        return b.PRelu(data, b.reshape(gamma, [-1, *[1] * (data.rank - 2)]) if data.rank > 2 else gamma)
    half = b.Mul(data, 0.5)
    return b.Mul(half, b.Add(b.Erf(b.Mul(data, math.sqrt(0.5))), 1.0))


@exports("LeakyReLU", since=20)
def export_leaky_re_lu(b, op, data, gamma=None):
    """Gelu is new. onnxruntime has it for float32 (and so for float16) only."""
    if op.act_type == "gelu" and data.dtype in (np.float32, np.float16):
        return b.Gelu(data)
    return _leaky_relu(b, op, data, gamma)


# ONNX's defaults, which are float32
LEAKY_ALPHA, HARD_SIGMOID_ALPHA = float(np.float32(0.01)), float(np.float32(0.2))
OLD_SELU = float(np.float32(1.6732)), float(np.float32(1.0507))
SELU = float(np.float32(SELU_ALPHA)), float(np.float32(SELU_SCALE))

# -- reading -------------------------------------------------------------------------------------------------------------


def _activation(act_type):
    return lambda g, x: g.Activation(x, act_type=act_type)


for _name, _act_type in {"Sigmoid": "sigmoid", "Tanh": "tanh", "Softplus": "softrelu", "Softsign": "softsign"}.items():
    imports(_name)(_activation(_act_type))


@imports("Relu")
def import_relu(g, x):
    return g.Activation(x, act_type="relu") if holds_floats(x) else g.relu(x)


@imports("LeakyRelu")
def import_leaky_relu(g, x, *, alpha=LEAKY_ALPHA):
    return g.LeakyReLU(x, act_type="leaky", slope=alpha)


@imports("Elu")
def import_elu(g, x, *, alpha=1.0):
    return g.LeakyReLU(x, act_type="elu", slope=alpha)


def _selu(g, x, alpha, gamma):
    if (alpha, gamma) == SELU and holds_floats(x) and x.dtype.itemsize <= 4:
        return g.LeakyReLU(x, act_type="selu")
    return g.apply("_onnx_Selu", x, alpha=alpha, gamma=gamma)


@imports("Selu")
def import_selu_first(g, x, *, alpha=OLD_SELU[0], gamma=OLD_SELU[1]):
    return _selu(g, x, alpha, gamma)


@imports("Selu", since=6)
def import_selu_since_6(g, x, *, alpha=SELU[0], gamma=SELU[1]):
    return _selu(g, x, alpha, gamma)


def _per_channel(g, x, slope):
    """slope as MXNet's PReLU takes it, (1,) or one a channel; None when it is neither."""
    if x.shape is None or slope.shape is None or any(d is UNKNOWN for d in slope.shape):
        return None
    sizes = [d for d in slope.shape if d != 1]
    first = 1 if len(x.shape) > 1 else 0
    # the axis of x that the only size other than 1 belongs to, counted from the right
    along = [len(x.shape) - i for i, d in enumerate(reversed(slope.shape), 1) if d != 1]
    if len(slope.shape) > len(x.shape):
        return None
    if sizes and (along != [first] or x.shape[first] is UNKNOWN or x.shape[first] != sizes[0]):
        return None
    return slope if len(slope.shape) == 1 else g.Reshape(slope, shape=(-1,))


@imports("PRelu")
def import_p_relu_first(g, x, slope):
    if slope.shape is None or len(slope.shape) != 1:
        slope = g.Reshape(slope, shape=(-1,))
    return g.LeakyReLU(x, slope, act_type="prelu")


@imports("PRelu", since=7)
def import_p_relu_since_7(g, x, slope):
    if holds_floats(x) and channel_slope(g, x, slope):
        return g.LeakyReLU(x, slope, act_type="prelu")
    gamma = _per_channel(g, x, slope) if holds_floats(x) else None
    return g.passthrough(x, slope) if gamma is None else g.LeakyReLU(x, gamma, act_type="prelu")


@imports("Gelu", since=20)
def import_gelu(g, x, *, approximate="none"):
    if approximate == "none" and holds_floats(x):
        return g.LeakyReLU(x, act_type="gelu")
    return g.passthrough(x, approximate=approximate)


@imports("HardSigmoid")
def import_hard_sigmoid(g, x, *, alpha=HARD_SIGMOID_ALPHA, beta=0.5):
    return g.hard_sigmoid(x, alpha=alpha, beta=beta)
