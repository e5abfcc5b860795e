"""Pooling over regions of interest as MaxRoiPool and RoiAlign (which onnxruntime has up to opset 21), else region by region."""

import math

import numpy as np

from hybrid.core.op import Spec

from ..builder import Value
from ..registry import exports, imports
from .detection import split_coordinates
from .sampling import neighbours


def regions(b, rois):
    """Indices (R,) int64 with negative ones made 0, whether they were not negative (R, 1, 1, 1), and corners (R, 4)."""
    index = b.cast(b.Gather(rois, 0, axis=1), np.int64)
    real = b.reshape(b.GreaterOrEqual(index, 0), [-1, 1, 1, 1])
    return b.Max(index, b.const(0)), real, b.slice(rois, [1], [5], [1])


def one_more(b, rois):
    """Regions with one that nobody asked for last: Scan wants some. Its result is taken off again by ``drop_last_region``."""
    return b.Concat(rois, b.like(np.zeros((1, rois.dim(1))), rois), axis=0)


def drop_last_region(b, y):
    """Cut off the last region of what was pooled; see ``one_more``."""
    return b.slice(y, [0], [-1], [0])


@exports("ROIPooling")
def export_roi_pooling(b, op, data, rois):
    index, real, corners = regions(b, rois)
    boxes = b.Concat(b.cast(b.unsqueeze(index, [1]), rois.dtype), corners, axis=1)
    y = b.MaxRoiPool(data, boxes, pooled_shape=list(op.pooled_size), spatial_scale=op.spatial_scale)
    return b.Where(real, y, 0)


@exports("ROIPooling", since=22)
def export_roi_pooling_since_22(b, op, data, rois):
    maps, channels = b.wide(data), data.dim(1)
    sizes = b.size(data, 2), b.size(data, 3)
    index, real, corners = regions(b, b.wide(one_more(b, rois)))
    corners = b.Mul(corners, op.spatial_scale)
    half = b.Where(b.Less(corners, 0), b.like(-0.5, corners), 0.5)
    low, high = split_coordinates(b, b.cast(b.cast(b.Add(corners, half), np.int64), maps.dtype))  # cut off
    steps = b.Div(b.Max(b.Add(b.Sub(high, low), 1), b.like(1, maps)), b.like(op.pooled_size[::-1], maps))
    masks = [belonging(b, low, steps, 1 - axis, op.pooled_size[axis], sizes[axis], whole=True) for axis in (0, 1)]

    def region(inner, index, rows, columns):
        values, least = inner.Gather(maps, index, axis=0), inner.like(-np.inf, maps)
        values = inner.Where(columns, inner.unsqueeze(values, [2]), least)  # C, H, cells, W
        values = inner.reduce("Max", values, [3], keepdims=False)
        values = inner.Where(inner.unsqueeze(rows, [2]), inner.unsqueeze(values, [1]), least)  # C, cells, H, cells
        values = inner.reduce("Max", values, [2], keepdims=False)
        some = [inner.reduce("Max", inner.cast(m, np.int32), [1], keepdims=False) for m in (rows, columns)]
        there = inner.Greater(inner.Mul(inner.unsqueeze(some[0], [1]), some[1]), 0)
        return [Value(inner.Where(there, values, 0).name, (channels, *op.pooled_size), maps.dtype)]

    body = b.body(region, Spec((), np.dtype(np.int64)), np.bool_, np.bool_)
    return drop_last_region(b, b.Where(real, b.Scan(index, *masks, body=body, num_scan_inputs=3), 0))


@exports("_contrib_ROIAlign")
def export_contrib_roi_align(b, op, data, rois):
    if op.aligned and not b.since(16):  # RoiAlign has no half-pixel centres
        return _align_regions(b, op, data, rois)
    index, real, corners = regions(b, rois)
    height, width = op.pooled_size
    mode = (
        {"coordinate_transformation_mode": "half_pixel" if op.aligned else "output_half_pixel"} if b.opset >= 16 else {}
    )
    y = b.RoiAlign(
        data,
        corners,
        index,
        mode="avg",
        output_height=height,
        output_width=width,
        sampling_ratio=max(op.sample_ratio, 0),
        spatial_scale=op.spatial_scale,
        **mode,
    )
    return b.Where(real, _own_cells(b, op, y), 0)


