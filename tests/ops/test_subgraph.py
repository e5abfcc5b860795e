"""Fused operators where goldens cannot say what is right, because MXNet is wrong or refuses: near float, and exactly as ONNX."""

import itertools
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import converters
import hybrid as mx
from converters.error import UnsupportedModel
from hybrid.contrib import quantization
from hybrid.core.error import OpError
from hybrid.core.op import Spec, lookup
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.subgraph import Parts

S = mx.sym


def conv(data, name, **attrs):
    return S.Convolution(data, name=name, **{"num_filter": 4, "kernel": (3, 3), "pad": (1, 1), **attrs})


def relu(data):
    return S.Activation(data, act_type="relu")


def attention(data):
    scores = S.contrib.interleaved_matmul_selfatt_qk(data, heads=2)
    return S.contrib.interleaved_matmul_selfatt_valatt(data, S.softmax(scores, axis=-1), heads=2)


NETWORKS = {
    "groups": lambda x: conv(x, "a", num_group=2),
    "groups relu": lambda x: relu(conv(x, "a", num_group=2)),
    "dilated strides": lambda x: conv(x, "a", stride=(2, 1), dilate=(2, 2)),
    "3-d": lambda x: conv(S.expand_dims(x, axis=2), "a", kernel=(1, 3, 3), pad=(0, 1, 1)),
    "uint8 onto int8": lambda x: conv(x, "b") + relu(conv(x, "a")),
    "int8 onto uint8": lambda x: relu(conv(x, "b") + conv(x, "a", kernel=(1, 1), pad=(0, 0))),
    "clip": lambda x: S.clip(conv(x, "a"), a_min=0, a_max=6),
    "gelu": lambda x: S.LeakyReLU(conv(x, "a"), act_type="gelu"),
    "leaky sum": lambda x: S.LeakyReLU(conv(x, "b") + conv(x, "a"), act_type="leaky", slope=0.2),
    "norm": lambda x: relu(S.BatchNorm(conv(x, "a"), fix_gamma=False, name="n")),
    "norm of no bias": lambda x: S.BatchNorm(conv(x, "a", no_bias=True), name="n") + conv(x, "b"),
    "dense": lambda x: S.FullyConnected(relu(S.FullyConnected(x, num_hidden=5, name="a")), num_hidden=3, name="b"),
    "dense clip": lambda x: S.clip(S.FullyConnected(x, num_hidden=5, name="a"), a_min=0, a_max=6),
    "dense gelu": lambda x: S.FullyConnected(
        S.LeakyReLU(S.FullyConnected(x, num_hidden=5, name="a"), act_type="gelu"), num_hidden=3, name="b"
    ),
    "dense rows": lambda x: S.FullyConnected(x, num_hidden=5, flatten=False, no_bias=True, name="a"),
    "scores": lambda x: S.contrib.interleaved_matmul_selfatt_qk(S.Reshape(x, shape=(-1, 2, 24)), heads=2),
    "attention": lambda x: attention(S.Reshape(x, shape=(-1, 2, 24))),
}
ENDING = ("int8 onto uint8",)
"""Those whose uint8 results end at 127, as in MXNet (see test_sums_of_eight_bits)."""
SHAPE = (2, 4, 6, 6)


def parameters(sym, rng):
    """Random parameters, by name: arguments and auxiliary states."""
    shapes, _, states = sym.infer_shape(data=SHAPE)
    arguments = {n: rng.normal(0, 0.3, s) for n, s in zip(sym.list_arguments(), shapes, strict=True) if n != "data"}
    found = {n: rng.uniform(0.5, 1, s) for n, s in zip(sym.list_auxiliary_states(), states, strict=True)}
    return ({n: mx.nd.array(v) for n, v in g.items()} for g in (arguments, found))


def quantised(sym, arguments, states, data, calib_mode, dtype="auto", **more):
    rows = mx.io.NDArrayIter(data, None, len(data))
    made, params, states = quantization.quantize_model_mkldnn(
        sym, arguments, states, label_names=None, calib_mode=calib_mode, calib_data=rows, quantized_dtype=dtype,
        quantize_mode="full", **more,
    )  # fmt: skip
    return made.graph, {n: v.asnumpy() for n, v in {**params, **states}.items()}


