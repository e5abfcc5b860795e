"""Gradients of sampling by a grid, and of correlation."""

import numpy as np

from ..core.op import Op, op
from .backward import Once
from .common import narrow, part_of, widen
from .spatial import Correlation, GridGenerator, SpatialTransformer, affine_base, affine_grid


def to_affine(dy: np.ndarray) -> np.ndarray:
    """Gradient of the matrices (N, 6) of an affine grid, from that of the grid (N, 2, H, W)."""
    height, width = dy.shape[2:]
    points = dy.reshape(len(dy), 2, height * width)
    return (points @ affine_base(height, width).astype(dy.dtype).T).reshape(len(dy), 6)


@op("_backward_GridGenerator")
@part_of("GridGenerator")
class BackwardGridGenerator(Once, GridGenerator):
    """(dy, data) -> as data, whose values are not read."""

    inputs = ("dy", "data")

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_shape(self, dy, data):
        return data

    def infer_type(self, dy, data):
        return data

    def compute(self, dy, data):
        if self.transform_type == "affine":
            return to_affine(dy)
        height, width = data.shape[2:]
        scale = np.array([(width - 1) / 2, (height - 1) / 2], data.dtype)
        return dy / scale[:, None, None]


def sample_backward(dy: np.ndarray, data: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of data (N, C, H, W) and grid (N, 2, Ho, Wo), from dy (N, C, Ho, Wo) of ``sample(data, grid)``."""
    batch, channels, height, width = data.shape
    if not data.size:
        return np.zeros_like(data), np.zeros_like(grid)
    maps = data.transpose(0, 2, 3, 1).reshape(-1, channels)
    arriving = dy.transpose(0, 2, 3, 1)
    scales = [maps.dtype.type((n - 1) / 2) for n in (width, height)]
    x, y = ((grid[:, a] + 1) * scale for a, scale in enumerate(scales))
    left, top = np.floor(x), np.floor(y)
    rows = ((top, 1 - (y - top), -1), (top + 1, y - top, 1))
    columns = ((left, 1 - (x - left), -1), (left + 1, x - left, 1))
    to_data, to_x, to_y = np.zeros_like(maps), np.zeros_like(x), np.zeros_like(y)
    first = np.arange(batch)[:, None, None] * height
    for row, of_row, row_sign in rows:
        for column, of_column, column_sign in columns:
            inside = (row >= 0) & (row <= height - 1) & (column >= 0) & (column <= width - 1)
            r, c = (np.where(inside, a, 0).astype(np.int64) for a in (row, column))
            place = (first + r) * width + c
            share = np.where(inside[..., None], arriving * (of_row * of_column)[..., None], 0)
            np.add.at(to_data, place.reshape(-1), share.reshape(-1, channels))
            likeness = np.where(inside, (maps[place] * arriving).sum(-1), 0)
            to_x += column_sign * of_row * likeness
            to_y += row_sign * of_column * likeness
    to_data = to_data.reshape(batch, height, width, channels).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(to_data), np.stack([to_x * scales[0], to_y * scales[1]], axis=1)


@op("_backward_BilinearSampler")
@part_of("BilinearSampler")
class BackwardBilinearSampler(Op):
    """(dy, data, grid) -> (as data, as grid)."""

    inputs = ("dy", "data", "grid")

    def output_names(self):
        return ("data", "grid")

    def infer_shape(self, dy, data, grid):
        return [data, grid]

    def infer_type(self, dy, data, grid):
        return [data, grid]

    def compute(self, dy, data, grid):
        found = sample_backward(widen(dy), widen(data), widen(grid))
        return narrow(found[0], data.dtype), narrow(found[1], grid.dtype)


@op("_backward_SpatialTransformer")
@part_of("SpatialTransformer")
class BackwardSpatialTransformer(Once, SpatialTransformer):
    """(dy, data, loc) -> (as data, as loc)."""

    inputs = ("dy", "data", "loc")

    def output_names(self):
        return ("data", "loc")

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_shape(self, dy, data, loc):
        return [data, loc]

    def infer_type(self, dy, data, loc):
        return [data, loc]

    def compute(self, dy, data, loc):
        grid = affine_grid(widen(loc), *self.target_shape)
        to_data, to_grid = sample_backward(widen(dy), widen(data), grid.astype(widen(data).dtype))
        return narrow(to_data, data.dtype), narrow(to_affine(to_grid), loc.dtype)


@op("_backward_Correlation")
@part_of("Correlation")
class BackwardCorrelation(Once, Correlation):
    """(dy, data1, data2) -> (as data1, as data2)."""

    inputs = ("dy", "data1", "data2")

    def output_names(self):
        return ("data1", "data2")

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_shape(self, dy, data1, data2):
        return [data1, data2]

    def infer_type(self, dy, data1, data2):
        return [data1, data2]

    def compute(self, dy, data1, data2):
        pad = [(0, 0), (0, 0), *[(self.pad_size,) * 2] * 2]
        a, b = (np.pad(widen(d), pad) for d in (data1, data2))
        to_a, to_b = np.zeros_like(a), np.zeros_like(b)
        reach, (height, width) = self.max_displacement, a.shape[2:]
        middle = (..., slice(reach, height - reach), slice(reach, width - reach))
        # every likeness counts in as many windows as kernel_size and stride1 make
        each = widen(dy) / a.dtype.type(self.kernel_size**2 * a.shape[1])
        planes = np.zeros((*dy.shape[:2], height - 2 * reach, width - 2 * reach), a.dtype)
        for i, j in np.ndindex(self.kernel_size, self.kernel_size):
            rows, columns = (
                slice(k, k + (n - 1) * self.stride1 + 1, self.stride1) for k, n in zip((i, j), dy.shape[2:])
            )
            planes[:, :, rows, columns] += each
        shifts = ((y, x) for y in self.displacements for x in self.displacements)
        for plane, (y, x) in zip(planes.swapaxes(0, 1), shifts):
            other = (..., slice(reach + y, height - reach + y), slice(reach + x, width - reach + x))
            plane = plane[:, None]
            if self.is_multiply:
                to_a[middle] += plane * b[other]
                to_b[other] += plane * a[middle]
            else:
                sign = np.where(a[middle] >= b[other], plane, -plane)
                to_a[middle] += sign
                to_b[other] -= sign
        inside = (..., *(slice(self.pad_size, n - self.pad_size) for n in (height, width)))
        return narrow(to_a[inside], data1.dtype), narrow(to_b[inside], data2.dtype)
