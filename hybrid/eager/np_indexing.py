"""Keys of arrays of mx.np: read as MXNet's NumPy mode reads them, in the form in which NumPy takes them.

Lists and NumPy's arrays of bools are masks where they are all of the key; beside others they are numbers, 0 and 1, as in MXNet."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from .array import NDArray

_ALL = slice(None)


class Key(NamedTuple):
    """A key in full: a number, slice or array an axis, None for new axes, and an Ellipsis at the end."""

    index: tuple[Any, ...]
    basic: bool
    """True without index arrays: what is taken may be a view."""
    front: bool | None = None
    """The value of single bools in the key, which make a new axis in front, of size 1 or 0."""


def plain_key(key: Any, rank: int) -> tuple[Any, ...] | None:
    """A key of nothing but numbers and slices, not more than there are axes, as NumPy takes it; None where it is another one."""
    parts = key if type(key) is tuple else (key,)
    if not 0 < len(parts) <= rank:
        return None
    for part in parts:
        if type(part) is not int and type(part) is not slice:
            return None
    return (*parts, Ellipsis)


def read_mask(key: Any) -> np.ndarray | None:
    """A key that is a mask by itself, as an array of bools; None where it is another one."""
    if isinstance(key, bool | np.bool_):
        return np.array(key)
    if isinstance(key, NDArray):
        return key._read() if key._dtype == np.bool_ else None
    if isinstance(key, list):
        if not key:
            return None
        try:
            key = np.array(key)
        except ValueError as error:
            raise TypeError(str(error)) from None
    return key if isinstance(key, np.ndarray) and key.dtype == np.bool_ else None


def masking(mask: np.ndarray, shape: tuple[int, ...]) -> Key:
    """A mask as a key. Raises IndexError where it does not fit the leading axes of the shape."""
    _check_mask(mask, shape, 0)
    return Key((mask, Ellipsis), False)


def _check_mask(mask: np.ndarray, shape: tuple[int, ...], axis: int) -> None:
    if mask.ndim > len(shape) - axis:
        raise IndexError(f"too many indices, whose ndim = {mask.ndim}, for array with ndim = {len(shape) - axis}")
    for i, (got, wanted) in enumerate(zip(mask.shape, shape[axis:]), axis):
        if got != wanted:
            raise IndexError(
                f"boolean index did not match indexed array along dimension {i}; dimension is {wanted} but corresponding boolean "
                f"dimension is {got}"
            )


def read_np_key(key: Any, shape: tuple[int, ...]) -> Key:
    """A key, other than a mask, for an array of a shape.

    Raises IndexError for too many indices, masks that do not fit and more than one Ellipsis, ValueError for what is no key and
    for index arrays that do not broadcast."""
    read: list[Any] = []
    front: bool | None = None
    place, basic = None, True
    for part in key if isinstance(key, tuple) else (key,):
        if part is None or isinstance(part, slice):
            read.append(part)
        elif part is Ellipsis:
            if place is not None:
                raise IndexError("Cannot use more than one ellipsis (`...`) for indexing")
            place = len(read)
        elif isinstance(part, bool | np.bool_):
            front = bool(part) and front is not False
        else:
            value = _numbers(part, key)
            if value.ndim:
                basic = False
                read.append(value)
            elif value.dtype == np.bool_:
                front = bool(value) and front is not False
            else:
                read.append(int(value))
    used = sum(_axes(part) for part in read)
    if used > len(shape):
        raise IndexError(f"too many indices ({used}) for array with {len(shape)} dimensions")
    place = len(read) if place is None else place
    read[place:place] = [_ALL] * (len(shape) - used)
    index: list[Any] = []
    axis = 0
    for part in read:
        if isinstance(part, np.ndarray) and part.dtype == np.bool_:
            _check_mask(part, shape, axis)
            index += part.nonzero()
        else:
            index.append(part)
        axis += _axes(part)
    if not basic and len(shapes := [part.shape for part in index if isinstance(part, np.ndarray)]) > 1:
        np.broadcast_shapes(*shapes)
    return Key((*index, Ellipsis), basic, front)


def _axes(part: Any) -> int:
    """The number of axes that a part of a key speaks of."""
    if part is None:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype == np.bool_ else 1


def _numbers(part: Any, key: Any) -> np.ndarray:
    """Index arrays, single numbers too, as int64; arrays of mx.np that are masks as bools."""
    if isinstance(part, NDArray):
        values = part._read()
        if values.dtype == np.bool_:
            return values
    elif isinstance(part, np.ndarray | list | tuple | range):
        values = np.asarray(part)
        if not values.size:
            values = values.astype(np.int64)
    elif hasattr(part, "__index__"):
        return np.asarray(operator.index(part))
    else:
        raise ValueError(f"NDArray does not support slicing with key {part} of type {type(part)}.")
    if values.dtype.kind not in "iufb":
        raise IndexError(f"index array of dtype {values.dtype}, wanted integers")
    return values.astype(np.int64)


def leading_places(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, np.ndarray] | None:
    """For a key of index arrays and numbers upon the first axes and all of the rest: how many axes they are, and the places
    counted through these axes. None for another key. Raises IndexError for a place that there is not."""
    index = index[:-1]
    if index and isinstance(index[0], np.ndarray) and index[0].dtype == np.bool_:
        index = (*index[0].nonzero(), *index[1:])
    count = 0
    while count < len(index) and isinstance(index[count], int | np.ndarray):
        count += 1
    if not count or any(not isinstance(p, slice) or p != _ALL for p in index[count:]):
        return None
    sizes = shape[:count]
    numbers = np.broadcast_arrays(*index[:count])
    for axis, (part, size) in enumerate(zip(numbers, sizes)):
        wrong = (part < -size) | (part >= size)
        if wrong.any():
            raise IndexError(f"index {part[wrong].flat[0]} is out of bounds for axis {axis} with size {size}")
    found = np.zeros(numbers[0].shape, np.int64)
    for part, size in zip(numbers, sizes):
        found = found * size + np.where(part < 0, part + size, part)
    return count, found
