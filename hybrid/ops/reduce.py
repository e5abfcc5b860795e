"""Reductions along axes: sums, products, extremes, norms and moments, with what their gradients are made of.

In the legacy operators a reduction over everything gives shape (1,); the forms that ``npx`` networks use (_np_*, _npi_*) give ().
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.attrs import Arity, DType
from ..core.op import BOOLS, DENSE, Op, Storage, op
from ..core.shapes import UNKNOWN, show
from .common import as_many, axes_of, divide, np_axes_of, truncate, widen
from .composing import cast, definite, extreme, known, narrowly, of_floats, reshaped, total, widely

Axes = tuple[int, ...] | None


def reduce_shape(shape: tuple, axes: tuple[int, ...], keepdims: bool, *, at_least_1d: bool = True) -> tuple:
    """The shape that is left when axes go; at_least_1d: (1,) where all of them go, else ()."""
    if keepdims:
        return tuple(1 if a in axes else d for a, d in enumerate(shape))
    if at_least_1d and len(axes) == len(shape):
        return (1,)
    return tuple(d for a, d in enumerate(shape) if a not in axes)


def _divide(total: np.ndarray, count: int) -> np.ndarray:
    """total / count; of bools whether there is one that is true. A count that the dtype does not hold wraps round, as in MXNet."""
    return total if total.dtype.kind == "b" else divide(total, np.asarray(count).astype(total.dtype))


def _sum(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    # NumPy adds up neighbours in pairs of pairs, but what lies apart one after the other, whose error grows with their number
    apart = x.dtype == np.float32 and axes != tuple(range(x.ndim - len(axes), x.ndim))
    total = np.add.reduce(x, axes, np.float64 if apart else x.dtype, keepdims=True)
    return total.astype(x.dtype, copy=False)


def _mean(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return _divide(_sum(x, axes), math.prod(x.shape[a] for a in axes))


def _prod(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return x.prod(axes, dtype=x.dtype, keepdims=True)


def _max(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.maximum.reduce(x, axes, keepdims=True)


def _min(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return x.min(axes, keepdims=True)


# -- what gradient rules use ---------------------------------------------------------------------------------------------


class AlongAxes(Op):
    """Something of the axes that a reduction of x has: axis lists them (None means all), exclude inverts."""

    axis: Axes = None
    exclude: bool = False

    inputs = ("data", "x")

    def axes(self, rank: int) -> tuple[int, ...]:
        return () if self.axis == () else axes_of(self, self.axis, rank, exclude=self.exclude)

    def infer_input_types(self, dtypes, outputs):
        return dtypes


@op("_backward_restore")
class Restore(AlongAxes):
    """data, of the shape that reducing x gives, with the reduced axes as axes of size 1, so that it broadcasts with x."""

    view = True
    only_moves_data = True

    def infer_shape(self, data, x):
        shape = reduce_shape(x, self.axes(len(x)), True)
        as_many(self, "data", data, shape)
        return shape

    def compute(self, data, x):
        return data.reshape(self.infer_shape(data.shape, x.shape))

    def gradient(self, F, dy, data, x, y):
        return F._backward_reshape_like(dy, data), None


@op("_backward_over_count")
class OverCount(AlongAxes):
    """data divided by how many elements of x each reduced one stands for, less ddof."""

    ddof: int = 0

    def infer_shape(self, data, x):
        self.axes(len(x))
        return data

    def compute(self, data, x):
        return _divide(data, math.prod(x.shape[a] for a in self.axes(x.ndim)) - self.ddof)

    def gradient(self, F, dy, data, x, y):
        return F._backward_over_count(dy, x, **self.dump()), None


def restore_axes(F, y, x, axis: Axes, exclude: bool = False):
    """A symbol of the shape that reducing x gives, in a shape that broadcasts with x."""
    return F._backward_restore(y, x, axis=axis, exclude=exclude)


def deviation_gradient(F, dy, x, mean, axis: Axes, ddof: int = 0):
    """The gradient of x by way of its variance along axes; dy and the mean are restored, dy halved for the sum of squares."""
    away = F.broadcast_mul(dy * 2, F.broadcast_sub(x, mean))
    return F._backward_over_count(away, x, axis=axis, ddof=ddof)


# -- the legacy reductions -----------------------------------------------------------------------------------------------


class Reduction(Op):
    """axis: which axes go (all when there is none); exclude: all the others go instead."""

    meanings = {"axis": "Axes that are reduced, negative ones counted from the last; empty or None: all."}

    axis: Axes = None
    keepdims: bool = False
    exclude: bool = False

    kind: ClassVar[str]
    """Name by which the converters know it."""
    function: ClassVar[Callable[[np.ndarray, tuple[int, ...]], np.ndarray]]
    """Keeps the reduced axes, with size 1."""
    sized: ClassVar[bool] = False
    """There has to be an element."""

    def axes(self, rank: int) -> tuple[int, ...]:
        return axes_of(self, self.axis, rank, exclude=self.exclude)

    def infer_shape(self, data):
        axes = self.axes(len(data))
        if self.sized and any(data[a] is not UNKNOWN and data[a] == 0 for a in axes):
            raise self.error("got an array without elements")
        return reduce_shape(data, axes, self.keepdims)

    def compute(self, data):
        known = self.memo.get(data.shape)
        if known is None:
            axes = self.axes(data.ndim)
            known = self.memo[data.shape] = axes, reduce_shape(data.shape, axes, self.keepdims)
        axes, shape = known
        return self.function(widen(data), axes).astype(data.dtype, copy=False).reshape(shape)  # type: ignore[call-arg]

    def restore(self, F, y, data):
        """A symbol of the shape of the output so that it broadcasts with data."""
        return restore_axes(F, y, data, self.axis or None, self.exclude)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5), axis=1)
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5), axis=(0, 2), keepdims=True)
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5))


@op("sum", "sum_axis", "_sparse_sum")
class Sum(Reduction):
    """The sum along axes; integers wrap round, float16 is added up in float32."""

    primitive = True

    kind = "sum"
    function = staticmethod(_sum)

    def gradient(self, F, dy, data, y):
        return F._backward_broadcast_like(self.restore(F, dy, data), data)


@op("mean", "_sparse_mean")
class Mean(Reduction):
    """The mean along axes; of integers the sum, wrapped round, divided towards zero."""

    kind = "mean"
    function = staticmethod(_mean)

    def composition(self, F, data):
        if not known(data) or not of_floats(data):
            return None
        axes = self.axes(len(data.shape))
        count = math.prod(definite(tuple(data.shape[a] for a in axes)))
        if not count:
            return None
        (x,) = widely(F, data.dtype, data)
        return reshaped(F, narrowly(F, data.dtype, total(F, x, axes) / count), self.infer_shape(data.shape))

    def gradient(self, F, dy, data, y):
        each = F._backward_over_count(self.restore(F, dy, data), data, axis=self.axis or None, exclude=self.exclude)
        return F._backward_broadcast_like(each, data)


@op("prod")
class Prod(Reduction):
    """The product along axes; integers wrap round."""

    primitive = True

    kind = "prod"
    function = staticmethod(_prod)

    def gradient(self, F, dy, data, y):
        return F.broadcast_div(self.restore(F, dy * y, data), data)


class Extreme(Reduction):
    """An extreme along axes; all elements that equal it get its gradient."""

    sized = True

    def gradient(self, F, dy, data, y):
        return F.broadcast_mul(F.broadcast_equal(data, self.restore(F, y, data)), self.restore(F, dy, data))


@op("max", "max_axis")
class Max(Extreme):
    """The largest along axes; NaN if any is."""

    primitive = True

    kind = "max"
    function = staticmethod(_max)


@op("min", "min_axis")
class Min(Extreme):
    """The smallest along axes; NaN if any is."""

    primitive = True

    kind = "min"
    function = staticmethod(_min)


def _without_nan(x: np.ndarray, value: int) -> np.ndarray:
    return x if x.dtype.kind in "iub" else np.where(np.isnan(x), x.dtype.type(value), x)


@op("nansum")
class NanSum(Reduction):
    """The sum along axes, NaN counting as 0.

    An infinity makes the sum NaN when a number follows it: MXNet's compensated summation takes inf - inf there."""

    exception = "has what MXNet's compensated summation makes of infinities"

    kind = "nansum"

    @staticmethod
    def function(x, axes):
        y = _sum(_without_nan(x, 0), axes)
        if x.dtype.kind in "iub" or not np.isinf(x).any():
            return y
        kept = [a for a in range(x.ndim) if a not in axes]
        rows = x.transpose(*kept, *axes).reshape(*(x.shape[a] for a in kept), -1)
        numbers = ~np.isnan(rows)
        following = np.cumsum(numbers[..., ::-1], -1)[..., ::-1] - numbers
        return np.where((np.isinf(rows) & (following > 0)).any(-1).reshape(y.shape), x.dtype.type(np.nan), y)

    def gradient(self, F, dy, data, y):
        return F.broadcast_mul(data == data, self.restore(F, dy, data))  # which NaN is not


