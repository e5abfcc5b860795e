"""Pooling in the forms that MXNet lacks."""

from ...registry import itself

itself("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", read=False)
itself("MaxUnpool", since=9)
