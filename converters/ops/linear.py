"""Matrix products as MatMul and Gemm."""

from ..registry import to_onnx


@to_onnx("FullyConnected")
def _(b, op, data, weight, bias=None):
    if data.rank == 2:
        return b.Gemm(data, weight, bias, transB=1)
    if op.flatten:
        return b.Gemm(b.Flatten(data), weight, bias, transB=1)
    y = b.MatMul(data, b.transpose(weight, [1, 0]))
    return y if bias is None else b.Add(y, bias)
