"""What onnxruntime's quantiser writes in its format of operators."""

from ...registry import itself

itself(
    "QLinearAdd",
    "QLinearAveragePool",
    "QLinearConcat",
    "QLinearGlobalAveragePool",
    "QLinearLeakyRelu",
    "QLinearMul",
    "QLinearReduceMean",
    "QLinearSigmoid",
    "QLinearSoftmax",
    domain="com.microsoft",
)
