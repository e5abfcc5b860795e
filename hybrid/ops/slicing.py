"""Operators that cut a part out of an array, or write one into it."""

import math
from typing import Any

import numpy as np

from ..core.attrs import Arity, OptionalInts, OptionalIntsOrNone, Shape
from ..core.dims import length_of
from ..core.op import DENSE, Op, Storage, op
from ..core.shapes import UNKNOWN, merge, show
from ..formats.params import CSR
from .adjoint import linear
from .casting import convert
from .common import axis_of, want_rank
from .composing import definite, of_floats


class Sliced(Op):
    """Base of operators that speak of the part data[begin:end:step], by axis from the front, with Python's meaning."""

    begin: OptionalInts
    end: OptionalInts
    step: OptionalIntsOrNone = ()

    def check(self):
        if len(self.begin) != len(self.end) or (self.step and len(self.step) != len(self.begin)):
            return f"begin={self.begin}, end={self.end} and step={self.step} want equal lengths"
        return f"step={self.step} wants no zero" if 0 in self.step else None

    def slices(self, rank: int) -> tuple[slice, ...]:
        """One slice for each axis that is cut. Raises OpError when there are more than axes."""
        if len(self.begin) > rank:
            raise self.error(f"got {len(self.begin)} slices for {rank} dimensions")
        return tuple(slice(*s) for s in zip(self.begin, self.end, self.step or (None,) * len(self.begin)))

    def composed_places(self, F: Any, shape: Any) -> Any:
        """The positions of the part in the flattened array, as a row."""
        places = F._np_reshape(F._arange(start=0, stop=math.prod(shape), dtype="int64"), newshape=shape)
        part = F.slice(places, begin=self.begin, end=self.end, step=self.step or (1,) * len(self.begin))
        return F._np_reshape(part, newshape=(1, -1))

    def part(self, data: Any) -> tuple[Any, ...]:
        """The shape of the part."""
        slices = self.slices(len(data))
        return (*(_length(d, s) for d, s in zip(data, slices)), *data[len(slices) :])


def within(data: np.ndarray, part: tuple[slice, ...], dy: np.ndarray) -> np.ndarray:
    """The gradient of data whose part has the gradient dy."""
    out = np.zeros_like(dy, order="C", shape=data.shape)
    out[part] = dy
    return out


def _length(dim: Any, part: slice) -> Any:
    if dim is not UNKNOWN:
        return length_of(part.start, part.stop, part.step, dim)
    whole = part.start in (None, 0) and part.stop is None and part.step in (None, 1)
    return UNKNOWN if not whole else dim


@linear(0)
@op("slice", "crop", "_sparse_slice", "_npi_slice", "_npx_slice")
class Slice(Sliced):
    """The part data[begin:end:step], with Python's meaning; axes after those given are kept whole."""

    primitive = True
    view = True
    only_moves_data = True

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return Storage("csr") if stypes == ("csr",) and len(result) == 2 else DENSE

    def compute_stored(self, data):
        if not isinstance(data, CSR):
            return None
        rows, *columns = self.slices(2)
        if (rows.step or 1) != 1 or any(c != slice(None) for c in columns):
            return None
        first, after, _ = rows.indices(data.shape[0])
        starts = np.asarray(data.indptr, np.int64)[first : max(first, after) + 1]
        own = slice(starts[0], starts[-1])
        return CSR(data.data[own], starts - starts[0], data.indices[own], (len(starts) - 1, data.shape[1]))

    def infer_shape(self, data):
        return self.part(data)

    def compute(self, data):
        return data[self.slices(data.ndim)]

    def adjoint(self, of, dy, data):
        return within(data, self.slices(data.ndim), dy)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), begin=(0, 1), end=(2, 3))
        yield make(make.uniform(2, 3, 4), begin=(None, -1), end=(None, None), step=(-1, -2))


