"""Operators on batches of sequences of different lengths: SequenceMask, SequenceLast, SequenceReverse."""

import numpy as np

from ..op import Domain, Op, op
from ..shapes import UNKNOWN, merge, show
from .indexing import positions


class Sequences(Op):
    """Base: data (steps, batch, ...), or (batch, steps, ...) with axis=1, and with use_sequence_length the length of each.

    Lengths may be floats, which are cut to integers. Without them all sequences take all steps.
    """

    use_sequence_length: bool = False

    axis = 0  # subclasses declare it, each at its place in the order of positional arguments
    inputs = ("data", "sequence_length")
    axes = (0, 1)

    def takes(self):
        return self.inputs[: 2 if self.use_sequence_length else 1]

    def check(self):
        return f"axis={self.axis} wants {' or '.join(map(str, self.axes))}" if self.axis not in self.axes else None

    def infer_input_shapes(self, shapes, outputs):
        data, *lengths = shapes
        return shapes if data is None else [data, *((data[1 - self.axis],) for _ in lengths)]

    def infer_shape(self, data, *lengths):
        if len(data) < 2:
            raise self.fail(f"got data of shape {show(data)}, wanted at least 2 dimensions")
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


@op("SequenceMask", "_npx_sequence_mask")
class SequenceMask(Sequences):
    """data with value in all steps that come after the end of their sequence.

    Shapes: data (steps, batch, ...), or (batch, steps, ...) with axis=1; sequence_length (batch,).
    """

    value: float = 0.0
    axis: int = 0

    def compute(self, data, *lengths):
        if not lengths:
            return data.copy()
        steps = np.arange(data.shape[self.axis])
        ends = positions(lengths[0])
        alive = steps[:, None] < ends if self.axis == 0 else steps < ends[:, None]
        return np.where(
            alive.reshape(alive.shape + (1,) * (data.ndim - 2)), data, np.array(self.value).astype(data.dtype)
        )

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 2, 3), make.array([2, 4]), use_sequence_length=True, value=-2.5)
        yield make(make.uniform(2, 4), make.array([2, 4]), use_sequence_length=True, axis=1)


@op("SequenceLast")
class SequenceLast(Sequences):
    """The last step of every sequence.

    Shapes: data (steps, batch, ...), or (batch, steps, ...) with axis=1; sequence_length (batch,) -> (batch, ...). A length
    outside 1 to steps is taken as the nearest of these (MXNet reads outside of the array).
    """

    axis: int = 0

    def infer_shape(self, data, *lengths):
        super().infer_shape(data, *lengths)
        return (data[1 - self.axis], *data[2:])

    def compute(self, data, *lengths):
        by_step = data if self.axis == 0 else data.swapaxes(0, 1)
        if not lengths:
            return by_step[-1].copy()
        last = (positions(lengths[0]) - 1).clip(0, len(by_step) - 1)
        return by_step[last, np.arange(len(last))]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 2, 3), make.array([2, 4]), use_sequence_length=True)
        yield make(make.uniform(2, 4), axis=1)


@op("SequenceReverse")
class SequenceReverse(Sequences):
    """Every sequence backwards; steps after its end stay where they are.

    Shapes: data (steps, batch, ...), sequence_length (batch,). A length above the steps is taken as that many (MXNet reads
    outside of the array).
    """

    axis: int = 0

    axes = (0,)

    def compute(self, data, *lengths):
        if not lengths:
            return data[::-1].copy()
        steps = np.arange(len(data))[:, None]
        ends = positions(lengths[0]).clip(0, len(data))
        return data[np.where(steps < ends, ends - 1 - steps, steps), np.arange(data.shape[1])]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 2, 3), make.array([2, 4]), use_sequence_length=True)
        yield make(make.uniform(4, 2))
