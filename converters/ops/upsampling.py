"""Images made larger or smaller as Resize; pixels moved between space and channels."""

import numpy as np

from hybrid.core.shapes import UNKNOWN, is_known

from ..builder import Value
from ..registry import exports, imports
from .convolution import deconvolution, in_networks


@exports("UpSampling")
def export_up_sampling(b, op, data, *others):
    if op.sample_type == "bilinear":
        return deconvolution(b, op.deconvolution, data, *others)
    factors = op.factors([x.sizes for x in (data, *others)])
    grown = [_repeat(b, x, each, data, op.scale) for x, each in zip((data, *others), factors)]
    if len(grown) == 1:
        return grown[0]
    return b.Concat(*grown, axis=1) if op.multi_input_mode == "concat" else b.Sum(*grown)


def _repeat(b, x, factors, data, scale):
    """Every pixel repeated (height, width) times; where these are unknown, as often as makes x scale times as large as data."""
    if x.dtype == np.int64:
        return _repeat_integers(b, x, factors, data, scale)
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if is_known(factors):
        return b.Resize(x, None, b.const(np.array([1, 1, *factors], np.float32)), **how)
    sizes = (b.size(data, axis) for axis in (2, 3))
    goal = (b.Mul(n, scale) if isinstance(n, Value) else n * scale for n in sizes)
    return b.Resize(x, None, None, b.dims(b.size(x, 0), b.size(x, 1), *goal), **how)


def _repeat_integers(b, x, factors, data, scale):
    """_repeat without Resize, which onnxruntime has for no integers of 64 bits; narrower ones would wrap."""
    images = b.size(x, 0), b.size(x, 1)
    old = [b.size(x, axis) for axis in (2, 3)]
    if not is_known(factors):
        factors = [_over(b, _times(b, b.size(data, axis), scale), size) for axis, size in zip((2, 3), old)]
    apart = b.reshape(x, b.dims(*images, old[0], 1, old[1], 1))
    wide = b.Expand(apart, b.dims(1, 1, 1, factors[0], 1, factors[1]))
    return b.reshape(wide, b.dims(*images, *(_times(b, *pair) for pair in zip(old, factors))))


def _times(b, size, factor):
    """Sizes as Builder.size gives them, multiplied."""
    return b.Mul(size, factor) if isinstance(size, Value) or isinstance(factor, Value) else size * factor


def _over(b, size, divisor):
    """Sizes as Builder.size gives them, divided."""
    return b.Div(size, divisor) if isinstance(size, Value) or isinstance(divisor, Value) else size // divisor


@exports("_contrib_BilinearResize2D")
def export_contrib_bilinear_resize2_d(b, op, data, like=None):
    if like is not None:
        sizes = [b.size(like, 2), b.size(like, 3)]
    else:
        known = op.sizes(*data.sizes[2:])
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


@exports("depth_to_space")
def export_depth_to_space(b, op, data):
    if data.dtype != np.int64:
        return b.DepthToSpace(data, blocksize=op.block_size, mode="DCR")
    # onnxruntime has none for these; floats would round them
    n, c, h, w = (b.size(data, axis) for axis in range(4))
    block, c = op.block_size, _over(b, c, op.block_size**2)
    apart = b.transpose(b.reshape(data, b.dims(n, block, block, c, h, w)), (0, 3, 4, 1, 5, 2))
    return b.reshape(apart, b.dims(n, c, _times(b, h, block), _times(b, w, block)))


@exports("space_to_depth")
def export_space_to_depth(b, op, data):
    if data.dtype != np.int64:
        return b.SpaceToDepth(data, blocksize=op.block_size)
    n, c, h, w = (b.size(data, axis) for axis in range(4))
    block, h, w = op.block_size, _over(b, h, op.block_size), _over(b, w, op.block_size)
    apart = b.transpose(b.reshape(data, b.dims(n, c, h, block, w, block)), (0, 3, 5, 1, 2, 4))
    return b.reshape(apart, b.dims(n, _times(b, c, block**2), h, w))


@imports("DepthToSpace")
def import_depth_to_space_first(g, x, *, blocksize):
    return g.depth_to_space(x, block_size=blocksize)


