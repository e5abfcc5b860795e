"""contrib.quantization on the networks that MXNet has quantised: the same symbols, parameters and ranges, and the same answers."""

import functools
import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid.contrib import quantization
from hybrid.passes.quantize import partition
from tests.models.networks import Network, networks

AGAIN = [n for n in networks() if (n.folder / "calibration.npz").exists()]
every = pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in AGAIN])
RANGE = ("min_calib_range", "max_calib_range")


@functools.cache
def _made(name: str):
    return _quantise(next(n for n in AGAIN if n.name == name))


def _requantised(network: Network):
    """The network in float, quantised by this engine as MXNet did it: symbol, arguments, auxiliary states."""
    return _made(network.name)


def _quantise(network: Network):
    sym, arguments, states = mx.model.load_checkpoint(str(network.folder / "float"), 0)
    with np.load(network.folder / "calibration.npz") as stored:
        data = mx.io.NDArrayIter(stored["data"], None, network.birth["sizes"][0][0])
    function = getattr(quantization, network.birth["quantize"])
    if network.birth["quantize"] != "quantize_net":
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* leaves the range of its bias out of account", UserWarning)
            return function(sym, arguments, states, label_names=None, calib_data=data, **network.birth["arguments"])
    block = mx.gluon.SymbolBlock.imports(
        str(network.folder / "float-symbol.json"), ["data"], str(network.folder / "float-0000.params")
    )
    made = function(block, calib_data=data, **network.birth["arguments"])
    values = {n: p.data() for n, p in made.collect_params().items()}
    states = set(made._cached_graph[1].list_auxiliary_states())
    return (
        made._cached_graph[1],
        {n: v for n, v in values.items() if n not in states},
        {n: v for n, v in values.items() if n in states},
    )


def _nodes(text: str):
    """Operator, name, attributes and inputs of the nodes of a symbol."""
    return [
        (n["op"], n["name"], n.get("attrs", {}) if n["op"] != "null" else {}, [i[:2] for i in n["inputs"]])
        for n in json.loads(text)["nodes"]
    ]


def _concatenated(nodes) -> set[str]:
    """Names of what is concatenated, to which MXNet gives one range."""
    return {nodes[i][1] for op, _, _, inputs in nodes if op == "_contrib_quantized_concat" for i, _ in inputs}


@every
def test_the_symbol_is_the_one_that_mxnet_wrote(network: Network) -> None:
    ours = _nodes(_requantised(network)[0].tojson())
    theirs = _nodes((network.folder / "model-symbol.json").read_text())
    for (op, name, attrs, inputs), (want_op, want_name, want, want_inputs) in zip(ours, theirs, strict=True):
        assert (op, inputs) == (want_op, want_inputs)
        # MXNet numbers the only output of some operators
        assert name == want_name or want_name.replace("_0_", "_output_") == name
        # which says that there is no float output
        want = {k: v for k, v in want.items() if v != "False" or k in attrs}
        assert {k: v for k, v in attrs.items() if k not in RANGE} == {k: v for k, v in want.items() if k not in RANGE}
        if name not in _concatenated(theirs):
            ends, wanted = ([float(a[k]) for k in RANGE if k in a] for a in (attrs, want))
            # of thousands of thresholds the best, which is another one when a number has moved to the next bin
            rtol = 0.02 if network.birth["arguments"]["calib_mode"] == "entropy" else 1e-5
            np.testing.assert_allclose(ends, wanted, rtol=rtol, atol=1e-6, err_msg=name)


@every
def test_the_parameters_are_those_that_mxnet_wrote(network: Network) -> None:
    _, arguments, states = _requantised(network)
    _, want_arguments, want_states = mx.model.load_checkpoint(network.prefix, 0)
    for ours, theirs in ((arguments, want_arguments), (states, want_states)):
        assert set(ours) == set(theirs)
        for name, want in theirs.items():
            assert ours[name].dtype == want.dtype
            np.testing.assert_array_equal(ours[name].asnumpy(), want.asnumpy(), err_msg=name)


