"""RNN beyond the recorded cases: sequence lengths and clipping, which MXNet's CPU code refuses, dropout and attributes."""

import numpy as np
import pytest

from hybrid import autograd, nd
from hybrid.core.error import OpError
from hybrid.core.op import REGISTRY
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.program import Program
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer

MODES = ["rnn_relu", "rnn_tanh", "lstm", "gru"]


def make(seed=0, steps=5, batch=3, features=3, **attrs):
    """An operator and the arrays that it takes, lengths excluded."""
    attrs = {"state_size": 4, "num_layers": 2, "bidirectional": True, "state_outputs": True, **attrs}
    op = REGISTRY["RNN"].bind(**attrs)
    rng = np.random.default_rng(seed)
    shapes = [(steps, batch, features), (op.parameter_count(features),)]
    layers = op.num_layers * op.directions
    shapes += [(layers, batch, op.result_size), (layers, batch, op.state_size)][: 2 if op.mode == "lstm" else 1]
    return op, [rng.uniform(-0.8, 0.8, s).astype(np.float32) for s in shapes]


@pytest.mark.parametrize("mode", MODES)
def test_lengths_mean_each_sequence_by_itself(mode):
    op, arrays = make(mode=mode, use_sequence_length=True)
    plain, _ = make(mode=mode)
    lengths = np.array([2, 5, 3], np.int32)
    got = op.compute(*arrays, lengths)
    for i, length in enumerate(lengths):
        data, packed, *states = arrays
        want = plain.compute(data[:length, i : i + 1], packed, *(s[:, i : i + 1] for s in states))
        np.testing.assert_allclose(got[0][:length, i : i + 1], want[0], atol=1e-6)
        assert not got[0][length:, i].any()
        for state, wanted in zip(got[1 : op.num_visible_outputs()], want[1:]):
            np.testing.assert_allclose(state[:, i : i + 1], wanted, atol=1e-6)


def test_shut_gates_are_exact_in_float64():
    """Verification takes float64 for the truth: by tanh a gate at -40 would be 0, and files that are right be called wrong."""
    op, _ = make(mode="lstm", num_layers=1, bidirectional=False)
    packed = np.zeros(op.parameter_count(3))
    packed[-4:] = packed[-20:-16] = [-30, -40, -60, -300]  # the biases of output gates, of both products, or of one
    data, hidden, cell = np.zeros((1, 1, 3)), np.zeros((1, 1, 4)), np.full((1, 1, 4), 3.0)
    out, *_ = op.compute(data, packed, hidden, cell)
    given = packed[-20:-16] + packed[-4:]
    np.testing.assert_allclose(out[0, 0], np.tanh(1.5) / (1 + np.exp(-given)), rtol=1e-12)


def test_clipping_bounds_the_cell_at_every_step():
    op, arrays = make(mode="lstm", lstm_state_clip_min=-0.1, lstm_state_clip_max=0.2, num_layers=1, bidirectional=False)
    plain, _ = make(mode="lstm", num_layers=1, bidirectional=False)
    data, packed, hidden, cell = arrays
    for t in range(len(data)):
        out, _, unclipped, _ = plain.compute(data[t : t + 1], packed, hidden, cell)
        gate = out[0] / np.tanh(unclipped[0])
        cell = np.clip(unclipped, -0.1, 0.2)
        hidden = gate[None] * np.tanh(cell)
    _, got_hidden, got_cell, _ = op.compute(*arrays)
    np.testing.assert_allclose(got_cell, cell, atol=1e-6)
    np.testing.assert_allclose(got_hidden, hidden, atol=1e-6)


