"""What onnxruntime's quantiser writes between quantised products: functions of quantised numbers, quantised again.

Each is the function of (q - zero_point) * scale in float32, quantised to the scale and zero point of the output. Zero points that
are left out are 0. Source: onnxruntime's com.microsoft operators, version 1.
"""

import math

import numpy as np

from ...op import op
from ...shapes import UNKNOWN, broadcast
from ..common import axes_of, axis_of
from .base import Standard
from .integer import Windowed, requantized, shifted
from .quantize import dequantized, quantized, whole


class OfOne(Standard):
    """Base of functions of one quantised array: write ``function``, of float32 numbers."""

    inputs = ("X", "X_scale", "X_zero_point", "Y_scale", "Y_zero_point")
    optional = ("X_zero_point", "Y_zero_point")

    def function(self, x: np.ndarray) -> np.ndarray:
        """The function of the numbers that X stands for."""
        raise NotImplementedError

    def shape(self, x, *_others):
        return x

    def meaning(self, x, x_scale, x_zero, y_scale, y_zero):
        y = self.function(dequantized(x, x_scale.reshape(()), None if x_zero is None else x_zero.reshape(())))
        return quantized(y, y_scale.reshape(()), None if y_zero is None else y_zero.reshape(()), x.dtype)

    @classmethod
    def example(cls, make, **attrs):
        """An application to a (1, 2, 4, 4) array of all kinds of numbers."""
        x = make.array(np.arange(0, 256, 8).reshape(1, 2, 4, 4), "uint8")
        zeros = {"given": ("X_zero_point", "Y_zero_point")}
        return make(
            x, make.array(0.05), make.array(100, "uint8"), make.array(0.03), make.array(7, "uint8"), **zeros, **attrs
        )

    @classmethod
    def examples(cls, make):
        yield cls.example(make)


@op("_onnx_ms_QLinearSigmoid")
class QLinearSigmoid(OfOne):
    """1 / (1 + exp(-x))."""

    def function(self, x):
        return 1 / (1 + np.exp(-x))


@op("_onnx_ms_QLinearLeakyRelu")
class QLinearLeakyRelu(OfOne):
    """x where it is positive, else alpha * x."""

    alpha: float = 0.01

    def function(self, x):
        return np.where(x >= 0, x, np.float32(self.alpha) * x)


@op("_onnx_ms_QLinearSoftmax")
class QLinearSoftmax(OfOne):
    """exp(x) divided by its sum along an axis, or, for models of an opset below 13, over that axis and all after it."""

    axis: int = -1
    opset: int = 13

    def function(self, x):
        axis = axis_of(self, self.axis, x.ndim)
        axes = axis if self.opset >= 13 else tuple(range(axis, x.ndim))
        if not x.size:
            return x
        y = np.exp(x - x.max(axis=axes, keepdims=True))
        return y / y.sum(axis=axes, keepdims=True)

    @classmethod
    def examples(cls, make):
        yield cls.example(make, opset=13)
        yield cls.example(make, opset=12, axis=2)


@op("_onnx_ms_QLinearGlobalAveragePool")
class QLinearGlobalAveragePool(OfOne):
    """The mean of each channel. Shapes: X (N, C, *spatial), or (N, *spatial, C) with channels_last; spatial sizes become 1."""

    channels_last: bool = False

    def places(self, rank):
        """The spatial axes."""
        return tuple(range(1, rank - 1) if self.channels_last else range(2, rank))

    def shape(self, x, *_others):
        return tuple(1 if i in self.places(len(x)) else d for i, d in enumerate(x))

    def meaning(self, x, x_scale, x_zero, y_scale, y_zero):
        axes = self.places(x.ndim)
        total = shifted(x, x_zero).sum(axis=axes, keepdims=True)  # whole numbers: exact
        count = np.float32(math.prod(x.shape[a] for a in axes))
        return requantized(total, x_scale / (y_scale * count), y_zero, x.dtype)


@op("_onnx_ms_QLinearReduceMean")
class QLinearReduceMean(OfOne):
    """The mean over axes, all by default."""

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    inputs = ("data", "data_scale", "data_zero_point", "reduced_scale", "reduced_zero_point")
    optional = ("data_zero_point", "reduced_zero_point")

    def function(self, x):
        return x.mean(axis=axes_of(self, self.axes, x.ndim), keepdims=self.keepdims)

    def shape(self, x, *_others):
        axes = axes_of(self, self.axes, len(x))
        return tuple(1 if i in axes else d for i, d in enumerate(x) if self.keepdims or i not in axes)

    @classmethod
    def examples(cls, make):
        x = make.array(np.arange(0, 192, 8).reshape(2, 3, 4), "uint8")
        yield make(x, make.array(0.05), make.array(0.03), axes=(1,), keepdims=False)


