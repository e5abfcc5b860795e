"""NumPy's functions that choose, leave out and put in by value or position. Sources: the operators of that name in MXNet
1.9.1 (mx.np, mx.npx)."""

import math
from typing import Any

import numpy as np

from ..core.op import Domain, Op, op
from ..core.shapes import UNKNOWN, broadcast, merge, show
from .adjoint import linear
from .backward import SumLike
from .common import axis_of, spread
from .composing import definite, filled, known, reshaped
from .indexing import below, positions

INT64 = np.dtype(np.int64)
MOST_PARTS = 32
"""Parts that a composition joins at most."""


@op("_npx_nonzero", "_npi_nonzero")
class NonZero(Op):
    """The coordinates of the elements that are other than 0 (NaN is), one element a row, in the order of the array.

    Shapes: (d0, ..., dr) -> (how many, r), int64; of a scalar as of (1,). Source: mx.npx.nonzero."""

    exception = "values decide how much it gives"

    inputs = ("x",)
    data_dependent_shape = True

    def infer_shape(self, x):
        return (UNKNOWN, max(len(x), 1))

    def infer_type(self, x):
        return INT64

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, x):
        return np.argwhere(np.atleast_1d(x)).astype(np.int64)

    def gradient(self, F, dy, x, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(np.array([[0, 1.5, 0], [-2, 0, 3]], np.float32))


@op("_npi_unique")
class Unique(Op):
    """The numbers of the flattened array, or its parts along axis, in order and each once (numpy.unique).

    Further outputs, where asked for, int64: the first position of each, for each element which of them it is, and how often each
    occurs. Shapes: (..., n, ...) -> (..., how many, ...), (how many,), (n,), (how many,)."""

    meanings = {"axis": "Axis along which parts are compared; None: data is flattened first."}

    return_index: bool = False
    return_inverse: bool = False
    return_counts: bool = False
    axis: int | None = None

    exception = "values decide how much it gives"

    data_dependent_shape = True

    def output_names(self):
        count = 1 + self.return_index + self.return_inverse + self.return_counts
        return tuple(f"output{i}" for i in range(count)) if count > 1 else ("output",)

    def infer_shape(self, data):
        size = math.prod(data)
        values: tuple = (UNKNOWN,)
        if self.axis is not None:
            axis = axis_of(self, self.axis, len(data))
            size, values = data[axis], (*data[:axis], UNKNOWN, *data[axis + 1 :])
        shapes = [values]
        shapes += [(UNKNOWN,)] * self.return_index + [(size,)] * self.return_inverse + [(UNKNOWN,)] * self.return_counts
        return shapes

    def infer_type(self, data):
        return [data, *[INT64] * (len(self.output_names()) - 1)]

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0]]

    def compute(self, data):
        if self.axis is not None:
            axis_of(self, self.axis, data.ndim)
        values, *others = np.unique(
            data.reshape(-1) if self.axis is None else data, True, True, True, None if self.axis is None else self.axis
        )
        asked = (self.return_index, self.return_inverse, self.return_counts)
        found = [values, *(o.reshape(-1).astype(np.int64) for o, wanted in zip(others, asked) if wanted)]
        return tuple(found) if len(found) > 1 else found[0]

    def gradient(self, F, dy, data, *outputs):
        return None

    @classmethod
    def examples(cls, make):
        yield make(np.array([3, 1, 3, 2], np.float32))
        rows = np.array([[1, 2], [0, 5], [1, 2]], np.float32)
        yield make(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)


# -- leaving out and putting in ------------------------------------------------------------------------------------------


class Placed(Op):
    """Base of operators that work at places along axis, or in the flattened array: at int_ind, at those of a slice, or at those
    in the array obj, where that is an input. A step by itself is a slice too."""

    meanings = {
        "axis": "Axis that positions count along; None: arr is flattened first.",
        "start": "First position of the slice; None: the beginning.",
        "stop": "Position behind the last of the slice; None: the end.",
    }

    start: int | None = None
    stop: int | None = None
    step: int | None = None
    int_ind: int | None = None
    axis: int | None = None

    exception = "values decide how much it gives"

    def infer_type(self, arr, *others):
        return arr

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], *dtypes[1:]]

    def along(self, arr: tuple) -> tuple[int, tuple]:
        """The axis from the front, and the shape it belongs to."""
        if self.axis is None:
            return 0, (math.prod(arr),)
        return axis_of(self, self.axis, len(arr)), arr

    @property
    def part(self) -> slice:
        """The places of the slice."""
        return slice(self.start, self.stop, self.step)

    def stretch(self, F: Any, arr: Any, begin: int, end: int, axis: int) -> list[Any]:
        """Parts begin to end along axis, as symbols; nothing where there are none."""
        return [F.slice_axis(arr, axis=axis, begin=begin, end=end)] if begin < end else []

    def domain(self, name, shapes):
        if name != "obj" or shapes[0] is None:
            return None
        axis, shape = self.along(shapes[0])
        return below(shape[axis])


