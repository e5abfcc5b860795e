"""Broken forms that exporters wrote (MXNet's own are in fixtures/onnx, too): what they are read as, and what is refused."""

from types import SimpleNamespace

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest

from bridge.onnx_backend import OnnxBackendRep
from converters import UnsupportedModel, legacy_fixes
from converters.import_state import ImportedValue
from converters.importer import Imported, import_model
from hybrid.core.shapes import UNKNOWN

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
    assert not found.changes_numerics
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
    assert theirs.changes_numerics
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
    assert [r for r in found.repairs if r.startswith("g: rows of another length than the weights'")]
    for x in (X, X[:1]):
        np.testing.assert_allclose(result(found, x), x.reshape(-1, 12) @ np.arange(24.0).reshape(2, 12).T)


def test_broken_rows_before_a_dense_layer_are_told() -> None:
    """Not what no file should hold: a Flatten of nothing, weights that are a vector."""
    for weights, rows in (
        ("float[2, 12] w = {" + ", ".join(["1"] * 24) + "}", "()"),
        ("float[4] w = {1, 2, 3, 4}", "(x)"),
    ):
        body = f"{{ f = Flatten <axis = -1> {rows}  y = Gemm <transB = 1> (f, w) }}"
        with pytest.raises(UnsupportedModel):
            read(f"(float[n, 3, 4] x) => (float[] y) <{weights}> {body}", 13)


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
    assert (theirs.changes_numerics, bool(theirs.doubts), bool(others.repairs)) == (padded, padded, False)
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


