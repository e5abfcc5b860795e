"""Gather and Scatter with MXNet's positions: floats cut to integers, and those outside moved inside first."""

import numpy as np

from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.ir.strict import POSITIONS, STRICT, is_strict

from ..builder import Builder, Value
from ..error import Unsupported
from ..registry import exports, imports


def positions(b: Builder, x: Value) -> Value:
    """Positions as int64; Cast cuts fractions off."""
    return b.cast(x, np.int64)


def inside(b: Builder, where: Value, data: Value, axis: int, mode: str) -> Value:
    """int64 positions moved inside an axis of data; with mode raise they are inside, and with clip where no guards are wanted."""
    size = b.size(data, axis)
    if mode == "raise" or (mode == "clip" and b.forms.nan_guards is False):
        return where
    if isinstance(size, Value) and where.shape == ():
        size = b.squeeze(size, [0])
    if mode == "wrap":
        # the rest has the sign of the divisor; an axis without elements, which nothing reads, divides too
        return b.Mod(where, max(size, 1) if isinstance(size, int) else b.Max(size, 1))
    if isinstance(size, int):
        return b.Clip(where, 0, size - 1)
    return b.Max(b.Min(where, b.Sub(size, b.const(1) if where.shape == () else [1])), 0)


@exports("take")
def export_take(b, op, a, indices):
    axis = op.axis if a.shape is None else op.axis % a.rank
    where = positions(b, indices)
    # ONNX's own rule, which counts negative ones from the end since opset 11, is what strict ones want
    if b.opset < 11 or b.origin is None or not is_strict(b.origin[0]):
        where = inside(b, where, a, axis, op.mode)
    return b.Gather(a, where, axis=axis)


@exports("Embedding", "_contrib_SparseEmbedding")
def export_embedding(b, op, data, weight):
    return b.Gather(weight, inside(b, positions(b, data), weight, 0, "clip"), axis=0)


@exports("pick")
def export_pick(b, op, data, index):
    axis = op.along(data.rank)
    where = inside(b, positions(b, index), data, axis, op.mode)
    picked = b.GatherElements(data, where if index.rank == data.rank else b.unsqueeze(where, [axis]), axis=axis)
    return picked if op.keepdims or data.rank == 1 else b.squeeze(picked, [axis])


def columns(b: Builder, indices: Value) -> Value:
    """Positions with the coordinates along the last axis, as ONNX has them."""
    return b.transpose(positions(b, indices), [*range(1, indices.rank), 0])


@exports("gather_nd")
def export_gather_nd(b, op, data, indices):
    return b.GatherND(data, columns(b, indices))


@exports("scatter_nd")
def export_scatter_nd(b, op, data, indices):
    return b.ScatterND(b.const(np.zeros(op.shape, data.dtype)), columns(b, indices), data)


@exports("_scatter_set_nd")
def export_scatter_set_nd(b, op, lhs, rhs, indices):
    return b.ScatterND(lhs, columns(b, indices), rhs)


@exports("fill_element_0index")
def export_fill_element_0index(b, op, lhs, mhs, rhs):
    return b.ScatterElements(lhs, b.unsqueeze(positions(b, rhs), [1]), b.unsqueeze(mhs, [1]), axis=1)


@exports("_contrib_index_copy")
def export_contrib_index_copy(b, op, old, index, new):
    return b.ScatterND(old, b.unsqueeze(positions(b, index), [1]), new)


@exports("one_hot")
def export_one_hot(b, op, indices):
    # not OneHot: it counts negative positions from behind
    hit = b.Equal(b.unsqueeze(positions(b, indices), [indices.rank]), b.const(np.arange(op.depth)))
    on, off = np.array([op.on_value, op.off_value]).astype(op.dtype)
    return b.Where(hit, b.const(on), b.const(off))


@exports("_ravel_multi_index")
def export_ravel_multi_index(b, op, data):
    steps = b.Mul(positions(b, data), b.const(np.array(op.strides())[:, None]))
    return b.reduce("Sum", steps, [0], keepdims=False)


