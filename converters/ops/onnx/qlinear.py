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
not_imported("onnxruntime has no implementation of it that says what it means", "QLinearReduceMean", domain=MS)
