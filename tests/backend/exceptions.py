"""Tests of onnx's backend suite that do not pass, with the reason; patterns are regular expressions on whole names.

test_suite.py fails for a test in here that passes, so a closed gap leaves the list."""

import re

EXCEPTIONS: dict[str, str] = {
    "test_attention_4d_causal_fp16_expanded_cpu": (
        "a chain of float16 operators; we add in float32 and round once per operator, the recorded numbers in float16: 2 of 192"
        " differ by two steps, and ours are nearer to those of float64"
    ),
    "test_loop16_seq_none_cpu": (
        "the suite's own comparison fails: it asks for the length of an item of a sequence that has no dimension"
    ),
    r"test_resize_downsample_scales_(linear|cubic)_align_corners_cpu": (
        "the recorded numbers take size x scale before it is rounded for the length of the output; onnxruntime and PyTorch, and we,"
        " take the length that the output has"
    ),
}

RANDOM: dict[str, str] = {
    r"test_bernoulli(_double|_seed)?(_expanded)?_cpu": "random: the recorded numbers are one draw of NumPy's generator among many",
}
"""Tests that no right implementation passes but by chance; they are not run."""

NOT_WRITTEN: dict[str, str] = {}
"""Tests that pass, but whose model is not written as ONNX again with the same bits, with the reason."""


def reason(name: str, table: dict[str, str]) -> str | None:
    """Why a test does not pass; None for those that have to."""
    return next((why for pattern, why in table.items() if re.fullmatch(pattern, name)), None)
