"""Operators that select what the numbers themselves decide."""

from ...registry import passthrough

passthrough("Compress", read=False)
passthrough("NonZero", since=9)
passthrough("NonMaxSuppression", since=10)
