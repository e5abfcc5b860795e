"""Pooling over regions whose cells are moved or turned, as points that are gathered pixel by pixel."""

import numpy as np

from hybrid.core.op import Spec

from ..builder import Value
from ..registry import exports
from .detection import split_coordinates
from .roi import drop_last_region, one_more, regions
from .sampling import interpolate, neighbours, pixels, product


@exports("_contrib_DeformablePSROIPooling")
def export_contrib_deformable_psroi_pooling(b, op, data, rois, trans=None):
    cells, groups, samples = op.pooled_size, op.group_size, op.sample_per_part
    classes = 1 if trans is None else trans.dim(1) // 2
    maps, places = b.wide(data), b.wide(rois)
    index, real, corners = regions(b, places)
    half = b.Where(b.Less(corners, 0), b.like(-0.5, corners), 0.5)
    corners = b.Add(b.cast(b.Add(corners, half), np.int64), [0, 0, 1, 1])
    scale = float(np.float32(op.spatial_scale))
    low, high = split_coordinates(b, b.Sub(b.Mul(b.cast(corners, places.dtype), scale), 0.5))
    size = b.Max(b.Sub(high, low), b.like(0.1, places))
    cell = b.Div(size, cells)
    step = b.Div(cell, samples)
    part = op.cells(places.dtype, op.parts)

    def along(axis):
        """The points' neighbours along x (0) or y (1), and which points count: (R, classes, P, P, S, S), broadcast."""
        start, sides, wide, apart = (b.slice(v, [axis], [axis + 1], [1]) for v in (low, size, cell, step))  # R, 1
        steps = np.arange(cells).reshape([(1, 1, 1, -1), (1, 1, -1, 1)][axis])
        first = b.Add(b.Mul(b.like(steps, places), b.unsqueeze(wide, [2, 3])), b.unsqueeze(start, [2, 3]))
        if trans is not None:
            moves = b.Gather(b.reshape(b.wide(trans), [0, classes, 2, op.parts, op.parts]), axis, axis=2)
            moves = b.Mul(b.Gather(b.Gather(moves, part, axis=2), part, axis=3), float(np.float32(op.trans_std)))
            first = b.Add(first, b.Mul(moves, b.unsqueeze(sides, [2, 3])))
        inner = b.unsqueeze(b.Mul(b.like(np.arange(samples), places), apart), [1, 2, 3])  # R, 1, 1, 1, S
        points = b.unsqueeze(b.Add(b.unsqueeze(first, [4]), inner), [4 + axis])
        return neighbours(b, points, b.size(data, 3 - axis), least=-0.5, most=-0.5)

    (rows, above), (columns, beside) = along(1), along(0)
    inside = b.cast(b.And(above, beside), maps.dtype)
    count = b.Max(b.reduce("Sum", inside, [4, 5], keepdims=False), b.like(1, maps))
    listed = b.reshape(maps, b.dims(0, classes, op.output_dim // classes, groups**2, -1))
    listed = b.reshape(b.transpose(listed, [0, 1, 3, 4, 2]), [-1, op.output_dim // classes])
    group = op.groups()
    plane = np.arange(classes).reshape(-1, 1, 1) * groups**2 + group[:, None] * groups + group
    plane = b.Add(b.Mul(b.unsqueeze(index, [1, 2, 3]), classes * groups**2), plane)
    first = b.unsqueeze(b.Mul(plane, product(b, b.size(data, 2), b.size(data, 3))), [4, 5])
    total = b.reduce("Sum", interpolate(b, listed, first, rows, columns, b.size(data, 3)), [4, 5], keepdims=False)
    means = b.transpose(b.Div(total, b.unsqueeze(count, [4])), [0, 1, 4, 2, 3])
    return b.Where(real, b.reshape(means, [0, op.output_dim, cells, cells]), 0)


@exports("_contrib_RROIAlign")
def export_contrib_rroi_align(b, op, data, rois):
    channels, places = data.dim(1), b.wide(rois)
    maps = pixels(b, b.wide(data), channels)
    sizes = b.size(data, 2), b.size(data, 3)
    area = product(b, *sizes)
    scale = float(np.float32(op.spatial_scale))

    def pooled(b, places):
        index, real, numbers = regions(b, places)
        x, y, wide, high = (b.slice(b.Mul(numbers, scale), [i], [i + 1], [1]) for i in range(4))  # R, 1 each
        angle = b.unsqueeze(b.Mul(b.slice(places, [5], [6], [1]), np.pi / 180), [2, 3, 4])
        turn = b.Cos(angle), b.Sin(angle)
        along = []
        for side, cells, spread in ((high, op.pooled_size[0], [2, 4]), (wide, op.pooled_size[1], [1, 3])):
            side = b.Max(side, b.like(1, side))
            cell = b.Div(side, cells)
            if op.sampling_ratio > 0:
                inner, count = b.like(np.arange(op.sampling_ratio) + 0.5, side), op.sampling_ratio
            else:  # one region at a time: see below
                count = b.Ceil(cell)
                inner = b.Add(b.cast(b.counting(b.reshape(b.cast(count, np.int64), [1])), side.dtype), 0.5)
            inner = b.unsqueeze(b.Div(b.Mul(inner, cell), count), [1])  # R, 1, S
            starts = b.Add(b.Div(side, -2), b.Mul(b.like(np.arange(cells), side), cell))
            along.append(b.unsqueeze(b.Add(b.unsqueeze(starts, [2]), inner), spread))  # R, P, 1, S, 1
        yy, xx = along
        x, y = (b.unsqueeze(v, [2, 3, 4]) for v in (x, y))
        across = b.Add(b.Add(b.Mul(xx, turn[0]), b.Mul(yy, turn[1])), x)
        down = b.Add(b.Sub(b.Mul(yy, turn[0]), b.Mul(xx, turn[1])), y)
        (rows, _), (columns, _) = (
            neighbours(b, p, n, least=-1.0, most=0.0) for p, n in ((down, sizes[0]), (across, sizes[1]))
        )
        # a point has to lie inside along both axes: weights outside are 0
        first = b.unsqueeze(b.Mul(index, area), [1, 2, 3, 4])
        means = b.reduce("Mean", interpolate(b, maps, first, rows, columns, sizes[1]), [3, 4], keepdims=False)
        return b.Where(real, b.transpose(means, [0, 3, 1, 2]), 0)

    if op.sampling_ratio > 0:
        return pooled(b, places)

    def each(inner, row):
        found = inner.squeeze(pooled(inner, inner.unsqueeze(row, [0])), [0])
        return [Value(found.name, (channels, *op.pooled_size), maps.dtype)]

    body = b.body(each, Spec((6,), places.dtype))
    return drop_last_region(b, b.Scan(b.wide(one_more(b, rois)), body=body, num_scan_inputs=1))
