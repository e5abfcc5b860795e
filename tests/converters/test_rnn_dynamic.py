"""RNN as ONNX, against the engine, where the recorded cases do not go: dynamic sizes, lengths, clipping, run-time weights."""

import numpy as np
import pytest

import converters
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.ops.test_rnn import MODES, make
from tests.table.test_goldens import run_onnx

VARIANTS = [{"mode": m} for m in MODES] + [
    {"mode": "lstm", "projection_size": 2},
    {"mode": "lstm", "lstm_state_clip_min": -0.1, "lstm_state_clip_max": 0.2},
]
every = pytest.mark.parametrize("attrs", VARIANTS, ids=lambda a: "-".join(map(str, a.values())))


def graph_of(op):
    node = Node(op, "node", [Entry(Node(None, n)) for n in op.input_names()], op.dump())
    return Graph(Entry(node, i) for i in range(node.num_visible_outputs))


def feeds_of(op, arrays, seed=0):
    feeds = dict(zip(op.input_names(), arrays))
    if op.use_sequence_length:
        steps, batch, _ = arrays[0].shape
        feeds["sequence_length"] = np.random.default_rng(seed).integers(1, steps + 1, batch).astype(np.float32)
    return feeds


def check(graph, model, feeds):
    for got, want in zip(run_onnx(model, feeds), Program(graph).run(feeds), strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 * max(1, np.abs(want).max(initial=0)))


@every
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("both", [False, True])
def test_dynamic_steps_and_batch(attrs, lengths, both):
    attrs = {**attrs, "use_sequence_length": lengths, "bidirectional": both}
    op, arrays = make(**attrs)
    graph, layers = graph_of(op), op.num_layers * op.directions
    inputs = {"data": ("time", "batch", 3), "state": (layers, "batch", op.result_size)}
    if op.mode == "lstm":
        inputs["state_cell"] = (layers, "batch", op.state_size)
    if lengths:
        inputs["sequence_length"] = ("batch",)
    model = converters.to_onnx(graph, {"parameters": arrays[1]}, inputs)
    for steps, batch in ((5, 3), (7, 1)):
        _, sized = make(steps=steps, batch=batch, **attrs)
        check(graph, model, feeds_of(op, [sized[0], arrays[1], *sized[2:]]))


@every
def test_parameters_at_run_time(attrs):
    op, arrays = make(**attrs)
    graph, feeds = graph_of(op), feeds_of(op, arrays)
    check(graph, converters.to_onnx(graph, {}, feeds), feeds)


@every
def test_zero_states_are_left_out(attrs):
    op, arrays = make(**attrs)
    graph, feeds = graph_of(op), feeds_of(op, arrays)
    params = {n: np.zeros_like(a) for n, a in feeds.items() if n.startswith("state")}
    feeds.update(params)
    model = converters.to_onnx(graph, {**params, "parameters": feeds["parameters"]}, {"data": feeds["data"]})
    assert not {i.name for i in model.graph.initializer} & set(params)
    check(graph, model, feeds)


@pytest.mark.parametrize("clip_nan", [False, True])
@pytest.mark.parametrize("both", [False, True])
def test_clipping_of_what_is_not_a_number(clip_nan, both):
    op, arrays = make(
        mode="lstm", lstm_state_clip_min=-0.1, lstm_state_clip_max=0.2, lstm_state_clip_nan=clip_nan, bidirectional=both
    )
    graph, feeds = graph_of(op), feeds_of(op, arrays)
    feeds["state_cell"] = feeds["state_cell"].copy()
    feeds["state_cell"][0, 1, 2] = np.nan
    check(graph, converters.to_onnx(graph, {}, feeds), feeds)
    assert np.isnan(Program(graph).run(feeds)[0]).any() != clip_nan