@every
def test_the_answers_are_near_those_that_mxnet_gave(network: Network, tmp_path: Path) -> None:
    sym, arguments, states = _requantised(network)
    mx.model.save_checkpoint(str(tmp_path / "ours"), 0, sym, arguments, dict(states))
    for inputs, want in network.runs():
        module = mx.mod.Module(mx.sym.load(str(tmp_path / "ours-symbol.json")), label_names=None)
        module.bind([("data", inputs["data"].shape)], for_training=False)
        module.set_params(*mx.model.load_params(str(tmp_path / "ours"), 0))
        module.forward(mx.io.DataBatch([mx.nd.array(inputs["data"])]), is_train=False)
        (answer,), (expected,) = module.get_outputs(), want.values()
        assert np.abs(answer.asnumpy() - expected).max() <= 0.02 * np.abs(expected).max()


def test_partitioning_changes_no_number() -> None:
    network = next(n for n in AGAIN if n.name == "quantized_residual")
    sym, arguments, states = mx.model.load_checkpoint(str(network.folder / "float"), 0)
    fused = mx.sym.Symbol(partition(sym.graph).outputs)
    assert {n.op.name for n in fused.graph.nodes if n.op is not None} >= {
        "_sg_mkldnn_conv",
        "_sg_mkldnn_fully_connected",
    }
    feeds = {"data": mx.nd.array(network.runs()[0][0]["data"])}
    plain, other = (
        s.bind(mx.cpu(), {**arguments, **feeds}, aux_states=states).forward()[0].asnumpy() for s in (sym, fused)
    )
    np.testing.assert_allclose(other, plain, rtol=1e-5, atol=1e-6)
    again = mx.sym.load_json(fused.tojson())
    assert again.list_arguments() == sym.list_arguments()
    assert again.list_auxiliary_states() == sym.list_auxiliary_states()


def test_sums_are_fused_whichever_side_the_convolution_is() -> None:
    """Summands (an input, another layer's output, another convolution, the convolution's own input) before or behind it."""
    rng = np.random.default_rng(0)
    data, other = mx.sym.var("data"), mx.sym.var("other")
    conv = dict(num_filter=3, kernel=(3, 3), pad=(1, 1))
    added = {
        "input": other,
        "layer": mx.sym.sin(data),
        "convolution": mx.sym.Convolution(data, name="d", **conv),
        "itself": data,
    }
    for (name, addend), behind, norm, act in itertools.product(added.items(), *[(False, True)] * 3):
        made = mx.sym.Convolution(data, name="c", **conv)
        made = mx.sym.BatchNorm(made, name="n", fix_gamma=False) if norm else made
        made = mx.sym.elemwise_add(*((made, addend) if behind else (addend, made)))
        made = mx.sym.relu(made) if act else made
        shapes = {"data": (2, 3, 5, 4), **({"other": (2, 3, 5, 4)} if name == "input" else {})}
        arguments, _, states = (
            {
                k: mx.nd.array(rng.uniform(0.2, 1.5, s) * rng.choice([-1, 1] if signs else [1], s))
                for k, s in zip(names, sizes)
            }
            for names, sizes, signs in zip(
                (made.list_arguments(), (), made.list_auxiliary_states()),
                made.infer_shape(**shapes),
                (True, False, False),
            )
        )
        fused = mx.sym.Symbol(partition(made.graph).outputs)
        (last,) = (n for n in fused.graph.nodes if n.op is not None and "_add" in n.name)
        assert last.op.name == "_sg_mkldnn_conv"
        got, want = (s.bind(mx.cpu(), arguments, aux_states=states).forward()[0].asnumpy() for s in (fused, made))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=f"{name}, {behind=}, {norm=}, {act=}")


