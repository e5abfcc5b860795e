"""Arithmetic and comparison. What MXNet has is read in converters/ops/binary.py."""

from ...registry import itself

itself("BitShift", since=11)
itself("Sum", "Mean", since=8, read=False)
itself("Pow", since=7, read=False)
itself("Mod", since=10, read=False)
itself("Equal", since=19, read=False)
