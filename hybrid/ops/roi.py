"""Pooling over regions of interest: ROIPooling, ROIAlign, PSROIPooling."""

import math
from collections.abc import Iterator

import numpy as np

from ..core.attrs import Count, Counts, Size
from ..core.op import WHOLE, Domain, Op, op
from ..core.shapes import UNKNOWN, MaybeShape, merge
from .backward import Once
from .common import narrow, part_of, want_rank, want_some, widen

MOST_SAMPLES = 1 << 16
"""Pixels of a cell beyond which a region is none of any image."""


def placed(data: MaybeShape, scale: float) -> tuple[Domain, ...]:
    """Domains of the corners x1, y1, x2, y2 of regions within a map of that shape (N, C, H, W), the first before the middle and
    the second behind it; none where the sizes are not known. scale: pixels of the map for one of the image."""
    if data is None or any(size is UNKNOWN for size in data[2:]):
        return ()
    width, height = (size / (scale or 1) for size in (data[3], data[2]))
    pixel = 1 / (scale or 1)
    first = Domain(0, width * 3 / 8), Domain(0, height * 3 / 8)
    return *first, *(Domain(size / 2, max(size / 2, size - pixel)) for size in (width, height))


def indexed(data: MaybeShape, places: tuple[Domain, ...]) -> Domain | None:
    """The domain of regions that say their image, then their place; in another order 0 is an image, and a place in it."""
    if data is None or data[0] is UNKNOWN or not places:
        return None
    return Domain(0, 0, True, (Domain(0, max(data[0] - 1, 0), integer=True), *places))


class Regions(Op):
    """Base of operators on regions: data (N, C, H, W) and rois (R, 5) of [index into N, x1, y1, x2, y2] in units of the
    image."""

    exception = "samples between pixels where data says"

    refuses = WHOLE

    inputs = ("data", "rois")

    def check(self):
        scale = self.spatial_scale  # type: ignore[attr-defined]  # subclasses declare it, each at its place
        return None if 0 <= scale <= 1 else f"got spatial_scale={scale}, wanted 0 to 1"

    def infer_input_shapes(self, shapes, outputs):
        output = outputs[0]
        return [shapes[0], merge(shapes[1], (UNKNOWN if output is None else output[0], 5))]

    def infer_shape(self, data, rois):
        want_rank(self, data, 4)
        want_rank(self, rois, 2, what="rois")
        want_some(self, data, *range(4))
        channels, height, width = self._result(data[1])
        return (rois[0], channels, height, width)

    def _result(self, channels):
        raise NotImplementedError

    def images(self, rois, count) -> np.ndarray:
        """The image of each region, of so many; below 0 there is none. Raises OpError for more than there are."""
        found = rois[:, 0].astype(np.int64)
        if found.size and found.max() >= count:
            raise self.error(f"got regions of image {found.max()}, wanted images below {count}")
        return found

    def domain(self, name, shapes):
        scale = self.spatial_scale  # type: ignore[attr-defined]  # as above
        return indexed(shapes[0], placed(shapes[0], scale)) if name == "rois" else None


class _OfRegions(Once, Regions):
    """Base of gradients by data: (dy, data, rois) -> as data."""

    inputs = ("dy", "data", "rois")

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_shape(self, dy, data, rois):
        return data

    def infer_type(self, dy, data, rois):
        return data


def to_whole(x: np.ndarray) -> np.ndarray:
    """To the nearest whole number, halves away from zero, as C's round."""
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x)).astype(np.int64)


def _edges(starts, size, count, limit):
    """First and past-the-last cell of each of count bins of a (fractional) size: (regions, count) each, within the map."""
    steps = np.arange(count + 1, dtype=size.dtype)
    low = np.floor(steps[:-1] * size[:, None]).astype(np.int64) + starts[:, None]
    high = np.ceil(steps[1:] * size[:, None]).astype(np.int64) + starts[:, None]
    return np.clip(low, 0, limit), np.clip(high, 0, limit)


