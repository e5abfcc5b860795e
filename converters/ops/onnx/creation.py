"""Arrays made from numbers that may arrive at run time."""

import numpy as np

from ...onnx_types import code_of
from ...registry import exports, passthrough

passthrough("Range", since=11, read=False)
passthrough("EyeLike", since=9, write=False)
passthrough("OneHot", since=11, write=False)
passthrough("ConstantOfShape", since=9, read=False)


@exports("_onnx_EyeLike")
def export_onnx_eye_like(b, op, data):
    """With its dtype, which without would follow that of data where this has to be cast for want of a kernel."""
    return b.EyeLike(data, k=op.k, dtype=code_of(op.dtype or data.dtype))


@exports("_onnx_OneHot")
def export_onnx_one_hot(b, op, indices, depth, values):
    """onnxruntime has it for few combinations of dtypes: where it does not take the values, they are chosen by Where."""
    indices, depth = b.cast(indices, np.int64), b.cast(depth, np.int64)
    if values.dtype in (np.float32, np.int64, np.dtype(object)):
        return b.OneHot(indices, depth, values, axis=op.axis)
    there = b.cast(b.OneHot(indices, depth, b.const([0, 1]), axis=op.axis), np.bool_)
    return b.Where(there, b.Gather(values, b.const(1)), b.Gather(values, b.const(0)))
