"""The random numbers of the engine: one NumPy generator a thread, seeded together by ``seed``.

Work that runs later, in whatever thread, takes a generator ``fork``ed when it is asked for: programs repeat themselves
under a seed however the engine orders them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from .changes import draw

_local = threading.local()
_state = {"seed": None, "version": draw(), "threads": itertools.count(1)}


def seed(seed_state: int, ctx: object = "all") -> None:
    """Seed the generators of all threads: what is drawn from here on is the same in every run.

    Parameters
    ----------
    seed_state : int
        Any integer, also a negative one or one of NumPy's.
    ctx : object
        Accepted as in MXNet, and not asked for: all devices draw from the same generators.

    Raises
    ------
    ValueError
        Where seed_state is no integer.

    Examples
    --------
    >>> import hybrid as mx
    >>> mx.random.seed(7)
    >>> first = mx.nd.random.uniform(shape=(2,)).asnumpy()
    >>> mx.random.seed(7)
    >>> bool((mx.nd.random.uniform(shape=(2,)).asnumpy() == first).all())
    True

    Source: MXNet random.seed."""
    if not isinstance(seed_state, int | np.integer):
        raise ValueError("seed_state must be int")
    _state["seed"] = int(seed_state)
    _state["threads"] = itertools.count(1)
    _state["version"] = draw()


def generator() -> np.random.Generator:
    """This thread's generator. Threads other than the main one are numbered as they first ask."""
    if getattr(_local, "version", None) != _state["version"]:
        _local.version = _state["version"]
        main = threading.current_thread() is threading.main_thread()
        number = 0 if main else next(_state["threads"])
        entropy = None if _state["seed"] is None else [_state["seed"] % 2**64, number]
        _local.generator = np.random.default_rng(entropy)
    return _local.generator


def get_state() -> dict[str, Any]:
    """The seed, and where this thread's generator stands, for ``set_state``; numbers and texts only."""
    return {"seed": _state["seed"], "generator": generator().bit_generator.state}


def set_state(held: Mapping[str, Any]) -> None:
    """Go on from where a generator of this thread stood."""
    if held["seed"] is not None:
        seed(held["seed"])
    generator().bit_generator.state = held["generator"]


def fork() -> np.random.Generator:
    """A generator of its own, decided by where this thread's stands."""
    return np.random.Generator(np.random.Philox(key=int(generator().integers(2**63))))
