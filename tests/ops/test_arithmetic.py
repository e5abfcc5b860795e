"""Arithmetic beyond the recorded cases: special functions all over their domain, integers beyond float32, NaN in long rows."""

import math

import numpy as np
import pytest

import converters
import hybrid as mx
from hybrid.core.op import REGISTRY
from hybrid.eager.array import invoke
from hybrid.eager.cached_op import CachedOp
from hybrid.execution.program import Program
from hybrid.frontend.symbol import Symbol
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops import special
from hybrid.ops.common import truncate
from tests.table.test_goldens import run_onnx

EPS = float(np.finfo(np.float64).eps)


def graph_of(operator: str, inputs: int = 1, **attrs: str) -> Graph:
    return Graph(
        [Entry(Node(REGISTRY[operator].bind(**attrs), "node", [Entry(Node(None, f"x{i}")) for i in range(inputs)], {}))]
    )


def both(operator: str, *arrays: np.ndarray, **attrs: str) -> tuple[np.ndarray, np.ndarray]:
    """Results of the engine and of onnxruntime."""
    graph = graph_of(operator, len(arrays), **attrs)
    feeds = {f"x{i}": a for i, a in enumerate(arrays)}
    return Program(graph).run(feeds)[0], run_onnx(converters.to_onnx(graph, {}, feeds), feeds)[0]


@pytest.mark.parametrize(
    "function, reference, low, high, ulps",
    [
        (special.erf, math.erf, -8, 8, 4),
        (special.gamma, math.gamma, 1e-3, 170, 16),
        (special.gamma, math.gamma, -20, -1e-3, 40),
        (special.gammaln, math.lgamma, 2.5, 1e3, 8),
    ],
)
def test_special_functions_to_a_few_ulps(function, reference, low, high, ulps) -> None:
    x = np.random.default_rng(5).uniform(low, high, 4000)
    want = np.array([reference(v) for v in x])
    np.testing.assert_allclose(function(x), want, rtol=ulps * EPS)


def test_gammaln_keeps_its_digits_near_its_zeros() -> None:
    # log gamma(1 + z) is -0.5772...z + 0.8224...z**2, and log gamma(2 + z) is 0.4227...z, to first orders (A&S 6.1.33)
    z = np.array([1e-9, -1e-9, 3e-12])
    np.testing.assert_allclose(
        special.gammaln(1 + z) / ((1 + z) - 1), -0.5772156649015329 + 0.8224670334241132 * z, rtol=4 * EPS
    )
    np.testing.assert_allclose(
        special.gammaln(2 + z) / ((2 + z) - 2), 0.42278433509846714 + 0.32246703342411 * z, rtol=4 * EPS
    )


def test_digamma_and_trigamma_at_known_points() -> None:
    # A&S 6.3.2-6.3.4, 6.3.7, 6.4.2-6.4.4, 6.4.7; the pole as MXNet has it
    euler, two = 0.5772156649015329, 2 * math.log(2)
    x = np.array([1, 2, 0.5, 10, -0.5, -2.5, 0])
    harmonic = sum(1 / k for k in range(1, 10))
    want = [-euler, 1 - euler, -euler - two, harmonic - euler, 2 - euler - two, 2 + 2 / 3 + 2 / 5 - euler - two]
    with np.errstate(all="ignore"):  # as operators are run
        first, second = special.digamma(x), special.trigamma(x[:-1])
    np.testing.assert_allclose(first, [*want, np.finfo(np.float64).max], rtol=16 * EPS, atol=4 * EPS)
    root = math.pi**2 / 6
    squares = sum(1 / k**2 for k in range(1, 10))
    want = [root, root - 1, 3 * root, root - squares, 3 * root + 4, 3 * root + 4 + 4 / 9 + 4 / 25]
    np.testing.assert_allclose(second, want, rtol=64 * EPS)


def test_erfinv_inverts_erf_and_its_complement() -> None:
    x = np.random.default_rng(6).uniform(-1, 1, 4000)
    np.testing.assert_allclose([math.erf(v) for v in special.erfinv(x)], x, rtol=0, atol=4 * EPS)
    tail = 1 - np.geomspace(1e-15, 1e-2, 200)
    np.testing.assert_allclose([math.erfc(v) for v in special.erfinv(tail)], 1 - tail, rtol=400 * EPS)


