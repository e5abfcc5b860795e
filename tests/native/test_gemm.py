"""Matrix products against NumPy and float64."""

import itertools

import numpy as np
import pytest

from hybrid import native
from hybrid.core.examples import Maker
from hybrid.core.op import lookup

from ..grouped import over
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
    want = specs = None
    for count, fixed in itertools.product(threads, constants):
        native.set_num_threads(count)
        single = Single(op, arrays, constants=fixed, threads=count, specs=specs)
        specs = single.specs
        assert single.there == there
        if not there:
            continue
        (mine,) = single.run(arrays)
        want = np.asarray(reference(op, arrays, specs)[0]) if want is None else want
        mine = mine.reshape(want.shape)  # of 0-d arrays NumPy makes 1-d ones on the way
        assert mine.dtype == want.dtype
        finite = np.isfinite(want)
        np.testing.assert_array_equal(mine[~finite], want[~finite])
        size = np.abs(exact[finite]).max(initial=0) if scale is None else scale
        np.testing.assert_allclose(mine[finite], exact[finite], rtol=0, atol=within * EPSILON * size)


WEIGHT = ((), (1,))
ROWS = [1, 2, 3, 4, 5, 8, 13, 14, 15, 29, 64, 131]


@pytest.mark.parametrize("rows", ROWS)
@over("columns", [1, 2, 15, 16, 17, 32, 33, 100])
def test_sizes(level, rows, columns):
    for k in (1, 3, 8, 37):
        arrays = uniform(rows, k), uniform(columns, k), uniform(columns)
        close("FullyConnected", arrays, constants=WEIGHT, num_hidden=columns)


@pytest.mark.parametrize("rows", [1, 2, 5, 16, 300])
def test_long_sums(level, rows):
    """K in slices; many rows: A in bands."""
    for k, columns in ((1025, 33), (2600, 70), (9000, 40)):
        close(
            "FullyConnected",
            (uniform(rows, k), uniform(columns, k)),
            constants=WEIGHT,
            num_hidden=columns,
            no_bias=True,
        )


@over("m, n, k", [(128, 768, 256), (1, 1000, 2048), (700, 40, 90), (2, 3000, 300), (60, 17, 4000)])
def test_handed_over(level, m, n, k):
    """Large enough for several threads."""
    close("FullyConnected", (uniform(m, k), uniform(n, k), uniform(n)), constants=WEIGHT, num_hidden=n)


@over("shape", [(0, 5), (3, 0), (0, 0), (2, 0, 4)])
@pytest.mark.parametrize("hidden", [1, 20])
def test_nothing(level, shape, hidden):
    k = int(np.prod(shape[1:]))
    arrays = np.zeros(shape, "float32"), uniform(hidden, k), uniform(hidden)
    close("FullyConnected", arrays, constants=WEIGHT, num_hidden=hidden)


@pytest.mark.parametrize("flatten", [True, False])
@over("shape", [(2, 3, 4), (2, 3, 4, 5), (7, 1), (1, 1, 6)])
def test_flatten(level, shape, flatten):
    k = int(np.prod(shape[1:])) if flatten else shape[-1]
    close(
        "FullyConnected", (uniform(*shape), uniform(9, k), uniform(9)), constants=WEIGHT, num_hidden=9, flatten=flatten
    )


@pytest.mark.parametrize(
    "rows, columns, k", [(1, 40, 64), (3, 21, 37), (33, 100, 50), (1, 2, 128), (7, 32, 2100), (300, 21, 37)]
)  # of 300 rows not all are packed at a time
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


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@over("m, n, k", [(1, 1, 1), (1, 33, 20), (3, 5, 7), (16, 16, 64), (40, 70, 35), (130, 90, 1100), (4, 0, 3), (4, 3, 0)])
def test_dot(level, m, n, k, transpose_a, transpose_b):
    a = uniform(*((k, m) if transpose_a else (m, k)))
    b = uniform(*((n, k) if transpose_b else (k, n)))
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    close("dot", (a, b), constants=((), (0,), (1,)), **flags)
    dy = uniform(m, n)
    for of in (0, 1):
        close("_backward_dot", (dy, a, b), within=8 + max(m, n, k) ** 0.5, threads=(2,), of=of, **flags)


@over("flags", [(False, False), (True, False), (False, True), (True, True)])
@over("left, right", [((5,), (5,)), ((2, 3, 5), (5, 4)), ((5,), (5, 2, 3)), ((2, 5, 5), (5, 3, 5))])
def test_dot_of_any_rank(level, left, right, flags):
    left = left[::-1] if flags[0] else left
    right = right[::-1] if flags[1] else right
    close("dot", (uniform(*left), uniform(*right)), transpose_a=flags[0], transpose_b=flags[1])


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@over("lead", [(1,), (2,), (3, 4), (12,), (0,), (2, 1, 3)])
@over("m, n, k", [(1, 5, 3), (3, 4, 5), (20, 33, 64), (0, 3, 4), (2, 3, 0)])
def test_batch_dot(level, lead, m, n, k, transpose_a, transpose_b):
    a = uniform(*lead, *((k, m) if transpose_a else (m, k)))
    b = uniform(*lead, *((n, k) if transpose_b else (k, n)))
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    close("batch_dot", (a, b), constants=WEIGHT, **flags)
    close("_linalg_gemm2", (a, b), alpha=-1.5, threads=(1,), **flags)
    c = uniform(*lead, m, n)
    for beta in (1.0, -0.5):
        close("_linalg_gemm", (a, b, c), alpha=2.0, beta=beta, threads=(1,), **flags)
    for of in (0, 1):
        close("_backward_batch_dot", (c, a, b), within=8 + max(m, n, k) ** 0.5, threads=(2,), of=of, **flags)


