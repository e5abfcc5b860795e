"""TopK and Unique."""

from hybrid.core.shapes import UNKNOWN

from ...error import Unsupported
from ...registry import exports, passthrough

passthrough("TopK", read=False)
passthrough("Unique", since=11, write=False)


@exports("_onnx_Unique")
def export_unique(b, op, x):
    """As it stands, but for slices without elements: on these onnxruntime 1.32 ends the process that it runs in."""
    if op.axis is not None and x.shape is not None:
        empty = {a for a, size in enumerate(x.shape) if size is not UNKNOWN and size == 0}
        if empty and op.axis % len(x.shape) not in empty:
            raise Unsupported("slices without elements along an axis: onnxruntime ends the process on them")
    return b.passthrough("", "Unique", op, [x])