@op("_slice_assign", "_crop_assign", "_npi_slice_assign")
class SliceAssign(Sliced):
    """lhs with rhs in the place of lhs[begin:end:step]."""

    inputs = ("lhs", "rhs")

    def infer_input_shapes(self, shapes, outputs):
        lhs = merge(shapes[0], outputs[0])
        return [lhs, shapes[1] if lhs is None else self.part(lhs)]

    def infer_shape(self, lhs, rhs):
        merge(rhs, self.part(lhs))
        return lhs

    def composition(self, F, lhs, rhs):
        if lhs.shape is None or 0 in self.part(definite(lhs.shape)):
            return None
        flat = F._np_reshape(lhs, newshape=(-1,)), F._np_reshape(rhs, newshape=(-1,))
        done = F._scatter_set_nd(*flat, self.composed_places(F, lhs.shape), shape=(math.prod(lhs.shape),))
        return F._np_reshape(done, newshape=lhs.shape)

    def compute(self, lhs, rhs):
        out = lhs.copy()
        out[self.slices(lhs.ndim)] = rhs
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.uniform(2, 2), begin=(0, 1), end=(2, 3))


@op("_slice_assign_scalar", "_crop_assign_scalar", "_npi_slice_assign_scalar")
class SliceAssignScalar(Sliced):
    """data with a number in every place of data[begin:end:step]."""

    meanings = {"scalar": "Number to put there."}

    scalar: float = 0.0

    positional_first = ("scalar",)

    def infer_shape(self, data):
        self.part(data)
        return data

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], outputs[0])]

    def composition(self, F, data):
        if data.shape is None or 0 in self.part(definite(data.shape)):
            return None
        part = F.slice(data, begin=self.begin, end=self.end, step=self.step or (1,) * len(self.begin))
        number = F._npi_full_like(part, fill_value=self.scalar) if of_floats(data) else None
        attrs = {"begin": self.begin, "end": self.end, "step": self.step}
        return None if number is None else F._slice_assign(data, number, **attrs)

    def compute(self, data):
        out = data.copy()
        out[self.slices(data.ndim)] = convert(np.asarray(self.scalar), data.dtype)
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), begin=(0, 1), end=(2, 3), scalar=7.5)


@linear(0)
@op("slice_axis")
class SliceAxis(Op):
    """The part of data from begin to end (exclusive; None: to the last) along axis; negative ones count from behind.

    Other than with slice, positions outside the axis and empty parts are refused."""

    meanings = {"begin": "First position along axis.", "end": "Position behind the last along axis; None: the end."}

    axis: int
    begin: int
    end: int | None

    view = True
    only_moves_data = True

    def infer_shape(self, data):
        axis = axis_of(self, self.axis, len(data))
        return (*data[:axis], self._length(data[axis]), *data[axis + 1 :])

    def _length(self, size: Any) -> Any:
        if size is UNKNOWN:
            end = 0 if self.end is None else self.end
            # both count from the same side, so the size does not matter
            same_side = (self.begin < 0) == (self.end is None or self.end < 0)
            return end - self.begin if same_side else UNKNOWN
        begin = self.begin + size if self.begin < 0 else self.begin
        end = size if self.end is None else self.end + size if self.end < 0 else self.end
        if not 0 <= begin < end <= size:
            raise self.error(
                f"got begin={self.begin} and end={self.end} for an axis of size {size}, wanted a part of it"
            )
        return end - begin

    def composition(self, F, data):
        if data.shape is None:
            return None
        front = (None,) * axis_of(self, self.axis, len(data.shape))
        return F.slice(data, begin=(*front, self.begin), end=(*front, self.end))

    def compute(self, data):
        return data[self.part(data.ndim)]

    def part(self, rank: int) -> tuple[slice, ...]:
        """Index that takes the slice from data of this rank."""
        return (*(slice(None),) * axis_of(self, self.axis, rank), slice(self.begin, self.end))

    def adjoint(self, of, dy, data):
        return within(data, self.part(data.ndim), dy)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axis=1, begin=1, end=3)
        yield make(make.uniform(2, 3, 4), axis=-1, begin=-3, end=None)


