"""Resize in the forms that MXNet lacks."""

import math

import numpy as np

from ...error import Unsupported
from ...registry import PASSTHROUGH, exports
from ...value import Value

PASSTHROUGH["_onnx_Resize"] = "", "Resize"


@exports("_onnx_Resize")
def export_onnx_resize(b, op, *inputs):
    if op.coordinate_transformation_mode == "tf_half_pixel_for_nn" and b.opset >= 18:
        raise Unsupported(
            "coordinate_transformation_mode='tf_half_pixel_for_nn' left ONNX with opset 18; choose 13 to 17"
        )
    x, _, scales, sizes = op.by_input(inputs)
    if sizes is None and b.opset >= 11 and not op.cropped:
        sizes = _sizes_if_rounding_decides(b, op, x, scales)
        if sizes is not None:
            op, inputs = type(op)(**{name: getattr(op, name) for name in op.fields} | {"given": ("sizes",)}), [x, sizes]
    return b.passthrough("", "Resize", op, inputs)


def _sizes_if_rounding_decides(b, op, x, scales):
    """The new sizes, where an old one times its scale is a whole number in float32 and just less than that otherwise, such as 9
    times 13 / 9: onnxruntime multiplies in float32, onnx's shape inference does not. None where it makes no difference."""
    if scales.const is None or x.shape is None:
        return None
    goals, unlike = [], False
    for axis, scale in zip(op.along(len(x.shape)), scales.const.astype(np.float32)):
        size = b.size(x, axis)
        if scale != 1:
            if isinstance(size, Value):
                return None
            exactly = math.floor(size * float(scale))
            size = math.floor(np.float32(size) * scale)
            unlike |= size != exactly
        goals.append(size)
    if not unlike:
        return None
    goals = b.dims(*goals)
    return goals if isinstance(goals, Value) else b.const(goals)
