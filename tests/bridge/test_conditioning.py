"""Results that are as near to float64 as the arithmetic of a network allows."""

from __future__ import annotations

import numpy as np

from bridge.compare import compare
from bridge.conditioning import reach, settle

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