def test_casts_as_c_does() -> None:
    x = np.array([2.9, -2.9, np.nan, np.inf, 3e9, 300.0, -1.0])
    smallest = -(2**31)
    assert truncate(x, np.dtype("int32")).tolist() == [2, -2, smallest, smallest, smallest, 300, -1]
    assert truncate(x, np.dtype("uint8")).tolist() == [2, 254, 0, 0, 0, 44, 255]
    assert truncate(x, np.dtype("int64")).tolist() == [2, -2, -(2**63), -(2**63), 3000000000, 300, -1]


# numbers that MXNet 1.9.1 gave
@pytest.mark.parametrize(
    "operator, attrs, dtype, given, want",
    [
        ("_power_scalar", {"scalar": "11"}, "int32", [7, 3], [1977326720, 177147]),
        ("_power_scalar", {"scalar": "17"}, "int64", [7, 3], [232630511468544, 129140160]),
        ("_hypot_scalar", {"scalar": "7000003"}, "int32", [7000001, 3], [9899498, 7000003]),
        ("_rdiv_scalar", {"scalar": "2147483647"}, "int32", [3, 7], [715827904, 306783392]),
        ("_div_scalar", {"scalar": "3"}, "int32", [2147483647, 7], [715827882, 2]),
        ("_plus_scalar", {"scalar": "300"}, "uint8", [1, 2], [45, 46]),
        ("_plus_scalar", {"scalar": "-3"}, "uint8", [1, 2], [254, 255]),
        ("_plus_scalar", {"scalar": str(2**53)}, "int64", [1, 2], [2**53 + 1, 2**53 + 2]),
        ("_equal_scalar", {"scalar": "1.5"}, "int32", [1, 2], [1, 0]),
        ("exp", {}, "int32", [20, 21], [485165195, 1318815734]),
        ("sqrt", {}, "int32", [2147395600, 2147395599], [46340, 46339]),
        ("sigmoid", {}, "int32", [200, 0], [1, 0]),
        ("degrees", {}, "int32", [1000001], [57295832]),
        ("clip", {"a_min": "0", "a_max": "16777216"}, "int32", [2**24 + 1, 2**24 + 3], [2**24 + 1, 2**24]),
    ],
)
def test_integers_as_mxnet(operator: str, attrs: dict[str, str], dtype: str, given: list[int], want: list[int]) -> None:
    for got in both(operator, np.array(given, dtype), **attrs):
        assert got.dtype == dtype
        assert got.tolist() == want


def test_whole_logarithms_and_roots_of_integers_are_not_cut_below() -> None:
    powers = {
        "log2": [2**k for k in range(31)],
        "log10": [10**k for k in range(10)],
        "cbrt": [k**3 for k in range(1290)],
    }
    for operator, numbers in powers.items():
        ours, theirs = both(operator, np.array(numbers, np.int32))
        assert ours.tolist() == theirs.tolist() == list(range(len(numbers)))


@pytest.mark.parametrize("operator", ["max", "min", "argmax", "argmin", "norm"])
@pytest.mark.parametrize("place", [0, 3, 57, 99])
def test_nan_is_found_wherever_it_stands(operator: str, place: int) -> None:
    x = np.random.default_rng(place).normal(size=(3, 100)).astype(np.float32)
    x[1, place] = np.nan
    ours, theirs = both(operator, x, axis="1")
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert ours[1] == place if operator.startswith("arg") else np.isnan(ours[1])


def test_sums_of_integers_wrap_round() -> None:
    x = np.array([[2**31 - 1, 5, 7], [-(2**31), -1, 0]], np.int32)
    ours, theirs = both("sum", x, axis="1")
    assert ours.tolist() == theirs.tolist() == [-(2**31) + 11, 2**31 - 1]


@pytest.mark.parametrize("operator", ["broadcast_div", "broadcast_mod"])
def test_dividing_integers_by_zero_ends_nothing(operator: str) -> None:
    ours, theirs = both(operator, np.array([5, -5, 0, 7], np.int32), np.array([0, 0, 0, -2], np.int32))
    assert ours[:3].tolist() == theirs[:3].tolist() == [0, 0, 0]
    assert ours[3] == theirs[3]