@op("nanprod")
class NanProd(Reduction):
    """The product along axes, NaN counting as 1."""

    kind = "nanprod"

    function = staticmethod(lambda x, axes: _prod(_without_nan(x, 1), axes))

    def composition(self, F, data):
        kept = F.where(data == data, data, F.ones_like(data)) if of_floats(data) else data
        return F.prod(kept, **self.dump())


@op("_square_sum")
class SquareSum(Reduction):
    """The sum of squares along axes."""

    kind = "square_sum"

    def infer_storage(self, stypes=(), shapes=(), result=()):
        kept = stypes == ("row_sparse",) and len(result) == 2 and result[0] == shapes[0][0]
        return Storage("row_sparse") if kept else DENSE

    function = staticmethod(lambda x, axes: _sum(x * x, axes))

    def composition(self, F, data):
        return F.sum(F.broadcast_mul(data, data), **self.dump())

    def gradient(self, F, dy, data, y):
        return F.broadcast_mul(data * 2, self.restore(F, dy, data))


@op("norm", "_sparse_norm")
class Norm(Op):
    """The sum of absolute values (ord 1) or the root of the sum of squares (ord 2) along axes.

    Two infinities give NaN with ord 2, for MXNet scales by the largest element."""

    meanings = {
        "axis": "Axes that are reduced, negative ones counted from the last; empty or None: all.",
        "ord": "1: sum of absolute values, 2: root of the sum of squares.",
    }

    ord: int = 2
    axis: Axes = None
    out_dtype: DType | None = None
    keepdims: bool = False

    def check(self):
        return None if self.ord in (1, 2) else f"got ord {self.ord}, wanted 1 or 2"

    def infer_input_types(self, dtypes, outputs):
        return dtypes if self.out_dtype else super().infer_input_types(dtypes, outputs)

    def infer_type(self, data):
        return self.out_dtype or data

    def infer_shape(self, data):
        return reduce_shape(data, axes_of(self, self.axis, len(data)), self.keepdims)

    def composition(self, F, data):
        if not known(data) or not of_floats(data) or (self.out_dtype and self.out_dtype.kind in "iu"):
            return None
        if 0 in definite(data.shape):
            return None
        axes, dtype = axes_of(self, self.axis, len(data.shape)), self.infer_type(data.dtype)
        size = F.abs(F.Cast(data, dtype="float64"))
        if self.ord == 1:
            y = total(F, size, axes)
        else:
            infinite = F._equal_scalar(size, scalar=np.inf)
            largest = F._maximum_scalar(extreme(F, "max", size, axes), scalar=0)
            usable = F.logical_not(
                F.broadcast_add(F._equal_scalar(largest, scalar=0), F._equal_scalar(largest, scalar=np.inf))
            )
            scale = F._npi_where(usable, largest, F.ones_like(largest))
            y = scale * F.sqrt(total(F, F.square(F.broadcast_div(size, scale)), axes))
            several = F._greater_scalar(total(F, infinite, axes), scalar=1)
            y = F._npi_where(several, F._npi_full_like(y, fill_value=np.nan), y)
        return reshaped(F, F.Cast(y, dtype=dtype), reduce_shape(data.shape, axes, self.keepdims))

    def compute(self, data):
        axes, dtype = axes_of(self, self.axis, data.ndim), self.infer_type(data.dtype)
        x = np.abs(data.astype(np.float64))
        if self.ord == 1:
            y = _sum(x, axes)
        else:
            largest = x.max(axes, keepdims=True, initial=0)
            scale = np.where((largest == 0) | np.isinf(largest), 1, largest)
            y = scale * np.sqrt(_sum(np.square(x / scale), axes))
            y = np.where(np.isinf(x).sum(axes, keepdims=True) > 1, np.nan, y)
        y = truncate(y, dtype) if dtype.kind in "iu" else y.astype(dtype)
        return y.reshape(reduce_shape(data.shape, axes, self.keepdims))

    def gradient(self, F, dy, data, y):
        x = data if self.out_dtype is None else F._backward_cast_like(data, y)
        if self.ord == 1:
            found = F.broadcast_mul(F.sign(x), restore_axes(F, dy, x, self.axis or None))
        else:
            found = F.broadcast_mul(x, restore_axes(F, dy / y, x, self.axis or None))
        return found if self.out_dtype is None else F._backward_cast_like(found, data)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axis=1)
        yield make(make.uniform(2, 3, 4), ord=1, axis=(0, 2), keepdims=True)


