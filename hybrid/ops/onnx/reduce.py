"""Reductions whose axes may arrive at run time, places of extremes, running sums and products, and normalisations by a norm."""

import math
from typing import Any, ClassVar

import numpy as np

from ...core.op import op
from ...core.shapes import UNKNOWN, merge, of_rank, show
from ..common import as_array, axes_of, axis_of, highest, lowest, mean_over, narrow, want_some, widen
from ..composing import computed_widely, definite, extreme, known, narrowly, of_floats, reshaped, total, widely
from .base import INT64, Pointwise, Standard, ints
from .types import BYTES, FLOATS, INDICES, NUMBERS, PRECISE


class AlongAxes(Standard):
    """data and axes, which may be left out: then, or where there are none in it, all axes, with noop_with_empty_axes none."""

    keepdims: bool = True
    noop_with_empty_axes: bool = False

    inputs = ("data", "axes")
    types = {"data": PRECISE, "axes": {"int64"}}
    optional = ("axes",)
    needs = ("values",)

    def along(self, axes: np.ndarray | None, rank: int) -> tuple[int, ...]:
        """The axes that go, counted from the front."""
        listed = () if axes is None else ints(axes)
        if not listed:
            return () if self.noop_with_empty_axes else tuple(range(rank))
        return axes_of(self, listed, rank)


class Reduction(AlongAxes):
    """Shapes: any, (n,) -> data's without the axes, or with keepdims with size 1 for each."""

    data_dependent_shape = True
    left_open = ("reduce", "said", "share")
    types = {"data": PRECISE, "axes": {"int64"}}

    def composition(self, F, data, axes=None):
        if axes is not None or not known(data) or not of_floats(data) or 0 in definite(data.shape):
            return None  # axes are known only when it runs
        axes, (x,) = self.along(None, len(data.shape)), widely(F, data.dtype, data)
        kept = narrowly(F, data.dtype, self.said(F, x, axes))
        left = tuple(d for a, d in enumerate(data.shape) if a not in axes)
        return kept if self.keepdims else reshaped(F, kept, left)

    def said(self, F: Any, x: Any, axes: tuple[int, ...]) -> Any:
        """``reduce`` of expressions; x holds floats, and has elements."""
        raise NotImplementedError

    def reduce(self, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        """The result, the axes kept with size 1; x is float32 or wider, or whole numbers."""
        raise NotImplementedError

    def shape(self, data, axes=None, *, values):
        if axes is not None and values[1] is None:
            if self.keepdims:
                return (UNKNOWN,) * len(data)
            count = axes[0]
            if count is UNKNOWN or count == 0 or count > len(data):
                return None
            return of_rank(len(data) - count)
        gone = self.along(values[1] if axes is not None else None, len(data))
        if self.keepdims:
            return tuple(1 if a in gone else d for a, d in enumerate(data))
        return tuple(d for a, d in enumerate(data) if a not in gone)

    def meaning(self, data, axes=None):
        gone = self.along(axes, data.ndim)
        y = narrow(as_array(self.reduce(widen(data), gone)), data.dtype)
        return y if self.keepdims else y.reshape([d for a, d in enumerate(data.shape) if a not in gone])

    def gradient(self, F, dy, data, *axes_and_y):
        *axes, y = axes_and_y
        kept = [F._backward__onnx_restore(s, data, *axes, **self.dump()) for s in (dy, y)]
        return [self.share(F, kept[0], data, kept[1]), *(None for _ in axes)]

    def share(self, F: Any, dy: Any, x: Any, y: Any) -> Any:
        """The gradient of x; dy and y have the axes that went, with size 1."""
        raise NotImplementedError

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5), make.array([1, -1], "int64"), given=("axes",))
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5), keepdims=False)
        yield make(make.uniform(2, 3, low=0.5, high=1.5), noop_with_empty_axes=True)


