"""Arrays by their address, as callbacks of programs take them that were written for MXNet's C library.

``NDArray(ctypes.cast(array, NDArrayHandle), writable=False)`` is the array that the callback was given."""

from __future__ import annotations

import ctypes
from typing import Any
from weakref import WeakValueDictionary

from ..core.error import MXNetError

_HANDED: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Arrays whose address somebody has asked for, by it, while there are any."""


def handle_of(array: Any) -> ctypes.c_void_p:
    """The address of an array, by which array_of finds it as long as it lives."""
    _HANDED[id(array)] = array
    return ctypes.c_void_p(id(array))


def array_of(handle: ctypes.c_void_p) -> Any:
    """The array at an address that handle_of gave. Raises MXNetError for any other."""
    array = None if handle.value is None else _HANDED.get(handle.value)
    if array is None:
        raise MXNetError(
            "NDArray: this handle is none of a living array; make arrays by nd.array, nd.zeros and the like"
        )
    return array
