"""Pooling over regions of interest as MaxRoiPool and RoiAlign (which onnxruntime has up to opset 21)."""

import math

import numpy as np

from ..error import Unsupported
from ..registry import not_exported, to_onnx


def _regions(b, rois):
    """Indices (R,) int64 with negative ones made 0, whether they were not negative (R, 1, 1, 1), and corners (R, 4)."""
    index = b.cast(b.Gather(rois, 0, axis=1), np.int64)
    real = b.unsqueeze(b.GreaterOrEqual(index, 0), [1, 2, 3])
    return b.Max(index, b.const(0)), real, b.slice(rois, [1], [5], [1])


@to_onnx("ROIPooling")
def _(b, op, data, rois):
    index, real, corners = _regions(b, rois)
    regions = b.Concat(b.cast(b.unsqueeze(index, [1]), rois.dtype), corners, axis=1)
    y = b.MaxRoiPool(data, regions, pooled_shape=list(op.pooled_size), spatial_scale=op.spatial_scale)
    return b.Where(real, y, 0)


@to_onnx("_contrib_ROIAlign")
def _(b, op, data, rois):
    if op.aligned and b.opset < 16:
        raise Unsupported(
            f"attribute aligned=True: RoiAlign has no half-pixel centres at opset {b.opset}; use 16 to 21"
        )
    index, real, corners = _regions(b, rois)
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


not_exported(
    "ONNX has no position-sensitive pooling over whole cells; _contrib_ROIAlign with position_sensitive=True exports",
    "_contrib_PSROIPooling",
)
