"""Recurrent layers against NumPy and float64."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.examples import Maker
from hybrid.core.op import lookup

from ..grouped import over
from .single import Single

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

EPSILON = float(np.finfo("float32").eps)
MODES = ["rnn_relu", "rnn_tanh", "lstm", "gru"]


def operands(op, steps, batch, features, seed=0):
    """Data, parameters of a size that keeps states of order 1, and states."""
    rng = np.random.default_rng(seed)
    size = op.result_size
    states = [rng.uniform(-1, 1, (op.num_layers * op.directions, batch, size)) for _ in op.state_names]
    count = op.parameter_count(features)
    scale = 1 / np.sqrt(max(1, size))
    arrays = [rng.uniform(-1, 1, (steps, batch, features)), rng.uniform(-scale, scale, count), *states]
    return [a.astype("float32") for a in arrays]


def close(op, arrays, *, constants=((), (1,)), training=False, within=16.0, threads=(1, 2)):
    """Hold the kernel against NumPy in float64: every output at most ``within`` epsilons of its scale."""
    wide = [a.astype("float64") for a in arrays]
    rng = np.random.default_rng(0)
    options = {"training": training, "rng": rng} if op.needs else {}
    exact = op.compute(*wide, **options)
    specs = None
    for count in threads:
        native.set_num_threads(count)
        for fixed in constants:
            single = Single(op, arrays, constants=fixed, threads=count, training=training, specs=specs)
            specs = single.specs
            assert single.there
            got = single.run(arrays)
            assert len(got) == len(exact)
            for mine, want in zip(got, exact, strict=True):
                scale = max(1.0, np.abs(want).max(initial=0))
                np.testing.assert_allclose(mine, want, rtol=0, atol=within * EPSILON * scale)


@pytest.mark.parametrize("mode", MODES)
@over("bidirectional", [False, True])
@over("layers", [1, 2, 4])
@pytest.mark.parametrize("training", [False, True])
def test_layers(level, mode, bidirectional, layers, training):
    for size, batch in ((5, 3), (16, 1), (33, 2)):
        op = lookup("RNN").bind(
            state_size=size, num_layers=layers, mode=mode, bidirectional=bidirectional, state_outputs=True
        )
        close(op, operands(op, 4, batch, 7), training=training)


@pytest.mark.parametrize("mode", MODES)
@over("steps, batch, features", [(1, 1, 1), (0, 2, 3), (3, 0, 4), (2, 20, 1), (5, 40, 17), (1, 300, 4)])
def test_shapes(level, mode, steps, batch, features):
    for states in (False, True):
        op = lookup("RNN").bind(state_size=20, num_layers=2, mode=mode, state_outputs=states)
        close(op, operands(op, steps, batch, features))


@pytest.mark.parametrize("mode", MODES)
@over("bidirectional", [False, True])
@pytest.mark.parametrize("batch", [1, 6, 40])
def test_handed_over(level, mode, bidirectional, batch):
    """Large enough for several threads, by units and by sequences."""
    for size in (100, 520):
        op = lookup("RNN").bind(
            state_size=size, num_layers=1, mode=mode, bidirectional=bidirectional, state_outputs=True
        )
        close(op, operands(op, 5, batch, 40), constants=((1,),), threads=(1, 2, 3))


@pytest.mark.parametrize("mode", MODES)
def test_large_state(level, mode):
    """More units than a slice of K has."""
    op = lookup("RNN").bind(state_size=1040, num_layers=1, mode=mode)
    close(op, operands(op, 3, 2, 1100), constants=((1,),), threads=(2,))


def test_dropout_between_layers(level):
    op = lookup("RNN").bind(state_size=6, num_layers=2, mode="lstm", p=0.5)
    arrays = operands(op, 3, 2, 4)
    close(op, arrays)
    assert not Single(op, arrays, training=True).there


@pytest.mark.parametrize("mode", MODES)
def test_not_a_number(level, mode):
    """Stays in its sequence, and in it from its step on."""
    op = lookup("RNN").bind(state_size=8, num_layers=1, mode=mode)
    arrays = operands(op, 4, 3, 5)
    arrays[0][2, 1, 0] = np.nan
    out = Single(op, arrays, constants=(1,)).run(arrays)[0]
    assert np.isnan(out[2:, 1]).all()
    assert np.isfinite(out[:2]).all() and np.isfinite(out[:, [0, 2]]).all()


@pytest.mark.parametrize(
    "attrs",
    [
        {"projection_size": 3}, {"use_sequence_length": True}, {"lstm_state_clip_min": -1.0, "lstm_state_clip_max": 1.0},
    ],
)  # fmt: skip
def test_left_to_numpy(level, attrs):
    op = lookup("RNN").bind(state_size=4, num_layers=1, mode="lstm", **attrs)
    arrays = operands(op, 3, 2, 4)
    if op.projection_size:
        arrays[3] = np.zeros((1, 2, 4), "float32")
    if op.use_sequence_length:
        arrays.append(np.array([1, 3], "float32"))
    assert not Single(op, arrays).there


def gradient_of(op, arrays, seed=1):
    """The operator of the gradient, and its inputs after a forward pass in float64."""
    back = lookup("_backward_RNN").bind(**op.dump())
    rng = np.random.default_rng(seed)
    results = op.compute(*(a.astype("float64") for a in arrays), training=True)
    heads = [rng.uniform(-1, 1, r.shape) for r in results[: op.num_visible_outputs()]]
    return back, [a.astype("float32") for a in (*heads, *arrays, results[0], results[op.num_visible_outputs()])]


@pytest.mark.parametrize("mode", MODES)
@over("bidirectional", [False, True])
@over("layers, states", [(1, True), (2, False), (4, True)])
def test_gradient(level, mode, bidirectional, layers, states):
    for size, batch in ((5, 3), (16, 1), (33, 2)):
        op = lookup("RNN").bind(
            state_size=size, num_layers=layers, mode=mode, bidirectional=bidirectional, state_outputs=states
        )
        close(*gradient_of(op, operands(op, 4, batch, 7)), constants=((),), within=64)


@pytest.mark.parametrize("mode", MODES)
@over("steps, batch, features", [(1, 1, 1), (0, 2, 3), (3, 0, 4), (2, 20, 1), (5, 40, 17), (1, 300, 4)])
def test_gradient_shapes(level, mode, steps, batch, features):
    op = lookup("RNN").bind(state_size=20, num_layers=2, mode=mode, state_outputs=True)
    close(*gradient_of(op, operands(op, steps, batch, features)), constants=((),), within=64)


@pytest.mark.parametrize("mode", MODES)
@over("bidirectional", [False, True])
@pytest.mark.parametrize("batch", [1, 40])
def test_gradient_handed_over(level, mode, bidirectional, batch):
    op = lookup("RNN").bind(state_size=300, num_layers=1, mode=mode, bidirectional=bidirectional, state_outputs=True)
    close(*gradient_of(op, operands(op, 5, batch, 40)), constants=((),), within=64, threads=(1, 2, 3))


@pytest.mark.parametrize("mode", MODES)
def test_gradient_without_memory(level, mode):
    """Out of training the layers run again."""
    op = lookup("RNN").bind(state_size=20, num_layers=2, mode=mode, bidirectional=True)
    back, arrays = gradient_of(op, operands(op, 4, 3, 5))
    arrays[-1] = np.zeros_like(arrays[-1])
    close(back, arrays, constants=((),), within=64)


def test_examples(level):
    for op, arrays in lookup("RNN").examples(Maker(lookup("RNN"))):
        close(op, arrays)
