"""Quantising, and back."""

from ...registry import MS, from_onnx, itself, to_onnx


@from_onnx("QuantizeLinear", "DequantizeLinear", since=10)
def _(g, x, scale, zero=None):
    return g.itself(x, scale, zero)


@from_onnx("QuantizeLinear", since=13)
@from_onnx("QuantizeLinear", domain=MS)
def _(g, x, scale, zero=None, *, axis=1, block_size=0, output_dtype=0, precision=0, saturate=1):
    codes = {"output_dtype": output_dtype, "precision": precision}
    dtypes = {name: code for name, code in codes.items() if code}  # 0 says that it is not given
    return g.itself(x, scale, zero, axis=axis, block_size=block_size, saturate=bool(saturate), **dtypes)


@from_onnx("DequantizeLinear", since=13)
@from_onnx("DequantizeLinear", domain=MS)
def _(g, x, scale, zero=None, *, axis=1, block_size=0, output_dtype=0):
    dtypes = {"output_dtype": output_dtype} if output_dtype else {}
    return g.itself(x, scale, zero, axis=axis, block_size=block_size, **dtypes)


itself("DynamicQuantizeLinear", since=11)


@to_onnx("_onnx_QuantizeLinear")
def _(b, op, *inputs):
    return b.itself("", "QuantizeLinear", op, inputs)


@to_onnx("_onnx_DequantizeLinear")
def _(b, op, *inputs):
    return b.itself("", "DequantizeLinear", op, inputs)
