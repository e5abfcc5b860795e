"""``mx.npx.random``: Bernoulli's law, samples of batches, and the seed of all generators."""

from __future__ import annotations

from typing import Any

from ..core import rng
from ..np_functions.side import NPX


def seed(seed: int, ctx: Any = "all") -> None:
    """Seed the generators of all threads; ctx is accepted, there is one CPU. Raises ValueError for anything but a whole number."""
    rng.seed(seed, ctx)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return ["seed", *NPX.random.names()]
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(NPX.random, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *NPX.random.names()})
