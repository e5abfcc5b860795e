"""Gemm and Det. What MXNet has is read in converters/ops/linear.py and linalg.py."""

from ...registry import itself

itself("Gemm", since=11, read=False)
itself("Det", since=11, read=False)
