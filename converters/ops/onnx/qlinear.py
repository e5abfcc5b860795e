"""What onnxruntime's quantiser writes in its format of operators."""

from ...registry import itself, not_imported

itself(
    "QLinearAdd",
    "QLinearAveragePool",
    "QLinearConcat",
    "QLinearGlobalAveragePool",
    "QLinearLeakyRelu",
    "QLinearMul",
    "QLinearSigmoid",
    "QLinearSoftmax",
    domain="com.microsoft",
)
not_imported(
    "onnxruntime has no implementation of it that says what it means", "QLinearReduceMean", domain="com.microsoft"
)
