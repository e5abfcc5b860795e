"""Differences that are found without running: planted ones get the right words, forms that mean the same are none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.change import parameters
from bridge.change.causes import causes
from bridge.cli import app
from converters.forms import Forms
from tests.bridge.faults import FAULTS, planted
from tests.models.networks import FOLDER

Change = Callable[[onnx.ModelProto], None]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network of convolution, normalization, pooling, a branch and a dense layer, as files."""
    folder = tmp_path_factory.mktemp("net")
    s = mx.sym
    data = s.Variable("data")
    x = s.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=8, no_bias=True, name="conv0")
    x = s.BatchNorm(x, fix_gamma=False, eps=1e-5, name="bn0")
    x = s.Activation(x, act_type="relu", name="relu0")
    y = s.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=8, name="conv1")
    y = s.Activation(y, act_type="relu", name="relu1")
    x = s.elemwise_add(x, y, name="plus0")
    x = s.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool0")
    x = s.softmax(s.FullyConnected(x, num_hidden=5, name="fc0"), axis=1, name="prob")
    shapes, _, aux = x.infer_shape(data=(2, 3, 8, 8))
    rng = np.random.default_rng(0)
    made = {
        f"arg:{n}": mx.nd.array(rng.standard_normal(shape))
        for n, shape in zip(x.list_arguments(), shapes)
        if n != "data"
    }
    made |= {f"aux:{n}": mx.nd.array(rng.uniform(0.5, 1.5, shape)) for n, shape in zip(x.list_auxiliary_states(), aux)}
    x.save(str(folder / "net-symbol.json"))
    mx.nd.save(str(folder / "net-0000.params"), made)
    kept = {"verify": False, "forms": Forms(keep_graph=True)}
    bridge.convert(folder / "net", inputs={"data": (2, 3, 8, 8)}, output=folder / "net.onnx", **kept)
    return folder / "net"


def load(net: Path) -> onnx.ModelProto:
    return onnx.load(net.with_suffix(".onnx"))


def node(model: onnx.ModelProto, name: str) -> onnx.NodeProto:
    return next(n for n in model.graph.node if n.name == name)


def weights(name: str, change: Callable[[np.ndarray], None]) -> Change:
    def apply(model: onnx.ModelProto) -> None:
        tensor = next(t for t in model.graph.initializer if t.name == name)
        array = numpy_helper.to_array(tensor).copy()
        change(array)
        tensor.CopyFrom(numpy_helper.from_array(array, name))

    return apply


def attribute(name: str, **values: object) -> Change:
    def apply(model: onnx.ModelProto) -> None:
        found = node(model, name)
        kept = [a for a in found.attribute if a.name not in values]
        del found.attribute[:]
        found.attribute.extend([*kept, *(helper.make_attribute(k, v) for k, v in values.items())])

    return apply


def operator(name: str, kind: str) -> Change:
    def apply(model: onnx.ModelProto) -> None:
        node(model, name).op_type = kind

    return apply


def renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with other names for all that is inside."""
    out = onnx.ModelProto()
    out.CopyFrom(model)
    kept = {i.name for i in out.graph.input} | {o.name for o in out.graph.output}
    names: dict[str, str] = {}

    def new(name: str) -> str:
        return name if not name or name in kept else names.setdefault(name, f"t{len(names)}")

    for i, n in enumerate(out.graph.node):
        n.name = f"n{i * 7 % 101}"
        n.input[:], n.output[:] = map(new, n.input), map(new, n.output)
    for tensor in out.graph.initializer:
        tensor.name = new(tensor.name)
    del out.graph.value_info[:]
    return out


def scale_row(a: np.ndarray) -> None:
    a[5] *= np.float32(1.05)


def not_a_number(a: np.ndarray) -> None:
    a[2] = np.nan


def shift(a: np.ndarray) -> None:
    a += np.float32(0.5)


def swap(a: np.ndarray) -> None:
    a[[1, 3]] = a[[3, 1]]


PLANTED: dict[str, tuple[Change, str, str]] = {
    "row": (
        weights("conv1_weight", scale_row),
        "conv1",
        "weight conv1_weight[5]: 72 of 576 elements differ, all in filter 5, ratio 1.05",
    ),
    "epsilon": (attribute("bn0", epsilon=0.01), "bn0", "epsilon 1e-05 -> 0.01"),
    "identity": (operator("relu1", "Identity"), "relu1", "Relu became Identity"),
    "average": (operator("pool0", "AveragePool"), "pool0", "MaxPool became AveragePool"),
    "nan": (weights("fc0_bias", not_a_number), "fc0", "bias fc0_bias: 1 of 5 elements differ, at element 2, 1 is NaN"),
    "pads": (attribute("conv1", pads=[0, 1, 2, 1]), "conv1", "pads (1, 1, 1, 1) -> (0, 1, 2, 1)"),
    "axis": (attribute("prob", axis=0), "prob", "axis 1 -> 0"),
    "offset": (weights("bn0_beta", shift), "bn0", "parameter bn0_beta: 8 of 8 elements differ, each +0.5"),
    "swapped": (
        weights("conv1_weight", swap),
        "conv1",
        "weight conv1_weight: 144 of 576 elements differ, all in filters 1, 3, filters 1 and 3 are swapped",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
@pytest.mark.parametrize("names", ["own", "other"])
def test_a_planted_difference_is_told_in_words(net: Path, fault: str, names: str) -> None:
    model = load(net)
    change, place, text = PLANTED[fault]
    change(model)
    result = bridge.diff(net, model if names == "own" else renamed(model))
    [found] = result.changes
    assert found.node == place
    assert re.sub(r" \(t\d+\)", "", found.text) == text  # the parameter's name in the second model
    assert not result.same


def test_two_at_once_are_both_told(net: Path) -> None:
    model = load(net)
    for fault in ("row", "epsilon"):
        PLANTED[fault][0](model)
    assert {(c.node, c.text) for c in bridge.diff(net, model).changes} == {PLANTED[f][1:] for f in ("row", "epsilon")}


def test_what_was_converted_and_not_touched_has_no_difference(net: Path) -> None:
    result = bridge.diff(net, net.with_suffix(".onnx"))
    assert result.same
    assert not result.rewritten
    assert result.matched == result.operations[0] == result.operations[1] > 8


def test_other_names_inside_are_no_difference(net: Path) -> None:
    result = bridge.diff(net, renamed(load(net)))
    assert result.same
    assert result.rewritten == (f"{result.matched} operations have other names",)


def optimised(net: Path, place: Path) -> onnx.ModelProto:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(place)
    onnxruntime.InferenceSession(str(net.with_suffix(".onnx")), options, providers=["CPUExecutionProvider"])
    return onnx.load(place)


def test_normalization_folded_by_onnxruntime_is_no_difference(net: Path, tmp_path: Path) -> None:
    model = optimised(net, tmp_path / "optimised.onnx")
    assert all(n.op_type != "BatchNormalization" for n in model.graph.node)
    result = bridge.diff(net, model)
    assert result.same, result
    assert "BatchNormalization bn0 is folded into Conv conv0" in result.rewritten
    back = bridge.diff(model, net)
    assert back.same, back


def test_a_wrong_filter_is_seen_through_folding(net: Path, tmp_path: Path) -> None:
    model = optimised(net, tmp_path / "optimised.onnx")
    name = node(model, "conv0").input[1]
    weights(name, scale_row)(model)
    [found] = bridge.diff(net, model).changes
    assert found.node == "conv0"
    assert "bn0 folded in" in found.text
    assert "27 of 216 elements differ, all in filter 5, ratio 1.05" in found.text


def test_defaults_are_what_is_left_out(net: Path) -> None:
    model = load(net)
    found = node(model, "conv1")
    kept = [a for a in found.attribute if a.name not in ("dilations", "strides", "group")]
    assert len(kept) < len(found.attribute)
    del found.attribute[:]
    found.attribute.extend(kept)
    assert bridge.diff(net.with_suffix(".onnx"), model).same


def test_symbols_are_compared_in_their_own_words(net: Path) -> None:
    symbol = mx.sym.load(f"{net}-symbol.json")
    text = symbol.tojson().replace('"eps": "1e-05"', '"eps": "0.01"')
    assert text != symbol.tojson()
    params = mx.nd.load(f"{net}-0000.params")
    a, b = (bridge.open_model(s, params) for s in (symbol, mx.sym.load_json(text)))
    [found] = bridge.diff(a, b).changes
    assert (found.node, found.operator, found.text) == ("bn0", "BatchNorm", "eps 1e-05 -> 0.01")
    assert bridge.diff(a, a).same


def test_transposed_weights_that_an_attribute_says_are_no_difference(net: Path) -> None:
    model = load(net)
    weight = next(t for t in model.graph.initializer if t.name == "fc0_weight")
    weight.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(weight).T), "fc0_weight"))
    turned = bridge.diff(net, model)
    assert [c.text for c in turned.changes] == ["weight fc0_weight: is transposed (axes 1, 0)"]
    attribute("fc0", transB=0)(model)
    assert bridge.diff(net, model).same


def test_wiring_is_compared(net: Path) -> None:
    model = load(net)
    node(model, "plus0").input[1] = "conv1_output"
    [found] = bridge.diff(net, model).changes
    assert (found.kind, found.node, found.text) == ("wiring", "plus0", "reads conv1_output instead of relu1_output")


STEPS = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, 4] x) => (float[2, 10] y0, float[2, 10] y1, float[2, 10] y2)
    <float[4, 5] w = {WEIGHTS}, int64[3] ones = {1, 1, 1}, int64[1] axis = {1}> {
    p0, p1, p2 = Split <axis = 1> (x, ones)
    s0 = Squeeze (p0, axis) s1 = Squeeze (p1, axis) s2 = Squeeze (p2, axis)
    f0 = MatMul (s0, w) g1 = MatMul (s1, w) f1 = Add (g1, f0) g2 = MatMul (s2, w) f2 = Add (g2, f1)
    b2 = Tanh (f2) h1 = Tanh (f1) b1 = Add (h1, b2) h0 = Tanh (f0) b0 = Add (h0, b1)
    y0 = Concat <axis = 1> (f0, b0) y1 = Concat <axis = 1> (f1, b1) y2 = Concat <axis = 1> (f2, b2) }"""


