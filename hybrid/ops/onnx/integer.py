"""Products of quantised numbers, added up as int32 that wraps round, and given as they are or quantised again.

Sums of products of 8-bit numbers are exact in float64 up to 10 ** 11 terms, so that BLAS can do the work.
"""

import math
from typing import Any, cast

import numpy as np

from ...core.attrs import Count
from ...core.op import Op, op
from ...core.shapes import UNKNOWN, Shape, broadcast, is_known, show
from ..common import as_many, spread, want_rank
from .base import Standard
from .conversion import convert, is_integer, plain
from .convolution import Conv, Slid
from .quantize import dynamic, whole
from .types import BYTES, FLOAT8, FLOATS


def product_shape(owner: Op, a: Shape, b: Shape) -> Shape:
    """The shape of np.matmul's result. Raises OpError when the inner sizes differ or an input has no dimension."""
    if not a or not b:
        raise owner.error(f"got matrices of shapes {show(a)} and {show(b)}, wanted one dimension at least")
    inner = a[-1], b[-2 if len(b) > 1 else 0]
    if not any(d is UNKNOWN for d in inner) and inner[0] != inner[1]:
        raise owner.error(f"got matrices of shapes {show(a)} and {show(b)}, wanted equal inner sizes")
    return (*broadcast(a[:-2], b[:-2]), *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def want_rows(op: Op, shape: Shape | None, a: Shape) -> None:
    """Raise OpError unless a scale or zero point of that shape belongs to the rows of a left matrix a (see by_row)."""
    if shape is not None:
        spread(op, (*shape, 1) if len(shape) == 1 and shape[0] != 1 else shape if len(shape) != 1 else (), a)


def want_columns(op: Op, shape: Shape | None, b: Shape) -> None:
    """Raise OpError unless a scale or zero point of that shape broadcasts to a right matrix b."""
    if shape is not None:
        spread(op, shape, b)


def subtract_zero(x: np.ndarray, zero: np.ndarray | None) -> np.ndarray:
    """x - zero as float64, exactly."""
    return plain(x).astype(np.float64) - (0 if zero is None else plain(zero).astype(np.float64))


def wrap_int32(x: np.ndarray) -> np.ndarray:
    """Whole numbers in float64 as int32, which wraps round."""
    return x.astype(np.int64).astype(np.int32)


def by_row(parameter: Any) -> Any:
    """A scale or zero point of the left matrix: one number, or one for each row; None for None."""
    if parameter is None or parameter.ndim != 1:
        return parameter
    return parameter.reshape(()) if parameter.size == 1 else parameter[:, None]


def requantize(total: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
    """int32 sums times a scale (computed in float32), rounded half to even, plus zero in dtype."""
    return whole(total.astype(np.float32) * scale.astype(np.float32), zero, dtype)


def combine_scales(*scales: np.ndarray) -> np.ndarray:
    """The product of two scales, divided by the third if there is one, in float32."""
    a, b, *divisor = (s.astype(np.float32) for s in scales)
    return a * b / divisor[0] if divisor else a * b


@op("_onnx_MatMulInteger")
class MatMulInteger(Standard):
    """(A - a_zero_point) @ (B - b_zero_point) as int32. Shapes as np.matmul; zero points are numbers, (M,) or (..., M, 1) for A,
    (N,) or (..., 1, N) for B. Source: ONNX MatMulInteger (opset 10). Raises OpError when shapes do not fit."""

    exception = "adds up products of integers without rounding"

    inputs = ("A", "B", "a_zero_point", "b_zero_point")
    types = {"A a_zero_point": BYTES, "B b_zero_point": BYTES}
    optional = ("a_zero_point", "b_zero_point")

    def shape(self, a, b, a_zero, b_zero):
        want_rows(self, a_zero, a)
        want_columns(self, b_zero, b)
        return product_shape(self, a, b)

    def dtype(self, *dtypes):
        return np.dtype(np.int32)

    def meaning(self, a, b, a_zero, b_zero):
        return wrap_int32(np.matmul(subtract_zero(a, by_row(a_zero)), subtract_zero(b, b_zero)))

    @classmethod
    def examples(cls, make):
        a, b = make.array([[11, 7, 3], [10, 6, 255]], "uint8"), make.array([[1, 4], [2, 5], [3, 6]], "uint8")
        yield make(a, b, make.array(12, "uint8"), given=("a_zero_point",))
        yield make(a, b.astype(np.int8), make.array([-3, 5], "int8"), given=("b_zero_point",))


@op("_onnx_QLinearMatMul")
class QLinearMatMul(Standard):
    """The product of two quantised matrices, quantised. Shapes as in MatMulInteger, for scales too.

    Source: ONNX QLinearMatMul (opset 10 and 21). Raises OpError when shapes do not fit."""

    exception = "adds up products of integers without rounding"

    inputs = ("a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point")
    types = {
        "a a_zero_point": BYTES | FLOAT8,
        "a_scale b_scale y_scale": FLOATS - {"float64"},
        "b b_zero_point": BYTES | FLOAT8,
        "y_zero_point": BYTES | FLOAT8,
    }

    def shape(self, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
        y = product_shape(self, a, b)
        want_rows(self, a_zero, a)
        want_columns(self, b_zero, b)
        for rows in (a_scale, y_scale, y_zero):
            want_rows(self, rows, y)
        want_columns(self, b_scale, y)
        return y

    def dtype(self, *dtypes):
        return dtypes[-1]

    def meaning(self, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
        a_scale, a_zero, y_scale, target = by_row(a_scale), by_row(a_zero), by_row(y_scale), y_zero.dtype
        total = np.matmul(subtract_zero(a, a_zero), subtract_zero(b, b_zero))
        scale = combine_scales(a_scale, b_scale, y_scale)
        if is_integer(a.dtype) and is_integer(target):
            return requantize(wrap_int32(total), scale, by_row(y_zero), target)
        return convert(total * scale + plain(by_row(y_zero)), target)

    @classmethod
    def examples(cls, make):
        scale, zero = make.array(0.02), make.array(113, "uint8")
        a, b = make.array([[208, 236, 0], [3, 214, 255]], "uint8"), make.array([[152, 51], [60, 26], [0, 127]], "uint8")
        yield make(a, scale, zero, b, scale, zero, make.array(0.07), zero)


class Convolved(Slid):
    """Base of convolutions of quantised numbers, whose shapes are those of Conv."""

    group: Count = 1

    exception = "adds up products of integers without rounding"

    @property
    def conv(self) -> Conv:
        """The convolution of plain numbers."""
        return cast(Conv, Conv.bind(**{name: getattr(self, name) for name in Conv.fields if name != "given"}))

    def convolve(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """(N, C, *spatial) with (M, C / group, *kernel), both float64 of whole numbers, as int32."""
        return wrap_int32(self.conv.meaning(x, w, None))


def by_filter(parameter: Any, rank: int) -> Any:
    """A scale or zero point of weights: one number, or one for each filter; None for None."""
    if parameter is None or parameter.size == 1:
        return None if parameter is None else parameter.reshape(())
    return parameter.reshape(-1, *(1,) * (rank - 1))


def want_filters(op: Op, shape: Shape | None, w: Shape) -> None:
    """Raise OpError unless a parameter of that shape is one number, or one for each filter of w (see by_filter)."""
    if shape is not None and is_known(shape) and math.prod(shape) != 1 and w and w[0] is not UNKNOWN:
        as_many(op, "a parameter of w", shape, w[:1])


@op("_onnx_ConvInteger")
class ConvInteger(Convolved):
    """The convolution of x - x_zero_point with w - w_zero_point as int32; padding is zero after the subtraction.

    Source: ONNX ConvInteger (opset 10). Raises OpError when shapes do not fit."""

    inputs = ("x", "w", "x_zero_point", "w_zero_point")
    types = {"x x_zero_point": BYTES, "w w_zero_point": BYTES}
    optional = ("x_zero_point", "w_zero_point")

    numbers = ("x_zero_point",)

    def shape(self, x, w, x_zero, w_zero):
        want_filters(self, w_zero, w)
        return self.conv.shape(x, w, None)

    def dtype(self, *dtypes):
        return np.dtype(np.int32)

    def meaning(self, x, w, x_zero, w_zero):
        return self.convolve(subtract_zero(x, x_zero), subtract_zero(w, by_filter(w_zero, w.ndim)))

    @classmethod
    def examples(cls, make):
        x, w = (
            make.array(np.arange(16).reshape(1, 1, 4, 4), "uint8"),
            make.array(np.arange(8).reshape(2, 1, 2, 2), "uint8"),
        )
        yield make(x, w, make.array(1, "uint8"), given=("x_zero_point",), pads=(1, 0, 1, 1))
        yield make(x, w, make.array(1, "uint8"), given=("x_zero_point",), auto_pad="SAME_UPPER", strides=(2, 2))


@op("_onnx_QLinearConv")
class QLinearConv(Convolved):
    """The convolution of quantised numbers, plus B of scale x_scale * w_scale, quantised.

    Scales and zero points of w are numbers or (M,), all others are numbers.

    Source: ONNX QLinearConv (opset 10). Raises OpError when shapes do not fit."""

    inputs = ("x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B")
    types = {
        "x x_zero_point": BYTES,
        "x_scale": {"float32"},
        "w w_zero_point": BYTES,
        "w_scale": {"float32"},
        "y_scale": {"float32"},
        "y_zero_point": BYTES,
        "B": {"int32"},
    }
    optional = ("B",)

    numbers = ("x_scale", "x_zero_point", "y_scale", "y_zero_point")

    def shape(self, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias):
        for parameter in (w_scale, w_zero, bias):
            want_filters(self, parameter, w)
        return self.conv.shape(x, w, None)

    def dtype(self, *dtypes):
        return dtypes[7]

    def meaning(self, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias):
        total = self.convolve(subtract_zero(x, x_zero), subtract_zero(w, by_filter(w_zero, w.ndim)))
        column = w.ndim - 1
        if bias is not None:
            total = total + by_filter(bias, column)
        scale = combine_scales(x_scale.reshape(()), by_filter(w_scale, column), y_scale.reshape(()))
        return requantize(total, scale, y_zero.reshape(()), y_zero.dtype)

    @classmethod
    def examples(cls, make):
        x, w = (
            make.array(np.arange(100, 116).reshape(1, 1, 4, 4), "uint8"),
            make.array(np.arange(18).reshape(2, 1, 3, 3), "uint8"),
        )
        scales = make.array([0.1, 0.2]), make.array([3, 9], "uint8")
        given = make.array(0.02), make.array(107, "uint8")
        yield make(x, *given, w, *scales, make.array(3.7), make.array(12, "uint8"), pads=(1, 1, 1, 1))
        bias = make.array([700, -80], "int32")
        yield make(x, *given, w, *scales, make.array(3.7), make.array(12, "uint8"), bias, given=("B",))


@op("_onnx_ms_MatMulIntegerToFloat")
class MatMulIntegerToFloat(Standard):
    """MatMulInteger times both scales, plus bias, as float32. Source: onnxruntime's com.microsoft MatMulIntegerToFloat.

    Raises OpError when shapes do not fit."""

    exception = "adds up products of integers without rounding"

    inputs = ("A", "B", "a_scale", "b_scale", "a_zero_point", "b_zero_point", "bias")
    types = {"A a_zero_point": BYTES, "B b_zero_point": BYTES, "a_scale b_scale bias": {"float16", "float32"}}
    optional = ("a_zero_point", "b_zero_point", "bias")

    spreads = ("bias",)

    def shape(self, a, b, a_scale, b_scale, a_zero, b_zero, bias):
        y = product_shape(self, a, b)
        want_rows(self, a_zero, a)
        want_rows(self, a_scale, y)
        want_columns(self, b_zero, b)
        want_columns(self, b_scale, y)
        return y

    def dtype(self, a, b, a_scale, *_others):
        return a_scale

    def meaning(self, a, b, a_scale, b_scale, a_zero, b_zero, bias):
        total = wrap_int32(np.matmul(subtract_zero(a, by_row(a_zero)), subtract_zero(b, b_zero)))
        return _scale(total, combine_scales(by_row(a_scale), b_scale), bias).astype(a_scale.dtype)

    @classmethod
    def examples(cls, make):
        a, b = make.array([[11, 7, 3], [10, 6, 255]], "uint8"), make.array([[1, 4], [2, 5], [3, 6]], "int8")
        yield make(a, b, make.array(0.1), make.array([0.5, 0.25]), make.array(12, "uint8"), given=("a_zero_point",))


def _scale(total: np.ndarray, scale: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    made = total.astype(np.float32) * scale
    return made if bias is None else made + bias


@op("_onnx_ms_DynamicQuantizeMatMul")
class DynamicQuantizeMatMul(Standard):
    """float32 A, quantised as DynamicQuantizeLinear does, times B as in MatMulIntegerToFloat.

    Source: onnxruntime's com.microsoft DynamicQuantizeMatMul. Raises OpError when shapes do not fit."""

    exception = "adds up products of integers without rounding"

    inputs = ("A", "B", "b_scale", "b_zero_point", "bias")
    types = {"A b_scale bias": {"float32"}, "B b_zero_point": BYTES}
    optional = ("b_zero_point", "bias")

    spreads = ("b_scale", "bias")

    def shape(self, a, b, b_scale, b_zero, bias):
        want_columns(self, b_zero, b)
        return product_shape(self, a, b)

    def meaning(self, a, b, b_scale, b_zero, bias):
        small, scale, zero = dynamic(a)
        total = wrap_int32(np.matmul(subtract_zero(small, zero), subtract_zero(b, b_zero)))
        return _scale(total, combine_scales(scale, b_scale), bias)

    @classmethod
    def examples(cls, make):
        b = make.array([[1, 4], [2, 5], [3, -6]], "int8")
        yield make(make.uniform(2, 3, low=-1), b, make.array([0.5, 0.25]), make.uniform(2), given=("bias",))


@op("_onnx_ms_QGemm")
class QGemm(Standard):
    """alpha * (A - a_zero_point) @ (B - b_zero_point) + C of scale alpha * a_scale * b_scale; quantised where y_scale is given,
    else float32. Shapes: A (M, K), B (K, N), or the other way round with transA, transB; C broadcasts to (M, N).

    Source: onnxruntime's com.microsoft QGemm. Raises OpError when shapes do not fit."""

    alpha: float = 1.0
    transA: bool = False  # noqa: N815  ONNX's names
    transB: bool = False  # noqa: N815

    exception = "adds up products of integers without rounding"

    inputs = ("A", "a_scale", "a_zero_point", "B", "b_scale", "b_zero_point", "C", "y_scale", "y_zero_point")
    types = {
        "A a_zero_point": BYTES,
        "B b_zero_point": BYTES,
        "a_scale b_scale y_scale": {"float32"},
        "C": {"int32"},
        "y_zero_point": BYTES,
    }
    optional = ("C", "y_scale", "y_zero_point")

    numbers = ("a_scale", "y_scale", "y_zero_point")
    spreads = ("b_scale", "C")

    def shape(self, a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero):
        want_rank(self, a, 2, what="A")
        want_rank(self, b, 2, what="B")
        a, b = a[::-1] if self.transA else a, b[::-1] if self.transB else b
        want_rows(self, a_zero, a)
        want_columns(self, b_zero, b)
        return product_shape(self, a, b)

    def dtype(self, *dtypes):
        return np.dtype(np.float32) if dtypes[7] is None else dtypes[8] or dtypes[0]

    def meaning(self, a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero):
        left = subtract_zero(a.T if self.transA else a, by_row(a_zero))
        right = subtract_zero(b.T if self.transB else b, b_zero)
        total = wrap_int32(np.matmul(left, right))
        if c is not None:
            total = total + c
        scale = np.float32(self.alpha) * combine_scales(a_scale, b_scale)
        if y_scale is None:
            return _scale(total, scale, None)
        return requantize(total, scale / y_scale, y_zero, a.dtype if y_zero is None else y_zero.dtype)

    @classmethod
    def examples(cls, make):
        a, b = make.array([[11, 7, 3], [10, 6, 255]], "uint8"), make.array([[1, 4], [2, 5], [3, -6]], "int8")
        a_given, b_given = (make.array(0.1), make.array(12, "uint8")), (make.array(0.5), make.array(0, "int8"))
        yield make(a, *a_given, b, *b_given)
        rest = make.array([30, -20], "int32"), make.array(0.9), make.array(100, "uint8")
        yield make(a, *a_given, b, *b_given, *rest, given=("C", "y_scale", "y_zero_point"))
