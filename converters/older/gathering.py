"""Gathering and scattering by places in a row."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .forms import before, wanting
from .known import as_value, static
from .schemas import undefined


def from_front(b: Any, indices: Any, size: int) -> Any:
    """Indices along an axis of that size, those that count from its end from its beginning."""
    if indices.const is not None:
        return b.const(np.where(indices.const < 0, indices.const + size, indices.const).astype(indices.dtype))
    behind = b.cast(b.node("Less", indices, 0), indices.dtype)
    return b.node("Add", indices, b.node("Mul", behind, size))


def _strides(sizes: Sequence[int]) -> np.ndarray:
    """Number of elements that a step along each axis passes."""
    return np.append(np.cumprod(sizes[:0:-1], dtype=np.int64)[::-1], 1) if sizes else np.zeros(0, np.int64)


def _index(b: Any, x: Any) -> Any:
    return b.cast(as_value(b, x, b.const(0)), np.int64)


@before(11, "GatherElements")
def gather_flat(b: Any, op_type: str, x: Any, indices: Any, *, axis: int = 0) -> Any:
    """A Gather from all elements in a row."""
    indices = _index(b, indices)
    sizes, chosen = static(b, op_type, x, 11), static(b, op_type, indices, 11)
    axis %= len(sizes)
    steps = _strides(sizes)
    grid = np.indices(chosen, dtype=np.int64)
    base = sum((grid[a] * steps[a] for a in range(len(sizes)) if a != axis), np.zeros(chosen, np.int64))
    places = b.node("Add", b.node("Mul", from_front(b, indices, sizes[axis]), int(steps[axis])), b.const(base))
    return b.node("Gather", b.reshape(x, [-1]), places, axis=0)


def _places(b: Any, op_type: str, sizes: Sequence[int], indices: Any, batch: int = 0) -> tuple[Any, int, int]:
    """Places of the slices that rows of indices name, with the axes before ``batch`` counted along; number of axes that
    are named, elements of a slice."""
    chosen = static(b, op_type, indices, 12 if batch else 11)
    depth = chosen[-1]
    named = sizes[batch : batch + depth]
    steps = _strides([*named]) if depth else np.zeros(0, np.int64)
    parts = [from_front(b, b.node("Gather", indices, a, axis=len(chosen) - 1), n) for a, n in enumerate(named)]
    places = functools.reduce(
        lambda x, y: b.node("Add", x, y), [b.node("Mul", p, int(s)) for p, s in zip(parts, steps)]
    )
    if batch:
        size = int(np.prod(named, dtype=np.int64))
        first = np.arange(int(np.prod(chosen[:batch], dtype=np.int64))).reshape(chosen[:batch]) * size
        places = b.node("Add", places, b.const(first.reshape(*chosen[:batch], *(1,) * (len(chosen) - 1 - batch))))
    return places, depth, int(np.prod(sizes[batch + depth :], dtype=np.int64))


@before(12, "GatherND")
def gather_slices(b: Any, op_type: str, x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    """A Gather from all slices in a row."""
    if b.opset == 11 and not batch_dims:
        return b.plain(op_type, x, indices)
    indices = _index(b, indices)
    sizes = static(b, op_type, x, 12 if batch_dims else 11)
    places, depth, _ = _places(b, op_type, sizes, indices, batch_dims)
    return b.node("Gather", b.reshape(x, [-1, *sizes[batch_dims + depth :]]), places, axis=0)


@before(11, "ScatterND")
def scatter_flat(b: Any, op_type: str, x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    """A Scatter over all elements in a row."""
    if reduction != "none":
        raise wanting(b.opset, f"{op_type} with reduction = {reduction!r}", 16)
    if b.opset < 9:
        raise undefined(op_type, b.opset)
    indices = _index(b, indices)
    sizes = static(b, op_type, x, 11)
    places, _, width = _places(b, op_type, sizes, indices)
    every = b.node("Add", b.node("Mul", b.reshape(places, [-1, 1]), width), b.const(np.arange(width)))
    done = b.plain("Scatter", b.reshape(x, [-1]), b.reshape(every, [-1]), b.reshape(updates, [-1]), axis=0)
    return b.reshape(done, list(sizes))
