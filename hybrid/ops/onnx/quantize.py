"""Numbers as small integers or narrow floats with a scale: the conversions that quantised networks consist of.

A quantised number q stands for (q - zero_point) * scale. Scale and zero point are one number, one for each place along an axis, or
one for each block of places along it.
"""

import functools
import math
from typing import Any

import numpy as np

from ...core.attrs import DType, Size
from ...core.op import Op, op
from ...core.shapes import is_known, merge
from ..common import axis_of, part_of, want_rank
from .base import Standard
from .conversion import bounds, convert, is_integer, plain
from .types import BYTES, FLOATS, TINY

ignoring_overflow = functools.partial(np.errstate, over="ignore", invalid="ignore", divide="ignore", under="ignore")


def spread(owner: Op, parameter: np.ndarray, shape: tuple[int, ...], axis: int, block: int = 0) -> np.ndarray:
    """A scale or zero point as it broadcasts over data of that shape. Raises OpError when it does not fit."""
    rank = len(shape)
    if parameter.size == 1 and parameter.ndim < max(rank, 2):
        return parameter.reshape(())
    axis = 0 if rank == 1 else axis_of(owner, axis, rank)
    size = shape[axis]
    if block:
        wanted = (*shape[:axis], -(-size // block), *shape[axis + 1 :])
        if parameter.shape != wanted:
            raise owner.error(
                f"got scales {parameter.shape} for blocks of {block} along axis {axis} of {shape}, wanted {wanted}"
            )
        return np.repeat(parameter, block, axis)[(slice(None),) * axis + (slice(size),)]
    if parameter.shape != (size,):
        raise owner.error(f"got scales {parameter.shape} for axis {axis} of {shape}, wanted ({size},) or one number")
    return parameter.reshape(size, *(1,) * (rank - axis - 1))


def whole(values: np.ndarray, zero: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
    """values rounded half to even plus the zero point, as integers of dtype; what is out of range becomes the nearest in it,
    NaN the least."""
    wide = values.astype(np.float64)
    offset = 0 if zero is None else plain(zero).astype(np.float64)
    with ignoring_overflow():
        placed = np.rint(wide) + offset
    low, high = bounds(dtype)
    return convert(np.clip(np.where(np.isnan(placed), low, placed), low, high).astype(np.int64), dtype)


def quantize(
    x: np.ndarray,
    scale: np.ndarray,
    zero: np.ndarray | None,
    dtype: np.dtype,
    *,
    precision: DType | None = None,
    saturate: bool = True,
) -> np.ndarray:
    """x / scale + zero in dtype. The quotient has the dtype ``precision``, by default that of scale; arrays broadcast."""
    if precision is None:
        precision = scale.dtype if "float" in scale.dtype.name and scale.dtype.name != "float8_e8m0fnu" else x.dtype
    if is_integer(precision):
        precision = np.dtype(np.float64)  # of whole numbers: as near as can be
    with ignoring_overflow():
        quotient = convert(x, precision) / convert(scale, precision)
        if is_integer(dtype):
            return whole(plain(quotient), zero, dtype)
        if zero is not None:
            quotient = quotient + convert(zero, precision)
    return convert(quotient, dtype, saturate=saturate)


def dequantize(x: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, dtype: DType | None = None) -> np.ndarray:
    """(x - zero) * scale in dtype, by default that of scale: computed in float32 at least and rounded once; arrays broadcast."""
    dtype = dtype or scale.dtype
    if is_integer(x.dtype):
        difference = plain(x).astype(np.int64) - (0 if zero is None else plain(zero).astype(np.int64))
    else:
        difference = plain(x) if zero is None else plain(x) - plain(zero)
    wide = np.float64 if dtype == np.float64 else np.float32
    with ignoring_overflow():
        return convert(difference.astype(wide) * convert(scale, wide), dtype)


class Scaled(Standard):
    """Base of QuantizeLinear and DequantizeLinear."""

    axis: int = 1
    block_size: Size = 0
    output_dtype: DType | None = None

    exception = "rounds and saturates to small integers and narrow floats"

    def shape(self, x, scale, zero):
        for parameter in (scale, zero):
            if parameter is None or not is_known(parameter) or math.prod(parameter) == 1:
                continue
            want_rank(self, parameter, len(x) if self.block_size else 1, what="a scale or zero point")
            if not x:
                raise self.error(f"got {parameter[0]} scales or zero points for one number, wanted one")
            if not self.block_size:
                merge(parameter, (x[axis_of(self, self.axis, len(x)) if len(x) > 1 else 0],))
        return x

    def spread(self, x: np.ndarray, *parameters: Any) -> list[Any]:
        """Scale and zero point as they broadcast over x."""
        return [None if p is None else spread(self, p, x.shape, self.axis, self.block_size) for p in parameters]


@op("_onnx_QuantizeLinear", "_onnx_ms_QuantizeLinear")
class QuantizeLinear(Scaled):
    """x / y_scale, rounded half to even, + y_zero_point; what is out of range becomes the nearest in it.

    Shapes: y_scale and y_zero_point one number, (x.shape[axis],), or with block_size like x with that axis divided. The result has
    the dtype of y_zero_point, output_dtype or uint8. Its derivative is zero wherever it has one; where a graph undoes it at once by
    DequantizeLinear, rounding counts as the identity (StraightThrough).
    Source: ONNX QuantizeLinear (opset 10 to newest). Raises OpError when scales do not fit."""

    precision: DType | None = None
    saturate: bool = True

    inputs = ("x", "y_scale", "y_zero_point")
    types = {
        "x": (FLOATS | {"int32"}) - {"float64"},
        "y_scale": (FLOATS | {"float8_e8m0fnu", "int32"}) - {"float64"},
        "y_zero_point": BYTES | TINY | {"int16", "uint16"},
    }
    optional = ("y_zero_point",)

    def dtype(self, x, scale, zero):
        if zero is not None and self.output_dtype is not None and zero != self.output_dtype:
            raise self.error(
                f"got y_zero_point of {zero.name} and output_dtype={self.output_dtype.name}, wanted one dtype"
            )
        return zero or self.output_dtype or np.dtype(np.uint8)

    def meaning(self, x, scale, zero):
        scale, offset = self.spread(x, scale, zero)
        dtype = self.dtype(x.dtype, scale.dtype, None if zero is None else zero.dtype)
        return quantize(x, scale, offset, dtype, precision=self.precision, saturate=self.saturate)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        x = make.uniform(2, 3, 4, low=-9, high=9)
        yield make(x, make.array(0.1), make.array(3, "uint8"), given=("y_zero_point",))
        yield make(x, make.array([0.1, 0.2, 0.05]), make.array([3, -2, 0], "int8"), given=("y_zero_point",))
        yield make(x, make.array(0.1), output_dtype="int16")
        yield make(x, make.uniform(2, 3, 2, low=0.1, high=0.2), axis=2, block_size=2)


@op("_backward__onnx_QuantizeLinear")
class StraightThrough(Scaled):
    """The gradient of x where DequantizeLinear undoes QuantizeLinear: dy, and 0 where x was out of range and became the nearest in
    it. Rounding counts as the identity, as in PyTorch's fake quantization (docs/decisions/0034).

    Source: Bengio, Leonard and Courville 2013 (the straight-through estimator)."""

    saturate: bool = True
    precision: DType | None = None

    inputs = ("dy", "x", "y_scale", "y_zero_point")
    optional = ("y_zero_point",)

    def shape(self, dy, x, scale, zero):
        return merge(dy, super().shape(x, scale, zero))

    def dtype(self, dy, x, scale, zero):
        return dy

    def meaning(self, dy, x, scale, zero):
        dtype = self.output_dtype or np.dtype(np.uint8) if zero is None else zero.dtype
        scale, offset = self.spread(x, scale, zero)
        with ignoring_overflow():
            quotient = plain(x).astype(np.float64) / plain(scale)
            if is_integer(dtype):
                low, high = bounds(dtype)
                placed = np.rint(quotient.astype(np.float32).astype(np.float64))
                placed += 0 if offset is None else plain(offset).astype(np.float64)
            else:
                high = float(plain(convert(np.float32(np.inf), dtype, saturate=True)))
                low, placed = -high, quotient
            return np.where((placed >= low) & (placed <= high), dy, np.zeros((), dy.dtype))

    def gradient(self, F, g, dy, x, scale, *rest):
        zero = rest[:-1]
        return [F._backward__onnx_QuantizeLinear(g, x, scale, *zero, **self.dump()), None, None, *(None for _ in zero)]


@op("_onnx_DequantizeLinear", "_onnx_ms_DequantizeLinear")
class DequantizeLinear(Scaled):
    """(x - x_zero_point) * x_scale in output_dtype or the dtype of x_scale; shapes as in QuantizeLinear.

    Source: ONNX DequantizeLinear (opset 10 to newest). Raises OpError when scales do not fit, and for a dtype that is no float."""

    inputs = ("x", "x_scale", "x_zero_point")
    types = {
        "x x_zero_point": BYTES | TINY | {"int16", "int32", "uint16"},
        "x_scale": (FLOATS | {"float8_e8m0fnu"}) - {"float64"},
    }
    optional = ("x_zero_point",)

    def dtype(self, x, scale, zero):
        made = self.output_dtype or scale
        if made.name == "float8_e8m0fnu":
            raise self.error(
                "got x_scale of float8_e8m0fnu and no output_dtype, wanted one of float32, float16 or bfloat16"
            )
        return made

    def meaning(self, x, scale, zero):
        made = self.dtype(x.dtype, scale.dtype, None)
        scale, offset = self.spread(x, scale, zero)
        return dequantize(x, scale, offset, made)

    def undone(self, quantized, scales):
        """The operator of the gradient of what ``quantized`` takes, given what comes back and its inputs; None where this does not
        undo it. scales: whether both have the same scale and zero point."""
        same = isinstance(quantized, QuantizeLinear) and scales and quantized.given == _QUANTIZED.get(self.given)
        if not same or (quantized.axis, quantized.block_size) != (self.axis, self.block_size):
            return None
        named = ("axis", "block_size", "output_dtype", "saturate", "precision", "given")
        return StraightThrough(**{n: getattr(quantized, n) for n in named})

    def gradient(self, F, dy, x, scale, *rest):
        zero = rest[:-1]
        return [None, F._backward__onnx_DequantizeLinear(dy, x, scale, *zero, **self.dump()), *(None for _ in zero)]

    @classmethod
    def examples(cls, make):
        x = make.array([[0, 255, 7], [128, 1, 2]], "uint8")
        yield make(x, make.array(0.1), make.array(3, "uint8"), given=("x_zero_point",))
        yield make(x, make.array([0.1, 0.2, 0.05]), make.array([3, 200, 0], "uint8"), given=("x_zero_point",))
        yield make(x, make.uniform(2, 2), axis=1, block_size=2)


_QUANTIZED = {(): (), ("x_zero_point",): ("y_zero_point",)}
"""Optional inputs of QuantizeLinear by those of the DequantizeLinear that undoes it."""


@op("_backward__onnx_DequantizeLinear")
@part_of("_onnx_DequantizeLinear")
class DequantizeLinearBackward(Scaled):
    """The gradient of x_scale: dy * (x - x_zero_point), added up over the places where each scale holds."""

    inputs = ("dy", "x", "x_scale", "x_zero_point")
    optional = ("x_zero_point",)

    def shape(self, dy, x, scale, zero):
        return scale

    def dtype(self, dy, x, scale, zero):
        return scale

    def meaning(self, dy, x, scale, zero):
        one = np.ones((), np.float32)
        each = plain(dy) * dequantize(x, one, *self.spread(x, zero))
        if scale.size == 1:
            total = each.sum()
        else:
            axis = axis_of(self, self.axis, x.ndim) if x.ndim > 1 else 0
            if self.block_size:
                total = np.add.reduceat(each, np.arange(0, x.shape[axis], self.block_size), axis)
            else:
                total = each.sum(tuple(i for i in range(x.ndim) if i != axis))
        return convert(total, scale.dtype).reshape(scale.shape)

    def gradient(self, F, g, dy, x, scale, *rest):
        zero = rest[:-1]
        return [F._onnx_DequantizeLinear(x, g, *zero, **self.dump()), None, None, *(None for _ in zero)]


def dynamic(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """float32 numbers as (uint8, scale, zero point) such that 0 is exact and all are in range; of no numbers the scale is 1."""
    low, high = (
        np.float32(f(0, g(x))) if x.size else np.float32(0) for f, g in ((np.minimum, np.min), (np.maximum, np.max))
    )
    scale = (high - low) / np.float32(255) if high != low else np.float32(1)
    zero = whole(np.asarray(np.clip(-low / scale, 0, 255)), None, np.dtype(np.uint8))
    return quantize(x, np.asarray(scale), zero, np.dtype(np.uint8)), np.asarray(scale), zero


@op("_onnx_DynamicQuantizeLinear")
class DynamicQuantizeLinear(Standard):
    """x as uint8 with the scale and zero point that cover its range and zero. Source: ONNX DynamicQuantizeLinear (opset 11)."""

    exception = "rounds and saturates to small integers and narrow floats"

    inputs = ("x",)
    types = {"x": {"float32"}}

    def output_names(self):
        return "y", "y_scale", "y_zero_point"

    def shape(self, x):
        return [x, (), ()]

    def dtype(self, x):
        return [np.dtype(np.uint8), np.dtype(np.float32), np.dtype(np.uint8)]

    def meaning(self, x):
        return dynamic(x)

    @classmethod
    def examples(cls, make):
        yield make(make.array([[0, 2, -3], [-2.5, 1.34, 0.5]]))
        yield make(make.array([1, 2.1, 1.3, 2.5, 3.34, 4]))
