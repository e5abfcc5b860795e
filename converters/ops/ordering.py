"""topk, sort and argsort as TopK, which also puts the first of equal numbers first."""

import numpy as np

from ..builder import Builder, Value
from ..registry import to_onnx


def ordered(b: Builder, op, data: Value, ascending: bool, count: int = 0) -> tuple[Value, Value]:
    """The first numbers in order (all, when count < 1), and their positions."""
    axis = op.along(data.rank)
    if op.axis is None:
        data = b.reshape(data, [-1])
    size = b.dims(count if count > 0 else b.shape_of(data, 0) if op.axis is None else b.size(data, axis))
    return b.TopK(data, size, axis=axis, largest=int(not ascending), outputs=2)


@to_onnx("topk")
def _(b, op, data):
    values, places = ordered(b, op, data, op.is_ascend, op.k)
    if op.ret_typ == "mask":
        shape = b.shape_of(data)
        zeros = b.Expand(b.const(np.zeros((), data.dtype)), shape)
        ones = b.Expand(b.const(np.ones((), data.dtype)), b.shape_of(places))
        if op.axis is None:
            return b.reshape(b.ScatterElements(b.reshape(zeros, [-1]), places, ones, axis=0), shape)
        return b.ScatterElements(zeros, places, ones, axis=op.along(data.rank))
    return places if op.ret_typ == "indices" else (values, places)


@to_onnx("sort")
def _(b, op, data):
    return ordered(b, op, data, op.is_ascend)


@to_onnx("argsort")
def _(b, op, data):
    return ordered(b, op, data, op.is_ascend)[1]