@op("ROIPooling", "_npx_roi_pooling")
class ROIPooling(Regions):
    """The maximum over every cell of a grid laid over each region; 0 where a cell is empty or the region's index negative.

    Shapes: data (N, C, H, W), rois (R, 5) -> (R, C, *pooled_size). Corners are scaled and rounded, both inclusive; cells
    overlap where they do not come out even. Source: MXNet ROIPooling; Girshick, Fast R-CNN, arXiv:1504.08083."""

    pooled_size: Counts
    spatial_scale: float

    def check(self):
        return super().check() or (
            None if len(self.pooled_size) == 2 else f"got pooled_size {self.pooled_size}, wanted (height, width)"
        )

    def _result(self, channels):
        return channels, *self.pooled_size

    def cells(self, data, rois) -> Iterator[tuple[tuple[int, int, int], tuple[int, slice, slice]]]:
        """(region, row, column) of every cell that is not empty, and its (image, rows, columns)."""
        height, width = data.shape[2:]
        corners = to_whole(rois[:, 1:] * rois.dtype.type(self.spatial_scale))
        sizes = np.maximum(corners[:, 2:] - corners[:, :2] + 1, 1).astype(data.dtype)
        rows = _edges(corners[:, 1], sizes[:, 1] / data.dtype.type(self.pooled_size[0]), self.pooled_size[0], height)
        columns = _edges(corners[:, 0], sizes[:, 0] / data.dtype.type(self.pooled_size[1]), self.pooled_size[1], width)
        for r, index in enumerate(self.images(rois, len(data))):
            if index < 0:
                continue
            for i, (top, bottom) in enumerate(zip(rows[0][r], rows[1][r])):
                for j, (left, right) in enumerate(zip(columns[0][r], columns[1][r])):
                    if top < bottom and left < right:
                        yield (r, i, j), (index, slice(top, bottom), slice(left, right))

    def compute(self, data, rois):
        out = np.zeros((len(rois), data.shape[1], *self.pooled_size), data.dtype)
        for (r, i, j), (index, rows, columns) in self.cells(data, rois):
            out[r, :, i, j] = data[index, :, rows, columns].max(axis=(1, 2))
        return out

    def gradient(self, F, dy, data, rois, y):
        return F._backward_ROIPooling(dy, data, rois, **self.dump()), None

    @classmethod
    def examples(cls, make):
        rois = np.array([[0, 1, 1, 6, 7], [1, 0, 2, 3, 3]], np.float32)
        yield make(make.uniform(2, 3, 8, 8), rois, pooled_size=(2, 3), spatial_scale=1.0)


@op("_backward_ROIPooling")
@part_of("ROIPooling")
class BackwardROIPooling(_OfRegions, ROIPooling):
    """The first maximum of every cell gets what the cell gets."""

    def compute(self, dy, data, rois):
        dx, channel = np.zeros(data.shape, widen(data).dtype), np.arange(data.shape[1])
        for (r, i, j), (index, rows, columns) in self.cells(data, rois):
            cell = data[index, :, rows, columns]
            at = np.unravel_index(cell.reshape(len(cell), -1).argmax(1), cell.shape[1:])
            dx[index, channel, rows.start + at[0], columns.start + at[1]] += dy[r, :, i, j]
        return narrow(dx, data.dtype)


