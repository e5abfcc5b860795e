"""Sampling by a grid in every form that ONNX has, and the grids of affine maps."""

import itertools
import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from ...core.op import Domain, op
from ...core.shapes import UNKNOWN, merge, of_rank, show
from ..adjoint import linear
from ..backward import Once
from ..common import part_of, widen
from .base import Standard, ints
from .resize import cubic
from .types import FLOATS, TENSORS

A = -0.75
"""The coefficient of the cubic kernel here."""


def _cubic_slope(t: np.ndarray) -> np.ndarray:
    """The derivative of the cubic kernel."""
    size = np.abs(t)
    near = (3 * (A + 2) * size - 2 * (A + 3)) * size
    far = (3 * A * size - 10 * A) * size + 8 * A
    return np.sign(t) * np.where(size <= 1, near, np.where(size < 2, far, 0))


class _Sampled(Standard):
    """Attributes of GridSample, and how the grid is read."""

    align_corners: bool = False
    mode: Literal["linear", "nearest", "cubic"] = "linear"
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros"

    exception = "samples between pixels where data says"

    def along(self, at: np.ndarray, size: int) -> list[tuple[np.ndarray, ...]]:
        """For coordinates along one axis, for every tap: (index within the axis, whether it counts, weight, derivative of
        the weight by the coordinate in the grid)."""
        dtype = at.dtype.type
        scale = dtype((size - 1) / 2 if self.align_corners else size / 2)
        place = (at + 1) * scale - dtype(0 if self.align_corners else 0.5)
        # what is no number (and makes the result none, but where the nearest element is read) or too large has an index too
        safe = np.nan_to_num(place, nan=-2.0 if self.mode == "nearest" else 0.0).clip(-(2.0**31), 2.0**31)
        if self.mode == "nearest":
            near = np.rint(safe).astype(np.int64)
            return [(*self._within(near, size), np.ones_like(place), np.zeros_like(place))]
        low = np.floor(safe).astype(np.int64)
        found = []
        for i in (0, 1) if self.mode == "linear" else (-1, 0, 1, 2):
            away = place - (low + i).astype(at.dtype)
            if self.mode == "linear":
                weight, slope = 1 - np.abs(away), np.full_like(away, 2 * i - 1)
            else:
                weight, slope = cubic(away, A), _cubic_slope(away)
            found.append((*self._within(low + i, size), weight.astype(at.dtype), slope.astype(at.dtype) * scale))
        return found

    def _within(self, index, size):
        if self.padding_mode == "zeros":
            return index.clip(0, size - 1), (index >= 0) & (index < size)
        if self.padding_mode == "reflection":
            period = 2 * (size - 1) if self.align_corners else 2 * size
            index = index % period if period else np.zeros_like(index)
            index = np.minimum(index, (period if self.align_corners else period - 1) - index)
        return index.clip(0, size - 1), np.ones((), bool)

    def taps(
        self, shape: tuple[int, ...], grid: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, list[np.ndarray]]]:
        """For data of a shape, for every pixel that a point is made of: (index into one flattened image, weight with 0 for
        what does not count, its derivative by each coordinate of the grid), each shaped as the points."""
        spatial = shape[2:]
        axes = [self.along(grid[..., len(spatial) - 1 - a], n) for a, n in enumerate(spatial)]
        for each in itertools.product(*axes):
            index = np.zeros((), np.int64)
            inside: np.ndarray = np.ones((), bool)
            for (place, counts, _, _), n in zip(each, spatial):
                index, inside = index * n + place, inside & counts
            weights = [w for _, _, w, _ in each]
            slopes = []
            for a, (_, _, _, slope) in reversed(list(enumerate(each))):
                others = [w for i, w in enumerate(weights) if i != a]
                slopes.append(np.where(inside, math.prod(others, start=slope), 0))
            yield index, np.where(inside, math.prod(weights), 0), slopes

    def want_fit(self, x, grid):
        """Raise OpError or ValueError unless the shapes go together."""
        if len(x) != len(grid) or len(x) < 3 or (grid[-1] is not UNKNOWN and grid[-1] != len(x) - 2):
            raise self.error(
                f"got X of shape {show(x)} and a grid of {show(grid)}, wanted (N, *points, {len(x) - 2}) of as many axes"
            )
        merge(x[:1], grid[:1])
        if self.mode == "cubic" and len(x) != 4:
            raise self.error(f"got mode=cubic for X of shape {show(x)}, wanted 4 axes")


