"""Pooling over regions of interest in the form that MXNet lacks."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from ...core.attrs import Count, Size
from ...core.op import op
from ...core.shapes import show
from ..backward import Once
from ..common import part_of, widen
from ..roi import indexed, placed
from .base import Standard
from .indexing import positions
from .types import FLOATS

MOST_SAMPLES = 1 << 16
"""Pixels of a cell beyond which a region is none of any image."""


class Samples(NamedTuple):
    """Sampling points of a region along one axis: both neighbours (points,) and their weights (0 outside)."""

    places: tuple[np.ndarray, np.ndarray]
    weights: tuple[np.ndarray, np.ndarray]


class _Aligned(Standard):
    """Attributes of RoiAlign, and where regions are sampled."""

    coordinate_transformation_mode: Literal["half_pixel", "output_half_pixel"] = "half_pixel"
    mode: Literal["avg", "max"] = "avg"
    output_height: Count = 1
    output_width: Count = 1
    sampling_ratio: Size = 0
    spatial_scale: float = 1.0

    exception = "samples between pixels where data says"

    def regions(self, shape, rois) -> Iterator[tuple[Samples, Samples, int, int]]:
        """For every region the points along rows and along columns, and how many there are in each cell."""
        dtype = rois.dtype.type
        offset = dtype(0.5 if self.coordinate_transformation_mode == "half_pixel" else 0)
        for left, top, right, bottom in rois * dtype(self.spatial_scale) - offset:
            found = []
            for start, end, cells, limit in (
                (top, bottom, self.output_height, shape[2]),
                (left, right, self.output_width, shape[3]),
            ):
                size = end - start if offset else max(end - start, dtype(1))
                if not np.isfinite(start + size) or size > MOST_SAMPLES * cells:
                    raise self.error(f"got a region from {start} on, {size} long, wanted one of the size of an image")
                if not limit:
                    raise self.error(f"got X of shape {show(shape)}, wanted pixels for the regions")
                count = self.sampling_ratio if self.sampling_ratio > 0 else max(0, int(np.ceil(size / cells)))
                each = size / dtype(cells)
                within = (np.arange(count, dtype=rois.dtype) + dtype(0.5)) * each / dtype(max(count, 1))
                at = (start + np.arange(cells, dtype=rois.dtype)[:, None] * each + within).reshape(-1)
                found.append((self._samples(at, limit), count))
            yield found[0][0], found[1][0], found[0][1], found[1][1]

    @staticmethod
    def _samples(at, limit):
        outside = ~((at >= -1) & (at <= limit))
        at = np.where(outside, 0, at).clip(0, limit - 1).astype(at.dtype)
        low = at.astype(np.int64)
        high = np.minimum(low + 1, limit - 1)
        part = at - low.astype(at.dtype)
        return Samples((low, high), (np.where(outside, 0, 1 - part), np.where(outside, 0, part)))

    def corners(self, rows, columns):
        """For each of the four neighbours of every point: (rows, columns, weights)."""
        for r, wr in zip(rows.places, rows.weights):
            for c, wc in zip(columns.places, columns.weights):
                yield r[:, None], c[None], wr[:, None] * wc[None]

    def cells(self, points, down, across):
        """Points (..., rows, columns) by cell: (..., height, width, points in each)."""
        lead = points.shape[:-2]
        parted = points.reshape(*lead, self.output_height, down, self.output_width, across)
        return np.moveaxis(parted, -3, -2).reshape(*lead, self.output_height, self.output_width, down * across)


@op("_onnx_RoiAlign")
class RoiAlign(_Aligned):
    """The mean of points spread evenly over every cell of a grid laid over each region, each read by linear interpolation;
    mode max: the greatest of the four weighted neighbours of all points, as onnx's evaluator and onnxruntime have it.

    Shapes: X (N, C, H, W), rois (R, 4) of x1, y1, x2, y2, batch_indices (R,) -> (R, C, output_height, output_width).
    Source: ONNX RoiAlign (opset 16 to newest); He et al., Mask R-CNN, arXiv:1703.06870."""

    inputs = ("X", "rois", "batch_indices")
    types = {"X rois": FLOATS, "batch_indices": {"int64"}}
    named_axes = {"X": "N C H W", "rois": "R 4", "batch_indices": "R"}
    tolerance = 128.0

    def shape(self, x, rois, indices):
        return (rois[0], x[1], self.output_height, self.output_width)

    def domain(self, name, shapes):
        found = indexed(shapes[0], placed(shapes[0], self.spatial_scale))
        if found is None or name == "X":
            return None
        return found.columns[0] if name == "batch_indices" else found._replace(columns=found.columns[1:])

    def meaning(self, x, rois, indices):
        wide = widen(x)
        positions(self, indices, len(x))
        out = np.zeros((len(rois), x.shape[1], self.output_height, self.output_width), wide.dtype)
        for target, index, (rows, columns, down, across) in zip(out, indices, self.regions(x.shape, widen(rois))):
            if not down * across:
                continue
            values = [wide[index][:, r, c] * w for r, c, w in self.corners(rows, columns)]
            if self.mode == "avg":
                target[...] = self.cells(sum(values[1:], values[0]), down, across).mean(-1)
            else:
                target[...] = self.cells(np.maximum.reduce(values), down, across).max(-1)
        return out.astype(x.dtype, copy=False)

    def gradient(self, F, dy, x, rois, indices, y):
        return F._backward__onnx_RoiAlign(dy, x, rois, indices, **self.dump()), None, None

    @classmethod
    def examples(cls, make):
        rois, indices = make.array([[0, 1, 3, 4], [1, 0, 2.5, 3.2]]), make.array([1, 0], "int64")
        yield make(make.uniform(2, 3, 5, 4), rois, indices, output_height=2, output_width=3)
        size = {"output_height": 2, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 0.75}
        yield make(make.uniform(2, 3, 5, 4), rois, indices, **size, coordinate_transformation_mode="output_half_pixel")
        yield make(make.uniform(2, 3, 5, 4, low=0.1, high=1), rois, indices, **size, mode="max")


@op("_backward__onnx_RoiAlign")
@part_of("_onnx_RoiAlign")
class RoiAlignBackward(Once, _Aligned):
    """Gradient of RoiAlign by X: (dy, X, rois, batch_indices) -> as X. (Regions get none, as in MXNet.)"""

    inputs = ("dy", "X", "rois", "batch_indices")

    def shape(self, dy, x, rois, indices):
        return x

    def dtype(self, dy, x, rois, indices):
        return x

    def meaning(self, dy, x, rois, indices):
        wide = widen(x)
        positions(self, indices, len(x))
        dx = np.zeros(x.shape, wide.dtype)
        channels = np.arange(x.shape[1])[:, None, None]
        for head, index, (rows, columns, down, across) in zip(widen(dy), indices, self.regions(x.shape, widen(rois))):
            if not down * across * len(channels):
                continue
            corners = list(self.corners(rows, columns))
            if self.mode == "avg":
                spread = (head / head.dtype.type(down * across)).repeat(down, 1).repeat(across, 2)
                for r, c, w in corners:
                    np.add.at(dx[index], (channels, r[None], c[None]), spread * w)
                continue
            values = np.stack([self.cells(wide[index][:, r, c] * w, down, across) for r, c, w in corners], -1)
            best = values.reshape(*values.shape[:3], -1).argmax(-1)
            shape = (len(rows.places[0]), len(columns.places[0]))
            for i, (r, c, w) in enumerate(corners):
                r, c, w = (self.cells(np.broadcast_to(v, shape), down, across) for v in (r, c, w))
                point = best // 4
                r, c, w = (
                    np.take_along_axis(np.broadcast_to(v, (*best.shape, down * across)), point[..., None], -1)[..., 0]
                    for v in (r, c, w)
                )
                np.add.at(dx[index], (np.broadcast_to(channels, r.shape), r, c), np.where(best % 4 == i, head * w, 0))
        return dx.astype(x.dtype, copy=False)
