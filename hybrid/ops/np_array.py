"""NumPy's functions of arrays that are neither arithmetic nor reductions nor mere reshaping: diagonals, differences,
averages, polynomials. Sources: the operators of that name in MXNet 1.9.1 (mx.np)."""

import math
from typing import Any, ClassVar

import numpy as np

from ..core.attrs import Arity
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, merge, show
from .adjoint import linear
from .backward import Once
from .casting import convert
from .common import as_many, axis_of, np_axes_of, truncate, want_rank, widen
from .composing import definite, known, narrowly, of_floats, placed_at, reshaped, total, widely
from .reduce import Axes, reduce_shape, restore_axes

# -- shapes and diagonals ------------------------------------------------------------------------------------------------


class AtLeast(Op):
    """Each array with at least so many dims; new ones have size 1."""

    num_args: Arity

    inputs = ("*arys",)
    left_open = ("rank",)
    rank: ClassVar[int]

    def output_names(self):
        return tuple(f"output{i}" for i in range(self.num_args)) if self.num_args > 1 else ("output",)

    def widen_shape(self, shape: tuple) -> tuple:
        """The shape with dims of size 1 before it; three dims of a matrix or vector also have one behind."""
        missing = self.rank - len(shape)
        if missing < 1:
            return shape
        behind = 1 if self.rank == 3 and len(shape) in (1, 2) else 0
        return (1,) * (missing - behind) + shape + (1,) * behind

    def infer_shape(self, *shapes):
        return [self.widen_shape(s) for s in shapes]

    def composition(self, F, *arrays):
        if any(x.shape is None for x in arrays):
            return None
        return tuple(reshaped(F, x, self.widen_shape(x.shape)) for x in arrays)

    def compute(self, *arrays):
        return tuple(a.reshape(self.widen_shape(a.shape)) for a in arrays)

    def gradient(self, F, dy, *arrays):
        heads = dy if isinstance(dy, tuple) else (dy,)
        return tuple(F._backward_reshape_like(head, array) for head, array in zip(heads, arrays))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(), make.uniform(3), make.uniform(2, 3), make.uniform(2, 1, 2, 2), num_args=4)


@op("_np_atleast_1d")
class AtLeast1D(AtLeast):
    """Each array with at least one dim (numpy.atleast_1d)."""

    rank = 1


@op("_np_atleast_2d")
class AtLeast2D(AtLeast):
    """Each array with at least two dims: (n,) becomes (1, n) (numpy.atleast_2d)."""

    rank = 2


@op("_np_atleast_3d")
class AtLeast3D(AtLeast):
    """Each array with at least three dims: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1) (numpy.atleast_3d)."""

    rank = 3


@op("_np_diagflat")
class DiagFlat(Op):
    """The numbers of data on the k-th diagonal of a matrix of zeros. Shapes: any, n numbers -> (n + |k|, n + |k|)."""

    k: int = 0

    def infer_shape(self, data):
        if not data:
            raise self.error("got data without dimensions, wanted at least one")
        return (math.prod(data) + abs(self.k),) * 2

    def composition(self, F, data):
        return F._np_diag(F._np_reshape(data, newshape=(-1,)), k=self.k)

    def compute(self, data):
        return np.diagflat(data, self.k)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), k=1)
        yield make(make.uniform(2, 2), k=-2)