@op("moments")
class Moments(Op):
    """Mean and (population) variance along axes. Two outputs of the reduced shape."""

    meanings = {"axes": "Axes that are reduced, negative ones counted from the last; empty or None: all."}

    refuses = BOOLS

    axes: Axes = None
    keepdims: bool = False

    def check(self):
        return None if self.axes else "got no axes, wanted all that are to go"

    def output_names(self):
        return ("output0", "output1")

    def infer_shape(self, data):
        return [reduce_shape(data, axes_of(self, self.axes, len(data)), self.keepdims)] * 2

    def composition(self, F, data):
        if not known(data) or not of_floats(data):
            return None
        axes = axes_of(self, self.axes, len(data.shape))
        count = math.prod(definite(tuple(data.shape[a] for a in axes)))
        if not count:
            return None
        (x,) = widely(F, data.dtype, data)
        mean = total(F, x, axes) / count
        variance = total(F, F.square(F.broadcast_sub(x, mean)), axes) / count
        shape = reduce_shape(data.shape, axes, self.keepdims)
        return tuple(reshaped(F, narrowly(F, data.dtype, y), shape) for y in (mean, variance))

    def compute(self, data):
        axes, x = axes_of(self, self.axes, data.ndim), widen(data)
        shape = reduce_shape(data.shape, axes, self.keepdims)
        mean = _mean(x, axes)
        variance = _mean(np.square(x - mean), axes)
        return tuple(y.astype(data.dtype, copy=False).reshape(shape) for y in (mean, variance))

    def gradient(self, F, dy, data, mean, variance):
        of_mean, of_variance, mean = (restore_axes(F, y, data, self.axes) for y in (dy[0], dy[1], mean))
        each = F._backward_over_count(of_mean, data, axis=self.axes)
        return F.broadcast_add(deviation_gradient(F, of_variance, data, mean, self.axes), each)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axes=(0, 2))


