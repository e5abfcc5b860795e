"""Sampling by a grid in the forms that MXNet lacks."""

from ...registry import exports, passthrough

passthrough("GridSample", since=20, read=False)
passthrough("AffineGrid", since=20)

_OLD_MODES = {"linear": "bilinear", "cubic": "bicubic"}


@exports("_onnx_GridSample", since=16)
def export_onnx_grid_sample(b, op, x, grid):
    mode = _OLD_MODES.get(op.mode, op.mode)
    return b.GridSample(x, grid, align_corners=int(op.align_corners), mode=mode, padding_mode=op.padding_mode)
