"""Functions of quantised numbers, quantised again, which onnxruntime's quantiser writes between quantised products.

Each is the function of (q - zero_point) * scale in float32, quantised to the scale and zero point of the output. Zero points that
are left out are 0. Source: onnxruntime's com.microsoft operators, version 1.
"""

import math
from typing import Any, cast

import numpy as np

from ...core.attrs import Arity
from ...core.op import op
from ...core.shapes import broadcast, merge_all
from ..common import axis_of, want_one, want_rank
from ..softmax import softmax
from .base import Standard
from .convolution import Slid
from .integer import requantize, subtract_zero
from .pooling import AveragePool
from .quantize import dequantize, quantize, whole
from .types import BYTES

Scaled = tuple[np.ndarray, np.float32, np.float32]


class OfOne(Standard):
    """Base of functions of one quantised array: write ``function``, of float32 numbers."""

    exception = "rounds and saturates to small integers"

    inputs = ("X", "X_scale", "X_zero_point", "Y_scale", "Y_zero_point")
    types = {"X X_zero_point Y_zero_point": BYTES, "X_scale Y_scale": {"float32"}}
    optional = ("X_zero_point", "Y_zero_point")

    def function(self, x: np.ndarray) -> np.ndarray:
        """The function of the numbers that X stands for."""
        raise NotImplementedError

    numbers = inputs[1:]

    def shape(self, x, *others):
        return self.whole_shape(x)

    def whole_shape(self, x):
        """The shape of the result for an x of this shape."""
        return x

    def meaning(self, x, x_scale, x_zero, y_scale, y_zero):
        y = self.function(dequantize(x, x_scale.reshape(()), None if x_zero is None else x_zero.reshape(())))
        return quantize(y, y_scale.reshape(()), None if y_zero is None else y_zero.reshape(()), x.dtype)

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
        return softmax(x, axis if self.opset >= 13 else tuple(range(axis, x.ndim)))

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

    def whole_shape(self, x):
        return tuple(1 if i in self.places(len(x)) else d for i, d in enumerate(x))

    def meaning(self, x, x_scale, x_zero, y_scale, y_zero):
        axes = self.places(x.ndim)
        total = subtract_zero(x, x_zero).sum(axis=axes, keepdims=True)  # whole numbers: exact
        count = np.float32(math.prod(x.shape[a] for a in axes))
        return requantize(total, x_scale / (y_scale * count), y_zero, x.dtype)


@op("_onnx_ms_QLinearAveragePool")
class QLinearAveragePool(OfOne, Slid):
    """Means over sliding windows. Shapes and attributes as in AveragePool, but X is (N, *spatial, C) with channels_last."""

    ceil_mode: bool = False
    channels_last: bool = False
    count_include_pad: bool = False

    @property
    def pool(self) -> AveragePool:
        """The pooling of plain numbers."""
        return cast(
            AveragePool,
            AveragePool.bind(**{name: getattr(self, name) for name in AveragePool.fields if name != "given"}),
        )

    def whole_shape(self, x):
        if not self.channels_last:
            return self.pool.shape(x)
        batch, channels, *steps = self.pool.shape((x[0], x[-1], *x[1:-1]))
        return (batch, *steps, channels)

    def function(self, x):
        x = np.moveaxis(x, -1, 1) if self.channels_last else x
        y = self.pool.meaning(x)
        if (
            self.ceil_mode and self.count_include_pad
        ):  # as AveragePool was up to opset 18: what is beyond the padding counts too
            y = self.pool.reduce_windows(x, np.add, 0) / np.float32(math.prod(self.kernel_shape or ()))
        return np.moveaxis(y, 1, -1) if self.channels_last else y

    @classmethod
    def examples(cls, make):
        yield cls.example(make, kernel_shape=(3, 3), pads=(1, 1, 1, 1), strides=(2, 2))
        yield cls.example(make, kernel_shape=(2, 3), pads=(0, 1, 1, 1), count_include_pad=True)