@op("_np_trace")
class Trace(Op):
    """The sums of diagonals of the matrices that axis1 and axis2 make up, offset of them above the main one.

    Shapes: (..., m, ..., n, ...) -> what is left. A diagonal outside the matrix has sum 0; integers wrap round."""

    offset: int = 0
    axis1: int = 0
    axis2: int = 1

    def axes(self, rank: int) -> tuple[int, int]:
        """The two axes from the front."""
        if rank < 2:
            raise self.error(f"got {rank} dimensions, wanted at least 2")
        first, second = (axis_of(self, a, rank) for a in (self.axis1, self.axis2))
        if first == second:
            raise self.error(f"got axis {first} twice, wanted two axes")
        return first, second

    def infer_shape(self, data):
        axes = self.axes(len(data))
        return tuple(d for a, d in enumerate(data) if a not in axes)

    def composition(self, F, data):
        y = F._np_sum(F._np_diagonal(data, offset=self.offset, axis1=self.axis1, axis2=self.axis2), axis=(-1,))
        return F.Cast(y, dtype="bool") if data.dtype == np.bool_ else y

    def compute(self, data):
        rows, columns = (data.shape[a] for a in self.axes(data.ndim))
        offset = max(-rows, min(self.offset, columns))  # NumPy reads foreign memory from offsets of 2**63 on
        sums = np.trace(widen(data), offset, *self.axes(data.ndim))
        return np.asarray(sums).astype(data.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), offset=1)
        yield make(make.uniform(2, 3, 4), axis1=-1, axis2=0)


@op("_npi_diag_indices_from")
class DiagIndicesFrom(Op):
    """The positions of the main diagonal, one coordinate a row. Shapes: data (n, n, ...) of rank r -> (r, n), int64."""

    def infer_shape(self, data):
        if len(data) < 2:
            raise self.error(f"got data of shape {show(data)}, wanted at least 2 dimensions")
        size = data[0]
        for dim in data[1:]:
            size = merge((size,), (dim,))[0]
        return (len(data), size)

    def infer_type(self, data):
        return np.dtype(np.int64)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def composition(self, F, data):
        if data.shape is None:
            return None
        size = definite(data.shape)[0]
        return F._npi_broadcast_to(F._arange(start=0, stop=size, dtype="int64"), shape=(len(data.shape), size))

    def compute(self, data):
        return np.tile(np.arange(data.shape[0], dtype=np.int64), (data.ndim, 1))

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 3))


# -- differences and polynomials -----------------------------------------------------------------------------------------


def want_numbers(op: Op, dtype: np.dtype) -> np.dtype:
    """The dtype; raises OpError where it is bool."""
    if dtype.kind == "b":
        raise op.error("got bools, wanted numbers; cast them")
    return dtype


@linear(0)
@op("_npi_diff")
class Diff(Op):
    """The differences of neighbours along axis, n times over (numpy.diff).

    Shapes: (..., d, ...) -> (..., max(d - n, 0), ...). Integers wrap round."""

    n: int = 1
    axis: int = -1

    inputs = ("a",)

    def check(self):
        return f"n={self.n} wants 0 or more" if self.n < 0 else None

    def infer_shape(self, a):
        axis = axis_of(self, self.axis, len(a))
        size = a[axis] - self.n
        return (*a[:axis], size if size is UNKNOWN else max(size, 0), *a[axis + 1 :])

    def infer_type(self, a):
        return want_numbers(self, a)

    def composition(self, F, a):
        if not known(a):
            return None
        axis = axis_of(self, self.axis, len(a.shape))
        size = definite(a.shape)[axis]
        if self.n >= size:
            return None
        (x,) = widely(F, a.dtype, a)
        for left in range(size - 1, size - 1 - self.n, -1):
            after, before = (F.slice_axis(x, axis=axis, begin=i, end=i + left) for i in (1, 0))
            x = F.broadcast_sub(after, before)
        return narrowly(F, a.dtype, x)

    def compute(self, a):
        axis = axis_of(self, self.axis, a.ndim)
        count = min(self.n, a.shape[axis])  # after as many there is nothing left
        return np.diff(widen(a), count, axis).astype(a.dtype, copy=False)

    def adjoint(self, of, dy, a):
        axis = axis_of(self, self.axis, a.ndim)
        if self.n >= a.shape[axis]:
            return np.zeros_like(dy, order="C", shape=a.shape)
        for _ in range(self.n):  # what a number lends to the difference behind it, it takes from that before it
            ends = [(0, 0)] * a.ndim
            ends[axis] = (1, 1)
            dy = -np.diff(np.pad(dy, ends), 1, axis)
        return dy

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 5))
        yield make(make.uniform(4, 3), n=2, axis=0)


