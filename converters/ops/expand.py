"""Broadcasts as Expand, repeats as Tile, and pads."""

import numpy as np

from hybrid.ops.shape import sizes_of
from hybrid.shapes import UNKNOWN

from ..registry import to_onnx
from .shape import reshaped


@to_onnx("broadcast_to", "_npi_broadcast_to", "broadcast_axis")
def _(b, op, data):
    # Expand leaves an axis alone that is asked to have size 1
    return b.Expand(data, [1 if size is None else size for size in op.wanted(data.rank)])


@to_onnx("broadcast_like")
def _(b, op, lhs, rhs):
    sizes = [1] * lhs.rank
    for a, like in op.pairs(lhs.rank, rhs.rank):
        sizes[a] = b.size(rhs, like)
    return b.Expand(lhs, b.dims(*sizes))


@to_onnx("tile")
def _(b, op, data):
    reps = op.aligned(data.rank)
    data = b.unsqueeze(data, range(len(reps) - data.rank))
    return b.Tile(data, list(reps)) if reps else b.Identity(data)


@to_onnx("repeat")
def _(b, op, data):
    if op.repeats == 0:
        return b.Identity(b.const(np.empty((0,), data.dtype)))
    if data.rank == 0:
        return b.Expand(data, [op.repeats])
    shape, axis = data.shape, 0 if op.axis is None else op.axis % data.rank
    if op.axis is None:
        data, shape = b.reshape(data, [-1]), (UNKNOWN,)
    # every number along a new axis, which is then merged with the one before it
    wide = b.Tile(b.unsqueeze(data, [axis + 1]), [op.repeats if a == axis + 1 else 1 for a in range(len(shape) + 1)])
    wide.shape = (*shape[: axis + 1], op.repeats, *shape[axis + 1 :])
    own = sizes_of(wide.shape)
    return reshaped(b, wide, [*own[:axis], own[axis].times(own[axis + 1]), *own[axis + 2 :]])


@to_onnx("Pad")
def _(b, op, data):
    before, after = zip(*op.pairs())
    value = op.constant_value if op.mode == "constant" and op.constant_value else None
    return b.Pad(data, [*before, *after], value, mode=op.mode)


@to_onnx("_npi_pad")
def _(b, op, data):
    if op.mode in ("constant", "edge"):
        before, after = zip(*op.pad_width)
        value = op.constant_value if op.mode == "constant" and op.constant_value else None
        return b.Pad(data, [*before, *after], value, mode=op.mode)
    rank = data.rank
    for axis, pair in enumerate(op.pad_width):
        if not any(pair):
            continue
        if op.mode in ("maximum", "minimum"):
            best = b.reduce(op.mode.capitalize()[:3], data, [axis], keepdims=True)
            sides = [b.Tile(best, [n if a == axis else 1 for a in range(rank)]) for n in pair]
            data_parts = [part for n, part in ((pair[0], sides[0]), (1, data), (pair[1], sides[1])) if n]
            static, data = data.shape, b.Concat(*data_parts, axis=axis)
            data.shape = static
        else:
            places = np.pad(np.arange(data.dim(axis)), pair, op.mode)
            static, data = data.shape, b.Gather(data, b.const(places), axis=axis)
            data.shape = static
    return b.Identity(data) if not any(map(any, op.pad_width)) else data
