"""topk, sort and argsort as TopK, which also puts the first of equal numbers first.

Of more than 16 numbers MXNet does not say in which order equal ones come (hybrid/ops/ordering.py), so that one node does. Where it
says so, in detection, ``in_order`` is what sorts."""

from typing import Any

import numpy as np

from ..builder import Builder, Value
from ..registry import exports, imports

_END = np.iinfo(np.int64).max
_MOST = 2**31
"""Keys are below, so that engines whose only integers have 32 bits hold them."""


def in_order(b: Builder, data: Value, count: Any, size: Any) -> tuple[Value, Value]:
    """The largest numbers of each row of data (N, count), in order, and their positions (N, size) int64; equal ones by position.

    count, size: numbers or 1-D Values. ONNX promises that order of TopK, and OpenVINO and MNN do not keep it. What they agree about
    are the numbers that TopK gives; from these each one gets a rank, the same for equals, and a second TopK sorts by rank and
    position, a key that no two share. Where such keys take more than 31 bits (46340 numbers, all of them wanted), or nobody wants
    them (``Forms.ties``), a single TopK is all. No number may be NaN."""
    found, places = b.TopK(data, b.dims(size), axis=1, outputs=2)
    known = isinstance(count, int) and isinstance(size, int)
    if not b.forms.ties or (known and (count < 2 or (size + 1) * count >= _MOST)):
        return found, places
    kind = np.int64 if not known else np.int32 if (size + 1) * count >= 2**24 else np.float32

    def number(n: Any) -> Value:
        return b.const([n], kind) if isinstance(n, int) else b.cast(n, kind)

    shifted = b.Concat(b.slice(found, [0], [1], [1]), b.slice(found, [0], [-1], [1]), axis=1)
    rank = b.CumSum(b.cast(b.Greater(shifted, found), kind), b.const(1))
    if count is size or (known and count == size):
        others = b.cast(places, kind)  # of this shape; all of it is overwritten
    else:  # those equal to the last one share its rank, also where TopK has left them out
        last, lowest = (b.slice(x, [-1], [_END], [1]) for x in (found, rank))
        others = b.Where(b.Equal(data, last), lowest, number(size))
    rank = b.ScatterElements(others, places, rank, axis=1)
    key = b.Add(b.Mul(rank, number(count)), b.cast(b.counting(count), kind))
    _, order = b.TopK(key, b.dims(size), axis=1, largest=0, outputs=2)
    return found, order


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
