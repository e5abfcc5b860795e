"""Arithmetic and comparison where MXNet's has other dtypes or special cases."""

import functools
from typing import Literal

import numpy as np

from ...core.attrs import Arity
from ...core.op import op
from ..common import narrow, truncate, widen
from ..composing import folded, known, narrowly, of_floats, widely
from .base import BOOL, OBJECT, Pointwise
from .types import FLOATS, INDICES, INTEGERS, NUMBERS, PLAIN, WORDS


class PointwiseBinaryOp(Pointwise):
    """Two inputs, broadcast."""

    inputs = ("A", "B")


@op("_onnx_Pow")
class Pow(PointwiseBinaryOp):
    """X to the power of Y, in the dtype of X. Whole numbers wrap round; a negative power of one is cut off to a
    whole number, 0 where X is 0. Source: ONNX Pow (opset 7 to newest)."""

    inputs = ("X", "Y")
    types = {"X": FLOATS | INDICES, "Y": NUMBERS}

    def composition(self, F, x, y):
        if not known(x, y) or not of_floats(x, y) or x.dtype != y.dtype:
            return None
        return narrowly(F, x.dtype, F.broadcast_power(*widely(F, x.dtype, x, y)))

    def meaning(self, x, y):
        if x.dtype.kind not in "iu":
            base, exponent = widen(x), widen(y)
            wide = np.float64 if base.dtype != exponent.dtype else base.dtype
            return narrow(np.asarray(np.power(base.astype(wide), exponent.astype(wide))), x.dtype)
        if y.dtype.kind not in "iub":
            return truncate(np.power(x.astype(np.float64), widen(y).astype(np.float64)), x.dtype)
        if not (y < 0).any():
            return _integer_power(x, y)
        # 1 / x**n: of whole numbers only 1 and -1 have one that is not cut off to 0
        unit = np.where(np.abs(x) == 1, _integer_power(x, np.abs(y)), x.dtype.type(0))
        return np.where(y < 0, unit, _integer_power(x, np.maximum(y, 0)))

    def gradient(self, F, dy, x, y, z):
        power = F._backward_cast_like(y, x)
        less = F._onnx_Pow(x, power - 1)
        slope = F.broadcast_mul(F.broadcast_mul(dy, power), less)
        # 0**y does not change with y
        log = F.where(x > 0, F.log(x), F.zeros_like(x))
        dx = F._backward_sum_like(slope, x)
        return dx, F._backward_cast_like(F._backward_sum_like(F.broadcast_mul(dy * z, log), y), y)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 1, low=0.5, high=2), make.uniform(4))
        yield make(make.uniform(3, 4, low=0.5, high=2), make.array(2, "int64"))
        yield make(make.integers(3, 4, high=5, dtype="int64"), make.integers(4, high=4, dtype="int64"))


