"""Non-linearities that MXNet lacks, or whose constants it fixes."""

import math
from typing import Any, Literal

import numpy as np

from ...core.op import op
from ...core.shapes import broadcast, merge
from ..activation import sigmoid
from ..casting import convert
from ..common import as_array, axis_of, narrow, widen
from ..composing import computed_widely, definite, known, narrowly, of_floats, placed_at, widely
from ..special import erf
from .base import Pointwise, Standard
from .types import FLOATS, NUMBERS, PRECISE


class Unary(Pointwise):
    """One input; computed in float32 or wider and rounded once."""

    types = {"data": FLOATS}

    def function(self, x: np.ndarray) -> np.ndarray:
        """The function on float32 or wider numbers."""
        raise NotImplementedError

    def meaning(self, x):
        return narrow(as_array(self.function(widen(x))), x.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4))


@op("_onnx_Gelu")
class Gelu(Unary):
    """x times the normal distribution function, or with approximate=tanh x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))).

    Source: ONNX Gelu (opset 20); Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016."""

    approximate: Literal["none", "tanh"] = "none"

    def composition(self, F, data):
        def function(x):
            if self.approximate == "none":
                return x * 0.5 * (F.erf(x * math.sqrt(0.5)) + 1)
            return x * 0.5 * (F.tanh((x + F.square(x) * x * 0.044715) * math.sqrt(2 / math.pi)) + 1)

        return computed_widely(F, data, function)

    def function(self, x):
        if self.approximate == "none":
            return (x * 0.5 * (1 + erf(np.asarray(x, np.float64) * math.sqrt(0.5)))).astype(x.dtype)
        return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    def gradient(self, F, dy, x, y):
        if self.approximate == "none":
            likely = (F.erf(x * math.sqrt(0.5)) + 1) * 0.5
            return dy * (likely + x * F.exp(F.square(x) * -0.5) * (2 * math.pi) ** -0.5)
        root, cubed = math.sqrt(2 / math.pi), 0.044715
        t = F.tanh((x + F.square(x) * x * cubed) * root)
        return dy * ((t + 1) * 0.5 + x * (1 - F.square(t)) * (F.square(x) * (3 * cubed) + 1) * (root / 2))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4))
        yield make(make.uniform(3, 4, low=-4, high=4), approximate="tanh")


@op("_onnx_Swish")
class Swish(Unary):
    """x * sigmoid(alpha * x). Source: ONNX Swish (opset 24); Ramachandran et al., "Searching for Activation Functions", 2017."""

    alpha: float = 1.0

    def composition(self, F, data):
        return computed_widely(F, data, lambda x: x * F.sigmoid(x * self.alpha))

    def function(self, x):
        return x * sigmoid(x * x.dtype.type(self.alpha))

    def gradient(self, F, dy, x, y):
        s = F.sigmoid(x * self.alpha)
        return dy * (s + x * s * (1 - s) * self.alpha)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4))
        yield make(make.uniform(3, 4, low=-4, high=4), alpha=1.5)


@op("_onnx_SwiGLU")
class SwiGLU(Standard):
    """A * sigmoid(alpha * A) * B. Shapes: both equal -> as they. Source: ONNX SwiGLU (opset 28); Shazeer, "GLU Variants Improve
    Transformer", 2020."""

    alpha: float = 1.0

    inputs = ("A", "B")
    types = {"A B": FLOATS}

    def shape(self, a, b):
        return merge(a, b)

    def composition(self, F, a, b):
        if not known(a, b):
            return None
        x, factor = widely(F, a.dtype, a, b)
        return narrowly(F, a.dtype, x * F.sigmoid(x * self.alpha) * factor)

    def meaning(self, a, b):
        wide = widen(a)
        return narrow(np.asarray(wide * sigmoid(wide * wide.dtype.type(self.alpha)) * widen(b)), a.dtype)

    def gradient(self, F, dy, a, b, y):
        s = F.sigmoid(a * self.alpha)
        return dy * b * (s + a * s * (1 - s) * self.alpha), dy * a * s

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4), make.uniform(3, 4), alpha=1.5)


@op("_onnx_HardSwish")
class HardSwish(Unary):
    """x * max(0, min(1, x / 6 + 1 / 2)). Source: ONNX HardSwish (opset 14); Howard et al., "Searching for MobileNetV3", 2019."""

    def composition(self, F, data):
        return computed_widely(F, data, lambda x: x * F.clip(x * (1 / 6) + 0.5, a_min=0, a_max=1))

    def function(self, x):
        return x * np.clip(x * x.dtype.type(1 / 6) + x.dtype.type(0.5), 0, 1)

    def gradient(self, F, dy, x, y):
        # flat where x is below -3, the identity above 3
        inside = (x > -3) * (x < 3)
        return dy * (inside * (x * (1 / 3) + 0.5) + (x >= 3))


@op("_onnx_Celu")
class Celu(Unary):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)). Source: ONNX Celu (opset 12); Barron, "Continuously Differentiable
    Exponential Linear Units", 2017."""

    alpha: float = 1.0

    def check(self):
        return "got alpha=0, wanted another number" if self.alpha == 0 else super().check()

    def composition(self, F, data):
        def function(x):
            below = F._minimum_scalar(F.expm1(x / self.alpha) * self.alpha, scalar=0)
            return F._maximum_scalar(x, scalar=0) + below

        return computed_widely(F, data, function)

    def function(self, x):
        alpha = x.dtype.type(self.alpha)
        return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))

    def gradient(self, F, dy, x, y):
        if self.alpha < 0:
            raise self.error("has a derivative here for a positive alpha only")
        return F.where(x > 0, dy, dy * F.exp(F._minimum_scalar(x, scalar=0) / self.alpha))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4), alpha=2.0)


