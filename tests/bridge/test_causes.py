"""Causes as a verdict tells them, held against what was planted; and the campaign's own measures of it."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import bridge
from bridge.change.causes import causes
from bridge.engines import NativeEngine
from tests.bridge.campaign import VARIANTS, beyond_rounding, reached_first, score
from tests.bridge.faults import planted
from tests.bridge.told import SWAPPED, cause, patterns
from tests.models.networks import FOLDER, Network

RNG = np.random.default_rng(0)


def stored(name: str, *shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array(RNG.standard_normal(shape).astype(np.float32), name)


WEIGHTS = [stored("weight", 6, 5), stored("bias", 5), stored("scale", 5), stored("shift", 5)]


def network(epsilon: float = 1e-5, crossed: bool = False, width: float = 1.0) -> onnx.ModelProto:
    """A layer, a normalization over its numbers, and a sigmoid and a relu of these as outputs. width: of what the layer reads."""
    nodes = [
        helper.make_node("Mul", ["x", "width"], ["wide"], "wide"),
        helper.make_node("Gemm", ["wide", "weight", "bias"], ["layer"], "layer"),
        helper.make_node("LayerNormalization", ["layer", "scale", "shift"], ["norm"], "norm", epsilon=epsilon),
        helper.make_node("Sigmoid", ["norm"], ["two" if crossed else "one"], "sigmoid"),
        helper.make_node("Relu", ["norm"], ["one" if crossed else "two"], "relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 5]) for n in ("one", "two")],
        [*WEIGHTS, numpy_helper.from_array(np.asarray(width, np.float32), "width")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


X = {"x": RNG.standard_normal((4, 6)).astype(np.float32)}


def opened(*models: onnx.ModelProto) -> list[Any]:
    return [bridge.open_model(m) for m in models]


def test_partners_and_nodes_that_only_go_together_are_looked_at_too() -> None:
    a, b = opened(network(), network(0.01))
    want = ("epsilon 1e-05 -> 0.01",)
    assert causes(a, b, ["norm"]) == {"norm": want}
    assert causes(a, b, ["relu"], {"relu": ["sigmoid", "norm"]}) == {"relu": want}
    assert causes(a, b, ["norm", "relu"]) == {"norm": want}  # that one explains it


def test_what_differs_elsewhere_is_told_where_nothing_does_at_the_node() -> None:
    a, b = opened(network(), network(0.01))
    assert causes(a, b, ["relu", "sigmoid"]) == {"relu": ("at norm (LayerNormalization): epsilon 1e-05 -> 0.01",)}
    assert causes(a, a, ["relu"]) == {}


@pytest.mark.parametrize("variant", ["plain", "renamed"])
def test_slices_in_each_others_place_are_told_as_outputs(variant: str) -> None:
    """Nodes of one operator that differ by attributes alone, whose outputs keep their names: each of them is right by itself."""

    def sliced(crossed: bool) -> onnx.ModelProto:
        names = ("two", "one") if crossed else ("one", "two")
        ends = [numpy_helper.from_array(np.array([n]), f"at{n}") for n in range(3)]
        nodes = [helper.make_node("MatMul", ["x", "weight"], ["layer"], "layer")]
        nodes += [
            helper.make_node("Slice", ["layer", f"at{i}", f"at{i + 1}", "at1"], [names[i]], f"cut{i}") for i in range(2)
        ]
        graph = helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 1]) for n in ("one", "two")],
            [WEIGHTS[0], *ends],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    a, b = opened(sliced(False), VARIANTS[variant](sliced(True)))
    found = causes(a, b, ["cut0", "cut1"])
    want = ("output 0: two instead of one, which is output 1", "output 1: one instead of two, which is output 0")
    assert {words for told in found.values() for words in told} == set(want)


def test_outputs_in_each_others_place_are_told() -> None:
    result = bridge.verify(network(), network(crossed=True), inputs=X)
    assert result.verdict == "not equivalent"
    assert cause(result.causes, [SWAPPED], every=True) or cause(result.causes, ["became"], every=True), result.causes


def test_forms_come_last() -> None:
    """Also where there are more of them than are told."""
    b = network(0.01)
    names = ["norm", *(f"r{i}" for i in range(8))]
    for i, (one, other) in enumerate(itertools.pairwise(names), 3):
        b.graph.node.insert(i, helper.make_node("Reshape", [one, "same"], [other], other))
    b.graph.initializer.append(numpy_helper.from_array(np.array([-1, 5], np.int64), "same"))
    for node in b.graph.node[-2:]:
        node.input[0] = names[-1]
    found = causes(*opened(network(), b), ["norm", "relu"])
    assert found["norm"][0] == "epsilon 1e-05 -> 0.01"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("an_epsilon_of_another_size", {"norm": ("epsilon 1e-05 -> 0.0101",)}),
        ("one_element_wrong_by_a_tenth", {"layer": ("weight weight: 1 of 30 elements differ, ratio 1.1",)}),
        ("an_activation_left_out", {"relu": ("Relu relu is removed",)}),
        ("another_activation", {"relu": ("Relu became LeakyRelu",)}),
        ("a_round_trip_through_half_precision", {"norm": ("Cast layer/half is added", "Cast layer is added")}),
    ],
)
def test_patterns_are_met_by_what_is_right_alone(fault: str, told: dict[str, tuple[str, ...]]) -> None:
    right = network()
    wrong = planted(right, fault)
    assert wrong is not None
    wanted = patterns(right, wrong)
    assert cause(told, wanted, every=True), wanted
    for other in ({}, {"norm": ("epsilon 1e-05 -> 0.5", "weight bias: 2 of 30 elements differ", "alpha 1 -> 2")}):
        assert not cause(other, wanted, every=False)
    result = bridge.verify(right, wrong, inputs=X)
    assert cause(result.causes, wanted, every=True), (result.causes, wanted)


@pytest.mark.parametrize(("epsilon", "beyond"), [(1e-12, False), (1.01e-5, False), (1e-2, True)])
def test_float64_says_whether_a_fault_moves_more_than_rounding(epsilon: float, beyond: bool) -> None:
    right, wrong = network(width=10), network(epsilon, width=10)
    known = {"wide", "layer", "norm", "one", "two"}
    assert beyond_rounding(right, wrong, X, known, reached_first(right, wrong, known)) == beyond


@pytest.mark.parametrize("variant", ["renamed", "shuffled"])
def test_the_node_is_named_where_what_reads_an_output_has_other_weights(variant: str, tmp_path: Path) -> None:
    """Two filters of a layer exchanged, before an output that another layer reads, in a file with other names inside."""
    prefix = Network("two_inputs_three_outputs", FOLDER / "two_inputs_three_outputs", {})
    feeds: dict[str, Any] = prefix.runs()[0][0]
    bridge.convert(prefix.prefix, inputs=feeds, output=tmp_path / "m.onnx", verify=False)
    right = onnx.load(tmp_path / "m.onnx")
    wrong = planted(right, "two_filters_swapped")
    assert wrong is not None
    makers = {t.name: t.node for t in NativeEngine(bridge.open_model(prefix.prefix), feeds).inner_tensors()}
    result = bridge.verify(prefix.prefix, VARIANTS[variant](wrong), inputs=feeds)
    assert score(result, reached_first(right, wrong, set(makers)), makers, every=True) == "ok"
    assert cause(result.causes, patterns(right, wrong, variant), every=True)


def test_what_no_input_reaches_is_told() -> None:
    """An epsilon below rounding, and a bound beyond all that is drawn: agreement says little of these."""
    found = bridge.verify(network(1e-12), network(1e-11), inputs=X)
    assert (found.verdict, found.unreached) == ("says little", ("norm (LayerNormalization): epsilon 1e-12 -> 1e-11",))
    (note,) = found.warnings
    assert "tells the models apart" in note
    assert "norm (LayerNormalization): epsilon 1e-12 -> 1e-11" in note
    assert not bridge.verify(network(), network(), inputs=X).warnings
    loose = bridge.verify(network(1e-12), network(1e-1), inputs=X, tolerance=(10.0, 0.0))
    assert (loose.verdict, loose.unreached) == ("equivalent", ()), "it is the tolerance that they are equal by"


def test_other_forms_are_not_told(tmp_path: Path) -> None:
    """Files with folded normalizations or other operators have other parameters, which mean the same."""
    session = onnxruntime.SessionOptions()
    session.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session.optimized_model_filepath = str(tmp_path / "o.onnx")
    for name in ("resnet_v1_caffe_names", "vision_transformer"):
        prefix = str(FOLDER / name / "model")
        given = dict(np.load(FOLDER / name / "inputs.npz"))
        bridge.convert(prefix, inputs=given, output=tmp_path / "m.onnx", verify=False)
        onnxruntime.InferenceSession(tmp_path / "m.onnx", session, providers=["CPUExecutionProvider"])
        for file in ("m.onnx", "o.onnx"):
            found = bridge.verify(prefix, tmp_path / file, inputs=given, draws=("expected",))
            assert found.verdict == "equivalent"
            assert not [w for w in found.warnings if "tells the models apart" in w]
