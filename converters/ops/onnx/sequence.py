"""Sequences and optionals."""

import itertools

import numpy as np

from hybrid.core.shapes import UNKNOWN
from hybrid.ops.onnx.base import OBJECT

from ...error import Unsupported
from ...onnx_types import (
    code_of,
    declared_spec,
    dtype_of,
    element_dtype,
    element_type,
    holds_numbers,
    kind_of,
    optional_of,
    sequence_of,
    tensor_of,
    text_of,
)
from ...registry import exports, import_handler, imports, passthrough

passthrough("OptionalHasElement", since=15)

MOST_PARTS = 256
"""Pieces up to which a tensor that is split is one tensor for each within the graph."""


# -- reading: a sequence that is made within the graph is taken apart there, so that its elements have shapes and gradients


def _kind(value):
    """The type of a value; None where it is not known."""
    return value.kind or tensor_of(value.dtype)


def _place(position, length):
    """A position that is known, counted from the front; None where it is not, or lies outside (an error when it is run)."""
    if position is None or not position.fixed or position.const.size != 1:
        return None
    index = position.ints()[0]
    return index % length if -length <= index < length else None


@imports("SequenceConstruct", since=11)
def import_sequence_construct(g, *inputs):
    made = g.passthrough(*inputs)
    made.kind, made.parts = sequence_of(_kind(inputs[0])), inputs
    return made


@imports("SequenceEmpty", since=11)
def import_sequence_empty(g, *, dtype=1):
    made = g.passthrough(elem=dtype)
    made.kind, made.parts = sequence_of(tensor_of(dtype_of(dtype))), ()
    return made


@imports("SequenceInsert", since=11)
def import_sequence_insert(g, sequence, tensor, position=None):
    made = g.passthrough(sequence, tensor, position)
    made.kind = sequence.kind or sequence_of(_kind(tensor))
    if sequence.parts is not None:
        length = len(sequence.parts)
        end = position is None or (position.fixed and position.ints() == [length])
        index = length if end else _place(position, length)
        if index is not None:
            made.parts = (*sequence.parts[:index], tensor, *sequence.parts[index:])
    return made


@imports("SequenceErase", since=11)
def import_sequence_erase(g, sequence, position=None):
    made = g.passthrough(sequence, position)
    made.kind = sequence.kind
    if sequence.parts:
        index = len(sequence.parts) - 1 if position is None else _place(position, len(sequence.parts))
        if index is not None:
            made.parts = (*sequence.parts[:index], *sequence.parts[index + 1 :])
    return made


@imports("SequenceLength", since=11)
def import_sequence_length(g, sequence):
    return g.passthrough(sequence) if sequence.parts is None else g.const(len(sequence.parts), np.int64)


@imports("SequenceAt", since=11)
def import_sequence_at(g, sequence, position):
    parts = sequence.parts or ()
    index = _place(position, len(parts))
    if index is not None:
        return parts[index]
    made = g.passthrough(sequence, position, elem=element_dtype(sequence.kind))
    made.kind = element_type(sequence.kind)
    return made


@imports("ConcatFromSequence", since=11)
def import_concat_from_sequence(g, sequence, *, axis, new_axis=0):
    parts = sequence.parts
    if parts and all(v.shape is not None and holds_numbers(v) for v in parts):
        if not new_axis:
            concat = import_handler("", "Concat", g.opset)
            assert concat is not None
            return concat.handler(g, *parts, axis=axis)
        if all(v.rank for v in parts):  # MXNet has no arrays without dimension
            return g.stack(*parts, axis=axis)
    if sequence.rows is not None:
        return _joined(g, sequence.rows, axis, new_axis)
    made = g.passthrough(sequence, axis=axis, new_axis=new_axis, elem=element_dtype(sequence.kind))
    made.kind = element_type(sequence.kind)
    return made


def _joined(g, rows, axis, new_axis):
    """Slices of a tensor along its first axis, joined along another, or along one of their own."""
    rank = rows.rank
    axis %= rank if new_axis else rank - 1
    order = list(range(1, rank))
    order.insert(axis, 0)
    moved = rows if not axis else g.transpose(rows, axes=tuple(order))
    return moved if new_axis else g.reshape(moved, shape=(*(0,) * axis, -3, *(0,) * (rank - axis - 2)))