def test_dropout_is_between_layers_and_in_training_only():
    op, arrays = make(mode="gru", p=0.5, bidirectional=False)
    still = op.compute(*arrays)
    np.testing.assert_array_equal(make(mode="gru", bidirectional=False)[0].compute(*arrays)[0], still[0])
    trained = op.compute(*arrays, training=True, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(trained[1][0], still[1][0])  # the first layer's state: before any dropout
    assert np.abs(trained[1][1] - still[1][1]).max() > 1e-3


def test_dropout_scales_what_it_keeps():
    """Layers that pass on what they get, so that the second gives what dropout made of the data."""
    size, share = 4, 0.2
    x = np.random.default_rng(2).uniform(1, 2, (50, 9, size)).astype(np.float32)
    one, none = np.eye(size, dtype=np.float32).ravel(), np.zeros(size * size, np.float32)
    parameters = np.concatenate([one, none, one, none, np.zeros(4 * size, np.float32)])
    attrs = {"mode": "rnn_relu", "state_size": size, "num_layers": 2, "p": share}
    state = np.zeros((2, 9, size), np.float32)
    with autograd.train_mode():
        got = nd.RNN(nd.array(x), nd.array(parameters), nd.array(state), **attrs).asnumpy()
    np.testing.assert_allclose(got[got > 0], x[got > 0] / (1 - share), rtol=1e-6)
    assert abs((got == 0).mean() - share) < 0.03
    np.testing.assert_allclose(
        nd.RNN(nd.array(x), nd.array(parameters), nd.array(state), **attrs).asnumpy(), x, rtol=1e-6
    )


def test_infers_parameters_and_states_from_data():
    op, arrays = make(mode="lstm", projection_size=2)
    names = ("data", "parameters", "state", "state_cell")
    graph = Graph([Entry(Node(op, "node", [Entry(Node(None, n)) for n in names], {}))])
    result = infer(graph, {"data": (UNKNOWN, 3, 3)})
    got = [result.spec(Entry(n)).shape for n in graph.variables()]
    assert got[1:] == [a.shape for a in arrays[1:]]
    assert result.spec(graph.outputs[0]).shape == (UNKNOWN, 3, 4)
    Program(graph).run(dict(zip(names, arrays)))


@pytest.mark.parametrize(
    "attrs",
    [
        *({"mode": mode, "use_sequence_length": True} for mode in MODES[1:]),
        *({"mode": mode, "p": 0.4, "num_layers": 3} for mode in MODES[1:]),
        {"mode": "lstm", "projection_size": 2},
        {"mode": "lstm", "projection_size": 2, "use_sequence_length": True},
        {"mode": "lstm", "lstm_state_clip_min": -0.1, "lstm_state_clip_max": 0.2, "state_outputs": False},
    ],
    ids=str,
)
def test_gradients_are_slopes(attrs):
    op, arrays = make(**attrs)
    feeds = {n: a.astype(np.float64) for n, a in zip(op.input_names(), arrays)}
    variables = [Node(None, n) for n in feeds]
    if op.use_sequence_length:
        feeds["sequence_length"] = np.array([2, 5, 3], np.int32)
    inputs = [*variables, *([Node(None, "sequence_length")] if op.use_sequence_length else [])]
    node = Node(op, "node", map(Entry, inputs))
    outputs = [Entry(node, i) for i in range(node.num_visible_outputs)]
    forward, rng = Program(Graph(outputs), training=True), np.random.default_rng(0)

    def run(program, given):
        return program.run(given, rng=np.random.default_rng(7))  # the same dropout every time

    heads = {f"head{i}": rng.uniform(-1, 1, y.shape) for i, y in enumerate(run(forward, feeds))}
    found = gradients([(e, Entry(Node(None, n))) for e, n in zip(outputs, heads)], variables)
    got = run(Program(Graph(found), training=True), feeds | heads)
    for variable, gradient in zip(variables, got):
        direction = rng.uniform(-1, 1, gradient.shape)
        ends = []
        for step in (1e-6, -1e-6):
            moved = feeds | {variable.name: feeds[variable.name] + step * direction}
            ends.append(sum((h * y).sum() for h, y in zip(heads.values(), run(forward, moved))))
        np.testing.assert_allclose((gradient * direction).sum(), (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "attrs, message",
    [
        ({"mode": "gru", "projection_size": 2}, "projection_size 2 in mode gru"),
        ({"mode": "lstm", "lstm_state_clip_min": 0}, "given together"),
        ({"mode": "lstm", "p": 1}, "0 <= p < 1"),
        ({"mode": "lstm", "num_layers": 0}, "at least 1"),
    ],
)
def test_refuses_attributes_that_mean_nothing(attrs, message):
    with pytest.raises(OpError, match=message):
        make(**attrs)


def test_parts_of_the_parameters_that_differ_in_rank():
    op = REGISTRY["_rnn_param_concat"].bind(num_args="2", dim="0")
    with pytest.raises(OpError, match="differ in rank"):
        op.infer_input_shapes(((3,), ()), (None,))


@pytest.mark.parametrize("mode", MODES)
def test_gradient_without_a_memory_is_the_same(mode):
    """Training leaves a memory of all steps for the gradient; out of training the layers run again instead."""
    op, arrays = make(mode=mode)
    backward = REGISTRY["_backward_RNN"].bind(**op.dump())
    found = []
    for training in (True, False):
        output, *states, memory = op.compute(*arrays, training=training)
        assert memory[-1] == training
        found.append(backward.compute(output, *states, *arrays, output, memory))
    for kept, again in zip(*found):
        np.testing.assert_array_equal(kept, again)


def test_parts_of_the_parameters_are_joined_along_any_axis():
    """And sizes along it that are open are equal shares of what the output has."""
    for dim, shapes, whole in ((0, [(2, 4), (5, 4)], (7, 4)), (1, [(4, 2, 3), (4, 5, 3)], (4, 7, 3))):
        op = REGISTRY["_rnn_param_concat"].bind(num_args="2", dim=str(dim))
        assert tuple(op.infer_shape(*shapes)) == whole
        total = tuple(6 if a == dim else n for a, n in enumerate(whole))
        want = tuple(3 if a == dim else n for a, n in enumerate(whole))
        known = tuple(UNKNOWN if a == dim else n for a, n in enumerate(whole))
        assert [tuple(s) for s in op.infer_input_shapes((known, None), (total,))] == [want, want]
        graph = Graph([Entry(Node(op, "node", [Entry(Node(None, "a")), Entry(Node(None, "b"))]))])
        with pytest.raises(OpError, match="differ in rank"):
            infer(graph, {"a": (3,) * 3, "b": (3,)})
