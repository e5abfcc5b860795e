"""Quantised operators: the integers of the engine and those of onnxruntime on the exported node, bit for bit, where goldens are
too few to see a tie; open axes; what is folded; what is refused."""

import re
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import converters
from hybrid.core.error import OpError
from hybrid.core.op import Example, Spec, lookup
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.table.examples import examples, graph_of

RANGES = ((-1.3, 0.7), (0.0, 3.3), (-1234.5, 90.0), (-0.00577, 0.001))


def one(name: str, **attrs: Any) -> Graph:
    """A graph of one operator, its variables named as its inputs."""
    bound = lookup(name).bind(**attrs)
    node = Node(bound, "node", [Entry(Node(None, n)) for n in bound.input_names()], bound.dump())
    return Graph(Entry(node, i) for i in range(node.num_visible_outputs))


def by_onnxruntime(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Any:
    onnx.checker.check_model(model, full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})


def agree(
    graph: Graph, feeds: dict[str, np.ndarray], *, stored: tuple[str, ...] = (), opset: int = 21
) -> list[np.ndarray]:
    """Fail unless the engine and onnxruntime give the same, with all but the inputs in ``stored`` fed, then with ranges stored too;
    gives the results."""
    wanted = Program(graph).run(feeds)
    ranges = tuple(n for n in feeds if n.startswith(("min_", "max_")) or n.endswith(("_min", "_max")))
    for names in dict.fromkeys((stored, (*stored, *ranges))):
        params = {n: feeds[n] for n in names}
        model = converters.to_onnx(graph, params, {n: a for n, a in feeds.items() if n not in params}, opset)
        for got, want in zip(by_onnxruntime(model, feeds), wanted, strict=True):
            assert got.dtype == want.dtype
            assert got.shape == want.shape
            np.testing.assert_array_equal(got, want)
    return wanted


def ends(low: float, high: float, name: str = "range") -> dict[str, np.ndarray]:
    pair = (f"min_{name}", f"max_{name}")
    return {n: np.array([v], np.float32) for n, v in zip(pair, (low, high))}


def near_ties(scale: float, count: int = 20000) -> np.ndarray:
    """Numbers within a few units in the last place of the middle between two integers, divided by the scale."""
    rng = np.random.default_rng(7)
    x = ((rng.integers(-140, 270, count) + 0.5) / scale).astype(np.float32)
    return (x.view(np.int32) + rng.integers(-3, 4, count).astype(np.int32)).view(np.float32)