def test_a_custom_collector_decides_the_ranges() -> None:
    class Fixed:
        def __init__(self):
            self.min_max_dict = {}

        def collect(self, name, array):
            self.min_max_dict[name] = -2.0, 3.0

    network = next(n for n in AGAIN if n.name == "quantized_dense_channels")
    sym, arguments, states = mx.model.load_checkpoint(str(network.folder / "float"), 0)
    qsym, _, _, collector = quantization.quantize_graph(
        sym, arguments, states, calib_mode="customize", LayerOutputCollector=Fixed()
    )
    assert isinstance(collector, Fixed)
    collector.collect("data", None)
    made, _, _ = quantization.calib_graph(qsym, arguments, states, collector, "customize")
    ranges = {n["name"]: n["attrs"] for n in json.loads(made.tojson())["nodes"] if n["name"] == "data_quantize"}
    assert ranges["data_quantize"] == {"max_calib_range": "3.0", "min_calib_range": "-2.0", "out_type": "int8"}


@pytest.mark.parametrize(("dtype", "no_bias"), [("int8", False), ("auto", True), ("uint8", True)])
def test_convolutions_that_mxnet_gets_wrong_are_named(dtype: str, no_bias: bool) -> None:
    sym = mx.sym.Convolution(mx.sym.var("data"), num_filter=2, kernel=(1, 1), no_bias=no_bias, name="blurred")
    arguments = {"blurred_weight": mx.nd.ones((2, 2, 1, 1)), **({} if no_bias else {"blurred_bias": mx.nd.ones(2)})}
    with pytest.warns(UserWarning, match="^blurred: .*Use quantize_model_mkldnn"):
        quantization.quantize_model(sym, arguments, {}, calib_mode="none", quantized_dtype=dtype)
    quantization.quantize_model_mkldnn(sym, arguments, {}, calib_mode="none", quantized_dtype=dtype)


def test_a_gamma_that_is_not_used_is_not_used_in_integers() -> None:
    data = np.random.default_rng(0).normal(0, 1, (4, 2, 3, 3)).astype(np.float32)
    sym = mx.sym.Convolution(mx.sym.BatchNorm(mx.sym.var("data"), name="n"), num_filter=2, kernel=(1, 1), name="c")
    arguments = {
        "n_gamma": mx.nd.array([3, 0.2]), "n_beta": mx.nd.zeros(2), "c_weight": mx.nd.ones((2, 2, 1, 1)), "c_bias": mx.nd.ones(2)
    }  # fmt: skip
    states = {"n_moving_mean": mx.nd.zeros(2), "n_moving_var": mx.nd.ones(2)}
    made, params, _ = quantization.quantize_model_mkldnn(
        sym, arguments, states, label_names=None, calib_mode="naive", calib_data=mx.io.NDArrayIter(data, None, 4),
        quantize_mode="full",
    )  # fmt: skip
    got = made.bind(mx.cpu(), {**params, "data": mx.nd.array(data)}, aux_states=states).forward()[0].asnumpy()
    want = sym.bind(mx.cpu(), {**arguments, "data": mx.nd.array(data)}, aux_states=states).forward()[0].asnumpy()
    assert np.abs(got - want).max() <= 0.04 * np.abs(want).max()


def test_histograms_grow_by_whole_bins() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 1, 1000), rng.normal(0, 3, 1000)
    most = float(np.abs(first).max())
    counts, edges = np.histogram(first, 101, (-most, most))
    beyond = float(np.abs(second).max())
    grown, wider, low, high, reach = quantization.combine_histogram(
        (counts, edges, first.min(), first.max(), most), second, second.min(), second.max(), beyond
    )
    assert len(grown) % 2 == 1 and grown.sum() == 2000 and len(wider) == len(grown) + 1
    assert (low, high) == (min(first.min(), second.min()), max(first.max(), second.max()))
    assert reach >= beyond and np.isclose(wider[1] - wider[0], edges[1] - edges[0])
    same = quantization.combine_histogram((grown, wider, low, high, reach), first, first.min(), first.max(), most)
    assert len(same[0]) == len(grown) and same[0].sum() == 3000


