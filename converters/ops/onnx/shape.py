"""Shapes that are only known at run time. What reads these operators is in converters/ops/shape.py and expand.py."""

from ...registry import passthrough

passthrough("Size")
passthrough("Shape", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile", read=False)
