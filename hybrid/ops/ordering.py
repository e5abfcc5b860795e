"""Operators that order numbers along an axis: topk, sort, argsort.

Of equal numbers the first comes first, as in ONNX. MXNet on a CPU does so for up to 16 numbers; from there on its order of
equal numbers is an accident of std::sort (or of a heap, for topk with a small k), and it is another one on a GPU.
"""

import math
from typing import Any, Literal

import numpy as np

from ..core.attrs import DType
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, merge, show
from .common import axis_of

SHORT = 16
"""Up to so many numbers std::sort is an insertion sort, of which one can tell what it does with NaN."""


def order_of(data: np.ndarray, ascending: bool) -> np.ndarray:
    """The positions along the last axis in the order of their numbers; NaN beyond SHORT is as NumPy has it."""
    if ascending:
        order = np.argsort(data, axis=-1, kind="stable")
    else:
        # stable and descending: sort backwards, then turn round
        last = data.shape[-1] - 1
        order = last - np.argsort(data[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    if data.dtype.kind == "f" and data.shape[-1] <= SHORT:
        for row in np.argwhere(np.isnan(data).any(-1)):
            order[tuple(row)] = _insertion_sort(data[tuple(row)], ascending)
    return order


def _insertion_sort(values: np.ndarray, ascending: bool) -> list[int]:
    """The order that std::sort leaves for up to SHORT numbers of which some are NaN, which comes before no other."""
    order: list[int] = []
    for item, value in enumerate(values):
        before = values[order] > value if ascending else values[order] < value
        # first of all, or behind the last one that does not have to go behind it
        place = 0 if order and before[0] else len(order) - int(np.argmin([*before[::-1], False]))
        order.insert(place, item)
    return order


class Ordering(Op):
    """Base of operators that order along an axis, or the flattened array."""

    meanings = {
        "axis": "Axis along which they are ordered, negative ones counted from the last; None: data is flattened first."
    }

    axis: int | None = -1

    def along(self, rank: int) -> int:
        """The axis, from the front; 0 of the flattened array."""
        return 0 if self.axis is None else axis_of(self, self.axis, rank)

    def flat(self, shape: Any) -> Any:
        """The shape in which there is an axis to order along."""
        return (math.prod(shape),) if self.axis is None else shape

    def select_sorted(
        self, data: np.ndarray, ascending: bool, count: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The first ``count`` numbers in order, and their positions."""
        flat = data.reshape(self.flat(data.shape))
        axis = self.along(data.ndim)
        order = np.moveaxis(order_of(np.moveaxis(flat, axis, -1), ascending)[..., :count], -1, axis)
        return np.take_along_axis(flat, order, axis), order


@op("topk", "_npx_topk")
class TopK(Ordering):
    """The k largest numbers along axis (smallest with is_ascend), in order; k < 1 means all.

    ret_typ says what of them: value; indices (their positions, in dtype); both; mask (1 at their places, 0 elsewhere).
    """

    meanings = {"k": "How many; less than 1: all.", "dtype": "Dtype of positions."}

    primitive = True

    is_ordering = True

    k: int = 1
    ret_typ: Literal["value", "indices", "mask", "both"] = "indices"
    is_ascend: bool = False
    dtype: DType = np.dtype("float32")

    def output_names(self):
        return ("output0", "output1") if self.ret_typ in ("value", "both") else ("output",)

    def num_visible_outputs(self):
        return 2 if self.ret_typ == "both" else 1

    def infer_shape(self, data):
        flat = self.flat(data)
        axis = self.along(len(data))
        if flat[axis] is not UNKNOWN and self.k > flat[axis]:
            raise self.error(
                f"got k={self.k} for {flat[axis]} numbers along axis {self.axis} of data of shape {show(data)}"
            )
        if self.ret_typ == "mask":
            return data
        shape = (*flat[:axis], self.k if self.k > 0 else flat[axis], *flat[axis + 1 :])
        return [shape, shape] if len(self.output_names()) == 2 else shape

    def infer_type(self, data):
        kinds = {"value": [data, self.dtype], "both": [data, self.dtype], "indices": self.dtype, "mask": data}
        return kinds[self.ret_typ]

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or (None if self.ret_typ == "indices" else outputs[0])]

    def compute(self, data):
        values, order = self.select_sorted(data, self.is_ascend, self.k if self.k > 0 else None)
        if self.ret_typ == "mask":
            mask = np.zeros_like(data, order="C", shape=self.flat(data.shape))
            np.put_along_axis(mask, order, np.ones((), data.dtype), self.along(data.ndim))
            return mask.reshape(data.shape)
        positions = order.astype(self.dtype)
        return positions if self.ret_typ == "indices" else (values, positions)

    def gradient(self, F, dy, data, *results):
        if len(results) == 1:
            return None
        order = results[1]
        if self.dtype.itemsize < 4:  # too narrow to count far
            order = F.topk(data, **self.dump() | {"ret_typ": "indices", "dtype": "int32"})
        return F._backward_sort(dy[0], order, data, axis=self.axis)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), k=2)
        yield make(make.uniform(3, 4), k=2, axis=0, ret_typ="both", is_ascend=True)
        yield make(make.uniform(3, 4), k=3, axis=None, ret_typ="mask")


@op("sort", "_npi_sort")
class Sort(Ordering):
    """The numbers in order along axis. The second output, for the engine only, is their positions."""

    is_ascend: bool = True

    def output_names(self):
        return ("output0", "output1")

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, data):
        self.along(len(data))
        return [self.flat(data), self.flat(data)]

    def infer_type(self, data):
        return [data, np.dtype(np.int32)]

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0]]

    def composition(self, F, data):
        return tuple(F.topk(data, axis=self.axis, k=0, ret_typ="both", is_ascend=self.is_ascend, dtype="int32"))

    def compute(self, data):
        values, order = self.select_sorted(data, self.is_ascend)
        return values, order.astype(np.int32)

    def gradient(self, F, dy, data, values, order):
        return F._backward_sort(dy[0], order, data, axis=self.axis)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4))
        yield make(make.uniform(3, 4), axis=None, is_ascend=False)


class Positioned(Ordering):
    """Base of parts of gradient rules: numbers that go with the positions that an ordering found in data."""

    def fitting(self, order, data):
        """Raise OpError unless order holds positions along axis of data, and nothing else of data is missing."""
        whole = self.flat(data)
        axis = axis_of(self, self.along(len(data)), len(whole))
        if len(order) != len(whole):
            raise self.error(
                f"got positions of shape {show(order)} in data of shape {show(data)}, wanted {len(whole)} axes"
            )
        merge(order[:axis], whole[:axis])
        merge(order[axis + 1 :], whole[axis + 1 :])
        if order[axis] is not UNKNOWN and whole[axis] is not UNKNOWN and order[axis] > whole[axis]:
            raise self.error(f"got {order[axis]} positions in data of shape {show(data)}, wanted {whole[axis]} at most")

    def positions(self, order, data) -> np.ndarray:
        """The positions as integers. Raises OpError for those that are not along axis of data."""
        found, size = order.astype(np.int64), self.flat(data.shape)[self.along(data.ndim)]
        if found.size and not 0 <= found.min() <= found.max() < size:
            raise self.error(
                f"got positions {found.min()} to {found.max()}, wanted 0 to {size - 1}, those of data's axis"
            )
        return found

    def infer_type(self, *dtypes):
        return dtypes[0]

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], *dtypes[1:]]


@op("_backward_sort")
class SortBackward(Positioned):
    """The numbers dy put at their positions order along axis, in zeros of the shape of data."""

    inputs = ("dy", "order", "data")

    def infer_shape(self, dy, order, data):
        merge(dy, order)
        self.fitting(order, data)
        return data

    def compute(self, dy, order, data):
        out = np.zeros_like(dy, order="C", shape=self.flat(data.shape))
        np.put_along_axis(out, self.positions(order, data), dy, self.along(data.ndim))
        return out.reshape(data.shape)

    def gradient(self, F, ddx, dy, order, data, dx):
        return F._backward_taken(ddx, order, axis=self.axis), None, None


@op("_backward_taken")
class Taken(Positioned):
    """The numbers of data at the positions order along axis."""

    inputs = ("data", "order")

    def infer_shape(self, data, order):
        self.fitting(order, data)
        return order

    def compute(self, data, order):
        where = self.positions(order, data)
        return np.take_along_axis(data.reshape(self.flat(data.shape)), where, self.along(data.ndim))

    def gradient(self, F, dy, data, order, y):
        return F._backward_sort(dy, order, data, axis=self.axis), None


@op("argsort", "_npi_argsort")
class ArgSort(Ordering):
    """The positions of the numbers in order along axis, in dtype."""

    meanings = {"dtype": "Dtype of the positions."}

    is_ordering = True

    is_ascend: bool = True
    dtype: DType = np.dtype("float32")

    def infer_shape(self, data):
        self.along(len(data))
        return self.flat(data)

    def infer_type(self, data):
        return self.dtype

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def composition(self, F, data):
        found = F.topk(data, axis=self.axis, k=0, ret_typ="indices", is_ascend=self.is_ascend, dtype="int64")
        return F.Cast(found, dtype=self.dtype)

    def compute(self, data):
        return self.select_sorted(data, self.is_ascend)[1].astype(self.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), axis=0)
