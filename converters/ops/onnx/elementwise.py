"""Functions of one element and their kin. Those that MXNet has are read in converters/ops/elementwise.py."""

from ...registry import itself, to_onnx

itself("Mish", since=18)
itself("Sign", since=9)
itself("Clip", since=11, read=False)


@to_onnx("_onnx_Mish")
def _(b, op, x):
    wide = b.wide(x)
    return b.cast(b.Mul(wide, b.Tanh(b.Softplus(wide))), x.dtype)


@to_onnx("_onnx_IsInf")
def _(b, op, x):
    """Below opset 20 it takes float32 and float64 only; no number becomes infinite by being cast to float32."""
    return b.itself("", "IsInf", op, [b.wide(x)])
