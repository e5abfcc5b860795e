"""Sampling by a grid (GridSample; gathered pixels below opset 16, which has none) and correlation."""

import numpy as np

from hybrid.ops.spatial import affine_base

from ..error import Unsupported
from ..registry import exports, imports
from .reduce import count_reduced, has_some

_END = np.iinfo(np.int64).max


def _affine_grid(b, matrices, height, width):
    """(N, height, width, 2), as GridSample takes it."""
    base = b.like(affine_base(height, width).T, matrices)
    turned = b.transpose(b.reshape(matrices, [-1, 2, 3]), [0, 2, 1])
    return b.reshape(b.MatMul(base, turned), [0, height, width, 2])


def _sample(b, data, grid):
    # onnxruntime's GridSample reads some pixel where a coordinate is NaN or infinite, and MXNet answers NaN; and at what int64
    # does not hold, where both have 0. What lies beyond +-1e4 lies outside, or all of it on the only pixel of an axis.
    spoiled = b.unsqueeze(b.reduce("Sum", b.Mul(grid, b.like(0, grid)), [3], keepdims=False), [1])
    grid = b.Clip(grid, -1e4, 1e4)
    if not b.since(16):
        return b.Add(_gather(b, data, grid), spoiled)
    mode = "linear" if b.opset >= 20 else "bilinear"
    return b.Add(b.GridSample(data, grid, align_corners=1, mode=mode, padding_mode="zeros"), spoiled)


def _gather(b, data, grid):
    """Sample as GridSample does: of the four pixels around each point those inside, weighted by how near they are."""
    pixels = b.transpose(data, [0, 2, 3, 1])
    ends = b.Sub(b.cast(b.slice(b.Shape(data), [2], [4], [0]), data.dtype), 1)  # H - 1, W - 1
    points = b.Mul(b.Add(b.Gather(grid, [1, 0], axis=3), 1), b.Div(ends, 2))  # rows and columns
    low = b.Floor(points)
    rest = b.Sub(points, low)
    terms = []
    for row in (0, 1):
        for column in (0, 1):
            at = b.Add(low, b.like([row, column], data))
            within = b.And(b.GreaterOrEqual(at, 0), b.LessOrEqual(at, ends))
            inside = b.Equal(b.reduce("Min", b.cast(within, np.int32), [3], keepdims=True), 1)
            found = b.GatherND(pixels, b.cast(b.Where(inside, at, 0), np.int64), batch_dims=1)
            weight = b.reduce("Prod", b.Abs(b.Sub(b.like([1 - row, 1 - column], data), rest)), [3], keepdims=True)
            terms.append(b.Where(inside, b.Mul(found, weight), b.like(0, data)))
    return b.transpose(b.Sum(*terms), [0, 3, 1, 2])


@exports("GridGenerator")
def export_grid_generator(b, op, data):
    if op.transform_type == "affine":
        return b.transpose(_affine_grid(b, data, *op.target_shape), [0, 3, 1, 2])
    ends, halves = [], []
    for size, shape in ((b.size(data, 3), [1, 1, 1, -1]), (b.size(data, 2), [1, 1, -1, 1])):
        if isinstance(size, int):
            ends.append(b.like(np.arange(size).reshape(shape), data))
            halves.append(b.like((size - 1) / 2, data))
        else:
            size = b.cast(b.squeeze(size, [0]), data.dtype)
            ends.append(b.reshape(b.Range(b.like(0, data), size, b.like(1, data)), shape))
            halves.append(b.Div(b.Sub(size, 1), 2))
    parts = b.split(data, [1, 1], 1)
    moved = [b.Div(b.Add(part, end), half) for part, end, half in zip(parts, ends, halves)]
    return b.Sub(b.Concat(*moved, axis=1), 1)


@exports("BilinearSampler")
def export_bilinear_sampler(b, op, data, grid):
    return _sample(b, data, b.transpose(grid, [0, 2, 3, 1]))


@exports("SpatialTransformer")
def export_spatial_transformer(b, op, data, loc):
    if 1 in op.target_shape:
        raise Unsupported(
            f"target_shape={op.target_shape}: a grid of one row or column is 0 / 0 wide; wanted sizes of 2 or more"
        )
    return _sample(b, data, _affine_grid(b, loc, *op.target_shape))


@exports("Correlation")
def export_correlation(b, op, data1, data2):
    reach, pad = op.max_displacement, op.pad_size
    some = has_some(b, data1, [1])
    count = None if some else count_reduced(b, data1, [1])
    if pad:
        data1, data2 = (b.Pad(x, [0, 0, pad, pad] * 2) for x in (data1, data2))

    def window(x, dy, dx):
        ends = [d - reach if d < reach else _END for d in (dy, dx)]
        return b.slice(x, [reach + dy, reach + dx], ends, [2, 3])

    middle, planes = window(data1, 0, 0) if reach else data1, []
    for dy in op.displacements:
        for dx in op.displacements:
            other = window(data2, dy, dx)
            likeness = b.Mul(middle, other) if op.is_multiply else b.Abs(b.Sub(middle, other))
            found = b.reduce("Mean" if some else "Sum", likeness, [1], keepdims=True)
            planes.append(found if some else b.Div(found, count))  # the mean over nothing is NaN, onnxruntime's is 0
    y = b.Concat(*planes, axis=1) if len(planes) > 1 else planes[0]
    if op.kernel_size == op.stride1 == 1:
        return y
    return b.AveragePool(y, kernel_shape=[op.kernel_size] * 2, strides=[op.stride1] * 2)


# -- reading ----------------------------------------------------------------------------------------------------------------


def _coordinates_first(g, grid):
    """The grid as MXNet has it: what was turned round to be written is taken as it was."""
    node = None if grid.entry is None else grid.entry.node
    if (
        node is not None
        and node.op is not None
        and node.op.name == "transpose"
        and node.op.dump().get("axes") == "(0, 2, 3, 1)"
    ):
        entry = node.inputs[0]
        shape = None if grid.shape is None else tuple(grid.shape[a] for a in (0, 3, 1, 2))
        return type(grid)("", shape, grid.dtype, None, entry)
    return g.transpose(grid, axes=(0, 3, 1, 2))


@imports("GridSample", since=16)
def import_grid_sample(g, x, grid, *, align_corners=0, mode="bilinear", padding_mode="zeros"):
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    images = x.shape is not None and len(x.shape) == 4 and x.dtype == grid.dtype == np.float32
    if images and align_corners and mode == "linear" and padding_mode == "zeros":
        return g.BilinearSampler(x, _coordinates_first(g, grid))
    return g.passthrough(x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)
