"""Softmax, normalizations and reductions against NumPy and against float64."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from hybrid import native
from hybrid.op import lookup
from tests.native.single import Single, reference

pytestmark = [
    pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # of NumPy about infinities and empty slices
]

EPSILON = float(np.finfo(np.float32).eps)


@pytest.fixture(params=native.LEVELS or (None,))
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each CPU level in turn."""
    before = native.use(request.param)
    yield request.param
    native.use(before)


@pytest.fixture(params=(1, 2))
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """One thread and two."""
    before = native.threads()
    native.set_num_threads(request.param)
    yield request.param
    native.set_num_threads(before)


def exactly(op: Any, arrays: Sequence[np.ndarray], **keywords: Any) -> tuple[np.ndarray, ...]:
    """NumPy's answer in float64."""
    found = op.compute(*(a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays), **keywords)
    return found if isinstance(found, tuple) else (found,)


def compare(op: Any, *arrays: np.ndarray, epsilons: float = 2, threads: int = 1) -> None:
    """Every output as near to the exact one as NumPy comes, or so many epsilons of the scale more."""
    single = Single(op, arrays, threads=threads)
    assert single.there
    wanted = reference(op, arrays, single.specs)
    for got, want, exact in zip(single.run(arrays), wanted, exactly(op, arrays)):
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
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(level, threads, name, shape):
    for axis in range(-1, len(shape) - 1):
        for temperature in (None, 2.5):
            op = lookup(name).bind(axis=axis, temperature=temperature)
            compare(op, random(*shape), threads=threads)
            compare(op, random(*shape) * 100, threads=threads)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_of_the_infinite(level, name, axis):
    x = random(40, 40)
    x[3, 7], x[5, 5], x[9, 9], x[11], x[13, 1:3], x[35, 39] = np.nan, np.inf, -np.inf, -np.inf, 3e38, np.nan
    compare(lookup(name).bind(axis=axis), x)


def test_softmax_with_lengths_is_numpys(level):
    assert not Single(lookup("softmax").bind(use_length=True), (random(3, 5), np.int32([1, 2, 3]))).there


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 4), (3, 17, 5, 6), (1, 1000), (0, 3), (2, 0, 3)])
def test_softmax_heads(level, threads, shape):
    label = np.zeros(shape[:1], np.float32)
    for mode in ("instance", "channel")[: 1 + (len(shape) > 2)]:
        compare(lookup("SoftmaxActivation").bind(mode=mode), random(*shape), threads=threads)
    for flags in ({}, {"multi_output": True}, {"preserve_shape": True}):
        compare(lookup("SoftmaxOutput").bind(**flags), random(*shape), label, threads=threads)


@pytest.mark.parametrize(
    "shape", [(3, 4), (128, 768), (2, 3, 1), (5, 17, 33), (2, 10000), (2, 130, 300), (0, 4), (4, 5, 6, 7)]
)
@pytest.mark.parametrize("offset", [0, 100])
def test_layer_norm(level, threads, shape, offset):
    for axis in range(-1, len(shape) - 1):
        size = shape[axis]
        x = random(*shape) + np.float32(offset)
        parameters = random(size, seed=1), random(size, seed=2)
        op = lookup("LayerNorm").bind(axis=axis)
        compare(op, x, *parameters, epsilons=2 + offset / 2 * (axis != -1), threads=threads)  # the mean is rounded


@pytest.mark.parametrize("shape", [(2, 4, 3), (2, 4, 7, 9), (1, 64, 56, 56), (3, 4, 1), (2, 4, 0), (0, 4, 5), (2, 4, 2, 3, 4)])
def test_instance_and_group_norm(level, threads, shape):
    x, channels = random(*shape), shape[1]
    compare(lookup("InstanceNorm").bind(), x, random(channels, seed=1), random(channels, seed=2), threads=threads)
    for groups in (1, 2, 4):
        op = lookup("GroupNorm").bind(num_groups=groups)
        compare(op, x, random(groups, seed=1), random(groups, seed=2), threads=threads)


def test_norms_of_the_infinite(level):
    x = random(6, 4, 40)
    x[1, 2, 3], x[2, 3, 39], x[3, 3, 3] = np.nan, np.inf, 3e38
    one = np.ones(4, np.float32)
    compare(lookup("LayerNorm").bind(), x, *[np.ones(40, np.float32)] * 2)
    compare(lookup("LayerNorm").bind(axis=1), x, one, one)
    compare(lookup("InstanceNorm").bind(), x, one, one)