def random(kind: str, *shape: int) -> np.ndarray:
    info = np.iinfo(kind)
    return np.random.default_rng(3).integers(info.min, info.max + 1, shape).astype(kind)


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize(("kind", "levels"), [("int8", 127.5), ("uint8", 255.5)])
def test_quantising_agrees_at_every_tie(low: float, high: float, kind: str, levels: float) -> None:
    reach = max(abs(low), abs(high))
    x = near_ties(levels / reach)
    agree(one("_contrib_quantize_v2", out_type=kind, min_calib_range=low, max_calib_range=high), {"data": x})
    plain = near_ties((levels - 0.5) / reach)
    agree(one("_contrib_quantize", out_type=kind), {"data": plain, **ends(low, high)})
    inside = np.clip(x, low, high)
    agree(one("_contrib_quantize_v2", out_type=kind), {"data": inside})
    agree(one("_contrib_quantize_asym"), {"data": inside})
    agree(one("_contrib_quantize_asym", min_calib_range=low, max_calib_range=high), {"data": x})


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_numbers_that_are_none(kind: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e38, -1e38, 0, -0.0, 0.3], np.float32)
    for attrs in ({}, {"min_calib_range": -1.0, "max_calib_range": 0.5}):
        agree(one("_contrib_quantize_v2", out_type=kind, **attrs), {"data": x})
    agree(one("_contrib_quantize", out_type=kind), {"data": x, **ends(-1, 0.5)})
    zeros = agree(one("_contrib_quantize_v2", out_type=kind), {"data": np.zeros((2, 3), np.float32)})
    assert (zeros[0] == (127 if kind == "int8" else 0)).all()  # 0 times an infinite scale, as MXNet has it


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_requantising_agrees(kind: str, low: float, high: float) -> None:
    given = {"data": np.random.default_rng(5).integers(-(2**21), 2**22, 50000).astype(np.int32), **ends(-2100, 900)}
    agree(one("_contrib_requantize", out_type=kind, min_calib_range=low, max_calib_range=high), given)
    agree(one("_contrib_requantize", out_type=kind), given)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_every_integer_comes_back_as_the_same_number(kind: str) -> None:
    for low, high in RANGES:
        every = np.arange(np.iinfo(kind).min, np.iinfo(kind).max + 1).astype(kind)
        agree(one("_contrib_dequantize"), {"data": every, **ends(low, high)})


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_numbers_are_moved_after_dequantising(kind: str, opset: int) -> None:
    """onnxruntime puts QuantizeLinear behind what moves numbers behind DequantizeLinear, in uint8 before opset 21."""
    graph = one("_contrib_dequantize")
    node = graph.outputs[0].node
    turned = Node(lookup("transpose").bind(axes=(0, 2, 1)), "turned", [Entry(node)])
    flat = Node(lookup("Reshape").bind(shape=(0, -1)), "flat", [Entry(turned)])
    quantised = Node(
        lookup("_contrib_quantize_v2").bind(min_calib_range=-3.0, max_calib_range=3.0), "again", [Entry(flat)]
    )
    agree(Graph([Entry(quantised)]), {"data": random(kind, 3, 4, 5), **ends(-1.3, 0.7)}, opset=opset)


@pytest.mark.parametrize("lhs", ["int8", "uint8"])
@pytest.mark.parametrize("rhs", ["int8", "uint8"])
@pytest.mark.parametrize("attrs", [{}, {"min_calib_range": -1.1, "max_calib_range": 1.3}], ids=["int32", "8bit"])
def test_sums_of_all_pairs(lhs: str, rhs: str, attrs: dict[str, float]) -> None:
    a, b = (np.arange(np.iinfo(k).min, np.iinfo(k).max + 1).astype(k) for k in (lhs, rhs))
    pairs = {"lhs": np.repeat(a, 256), "rhs": np.tile(b, 256)}
    for first, second in ((RANGES[0], RANGES[1]), ((-1, 1), (-1, 1))):
        names = ("lhs_min", "lhs_max", "rhs_min", "rhs_max")
        ranges = {n: np.array([v], np.float32) for n, v in zip(names, (*first, *second))}
        agree(one("_contrib_quantized_elemwise_add", **attrs), {**pairs, **ranges})
        if lhs == rhs == "int8":
            agree(one("_contrib_quantized_elemwise_mul", **attrs), {**pairs, **ranges})
            agree(one("_contrib_quantized_elemwise_mul", enable_float_output=True), {**pairs, **ranges})


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("kernel", [(1, 2), (2, 3), (4, 4), (3, 5)])
def test_means_agree_at_every_tie(kind: str, kernel: tuple[int, int]) -> None:
    data = {"data": random(kind, 4, 8, 30, 30), **ends(-1, 2, "data")}
    for attrs in ({}, {"pad": (0, 1), "count_include_pad": False}, {"stride": (2, 2), "pooling_convention": "full"}):
        agree(one("_contrib_quantized_pooling", kernel=kernel, pool_type="avg", **attrs), data)
    agree(one("_contrib_quantized_pooling", pool_type="avg", global_pool=True), data)


def extreme(kind: str, *shape: int) -> np.ndarray:
    """Integers near the upper end, whose products add up beyond what 16 bits, and float32, hold."""
    top = np.iinfo(kind).max
    return np.random.default_rng(1).integers(top - 20, top + 1, shape).astype(kind)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("no_bias", [False, True])
