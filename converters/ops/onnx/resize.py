"""Resize in the forms that MXNet lacks."""

from ...registry import itself

itself("Resize", read=False)