@pytest.mark.parametrize(
    "wrong",
    [
        {"calib_mode": "best"},
        {"quantized_dtype": "int4"},
        {"quantize_mode": "half"},
        {"quantize_granularity": "row-wise"},
        {"excluded_sym_names": "data"},
        {"calib_mode": "naive"},
    ],
    ids=str,
)
def test_what_there_is_not_is_refused(wrong) -> None:
    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    with pytest.raises(ValueError, match="|".join(("expected", "must be"))):
        quantization.quantize_model(net, params, {}, **{"calib_mode": "none", **wrong})


def test_other_backends_are_refused() -> None:
    with pytest.raises(mx.MXNetError, match="no backend 'TensorRT'"):
        mx.sym.var("data").get_backend_symbol("TensorRT")


def test_data_that_say_nothing_are_refused() -> None:
    """Data that were gone through already, or have no range: the network would stay without ranges."""
    data = mx.io.NDArrayIter(np.ones((4, 3), np.float32), None, 2)
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    quantization.quantize_model(net, params, {}, label_names=None, calib_mode="naive", calib_data=data)
    with pytest.raises(ValueError, match="calib_data gave no batch: reset it"):
        quantization.quantize_model(net, params, {}, label_names=None, calib_mode="naive", calib_data=data)
    block = mx.gluon.nn.Dense(2, in_units=3)
    block.initialize()
    for nothing in ([], iter([mx.nd.ones((2, 3))]), iter([mx.nd.ones((2, 3))] * 2)):
        with pytest.raises(ValueError, match="calib_data gave no batch"):
            quantization.quantize_net(block, calib_mode="naive", calib_data=nothing)
    for mode in ("naive", "entropy"):
        with pytest.raises(ValueError, match=r"calibration: data goes from .*finite"):
            quantization.quantize_net(block, calib_mode=mode, calib_data=[mx.nd.array([[1, 2, np.inf]])])
    with pytest.raises(ValueError, match="exclude_layers must be a list of names, got str"):
        quantization.quantize_net(block, calib_mode="naive", calib_data=[mx.nd.ones((2, 3))], exclude_layers="dense")


def test_what_collectors_take_note_of() -> None:
    """All outputs or those that are wanted, NDArrays or NumPy arrays, none that are empty; magnitudes on either side."""
    rng = np.random.default_rng(1)
    first, second = rng.uniform(-5, 2, (3, 4)), rng.uniform(-1, 7, (2, 4))
    lines: list[tuple] = []
    logger = type("Logger", (), {"debug": lambda self, *args: lines.append(args)})()
    every = quantization._LayerOutputMinMaxCollector(logger=logger)
    some = quantization._LayerOutputMinMaxCollector("int8", {"a"})
    for name, array in (("a", first), ("b", mx.nd.array(first)), ("a", mx.nd.array(second)), ("c", np.zeros((0, 3)))):
        every.collect(name, array)
        some.collect(name, array)
    assert set(every.min_max_dict) == {"a", "b"} and set(some.min_max_dict) == {"a"}
    np.testing.assert_allclose(every.min_max_dict["a"], (first.min(), second.max()), rtol=1e-6)
    np.testing.assert_allclose(every.min_max_dict["b"], (first.min(), first.max()), rtol=1e-6)
    assert [line[1] for line in lines] == ["a", "b", "a"] and lines[0][2:] == (first.min(), first.max())
    assert (every.quantized_dtype, some.logger, every.logger) == ("int8", None, logger)
    for values in (first, second, -second):
        collector = quantization._LayerHistogramCollector(9, include_layer=["a"], logger=logger)
        collector.collect("a", values)
        collector.collect("b", values)
        (counts, edges, low, high, most) = collector.hist_dict.pop("a")
        assert not collector.hist_dict and collector.logger is logger
        want, ends = np.histogram(values, 9, (-np.abs(values).max(), np.abs(values).max()))
        np.testing.assert_array_equal(counts, want)
        np.testing.assert_array_equal(edges, ends)
        assert (low, high, most) == (values.min(), values.max(), np.abs(values).max())


