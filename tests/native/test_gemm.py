"""Matrix products against NumPy and float64."""

import itertools

import numpy as np
import pytest

from hybrid import native
from hybrid.op import lookup
from tests.table.examples import Maker

from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

EPSILON = float(np.finfo("float32").eps)


def uniform(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).uniform(-1, 1, shape).astype("float32")


def close(name, arrays, *, constants=((),), within=None, scale=None, threads=(1, 2), there=True, **attrs):
    """Hold the kernel against NumPy, and against NumPy in float64: at most ``within`` epsilons of the scale, which is the output's.

    By default sqrt(K) / 2 + 4 epsilons: rounding errors of K products add up like a random walk."""
    op = lookup(name).bind(**attrs)
    exact = op.compute(*(a.astype("float64") for a in arrays))
    if within is None:
        within = 4 + max((max(a.shape, default=1) for a in arrays), default=1) ** 0.5 / 2
    for count, fixed in itertools.product(threads, constants):
        native.set_num_threads(count)
        single = Single(op, arrays, constants=fixed, threads=count)
        assert single.there == there
        if not there:
            continue
        (mine,) = single.run(arrays)
        (want,) = reference(op, arrays, single.specs)
        assert mine.dtype == want.dtype
        finite = np.isfinite(want)
        np.testing.assert_array_equal(mine[~finite], want[~finite])
        size = np.abs(exact[finite]).max(initial=0) if scale is None else scale
        np.testing.assert_allclose(mine[finite], exact[finite], rtol=0, atol=within * EPSILON * size)
        np.testing.assert_array_equal(mine, single.run(arrays)[0], "the second run gave something else")


WEIGHT = ((), (1,))
ROWS = [1, 2, 3, 4, 5, 8, 13, 14, 15, 29, 64, 131]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", [1, 2, 15, 16, 17, 32, 33, 100])
def test_sizes(level, rows, columns):
    for k in (1, 3, 8, 37):
        arrays = uniform(rows, k), uniform(columns, k), uniform(columns)
        close("FullyConnected", arrays, constants=WEIGHT, num_hidden=columns)


@pytest.mark.parametrize("rows", [1, 2, 5, 16, 300])
def test_long_sums(level, rows):
    """K in slices; many rows: A in bands."""
    for k, columns in ((1025, 33), (2600, 70), (9000, 40)):
        close("FullyConnected", (uniform(rows, k), uniform(columns, k)), constants=WEIGHT, num_hidden=columns, no_bias=True)


@pytest.mark.parametrize("m, n, k", [(128, 768, 256), (1, 1000, 2048), (700, 40, 90), (2, 3000, 300), (60, 17, 4000)])
def test_handed_over(level, m, n, k):
    """Large enough for several threads."""
    close("FullyConnected", (uniform(m, k), uniform(n, k), uniform(n)), constants=WEIGHT, num_hidden=n)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (2, 0, 4)])
@pytest.mark.parametrize("hidden", [0, 1, 20])
def test_nothing(level, shape, hidden):
    k = int(np.prod(shape[1:]))
    arrays = np.zeros(shape, "float32"), uniform(hidden, k), uniform(hidden)
    close("FullyConnected", arrays, constants=WEIGHT, num_hidden=hidden)


@pytest.mark.parametrize("flatten", [True, False])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 5), (7, 1), (1, 1, 6)])
def test_flatten(level, shape, flatten):
    k = int(np.prod(shape[1:])) if flatten else shape[-1]
    close("FullyConnected", (uniform(*shape), uniform(9, k), uniform(9)), constants=WEIGHT, num_hidden=9, flatten=flatten)


@pytest.mark.parametrize("rows, columns, k", [(1, 40, 64), (3, 21, 37), (33, 100, 50), (1, 2, 128), (7, 32, 2100)])
def test_finish(level, rows, columns, k):
    everything = [{}, {"slope": 0.1}, {"low": 0.0}, {"low": 0.0, "high": 0.5}, {"slope": 0.0}, {"high": 0.25}]
    for bias, residual, rest in itertools.product((False, True), (False, True), everything):
        arrays = [uniform(rows, k), uniform(columns, k)]
        scale = np.abs(arrays[0] @ arrays[1].T).max()  # limits make the output smaller than its errors say
        arrays += [uniform(columns)] * bias + [uniform(rows, columns)] * residual
        attrs = {"num_hidden": columns, "bias": bias, "residual": residual, **rest}
        close("_fused_dense", arrays, constants=WEIGHT, scale=scale, threads=(2,), **attrs)


@pytest.mark.parametrize("rows", [1, 3, 20])
def test_not_a_number(level, rows):
    """Stays in its row or column, and relu keeps it; infinities too."""
    data, weight = uniform(rows, 30), uniform(35, 30)
    data[0, 3], weight[-1, 4], weight[2, 5] = np.nan, np.nan, np.inf
    close("_fused_dense", (data, weight), constants=WEIGHT, num_hidden=35, low=0.0)
    data[0, 3] = 0.5
    close("FullyConnected", (data, weight), constants=WEIGHT, num_hidden=35, no_bias=True)


def test_new_weights(level):
    """Constants that have changed are packed again."""
    op = lookup("FullyConnected").bind(num_hidden=40, no_bias=True)
    data, weight = uniform(20, 30), uniform(40, 30)
    single = Single(op, (data, weight), constants=(1,))
    single.run((data, weight))
    weight *= 2
    single.program.set_constants([weight], [0])
    np.testing.assert_allclose(single.run((data, weight))[0], data @ weight.T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["FullyConnected", "_fused_dense"])
def test_examples(level, name):
    for op, arrays in lookup(name).examples(Maker(lookup(name))):
        single = Single(op, arrays)
        assert single.there
        (want,) = reference(op, arrays, single.specs)
        np.testing.assert_allclose(single.run(arrays)[0], want, rtol=1e-5, atol=1e-6)
