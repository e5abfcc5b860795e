"""Reshapes and permutations of axes, exact when the sizes are only known at run time."""

import math
from collections.abc import Sequence

import numpy as np

from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.ops.shape import INFERRED, Size, sizes_of

from ..builder import Builder, Value
from ..error import Unsupported
from ..registry import exports, imports
from ..symbolic_shapes import codes, dims, split_merged, target_dims, whole_shape


def reshape_to(b: Builder, x: Value, sizes: Sequence[Size | Value | None]) -> Value:
    """x with dims that are sizes (of axes of x), Values of length 1, or at most one INFERRED.

    Written with numbers, 0 (ONNX Reshape: this dim of x) and -1 as far as these suffice, else with run-time sizes."""
    own = sizes_of(x.shape or ())
    plain: list[int | None] = []
    for axis, size in enumerate(sizes):
        if isinstance(size, Size) and not size.axes and size.factor != 0:
            plain.append(size.dim)
        elif isinstance(size, Size) and axis < len(own) and size == own[axis]:
            plain.append(0)
        else:
            plain.append(None)
    if plain.count(None) == 1 and not _empty(x):
        plain = [-1 if d is None else d for d in plain]
    if None not in plain:
        return b.reshape(x, [d for d in plain if d is not None])
    parts: list[int | Value] = []
    for size in sizes:
        if size is INFERRED:
            parts.append(-1)
        elif isinstance(size, Value):
            parts.append(size)
        else:
            parts.append(run_time_size(b, x, size))  # type: ignore[arg-type]  # INFERRED is no type to narrow by
    shape = b.dims(*parts)
    if isinstance(shape, list):
        # a size of 0 that is not x's own at this place, which 0 cannot say before opset 14: there is nothing to move
        return b.Identity(b.const(np.empty(shape, x.dtype)))
    # a size that turns out to be 0 is no dim of x at that place; beside a -1 it could not be said
    return b.reshape(x, shape, allowzero=INFERRED not in sizes and b.since(14))


def _empty(x: Value) -> bool:
    return any(d is not UNKNOWN and d == 0 for d in x.shape or ())


def run_time_size(b: Builder, x: Value, size: Size) -> int | Value:
    """A size of axes of x: a number when it is known, else a tensor of length 1."""
    if not size.axes:
        return size.dim
    out = b.shape_of(x, size.axes[0])
    for axis in size.axes[1:]:
        out = b.Mul(out, b.shape_of(x, axis))
    if size.factor.numerator != 1:
        out = b.Mul(out, [size.factor.numerator])
    return out if size.factor.denominator == 1 else b.Div(out, [size.factor.denominator])


@exports("Reshape", "_np_reshape", "_npx_reshape")
def export_reshape(b, op, data):
    return reshape_to(b, data, op.sizes(_shape(data)))


def _shape(x: Value) -> tuple:
    """The shape with dims that may be UNKNOWN. Raises Unsupported when the rank is not known."""
    return () if x.rank == 0 else x.shape  # type: ignore[return-value]  # rank says that it is known


@exports("reshape_like")
def export_reshape_like(b, op, lhs, rhs):
    begin, end = op.span(lhs.rank, op.lhs_begin, op.lhs_end, "lhs")
    first, last = op.span(rhs.rank, op.rhs_begin, op.rhs_end, "rhs")
    sizes = op.sizes(lhs.shape, rhs.shape)
    if not is_known(rhs.shape[first:last]):  # that they follow from lhs holds only where that has elements
        own, theirs = sizes_of(lhs.shape), sizes_of(rhs.shape[first:last])
        like = [b.shape_of(rhs, first + i) if size.axes else size for i, size in enumerate(theirs)]
        sizes = [*own[:begin], *like, *own[end:]]
    return reshape_to(b, lhs, sizes)


@exports("Flatten")
def export_flatten(b, op, data):
    return b.Flatten(data) if data.rank > 1 else reshape_to(b, data, op.sizes(_shape(data)))


