"""The same numbers in another shape or order: reshape, transpose, flip, roll, and those on the diagonals of matrices."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..core.error import OperandError
from ..core.functions import NUMBER
from .side import Side, function

# -- shapes --------------------------------------------------------------------------------------------------------------


def want_c_order(name: str, order: str) -> None:
    """Raises NotImplementedError for an order other than C."""
    if order != "C":
        raise NotImplementedError(f"{name} only supports order='C', got {order!r}")


@function("np", symbols=False)
def shape(F: Side, a: Any) -> tuple[int, ...]:  # noqa: N803
    """The sizes of an array's axes."""
    return a.shape


@function("np")
def reshape(F: Side, a: Any, newshape: Any, order: str = "C", out: Any = None) -> Any:  # noqa: N803
    """The array's numbers in another shape; one size may be -1, whatever is left.

    Raises NotImplementedError for an order other than C."""
    want_c_order("reshape", order)
    return F.ops._np_reshape(a, newshape=newshape, out=out)


@function("np")
def ravel(F: Side, x: Any, order: str = "C") -> Any:  # noqa: N803
    """The array's numbers in one dimension. Raises NotImplementedError for an order other than C."""
    want_c_order("ravel", order)
    if isinstance(x, NUMBER):
        return np.reshape(x, -1)
    if not isinstance(x, F.kind):
        raise OperandError(f"ravel: type {type(x)} not supported")
    return F.ops._npi_reshape(x, newshape=-1)


@function("np")
def expand_dims(F: Side, a: Any, axis: int) -> Any:  # noqa: N803
    """The array with a new axis of size 1."""
    return F.ops._npi_expand_dims(a, axis=axis)


@function("np")
def squeeze(F: Side, a: Any, axis: Any = None, out: Any = None) -> Any:  # noqa: N803
    """The array without axes of size 1: all of them, or those named."""
    return F.ops._np_squeeze(a, axis=axis, out=out)


@function("np")
def atleast_1d(F: Side, *arys: Any) -> Any:  # noqa: N803
    """Arrays with one axis or more: a list of them where there are several."""
    return F.ops._np_atleast_1d(*arys)


@function("np")
def atleast_2d(F: Side, *arys: Any) -> Any:  # noqa: N803
    """Arrays with two axes or more: a list of them where there are several."""
    return F.ops._np_atleast_2d(*arys)


@function("np")
def atleast_3d(F: Side, *arys: Any) -> Any:  # noqa: N803
    """Arrays with three axes or more: a list of them where there are several."""
    return F.ops._np_atleast_3d(*arys)


@function("np")
def broadcast_to(F: Side, array: Any, shape: Any) -> Any:  # noqa: N803
    """The array, or a number, repeated along axes of size 1 and new ones in front until it has a shape."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if np.isscalar(array):
        return F.ops._npi_full(shape=sizes, value=array, dtype="float32")
    return F.ops._npi_broadcast_to(array, shape=sizes)


@function("np", symbols=False)
def broadcast_arrays(F: Side, *args: Any) -> list[Any]:  # noqa: N803
    """Arrays in the shape that all broadcast to: the arrays themselves where all have it."""
    wanted = np.broadcast_shapes(*(a.shape for a in args))
    if all(a.shape == wanted for a in args):
        return list(args)
    return [broadcast_to(F, a, wanted) for a in args]


@function("np")
def copy(F: Side, a: Any, out: Any = None) -> Any:  # noqa: N803
    """A copy of an array."""
    return F.ops._np_copy(a, out=out)


@function("np")
def resize(F: Side, a: Any, new_shape: Any) -> Any:  # noqa: N803
    """The array's numbers in a shape, from the first again where there are too few of them; zeros where there are none."""
    sizes = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    if F.eager and not a.size:
        return F.ops._npi_zeros(shape=sizes, dtype=a.dtype)
    places = F.ops._npi_arange(start=0, stop=math.prod(sizes), dtype="int64")
    flat = F.ops._npi_reshape(a, newshape=-1)
    if not F.eager:  # a graph may get none: a zero behind them is what the first place is then
        count = F.ops._npi_maximum_scalar(F.ops.size_array(flat), scalar=1)
        flat, places = F.ops._npi_pad(flat, pad_width=((0, 1),)), F.ops._npi_mod(places, count)
    return F.ops._np_reshape(F.ops._npi_take(flat, places, axis=0, mode="wrap"), newshape=sizes)


