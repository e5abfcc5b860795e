"""Recurrent layers that MXNet's RNN cannot say. Those that it can, and all reading: converters/ops/rnn.py."""

from ...registry import exports


@exports("_onnx_RNN", "_onnx_GRU", "_onnx_LSTM")
def export_onnx_rnn(b, op, *inputs):
    return b.passthrough("", op.name.removeprefix("_onnx_"), op, inputs)