@linear(jointly=True, to_begin_scalar=0, to_end_scalar=0)
@op("_npi_ediff1d")
class EDiff1D(Op):
    """The differences of neighbours in the flattened array, with numbers or arrays before and after (numpy.ediff1d).

    Shapes: input1 of n numbers, then the arrays that come before (to_begin_arr_given) and after, flattened -> (n - 1 + more,).
    """

    meanings = {
        "input1": "The numbers it works on.",
        "input2": "What comes before, or, where only that is given, after.",
    }

    to_begin_arr_given: bool = False
    to_end_arr_given: bool = False
    to_begin_scalar: float | None = None
    to_end_scalar: float | None = None

    exception = "joins what three forms of its inputs say"

    inputs = ("input1", "input2", "input3")

    def input_names(self):
        return self.inputs[: 1 + self.to_begin_arr_given + self.to_end_arr_given]

    def ends(self, arrays: tuple) -> tuple:
        """The parts before and after the differences: an array, a number, or None each."""
        given = list(arrays)
        return (
            given.pop(0) if self.to_begin_arr_given else self.to_begin_scalar,
            given.pop(0) if self.to_end_arr_given else self.to_end_scalar,
        )

    def infer_shape(self, data, *arrays):
        count = math.prod(data) - 1
        for end in self.ends(arrays):
            count += 0 if end is None else math.prod(end) if isinstance(end, tuple) else 1
        if not any(d is UNKNOWN for d in data):
            count += math.prod(data) == 0
        return (count,)

    def infer_type(self, data, *arrays):
        return want_numbers(self, data)

    def compute(self, data, *arrays):
        begin, end = (self.flat(part, data.dtype) for part in self.ends(arrays))
        return np.concatenate([*begin, np.diff(data.ravel()), *end])

    def flat(self, part: Any, dtype: np.dtype) -> list[np.ndarray]:
        """The part before or after the differences, as arrays to join."""
        return [] if part is None else [convert(np.ravel(part), dtype)]

    def adjoint(self, of, dy, data, *arrays):
        begin, end = self.ends(arrays)
        before = 0 if begin is None else np.size(begin)
        after = len(dy) - (0 if end is None else np.size(end))
        if of:
            own = dy[:before] if of == 1 and self.to_begin_arr_given else dy[after:]
            return own.reshape(arrays[of - 1].shape)
        if data.size < 2:
            return np.zeros_like(dy, order="C", shape=data.shape)
        return -np.diff(np.pad(dy[before:after], 1)).reshape(data.shape)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), to_begin_scalar=1.5)
        yield make(make.uniform(4), make.uniform(2), make.uniform(2, 1), to_begin_arr_given=True, to_end_arr_given=True)


@op("_npi_polyval")
class PolyVal(Op):
    """The polynomial with coefficients p, that of the highest power first, at every x (numpy.polyval).

    Shapes: p (n,), x any -> as x; 0 without coefficients."""

    meanings = {"p": "Coefficients, that of the highest power first."}

    inputs = ("p", "x")

    def infer_shape(self, p, x):
        if len(p) != 1:
            raise self.error(f"got p of shape {show(p)}, wanted 1 dimension")
        return x

    def composition(self, F, p, x):
        if not known(p, x) or not of_floats(p, x) or p.dtype != x.dtype or not definite(p.shape)[0]:
            return None
        wide, at = widely(F, x.dtype, p, x)
        parts = [F._np_reshape(F.slice_axis(wide, axis=0, begin=i, end=i + 1), newshape=()) for i in range(p.shape[0])]
        y = F.zeros_like(at)
        for part in parts:
            y = F.broadcast_add(F.broadcast_mul(y, at), part)
        return narrowly(F, x.dtype, y)

    def compute(self, p, x):
        return np.asarray(np.polyval(widen(p), widen(x))).astype(x.dtype, copy=False).reshape(x.shape)

    def gradient(self, F, dy, p, x, y):
        return tuple(F._backward_polyval(dy, p, x, of=of) for of in (0, 1))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4), make.uniform(2, 3))


