"""Arrays put together, taken apart, repeated and padded; numbers taken out of them, put in and left out by place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..core.error import OperandError
from ..core.functions import NUMBER
from .side import Side, function

# -- together ------------------------------------------------------------------------------------------------------------


def listed(arrays: Any) -> list[Any]:
    """The arrays of a sequence, or the parts of an array. Raises ValueError for an iterator."""
    if not hasattr(arrays, "__getitem__") and hasattr(arrays, "__iter__"):
        raise ValueError(f"expected iterable for arrays but got {type(arrays)}")
    return list(arrays)


@function("np")
def concatenate(F: Side, seq: Sequence[Any], axis: int | None = 0, out: Any = None) -> Any:  # noqa: N803
    """Arrays one after another along an axis; all numbers in one line with None."""
    return F.ops._npi_concatenate(*seq, axis=axis, out=out)


@function("np")
def append(F: Side, arr: Any, values: Any, axis: int | None = None) -> Any:  # noqa: N803
    """An array and another behind it along an axis; all numbers in one line with None."""
    return F.ops._npi_concatenate(arr, values, axis=axis)


@function("np")
def stack(F: Side, arrays: Any, axis: int = 0, out: Any = None) -> Any:  # noqa: N803
    """Arrays of one shape along a new axis."""
    return F.ops._npi_stack(*listed(arrays), axis=axis, out=out)


@function("np")
def vstack(F: Side, arrays: Any, out: Any = None) -> Any:  # noqa: N803
    """Arrays one below another; vectors are rows."""
    return F.ops._npi_vstack(*listed(arrays), out=out)


@function("np")
def row_stack(F: Side, arrays: Any) -> Any:  # noqa: N803
    """Arrays one below another; vectors are rows."""
    return vstack(F, arrays)


@function("np")
def hstack(F: Side, arrays: Any) -> Any:  # noqa: N803
    """Arrays side by side; vectors one after another."""
    return F.ops._npi_hstack(*arrays)


@function("np")
def dstack(F: Side, arrays: Any) -> Any:  # noqa: N803
    """Arrays one behind another, along the third axis."""
    return F.ops._npi_dstack(*arrays)


@function("np")
def column_stack(F: Side, tup: Any) -> Any:  # noqa: N803
    """Arrays side by side; vectors are columns."""
    return F.ops._npi_column_stack(*tup)


# -- apart ---------------------------------------------------------------------------------------------------------------


def _cuts(given: Any) -> tuple[tuple[int, ...], int]:
    """Beginnings of parts, and number of equal ones; one of the two is none. Raises ValueError for anything else."""
    if isinstance(given, int | np.integer):
        return (), int(given)
    if isinstance(given, list | set | tuple):
        return (0, *given), 0
    raise ValueError("indices_or_sections must be either int, or tuple / list / set of ints")


def _parts(found: Any) -> list[Any]:
    """A list, also of a single part."""
    return found if isinstance(found, list) else [found]


def _evenly(F: Side, ary: Any, given: Any, axis: int) -> Any:  # noqa: N803
    """Parts along an axis. Raises ValueError where an array is not cut into equal ones."""
    begin, sections = _cuts(given)
    if F.eager and not begin and ary.shape[axis] % sections:
        raise ValueError("array split does not result in an equal division")
    return _parts(F.ops._npi_split(ary, indices=begin, axis=axis, sections=sections))


@function("np")
def split(F: Side, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:  # noqa: N803
    """Parts of an array along an axis: so many of one size, or cut before places. Raises ValueError where it does not go even."""
    return _evenly(F, ary, indices_or_sections, axis)


@function("np")
def array_split(F: Side, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:  # noqa: N803
    """Parts of an array along an axis: so many, the first ones larger by one where it does not go even, or cut before places."""
    begin, sections = _cuts(indices_or_sections)
    return _parts(F.ops._npi_split(ary, indices=begin, axis=axis, sections=sections))


@function("np")
def hsplit(F: Side, ary: Any, indices_or_sections: Any) -> Any:  # noqa: N803
    """Parts side by side, of a vector one after another. Raises ValueError for a single number."""
    if F.eager and not ary.ndim:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    begin, sections = _cuts(indices_or_sections)
    return _parts(F.ops._npi_hsplit(ary, indices=begin, axis=1, sections=sections))


@function("np")
def vsplit(F: Side, ary: Any, indices_or_sections: Any) -> Any:  # noqa: N803
    """Parts one below another. Raises ValueError for fewer than two axes."""
    if F.eager and ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return _evenly(F, ary, indices_or_sections, 0)


@function("np")
def dsplit(F: Side, ary: Any, indices_or_sections: Any) -> Any:  # noqa: N803
    """Parts one behind another, along the third axis. Raises ValueError for fewer than three axes."""
    if F.eager:
        if ary.ndim < 3:
            raise ValueError("dsplit only works on arrays of 3 or more dimensions")
        return _evenly(F, ary, indices_or_sections, 2)
    begin, sections = _cuts(indices_or_sections)
    return F.ops._npi_dsplit(ary, indices=begin, axis=2, sections=sections)


# -- over and over -------------------------------------------------------------------------------------------------------


@function("np")
def tile(F: Side, A: Any, reps: Any) -> Any:  # noqa: N803  NumPy's name
    """The array side by side with itself, so many times along each axis."""
    if isinstance(A, NUMBER):
        return np.tile(A, reps)
    if not isinstance(A, F.kind):
        raise OperandError(f"tile: type {type(A)} not supported")
    return F.ops._npi_tile(A, reps=reps)


@function("np")
def repeat(F: Side, a: Any, repeats: int, axis: int | None = None) -> Any:  # noqa: N803
    """Each number, or each part along an axis, so many times in a row."""
    return F.ops._np_repeat(a, repeats=repeats, axis=axis)


_PADDING: dict[str, str | None] = {
    "constant": "constant_values",
    "edge": None,
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "maximum": "stat_length",
    "minimum": "stat_length",
}
"""Ways to pad an array, and the keyword that each takes."""
_NO_PADDING = ("linear_ramp", "wrap", "median", "mean", "empty")
"""NumPy's ways that MXNet does not have."""