@linear(0)
@op("slice_like")
class SliceLike(Op):
    """The first numbers of data along axes (all by default), as many as shape_like has there."""

    meanings = {"axes": "Axes that are cut, negative ones counted from the last; empty: all."}

    axes: Shape = ()

    inputs = ("data", "shape_like")
    view = True

    def along(self, data: int, like: int) -> list[int]:
        """The axes that are cut, from the front, given the ranks."""
        if not self.axes:
            if data != like:
                raise self.error(f"got {data} and {like} dimensions, wanted equally many, or axes")
            return list(range(data))
        return [axis_of(self, axis_of(self, a, data), min(data, like)) for a in self.axes]

    def infer_shape(self, data, like):
        out = list(data)
        for axis in self.along(len(data), len(like)):
            if data[axis] is not UNKNOWN and like[axis] is not UNKNOWN and data[axis] < like[axis]:
                raise self.error(
                    f"got data {show(data)} and shape_like {show(like)}, which is larger along axis {axis}"
                )
            out[axis] = like[axis]
        return tuple(out)

    def infer_type(self, data, like):
        return data

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], dtypes[1]]

    def composition(self, F, data, like):
        if data.shape is None or like.shape is None:
            return None
        ends: list[int | None] = [None] * len(data.shape)
        for axis in self.along(len(data.shape), len(like.shape)):
            ends[axis] = definite((like.shape[axis],))[0]
        return F.slice(data, begin=(None,) * len(ends), end=tuple(ends)) if ends else F._copy(data)

    def compute(self, data, like):
        return data[tuple(slice(d) for d in self.infer_shape(data.shape, like.shape))]

    def adjoint(self, of, dy, data, like):
        return within(data, tuple(slice(d) for d in dy.shape), dy)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, 5), make.uniform(2, 3, 4))
        yield make(make.uniform(3, 4, 5), make.uniform(2, 3), axes=(0, 1))


@linear(0)
@op("Crop")
class Crop(Op):
    """A window of images: of the height and width h_w, or with two inputs of those of the second.

    Shapes: data (N, C, H, W), like (_, _, h, w) -> (N, C, h, w). The window begins at offset, or is in the middle with
    center_crop, which goes before offset. Source: MXNet Crop.
    """

    meanings = {"offset": "First row and column of the window, in pixels."}

    num_args: Arity
    offset: Shape = (0, 0)
    h_w: Shape = (0, 0)
    center_crop: bool = False

    inputs = ("*data",)
    view = True

    def check(self):
        if self.num_args not in (1, 2) or len(self.offset) != 2 or len(self.h_w) != 2:
            return f"num_args={self.num_args}, offset={self.offset}, h_w={self.h_w}: wants 1 or 2 inputs and pairs"
        if self.num_args == 1 and min(self.h_w) < 1:
            return f"h_w={self.h_w} wants a height and a width, or a second input"
        return f"offset={self.offset} wants no negative number" if min(self.offset) < 0 else None

    def begins(self, size: Any, window: Any, axis: int) -> Any:
        """Begin of the window, along the height (axis 0) or the width (1)."""
        return (size - window) // 2 if self.center_crop else self.offset[axis]

    def infer_shape(self, data, *like):
        for shape in (data, *like):
            want_rank(self, shape, 4)
        window = like[0][2:] if like else self.h_w
        for axis in (0, 1):
            size = data[2 + axis]
            if size is UNKNOWN or window[axis] is UNKNOWN:
                continue
            if window[axis] > size or self.begins(size, window[axis], axis) + window[axis] > size:
                raise self.error(
                    f"a window {show(window)} at offset {show(self.offset)} is not inside data {show(data)}"
                )
        return (*data[:2], *window)

    def composition(self, F, data, *like):
        if None in (data.shape, *(x.shape for x in like)):
            return None
        out = self.infer_shape(data.shape, *(x.shape for x in like))
        parts = self.window(definite(data.shape), definite(out))
        return F.slice(data, begin=tuple(p.start for p in parts), end=tuple(p.stop for p in parts))

    def compute(self, data, *like):
        return data[self.window(data.shape, self.infer_shape(data.shape, *(x.shape for x in like)))]

    def window(self, data: Shape, out: Shape) -> tuple[slice, ...]:
        """Index that takes the result from data, given both shapes."""
        begins = [self.begins(data[2 + axis], out[2 + axis], axis) for axis in (0, 1)]
        return (slice(None), slice(None), *(slice(b, b + size) for b, size in zip(begins, out[2:])))

    def adjoint(self, of, dy, data, *like):
        return within(data, self.window(data.shape, dy.shape), dy)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 4, 5), num_args=1, h_w=(2, 3), offset=(1, 2))
        yield make(make.uniform(1, 2, 6, 5), make.uniform(1, 2, 3, 2), num_args=2, center_crop=True)
