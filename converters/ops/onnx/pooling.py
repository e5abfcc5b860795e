"""Pooling in the forms that MXNet lacks."""

from ...registry import passthrough

passthrough("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", read=False)
passthrough("MaxUnpool", since=9)
