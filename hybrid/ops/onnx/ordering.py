"""TopK with a count from run time, and Unique."""

import numpy as np

from ...core.op import op
from ...core.shapes import UNKNOWN
from ..common import axis_of
from ..ordering import order_of
from .base import INT64, Standard, ints
from .types import NUMBERS, TENSORS


@op("_onnx_TopK")
class TopK(Standard):
    """The K largest (or smallest) numbers of X along axis in order, and their positions; of equal numbers the first
    comes first.

    Source: ONNX TopK (opset 11 to newest)."""

    axis: int = -1
    largest: bool = True
    sorted: bool = True

    exception = "a tensor says how many there are, maybe not before it runs"

    is_ordering = True
    inputs = ("X", "K")
    types = {"X": NUMBERS, "K": {"int64"}}
    numbers = ("K",)
    needs = ("values",)
    data_dependent_shape = True

    def output_names(self):
        return ("Values", "Indices")

    def shape(self, x, k, *, values):
        axis = axis_of(self, self.axis, len(x))
        count = UNKNOWN if values[1] is None else ints(values[1])[0]
        shape = (*x[:axis], count, *x[axis + 1 :])
        if count is not UNKNOWN and x[axis] is not UNKNOWN and not 0 <= count <= x[axis]:
            raise self.error(f"got K={count} for {x[axis]} numbers along axis {self.axis}")
        return [shape, shape]

    def dtype(self, x, k):
        return [x, INT64]

    def meaning(self, x, k):
        count, axis = ints(k)[0], axis_of(self, self.axis, x.ndim)
        if not 0 <= count <= x.shape[axis]:
            raise self.error(f"got K={count} for {x.shape[axis]} numbers along axis {self.axis}")
        order = np.moveaxis(order_of(np.moveaxis(x, axis, -1), not self.largest)[..., :count], -1, axis).astype(INT64)
        return np.take_along_axis(x, order, axis), order

    def gradient(self, F, dy, x, k, values, order):
        return F._backward_sort(dy[0], order, x, axis=self.axis), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.array([2], "int64"))
        yield make(make.uniform(3, 4), make.array([2], "int64"), axis=0, largest=False)


@op("_onnx_Unique")
class Unique(Standard):
    """Every number of X once (of X flattened), or every slice along axis: in order, or with sorted=0 as they first
    occur.

    Outputs: they; for each where it first is in X; for each of X where it is among them; how often each occurs. NaN
    counts as equal to itself, and last. Source: ONNX Unique (opset 11 to newest)."""

    axis: int | None = None
    sorted: bool = True

    exception = "values decide how much it gives"

    inputs = ("X",)
    types = {"X": TENSORS}
    data_dependent_shape = True

    def output_names(self):
        return ("Y", "indices", "inverse_indices", "counts")

    def shape(self, x):
        if self.axis is None:
            total = 1
            for d in x:
                total = total * d
            return [(UNKNOWN,), (UNKNOWN,), (total,), (UNKNOWN,)]
        axis = axis_of(self, self.axis, len(x))
        return [(*x[:axis], UNKNOWN, *x[axis + 1 :]), (UNKNOWN,), (x[axis],), (UNKNOWN,)]

    def dtype(self, x):
        return [x, INT64, INT64, INT64]

    def meaning(self, x):
        slices = x.reshape(-1) if self.axis is None else np.moveaxis(x, axis_of(self, self.axis, x.ndim), 0)
        # the numbers' ranks order as they do, and rows of integers can be told apart whatever the dtype was
        ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
        ranks = ranks.reshape(-1) if self.axis is None else np.moveaxis(ranks, axis_of(self, self.axis, x.ndim), 0)
        rows = ranks.reshape(len(slices), -1) if ranks.size else np.zeros((len(slices), 1), INT64)
        _, first, inverse, counts = np.unique(rows, True, True, True, axis=0)
        inverse = inverse.reshape(-1)
        if not self.sorted:
            order = np.argsort(first)
            first, counts = first[order], counts[order]
            inverse = np.argsort(order)[inverse]
        found = slices[first]
        if self.axis is not None:
            found = np.moveaxis(found, 0, axis_of(self, self.axis, x.ndim))
        return found, *(a.astype(INT64) for a in (first, inverse, counts))

    @classmethod
    def examples(cls, make):
        yield make(make.array([2, 1, 1, 3, 4, 3]))
        yield make(make.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]]), axis=0, sorted=False)
