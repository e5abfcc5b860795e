"""NumPy's reading of shapes, which a thread may switch on (MXNet's np_shape): 0 is a size, -1 an unknown one, () a single number.
It is asked where shapes come in and go out; inside, an unknown size is UNKNOWN, and every other one a size (core/shapes.py)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Mode(threading.local):
    shape = False


_MODE = _Mode()


def is_np_shape() -> bool:
    """True where this thread reads shapes as NumPy does."""
    return _MODE.shape


def set_np_shape(active: bool) -> bool:
    """Switch this thread's reading, and return what it was."""
    before, _MODE.shape = _MODE.shape, bool(active)
    return before


@contextmanager
def np_shape(active: bool | None = True) -> Iterator[None]:
    """``with np_shape():`` switches this thread's reading of shapes, and back. None leaves it as it is."""
    before = is_np_shape()
    if active is not None:
        set_np_shape(active)
    try:
        yield
    finally:
        if active is not None:
            set_np_shape(before)
