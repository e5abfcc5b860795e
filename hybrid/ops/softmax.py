"""Softmax in its forms."""

from typing import Any, Literal

import numpy as np

from ..core.attrs import DType, is_float
from ..core.op import WHOLE, Domain, Op, op
from ..core.shapes import UNKNOWN, merge, show
from .common import Elementwise, axis_of, narrow, part_of, want_rank, widen
from .composing import cast, definite, known, narrowly, of_floats, placed_at, widely


def softmax(x: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """exp(x) over its sum along axis (or several together), without overflow."""
    if not x.size:
        return x.copy()
    y = np.exp(x - x.max(axis, keepdims=True))
    return np.divide(y, np.add.reduce(y, axis, keepdims=True), out=y)


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """The logarithm of softmax, without loss for the improbable."""
    if not x.size:
        return x.copy()
    y = x - np.maximum.reduce(x, axis, keepdims=True)
    y -= np.log(np.add.reduce(np.exp(y), axis, keepdims=True))
    return y


def composed_softmax(F: Any, x: Any, axis: int) -> Any:
    """softmax of symbols along axis."""
    y = F.exp(F.broadcast_sub(x, F.max(x, axis=axis, keepdims=True)))
    return F.broadcast_div(y, F.sum(y, axis=axis, keepdims=True))


@op("_backward_softmax")
@part_of("softmax")
class SoftmaxBackward(Elementwise):
    """The gradient of softmax along axis from that of its result y: y * (dy - sum(dy * y))."""

    axis: int = -1

    inputs = ("dy", "y")
    supports_out = True

    def compute(self, dy, y, out=None):
        head, p = widen(dy), widen(y)
        slope = np.multiply(head, p, out=out if head is dy else None)
        total = slope.sum(self.axis, keepdims=True)
        slope -= p * total
        return narrow(slope, dy.dtype, out)

    def gradient(self, F, dy, head, y, gradient):
        # with s = sum(head * y) and t = sum(dy * y): dy * (head - s) - head * t
        s = F.sum(head * y, axis=self.axis, keepdims=True)
        t = F.sum(dy * y, axis=self.axis, keepdims=True)
        change = dy * F.broadcast_sub(head, s) - F.broadcast_mul(head, t)
        return F._backward_softmax(dy, y, axis=self.axis), change


@op("_backward_log_softmax")
@part_of("log_softmax")
class LogSoftmaxBackward(Elementwise):
    """The gradient of log_softmax along axis from that of its result y: dy - exp(y) * sum(dy)."""

    axis: int = -1

    inputs = ("dy", "y")
    supports_out = True

    def compute(self, dy, y, out=None):
        head, p = widen(dy), widen(y)
        slope = np.exp(p, out=out if head is dy else None)
        slope *= -head.sum(self.axis, keepdims=True)
        slope += head
        return narrow(slope, dy.dtype, out)

    def gradient(self, F, dy, head, y, gradient):
        p = F.exp(y)
        t = F.sum(dy * p, axis=self.axis, keepdims=True)
        change = -F.broadcast_mul(dy * p, F.sum(head, axis=self.axis, keepdims=True))
        return F.broadcast_sub(dy, t), change


class SoftmaxLike(Op):
    """Shapes: one for all. axis: along which it sums to one; temperature: data is divided by it first; dtype: of the result."""

    axis: int = -1
    temperature: float | None = None
    dtype: DType | None = None
    use_length: bool | None = False

    def check(self):
        if self.dtype is not None and not is_float(self.dtype):
            return f"got dtype={self.dtype}, wanted a floating-point dtype"
        return super().check()

    def infer_shape(self, data):
        axis_of(self, self.axis, len(data))
        return data

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], outputs[0]), *shapes[1:]]

    def infer_input_types(self, dtypes, outputs):
        return super().infer_input_types(dtypes, outputs) if self.dtype is None else dtypes

    def infer_type(self, data):
        if self.dtype is None and data.kind in "iub":
            raise self.error(f"got data of {data}, wanted floating-point numbers; cast it or give a dtype")
        return self.dtype or data

    def apply_temperature(self, data: np.ndarray) -> np.ndarray:
        """data over the temperature, in a dtype to add up in."""
        x = widen(data)
        if self.dtype is not None and self.dtype.itemsize > x.dtype.itemsize:
            x = x.astype(self.dtype)
        return x if self.temperature in (None, 1.0) else x / x.dtype.type(self.temperature)

    def composed(self, F, data):
        """data as it is scaled, and what to do to the result; None where that is not known, or there is nothing to add up."""
        if not known(data) or 0 in definite(data.shape) or data.dtype.kind in "iub":
            return None
        dtype = self.infer_type(data.dtype)
        wide = np.result_type(np.float32, data.dtype, dtype) if data.dtype.isbuiltin == 1 else np.dtype(np.float32)
        x = cast(F, data, data.dtype, wide)
        x = x if self.temperature in (None, 1.0) else x / self.temperature
        return x, lambda y: cast(F, y, wide, dtype)

    def through(self, F, function, dy, data, y):
        """The gradient of data by the gradient function of what scaled makes of it."""
        if self.dtype is not None:
            dy, y = F._backward_widen_like(dy, data), F._backward_widen_like(y, data)
        g = function(dy, y, axis=self.axis)
        g = g if self.temperature in (None, 1.0) else g / self.temperature
        return g if self.dtype is None else F._backward_cast_like(g, data)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 5))
        yield make(make.uniform(2, 3, 4), axis=1, temperature=2.0)


