"""Convolutions in the forms that MXNet lacks."""

from ...registry import passthrough

passthrough("Conv", "ConvTranspose", read=False)
passthrough("DeformConv", since=19, read=False)
passthrough("Col2Im", since=18, read=False)
