"""Softmax, normalizations and reductions against NumPy and against float64."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup
from tests.grouped import over
from tests.native.single import Single, reference, specs_of, using

pytestmark = [
    pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # of NumPy about infinities and empty slices
]

EPSILON = float(np.finfo(np.float32).eps)


def exactly(op: Any, arrays: Sequence[np.ndarray], **keywords: Any) -> tuple[np.ndarray, ...]:
    """NumPy's answer in float64."""
    found = op.compute(*(a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays), **keywords)
    return found if isinstance(found, tuple) else (found,)


def compare(op: Any, *arrays: np.ndarray, epsilons: float = 2, training: bool = False) -> None:
    """Every output as near to the exact one as NumPy comes, or so many epsilons of the scale more; on one thread and on two."""
    specs = specs_of(op, arrays)
    wanted = reference(op, [a.copy() for a in arrays], specs, training=training)
    exact = exactly(op, arrays, **({"training": training} if "training" in op.needs else {}))
    first: list[np.ndarray] = []
    for count in (1, 2):
        with using(count):
            single = Single(op, arrays, threads=count, training=training, specs=specs)
            assert single.there
            made = single.run([a.copy() for a in arrays])
        if [a.tobytes() for a in made] != [a.tobytes() for a in first]:
            near(made, wanted, exact, epsilons)
        first = made


def near(
    made: Sequence[np.ndarray], wanted: Sequence[np.ndarray], exactly: Sequence[np.ndarray], epsilons: float
) -> None:
    for got, want, exact in zip(made, wanted, exactly):
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
        finite = np.isfinite(want) & np.isfinite(exact)
        if not finite.any():
            continue
        scale = np.abs(exact[finite]).max()
        error = np.abs(got[finite] - exact[finite]).max() / max(scale, np.finfo(np.float32).tiny) / EPSILON
        numpy = np.abs(want[finite] - exact[finite]).max() / max(scale, np.finfo(np.float32).tiny) / EPSILON
        assert error <= epsilons + numpy, (error, numpy)