@op("softmax", "_npx_softmax")
class Softmax(SoftmaxLike):
    """exp(data) over its sum along axis.

    With use_length only the first length elements along axis count, and the others are 0; length has the shape of data
    without axis, and is int32 or int64."""

    bound = 1.0

    inputs = ("data", "length")

    def input_names(self):
        return self.inputs if self.use_length else self.inputs[:1]

    def infer_shape(self, data, *length):
        return super().infer_shape(data)

    def infer_input_shapes(self, shapes, outputs):
        data = merge(shapes[0], outputs[0])
        if not self.use_length or data is None:
            return [data, *shapes[1:]]
        axis = axis_of(self, self.axis, len(data))
        return [data, data[:axis] + data[axis + 1 :]]

    def infer_input_types(self, dtypes, outputs):
        return [*super().infer_input_types(dtypes[:1], outputs), *dtypes[1:]]

    def infer_type(self, data, *length):
        return super().infer_type(data)

    def domain(self, name, shapes):
        if name != "length" or shapes[0] is None:
            return None
        return Domain(1, shapes[0][self.axis], integer=True)

    def accepts(self, name, shapes):
        found = self.domain(name, shapes)
        return None if found is None else Domain(0, found.high, integer=True)

    def composition(self, F, data, length=None):
        scaled = self.composed(F, data)
        if scaled is None:
            return None
        if length is None:
            return scaled[1](composed_softmax(F, scaled[0], self.axis))
        axis, rank = axis_of(self, self.axis, len(data.shape)), len(data.shape)
        places = placed_at(F, F._arange(start=0, stop=data.shape[axis], dtype="int64"), axis, rank)
        ends = F.expand_dims(F.Cast(length, dtype="int64"), axis=axis)
        inside = F.broadcast_lesser(places, ends)
        y = composed_softmax(
            F, F._npi_where(inside, scaled[0], F._npi_full_like(scaled[0], fill_value=-np.inf)), self.axis
        )
        return scaled[1](F._npi_where(inside, y, F.zeros_like(y)))

    def compute(self, data, length=None):
        dtype = self.infer_type(data.dtype)
        x = self.apply_temperature(data)
        if length is None:
            return softmax(x, self.axis).astype(dtype, copy=False)
        axis = axis_of(self, self.axis, data.ndim)
        places = np.arange(data.shape[axis]).reshape(-1, *(1,) * (data.ndim - axis - 1))
        inside = places < np.expand_dims(length, axis)
        return np.where(inside, softmax(np.where(inside, x, -np.inf), axis), 0).astype(dtype)

    def gradient(self, F, dy, data, *arrays):
        g = self.through(F, F._backward_softmax, dy, data, arrays[-1])
        return (g, None) if self.use_length else g

    @classmethod
    def examples(cls, make):
        yield from super().examples(make)
        yield make(make.uniform(3, 5), make.array([2, 5, 1], np.int32), use_length=True)


@op("log_softmax", "_npx_log_softmax")
class LogSoftmax(SoftmaxLike):
    """The logarithm of softmax."""

    def composition(self, F, data):
        scaled = self.composed(F, data)
        if scaled is None:
            return None
        y = F.broadcast_sub(scaled[0], F.max(scaled[0], axis=self.axis, keepdims=True))
        return scaled[1](F.broadcast_sub(y, F.log(F.sum(F.exp(y), axis=self.axis, keepdims=True))))

    def compute(self, data):
        return log_softmax(self.apply_temperature(data), self.axis).astype(self.infer_type(data.dtype), copy=False)

    def gradient(self, F, dy, data, y):
        return self.through(F, F._backward_log_softmax, dy, data, y)


