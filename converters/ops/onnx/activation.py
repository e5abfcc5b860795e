"""Non-linearities, and what they are made of for opsets and dtypes that have them not. Those that MXNet has are read in
converters/ops/activation.py."""

import math

import numpy as np

from ...registry import exports, passthrough

passthrough("Swish", since=24)
passthrough("SwiGLU", since=28)
passthrough("HardSwish", since=14)
passthrough("Celu", since=12, write=False)
passthrough("ThresholdedRelu", since=10)
passthrough("Shrink", since=9)
passthrough("Hardmax", since=13)
passthrough("PRelu", since=7, read=False)
passthrough("Selu", since=6, read=False)
passthrough("Gelu", since=20, read=False)


def _decompose(name):
    """Registers what an operator of the family is made of; floats of 16 bits are rounded once, at the end."""

    def register(function):
        @exports(name)
        def write(b, op, *inputs):
            wide = [b.wide(x) for x in inputs]
            return b.cast(function(b, op, *wide), inputs[0].dtype)

        return write

    return register


def swish(b, op, x):
    """x * sigmoid(alpha * x)."""
    return b.Mul(x, b.Sigmoid(x if op.alpha == 1 else b.Mul(x, op.alpha)))


_decompose("_onnx_Swish")(swish)
_decompose("_onnx_SwiGLU")(lambda b, op, gate, x: b.Mul(swish(b, op, gate), x))
_decompose("_onnx_HardSwish")(lambda b, op, x: b.Mul(x, b.Clip(b.Add(b.Mul(x, 1 / 6), 0.5), 0, 1)))


@_decompose("_onnx_Gelu")
def export_gelu(b, op, x):
    half = b.Mul(x, 0.5)
    if op.approximate == "none":
        return b.Mul(half, b.Add(1, b.Erf(b.Mul(x, math.sqrt(0.5)))))
    cubed = b.Mul(b.Mul(x, x), x)
    return b.Mul(half, b.Add(1, b.Tanh(b.Mul(b.Add(x, b.Mul(cubed, 0.044715)), math.sqrt(2 / math.pi)))))


@exports("_onnx_Celu")
def export_onnx_celu(b, op, x):
    """Below opset 28 it takes float32 only."""
    if x.dtype == np.float32 or b.opset >= 28:
        return b.passthrough("", "Celu", op, [x])
    wide = b.wide(x)
    below = b.Mul(b.Sub(b.Exp(b.Div(b.Min(wide, 0), op.alpha)), 1), op.alpha)
    return b.cast(b.Add(b.Max(wide, 0), below), x.dtype)
