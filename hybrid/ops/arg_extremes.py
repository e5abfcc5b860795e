"""The place of an extreme: argmax and argmin. They have gradient 0."""

from typing import ClassVar

import numpy as np

from ..core.op import Op, op
from ..core.shapes import UNKNOWN, show
from .common import as_array, axis_of
from .composing import known, reshaped
from .reduce import reduce_shape


class ArgExtreme(Op):
    """The first index along axis (of all elements in order without an axis), as a number of the data's dtype.

    NaN counts as more extreme than anything."""

    meanings = {"axis": "Axis that is looked along, negative ones counted from the last; None: all elements, in order."}

    is_ordering = True

    axis: int | None = None
    keepdims: bool = False

    largest: ClassVar[bool]
    at_least_1d: ClassVar[bool] = True

    def infer_shape(self, data):
        axes = tuple(range(len(data))) if self.axis is None else self.axis_in(data, self.axis)
        if any(data[a] is not UNKNOWN and data[a] == 0 for a in axes):
            raise self.error(f"got {show(data)}, wanted an element along each axis that goes")
        return reduce_shape(data, axes, self.keepdims, at_least_1d=self.at_least_1d)

    def axis_in(self, data, axis):
        """The axis of such data as a tuple, counted from the front."""
        return (axis_of(self, axis, len(data)),)

    def composition(self, F, data):
        if not known(data):
            return None
        find = F._npi_argmax if self.largest else F._npi_argmin
        found = F.Cast(find(data, axis=self.axis, keepdims=self.keepdims), dtype=self.infer_type(data.dtype))
        return reshaped(F, found, self.infer_shape(data.shape))

    def compute(self, data):
        find = np.argmax if self.largest else np.argmin
        index = as_array(find(data, self.axis))
        return index.astype(self.infer_type(data.dtype)).reshape(self.infer_shape(data.shape))

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axis=1)
        yield make(make.uniform(2, 3, 4), axis=-1, keepdims=True)


@op("argmax")
class ArgMax(ArgExtreme):
    __doc__ = f"Where the largest is. {ArgExtreme.__doc__}"
    largest = True


@op("argmin")
class ArgMin(ArgExtreme):
    __doc__ = f"Where the smallest is. {ArgExtreme.__doc__}"
    largest = False


@op("argmax_channel")
class ArgMaxChannel(Op):
    """Position of the largest along axis 1, as a number of the data's dtype. Shapes: (N, C, ...) -> (N, ...)."""

    is_ordering = True

    def infer_shape(self, data):
        axis = axis_of(self, 1, len(data))
        if data[axis] is not UNKNOWN and data[axis] == 0:
            raise self.error(f"got {show(data)}, wanted an element along axis 1")
        return reduce_shape(data, (axis,), False)

    def composition(self, F, data):
        return None if data.dtype is None else F.Cast(F._npi_argmax(data, axis=1), dtype=data.dtype)

    def compute(self, data):
        return np.argmax(data, 1).astype(data.dtype)

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))


class NpArgExtreme(ArgExtreme):
    """The first index along axis (of all elements in order without an axis), as int64.

    Data without axes have 0 and -1 for their axis, too."""

    at_least_1d = False

    def axis_in(self, data, axis):
        return () if not data and axis in (0, -1) else super().axis_in(data, axis)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, data):
        return np.dtype(np.int64)


@op("_npi_argmax")
class NpArgMax(NpArgExtreme):
    __doc__ = f"Where the largest is. {NpArgExtreme.__doc__}"

    primitive = True
    largest = True


@op("_npi_argmin")
class NpArgMin(NpArgExtreme):
    __doc__ = f"Where the smallest is. {NpArgExtreme.__doc__}"

    primitive = True
    largest = False
