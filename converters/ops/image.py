"""Images made ready for a network: the operators of preprocessing, where a model carries it."""

import numpy as np

from hybrid.core.shapes import is_known
from hybrid.ops.image import LIGHT
from hybrid.ops.resample import LINEAR, LINEAR_EXACT, NEAREST, chosen, matrices

from ..error import Unsupported
from ..registry import exports, imports, not_exported
from .image_codec import resize_integers


def _wide(b, data):
    return data if data.dtype == np.float64 else b.cast(data, np.float32)


@exports("_image_to_tensor")
def export_image_to_tensor(b, op, data):
    order = (2, 0, 1) if data.rank == 3 else (0, 3, 1, 2)
    return b.Div(b.Transpose(b.cast(data, np.float32), perm=order), 255)


@exports("_image_normalize")
def export_image_normalize(b, op, data):
    mean, std = op.columns()
    x = _wide(b, data)
    y = b.Div(b.Sub(x, b.const(mean.astype(x.dtype))), b.const(std.astype(x.dtype)))
    return b.cast(y if data.dtype.kind == "f" else b.cast(y, np.int64), data.dtype)  # by way of int64 they wrap round


def _flip(b, data, axis):
    return b.Slice(data, b.const([-1]), b.const([np.iinfo(np.int64).min]), b.const([axis]), b.const([-1]))


@exports("_image_adjust_lighting")
def export_image_adjust_lighting(b, op, data):
    if data.sizes[2] == 1:
        return b.Identity(data)
    x = _wide(b, data)
    y = b.Add(x, b.const((LIGHT @ np.array(op.alpha)).astype(np.float32).astype(x.dtype)))
    y = b.Max(b.Min(y, 255), 0) if data.dtype == np.uint8 else y
    return b.cast(y if data.dtype.kind == "f" else b.cast(y, np.int64), data.dtype)


@exports("_image_resize")
def export_image_resize(b, op, data):
    """Nearest and linear are ONNX's Resize; the others two matrices, which need known sizes."""
    sizes = op.infer_shape(data.sizes)[-3:-1]
    if not is_known(sizes) and op.interp in (NEAREST, LINEAR, LINEAR_EXACT) and data.dtype.kind == "f":
        sizes = _longer(b, data, op.size[0])
    elif not is_known(sizes):
        raise Unsupported("keep_ratio with images of unknown size; give the shape of the input, or both sizes")
    # channels to the front: onnxruntime resizes the last two axes
    first = b.Transpose(data, perm=(2, 0, 1) if data.rank == 3 else (0, 3, 1, 2))
    if op.interp != NEAREST and data.dtype.kind != "f":
        if not is_known(data.shape[-3:-1]):
            raise Unsupported(f"interp={op.interp} on {data.dtype} images of unknown size; give the shape of the input")
        old, new = data.shape[-3:-1], (sizes[0], sizes[1])
        y = resize_integers(b, first, old, new, chosen(old, new, op.interp))
    elif op.interp in (NEAREST, LINEAR, LINEAR_EXACT):
        batch = b.unsqueeze(first, [0]) if data.rank == 3 else first
        how = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
        if op.interp == NEAREST:
            how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        y = b.Resize(batch, None, None, b.dims(b.size(batch, 0), b.size(batch, 1), *sizes), **how)
        y = b.squeeze(y, [0]) if data.rank == 3 else y
    elif is_known(data.shape[-3:-1]):
        (height, width), (new_height, new_width) = data.shape[-3:-1], sizes
        pair = matrices((height, width), (new_height, new_width), op.interp)
        rows, columns = (m.astype(data.dtype) for m in pair)
        y = b.MatMul(b.MatMul(b.const(rows), first), b.const(columns.T))
    else:
        raise Unsupported(f"interp={op.interp} with images of unknown size; give the shape of the input")
    return b.Transpose(y, perm=(1, 2, 0) if data.rank == 3 else (0, 2, 3, 1))


def _longer(b, data, short):
    """The sizes of images whose shorter side becomes short, proportions kept: the longer one, cut off, is never below it."""
    old = [b.size(data, data.rank - 3), b.size(data, data.rank - 2)]
    old = [b.const([n]) if isinstance(n, int) else n for n in old]
    least = b.Min(*old)
    return [b.Max(b.Div(b.Mul(n, short), least), short) for n in old]


not_exported(
    "varies images at random for training, and an exported model is for inference; export the network without it",
    "_image_random_brightness",
    "_image_random_color_jitter",
    "_image_random_contrast",
    "_image_random_flip_left_right",
    "_image_random_flip_top_bottom",
    "_image_random_hue",
    "_image_random_lighting",
    "_image_random_saturation",
)


# -- reading: experimental operators that left the standard with opset 9 -------------------------------------------------------


@imports("ImageScaler")
def import_image_scaler(g, x, *, bias=(), scale=1.0):
    y = x if scale == 1 else g.apply("_mul_scalar", x, scalar=scale)
    if not len(bias):
        return y if y is not x else g.identity(x)
    return g.broadcast_add(y, g.const(np.reshape(bias, (1, -1, 1, 1)), x.dtype or np.float32))


@imports("Crop")
def import_crop(g, x, *, border=(0, 0, 0, 0), scale=()):
    if len(border) != 4 or (scale and len(scale) != 2):
        raise Unsupported(f"got border={border} and scale={scale}, wanted four numbers and two")
    left, top, right, bottom = border
    lower, outer = (top + scale[0], left + scale[1]) if scale else (-bottom or None, -right or None)
    return g.slice(x, begin=(None, None, top, left), end=(None, None, lower, outer))