@op("_contrib_ROIAlign")
class ROIAlign(Regions):
    """The mean of bilinear samples in every cell of a grid laid over each region.

    Shapes: data (N, C, H, W), rois (R, 5) -> (R, C, *pooled_size), or with position_sensitive (R, C / cells, *pooled_size),
    where every cell reads channels of its own. sample_ratio: samples per cell and axis, or when not positive as many as the
    cell has pixels, rounded up. With aligned pixel centres lie at halves and regions may be smaller than a pixel. Samples
    more than a pixel outside count as 0; so do regions with a negative index (on CPU MXNet 1.9.1 reads stray memory there).
    Source: MXNet ROIAlign; He et al., Mask R-CNN, arXiv:1703.06870."""

    pooled_size: Counts
    spatial_scale: float
    sample_ratio: int = -1
    position_sensitive: bool = False
    aligned: bool = False

    def check(self):
        return super().check() or (
            None if len(self.pooled_size) == 2 else f"got pooled_size {self.pooled_size}, wanted (height, width)"
        )

    def _result(self, channels):
        cells = math.prod(self.pooled_size)
        if self.position_sensitive and channels is not UNKNOWN and channels % cells:
            raise self.error(f"got {channels} channels, wanted a multiple of the {cells} cells of pooled_size")
        return channels // cells if self.position_sensitive else channels, *self.pooled_size

    def matrices(self, data, rois) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """(region, image, how much its rows count in rows of cells, the same of columns): bilinear sampling and averaging
        are separable."""
        dtype = widen(data).dtype
        corners = widen(rois)[:, 1:] * np.float32(self.spatial_scale)
        corners = (corners - np.float32(0.5 if self.aligned else 0)).astype(dtype)
        sizes = corners[:, 2:] - corners[:, :2]
        if not self.aligned:
            sizes = np.maximum(sizes, 1)
        elif (sizes <= 0).any():
            raise self.error("got regions without area, which aligned=True does not take")
        for r, index in enumerate(self.images(rois, len(data))):
            if index >= 0:
                rows = self._weights(corners[r, 1], sizes[r, 1], self.pooled_size[0], data.shape[2])
                yield r, index, rows, self._weights(corners[r, 0], sizes[r, 0], self.pooled_size[1], data.shape[3])

    def compute(self, data, rois):
        maps, channels = widen(data), self._result(data.shape[1])[0]
        out = np.zeros((len(rois), channels, *self.pooled_size), maps.dtype)
        for r, index, rows, columns in self.matrices(data, rois):
            pooled = rows @ maps[index] @ columns.T
            if self.position_sensitive:
                cells = math.prod(self.pooled_size)
                pooled = np.einsum("cpp->cp", pooled.reshape(channels, cells, cells)).reshape(out.shape[1:])
            out[r] = pooled
        return out.astype(data.dtype, copy=False)

    def gradient(self, F, dy, data, rois, y):
        return F._backward_ROIAlign(dy, data, rois, **self.dump()), None

    def _weights(self, start, size, cells, limit):
        """Weight of every one of limit pixels in every cell: (cells, limit)."""
        cell = size / size.dtype.type(cells)
        if not np.isfinite(start + size) or cell > MOST_SAMPLES:
            raise self.error(f"got a region from {start} on, {size} pixels long, wanted one of the size of an image")
        samples = self.sample_ratio if self.sample_ratio > 0 else math.ceil(cell)
        inner = (np.arange(samples, dtype=size.dtype) + size.dtype.type(0.5)) * cell / size.dtype.type(samples)
        where = (start + np.arange(cells, dtype=size.dtype)[:, None] * cell + inner).astype(size.dtype)
        inside = (where >= -1) & (where <= limit)
        where = np.clip(where, 0, limit - 1)
        low = np.minimum(np.floor(where).astype(np.int64), limit - 1)
        high = np.minimum(low + 1, limit - 1)
        part = (where - low).astype(size.dtype)
        out = np.zeros((cells, limit), size.dtype)
        row = np.broadcast_to(np.arange(cells)[:, None], where.shape)
        np.add.at(out, (row, low), (1 - part) * inside)
        np.add.at(out, (row, high), part * inside)
        return out / size.dtype.type(samples)

    @classmethod
    def examples(cls, make):
        rois = np.array([[0, 1, 1, 6, 7], [1, 0, 2, 3, 3]], np.float32)
        yield make(make.uniform(2, 3, 8, 8), rois, pooled_size=(2, 3), spatial_scale=1.0)
        yield make(make.uniform(2, 3, 8, 8), rois, pooled_size=(2, 2), spatial_scale=0.5, sample_ratio=2, aligned=True)


@op("_backward_ROIAlign")
@part_of("_contrib_ROIAlign")
class BackwardROIAlign(_OfRegions, ROIAlign):
    """The transpose of ROIAlign, for given regions."""

    def compute(self, dy, data, rois):
        dx = np.zeros(data.shape, widen(data).dtype)
        arriving, cells = widen(dy), math.prod(self.pooled_size)
        for r, index, rows, columns in self.matrices(data, rois):
            pooled = arriving[r]
            if self.position_sensitive:
                each = np.zeros((len(pooled), cells, cells), pooled.dtype)
                each[:, range(cells), range(cells)] = pooled.reshape(-1, cells)
                pooled = each.reshape(-1, *self.pooled_size)
            dx[index] += rows.T @ pooled @ columns
        return narrow(dx, data.dtype)