@op("_backward__onnx_restore")
class Restore(AlongAxes):
    """dy, which has the shape of a reduction of data, with the axes that went as axes of size 1."""

    inputs = ("dy", "data", "axes")
    view = True
    only_moves_data = True

    def shape(self, dy, data, axes=None, *, values):
        if axes is not None and values[2] is None:
            return merge(dy if self.keepdims else None, of_rank(len(data)))
        gone = self.along(values[2] if axes is not None else None, len(data))
        kept = tuple(1 if a in gone else d for a, d in enumerate(data))
        reduced = kept if self.keepdims else tuple(d for a, d in enumerate(data) if a not in gone)
        try:
            merge(dy, reduced)
        except ValueError:
            raise self.error(f"got dy of shape {show(dy)}, wanted {show(reduced)}, that of the reduction") from None
        return kept

    def meaning(self, dy, data, axes=None):
        given = None if axes is None else axes.shape
        return dy.reshape(self.shape(dy.shape, data.shape, given, values=(None, None, axes)))

    def gradient(self, F, ddx, dy, *others_and_y):
        return [F._backward_reshape_like(ddx, dy), *(None for _ in others_and_y[:-1])]


@op("_backward__onnx_over_count")
class OverCount(Standard):
    """data divided by how many elements of x each of its own stands for. Shapes: one that broadcasts to x's, x's -> as data."""

    inputs = ("data", "x")

    def shape(self, data, x):
        return data

    def meaning(self, data, x):
        return data * data.dtype.type(data.size / x.size) if x.size else data

    def gradient(self, F, dy, data, x, y):
        return F._backward__onnx_over_count(dy, x), None


