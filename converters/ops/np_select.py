"""NonZero, Unique and Compress; insertions as one Gather from arr and values joined, by the order of their places."""

import numpy as np

from hybrid.ops.common import axes_of
from hybrid.ops.np_select import InsertScalar
from hybrid.shapes import UNKNOWN

from ..registry import to_onnx
from .elementwise import is_whole

END = np.iinfo(np.int64).max


@to_onnx("_npx_nonzero")
def _(b, op, x):
    # not as it is: cast to what there is a kernel for, a double may become 0
    places = b.NonZero(b.cast(b.reshape(x, [1]) if x.rank == 0 else x, np.bool_))
    return b.Transpose(places, perm=[1, 0])


@to_onnx("_npi_unique")
def _(b, op, data):
    x = data
    if data.dtype not in (np.float32, np.float64, np.int64, np.int8):  # which onnxruntime has kernels for
        x = b.cast(data, np.int64 if is_whole(data) else np.float32)
    values, index, inverse, counts = b.Unique(x, sorted=1, axis=op.axis, outputs=4)
    asked = ((op.return_index, index), (op.return_inverse, inverse), (op.return_counts, counts))
    return (b.cast(values, data.dtype), *(y for wanted, y in asked if wanted))


def located(b, op, arr):
    """arr as it has the axis, which that is, and its size: a number or a 1-D tensor."""
    if op.axis is None:
        flat = b.reshape(arr, [-1]) if arr.rank != 1 else arr
        known = arr.shape is not None and all(d is not UNKNOWN for d in arr.shape)
        return flat, 0, int(np.prod(arr.shape)) if known else b.shape_of(flat)
    axis = op.axis % arr.rank
    return arr, axis, b.size(arr, axis)


def sliced(b, part, x):
    """A vector cut by a Python slice."""
    step = 1 if part.step is None else part.step
    start = part.start if part.start is not None else 0 if step > 0 else END
    stop = part.stop if part.stop is not None else END if step > 0 else np.iinfo(np.int64).min
    return b.slice(x, [start], [stop], [0], [step])


@to_onnx("_npi_delete")
def _(b, op, arr, *obj):
    data, axis, size = located(b, op, arr)
    if op.int_ind is not None:
        before = b.slice(data, [0], [op.int_ind], [axis])
        if op.int_ind == -1:
            return before
        return b.Concat(before, b.slice(data, [op.int_ind + 1], [END], [axis]), axis=axis)
    every = b.counting(size)
    if not obj:
        where = sliced(b, op.part, every)
    else:
        where = b.reshape(b.cast(obj[0], np.int64), [-1])
    hits = b.cast(b.Equal(b.unsqueeze(every, [1]), b.unsqueeze(where, [0])), np.int64)
    return b.Compress(data, b.Equal(b.reduce("Sum", hits, [1], keepdims=False), 0), axis=axis)


def whole_places(b, op, size, obj):
    """The places before which something goes, int64 (k,), counted from the front."""
    if obj is None and isinstance(op, InsertScalar):
        where = b.const([op.int_ind])
    elif obj is None:
        where = sliced(b, op.part, b.counting(size))
    else:
        where = b.reshape(obj, [-1])
    return b.Where(b.Less(where, 0), b.Add(where, size), where)


@to_onnx("_npi_insert_scalar", "_npi_insert_slice", "_npi_insert_tensor")
def _(b, op, arr, *others):
    values, obj = op.given(others)
    data, axis, size = located(b, op, arr)
    rank = 1 if op.axis is None else arr.rank
    where = whole_places(b, op, size, obj)
    shape = [b.size(data, a) if op.axis is not None else 1 for a in range(rank)]
    if values is None:
        values = b.const(np.asarray(op.val).astype(data.dtype))
    else:
        given = values.rank
        values = b.unsqueeze(b.cast(values, data.dtype), range(rank - given))
        single = op.single(None if obj is None else obj.shape)
        if single:  # the first axis belongs at the place of axis
            rest = list(range(1, rank))
            values = b.transpose(values, [*rest[:axis], 0, *rest[axis:]])
    # one value for each place, or, where there is one place, as many as there are
    shape[axis] = b.shape_of(where)
    values = b.Expand(values, b.dims(*shape))
    count = b.shape_of(values, axis)
    where = b.Expand(where, count)
    # a number of arr has an odd rank, what goes before it the even one before that; equal ones stay in order
    ranks = b.Concat(b.Add(b.Mul(b.counting(size), 2), 1), b.Mul(where, 2), axis=0)
    _, order = b.TopK(ranks, b.shape_of(ranks), axis=0, largest=0, outputs=2)
    return b.Gather(b.Concat(data, values, axis=axis), order, axis=axis)


@to_onnx("_npi_boolean_mask_assign_scalar")
def _(b, op, data, mask):
    chosen = b.cast(mask, np.bool_)
    chosen = b.unsqueeze(chosen, range(mask.rank, data.rank - op.start_axis))
    return b.Where(chosen, b.const(np.asarray(op.value).astype(data.dtype)), data)


@to_onnx("_npi_boolean_mask_assign_tensor")
def _(b, op, data, mask, value):
    lead, trail = range(op.start_axis), range(op.start_axis + mask.rank, data.rank)
    places = b.NonZero(b.cast(mask, np.bool_))
    count = b.shape_of(places, 1)
    parts = b.Expand(value, b.dims(*(b.size(data, a) for a in lead), count, *(b.size(data, a) for a in trail)))
    parts = b.transpose(parts, [len(lead), *lead, *range(len(lead) + 1, len(lead) + 1 + len(trail))])
    middle = range(op.start_axis, op.start_axis + mask.rank)
    front = [*middle, *lead, *trail]
    filled = b.ScatterND(b.transpose(data, front), b.Transpose(places, perm=[1, 0]), parts)
    return b.transpose(filled, [front.index(a) for a in range(data.rank)])


@to_onnx("_npi_bincount")
def _(b, op, data, *weights):
    whole = b.cast(data, np.int64)
    size = b.Add(b.reduce("Max", b.Concat(whole, b.const([op.minlength - 1]), axis=0), [0], keepdims=True), 1)
    hit = b.Equal(b.unsqueeze(b.counting(size), [1]), b.unsqueeze(whole, [0]))
    if not weights:
        return b.cast(b.reduce("Sum", b.cast(hit, np.int64), [1], keepdims=False), data.dtype)
    wide = b.wide(weights[0])
    wide = b.cast(wide, np.int64) if is_whole(wide) else wide
    sums = b.reduce("Sum", b.Where(hit, b.unsqueeze(wide, [0]), 0), [1], keepdims=False)
    return b.cast(sums, weights[0].dtype)


@to_onnx("_histogram")
def _(b, op, data, *bins):
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
    return b.Sub(beyond, after), b.renamed(edges)


@to_onnx("_npi_percentile")
def _(b, op, a, *q):
    axes, dtype = axes_of(op, op.axis, a.rank), op.infer_type(a.dtype)
    kept = [i for i in range(a.rank) if i not in axes]
    last = len(kept)
    rows = b.transpose(a, [*kept, *axes])
    if len(axes) > 1:
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