class OfTwo(Standard):
    """Base of sums and products of two quantised arrays, which broadcast. The quotient of scales is rounded to float32 first and
    the zero point is added before rounding, as onnxruntime does: exact arithmetic differs for results halfway between two."""

    exception = "rounds and saturates to small integers"

    inputs = ("A", "A_scale", "A_zero_point", "B", "B_scale", "B_zero_point", "C_scale", "C_zero_point")
    types = {"A A_zero_point B B_zero_point C_zero_point": BYTES, "A_scale B_scale C_scale": {"float32"}}
    optional = ("A_zero_point", "B_zero_point", "C_zero_point")
    numbers = ("A_scale", "A_zero_point", "B_scale", "B_zero_point", "C_scale", "C_zero_point")

    def shape(self, a, a_scale, a_zero, b, *_others):
        return broadcast(a, b)

    def both(self, a: Scaled, b: Scaled, c_scale: np.float32, c_zero: np.float32) -> np.ndarray:
        """The result before it is rounded, from (array, scale, zero point) in float32."""
        raise NotImplementedError

    def meaning(self, a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero):
        zeros = (np.float32(0 if z is None else z.item()) for z in (a_zero, b_zero, c_zero))
        left, right, offset = zeros
        first = a.astype(np.float32), np.float32(a_scale.item()), left
        second = b.astype(np.float32), np.float32(b_scale.item()), right
        return whole(self.both(first, second, np.float32(c_scale.item()), offset), None, a.dtype)

    @classmethod
    def examples(cls, make):
        a, b = make.array([[0, 255, 7], [128, 1, 2]], "uint8"), make.array([3, 200, 90], "uint8")
        scales = make.array(0.1), make.array(0.07), make.array(0.9)
        zeros = make.array(9, "uint8"), make.array(100, "uint8"), make.array(120, "uint8")
        inputs = (a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2])
        yield make(*inputs, given=("A_zero_point", "B_zero_point", "C_zero_point"))


def _fused_multiply_add(a: Any, b: Any, c: Any) -> np.ndarray:
    """a * b + c of float32, rounded once as processors do it (onnxruntime's order of these is kept, too)."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


@op("_onnx_ms_QLinearAdd")
class QLinearAdd(OfTwo):
    """A + B."""

    def both(self, a, b, c_scale, c_zero):
        (x, x_scale, x_zero), (y, y_scale, y_zero) = a, b
        x_scale, y_scale = x_scale / c_scale, y_scale / c_scale
        return _fused_multiply_add(
            x, x_scale, _fused_multiply_add(y, y_scale, c_zero - _fused_multiply_add(x_zero, x_scale, y_scale * y_zero))
        )


@op("_onnx_ms_QLinearMul")
class QLinearMul(OfTwo):
    """A * B."""

    def both(self, a, b, c_scale, c_zero):
        (x, x_scale, x_zero), (y, y_scale, y_zero) = a, b
        return (x - x_zero) * (y - y_zero) * (x_scale * y_scale / c_scale) + c_zero


@op("_onnx_ms_QLinearConcat")
class QLinearConcat(Standard):
    """Arrays joined along an axis, all in the scale of the output. Inputs: Y_scale, Y_zero_point, then an array, its scale and its
    zero point for each."""

    axis: int
    num_args: Arity

    exception = "rounds and saturates to small integers"

    inputs = ("*inputs",)

    def check(self):
        if self.num_args < 5 or self.num_args % 3 != 2:
            return f"got {self.num_args} inputs, wanted 2 and 3 for each array"
        return super().check()

    def shape(self, *shapes):
        parts = shapes[2::3]
        for i, shape in enumerate(shapes):
            if (i - 2) % 3:
                want_one(self, shape, f"input {i}")
        axis = axis_of(self, self.axis, len(parts[0]))
        for part in parts[1:]:
            want_rank(self, part, len(parts[0]))
        others = merge_all([(*p[:axis], *p[axis + 1 :]) for p in parts]) or ()
        return (*others[:axis], sum(p[axis] for p in parts), *others[axis:])

    def dtype(self, *dtypes):
        return dtypes[1]

    def meaning(self, scale, zero, *rest):
        parts = zip(rest[::3], rest[1::3], rest[2::3])
        made = [
            quantize(dequantize(x, s.reshape(()), z.reshape(())), scale.reshape(()), zero, zero.dtype)
            for x, s, z in parts
        ]
        return np.concatenate(made, self.axis)

    @classmethod
    def examples(cls, make):
        a, b = make.array([[0, 255, 7]], "uint8"), make.array([[3, 200, 90], [1, 2, 3]], "uint8")
        first, second = (make.array(0.1), make.array(9, "uint8")), (make.array(0.2), make.array(90, "uint8"))
        yield make(make.array(0.3), make.array(40, "uint8"), a, *first, b, *second, axis=0, num_args=8)
