"""Sequences of different lengths, which may be known at run time only, as may the number of steps and the batch."""

import numpy as np

from hybrid.core.shapes import is_known

from ..registry import exports, imports
from .indexing import positions


@exports("SequenceMask")
def export_sequence_mask(b, op, data, *lengths):
    if not lengths:
        return b.Identity(data)
    steps, ends = b.counting(b.size(data, op.axis)), positions(b, lengths[0])
    trailing = range(2, data.rank)
    # along both axes: the steps at op.axis, the ends at the other
    alive = b.Less(b.unsqueeze(steps, [1 - op.axis, *trailing]), b.unsqueeze(ends, [op.axis, *trailing]))
    return b.Where(alive, data, b.const(np.array(op.value).astype(data.dtype)))


@exports("SequenceLast")
def export_sequence_last(b, op, data, *lengths):
    if not lengths:
        return b.Gather(data, b.const(np.array(-1)), axis=op.axis)
    swap = [1, 0, *range(2, data.rank)] if op.axis == 0 else list(range(data.rank))
    last = b.Max(b.Min(b.Sub(positions(b, lengths[0]), 1), b.Sub(b.shape_of(data, op.axis), [1])), 0)
    inner = data.shape[2:]
    if is_known(inner) and 0 not in inner:  # simpler than GatherND with batch_dims, which few runtimes have
        places = b.unsqueeze(last, [op.axis, *range(2, data.rank)])
        places = b.Expand(places, [1, 1, *inner]) if inner else places
        return b.squeeze(b.GatherElements(data, places, axis=op.axis), [op.axis])
    return b.GatherND(b.transpose(data, swap), b.unsqueeze(last, [1]), batch_dims=1)


@exports("SequenceReverse")
def export_sequence_reverse(b, op, data, *lengths):
    if not lengths:
        return b.slice(data, [-1], [np.iinfo(np.int64).min], [0], [-1])
    ends = b.Max(b.Min(positions(b, lengths[0]), b.shape_of(data, 0)), 0)
    return b.ReverseSequence(data, ends, time_axis=0, batch_axis=1)


@imports("ReverseSequence", since=10)
def import_reverse_sequence(g, x, lengths, *, batch_axis=1, time_axis=0):
    if (batch_axis, time_axis) == (1, 0):
        return g.SequenceReverse(x, lengths, use_sequence_length=True)
    return g.passthrough(x, lengths, batch_axis=batch_axis, time_axis=time_axis)
