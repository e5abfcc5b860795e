"""Functions of one element and their kin that MXNet lacks."""

from typing import Any, Literal

import numpy as np

from ...core.op import op
from ..common import narrow, widen
from ..composing import computed_widely, filled, known, of_floats
from .base import BOOL, Pointwise
from .types import FLOAT8, FLOATS, NUMBERS


@op("_onnx_Mish")
class Mish(Pointwise):
    """x * tanh(log(1 + exp(x))). Source: ONNX Mish (opset 18 to newest); Misra, "Mish: A
    Self Regularized Neural Activation Function", 2019."""

    types = {"data": FLOATS}

    def composition(self, F, data):
        return computed_widely(F, data, lambda x: x * F.tanh(F.Activation(x, act_type="softrelu")))

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

    types = {"data": NUMBERS}

    def composition(self, F, data):
        if not known(data):
            return None
        return F._npi_where(F.broadcast_equal(data, data), F.sign(data), data) if of_floats(data) else F.sign(data)

    def meaning(self, x):
        return np.sign(x)

    def gradient(self, F, dy, x, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4))
        yield make(make.integers(3, 4, low=-2, high=3, dtype="int64"))


@op("_onnx_IsInf")
class IsInf(Pointwise):
    """Test that the element is infinite, of the signs asked for. Source: ONNX IsInf (opset 10 to newest)."""

    detect_negative: bool = True
    detect_positive: bool = True

    types = {"data": FLOATS | FLOAT8}

    def dtype(self, x):
        return BOOL

    def composition(self, F, data):
        if not known(data) or not of_floats(data) or data.dtype.name not in FLOATS:
            return None
        found = [F._npi_isposinf(data)] * self.detect_positive + [F._npi_isneginf(data)] * self.detect_negative
        return (
            F._npi_isinf(data) if len(found) == 2 else found[0] if found else F.Cast(F.zeros_like(data), dtype="bool")
        )

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
    """input cut to min..max; NaN stays, and max wins where min is larger. One that is missing is the largest number there is, so
    that infinity becomes that.

    The bounds are numbers of the dtype of input. Shapes: any, () or (1,), () or (1,) -> as input.
    Source: ONNX Clip (opset 11 to newest)."""

    inputs = ("input", "min", "max")
    types = {"input min max": NUMBERS}
    optional = ("min", "max")
    numbers = ("min", "max")

    def shape(self, input, min=None, max=None):
        return input

    def composition(self, F, input, *bounds):
        if not known(input, *bounds):
            return None
        low, high = self.by_input((input, *(F._np_reshape(b, newshape=()) for b in bounds)))[1:]
        if input.dtype.kind not in "iu":
            _, largest = self.bounds(input.dtype, None, None)
            low, high = (filled(F, input, s * float(largest)) if b is None else b for b, s in ((low, -1), (high, 1)))
        cut = input if low is None else F._npi_where(F.broadcast_lesser(input, low), low, input)
        return cut if high is None else F._npi_where(F.broadcast_greater(cut, high), high, cut)

    def meaning(self, input, min=None, max=None):
        low, high = self.bounds(input.dtype, min, max)
        y = np.where(input < low, low, input)
        return np.where(y > high, high, y)

    def bounds(self, dtype: np.dtype, low: np.ndarray | None, high: np.ndarray | None) -> tuple[Any, Any]:
        """The two bounds, without dimensions."""
        if dtype.kind in "iu":
            least, largest = (dtype.type(v) for v in (np.iinfo(dtype).min, np.iinfo(dtype).max))
        else:
            largest = np.nextafter(dtype.type(np.inf), dtype.type(0))
            least = -largest
        return least if low is None else low.reshape(()), largest if high is None else high.reshape(())

    def gradient(self, F, dy, x, *bounds_and_y):
        bounds = bounds_and_y[:-1]
        placed = self.by_input((x, *bounds))
        found = [dy * F._backward__onnx_clipped(*placed, given=self.given, where="inside")]
        for name, bound in zip(self.input_names()[1:], bounds):
            reached = F._backward__onnx_clipped(*placed, given=self.given, where=name)
            found.append(F._backward_sum_like(dy * reached, bound))
        return found

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.array(-0.5), make.array(0.6), given=("min", "max"))
        yield make(make.uniform(3, 4), make.array(0.6), given=("max",))
        yield make(make.integers(3, 4, high=9, dtype="int64"), make.array(3, "int64"), given=("min",))


@op("_backward__onnx_clipped")
class Clipped(Clip):
    """1 where the result of Clip is input itself, or the bound named by ``where``, else 0."""

    where: Literal["inside", "max", "min"]

    def meaning(self, input, min=None, max=None):
        least, largest = self.bounds(input.dtype, min, max)
        low = input < least
        high = np.where(low, least, input) > largest
        found = {"inside": ~(low | high), "min": low & ~high, "max": high}[self.where]
        return found.astype(input.dtype)

    def gradient(self, F, dy, *arrays):
        return None