@imports("SplitToSequence", since=11)
def import_split_to_sequence(g, data, split=None, *, axis=0, keepdims=1):
    made = g.passthrough(data, split, axis=axis, keepdims=keepdims)
    made.kind, made.parts = sequence_of(_kind(data)), _pieces(g, data, split, axis, keepdims or split is not None)
    return made


def _pieces(g, data, split, axis, keepdims):
    """The pieces of a tensor where their sizes are known; None where not, and for what MXNet cannot slice."""
    shape = data.shape
    if shape is None or not holds_numbers(data) or not (split is None or split.fixed):
        return None
    if not -len(shape) <= axis < len(shape) or len(shape) < 2 - bool(keepdims):
        return None
    axis %= len(shape)
    length = shape[axis]
    if length is UNKNOWN or any(d is not UNKNOWN and d == 0 for d in shape):
        return None
    if split is not None and split.rank:
        sizes = split.ints()
    else:
        size = 1 if split is None else split.ints()[0]
        sizes = [min(size, length - start) for start in range(0, length, size)] if size > 0 else []
    if sum(sizes) != length or min(sizes) < 1 or len(sizes) > MOST_PARTS:
        return None
    ends = itertools.accumulate(sizes)
    made = [g.slice_axis(data, axis=axis, begin=end - size, end=end) for size, end in zip(sizes, ends)]
    return tuple(made if keepdims else [g.squeeze(v, axis=(axis,)) for v in made])


@imports("Optional", since=15)
def import_optional(g, value=None, *, type=None):
    if value is None and type is None:
        raise Unsupported("got neither an input nor a type, wanted one")
    made = g.passthrough(value, kind="" if type is None else text_of(type))
    made.kind = optional_of(type if value is None else _kind(value))
    return made


@imports("OptionalGetElement", since=15)
def import_optional_get_element(g, value):
    inside = element_type(value.kind) if value.kind is not None and value.kind.HasField("optional_type") else value.kind
    elem = None if inside is None else declared_spec(inside).dtype
    made = g.passthrough(value, elem=elem)
    made.kind, made.dtype = inside, made.dtype or elem
    return made


# -- writing ----------------------------------------------------------------------------------------------------------


@exports("_onnx_SequenceConstruct", "_onnx_SequenceErase")
def export_onnx_sequence_construct(b, op, *inputs):
    return b.node(op.name.removeprefix("_onnx_"), *inputs, dtype=OBJECT)


@exports("_onnx_SequenceEmpty")
def export_onnx_sequence_empty(b, op):
    made = b.node("SequenceEmpty", dtype=OBJECT)
    b.nodes[-1].attrs["dtype"] = code_of(op.elem)
    return made


@exports("_onnx_SequenceLength")
def export_onnx_sequence_length(b, op, sequence):
    return b.node("SequenceLength", sequence)


@exports("_onnx_SequenceInsert")
def export_onnx_sequence_insert(b, op, sequence, tensor, position=None):
    return b.node("SequenceInsert", sequence, tensor, position, dtype=OBJECT)


@exports("_onnx_SequenceAt")
def export_onnx_sequence_at(b, op, sequence, position):
    return b.node("SequenceAt", sequence, position, dtype=op.elem)


@exports("_onnx_ConcatFromSequence")
def export_onnx_concat_from_sequence(b, op, sequence):
    return b.node("ConcatFromSequence", sequence, axis=op.axis, new_axis=int(op.new_axis), dtype=op.elem)


@exports("_onnx_SplitToSequence")
def export_onnx_split_to_sequence(b, op, data, split=None):
    return b.node("SplitToSequence", data, split, axis=op.axis, keepdims=int(op.keepdims), dtype=OBJECT)


@exports("_onnx_Optional", since=15)
def export_onnx_optional(b, op, value=None):
    made = b.node("Optional", value, type=kind_of(op.kind) if op.kind else None, dtype=OBJECT)
    made.dtype = b.results[0].dtype
    return made


@exports("_onnx_OptionalGetElement", since=15)
def export_onnx_optional_get_element(b, op, value):
    made = b.node("OptionalGetElement", value)
    made.dtype = b.results[0].dtype
    return made
