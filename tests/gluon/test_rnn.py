"""Recurrent cells and layers, against MXNet's recorded answers and against each other."""

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd
from hybrid.gluon import rnn
from tests.gluon import recorded
from tests.gluon.recorded import Case

CASES = [*recorded.cases("cells"), *recorded.cases("layers")]
ALL = pytest.mark.parametrize("case", [pytest.param(c, id=c.said["id"]) for c in CASES])
TRAINED = pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.said["id"]) for c in CASES if c.said.get("train", True)]
)
MODE = pytest.mark.parametrize("hybridize", [False, True], ids=["imperative", "hybrid"])


@ALL
def test_description(case: Case) -> None:
    recorded.check_description(case)


@MODE
@ALL
def test_inference(case: Case, hybridize: bool) -> None:
    recorded.check_inference(case, hybridize)


@MODE
@TRAINED
def test_training(case: Case, hybridize: bool) -> None:
    recorded.check_training(case, hybridize)


def filled(block: gluon.Block, *args: object) -> gluon.Block:
    """The block with random parameters."""
    block.initialize()
    rng = np.random.default_rng(5)
    if args:
        block(*args)
    for parameter in block.collect_params().values():
        parameter.set_data(nd.array(rng.uniform(-0.6, 0.6, parameter.shape)))
    return block


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda **k: rnn.RNN(3, 2, "relu", **k),
        lambda **k: rnn.RNN(3, 2, "tanh", **k),
        lambda **k: rnn.LSTM(3, 2, **k),
        lambda **k: rnn.GRU(3, 2, **k),
    ],
    ids=["relu", "tanh", "lstm", "gru"],
)
def test_fused_layer_is_its_cells(make, bidirectional: bool) -> None:
    layer = filled(make(bidirectional=bidirectional, input_size=4, layout="NTC"))
    x = nd.array(np.random.default_rng(1).normal(size=(2, 5, 4)))
    cells = layer._unfuse()
    outputs, states = layer(x, layer.begin_state(2))
    unrolled, last = cells.unroll(5, x, merge_outputs=True)
    np.testing.assert_allclose(outputs.asnumpy(), unrolled.asnumpy(), atol=1e-5)
    count = len(states)
    for kind, state in enumerate(states):
        parts = [s.asnumpy() for s in last[kind::count]]
        np.testing.assert_allclose(state.asnumpy(), np.stack(parts), atol=1e-5)


def test_projected_layer_is_its_cell() -> None:
    layer = filled(rnn.LSTM(4, projection_size=2, input_size=3))
    cell = gluon.contrib.rnn.LSTMPCell(4, 2, prefix="lstm_l0_", params=None, input_size=3)
    cell.initialize()
    for name, parameter in cell.collect_params().items():
        parameter.set_data(getattr(layer, "l0_" + name.removeprefix("lstm_l0_")).data())
    x = nd.array(np.random.default_rng(1).normal(size=(5, 2, 3)))
    outputs, (hidden, memory) = layer(x, layer.begin_state(2))
    unrolled, last = cell.unroll(5, x, layout="TNC", merge_outputs=True)
    np.testing.assert_allclose(outputs.asnumpy(), unrolled.asnumpy(), atol=1e-5)
    np.testing.assert_allclose(hidden.asnumpy()[0], last[0].asnumpy(), atol=1e-5)
    np.testing.assert_allclose(memory.asnumpy()[0], last[1].asnumpy(), atol=1e-5)


def test_states_of_layers() -> None:
    layer = rnn.LSTM(3, num_layers=2, bidirectional=True, dtype="float64")
    assert [s.shape for s in layer.begin_state(5)] == [(4, 5, 3)] * 2
    assert layer.begin_state(5)[0].dtype == np.float64
    assert [s.name for s in layer.begin_state(func=mx.sym.zeros)] == [f"{layer.prefix}h0_0", f"{layer.prefix}h0_1"]
    gru = rnn.GRU(3, input_size=2)
    gru.initialize()
    x = nd.ones((4, 5, 2))
    assert gru(x).shape == (4, 5, 3)
    for hybridize in (False, True):
        gru.hybridize(hybridize)
        out, states = gru(x, nd.zeros((1, 5, 3)))
        assert out.shape == (4, 5, 3) and [s.shape for s in states] == [(1, 5, 3)]
        assert gru(x).shape == (4, 5, 3)
    gru.hybridize(False)
    with pytest.raises(ValueError, match=r"Expecting \(1, 5, 3\), got \(1, 4, 3\)"):
        gru(x, gru.begin_state(4))