@op("multi_sum_sq")
class MultiSumSq(Op):
    """The sum of squares of each array. Shapes: any, n of them -> (n,), float32."""

    num_arrays: Arity

    inputs = ("*data",)
    count = "num_arrays"

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, *dtypes):
        return np.dtype(np.float32)

    def infer_shape(self, *shapes):
        return (self.num_arrays,)

    def composition(self, F, *arrays):
        squares = [F._np_reshape(F.sum(F.square(F.Cast(x, dtype="float32"))), newshape=(1,)) for x in arrays]
        return F.Concat(*squares, dim=0)

    def compute(self, *arrays):
        return np.stack([np.square(a.astype(np.float32)).sum() for a in arrays])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), make.uniform(2, 2), num_arrays=2)


# -- what npx networks use -----------------------------------------------------------------------------------------------


class ReductionPlan(NamedTuple):
    """The axes that go of an array, the shape that is left, and the dtypes to reckon in and of the result."""

    axes: tuple[int, ...]
    left: tuple[int, ...]
    working: np.dtype
    dtype: np.dtype


class NpReduction(Op):
    """axis: which axes go, all when there is None."""

    meanings = {
        "axis": "Axes that are reduced, negative ones counted from the last; empty or None: all.",
        "dtype": "Dtype to add up in, and of the result; None: as said above.",
    }

    axis: Axes = None
    keepdims: bool = False

    kind: ClassVar[str]
    inputs = ("a",)

    def axes(self, rank: int) -> tuple[int, ...]:
        return np_axes_of(self, self.axis, rank)

    def infer_shape(self, a):
        return reduce_shape(a, self.axes(len(a)), self.keepdims, at_least_1d=False)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def working(self, a: np.dtype) -> np.dtype:
        """The dtype to reckon in."""
        return a

    def plan(self, a: np.ndarray) -> ReductionPlan:
        """The plan for arrays of this shape and dtype, remembered."""
        known = self.memo.get((a.shape, a.dtype))
        if known is None:
            axes = self.axes(a.ndim)
            left = reduce_shape(a.shape, axes, self.keepdims, at_least_1d=False)
            known = ReductionPlan(axes, left, self.working(a.dtype), self.infer_type(a.dtype))
            self.memo[a.shape, a.dtype] = known
        return known

    def finish(self, y: np.ndarray, plan: ReductionPlan) -> np.ndarray:
        """y, whose reduced axes have size 1, as the output is."""
        dtype = plan.dtype
        if y.dtype != dtype:
            y = truncate(y, dtype) if dtype.kind in "iu" and y.dtype.kind == "f" else y.astype(dtype)
        return y.reshape(plan.left)

    def restore(self, F, y, a):
        """A symbol of the shape of the output so that it broadcasts with a."""
        return restore_axes(F, y, a, self.axis)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5), axis=1)
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5), axis=(0, 2), keepdims=True)
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5))