@imports("DepthToSpace", since=11)
def import_depth_to_space_since_11(g, x, *, blocksize, mode="DCR"):
    if mode == "DCR":
        return g.depth_to_space(x, block_size=blocksize)
    # channels are the slower index here: (n, c, b, b, h, w) -> (n, c, h, b, w, b), by MXNet's codes for splitting and merging axes
    split = g.Reshape(g.Reshape(x, shape=(0, -4, -1, blocksize**2, 0, 0)), shape=(0, 0, -4, blocksize, blocksize, 0, 0))
    return g.Reshape(g.transpose(split, axes=(0, 1, 4, 2, 5, 3)), shape=(0, 0, -3, -3))


@imports("SpaceToDepth")
def import_space_to_depth(g, x, *, blocksize, mode="DCR"):
    if mode == "DCR":
        return g.space_to_depth(x, block_size=blocksize)
    # (n, c, h, b, w, b) -> (n, c, b, b, h, w)
    split = g.Reshape(x, shape=(0, 0, -4, -1, blocksize, -4, -1, blocksize))
    return g.Reshape(
        g.Reshape(g.transpose(split, axes=(0, 1, 3, 5, 2, 4)), shape=(0, -3, 0, 0, 0)), shape=(0, -3, 0, 0)
    )


def _upsample(g, x, scales, sizes, mode, coordinates, nearest_mode):
    """Resize of images as MXNet's UpSampling or BilinearResize2D; None where neither means the same."""
    if x.shape is None or len(x.shape) != 4 or not in_networks(x):
        return None
    spatial = x.shape[2:]
    known, new = is_known(x.shape), []  # BilinearResize2D is written with sizes, which only then are read as it again
    if sizes is not None:
        if sizes.const is None or sizes.const.size != 4 or not known or tuple(sizes.ints()[:2]) != tuple(x.shape[:2]):
            return None
        new = sizes.ints()[2:]
        factors = [n / d if d else 0 for n, d in zip(new, spatial)]
    else:
        if scales is None or scales.const is None or scales.const.size != 4 or (scales.const[:2] != 1).any():
            return None
        factors = [float(v) for v in scales.const[2:]]
        new = [d * f for d, f in zip(spatial, factors)] if known else []
    whole = all(f >= 1 and float(f).is_integer() for f in factors)
    if mode == "nearest":
        rounded = nearest_mode.startswith("round") and coordinates in (
            "half_pixel",
            "half_pixel_symmetric",
            "pytorch_half_pixel",
        )
        if (
            whole
            and factors[0] == factors[1]
            and (rounded or (nearest_mode == "floor" and coordinates == "asymmetric"))
        ):
            return g.UpSampling(x, scale=int(factors[0]), sample_type="nearest", num_args=1)
        return None
    edges = coordinates == "pytorch_half_pixel" or (
        coordinates in ("half_pixel", "half_pixel_symmetric") and (whole or (known and min(new) > 1))
    )
    if mode != "linear" or not (edges or coordinates == "align_corners"):
        return None
    if known and all(n >= 1 and float(n).is_integer() for n in new):
        sizes = {"height": int(new[0]), "width": int(new[1])}
    else:
        return None
    return g.apply("_contrib_BilinearResize2D", x, mode="size", align_corners=coordinates == "align_corners", **sizes)


def _of_graph(g, value):
    """Stored floats that belong to the graph, which shapes depend on, and not to the parameters."""
    if value is None or value.const is None:
        return value
    made = g.apply("_onnx_Constant", value=value.const)
    made.const = value.const
    return made