def test_histograms_of_numbers_that_just_fit_and_after_zeros() -> None:
    first, second = np.array([-2.0, 0.5, 1]), np.array([2.0, -1.5, -2])
    counts, edges = np.histogram(first, 5, (-2, 2))
    both = quantization.combine_histogram((counts, edges, -2, 1, 2), second, -2, 2, 2)
    np.testing.assert_array_equal(both[0], np.histogram([*first, *second], 5, (-2, 2))[0])
    assert both[1] is edges and both[2:] == (-2, 2, 2)
    wider = quantization.combine_histogram((counts, edges, -2, 1, 2), np.array([2.01]), 2.01, 2.01, 2.01)
    assert (len(wider[0]), wider[4]) == (7, 2 + 4 / 5) and wider[0].sum() == 4
    collector = quantization._LayerHistogramCollector(5)
    for values in (np.zeros(3), second):
        collector.collect("a", values)
    counts, edges, *ends = collector.hist_dict["a"]
    np.testing.assert_array_equal(counts, np.histogram([0, 0, 0, *second], 9, (-2, 2))[0])
    assert (edges[0], edges[-1], *ends) == (-2, 2, -2, 2, 2)


def test_ranges_are_those_of_all_batches_in_any_order() -> None:
    """So is which dtype they mean: the least number decides whether the levels are on one side."""
    for first in (-0.25, 0.25):
        batches = [np.array(b) for b in ([first, 0.5], [1, 0.75], [0.125, 0.5])]
        for order in itertools.permutations(batches):
            plain, counted = quantization._LayerOutputMinMaxCollector(), quantization._LayerHistogramCollector(1001)
            for batch in order:
                plain.collect("y", batch)
                counted.collect("y", batch)
            ends = min(first, 0.125), 1
            assert plain.min_max_dict == {"y": ends}
            assert counted.hist_dict["y"][2:4] == ends and counted.hist_dict["y"][0].sum() == 6
            (least, _) = quantization._thresholds(counted.hist_dict, "auto")["y"]
            assert (least < 0) == (first < 0)


def test_thresholds_lie_on_one_side_where_nothing_is_negative() -> None:
    values = np.abs(np.random.default_rng(0).normal(size=4000))
    most = values.max()
    counts, edges = np.histogram(values, 1001, (-most, most))

    def entropy(levels: int) -> float:
        return mx.nd.contrib.calibrate_entropy(mx.nd.array(counts), mx.nd.array(edges), num_quantized_bins=levels)[
            0
        ].asscalar()

    assert entropy(511) != entropy(255)
    for low, dtype, levels in (
        (0.0, "auto", 511), (0.1, "uint8", 511), (0.1, "int8", 255), (-0.1, "auto", 255), (-0.1, "uint8", 255)
    ):  # fmt: skip
        (found,) = quantization._thresholds({"a": (counts, edges, low, most, most)}, dtype).values()
        assert found == (0.0 if levels == 511 else -entropy(levels), entropy(levels)), (low, dtype)


ENDS = {
    15: [7, 11, 2, 6, 8, 3, 2, 1, 3, 0, 1, 1, 2, 1, 0, 0, 15, 11, 23, 39, 35, 37, 17, 3, 1, 1, 1, 3, 0, 3, 3, 3, 0, 1, 2, 1, 8,
         16, 23, 8, 29],
    21: [9, 7, 7, 8, 1, 5, 1, 1, 3, 0, 2, 1, 1, 3, 0, 1, 0, 0, 1, 2, 2, 1, 0, 3, 3, 0, 34, 27, 37, 19, 17, 34, 5, 12, 3, 0, 3, 0,
         1, 3, 3, 0, 3, 3, 1, 1, 3, 3, 2, 1, 0, 3, 1, 2, 2, 0, 22, 23, 7, 11, 25],
    7: [2, 4, 3, 4, 3, 8, 0, 2, 0, 2, 0, 3, 27, 40, 26, 17, 15, 42, 24, 9, 1, 2, 1, 3, 3, 1, 1, 2, 17, 14, 22, 22, 30],
}  # fmt: skip
"""Histograms with much at both ends and empty bins, by the number of quantized bins."""


