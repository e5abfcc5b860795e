"""NonZero, Unique and Compress; insertions as one Gather from arr and values joined, by the order of their places."""

import math

import numpy as np

from hybrid.core.shapes import is_known
from hybrid.ops.np_select import InsertScalar

from ..error import Unsupported
from ..registry import exports
from .elementwise import is_whole
from .reduce import has_some

END = np.iinfo(np.int64).max


@exports("_npx_nonzero")
def export_npx_nonzero(b, op, x):
    # not as it is: cast to what there is a kernel for, a double may become 0
    places = b.NonZero(b.cast(b.reshape(x, [1]) if x.rank == 0 else x, np.bool_))
    return b.Transpose(places, perm=[1, 0])


@exports("_npi_unique")
def export_npi_unique(b, op, data):
    if op.axis is not None and has_some(b, data, range(data.rank)) is False:
        raise Unsupported(
            "slices without elements, of which onnxruntime ends its process; give an array of other sizes"
        )
    x = data
    if data.dtype not in (np.float32, np.float64, np.int64, np.int8):  # which onnxruntime has kernels for
        x = b.cast(data, np.int64 if is_whole(data) else np.float32)
    values, index, inverse, counts = b.Unique(x, sorted=1, axis=op.axis, outputs=4)
    asked = ((op.return_index, index), (op.return_inverse, inverse), (op.return_counts, counts))
    return (b.cast(values, data.dtype), *(y for wanted, y in asked if wanted))


def locate_axis(b, op, arr):
    """arr as it has the axis, which that is, and its size: a number or a 1-D tensor."""
    if op.axis is None:
        flat = b.reshape(arr, [-1]) if arr.rank != 1 else arr
        return flat, 0, math.prod(arr.shape) if is_known(arr.shape) else b.shape_of(flat)
    axis = op.axis % arr.rank
    return arr, axis, b.size(arr, axis)


def slice_vector(b, part, x):
    """A vector cut by a Python slice."""
    step = 1 if part.step is None else part.step
    start = part.start if part.start is not None else 0 if step > 0 else END
    stop = part.stop if part.stop is not None else END if step > 0 else np.iinfo(np.int64).min
    return b.slice(x, [start], [stop], [0], [step])


@exports("_npi_delete")
def export_npi_delete(b, op, arr, *obj):
    data, axis, size = locate_axis(b, op, arr)
    if op.int_ind is not None:
        before = b.slice(data, [0], [op.int_ind], [axis])
        if op.int_ind == -1:
            return before
        return b.Concat(before, b.slice(data, [op.int_ind + 1], [END], [axis]), axis=axis)
    every = b.counting(size)
    where = b.reshape(b.cast(obj[0], np.int64), [-1]) if obj else slice_vector(b, op.part, every)
    hits = b.cast(b.Equal(b.unsqueeze(every, [1]), b.unsqueeze(where, [0])), np.int64)
    return b.Compress(data, b.Equal(b.reduce("Sum", hits, [1], keepdims=False), 0), axis=axis)


def whole_places(b, op, size, obj):
    """The places before which something goes, int64 (k,), counted from the front."""
    if obj is None and isinstance(op, InsertScalar):
        where = b.const([op.int_ind])
    elif obj is None:
        where = slice_vector(b, op.part, b.counting(size))
    else:
        where = b.reshape(obj, [-1])
    return b.Where(b.Less(where, 0), b.Add(where, size), where)


@exports("_npi_insert_scalar", "_npi_insert_slice", "_npi_insert_tensor")
def export_npi_insert_scalar(b, op, arr, *others):
    values, obj = op.split_inputs(others)
    data, axis, size = locate_axis(b, op, arr)
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


@exports("_npi_boolean_mask_assign_scalar")
def export_npi_boolean_mask_assign_scalar(b, op, data, mask):
    chosen = b.cast(mask, np.bool_)
    chosen = b.unsqueeze(chosen, range(mask.rank, data.rank - op.start_axis))
    return b.Where(chosen, b.const(np.asarray(op.value).astype(data.dtype)), data)


@exports("_npi_boolean_mask_assign_tensor")
def export_npi_boolean_mask_assign_tensor(b, op, data, mask, value):
    lead, trail = range(op.start_axis), range(op.start_axis + mask.rank, data.rank)
    places = b.NonZero(b.cast(mask, np.bool_))
    count = b.shape_of(places, 1)
    parts = b.Expand(value, b.dims(*(b.size(data, a) for a in lead), count, *(b.size(data, a) for a in trail)))
    parts = b.transpose(parts, [len(lead), *lead, *range(len(lead) + 1, len(lead) + 1 + len(trail))])
    middle = range(op.start_axis, op.start_axis + mask.rank)
    front = [*middle, *lead, *trail]
    filled = b.ScatterND(b.transpose(data, front), b.Transpose(places, perm=[1, 0]), parts)
    return b.transpose(filled, [front.index(a) for a in range(data.rank)])
