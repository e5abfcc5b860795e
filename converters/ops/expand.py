"""Broadcasts as Expand, repeats as Tile, and pads."""

import numpy as np

from hybrid.core.shapes import UNKNOWN
from hybrid.ops.shape import sizes_of

from ..error import Unsupported
from ..registry import exports, imports
from ..symbolic_shapes import Count, dims, numbers
from .shape import reshape_to


@exports("broadcast_to", "_npi_broadcast_to", "broadcast_axis")
def export_broadcast_to(b, op, data):
    # Expand leaves an axis alone that is asked to have size 1
    return b.Expand(data, [1 if size is None else size for size in op.target_sizes(data.rank)])


@exports("broadcast_like")
def export_broadcast_like(b, op, lhs, rhs):
    sizes = [1] * lhs.rank
    for a, like in op.pairs(lhs.rank, rhs.rank):
        sizes[a] = b.size(rhs, like)
    return b.Expand(lhs, b.dims(*sizes))


@exports("tile")
def export_tile(b, op, data):
    reps = op.pad_reps(data.rank)
    data = b.unsqueeze(data, range(len(reps) - data.rank))
    return b.Tile(data, list(reps)) if reps else b.Identity(data)


@exports("repeat")
def export_repeat(b, op, data):
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
    return reshape_to(b, wide, [*own[:axis], own[axis].times(own[axis + 1]), *own[axis + 2 :]])


@exports("_npi_pad")
def export_npi_pad(b, op, data):
    # ONNX reflects no more than an axis holds; where its size is only known at run time, so does what is written
    far = any(d is not UNKNOWN and max(pair) >= d for d, pair in zip(data.shape or (), op.pad_width) if any(pair))
    if op.mode in ("constant", "edge") or (op.mode == "reflect" and not far):
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


@imports("Expand", since=8)
def import_expand(g, x, shape):
    if not shape.fixed or x.shape is None:
        return expand_computed(g, x, shape)
    wanted = shape.ints()
    if len(wanted) > x.rank or not x.rank:
        # a size of 1 keeps the dim
        old = len(wanted) - x.rank
        return g.apply(
            "_npi_broadcast_to", x, shape=tuple(-2 if d == 1 and i >= old else d for i, d in enumerate(wanted))
        )
    wanted = [1] * (x.rank - len(wanted)) + wanted
    if 0 in wanted:
        return g.apply("_npi_broadcast_to", x, shape=tuple(-2 if d == 1 else d for d in wanted))
    return g.broadcast_to(x, shape=tuple(0 if d == 1 else d for d in wanted))


def expand_computed(g, x, shape):
    """x expanded to a shape that is computed at run time: by MXNet's broadcasts where it is known what that computes
    and an input of the model has those of the sizes that only the run will tell."""
    target, own = numbers(shape), dims(x)
    if target is None or not own or len(target) < len(own):
        return g.passthrough(x, shape)
    new = len(target) - len(own)
    sizes, like = [], {}
    for axis, (size, have) in enumerate(zip(target, (1,) * new + own)):
        sizes.append(0 if isinstance(size, Count) or size == 1 else size)
        if not isinstance(size, Count):
            if size == 0:
                return g.passthrough(x, shape)
            continue
        if have == size or (not isinstance(have, Count) and have != 1):
            continue  # the size is the one that there is, or 1
        owner = (x, own.index(size)) if size in own else g.sized(size, x.dtype)
        if owner is None or isinstance(have, Count):
            return g.passthrough(x, shape)
        like.setdefault(owner[0], []).append((axis, owner[1]))
    out = x
    for _ in range(len(target) - x.rank):
        out = g.expand_dims(out, axis=0)
    if any(sizes):
        out = g.broadcast_to(out, shape=tuple(sizes))
    for other, pairs in like.items():
        axes, others = zip(*pairs)
        out = g.broadcast_like(out, other, lhs_axes=axes, rhs_axes=others)
    return g.apply("_copy", x) if out is x else out


@imports("Tile")
def import_tile_first(g, x, tiles, axis):
    if tiles.const is None or axis.const is None:  # in the dtype of the data
        raise Unsupported("tiles and axis are only known at run time, wanted constants; convert the model to opset 6")
    reps = [1] * x.rank
    reps[x.normalize_axis(int(axis.item()))] = int(tiles.item())
    return g.tile(x, reps=tuple(reps))


