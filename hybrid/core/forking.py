"""Locks that a forked process finds free. A fork copies the thread that calls it and nobody else: what other threads hold at that
moment nobody would ever let go of. What they guard here is filled in by single assignments, so that a half of it does no harm."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from typing import Any, TypeVar

T = TypeVar("T")
_LOCKS: weakref.WeakSet[Any] = weakref.WeakSet()


def lock() -> threading.Lock:
    """A lock as threading.Lock makes them."""
    made = threading.Lock()
    _LOCKS.add(made)
    return made


def rlock() -> Any:
    """A lock as threading.RLock makes them."""
    made = threading.RLock()
    _LOCKS.add(made)
    return made


class cached_property(functools.cached_property[T]):  # noqa: N801  as functools has it
    """functools.cached_property, which has one lock for the property of all objects before Python 3.12."""

    def __init__(self, func: Any):
        super().__init__(func)
        if hasattr(self, "lock"):
            _LOCKS.add(self.lock)  # type: ignore[attr-defined]  # gone in newer versions


def _free() -> None:
    for held in _LOCKS:
        held._at_fork_reinit()  # as the modules logging and threading do


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
