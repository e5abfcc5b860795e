"""Derivatives within a model, and steps of optimizers."""

import numpy as np
import onnx
import pytest

from bridge.onnx_backend import OnnxBackendRep
from converters.error import UnsupportedModel
from converters.importer import import_model

from .agreement import names_differ

HEAD = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>'
A, B = np.float32([2, -3]), np.float32([5, 7])


def run(text: str, **feeds: np.ndarray) -> list[np.ndarray]:
    found = import_model(onnx.parser.parse_model(HEAD + text))
    names_differ(found)
    return list(OnnxBackendRep(found).run(feeds))


def test_derivatives() -> None:
    text = """m (float[2] a, float[2] b) => (float[2] da, float[2] db) {
        c = Mul (a, b)
        y = Add (c, a)
        da, db = ai.onnx.preview.training.Gradient <xs = ["a", "b"], y = "y"> (a, b)
    }"""
    da, db = run(text, a=A, b=B)
    assert da.tolist() == (B + 1).tolist()
    assert db.tolist() == A.tolist()


def test_derivatives_by_what_lies_between_and_elsewhere() -> None:
    text = """m (float[2] a, float[2] b) => (float[2] dc, float[2] y) {
        c = Mul (a, b)
        y = Mul (c, c)
        dc = ai.onnx.preview.training.Gradient <xs = ["c"], y = "y"> (b)
    }"""
    dc, y = run(text, a=A, b=B)
    assert dc.tolist() == (2 * B).tolist()
    assert y.tolist() == ((A * B) ** 2).tolist()


def test_derivatives_of_derivatives_and_of_nothing() -> None:
    text = """m (float[2] a, float[2] b) => (float[2] second, float[2] none) {
        s = Mul (a, a)
        y = Mul (s, a)
        first = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a)
        second, none = ai.onnx.preview.training.Gradient <xs = ["a", "b"], y = "first"> (a, b)
    }"""
    second, none = run(text, a=A, b=B)
    assert second.tolist() == (6 * A).tolist()
    assert none.tolist() == [0, 0]


def test_names_that_nothing_has() -> None:
    text = """m (float[2] a) => (float[2] da) {
        y = Sin (a)
        da = ai.onnx.preview.training.Gradient <xs = ["a"], y = "z"> (a)
    }"""
    with pytest.raises(UnsupportedModel, match="names z"):
        run(text, a=A)


@pytest.mark.parametrize("steps", [0, 3])
def test_adam_corrects_for_the_first_steps(steps: int) -> None:
    text = """m (float r, int64 t, float[2] x, float[2] g, float[2] v, float[2] h) => (float[2] x2, float[2] v2, float[2] h2) {
        x2, v2, h2 = ai.onnx.preview.training.Adam <alpha = 0.9, beta = 0.99, norm_coefficient_post = 0.1> (r, t, x, g, v, h)
    }"""
    g, v, h = np.float32([0.5, -1]), np.float32([0.1, 0.2]), np.float32([0.3, 0.4])
    x2, v2, h2 = run(text, r=np.float32(0.1), t=np.int64(steps), x=A, g=g, v=v, h=h)
    first, second = 0.9 * v + 0.1 * g, 0.99 * h + 0.01 * g * g
    rate = 0.1 * (np.sqrt(1 - 0.99**steps) / (1 - 0.9**steps) if steps else 1)
    np.testing.assert_allclose(v2, first, rtol=1e-5)
    np.testing.assert_allclose(h2, second, rtol=1e-5)
    np.testing.assert_allclose(x2, 0.9 * (A - rate * first / (np.sqrt(second) + 1e-6)), rtol=1e-5)


def test_derivatives_by_one_of_several_with_others_that_stay() -> None:
    """xs are what is differentiated by, zs what stays; inputs come in that order, and the tensors between have several outputs."""
    text = """m (float[2] a, float[2] b, float[4] c) => (float[2] da, float[4] dc) {
        d, e = Split <axis = 0> (c)
        f = Mul (a, d)
        g = Mul (f, b)
        y = Mul (g, e)
        da, dc = ai.onnx.preview.training.Gradient <xs = ["a", "c"], zs = ["b"], y = "y"> (b, c, a)
    }"""
    c = np.float32([0.5, -2, 3, 4])
    da, dc = run(text, a=A, b=B, c=c)  # y = a * d * b * e at a = B, b = A
    np.testing.assert_allclose(da, c[:2] * A * c[2:], rtol=1e-6)
    np.testing.assert_allclose(dc, np.concatenate([B * A * c[2:], B * A * c[:2]]), rtol=1e-6)
    for inputs, count in (("b, c", 2), ("b, c, a, a", 4)):
        with pytest.raises(UnsupportedModel, match=f"got {count} inputs, wanted one for each of a, c, b"):
            run(text.replace("(b, c, a)", f"({inputs})"), a=A, b=B, c=c)