def test_swapped_outputs_of_steps_that_are_alike() -> None:
    """Their names say nothing of which node makes them, and no weights tell these apart: what stands before them does."""
    model = onnx.parser.parse_model(STEPS.replace("WEIGHTS", ", ".join(map(str, range(1, 21)))))
    other, names = onnx.ModelProto(), {"y0": "y1", "y1": "y0"}
    other.CopyFrom(model)
    for each in other.graph.node:
        each.output[:] = [names.get(n, n) for n in each.output]
    texts = [c.text for c in bridge.diff(model, renamed(other)).changes]
    assert texts == ["output 0: y1 instead of y0, which is output 1", "output 1: y0 instead of y1, which is output 0"]
    assert not bridge.diff(model, renamed(model)).changes


def test_swapped_outputs_and_inputs_of_other_names(net: Path) -> None:
    model = load(net)
    model.graph.output.append(helper.make_empty_tensor_value_info("plus0_output"))
    swapped = onnx.ModelProto()
    swapped.CopyFrom(model)
    outputs = list(model.graph.output)[::-1]
    del swapped.graph.output[:]
    swapped.graph.output.extend(outputs)
    texts = [c.text for c in bridge.diff(model, swapped).changes]
    assert texts == [
        "output 0: plus0_output instead of prob_output, which is output 1",
        "output 1: prob_output instead of plus0_output, which is output 0",
    ]
    model = load(net)
    model.graph.input[0].name = node(model, "conv0").input[0] = "image"
    assert [c.text for c in bridge.diff(net, model).changes] == ["input data is called image"]


