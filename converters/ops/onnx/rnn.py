"""Recurrent layers that MXNet's RNN cannot say. Those that it can, and all reading: converters/ops/rnn.py."""

from ...registry import to_onnx


@to_onnx("_onnx_RNN", "_onnx_GRU", "_onnx_LSTM")
def _(b, op, *inputs):
    return b.itself("", op.name.removeprefix("_onnx_"), op, inputs)
