"""Products of quantised numbers."""

from ...registry import MS, itself

itself("MatMulInteger", "QLinearMatMul", "ConvInteger", "QLinearConv", since=10)
itself("MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QGemm", domain=MS)
