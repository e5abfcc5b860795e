"""Results that are as near to float64 as the arithmetic of a network allows."""

from __future__ import annotations

import numpy as np

from bridge.conditioning import reach

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
    assert found.reached and np.isclose(found.usual, 1e-3) and np.isclose(found.errors[0], 7e-3) and found.errors[1] == 0
    assert not reach(EXACT, runs, off(9e-3, 0), EXACT).reached
    assert found.scale == 1000 and not found.blunt
    assert reach(EXACT, [off(0, 60)], EXACT, EXACT).blunt