class NpTotal(NpReduction):
    """axis: which axes go, all when there is none; dtype: that of the result; initial: what to begin with."""

    dtype: DType | None = None
    initial: float | None = None

    def infer_type(self, a):
        return self.dtype or (np.dtype(np.int64) if a.kind == "b" else a)

    def composition(self, F, a):
        if not known(a) or (a.dtype.kind not in "iub" and self.infer_type(a.dtype).kind in "iub"):
            return None
        return self.composed(F, cast(F, a, a.dtype, self.working(a.dtype)), a.shape, self.infer_type(a.dtype))

    def composed(self, F, a, shape, dtype):
        """The composition, of an array of this shape in the dtype to reckon in."""
        y = getattr(F, self.kind)(a, axis=axes, keepdims=True) if (axes := self.axes(len(shape))) else a
        if self.initial is not None:
            y = (F._plus_scalar if self.kind == "sum" else F._mul_scalar)(y, scalar=self.initial)
        return reshaped(F, F.Cast(y, dtype=dtype), self.infer_shape(shape))

    def working(self, a: np.dtype) -> np.dtype:
        """The dtype to add up in."""
        dtype = self.infer_type(a)
        if a.kind not in "iub" and (dtype.kind in "iub" or dtype.itemsize < 4):
            return np.dtype(np.float32) if a.itemsize < 4 else a
        return dtype


@op("_np_sum")
class NpSum(NpTotal):
    """The sum along axes; of bools as int64."""

    kind = "sum"

    def composition(self, F, a):
        return super().composition(F, a)

    def compute(self, a):
        plan = self.plan(a)
        y = _sum(a if a.dtype == plan.working else a.astype(plan.working), plan.axes)
        return self.finish(y if self.initial is None else y + y.dtype.type(self.initial), plan)

    def gradient(self, F, dy, a, y):
        return F._backward_broadcast_like(self.restore(F, F._backward_cast_like(dy, a), a), a)