def _sum(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.add.reduce(x, axes, x.dtype, keepdims=True)


@op("_onnx_ReduceSum")
class ReduceSum(Reduction):
    """The sum; whole numbers wrap round. Source: ONNX ReduceSum (opset 13)."""

    def said(self, F, x, axes):
        return total(F, x, axes)

    def reduce(self, x, axes):
        return _sum(x, axes)

    def share(self, F, dy, x, y):
        return F._backward_broadcast_like(dy, x)


@op("_onnx_ReduceMean")
class ReduceMean(Reduction):
    """The mean, NaN of nothing; of whole numbers cut off. Source: ONNX ReduceMean (opset 18)."""

    def said(self, F, x, axes):
        return F.mean(x, axis=axes, keepdims=True) if axes else x

    def reduce(self, x, axes):
        total, count = _sum(x, axes), math.prod(x.shape[a] for a in axes)
        if x.dtype.kind not in "iub":
            return total / total.dtype.type(count)
        return np.sign(total) * (np.abs(total) // max(count, 1))

    def share(self, F, dy, x, y):
        return F._backward_broadcast_like(F._backward__onnx_over_count(dy, x), x)


class Extreme(Reduction):
    """Base of the extremes; all elements that equal it get its gradient."""

    types = {"data": PRECISE | BYTES | {"bool"}, "axes": {"int64"}}

    def share(self, F, dy, x, y):
        return F.broadcast_mul(F.broadcast_equal(x, y), dy)


@op("_onnx_ReduceMax")
class ReduceMax(Extreme):
    """The largest; NaN if any is; of nothing the least there is. Source: ONNX ReduceMax (opset 20)."""

    types = {"data": PRECISE | BYTES | {"bool"}, "axes": {"int64"}}

    def said(self, F, x, axes):
        return extreme(F, "max", x, axes)

    def reduce(self, x, axes):
        return np.maximum.reduce(x, axes, keepdims=True, initial=lowest(x.dtype))


@op("_onnx_ReduceMin")
class ReduceMin(Extreme):
    """The smallest; NaN if any is; of nothing the largest there is. Source: ONNX ReduceMin (opset 20)."""

    def said(self, F, x, axes):
        return extreme(F, "min", x, axes)

    def reduce(self, x, axes):
        return np.minimum.reduce(x, axes, keepdims=True, initial=highest(x.dtype))


@op("_onnx_ReduceProd")
class ReduceProd(Reduction):
    """The product; whole numbers wrap round. Source: ONNX ReduceProd (opset 18)."""

    def said(self, F, x, axes):
        return extreme(F, "prod", x, axes)

    def reduce(self, x, axes):
        return np.multiply.reduce(x, axes, x.dtype, keepdims=True)

    def share(self, F, dy, x, y):
        return F.broadcast_div(F.broadcast_mul(dy, y), x)


@op("_onnx_ReduceL1")
class ReduceL1(Reduction):
    """The sum of absolute values. Source: ONNX ReduceL1 (opset 18)."""

    def said(self, F, x, axes):
        return total(F, F.abs(x), axes)

    def reduce(self, x, axes):
        return _sum(np.abs(x), axes)

    def share(self, F, dy, x, y):
        return F.broadcast_mul(F.sign(x), dy)


@op("_onnx_ReduceL2")
class ReduceL2(Reduction):
    """The root of the sum of squares; of whole numbers cut off. Source: ONNX ReduceL2 (opset 18)."""

    def said(self, F, x, axes):
        return F.sqrt(total(F, F.square(x), axes))

    def reduce(self, x, axes):
        if x.dtype.kind in "iub":
            return np.sqrt(_sum(np.square(x.astype(np.float64)), axes))
        return np.sqrt(_sum(np.square(x), axes))

    def share(self, F, dy, x, y):
        return F.broadcast_mul(x, dy / (y + (y == 0)))  # where y is 0 all of x is


@op("_onnx_ReduceSumSquare")
class ReduceSumSquare(Reduction):
    """The sum of squares; whole numbers wrap round. Source: ONNX ReduceSumSquare (opset 18)."""

    def said(self, F, x, axes):
        return total(F, F.square(x), axes)

    def reduce(self, x, axes):
        return _sum(np.square(x), axes)

    def share(self, F, dy, x, y):
        return F.broadcast_mul(x * 2, dy)


@op("_onnx_ReduceLogSum")
class ReduceLogSum(Reduction):
    """The logarithm of the sum. Source: ONNX ReduceLogSum (opset 18)."""

    types = {"data": FLOATS, "axes": {"int64"}}

    def said(self, F, x, axes):
        return F.log(total(F, x, axes))

    def reduce(self, x, axes):
        return np.log(_sum(x, axes))

    def share(self, F, dy, x, y):
        return F._backward_broadcast_like(dy * F.exp(-y), x)


@op("_onnx_ReduceLogSumExp")
class ReduceLogSumExp(Reduction):
    """The logarithm of the sum of exponentials, without overflow. Source: ONNX ReduceLogSumExp (opset 18)."""

    types = {"data": FLOATS, "axes": {"int64"}}

    def said(self, F, x, axes):
        most = extreme(F, "max", x, axes)
        shift = F._npi_where(F._npi_isinf(most), F.zeros_like(most), most)
        return F.log(total(F, F.exp(F.broadcast_sub(x, shift)), axes)) + shift

    def reduce(self, x, axes):
        most = np.maximum.reduce(x, axes, keepdims=True, initial=-np.inf)
        shift = np.where(np.isfinite(most), most, x.dtype.type(0))
        return np.log(_sum(np.exp(x - shift), axes)) + shift

    def share(self, F, dy, x, y):
        return F.broadcast_mul(F.exp(F.broadcast_sub(x, y)), dy)


# -- places of extremes --------------------------------------------------------------------------------------------------


class ArgExtreme(Standard):
    """Position of the extreme along axis, as int64: the first of several, or with select_last_index the last. NaN is more
    extreme than anything. Shapes: any -> as data without axis, or with keepdims with size 1 for it."""

    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False

    find: ClassVar[Any]
    left_open = ("find",)
    is_ordering = True
    types = {"data": NUMBERS}

    def infer_shape(self, data):
        axis = axis_of(self, self.axis, len(data) or 1)
        if not data:
            return ()
        want_some(self, data, axis)
        return (*data[:axis], *((1,) if self.keepdims else ()), *data[axis + 1 :])

    def dtype(self, data):
        return INT64

    def composition(self, F, data):
        if not known(data) or not data.shape or 0 in definite(data.shape):
            return None
        axis = axis_of(self, self.axis, len(data.shape))
        find = F._npi_argmin if type(self).find is np.argmin else F._npi_argmax
        if not self.select_last_index:
            return find(data, axis=axis, keepdims=self.keepdims)
        return F._rminus_scalar(
            find(F.reverse(data, axis=axis), axis=axis, keepdims=self.keepdims), scalar=data.shape[axis] - 1
        )

    def compute(self, data):
        x = np.atleast_1d(data)
        axis = axis_of(self, self.axis, x.ndim)
        if not self.select_last_index:
            place = type(self).find(x, axis)
        else:
            place = x.shape[axis] - 1 - type(self).find(np.flip(x, axis), axis)
        return np.asarray(place, np.int64).reshape(self.infer_shape(data.shape))

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axis=1)
        yield make(make.array([[2, 5, 5], [0, 0, 3]]), axis=-1, keepdims=False, select_last_index=True)


@op("_onnx_ArgMax")
class ArgMax(ArgExtreme):
    __doc__ = f"The largest: {ArgExtreme.__doc__} Source: ONNX ArgMax (opset 12 to newest)."
    find = staticmethod(np.argmax)


@op("_onnx_ArgMin")
class ArgMin(ArgExtreme):
    __doc__ = f"The smallest: {ArgExtreme.__doc__} Source: ONNX ArgMin (opset 12 to newest)."
    find = staticmethod(np.argmin)


# -- running sums and products -------------------------------------------------------------------------------------------


class Running(Pointwise):
    """Base of what is accumulated along an axis. Shapes: any, () or (1,) -> as x."""

    exclusive: bool = False
    reverse: bool = False

    exception = "a tensor says the axis, maybe not before it runs"

    inputs = ("x", "axis")
    types = {"x": PRECISE, "axis": INDICES}
    numbers = ("axis",)

    def shape(self, x, axis):
        return x

    def running(self, function: np.ufunc, neutral: int, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """x accumulated by function, exclusive and reverse as asked for."""
        along = axis_of(self, int(np.asarray(axis).reshape(())), x.ndim)
        wide = widen(x)
        wide = np.flip(wide, along) if self.reverse else wide
        y = function.accumulate(wide, along, wide.dtype)
        if self.exclusive:
            shifted = np.full_like(y, neutral)
            last = y.shape[along] - 1
            shifted[(slice(None),) * along + (slice(1, None),)] = y.take(range(max(last, 0)), along)
            y = shifted
        return narrow(np.flip(y, along).copy() if self.reverse else y, x.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5), make.array(1, "int64"), exclusive=True)
        yield make(make.uniform(2, 3, 4, low=0.5, high=1.5), make.array(-1, "int32"), reverse=True)


@op("_onnx_CumSum")
class CumSum(Running):
    """Running sums along axis: of the elements up to each, without it if exclusive, from the end if reverse.

    Source: ONNX CumSum (opset 11 to newest)."""

    def meaning(self, x, axis):
        return self.running(np.add, 0, x, axis)

    def gradient(self, F, dy, x, axis, y):
        return F._onnx_CumSum(dy, axis, exclusive=self.exclusive, reverse=not self.reverse), None


@op("_onnx_CumProd")
class CumProd(Running):
    """Running products along axis: of the elements up to each, without it if exclusive, from the end if reverse.

    Source: ONNX CumProd (opset 26)."""

    def meaning(self, x, axis):
        return self.running(np.multiply, 1, x, axis)

    def gradient(self, F, dy, x, axis, y):
        return F._onnx_CumSum(dy * y, axis, exclusive=self.exclusive, reverse=not self.reverse) / x, None


# -- normalisation by a norm ---------------------------------------------------------------------------------------------


@op("_onnx_LpNormalization")
class LpNormalization(Standard):
    """input divided by its norm along axis: the sum of absolute values (p 1) or the root of the sum of squares (p 2). Where that is
    0, so is the result. Shapes: any -> as input. Source: ONNX LpNormalization (opset 1 to newest)."""

    axis: int = -1
    p: int = 2

    inputs = ("input",)
    types = {"input": FLOATS}

    def check(self):
        return super().check() if self.p in (1, 2) else f"got p={self.p}, wanted 1 or 2"

    def infer_shape(self, input):
        axis_of(self, self.axis, len(input))
        return input

    def composition(self, F, input):
        def function(x):
            axes = (axis_of(self, self.axis, len(input.shape)),)
            size = total(F, F.abs(x), axes) if self.p == 1 else F.sqrt(total(F, F.square(x), axes))
            return F.broadcast_div(x, size + (size == 0))

        return computed_widely(F, input, function)

    def compute(self, input: Any):
        x = widen(input)
        size = (
            np.abs(x).sum(self.axis, keepdims=True)
            if self.p == 1
            else np.sqrt(np.square(x).sum(self.axis, keepdims=True))
        )
        return narrow(x / np.where(size == 0, x.dtype.type(1), size), input.dtype)

    def gradient(self, F, dy, x, y):
        size = F.norm(x, ord=self.p, axis=self.axis, keepdims=True)
        size = size + (size == 0)
        along = F.sum(dy * y, axis=self.axis, keepdims=True)
        direction = F.sign(x) if self.p == 1 else y
        return F.broadcast_div(dy - F.broadcast_mul(direction, along), size)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axis=1)
        yield make(make.uniform(2, 3, 4), p=1)


