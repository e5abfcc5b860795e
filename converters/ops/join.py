"""Concat, stack and Split."""

import numpy as np

from hybrid.core.shapes import UNKNOWN

from ..error import Unsupported
from ..registry import exports, imports


@exports("Concat")
def export_concat(b, op, *data):
    known = next((x for x in data if x.shape is not None), None)
    return b.Concat(*data, axis=op.dim if known is None else op.joined_axis(known.rank))


@exports("_npi_concatenate")
def export_npi_concatenate(b, op, *data):
    if op.axis is None:
        data = tuple(b.reshape(x, [-1]) for x in data)
    return b.Concat(*data, axis=0 if op.axis is None else op.joined_axis(data[0].rank))


@exports("_npi_hstack", "_npi_vstack", "_npi_column_stack", "_npi_dstack")
def export_npi_hstack(b, op, *data):
    wide = [b.unsqueeze(x, op.new_axes(x.rank)) for x in data]
    return b.Concat(*wide, axis=op.joined_axis(data[0].rank + len(op.new_axes(data[0].rank))))


@exports("SliceChannel", "_split_v2", "_npi_hsplit", "_npi_dsplit")
def export_slice_channel(b, op, data):
    axis = op.along(data.rank)
    total = data.shape[axis]
    if total is not UNKNOWN:
        parts = b.split(data, op.pieces(total), axis)
    elif getattr(op, "sections", 0) or not hasattr(op, "indices"):
        parts = _equal(b, op, data, axis)
    else:
        ends = [*op.indices[1:], 2**63 - 1]
        parts = tuple(b.slice(data, [i], [e], [axis]) for i, e in zip(op.indices, ends))
    return tuple(b.squeeze(p, [axis]) for p in parts) if op.squeeze_axis else parts


def _equal(b, op, data, axis):
    """As many pieces as the operator has outputs, of sizes from run time; Split refuses what does not fill the axis."""
    count = len(op.output_names())
    if count == 1:
        return (data,)
    if op.squeeze_axis:  # the pieces are of size 1, or MXNet refuses
        return b.split(data, [1] * count, axis)
    total = b.shape_of(data, axis)
    sizes = b.Expand(b.Div(total, [count]), [count])
    if hasattr(op, "sections"):  # the first pieces are larger by one where the axis does not divide
        larger = b.Less(b.const(range(count)), b.Mod(total, [count]))
        sizes = b.Add(sizes, b.cast(larger, np.int64))
    return b.Split(data, sizes, axis=axis, outputs=count)


@imports("Concat")
def import_concat_first(g, *inputs, axis=1):
    return g.Concat(*inputs, dim=axis)


@imports("Concat", since=4)
def import_concat_since_4(g, *inputs, axis):
    return g.Concat(*inputs, dim=axis)


@imports("Split")
def import_split_first(g, x, sizes=None, *, axis=0, split=None):
    if sizes is not None and sizes.const is None:  # it has the dtype of the data
        sizes = g.Cast(sizes, dtype="int64")
        return g.apply("_onnx_Split", x, sizes, axis=axis, num_outputs=g.outputs, given=("split",))
    return cut(g, x, axis, split if sizes is None else sizes.ints())


@imports("Split", since=13)
def import_split_since_13(g, x, split=None, *, axis=0):
    if split is not None and not split.fixed:
        return g.passthrough(x, split, axis=axis)
    return cut(g, x, axis, None if split is None else split.ints())


@imports("Split", since=18)
def import_split_since_18(g, x, split=None, *, axis=0, num_outputs=None):
    if num_outputs is not None and num_outputs != g.outputs:
        raise Unsupported(f"got {g.outputs} outputs, wanted num_outputs={num_outputs}")
    if split is not None:
        return cut(g, x, axis, split.ints()) if split.fixed else g.passthrough(x, split, axis=axis)
    total = UNKNOWN if x.shape is None else x.shape[x.normalize_axis(axis)]
    if total is UNKNOWN:  # the last piece may be a smaller one
        return g.passthrough(x, axis=axis)
    each = -(-total // g.outputs)
    return cut(g, x, axis, [*[each] * (g.outputs - 1), total - each * (g.outputs - 1)])


def cut(g, x, axis, sizes):
    """x in as many pieces as the node has outputs: of constant sizes, or equal ones."""
    total = UNKNOWN if x.shape is None else x.shape[x.normalize_axis(axis)]
    if sizes is not None and len(set(sizes)) == 1 and sizes[0] and total is not UNKNOWN and total == sum(sizes):
        sizes = None if len(sizes) == g.outputs else sizes
    if sizes is None:
        return g.SliceChannel(x, num_outputs=g.outputs, axis=axis)
    if len(sizes) != g.outputs or min(sizes) < 0 or (total is not UNKNOWN and sum(sizes) != total):
        raise Unsupported(f"got pieces of {list(sizes)} for {g.outputs} outputs and an axis of size {total}")
    if total is UNKNOWN:  # that there is nothing behind the last piece only the run shows
        split = g.const(np.array(sizes, np.int64))
        return g.apply("_onnx_Split", x, split, axis=axis, num_outputs=g.outputs, given=("split",))
    return g.apply("_split_v2", x, indices=(0, *np.cumsum(sizes[:-1]).tolist()), axis=axis)
