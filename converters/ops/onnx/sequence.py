"""Sequences and optionals."""

import numpy as np

from ...error import Unsupported
from ...kinds import (
    contained,
    declared_spec,
    dtype_of,
    element_dtype,
    kind_of,
    optional_of,
    sequence_of,
    tensor_of,
    text_of,
)
from ...registry import from_onnx, itself, to_onnx

OBJECT = np.dtype(object)

itself("SequenceLength", since=11)
itself("OptionalHasElement", since=15)


def _kind(value):
    """The type of a value; None where it is not known."""
    return value.kind or tensor_of(value.dtype)


@from_onnx("SequenceConstruct", since=11)
def _(g, *inputs):
    made = g.itself(*inputs)
    made.kind = sequence_of(_kind(inputs[0]))
    return made


@from_onnx("SequenceEmpty", since=11)
def _(g, *, dtype=1):
    made = g.itself(elem=dtype)
    made.kind = sequence_of(tensor_of(dtype_of(dtype)))
    return made


@from_onnx("SequenceInsert", since=11)
def _(g, sequence, tensor, position=None):
    made = g.itself(sequence, tensor, position)
    made.kind = sequence.kind or sequence_of(_kind(tensor))
    return made


@from_onnx("SequenceErase", since=11)
def _(g, sequence, position=None):
    made = g.itself(sequence, position)
    made.kind = sequence.kind
    return made


@from_onnx("SequenceAt", since=11)
def _(g, sequence, position):
    made = g.itself(sequence, position, elem=element_dtype(sequence.kind))
    made.kind = contained(sequence.kind)
    return made


@from_onnx("ConcatFromSequence", since=11)
def _(g, sequence, *, axis, new_axis=0):
    made = g.itself(sequence, axis=axis, new_axis=new_axis, elem=element_dtype(sequence.kind))
    made.kind = contained(sequence.kind)
    return made


@from_onnx("SplitToSequence", since=11)
def _(g, data, split=None, *, axis=0, keepdims=1):
    made = g.itself(data, split, axis=axis, keepdims=keepdims)
    made.kind = sequence_of(_kind(data))
    return made


@from_onnx("Optional", since=15)
def _(g, value=None, *, type=None):
    if value is None and type is None:
        raise Unsupported("got neither an input nor a type, wanted one")
    made = g.itself(value, kind="" if type is None else text_of(type))
    made.kind = optional_of(type if value is None else _kind(value))
    return made


@from_onnx("OptionalGetElement", since=15)
def _(g, value):
    inside = contained(value.kind) if value.kind is not None and value.kind.HasField("optional_type") else value.kind
    elem = None if inside is None else declared_spec(inside).dtype
    made = g.itself(value, elem=elem)
    made.kind, made.dtype = inside, made.dtype or elem
    return made


# -- writing ----------------------------------------------------------------------------------------------------------


@to_onnx("_onnx_SequenceConstruct", "_onnx_SequenceErase")
def _(b, op, *inputs):
    return b.node(op.name.removeprefix("_onnx_"), *inputs, dtype=OBJECT)


@to_onnx("_onnx_SequenceEmpty")
def _(b, op):
    made = b.node("SequenceEmpty", dtype=OBJECT)
    b.nodes[-1].attrs["dtype"] = tensor_of(op.elem).tensor_type.elem_type
    return made


@to_onnx("_onnx_SequenceInsert")
def _(b, op, sequence, tensor, position=None):
    return b.node("SequenceInsert", sequence, tensor, position, dtype=OBJECT)


@to_onnx("_onnx_SequenceAt")
def _(b, op, sequence, position):
    return b.node("SequenceAt", sequence, position, dtype=op.elem)


@to_onnx("_onnx_ConcatFromSequence")
def _(b, op, sequence):
    return b.node("ConcatFromSequence", sequence, axis=op.axis, new_axis=int(op.new_axis), dtype=op.elem)


@to_onnx("_onnx_SplitToSequence")
def _(b, op, data, split=None):
    return b.node("SplitToSequence", data, split, axis=op.axis, keepdims=int(op.keepdims), dtype=OBJECT)


@to_onnx("_onnx_Optional", since=15)
def _(b, op, value=None):
    made = b.node("Optional", value, type=kind_of(op.kind) if op.kind else None, dtype=OBJECT)
    made.dtype = b.results[0].dtype
    return made


@to_onnx("_onnx_OptionalGetElement", since=15)
def _(b, op, value):
    made = b.node("OptionalGetElement", value)
    made.dtype = b.results[0].dtype
    return made