@op("_backward_polyval")
class PolyValBackward(Once):
    """The gradient of p (of=0) or of x. Shapes: dy, p (n,), x as dy -> as that one."""

    of: int = 0

    inputs = ("dy", "p", "x")

    def check(self):
        return None if self.of in (0, 1) else f"got of={self.of}, wanted 0 or 1"

    def infer_input_shapes(self, shapes, outputs):
        same = merge(shapes[0], shapes[2])
        return [same, shapes[1], same]

    def infer_shape(self, dy, p, x):
        want_rank(self, p, 1, what="p")
        return (p, x)[self.of]

    def compute(self, dy, p, x):
        wide, at, p_wide = widen(dy), widen(x), widen(p)
        if self.of == 0:
            powers = at.reshape(1, -1) ** np.arange(len(p) - 1, -1, -1).reshape(-1, 1)
            return (powers @ wide.ravel()).astype(p.dtype, copy=False)
        slope = p_wide[:-1] * np.arange(len(p) - 1, 0, -1, dtype=p_wide.dtype)
        return (wide * np.polyval(slope, at)).astype(x.dtype, copy=False)


# -- averages ------------------------------------------------------------------------------------------------------------


@op("_npi_average")
class Average(Op):
    """The mean along axes, or with weights sum(a * weights) / sum(weights) (numpy.average).

    Shapes: a; weights as a, or (n,) for the one axis -> what is left; the second output (shown with ``returned``) is the sum of
    the weights, or how many there are, in one number unless weights have the shape of a. Of integers, in integers."""

    meanings = {"axis": "Axes that are reduced, negative ones counted from the last; empty or None: all."}

    axis: Axes = None
    returned: bool = False
    weighted: bool = True

    inputs = ("a", "weights")

    def input_names(self):
        return self.inputs[: 1 + self.weighted]

    def output_names(self):
        return ("output0", "output1")

    def num_visible_outputs(self):
        return 1 + self.returned

    def whole(self, a: tuple, weights: tuple) -> bool:
        """True when weights have the shape of a; False when they are a vector along the axis. Raises OpError where neither
        is so."""
        if len(a) == len(weights):
            merge(a, weights)
            return True
        if len(weights) != 1 or self.axis is None or len(self.axis) != 1:
            raise self.error(
                f"got weights of shape {show(weights)} for a of shape {show(a)}, wanted its shape, or a vector and one axis"
            )
        axis = axis_of(self, self.axis[0], len(a))
        merge(weights, (a[axis],))
        return False

    def infer_shape(self, a, *weights):
        left = reduce_shape(a, np_axes_of(self, self.axis, len(a)), False, at_least_1d=False)
        return [left, left if weights and self.whole(a, weights[0]) else ()]

    def infer_type(self, a, *weights):
        want_numbers(self, a)
        return [a, a]

    def composition(self, F, a, *weights):
        if not known(a, *weights) or not of_floats(a, *weights):
            return None
        shape, rank = definite(a.shape), len(a.shape)
        axes, (wide, *scale) = np_axes_of(self, self.axis, rank), widely(F, a.dtype, a, *weights)
        left, end = self.infer_shape(shape, *(w.shape for w in weights))
        if not weights:
            size = math.prod(shape[i] for i in axes)
            if not size:
                return None
            y = total(F, wide, axes) / size
            count = F._full(shape=(1,), value=size, dtype=np.result_type(a.dtype, np.float32))
        else:
            whole = self.whole(shape, weights[0].shape)
            column = scale[0] if whole else placed_at(F, scale[0], axes[0], rank)
            count = total(F, column, axes)
            y = F.broadcast_div(total(F, F.broadcast_mul(wide, column), axes), count)
        return tuple(narrowly(F, a.dtype, F._np_reshape(v, newshape=s)) for v, s in ((y, left), (count, end)))

    def compute(self, a, *weights):
        axes, wide = np_axes_of(self, self.axis, a.ndim), widen(a)
        if weights:
            scale = widen(weights[0])
            if not self.whole(a.shape, scale.shape):
                scale = scale.reshape([-1 if i in axes else 1 for i in range(a.ndim)])
            total = np.add.reduce(wide * scale, axes, wide.dtype)
            count = np.add.reduce(scale, axes, wide.dtype)
            count = count if weights[0].shape == a.shape else count.reshape(())
        else:
            total = np.add.reduce(wide, axes, wide.dtype)
            count = np.asarray(math.prod(a.shape[i] for i in axes)).astype(wide.dtype)
        if wide.dtype.kind in "iu":
            mean = truncate(np.asarray(total) / np.asarray(count, np.float64), wide.dtype)
        else:
            mean = np.asarray(total) / count
        return tuple(np.asarray(y).astype(a.dtype, copy=False) for y in (mean, count))

    def gradient(self, F, dy, a, *rest):
        (*weights, mean, count) = rest
        if not weights:
            each = F._backward_over_count(restore_axes(F, dy[0], a, self.axis), a, axis=self.axis)
            return F._backward_broadcast_like(each, a)
        scale = F._backward_along(weights[0], a, axis=self.axis)
        each = restore_axes(F, F.broadcast_div(dy[0], count), a, self.axis)
        own = F.broadcast_mul(each, F.broadcast_sub(a, restore_axes(F, mean, a, self.axis)))
        own = F.broadcast_add(F._backward_sum_like(own, scale), restore_axes(F, dy[1], scale, self.axis))
        return F._backward_broadcast_like(F.broadcast_mul(each, scale), a), F._backward_reshape_like(own, weights[0])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(2, 3, 4, low=0.1), axis=(0, 2), returned=True)
        yield make(make.uniform(2, 3), make.uniform(3, low=0.1), axis=1)
        yield make(make.uniform(2, 3), axis=0, weighted=False, returned=True)


