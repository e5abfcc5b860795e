"""Sampling by a grid, and the correlation of two feature maps: GridGenerator, BilinearSampler, SpatialTransformer."""

from typing import Literal

import numpy as np

from ..core.attrs import Count, Size
from ..core.op import WHOLE, Domain, Op, op
from ..core.shapes import UNKNOWN, merge
from .common import mean_over, want_rank, widen


def affine_base(height: int, width: int) -> np.ndarray:
    """Homogeneous coordinates (x, y, 1) of every pixel, corners at -1 and 1, as (3, height * width) float32.

    NaN along an axis of one pixel, as in MXNet (0 times infinity)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        y, x = (np.arange(n, dtype=np.float32) * (np.float32(2) / np.float32(n - 1)) - 1 for n in (height, width))
    grid = np.broadcast_arrays(x[None], y[:, None], np.float32(1))
    return np.stack(grid).reshape(3, -1)


def affine_grid(matrices, height, width):
    """The grids (N, 2, height, width) of matrices (N, 6)."""
    return (matrices.reshape(-1, 2, 3) @ affine_base(height, width)).reshape(-1, 2, height, width)


@op("GridGenerator")
class GridGenerator(Op):
    """Coordinates at which BilinearSampler reads, x then y, with -1 and 1 at the outermost pixels.

    Shapes: affine: data (N, 6), rows of 2x3 matrices -> (N, 2, *target_shape); warp: data (N, 2, H, W), a flow in pixels
    that is added to the identity -> (N, 2, H, W). float32. Source: MXNet GridGenerator; Jaderberg et al., Spatial
    Transformer Networks, arXiv:1506.02025."""

    meanings = {"target_shape": "Height and width of the grid, for affine."}

    transform_type: Literal["affine", "warp"]
    target_shape: tuple[int, ...] = (0, 0)

    exception = "samples between pixels where data says"

    def check(self):
        if self.transform_type == "affine" and (len(self.target_shape) != 2 or min(self.target_shape) < 1):
            return f"got target_shape {self.target_shape}, wanted (height, width), both positive"
        return None

    def infer_input_shapes(self, shapes, outputs):
        output = outputs[0]
        if self.transform_type == "warp":
            return [merge(shapes[0], output)]
        return [merge(shapes[0], (UNKNOWN if output is None else output[0], 6))]

    def infer_shape(self, data):
        if self.transform_type == "affine":
            want_rank(self, data, 2)
            return (data[0], 2, *self.target_shape)
        want_rank(self, data, 4)
        return merge(data, (UNKNOWN, 2, UNKNOWN, UNKNOWN))

    def infer_type(self, data):
        if data != np.float32:
            raise self.error(f"got data of dtype {data}, wanted float32")
        return data

    def compute(self, data):
        if self.transform_type == "affine":
            return affine_grid(data, *self.target_shape)
        height, width = data.shape[2:]
        x = (data[:, 0] + np.arange(width, dtype=data.dtype)) / data.dtype.type((width - 1) / 2)
        y = (data[:, 1] + np.arange(height, dtype=data.dtype)[:, None]) / data.dtype.type((height - 1) / 2)
        return np.stack([x, y], axis=1) - data.dtype.type(1)

    def gradient(self, F, dy, data, y):
        return F._backward_GridGenerator(dy, data, **self.dump())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 6), transform_type="affine", target_shape=(3, 4))
        yield make(make.uniform(2, 2, 3, 4), transform_type="warp")


def sample(data: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """data (N, C, H, W) read bilinearly at grid (N, 2, Ho, Wo), with 0 outside and NaN where it is not finite: (N, C, Ho, Wo)."""
    batch, _, height, width = data.shape
    maps = widen(data)
    if not maps.size:
        return np.zeros((*data.shape[:2], *grid.shape[2:]), data.dtype)
    x, y = ((widen(grid)[:, a] + 1) * maps.dtype.type((n - 1) / 2) for a, n in ((0, width), (1, height)))
    left, top = np.floor(x), np.floor(y)
    index = np.arange(batch)[:, None, None]
    out = (x * 0 + y * 0)[..., None]  # NaN where a coordinate is not finite
    for row, of_row in ((top, 1 - (y - top)), (top + 1, y - top)):
        for column, of_column in ((left, 1 - (x - left)), (left + 1, x - left)):
            inside = (row >= 0) & (row <= height - 1) & (column >= 0) & (column <= width - 1)
            r, c = (np.where(inside, a, 0).astype(np.int64) for a in (row, column))
            value = maps[index, :, r, c]  # N, Ho, Wo, C
            out = out + np.where(inside[..., None], value * (of_row * of_column)[..., None], 0)
    return np.ascontiguousarray(out.transpose(0, 3, 1, 2)).astype(data.dtype, copy=False)


@op("BilinearSampler")
class BilinearSampler(Op):
    """data read bilinearly at the coordinates of a grid; pixels outside are 0.

    Shapes: data (N, C, H, W), grid (N, 2, Ho, Wo) -> (N, C, Ho, Wo). Source: MXNet BilinearSampler."""

    exception = "samples between pixels where data says"

    refuses = WHOLE

    cudnn_off: bool | None = None

    inputs = ("data", "grid")

    def infer_input_shapes(self, shapes, outputs):
        data, grid = shapes
        batch = (UNKNOWN if data is None else data[0], 2, UNKNOWN, UNKNOWN)
        return [data, merge(grid, batch)]

    def infer_shape(self, data, grid):
        want_rank(self, data, 4)
        want_rank(self, grid, 4, what="grid")
        return (*data[:2], *grid[2:])

    def domain(self, name, shapes):
        return Domain(-1.2, 1.2) if name == "grid" else None

    def compute(self, data, grid):
        return sample(data, grid)

    def gradient(self, F, dy, data, grid, y):
        found = F._backward_BilinearSampler(dy, data, grid)
        return found[0], found[1]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4, 5), make.uniform(2, 2, 3, 3))


@op("SpatialTransformer")
class SpatialTransformer(Op):
    """data read bilinearly on a grid that an affine map makes: GridGenerator and BilinearSampler in one.

    Shapes: data (N, C, H, W), loc (N, 6) -> (N, C, *target_shape). Source: MXNet SpatialTransformer."""

    meanings = {"target_shape": "Height and width of the result."}

    exception = "samples between pixels where data says"

    refuses = WHOLE

    target_shape: tuple[int, ...] = (0, 0)
    transform_type: Literal["affine"]
    sampler_type: Literal["bilinear"]
    cudnn_off: bool | None = None

    inputs = ("data", "loc")

    def check(self):
        if len(self.target_shape) != 2 or min(self.target_shape) < 1:
            return f"got target_shape {self.target_shape}, wanted (height, width), both positive"
        return None

    def infer_input_shapes(self, shapes, outputs):
        data, loc = shapes
        return [data, merge(loc, (UNKNOWN if data is None else data[0], 6))]

    def infer_shape(self, data, loc):
        want_rank(self, data, 4)
        return (*data[:2], *self.target_shape)

    def compute(self, data, loc):
        return sample(data, affine_grid(widen(loc), *self.target_shape))

    def gradient(self, F, dy, data, loc, y):
        found = F._backward_SpatialTransformer(dy, data, loc, **self.dump())
        return found[0], found[1]

    @classmethod
    def examples(cls, make):
        kinds = {"transform_type": "affine", "sampler_type": "bilinear"}
        yield make(make.uniform(2, 3, 4, 5), make.uniform(2, 6), target_shape=(3, 3), **kinds)


@op("Correlation")
class Correlation(Op):
    """Likeness of patches of data1 with patches of data2 around the same place.

    Shapes: data1, data2 (N, C, H, W) -> (N, D * D, Ho, Wo), one channel per displacement, row by row, from -max_displacement
    to max_displacement in steps of stride2: the mean over channels and the kernel_size**2 patch of the product, or without
    is_multiply of the absolute difference. Source: MXNet Correlation; Fischer et al., FlowNet, arXiv:1504.06852."""

    exception = "samples between pixels where data says"

    refuses = WHOLE

    kernel_size: Count = 1
    max_displacement: Size = 1
    stride1: Count = 1
    stride2: Count = 1
    pad_size: Size = 0
    is_multiply: bool = True

    inputs = ("data1", "data2")

    def check(self):
        return None if self.kernel_size % 2 else f"got kernel_size={self.kernel_size}, wanted an odd one"

    @property
    def displacements(self) -> range:
        """Along either axis."""
        reach = self.max_displacement // self.stride2 * self.stride2
        return range(-reach, reach + 1, self.stride2)

    def infer_input_shapes(self, shapes, outputs):
        one = merge(*shapes)
        return [one, one]

    def infer_shape(self, data1, data2):
        want_rank(self, data1, 4, what="data1")
        batch, _, height, width = merge(data1, data2) or data1
        border = 2 * (self.pad_size - self.max_displacement - self.kernel_size // 2)
        sizes = [-(-(n + border) // self.stride1) for n in (height, width)]
        if any(n is not UNKNOWN and n < 1 for n in sizes):
            raise self.error("the maps are too small for max_displacement and kernel_size; use a larger pad_size")
        return (batch, len(self.displacements) ** 2, *sizes)

    def compute(self, data1, data2):
        pad = [(0, 0), (0, 0), *[(self.pad_size,) * 2] * 2]
        a, b = (np.pad(widen(d), pad) for d in (data1, data2))
        reach, (height, width) = self.max_displacement, a.shape[2:]
        middle = a[:, :, reach : height - reach, reach : width - reach]
        planes = []
        for dy in self.displacements:
            for dx in self.displacements:
                other = b[:, :, reach + dy : height - reach + dy, reach + dx : width - reach + dx]
                likeness = middle * other if self.is_multiply else np.abs(middle - other)
                planes.append(mean_over(likeness, 1))
        out = np.lib.stride_tricks.sliding_window_view(np.stack(planes, axis=1), (self.kernel_size,) * 2, axis=(2, 3))
        return mean_over(out[:, :, :: self.stride1, :: self.stride1], (4, 5)).astype(data1.dtype, copy=False)

    def gradient(self, F, dy, data1, data2, y):
        found = F._backward_Correlation(dy, data1, data2, **self.dump())
        return found[0], found[1]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 5, 6), make.uniform(1, 2, 5, 6), max_displacement=2, stride2=2, pad_size=2)
        yield make(make.uniform(1, 2, 5, 6), make.uniform(1, 2, 5, 6), kernel_size=3, pad_size=2, is_multiply=False)
