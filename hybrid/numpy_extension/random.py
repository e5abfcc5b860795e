"""``mx.npx.random``: Bernoulli's law, samples of batches, and the seed of all generators."""

from __future__ import annotations

from typing import Any

from ..core.rng import seed
from ..np_functions.side import NPX

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(NPX.random, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