@exports("_contrib_ROIAlign", since=22)
def _align_regions(b, op, data, rois):
    """Region by region: two matrices that interpolate and average, along rows and along columns."""
    maps, channels = b.wide(data), data.dim(1)
    index, real, corners = regions(b, b.wide(one_more(b, rois)))
    corners = b.Mul(corners, float(np.float32(op.spatial_scale)))
    corners = b.Sub(corners, 0.5) if op.aligned else corners

    def region(inner, index, corners):
        low, high = (inner.slice(corners, [i], [i + 2], [0]) for i in (0, 2))
        sides = inner.Sub(high, low)
        sides = sides if op.aligned else inner.Max(sides, inner.like(1, sides))
        weights = []
        for axis, cells in enumerate(op.pooled_size):
            start, side = (inner.Gather(v, [1 - axis], axis=0) for v in (low, sides))  # (1,)
            cell = inner.Div(side, cells)
            count = inner.like([op.sample_ratio], side) if op.sample_ratio > 0 else inner.Ceil(cell)
            ticks = inner.cast(inner.Range(0, inner.squeeze(inner.cast(count, np.int64), [0]), 1), side.dtype)
            within = inner.Div(inner.Mul(inner.Add(ticks, 0.5), cell), count)
            first = inner.Add(inner.Mul(inner.like(np.arange(cells)[:, None], side), cell), start)
            size = b.size(data, 2 + axis)
            pairs, _ = neighbours(inner, inner.Add(first, within), size, least=-1.0, most=0.0)
            total = None
            for pixel, weight in pairs:  # cells, samples
                hit = inner.Equal(inner.unsqueeze(pixel, [2]), inner.counting(size))
                part = inner.reduce("Sum", inner.Where(hit, inner.unsqueeze(weight, [2]), 0), [1], keepdims=False)
                total = part if total is None else inner.Add(total, part)
            weights.append(inner.Div(total, count))
        rows, columns = weights
        image = inner.Gather(maps, index, axis=0)
        y = inner.MatMul(inner.MatMul(rows, image), inner.transpose(columns, [1, 0]))
        return [Value(y.name, (channels, *op.pooled_size), maps.dtype)]

    body = b.body(region, Spec((), np.dtype(np.int64)), Spec((4,), corners.dtype))
    y = b.Scan(index, corners, body=body, num_scan_inputs=2)
    return drop_last_region(b, b.Where(real, _own_cells(b, op, y), 0))


def _own_cells(b, op, y):
    """With position_sensitive cell p of every group of channels, read from channel p."""
    if not op.position_sensitive:
        return y
    cells = math.prod(op.pooled_size)
    y = b.Gather(b.reshape(y, [0, -1, cells * cells]), np.arange(cells) * (cells + 1), axis=2)
    return b.reshape(y, [0, 0, *op.pooled_size])


def belonging(b, low, steps, axis, cells, size, *, whole=False):
    """True for the pixels along an axis that belong to a cell of a region: (R, cells, size) bool.

    low, steps: where regions start, and how large their cells are, (R, 2) as x, y; axis: 0 or 1 of them. whole: cells are rounded
    outwards before the start (which is whole) is added, else after."""
    start, step = (b.slice(v, [axis], [axis + 1], [1]) for v in (low, steps))
    ends = []
    for i, round_ in enumerate((b.Floor, b.Ceil)):
        reach = b.Mul(b.like(np.arange(cells) + i, step), step)
        end = b.Add(round_(reach), start) if whole else round_(b.Add(reach, start))
        ends.append(b.unsqueeze(end, [2]))
    pixels = b.cast(b.counting(size), step.dtype)
    return b.And(b.GreaterOrEqual(pixels, ends[0]), b.Less(pixels, ends[1]))


@exports("_contrib_PSROIPooling")
def export_contrib_psroi_pooling(b, op, data, rois):
    cells, groups = op.pooled_size, op.group_size or op.pooled_size
    sizes = b.size(data, 2), b.size(data, 3)
    maps = b.wide(data)
    maps = b.reshape(maps, b.dims(b.size(data, 0), op.output_dim, groups, groups, *sizes))
    for axis in (2, 3) if groups != cells else ():
        maps = b.Gather(maps, np.arange(cells) * groups // cells, axis=axis)
    index, real, corners = regions(b, one_more(b, rois))
    half = b.Where(b.Less(corners, 0), b.like(-0.5, corners), 0.5)
    corners = b.Add(b.cast(b.Add(corners, half), np.int64), [0, 0, 1, 1])
    low, high = split_coordinates(b, b.Mul(b.cast(corners, data.dtype), op.spatial_scale))
    steps = b.Div(b.Max(b.Sub(high, low), b.like(0.1, data)), cells)
    masks = [belonging(b, low, steps, 1 - axis, cells, sizes[axis]) for axis in (0, 1)]

    def region(inner, index, rows, columns):
        mask = inner.And(inner.unsqueeze(rows, [1, 3]), inner.unsqueeze(columns, [0, 2]))  # cells, cells, H, W
        values = inner.Where(mask, inner.Gather(maps, index, axis=0), 0)
        total = inner.reduce("Sum", values, [3, 4], keepdims=False)
        count = inner.reduce("Sum", inner.cast(mask, maps.dtype), [2, 3], keepdims=False)
        means = inner.Where(inner.Equal(count, 0), 0, inner.Div(total, count))
        return [Value(means.name, (op.output_dim, cells, cells), maps.dtype)]  # Scan wants to know

    body = b.body(region, Spec((), index.dtype), np.bool_, np.bool_)
    return drop_last_region(b, b.Where(real, b.Scan(index, *masks, body=body, num_scan_inputs=3), 0))


@imports("MaxRoiPool")
def import_max_roi_pool(g, x, rois, *, pooled_shape, spatial_scale=1.0):
    return g.ROIPooling(x, rois, pooled_size=pooled_shape, spatial_scale=spatial_scale)


@imports("RoiAlign", since=10)
def import_roi_align(
    g, x, rois, batch_indices, *, mode="avg", output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0
):
    # before version 16 pixels count from their corners
    attrs = {
        "mode": mode,
        "output_height": output_height,
        "output_width": output_width,
        "sampling_ratio": sampling_ratio,
        "spatial_scale": spatial_scale,
    }
    return g.passthrough(x, rois, batch_indices, **attrs, coordinate_transformation_mode="output_half_pixel")