def softmax(x: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    grown = np.exp(x - x.max(axis, keepdims=True))
    return grown / grown.sum(axis, keepdims=True)


U = np.random.default_rng(5).uniform(-2, 2, (2, 3, 4, 3)).astype(np.float32)
PRELU = "(float[2, 3, 4, LAST] x) => (float[2, 3, 4, LAST] y) <float[3] s = {0.5, -1, 2}> { y = PRelu (x, s) }"
SLOPES = np.float32([0.5, -1, 2])
NORM = """(float[2, 3, 4, 3] x) => (float[2, 3, 4, 3] y) <float[3] g = {GAMMA}, float[3] b = {1, 2, -1},
    float[3] m = {0.5, 0, -0.5}, float[3] v = {1, 2, 4}> {
    y = BatchNormalization <epsilon = 0.0, spatial = SPATIAL> (x, g, b, m, v)
}"""


def normal(gamma: list[float]) -> np.ndarray:
    g, b, m, v = (np.float32(n)[:, None, None] for n in (gamma, [1, 2, -1], [0.5, 0, -0.5], [1, 2, 4]))
    return (U - m) / np.sqrt(v) * g + b


def leaky(slopes: np.ndarray) -> np.ndarray:
    return np.where(U < 0, U * slopes, U)


WEIGHTS = ", ".join(str(i % 5 - 2) for i in range(72))
FLAT = f"(float[2, 3, 4, 3] x) => (float[2, 2] y) <float[2, 36] w = {{{WEIGHTS}}}, BIAS> {{ y = Gemm <transB = 1> (x, w, b) }}"
DENSE = U.reshape(2, 36) @ (np.arange(72) % 5 - 2).reshape(2, 36).T
SCALED = "(float[2, 3, 4, 3] x) => (float[2, 3, 4, 3] y) <double[1] s = {2.5}> { y = OP }"
MANY = "(float[2, 3, 4, 3] x) => (float[DIMS] y) { y = OP }"
TURNED = """(float[2, 3, 4, 3] x) => (float[2, 2] y) <int64[2] t = {2, -1}> {
    a = Reshape (x, t) NAME = Transpose (a) y = MatMul (a, NAME)
}"""
ROWS = U.reshape(2, -1)


def repairs() -> list[tuple[str, str, int, str, np.ndarray, list[str], bool, list[str]]]:
    """Name, text, opset, whose file, what is meant, what is said to be repaired, whether numbers depart, what is doubted."""
    channels, wide = SLOPES[:, None, None], np.broadcast_to(SLOPES, (3,))
    spatial = ["spatial=0 with one mean for each channel"]
    slopes = ["slopes of shape (C,)"]
    gamma = ["fix_gamma"]
    mine = NORM.replace("SPATIAL", "0").replace("GAMMA", "1, 1, 1")
    other = NORM.replace("SPATIAL", "0").replace("GAMMA", "2, 1, 0.5")
    return [
        ("channels", mine, 7, MXNET, normal([1, 1, 1]), spatial, False, []),
        ("channels of others", mine, 7, "any", normal([1, 1, 1]), spatial, False, []),
        ("gamma", other, 7, MXNET, normal([2, 1, 0.5]), spatial, False, gamma),
        ("gamma of others", other, 7, "any", normal([2, 1, 0.5]), spatial, False, []),
        ("spatial", other.replace("spatial = 0", "spatial = 1"), 7, "any", normal([2, 1, 0.5]), [], False, []),
        ("slopes that fit both", PRELU.replace("LAST", "3"), 9, "any", leaky(wide), [], False, []),
        ("slopes that fit both, of MXNet", PRELU.replace("LAST", "3"), 9, MXNET, leaky(channels), slopes, True, []),
        (
            "one slope",
            PRELU.replace("LAST", "3").replace("[3] s = {0.5, -1, 2}", "[1] s = {0.5}"),
            9,
            MXNET,
            leaky(np.float32(0.5)),
            [],
            False,
            [],
        ),
        (
            "bias of nothing",
            FLAT.replace("BIAS", "int64[1] b = {0}"),
            8,
            MXNET,
            DENSE,
            ["no bias", "data of rank 4: flattened"],
            False,
            [],
        ),
        (
            "bias",
            FLAT.replace("BIAS", "int64[2] b = {0, 7}"),
            8,
            MXNET,
            DENSE + np.array([0, 7]),
            ["floats", "data of rank 4"],
            False,
            [],
        ),
        (
            "floats",
            FLAT.replace("BIAS", "float[2] b = {0.5, 7}"),
            8,
            MXNET,
            DENSE + np.array([0.5, 7]),
            ["data of rank 4"],
            False,
            [],
        ),
        (
            "number behind",
            SCALED.replace("OP", "Sub (x, s)"),
            8,
            MXNET,
            U - np.float32(2.5),
            ["a float64 number beside float32"],
            False,
            [],
        ),
        (
            "number ahead",
            SCALED.replace("OP", "Sub (s, x)"),
            8,
            MXNET,
            np.float32(2.5) - U,
            ["a float64 number beside float32"],
            False,
            [],
        ),
        (
            "softmax within",
            MANY.replace("DIMS", "2, 3, 4, 3").replace("OP", "Softmax <axis = 2> (x)"),
            9,
            MXNET,
            softmax(U, 2),
            ["along axis 2 alone"],
            True,
            [],
        ),
        (
            "softmax from the end",
            MANY.replace("DIMS", "2, 3, 4, 3").replace("OP", "LogSoftmax <axis = -2> (x)"),
            11,
            MXNET,
            np.log(softmax(U, 2)),
            ["LogSoftmax along axis -2"],
            True,
            [],
        ),
        (
            "softmax of channels",
            MANY.replace("DIMS", "2, 3, 4, 3").replace("OP", "Softmax (x)"),
            12,
            MXNET,
            softmax(U, 1),
            ["along axis 1 alone"],
            True,
            ["SoftmaxOutput"],
        ),
        (
            "softmax last",
            MANY.replace("DIMS", "2, 3, 4, 3").replace("OP", "Softmax <axis = 3> (x)"),
            12,
            MXNET,
            softmax(U, 3),
            [],
            False,
            [],
        ),
        (
            "softmax of others",
            MANY.replace("DIMS", "2, 3, 4, 3").replace("OP", "Softmax <axis = 2> (x)"),
            12,
            "any",
            softmax(U, (2, 3)),
            [],
            False,
            [],
        ),
        (
            "softmax now",
            MANY.replace("DIMS", "2, 3, 4, 3").replace("OP", "Softmax <axis = 2> (x)"),
            13,
            MXNET,
            softmax(U, 2),
            [],
            False,
            [],
        ),
        (
            "places without the axis",
            MANY.replace("DIMS", "2, 4, 3").replace("OP", "ArgMin <axis = 1> (x)"),
            8,
            MXNET,
            U.argmin(1).astype("f"),
            ["keepdims=1, but the output is declared without", "MXNet gives float32"],
            True,
            [],
        ),
        (
            "places with it",
            MANY.replace("DIMS", "2, 1, 4, 3").replace("OP", "ArgMin <axis = 1> (x)"),
            8,
            MXNET,
            U.argmin(1)[:, None].astype("f"),
            ["MXNet gives float32"],
            True,
            [],
        ),
        (
            "places",
            MANY.replace("DIMS", "2, 4, 3").replace("OP", "ArgMax <axis = 1, keepdims = 0> (x)"),
            8,
            MXNET,
            U.argmax(1).astype("f"),
            ["MXNet gives float32"],
            True,
            [],
        ),
        (
            "places of others",
            MANY.replace("float[DIMS]", "int64[2, 4, 3]").replace("OP", "ArgMax <axis = 1, keepdims = 0> (x)"),
            8,
            "any",
            U.argmax(1),
            [],
            False,
            [],
        ),
        (
            "product turned",
            TURNED.replace("NAME", "transpose0_b"),
            8,
            MXNET,
            ROWS @ ROWS.T,
            [],
            False,
            ["alpha of linalg_gemm2"],
        ),
        ("product turned by others", TURNED.replace("NAME", "transpose0_b"), 8, "any", ROWS @ ROWS.T, [], False, []),
        ("product of another name", TURNED.replace("NAME", "transpose0"), 8, MXNET, ROWS @ ROWS.T, [], False, []),
        (
            "dtype by NumPy's name",
            MANY.replace("float[DIMS]", "float16[2, 3, 4, 3]").replace("OP", 'Cast <to = "float16"> (x)'),
            9,
            "any",
            U.astype("f2"),
            ["to is a name"],
            False,
            [],
        ),
        (
            "dtype by its own name",
            MANY.replace("float[DIMS]", "double[2, 3, 4, 3]").replace("OP", 'Cast <to = "double"> (x)'),
            9,
            "any",
            U.astype("f8"),
            ["to is a name"],
            False,
            [],
        ),
        (
            "dtype by an alias",
            MANY.replace("float[DIMS]", "float16[2, 3, 4, 3]").replace("OP", 'Cast <to = "half"> (x)'),
            9,
            "any",
            U.astype("f2"),
            ["to is a name"],
            False,
            [],
        ),
        (
            "dtype as it was said once",
            MANY.replace("float[DIMS]", "int32[2, 3, 4, 3]").replace("OP", 'Cast <to = "INT32"> (x)'),
            1,
            "any",
            U.astype("i4"),
            [],
            False,
            [],
        ),
    ]


def test_what_is_repaired_is_said_and_nothing_beside_it() -> None:
    wrong = []
    for name, text, opset, whose, want, repaired, changes_numerics, doubts in repairs():
        try:
            found = read(text, opset, whose)
            got = result(found, U)
            assert got.dtype == (want.dtype if want.dtype.kind != "f" or "double" in text else got.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-3 if got.dtype == np.float16 else 1e-4, atol=1e-5)
            for said, wanted in ((found.repairs, repaired), (found.doubts, doubts)):
                assert len(said) == len(wanted), said
                assert all(w in s for w, s in zip(wanted, said)), said
            assert found.changes_numerics == changes_numerics, found.repairs
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_names_of_no_dtype_are_refused() -> None:
    with pytest.raises(UnsupportedModel, match="got to='number', wanted the name of an element type"):
        read('(float[2] x) => (float[2] y) { y = Cast <to = "number"> (x) }', 9, "any")
    with pytest.raises(UnsupportedModel, match="got to='number', wanted the name of an element type"):
        read('(float[2] x) => (float[2] y) { y = Cast <to = "number"> (x) }', 1, "any")


class Read:
    """A node of a file as far as repairs ask it."""

    def __init__(self, name: str):
        self.shared = SimpleNamespace(file=SimpleNamespace(proto=onnx.ModelProto(graph=onnx.GraphProto(name=name))))
        self.said: list[str] = []

    def note_fix(self, what: str, *, changes_numerics: bool = False) -> None:
        self.said.append(f"{changes_numerics}: {what}")


def test_what_shapes_decide_of_statistics_and_slopes() -> None:
    """Ranks and sizes that are not known, and those that fit either meaning."""
    wrong = []
    spatial = [
        ((2, 3, 4, 5), (3,), 0, False, True),
        ((2, 3, 4), (3,), 0, False, True),
        (None, (3,), 0, False, True),
        ((2, 3), (3,), 0, True, False),
        ((2, 3, 4), (3, 4), 0, True, False),
        ((2, 3, 4), None, 0, True, False),
        ((2, 3, 4), (3,), 1, False, False),
    ]
    for x, mean, flag, want, said in spatial:
        g = Read("any")
        got = legacy_fixes.batch_norm_spatial(g, flag, ImportedValue("x", x), ImportedValue("m", mean))
        if (got, bool(g.said)) != (want, said):
            wrong.append(f"statistics {mean} of {x}, spatial={flag}: {got}, {g.said}")
    slopes = [
        ((2, 3, 4), (3,), True, True),
        ((2, 3, 3), (3,), False, True),
        ((2, 4, 5), (3,), False, True),
        ((2, 3, UNKNOWN), (3,), False, True),
        ((2, UNKNOWN, 4), (3,), False, True),
        ((2, 3), (3,), False, False),
        ((2, 3, 4), (3, 1), False, False),
        ((2, 3, 4), (1,), False, False),
        ((2, 3, 4), (UNKNOWN,), False, False),
        ((2, 3, 4), None, False, False),
        (None, (3,), False, False),
    ]
    for x, slope, others, mine in slopes:
        for name, want in (("any", others), (MXNET, mine)):
            g = Read(name)
            got = legacy_fixes.channel_slope(g, ImportedValue("x", x), ImportedValue("s", slope))
            if got != want or [s[:24] for s in g.said] != ["True: slopes of shape (C"] * want:
                wrong.append(f"slopes {slope} of {x}, {name}: {got}, {g.said}")
    assert not wrong, "\n".join(wrong)


ROWED = "(float[2, 3, 4] x) => (float[DIMS] y) <float[ROWS] w = {WEIGHTS}> { NODES }"


def test_what_repairs_look_at() -> None:
    """One file beside the other, of which only one is written in the broken form."""
    flat, rows = X.reshape(2, 12), X.reshape(6, 4)
    w24, w8 = np.arange(24) % 7 - 3.0, np.arange(8) % 5 - 2.0
    floats, full = np.float32([0.5, -2]), "MXNet gives float32"

    def dense(dims: str, shape: str, nodes: str, weights: np.ndarray = w24) -> str:
        numbers = "{" + ", ".join(str(n) for n in weights) + "}"
        text = ROWED.replace("{WEIGHTS}", numbers)
        return text.replace("DIMS", dims).replace("ROWS", shape).replace("NODES", nodes)

    norm = """(float[2, 3, 4] x, float[3] g) => (float[2, 3, 4] y) <float[3] b = {1, 2, -1}, float[3] m = {0.5, 0, -0.5},
        float[3] v = {1, 2, 4}> { y = BatchNormalization <epsilon = 0.0> (x, g, b, m, v) }"""
    gamma = np.float32([2, 1, 0.5])
    b, m, v = (np.float32(n)[:, None] for n in ([1, 2, -1], [0.5, 0, -0.5], [1, 2, 4]))
    cases = [
        (
            "two readers of places",
            "(float[2, 3, 4] x) => (float[2, 4] y, float[2, 4] z) { a = ArgMax <axis = 1, keepdims = 0> (x) "
            "y = Cast <to = 1> (a) z = Neg (a) }",
            13,
            {},
            [X.argmax(1).astype("f"), -X.argmax(1).astype("f")],
            [full],
            [],
        ),
        (
            "places cast and shown",
            "(float[2, 3, 4] x) => (float[2, 4] y, float[2, 4] a) { a = ArgMin <axis = 1, keepdims = 0> (x) "
            "y = Cast <to = 1> (a) }",
            13,
            {},
            [X.argmin(1).astype("f")] * 2,
            [full],
            [],
        ),
        (
            "places as a second output",
            "(float[2, 3, 4] x) => (float[2, 3, 4] y, float[2, 4] a) { y = Neg (x) a = ArgMax <axis = 1> (x) }",
            8,
            {},
            [-X, X.argmax(1).astype("f")],
            ["declared without that axis", full],
            [],
        ),
        (
            "places of no declared rank",
            "(float[2, 3, 4] x) => (float[] a) { a = ArgMax <axis = 1> (x) }",
            8,
            {},
            [X.argmax(1)[:, None].astype("f")],
            [full],
            ["keepdims=1 is what"],
        ),
        ("declared for one batch", "(float[n, 3, 4] x) => (float[2, 3, 4] y) { y = Neg (x) }", 8, {}, [-X], [], []),
        (
            "two numbers",
            "(float[2, 3, 4] x) => (float[2, 3, 4] y) <double[1] s = {2.5}, double t = {7}> { y = Max (t, x, s) }",
            8,
            {},
            [np.maximum(X, 7)],
            ["float64 number beside float32"],
            [],
        ),
        (
            "numbers alone",
            "(float[2, 3, 4] x) => (float[2, 3, 4] z, double[1] y) <double[1] s = {2.5}, double[1] t = {0.25}> "
            "{ z = Neg (x) y = Sub (s, t) }",
            8,
            {},
            [-X, np.array([2.25])],
            [],
            [],
        ),
        (
            "a float64 number that fits",
            "(double[2, 3, 4] x) => (double[2, 3, 4] y) <double[1] s = {2.5}> { y = Mul (x, s) }",
            8,
            {"x": X.astype("d") / 3},
            [X.astype("d") / 3 * 2.5],
            [],
            [],
        ),
        (
            "no bias",
            dense("2, 2", "2, 12", "f = Flatten (x) y = Gemm <transB = 1> (f, w)"),
            13,
            {},
            [flat @ w24.reshape(2, 12).T],
            [],
            [],
        ),
        (
            "a bias that is fed",
            dense("2, 2", "2, 12", "y = Gemm <transB = 1> (x, w, c)").replace("x)", "x, float[2] c)", 1),
            8,
            {"c": floats},
            [flat @ w24.reshape(2, 12).T + floats],
            ["data of rank 3"],
            [],
        ),
        (
            "rows that fit",
            dense("6, 2", "2, 4", "f = Flatten <axis = -1> (x) y = Gemm <transB = 1> (f, w)", w8),
            13,
            {},
            [rows @ w8.reshape(2, 4).T],
            [],
            [],
        ),
        (
            "columns",
            dense("2, 2", "12, 2", "f = Flatten <axis = -1> (x) y = Gemm (f, w)"),
            13,
            {},
            [flat @ w24.reshape(12, 2)],
            ["rows of another length", "data of rank 3"],
            [],
        ),
        (
            "flat already",
            dense("2, 2", "2, 12", "f = Flatten <axis = 1> (x) y = Gemm <transB = 1> (f, w)"),
            13,
            {},
            [flat @ w24.reshape(2, 12).T],
            [],
            [],
        ),
        (
            "another node of that attribute",
            dense("2, 2", "2, 12", "f = LogSoftmax <axis = -1> (x) y = Gemm <transB = 1> (f, w)"),
            13,
            {},
            [np.log(softmax(X, 2)).reshape(2, 12) @ w24.reshape(2, 12).T],
            ["data of rank 3"],
            [],
        ),
        (
            "rows before",
            dense("6, 2", "2, 4", "f = Flatten <axis = -1> (x) y = Gemm <transB = 1> (f, w)", w8).replace(
                "2, 3, 4", "6, 4"
            ),
            13,
            {"x": rows},
            [rows @ w8.reshape(2, 4).T],
            [],
            [],
        ),
        (
            "one row",
            dense("6, 2", "2, 4", "f = Flatten <axis = -1> (x) y = Gemm <transB = 1> (f, w)", w8).replace(
                "2, 3, 4", "6, 1, 4"
            ),
            13,
            {"x": X.reshape(6, 1, 4)},
            [rows @ w8.reshape(2, 4).T],
            [],
            [],
        ),
        ("gamma that is fed", norm, 9, {"g": gamma}, [(X - m) / np.sqrt(v) * gamma[:, None] + b], [], []),
        (
            "split in two",
            "(float[2, 3, 4] x) => (float[2, 3, 1] y, float[2, 3, 3] z) { y, z = Split <axis = 2, split = [1, 3]> (x) }",
            8,
            {},
            [X[..., :1], X[..., 1:]],
            [],
            [],
        ),
        (
            "split in halves",
            "(float[2, 3, 4] x) => (float[2, 3, 2] y, float[2, 3, 2] z) { y, z = Split <axis = -1> (x) }",
            8,
            {},
            [X[..., :2], X[..., 2:]],
            [],
            [],
        ),
        (
            "turned as it says",
            "(float[2, 3, 4] x) => (float[2, 3, 3] y) { transpose1_b = Transpose <perm = [0, 2, 1]> (x) "
            "y = MatMul (x, transpose1_b) }",
            8,
            {},
            [X @ X.transpose(0, 2, 1)],
            [],
            [],
        ),
        (
            "turned by another name",
            "(float[3, 3, 3] x) => (float[3, 3, 3] y) { turned_b = Transpose (x) y = MatMul (x, turned_b) }",
            8,
            {"x": X.reshape(-1)[:1] + np.arange(27, dtype="f").reshape(3, 3, 3)},
            [np.arange(27, dtype="f").reshape(3, 3, 3) @ np.arange(27, dtype="f").reshape(3, 3, 3).T],
            [],
            [],
        ),
        (
            "places of an unknown rank",
            "(float[] x) => (float[] a) { a = ArgMax <axis = 1> (x) }",
            8,
            {},
            [X.argmax(1)[:, None].astype("f")],
            [full],
            [],
        ),
        (
            "softmax last of an unknown rank",
            "(float[] x) => (float[] y) { y = Softmax <axis = -1> (x) }",
            11,
            {},
            [softmax(X, 2)],
            [],
            [],
        ),
        (
            "softmax of an unknown rank",
            "(float[] x) => (float[] y) { y = Softmax <axis = 2> (x) }",
            11,
            {},
            [softmax(X, 2)],
            ["along axis 2 alone"],
            [],
        ),
        (
            "rows of an unknown rank",
            dense("2, 2", "2, 12", "f = Flatten <axis = -1> (x) y = Gemm <transB = 1> (f, w)").replace("2, 3, 4", ""),
            13,
            {"x": flat},
            [flat @ w24.reshape(2, 12).T],
            [],
            [],
        ),
    ]
    wrong = []
    for name, text, opset, feeds, wants, repaired, doubts in cases:
        try:
            found = read(text, opset)
            inputs = [({"x": X} | feeds)[n] for n in found.inputs]
            for got, want in zip(OnnxBackendRep(found).run(inputs), wants, strict=True):
                assert got.shape == want.shape
                assert got.dtype == (np.float64 if "double[" in text and want.dtype == np.float64 else np.float32)
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
            for said, wanted in ((found.repairs, repaired), (found.doubts, doubts)):
                assert len(said) == len(wanted), said
                assert all(w in s for w, s in zip(wanted, said)), said
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    refused = [
        ("(float[2, 4] x) => (float[2, 4, 1] y) { y = Neg (x) }", "MXNet computed"),
        ("(float[2, 4] x) => (float[2, 5] y) { y = Neg (x) }", "MXNet computed"),
        ("(float[2] x) => (float[2] y) <double[2] s = {2.5, 3}> { y = Mul (x, s) }", "float64, wanted one dtype"),
        ("(float[2] x, double[2] z) => (float[2] y) <double[1] s = {2.5}> { y = Max (x, z, s) }", ""),
        (
            "(float[3, 3, 3] x, float[3, 3] z) => (float[3, 3, 3] y) { transpose1_b = Transpose (z) y = MatMul (x, transpose1_b) }",
            "alpha",
        ),
        (
            "(float[3, 3, 3] x, float[3, 3] z) => (float[3, 3, 3] y) { transpose1_a = Transpose (z) y = MatMul (transpose1_a, x) }",
            "alpha",
        ),
    ]
    turned = "(float[] x, float[] z) => (float[] y) { transpose1_b = Transpose (z) y = MatMul (x, transpose1_b) }"
    for text, why in [*refused, (turned, "alpha")]:
        try:
            found = read(text)
            wrong.append(f"{text}: read, {found.repairs}")
        except UnsupportedModel as error:
            if why not in str(error):
                wrong.append(f"{text}: {error}")
    assert not wrong, "\n".join(wrong)


def test_the_first_version_of_a_cast_that_takes_a_number() -> None:
    """Before it a name is what the standard wants."""
    for opset, repaired in ((5, False), (6, True)):
        found = read('(float[2, 3, 4] x) => (int32[2, 3, 4] y) { y = Cast <to = "INT32"> (x) }', opset, "any")
        assert bool(found.repairs) is repaired
        np.testing.assert_array_equal(result(found, X), X.astype(np.int32))


def test_dense_layers_without_a_bias_or_a_dtype() -> None:
    """A bias that is left out by an empty name, and one in whole numbers beside data of which no dtype is declared."""
    weights = "float[2, 4] w = {1, 2, 3, 4, 5, 6, 7, 8}"
    w = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    left_out = read(f"(float[3, 4] x) => (float[3, 2] y) <{weights}> {{ y = Gemm <transB = 1> (x, w, ) }}")
    assert not left_out.repairs
    np.testing.assert_array_equal(result(left_out, X[0]), X[0] @ w.T)
    text = (
        f"(float[3, 4] x) => (float[3, 2] y) <{weights}, int64[2] b = {{3, -5}}> {{ y = Gemm <transB = 1> (x, w, b) }}"
    )
    model = onnx.parser.parse_model(f'<ir_version: 4, opset_import: ["": 8]> {MXNET} {text}')
    model.graph.input[0].type.tensor_type.ClearField("elem_type")
    np.testing.assert_array_equal(result(import_model(model), X[0]), X[0] @ w.T + np.float32([3, -5]))