@op("_npi_delete")
class Delete(Placed):
    """arr without the parts at some places along axis (numpy.delete): int_ind, a slice, or those in obj.

    In obj only places from 0 up to the size count: others, negative ones too, take nothing away, as in MXNet.
    Shapes: (..., n, ...) -> (..., what is left, ...)."""

    inputs = ("arr", "obj")
    data_dependent_shape = True

    def input_names(self):
        return self.inputs[: 1 if self.int_ind is not None or self.sliced else 2]

    @property
    def sliced(self) -> bool:
        """True when the places are those of a slice."""
        return any(v is not None for v in (self.start, self.stop, self.step))

    def check(self):
        return "step=0 wants another" if self.step == 0 else None

    def infer_shape(self, arr, *obj):
        axis, shape = self.along(arr)
        size = shape[axis]
        left: Any = UNKNOWN
        if self.int_ind is not None:
            if size is not UNKNOWN and not -size <= self.int_ind < size:
                raise self.error(f"got int_ind={self.int_ind} for axis {axis} of size {size}")
            left = size - 1
        elif not obj and size is not UNKNOWN:
            left = size - len(range(*self.part.indices(size)))
        return (*shape[:axis], left, *shape[axis + 1 :])

    def composition(self, F, arr, *obj):
        if obj or not known(arr):
            return None
        axis, shape = self.along(definite(arr.shape))
        size, whole = shape[axis], reshaped(F, arr, shape)
        gone = [self.int_ind % size] if self.int_ind is not None else sorted(range(*self.part.indices(size)))
        ends = zip([-1, *gone], [*gone, size])
        parts = [part for last, end in ends for part in self.stretch(F, whole, last + 1, end, axis)]
        if not parts or len(parts) > MOST_PARTS:
            return None
        return F.Concat(*parts, dim=axis) if len(parts) > 1 else parts[0]

    def compute(self, arr, *obj):
        axis, shape = self.along(arr.shape)
        data = arr.reshape(shape)
        if self.int_ind is not None:
            return np.delete(data, self.int_ind, axis)
        if not obj:
            return np.delete(data, self.part, axis)
        where = positions(obj[0]).ravel()
        kept = np.ones(shape[axis], bool)
        kept[where[(where >= 0) & (where < shape[axis])]] = False
        return np.compress(kept, data, axis)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), int_ind=1, axis=0)
        yield make(make.uniform(2, 5), start=1, stop=4, step=2, axis=-1)
        yield make(make.uniform(4, 2), np.array([2, 0]), axis=0)


class Insert(Placed):
    """Base of operators that put values in before places along axis (numpy.insert): the number val, or arrays that broadcast.

    A place counts in arr as it is; several values at one place stay in order. Where there is one place, values may have any
    number of parts along axis; for int_ind and a 0-d obj these lie along their first axis, unless they have fewer dims.
    Shapes: (..., n, ...) -> (..., n + how many, ...)."""

    val: float | None = None
    positional_first = ("val",)

    inputs = ("arr", "values")

    def input_names(self):
        return tuple(n for n in self.inputs if n != "values" or self.val is None)

    def split_inputs(self, others: tuple) -> tuple[Any, Any]:
        """(values or None, obj or None) of the inputs after the first."""
        rest = list(others)
        values = None if self.val is not None else rest.pop(0)
        return values, rest.pop(0) if rest else None

    def single(self, obj: Any) -> bool:
        """True when the place is no array, so that values lie along their first axis."""
        return False

    def places(self, size: Any, obj: Any) -> Any:
        """Number of places, on an axis of the size."""
        raise NotImplementedError

    def infer_shape(self, arr, *others):
        values, obj = self.split_inputs(others)
        axis, shape = self.along(arr)
        count = self.places(shape[axis], obj)
        if values is not None and count is not UNKNOWN:
            values = self.moved_shape(values, shape, axis, obj)
            if count == 1:
                count = values[axis]
            broadcast(values, (*shape[:axis], count, *shape[axis + 1 :]))
        return (*shape[:axis], shape[axis] + count, *shape[axis + 1 :])

    def moved_shape(self, values: tuple, shape: tuple, axis: int, obj: Any) -> tuple:
        """The shape of values with the dims of arr, in its order."""
        if len(values) > len(shape):
            raise self.error(f"got values of shape {show(values)} for an array of shape {show(shape)}")
        values = (1,) * (len(shape) - len(values)) + tuple(values)
        if not self.single(obj):
            return values
        first, *rest = values
        return (*rest[:axis], first, *rest[axis:])

    def where(self, obj: np.ndarray | None) -> Any:
        """The places as numpy.insert takes them."""
        raise NotImplementedError

    def compute(self, arr, *others):
        values, obj = self.split_inputs(others)
        axis, shape = self.along(arr.shape)
        put = np.asarray(self.val) if values is None else values
        try:
            return np.insert(arr.reshape(shape), self.where(obj), put.astype(arr.dtype), axis)
        except (IndexError, ValueError) as error:
            raise self.error(str(error)) from None