@op("_np_prod", "_np_product")
class NpProd(NpTotal):
    """The product along axes; of bools as int64. Without any number MXNet's is 0."""

    kind = "prod"

    def composition(self, F, a):
        return None if a.shape is None or 0 in definite(a.shape) else super().composition(F, a)

    def compute(self, a):
        plan = self.plan(a)
        x = a.astype(plan.working, copy=False)
        y = _prod(x, plan.axes) * np.asarray(a.size > 0, x.dtype)
        return self.finish(y if self.initial is None else y * y.dtype.type(self.initial), plan)

    def gradient(self, F, dy, a, y):
        product = F._backward_cast_like(dy, a) * F._backward_cast_like(y, a)
        return F.broadcast_div(self.restore(F, product, a), a)


@op("_npi_mean")
class NpMean(NpTotal):
    """The mean along axes; of integers as float32. Without any number MXNet's is 0.

    With an integer dtype for floats their sum is converted, and divided towards zero."""

    kind = "mean"

    def check(self):
        return None if self.initial is None else "initial means nothing here"

    def infer_type(self, a):
        return self.dtype or (np.dtype(np.float32) if a.kind in "iub" else a)

    def working(self, a):
        return np.dtype(np.float32) if self.dtype == np.bool_ and a.kind in "iub" else super().working(a)

    def composition(self, F, a):
        if not known(a) or 0 in definite(a.shape) or self.infer_type(a.dtype).kind in "iub":
            return None
        axes = self.axes(len(a.shape))
        y = total(F, cast(F, a, a.dtype, self.working(a.dtype)), axes) / math.prod(a.shape[i] for i in axes)
        return reshaped(F, F.Cast(y, dtype=self.infer_type(a.dtype)), self.infer_shape(a.shape))

    def compute(self, a):
        plan = self.plan(a)
        axes, left, working, dtype = plan
        if not a.size:
            return np.zeros(left, dtype)
        x = a if a.dtype == working else a.astype(working)
        if dtype.kind in "iu" and working.kind not in "iub":
            y = _divide(truncate(_sum(x, axes), dtype), math.prod(a.shape[i] for i in axes))
        else:
            y = _mean(x, axes)
        return self.finish(y, plan)

    def gradient(self, F, dy, a, y):
        each = F._backward_over_count(self.restore(F, F._backward_cast_like(dy, a), a), a, axis=self.axis)
        return F._backward_broadcast_like(each, a)


class NpExtreme(NpReduction):
    """axis: which axes go, all when there is none; initial: a further candidate."""

    initial: float | None = None

    pick: ClassVar[Any]

    def infer_shape(self, a):
        if any(a[i] is not UNKNOWN and a[i] == 0 for i in self.axes(len(a))):
            raise self.error(f"got {show(a)}, wanted an element along each axis that goes")
        return super().infer_shape(a)

    def infer_type(self, a):
        return a

    def infer_input_types(self, dtypes, outputs):
        return Op.infer_input_types(self, dtypes, outputs)

    def composition(self, F, a):
        if not known(a):
            return None
        y = extreme(F, self.kind, a, self.axes(len(a.shape)))
        if self.initial is not None:
            if a.dtype.kind == "b":
                return None
            y = (F._maximum_scalar if self.kind == "max" else F._minimum_scalar)(y, scalar=self.initial)
        return reshaped(F, y, self.infer_shape(a.shape))

    def compute(self, a):
        plan = self.plan(a)
        y = self.pick.reduce(a, plan.axes, keepdims=True)
        return self.finish(y if self.initial is None else self.pick(y, y.dtype.type(self.initial)), plan)

    def gradient(self, F, dy, a, y):
        return F.broadcast_mul(F.broadcast_equal(a, self.restore(F, y, a)), self.restore(F, dy, a))


@op("_np_max", "_np_amax")
class NpMax(NpExtreme):
    """The largest along axes; NaN if any is."""

    kind = "max"
    pick = np.maximum


@op("_np_min", "_np_amin")
class NpMin(NpExtreme):
    """The smallest along axes; NaN if any is."""

    kind = "min"
    pick = np.minimum