def random(*shape: int, low: float = -3, high: float = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype(np.float32)


SHAPES = [
    *((5,), (1,), (3, 0), (0, 3), (3, 1), (7, 16), (4, 17), (9, 1000), (2, 10007), (12, 3, 31)),
    *((2, 5, 3), (2, 5, 16), (3, 100, 300), (2, 70, 1), (4, 1, 257), (2, 3, 4, 5)),
]


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@over("shape", SHAPES)
def test_softmax(level, name, shape):
    for axis in range(-1, len(shape) - 1):
        for temperature in (None, 2.5):
            op = lookup(name).bind(axis=axis, temperature=temperature)
            compare(op, random(*shape))
            compare(op, random(*shape) * 100)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@over("axis", [0, 1])
def test_softmax_of_the_infinite(level, name, axis):
    x = random(40, 40)
    x[3, 7], x[5, 5], x[9, 9], x[11], x[13, 1:3], x[35, 39] = np.nan, np.inf, -np.inf, -np.inf, 3e38, np.nan
    compare(lookup(name).bind(axis=axis), x)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@over("temperature", [None, 0.7])
def test_softmax_with_lengths(level, dtype, temperature):
    data = random(3, 7, 37)
    data[..., 30:] = np.nan  # what does not count is not looked at
    lengths = np.random.default_rng(0).integers(1, 31, (3, 7)).astype(dtype)
    lengths[0, :3] = 0, -2, 1
    op = lookup("softmax").bind(use_length=True, temperature=temperature)
    compare(op, data, lengths)
    data = np.nan_to_num(data)
    lengths[1, 0] = 99
    compare(op, data, lengths)


def test_softmax_with_lengths_across_rows_is_numpys(level):
    op = lookup("softmax").bind(use_length=True, axis=0)
    assert not Single(op, (random(3, 5), np.int32([1, 2, 3, 3, 3]))).there


@over("shape", [(4, 5), (2, 3, 4), (3, 17, 5, 6), (1, 1000), (0, 3), (2, 0, 3)])
def test_softmax_heads(level, shape):
    label = np.zeros(shape[:1], np.float32)
    for mode in ("instance", "channel")[: 1 + (len(shape) > 2)]:
        compare(lookup("SoftmaxActivation").bind(mode=mode), random(*shape))
    for flags in ({}, {"multi_output": True}, {"preserve_shape": True}):
        compare(lookup("SoftmaxOutput").bind(**flags), random(*shape), label)


@over("shape", [(3, 4), (128, 768), (2, 3, 1), (5, 17, 33), (2, 10000), (2, 130, 300), (0, 4), (4, 5, 6, 7)])
@over("offset", [0, 100])
def test_layer_norm(level, shape, offset):
    for axis in range(-1, len(shape) - 1):
        size = shape[axis]
        x = random(*shape) + np.float32(offset)
        parameters = random(size, seed=1), random(size, seed=2)
        op = lookup("LayerNorm").bind(axis=axis)
        compare(op, x, *parameters, epsilons=2 + offset / 2 * (axis != -1))  # the mean is rounded


@over("shape", [(2, 4, 3), (2, 4, 7, 9), (1, 64, 56, 56), (3, 4, 1), (2, 4, 0), (0, 4, 5), (2, 4, 2, 3, 4)])
def test_instance_and_group_norm(level, shape):
    x, channels = random(*shape), shape[1]
    compare(lookup("InstanceNorm").bind(), x, random(channels, seed=1), random(channels, seed=2))
    for groups in (1, 2, 4):
        op = lookup("GroupNorm").bind(num_groups=groups)
        compare(op, x, random(groups, seed=1), random(groups, seed=2))


def test_norms_of_the_infinite(level):
    x = random(6, 4, 40)
    x[1, 2, 3], x[2, 3, 39], x[3, 3, 3] = np.nan, np.inf, 3e38
    one = np.ones(4, np.float32)
    compare(lookup("LayerNorm").bind(), x, *[np.ones(40, np.float32)] * 2)
    compare(lookup("LayerNorm").bind(axis=1), x, one, one)
    compare(lookup("InstanceNorm").bind(), x, one, one)


def batch(channels: int) -> tuple[np.ndarray, ...]:
    """gamma, beta, moving mean and variance."""
    return (*(random(channels, seed=s) for s in (1, 2, 3)), random(channels, low=0.5, high=2, seed=4))


CHANNELS = [
    *((2, 3), (7, 40), (300, 20), (1, 1000), (2, 5, 7), (4, 6, 2, 2)),
    *((2, 3, 16, 17), (3, 4, 1, 1), (2, 64, 28, 28), (5, 300, 3)),
]


@over("shape", [*CHANNELS, (0, 3, 2), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(level, shape, training):
    for name, flags in (
        ("BatchNorm", {"fix_gamma": False}),
        ("BatchNorm", {"use_global_stats": True}),
        ("BatchNorm", {"axis": -1, "fix_gamma": False, "eps": 1e-5}),
        ("_contrib_BatchNormWithReLU", {"fix_gamma": False}),
        ("BatchNorm_v1", {}),
        ("_contrib_SyncBatchNorm", {"key": "a"}),
    ):
        op = lookup(name).bind(**flags)
        x = random(*shape) + np.float32(1)
        compare(op, x, *batch(shape[flags.get("axis", 1)]), training=training)


def test_batch_norm_of_the_infinite(level):
    x = random(4, 6, 5, 5)
    x[1, 2, 3, 3], x[2, 3, 0, 0], x[0, 4, 4, 4] = np.nan, np.inf, 3e38
    for name in ("BatchNorm", "_contrib_BatchNormWithReLU"):
        for training in (False, True):
            compare(lookup(name).bind(fix_gamma=False), x, *batch(6), training=training)
            compare(lookup(name).bind(axis=3), x, *batch(5), training=training)


@over("shape", [(2, 3, 4, 5), (1, 300, 17, 3), (2, 4, 1, 1), (1, 5, 40, 40), (0, 3, 2, 2), (2, 1, 3, 3)])
def test_norms_of_squares(level, shape):
    x = random(*shape)
    for mode in ("instance", "channel", "spatial"):
        compare(lookup("L2Normalization").bind(mode=mode), x)
    for size, beta in ((1, 0.75), (3, 0.75), (5, 0.6), (4, 1.5), (11, -0.3)):
        compare(lookup("LRN").bind(nsize=size, alpha=0.1, beta=beta, knorm=1.5), x)


def test_norms_of_neighbours_in_float64_are_left_to_numpy(level):
    assert not Single(lookup("LRN").bind(nsize=3), (random(2, 3, 4, 5).astype("float64"),)).there


AXES = [
    *[((5, 7), a, {}) for a in (None, 0, 1, (0, 1))],
    *[((3, 4, 5, 6), a, {}) for a in (None, 1, (0, 2), (1, 3), (0, 2, 3), (2, 3), (0, 1), 3, 0)],
    *[((2, 3, 4), a, {"exclude": True}) for a in (1, (0, 2), None)],
    *(((1, 1, 1), (0, 2), {}), ((3, 1, 5), 1, {"keepdims": True}), ((7,), 0, {}), ((), None, {})),
    *(
        ((300000,), None, {}),
        ((3, 100000), 1, {}),
        ((2000, 70), 0, {}),
        ((70000, 3), 0, {}),
        ((16, 300, 8, 8), (0, 2, 3), {}),
    ),
    *(((300, 2, 300), (0, 2), {}), ((4, 1000, 600), 1, {}), ((2, 3, 2, 3, 2, 3), (1, 3, 5), {})),
]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "norm", "_square_sum"])
@over("shape, axis, flags", AXES)
def test_reductions(level, name, shape, axis, flags):
    x = random(*shape, low=-1) if name != "prod" else random(*shape, low=0.9, high=1.1)  # sums do not cancel
    axis = (axis,) if isinstance(axis, int) else axis
    if name != "norm":
        compare(lookup(name).bind(axis=axis, **flags), x, epsilons=1)
    elif not flags.get("exclude"):
        compare(lookup(name).bind(axis=axis, **flags), x, epsilons=1)
        compare(lookup(name).bind(axis=axis, ord=1, **flags), x, epsilons=1)


@pytest.mark.parametrize("name", ["_np_sum", "_npi_mean", "_np_max", "_np_min", "_np_prod"])
def test_reductions_of_numpy_networks(level, name):
    x = random(4, 5, 37, low=0.5, high=1.5)
    for axis in (None, (1,), (0, 2), (2,)):
        compare(lookup(name).bind(axis=axis), x, epsilons=1)
    if name in ("_np_sum", "_np_max"):
        assert not Single(lookup(name).bind(axis=(1,), initial=2.0), (x,)).there


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "norm", "_square_sum"])
def test_reductions_of_the_infinite(level, name):
    x = random(40, 50)
    x[3, 7], x[5, 5], x[9, 9], x[11] = np.nan, np.inf, -np.inf, -np.inf
    x[13, 1:3], x[35, 39], x[20, 20:40] = 1e30, np.nan, 1e-30
    x[17, 3:5] = np.inf, -np.inf
    for axis in (0, 1):
        compare(lookup(name).bind(axis=(axis,)), x, epsilons=1)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "norm"])
