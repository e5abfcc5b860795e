"""Conversions of dtype as ONNX says: against ml_dtypes, onnxruntime, onnx's evaluator, and tables written by hand."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import converters
from hybrid.core.attrs import DTYPE_FLAGS, dtype
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.ops.onnx.conversion import EIGHT, FINITE, bits_of, bounds, convert, is_integer
from tests.versions import needs_opset

ml_dtypes = pytest.importorskip("ml_dtypes")
NAN, INF = float("nan"), float("inf")
FLOATS = ("float16", "float32", "float64", "bfloat16", *EIGHT, *FINITE)
WHOLE = [name for name in DTYPE_FLAGS if is_integer(dtype(name))]


def all_floats(name: str) -> np.ndarray:
    """Every finite value of a float of up to 16 bits, as float64, in order."""
    kind = dtype(name)
    count = 2 ** bits_of(kind)
    raw = np.arange(count, dtype=np.uint8 if kind.itemsize == 1 else np.uint16)
    with np.errstate(invalid="ignore"):  # NaN
        values = raw.view(kind).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("name", (*EIGHT, *FINITE, "bfloat16"))
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_every_float_is_the_nearest_one_halfway_to_the_even(name, source):
    """Every value, every point halfway between two, and the next numbers to both sides of it."""
    values = all_floats(name)
    between = ((values[1:] + values[:-1]) / 2).astype(source)
    points = np.concatenate([values.astype(source), between, np.nextafter(between, -INF), np.nextafter(between, INF)])
    got = convert(points, name).astype(np.float64)
    place = np.clip(np.searchsorted(values, points.astype(np.float64)), 1, len(values) - 1)
    low, high = values[place - 1], values[place]
    distance = points.astype(np.float64) - low, high - points.astype(np.float64)
    even = low.astype(dtype(name)).view(np.uint16 if name == "bfloat16" else np.uint8) % 2 == 0
    want = np.where(
        distance[0] < distance[1], low, np.where(distance[0] > distance[1], high, np.where(even, low, high))
    )
    np.testing.assert_array_equal(got, want)


EDGES = np.array([0.0, -0.0, NAN, -NAN, INF, -INF, 1e9, -1e9], np.float32)


@pytest.mark.parametrize(
    ("name", "saturate", "bits"),
    [  # the tables of ONNX Cast
        ("float8_e4m3fn", True, [0, 0x80, 0x7F, 0xFF, 0x7E, 0xFE, 0x7E, 0xFE]),
        ("float8_e4m3fnuz", True, [0, 0, 0x80, 0x80, 0x7F, 0xFF, 0x7F, 0xFF]),
        ("float8_e5m2", True, [0, 0x80, 0x7E, 0xFE, 0x7B, 0xFB, 0x7B, 0xFB]),
        ("float8_e5m2fnuz", True, [0, 0, 0x80, 0x80, 0x7F, 0xFF, 0x7F, 0xFF]),
        ("float8_e4m3fn", False, [0, 0x80, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF]),
        ("float8_e4m3fnuz", False, [0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]),
        ("float8_e5m2", False, [0, 0x80, 0x7E, 0xFE, 0x7C, 0xFC, 0x7C, 0xFC]),
        ("float8_e5m2fnuz", False, [0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]),
    ],
)
def test_eight_bits_at_the_edges(name, saturate, bits):
    for source in ("float32", "float64"):
        assert convert(EDGES.astype(source), name, saturate=saturate).view(np.uint8).tolist() == bits


def test_out_of_range_is_decided_after_rounding():
    x = np.array([448, 464, 464.01, 480, -464, -465], np.float32)
    assert convert(x, "float8_e4m3fn", saturate=False).view(np.uint8).tolist() == [0x7E, 0x7E, 0x7F, 0x7F, 0xFE, 0xFF]
    assert convert(x, "float8_e4m3fn").astype(np.float32).tolist() == [448, 448, 448, 448, -448, -448]
    x = np.array([6, 7, 100, INF, -INF], np.float32)
    assert convert(x, "float4_e2m1fn", saturate=False).astype(np.float32).tolist() == [6, 6, 6, 6, -6]


def test_wide_numbers_are_rounded_once():
    just_above = np.array([1 + 2.0**-8 + 2.0**-40])  # as float32 it would be halfway, and so 1
    assert convert(just_above, "bfloat16").astype(np.float64)[0] == 1 + 2.0**-7
    assert convert(np.array([1 + 2.0**-4 + 2.0**-40]), "float8_e4m3fn").astype(np.float64)[0] == 1 + 2.0**-3


@pytest.mark.parametrize(
    ("round_mode", "saturate", "codes"),
    [
        ("up", True, [0, 255, 254, 254, 0, 127, 128, 128, 128, 130]),
        ("down", True, [0, 255, 254, 254, 0, 127, 127, 127, 128, 129]),
        ("nearest", True, [0, 255, 254, 254, 0, 127, 127, 128, 128, 129]),
        ("nearest", False, [255, 255, 255, 255, 255, 127, 127, 128, 128, 129]),
        ("up", False, [255, 255, 255, 255, 255, 127, 128, 128, 128, 130]),
    ],
)
def test_powers_of_two(round_mode, saturate, codes):
    x = np.array([0, NAN, INF, 1e39, 1e-42 / 16, 1, 1.4, 1.5, 2, 5])
    assert convert(x, "float8_e8m0fnu", saturate=saturate, round_mode=round_mode).view(np.uint8).tolist() == codes


@pytest.mark.parametrize("name", WHOLE)
def test_integers_keep_their_low_bits(name):
    low, high = bounds(dtype(name))
    span = high - low + 1
    for source in ("int64", "int16", "uint8"):
        x = np.array([0, 1, 2, 3, 5, 7, 100, 127, -1, -2, -8, -9, -128]).astype(source)
        want = [(int(v) - low) % span + low for v in x]
        assert convert(x, name).astype(object).tolist() == want
    assert [int(convert(np.array([v]), name)[0]) for v in (low, high)] == [low, high]


@pytest.mark.parametrize("name", [n for n in WHOLE if bits_of(dtype(n)) >= 8])
def test_floats_lose_their_fractions_and_wrap_as_in_onnxruntime(name):
    x = np.array([0.5, -0.5, 1.9, -1.9, 2.5, 99.99, -100.5, 300.0, -300.0], np.float32)
    got = convert(x, name)
    code = helper.np_dtype_to_tensor_dtype(dtype(name))
    np.testing.assert_array_equal(got, onnxruntime_cast(x, code), strict=True)


def test_the_upper_half_of_uint64():
    x = np.array([1e19, 2.0**63, 3, 18446744073709549568], np.float64)
    assert convert(x, "uint64").tolist() == [10**19, 2**63, 3, 18446744073709549568]


def test_truth():
    x = np.array([0, -0.0, NAN, 0.1, INF, -2], np.float32)
    assert convert(x, "bool").tolist() == [False, False, True, True, True, True]
    for name in (*FLOATS, *WHOLE):
        assert convert(np.array([True, False]), name).astype(np.float32).tolist() == [1, 0]
        assert convert(np.array([1, 0]).astype(dtype(name)), "bool").tolist() == [True, False]


def test_numbers_as_text():
    x = np.array([1, 0.1, 314.15926, -2.5e-5, 1e8, NAN, INF, -INF, -0.0], np.float32)
    assert convert(x, "object").tolist() == [
        "1",
        "0.1",
        "314.15927",
        "-0.000025",
        "100000000",
        "NaN",
        "INF",
        "-INF",
        "-0",
    ]
    assert convert(np.array([2**63, 0], np.uint64), "object").tolist() == ["9223372036854775808", "0"]
    assert convert(np.array([[True], [False]]), "object").tolist() == [["1"], ["0"]]
    assert convert(np.zeros((0, 3)), "object").shape == (0, 3)
    assert convert(np.float64(0.1).reshape(()), "object").tolist() == "0.1"


@given(st.floats(width=32, allow_nan=False))
def test_text_says_all_of_a_number(number):
    x = np.array([number], np.float32)
    np.testing.assert_array_equal(convert(convert(x, "object"), "float32"), x)


def test_text_as_numbers():
    words = np.array(["3.14", "1000", "1e-5", "1E8", "+INF", "inf", "-Inf", "nAn", " 7 ", ".5"], object)
    want = np.array([3.14, 1000, 1e-5, 1e8, INF, INF, -INF, NAN, 7, 0.5], np.float32)
    np.testing.assert_array_equal(convert(words, "float32"), want, strict=True)
    whole = np.array(["100.5", "-3", "9223372036854775807", "255"], object)
    assert convert(whole, "int64").tolist() == [100, -3, 2**63 - 1, 255]
    assert convert(whole[:2], "int4").astype(int).tolist() == [4, -3]
    assert convert(np.array(["0", "2", "NaN"], object), "bool").tolist() == [False, True, True]


@pytest.mark.parametrize("word", ["Hello World!", "", "1_000", "0x10", "1e", "--1", "True"])
def test_words_that_are_no_number(word):
    with pytest.raises(ValueError, match="wanted a number"):
        convert(np.array([word], object), "float32")
    with pytest.raises(OpError, match="_onnx_Cast: got the text"):
        lookup("_onnx_Cast").bind(to="int32").compute(np.array([word], object))


def test_what_is_not_converted():
    with pytest.raises(ValueError, match="no complex numbers"):
        convert(np.ones(2, np.complex64), "float32")
    with pytest.raises(ValueError, match="wanted a number that int32 has"):
        convert(np.array(["NaN"], object), "int32")


def node_model(op_type, inputs, outputs, opset, **attributes) -> onnx.ModelProto:
    """A model of one node; inputs and outputs are (name, element type, shape)."""
    given_ = [helper.make_tensor_value_info(*i) for i in inputs]
    made = [helper.make_tensor_value_info(*o) for o in outputs]
    node = helper.make_node(op_type, [i[0] for i in inputs], [o[0] for o in outputs], **attributes)
    graph = helper.make_graph([node], "graph", given_, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def onnxruntime_cast(x: np.ndarray, code: int) -> np.ndarray:
    model = node_model(
        "Cast", [("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)], [("y", code, x.shape)], 21, to=code
    )
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def imported(model: onnx.ModelProto):
    graph = converters.import_model(model).graph
    return graph, [n.op.name for n in graph.nodes if n.op is not None]


def test_mxnet_cast_stands_for_cast_where_it_can():
    def operators(source, target, opset=21, **attributes):
        codes = (getattr(TensorProto, name) for name in (source, target))
        first, second = codes
        to = target if opset < 6 else second
        model = node_model("Cast", [("x", first, (2,))], [("y", second, (2,))], opset, to=to, **attributes)
        return imported(model)[1]

    assert operators("FLOAT", "INT64") == ["Cast"]
    assert operators("FLOAT", "INT64", 1) == ["Cast"]
    assert operators("INT32", "BOOL", 7) == ["Cast"]
    assert operators("FLOAT", "BFLOAT16") == ["Cast"]
    assert operators("DOUBLE", "BFLOAT16") == ["_onnx_Cast"]
    assert operators("FLOAT", "UINT64") == ["_onnx_Cast"]
    assert operators("FLOAT", "STRING") == ["_onnx_Cast"]
    assert operators("FLOAT", "FLOAT8E5M2", saturate=0) == ["_onnx_Cast"]


@needs_opset(23)
@pytest.mark.parametrize("target", ["FLOAT8E4M3FN", "INT4", "STRING", "FLOAT4E2M1", "FLOAT16"])
def test_export_gives_the_node_again(target):
    code = getattr(TensorProto, target)
    model = node_model("Cast", [("x", TensorProto.FLOAT, (3,))], [("y", code, (3,))], 23, to=code)
    x = np.array([1.5, -3, 700], np.float32)
    graph, _ = imported(model)
    again = converters.to_onnx(graph, {}, {"x": x}, opset=23)
    (node,) = again.graph.node
    assert (node.op_type, {a.name: a.i for a in node.attribute}["to"]) == ("Cast", code)
    first, second = (Program(g).run({"x": x})[0] for g in (graph, imported(again)[0]))
    assert first.dtype == second.dtype
    assert first.tolist() == second.tolist()


def test_bits():
    x = np.array([1.0, -2.0, NAN], np.float32)
    got = lookup("_onnx_BitCast").bind(to="int32").compute(x)
    np.testing.assert_array_equal(got, x.view(np.int32), strict=True)
    assert got.base is not x
    scalar = lookup("_onnx_BitCast").bind(to="uint8").compute(np.array(True))
    assert (scalar.shape, scalar.tolist()) == ((), 1)
    four = lookup("_onnx_BitCast").bind(to="uint4").compute(np.array([-1, 3], ml_dtypes.int4))
    assert four.astype(int).tolist() == [15, 3]
    for source, target in (("float32", "int64"), ("int8", "int4"), ("object", "int64"), ("float32", "object")):
        with pytest.raises(OpError, match=r"wanted (two dtypes of as many bits|bfloat16 or bool)"):
            lookup("_onnx_BitCast").bind(to=target).infer_type(dtype(source))


def test_cast_like_runs_and_agrees_with_the_evaluator():
    kinds = [("x", TensorProto.FLOAT, (2, "n")), ("like", TensorProto.FLOAT16, (1,))]
    model = node_model("CastLike", kinds, [("y", TensorProto.FLOAT16, (2, "n"))], 19)
    graph, names = imported(model)
    assert names == ["_onnx_CastLike"]
    for n in (1, 4):
        feeds = {"x": np.linspace(-1, 1, 2 * n, dtype=np.float32).reshape(2, n), "like": np.zeros(1, np.float16)}
        (want,) = ReferenceEvaluator(model).run(None, feeds)
        np.testing.assert_array_equal(Program(graph).run(feeds)[0], want, strict=True)
