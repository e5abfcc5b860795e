"""Operators on batches of sequences of different lengths: SequenceMask, SequenceLast, SequenceReverse."""

import numpy as np

from ..core.op import Domain, Op, op
from ..core.shapes import UNKNOWN, merge, show
from .adjoint import linear
from .common import want_rank_from
from .composing import clipped, definite, known, placed_at, reshaped
from .indexing import positions


class Sequences(Op):
    """Base: data (steps, batch, ...), or (batch, steps, ...) with axis=1, and with use_sequence_length the length of each.

    Lengths may be floats, which are cut to integers. Without them all sequences take all steps.
    """

    use_sequence_length: bool = False

    axis = 0  # subclasses declare it, each at its place in the order of positional arguments
    inputs = ("data", "sequence_length")
    axes = (0, 1)

    def input_names(self):
        return self.inputs[: 2 if self.use_sequence_length else 1]

    def check(self):
        return f"axis={self.axis} wants {' or '.join(map(str, self.axes))}" if self.axis not in self.axes else None

    def infer_input_shapes(self, shapes, outputs):
        data, *lengths = shapes
        if data is None:
            return shapes
        want_rank_from(self, data, 2)
        return [data, *((data[1 - self.axis],) for _ in lengths)]

    def infer_shape(self, data, *lengths):
        want_rank_from(self, data, 2)
        for length in lengths:
            merge(length, (data[1 - self.axis],))
        return data

    def infer_type(self, data, *lengths):
        return data

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], *dtypes[1:]]

    def domain(self, name, shapes):
        data = shapes[0]
        if name != "sequence_length" or data is None or data[self.axis] is UNKNOWN:
            return None
        return Domain(1, data[self.axis], integer=True)


@linear(0, value=0)
@op("SequenceMask", "_npx_sequence_mask")
class SequenceMask(Sequences):
    """data with value in all steps that come after the end of their sequence.

    Shapes: data (steps, batch, ...), or (batch, steps, ...) with axis=1; sequence_length (batch,).
    """

    meanings = {"axis": "Axis of the steps, 0 or 1.", "value": "Number in the steps after the end."}

    value: float = 0.0
    axis: int = 0

    def accepts(self, name, shapes):
        found = self.domain(name, shapes)
        return None if found is None else Domain(0, found.high + 2, integer=True)

    def composition(self, F, data, *lengths):
        if not lengths:
            return F._copy(data)
        if not known(data):
            return None
        rank, steps = len(data.shape), definite(data.shape)[self.axis]
        places = placed_at(F, F._arange(start=0, stop=steps, dtype="int64"), self.axis, rank)
        ends = placed_at(F, F.Cast(lengths[0], dtype="int64"), 1 - self.axis, rank)
        return F._npi_where(F.broadcast_lesser(places, ends), data, F._npi_full_like(data, fill_value=self.value))

    def compute(self, data, *lengths):
        if not lengths:
            return data.copy()
        return np.where(self.alive(data, lengths[0]), data, np.array(self.value).astype(data.dtype))

    def alive(self, data: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """True for the steps that are not behind the end, for data's rank."""
        steps = np.arange(data.shape[self.axis])
        ends = positions(lengths)
        alive = steps[:, None] < ends if self.axis == 0 else steps < ends[:, None]
        return alive.reshape(alive.shape + (1,) * (data.ndim - 2))

    def adjoint(self, of, dy, data, *lengths):
        return np.where(self.alive(data, lengths[0]), dy, 0) if lengths else dy

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 2, 3), make.array([2, 4]), use_sequence_length=True, value=-2.5)
        yield make(make.uniform(2, 4), make.array([2, 4]), use_sequence_length=True, axis=1)


@linear(0)
@op("SequenceLast")
class SequenceLast(Sequences):
    """The last step of every sequence.

    Shapes: data (steps, batch, ...), or (batch, steps, ...) with axis=1; sequence_length (batch,) -> (batch, ...). A length
    outside 1 to steps is taken as the nearest of these (MXNet reads outside of the array).
    """

    meanings = {"axis": "Axis of the steps, 0 or 1."}

    axis: int = 0

    def infer_shape(self, data, *lengths):
        super().infer_shape(data, *lengths)
        if data[self.axis] is not UNKNOWN and not data[self.axis]:
            raise self.error(f"got data of shape {show(data)}, wanted one step at least")
        return (data[1 - self.axis], *data[2:])

    def composition(self, F, data, *lengths):
        if data.shape is None:
            return None
        batch, steps = definite((data.shape[1 - self.axis], data.shape[self.axis]))
        if not lengths:
            last = F.slice_axis(data, axis=self.axis, begin=steps - 1, end=None)
            return reshaped(F, last, self.infer_shape(data.shape))
        last = clipped(F, F.Cast(lengths[0], dtype="int64") - 1, steps)
        pair = [last, F._arange(start=0, stop=batch, dtype="int64")]
        return F.gather_nd(data, F.stack(*(pair if self.axis == 0 else pair[::-1]), axis=0))

    def compute(self, data, *lengths):
        by_step = data if self.axis == 0 else data.swapaxes(0, 1)
        if not lengths:
            return by_step[-1].copy()
        return by_step[self.last(by_step, lengths[0])]

    @staticmethod
    def last(by_step: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The positions (step, sequence) of the last steps."""
        last = (positions(lengths) - 1).clip(0, len(by_step) - 1)
        return last, np.arange(len(last))

    def adjoint(self, of, dy, data, *lengths):
        out = np.zeros_like(dy, order="C", shape=data.shape)
        by_step = out if self.axis == 0 else out.swapaxes(0, 1)
        by_step[self.last(by_step, lengths[0]) if lengths else -1] = dy
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 2, 3), make.array([2, 4]), use_sequence_length=True)
        yield make(make.uniform(2, 4), axis=1)


@linear(0)
@op("SequenceReverse")
class SequenceReverse(Sequences):
    """Every sequence backwards; steps after its end stay where they are.

    Shapes: data (steps, batch, ...), sequence_length (batch,). A length above the steps is taken as that many (MXNet reads
    outside of the array).
    """

    meanings = {"axis": "Axis of the steps; 0 is the only one."}

    axis: int = 0

    axes = (0,)
    objects = True

    def accepts(self, name, shapes):
        found = self.domain(name, shapes)
        return None if found is None else Domain(0, found.high, integer=True)

    def composition(self, F, data, *lengths):
        if not lengths:
            return F.reverse(data, axis=(0,))
        if data.shape is None:
            return None
        steps, batch = definite(data.shape[:2])
        if not steps:
            return None
        ends = clipped(F, F.Cast(lengths[0], dtype="int64"), steps + 1)
        places = placed_at(F, F._arange(start=0, stop=steps, dtype="int64"), 0, 2)
        ends = F.expand_dims(ends, axis=0)
        mirrored = F.broadcast_sub(ends, places) - 1
        where = F._npi_where(F.broadcast_lesser(places, ends), mirrored, places)
        rows = F._npi_broadcast_to(F._arange(start=0, stop=batch, dtype="int64"), shape=(steps, batch))
        return F.gather_nd(data, F.stack(where, rows, axis=0))

    def compute(self, data, *lengths):
        if not lengths:
            return data[::-1].copy()
        steps = np.arange(len(data))[:, None]
        ends = positions(lengths[0]).clip(0, len(data))
        return data[np.where(steps < ends, ends - 1 - steps, steps), np.arange(data.shape[1])]

    def adjoint(self, of, dy, data, *lengths):
        return self.compute(dy, *lengths)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 2, 3), make.array([2, 4]), use_sequence_length=True)
        yield make(make.uniform(4, 2))
