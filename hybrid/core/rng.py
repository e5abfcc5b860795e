"""The random numbers of the engine: one NumPy generator a thread, seeded together by ``seed``.

Work that runs later, in whatever thread, takes a generator ``fork``ed when it is asked for: programs repeat themselves
under a seed however the engine orders them.
"""

from __future__ import annotations

import base64
import itertools
import random
import threading
from collections.abc import Iterator, Mapping
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
    >>> from gluonnx import mx
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
    if held["seed"] is not None and held["seed"] != _state["seed"]:  # else other threads go on as they are
        seed(held["seed"])
    generator().bit_generator.state = held["generator"]


def reseed_here(seed_state: int) -> None:
    """Have this thread, and no other, draw from here on what follows from a seed: the engine's numbers."""
    _local.version = _state["version"]
    _local.generator = np.random.default_rng(seed_state)


def look() -> dict[str, Any]:
    """States of the generators that a program draws from without naming one: the engine's in this thread, NumPy's global one and
    Python's. To be compared by ``moved``, and made numbers and texts by ``as_plain``."""
    return {"engine": get_state(), "numpy": np.random.get_state(legacy=True), "python": random.getstate()}


def moved(before: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    """Names of the generators that have drawn since."""
    found = {name for name in ("engine", "python") if before[name] != now[name]}
    (_, keys, *rest), (_, keys_now, *rest_now) = before["numpy"], now["numpy"]
    return found if rest == rest_now and np.array_equal(keys, keys_now) else {*found, "numpy"}


def as_plain(states: Mapping[str, Any]) -> dict[str, Any]:
    """States that look found, for ``set_all_states``; numbers and texts only."""
    kind, keys, *rest = states["numpy"]
    version, numbers, following = states["python"]
    return {
        "engine": states["engine"],
        "numpy": [kind, _as_text(keys), *rest],
        "python": [version, _as_text(numbers), following],
    }


def get_all_states() -> dict[str, Any]:
    """States of those generators as numbers and texts."""
    return as_plain(look())


def set_all_states(held: Mapping[str, Any]) -> None:
    """Go on from where generators stood, those that are held."""
    if "engine" in held:
        set_state(held["engine"])
    if "numpy" in held:
        kind, keys, *rest = held["numpy"]
        np.random.set_state((kind, _as_numbers(keys), *rest))
    if "python" in held:
        version, numbers, following = held["python"]
        random.setstate((version, tuple(_as_numbers(numbers).tolist()), following))


def _as_text(numbers: Any) -> str:
    return base64.b64encode(np.asarray(numbers, "<u4").tobytes()).decode()


def _as_numbers(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<u4").astype(np.uint32)


class Twister:
    """States of the Mersenne twisters (NumPy's and Python's) as few numbers: how often the block of one that was told before has to
    be twisted, and the whole block where that is too often, or where a seed came in between."""

    WORDS = 624
    FAR = 1000

    def __init__(self) -> None:
        self._blocks: dict[str, np.ndarray] = {}

    def short(self, name: str, state: Any) -> Any:
        """A state of get_all_states, shortened."""
        if isinstance(state, dict):
            return state
        kind, text, *rest = state
        numbers = _as_numbers(text)
        block, further = numbers[: self.WORDS], numbers[self.WORDS :].tolist()
        before, self._blocks[name] = self._blocks.get(name), block
        if before is not None:
            for times, now in zip(range(self.FAR), _twisted(before)):
                if np.array_equal(now, block):
                    return [kind, times, further, *rest]
        return [kind, _as_text(block), further, *rest]

    def whole(self, name: str, state: Any) -> Any:
        """The state that was shortened, if those before were asked for one by one."""
        if isinstance(state, dict):
            return state
        kind, told, further, *rest = state
        twisted = None if isinstance(told, str) else itertools.islice(_twisted(self._blocks[name]), told, None)
        block = self._blocks[name] = _as_numbers(told) if twisted is None else next(twisted)
        return [kind, _as_text([*block.tolist(), *further]), *rest]


def _twisted(block: np.ndarray) -> Iterator[np.ndarray]:
    """A block, and those that follow."""
    twister = np.random.MT19937(0)
    twister.state = {"bit_generator": "MT19937", "state": {"key": block, "pos": Twister.WORDS}}
    while True:
        yield np.asarray(twister.state["state"]["key"])
        twister.random_raw(Twister.WORDS, output=False)


def fork() -> np.random.Generator:
    """A generator of its own, decided by where this thread's stands."""
    return np.random.Generator(np.random.Philox(key=int(generator().integers(2**63))))