def onnx_answers(graph: Graph, params, feeds):
    model = converters.to_onnx(graph, params, feeds, 17)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.mark.parametrize("calib_mode", ["none", "naive"])
@pytest.mark.parametrize("name", NETWORKS)
def test_quantised_networks_are_near_float_and_exact_in_onnx(name: str, calib_mode: str) -> None:
    rng = np.random.default_rng(len(name))
    sym = NETWORKS[name](S.var("data"))
    arguments, states = parameters(sym, rng)
    data = rng.normal(0, 1, SHAPE).astype(np.float32)
    if name == "attention" and calib_mode == "none":
        pytest.skip("attention wants uint8, which only a calibrated softmax becomes")
    graph, params = quantised(sym, arguments, states, data, calib_mode)
    assert any(n.op is not None and n.op.name.startswith("_sg_") and n.op.quantized for n in graph.nodes)
    inner = graph.internals()
    answers = dict(zip((e.name for e in inner.outputs), Program(inner, params).run({"data": data}), strict=True))
    got = answers[graph.outputs[0].name]
    plain = {n: v.asnumpy() for n, v in {**arguments, **states}.items()}
    (want,) = Program(sym.graph, plain).run({"data": data})
    ends = want.max() * 127 / 255 if name in ENDING and calib_mode == "naive" else np.inf
    assert np.abs(got - np.minimum(want, ends)).max() <= 0.06 * np.abs(want).max()
    whole = Graph(e for e in inner.outputs if not e.node.is_variable)
    for entry, theirs in zip(whole.outputs, onnx_answers(whole, params, {"data": data}), strict=True):
        ours = answers[entry.name]
        assert theirs.dtype == ours.dtype
        if ours.dtype.kind == "f":
            np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-6, err_msg=entry.name)
        else:
            np.testing.assert_array_equal(theirs, ours, err_msg=entry.name)


@pytest.mark.parametrize("kind", ["conv", "dense", "dense channels"])
@pytest.mark.parametrize("weight", [1e-9, 1e-5, 0.0])
def test_a_bias_that_outweighs_the_weights_survives(kind: str, weight: float) -> None:
    data = np.linspace(-1, 1, 2 * 144, dtype=np.float32).reshape(SHAPE)
    x = S.var("data")
    sym = conv(x, "a") if kind == "conv" else S.FullyConnected(x, num_hidden=4, name="a")
    shape = (4, 4, 3, 3) if kind == "conv" else (4, 144)
    weights = np.full(shape, weight, np.float32)
    weights[0] = 0
    bias = np.float32([3, -2, 0, 1])
    arguments = {"a_weight": mx.nd.array(weights), "a_bias": mx.nd.array(bias)}
    more = {"quantize_granularity": "channel-wise"} if "channels" in kind else {}
    graph, params = quantised(sym, arguments, {}, data, "naive", **more)
    (got,) = Program(graph, params).run({"data": data})
    want = np.broadcast_to(bias.reshape(-1, 1, 1) if kind == "conv" else bias, got.shape)
    np.testing.assert_allclose(got, want, atol=0.04)
    np.testing.assert_allclose(onnx_answers(graph, params, {"data": data})[0], got, rtol=1e-6)


def made_json(**changes):
    """A symbol with a quantised convolution, as text, with attributes changed."""
    sym = conv(S.var("data"), "a")
    arguments, states = parameters(sym, np.random.default_rng(0))
    graph, _ = quantised(sym, arguments, states, np.ones(SHAPE, np.float32), "naive", "int8")
    text = json.loads(mx.sym.Symbol(graph.outputs).tojson())
    node = next(n for n in text["nodes"] if n["op"] == "_sg_mkldnn_conv")
    node["attrs"] = {k: v for k, v in {**node["attrs"], **changes}.items() if v is not None}
    return text, node