@op("_onnx_Selu")
class Selu(Unary):
    """gamma * x above 0, else gamma * (alpha * exp(x) - alpha). Source: ONNX Selu (opset 6); Klambauer et al., "Self-Normalizing
    Neural Networks", 2017."""

    alpha: float = float(np.float32(1.6732632423543772))
    gamma: float = float(np.float32(1.0507009873554805))

    def composition(self, F, data):
        def function(x):
            alpha, gamma = (float(np.float32(v)) for v in (self.alpha, self.gamma))
            return F._npi_where(x > 0, x, F.expm1(x) * alpha) * gamma

        return computed_widely(F, data, function)

    def function(self, x):
        alpha, gamma = (x.dtype.type(np.float32(v)) for v in (self.alpha, self.gamma))
        return gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))

    def gradient(self, F, dy, x, y):
        below = F.exp(F._minimum_scalar(x, scalar=0)) * (self.alpha * self.gamma)
        return F.where(x > 0, dy * self.gamma, dy * below)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4), alpha=2.0, gamma=1.5)


@op("_onnx_ThresholdedRelu")
class ThresholdedRelu(Unary):
    """x above alpha, else 0. Source: ONNX ThresholdedRelu (opset 10)."""

    alpha: float = 1.0

    def composition(self, F, data):
        return computed_widely(F, data, lambda x: F._npi_where(x > self.alpha, x, F.zeros_like(x)))

    def function(self, x):
        return np.where(x > x.dtype.type(self.alpha), x, x.dtype.type(0))

    def gradient(self, F, dy, x, y):
        return dy * (x > self.alpha)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4), alpha=1.5)


@op("_onnx_Shrink")
class Shrink(Pointwise):
    """x + bias below -lambd, x - bias above lambd, else 0; of integers cut off to one.

    Source: ONNX Shrink (opset 9)."""

    bias: float = 0.0
    lambd: float = 0.5

    types = {"data": NUMBERS - {"bfloat16"}}

    def composition(self, F, data):
        def function(x):
            inner = F._npi_where(x > self.lambd, x - self.bias, F.zeros_like(x))
            return F._npi_where(x < -self.lambd, x + self.bias, inner)

        return computed_widely(F, data, function) if of_floats(data) else None

    def meaning(self, x):
        if x.dtype.kind not in "iu":
            wide = widen(x)
            bias, lambd = wide.dtype.type(self.bias), wide.dtype.type(self.lambd)
        elif float(self.bias).is_integer() and abs(self.bias) < 2**63:
            wide, bias, lambd = x, np.asarray(int(self.bias)).astype(x.dtype), self.lambd
        else:
            wide, bias, lambd = x.astype(np.float64), self.bias, self.lambd
        y = np.where(wide < -lambd, wide + bias, np.where(wide > lambd, wide - bias, wide.dtype.type(0)))
        return convert(y, x.dtype)

    def gradient(self, F, dy, x, y):
        beyond = (x > self.lambd) + (x < -self.lambd)  # of a negative lambd both may hold
        return dy * F._minimum_scalar(beyond, scalar=1)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-4, high=4), bias=0.5, lambd=1.5)


@op("_onnx_PRelu")
class PRelu(Standard):
    """X above 0, else slope * X. Shapes: any, one that broadcasts to it -> as X. Source: ONNX PRelu (opset 7 to newest); He et al.,
    "Delving Deep into Rectifiers", 2015."""

    inputs = ("X", "slope")
    types = {"X slope": PRECISE}

    def shape(self, x, slope):
        return merge(x, broadcast(x, slope))

    def composition(self, F, x, slope):
        if not known(x, slope) or not of_floats(x):
            return None
        wide, factor = widely(F, x.dtype, x, slope)
        return narrowly(F, x.dtype, F._npi_where(wide < 0, F.broadcast_mul(wide, factor), wide))

    def meaning(self, x, slope):
        wide = widen(x)
        return narrow(np.where(wide < 0, wide * widen(slope), wide), x.dtype)

    def gradient(self, F, dy, x, slope, y):
        below = F._backward_sum_like(dy * F._minimum_scalar(x, scalar=0), slope)
        return F.where(x > 0, dy, F.broadcast_mul(dy, slope)), below

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(4))
        yield make(make.uniform(2, 3, 4), make.uniform(2, 1, 1))


@op("_onnx_Hardmax")
class Hardmax(Standard):
    """1 for the first largest along axis, else 0. Source: ONNX Hardmax (opset 13)."""

    axis: int = -1

    is_ordering = True
    inputs = ("input",)
    types = {"input": FLOATS}

    def infer_shape(self, input):
        axis_of(self, self.axis, len(input))
        return input

    def composition(self, F, input):
        if not known(input) or 0 in definite(input.shape):
            return None
        axis, rank = axis_of(self, self.axis, len(input.shape)), len(input.shape)
        places = placed_at(F, F._arange(start=0, stop=input.shape[axis], dtype="int64"), axis, rank)
        return F.Cast(F.broadcast_equal(places, F._npi_argmax(input, axis=axis, keepdims=True)), dtype=input.dtype)

    def compute(self, input: Any):
        axis = axis_of(self, self.axis, input.ndim)
        y = np.zeros(input.shape, input.dtype)
        if input.size:
            np.put_along_axis(y, np.expand_dims(np.argmax(input, axis), axis), 1, axis)
        return y

    def gradient(self, F, dy, input, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axis=1)
        yield make(make.array([[1, 4, 3], [2, 1, 0]], "float16"))
