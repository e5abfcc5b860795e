"""TopK and Unique."""

from ...registry import itself

itself("TopK", read=False)
itself("Unique", since=11)
