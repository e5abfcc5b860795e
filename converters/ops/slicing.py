"""Parts of arrays as Slice; writing into a part as a scatter to its places."""

from typing import Any

import numpy as np

from hybrid.core.shapes import UNKNOWN
from hybrid.ops.casting import convert
from hybrid.ops.onnx.slicing import cut

from ..error import Unsupported
from ..registry import exports, imports

INT64 = np.iinfo(np.int64)


@exports("slice")
def export_slice(b, op, data):
    starts, ends, axes, steps = [], [], [], []
    for axis, part in enumerate(op.slices(data.rank)):
        step = 1 if part.step is None else part.step
        if part.start is None and part.stop is None and step == 1:
            continue
        forward = step > 0
        size = data.shape[axis]
        if not forward and size is not UNKNOWN and (part.start or 0) < -size:
            part = slice(0, 0)
        end = part.stop if part.stop is not None else INT64.max if forward else INT64.min
        if not forward and size is UNKNOWN and (part.start or 0) < -1:
            ahead = b.Less(b.Add(b.size(data, axis), [part.start]), [0])
            end = b.Where(ahead, [0], [end])  # begins ahead of the first: nothing, while ONNX would begin at the first
        starts.append(part.start if part.start is not None else 0 if forward else INT64.max)
        ends.append(end)
        axes.append(axis)
        steps.append(step)
    return b.slice(data, starts, b.dims(*ends), axes, steps) if axes else b.Identity(data)


@exports("slice_like")
def export_slice_like(b, op, data, like):
    axes = sorted(set(op.along(data.rank, like.rank)))
    return b.slice(data, [0] * len(axes), b.dims(*(b.size(like, a) for a in axes)), axes)


@exports("Crop")
def export_crop(b, op, data, *like):
    starts, ends = [], []
    for axis in (0, 1):
        window = b.size(like[0], 2 + axis) if like else op.h_w[axis]
        size = b.size(data, 2 + axis)
        if not op.center_crop:
            start = op.offset[axis]
            end = start + window if isinstance(window, int) else b.Add(window, [start])
        elif isinstance(window, int) and isinstance(size, int):
            start = op.begins(size, window, axis)
            end = start + window
        else:
            window, size = (b.const([x]) if isinstance(x, int) else x for x in (window, size))
            start = b.Div(b.Sub(size, window), [2])
            end = b.Add(start, window)
        starts.append(start)
        ends.append(end)
    return b.slice(data, b.dims(*starts), b.dims(*ends), [2, 3])


@exports("_slice_assign")
def export_slice_assign(b, op, lhs, rhs):
    places = np.arange(np.prod(lhs.static)).reshape(lhs.static)[op.slices(lhs.rank)]
    flat = b.ScatterElements(b.reshape(lhs, [-1]), b.const(places.ravel()), b.reshape(rhs, [-1]), axis=0)
    return b.reshape(flat, lhs.static)


@exports("_slice_assign_scalar")
def export_slice_assign_scalar(b, op, data):
    inside = np.zeros(data.static, bool)
    inside[op.slices(data.rank)] = True
    return b.Where(b.const(inside), b.const(convert(np.asarray(op.scalar), data.dtype)), data)


FAR = np.iinfo(np.int32).max
"""From here on a number says: to the end."""


@imports("Slice")
def import_slice_first(g, data, *, starts, ends, axes=None):
    return slice_constant(g, data, starts, ends, axes)


@imports("Slice", since=10)
def import_slice_since_10(g, data, starts, ends, axes=None, steps=None):
    inputs = (starts, ends, axes, steps)
    if not all(x is None or x.fixed for x in inputs):
        return g.passthrough(data, *inputs)
    if data.shape is None:
        return g.passthrough(data, *inputs)
    return slice_constant(g, data, *(None if x is None else x.ints() for x in inputs))


def slice_constant(g, data, starts, ends, axes=None, steps=None):
    """The part that ONNX Slice takes, with constant numbers: what lies outside is moved inside."""
    axes = list(range(len(starts)) if axes is None else axes)
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        given = f"starts={starts}, ends={ends}, axes={axes}, steps={steps}"
        raise Unsupported(f"got {given}, wanted equally many and no step of 0")
    if min(axes, default=0) < 0:
        axes = [a + data.rank if a < 0 else a for a in axes]
    if data.shape is not None and axes and not 0 <= min(axes) <= max(axes) < data.rank:
        raise Unsupported(f"got axes {axes} for data of {data.rank} dimensions")
    parts: list[tuple[int | None, int | None, int]] = [(None, None, 1)] * (max(axes, default=-1) + 1)
    for axis, start, end, step in zip(axes, starts, ends, steps):
        size: Any = UNKNOWN if data.shape is None else data.shape[axis]
        if size is not UNKNOWN:
            start, end, _ = cut(start, end, step, size).indices(size)
            if step > 0:
                whole = start == 0 and end == size
                parts[axis] = (None, None, step) if whole else (start, max(start, end), step)
            else:
                part = (None if start == size - 1 else start, None if end < 0 else end, step)
                parts[axis] = (0, 0, 1) if end >= start else part
        elif step > 0:
            parts[axis] = (start if start > -FAR and start != 0 else None, end if end < FAR else None, step)
        elif start < -1:
            return g.passthrough(
                data, *(g.const(n, np.int64) for n in (starts, ends, axes, steps))
            )  # depends on the size
        else:
            parts[axis] = (start if start < FAR else None, end if end > -FAR else None, step)
    while parts and parts[-1] == (None, None, 1):
        parts.pop()
    if not parts:
        return g.apply("_copy", data)
    begin, end, step = zip(*parts)
    return g.slice(data, begin=begin, end=end, step=() if set(step) == {1} else step)


@imports("CenterCropPad", since=18)
def import_center_crop_pad(g, data, shape, *, axes=None):
    return g.passthrough(data, shape, axes=axes)


@imports("Trilu", since=14)
def import_trilu(g, x, k=None, *, upper=1):
    lower = not upper and (k is None or k.fixed) and x.shape is not None and x.rank > 1
    if not lower:
        return g.passthrough(x, k, upper=upper)
    return g.apply("_npi_tril", x, k=0 if k is None else min(max(k.ints()[0], -FAR // 2), FAR // 2))  # MXNet adds to it
