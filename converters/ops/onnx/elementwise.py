"""Functions of one element and their kin."""

from ...registry import itself

itself("Mish", since=18)
