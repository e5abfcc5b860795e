"""Operators that onnxruntime's quantiser writes in its format of operators."""

from ...registry import MS, not_imported, passthrough

passthrough(
    "QLinearAdd",
    "QLinearAveragePool",
    "QLinearConcat",
    "QLinearGlobalAveragePool",
    "QLinearLeakyRelu",
    "QLinearMul",
    "QLinearSigmoid",
    "QLinearSoftmax",
    domain=MS,
)
not_imported(
    "no reading for it, which quantizes the state anew in every step; leave LSTM out when quantizing (op_types_to_quantize)",
    "DynamicQuantizeLSTM",
    domain=MS,
)
not_imported("onnxruntime has no implementation of it that says what it means", "QLinearReduceMean", domain=MS)
