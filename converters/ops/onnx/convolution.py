"""Convolutions in the forms that MXNet lacks."""

from ...registry import itself

itself("Conv", "ConvTranspose", read=False)
itself("DeformConv", since=19, read=False)
itself("Col2Im", since=18, read=False)
