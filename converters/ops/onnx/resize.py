"""Resize in the forms that MXNet lacks."""

from ...error import Unsupported
from ...registry import PASSTHROUGH, exports

PASSTHROUGH["_onnx_Resize"] = "", "Resize"


@exports("_onnx_Resize")
def export_onnx_resize(b, op, *inputs):
    if op.coordinate_transformation_mode == "tf_half_pixel_for_nn" and b.opset >= 18:
        raise Unsupported(
            "coordinate_transformation_mode='tf_half_pixel_for_nn' left ONNX with opset 18; choose 13 to 17"
        )
    return b.passthrough("", "Resize", op, inputs)
