"""Samplers: distributions, repeatability, dtypes, shapes and refusals; what MXNet does of these was asked of MXNet 1.9.1."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, nd
from hybrid.core.error import MXNetError, OpError

N = 40000


@pytest.fixture(autouse=True)
def seeded() -> None:
    mx.random.seed(7)


def furthest(samples: np.ndarray, distribution: Callable[[np.ndarray], Any]) -> float:
    """Greatest distance of the empirical distribution function from the true one, times the root of the sample size.

    For continuous distributions it is above 1.95 once in a thousand times (Kolmogorov); discrete ones are nearer."""
    x = np.sort(samples.astype(np.float64).ravel())
    true, n = np.asarray(distribution(x)), len(x)
    return max(np.max(np.arange(1, n + 1) / n - true), np.max(true - np.arange(n) / n)) * math.sqrt(n)


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x)


CONTINUOUS: dict[str, tuple[tuple[float, ...], Callable[[np.ndarray], Any]]] = {
    "uniform": ((-2, 3), lambda x: (x + 2) / 5),
    "normal": ((1, 2), lambda x: 0.5 * (1 + erf((x - 1) / (2 * math.sqrt(2))))),
    "exponential": ((2.5,), lambda x: 1 - np.exp(-x / 2.5)),
    "gamma": ((3, 2), lambda x: 1 - np.exp(-x / 2) * (1 + x / 2 + (x / 2) ** 2 / 2)),
}
ARRAY_FORMS = {"numbers": lambda v: v, "arrays": lambda v: nd.array([v])}


@pytest.mark.parametrize("form", ARRAY_FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name: str, dtype: str, form: str) -> None:
    parameters, distribution = CONTINUOUS[name]
    drawn = getattr(nd.random, name)(*map(ARRAY_FORMS[form], parameters), shape=(N,), dtype=dtype).asnumpy()
    assert drawn.dtype == dtype
    # float16 puts samples on a grid, which shifts the function by up to a grid step of probability
    assert furthest(drawn, distribution) < 1.95 + (math.sqrt(N) * 2**-9 if dtype == "float16" else 0)


def binomials(k: float, p: float) -> list[float]:
    """Probabilities of 0, 1, 2, ... successes before k failures of probability p."""
    return [math.exp(math.lgamma(x + k) - math.lgamma(x + 1) - math.lgamma(k)) * p**k * (1 - p) ** x for x in range(80)]


DISCRETE: dict[str, tuple[tuple[float, ...], list[float]]] = {
    "poisson": ((3.5,), [math.exp(-3.5) * 3.5**x / math.factorial(x) for x in range(80)]),
    "negative_binomial": ((3, 0.4), binomials(3, 0.4)),
    "generalized_negative_binomial": ((3, 0.4), binomials(2.5, 1 / 2.2)),
    "randint": ((0, 7), [1 / 7] * 7),
}


def assert_frequencies(drawn: np.ndarray, probabilities: Any) -> None:
    """Every frequency is within five standard deviations of what it should be."""
    counts = np.bincount(drawn.astype(np.int64).ravel(), minlength=len(probabilities))
    expected = drawn.size * np.asarray(probabilities)
    assert len(counts) == len(expected)
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected) + 5)


@pytest.mark.parametrize("form", ARRAY_FORMS)
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name: str, form: str) -> None:
    if name == "randint" and form == "arrays":
        return
    parameters, probabilities = DISCRETE[name]
    drawn = getattr(nd.random, name)(*map(ARRAY_FORMS[form], parameters), shape=(N,)).asnumpy()
    assert drawn.dtype == ("int32" if name == "randint" else "float32")
    assert_frequencies(drawn, probabilities)


def test_no_dispersion_is_poisson() -> None:
    drawn = nd.random.generalized_negative_binomial(3.5, 0, shape=N).asnumpy()
    assert_frequencies(drawn, DISCRETE["poisson"][1])


def test_multinomial_draws_with_the_given_probabilities() -> None:
    rows = np.array([[0.1, 0, 0.6, 0.3], [0, 0.5, 0.5, 0], [0, 0, 0, 1]], np.float32)
    drawn, likely = nd.random.multinomial(nd.array(rows), shape=(N // 100, 100), get_prob=True)
    assert drawn.shape == likely.shape == (3, N // 100, 100)
    assert (drawn.dtype, likely.dtype) == (np.int32, np.float32)
    for row, values, logs in zip(rows, drawn.asnumpy(), likely.asnumpy()):
        assert_frequencies(values, row)
        assert not np.any(row[values] == 0)
        np.testing.assert_allclose(logs, np.log(row[values]), rtol=1e-6)


@pytest.mark.parametrize(("data", "shape", "want"), [((2, 3), None, (2,)), ((3,), None, (1,)), ((3,), (), (1,)),
    ((3,), 4, (4,)), ((2, 4, 3), (5, 6), (2, 4, 5, 6)), ((2, 3), 0, (2, 0))])  # fmt: skip
def test_multinomial_shapes(data: tuple[int, ...], shape: Any, want: tuple[int, ...]) -> None:
    given = {} if shape is None else {"shape": shape}
    assert nd.random.multinomial(nd.full(data, 1 / 3), **given).shape == want


def test_multinomial_gradient_is_that_of_the_logarithms() -> None:
    data = nd.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    data.attach_grad()
    head = np.arange(1, 9).reshape(2, 4).astype(np.float32)
    with autograd.record():
        drawn, likely = nd.random.multinomial(data, shape=(4,), get_prob=True)
        loss = (likely * nd.array(head)).sum()
    loss.backward()
    want = np.zeros((2, 3))
    for row in range(2):
        for sample in range(4):
            index = int(drawn.asnumpy()[row, sample])
            want[row, index] += head[row, sample] / data.asnumpy()[row, index]
    np.testing.assert_allclose(data.grad.asnumpy(), want, rtol=1e-6)


@pytest.mark.parametrize("values", [[-0.1, 0.1, 1], [0, 0, 0], [np.nan, 1, 0]])
def test_multinomial_refuses_what_is_no_probabilities(values: list[float]) -> None:
    with pytest.raises(OpError, match="no probabilities"):
        nd.random.multinomial(nd.array(values)).asnumpy()


def test_shuffle_moves_rows_and_leaves_its_input() -> None:
    data = nd.array(np.arange(200).reshape(100, 2))
    shuffled = nd.random.shuffle(data)
    rows = shuffled.asnumpy()
    assert not np.array_equal(rows, data.asnumpy())
    np.testing.assert_array_equal(rows[:, 0] + 1, rows[:, 1])
    np.testing.assert_array_equal(np.sort(rows[:, 0]), np.arange(0, 200, 2))
    np.testing.assert_array_equal(data.asnumpy(), np.arange(200).reshape(100, 2))


def test_every_order_is_equally_likely() -> None:
    orders = [tuple(nd.random.shuffle(nd.array([0, 1, 2])).asnumpy()) for _ in range(1200)]
    numbered = {order: i for i, order in enumerate(sorted(set(orders)))}
    assert_frequencies(np.array([numbered[o] for o in orders]), [1 / 6] * 6)


def test_zipfian_classes_are_distinct_and_the_first_as_likely_as_mxnet_makes_them() -> None:
    classes, counts = nd._internal._sample_unique_zipfian(range_max=20, shape=(2000, 1))
    ends = np.log(np.arange(1.5, 20.5)) / math.log(20)
    assert_frequencies(classes.asnumpy(), np.diff([0, *ends, 1]))
    assert set(counts.asnumpy()) == {1}
    classes, counts = nd._internal._sample_unique_zipfian(range_max=50, shape=(3, 50))
    assert [len(set(row)) for row in classes.asnumpy()] == [50] * 3
    assert np.all(counts.asnumpy() >= 50)
    with pytest.raises(OpError, match="no more than the 4 classes"):
        nd._internal._sample_unique_zipfian(range_max=4, shape=(1, 5))


def draws() -> list[np.ndarray]:
    """One result of everything that samples."""
    p, x = nd.array([0.2, 0.3, 0.5]), nd.array([1.0, 2.0])
    results = [
        nd.random.uniform(shape=5), nd.random.normal(shape=5), nd.random.gamma(2, 1, shape=5), nd.random.poisson(20, shape=5),
        nd.random.exponential(1, shape=5), nd.random.randint(0, 1000, shape=5), nd.random.randn(2, 3),
        nd.random.negative_binomial(9, 0.1, shape=5), nd.random.generalized_negative_binomial(20, 1, shape=5),
        nd.random.multinomial(p, shape=50), nd.random.shuffle(nd.array(np.arange(50))), nd.random.uniform(x, x + 1, shape=5),
        nd.random.normal_like(x), nd._internal._sample_unique_zipfian(range_max=100, shape=(2, 9))[0],
    ]  # fmt: skip
    return [r.asnumpy() for r in results]


def test_a_seed_repeats_everything() -> None:
    first, second = draws(), draws()
    mx.random.seed(7)
    again = draws()
    for a, b, c in zip(first, second, again):
        np.testing.assert_array_equal(a, c)
        assert not np.array_equal(a, b)
    for where in ({"ctx": mx.cpu(1)}, {"ctx": "all"}):
        mx.random.seed(7, **where)
        for a, c in zip(first, draws()):
            np.testing.assert_array_equal(a, c)


@pytest.mark.parametrize("value", [np.int32(4), -1, 2**33, True])
def test_seeds_that_mxnet_takes(value: Any) -> None:
    mx.random.seed(value)
    nd.random.uniform(shape=2).asnumpy()


@pytest.mark.parametrize("value", [3.5, "a", None])
def test_seeds_are_whole_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match="seed_state must be int"):
        mx.random.seed(value)


# -- shapes and dtypes -------------------------------------------------------------------------------------------------------


def test_shapes_and_dtypes_of_numbers() -> None:
    assert nd.random.uniform().shape == (1,)
    assert nd.random.uniform(shape=3).shape == (3,)
    assert nd.random.randn(2, 3, loc=5, scale=2, dtype="float64").dtype == np.float64
    assert nd.random.uniform(shape=3, dtype=np.float16).dtype == np.float16
    assert nd.random.uniform(shape=3, dtype=None).dtype == np.float64  # NumPy's reading of None, in MXNet too
    assert nd.random.randint(0, 5, shape=3).dtype == np.int32
    assert nd.random.uniform(ctx=mx.cpu(1)).context == mx.cpu(1)
    assert nd.random_uniform(shape=(2,), ctx=mx.cpu(1)).context == mx.cpu(1)


def test_every_way_to_say_the_parameters() -> None:
    """By place, by name, left out, as arrays: means of a few thousand draws, far enough apart to tell one from the other."""
    many = {"shape": 4000}
    for drawn, mean, deviation in (
        (nd.random.uniform(2, 6, **many), 4, 4 / 12**0.5),
        (nd.random.uniform(high=6, low=2, **many), 4, 4 / 12**0.5),
        (nd.random.uniform(**many), 0.5, 12**-0.5),
        (nd.random.uniform(2, 6, 4000), 4, 4 / 12**0.5),
        (nd.random.normal(5, 2, **many), 5, 2),
        (nd.random.normal(scale=2, loc=5, **many), 5, 2),
        (nd.random.normal(**many), 0, 1),
        (nd.random.randn(4000, loc=5, scale=2), 5, 2),
        (nd.random.randn(40, 100), 0, 1),
        (nd.random.exponential(4, **many), 4, 4),
        (nd.random.exponential(scale=0.25, **many), 0.25, 0.25),
        (nd.random.gamma(9, 0.5, **many), 4.5, 1.5),
        (nd.random.gamma(beta=0.5, alpha=9, **many), 4.5, 1.5),
        (nd.random.poisson(4, **many), 4, 2),
        (nd.random.poisson(lam=4, **many), 4, 2),
        (nd.random.negative_binomial(3, 0.25, **many), 9, 6),
        (nd.random.negative_binomial(p=0.25, k=3, **many), 9, 6),
        (nd.random.generalized_negative_binomial(2, 0.5, **many), 2, 2),
        (nd.random.generalized_negative_binomial(alpha=0.5, mu=2, **many), 2, 2),
        (nd.random.randint(2, 7, **many), 4, 2**0.5),
        (nd.random.randint(high=7, low=2, **many), 4, 2**0.5),
        (nd.random.normal(nd.array([5]), nd.array([2]), **many), 5, 2),
        (nd.random.normal(scale=nd.array([2]), loc=nd.array([5]), **many), 5, 2),
        (nd.random.exponential(nd.array([4]), **many), 4, 4),
    ):
        values = drawn.asnumpy().astype(np.float64)
        assert values.size == 4000
        assert abs(values.mean() - mean) < 0.12 * deviation, (mean, deviation)
        assert 0.85 < values.std() / deviation < 1.2, (mean, deviation)
    for call, said in (
        (lambda: nd.random.randint(3), "randint() misses argument 'high'"),
        (lambda: nd.random.randint(high=3), "randint() misses argument 'low'"),
        (lambda: nd.random.uniform(1, 2, low=0), "uniform() got multiple values for argument 'low'"),
        (lambda: nd.random.uniform(*range(9)), "uniform() takes 6 positional arguments but 9 were given"),
        (lambda: nd.random.randn(shape=3), "got the keyword shape"),
        (lambda: nd.random.randint(nd.array([1]), nd.array([2])), "takes numbers for low and high"),
    ):
        with pytest.raises(TypeError, match=re.escape(said)):
            call()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8"])
def test_shapes_and_dtypes_of_arrays(dtype: str) -> None:
    low = nd.zeros((2, 3), dtype=dtype)
    high = low + 1
    assert nd.random.uniform(low, high).shape == (2, 3)
    drawn = nd.random.uniform(low, high, shape=(4, 5))
    assert (drawn.shape, drawn.dtype) == ((2, 3, 4, 5), np.float32)
    assert nd.random.uniform(low, high, dtype="float16").dtype == np.float16


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_out_decides_dtype_and_shape(dtype: str) -> None:
    out = nd.zeros((2, 300), dtype=dtype)
    assert nd.random.uniform(3, 4, out=out) is out
    assert np.all((out.asnumpy() >= 3) & (out.asnumpy() <= 4))
    nd.random.normal(0, 1, (2, 300), out=out)
    assert np.any(out.asnumpy() < 0)
    with pytest.raises(MXNetError, match="wanted the same"):
        nd.random.uniform(shape=(300, 2), out=out)
    with pytest.raises(MXNetError):
        nd.random.uniform(out=nd.zeros(3, dtype="int32"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_likes_follow_their_data(dtype: str) -> None:
    data = nd.zeros((3, 4), dtype=dtype)
    for name in (
        "uniform",
        "normal",
        "gamma",
        "exponential",
        "poisson",
        "negative_binomial",
        "generalized_negative_binomial",
    ):
        drawn = getattr(nd.random, f"{name}_like")(data)
        assert (drawn.shape, drawn.dtype) == ((3, 4), data.dtype)
    with pytest.raises(OpError, match="float16, float32 or float64"):
        nd.random.uniform_like(nd.zeros(3, dtype="int32"))


def test_the_upper_end_is_never_drawn() -> None:
    drawn = nd.random.uniform(1, np.nextafter(np.float16(1), np.float16(2)), shape=1000, dtype="float16").asnumpy()
    assert set(drawn) == {np.float16(1)}
    ends = nd.array([1]), nd.array([np.nextafter(np.float32(1), np.float32(2))])
    assert set(nd.random.uniform(*ends, shape=1000).asnumpy().ravel()) == {1}
    assert set(nd.random.randint(3, 5, shape=1000).asnumpy()) == {3, 4}
    assert nd.random.uniform(2, 2, shape=3).asnumpy().tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: nd.random.uniform(3, 1, shape=2), OpError),
        (lambda: nd.random.normal(0, 0, shape=2), OpError),
        (lambda: nd.random.gamma(0, 1, shape=2), OpError),
        (lambda: nd.random.gamma(nd.array([0]), nd.array([1])).asnumpy(), OpError),
        (lambda: nd.random.exponential(-1, shape=2), OpError),
        (lambda: nd.random.exponential(0, shape=2), ZeroDivisionError),
        (lambda: nd.random.poisson(-1, shape=2), OpError),
        (lambda: nd.random.negative_binomial(2, 0, shape=2), OpError),
        (lambda: nd.random.negative_binomial(2.5, 0.5, shape=2), OpError),
        (lambda: nd.random.generalized_negative_binomial(-1, 0.5, shape=2), OpError),
        (lambda: nd.random.randint(3, 3, shape=2), OpError),
        (lambda: nd.random.randint(2**40, 2**40 + 5, shape=2), OpError),
        (lambda: nd.random.randint(3, 5, shape=2, dtype="float32"), OpError),
        (lambda: nd.random.uniform(shape=2, dtype="int32"), OpError),
        (lambda: nd.random.uniform(shape=()), OpError),
        (lambda: nd.random.uniform(0, 1, foo=3), OpError),
        (lambda: nd.random.uniform(nd.array([1]), 2), AssertionError),
        (lambda: nd.random.uniform(1, nd.array([2])), AssertionError),
        (lambda: nd.random.uniform("a", 1), ValueError),
        (lambda: nd.random.uniform(nd.zeros((2, 1)), nd.ones((2, 3))), OpError),
        (lambda: mx.sym.random.normal(mx.sym.var("a"), 1.0), AssertionError),
    ],
)
def test_refusals(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


# -- symbols and gradients ---------------------------------------------------------------------------------------------------


def test_symbols_are_those_of_mxnet() -> None:
    with mx.name.NameManager():
        drawn = mx.sym.random.uniform(shape=(2, 3))
        assert drawn.list_outputs() == ["_random_uniform0_output"]
        assert drawn.attr_dict() == {"_random_uniform0": {"high": "1", "low": "0", "shape": "(2, 3)"}}
        assert drawn.infer_shape() == ([], [(2, 3)], [])
        assert drawn.infer_type() == ([], [np.float32], [])
        both = mx.sym.random.multinomial(mx.sym.var("p", shape=(2, 3)), shape=2)
        assert both.list_outputs() == ["_sample_multinomial0_output0", "_sample_multinomial0_output1"]
        alone = mx.sym.random.multinomial(mx.sym.var("p", shape=(2, 3)), get_prob=False)
        assert alone.list_outputs() == ["_sample_multinomial1_output"]
        assert mx.sym.random.uniform_like(mx.sym.var("p")).list_outputs() == ["uniform_like0_output"]
        assert mx.sym.random.normal(mx.sym.var("p"), mx.sym.var("q"), shape=4).list_arguments() == ["p", "q"]
        assert mx.sym.random.exponential(2, 2).attr_dict()["_random_exponential0"]["lam"] == "0.5"


def test_readers_decide_a_missing_shape() -> None:
    graph = mx.sym.random.uniform() + mx.sym.var("data", shape=(2, 3))
    (result,) = graph.eval(data=nd.zeros((2, 3)))
    assert len(np.unique(result.asnumpy())) == 6


def test_samples_have_gradient_zero_and_shuffle_has_none() -> None:
    data = nd.array([0.4, 0.5])
    data.attach_grad()
    for draw in (
        lambda: nd.random.uniform(data, data + 1, shape=2),
        lambda: nd.random.negative_binomial(data, data),
        lambda: nd.random.normal_like(data),
    ):
        with autograd.record():
            y = draw() + data.sum() * 0
        y.backward()
        assert data.grad.asnumpy().tolist() == [0, 0]
    with autograd.record():
        y = nd.random.shuffle(data)
    with pytest.raises(OpError, match="non-differentiable"):
        y.backward()
    with autograd.record():
        y = nd.random.uniform(shape=(3,)) * data[0]
    y.backward()
    assert data.grad.asnumpy()[0] > 0


def test_mx_random_shows_the_functions() -> None:
    assert mx.random.uniform is nd.random.uniform
    assert mx.random.multinomial is nd.random.multinomial
    assert not hasattr(mx.random, "uniform_like")
    assert (
        str(mx.random.normal.__signature__)
        == "(loc=0, scale=1, shape=_Null, dtype=_Null, ctx=None, out=None, **kwargs)"
    )
    assert str(mx.sym.random.normal.__signature__) == "(loc=0, scale=1, shape=_Null, dtype=_Null, **kwargs)"


def test_a_scale_of_nothing_is_one_only_in_arrays() -> None:
    assert nd.random.normal(nd.array([3.0]), nd.array([0.0])).asnumpy().tolist() == [3]
    for scale, said in ((nd.array([-1.0]), "got scale=-1, wanted at least 0"), (0, "got scale=0, wanted more than 0")):
        with pytest.raises(OpError, match=said):
            nd.random.normal(nd.array([3.0]) if isinstance(scale, nd.NDArray) else 3, scale).asnumpy()
