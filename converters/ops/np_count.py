"""Counts as sums of comparisons, and numbers at some place in their order by TopK."""

import numpy as np

from hybrid.ops.common import np_axes_of

from ..registry import exports
from .elementwise import is_whole
from .np_select import END


@exports("_npi_bincount")
def export_npi_bincount(b, op, data, *weights):
    whole = b.cast(data, np.int64)
    size = b.Add(b.reduce("Max", b.Concat(whole, b.const([op.minlength - 1]), axis=0), [0], keepdims=True), 1)
    hit = b.Equal(b.unsqueeze(b.counting(size), [1]), b.unsqueeze(whole, [0]))
    if not weights:
        return b.cast(b.reduce("Sum", b.cast(hit, np.int64), [1], keepdims=False), data.dtype)
    wide = b.wide(weights[0])
    wide = b.cast(wide, np.int64) if is_whole(wide) else wide
    sums = b.reduce("Sum", b.Where(hit, b.unsqueeze(wide, [0]), 0), [1], keepdims=False)
    return b.cast(sums, weights[0].dtype)


def _whole_histogram(b, op, data):
    """Of bins of one width, as Histogram.compute has them for whole numbers."""
    (low, high), edges = op.limits(), b.const(op.edges(data.dtype))
    flat, last = b.reshape(data, [-1]), op.bin_cnt - 1
    least, most = op.bounds(data.dtype)
    inside = b.And(b.GreaterOrEqual(flat, least), b.LessOrEqual(flat, most))
    share = b.Div(b.Mul(b.Sub(b.cast(flat, np.float64), low), float(op.bin_cnt)), high - low)
    place = b.Max(b.Min(b.cast(share, np.int64), last), 0)  # what is outside lies somewhere
    place = b.Sub(place, b.cast(b.Less(flat, b.Gather(edges, place, axis=0)), np.int64))
    after = b.GreaterOrEqual(flat, b.Gather(edges, b.Min(b.Add(place, 1), last), axis=0))
    place = b.Add(place, b.cast(b.And(b.Less(place, last), after), np.int64))
    hit = b.And(b.Equal(b.unsqueeze(place, [1]), np.arange(op.bin_cnt)), b.unsqueeze(inside, [1]))
    return b.reduce("Sum", b.cast(hit, np.int64), [0], keepdims=False), edges


@exports("_histogram")
def export_histogram(b, op, data, *bins):
    if not bins and is_whole(data):
        return _whole_histogram(b, op, data)
    edges = bins[0] if bins else b.const(op.edges(data.dtype))
    column = b.unsqueeze(b.reshape(data, [-1]), [1])
    starts, end = b.slice(edges, [0], [-1], [0]), b.slice(edges, [-1], [END], [0])
    low, high = (
        (b.slice(edges, [0], [1], [0]), end) if bins else (b.const(op.bounds(data.dtype)[i : i + 1]) for i in (0, 1))
    )
    inside = b.And(b.GreaterOrEqual(column, low), b.LessOrEqual(column, high))
    # how many lie at the start of each bin or beyond; those of the next bin are no longer in it, but all are in the last
    beyond = b.cast(b.And(inside, b.GreaterOrEqual(column, starts)), np.int64)
    beyond = b.reduce("Sum", beyond, [0], keepdims=False)
    after = b.Concat(b.slice(beyond, [1], [END], [0]), b.const([0]), axis=0)
    return b.Sub(beyond, after), b.rename(edges)


@exports("_npi_percentile")
def export_npi_percentile(b, op, a, *q):
    axes, dtype = np_axes_of(op, op.axis, a.rank), op.infer_type(a.dtype)
    kept = [i for i in range(a.rank) if i not in axes]
    last = len(kept)
    rows = b.transpose(a, [*kept, *axes])
    if len(axes) != 1:
        rows = b.reshape(rows, [0] * last + [-1])
    count = b.shape_of(rows, last)
    rows, _ = b.TopK(rows, count, axis=last, largest=0, outputs=2)
    rows = b.cast(rows, dtype)
    asked = b.cast(q[0], np.float64) if q else b.const(np.float64(op.q_scalar))
    most = b.cast(b.Sub(b.squeeze(count, [0]), 1), np.float64)
    place = b.Div(b.Mul(asked, most), 100.0)
    before, after = b.Floor(place), b.Ceil(place)
    mixed = op.interpolation in ("linear", "midpoint")
    if op.interpolation == "nearest":
        before = b.Where(b.Less(b.Sub(place, before), b.Sub(after, place)), before, after)
    if op.interpolation == "higher":
        before = after
    if op.interpolation == "midpoint":
        place = b.Mul(b.Add(before, after), 0.5)
        before = b.Floor(place)
    lead = len(q[0].shape) if q else 0

    def taken(where):
        found = b.Gather(rows, b.cast(where, np.int64), axis=last)
        return b.transpose(found, [last, *range(last)]) if lead else found

    low = taken(before)
    if mixed:
        high, way = taken(b.Min(b.Add(before, 1.0), most)), b.cast(b.Sub(place, before), dtype)
        way = b.unsqueeze(way, range(1, 1 + last)) if lead else way
        low = b.Add(b.Mul(low, b.Sub(1, way)), b.Mul(high, way))
    return b.unsqueeze(low, [lead + a for a in axes]) if op.keepdims else low
