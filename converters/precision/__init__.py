"""Rewritings of converted graphs into another precision: floats retyped (retype.py), products of 8-bit integers said as pairs of
QuantizeLinear and DequantizeLinear (qdq.py). Which nodes are rewritten, and with which scales, whoever calls decides."""