def test_added_nodes_are_told_and_identities_are_not(net: Path) -> None:
    model = load(net)
    node(model, "relu1").output[0] = "before"
    cast = helper.make_node("Tanh", ["before"], ["relu1_output"], "extra")
    at = next(i for i, n in enumerate(model.graph.node) if n.name == "plus0")
    nodes = [*model.graph.node[:at], cast, *model.graph.node[at:]]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    result = bridge.diff(net, model)
    assert [(c.kind, c.node, c.text) for c in result.changes] == [("added", "extra", "added; it reads before")]
    assert causes(bridge.open_model(net), bridge.open_model(model), ["relu1"]) == {
        "relu1": ("Tanh extra is added; it reads before",)
    }
    node(model, "extra").op_type = "Identity"
    assert bridge.diff(net, model).same


def boxes(threshold: float) -> onnx.ModelProto:
    values = {
        "most": np.array([3], np.int64),
        "iou": np.array([threshold], np.float32),
        "score": np.array([0.1], np.float32),
    }
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", *values], ["kept"], "nms")
    given = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("boxes", (1, 6, 4)), ("scores", (1, 1, 6)))
    ]
    out = [helper.make_tensor_value_info("kept", TensorProto.INT64, (None, 3))]
    stored = [numpy_helper.from_array(a, n) for n, a in values.items()]
    graph = helper.make_graph([node], "boxes", given, out, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_small_inputs_that_say_how_an_operator_works_read_like_attributes() -> None:
    [found] = bridge.diff(boxes(0.5), boxes(0.45)).changes
    assert (found.node, found.kind, found.text) == ("nms", "attribute", "iou_threshold 0.5 -> 0.45")


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_that_verification_is_tried_with_is_a_difference(net: Path, fault: str) -> None:
    wrong = planted(load(net), fault)
    if wrong is None:
        assert fault == "branches_swapped"  # nothing here that has an order
        return
    assert not bridge.diff(net, wrong).same


@pytest.mark.parametrize("fault", ["row", "epsilon", "identity"])
def test_verification_says_what_differs_at_the_node(net: Path, fault: str) -> None:
    model = load(net)
    change, place, text = PLANTED[fault]
    change(model)
    result = bridge.verify(net, model, inputs={"data": (2, 3, 8, 8)})
    assert result.faults == (place,)
    assert dict(result.causes) == {place: (text,)}


def test_causes_of_nodes_whose_names_are_others(net: Path) -> None:
    model = load(net)
    PLANTED["epsilon"][0](model)
    found = causes(bridge.open_model(net), bridge.open_model(renamed(model)), ["bn0", "conv0"])
    assert found == {"bn0": ("epsilon 1e-05 -> 0.01",)}


def test_causes_at_a_fused_node_whose_parts_have_names_of_their_own(tmp_path: Path) -> None:
    """Of _sg_mkldnn_conv the converter makes the layers that were fused, under their names."""
    folder = FOLDER / "quantized_residual_entropy"
    kept = {"verify": False, "forms": Forms(keep_graph=True)}
    bridge.convert(folder / "model", inputs={"data": (2, 3, 16, 16)}, output=tmp_path / "fused.onnx", **kept)
    model = planted(onnx.load(tmp_path / "fused.onnx"), "an_epsilon_of_another_size")
    assert model is not None
    node = "sg_mkldnn_conv_bn_act_0"
    assert all(n.name != node for n in model.graph.node)
    found = causes(bridge.open_model(folder / "model"), bridge.open_model(model), [node])
    assert found == {node: ("epsilon 1e-05 -> 0.0101",)}


@pytest.mark.parametrize(
    ("want", "got", "text"),
    [
        (np.arange(4.0), np.arange(4.0), ""),
        (np.ones((2, 3)), np.ones((3, 2)), "is transposed (axes 1, 0)"),
        (np.ones((2, 3)), np.ones((2, 4)), "shape 2x3 -> 2x4"),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0], np.float32), "dtype float64 -> float32, the numbers are the same"),
        (np.array([1.1, 2.0]), np.array([1.1, 2.0]).astype(np.float16), "dtype float64 -> float16, rounded to it"),
        (np.array([1, 2, 3]), np.array([2, 3, 4]), "3 of 3 elements differ, each +1"),
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([-1.0, -2.0, -3.0, -4.0]), "4 of 4 elements differ, ratio -1"),
        (np.array([0.1, 0.7]), np.array([0.1, 0.7], np.float16).astype(float), "2 of 2 elements differ, rounded to float16"),
        (np.array([1.0, 2.0, 3.0]), np.zeros(3), "3 of 3 elements differ, now 0"),
        (np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 3.0]), "1 of 3 elements differ, at element 1, 2 -> 2.5, ratio 1.25"),
        (np.array(0.5), np.array(0.25), "0.5 -> 0.25"),
    ],
)  # fmt: skip
def test_words_for_arrays(want: np.ndarray, got: np.ndarray, text: str) -> None:
    assert parameters.words(got, want) == text


