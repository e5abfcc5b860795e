"""Two arrays: every figure that is told of them, and the decision right at the limit, on both sides of it."""

import math
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from bridge import BadInput, Tolerance
from bridge.compare import (
    TOLERANCES,
    Difference,
    as_tolerance,
    close_within,
    coarsest,
    compare,
    rule_scales,
    slice_scales,
    slices_over,
    statistics,
)
from converters.onnx_types import dtype_of

LIMITS = Tolerance(0.5, 0.25, scaled=True)
WANT = np.array([[4.0, -2.0, 1.0], [0.0, -3.0, 2.0]])
ALLOWED = 0.5 * np.array([4.0, 3.0, 2.0]) + 0.25 * np.abs(WANT)  # exact in binary


def test_an_element_may_be_off_by_its_own_limit_and_no_more() -> None:
    for sign in (1, -1):
        assert compare("x", WANT + sign * ALLOWED, WANT, LIMITS).equal
        for place in np.ndindex(WANT.shape):
            got = WANT.copy()
            got[place] += sign * (ALLOWED[place] + 2**-20)
            found = compare("x", got, WANT, LIMITS)
            assert not found.equal, place
            assert found.reason == "1 of 6 beyond atol 0.5 x 2 to 4 by channel + rtol 0.25"
    assert compare("x", WANT + 9, WANT, LIMITS).reason == "6 of 6 beyond atol 0.5 x 2 to 4 by channel + rtol 0.25"
    assert compare("x", -WANT, -WANT, Tolerance(0, 0)).equal
    assert not compare("x", WANT + 1e-12, WANT, Tolerance(0, 0)).equal
    assert compare("x", np.array(2.0), np.array(1.0)).reason == "1 of 1 beyond atol 1e-05 x 1 + rtol 0.0001"
    for size in (2.0**-20, 2.0**20):  # the scale is that of the numbers, however small
        assert compare("x", WANT * size + ALLOWED * size, WANT * size, LIMITS).equal
        assert not compare("x", WANT * size + 1.01 * ALLOWED * size, WANT * size, LIMITS).equal


def test_limits_mean_what_numpy_means() -> None:
    """A bias that is wrong beside a channel of 1000 is no less wrong."""
    want = np.array([[1000.0, 1.0], [-1000.0, 0.5]])
    got = want.copy()
    got[0, 1] += 0.009
    for limits in ((1e-5, 0.0), (1e-5, 1e-3), (0.008, 1e-4), (0.009, 1e-3), (0.0, 0.01)):
        found = compare("x", got, want, Tolerance(*limits))
        assert found.equal == np.allclose(got, want, atol=limits[0], rtol=limits[1]), limits
        assert found.tolerance == f"atol {limits[0]:g} + rtol {limits[1]:g}" and found.index == (0, 1)
        assert compare("x", got, want, Tolerance(found.needs + 1e-9, limits[1])).equal
        assert not found.needs or not compare("x", got, want, Tolerance(found.needs - 1e-6, limits[1])).equal
    assert not compare("x", got, want, Tolerance(1e-5, 0.0, scaled=True)).equal  # of its own channel


def test_scaled_limits_count_by_channel() -> None:
    """Each channel, and each column, has its own magnitude; a slice of few numbers has at least a tenth of the usual one."""
    want = np.ones((2, 3, 4, 5))
    want[:, 1] *= 100
    for channel, scale in enumerate((1.0, 100.0, 1.0)):
        for size, equal in ((0.99, True), (1.01, False)):
            got = want.copy()
            got[1, channel, 2, 3] += size * 1e-3 * scale
            found = compare("x", got, want, Tolerance(1e-3, 0.0, scaled=True))
            assert found.equal == equal
            assert found.tolerance == "atol 0.001 x 1 to 100 by channel + rtol 0"
    scores = np.array([[3.0, -2.0, 1e-9, 2.0]])  # a score near 0 is no channel of small numbers
    assert compare("x", scores + 1e-6, scores).equal
    assert rule_scales(np.array([1.0, 0.0])).tolist() == [1.0, 0.05]  # a tenth of the median
    assert rule_scales(np.array([[1.0] * 9, [0.0] * 9]).T)[:, 1].tolist() == [1 / 128] * 9
    assert rule_scales(scores).tolist() == [[3.0, 2.0, 0.2, 2.0]]
    assert slice_scales(scores).tolist() == [[3.0, 2.0, 1e-9, 2.0]]
    assert compare("x", np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)).equal