@op("_backward_along")
class Along(Op):
    """Weights in a shape that broadcasts with x: they have its shape, or are a vector along axis."""

    axis: Axes = None

    inputs = ("weights", "x")
    view = True
    only_moves_data = True

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_shape(self, weights, x):
        if len(weights) == len(x):
            return weights
        axes = np_axes_of(self, self.axis, len(x))
        shape = tuple(d if a in axes else 1 for a, d in enumerate(x))
        as_many(self, "weights", weights, shape)
        return shape

    def compute(self, weights, x):
        return weights.reshape(self.infer_shape(weights.shape, x.shape))

    def gradient(self, F, dy, weights, x, y):
        return F._backward_reshape_like(dy, weights), None


# -- about arrays --------------------------------------------------------------------------------------------------------


@op("_npx_constraint_check")
class ConstraintCheck(Op):
    """True, where every element of input holds; else OpError with the message. Shapes: any -> (), bool."""

    msg: str = "Constraint violated."

    exception = "raises where a value is not true"

    inputs = ("input",)

    def infer_shape(self, input):
        return ()

    def infer_type(self, input):
        if input.kind != "b":
            raise self.error(f"got {input}, wanted bools")
        return input

    def compute(self, input):
        if not input.all():
            raise self.error(self.msg)
        return np.array(True)

    def gradient(self, F, dy, input, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(np.array([True, True]))


@op("_npi_share_memory")
class ShareMemory(Op):
    """Test that two arrays may lie in the same memory. Shapes: any, any -> (), bool."""

    exception = "asks where arrays lie in memory"

    inputs = ("a", "b")

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_shape(self, a, b):
        return ()

    def infer_type(self, a, b):
        return np.dtype(bool)

    def compute(self, a, b):
        return np.array(np.may_share_memory(a, b))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), make.uniform(2))