@function("np")
def pad(F: Side, x: Any, pad_width: Any = None, mode: str = "constant", **kwargs: Any) -> Any:  # noqa: N803
    """The array with pad_width ((before, after), ...) more numbers at the ends of its axes.

    mode: constant (with constant_values, a number), edge, reflect, symmetric (both even), maximum or minimum (of all).
    Raises TypeError for widths that are no tuple of integers, ValueError for a mode or a keyword that there is not."""
    if np.asarray(pad_width).dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    if not isinstance(pad_width, tuple):
        raise TypeError("`pad_width` must be tuple.")
    if callable(mode) or mode in _NO_PADDING:
        raise ValueError(f"mode {mode!r} is not supported.")
    keyword = _PADDING[mode]
    for key in kwargs:
        if key != keyword:
            raise ValueError(f"{key} keyword not in allowed keywords {[keyword] if keyword else []}")
    given = kwargs.get(keyword) if keyword else None
    if mode == "constant":
        if isinstance(given, tuple):
            raise TypeError("unsupported constant_values type: {'tuple'}.")
        return F.ops._npi_pad(x, pad_width=pad_width, mode=mode, constant_value=0 if given is None else given)
    if given is not None and (keyword, given) != ("reflect_type", "even"):
        raise ValueError(f"unsupported {keyword} {given!r}")
    return F.ops._npi_pad(x, pad_width=pad_width, mode=mode)


# -- by place ------------------------------------------------------------------------------------------------------------


@function("np")
def take(F: Side, a: Any, indices: Any, axis: int | None = None, mode: str = "raise", out: Any = None) -> Any:  # noqa: N803
    """The parts of an array along an axis (or its numbers, counted through) at places from 0 on.

    mode: what places beyond the ends mean: raise, clip (the ends), wrap (counted on from the other end).
    Raises NotImplementedError for another mode."""
    if mode not in ("wrap", "clip", "raise"):
        raise NotImplementedError(f"function take does not support mode '{mode}'")
    if axis is None:
        a, axis = F.ops._npi_reshape(a, newshape=-1), 0
    return F.ops._npi_take(a, indices, axis=axis, mode=mode, out=out)


def _places(obj: Any) -> dict[str, Any]:
    """A number or a slice as attributes of insert and delete."""
    if isinstance(obj, slice):
        return {"start": obj.start, "stop": obj.stop, "step": 1 if obj.step is None else obj.step}
    return {"int_ind": int(obj)}


def _want(F: Side, name: str, value: Any, kinds: Iterable[type]) -> None:  # noqa: N803
    """Raises TypeError where an argument is of none of the kinds, and is no array or symbol of F."""
    if not isinstance(value, (F.kind, *kinds)):
        raise OperandError(f"'{name}' can not support type {type(value)}")


@function("np")
def insert(F: Side, arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:  # noqa: N803
    """The array with values before places along an axis, or in all its numbers as one line.

    obj: a number, a slice, or an int64 array; values: an array or a number."""
    _want(F, "arr", arr, ())
    _want(F, "values", values, NUMBER)
    _want(F, "obj", obj, (slice, int, np.integer))
    new: dict[str, Any] = {"val": values} if isinstance(values, NUMBER) else {"values": values}
    if isinstance(obj, F.kind):
        return F.ops._npi_insert_tensor(arr, obj=obj, axis=axis, **new)
    name = "slice" if isinstance(obj, slice) else "scalar"
    return getattr(F.ops, f"_npi_insert_{name}")(arr, axis=axis, **new, **_places(obj))


@function("np")
def delete(F: Side, arr: Any, obj: Any, axis: int | None = None) -> Any:  # noqa: N803
    """The array without the parts at places along an axis, or without some of all its numbers. obj: a number, a slice, an array."""
    _want(F, "arr", arr, ())
    _want(F, "obj", obj, (slice, int, np.integer))
    if isinstance(obj, F.kind):
        return F.ops._npi_delete(arr, obj, axis=axis)
    return F.ops._npi_delete(arr, axis=axis, **_places(obj))