def _resize(g, x, roi, scales, sizes, **attrs):
    def filled(v):
        return None if v is None or (v.const is not None and not v.const.size) else v

    scales, sizes = filled(scales), filled(sizes)
    if attrs.get("coordinate_transformation_mode") == "tf_half_pixel_for_nn" and attrs["mode"] == "nearest":
        # which left the standard with opset 18, and is half_pixel half an element further on
        nearest = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}.get(attrs["nearest_mode"])
        if nearest is not None:
            attrs |= {"coordinate_transformation_mode": "half_pixel", "nearest_mode": nearest}
    # what nothing reads is left out
    roi = filled(roi) if attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize" else None
    simple = (
        attrs.get("axes") is None
        and not attrs.get("antialias")
        and not attrs.get("exclude_outside")
        and scales is not sizes
    )
    if simple and attrs.get("keep_aspect_ratio_policy", "stretch") == "stretch":
        coordinates = attrs.get("coordinate_transformation_mode", "half_pixel")
        made = _upsample(
            g, x, scales, sizes, attrs["mode"], coordinates, attrs.get("nearest_mode", "round_prefer_floor")
        )
        if made is not None:
            return made
    given = {"roi": _of_graph(g, roi), "scales": _of_graph(g, scales), "sizes": sizes}
    names = tuple(n for n, v in given.items() if v is not None)
    return g.apply("_onnx_Resize", x, *(given[n] for n in names), given=names, **attrs)


def _asymmetric(g, x, scales, mode):
    """Resize before version 11. The nearest element is the one before, but where an axis shrinks the one after, as onnxruntime has
    it: the standard leaves that open."""
    attrs = {"mode": mode, "coordinate_transformation_mode": "asymmetric"}
    if mode != "nearest" or (scales.const is not None and (scales.const >= 1).all()):
        return _resize(g, x, None, scales, None, nearest_mode="floor", **attrs)
    if scales.const is not None and (scales.const <= 1).all():
        return _resize(g, x, None, scales, None, nearest_mode="ceil", **attrs)
    up = g.apply("_maximum_scalar", scales, scalar=1.0)
    down = g.apply("_minimum_scalar", scales, scalar=1.0)
    x = _resize(g, x, None, up, None, nearest_mode="floor", **attrs)
    return _resize(g, x, None, down, None, nearest_mode="ceil", **attrs)


@imports("Upsample")
def import_upsample_first(g, x, *, height_scale, mode="nearest", width_scale):
    return _asymmetric(g, x, g.const([1, 1, height_scale, width_scale], np.float32), _MODES.get(mode, mode))


@imports("Upsample", since=7)
def import_upsample_since_7(g, x, *, mode="nearest", scales):
    return _asymmetric(g, x, g.const(scales, np.float32), _MODES.get(mode, mode))


@imports("Upsample", since=9)
def import_upsample_since_9(g, x, scales, *, mode="nearest"):
    return _asymmetric(g, x, scales, _MODES.get(mode, mode))


@imports("Resize", since=10)
def import_resize_since_10(g, x, scales, *, mode="nearest"):
    return _asymmetric(g, x, scales, mode)


_MODES = {"bilinear": "linear"}  # as version 1 says


@imports("Resize", since=11)
def import_resize_since_11(
    g, x, roi=None, scales=None, sizes=None, *, coordinate_transformation_mode="half_pixel", cubic_coeff_a=-0.75, exclude_outside=0,
    extrapolation_value=0.0, mode="nearest", nearest_mode="round_prefer_floor",
):  # fmt: skip
    return _resize(
        g, x, roi, scales, sizes, coordinate_transformation_mode=coordinate_transformation_mode, cubic_coeff_a=cubic_coeff_a,
        exclude_outside=exclude_outside, extrapolation_value=extrapolation_value, mode=mode, nearest_mode=nearest_mode,
    )  # fmt: skip


@imports("Resize", since=18)
def import_resize_since_18(
    g, x, roi=None, scales=None, sizes=None, *, antialias=0, axes=None, coordinate_transformation_mode="half_pixel",
    cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, keep_aspect_ratio_policy="stretch", mode="nearest",
    nearest_mode="round_prefer_floor",
):  # fmt: skip
    return _resize(
        g, x, roi, scales, sizes, antialias=antialias, axes=axes, coordinate_transformation_mode=coordinate_transformation_mode,
        cubic_coeff_a=cubic_coeff_a, exclude_outside=exclude_outside, extrapolation_value=extrapolation_value,
        keep_aspect_ratio_policy=keep_aspect_ratio_policy, mode=mode, nearest_mode=nearest_mode,
    )  # fmt: skip
