"""Sampling by a grid in the forms that MXNet lacks."""

from ...registry import itself, to_onnx

itself("GridSample", since=20, read=False)
itself("AffineGrid", since=20)

_OLD_MODES = {"linear": "bilinear", "cubic": "bicubic"}


@to_onnx("_onnx_GridSample", since=16)
def _(b, op, x, grid):
    mode = _OLD_MODES.get(op.mode, op.mode)
    return b.GridSample(x, grid, align_corners=int(op.align_corners), mode=mode, padding_mode=op.padding_mode)