@op("_onnx_GridSample")
class GridSample(_Sampled):
    """X read at the points of a grid whose coordinates (the last axis' first) go from -1 to 1: from the centre of the first element
    to that of the last with align_corners, else from outer edge to outer edge. Between elements it is interpolated (NaN: where the
    grid has it); beyond the ends there are zeros, the outermost elements, or everything mirrored.

    Shapes: X (N, C, *spatial), grid (N, *points, spatial axes) -> (N, C, *points). Source: ONNX GridSample (opset 20 to newest)."""

    inputs = ("X", "grid")
    types = {"X": TENSORS, "grid": FLOATS}
    tolerance = 128.0

    def shape(self, x, grid):
        self.want_fit(x, grid)
        return (*x[:2], *grid[1:-1])

    def domain(self, name, shapes):
        return Domain(-1.2, 1.2) if name == "grid" else None

    def meaning(self, x, grid):
        wide, points = widen(x), widen(grid)
        points = points.astype(np.promote_types(points.dtype, wide.dtype if wide.dtype.kind == "f" else np.float32))
        flat = wide.reshape(*x.shape[:2], math.prod(x.shape[2:]))
        each = len(x), 1, math.prod(grid.shape[1:-1])
        out = np.zeros((*x.shape[:2], each[2]), points.dtype)
        if flat.shape[2]:
            for index, weight, _ in self.taps(x.shape, points):
                values = np.take_along_axis(flat, index.reshape(each), 2)
                whole = self.mode == "nearest" and self.padding_mode != "zeros"
                out += values if whole else values * weight.reshape(each)
        return out.reshape(*x.shape[:2], *grid.shape[1:-1]).astype(x.dtype, copy=False)

    def gradient(self, F, dy, x, grid, y):
        found = F._backward__onnx_GridSample(dy, x, grid, **self.dump())
        return found[0], found[1]

    @classmethod
    def examples(cls, make):
        grid = make.uniform(1, 2, 3, 2, low=-1.1, high=1.1)
        for mode, padding in (("linear", "zeros"), ("nearest", "border"), ("cubic", "reflection")):
            yield make(make.uniform(1, 2, 4, 3), grid, mode=mode, padding_mode=padding, align_corners=mode == "cubic")
        yield make(make.uniform(1, 2, 4, 3, 2), make.uniform(1, 2, 1, 3, 3), padding_mode="reflection")


@op("_backward__onnx_GridSample")
@part_of("_onnx_GridSample")
class GridSampleBackward(Once, _Sampled):
    """Gradient of GridSample by X and grid: (dy, X, grid) -> as X, as grid."""

    inputs = ("dy", "X", "grid")

    def output_names(self):
        return ("X", "grid")

    def shape(self, dy, x, grid):
        return [x, grid]

    def dtype(self, dy, x, grid):
        return [x, grid]

    def meaning(self, dy, x, grid):
        points, wide = widen(grid), widen(x)
        if not x.size:
            return np.zeros_like(x), np.zeros_like(grid)
        count = math.prod(grid.shape[1:-1])
        flat = wide.reshape(*x.shape[:2], math.prod(x.shape[2:]))
        heads = widen(dy).reshape(*x.shape[:2], count)
        dx, dgrid = np.zeros(flat.size), np.zeros((*grid.shape[:-1], len(x.shape) - 2))
        planes = np.arange(flat.shape[0] * flat.shape[1]).reshape(*flat.shape[:2], 1) * flat.shape[2]
        for index, weight, slopes in self.taps(x.shape, points):
            at = index.reshape(len(x), 1, count)
            each = (heads * weight.reshape(len(x), 1, count)).reshape(-1)
            dx += np.bincount((planes + at).reshape(-1), each, flat.size)
            arriving = (np.take_along_axis(flat, at, 2) * heads).sum(1).reshape(grid.shape[:-1])
            for axis, slope in enumerate(slopes):
                dgrid[..., axis] += arriving * slope
        return dx.reshape(x.shape).astype(x.dtype), dgrid.astype(grid.dtype)


@linear(0)
@op("_onnx_AffineGrid")
class AffineGrid(Standard):
    """The points at which GridSample reads to apply affine maps, one for each element of the result.

    Shapes: theta (N, d, d + 1) with d = 2 or 3, size (d + 2,) = (N, C, *spatial) -> (N, *spatial, d).
    Source: ONNX AffineGrid (opset 20 to newest)."""

    align_corners: bool = False

    exception = "samples between pixels where data says"

    inputs = ("theta", "size")
    types = {"theta": FLOATS, "size": {"int64"}}
    needs = ("values",)
    data_dependent_shape = True

    def shape(self, theta, size, *, values):
        sizes = ints(values[1])
        rank = size[0] - 2 if size and size[0] is not UNKNOWN else UNKNOWN
        if len(size) != 1 or len(theta) != 3 or (rank is not UNKNOWN and rank not in (2, 3)):
            raise self.error(
                f"got theta of shape {show(theta)} and size of {show(size)}, wanted (N, d, d + 1) and (d + 2,)"
            )
        if rank is not UNKNOWN:
            merge(theta[1:], (rank, rank + 1))
        if sizes is not None:
            return (theta[0], *sizes[2:], len(sizes) - 2)
        return None if theta[1] is UNKNOWN else (theta[0], *of_rank(theta[1]), theta[1])

    def base(self, sizes: tuple[int, ...], dtype) -> np.ndarray:
        """Homogeneous coordinates of every element, (prod(spatial), d + 1), the last axis' first."""
        lines = []
        for n in sizes:
            if self.align_corners:
                lines.append(
                    np.linspace(-1, 1, n)
                )  # of a single element: -1 as in onnx's evaluator (onnxruntime 1, torch 0)
            else:
                lines.append((2 * np.arange(n) + 1) / max(n, 1) - 1)
        grid = np.meshgrid(*lines, indexing="ij")[::-1]
        return np.stack([*grid, np.ones_like(grid[0])], -1).reshape(-1, len(sizes) + 1).astype(dtype)

    def meaning(self, theta, size):
        spatial = ints(size)[2:]
        wide = widen(theta)
        points = self.base(spatial, wide.dtype) @ wide.swapaxes(1, 2)
        return points.reshape(len(theta), *spatial, len(spatial)).astype(theta.dtype, copy=False)

    def adjoint(self, of, dy, theta, size):
        spatial = ints(size)[2:]
        return dy.reshape(len(theta), math.prod(spatial), len(spatial)).swapaxes(1, 2) @ self.base(spatial, dy.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 2, 3), make.array([2, 1, 3, 4], "int64"))
        yield make(make.uniform(1, 3, 4), make.array([1, 1, 2, 4, 3], "int64"), align_corners=True)