def test_divergences_where_much_lies_at_the_ends() -> None:
    """Adding to an end does not make its bin a filled one; the numbers are MXNet 1.9.1's."""
    for (bins, counts), wanted in zip(ENDS.items(), (0.17902588844299316, 0.21290260553359985, 0.1926005333662033)):
        edges = np.linspace(-2, 2, len(counts) + 1).astype("float32")
        found = mx.nd.contrib.calibrate_entropy(mx.nd.array(counts), mx.nd.array(edges), num_quantized_bins=bins)
        threshold, divergence = (a.asscalar() for a in found)
        assert threshold == 2
        np.testing.assert_allclose(divergence, wanted, rtol=1e-6)


def test_operators_that_mxnet_gets_wrong_are_named_each_for_its_reason() -> None:
    data = mx.sym.var("data")
    conv = mx.sym.Convolution(data, num_filter=2, kernel=(1, 1), no_bias=True, name="c")
    params = {"c_weight": mx.nd.array([[[[1]], [[2]]], [[[3]], [[-1]]]])}
    for sym, dtype, names in (
        (conv, "int8", None),
        (conv, "uint8", "c"),
        (mx.sym.Activation(conv, act_type="relu", name="a"), "int8", None),
        (mx.sym.Activation(conv, act_type="relu", name="a"), "auto", "c, a"),
    ):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            quantization.quantize_model(sym, params, {}, calib_mode="none", quantized_dtype=dtype, quantize_mode="full")
        assert [str(w.message).split(": as MXNet")[0] for w in told] == ([names] if names else [])


def test_parameters_that_are_called_like_quantised_ones() -> None:
    """A parameter in float keeps its own values whatever it is called, and zeros have a range."""
    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(data, mx.sym.var("w"), no_bias=True, num_hidden=2, name="fc") + mx.sym.var("w_quantize")
    params = {"w": mx.nd.zeros((2, 3)), "w_quantize": mx.nd.array([[1, 2]])}
    _, found, _ = quantization.quantize_model(net, params, {}, calib_mode="none", excluded_sym_names=["fc"])
    assert {k: v.asnumpy().tolist() for k, v in found.items()} == {"w": [[0] * 3] * 2, "w_quantize": [[1, 2]]}
    net = mx.sym.FullyConnected(data, mx.sym.var("w"), no_bias=True, num_hidden=2, name="fc")
    _, found, _ = quantization.quantize_model(net, {"w": params["w"]}, {}, calib_mode="none")
    assert [found[f"w_quantize{end}"].asnumpy().ravel().tolist() for end in ("", "_min", "_max")] == [
        [0] * 6,
        [-1],
        [1],
    ]
    assert found["w_quantize"].dtype == np.int8


