"""``mx.random``: the seed of all generators, and the functions of ``mx.nd.random``."""

from typing import Any

from . import sampling
from .core.rng import seed

__all__ = ["seed", *sampling.FUNCTIONS]


def __getattr__(name: str) -> Any:
    if name in sampling.FUNCTIONS:
        return getattr(sampling.ARRAYS.random, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
