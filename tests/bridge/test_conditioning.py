"""Results that are as near to float64 as the arithmetic of a network allows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import bridge
import hybrid as mx
from bridge.compare import compare
from bridge.conditioning import reach, reaches, settle, truth_of
from bridge.engines import NativeEngine
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.execution.program import Program

WEIGHT = np.linspace(0.5, 1, 8, dtype=np.float32).reshape(2, 4)
EXACT = np.outer(np.linspace(0.5, 1, 16), [1.0, 1000.0])
"""Two channels of 16, the second a thousand times as large."""


def off(small: float, large: float) -> np.ndarray:
    return EXACT + np.array([small, large])


def test_the_floor_is_that_of_each_channel() -> None:
    runs = [off(1e-7, 1e-4)]
    assert reach(EXACT, runs, EXACT, off(9e-6, 9e-3)).reached
    assert not reach(EXACT, runs, EXACT, off(0, 2e-2)).reached
    assert not reach(EXACT, runs, EXACT, off(2e-3, 0)).reached  # a hundredth of what the other channel may be off
    assert not reach(EXACT, runs, off(2e-3, 0), EXACT).reached  # either side
    assert reach(EXACT, runs, EXACT, off(2e-3, 0)).small


def test_what_float32_runs_differ_by_is_allowed_eightfold() -> None:
    runs = [EXACT, off(1e-3, 1e-3)]
    found = reach(EXACT, runs, off(7e-3, 0), EXACT)
    assert (
        found.reached and np.isclose(found.usual, 1e-3) and np.isclose(found.errors[0], 7e-3) and found.errors[1] == 0
    )
    assert not reach(EXACT, runs, off(9e-3, 0), EXACT).reached
    assert found.scale == 1000 and not found.blunt
    assert reach(EXACT, [off(0, 60)], EXACT, EXACT).blunt


def test_outputs_are_accepted_by_what_float64_says_and_nothing_else() -> None:
    want, runs = EXACT.astype(np.float32), [off(1e-4, 1e-4)]
    for error, accepted in ((5e-4, True), (5e-3, False)):
        got = off(error, 0).astype(np.float32)
        plain = compare("y", got, want)
        assert not plain.equal
        for name in ("y", "z"):  # the truth is by the names of either side
            [found] = settle([plain], [("y", "z")], {"y": want}, {"z": got}, ({name: EXACT}, [{name: r} for r in runs]))
            assert found.equal is accepted and (found.settled_by == "float64") is accepted
        assert settle([plain], [("y", "z")], {"y": want}, {"z": got}, None) == [plain]


def test_no_more_runs_are_made_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing node by node makes a run in NumPy, which serves as the first in float32; others where that shows too little."""
    x, w = mx.sym.var("x"), mx.sym.var("fc_weight")
    net = bridge.open_model(mx.sym.FullyConnected(x, w, num_hidden=2, no_bias=True, name="fc"), {"fc_weight": WEIGHT})
    engine = NativeEngine(net, {"x": Spec((3, 4), np.dtype(np.float32))})
    feeds = engine.complete({"x": np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)})
    runs: list[Program] = []
    whole = Program.run
    monkeypatch.setattr(
        Program, "run", lambda self, *args, **options: runs.append(self) or whole(self, *args, **options)
    )
    seen: list[str] = []
    engine.walk(feeds, [["fc_output"]], lambda _, shown: seen.extend(shown))
    assert seen == ["fc_output"] and len(runs) == 1
    (want,) = engine.run_by_numpy(feeds)
    truths = truth_of(engine, feeds)
    assert truths is not None and len(runs) == 1
    np.testing.assert_array_equal(truths[1][0]["fc_output"], want)
    for error, asked in ((0.0, 1), (0.1, 3)):  # within the rule for float32; beyond all that runs differ by
        got = want + np.float32(error)
        plain = dataclasses.replace(compare("fc_output", want + np.float32(1), want), dtype="float32")
        [(_, found)] = reaches([plain], [("fc_output", "y")], {"fc_output": want}, {"y": got}, truths)
        assert found is not None and (found.reached and found.small) is (asked == 1)
        assert len(runs) == asked
    settle([plain], [("fc_output", "y")], {"fc_output": want}, {"y": want}, truth_of(engine, feeds))
    assert len(runs) == 3 + 2, "who asks whether rounding alone decides needs all"
    engine.run_by_numpy({"x": feeds["x"].copy()})
    assert len(runs) == 3 + 2 + 1, "other arrays are other inputs"


def test_a_run_that_fails_says_nothing() -> None:
    class Failing(list):
        def __getitem__(self, index: Any) -> Any:
            if index:
                raise MXNetError("no")
            return super().__getitem__(index)

    want, got = EXACT.astype(np.float32), off(5e-3, 0).astype(np.float32)
    plain = compare("y", got, want)
    first = {"y": EXACT}
    for every in (False, True):
        [(d, found)] = reaches(
            [plain], [("y", "y")], {"y": want}, {"y": got}, (first, Failing([first, first])), every=every
        )
        assert d is plain and found is None
