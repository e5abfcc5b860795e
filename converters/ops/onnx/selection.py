"""Operators that select what the numbers themselves decide."""

from ...registry import itself

itself("Compress", read=False)
itself("NonZero", since=9)
itself("NonMaxSuppression", since=10)
