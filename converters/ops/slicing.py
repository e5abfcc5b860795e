"""Parts of arrays as Slice; writing into a part as a scatter to its places."""

import numpy as np

from ..registry import to_onnx

INT64 = np.iinfo(np.int64)


@to_onnx("slice")
def _(b, op, data):
    starts, ends, axes, steps = [], [], [], []
    for axis, part in enumerate(op.slices(data.rank)):
        step = 1 if part.step is None else part.step
        if part.start is None and part.stop is None and step == 1:
            continue
        forward = step > 0
        starts.append(part.start if part.start is not None else 0 if forward else INT64.max)
        ends.append(part.stop if part.stop is not None else INT64.max if forward else INT64.min)
        axes.append(axis)
        steps.append(step)
    return b.slice(data, starts, ends, axes, steps) if axes else b.Identity(data)


@to_onnx("slice_axis")
def _(b, op, data):
    return b.slice(data, [op.begin], [INT64.max if op.end is None else op.end], [op.axis % data.rank])


@to_onnx("slice_like")
def _(b, op, data, like):
    axes = sorted(set(op.along(data.rank, like.rank)))
    return b.slice(data, [0] * len(axes), b.dims(*(b.size(like, a) for a in axes)), axes)


@to_onnx("Crop")
def _(b, op, data, *like):
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


@to_onnx("_slice_assign")
def _(b, op, lhs, rhs):
    places = np.arange(np.prod(lhs.static)).reshape(lhs.static)[op.slices(lhs.rank)]
    flat = b.ScatterElements(b.reshape(lhs, [-1]), b.const(places.ravel()), b.reshape(rhs, [-1]), axis=0)
    return b.reshape(flat, lhs.static)


@to_onnx("_slice_assign_scalar")
def _(b, op, data):
    inside = np.zeros(data.static, bool)
    inside[op.slices(data.rank)] = True
    return b.Where(b.const(inside), b.like(op.scalar, data), data)
