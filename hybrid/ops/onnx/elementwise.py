"""Functions of one element and their kin that MXNet lacks."""

import numpy as np

from ...op import op
from ..common import narrow, widen
from .base import Pointwise


@op("_onnx_Mish")
class Mish(Pointwise):
    """x * tanh(log(1 + exp(x))). Source: ONNX Mish (opset 18 to newest); Misra, "Mish: A Self Regularized Neural Activation Function", 2019."""

    def meaning(self, x):
        wide = widen(x)
        return narrow(wide * np.tanh(np.logaddexp(wide, 0)), x.dtype)

    def gradient(self, F, dy, x, y):
        t = F.tanh(F.Activation(x, act_type="softrelu"))
        return dy * (t + x * (1 - t * t) * F.sigmoid(x))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-3, high=3))


@op("_onnx_Sign")
class Sign(Pointwise):
    """1, 0 or -1 by sign; NaN stays (MXNet's gives 0). Source: ONNX Sign (opset 9 to newest)."""

    def meaning(self, x):
        return np.sign(x)

    def gradient(self, F, dy, x, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([[1.5, -2, 0], [-0.0, np.nan, -np.inf]]))
        yield make(make.integers(3, 4, low=-2, high=3, dtype="int64"))


@op("_onnx_IsInf")
class IsInf(Pointwise):
    """Whether the element is infinite, of the signs asked for. Source: ONNX IsInf (opset 10 to newest)."""

    detect_negative: bool = True
    detect_positive: bool = True

    def dtype(self, x):
        return np.dtype(bool)

    def meaning(self, x):
        infinite = np.isinf(x)
        if self.detect_negative and self.detect_positive:
            return infinite
        return infinite & ((x < 0) if self.detect_negative else (x > 0) if self.detect_positive else False)

    def gradient(self, F, dy, x, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([[1.5, -np.inf, 0], [np.inf, np.nan, 2]]))
        yield make(make.array([[1.5, -np.inf, 0], [np.inf, np.nan, 2]]), detect_negative=False, detect_positive=False)


@op("_onnx_Clip")
class Clip(Pointwise):
    """input cut to min..max, either of which may be missing; NaN stays, and max wins where min is larger.

    The bounds are numbers of the dtype of input. Shapes: any, () or (1,), () or (1,) -> as input.
    Source: ONNX Clip (opset 11 to newest)."""

    inputs = ("input", "min", "max")
    optional = ("min", "max")

    def shape(self, input, min=None, max=None):
        return input

    def meaning(self, input, min=None, max=None):
        y = input if min is None else np.where(input < min.reshape(()), min.reshape(()), input)
        y = y if max is None else np.where(y > max.reshape(()), max.reshape(()), y)
        return y.copy() if y is input else y

    def gradient(self, F, dy, x, *bounds_and_y):
        return [F._backward__onnx_Clip(dy, x, *bounds_and_y[:-1], given=self.given, of=i) for i in range(len(bounds_and_y))]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.array(-0.5), make.array(0.6), given=("min", "max"))
        yield make(make.uniform(3, 4), make.array(0.6), given=("max",))
        yield make(make.integers(3, 4, high=9, dtype="int64"), make.array(3, "int64"), given=("min",))


@op("_backward__onnx_Clip")
class ClipBackward(Pointwise):
    """The gradient of Clip's input number ``of``: what flows to input where neither bound holds, to a bound where it does."""

    of: int = 0

    inputs = ("dy", "input", "min", "max")
    optional = ("min", "max")

    def shape(self, *shapes):
        return [s for s in shapes[1:] if s is not None][self.of]

    def meaning(self, dy, input, min=None, max=None):
        low = np.zeros(input.shape, bool) if min is None else input < min.reshape(())
        above = np.where(low, min, input) if min is not None else input
        high = np.zeros(input.shape, bool) if max is None else above > max.reshape(())
        if self.of == 0:
            return np.where(low | high, dy.dtype.type(0), dy)
        name = self.takes()[1 + self.of]
        reached = low & ~high if name == "min" else high
        total = widen(np.where(reached, dy, dy.dtype.type(0))).sum()
        return narrow(np.asarray(total), dy.dtype).reshape((min if name == "min" else max).shape)  # type: ignore[union-attr]

    def gradient(self, F, ddx, dy, x, *bounds_and_dx):
        if self.of:
            return super().gradient(F, ddx)
        bounds = bounds_and_dx[:-1]
        return [F._backward__onnx_Clip(ddx, x, *bounds, given=self.given), *[None] * (1 + len(bounds))]