def _integer_power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x**y of whole numbers, y not negative; what is lost on the way is a multiple of 2**64."""
    return np.power(x.astype(np.int64).astype(np.uint64), y.astype(np.uint64)).astype(x.dtype)


@op("_onnx_Mod")
class Mod(PointwiseBinaryOp):
    """The rest of A / B: with the sign of B, or with fmod of A. Of floats by 0 it is NaN, of whole numbers 0.

    Source: ONNX Mod (opset 10 to newest; floats without fmod since 28)."""

    fmod: bool = False

    types = {"A B": NUMBERS}

    def composition(self, F, a, b):
        if not known(a, b) or of_floats(a) or self.fmod:
            return None
        return F.broadcast_mod(a, b)

    def meaning(self, a, b):
        function = np.fmod if self.fmod else np.mod
        return narrow(np.asarray(function(widen(a), widen(b))), a.dtype)

    def gradient(self, F, dy, a, b, y):
        # y = a - b * whole, whole being flat
        whole = F.round(F.broadcast_div(F.broadcast_sub(a, y), b))
        return F._backward_sum_like(dy, a), F._backward_sum_like(-dy * whole, b)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-5, high=5), make.array([1.5, -0.7, 2, 3]), fmod=True)
        yield make(make.integers(3, 4, low=-9, high=9, dtype="int64"), make.array([2, -3, 4, 5], "int64"))
        yield make(make.integers(3, 4, low=-9, high=9, dtype="int32"), make.array([2, -3, 4, 5], "int32"), fmod=True)


@op("_onnx_BitShift")
class BitShift(PointwiseBinaryOp):
    """X with its bits moved by Y places; the sign stays when moving right. By as many places as there are bits, or by less than
    none, gives 0, or -1 for a negative X moved right. Source: ONNX BitShift (opset 11 to newest)."""

    direction: Literal["LEFT", "RIGHT"]

    exception = "shifts bits, which no primitive does"

    inputs = ("X", "Y")
    types = {"X Y": INTEGERS}

    def meaning(self, x, y):
        bits = 8 * x.dtype.itemsize
        outside = (y >= bits) if y.dtype.kind == "u" else (y < 0) | (y >= bits)
        places = np.where(outside, y.dtype.type(0), y)
        if self.direction == "LEFT":
            return np.where(outside, x.dtype.type(0), np.left_shift(x, places)).astype(x.dtype)
        return np.where(outside, np.where(x < 0, x.dtype.type(-1 if x.dtype.kind == "i" else 0), x.dtype.type(0)),
                        np.right_shift(x, places)).astype(x.dtype)  # fmt: skip

    def gradient(self, F, dy, x, y, z):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.integers(3, 4, high=200, dtype="uint8"), make.array([1, 2, 7, 0], "uint8"), direction="LEFT")
        yield make(
            make.integers(3, 4, high=9999, dtype="uint32"), make.array([1, 2, 7, 0], "uint32"), direction="RIGHT"
        )


@op("_onnx_Equal")
class Equal(PointwiseBinaryOp):
    """Test that A and B are equal, strings too. Source: ONNX Equal (opset 19; other dtypes are MXNet's _npi_equal)."""

    types = {"A B": PLAIN | WORDS}

    def dtype(self, a, b):
        return BOOL

    def composition(self, F, a, b):
        return F._npi_equal(a, b) if known(a, b) and OBJECT not in (a.dtype, b.dtype) else None

    def meaning(self, a, b):
        return np.asarray(a == b).astype(bool)

    def gradient(self, F, dy, a, b, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.integers(3, 4, high=3, dtype="int64"), make.integers(4, high=3, dtype="int64"))


@op("_onnx_Sum")
class Sum(Pointwise):
    """The sum of arrays that broadcast, rounded once. Source: ONNX Sum (opset 8 to newest)."""

    num_args: Arity

    inputs = ("*data",)
    types = {"*data": FLOATS}

    def total(self, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
        """The sum, of 16-bit floats in float32."""
        return functools.reduce(np.add, map(widen, arrays))

    def composition(self, F, *arrays):
        if not known(*arrays):
            return None
        dtype = arrays[0].dtype
        return narrowly(F, dtype, folded(F.broadcast_add, widely(F, dtype, *arrays)))

    def meaning(self, *arrays):
        return narrow(np.asarray(self.total(arrays)), arrays[0].dtype)

    def gradient(self, F, dy, *arrays_and_y):
        return [F._backward_sum_like(dy, x) for x in arrays_and_y[:-1]]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.uniform(4), make.uniform(3, 1))
        yield make(
            make.uniform(3, 4, dtype="float16"), make.uniform(4, dtype="float16"), make.uniform(3, 1, dtype="float16")
        )


@op("_onnx_Mean")
class Mean(Sum):
    """The mean of arrays that broadcast, rounded once. Source: ONNX Mean (opset 8 to newest)."""

    def composition(self, F, *arrays):
        if not known(*arrays):
            return None
        dtype = arrays[0].dtype
        return narrowly(F, dtype, folded(F.broadcast_add, widely(F, dtype, *arrays)) / len(arrays))

    def meaning(self, *arrays):
        total = self.total(arrays)
        return narrow(np.asarray(total / total.dtype.type(len(arrays))), arrays[0].dtype)

    def gradient(self, F, dy, *arrays_and_y):
        return [g / self.num_args for g in super().gradient(F, dy, *arrays_and_y)]
