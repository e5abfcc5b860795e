"""TopK and Unique."""

from ...registry import passthrough

passthrough("TopK", read=False)
passthrough("Unique", since=11)
