"""Products of quantised numbers."""

from ...registry import itself

itself("MatMulInteger", "QLinearMatMul", "ConvInteger", "QLinearConv", since=10)
itself("MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QGemm", domain="com.microsoft")
