"""Parts and pads that are only known at run time. What reads these operators is in converters/ops/slicing.py, join.py
and expand.py."""

from ...error import Unsupported
from ...registry import exports, passthrough

passthrough("Slice", "Trilu", read=False)
passthrough("CenterCropPad", since=18, read=False)


@exports("_onnx_Split")
def export_onnx_split(b, op, data, split=None):
    outputs = op.num_outputs
    if split is not None:
        made = b.Split(data, split, axis=op.axis, outputs=outputs)
    elif b.opset >= 18:
        made = b.Split(data, None, axis=op.axis, num_outputs=outputs, outputs=outputs)
    else:
        made = b.Split(data, op.pieces(data.dim(op.axis), None), axis=op.axis, outputs=outputs)
    return made


@exports("_onnx_Pad")
def export_onnx_pad(b, op, *inputs):
    data, pads, value, axes = op.by_input(inputs)
    if (op.mode == "wrap" and b.opset < 19) or (axes is not None and b.opset < 18):
        raise Unsupported(f"ONNX Pad has neither axes nor mode wrap at opset {b.opset}; choose opset 19 or newer")
    return b.Pad(data, pads, value, axes, mode=op.mode)
