"""Tensors that are one, found by what they hold; and what is compared with names that say nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import bridge
import hybrid as mx
from bridge import pairing
from bridge.engines import NativeEngine, OnnxEngine
from bridge.pairing import LIKE, match
from bridge.result import Case
from converters import to_onnx
from hybrid.core.op import Spec
from tests.bridge import alarms
from tests.bridge.campaign import renamed, shuffled
from tests.bridge.faults import planted
from tests.models.networks import networks

FEEDS = {"data": np.random.default_rng(2).standard_normal((4, 6)).astype(np.float32)}


def chain(kinds: str = "tanh", widths: tuple[int, ...] = (5, 5, 5, 3)) -> tuple[Any, dict[str, np.ndarray]]:
    """Layers one after the other, and their parameters."""
    rng = np.random.default_rng(7)
    x, size, params = mx.sym.var("data"), 6, {}
    for i, width in enumerate(widths):
        x = mx.sym.FullyConnected(x, num_hidden=width, name=f"fc{i}")
        params |= {f"fc{i}_weight": rng.normal(0, 1, (width, size)), f"fc{i}_bias": rng.normal(0, 1, width)}
        x, size = mx.sym.Activation(x, act_type=kinds, name=f"act{i}"), width
    return x, {n: a.astype(np.float32) for n, a in params.items()}


def paired(net: Any, params: Any, proto: onnx.ModelProto, known: Any = ()) -> dict[str, str]:
    """Nodes of the ONNX model by those of the symbol."""
    one, two = NativeEngine(bridge.open_model(net, params)), OnnxEngine(bridge.open_model(proto))
    found = match(one, two, Case(FEEDS), {one.outputs[0]: two.outputs[0]}, dict(known))
    assert found is not None
    return {a.node: b.node for a, b in found.pairs}


@pytest.mark.parametrize("change", [renamed, shuffled])
def test_right_models_pair_wholly(change: Any) -> None:
    net, params = chain()
    right = to_onnx(net, params, FEEDS)
    place = {n.output[0]: i for i, n in enumerate(right.graph.node)}
    want = {t.node: place[t.name] for t in NativeEngine(bridge.open_model(net, params)).inner_tensors()}
    other = change(right)
    nodes = [n.name for n in other.graph.node]
    assert paired(net, params, other) == {n: nodes[i] for n, i in want.items()}


@pytest.mark.parametrize("wrong", [("fc0_weight",), ("fc1_weight",), ("fc3_weight",), ("fc0_weight", "fc2_weight")])
def test_behind_a_fault_tensors_pair_by_what_follows(wrong: tuple[str, ...]) -> None:
    """One that is wholly wrong, so that nothing after it holds the same numbers; or two."""
    net, params = chain()
    bad = {n: -a[::-1].copy() if n in wrong else a for n, a in params.items()}
    names = [n.name for n in renamed(to_onnx(net, params, FEEDS)).graph.node]
    found = paired(net, params, renamed(to_onnx(net, bad, FEEDS)))
    assert list(found.values()) == names
    result = bridge.verify(net, renamed(to_onnx(net, bad, FEEDS)), params=params, inputs=FEEDS)
    assert result.faults == tuple(n.removesuffix("_weight") for n in wrong)


def test_trials_are_counted_in_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in seconds: the same node is named on a slow machine. Of models twice the size half as many are tried."""
    net, params = chain()
    bad = {n: -a[::-1].copy() if n == "fc1_weight" else a for n, a in params.items()}
    one = NativeEngine(bridge.open_model(net, params))
    two = OnnxEngine(bridge.open_model(renamed(to_onnx(net, bad, FEEDS))))
    size = sum(one.sizes(FEEDS).values())
    pairs = []
    for most in (0, 1, pairing.TRIALS + 1):
        monkeypatch.setattr(pairing, "TRIED_BYTES", most * size)
        matcher = pairing._Matcher(one, two, Case(FEEDS), {one.outputs[0]: two.outputs[0]}, {})
        assert matcher.trials == min(most, pairing.TRIALS)
        pairs.append(len(matcher.run().sure))
    assert pairs[0] < pairs[1] <= pairs[2]


@pytest.mark.parametrize(
    ("name", "fault", "node"),
    [
        # states of zeros: a sum with them holds the same numbers as what is added to them
        ("module_lstm_unrolled", "branches_swapped", "_rminusscalar0"),
        # the outputs are the same, and nothing before them would be compared by these names
        ("centre_points", "a_larger_window", "pooling0"),
    ],
)
def test_a_fault_in_a_file_whose_names_mislead(name: str, fault: str, node: str, tmp_path: Path) -> None:
    (network,) = (n for n in networks() if n.name == name)
    feeds = network.runs()[0][0]
    bridge.convert(network.prefix, inputs=feeds, output=tmp_path / "right.onnx")
    right = onnx.load(tmp_path / "right.onnx")
    wrong = planted(right, fault)
    assert wrong is not None
    assert bridge.verify(network.prefix, shuffled(right), inputs=feeds).equivalent
    assert bridge.verify(network.prefix, shuffled(wrong), inputs=feeds).faults == (node,)