def test_batch_dot_large(level):
    a, b = uniform(12, 128, 64), uniform(12, 128, 64)
    close("batch_dot", (a, b), transpose_b=True)
    close("batch_dot", (uniform(12, 128, 128), b))
    close("batch_dot", (uniform(2, 300, 200), uniform(2, 200, 250)))  # fewer products than chunks


def test_gemm_along_another_axis(level):
    a, b = uniform(3, 2, 4), uniform(4, 2, 5)
    close("_linalg_gemm2", (a, b), axis=0, there=False)
    close("_linalg_gemm2", (uniform(2, 3, 4), uniform(2, 4, 5)), axis=1)


@over(
    "left, right",
    [
        ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
        ((3, 4), (2, 4, 5)), ((2, 5, 3, 4), (2, 1, 4, 6)), ((1, 3, 4), (1, 4, 5)), ((4,), (3, 4, 2)), ((7, 3, 4), (1, 4, 2)),
        ((0, 3, 4), (4, 2)), ((2, 3, 40), (2, 2, 1, 40, 33)),
    ],
)  # fmt: skip
def test_matmul(level, left, right):
    close("_npi_matmul", (uniform(*left), uniform(*right)), constants=WEIGHT)


@over("left, right", [((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((4,), (4, 5))])
def test_numpy_dot(level, left, right):
    close("_np_dot", (uniform(*left), uniform(*right)), constants=WEIGHT)


@over("left, right", [((3, 4), (2, 4, 5)), ((2, 3, 4), (5, 2, 4, 1)), ((4,), (3, 4, 2)), ((), (3, 4)), ((2, 3), ())])
def test_numpy_dot_of_more(level, left, right):
    close("_np_dot", (uniform(*left), uniform(*right)))


@over("flags", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("c", [None, (9,), (1, 9), (7, 9), (7, 1), (1,), ()])
def test_onnx_gemm(level, flags, c):
    a, b = uniform(*((20, 7) if flags[0] else (7, 20))), uniform(*((9, 20) if flags[1] else (20, 9)))
    attrs = {"transA": flags[0], "transB": flags[1], "alpha": 0.5}
    arrays = (a, b) if c is None else (a, b, uniform(*c))
    given = () if c is None else ("C",)
    close("_onnx_Gemm", arrays, constants=WEIGHT, given=given, **attrs)
    if c is not None:
        close("_onnx_Gemm", arrays, given=given, beta=-2.0, **attrs)


@pytest.mark.parametrize(
    "t, n, heads, d, s", [(3, 2, 2, 2, 5), (1, 1, 1, 1, 1), (20, 3, 4, 17, 33), (64, 1, 12, 64, 20)]
)
def test_attention(level, t, n, heads, d, s):
    qkv, attention = uniform(t, n, heads * 3 * d), uniform(n * heads, t, t)
    close("_contrib_interleaved_matmul_selfatt_qk", (qkv,), heads=heads)
    close("_contrib_interleaved_matmul_selfatt_valatt", (qkv, attention), heads=heads)
    queries, keys_values = uniform(t, n, heads * d), uniform(s, n, heads * 2 * d)
    close("_contrib_interleaved_matmul_encdec_qk", (queries, keys_values), heads=heads)
    close("_contrib_interleaved_matmul_encdec_valatt", (keys_values, uniform(n * heads, t, s)), heads=heads)


@pytest.mark.parametrize("flatten", [True, False])
@pytest.mark.parametrize("rows, hidden", [(1, 5), (3, 40), (64, 100), (300, 10)])
def test_dense_gradient(level, rows, hidden, flatten):
    data = uniform(rows, 3, 7)
    dy = uniform(rows, hidden) if flatten else uniform(rows, 3, hidden)
    weight = uniform(hidden, 21 if flatten else 7)
    for of in (0, 1):
        attrs = {"num_hidden": hidden, "flatten": flatten, "no_bias": True, "of": of}
        close("_backward_FullyConnected", (dy, data, weight), within=8 + rows**0.5, **attrs)


NAMES = [
    "FullyConnected", "_fused_dense", "dot", "batch_dot", "_linalg_gemm", "_linalg_gemm2", "_npi_matmul", "_np_dot",
    "_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt",
    "_contrib_interleaved_matmul_encdec_qk", "_contrib_interleaved_matmul_encdec_valatt",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_examples(level, name):
    for op, arrays in lookup(name).examples(Maker(lookup(name))):
        single = Single(op, arrays)
        if not single.there:  # numpy.dot of more than two dims
            continue
        (want,) = reference(op, arrays, single.specs)
        np.testing.assert_allclose(single.run(arrays)[0], want, rtol=1e-5, atol=1e-6)
