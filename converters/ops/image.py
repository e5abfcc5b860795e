"""Images made ready for a network: the operators of preprocessing, where a model carries it."""

import numpy as np

from hybrid.ops.image import LIGHT
from hybrid.ops.resample import LINEAR, NEAREST

from ..error import Unsupported
from ..registry import not_exported, to_onnx


@to_onnx("_image_to_tensor")
def _(b, op, data):
    order = (2, 0, 1) if data.rank == 3 else (0, 3, 1, 2)
    return b.Div(b.Transpose(b.cast(data, np.float32), perm=order), 255)


@to_onnx("_image_normalize")
def _(b, op, data):
    if data.dtype.kind in "iu":
        raise Unsupported(f"data of {data.dtype}, whose results MXNet cuts off; cast it to float32 before")
    mean, std = op.columns()
    x = b.cast(data, np.float32)
    return b.cast(b.Div(b.Sub(x, b.const(mean)), b.const(std)), data.dtype)


@to_onnx("_image_crop")
def _(b, op, data):
    axes = [data.rank - 3, data.rank - 2]
    starts = [op.y, op.x]
    return b.Slice(data, b.const(starts), b.const([op.y + op.height, op.x + op.width]), b.const(axes))


@to_onnx("_image_flip_left_right")
def _(b, op, data):
    return _flipped(b, data, 1)


@to_onnx("_image_flip_top_bottom")
def _(b, op, data):
    return _flipped(b, data, 0)


def _flipped(b, data, axis):
    return b.Slice(data, b.const([-1]), b.const([np.iinfo(np.int64).min]), b.const([axis]), b.const([-1]))


@to_onnx("_image_adjust_lighting")
def _(b, op, data):
    if data.dtype.kind in "iu":
        raise Unsupported(f"data of {data.dtype}, whose results MXNet cuts off; cast it to float32 before")
    change = (LIGHT @ np.array(op.alpha)).astype(np.float32)
    return b.cast(b.Add(b.cast(data, np.float32), b.const(change)), data.dtype)


@to_onnx("_image_resize")
def _(b, op, data):
    """Channels are moved to the front, since onnxruntime resizes the last two axes."""
    sizes = op.infer_shape(data.shape)[-3:-1]
    if not all(isinstance(n, int) for n in sizes):
        raise Unsupported("keep_ratio with images of unknown size; give the shape of the input, or both sizes")
    if op.interp not in (NEAREST, LINEAR) or data.dtype.kind != "f":
        raise Unsupported(f"interp={op.interp} on {data.dtype}: ONNX's Resize gives these numbers only for 0 and 1, on floats")
    batch = data if data.rank == 4 else b.unsqueeze(data, [0])
    first = b.Transpose(batch, perm=(0, 3, 1, 2))
    sizes = b.dims(b.size(first, 0), b.size(first, 1), *sizes)
    if op.interp == NEAREST:
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    else:
        how = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    last = b.Transpose(b.Resize(first, None, None, sizes, **how), perm=(0, 2, 3, 1))
    return last if data.rank == 4 else b.squeeze(last, [0])


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
