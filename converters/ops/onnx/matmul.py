"""Gemm and Det. What MXNet has is read in converters/ops/linear.py and linalg.py."""

from ...registry import passthrough

passthrough("Gemm", since=11, read=False)
passthrough("Det", since=11, read=False)
