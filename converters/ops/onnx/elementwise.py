"""Functions of one element and their kin. Those that MXNet has are read in converters/ops/elementwise.py."""

from ...registry import exports, passthrough

passthrough("Mish", since=18)
passthrough("Sign", since=9)
passthrough("Clip", since=11, read=False)


@exports("_onnx_Mish")
def export_onnx_mish(b, op, x):
    wide = b.wide(x)
    return b.cast(b.Mul(wide, b.Tanh(b.Softplus(wide))), x.dtype)


@exports("_onnx_IsInf")
def export_onnx_is_inf(b, op, x):
    """Below opset 20 it takes float32 and float64 only; no number becomes infinite by being cast to float32."""
    return b.passthrough("", "IsInf", op, [b.wide(x)])