@op("softmin")
class Softmin(SoftmaxLike):
    """The softmax of -data."""

    bound = 1.0

    def composition(self, F, data):
        scaled = self.composed(F, data)
        return None if scaled is None else scaled[1](composed_softmax(F, -scaled[0], self.axis))

    def compute(self, data):
        return softmax(-self.apply_temperature(data), self.axis).astype(self.infer_type(data.dtype), copy=False)

    def gradient(self, F, dy, data, y):
        return self.through(F, F._backward_softmax, -dy, data, y)


@op("SoftmaxActivation")
class SoftmaxActivation(Elementwise):
    """Softmax over the last axis (mode instance), or over axis 1 (mode channel), which takes a third axis."""

    bound = 1.0

    meanings = {"mode": "instance: over the last axis; channel: over axis 1."}

    refuses = WHOLE

    mode: Literal["channel", "instance"] = "instance"

    @property
    def axis(self) -> int:
        """The axis that sums to one."""
        return 1 if self.mode == "channel" else -1

    def infer_shape(self, data):
        if self.mode == "channel" and len(data) < 3:
            want_rank(self, data, 3, 4, 5)
        if not data:
            raise self.error("got data of no dimension, wanted rows")
        return data

    def composition(self, F, data):
        return F.softmax(data, axis=self.axis)

    def compute(self, data):
        return softmax(widen(data), self.axis).astype(data.dtype, copy=False)

    def gradient(self, F, dy, data, y):
        return F._backward_softmax(dy, y, axis=self.axis)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))
        yield make(make.uniform(2, 3, 4), mode="channel")


def _chosen(label: np.ndarray, classes: int) -> np.ndarray:
    return np.clip(label.astype(np.intp), 0, classes - 1)


@op("_backward_softmax_cross_entropy")
@part_of("softmax_cross_entropy")
class SoftmaxCrossEntropyBackward(Op):
    """dy * (softmax(data) - onehot(label)). Shapes: dy (1,), data (N, C), label (N,) -> as data."""

    inputs = ("dy", "data", "label")

    def infer_shape(self, dy, data, label):
        return data

    def compute(self, dy, data, label):
        y = softmax(widen(data), 1)
        y[np.arange(len(y)), _chosen(label, y.shape[1])] -= 1
        return (y * widen(dy)).astype(data.dtype, copy=False)

    def gradient(self, F, dy, head, data, label, y):
        p = F.softmax(data, axis=1)
        there = F._backward_softmax_cross_entropy(F.ones_like(head), data, label)
        return (
            F._backward_reshape_like(F.sum(dy * there), head),
            F._backward_softmax(F.broadcast_mul(dy, head), p, axis=1),
            None,
        )


@op("softmax_cross_entropy")
class SoftmaxCrossEntropy(Op):
    """The sum over rows of -log softmax(data) at the label. Shapes: data (N, C), label (N,) -> (1,).

    Labels below 0 count as 0, beyond C - 1 as that; a probability below 1e-8 counts as 1e-8."""

    refuses = WHOLE

    inputs = ("data", "label")

    def infer_shape(self, data, label):
        want_rank(self, data, 2)
        if data[1] is not UNKNOWN and data[1] == 0:
            raise self.error(f"got data of shape {show(data)}, wanted a class at least")
        return (1,)

    def infer_input_shapes(self, shapes, outputs):
        data, label = shapes
        return [data, merge(label, None if data is None else data[:1])]

    def domain(self, name, shapes):
        return Domain(0, shapes[0][1] - 1, integer=True) if name == "label" and shapes[0] is not None else None

    def composition(self, F, data, label):
        if not known(data, label) or not of_floats(data):
            return None
        (x,) = widely(F, data.dtype, data)
        likely = F.pick(F.softmax(x, axis=1), F.Cast(label, dtype="int64"), axis=1)
        return narrowly(F, data.dtype, -F.sum(F.log(F._maximum_scalar(likely, scalar=1e-8))))

    def compute(self, data, label):
        likely = np.take_along_axis(softmax(widen(data), 1), _chosen(label, data.shape[1])[:, None], 1)
        return -np.log(np.maximum(likely, 1e-8)).sum(keepdims=True)[0].astype(data.dtype)

    def gradient(self, F, dy, data, label, y):
        return F._backward_softmax_cross_entropy(dy, data, label), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5), make.integers(4, high=5))
