"""Steps that NumPy computes in compiled programs: told, and no more of them than are listed."""

import warnings

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.execution.backend import Fallback
from hybrid.execution.program import Program
from hybrid.symbol import Symbol
from tests.native.fallbacks import found, listed

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="there is no compiled part")
MOST = 882
"""Operators with a dtype that are listed; less with every kernel, and never more."""


def test_what_falls_back_is_listed() -> None:
    """Every operator has a kernel in every dtype that it takes, or is on the list, with a reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        now = {(n, d) for n, dtypes in found().items() for d in dtypes}
    known = [(n, d) for rows in listed().values() for n, dtypes in rows.items() for d in dtypes]
    assert not now - {*known}, "these have no kernel: write one, or list them with a reason in fallbacks.txt"
    assert not {*known} - now, "these have a kernel now: python -m tests.native.fallbacks takes them off the list"
    assert len({*known}) == len(known) <= MOST
    assert all(len(reason.split()) > 2 for reason in listed())


def fallbacks(symbol: Symbol, *runs: dict[str, np.ndarray]) -> list[Fallback]:
    """Those of a program after runs."""
    program = Program(symbol.graph)
    for feeds in runs:
        program.run(feeds)
    feeds = runs[-1]
    return program.prepare(tuple(x for n in program.names for x in (feeds[n].shape, feeds[n].dtype))).bound.fallbacks()


def test_reasons() -> None:
    """An operator without a kernel, one for other dtypes, one that declines what it is given, and shapes that data decide."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    square = np.eye(3, dtype=np.float32)
    assert fallbacks(mx.sym.tanh(mx.sym.dot(x, x)), {"x": square}) == []
    apart = mx.sym.linalg.syevd(mx.sym.dot(x, x), name="apart")[1] + 1
    assert fallbacks(apart, {"x": square}) == [Fallback("apart", "_linalg_syevd", "it has no kernel")]
    whole = mx.sym.linalg.gemm2(x, x, name="whole") + mx.sym.exp(y)
    feeds = {"x": square.astype(np.int32), "y": square.astype(np.int32)}
    ((node, operator, why),) = fallbacks(whole, feeds)[:1]
    assert (node, operator) == ("whole", "_linalg_gemm2")
    assert why == "it has no kernel for int32, but for float32, float64"
    declined = mx.sym.linalg.gemm2(x, y, axis=0, name="declined")
    feeds = {"x": np.ones((2, 3, 4), np.float32), "y": np.ones((4, 3, 5), np.float32)}
    ((_, _, why),) = fallbacks(mx.sym.Group([declined, mx.sym.exp(x)]), feeds)
    assert why == "its kernel does not take float32(2, 3, 4), float32(4, 3, 5)"
    masked = mx.sym.contrib.boolean_mask(mx.sym.exp(x), y, name="masked") * 2
    feeds = {"x": square, "y": np.array([1, 0, 1], np.float32)}
    assert fallbacks(masked, feeds, feeds) == [
        Fallback("masked", "_contrib_boolean_mask", "data decide about the shapes of its results")
    ]


def test_all_is_told_where_nothing_is_compiled() -> None:
    before = native.use(None)
    try:
        ((_, operator, why),) = fallbacks(mx.sym.exp(mx.sym.Variable("x")), {"x": np.ones(3, np.float32)})
    finally:
        native.use(before)
    assert (operator, why) == ("exp", "the graph is not compiled")
