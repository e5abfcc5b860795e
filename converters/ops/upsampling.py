"""Images made larger or smaller as Resize; pixels moved between space and channels."""

import numpy as np

from hybrid.shapes import UNKNOWN

from ..registry import to_onnx
from .convolution import deconvolution


@to_onnx("UpSampling")
def _(b, op, data, *others):
    if op.sample_type == "bilinear":
        return deconvolution(b, op.deconvolution, data, *others)
    # how much the others have to grow depends on the sizes of all
    factors = op.factors([x.static for x in (data, *others)] if others else [data.shape])
    grown = [_repeated(b, x, each) for x, each in zip((data, *others), factors)]
    if len(grown) == 1:
        return grown[0]
    return b.Concat(*grown, axis=1) if op.multi_input_mode == "concat" else b.Sum(*grown)


def _repeated(b, x, factors):
    """Every pixel repeated (height, width) times."""
    scales = b.const(np.array([1, 1, *factors], np.float32))
    return b.Resize(x, None, scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@to_onnx("_contrib_BilinearResize2D")
def _(b, op, data, like=None):
    if like is not None:
        sizes = [b.size(like, 2), b.size(like, 3)]
    else:
        fixed = op.mode == "size" and op.scale_height is None and op.scale_width is None
        sizes = op.sizes(*((UNKNOWN, UNKNOWN) if fixed else (data.dim(2), data.dim(3))))
    sizes = b.dims(b.size(data, 0), b.size(data, 1), *sizes)
    how = "align_corners" if op.align_corners else "pytorch_half_pixel"  # which differ for a single new pixel
    return b.Resize(data, None, None, sizes, mode="linear", coordinate_transformation_mode=how)


@to_onnx("depth_to_space")
def _(b, op, data):
    return b.DepthToSpace(data, blocksize=op.block_size, mode="DCR")


@to_onnx("space_to_depth")
def _(b, op, data):
    return b.SpaceToDepth(data, blocksize=op.block_size)
