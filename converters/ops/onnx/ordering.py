"""TopK and Unique."""

from ...error import Unsupported
from ...registry import exports, passthrough

passthrough("TopK", read=False)
passthrough("Unique", since=11, write=False)


@exports("_onnx_Unique")
def export_unique(b, op, x):
    """As it stands, but for slices without elements: on these onnxruntime 1.32 ends the process that it runs in."""
    if op.axis is not None and x.shape is not None:
        axis = op.axis % len(x.shape)
        if x.shape[axis] != 0 and 0 in (*x.shape[:axis], *x.shape[axis + 1 :]):
            raise Unsupported("slices without elements along an axis: onnxruntime ends the process on them")
    return b.passthrough("", "Unique", op, [x])
