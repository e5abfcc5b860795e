"""Normalization by the root of the mean square, as exporters write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from tests.graph.optimizing import counted, optimized, plainly, run

F: Any = mx.sym
X = np.random.default_rng(0).uniform(-2, 2, (2, 3, 8)).astype(np.float32)
G = np.linspace(-1, 2, 8, dtype=np.float32)


def mean(x: Any, **axis: Any) -> Any:
    return F.mean(x, **(axis or {"axis": -1}), keepdims=True)


def divided(x: Any, square: Any) -> Any:
    return F.broadcast_div(x, F.sqrt(square + 1e-3))


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "divided": lambda x, g: F.broadcast_mul(divided(x, mean(F.square(x))), g),
    "gamma first": lambda x, g: F.broadcast_mul(g, divided(x, mean(x * x))),
    "torch's": lambda x, g: F.broadcast_mul(g, F.broadcast_mul(x, 1.0 / F.sqrt(mean(x**2) + 1e-3))),
    "rsqrt": lambda x, g: F.broadcast_mul(F.broadcast_mul(x, F.rsqrt(mean(F.square(x)) + 1e-3)), g),
    "sums": lambda x, g: F.broadcast_mul(divided(x, F.sum(F.square(x), axis=-1, keepdims=True) / 8), g),
}
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "another axis": lambda x, g: F.broadcast_mul(divided(x, mean(F.square(x), axis=1)), g),
    "sums of others": lambda x, g: F.broadcast_mul(divided(x, F.sum(F.square(x), axis=-1, keepdims=True) / 7), g),
    "cubes": lambda x, g: F.broadcast_mul(divided(x, mean(F.abs(x) ** 3)), g),
    "of something else": lambda x, g: F.broadcast_mul(divided(x, mean(F.square(x + 1))), g),
    "two over": lambda x, g: F.broadcast_mul(g, F.broadcast_mul(x, 2.0 / F.sqrt(mean(x**2) + 1e-3))),
}


@pytest.mark.parametrize("form", [*FORMS, *OTHERS])
def test_root_mean_square(form: str) -> None:
    graph = ({**FORMS, **OTHERS}[form](F.var("x"), F.var("g"))).graph
    found = optimized(graph, {"x": X}, {"g": G})
    assert (counted(found.main) == {"_fused_rms_norm": 1}) == (form in FORMS)
    (y,), (want,) = run(found, {"x": X}, {"g": G}), plainly(graph, {"x": X}, {"g": G})
    np.testing.assert_allclose(y, want, rtol=2e-6, atol=1e-6)


def test_gamma_that_is_fed_is_left() -> None:
    graph = FORMS["divided"](F.var("x"), F.var("g")).graph
    assert not counted(optimized(graph, {"x": X, "g": G}, {}).main)["_fused_rms_norm"]