def test_names_of_other_tensors_are_no_pairs() -> None:
    """A right file in which a name is that of something else of the same shape."""
    net, params = chain()
    proto = to_onnx(net, params, FEEDS)
    names = {"fc1_output": "act0_output", "act0_output": "fc1_output"}
    for node in proto.graph.node:
        node.input[:] = [names.get(n, n) for n in node.input]
        node.output[:] = [names.get(n, n) for n in node.output]
    result = bridge.verify(net, proto, params=params, inputs=FEEDS)
    assert result.verdict == "equivalent" and result.inner == 8


def test_what_could_be_compared_together_only_is_said() -> None:
    """A fault in a model whose layers have been put into one."""
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="one", no_bias=True)
    net = mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=3, name="two", no_bias=True), name="end")
    rng = np.random.default_rng(1)
    params = {"one_weight": rng.normal(size=(4, 6)), "two_weight": rng.normal(size=(3, 4))}
    params = {n: a.astype(np.float32) for n, a in params.items()}
    folded = mx.sym.tanh(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="two", no_bias=True), name="end")
    for factor, span in ((1.0, ()), (1.1, ("one", "two"))):
        weight = {"two_weight": (params["two_weight"] @ params["one_weight"]) * np.float32(factor)}
        result = bridge.verify(net, to_onnx(folded, weight, FEEDS), params=params, inputs=FEEDS)
        assert result.equivalent == (not span)
        if span:
            assert result.divergence is not None and result.divergence.span == span
            assert any(w.startswith("one, two could only be compared together") for w in result.warnings)


def test_how_alike_two_tensors_are() -> None:
    a = np.linspace(-1, 1, 2000, dtype=np.float32).reshape(40, 50)
    for other, apart in (
        (a, 0.0), (a * np.float32(1 + LIKE / 2), LIKE / 2), (-a, 2.0), (a.T, np.inf), (a.astype(np.float64), np.inf),
    ):  # fmt: skip
        assert pairing._apart(pairing._sample(a), pairing._sample(other)) == pytest.approx(apart, rel=0.1)
    holes = a.copy()
    holes[::2] = np.nan
    assert pairing._apart(pairing._sample(holes), pairing._sample(holes)) == 0
    assert pairing._apart(pairing._sample(holes), pairing._sample(a)) == np.inf
    whole = np.arange(100)
    assert pairing._apart(pairing._sample(whole), pairing._sample(whole)) == 0
    assert pairing._apart(pairing._sample(whole), pairing._sample(whole + (whole == 99))) == np.inf
    for array, tells, little in (
        (a, True, False), (np.zeros(9), False, True), (np.ones(1), False, True), (np.array(["a", "b"]), False, True),
        (np.array([0.0, 1.0, 0.0]), True, True),
    ):  # fmt: skip
        sample = pairing._sample(array)
        assert (sample.tells, sample.little) == (tells, little)


def test_a_bias_beside_a_channel_of_1000(tmp_path: Path) -> None:
    """0.9 % wrong, and less than 1e-5 of the largest number."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    weight = np.zeros((2, 6), np.float32)
    weight[0] = 1000
    params = {"fc_weight": weight, "fc_bias": np.array([0, 1], np.float32)}
    right = to_onnx(net, params, FEEDS)
    wrong = to_onnx(net, {**params, "fc_bias": np.array([0, 1.009], np.float32)}, FEEDS)
    usual = bridge.TOLERANCES["float32"]
    for tolerance in (None, usual, (1e-5, 1e-4)):
        options = {"params": params, "inputs": FEEDS, "tolerance": tolerance}
        assert bridge.verify(net, right, **options).verdict == "equivalent"
        found = bridge.verify(net, wrong, **options)
        assert found.verdict == "not equivalent" and found.divergence is not None and found.divergence.node == "fc"
        assert not found.differences[0].equal


@pytest.mark.parametrize("name", ["style_transfer", "mlp_activations"])
def test_right_files_at_drawn_inputs(name: str) -> None:
    (network,) = (n for n in networks() if n.name == name)
    specs = {n: Spec(a.shape, a.dtype) for n, a in network.runs()[0][0].items()}
    assert alarms.judged(name, network.prefix, specs, 0) == ""
