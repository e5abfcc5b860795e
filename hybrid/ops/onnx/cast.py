"""Conversions of dtype that MXNet's Cast does not know: text, floats and integers of less than a byte, and bits as they are."""

from typing import Literal

import numpy as np

from ...core.attrs import DType, is_float
from ...core.op import op
from .base import Standard
from .conversion import bits_of, convert
from .types import COMPLEX, FLOAT6, STORED, WORDS


class Converting(Standard):
    """Base of Cast and CastLike: how they round and what becomes of numbers out of range."""

    saturate: bool = True
    round_mode: Literal["up", "down", "nearest"] = "up"

    exception = "knows dtypes that Cast does not"

    only_moves_data = True

    def shape(self, data, *_others):
        return data

    def to_dtype(self, data, dtype):
        """data in dtype. Raises OpError for text that is no number and for complex numbers."""
        try:
            made = convert(data, dtype, saturate=self.saturate, round_mode=self.round_mode)
        except ValueError as problem:
            raise self.error(str(problem)) from None
        return made.copy() if made is data else made


@op("_onnx_Cast")
class Cast(Converting):
    """input in another dtype; strings are objects of type str. Where MXNet has both dtypes, its Cast does the same.

    Source: ONNX Cast (opset 1 to newest). Raises OpError for text that is no number."""

    to: DType

    inputs = ("input",)
    types = dict.fromkeys(("input", "output"), (STORED | FLOAT6) - COMPLEX)

    def dtype(self, data):
        return self.to

    def meaning(self, data):
        return self.to_dtype(data, self.to)

    def gradient(self, F, dy, data, y):
        return F._backward_cast_like(dy, data) if is_float(self.to, small=True) else None

    @classmethod
    def examples(cls, make):
        yield make(make.array([[1.5, -2, 0.125], [314.15625, 1e5, -1e-3]]), to="object")
        yield make(make.array(["1.5", "-INF", "1e-3"], object), to="float32")


@op("_onnx_CastLike")
class CastLike(Converting):
    """input in the dtype of target_type. Source: ONNX CastLike (opset 15 to newest). Raises OpError as Cast does."""

    inputs = ("input", "target_type")
    types = dict.fromkeys(inputs, STORED - COMPLEX)

    def dtype(self, data, like):
        return like

    def meaning(self, data, like):
        return self.to_dtype(data, like.dtype)

    def gradient(self, F, dy, data, like, y):
        return F._backward_cast_like(dy, data), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-9, high=9), make.array([1], "int32"))
        yield make(make.uniform(3, 4), make.array([1], "float64"))


@op("_onnx_BitCast")
class BitCast(Standard):
    """The bits of input as those of another dtype of as many. Source: ONNX BitCast (opset 26).

    Raises OpError when the dtypes differ in size, and for strings."""

    to: DType

    exception = "knows dtypes that Cast does not"

    inputs = ("input",)
    types = dict.fromkeys(("input", "output"), STORED - WORDS)
    only_moves_data = True

    def shape(self, data):
        return data

    def dtype(self, data):
        if bits_of(data) != bits_of(self.to):
            raise self.error(
                f"got {data.name} to read as {self.to.name}, wanted two dtypes of as many bits and no strings"
            )
        return self.to

    def meaning(self, data):
        self.dtype(data.dtype)
        if self.to.kind == "b":
            return data.view(np.uint8) != 0
        return data.copy().view(self.to)

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), to="int32")
        yield make(make.array([1, 0x7F800000, -1], "int32"), to="float32")
