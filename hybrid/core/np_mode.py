"""NumPy's ways, which a thread may switch on: its reading of shapes (MXNet's np_shape) and its arrays (np_array).

With np_shape 0 is a size, -1 an unknown one, () a single number. It is asked where shapes come in and go out; inside, an unknown
size is UNKNOWN, every other one a size (core/shapes.py). With np_array Gluon's arrays are those of mx.np (eager/np_array.py)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Mode(threading.local):
    shape = False
    array = False


_MODE = _Mode()


def is_np_shape() -> bool:
    """True where this thread reads shapes as NumPy does.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.util.is_np_shape()
    False
    >>> with mx.util.np_shape(True):
    ...     mx.util.is_np_shape()
    True
    """
    return _MODE.shape


def set_np_shape(active: bool) -> bool:
    """Switch this thread's reading, and return what it was. Raises ValueError for switching it off below arrays of mx.np."""
    if not active and _MODE.array:
        raise ValueError(
            "Deactivating NumPy shape semantics while NumPy array semantics is still active is not allowed. Please consider "
            "calling `npx.reset_np()` to deactivate both of them."
        )
    before, _MODE.shape = _MODE.shape, bool(active)
    return before


def is_np_array() -> bool:
    """True where this thread makes arrays of mx.np."""
    return _MODE.array


def set_np_array(active: bool) -> bool:
    """Switch which arrays this thread makes, and return what it was."""
    before, _MODE.array = _MODE.array, bool(active)
    return before


def mode() -> tuple[bool, bool]:
    """Return what this thread has switched on, shapes and arrays, for threads and processes that work for it."""
    return _MODE.shape, _MODE.array


def set_mode(given: tuple[bool, bool]) -> None:
    """Switch this thread to what another one has."""
    _MODE.shape, _MODE.array = given


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


@contextmanager
def np_array(active: bool | None = True) -> Iterator[None]:
    """``with np_array():`` switches which arrays this thread makes, and back. None leaves it as it is."""
    before = is_np_array()
    if active is not None:
        set_np_array(active)
    try:
        yield
    finally:
        if active is not None:
            set_np_array(before)