class InsertFixed(Insert):
    """Base of those whose places are attributes."""

    left_open = ("single", "places", "where", "fixed_places")

    def fixed_places(self, size: int) -> list[int]:
        """The places on an axis of the size, from the front."""
        raise NotImplementedError

    def composition(self, F, arr, *others):
        if not known(arr, *others):
            return None
        values, _ = self.split_inputs(others)
        axis, shape = self.along(definite(arr.shape))
        size, whole = shape[axis], reshaped(F, arr, shape)
        places = self.fixed_places(size)
        if not 0 < len(places) <= MOST_PARTS or 0 in shape:
            return None
        count = self.infer_shape(arr.shape, *(o.shape for o in others))[axis] - size
        block = (*shape[:axis], count, *shape[axis + 1 :])
        if values is None:
            assert self.val is not None
            new = F._npi_broadcast_to(filled(F, F.slice_axis(whole, axis=axis, begin=0, end=1), self.val), shape=block)
        else:
            moved = self.moved_shape(definite(values.shape), shape, axis, None)
            if self.single(None):  # the first axis of the values is that along which they lie
                first = (1,) * (len(shape) - len(values.shape)) + tuple(values.shape)
                order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape))]
                values = F.transpose(reshaped(F, values, first), axes=order)
            new = F._npi_broadcast_to(reshaped(F, F.Cast(values, dtype=arr.dtype), moved), shape=block)
        if len(places) == 1:
            (place,) = places
            parts = [*self.stretch(F, whole, 0, place, axis), new, *self.stretch(F, whole, place, size, axis)]
        else:
            parts, last = [], 0
            for place, number in sorted((p, i) for i, p in enumerate(places)):
                parts += self.stretch(F, whole, last, place, axis) + self.stretch(F, new, number, number + 1, axis)
                last = place
            parts += self.stretch(F, whole, last, size, axis)
        return F.Concat(*parts, dim=axis) if len(parts) > 1 else parts[0]


@op("_npi_insert_scalar")
class InsertScalar(InsertFixed):
    """arr with values before the place int_ind along axis (numpy.insert).

    values (broadcast), or the number val; they lie along their first axis, unless they have fewer dims than arr.
    Shapes: (..., n, ...) -> (..., n + how many, ...)."""

    def check(self):
        return "attribute int_ind (int) is required" if self.int_ind is None else None

    def single(self, obj):
        return True

    def places(self, size, obj):
        if size is not UNKNOWN and not -size <= self.int_ind <= size:
            raise self.error(f"got int_ind={self.int_ind} for an axis of size {size}")
        return 1

    def where(self, obj):
        return self.int_ind

    def fixed_places(self, size):
        assert self.int_ind is not None
        return [self.int_ind + size if self.int_ind < 0 else self.int_ind]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2), make.uniform(2), int_ind=1, axis=0)
        yield make(make.uniform(2, 3), int_ind=-1, val=7.5)


@op("_npi_insert_slice")
class InsertSlice(InsertFixed):
    """arr with values before the places of a slice along axis (numpy.insert): values (broadcast), or the number val.

    Shapes: (..., n, ...) -> (..., n + how many, ...)."""

    def check(self):
        return "step=0 wants another" if self.step == 0 else None

    def places(self, size, obj):
        return UNKNOWN if size is UNKNOWN else len(range(*self.part.indices(size)))

    def where(self, obj):
        return self.part

    def fixed_places(self, size):
        return [*range(*self.part.indices(size))]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 2), make.uniform(2, 2), start=0, stop=4, step=2, axis=0)
        yield make(make.uniform(2, 3), start=1, stop=3, val=2)


