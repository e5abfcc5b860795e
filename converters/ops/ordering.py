"""topk, sort and argsort as TopK, which also puts the first of equal numbers first."""

import numpy as np

from ..builder import Builder, Value
from ..registry import exports, imports


def sort(b: Builder, op, data: Value, ascending: bool, count: int = 0) -> tuple[Value, Value]:
    """The first numbers in order (all, when count < 1), and their positions."""
    axis = op.along(data.rank)
    if op.axis is None:
        data = b.reshape(data, [-1])
    size = b.dims(count if count > 0 else b.shape_of(data, 0) if op.axis is None else b.size(data, axis))
    return b.TopK(data, size, axis=axis, largest=int(not ascending), outputs=2)


@exports("topk")
def export_topk(b, op, data):
    values, places = sort(b, op, data, op.is_ascend, op.k)
    if op.ret_typ == "mask":
        shape = b.shape_of(data)
        zeros = b.Expand(b.const(np.zeros((), data.dtype)), shape)
        ones = b.Expand(b.const(np.ones((), data.dtype)), b.shape_of(places))
        if op.axis is None:
            return b.reshape(b.ScatterElements(b.reshape(zeros, [-1]), places, ones, axis=0), shape)
        return b.ScatterElements(zeros, places, ones, axis=op.along(data.rank))
    return places if op.ret_typ == "indices" else (values, places)


@imports("TopK")
def import_top_k_first(g, x, *, axis=-1, k):
    return top(g, x, g.const(np.array([k], np.int64)), axis=axis)


@imports("TopK", since=10)
def import_top_k_since_10(g, x, k, *, axis=-1):
    return top(g, x, k, axis=axis)


@imports("TopK", since=11)
def import_top_k_since_11(g, x, k, *, axis=-1, largest=1, sorted=1):
    return top(g, x, k, axis=axis, largest=bool(largest), sorted=bool(sorted))


def top(g, x, k, **attributes):
    """The largest or smallest numbers and where they are. MXNet takes a constant k, and 0 for all of them."""
    count = int(k.item()) if k.fixed else 0
    if count < 1 or x.shape is None:
        return g.apply("_onnx_TopK", x, k, **attributes)
    ascending = not attributes.get("largest", True)
    return g.topk(x, axis=attributes["axis"], k=count, ret_typ="both", is_ascend=ascending, dtype="int64")