def test_a_symbol_keeps_its_subgraph() -> None:
    text, node = made_json()
    again = json.loads(mx.sym.load_json(json.dumps(text)).tojson())
    kept = next(n for n in again["nodes"] if n["op"] == "_sg_mkldnn_conv")
    assert kept["attrs"] == node["attrs"] and "num_args" not in kept["attrs"]
    assert kept["subgraphs"] == node["subgraphs"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"with_bn": "true"}, "got 5 inputs, wanted 8 or 9"),
        ({"with_sum": "true"}, "got 5 inputs, wanted 7 or 8"),
        ({"min_calib_range": None}, "one end of a calibrated range"),
        ({"max_calib_range": None}, "one end of a calibrated range"),
        ({"quantized": "perhaps"}, "quantized"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(change, said: str) -> None:
    text, _ = made_json(**change)
    with pytest.raises(OpError, match=said):
        mx.sym.load_json(json.dumps(text))


@pytest.mark.parametrize("broken", ["none", "another", "more", "two", "apart", "empty"])
def test_subgraphs_that_are_no_fused_convolution_are_refused(broken: str) -> None:
    text, node = made_json()
    body = node["subgraphs"][0]
    if broken == "none":
        node["subgraphs"] = []
    elif broken == "two":
        node["subgraphs"] = [body, body]
    elif broken == "another":
        inner = next(n for n in body["nodes"] if n["op"] == "Convolution")
        inner["op"], inner["attrs"] = "FullyConnected", {"num_hidden": "4"}
    elif broken == "apart":  # a relu beside the convolution, which it does not read
        at = len(body["nodes"])
        attrs = {"act_type": "relu"}
        body["nodes"] += [
            {"op": "Activation", "name": "r", "attrs": attrs, "inputs": [[0, 0, 0]]},
            {"op": "elemwise_add", "name": "s", "inputs": [[body["heads"][0][0], 0, 0], [at, 0, 0]]},
        ]
        body["heads"] = [[at + 1, 0, 0]]
    elif broken == "empty":
        body["heads"] = [[0, 0, 0]]
    else:
        body["nodes"].append({"op": "sin", "name": "s", "inputs": [[body["heads"][0][0], 0, 0]]})
        body["heads"] = [[len(body["nodes"]) - 1, 0, 0]]
    with pytest.raises(OpError, match="subgraph"):
        mx.sym.load_json(json.dumps(text)).infer_type(data="float32")


def test_fused_operators_want_8_bits_and_a_subgraph() -> None:
    text, _ = made_json()
    quantize = next(n for n in text["nodes"] if n["op"] == "_contrib_quantize_v2")
    quantize.update(op="SliceChannel", attrs={"num_outputs": "3"})
    with pytest.raises(OpError, match="got data of float32, wanted int8 or uint8"):
        mx.sym.load_json(json.dumps(text)).infer_type(data="float32")
    fused = lookup("_sg_mkldnn_conv").bind(num_args=3)
    with pytest.raises(OpError, match="subgraph"):
        fused.compute(*(np.ones(SHAPE, np.float32),) * 3)


def test_weights_that_are_fed_are_not_exported() -> None:
    rng = np.random.default_rng(0)
    sym = conv(S.var("data"), "a")
    arguments, states = parameters(sym, rng)
    data = rng.normal(0, 1, SHAPE).astype(np.float32)
    graph, params = quantised(sym, arguments, states, data, "naive")
    feeds = {"data": data, "a_weight": params.pop("a_weight")}
    with pytest.raises(UnsupportedModel, match="weight: quantised by the operator, and no parameter"):
        converters.to_onnx(graph, params, feeds, 17)


@pytest.mark.parametrize("calib_mode", ["none", "naive"])
def test_a_bias_beyond_int32_is_the_same_in_onnx(calib_mode: str) -> None:
    data = np.linspace(-1, 1, 2 * 144, dtype=np.float32).reshape(SHAPE)
    for sym, shape in (
        (conv(S.var("data"), "a"), (4, 4, 3, 3)),
        (S.FullyConnected(S.var("data"), num_hidden=4, name="a"), (4, 144)),
    ):
        arguments = {"a_weight": mx.nd.array(np.full(shape, 1e-5)), "a_bias": mx.nd.array([30, -2, 0, 1])}
        graph, params = quantised(sym, arguments, {}, data, calib_mode)
        inner = Graph(e for e in graph.internals().outputs if not e.node.is_variable)
        ours = Program(inner, params).run({"data": data})
        for a, b in zip(ours, onnx_answers(inner, params, {"data": data}), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("bias", "act", "want"), [(0, 0, 37177345), (0, 1, 37177344), (1, 0, 37177360), (1, 1, 37177360)]
)
def test_int32_results_beyond_24_bits_are_those_of_mxnet(bias: bool, act: bool, want: int) -> None:
    sym = S.FullyConnected(S.var("data"), num_hidden=1, no_bias=not bias, name="a")
    arguments = {"a_weight": mx.nd.ones((1, 2305)), **({"a_bias": mx.nd.array([0.001])} if bias else {})}
    data = np.ones((1, 2305), np.float32)
    graph, params = quantised(relu(sym) if act else sym, arguments, {}, data, "none", "int8")
    fused = next(n for n in graph.nodes if n.op is not None and n.op.name == "_sg_mkldnn_fully_connected")
    inner = Graph(e for e in graph.internals().outputs if e.node is fused)
    assert Program(inner, params).run({"data": data})[0] == [[want]]
    assert onnx_answers(inner, params, {"data": data})[0] == [[want]]


@pytest.mark.parametrize("data_name", ["calibrated", "at run time"])
def test_zeros_alone_are_a_range_too(data_name: str) -> None:
    """A layer that is always cut off by its activation leaves the bias of the next one, and no NaN."""
    rng = np.random.default_rng(3)
    sym = conv(relu(conv(S.var("data"), "dead")), "a")
    sym = S.FullyConnected(conv(sym, "b"), num_hidden=3, name="c")
    arguments, states = parameters(sym, rng)
    arguments["dead_bias"] -= 100
    data = rng.normal(0, 1, SHAPE).astype(np.float32)
    graph, params = quantised(sym, arguments, states, data, "naive")
    if data_name == "at run time":
        data = np.zeros_like(data)
    inner = Graph(e for e in graph.internals().outputs if not e.node.is_variable)
    answers = Program(inner, params).run({"data": data})
    (want,) = Program(sym.graph, {n: v.asnumpy() for n, v in arguments.items()}).run({"data": data})
    assert np.abs(answers[-1] - want).max() <= 0.06 * np.abs(want).max()
    for ours, theirs in zip(answers, onnx_answers(inner, params, {"data": data}), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-6)


@pytest.mark.parametrize(
    ("ranges", "bias", "want"),
    [
        (((0, 0), (0, 1e-6)), (5e-7, 5e-7), [71, 71, 71, 56, 71, 60, 60, 60, 68, 60]),
        (((0, 0), (-1, 1)), (0.5, -0.2), [64, 64, 64, 64, 64, -26, -26, -26, -25, -26]),
        (((-1, 1), (0, 0)), (0, 0), [127, 127, 0, -128, 0, -128, -128, 0, 127, 0]),
        (((0, 0), (0, 0)), (1e-8, 2e-8), [127, 127, 127, -106, 127, -21, -21, -21, 107, -21]),
    ],
)
def test_steps_of_ranges_of_zeros_are_those_of_mxnet(ranges, bias, want) -> None:
    sym = S.Convolution(S.var("data"), num_filter=2, kernel=(1, 1), name="a").get_backend_symbol("MKLDNN_QUANTIZE")
    arguments = {"a_weight": mx.nd.array([1, -0.5]).reshape((2, 1, 1, 1)), "a_bias": mx.nd.array(bias)}
    made, _, _, collector = quantization.quantize_graph(sym, arguments, {}, calib_mode="naive", quantize_mode="full")
    for name in collector.include_layer:
        collector.min_max_dict[name] = ranges[name != "data"]
    made, params, _ = quantization.calib_graph(made, arguments, {}, collector, "naive")
    data = np.array([1, 0.5, 0, -1, 2e-9], np.float32).reshape(1, 1, 1, -1)
    graph = made.get_backend_symbol("MKLDNN_QUANTIZE").graph
    inner = Graph(e for e in graph.internals().outputs if e.name.endswith("conv_0_output"))
    params = {n: v.asnumpy() for n, v in params.items()}
    assert Program(inner, params).run({"data": data})[0].ravel().tolist() == want
    assert onnx_answers(inner, params, {"data": data})[0].ravel().tolist() == want


def test_negative_numbers_are_not_lost_in_uint8() -> None:
    """As MXNet: all of them would be 0."""
    sym = conv(S.var("data"), "a")
    arguments, states = parameters(sym, np.random.default_rng(0))
    data = np.random.default_rng(1).normal(0, 1, SHAPE).astype(np.float32)
    graph, params = quantised(sym, arguments, states, data, "naive", "uint8")
    with pytest.raises(OpError, match=r"quantized_sg_mkldnn_conv_0.*uint8 data of a range from -.*int8 or auto"):
        Program(graph, params).run({"data": data})
    with pytest.raises(UnsupportedModel, match="uint8 data of a range from -"):
        converters.to_onnx(graph, params, {"data": data}, 17)
    graph, params = quantised(sym, arguments, states, np.abs(data), "naive", "uint8")
    Program(graph, params).run({"data": np.abs(data)})


SUMS = np.load(Path(__file__).parents[2] / "fixtures" / "quantized_sums.npz")


@pytest.mark.parametrize("name", [n.removeprefix("output/") for n in SUMS.files if n.startswith("output/")])
def test_sums_of_eight_bits(name: str) -> None:
    """A sum is rounded in the memory of the other operand: at most 127 where that is int8. Only what comes behind the sum decides
    whether the result is uint8. Where uint8 is added and the result is int8, MXNet's numbers wrap round, and are not followed."""
    data, other, *_ = name.split("-")
    symbol = mx.sym.load_json(str(SUMS[f"symbol/{name}"]))
    feeds = {n: SUMS[n] for n in ("data", "sum", "weight")}
    for key, dtype in (("data", data), ("sum", other)):
        feeds[key] = abs(feeds[key]) if dtype == "uint8" else feeds[key]
    want = SUMS[f"output/{name}"]
    got = symbol.bind(mx.cpu(), {k: mx.nd.array(v) for k, v in feeds.items()}).forward()[0].asnumpy()
    assert got.dtype == want.dtype
    if other == "uint8" and want.dtype == np.int8:
        sensible = (got >= 0) & (got < 127)
        assert sensible.any()
        assert (got[sensible] == want[sensible]).all()
    else:
        assert (got == want).all()
    specs = {n: Spec(v.shape, v.dtype) for n, v in feeds.items() if n != "weight"}
    model = converters.convert(symbol.graph, {"weight": feeds["weight"]}, specs).proto()
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert (session.run(None, {n: feeds[n] for n in specs})[0] == got).all()


@pytest.mark.parametrize("calib_mode", ["none", "naive"])
@pytest.mark.parametrize("no_bias", [False, True])
def test_dense_layers_with_a_scale_for_each_row(calib_mode: str, no_bias: bool) -> None:
    """With rows of nothing and rows of little. Without calibration the results are int32, which have one range for all rows: they
    are quantised by one scale (MXNet 1.9.1 refuses to make such a graph), with it each row is as near as the others."""
    rng = np.random.default_rng(12)
    sym = S.FullyConnected(S.var("data"), num_hidden=6, name="a", no_bias=no_bias)
    arguments, states = parameters(sym, rng)
    weight = arguments["a_weight"].asnumpy()
    weight[0] = 0
    weight[4] *= 1e-2
    arguments["a_weight"] = mx.nd.array(weight)
    if not no_bias:
        arguments["a_bias"] = mx.nd.array([0.5, 0.0, -3.0, 2.0, 0.01, -0.25])
    data = rng.normal(0, 1, SHAPE).astype(np.float32)
    graph, params = quantised(sym, arguments, states, data, calib_mode, quantize_granularity="channel-wise")
    assert any(n.op is not None and getattr(n.op, "channel_wise_quantize", None) for n in graph.nodes)
    plain = {n: v.asnumpy() for n, v in arguments.items()}
    (want,) = Program(sym.graph, plain).run({"data": data})
    (got,) = Program(graph, params).run({"data": data})
    assert np.abs(got - want).max() <= 0.05 * np.abs(want).max()
    if calib_mode == "naive":
        assert (np.abs(got - want).max(0) <= 0.06 * np.abs(want).max(0) + 1e-6).all()
    for batch in (data, data[:1] * 3):
        (ours,) = Program(graph, params).run({"data": batch})
        np.testing.assert_allclose(onnx_answers(graph, params, {"data": batch})[0], ours, rtol=1e-6, atol=1e-6)


def test_rows_give_up_digits_for_a_bias_that_data_at_run_time_make_large() -> None:
    """Each row has a scale, the range of the data is fed: a bias that would not fit 32 bits takes digits from its row's weights."""
    inner = S.FullyConnected(S.var("data"), S.var("weight"), S.var("bias"), num_hidden=4)
    fused = lookup("_sg_mkldnn_fully_connected").bind(
        num_args=5, quantized=True, channel_wise_quantize=True, enable_float_output=True
    )
    node = Node(fused, "node", [Entry(Node(None, n)) for n in fused.input_names()], fused.dump(), [inner.graph])
    graph = Graph([Entry(node)])
    rng = np.random.default_rng(14)
    weight = rng.normal(size=(4, 6)).astype(np.float32)
    weight[3] = 0
    params = {"weight": weight, "bias": np.float32([0, 1e6, -0.5, 0])}
    for reach in (1.0, 1e-3, 30.0):
        x = rng.integers(-127, 128, (3, 6)).astype(np.int8)
        feeds = {"data": x, "min_data": np.float32([-reach]), "max_data": np.float32([reach / 2])}
        want = x * np.float64(reach / 127) @ weight.T.astype(np.float64) + params["bias"]
        (got,) = Program(graph, params).run(feeds)
        np.testing.assert_allclose(got, want, rtol=0.01, atol=0.03 * reach)
        np.testing.assert_allclose(onnx_answers(graph, params, feeds)[0], got, rtol=1e-6, atol=1e-6)


def test_rows_without_a_bias_keep_their_scales_whatever_the_range_of_data() -> None:
    """The range of the data is fed, and there is no bias that could take digits from a row's weights."""
    inner = S.FullyConnected(S.var("data"), S.var("weight"), num_hidden=4, no_bias=True)
    fused = lookup("_sg_mkldnn_fully_connected").bind(
        num_args=4, quantized=True, channel_wise_quantize=True, enable_float_output=True
    )
    variables = [Entry(Node(None, n)) for n in ("data", "weight", "min_data", "max_data")]
    graph = Graph([Entry(Node(fused, "node", variables, fused.dump(), [inner.graph]))])
    rng = np.random.default_rng(15)
    weight = rng.normal(size=(4, 6)).astype(np.float32) * np.float32([[1], [10], [1e-3], [0]])
    x = rng.integers(-127, 128, (3, 6)).astype(np.int8)
    for reach in (1e-3, 1.0, 30.0):
        feeds = {"data": x, "min_data": np.float32([-reach]), "max_data": np.float32([reach / 2])}
        want = x * np.float64(reach / 127) @ weight.T.astype(np.float64)
        (got,) = Program(graph, {"weight": weight}).run(feeds)
        assert (np.abs(got - want).max(0) <= 0.02 * np.abs(want).max(0)).all()
        np.testing.assert_allclose(onnx_answers(graph, {"weight": weight}, feeds)[0], got, rtol=1e-6, atol=1e-6)


def test_a_normalization_goes_into_weight_and_bias() -> None:
    """gamma (x w + b - mean) / sqrt(var + eps) + beta as one product, with and without a bias, gamma fixed or not."""
    rng = np.random.default_rng(4)
    weight, x = rng.uniform(-1, 1, (3, 2, 1, 2)).astype(np.float32), rng.uniform(-1, 1, (2, 2, 3, 4)).astype(np.float32)
    bias, gamma, beta, mean, var = (rng.uniform(0.3, 1.7, 3).astype(np.float32) for _ in range(5))
    fused = lookup("_sg_mkldnn_conv").bind(num_args=7, with_bn=True)
    for b, fixed in itertools.product((None, bias), (False, True)):
        given = {"weight": weight, "gamma": gamma, "beta": beta, "moving_mean": mean, "moving_var": var}
        given |= {} if b is None else {"bias": b}
        parts = Parts(None, lookup("BatchNorm").bind(eps=0.05, fix_gamma=fixed), None, None)
        one, more = fused.fold_norm(given, parts)
        plain = lookup("Convolution").bind(kernel=(1, 2), num_filter=3, no_bias=True)
        y = plain.compute(x, weight) + (0 if b is None else b.reshape(3, 1, 1))
        factor = (1 if fixed else gamma) / np.sqrt(var + 0.05)
        wanted = (y - mean.reshape(3, 1, 1)) * factor.reshape(3, 1, 1) + beta.reshape(3, 1, 1)
        np.testing.assert_allclose(plain.compute(x, one) + more.reshape(3, 1, 1), wanted, rtol=0, atol=1e-5)
