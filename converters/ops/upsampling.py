"""Images made larger or smaller as Resize; pixels moved between space and channels."""

import numpy as np

from hybrid.shapes import UNKNOWN, is_known

from ..builder import Value
from ..registry import from_onnx, to_onnx
from .convolution import deconvolution


@to_onnx("UpSampling")
def _(b, op, data, *others):
    if op.sample_type == "bilinear":
        return deconvolution(b, op.deconvolution, data, *others)
    factors = op.factors([x.shape for x in (data, *others)])
    grown = [_repeated(b, x, each, data, op.scale) for x, each in zip((data, *others), factors)]
    if len(grown) == 1:
        return grown[0]
    return b.Concat(*grown, axis=1) if op.multi_input_mode == "concat" else b.Sum(*grown)


def _repeated(b, x, factors, data, scale):
    """Every pixel repeated (height, width) times; where these are unknown, as often as makes x scale times as large as data."""
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if is_known(factors):
        return b.Resize(x, None, b.const(np.array([1, 1, *factors], np.float32)), **how)
    sizes = (b.size(data, axis) for axis in (2, 3))
    goal = (b.Mul(n, scale) if isinstance(n, Value) else n * scale for n in sizes)
    return b.Resize(x, None, None, b.dims(b.size(x, 0), b.size(x, 1), *goal), **how)


@to_onnx("_contrib_BilinearResize2D")
def _(b, op, data, like=None):
    if like is not None:
        sizes = [b.size(like, 2), b.size(like, 3)]
    else:
        known = op.sizes(*data.shape[2:])
        scales = op.scale_height, op.scale_width
        sizes = [_size(b, op, data, a, scales[a - 2]) if n is UNKNOWN else n for a, n in zip((2, 3), known)]
    sizes = b.dims(b.size(data, 0), b.size(data, 1), *sizes)
    how = "align_corners" if op.align_corners else "pytorch_half_pixel"  # which differ for a single new pixel
    return b.Resize(data, None, None, sizes, mode="linear", coordinate_transformation_mode=how)


def _size(b, op, data, axis, scale):
    """The new size along an axis, from the one at run time; as BilinearResize2D.sizes."""
    old = b.size(data, axis)
    if op.mode in ("size", "odd_scale"):
        # in float32, as MXNet multiplies; Cast cuts off the fraction
        even = old if op.mode == "size" else b.Sub(old, b.Mod(old, 2))
        new = b.cast(b.Mul(b.cast(even, np.float32), scale), np.int64)
        return new if op.mode == "size" else b.Add(new, b.Mod(old, 2))
    odd = b.Mod(old, 2)
    change = odd if op.mode.startswith("to_even") else b.Sub(b.const([1]), odd)
    return b.Add(old, change) if op.mode.endswith("up") else b.Sub(old, change)


@to_onnx("depth_to_space")
def _(b, op, data):
    return b.DepthToSpace(data, blocksize=op.block_size, mode="DCR")


@to_onnx("space_to_depth")
def _(b, op, data):
    return b.SpaceToDepth(data, blocksize=op.block_size)


@from_onnx("DepthToSpace")
def _(g, x, *, blocksize):
    return g.depth_to_space(x, block_size=blocksize)


@from_onnx("DepthToSpace", since=11)
def _(g, x, *, blocksize, mode="DCR"):
    if mode == "DCR":
        return g.depth_to_space(x, block_size=blocksize)
    # channels are the slower index here: (n, c, b, b, h, w) -> (n, c, h, b, w, b), by MXNet's codes for splitting and merging axes
    split = g.Reshape(g.Reshape(x, shape=(0, -4, -1, blocksize**2, 0, 0)), shape=(0, 0, -4, blocksize, blocksize, 0, 0))
    return g.Reshape(g.transpose(split, axes=(0, 1, 4, 2, 5, 3)), shape=(0, 0, -3, -3))


@from_onnx("SpaceToDepth")
def _(g, x, *, blocksize, mode="DCR"):
    if mode == "DCR":
        return g.space_to_depth(x, block_size=blocksize)
    # (n, c, h, b, w, b) -> (n, c, b, b, h, w)
    split = g.Reshape(x, shape=(0, 0, -4, -1, blocksize, -4, -1, blocksize))
    return g.Reshape(g.Reshape(g.transpose(split, axes=(0, 1, 3, 5, 2, 4)), shape=(0, -3, 0, 0, 0)), shape=(0, -3, 0, 0))
