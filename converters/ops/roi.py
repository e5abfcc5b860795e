"""Pooling over regions of interest as MaxRoiPool and RoiAlign (which onnxruntime has up to opset 21), and as Scan."""

import math

import numpy as np

from hybrid.op import Spec

from ..builder import Value
from ..error import Unsupported
from ..registry import from_onnx, to_onnx
from .detection import halves


def regions(b, rois):
    """Indices (R,) int64 with negative ones made 0, whether they were not negative (R, 1, 1, 1), and corners (R, 4)."""
    index = b.cast(b.Gather(rois, 0, axis=1), np.int64)
    real = b.unsqueeze(b.GreaterOrEqual(index, 0), [1, 2, 3])
    return b.Max(index, b.const(0)), real, b.slice(rois, [1], [5], [1])


@to_onnx("ROIPooling")
def _(b, op, data, rois):
    index, real, corners = regions(b, rois)
    boxes = b.Concat(b.cast(b.unsqueeze(index, [1]), rois.dtype), corners, axis=1)
    y = b.MaxRoiPool(data, boxes, pooled_shape=list(op.pooled_size), spatial_scale=op.spatial_scale)
    return b.Where(real, y, 0)


@to_onnx("_contrib_ROIAlign")
def _(b, op, data, rois):
    if op.aligned and b.opset < 16:
        raise Unsupported(
            f"attribute aligned=True: RoiAlign has no half-pixel centres at opset {b.opset}; use 16 to 21"
        )
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
    if op.position_sensitive:  # cell p of every group of channels is read from channel p
        cells = math.prod(op.pooled_size)
        y = b.Gather(b.reshape(y, [0, -1, cells * cells]), np.arange(cells) * (cells + 1), axis=2)
        y = b.reshape(y, [0, 0, height, width])
    return b.Where(real, y, 0)


@to_onnx("_contrib_PSROIPooling")
def _(b, op, data, rois):
    cells, groups = op.pooled_size, op.group_size or op.pooled_size
    sizes = b.size(data, 2), b.size(data, 3)
    maps = b.wide(data)
    maps = b.reshape(maps, b.dims(b.size(data, 0), op.output_dim, groups, groups, *sizes))
    for axis in (2, 3) if groups != cells else ():
        maps = b.Gather(maps, np.arange(cells) * groups // cells, axis=axis)
    corners = b.slice(rois, [1], [5], [1])
    half = b.Where(b.Less(corners, 0), b.like(-0.5, corners), 0.5)
    corners = b.Add(b.cast(b.Add(corners, half), np.int64), [0, 0, 1, 1])
    low, high = halves(b, b.Mul(b.cast(corners, data.dtype), op.spatial_scale))
    steps = b.Div(b.Max(b.Sub(high, low), b.like(0.1, data)), cells)

    def inside(axis, size):
        """Which of the pixels along an axis belong to which cell: (R, cells, size) bool."""
        start, step = (b.slice(v, [axis], [axis + 1], [1]) for v in (low, steps))
        first, last = (b.Add(b.Mul(b.like(np.arange(cells) + i, data), step), start) for i in (0, 1))
        pixels = b.cast(b.counting(size), data.dtype)
        after = b.GreaterOrEqual(pixels, b.unsqueeze(b.Floor(first), [2]))
        return b.And(after, b.Less(pixels, b.unsqueeze(b.Ceil(last), [2])))

    def region(inner, index, rows, columns):
        mask = inner.And(inner.unsqueeze(rows, [1, 3]), inner.unsqueeze(columns, [0, 2]))  # cells, cells, H, W
        values = inner.Where(mask, inner.Gather(maps, index, axis=0), 0)
        total = inner.reduce("Sum", values, [3, 4], keepdims=False)
        count = inner.reduce("Sum", inner.cast(mask, maps.dtype), [2, 3], keepdims=False)
        means = inner.Where(inner.Equal(count, 0), 0, inner.Div(total, count))
        return [Value(means.name, (op.output_dim, cells, cells), maps.dtype)]  # Scan wants to know

    index = b.cast(b.Gather(rois, 0, axis=1), np.int64)
    body = b.body(region, Spec((), index.dtype), np.bool_, np.bool_)
    return b.Scan(index, inside(1, sizes[0]), inside(0, sizes[1]), body=body, num_scan_inputs=3)


@from_onnx("MaxRoiPool")
def _(g, x, rois, *, pooled_shape, spatial_scale=1.0):
    return g.ROIPooling(x, rois, pooled_size=pooled_shape, spatial_scale=spatial_scale)


@from_onnx("RoiAlign", since=10)
def _(g, x, rois, batch_indices, **attrs):
    # before version 16 pixels count from their corners
    return g.itself(x, rois, batch_indices, **attrs, coordinate_transformation_mode="output_half_pixel")
