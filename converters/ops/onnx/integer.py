"""Products of quantised numbers."""

from ...registry import MS, passthrough

passthrough("MatMulInteger", "QLinearMatMul", "ConvInteger", "QLinearConv", since=10)
passthrough("MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QGemm", domain=MS)
