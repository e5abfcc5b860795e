"""Arithmetic and comparison. What MXNet has is read in converters/ops/binary.py."""

from ...registry import passthrough

passthrough("BitShift", since=11)
passthrough("Sum", "Mean", since=8, read=False)
passthrough("Pow", since=7, read=False)
passthrough("Mod", since=10, read=False)
passthrough("Equal", since=19, read=False)