def test_tiny_numbers_are_not_saturated() -> None:
    tiny = np.linspace(1e-16, 3e-15, 6, dtype=np.float32).reshape(2, 3)
    ends = np.array([[0, 1e-12, 1], [1, 0, 0]], np.float32)
    for values, little in ((tiny, False), (ends, True)):
        found = compare("x", values, values), close_within("x", values, values, 1e-6)
        assert [d is not None and d.saturated for d in found] == [little, little]


def test_each_dtype_has_its_tolerance() -> None:
    """Documented in docs/decisions/0015: (atol, rtol) of each, float64 as float32."""
    wanted = {"float64": (1e-5, 1e-4), "float32": (1e-5, 1e-4), "float16": (2.5e-3, 1e-3), "bfloat16": (2e-2, 1e-2)}
    assert {k: tuple(v) for k, v in TOLERANCES.items()} == {k: (*v, True) for k, v in wanted.items()}
    want = np.array([1.0, 2.0, -4.0])
    for name, (atol, rtol) in wanted.items():
        dtype = dtype_of(TensorProto.BFLOAT16) if name == "bfloat16" else np.dtype(name)
        limit = atol * 4 + rtol * 4
        for part, equal in ((0.9, True), (1.2, False)):  # a unit in the last place of bfloat16 is 1/32 here
            shift = limit * part if name not in ("bfloat16", "float16") else limit * (part if equal else 2)
            got = want + np.array([0, 0, shift])
            assert compare("x", got.astype(dtype), want.astype(dtype)).equal == equal, (name, part)


def test_every_figure() -> None:
    """Hand-made numbers: the greatest distance, over the largest wanted; the angle; rows whose largest is elsewhere."""
    want = np.array([[1.0, 2.0], [4.0, -8.0], [0.5, 0.25]])
    got = want + np.array([[1.5, 0.0], [0.0, 0.0], [-0.25, 0.25]])
    found = compare("x", got, want, Tolerance(1, 0))
    a, b = got.ravel(), want.ravel()
    assert (found.name, found.dtype, found.shape) == ("x", "float64", (3, 2))
    assert (found.max_abs, found.max_rel) == (1.5, 1.5 / 8)
    assert found.cosine == pytest.approx((a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum()), rel=1e-12)
    assert found.top1 == pytest.approx(1 / 3)
    assert (found.not_finite, found.misplaced, found.constant, found.saturated) == (0, 0, False, False)
    assert compare("x", got[0], want[0], Tolerance(1, 0)).top1 is None  # a vector has no rows
    assert compare("x", got[:, :1], want[:, :1], Tolerance(1, 0)).top1 is None
    deep = np.arange(24.0).reshape(2, 3, 4)
    turned = deep.copy()
    turned[0, 1], turned[1, 2] = deep[0, 1, ::-1], deep[1, 2, ::-1]  # rows are along the last axis, whatever the rank
    for dtype in (np.float64, np.float32, np.float16):
        assert compare("x", turned.astype(dtype), deep.astype(dtype)).top1 == pytest.approx(4 / 6)
    assert compare("x", deep[None], deep[None]).top1 == 1
    zeros = compare("x", np.full(3, 0.5), np.zeros(3))
    assert (zeros.max_abs, zeros.max_rel, zeros.cosine) == (0.5, 0.5, 0.0)
    assert compare("x", np.zeros(3), np.zeros(3)).cosine == 1.0
    assert compare("x", -want, want).cosine == pytest.approx(-1)


def test_figures_cover_what_is_finite_on_both_sides() -> None:
    inf, nan = np.inf, np.nan
    want = np.array([1.0, nan, inf, -inf, 2.0, nan, inf])
    got = np.array([1.5, nan, inf, -inf, nan, 3.0, -inf])
    found = compare("x", got, want, Tolerance(0.4, 0))
    assert (found.max_abs, found.not_finite, found.misplaced) == (0.5, 5, 3)
    assert found.max_rel == 0.5  # 2.0 has no partner: 1.0 is the largest
    assert found.reason.startswith("NaN or infinity differ at 3 of 7, first at (4,): nan for 2.0; 1 of 7 beyond atol")
    whole = compare("x", np.full(4, nan), np.full(4, nan))
    assert whole.equal and whole.little == "is NaN or infinite everywhere" and not whole.constant
    assert compare("x", np.array([nan, 1, 1.0]), np.array([nan, 1, 1.0])).little == ""