@op("_contrib_PSROIPooling")
class PSROIPooling(Regions):
    """The mean of every cell of a grid laid over each region, every cell reading channels of its own.

    Shapes: data (N, output_dim * group_size**2, H, W), rois (R, 5) -> (R, output_dim, pooled_size, pooled_size). Corners
    are rounded, the last one inclusive, then scaled; empty cells are 0. Source: MXNet PSROIPooling; Dai et al., R-FCN,
    arXiv:1605.06409."""

    spatial_scale: float
    output_dim: Count
    pooled_size: Count
    group_size: Size = 0
    """0 for pooled_size."""

    def _result(self, channels):
        want = self.output_dim * self._groups**2
        if channels is not UNKNOWN and channels != want:
            raise self.error(f"got {channels} channels, wanted {want}: output_dim times the cells of group_size")
        return self.output_dim, self.pooled_size, self.pooled_size

    def cells(self, data, rois) -> Iterator[tuple[tuple, tuple]]:
        """Yield the index of every cell that is not empty in the output, and in data with its channels as (output_dim,
        groups, groups)."""
        height, width = data.shape[2:]
        cells, groups = self.pooled_size, self._groups
        corners = to_whole(rois[:, 1:]) + np.array([0, 0, 1, 1])
        corners = corners.astype(data.dtype) * data.dtype.type(self.spatial_scale)
        sizes = np.maximum(corners[:, 2:] - corners[:, :2], data.dtype.type(0.1)) / data.dtype.type(cells)
        group = np.arange(cells) * groups // cells
        steps = np.arange(cells + 1, dtype=data.dtype)
        for r, index in enumerate(self.images(rois, len(data))):
            (left, right), (top, bottom) = (
                (
                    np.clip(np.floor(steps[:-1] * sizes[r, a] + corners[r, a]).astype(np.int64), 0, limit),
                    np.clip(np.ceil(steps[1:] * sizes[r, a] + corners[r, a]).astype(np.int64), 0, limit),
                )
                for a, limit in ((0, width), (1, height))
            )
            if index < 0:  # MXNet reads stray memory there
                continue
            for i, j in np.ndindex(cells, cells):
                if top[i] < bottom[i] and left[j] < right[j]:
                    where = slice(top[i], bottom[i]), slice(left[j], right[j])
                    yield (r, slice(None), i, j), (index, slice(None), group[i], group[j], *where)

    @property
    def _groups(self) -> int:
        return self.group_size or self.pooled_size

    def _group_channels(self, data):
        return data.reshape(len(data), self.output_dim, self._groups, self._groups, *data.shape[2:])

    def compute(self, data, rois):
        maps = self._group_channels(widen(data))
        out = np.zeros((len(rois), self.output_dim, self.pooled_size, self.pooled_size), maps.dtype)
        for place, cell in self.cells(data, rois):
            out[place] = maps[cell].mean(axis=(1, 2))
        return out.astype(data.dtype, copy=False)

    def gradient(self, F, dy, data, rois, y):
        return F._backward_PSROIPooling(dy, data, rois, **self.dump()), None

    @classmethod
    def examples(cls, make):
        rois = np.array([[0, 1, 1, 6, 7], [1, 0, 2, 3, 3]], np.float32)
        yield make(make.uniform(2, 8, 8, 8), rois, spatial_scale=1.0, output_dim=2, pooled_size=2)


@op("_backward_PSROIPooling")
@part_of("_contrib_PSROIPooling")
class BackwardPSROIPooling(_OfRegions, PSROIPooling):
    """Every element of a cell gets its share."""

    def compute(self, dy, data, rois):
        dx = self._group_channels(np.zeros(data.shape, widen(data).dtype))
        for place, cell in self.cells(data, rois):
            target = dx[cell]
            target += (widen(dy[place]) / dx.dtype.type(target[0].size))[:, None, None]
        return narrow(dx.reshape(data.shape), data.dtype)