@pytest.mark.parametrize("stored", [("weight", "bias"), ()], ids=["stored", "fed"])
def test_long_sums_agree(kind: str, no_bias: bool, stored: tuple[str, ...]) -> None:
    weight_ranges = {**ends(-0.5, 0.4, "weight"), **({} if no_bias else ends(-3, 0.2, "bias"))}
    bias = {} if no_bias else {"bias": random("int8", 6)}
    kept = tuple(n for n in stored if n == "weight" or not no_bias)
    dense = one("_contrib_quantized_fully_connected", num_hidden=6, no_bias=no_bias)
    signs = np.array([1, -1, 1, -1, 1, -1], np.int8)[:, None]
    for width in (7, 3000):
        given = {"data": extreme(kind, 3, width), "weight": extreme("int8", 6, width) * signs, **bias}
        result = agree(dense, {**given, **ends(-1, 2, "data"), **weight_ranges}, stored=kept)[0]
    total = given["data"].astype(np.int64) @ given["weight"].T.astype(np.int64)
    assert np.array_equal(result, total) == no_bias  # with a bias they pass through float32
    conv = one("_contrib_quantized_conv", kernel=(3, 2), num_filter=6, pad=(1, 0), no_bias=no_bias)
    for channels in (3, 400):
        given = {"data": extreme(kind, 2, channels, 5, 4), "weight": extreme("int8", 6, channels, 3, 2), **bias}
        agree(conv, {**given, **ends(-1, 2, "data"), **weight_ranges}, stored=kept)


def test_a_bias_beyond_int32_saturates_as_mxnet_has_it() -> None:
    given = {
        "data": random("int8", 3, 4),
        "weight": random("int8", 5, 4),
        "bias": np.array([-127, -1, 0, 1, 127], np.int8),
    }
    ranges = {**ends(-0.1, 0.1, "data"), **ends(-0.5, 0.4, "weight"), **ends(-1e9, 0, "bias")}
    agree(one("_contrib_quantized_fully_connected", num_hidden=5), {**given, **ranges}, stored=("weight", "bias"))
    agree(one("_contrib_quantized_fully_connected", num_hidden=5), {**given, **ranges})


def test_normalization_agrees() -> None:
    rng = np.random.default_rng(2)
    statistics = {
        n: rng.uniform(0.5, 1.5, 64).astype(np.float32) for n in ("gamma", "beta", "moving_mean", "moving_var")
    }
    for kind in ("int8", "uint8"):
        given = {"data": random(kind, 2, 64, 16, 16), **statistics, **ends(-2.3, 1.7, "data")}
        graph = one("_contrib_quantized_batch_norm", min_calib_range=-3.0, max_calib_range=2.0)
        agree(graph, given)
        agree(graph, given, stored=tuple(statistics))


