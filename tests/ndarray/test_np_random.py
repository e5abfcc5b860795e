"""mx.np.random and mx.npx.random: whether what is drawn follows the law, imperatively and hybridized; seeds."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.error import OperandError, OpError

COUNT = 3000
DISTANCE = 1.95 / math.sqrt(COUNT)
"""Kolmogorov's distance that one sample in a thousand exceeds; the seeds are fixed."""


@pytest.fixture(autouse=True)
def mode() -> Iterator[None]:
    mx.npx.random.seed(11)
    with mx.np_shape(True), mx.np_array(True):
        yield


def array(values: Any, dtype: str = "float32") -> mx.np.ndarray:
    return mx.nd.array(np.atleast_1d(values), dtype=dtype).as_np_ndarray()


def erlang(x: np.ndarray, shape: int, scale: float) -> np.ndarray:
    """The share of gamma's numbers below x, of a whole shape."""
    t = x / scale
    return 1 - np.exp(-t) * sum(t**k / math.factorial(k) for k in range(shape))


def normal(x: np.ndarray, loc: float, scale: float) -> np.ndarray:
    return np.array([0.5 * (1 + math.erf((v - loc) / scale / math.sqrt(2))) for v in x])


LAWS = {
    "uniform": ((-1.0, 3.0), lambda x, low, high: (x - low) / (high - low)),
    "normal": ((1.0, 2.0), normal),
    "lognormal": ((0.5, 0.7), lambda x, mean, sigma: normal(np.log(x), mean, sigma)),
    "logistic": ((1.0, 2.0), lambda x, loc, scale: 1 / (1 + np.exp(-(x - loc) / scale))),
    "gumbel": ((1.0, 2.0), lambda x, loc, scale: np.exp(-np.exp(-(x - loc) / scale))),
    "rayleigh": ((2.0,), lambda x, scale: 1 - np.exp(-(x**2) / 2 / scale**2)),
    "exponential": ((2.0,), lambda x, scale: 1 - np.exp(-x / scale)),
    "weibull": ((1.5,), lambda x, a: 1 - np.exp(-(x**a))),
    "pareto": ((2.5,), lambda x, a: 1 - (1 + x) ** -a),
    "power": ((2.5,), lambda x, a: x**a),
    "gamma": ((3.0, 0.5), lambda x, shape, scale: erlang(x, int(shape), scale)),
    "beta": ((2.0, 1.0), lambda x, a, b: x**2),
    "chisquare": ((6.0,), lambda x, df: erlang(x, int(df) // 2, 0.5)),
    "x.uniform_n": ((-1.0, 3.0), lambda x, low, high: (x - low) / (high - low)),
    "x.normal_n": ((1.0, 2.0), normal),
}
"""Parameters, and the share of the numbers that lie below x. That of chisquare is MXNet's: its scale is 1/2."""


class Drawing(mx.gluon.HybridBlock):
    """A block that draws."""

    def __init__(self, name: str, values: tuple[float, ...], arrays: bool) -> None:
        super().__init__()
        self.name_of, self.values, self.arrays = name, values, arrays

    def hybrid_forward(self, F, *given):  # noqa: N803
        module = F.npx.random if self.name_of.startswith("x.") else F.np.random
        size = {"batch_shape" if self.name_of.endswith("_n") else "size": (COUNT, 1) if given else COUNT}
        if given and self.name_of.endswith("_n"):
            size = {"batch_shape": COUNT}
        return getattr(module, self.name_of.rpartition(".")[2])(*(given if self.arrays else self.values), **size)


def distance(sample: np.ndarray, below: np.ndarray) -> float:
    """Kolmogorov's distance of a sorted sample from the law that has these shares below."""
    steps = np.arange(len(sample) + 1) / len(sample)
    return max(np.abs(steps[1:] - below).max(), np.abs(steps[:-1] - below).max())


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("name", LAWS)
def test_samples_follow_the_law(name: str, hybridize: bool) -> None:
    values, below = LAWS[name]
    block = Drawing(name, values, arrays=True)
    if hybridize:
        block.hybridize()
    samples = [block(*(array(v) for v in values)).asnumpy()]
    if not hybridize:
        samples.append(Drawing(name, values, arrays=False).hybrid_forward(mx, *()).asnumpy())
    for drawn in samples:
        x = np.sort(drawn.ravel().astype(np.float64))
        assert len(x) == COUNT and distance(x, below(x, *values)) < DISTANCE


def far(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square, less its mean, in standard deviations."""
    wanted = counts.sum() * probabilities
    freedom = len(counts) - 1
    return (((counts - wanted) ** 2 / wanted).sum() - freedom) / math.sqrt(2 * freedom)


def test_whole_numbers_follow_the_law() -> None:
    random, p = mx.np.random, np.array([0.1, 0.2, 0.3, 0.4])
    even = np.full(4, 0.25)
    assert far(np.bincount(random.randint(-1, 3, size=COUNT).asnumpy() + 1, minlength=4), even) < 4
    assert far(np.bincount(random.choice(4, size=COUNT).asnumpy(), minlength=4), even) < 4
    assert far(np.bincount(random.choice(4, size=COUNT, p=array(p)).asnumpy(), minlength=4), p) < 4
    rows = random.choice(array([0, 1, 2, 3]), size=COUNT, p=array(p)).asnumpy()
    assert rows.dtype == np.float32 and far(np.bincount(rows.astype(int), minlength=4), p) < 4
    assert sorted(random.choice(9, size=9, replace=False).asnumpy()) == list(range(9))
    assert far(random.multinomial(COUNT, list(p)).asnumpy(), p) < 4
    assert far(random.multinomial(10, array(p), size=COUNT // 10).asnumpy().sum(0), p) < 4
    ones = mx.npx.random.bernoulli(array([0.2, 0.7]), size=(COUNT, 2)).asnumpy().mean(0)
    assert np.abs(ones - [0.2, 0.7]).max() < 0.03
    odds = mx.npx.random.bernoulli(logit=array([-1.0, 2.0]), size=(COUNT, 2), dtype="int32").asnumpy()
    assert odds.dtype == np.int32 and np.abs(odds.mean(0) - 1 / (1 + np.exp([1.0, -2.0]))).max() < 0.03


def test_vectors_have_mean_and_covariance() -> None:
    cov = np.array([[2.0, 1.0], [1.0, 2.0]], np.float32)
    root = np.linalg.cholesky(cov)
    drawn = mx.np.random.multivariate_normal(array([1, -1]), array(cov), size=6000).asnumpy()
    assert drawn.shape == (6000, 2) and np.abs(drawn.mean(0) - [1, -1]).max() < 0.1
    assert np.abs(np.cov(drawn.T) - root.T @ root).max() < 0.15  # MXNet's
    flat = mx.np.random.multivariate_normal(array([0, 0]), array(np.diag([4.0, 1.0])), size=6000).asnumpy()
    assert np.abs(np.cov(flat.T) - np.diag([4.0, 1.0])).max() < 0.3


def test_rows_are_shuffled_in_place() -> None:
    x = array(np.arange(24).reshape(12, 2))
    before = x.asnumpy().copy()
    assert mx.np.random.shuffle(x) is None
    after = x.asnumpy()
    assert (after != before).any() and sorted(map(tuple, after)) == sorted(map(tuple, before))


def test_seeds_repeat_and_arguments_are_checked() -> None:
    random = mx.np.random
    mx.npx.random.seed(3)
    first = [random.normal(size=3).asnumpy(), random.rand(2).asnumpy(), random.randn(2).asnumpy()]
    mx.random.seed(3)
    again = [random.normal(size=3).asnumpy(), random.rand(2).asnumpy(), random.randn(2).asnumpy()]
    assert all(map(np.array_equal, first, again)) and not np.array_equal(first[0][:2], first[2])
    for call, error, says in (
        (lambda: random.normal(1, -1), ValueError, "got scale=-1, wanted at least 0"),
        (lambda: random.gamma(array([-1.0])).asnumpy(), ValueError, "got shape=-1, wanted more than 0"),
        (lambda: random.rand((2, 3)), OpError, "one argument a dimension"),
        (lambda: random.shuffle(array(1)[0]), OpError, "a single number"),
        (lambda: random.choice(3, p=[1, 0, 0]), OperandError, "p must be an array"),
        (lambda: random.multivariate_normal(array([0.0]), [[1]]), OperandError, "got list"),
        (lambda: random.multivariate_normal(array([0.0]), array([[1, 0], [0, 1]])), OpError, r"wanted \(\.\.\., n\)"),
        (lambda: mx.sym.np.random.multivariate_normal(1, 2, tol=3), NotImplementedError, "not supported"),
        (lambda: random.normal(mx.nd.ones((2,))), OpError, "is not float"),
    ):
        with pytest.raises(error, match=says):
            call()
    assert random.uniform(size=2, ctx=mx.cpu(1)).ctx == mx.cpu(1)
    with mx.cpu(1):
        assert random.normal(size=2).ctx == mx.cpu(1)
