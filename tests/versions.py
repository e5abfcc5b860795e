"""Marks of tests that the oldest packages that are supported cannot pass, or a package on some machines, with what those lack."""

import functools

import numpy as np
import onnx
import onnx.parser
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


@functools.cache
def saturates() -> bool:
    """True where onnxruntime adds pairs of products of bytes in 16 bits, in which they do not fit: on machines without VNNI."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        net (uint8[4, 64] a, int8[64, 32] b) => (int32[4, 32] y) { y = MatMulInteger (a, b) }"""
    rng = np.random.default_rng(0)
    a = rng.integers(200, 256, (4, 64)).astype(np.uint8)
    b = rng.integers(100, 128, (64, 32)).astype(np.int8)
    for held in (False, True):  # weights that are constant are packed, and added up elsewhere
        model = onnx.parser.parse_model(text)
        feeds = {"a": a, "b": b}
        if held:
            model.graph.initializer.append(onnx.numpy_helper.from_array(feeds.pop("b"), "b"))
            del model.graph.input[1]
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        if not np.array_equal(session.run(None, feeds)[0], a.astype(np.int32) @ b.astype(np.int32)):
            return True
    return False


exact_bytes = pytest.mark.skipif(saturates(), reason="onnxruntime's sums of products of bytes saturate on this machine")
"""For tests whose witness is onnxruntime's products of uint8 and int8."""
