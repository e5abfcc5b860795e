"""Control flow inside of control flow, as ONNX and in the engine, against the same in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import converters
from hybrid import symbol
from hybrid.execution.program import Program
from tests.table.test_goldens import run_onnx

F = symbol.contrib
DATA = np.random.default_rng(3).uniform(-1, 2, (4, 3, 2)).astype(np.float32)


def both(made: symbol.Symbol, feeds: dict[str, np.ndarray], axes: dict[str, Any], opset: int) -> list[list[np.ndarray]]:
    graph = made.graph
    return [Program(graph).run(feeds), run_onnx(converters.to_onnx(graph, {}, axes, opset), feeds)]


every = pytest.mark.parametrize("opset", [13, 17, 21])


@every
def test_a_loop_over_rows_of_rows(opset: int) -> None:
    """Sums over both axes, those of the inner loop starting at the state of the outer one."""

    def outer(rows: Any, total: Any) -> Any:
        sums, last = F.foreach(lambda x, s: (s + x, s + x), rows, total)
        return sums, last

    sums, last = F.foreach(outer, symbol.var("data"), symbol.var("begin"))
    feeds = {"data": DATA, "begin": np.float32([1, 2])}
    want = feeds["begin"] + DATA.reshape(12, 2).cumsum(0, dtype=np.float64)
    for got in both(symbol.Group([sums, last]), feeds, {"data": ("t", "n", 2), "begin": (2,)}, opset):
        np.testing.assert_allclose(got[0], want.reshape(4, 3, 2), rtol=1e-5)
        np.testing.assert_allclose(got[1], want[-1], rtol=1e-5)


@every
def test_a_while_in_a_loop(opset: int) -> None:
    """Each row is doubled until its sum is at least 10, six times at most."""

    def doubled(row: Any, count: Any) -> Any:
        _, (grown, steps) = F.while_loop(
            lambda x, n: symbol.sum(x) < 10,
            lambda x, n: ([], [x * 2, n + 1]),
            [row, symbol.zeros_like(count)],
            max_iterations=6,
        )
        return grown, count + steps

    grown, count = F.foreach(doubled, symbol.var("data"), symbol.var("begin"))
    rows = np.float32([[1, 2], [20, 1], [-1, -1], [4, 4], [5, 5]])
    feeds = {"data": rows, "begin": np.float32([0])}
    want, steps = [], 0
    for row in rows:
        for _ in range(6):
            if row.sum() >= 10:
                break
            row, steps = row * 2, steps + 1
        want.append(row)
    for got in both(symbol.Group([grown, count]), feeds, {"data": ("n", 2), "begin": (1,)}, opset):
        np.testing.assert_array_equal(got[0], np.array(want))
        np.testing.assert_array_equal(got[1], [steps])


@every
def test_a_choice_in_a_while(opset: int) -> None:
    """Collatz: halved when even, else tripled and one more, until it is 1; every step is an output."""

    def step(x: Any) -> Any:
        odd = x - symbol.floor(x / 2) * 2
        new = F.cond(odd > 0, lambda: x * 3 + 1, lambda: x / 2)
        return [new], [new]

    seen, (last,) = F.while_loop(lambda x: x > 1, step, [symbol.var("start")], max_iterations=20)
    for start, path in ((6, [3, 10, 5, 16, 8, 4, 2, 1]), (2, [1])):
        feeds = {"start": np.float32([start])}
        for got in both(symbol.Group([*seen, last]), feeds, {"start": (1,)}, opset):
            np.testing.assert_array_equal(got[0][: len(path), 0], path)
            assert not got[0][len(path) :].any()
            np.testing.assert_array_equal(got[1], [1])


@every
def test_a_loop_in_a_choice_in_a_loop(opset: int) -> None:
    def row(x: Any, s: Any) -> Any:
        def summed() -> Any:
            return F.foreach(lambda e, t: (e, t + e), x, symbol.zeros_like(s))[1]

        new = F.cond(symbol.sum(x) > 3, summed, lambda: s * -1)
        return new, new

    made = symbol.Group(list(F.foreach(row, symbol.var("data"), symbol.var("begin"))))
    feeds = {"data": DATA, "begin": np.float32([1, 2])}
    want, state = [], feeds["begin"]
    for x in DATA:
        state = x.sum(0) if x.sum() > 3 else -state
        want.append(state)
    assert {bool(x.sum() > 3) for x in DATA} == {True, False}
    for got in both(made, feeds, {"data": ("t", 3, 2), "begin": (2,)}, opset):
        np.testing.assert_allclose(got[0], np.array(want), rtol=1e-6)
        np.testing.assert_allclose(got[1], want[-1], rtol=1e-6)
