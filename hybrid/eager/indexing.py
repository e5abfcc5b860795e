"""Index parsing: the key of ``x[...]`` as MXNet reads it, for NumPy and for the operators that gradients need."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.np_mode import is_np_shape

Index = tuple[Any, ...]
"""A key as NumPy takes it, with an Ellipsis in it: so that even one element comes as an array."""


def read_key(key: Any, ndim: int, array: type) -> tuple[Index, bool]:
    """A key for an array of ndim dimensions, and whether it is basic: without index arrays. array: the class of arrays.

    Arrays, lists, ranges and tuples within a tuple are integer indices in MXNet, also boolean ones that are not its own. Raises
    IndexError when there are too many indices or index arrays hold no numbers, ValueError for boolean arrays, anything else that
    is no key, and index arrays that do not broadcast."""
    index: list[Any] = []
    arrays: list[np.ndarray] = []
    for part in key if isinstance(key, tuple) else (key,):
        if part is None or part is Ellipsis or isinstance(part, slice):
            index.append(part)
        elif isinstance(part, array | np.ndarray | list | tuple | range):
            numbers = np.asarray(part._read() if isinstance(part, array) else part)  # type: ignore[attr-defined]
            if numbers.dtype.kind == "b" and isinstance(part, array):
                raise ValueError(
                    "Cannot perform boolean indexing in legacy mode: got an index array of dtype bool; take the rows with "
                    "mx.nd.contrib.boolean_mask, or use mx.np"
                )
            if numbers.dtype.kind not in "iufb":
                raise IndexError(f"index array of dtype {numbers.dtype}, wanted integers")
            arrays.append(numbers.astype(np.int64))
            index.append(arrays[-1])
        elif hasattr(part, "__index__"):
            index.append(operator.index(part))
        else:
            raise ValueError(f"NDArray does not support slicing with key {part} of type {type(part)}.")
    if not ndim and index == [slice(None)]:  # all of a single number, too
        index = [Ellipsis]
    used = sum(p is not None and p is not Ellipsis for p in index)
    if used > ndim:
        raise IndexError(f"too many indices ({used}) for array with {ndim} dimensions")
    if not any(p is Ellipsis for p in index):
        index.append(Ellipsis)
    if len(arrays) > 1:
        _check_broadcast(arrays)
    return tuple(index), not arrays


def _check_broadcast(arrays: Sequence[np.ndarray]) -> None:
    shape = arrays[0].shape
    for other in arrays[1:]:
        try:
            shape = np.broadcast_shapes(shape, other.shape)
        except ValueError:
            raise ValueError(f"shape1={shape} is not broadcastable to shape2={other.shape}") from None


def slicing(index: Index, shape: tuple[int, ...]) -> tuple[dict[str, tuple[Any, ...]], tuple[int, ...]] | None:
    """A basic index as the attributes of the operator ``slice`` and the shape to give its result; None for an empty part.

    Raises IndexError for a number beyond its axis."""
    begin, end, step, wanted = [], [], [], []
    place = index.index(Ellipsis)
    used = sum(p is not None and p is not Ellipsis for p in index)
    full = (*index[:place], *[slice(None)] * (len(shape) - used), *index[place + 1 :])
    axis = 0
    for part in full:
        if part is None:
            wanted.append(1)
            continue
        dim = shape[axis]
        axis += 1
        if isinstance(part, slice):
            start, stop, stride = part.indices(dim)
            count = len(range(start, stop, stride))
            if not count:
                return None
            begin.append(start)
            end.append(None if stop < 0 else stop)
            step.append(stride)
            wanted.append(count)
        else:
            if not -dim <= part < dim:
                raise IndexError(f"index {part} is out of bounds for axis {axis - 1} with size {dim}")
            begin.append(part % dim)
            end.append(part % dim + 1)
            step.append(1)
    return {"begin": tuple(begin), "end": tuple(end), "step": tuple(step)}, tuple(wanted) or (
        () if is_np_shape() else (1,)
    )


def gather(values: np.ndarray, index: Index) -> np.ndarray:
    """values[index] for an index with arrays; as in NumPy but for a None behind index arrays that stand side by side:
    MXNet puts the new axis as many places too early as the index arrays make axes."""
    arrays = [i for i, part in enumerate(index) if not (part is None or part is Ellipsis or isinstance(part, slice))]
    late = [i for i, part in enumerate(index) if part is None and i > arrays[-1]]
    if not late or len(arrays) != arrays[-1] - arrays[0] + 1:
        return values[index]
    used = sum(part is not None and part is not Ellipsis for part in index)
    sizes = [0 if i in arrays else values.ndim - used if part is Ellipsis else 1 for i, part in enumerate(index)]
    part = values[tuple(part for i, part in enumerate(index) if i not in late)]
    for i in late:
        part = np.expand_dims(part, sum(sizes[:i]))
    return part


def gather_numbers(index: Index, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of the elements, counted through, that an index with arrays takes of an array."""
    return np.array(gather(np.arange(int(np.prod(shape))).reshape(shape), index), order="C")