@op("_onnx_ms_QLinearAveragePool")
class QLinearAveragePool(OfOne, Windowed):
    """Means over sliding windows. Shapes: X (N, C, *spatial), or (N, *spatial, C) with channels_last; spatial sizes become steps,
    rounded up with ceil_mode. Padding counts with count_include_pad."""

    ceil_mode: bool = False
    channels_last: bool = False
    count_include_pad: bool = False

    def placed_windows(self, spatial):
        """(steps, stride, padding before, padding after that is counted)."""
        steps, stride, _, before, after = self.place(spatial, self.kernel_shape)
        if self.ceil_mode and not self.auto_pad.startswith("SAME"):
            sizes = zip(spatial, self.kernel_shape, stride, before, after)
            steps = tuple(self.more(*size) for size in sizes)
        return steps, stride, before, after

    @staticmethod
    def more(size, kernel, stride, before, after):
        """Windows along an axis, a last one included that begins in the data or the padding before it and ends beyond."""
        count = -(-(size + before + after - kernel) // stride) + 1
        return count if count is UNKNOWN or (count - 1) * stride < size + before else count - 1

    def shape(self, x, *_others):
        spatial = x[1:-1] if self.channels_last else x[2:]
        steps = self.placed_windows(spatial)[0]
        return (x[0], *steps, x[-1]) if self.channels_last else (*x[:2], *steps)

    def function(self, x):
        x = np.moveaxis(x, -1, 1) if self.channels_last else x
        steps, stride, before, after = self.placed_windows(x.shape[2:])
        total, count = x.astype(np.float64), np.ones((), np.float64)
        for axis, (kernel, step, skip, low, high) in enumerate(zip(self.kernel_shape, steps, stride, before, after), 2):
            size = x.shape[axis]
            start = np.arange(step) * skip - low
            ends = (
                np.minimum(start + kernel, size + high) if self.count_include_pad else np.minimum(start + kernel, size)
            )
            starts = start if self.count_include_pad else np.maximum(start, 0)
            sums = np.concatenate([np.zeros_like(total.take([0], axis)), total.cumsum(axis)], axis)
            total = sums.take(np.clip(start + kernel, 0, size), axis) - sums.take(np.clip(start, 0, size), axis)
            count = np.expand_dims(count, -1) * (ends - starts)
        y = (total / count).astype(np.float32)
        return np.moveaxis(y, 1, -1) if self.channels_last else y

    @classmethod
    def examples(cls, make):
        yield cls.example(make, kernel_shape=(3, 3), pads=(1, 1, 1, 1), strides=(2, 2))
        yield cls.example(make, kernel_shape=(2, 3), pads=(0, 1, 1, 1), count_include_pad=True)


class OfTwo(Standard):
    """Base of sums and products of two quantised arrays, which broadcast; rounded after the zero point is added, as onnxruntime
    defines them."""

    inputs = ("A", "A_scale", "A_zero_point", "B", "B_scale", "B_zero_point", "C_scale", "C_zero_point")
    optional = ("A_zero_point", "B_zero_point", "C_zero_point")

    def shape(self, a, a_scale, a_zero, b, *_others):
        return broadcast(a, b)

    def both(self, a: np.ndarray, a_scale: np.ndarray, b: np.ndarray, b_scale: np.ndarray) -> np.ndarray:
        """The result from differences to the zero points and the scales, in float64."""
        raise NotImplementedError

    def meaning(self, a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero):
        wide = (s.reshape(()).astype(np.float64) for s in (a_scale, b_scale, c_scale))
        a_scale, b_scale, c_scale = wide
        y = self.both(shifted(a, a_zero), a_scale, shifted(b, b_zero), b_scale) / c_scale
        return whole(y, None if c_zero is None else c_zero.reshape(()), a.dtype, last=True)

    @classmethod
    def examples(cls, make):
        a, b = make.array([[0, 255, 7], [128, 1, 2]], "uint8"), make.array([3, 200, 90], "uint8")
        scales = make.array(0.1), make.array(0.07), make.array(0.9)
        zeros = make.array(9, "uint8"), make.array(100, "uint8"), make.array(120, "uint8")
        inputs = (a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2])
        yield make(*inputs, given=("A_zero_point", "B_zero_point", "C_zero_point"))


@op("_onnx_ms_QLinearAdd")
class QLinearAdd(OfTwo):
    """A + B."""

    def both(self, a, a_scale, b, b_scale):
        return a * a_scale + b * b_scale


@op("_onnx_ms_QLinearMul")
class QLinearMul(OfTwo):
    """A * B."""

    def both(self, a, a_scale, b, b_scale):
        return a * b * (a_scale * b_scale)


@op("_onnx_ms_QLinearConcat")
class QLinearConcat(Standard):
    """Arrays joined along an axis, all in the scale of the output. Inputs: Y_scale, Y_zero_point, then an array, its scale and its
    zero point for each."""

    axis: int
    num_args: int

    inputs = ("*inputs",)

    def check(self):
        return (
            None
            if self.num_args > 4 and self.num_args % 3 == 2
            else f"got {self.num_args} inputs, wanted 2 and 3 for each array"
        )

    def shape(self, *shapes):
        parts = shapes[2::3]
        axis = axis_of(self, self.axis, len(parts[0]))
        return (*parts[0][:axis], sum(p[axis] for p in parts), *parts[0][axis + 1 :])

    def dtype(self, *dtypes):
        return dtypes[1]

    def meaning(self, scale, zero, *rest):
        parts = zip(rest[::3], rest[1::3], rest[2::3])
        made = [
            quantized(dequantized(x, s.reshape(()), z.reshape(())), scale.reshape(()), zero, zero.dtype)
            for x, s, z in parts
        ]
        return np.concatenate(made, self.axis)

    @classmethod
    def examples(cls, make):
        a, b = make.array([[0, 255, 7]], "uint8"), make.array([[3, 200, 90], [1, 2, 3]], "uint8")
        first, second = (make.array(0.1), make.array(9, "uint8")), (make.array(0.2), make.array(90, "uint8"))
        yield make(make.array(0.3), make.array(40, "uint8"), a, *first, b, *second, axis=0, num_args=8)