@op("_npi_var")
class NpVar(NpReduction):
    """The variance along axes, with ddof less than the number of elements as divisor.

    Of integers mean and squares are integers, and with no floating dtype their mean, too."""

    refuses = BOOLS

    dtype: DType | None = None
    ddof: int = 0

    kind = "var"

    def infer_type(self, a):
        return self.dtype or a

    def composition(self, F, a):
        if not known(a) or not of_floats(a) or self.infer_type(a.dtype).kind in "iub":
            return None
        y = self.composed_variance(F, a)
        return None if y is None else reshaped(F, F.Cast(y, dtype=self.infer_type(a.dtype)), self.infer_shape(a.shape))

    def composed_variance(self, F, a):
        """variance, of a symbol; None where there are too few elements."""
        axes, dtype = self.axes(len(a.shape)), np.result_type(self.infer_type(a.dtype), np.float32)
        count = math.prod(definite(tuple(a.shape[i] for i in axes)))
        if count <= max(self.ddof, 0):
            return None
        (x,) = widely(F, a.dtype, a)
        away = F.Cast(F.square(F.broadcast_sub(x, total(F, x, axes) / count)), dtype=np.result_type(dtype, a.dtype))
        return total(F, away, axes) / (count - self.ddof)

    def variance(self, a: np.ndarray) -> np.ndarray:
        """The variance, reduced axes kept."""
        (axes, _, _, dtype), x = self.plan(a), widen(a)
        count = math.prod(a.shape[i] for i in axes)
        squares = np.square(x - _mean(x, axes))
        if dtype.kind not in "iub":
            squares = squares.astype(np.result_type(dtype, x), copy=False)
        return _divide(_sum(squares, axes), count - self.ddof)

    def compute(self, a):
        return self.finish(self.variance(a), self.plan(a))

    def gradient(self, F, dy, a, y):
        x = F._backward_cast_like(a, y)
        mean = F._backward_cast_like(F._npi_mean(x, axis=self.axis, keepdims=True), x)
        return F._backward_cast_like(deviation_gradient(F, self.restore(F, dy, a), x, mean, self.axis, self.ddof), a)


@op("_npi_std")
class NpStd(NpVar):
    """The standard deviation along axes: the root of _npi_var."""

    kind = "std"

    def composed_variance(self, F, a):
        y = super().composed_variance(F, a)
        return None if y is None else F.sqrt(y)

    def composition(self, F, a):
        return super().composition(F, a)

    def compute(self, a):
        variance = self.variance(a)
        y = np.sqrt(variance.astype(np.float64) if variance.dtype.kind in "iub" else variance)
        return self.finish(y, self.plan(a))

    def gradient(self, F, dy, a, y):
        return super().gradient(F, dy / y * 0.5, a, y)


class NpTruth(NpReduction):
    """axis: which axes go, all when there is none. The result is bool."""

    inputs = ("data",)
    pick: ClassVar[Any]

    def infer_type(self, data):
        return np.dtype(bool)

    def composition(self, F, data):
        if not known(data):
            return None
        wrong = self.kind == "all"
        hit = F.Cast(
            F._npi_equal_scalar(data, scalar=0) if wrong else F._npi_not_equal_scalar(data, scalar=0), dtype="int32"
        )
        test = F._npi_equal_scalar if wrong else F._npi_not_equal_scalar
        y = test(total(F, hit, self.axes(len(data.shape))), scalar=0)
        return reshaped(F, y, self.infer_shape(data.shape))

    def compute(self, data):
        plan = self.plan(data)
        return self.finish(self.pick.reduce(data != 0, plan.axes, keepdims=True), plan)

    def gradient(self, F, dy, data, y):
        return None


@op("_np_any", "_np_sometrue")
class NpAny(NpTruth):
    """Test that any element along axes is other than 0."""

    kind = "any"
    pick = np.logical_or


@op("_np_all")
class NpAll(NpTruth):
    """Test that every element along axes is other than 0."""

    kind = "all"
    pick = np.logical_and
