"""Marks of tests that the oldest packages that are supported cannot pass, with what those lack."""

import onnx
import onnxruntime as ort
import pytest

import converters


def release(version: str) -> tuple[int, int]:
    """Major and minor number of a version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


OLD_RUNTIME = release(ort.__version__) < (1, 19)
"""True where onnxruntime is of the oldest release that is supported, which has faults of its own."""


def needs_opset(opset: int) -> pytest.MarkDecorator:
    """For tests that write this opset."""
    return pytest.mark.skipif(
        converters.newest_opset() < opset, reason=f"onnx {onnx.__version__} does not define opset {opset}"
    )


def old_runtime(fault: str, *, when: bool = True) -> pytest.MarkDecorator:
    """For tests whose witness is onnxruntime, where its oldest release is wrong."""
    return pytest.mark.skipif(OLD_RUNTIME and when, reason=f"onnxruntime {ort.__version__} {fault}")
