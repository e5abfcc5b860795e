"""Broken forms in which older exporters, MXNet's own above all, wrote operators, and what they are read as."""

from __future__ import annotations

from typing import Any

from hybrid.shapes import UNKNOWN

MXNET_GRAPH = "mxnet_converted_model"
"""What MXNet's own exporter calls every graph; it says nothing else of itself."""


def from_mxnet(g: Any) -> bool:
    """Whether the file was written by MXNet's own exporter (1.3 to 1.9)."""
    return g.shared.file.proto.graph.name == MXNET_GRAPH


def batch_norm_spatial(g: Any, spatial: int, x: Any, mean: Any) -> bool:
    """Whether BatchNormalization has statistics for every element of an image and not for every channel.

    MXNet's exporter (1.3 to 1.6) wrote spatial=0 and meant channels, which the length of the statistics shows."""
    if spatial:
        return False
    if mean.shape is not None and len(mean.shape) == 1 and (x.shape is None or len(x.shape) > 2):
        g.repaired("spatial=0 with one mean for each channel: read as spatial=1, which MXNet's exporter meant")
        return False
    return True


def channel_slope(g: Any, x: Any, slope: Any) -> bool:
    """Whether the slopes (C,) of PRelu belong to axis 1 of x, although ONNX would align them with the last axis.

    That is so where ONNX's reading does not fit, and in files of MXNet's exporter (1.5 to 1.9), which never meant it."""
    if slope.shape is None or len(slope.shape) != 1 or x.shape is None or len(x.shape) < 3:
        return False
    if slope.shape[0] is UNKNOWN or slope.shape[0] == 1:
        return False
    count, channels, last = slope.shape[0], x.shape[1], x.shape[-1]
    if any(n is not UNKNOWN and count is not UNKNOWN and n == count for n in (last,)) and not from_mxnet(g):
        return False
    if not from_mxnet(g) and (last is UNKNOWN or channels is UNKNOWN or channels != count):
        return False
    g.repaired("slopes of shape (C,): read as (C, 1, ...), one for each channel, which MXNet's exporter meant")
    return True