@op("_npi_insert_tensor")
class InsertTensor(Insert):
    """arr with values before the places in obj along axis (numpy.insert): values (broadcast), or the number val.

    obj () or (k,) int64; negative ones count from behind. Shapes: (..., n, ...) -> (..., n + k, ...)."""

    inputs = ("arr", "values", "obj")

    def infer_type(self, arr, *others):
        _, obj = self.split_inputs(others)
        if obj != np.int64:
            raise self.error(f"got obj of dtype {obj}, wanted int64")
        return arr

    def single(self, obj):
        return not obj

    def places(self, size, obj):
        if len(obj) > 1:
            raise self.error(f"got obj of shape {show(obj)}, wanted at most 1 dimension")
        return math.prod(obj)

    def where(self, obj: Any) -> Any:
        return obj if obj.ndim else obj.item()

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 2), make.uniform(2, 2), np.array([3, 1]), axis=0)
        yield make(make.uniform(2, 3), np.array([1, 1, 5]), val=2)


class MaskAssign(Op):
    """Base of operators that put something where a mask of arr's dims from start_axis on is other than 0."""

    start_axis: int

    exception = "values decide how much it gives"

    inputs = ("data", "mask")

    def check(self):
        return None if self.start_axis >= 0 else f"got start_axis={self.start_axis}, wanted 0 or more"

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], *dtypes[1:]]

    def infer_type(self, data, mask, *value):
        return data

    def infer_shape(self, data, mask, *value):
        if self.start_axis + len(mask) > len(data):
            raise self.error(
                f"got mask of shape {show(mask)} from axis {self.start_axis} of data of shape {show(data)}"
            )
        merge(data[self.start_axis : self.start_axis + len(mask)], mask)
        return data

    def domain(self, name, shapes):
        return Domain(0, 1, integer=True) if name == "mask" else None

    def put(self, data: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
        """A copy of data with value at the places."""
        out = data.copy()
        try:
            out[(slice(None),) * self.start_axis + (mask != 0,)] = value
        except (ValueError, TypeError) as error:
            raise self.error(str(error)) from None
        return out


@linear(0, value=0)
@op("_npi_boolean_mask_assign_scalar")
class MaskAssignScalar(MaskAssign):
    """data with the number value where mask, of its dims from start_axis on, is other than 0 (data[mask] = value)."""

    meanings = {"value": "Number to put there."}

    value: float
    start_axis: int

    positional_first = ("value", "start_axis")

    def composition(self, F, data, mask):
        if not known(data, mask):
            return None
        behind = len(data.shape) - self.start_axis - len(mask.shape)
        spread = reshaped(F, mask, (*definite(mask.shape), *(1,) * behind))
        return F._npi_where(spread, filled(F, data, self.value), data)

    def compute(self, data, mask):
        return self.put(data, mask, np.asarray(self.value).astype(data.dtype))

    def adjoint(self, of, dy, data, mask):
        return self.put(dy, mask, 0)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), np.array([[True, False, True], [False, False, True]]), value=7.5, start_axis=0)
        yield make(make.uniform(2, 3, 2), np.array([1, 0, 1], np.float32), value=-1, start_axis=1)


@linear(0, 2, jointly=True)
@op("_npi_boolean_mask_assign_tensor")
class MaskAssignTensor(MaskAssign):
    """data with value where mask, of its dims from start_axis on, is other than 0 (data[mask] = value).

    Shapes: data (lead, mask's dims, trail), value broadcasts to (lead, how many, trail)."""

    inputs = ("data", "mask", "value")

    def infer_input_types(self, dtypes, outputs):
        known = dtypes[0] or dtypes[2] or outputs[0]
        return [known, dtypes[1], known]

    def compute(self, data, mask, value):
        return self.put(data, mask, value)

    def adjoint(self, of, dy, data, mask, value):
        if of == 0:
            return self.put(dy, mask, 0)
        chosen = dy[(slice(None),) * self.start_axis + (mask != 0,)]
        spread(self, value.shape, chosen.shape)
        return SumLike.bind().compute(chosen, value)

    @classmethod
    def examples(cls, make):
        mask = np.array([[True, False, True], [False, False, True]])
        yield make(make.uniform(2, 3), mask, make.uniform(3), start_axis=0)
        yield make(make.uniform(2, 3, 2), np.array([1, 0, 1], np.float32), make.uniform(2, 1, 2), start_axis=1)