def test_the_command_tells_by_its_exit_status(net: Path, tmp_path: Path) -> None:
    model = load(net)
    PLANTED["epsilon"][0](model)
    onnx.save(model, tmp_path / "wrong.onnx")
    runner, report = CliRunner(), tmp_path / "report.md"
    same = runner.invoke(app, ["diff", str(net), f"{net}.onnx"])
    assert (same.exit_code, "no difference" in same.output) == (0, True)
    wrong = runner.invoke(app, ["diff", str(net), str(tmp_path / "wrong.onnx"), "--report", str(report)])
    assert wrong.exit_code == 1
    for text in (wrong.output, report.read_text().replace("\\", "")):
        assert "bn0 (BatchNormalization)" in text
        assert "epsilon 1e-05 -> 0.01" in text
    told = json.loads(runner.invoke(app, ["diff", str(net), str(tmp_path / "wrong.onnx"), "--json"]).output)
    assert told["same"] is False
    assert told["changes"][0]["text"] == "epsilon 1e-05 -> 0.01"
    assert runner.invoke(app, ["diff", str(net), str(tmp_path / "none.onnx")]).exit_code == 2


def test_what_matters_is_told_before_mere_forms(tmp_path: Path) -> None:
    """A file that works its sizes out as it goes, and one after training that has them written down."""
    body = """(float[N, 3] x) => (float[N, 2] y) {{
        {reshape}
        z = MatMul (r, w)
        y = {last} (z)
    }}"""
    sizes = "s = Shape (x) r = Reshape (x, s)"
    made = {}
    for name, reshape, last, seed in (("old", sizes, "Tanh", 0), ("new", "r = Identity (x)", "Sigmoid", 1)):
        graph = onnx.parser.parse_graph(f"net {body.format(reshape=reshape, last=last)}")
        weights = np.random.default_rng(seed).standard_normal((3, 2)).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(weights, "w"))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        for node in model.graph.node:
            node.name = f"{node.op_type}_{node.output[0]}"
        made[name] = tmp_path / f"{name}.onnx"
        onnx.save(model, made[name])
    found = bridge.diff(made["old"], made["new"])
    assert {c.operator: c._group for c in found.changes} == {"Shape": 3, "Reshape": 3, "MatMul": 2, "Tanh": 1}
    headings = [line for line in found.lines() if line.endswith("):")]
    assert [h.split(" (")[0].split(":")[0] for h in headings] == ["what is computed", "weights", "form"]
    assert re.match(r"old -> new: \d differences \(1 operator, 1 parameter, \d form\)", str(found))
    one = bridge.diff(made["old"], made["old"])
    assert one.same and not one.lines()
