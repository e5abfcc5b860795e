"""Pooling over regions of interest whose cells are moved or turned: DeformablePSROIPooling, RROIAlign."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.attrs import Count, Counts, Size
from ..core.op import WHOLE, Domain, Op, op
from ..core.shapes import UNKNOWN, merge
from .adjoint import scatter_sum
from .backward import Once
from .common import part_of, want_rank, want_some, widen
from .roi import MOST_SAMPLES, Regions, indexed, placed, to_whole


class Place(NamedTuple):
    """Between which pixels the points lie along one axis."""

    inside: np.ndarray
    first: np.ndarray
    second: np.ndarray
    part: np.ndarray
    """Share of the way from the first to the second."""

    @property
    def weights(self) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """(pixel, its weight, the derivative of that) of both neighbours."""
        return [(self.first, 1 - self.part, -1), (self.second, self.part, 1)]


def between(points: np.ndarray, size: int, least: float, beyond: float) -> Place:
    """Places of points from least to size + beyond among the pixels of an axis; nearer ones than these take the outermost."""
    inside = (points >= least) & (points <= size + points.dtype.type(beyond))
    held = np.clip(np.where(inside, points, 0), 0, size - 1)
    first = np.floor(held)
    return Place(inside, first.astype(np.int64), np.ceil(held).astype(np.int64), held - first)


@op("_contrib_DeformablePSROIPooling")
class DeformablePSROIPooling(Regions):
    """Position-sensitive pooling whose cells are moved by ``trans``: the mean of points interpolated linearly in every cell.

    Shapes: data (N, output_dim * group_size**2, H, W), rois (R, 5), trans (R, 2 * classes, part_size, part_size) with the
    columns and the rows that parts of a region are moved by, in units of the region times trans_std, apart for every class
    (output_dim / classes channels) -> (R, output_dim, pooled_size, pooled_size). Every cell has sample_per_part points an
    axis, from its corner on; those more than half a pixel outside do not count, and a cell without any is 0, as are regions
    with a negative index. Source: MXNet DeformablePSROIPooling; Dai et al. 2017, arXiv:1703.06211."""

    spatial_scale: float
    output_dim: Count
    group_size: Size
    pooled_size: Count
    part_size: Size = 0

    exception = "samples between pixels where data says"
    """0 for pooled_size."""
    sample_per_part: Count = 1
    trans_std: float = 0.0
    no_trans: bool = False

    inputs = ("data", "rois", "trans")

    def check(self):
        if self.group_size < 1:
            return f"got group_size={self.group_size}, wanted at least 1"
        return super().check()

    def input_names(self):
        return self.inputs[: 2 if self.no_trans else 3]

    @property
    def parts(self) -> int:
        return self.part_size or self.pooled_size

    def infer_input_shapes(self, shapes, outputs):
        data, rois, *trans = shapes
        output = outputs[0]
        data = merge(data, (UNKNOWN, self.output_dim * self.group_size**2, UNKNOWN, UNKNOWN))
        rois = merge((UNKNOWN if output is None else output[0], 5), rois)
        assert rois is not None
        moves = rois[0], UNKNOWN, self.parts, self.parts
        return [data, rois, *(merge(t, moves) for t in trans)]

    def infer_shape(self, data, rois, *trans):
        classes = 1 if self.no_trans else trans[0][1] // 2
        if not self.no_trans and (trans[0][1] % 2 or trans[0][1] == 0 or self.output_dim % classes):
            raise self.error(
                f"got trans with {trans[0][1]} channels for output_dim={self.output_dim}, wanted two a class"
            )
        return super().infer_shape(data, rois)

    def _result(self, channels):
        return self.output_dim, self.pooled_size, self.pooled_size

    def cells(self, dtype: np.dtype, size: int) -> np.ndarray:
        """Part, of size parts, that each cell lies in, along one axis; computed as MXNet does."""
        steps = np.arange(self.pooled_size).astype(dtype)
        return np.floor(steps / dtype.type(self.pooled_size) * dtype.type(size)).astype(np.int64)

    def groups(self) -> np.ndarray:
        """Group of channels that each cell reads, along one axis."""
        return np.arange(self.pooled_size) * self.group_size // self.pooled_size

    def sides(self, rois: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Starts and sizes of regions, as (x, y) in pixels of data: (R, 2) each."""
        scale, half = rois.dtype.type(np.float32(self.spatial_scale)), rois.dtype.type(0.5)
        corners = to_whole(rois[:, 1:]).astype(rois.dtype) + np.array([0, 0, 1, 1], rois.dtype)
        corners = corners * scale - half
        return corners[:, :2], np.maximum(corners[:, 2:] - corners[:, :2], rois.dtype.type(0.1))

    def points(self, data, rois, trans) -> tuple[Place, Place]:
        """Rows (R, classes, P, P, S, 1) and columns (R, classes, P, P, 1, S) of the points."""
        start, size = self.sides(rois)
        dtype = rois.dtype
        cell = size / dtype.type(self.pooled_size)
        step = cell / dtype.type(self.sample_per_part)
        part = self.cells(dtype, self.parts)
        places = []
        for axis in (1, 0):  # y, x
            index = np.arange(self.pooled_size).astype(dtype).reshape((-1, 1) if axis else (1, -1))
            first = index * cell[:, axis, None, None] + start[:, axis, None, None]  # R, P, 1 or R, 1, P
            first = np.broadcast_to(first[:, None], (len(rois), 1, self.pooled_size, self.pooled_size))
            if trans is not None:
                moves = trans.reshape(len(trans), trans.shape[1] // 2, 2, self.parts, self.parts)[:, :, axis]
                moves = moves[:, :, part[:, None], part] * dtype.type(np.float32(self.trans_std))
                first = first + moves * size[:, axis, None, None, None]
            inner = np.arange(self.sample_per_part).astype(dtype)
            inner = inner * step[:, axis, None]  # R, S
            points = first[..., None] + inner[:, None, None, None]
            place = between(points, data.shape[3 - axis], -0.5, -0.5)
            places.append(Place(*(np.expand_dims(p, -1 if axis else -2) for p in place)))
        return places[0], places[1]

    def list_pixels(self, data, classes: int) -> np.ndarray:
        """Pixels of data (N * classes * G * G * H * W, output_dim / classes)."""
        groups = self.group_size
        maps = data.reshape(len(data), classes, self.output_dim // classes, groups, groups, *data.shape[2:])
        return np.moveaxis(maps, 2, -1).reshape(-1, self.output_dim // classes)

    def starts(self, data, rois, classes: int) -> np.ndarray:
        """Starts, in the list, of the images that cells read: (R, classes, P, P, 1, 1)."""
        group, area = self.groups(), math.prod(data.shape[2:])
        image = np.maximum(self.images(rois, len(data)), 0).reshape(-1, 1, 1, 1)
        planes = (image * classes + np.arange(classes).reshape(-1, 1, 1)) * self.group_size**2
        return ((planes + group[:, None] * self.group_size + group) * area)[..., None, None]

    def count_points(self, rows: Place, columns: Place, rois) -> tuple[np.ndarray, np.ndarray]:
        """True for the points that count (R, classes, P, P, S, S), and their number in each cell, but at least 1."""
        inside = rows.inside & columns.inside & (np.trunc(rois[:, 0]) >= 0).reshape(-1, 1, 1, 1, 1, 1)
        return inside, np.maximum(inside.sum((-2, -1)), 1)

    def compute(self, data, rois, *trans):
        dtype = data.dtype
        data, rois, *trans = (widen(a) for a in (data, rois, *trans))
        rows, columns = self.points(data, rois, *(trans or [None]))
        classes, width = rows.first.shape[1], data.shape[3]
        inside, count = self.count_points(rows, columns, rois)
        listed, start = self.list_pixels(data, classes), self.starts(data, rois, classes)
        total = np.zeros((*inside.shape, listed.shape[1]), data.dtype)
        for row, up, _ in rows.weights:
            for column, across, _ in columns.weights:
                total += listed[start + row * width + column] * (up * across * inside)[..., None]
        means = total.sum((4, 5)) / count[..., None].astype(data.dtype)
        return np.moveaxis(means, -1, 2).reshape(self._shape(rois)).astype(dtype, copy=False)

    def _shape(self, rois) -> tuple[int, ...]:
        return (len(rois), self.output_dim, self.pooled_size, self.pooled_size)

    def gradient(self, F, dy, data, rois, *trans_and_y):
        trans = trans_and_y[:-1]
        found = F._backward_DeformablePSROIPooling(dy, data, rois, *trans, **self.dump())
        return (found[0], None, found[1]) if trans else (found, None)

    @classmethod
    def examples(cls, make):
        rois = np.array([[0, 1, 1, 6, 7], [1, 0, 2, 3, 3]], np.float32)
        data, sizes = make.uniform(2, 8, 8, 8), {"output_dim": 2, "group_size": 2, "pooled_size": 3}
        trans = make.uniform(2, 4, 2, 2)
        yield make(data, rois, trans, spatial_scale=0.7, part_size=2, sample_per_part=2, trans_std=0.1, **sizes)
        yield make(data, rois, spatial_scale=1.0, no_trans=True, **sizes)


@op("_backward_DeformablePSROIPooling")
@part_of("_contrib_DeformablePSROIPooling", dy=0)
class BackwardDeformablePSROIPooling(Once, DeformablePSROIPooling):
    """Gradient by data and trans: (dy, data, rois, trans) -> as data, as trans."""

    inputs = ("dy", "data", "rois", "trans")

    def input_names(self):
        return self.inputs[: 3 if self.no_trans else 4]

    def output_names(self):
        return ("data",) if self.no_trans else ("data", "trans")

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_shape(self, dy, data, rois, *trans):
        return [data, *trans] if trans else data

    def infer_type(self, dy, data, rois, *trans):
        return [data, *trans] if trans else data

    def compute(self, dy, data, rois, *trans):
        given = (data, *trans)
        dy, data, rois, *trans = (widen(a) for a in (dy, data, rois, *trans))
        rows, columns = self.points(data, rois, *(trans or [None]))
        classes, width = rows.first.shape[1], data.shape[3]
        inside, count = self.count_points(rows, columns, rois)
        listed, start = self.list_pixels(data, classes), self.starts(data, rois, classes)
        cells = dy.reshape(len(dy), classes, dy.shape[1] // classes, *dy.shape[2:])
        share = np.moveaxis(cells, 2, -1) / count[..., None].astype(dy.dtype)  # R, classes, P, P, channels
        share = share[:, :, :, :, None, None] * inside[..., None]
        dx, by_row, by_column = np.zeros_like(listed), 0, 0
        for row, up, d_up in rows.weights:
            for column, across, d_across in columns.weights:
                index = start + row * width + column
                dx += scatter_sum((share * (up * across)[..., None]).reshape(-1, dx.shape[1]), index.ravel(), len(dx))
                slope = (share * listed[index]).sum(-1)
                by_row = by_row + slope * (d_up * across)
                by_column = by_column + slope * (up * d_across)
        maps = dx.reshape(len(data), classes, self.group_size, self.group_size, *data.shape[2:], -1)
        results = [np.moveaxis(maps, -1, 2).reshape(data.shape)]
        if trans:
            results.append(self._of_trans(trans[0], rois, by_column, by_row))
        results = tuple(r.astype(a.dtype, copy=False) for r, a in zip(results, given))
        return results if trans else results[0]

    def _of_trans(self, trans, rois, by_column, by_row):
        _, size = self.sides(rois)
        part = self.cells(rois.dtype, self.parts)
        d_trans = np.zeros((len(trans), trans.shape[1] // 2, 2, self.parts, self.parts), trans.dtype)
        for axis, slope in ((0, by_column), (1, by_row)):
            whole = (
                slope.sum((-2, -1)) * size[:, axis].reshape(-1, 1, 1, 1) * trans.dtype.type(np.float32(self.trans_std))
            )
            places: Any = (slice(None), slice(None), part[:, None], part)
            np.add.at(d_trans[:, :, axis], places, whole)
        return d_trans.reshape(trans.shape)


@op("_contrib_RROIAlign")
class RROIAlign(Op):
    """The mean of points interpolated linearly in every cell of a grid laid over each turned region.

    Shapes: data (N, C, H, W), rois (R, 6) of [index into N, x and y of the centre, width, height, degrees counter-clockwise] in
    units of the image -> (R, C, *pooled_size). sampling_ratio: points a cell and axis, or when not positive as many as the
    cell has pixels, rounded up. Regions are at least one pixel wide and high; points more than a pixel outside count as 0, as do
    regions with a negative index. Source: MXNet RROIAlign; Ma et al., arXiv:1703.01086."""

    exception = "samples between pixels where data says"

    refuses = WHOLE

    pooled_size: Counts
    spatial_scale: float
    sampling_ratio: int = -1

    inputs = ("data", "rois")

    def check(self):
        if not 0 <= self.spatial_scale <= 1:
            return f"got spatial_scale {self.spatial_scale}, wanted 0 to 1"
        return None if len(self.pooled_size) == 2 else f"got pooled_size {self.pooled_size}, wanted (height, width)"

    def infer_input_shapes(self, shapes, outputs):
        return [shapes[0], merge(shapes[1], (UNKNOWN if outputs[0] is None else outputs[0][0], 6))]

    def infer_shape(self, data, rois):
        want_rank(self, data, 4)
        want_some(self, data, *range(4))
        want_rank(self, rois, 2, what="rois")
        return (rois[0], data[1], *self.pooled_size)

    images = Regions.images

    def domain(self, name, shapes):
        if name != "rois":
            return None
        found = placed(shapes[0], self.spatial_scale)
        sides = tuple(Domain(low.high / 3, high.high / 2) for low, high in zip(found[:2], found[2:]))
        turned = (*(Domain(low.high, high.low) for low, high in zip(found[:2], found[2:])), *sides, Domain(-180, 180))
        return indexed(shapes[0], turned if found else ())

    def samples(self, sides: np.ndarray) -> list[int]:
        """Number of points that the cells of a region of that (height, width) have along each axis."""
        return [
            self.sampling_ratio if self.sampling_ratio > 0 else math.ceil(side / side.dtype.type(cells))
            for side, cells in zip(sides, self.pooled_size)
        ]

    def corners(self, shape, region) -> list[tuple[np.ndarray, np.ndarray]]:
        """(pixel, weight) of the four neighbours of a region's points, (P, P', S, S') each; the weights make means."""
        kind = region.dtype.type
        x, y, wide, high = region[1:5] * kind(np.float32(self.spatial_scale))
        angle = kind(region[5] * math.pi / 180)
        turn = kind(np.cos(angle)), kind(np.sin(angle))
        sides = np.maximum(np.array([high, wide]), kind(1))
        if not np.isfinite(region).all() or sides.max() > MOST_SAMPLES:
            raise self.error(f"got a region {region[1:]}, wanted one of the size of an image")
        counts = self.samples(sides)
        along = []
        for side, cells, count in zip(sides, self.pooled_size, counts):
            cell = side / kind(cells)
            inner = (np.arange(count).astype(kind) + kind(0.5)) * cell / kind(count)
            along.append(-side / 2 + np.arange(cells).astype(kind)[:, None] * cell + inner)
        yy, xx = along[0][:, None, :, None], along[1][None, :, None, :]
        columns = between(xx * turn[0] + yy * turn[1] + x, shape[3], -1, 0)
        rows = between(yy * turn[0] - xx * turn[1] + y, shape[2], -1, 0)
        share = (rows.inside & columns.inside) / kind(math.prod(counts))
        return [
            (row * shape[3] + column, (up * across * share).astype(kind))
            for row, up, _ in rows.weights
            for column, across, _ in columns.weights
        ]

    def compute(self, data, rois):
        maps, rois = widen(data), widen(rois)
        out = np.zeros((len(rois), data.shape[1], *self.pooled_size), maps.dtype)
        for result, region, index in zip(out, rois, self.images(rois, len(data))):  # type: ignore[arg-type]
            if index < 0:
                continue
            image = maps[index].reshape(data.shape[1], -1)
            for pixel, weight in self.corners(data.shape, region):
                result += (image[:, pixel] * weight).sum((-2, -1))
        return out.astype(data.dtype, copy=False)

    @classmethod
    def examples(cls, make):
        rois = np.array([[0, 3, 3, 4, 5, 30], [1, 4, 5, 6, 2, -75]], np.float32)
        yield make(make.uniform(2, 3, 8, 8), rois, pooled_size=(2, 3), spatial_scale=1.0, sampling_ratio=2)
        yield make(make.uniform(2, 3, 8, 8), rois, pooled_size=(2, 2), spatial_scale=0.5)
