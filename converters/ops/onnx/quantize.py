"""Quantising, and back."""

from ...registry import MS, exports, imports, passthrough


@imports("QuantizeLinear", "DequantizeLinear", since=10)
def import_quantize_linear_since_10(g, x, scale, zero=None):
    return g.passthrough(x, scale, zero)


@imports("QuantizeLinear", since=13)
@imports("QuantizeLinear", domain=MS)
def import_quantize_linear_since_13(
    g, x, scale, zero=None, *, axis=1, block_size=0, output_dtype=0, precision=0, saturate=1
):
    codes = {"output_dtype": output_dtype, "precision": precision}
    dtypes = {name: code for name, code in codes.items() if code}  # 0 says that it is not given
    return g.passthrough(x, scale, zero, axis=axis, block_size=block_size, saturate=bool(saturate), **dtypes)


@imports("DequantizeLinear", since=13)
@imports("DequantizeLinear", domain=MS)
def import_dequantize_linear(g, x, scale, zero=None, *, axis=1, block_size=0, output_dtype=0):
    dtypes = {"output_dtype": output_dtype} if output_dtype else {}
    return g.passthrough(x, scale, zero, axis=axis, block_size=block_size, **dtypes)


passthrough("DynamicQuantizeLinear", since=11)


@exports("_onnx_QuantizeLinear")
def export_onnx_quantize_linear(b, op, *inputs):
    return b.passthrough("", "QuantizeLinear", op, inputs)


@exports("_onnx_DequantizeLinear")
def export_onnx_dequantize_linear(b, op, *inputs):
    return b.passthrough("", "DequantizeLinear", op, inputs)
