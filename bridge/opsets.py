"""Which opset to write when nobody says: the newest at which the installed onnxruntime has all kernels."""

from __future__ import annotations

import re

import onnxruntime

import converters

# The newest opset that a release of onnxruntime runs, from its own table of compatible versions:
# https://onnxruntime.ai/docs/reference/compatibility.html
_NEWEST_BY_MINOR = {14: 18, 15: 19, 16: 19, 17: 20}


def default_opset() -> int:
    """21 with onnxruntime 1.18 and later, less before; never above what the installed onnx defines."""
    match = re.match(r"1\.(\d+)", onnxruntime.__version__)
    minor = int(match[1]) if match else max(_NEWEST_BY_MINOR) + 1
    return min(converters.default_opset(), _NEWEST_BY_MINOR.get(minor, converters.default_opset()))