def test_counts_that_a_dtype_does_not_hold_wrap_round() -> None:
    """As MXNet 1.9.1 gave them; of a count that wraps to 0, or of less than nothing, it ends its process."""
    wrong = []
    for dtype, count, want in (
        ("int8", 255, 1),
        ("int8", 300, 1),
        ("uint8", 300, 1),
        ("int8", 256, 0),
        ("uint8", 256, 0),
    ):
        x = np.ones(count, dtype)
        for operator, attrs in (("mean", {}), ("moments", {"axes": "(0,)"}), ("_npi_mean", {"dtype": dtype})):
            ours, theirs = both(operator, x, **attrs)
            if not (ours.dtype == theirs.dtype == dtype and ours.item() == theirs.item() == want):
                wrong.append(f"{operator} of {count} {dtype}: {ours} and in onnxruntime {theirs}")
    for operator in ("_npi_var", "_npi_std"):
        for count in (0, 1, 255, 256, 300):
            for dtype in ("int8", "uint8", "int32"):
                (got,) = Program(graph_of(operator, axis="(0,)", ddof="1")).run({"x0": np.ones(count, dtype)})
                if got.dtype != dtype or got != 0:
                    wrong.append(f"{operator} of {count} {dtype}: {got}")
    assert not wrong, "\n".join(wrong)


def test_the_least_integer_is_divided_towards_zero() -> None:
    for dtype in ("int8", "int32", "int64"):
        least = int(np.iinfo(dtype).min)
        ours, theirs = both("mean", np.array([[least, 0, 0], [least, 0, 1]], dtype), axis="1")
        assert ours.tolist() == theirs.tolist() == [-(-least // 3), -((-least - 1) // 3)]


WHOLE = np.array([7, -7, 3, 0, 5]), np.array([3, 3, 2, 2, 4])
LEAST = -(2**31)
SLOPES = {
    # of MXNet 1.9.1 of int32, by each input
    "broadcast_mod": ([0] * 5, [0] * 5),
    "_mod": ([0] * 5, [0] * 5),
    "_npi_mod": ([0] * 5, [0] * 5),
    "broadcast_power": ([147, 147, 6, 0, 500], [667, LEAST, 9, LEAST, 1005]),
    "_power": ([147, 147, 6, 0, 500], [667, LEAST, 9, LEAST, 1005]),
    "_npi_power": ([147, 147, 6, 0, 500], [667, LEAST, 9, LEAST, 1005]),
    "broadcast_hypot": ([0] * 5, [0, 0, 0, 1, 0]),
    "_hypot": ([0] * 5, [0, 0, 0, 1, 0]),
    "_npi_ldexp": ([8, 8, 4, 4, 16], [38, -38, 8, 0, 55]),
}
SLOPES_BY_NUMBERS = {
    # of the second, with the number 3
    "_mod_scalar": [0] * 5,
    "_rmod_scalar": [0] * 5,
    "_rpower_scalar": [29, 29, 9, 9, 88],
    "_power_scalar": [27, 27, 12, 12, 48],
    "_hypot_scalar": [0] * 5,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives_of_whole_numbers_are_cut_off_like_floats() -> None:
    """And only then multiplied by what arrives."""
    for hybridized in (False, True):
        rows = [(n, WHOLE, want, {}) for n, want in SLOPES.items()]
        rows += [(n, WHOLE[1:], (want,), {"scalar": 3}) for n, want in SLOPES_BY_NUMBERS.items()]
        for name, arrays, wants, attrs in rows:
            given = [mx.nd.array(a, dtype="int32") for a in arrays]
            for x in given:
                x.attach_grad()
            op = REGISTRY[name].bind(**attrs)
            with mx.autograd.record():
                if hybridized:
                    names = [f"x{i}" for i in range(len(given))]
                    y = CachedOp(Symbol([Entry(Node(op, "node", [Entry(Node(None, n)) for n in names]))]))(*given)
                else:
                    y = invoke(op, given)
            y.backward(mx.nd.full(y.shape, 2, dtype="int32"))
            for x, want in zip(given, wants):
                assert x.grad.asnumpy().tolist() == (np.int32(want) * np.int32(2)).tolist(), (name, hybridized)
