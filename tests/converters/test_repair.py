"""Broken forms that exporters wrote (MXNet's own are in fixtures/onnx, too): what they are read as, and what is refused."""

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest

from bridge.onnx_backend import OnnxBackendRep
from converters import UnsupportedModel
from converters.importer import Imported, import_model

MXNET = "mxnet_converted_model"


def read(text: str, opset: int = 8, name: str = MXNET) -> Imported:
    """A model of the text after its name."""
    return import_model(onnx.parser.parse_model(f'<ir_version: 4, opset_import: ["": {opset}]> {name} {text}'))


def result(found: Imported, *inputs: np.ndarray) -> np.ndarray:
    """Its first output."""
    return OnnxBackendRep(found).run(list(inputs))[0]


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("opset", "operator", "want"),
    [
        (13, "Slice <starts = [1], ends = [3], axes = [2]> (x)", X[:, :, 1:3]),
        (11, "Clip <min = 2.0, max = 9.0> (x)", X.clip(2, 9)),
        (13, "Pad <pads = [0, 0, 1, 0, 0, 0]> (x)", np.pad(X, ((0, 0), (0, 0), (1, 0)))),
        (18, "ReduceMax <axes = [1], keepdims = 0> (x)", X.max(1)),
        (13, "Unsqueeze <axes = [0]> (x)", X[None]),
        (13, "ReduceSum <axes = [2]> (x)", X.sum(2, keepdims=True)),
    ],
)
def test_attributes_of_an_older_opset(opset: int, operator: str, want: np.ndarray) -> None:
    found = read(f"(float[2, 3, 4] x) => (float y) {{ y = {operator} }}".replace("float y", "float[] y"), opset, "any")
    assert "belongs to an older opset" in found.repairs[0]
    assert not found.departs
    np.testing.assert_array_equal(result(found, X), want)


def test_an_attribute_that_no_opset_has_stays_a_problem() -> None:
    with pytest.raises(UnsupportedModel, match="unknown attribute nothing"):
        read("(float[2] x) => (float[2] y) { y = Clip <nothing = 1> (x) }", 13, "any")


@pytest.mark.parametrize("name", ["int32", "INT32"])
def test_cast_by_name(name: str) -> None:
    found = read(f'(float[2, 3, 4] x) => (int32[2, 3, 4] y) {{ y = Cast <to = "{name}"> (x) }}', 9, "any")
    assert result(found, X).dtype == np.int32
    assert found.repairs == ("y: to is a name: read as the dtype of that name",)


