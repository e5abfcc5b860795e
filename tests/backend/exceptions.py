"""Tests of onnx's backend suite that do not pass, with the reason; patterns are regular expressions on whole names.

test_suite.py fails for a test in here that passes, so a closed gap leaves the list."""

import re

EXCEPTIONS: dict[str, str] = {
    "test_resize_downsample_scales_(linear|cubic)_align_corners_cpu": "expects the position i (old - 1) / (old * scale - 1); the "
    "standard's formula, onnxruntime and torch have the size of the result, a whole number, in the place of old * scale",
}

NOT_WRITTEN: dict[str, str] = {}
"""Tests that pass, but whose model is not written as ONNX again with the same bits, with the reason."""


def reason(name: str, table: dict[str, str]) -> str | None:
    """Why a test does not pass; None for those that have to."""
    return next((why for pattern, why in table.items() if re.fullmatch(pattern, name)), None)
