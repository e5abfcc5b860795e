"""``mx.npx.save`` and ``mx.npx.load``: files of arrays of mx.np, in the newest form that MXNet has (formats/params.py)."""

from __future__ import annotations

import os
from typing import Any

from .. import ndarray as nd
from ..eager.np_array import ndarray
from ..util import is_np_array, is_np_shape

__all__ = ["load", "save"]


def _want_mode(what: str) -> None:
    if not (is_np_shape() and is_np_array()):
        raise ValueError(
            f"Cannot {what} `mxnet.numpy.ndarray` in legacy mode. Please activate numpy semantics by calling `npx.set_np()` in the "
            "global scope before calling this function."
        )


def save(file: str | os.PathLike[str], arr: Any) -> None:
    """Write an array of mx.np, a list of them, or a dict of them by name, as MXNet 1.9.1 does.

    Raises ValueError for other data, TypeError for other elements, and ValueError where the mode is not on (npx.set_np).

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.npx.set_np()
    >>> mx.npx.save("arrays.npy", {"x": mx.np.ones(2)})
    >>> mx.npx.load("arrays.npy")
    {'x': array([1., 1.])}
    >>> mx.npx.reset_np()
    """
    _want_mode("save")
    if isinstance(arr, ndarray):
        arr = [arr]
    if not isinstance(arr, dict | list):
        raise ValueError("data needs to either be a ndarray, dict of (str, ndarray) pairs or a list of ndarrays.")
    values = list(arr.values()) if isinstance(arr, dict) else arr
    if not all(isinstance(v, ndarray) for v in values) or not all(
        isinstance(k, str) for k in arr if isinstance(arr, dict)
    ):
        raise TypeError("Only accepts dict str->ndarray or list of ndarrays")
    from ..formats import params

    params.save(file, nd.to_stored(arr))


def load(file: str | os.PathLike[str]) -> Any:
    """The arrays of a file as those of mx.np: a dict when they have names, else a list. Raises TypeError for what names no file,
    FormatError for a file of something else, and ValueError where the mode is not on (npx.set_np).

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.npx.set_np()
    >>> mx.npx.save("arrays.npy", [mx.np.ones(2), mx.np.zeros(1)])
    >>> mx.npx.load("arrays.npy")
    [array([1., 1.]), array([0.])]
    >>> mx.npx.reset_np()
    """
    _want_mode("load")
    if not isinstance(file, str | os.PathLike):
        raise TypeError("file required to be a string")
    found = nd.load(file)
    if isinstance(found, dict):
        return {name: array.as_np_ndarray() for name, array in found.items()}
    return [array.as_np_ndarray() for array in found]
