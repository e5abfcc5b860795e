"""Concat, stack and Split."""

import numpy as np

from hybrid.shapes import UNKNOWN

from ..registry import to_onnx


@to_onnx("Concat", "_npi_hstack")
def _(b, op, *data):
    return b.Concat(*data, axis=op.joined_axis(data[0].rank))


@to_onnx("_npi_concatenate")
def _(b, op, *data):
    if op.axis is None:
        data = tuple(b.reshape(x, [-1]) for x in data)
    return b.Concat(*data, axis=0 if op.axis is None else op.joined_axis(data[0].rank))


@to_onnx("_npi_vstack", "_npi_column_stack", "_npi_dstack")
def _(b, op, *data):
    wide = [b.unsqueeze(x, op.new_axes(x.rank)) for x in data]
    return b.Concat(*wide, axis=op.joined_axis(data[0].rank + len(op.new_axes(data[0].rank))))


@to_onnx("stack", "_npi_stack")
def _(b, op, *data):
    axis = op.axis % (data[0].rank + 1)
    return b.Concat(*(b.unsqueeze(x, [axis]) for x in data), axis=axis)


@to_onnx("SliceChannel", "_split_v2", "_npi_hsplit", "_npi_dsplit")
def _(b, op, data):
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
    count = len(op.returns())
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