def test_softmax_is_along_one_axis_in_files_of_mxnet_only() -> None:
    text = "(float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) }"
    theirs, others = read(text), read(text, 8, "any")
    assert theirs.departs
    assert theirs.doubts
    assert not others.repairs
    np.testing.assert_allclose(result(theirs, X).sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(result(others, X).sum((1, 2)), 1, rtol=1e-5)
    last = read(text.replace("axis = 1", "axis = 2"))
    assert not last.repairs


def test_the_last_axis_needs_no_repair() -> None:
    assert not read("(float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 1> (x) }").repairs


def test_float64_numbers_take_the_type_of_the_other_side() -> None:
    text = "(float[2, 3, 4] x) => (float[2, 3, 4] y) <double[1] s = {2.5}> { y = Mul (x, s) }"
    np.testing.assert_array_equal(result(read(text), X), X * np.float32(2.5))
    with pytest.raises(UnsupportedModel):
        read(text, 8, "any")


def test_dense_layers() -> None:
    weights = "float[2, 12] w = {" + ", ".join(str(i) for i in range(24)) + "}"
    text = (
        f"(float[2, 3, 4] x) => (float[2, 2] y) <{weights}, int64[1] b = {{0}}> {{ y = Gemm <transB = 1> (x, w, b) }}"
    )
    found = read(text)
    assert len(found.repairs) == 2
    want = X.reshape(2, 12) @ np.arange(24.0).reshape(2, 12).T
    np.testing.assert_allclose(result(found, X), want)
    biased = read(text.replace("int64[1] b = {0}", "int64[2] b = {3, -500}"))
    np.testing.assert_allclose(result(biased, X), want + np.array([3, -500]))


def test_rows_before_a_dense_layer_of_images() -> None:
    weights = "float[2, 12] w = {" + ", ".join(str(i) for i in range(24)) + "}"
    found = read(
        f"(float[n, 3, 4] x) => (float[] y) <{weights}, int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] two = {{2}}>"
        "{ s = Shape (x)  r = Shape (s)  f = Flatten <axis = -1> (x)  g = Gemm <transB = 1> (f, w)  e = Sub (r, one)"
        "  h = Slice (s, zero, e)  t = Concat <axis = 0> (h, two)  y = Reshape (g, t) }",
        13,
    )
    for x in (X, X[:1]):
        np.testing.assert_allclose(result(found, x), x.reshape(-1, 12) @ np.arange(24.0).reshape(2, 12).T)


@pytest.mark.parametrize("opset", [6, 8, 13])
@pytest.mark.parametrize("window", ["", "strides = [2, 1], ", "strides = [3, 3], "])
@pytest.mark.parametrize("pads", ["", "pads = [0, 0, 0, 0], ", "pads = [1, 1, 1, 1], ", "pads = [0, 2, 1, 0], "])
def test_padding_counts_in_averages_of_mxnet_unless_the_file_says_otherwise(opset: int, window: str, pads: str) -> None:
    """onnxruntime computes what is meant, written out."""

    def text(said: str) -> str:
        attributes = f"{window}{pads}{said}kernel_shape = [3, 3]"
        return f"(float[1, 2, 6, 5] x) => (float[] y) {{ y = AveragePool <{attributes}> (x) }}"

    def meant(count: int) -> np.ndarray:
        said = f'<ir_version: 4, opset_import: ["": 13]> g {text(f"count_include_pad = {count}, ")}'
        session = ort.InferenceSession(onnx.parser.parse_model(said).SerializeToString())
        return np.asarray(session.run(None, {"x": x})[0])

    x = np.random.default_rng(0).uniform(1, 2, (1, 2, 6, 5)).astype(np.float32)
    theirs, others = read(text(""), opset), read(text(""), opset, "any")
    np.testing.assert_allclose(result(theirs, x), meant(1), rtol=1e-5)
    np.testing.assert_allclose(result(others, x), meant(0), rtol=1e-5)
    padded = "1" in pads
    assert (theirs.departs, bool(theirs.doubts), bool(others.repairs)) == (padded, padded, False)
    for count in (0, 1) if opset > 6 else ():
        said = read(text(f"count_include_pad = {count}, "), opset)
        np.testing.assert_allclose(result(said, x), meant(count), rtol=1e-5)
        assert not said.repairs


def test_places_of_extremes_are_floats() -> None:
    found = read("(float[2, 3, 4] x) => (float[2, 4] y) { y = ArgMax <axis = 1, keepdims = 1> (x) }")
    assert result(found, X).dtype == np.float32
    assert result(found, X).shape == (2, 4)
    inside = read("(float[2, 3, 4] x) => (float[2, 1, 4] y) { a = ArgMax <axis = 1, keepdims = 1> (x)  y = Neg (a) }")
    assert inside.doubts
    right = read(
        "(float[2, 3, 4] x) => (float[2, 4] y) { a = ArgMax <axis = 1, keepdims = 0> (x)  y = Cast <to = 1> (a) }", 13
    )
    assert not right.repairs


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "(float[2, 4] x) => (float[2, 4] y) { s = Split <axis = 1, split = [2]> (x)  y = Concat <axis = 1> (s, s) }",
            "is lost",
        ),
        ("(float[2, 4] x) => (float[2, 4] y) { s = Split <axis = 1, split = [4]> (x)  y = Neg (s) }", "is lost"),
        (
            "(float[3, 3, 3] x) => (float[3, 3, 3] y) { transpose1_b = Transpose (x)  y = MatMul (x, transpose1_b) }",
            "alpha",
        ),
        (
            "(float[1, 1, 6, 6] x) => (float[1, 1, 3, 3] y) { y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x) }",
            "full",
        ),
    ],
)
def test_what_is_lost_is_refused(text: str, why: str) -> None:
    with pytest.raises(UnsupportedModel, match=why):
        read(text)
