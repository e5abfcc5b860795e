"""Softmax in its forms."""

from typing import Literal

import numpy as np

from ..attrs import DType
from ..op import Domain, Op, op
from ..shapes import merge
from .common import Elementwise, axis_of, want_rank, widen


def softmax(x: np.ndarray, axis: int, out: np.ndarray | None = None) -> np.ndarray:
    """exp(x) over its sum along axis, without overflow."""
    if not x.size:
        return x.copy()
    y = np.exp(np.subtract(x, x.max(axis, keepdims=True), out=out), out=out)
    return np.divide(y, y.sum(axis, keepdims=True), out=y)


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """The logarithm of softmax, without loss for the improbable."""
    if not x.size:
        return x.copy()
    y = x - x.max(axis, keepdims=True)
    return y - np.log(np.exp(y).sum(axis, keepdims=True))


class SoftmaxLike(Op):
    """Shapes: one for all. axis: along which it sums to one; temperature: data is divided by it first; dtype: of the result."""

    axis: int = -1
    temperature: float | None = None
    dtype: DType | None = None
    use_length: bool | None = False

    def infer_shape(self, data):
        axis_of(self, self.axis, len(data))
        return data

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], outputs[0]), *shapes[1:]]

    def infer_input_types(self, dtypes, outputs):
        return super().infer_input_types(dtypes, outputs) if self.dtype is None else dtypes

    def infer_type(self, data):
        return self.dtype or data

    def scaled(self, data: np.ndarray) -> np.ndarray:
        """data over the temperature, in a dtype to add up in."""
        x = widen(data)
        if self.dtype is not None and self.dtype.itemsize > x.dtype.itemsize:
            x = x.astype(self.dtype)
        return x if self.temperature in (None, 1.0) else x / x.dtype.type(self.temperature)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 5))
        yield make(make.uniform(2, 3, 4), axis=1, temperature=2.0)


@op("softmax", "_npx_softmax")
class Softmax(SoftmaxLike):
    """exp(data) over its sum along axis.

    With use_length only the first length elements along axis count, and the others are 0; length has the shape of data
    without axis, and is int32 or int64."""

    inputs = ("data", "length")

    def takes(self):
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

    def compute(self, data, length=None):
        dtype = self.infer_type(data.dtype)
        x = self.scaled(data)
        if length is None:
            return softmax(x, self.axis).astype(dtype, copy=False)
        axis = axis_of(self, self.axis, data.ndim)
        places = np.arange(data.shape[axis]).reshape(-1, *(1,) * (data.ndim - axis - 1))
        inside = places < np.expand_dims(length, axis)
        return np.where(inside, softmax(np.where(inside, x, -np.inf), axis), 0).astype(dtype)

    @classmethod
    def examples(cls, make):
        yield from super().examples(make)
        yield make(make.uniform(3, 5), make.array([2, 5, 1], np.int32), use_length=True)


@op("log_softmax", "_npx_log_softmax")
class LogSoftmax(SoftmaxLike):
    """The logarithm of softmax."""

    def compute(self, data):
        return log_softmax(self.scaled(data), self.axis).astype(self.infer_type(data.dtype), copy=False)


@op("softmin")
class Softmin(SoftmaxLike):
    """The softmax of -data."""

    def compute(self, data):
        return softmax(-self.scaled(data), self.axis).astype(self.infer_type(data.dtype), copy=False)


@op("SoftmaxActivation")
class SoftmaxActivation(Elementwise):
    """Softmax over the last axis (mode instance), or over axis 1 (mode channel), which takes a third axis."""

    mode: Literal["channel", "instance"] = "instance"

    def infer_shape(self, data):
        if self.mode == "channel" and len(data) < 3:
            want_rank(self, data, 3, 4, 5)
        return data

    def compute(self, data):
        return softmax(widen(data), 1 if self.mode == "channel" else -1).astype(data.dtype, copy=False)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))
        yield make(make.uniform(2, 3, 4), mode="channel")


@op("softmax_cross_entropy")
class SoftmaxCrossEntropy(Op):
    """The sum over rows of -log softmax(data) at the label. Shapes: data (N, C), label (N,) -> (1,).

    Labels below 0 count as 0, beyond C - 1 as that; a probability below 1e-8 counts as 1e-8."""

    inputs = ("data", "label")

    def infer_shape(self, data, label):
        want_rank(self, data, 2)
        return (1,)

    def infer_input_shapes(self, shapes, outputs):
        data, label = shapes
        return [data, merge(label, None if data is None else data[:1])]

    def domain(self, name, shapes):
        return Domain(0, shapes[0][1] - 1, integer=True) if name == "label" and shapes[0] is not None else None

    def compute(self, data, label):
        chosen = np.clip(label.astype(np.intp), 0, data.shape[1] - 1)
        likely = np.take_along_axis(softmax(widen(data), 1), chosen[:, None], 1)
        return -np.log(np.maximum(likely, 1e-8)).sum(keepdims=True)[0].astype(data.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5), make.integers(4, high=5))
