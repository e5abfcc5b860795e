"""Recurrent layers against NumPy and float64."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import MXNetError
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


@pytest.mark.parametrize("mode", MODES)
@over("training", [False, True])
def test_lengths(level, mode, training):
    """Sequences that end early, at once, or beyond the end, in both directions and all layers."""
    for dtype in ("float32", "int32", "int64", "float64"):
        for size, batch in ((5, 6), (100, 9), (260, 1)):
            op = lookup("RNN").bind(
                state_size=size,
                num_layers=2,
                mode=mode,
                bidirectional=True,
                state_outputs=True,
                use_sequence_length=True,
            )
            arrays = operands(op, 4, batch, 7)
            arrays.append(np.resize(np.array([3, 0, 4, 1, 9, -2], dtype), batch))
            wide = [a if a is arrays[-1] else a.astype("float64") for a in arrays]
            exact = op.compute(*wide, training=training)
            for threads, constants in ((1, ()), (2, (1,))):
                got = Single(op, arrays, constants=constants, threads=threads, training=training).run(arrays)
                for mine, want in zip(got, exact, strict=True):
                    np.testing.assert_allclose(mine, want, rtol=0, atol=16 * EPSILON * max(1.0, np.abs(want).max()))


def test_clipped_cells(level):
    for nan in (False, True):
        op = lookup("RNN").bind(
            state_size=18, num_layers=1, mode="lstm", state_outputs=True,
            lstm_state_clip_min=-0.125, lstm_state_clip_max=0.25, lstm_state_clip_nan=nan,
        )  # fmt: skip
        arrays = operands(op, 5, 3, 4)
        close(op, arrays, training=True)
        arrays[0][2, 1] = np.nan
        got = Single(op, arrays).run(arrays)
        assert np.array_equal(np.isnan(got[0]), np.isnan(op.compute(*arrays)[0]))


def test_left_to_numpy(level):
    op = lookup("RNN").bind(state_size=4, num_layers=1, mode="lstm", projection_size=3)
    arrays = operands(op, 3, 2, 4)
    arrays[3] = np.zeros((1, 2, 4), "float32")
    assert not Single(op, arrays).there


# -- ONNX's own --------------------------------------------------------------------------------------------------------------

LAYERS = {"_onnx_RNN": 1, "_onnx_GRU": 3, "_onnx_LSTM": 4}
SPECIAL = {"_onnx_RNN": None, "_onnx_GRU": "linear_before_reset", "_onnx_LSTM": "input_forget"}
CURVES = [
    "Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign",
    "softplus",
]  # fmt: skip


def standard(name, steps, batch, features, size, given, dtype="float64", seed=0, **attrs):
    """An operator of ONNX with operands."""
    rng, gates = np.random.default_rng(seed), LAYERS[name]
    many = 1 + (attrs.get("direction") == "bidirectional")
    shapes = {
        "B": (many, 2 * gates * size), "initial_h": (many, batch, size), "initial_c": (many, batch, size), "P": (many, 3 * size)
    }  # fmt: skip
    op = lookup(name).bind(hidden_size=size, given=given, **attrs)
    arrays = [
        rng.uniform(-1, 1, s)
        for s in ((steps, batch, features), (many, gates * size, features), (many, gates * size, size))
    ]
    arrays[2] /= np.sqrt(size)
    for n in op.input_names()[3:]:
        if n == "sequence_lens":
            arrays.append(np.resize(np.array([steps, 0, 1, max(steps - 1, 0)], "int32"), batch))
        else:
            arrays.append(rng.uniform(-1, 1, shapes[n]))
    return op, [a if a.dtype == "int32" else a.astype(dtype) for a in arrays]


def as_meant(op, arrays, constants, threads=1):
    """Hold the kernel against NumPy in float64."""
    exact = op.compute(*[a if a.dtype == "int32" else a.astype("float64") for a in arrays])
    single = Single(op, arrays, constants=constants, threads=threads)
    assert single.there
    epsilon = float(np.finfo(arrays[0].dtype).eps)
    for mine, want in zip(single.run(arrays), exact, strict=True):
        np.testing.assert_allclose(mine, want, rtol=0, atol=32 * epsilon * max(1.0, np.abs(want).max(initial=0)))


@pytest.mark.parametrize("name", LAYERS)
@over("dtype", ["float32", "float64", "float16"])
def test_forms_of_onnx(level, name, dtype):
    """Every optional input, direction and switch, and sizes of none and one."""
    optional = lookup(name).optional
    forms = [
        (),
        optional,
        ("sequence_lens",),
        ("B", "initial_h"),
        *([("P",), ("initial_c", "B")] if "P" in optional else []),
    ]
    for given in forms:
        for direction in ("forward", "reverse", "bidirectional"):
            for special in (False, True) if SPECIAL[name] else (None,):
                attrs = {} if special is None else {SPECIAL[name]: special}
                attrs |= {"clip": 0.3} if special else {}
                op, arrays = standard(name, 4, 3, 5, 6, given, dtype, direction=direction, **attrs)
                for constants in ((), (1, 2)):
                    as_meant(op, arrays, constants)
    for steps, batch, features, size in ((0, 2, 3, 4), (3, 0, 3, 4), (1, 1, 1, 1), (2, 9, 40, 17), (3, 2, 70, 130)):
        op, arrays = standard(name, steps, batch, features, size, optional, dtype)
        for threads in (1, 2):
            as_meant(op, arrays, (1, 2), threads)


def test_activations_of_onnx(level):
    """All of them, with parameters and without, on large arguments too."""
    for curve in CURVES:
        for attrs in ({}, {"activation_alpha": (0.75,), "activation_beta": (0.25,)}, {"clip": 0.5}):
            for dtype in ("float32", "float64"):
                op, arrays = standard("_onnx_RNN", 2, 2, 3, 17, (), dtype, activations=(curve,), **attrs)
                as_meant(op, arrays, ())
                if curve not in ("Affine", "Elu", "LeakyRelu", "Relu", "softplus", "ThresholdedRelu"):
                    as_meant(op, [arrays[0] * 100, *arrays[1:]], ())


def test_lengths_that_are_none(level):
    op, arrays = standard("_onnx_LSTM", 3, 4, 2, 2, ("sequence_lens",), "float32")
    for wrong in (-1, 4):
        arrays[3][2] = wrong
        with pytest.raises(MXNetError, match="leaves to NumPy"):
            Single(op, arrays).run(arrays)


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
