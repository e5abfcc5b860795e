"""Mirrors as Slice backwards, turns, rolls, and diagonals as Gather from the flattened matrix."""

import numpy as np

from hybrid.ops.shape import number, sizes_of

from ..builder import Builder, Value
from ..registry import exports
from .shape import reshape_to

INT64 = np.iinfo(np.int64)


def flip(b: Builder, x: Value, axes: list[int]) -> Value:
    """x backwards along axes: -1 is the last number, and no end is far enough but the smallest integer."""
    return b.slice(x, [-1] * len(axes), [INT64.min] * len(axes), axes, [-1] * len(axes))


@exports("_np_roll")
def export_np_roll(b, op, data):
    if op.axis is None:
        places = np.roll(np.arange(np.prod(data.static, dtype=int)), op.shift)
        return b.reshape(b.Gather(b.reshape(data, [-1]), b.const(places), axis=0), data.static)
    x = data
    for axis, shift in op.shifts():
        x = b.Gather(x, b.const(np.roll(np.arange(data.dim(axis)), shift)), axis=axis % data.rank)
    return x


@exports("_npi_tril")
def export_npi_tril(b, op, data):
    if data.rank == 1 or not b.since(14):
        return _tril(b, op, data)
    return b.Trilu(data, b.const(np.array(op.k, np.int64)), upper=0)


def _tril(b, op, data):
    rows, columns = data.dim(-2 if data.rank > 1 else -1), data.dim(-1)
    return b.Where(b.const(np.tril(np.ones((rows, columns), bool), op.k)), data, b.const(np.zeros((), data.dtype)))


@exports("diag", "_np_diag", "_np_diagonal")
def export_diag(b, op, data):
    k = op.place()[0]
    if data.rank == 1:
        size = data.dim(0)
        # one zero at the end stands for every place outside the diagonal
        places = np.full((size + abs(k),) * 2, size)
        row, column = np.arange(size) + max(-k, 0), np.arange(size) + max(k, 0)
        places[row, column] = np.arange(size)
        return b.Gather(b.Concat(data, b.like([0], data), axis=0), b.const(places), axis=0)
    one, two = op.axes(data.rank)
    rows, columns = data.dim(one), data.dim(two)
    rest = [a for a in range(data.rank) if a not in (one, two)]
    front = b.transpose(data, [one, two, *rest])
    front.shape = tuple(data.shape[a] for a in (one, two, *rest))
    sizes = sizes_of(front.shape)
    flat = reshape_to(b, front, [number(rows * columns), *sizes[2:]])
    places = np.arange(op.length(rows, columns))
    picked = b.Gather(flat, b.const((places + max(-k, 0)) * columns + places + max(k, 0)), axis=0)
    return b.transpose(picked, [*range(1, len(rest) + 1), 0])
