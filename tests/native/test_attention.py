"""Attention in one kernel against NumPy and float64."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup

from ..grouped import over
from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

EPSILON = float(np.finfo("float32").eps)
ROWS = (0, 2, 1, 3)


def uniform(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).uniform(-2, 2, shape).astype("float32")


def inputs(batch, heads, groups, queries, keys, depth, width):
    """Query, key and value."""
    return [uniform(batch, h, n, d, seed=i) for i, (h, n, d) in enumerate(
        [(heads, queries, depth), (groups, keys, depth), (groups, keys, width)])]  # fmt: skip


def turned(arrays) -> tuple[list[np.ndarray], dict[str, Any]]:
    """(B, S, H, D) of (B, H, S, D), and the attributes that say so."""
    axes = {"query_axes": ROWS, "key_axes": ROWS, "value_axes": ROWS, "result_axes": ROWS}
    return [np.ascontiguousarray(a.transpose(ROWS)) for a in arrays], axes


def close(arrays, *, within: float = 24, threads=(1, 2), dtype="float32", constants=(), **attrs):
    """Hold the kernel against NumPy, in float64: ``within`` epsilons of the largest number of the output."""
    op = lookup("_fused_attention").bind(**attrs)
    arrays = [a if a.dtype == bool else a.astype(dtype) for a in arrays]
    with np.errstate(all="ignore"):
        exact = op.compute(*(a if a.dtype == bool else a.astype("float64") for a in arrays))
        specs = None
        for count in threads:
            native.set_num_threads(count)
            single = Single(op, arrays, constants=constants, threads=count, specs=specs)
            specs = single.specs
            assert single.there
            (mine,) = single.run(arrays)
            want = np.asarray(reference(op, arrays, specs)[0])
            assert mine.dtype == want.dtype and mine.shape == want.shape
            finite = np.isfinite(want.astype("float32"))
            np.testing.assert_array_equal(mine[~finite], want[~finite])
            size = np.abs(exact[finite]).max(initial=0)
            error = max(within * EPSILON, 0 if dtype == "float32" else float(np.finfo(dtype).eps)) * size
            np.testing.assert_allclose(mine[finite].astype("float64"), exact[finite], rtol=0, atol=error)


@pytest.mark.parametrize("queries", [1, 3, 8, 9, 50])
@over("keys", [1, 3, 17, 33, 200])
def test_sizes(level, queries, keys):
    for depth, width in ((1, 7), (7, 1), (64, 64), (80, 20)):
        arrays = inputs(2, 2, 2, queries, keys, depth, width)
        close(arrays, scale=depth**-0.5, threads=(1,))
        arrays, axes = turned(arrays)
        close(arrays, scale=depth**-0.5, threads=(2,), **axes)


@over("heads, groups", [(6, 2), (12, 1), (3, 3), (40, 2)])
@pytest.mark.parametrize("queries", [1, 2, 21])
def test_shared_keys(level, heads, groups, queries):
    arrays = inputs(1, heads, groups, queries, 37, 16, 24)
    close(arrays, added=False, after=0, offset=37 - queries)
    close([*arrays, uniform(1, heads, queries, 37)], added=True)


@over("shape", [(2, 3, 11, 40), (1, 1, 11, 40), (2, 1, 1, 40), (1, 3, 11, 1), (1, 1, 1, 1), (2, 1, 11, 1)])
@pytest.mark.parametrize("queries", [1, 11])
def test_masks(level, shape, queries):
    shape = (*shape[:2], min(shape[2], queries), shape[3])
    arrays = inputs(2, 3, 3, queries, 40, 8, 16)
    added, kept = uniform(*shape), uniform(*shape, seed=1) > 0
    close([*arrays, added], added=True)
    close([*arrays, kept], keep=True, fill=-1e4, softcap=2.0)
    close([*arrays, kept, added], keep=True, added=True, blind="zeros")
    close([*arrays, kept, added], keep=True, added=True, constants=(3, 4))


@pytest.mark.parametrize("queries", [1, 5, 60, 130])
@over("offset", [-3, 0, 7, 100])
def test_windows(level, queries, offset):
    """Keys that a query does not see for its place: some see nothing, some blocks of them begin late."""
    arrays = inputs(1, 2, 2, queries, 150, 8, 16)
    for before, after in ((None, 0), (3, None), (20, 5), (0, 0)):
        for blind in ("nan", "zeros"):
            close(arrays, before=before, after=after, offset=offset, blind=blind)


@pytest.mark.parametrize("blind", ["nan", "zeros", "finite"])
@pytest.mark.parametrize("queries", [3, 20])
def test_hidden_and_not_a_number(level, queries, blind):
    """Rows that masks hide as a whole, with -inf and with large numbers; NaN and infinity stay in their row."""
    arrays = inputs(1, 2, 2, queries, 19, 8, 16)
    for hidden in (-np.inf, -1e38, -3.4e38, -1e4):
        mask = np.zeros((1, 1, queries, 19), "float32")
        mask[0, 0, 1], mask[0, 0, 2, 4:] = hidden, hidden
        # a sum of 1e4 has lost three digits of a score
        close([*arrays, mask], added=True, blind=blind, within=2e4 if hidden == -1e4 else 24)
        close([*arrays, mask == 0], keep=True, fill=hidden, blind=blind)
    for odd in (np.nan, np.inf, -np.inf):
        arrays[0][0, 1, 2, 3] = odd
        close(arrays, blind=blind)
        close(
            [*arrays, np.where(uniform(1, 1, queries, 19) > 0, -np.inf, 0).astype("float32")], added=True, blind=blind
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@over("queries, keys", [(1, 70), (20, 33)])
def test_halves(level, dtype, queries, keys):
    dtype = getattr(ml_dtypes, dtype, dtype)
    arrays = inputs(1, 4, 2, queries, keys, 24, 20)
    mask = uniform(1, 1, queries, keys)
    for more, attrs in (([], {}), ([mask], {"added": True}), ([mask[..., :1]], {"added": True})):
        arrays_, axes = turned(arrays)
        op = lookup("_fused_attention").bind(scale=0.2, after=0, offset=keys - queries, **attrs, **axes)
        given = [a.astype(dtype) for a in (*arrays_, *more)]
        single = Single(op, given, threads=1)
        (mine,), want = single.run(given), reference(op, given, single.specs)[0]
        bits = float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(mine.astype("float32"), want.astype("float32"), rtol=bits, atol=bits * 1e-2)


@over("queries, keys", [(1, 70), (20, 33), (60, 90)])
def test_halves_that_are_kept(level, queries, keys):
    """Keys and values of two bytes beside queries of four."""
    op = lookup("_fused_attention").bind(scale=0.2)
    q, k, v = inputs(1, 4, 2, queries, keys, 24, 20)
    given = [q, k.astype("float16"), v.astype("float16")]
    single = Single(op, given, threads=1)
    assert single.there
    want = reference(op, given, single.specs)[0]
    np.testing.assert_allclose(single.run(given)[0], want, rtol=1e-5, atol=1e-5)


def test_float16_that_overflows(level):
    """Scores beyond float16 are numbers all the same: they stay float32 until the result is rounded."""
    arrays = [a * 100 for a in inputs(1, 1, 1, 9, 12, 64, 16)]
    close(arrays, dtype="float16")


@over("place", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("queries", [4, 30])
def test_parts(level, place, queries):
    """Queries, keys and values side by side in one tensor."""
    all_three = uniform(queries, 2, 3, 3, 8)
    axes: dict[str, Any] = {f"{n}_axes": (1, 2, 0, 4, p) for n, p in zip(("query", "key", "value"), place)}
    close([all_three] * 3, scale=0.3, result_axes=(1, 2, 0, 3), **axes)


@over("sizes", [(1, 2, 2, 0, 5, 4, 4), (1, 2, 2, 5, 0, 4, 4), (0, 2, 2, 5, 5, 4, 4), (1, 2, 2, 5, 5, 0, 4), (1, 2, 2, 5, 5, 4, 0),
                 (1, 2, 2, 20, 0, 4, 4), (1, 2, 2, 20, 5, 0, 4)])  # fmt: skip
def test_nothing(level, sizes):
    close(inputs(*sizes))


def test_other_layouts_are_numpys(level):
    """Features that do not lie side by side."""
    arrays = inputs(1, 2, 2, 3, 5, 4, 4)
    arrays[1] = np.ascontiguousarray(arrays[1].swapaxes(2, 3))
    op = lookup("_fused_attention").bind(key_axes=(0, 1, 3, 2))
    assert not Single(op, arrays).there
