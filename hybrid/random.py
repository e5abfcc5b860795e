"""The random numbers of the engine: one NumPy generator a thread, seeded together by ``seed``."""

from __future__ import annotations

import threading

import numpy as np

_local = threading.local()
_state = {"seed": None, "version": 0}


def seed(seed_state: int, ctx: object = "all") -> None:
    """Seed the generators of all threads (MXNet's ``mx.random.seed``; ctx is accepted, there is one CPU here)."""
    _state["seed"] = int(seed_state)
    _state["version"] += 1


def generator() -> np.random.Generator:
    """This thread's generator."""
    if getattr(_local, "version", None) != _state["version"]:
        _local.version = _state["version"]
        _local.generator = np.random.default_rng(_state["seed"])
    return _local.generator