@imports("Tile", since=6)
def import_tile_since_6(g, x, repeats):
    return g.tile(x, reps=tuple(repeats.ints())) if repeats.fixed else g.passthrough(x, repeats)


@imports("Pad")
def import_pad_first(g, data, *, paddings, mode="constant", value=0.0):
    return pad(g, data, paddings, mode, value)


@imports("Pad", since=2)
def import_pad_since_2(g, data, *, pads, mode="constant", value=0.0):
    return pad(g, data, pads, mode, value)


@imports("Pad", since=11)
def import_pad_since_11(g, data, pads, constant_value=None, *, mode="constant"):
    return pad_input(g, data, pads, constant_value, None, mode)


@imports("Pad", since=18)
def import_pad_since_18(g, data, pads, constant_value=None, axes=None, *, mode="constant"):
    return pad_input(g, data, pads, constant_value, axes, mode)


def pad_input(g, data, pads, value, axes, mode):
    """Pad with inputs that may be constant."""
    numeric = data.dtype is not None and data.dtype.kind in "fiub"
    fill = 0.0 if value is None else value.item() if value.fixed and numeric else None
    number = None if fill is None else float(fill)
    exact = fill is not None and (
        not isinstance(fill, int) or fill == number
    )  # a whole number may be too large for a float
    if pads.fixed and exact and data.shape is not None and (axes is None or axes.fixed):
        each = pads.ints()
        places = range(data.rank) if axes is None else [data.normalize_axis(a) for a in axes.ints()]
        if len(each) == 2 * len(places):
            whole = np.zeros((2, data.rank), np.int64)
            whole[0, places], whole[1, places] = each[: len(places)], each[len(places) :]
            return pad(g, data, whole.ravel().tolist(), mode, number, value)
    if axes is not None and value is None:
        if data.dtype is None:
            raise Unsupported("the dtype of data is not known, wanted a constant_value")
        value = g.const(np.array("" if data.dtype == object else 0, data.dtype))
    given = [n for n, v in (("constant_value", value), ("axes", axes)) if v is not None]
    return g.apply("_onnx_Pad", *(v for v in (data, pads, value, axes) if v is not None), mode=mode, given=tuple(given))


def pad(g, data, pads, mode, number, value=None):
    """data with constant pads: before all axes, then after them. MXNet's Pad leaves the first two axes of images alone,
    numpy's takes any; neither takes away or wraps round."""
    pads = list(pads)
    if data.shape is not None and len(pads) != 2 * data.rank:
        raise Unsupported(f"got {len(pads)} pads for {data.rank} dimensions, wanted two for each")
    count = len(pads) // 2
    pairs = list(zip(pads[:count], pads[count:]))
    if mode == "constant" and data.shape and min(pads) < 0 and max(pads) <= 0:
        begin, end = (
            tuple(v or None for v in side) for side in ((-before for before, _ in pairs), (after for _, after in pairs))
        )
        return g.slice(data, begin=begin, end=end)
    known = [(d, max(pair)) for d, pair in zip(data.shape or (), pairs) if d is not UNKNOWN]
    short = mode == "reflect" and any(most >= d for d, most in known if most > 0)
    empty = not data.shape or any(d == 0 for d, _ in known)
    kind = "" if data.dtype is None else data.dtype.kind
    numeric = kind and kind in "fiub"
    if min(pads, default=0) < 0 or mode == "wrap" or short or empty or not numeric:
        if value is None:
            if data.dtype is None:
                raise Unsupported("the dtype of data is not known")
            value = g.const(np.array("" if data.dtype == object else number).astype(data.dtype))
        return g.apply(
            "_onnx_Pad", data, g.const(np.array(pads, np.int64)), value, mode=mode, given=("constant_value",)
        )
    if not any(pads):
        return g.apply("_copy", data)
    if count in (4, 5) and not any(map(any, pairs[:2])) and kind == "f":
        return g.Pad(data, mode=mode, pad_width=tuple(n for pair in pairs for n in pair), constant_value=number)
    return g.apply("_npi_pad", data, mode=mode, pad_width=tuple(pairs), constant_value=number)