def test_what_says_little() -> None:
    rows: list[tuple[Any, str]] = [
        ([1.0, 1.0], "is one value everywhere"),
        ([5.0], ""),
        ([1.0, 2.0], ""),
        ([0.0, 1.0], "is 0 or 1 everywhere, which hides differences of the scores"),
        ([0.0, 1e-10, 1.0], "is 0 or 1 everywhere, which hides differences of the scores"),
        ([0.0, 1e-3, 1.0], ""),
        ([0.0, 0.0], "is one value everywhere"),
        ([1.0, 0.0, 1.0], "is 0 or 1 everywhere, which hides differences of the scores"),
        ([0.0, -1.0], ""),
        ([], "is empty"),
    ]
    for values, said in rows:
        array = np.array(values)
        assert compare("x", array, array).little == said, values
    for whole, said in (([3, 3], "is one value everywhere"), ([3], ""), ([3, 4], ""), ([True, True], rows[0][1])):
        assert compare("x", np.array(whole), np.array(whole)).little == said, whole
    plain = compare("x", np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    settled = plain.accept("node by node")
    assert (settled.equal, settled.reason, settled.little) == (True, "", "depends on how sums are rounded")
    assert plain.accept("float64").little == ""
    refused = settled.refuse("why")
    assert (refused.equal, refused.reason) == (False, "why")


def test_whole_numbers_and_words() -> None:
    want = np.array([[3, 250], [7, 0]], np.uint8)
    got = np.array([[3, 1], [9, 0]], np.uint8)
    found = compare("x", got, want)
    assert (found.equal, found.reason, found.max_abs) == (False, "2 of 4 differ", 249.0)
    assert compare("x", want, want).max_abs == 0
    assert compare("x", want, want, Tolerance(0.5, 0)).equal
    assert compare(
        "x", want + np.uint8(1), want, Tolerance(0.2, 0, scaled=True)
    ).equal  # of 7, with a tolerance that is given
    yes = np.array([True, False, True])
    assert compare("x", ~yes, yes).reason == "3 of 3 differ"
    words = np.array(["a", "b"])
    assert compare("x", words, words).equal
    assert compare("x", np.array(["a", "c"]), words).reason == "1 of 2 differ"
    for same, constant in (
        (np.array(["a", "a"]), False),
        (np.array([7, 7]), True),
        (np.array([7]), False),
        (yes & False, True),
    ):
        assert compare("x", same, same).constant == constant
    assert slices_over(3) == [(0, 2), (0, 1)] and slices_over(2) == [(0,)] and slices_over(5)[1] == (0, 1, 2, 3)
    for other, said in (
        (want.T[:1], "shape (1, 2), wanted (2, 2)"),
        (want.astype(np.int8), "dtype int8, wanted uint8"),
    ):
        found = compare("x", other, want)
        assert (found.equal, found.compared, found.reason) == (False, False, said)


def test_slices() -> None:
    wanted = {
        0: [()],
        1: [()],
        2: [(0,)],
        3: [(0, 2), (0, 1)],
        4: [(0, 2, 3), (0, 1, 2)],
        5: [(0, 2, 3, 4), (0, 1, 2, 3)],
    }
    assert {ndim: slices_over(ndim) for ndim in wanted} == wanted


def test_near_holds_every_element_against_the_largest_of_its_slices() -> None:
    rng = np.random.default_rng(0)
    for shape in ((5,), (3, 4), (2, 3, 4), (2, 3, 2, 4)):
        want = np.exp2(rng.integers(-3, 4, shape)).astype(np.float32)
        limit = 2.0**-6
        scale = np.full(shape, np.inf)
        for kept in sorted({1, len(shape) - 1}) if len(shape) > 1 else ():
            others = tuple(i for i in range(len(shape)) if i != kept)
            scale = np.minimum(scale, want.max(axis=others, keepdims=True))
        if len(shape) == 1:
            scale = np.abs(want)
        found = close_within("x", (want + limit * scale).astype(np.float32), want, limit)
        assert found is not None and found.equal and found.settled_by == "rounding of one node"
        assert found.max_abs == (limit * scale).max()
        assert found.max_rel == found.max_abs / want.max()
        assert (found.name, found.dtype, found.shape) == ("x", "float32", shape)
        for place in np.ndindex(shape):
            for sign in (1, -1):
                got = want.copy()
                got[place] += sign * limit * scale[place] * 1.01
                assert close_within("x", got, want, limit) is None, (shape, place)


def test_near_of_unusual_numbers() -> None:
    half = np.array([1.0, -3.0], np.float16)
    same = close_within("x", half, half, 0.0)
    assert same is not None and (same.max_abs, same.max_rel, same.settled_by, same.dtype) == (0, 0, "", "float16")
    lower = close_within("x", half + np.float16(0.5), half, 1.0)
    assert lower is not None and lower.max_rel == 0.5 / 3  # the scale is that of the least, -3
    empty = np.zeros((0, 2), np.float32)
    found = close_within("x", empty, empty, 0.0)
    assert found is not None and (found.name, found.dtype, found.little) == ("x", "float32", "is empty")
    fine = close_within("x", np.array([1 + 1e-12, 2]), np.array([1.0, 2]), 1e-9)
    assert fine is not None and 0 < fine.max_abs < 2e-12
    for value in (np.nan, np.inf, -np.inf):
        odd = np.array([1, value], np.float32)
        assert close_within("x", odd, odd, 1.0) is None
        assert close_within("x", odd, np.array([1, 2], np.float32), 1.0) is None
    for values, constant, saturated in (
        ([2, 2], True, False),
        ([2], False, False),
        ([0, 1], False, True),
        ([0, 2], False, False),
        ([0, 0], True, False),
        ([1, 1], True, False),
        ([1, 0, 1], False, True),
        ([0, -1], False, False),
    ):
        array = np.array(values, np.float32)
        found = close_within("x", array, array, 0.0)
        assert found is not None and (found.constant, found.saturated) == (constant, saturated), values
    zero = np.zeros(2, np.float32)
    assert close_within("x", zero, zero, 0.1).max_rel == 0  # type: ignore[union-attr]


def test_statistics() -> None:
    array = np.array([[1.0, np.nan, -3.0], [np.inf, 8.0, -np.inf]], np.float32)
    assert statistics(array) == {
        "shape": [2, 3], "dtype": "float32", "min": -3.0, "max": 8.0, "mean": 2.0, "nan": 1, "inf": 2,
    }  # fmt: skip
    ints = {"shape": [3], "dtype": "uint8", "min": 1.0, "max": 250.0, "mean": 85.0, "nan": 0, "inf": 0}
    assert statistics(np.array([250, 1, 4], np.uint8)) == ints
    assert statistics(np.array([True])) == {"shape": [1], "dtype": "bool"}
    assert statistics(np.zeros((0, 2))) == {"shape": [0, 2], "dtype": "float64"}
    assert statistics(np.array([np.nan])) == {"shape": [1], "dtype": "float64", "nan": 1, "inf": 0}


def test_limits_that_are_taken() -> None:
    assert as_tolerance(None) is None
    assert as_tolerance((0, 0)) == Tolerance(0, 0)
    assert as_tolerance((1e-3, 2.0)) == Tolerance(1e-3, 2.0)
    for wrong in ((-1e-9, 0), (0, -1), (np.inf, 0), (0, np.inf), (np.nan, 0), (0, np.nan)):
        with pytest.raises(BadInput, match="wanted finite numbers of 0 or more"):
            as_tolerance(wrong)


def test_what_rounds_most() -> None:
    for seen, most in (
        ((), ""),
        (("float32", "float64", ""), ""),
        (("float16",), "float16"),
        (("float32", "float16", "bfloat16"), "bfloat16"),
        (("bfloat16", "float16"), "bfloat16"),
    ):
        assert coarsest(seen) == most


def test_the_dict_has_every_field() -> None:
    found = Difference("x", "float32", (2,), True, "")
    assert found.as_dict() == {
        "name": "x", "dtype": "float32", "shape": (2,), "equal": True, "reason": "", "max_abs": 0.0, "max_rel": 0.0,
        "cosine": 1.0, "top1": None, "winner": None, "not_finite": 0, "constant": False, "saturated": False, "still": "",
        "compared": True,
        "misplaced": 0, "settled_by": "", "tolerance": "", "needs": 0.0, "index": (),
        "beyond": 0, "scale": 0.0, "limit": 0.0, "rms": 0.0, "relative": 0.0, "relative_index": (), "from_float64": None,
        "details": None,
    }  # fmt: skip