# -- the order of axes and of numbers along them -------------------------------------------------------------------------


@function("np")
def transpose(F: Side, a: Any, axes: Any = None) -> Any:  # noqa: N803
    """The array with its axes in another order, in the reverse one by default."""
    return F.ops._np_transpose(a, axes=axes)


@function("np")
def swapaxes(F: Side, a: Any, axis1: int, axis2: int) -> Any:  # noqa: N803
    """The array with two axes changing places."""
    return F.ops._npi_swapaxes(a, dim1=axis1, dim2=axis2)


@function("np")
def moveaxis(F: Side, a: Any, source: Any, destination: Any) -> Any:  # noqa: N803
    """The array with some axes at other places, the rest in their order."""
    return F.ops._np_moveaxis(a, source=source, destination=destination)


@function("np")
def flip(F: Side, m: Any, axis: Any = None, out: Any = None) -> Any:  # noqa: N803
    """The array with the numbers along axes (all, by default) in reverse order."""
    if isinstance(m, NUMBER):
        return np.flip(m, axis)
    if not isinstance(m, F.kind):
        raise OperandError(f"flip: type {type(m)} not supported")
    return F.ops._npi_flip(m, axis=axis, out=out)


@function("np")
def flipud(F: Side, m: Any) -> Any:  # noqa: N803
    """The array with the numbers along the first axis in reverse order."""
    return flip(F, m, 0)


@function("np")
def fliplr(F: Side, m: Any) -> Any:  # noqa: N803
    """The array with the numbers along the second axis in reverse order."""
    return flip(F, m, 1)


@function("np")
def roll(F: Side, a: Any, shift: Any, axis: Any = None) -> Any:  # noqa: N803
    """The array with all numbers moved on by shift along an axis (or all as one line), the last ones to the front."""
    return F.ops._np_roll(a, shift=shift, axis=axis)


@function("np")
def rot90(F: Side, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:  # noqa: N803
    """The array turned by 90 degrees k times, from the first of two axes towards the second."""
    return F.ops._npi_rot90(m, k=k, axes=axes)


# -- diagonals -----------------------------------------------------------------------------------------------------------


@function("np")
def diag(F: Side, array: Any, k: int = 0) -> Any:  # noqa: N803
    """The k-th diagonal of a matrix, or a matrix with a vector's numbers on its k-th diagonal."""
    return F.ops._np_diag(array, k=k)


@function("np")
def diagflat(F: Side, array: Any, k: int = 0) -> Any:  # noqa: N803
    """A matrix with all numbers of an array on its k-th diagonal."""
    return F.ops._np_diagflat(array, k=k)


@function("np")
def diagonal(F: Side, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:  # noqa: N803
    """The diagonals of the matrices that two axes make up, as a last axis."""
    return F.ops._np_diagonal(a, offset=offset, axis1=axis1, axis2=axis2)


@function("np")
def diag_indices_from(F: Side, arr: Any) -> Any:  # noqa: N803
    """The places of the main diagonal of an array: a tuple of an array an axis, or one symbol of all."""
    found = F.ops._npi_diag_indices_from(arr)
    return tuple(found) if F.eager else found


@function("np")
def unravel_index(F: Side, indices: Any, shape: Any, order: str = "C") -> Any:  # noqa: N803
    """Numbers of elements, counted through, as places: a tuple of an array an axis, or one symbol of all.

    Raises NotImplementedError for an order other than C, ValueError for numbers beyond the last element, TypeError for
    indices that are not whole."""
    want_c_order("unravel_index", order)
    if isinstance(indices, NUMBER):
        return np.unravel_index(operator.index(indices), shape)  # type: ignore[arg-type]
    if F.eager:
        numbers = indices._read()
        return tuple(F.kind._own(np.array(p, numbers.dtype), indices.ctx) for p in np.unravel_index(numbers, shape))
    places = F.ops._unravel_index(F.ops._npi_reshape(indices, newshape=-1), shape=shape)
    row = F.ops._npi_expand_dims(indices, axis=0)  # so that a single number has an axis to be like
    return F.ops._np_squeeze(F.ops._npx_reshape_like(places, row, lhs_begin=1, lhs_end=2), axis=1)
