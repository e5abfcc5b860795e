"""``mx.npx.random``: Bernoulli's law, samples of batches, and the seed of all generators."""

from __future__ import annotations

from typing import Any

from ..core import rng as _rng
from ..core.showing import from_functions
from ..np_functions.side import NPX


def seed(seed: int, ctx: Any = "all") -> None:
    """Seed the generators of all threads; ctx is accepted, there is one CPU. Raises ValueError for anything but a whole number."""
    _rng.seed(seed, ctx)


__getattr__, __dir__ = from_functions(globals(), lambda name: getattr(NPX.random, name), NPX.random.names)
