"""Functions of one element and their kin. Those that MXNet has are read in converters/ops/elementwise.py."""

from ...registry import itself

itself("Mish", since=18)
itself("Sign", since=9)
itself("IsInf", since=10, read=False)
itself("Clip", since=11, read=False)