class _TwoInputs(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__(prefix="two_")
        with self.name_scope():
            self.dense = mx.gluon.nn.Dense(3, in_units=4, prefix="dense_")

    def hybrid_forward(self, F, x, y):  # noqa: N803
        return self.dense(x) * 2 + y


def _two_inputs():
    block = _TwoInputs()
    block.initialize(mx.init.Constant(0.25))
    return block


def test_networks_of_two_inputs_with_and_without_labels() -> None:
    rng = np.random.default_rng(0)
    x, y, label = (rng.uniform(-1, 1, (6, n)).astype(np.float32) for n in (4, 3, 1))
    x[3:] *= 5

    def ranges(block):
        found = {
            n["name"]: n.get("attrs", {})
            for n in json.loads(block._cached_graph[1].tojson())["nodes"]
            if n["op"] != "null"
        }
        return [float(found["data0_quantize"][k]) for k in RANGE] if RANGE[0] in found["data0_quantize"] else None

    whole = [mx.nd.array(v) for v in (x, y, label)]
    parts = [[v[:3] for v in whole], [v[3:] for v in whole]]
    for data, most in (
        (mx.io.NDArrayIter({"a": x, "b": y}, label[:, 0], 3), None),
        (mx.io.NDArrayIter({"a": x, "b": y}, None, 3), None),
        (parts, None),
        ([p[:2] for p in parts], None),
        ([tuple(p) for p in parts], 3),
        (mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x, y, label), 3), 4),
        (mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x, y), 3), 3),
    ):
        made = quantization.quantize_net(_two_inputs(), calib_mode="naive", calib_data=data, num_calib_examples=most)
        seen = x[:3] if most == 3 else x
        np.testing.assert_allclose(ranges(made), (seen.min(), seen.max()), rtol=1e-6)
        want = x.sum(1, keepdims=True) * 0.5 + y
        got = made(whole[0], whole[1]).asnumpy()[: len(seen)]
        np.testing.assert_allclose(got, want[: len(seen)], atol=0.05 * np.abs(want).max())
    with pytest.raises(TypeError):
        quantization.quantize_net(_two_inputs(), calib_mode="naive", calib_data=[whole[0]])
    shapes = [mx.io.DataDesc("a", (2, 4)), mx.io.DataDesc("b", (2, 3))]
    for mode in ("none", None):
        open_one = quantization.quantize_net(_two_inputs(), calib_mode=mode, data_shapes=shapes)
        assert ranges(open_one) is None and open_one(whole[0], whole[1]).shape == (6, 3)
    for given, words in (
        ({"calib_mode": "naive", "data_shapes": shapes}, "calib_mode=naive wants calib_data"),
        ({"calib_mode": "entropy", "data_shapes": shapes}, "calib_mode=entropy wants calib_data"),
        ({"calib_mode": "none"}, "data_shapes required, or calib_data"),
        ({"calib_mode": "naive"}, "data_shapes required, or calib_data"),
        ({"calib_mode": "naive", "calib_data": parts, "ctx": [mx.cpu()]}, "only supports single ctx"),
    ):
        with pytest.raises(ValueError, match=words):
            quantization.quantize_net(_two_inputs(), **given)


def test_networks_with_a_collector_of_their_own_and_with_a_logger() -> None:
    x, y = (np.random.default_rng(0).uniform(-1, 1, (4, n)).astype(np.float32) for n in (4, 3))

    class Seen:
        def __init__(self):
            self.min_max_dict = {}

        def collect(self, name, array):
            self.min_max_dict[name] = -9.0, 9.0

    collector = Seen()
    made = quantization.quantize_net_v2(
        _two_inputs(),
        calib_mode="customize",
        calib_data=[[mx.nd.array(x), mx.nd.array(y)]],
        LayerOutputCollector=collector,
    )
    found = {
        n["name"]: n.get("attrs", {}) for n in json.loads(made._cached_graph[1].tojson())["nodes"] if n["op"] != "null"
    }
    assert [float(found["data0_quantize"][k]) for k in RANGE] == [-9, 9]
    assert "data0" in collector.min_max_dict
    with pytest.raises(ValueError, match="wants a LayerOutputCollector"):
        quantization.quantize_net_v2(
            _two_inputs(), calib_mode="customize", calib_data=[[mx.nd.array(x), mx.nd.array(y)]]
        )
    lines: list[tuple] = []
    logger = type("Logger", (), {"debug": lambda _, *a: lines.append(a), "info": lambda _, *a: lines.append(a)})()
    data = [[mx.nd.array(x), mx.nd.array(y)]]
    quantization.quantize_net(_two_inputs(), calib_mode="naive", calib_data=data, logger=logger)
    assert {line[1] for line in lines if line[0].startswith("Collected %s")} >= {"data0"}
    dense = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones(2)}
    for mode, kind in (
        ("naive", "_LayerOutputMinMaxCollector"),
        ("entropy", "_LayerHistogramCollector"),
        ("none", "NoneType"),
    ):
        *_, collector = quantization.quantize_graph(dense, params, {}, calib_mode=mode, logger=logger)
        assert type(collector).__name__ == kind and getattr(collector, "logger", logger) is logger