@exports("expand_dims")
def export_expand_dims(b, op, data):
    return b.unsqueeze(data, [op.axis % (data.rank + 1)])


@exports("squeeze", "_np_squeeze")
def export_squeeze(b, op, data):
    if op.axis is None and not is_known(data.shape):
        if not op.keeps_one:
            return b.Squeeze(data)
        raise Unsupported("which axes have size 1 is not known with dynamic axes; give squeeze an axis")
    gone = range(data.rank) if op.axis is None else {a % data.rank for a in op.axis}
    axes = [a for a in gone if op.axis is not None or data.dim(a) == 1]
    if op.keeps_one and axes and len(axes) == data.rank:
        return b.reshape(data, [1])
    return b.squeeze(data, sorted(axes)) if axes else b.Identity(data)


@exports("transpose", "_np_transpose", "SwapAxis", "_np_moveaxis")
def export_transpose(b, op, data):
    if data.shape is None and op.name in ("transpose", "_np_transpose"):
        return b.Transpose(data, perm=list(op.axes or ()) or None)
    return b.transpose(data, op.order(data.rank))


@imports("Shape")
def import_shape_first(g, data):
    return shape_of(g, data)


@imports("Shape", since=15)
def import_shape_since_15(g, data, *, start=0, end=None):
    return shape_of(g, data, start, end)


def shape_of(g, data, start=0, end=None):
    """The sizes of data as an int64 tensor, cut as Python does."""
    if data.shape is None:
        return g.passthrough(data, start=start, end=end) if start or end is not None else g.shape_array(data)
    begin, end, _ = slice(start, end).indices(data.rank)
    sizes = g.shape_array(data)
    if begin >= end:
        return g.const(np.zeros(0, np.int64))
    return sizes if (begin, end) == (0, data.rank) else g.slice_axis(sizes, axis=0, begin=begin, end=end)


@imports("Identity")
def import_identity(g, x):
    if x.const is not None and g.outer is None and g.node.output[0] in g.shared.merged:
        return g.own_copy(x, g.node.output[0], weight=x.weight)
    if x.const is not None:
        return x
    made = g.apply("_copy", x)
    made.kind, made.parts = x.kind, x.parts
    return made


@imports("Reshape")
def import_reshape_first(g, data, *, shape=None):
    return reshape(g, data, [0] if shape is None else list(shape))


@imports("Reshape", since=5)
def import_reshape_since_5(g, data, shape):
    return reshape(g, data, shape.ints()) if shape.fixed else reshape_computed(g, data, shape)


@imports("Reshape", since=14)
def import_reshape_since_14(g, data, shape, *, allowzero=0):
    if not shape.fixed:
        return reshape_computed(g, data, shape, allowzero=bool(allowzero))
    return reshape(g, data, shape.ints(), allowzero=bool(allowzero))


def reshape_computed(g, data, shape, **attributes):
    """data in a shape that is computed at run time: by MXNet's codes where it is known what that computes."""
    sizes = target_dims(shape, data)
    found = codes(data, shape, **attributes)
    like = split_merged(data, shape, g.sized) if found is None else None
    if like is not None:
        other, axis, begin, end = like
        apart = g.reshape_like(data, other, lhs_begin=axis, lhs_end=axis + 1, rhs_begin=begin, rhs_end=end)
        own, theirs = dims(data) or (), dims(other) or ()
        apart.dims = (*own[:axis], *theirs[begin:end], *own[axis + 1 :])
        found = codes(apart, shape, **attributes)
        data = data if found is None else apart
    other = whole_shape(shape, data.dtype)
    # beside a -1 a size that the file declares is a size for no other one: what is left goes elsewhere without a word
    if other is not None and (found is None or (-1 in found and any(code > 0 for code in found))):
        result = g.reshape_like(data, other)
    else:
        result = g.passthrough(data, shape, **attributes) if found is None else g.Reshape(data, shape=found)
    if sizes is not None and result.shape is not None:
        result.dims = tuple(s if d is UNKNOWN else d for d, s in zip(result.shape, sizes))
    return result