def lstm(count: int, features: int, size: int, layers: int, directions: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    states = {n: rng.uniform(-1, 1, (layers * directions, 3, size)).astype(np.float32) for n in ("state", "state_cell")}
    weights = rng.uniform(-0.5, 0.5, count).astype(np.float32)
    scale = {"min_data": np.array([100], np.float32), "max_data": np.array([127.3], np.float32)}
    return {"data": random("uint8", 7, 3, features), "parameters": weights, **states, **scale}


@pytest.mark.parametrize(
    ("layers", "bidirectional", "features"), [(1, False, 5), (2, True, 5), (3, False, 6), (2, False, 9)]
)
def test_recurrent_layers_agree(layers: int, bidirectional: bool, features: int) -> None:
    attrs = {
        "mode": "lstm",
        "state_size": 6,
        "num_layers": layers,
        "bidirectional": bidirectional,
        "state_outputs": True,
    }
    op: Any = lookup("_contrib_quantized_rnn").bind(**attrs)
    feeds = lstm(op.parameter_count(features), features, 6, layers, 1 + bidirectional)
    agree(one("_contrib_quantized_rnn", **attrs), feeds, stored=("parameters",))


def chain() -> tuple[Graph, dict[str, np.ndarray]]:
    """quantize_v2 -> conv -> requantize -> act -> pooling -> flatten -> dense -> requantize -> dequantize, calibrated."""
    rng = np.random.default_rng(6)
    params: dict[str, np.ndarray] = {}

    def variable(name: str, array: np.ndarray) -> Entry:
        params[name] = array
        return Entry(Node(None, name))

    def ranged(name: str, array: np.ndarray, reach: float) -> tuple[Entry, list[Entry]]:
        pair = [variable(f"{name}_{end}", np.array([v], np.float32)) for end, v in (("min", -reach), ("max", reach))]
        return variable(name, array), pair

    def apply(op_name: str, name: str, *inputs: Entry, **attrs: Any) -> list[Entry]:
        bound = lookup(op_name).bind(**attrs)
        node = Node(bound, name, inputs, bound.dump())
        return [Entry(node, i) for i in range(node.num_visible_outputs)]

    kernels, kernel_range = ranged("kernels", random("int8", 4, 3, 3, 3), 0.4)
    weight, weight_range = ranged("weight", random("int8", 5, 36), 0.3)
    bias, bias_range = ranged("bias", rng.integers(-128, 128, 5).astype(np.int8), 0.2)
    data = Entry(Node(None, "data"))
    x, *limits = apply("_contrib_quantize_v2", "q", data, out_type="uint8", min_calib_range=0.0, max_calib_range=1.0)
    attrs = {"kernel": (3, 3), "num_filter": 4, "no_bias": True, "pad": (1, 1)}
    x, *limits = apply("_contrib_quantized_conv", "conv", x, kernels, *limits, *kernel_range, **attrs)
    x, *limits = apply("_contrib_requantize", "r", x, *limits, min_calib_range=-2.0, max_calib_range=3.0)
    x, *limits = apply("_contrib_quantized_act", "act", x, *limits, act_type="relu")
    x, *limits = apply("_contrib_quantized_pooling", "pool", x, *limits, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    x, *limits = apply("_contrib_quantized_flatten", "flat", x, *limits)
    ranges = (*limits, *weight_range, *bias_range)
    x, *limits = apply("_contrib_quantized_fully_connected", "fc", x, weight, bias, *ranges, num_hidden=5)
    x, *limits = apply("_contrib_requantize", "r2", x, *limits, min_calib_range=-1.0, max_calib_range=2.0)
    return Graph(apply("_contrib_dequantize", "out", x, *limits)), params


def test_a_calibrated_chain_has_no_arithmetic_on_ranges_and_open_batches() -> None:
    graph, params = chain()
    model = converters.to_onnx(graph, params, {"data": ("batch", 3, 6, 6)})
    for batch in (1, 5):
        feeds = {"data": np.random.default_rng(batch).uniform(-0.2, 1.2, (batch, 3, 6, 6)).astype(np.float32)}
        np.testing.assert_array_equal(by_onnxruntime(model, feeds)[0], Program(graph).run({**params, **feeds})[0])
    kinds = [n.op_type for n in model.graph.node]
    assert not {"Div", "Abs", "Neg", "ReduceMax", "Squeeze"} & set(kinds)
    large = {i.data_type for i in model.graph.initializer if np.prod(i.dims) > 1}
    assert large <= {onnx.TensorProto.UINT8, onnx.TensorProto.INT32, onnx.TensorProto.INT64}


@pytest.mark.parametrize(
    ("name", "attrs", "data"),
    [
        ("_contrib_quantize_v2", {}, ("n", 3, "h", "w")),
        ("_contrib_quantize_asym", {}, ("t", "n", 4)),
        ("_contrib_quantized_flatten", {}, ("n", 3, 4)),
        ("_contrib_quantized_pooling", {"pool_type": "avg", "global_pool": True}, ("n", 3, "h", "w")),
        ("_contrib_quantized_pooling", {"pool_type": "avg", "global_pool": True}, ("n", 3, "w")),
        ("_contrib_quantized_pooling", {"pool_type": "avg", "global_pool": True}, ("n", 3, "d", 2, "w")),
        ("_contrib_quantized_pooling", {"pool_type": "avg", "global_pool": True}, ("n", 1, 5, 3, "w")),
        ("_contrib_quantized_pooling", {"pool_type": "max", "global_pool": True}, ("n", 3, "h", "w")),
        ("_contrib_quantized_pooling", {"pool_type": "avg", "kernel": (2, 2), "stride": (2, 2)}, ("n", 3, "h", "w")),
        ("_contrib_quantized_pooling", {"pool_type": "max", "kernel": (3, 3), "pad": (1, 1)}, ("n", 3, "h", "w")),
        ("_contrib_quantized_act", {"act_type": "relu"}, ("n", "h")),
    ],
)
def test_open_axes(name: str, attrs: dict[str, Any], data: tuple[Any, ...]) -> None:
    graph = one(name, **attrs)
    kind = np.dtype(np.float32 if "quantize_" in name else np.int8)
    ranges = ends(-1, 2, "data") if len(graph.variables()) > 1 else {}
    inputs = {"data": Spec(data, kind), **{n: a for n, a in ranges.items()}}
    model = converters.to_onnx(graph, {}, inputs)
    for size in (4, 7):
        shape = [size if isinstance(d, str) else d for d in data]
        x = random("int8", *shape).astype(kind) / kind.type(3) if kind == np.float32 else random("int8", *shape)
        feeds = {"data": x, **ranges}
        for got, want in zip(by_onnxruntime(model, feeds), Program(graph).run(feeds), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("name", "attrs", "message"),
    [
        ("_contrib_quantized_act", {"act_type": "sigmoid"}, "wanted relu"),
        ("_contrib_quantized_pooling", {"pool_type": "sum", "kernel": (2, 2)}, "wanted max or avg"),
        ("_contrib_quantized_pooling", {"kernel": (2, 2), "layout": "NHWC"}, "channels first"),
        ("_contrib_quantized_conv", {"kernel": (2, 2), "num_filter": 4, "layout": "NHWC"}, "channels first"),
        ("_contrib_quantized_rnn", {"mode": "gru", "state_size": 2, "num_layers": 1}, "wanted an LSTM"),
    ],
)
def test_what_is_not_quantised_is_refused(name: str, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(OpError, match=message):
        one(name, **attrs)


def test_wrong_dtypes_are_refused() -> None:
    graph = one("_contrib_dequantize")
    with pytest.raises(OpError, match="wanted int8 or uint8"):
        Program(graph).run({"data": np.zeros(3, np.int32), **ends(-1, 1)})


def test_ranges_of_zeros_mean_the_same_in_onnxruntime() -> None:
    """All of them, those of the first operand, and of the second; MXNet's concat keeps the integers of ranges that are alike."""
    wrong, seen = [], set()
    for op, arrays in examples():
        names = op.input_names()
        ranges = [
            i for i, a in enumerate(arrays) if a.dtype == np.float32 and a.size == 1 and re.search("min|max", names[i])
        ]
        if not ("quant" in op.name and ranges) or op.name.startswith(("_onnx_", "_sg_")):
            continue
        for none in (ranges, ranges[:2], ranges[2:4]):
            given = tuple(np.zeros_like(a) if i in none else a for i, a in enumerate(arrays))
            graph, feeds = graph_of(Example(op, given))
            try:
                agree(graph, feeds)
            except converters.UnsupportedModel:
                continue
            except (AssertionError, OpError) as error:
                wrong.append(f"{op!r} with {[names[i] for i in none]} of 0: {error}")
            seen.add(op.name)
    assert {"_contrib_quantized_concat", "_contrib_requantize", "_contrib_quantized_elemwise_add"} <= seen
    assert not wrong, "\n".join(wrong)