@over("shape, axis", [((0, 3), 0), ((3, 0), 1), ((0, 3), 1), ((2, 0, 3), 0), ((0,), 0)])
def test_reductions_of_nothing(level, name, shape, axis):
    compare(lookup(name).bind(axis=(axis,)), random(*shape))


def test_the_same_for_any_number_of_threads(level):
    x = random(3, 500, 700)
    for axis in (None, (0, 2), (1,)):
        op = lookup("sum").bind(axis=axis)
        before = native.threads()
        found = []
        for count in (1, 2, 3):
            native.set_num_threads(count)
            found.append(Single(op, (x,), threads=count).run((x,))[0])
        native.set_num_threads(before)
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])


@over("shape", SHAPES)
def test_softmax_backward(level, shape):
    dy = random(*shape)
    for axis in range(-1, len(shape) - 1):
        for name in ("softmax", "log_softmax"):
            if shape[axis]:
                y = lookup(name).bind(axis=axis).compute(random(*shape, seed=1))
                compare(lookup(f"_backward_{name}").bind(axis=axis), dy, y)


@over("shape", [(4, 5), (2, 3, 4), (3, 17, 5, 6), (70, 1000), (2, 3, 40, 20)])
def test_softmax_output_backward(level, shape):
    y = random(*shape, low=0, high=1)
    rng = np.random.default_rng(1)
    for flags in ({}, {"multi_output": True}, {"preserve_shape": True}):
        classes = shape[1] if flags.get("multi_output") or len(shape) == 2 else shape[-1]
        lengths = {"multi_output": (shape[0], *shape[2:]), "preserve_shape": shape[:-1]}
        label = rng.integers(-1, classes, lengths[next(iter(flags))] if flags else shape[:1]).astype(np.float32)
        for more in (
            {},
            {"normalization": "batch", "grad_scale": 0.3},
            {"normalization": "valid", "use_ignore": True},
            {"use_ignore": True, "ignore_label": 0, "out_grad": True},
            {"smooth_alpha": 0.1},
        ):
            op = lookup("_backward_SoftmaxOutput").bind(**flags, **more)
            heads = [random(*shape)] if op.out_grad else []
            compare(op, y, label, *heads)
            compare(op, y, random(*shape, low=0, high=1, seed=3), *heads)