def test_saved_layers_load_into_layers_only_by_structure(tmp_path) -> None:
    layer = filled(rnn.LSTM(3, bidirectional=True, input_size=2))
    layer.save_parameters(str(tmp_path / "x.params"))
    assert next(iter(nd.load(str(tmp_path / "x.params")))) == "_unfused.0.l_cell.i2h_weight"
    other = rnn.LSTM(3, bidirectional=True)
    other.load_parameters(str(tmp_path / "x.params"))
    x = nd.ones((4, 2, 2))
    np.testing.assert_array_equal(layer(x).asnumpy(), other(x).asnumpy())


def test_sequence_lengths_of_layers() -> None:
    layer = filled(rnn.GRU(3, bidirectional=True, input_size=2, use_sequence_length=True))
    x = nd.array(np.random.default_rng(1).normal(size=(4, 2, 2)))
    out, (state,) = layer(x, layer.begin_state(2), nd.array([2, 4]))
    short, (short_state,) = layer(x[:2, :1], layer.begin_state(1), nd.array([2]))
    np.testing.assert_allclose(out.asnumpy()[:2, :1], short.asnumpy(), atol=1e-6)
    assert (out.asnumpy()[2:, 0] == 0).all()
    np.testing.assert_allclose(state.asnumpy()[:, :1], short_state.asnumpy(), atol=1e-6)
    with pytest.raises(ValueError, match="use_sequence_length"):
        layer(x)
    plain = filled(rnn.GRU(3, input_size=2))
    with pytest.warns(UserWarning, match="ignores sequence_length"):
        plain(x, plain.begin_state(2), nd.array([2, 4]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: rnn.LSTM(3, layout="CTN"), AssertionError, "Invalid layout CTN"),
        (lambda: rnn.RNN(3, activation="x"), KeyError, "rnn_x"),
        (lambda: rnn.DropoutCell("a"), AssertionError, "rate must be a number"),
        (lambda: rnn.ZoneoutCell(rnn.BidirectionalCell(rnn.RNNCell(1), rnn.RNNCell(1))), AssertionError, "zoneout"),
        (
            lambda: rnn.BidirectionalCell(rnn.RNNCell(1), rnn.RNNCell(1))(nd.ones((1, 1)), []),
            NotImplementedError,
            "unroll",
        ),
        (lambda: rnn.LSTM(3, projection_size=2)._unfuse(), AssertionError, "projection"),
        (lambda: gluon.contrib.rnn.Conv1DRNNCell((2, 8), 3, 3, 2), AssertionError, "odd number"),
        (lambda: rnn.RNNCell(3).unroll(3, nd.ones((2, 4, 5))), AssertionError, "wanted length=3"),
    ],
)
def test_what_they_refuse(make, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_modified_cell_is_called_through_its_modifier() -> None:
    cell = rnn.LSTMCell(3)
    zoneout = rnn.ZoneoutCell(cell)
    with pytest.raises(AssertionError, match="After applying modifier cells"):
        cell.begin_state(2)
    assert zoneout.params is cell.params
    assert zoneout.prefix == cell.prefix + "zoneout"
    assert [s.shape for s in zoneout.begin_state(batch_size=2, func=nd.zeros)] == [(2, 3)] * 2
    with pytest.raises(AssertionError, match="After applying modifier cells"):
        rnn.ResidualCell(cell)


def test_unroll_of_one_step_and_of_lists() -> None:
    cell = filled(rnn.RNNCell(3, input_size=2))
    x = nd.array(np.random.default_rng(1).normal(size=(2, 1, 2)))
    outputs, _ = cell.unroll(1, x)
    assert isinstance(outputs, list) and outputs[0].shape == (2, 3)
    steps, _ = cell.unroll(1, [x[:, 0]], merge_outputs=True)
    np.testing.assert_array_equal(steps.asnumpy()[:, 0], outputs[0].asnumpy())


def test_a_stack_that_is_asked_for_its_graph_steps_as_it_is_called() -> None:
    stack = rnn.HybridSequentialRNNCell()
    stack.add(rnn.LSTMCell(3, input_size=2))
    stack.add(rnn.GRUCell(4, input_size=3))
    filled(stack)
    x = nd.array(np.random.default_rng(1).normal(size=(2, 2)))
    states = [
        nd.array(np.random.default_rng(i).normal(size=s.shape)) for i, s in enumerate(stack.begin_state(batch_size=2))
    ]
    out, after = stack.hybrid_forward(nd, x, states)
    want, wanted = stack(x, states)
    for got, same in zip((out, *after), (want, *wanted), strict=True):
        np.testing.assert_allclose(got.asnumpy(), same.asnumpy(), rtol=1e-6)


def test_random_cells_in_training() -> None:
    mx.random.seed(1)
    x = nd.ones((8, 6, 4))
    zoneout = filled(rnn.ZoneoutCell(rnn.RNNCell(50, input_size=4), 0.5, 0))
    with mx.autograd.record():
        outputs, _ = zoneout.unroll(6, x)
    first, second = outputs[0].asnumpy(), outputs[1].asnumpy()
    assert 0.3 < (first == 0).mean() < 0.7  # before the first step all outputs were zero
    assert 0.3 < (second == first).mean() < 0.7
    outputs, _ = zoneout.unroll(6, x)
    zoneout.reset()  # nothing of a sequence is in the next one
    with mx.autograd.record():
        again, _ = zoneout.unroll(6, x)
    assert 0.3 < (again[0].asnumpy() == 0).mean() < 0.7 and zoneout._prev_output is not None
    zoneout.reset()
    assert zoneout._prev_output is None
    drop = filled(gluon.contrib.rnn.VariationalDropoutCell(rnn.RNNCell(50, input_size=4), drop_outputs=0.5))
    with mx.autograd.record():
        outputs, _ = drop.unroll(6, x, merge_outputs=True)
    dropped = outputs.asnumpy() == 0
    assert (dropped == dropped[:, :1]).all() and 0.3 < dropped.mean() < 0.7


def test_dynamic_unroll_is_unroll() -> None:
    cell = filled(rnn.LSTMCell(3, input_size=2))
    x = nd.array(np.random.default_rng(1).normal(size=(2, 5, 2)))
    for lengths in (None, nd.array([2, 5])):
        want, want_states = cell.unroll(5, x, cell.begin_state(2), merge_outputs=True, valid_length=lengths)
        got, states = gluon.contrib.rnn.rnn_cell.dynamic_unroll(
            cell, x, cell.begin_state(2), layout="NTC", valid_length=lengths
        )
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), atol=1e-6)
        for a, b in zip(states, want_states):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), atol=1e-6)
        data, sizes = mx.sym.var("data"), None if lengths is None else mx.sym.var("sizes")
        begin = [mx.sym.var("h"), mx.sym.var("c")]
        loop, _ = gluon.contrib.rnn.rnn_cell.dynamic_unroll(cell, data, begin, layout="NTC", valid_length=sizes)
        feeds = {name: parameter.data() for name, parameter in cell.collect_params().items()}
        feeds |= {"data": x, "h": nd.zeros((2, 3)), "c": nd.zeros((2, 3))} | (
            {} if lengths is None else {"sizes": lengths}
        )
        np.testing.assert_allclose(loop.eval(**feeds)[0].asnumpy(), want.asnumpy(), atol=1e-6)
    with pytest.raises(AssertionError, match="begin_state"):
        gluon.contrib.rnn.rnn_cell.dynamic_unroll(cell, x, None)


def test_cells_inside_a_hybrid_block() -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.cell = rnn.HybridSequentialRNNCell()
                self.cell.add(rnn.LSTMCell(3))
                self.cell.add(rnn.ResidualCell(rnn.GRUCell(3)))
                self.layer = rnn.GRU(4, bidirectional=True, layout="NTC")

        def hybrid_forward(self, F, x):  # noqa: N803
            outputs, _ = self.cell.unroll(4, x, merge_outputs=True)
            return self.layer(outputs)

    net, x = Net(), nd.array(np.random.default_rng(1).normal(size=(2, 4, 5)))
    filled(net, x)
    want = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), want, atol=1e-6)
    assert net(x).shape == (2, 4, 8)
    fresh = Net()  # shapes of everything follow from the graph
    fresh.initialize()
    fresh.hybridize()
    assert fresh(x).shape == (2, 4, 8)