@exports("_unravel_index")
def export_unravel_index(b, op, data):
    left, out = positions(b, data), []
    for size in op.shape[:0:-1]:
        shorter = b.Div(left, size)
        out.append(b.Sub(left, b.Mul(shorter, size)))
        left = shorter
    return b.Concat(*(b.unsqueeze(x, [0]) for x in (left, *out[::-1])), axis=0)


@exports("_contrib_index_array")
def export_contrib_index_array(b, op, data):
    chosen = op.chosen(data.rank)
    if all(d is not UNKNOWN for d in data.shape):
        grid = np.indices(data.shape)[chosen]
        return b.Identity(b.const(np.moveaxis(grid, 0, -1).astype(np.int64)))
    # the coordinates of the places that hold 1, which are all
    shape = b.shape_of(data)
    everywhere = b.Expand(b.const(np.ones((), np.int64)), shape)
    places = b.Transpose(b.NonZero(everywhere), perm=[1, 0])
    return b.reshape(b.Gather(places, b.const(chosen), axis=1), b.dims(shape, len(chosen)))


@exports("_contrib_boolean_mask")
def export_contrib_boolean_mask(b, op, data, index):
    return b.Compress(data, b.cast(index, np.bool_), axis=0)


@exports("_np_cumsum")
def export_np_cumsum(b, op, a):
    x = b.cast(a, op.infer_type(a.dtype))
    if op.axis is None:
        x = b.reshape(x, [-1])
    y = b.CumSum(b.wide(x), b.const(np.array(0 if op.axis is None else op.axis % a.rank)))  # no float16 before opset 14
    return b.cast(y, x.dtype)


@imports("Gather")
def import_gather(g, data, indices, *, axis=0):
    if not indices.fixed or data.shape is None:
        # negative positions count from behind, which is what going round and round does with them
        return g.take(data, indices, axis=axis, mode="wrap", **{POSITIONS: STRICT})
    at = axis + data.rank if axis < 0 else axis
    if not 0 <= at < data.rank:
        raise Unsupported(f"got axis {axis} for {data.rank} dimensions")
    size, where = data.shape[at], indices.const
    low, high = (int(where.min()), int(where.max())) if where.size else (0, -1)
    if size is not UNKNOWN and (low < -size or high >= size):
        raise Unsupported(f"got indices from {low} to {high} for axis {axis} of size {size}")
    if not where.ndim:
        one = g.slice_axis(data, axis=at, begin=low, end=low + 1 if low != -1 else None)
        return g.apply("squeeze" if data.rank > 1 else "_np_squeeze", one, axis=(at,))
    if size is not UNKNOWN:
        return g.take(data, g.const(where % size if size else where), axis=at)
    return g.take(data, g.const(where), axis=at, mode="wrap", **{POSITIONS: STRICT})


@imports("GatherND", since=11)
def import_gather_nd_since_11(g, data, indices):
    return gather_nd(g, data, indices)


@imports("GatherND", since=12)
def import_gather_nd_since_12(g, data, indices, *, batch_dims=0):
    return g.passthrough(data, indices, batch_dims=batch_dims) if batch_dims else gather_nd(g, data, indices)


def gather_nd(g, data, indices):
    """Parts of data by coordinates along the last axis of indices; MXNet has them along the first."""
    if indices.shape is None:
        return g.apply("_onnx_GatherND", data, indices)
    turned = g.transpose(indices, axes=(indices.rank - 1, *range(indices.rank - 1))) if indices.rank > 1 else indices
    return g.gather_nd(data, turned)


@imports("Compress", since=9)
def import_compress(g, data, condition, *, axis=None):
    rows, marks = (x.shape[0] if x.shape else UNKNOWN for x in (data, condition))
    if data.shape and axis in (0, -data.rank) and is_known((rows, marks)) and rows == marks:
        return g.apply("_contrib_boolean_mask", data, condition)
    return g.passthrough(data, condition, axis=axis)  # MXNet's takes rows, and a mark for each of them