@over("shape", CHANNELS)
@over("flags", [{}, {"fix_gamma": True}, {"fixed": True}, {"third": "var", "eps": 1e-3}, {"axis": -1}])
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_backward(level, threads, shape, flags, training):
    flags = {"third": "rstd", "eps": 1e-3, **flags}
    channels = shape[flags.get("axis", 1)]
    dy, x, gamma, mean = random(*shape), random(*shape, seed=1), random(channels), random(channels, low=-0.2, high=0.2)
    third = random(channels, low=0.4, high=0.9)
    plain = lookup("_backward_normalization").bind(over="batch", **flags)
    compare(plain, dy, x, gamma, mean, third, training=training, epsilons=4)
    op = lookup("_backward_batch_normalization").bind(over="batch", **flags)
    moving = random(channels, seed=5), random(channels, low=0.5, high=1, seed=6)
    ours, numpys = ([a.copy() for a in moving] for _ in range(2))
    arrays = dy, x, gamma, mean, third
    single = Single(op, (*arrays, *ours), threads=threads, training=training)
    assert single.there
    single.run((*arrays, *ours))
    op.compute(*arrays, *numpys, training=training)
    for a, b in zip(ours, numpys):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


@over("shape", [(3, 4), (128, 768), (1, 50), (300, 17), (5, 17, 33), (2, 10000), (0, 4)])
def test_layer_norm_backward(level, shape):
    dy, x, gamma = random(*shape), random(*shape, seed=1), random(shape[-1], seed=2)
    _, mean, std = lookup("LayerNorm").bind().compute(x, gamma, gamma)
    op = lookup("_backward_normalization").bind(over="layer", axis=-1, third="std")
    compare(op, dy, x, gamma, mean, std, epsilons=8)
    first = random(shape[0], seed=2)
    _, mean, std = lookup("LayerNorm").bind(axis=0).compute(x, first, first)
    assert not Single(op.bind(over="layer", axis=0, third="std"), (dy, x, first, mean, std)).there


@over("shape", [(2, 4, 3), (2, 4, 7, 9), (1, 64, 56, 56), (70, 4, 3, 3), (2, 4, 2, 3, 4)])
def test_instance_and_group_norm_backward(level, shape):
    dy, x = random(*shape), random(*shape, seed=1)
    gamma = random(shape[1], seed=2)
    _, mean, var = lookup("InstanceNorm").bind().compute(x, gamma, gamma)
    op = lookup("_backward_normalization").bind(over="instance", third="var", eps=1e-3)
    compare(op, dy, x, gamma, mean, var, epsilons=8)
    for groups in (1, 2, 4):
        gamma = random(groups, seed=2)
        _, mean, std = lookup("GroupNorm").bind(num_groups=groups).compute(x, gamma, gamma)
        op = lookup("_backward_normalization").bind(over="instance", third="std", groups=groups)
        compare(op, dy, x, gamma, mean, std, epsilons=8)


@pytest.mark.parametrize(
    ("shape", "like"),
    [((4, 5), (5,)), ((4, 5), (4, 1)), ((2, 3, 4), (3, 1)), ((500, 70), (1, 70)), ((3, 4), (3, 4)), ((3, 4), ())],
)
def test_sum_like(level, shape, like):
    compare(lookup("_backward_sum_like").bind(), random(*shape), random(*like))


@over("shape", [(3, 1), (2, 3, 37), (70, 768), (1, 2600), (0, 5), (4, 0), (16,)])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e18])
def test_root_mean_square(level, shape, scale):
    x = (np.random.default_rng(1).standard_normal(shape) * scale).astype(np.float32)
    gamma = np.random.default_rng(2).standard_normal(shape[-1:]).astype(np.float32)
    op = lookup("_fused_rms_norm").bind(eps=1e-6)
    compare(op, x, gamma)
    if x.size > 40:
        x.flat[3], x.flat[-1], x.flat[len(x.flat) // 2] = np.nan, np.inf, 1e30
        compare(op, x, gamma)