@op("_onnx_MeanVarianceNormalization")
class MeanVarianceNormalization(Standard):
    """X less its mean along axes, divided by its standard deviation there plus 1e-9. Shapes: any -> as X.

    Source: ONNX MeanVarianceNormalization (opset 9 to newest)."""

    axes: tuple[int, ...] = (0, 2, 3)

    inputs = ("X",)
    types = {"X": FLOATS}

    def infer_shape(self, x):
        axes_of(self, self.axes, len(x))
        return x

    def composition(self, F, x):
        def function(wide):
            axes = axes_of(self, self.axes, len(x.shape))
            count = math.prod(definite(x.shape)[a] for a in axes)
            away = F.broadcast_sub(wide, total(F, wide, axes) / count)
            return F.broadcast_div(away, F.sqrt(total(F, F.square(away), axes) / count) + 1e-9)

        return computed_widely(F, x, function) if known(x) and 0 not in definite(x.shape) else None

    def compute(self, x: Any):
        wide, axes = widen(x), axes_of(self, self.axes, x.ndim)
        away = wide - mean_over(wide, axes, keepdims=True)
        return narrow(
            away / (np.sqrt(mean_over(np.square(away), axes, keepdims=True)) + wide.dtype.type(1e-9)), x.dtype
        )

    def gradient(self, F, dy, x, y):
        away = F.broadcast_sub(x, F._npi_mean(x, axis=self.axes, keepdims=True))
        deviation = F.sqrt(F._npi_mean(F.square(away), axis=self.axes, keepdims=True))
        along = F._npi_mean(dy * y, axis=self.axes, keepdims=True)
        level = F.broadcast_sub(dy, F._npi_mean(dy, axis=self.axes, keepdims=True))
        unit = F.broadcast_div(away, deviation + (deviation == 0))  # not y: of two numbers the rest is what 1e-9 makes
        return F.broadcast_div(level - F.broadcast_mul(unit, along), deviation + 1e-9)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 2, 4))
        yield make(make.uniform(2, 3, 4), axes=(-1,))