def reshape(g, data, shape, *, allowzero=False):
    """data in a shape in which one -1 takes what is left and 0, unless it is allowed as a size, keeps the dim.

    These codes mean the same to MXNet's Reshape; sizes of 0, and no sizes at all, only numpy's can say."""
    if any(d < -1 for d in shape) or shape.count(-1) > 1:
        raise Unsupported(f"got shape {shape}, wanted sizes, 0, or one -1")
    if (allowzero and 0 in shape) or not shape:
        return g.apply("_np_reshape", data, newshape=tuple(shape))
    own = data.shape
    if own is not None and (not own or any(d is not UNKNOWN and d == 0 for d in own)):
        kept = [own[i] if d == 0 and i < len(own) else d for i, d in enumerate(shape)]
        if is_known(tuple(kept)):
            return g.apply("_np_reshape", data, newshape=tuple(kept))
    return g.Reshape(data, shape=tuple(shape))


@imports("Flatten")
def import_flatten(g, x, *, axis=1):
    if x.shape is None:
        return g.passthrough(x, axis=axis) if axis != 1 else g.Flatten(x)
    if axis == 1 and x.rank:
        return g.Flatten(x)
    at = axis + x.rank if axis < 0 else axis
    if not 0 <= at <= x.rank:
        raise Unsupported(f"got axis {axis} for {x.rank} dimensions")
    before, after = (math.prod(part) for part in (x.shape[:at], x.shape[at:]))
    if before is not UNKNOWN and after is not UNKNOWN:
        return reshape(g, x, [before, after], allowzero=True)
    for sizes in ([before, -1], [-1, after]):
        if not any(d is UNKNOWN or d == 0 for d in sizes):
            return reshape(g, x, sizes)
    return g.passthrough(x, axis=axis)


@imports("Transpose")
def import_transpose(g, data, *, perm=()):
    return g.transpose(data, axes=tuple(perm))


@imports("Squeeze")
def import_squeeze_first(g, data, *, axes=None):
    return squeeze(g, data, axes)


@imports("Squeeze", since=13)
def import_squeeze_since_13(g, data, axes=None):
    if axes is not None and not axes.fixed:
        return g.passthrough(data, axes)
    return squeeze(g, data, None if axes is None else axes.ints())


def squeeze(g, data, axes):
    """data without axes of size 1, by default without all. MXNet's squeeze always leaves one axis, numpy's does not."""
    if axes is None and is_known(data.shape):
        axes = [a for a, d in enumerate(data.shape) if d == 1]
    if axes is not None and not len(axes):
        return g.apply("_copy", data)
    if axes is not None and data.shape is None:
        return g.apply("_onnx_Squeeze", data, g.const(np.array(axes, np.int64)), given=("axes",))
    name = "_np_squeeze" if axes is None or len(axes) == data.rank else "squeeze"
    return g.apply(name, data, axis=None if axes is None else tuple(axes))


@imports("Unsqueeze")
def import_unsqueeze_first(g, data, *, axes):
    return unsqueeze(g, data, axes)


@imports("Unsqueeze", since=13)
def import_unsqueeze_since_13(g, data, axes):
    return unsqueeze(g, data, axes.ints()) if axes.fixed else g.passthrough(data, axes)


def unsqueeze(g, data, axes):
    """data with new axes of size 1 at the places of the result."""
    axes = list(axes)
    if not axes:
        return g.apply("_copy", data)
    if data.shape is None:
        return g.apply("_onnx_Unsqueeze", data, g.const(np.array(axes, np.int64)))
    if len(axes) > 1 and min(axes) < 0:
        axes = [a % (data.rank + len(axes)) for a in axes]
    if len(set(axes)) < len(axes):
        raise Unsupported(f"got axes {axes}, wanted each once")
    for axis in sorted(axes):
        data = g.expand_dims(data, axis=axis)
    return data
