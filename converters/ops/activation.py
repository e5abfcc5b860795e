"""Non-linearities."""

import math

from ..registry import to_onnx
from .elementwise import TRANSLATIONS


@to_onnx("Activation")
def _(b, op, data):
    return b.Softplus(data) if op.act_type == "softrelu" else TRANSLATIONS[op.act_type](b, data)


@to_onnx("LeakyReLU")
def _(b, op, data, gamma=None):
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
        return b.PRelu(data, b.reshape(gamma, [-1, *[1] * (data.rank - 2)]) if data.rank > 2 else gamma)
    half = b.Mul(data, 0.5)
    return b.Mul(half, b.Add(b.Erf(b.Mul(data, math.sqrt(0.5))), 1.0))
