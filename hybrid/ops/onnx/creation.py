"""Arrays made from numbers that may arrive at run time."""

from typing import Any

import numpy as np

from ...core.attrs import DType
from ...core.dims import Dim
from ...core.op import op
from ...core.shapes import UNKNOWN, of_rank
from ..common import axis_of, narrow, part_of, want_rank, widen
from ..composing import definite, known
from .base import Standard
from .types import COMPLEX, FLOATS, INDICES, NUMBERS, PLAIN, STORED, TENSORS, WORDS


@op("_onnx_Range")
class Range(Standard):
    """Numbers from start by delta up to limit, which is excluded; of float16 and bfloat16 computed in float32.

    Shapes: (), (), () -> (n,). Source: ONNX Range (opset 11 to newest)."""

    stash_type: int = 1

    exception = "tensors say how much there is, maybe not before it runs"

    inputs = ("start", "limit", "delta")
    types = {"start limit delta": FLOATS | INDICES | {"int16"}}
    numbers = inputs
    needs = ("values",)
    data_dependent_shape = True

    def shape(self, start, limit, delta, *, values):
        if any(v is None for v in values):
            return (UNKNOWN,)
        return (self.count(*(widen(np.asarray(v)).reshape(()) for v in values)),)

    def count(self, start: Any, limit: Any, delta: Any) -> int:
        """Number of elements of the range."""
        if delta == 0:
            raise self.error("got delta 0, wanted another number")
        if "O" in (start.dtype.kind, limit.dtype.kind):  # sizes that stand for others
            return max(0, -((start.item() - limit.item()) // int(delta)))
        if start.dtype.kind in "iu":
            return max(0, -((int(start) - int(limit)) // int(delta)))
        return max(0, int(np.ceil((limit - start) / delta)))

    def meaning(self, start, limit, delta):
        first, last, step = (widen(np.asarray(v)).reshape(()) for v in (start, limit, delta))
        places = np.arange(self.count(first, last, step)).astype(first.dtype)
        return narrow(np.asarray(first + places * step), start.dtype)

    def gradient(self, F, dy, start, limit, delta, y):
        places = F.broadcast_div(F.broadcast_sub(y, start), delta)
        return F._backward_sum_like(dy, start), None, F._backward_sum_like(dy * places, delta)

    @classmethod
    def examples(cls, make):
        yield make(make.array(1, "int64"), make.array(10, "int64"), make.array(4, "int64"))
        yield make(make.array(2.5), make.array(-0.8), make.array(-0.5))


@op("_onnx_EyeLike")
class EyeLike(Standard):
    """1 on the diagonal k places above the main one, else 0. Shapes: (M, N) -> (M, N). Source: ONNX EyeLike (opset 9 to newest)."""

    dtype: DType | None = None  # type: ignore[assignment]  # ONNX's name for it
    k: int = 0

    inputs = ("input",)
    types = {"input": PLAIN, "output": PLAIN}

    def infer_shape(self, input):
        want_rank(self, input, 2)
        return input

    def gives(self, input):
        return self.dtype or input

    def composition(self, F, input):
        if not known(input) or 0 in definite(input.shape):
            return None
        return F._npi_eye(N=input.shape[0], M=input.shape[1], k=self.k, dtype=self.gives(input.dtype))

    def compute(self, input):
        return np.eye(*input.shape, k=self.k).astype(self.gives(input.dtype))

    def gradient(self, F, dy, input, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), k=1)
        yield make(make.integers(3, 3, dtype="int32"), dtype="float32")


@op("_onnx_OneHot")
class OneHot(Standard):
    """values[1] where the place along the new axis is the index, else values[0]; indices count from the end when negative, and one
    outside of -depth to depth - 1 is nowhere.

    Shapes: any, () or (1,), (2,) -> indices' with depth in front of axis. Source: ONNX OneHot (opset 11 to newest)."""

    axis: int = -1

    exception = "tensors say how much there is, maybe not before it runs"

    inputs = ("indices", "depth", "values")
    types = {"indices": NUMBERS - {"bfloat16"}, "depth": NUMBERS - {"bfloat16"}, "values": TENSORS}
    numbers = ("depth",)
    named_axes = {"values": "2"}
    needs = ("values",)
    data_dependent_shape = True

    def shape(self, indices, depth, pair, *, values):
        axis = axis_of(self, self.axis, len(indices) + 1)
        size = UNKNOWN if values[1] is None else int(values[1].reshape(()))
        return (*indices[:axis], size, *indices[axis:])

    def dtype(self, indices, depth, pair):
        return pair

    def places(self, indices: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """True where values[1] goes."""
        size = int(depth.reshape(()))
        axis = axis_of(self, self.axis, indices.ndim + 1)
        whole = np.expand_dims(indices.astype(np.int64), axis)
        along = np.arange(size).reshape(-1, *(1,) * (indices.ndim - axis))
        return np.where(whole < 0, whole + size, whole) == along

    def meaning(self, indices, depth, pair):
        return np.where(self.places(indices, depth), pair[1], pair[0])

    def gradient(self, F, dy, indices, depth, pair, y):
        return None, None, F._backward__onnx_OneHot(dy, indices, depth, pair, axis=self.axis)

    @classmethod
    def examples(cls, make):
        indices = make.array([[0, -1, 5], [2, 1, 1]], "int64")
        yield make(indices, make.array(3, "int64"), make.array([0.5, 2]), axis=1)
        yield make(indices, make.array([4], "int64"), make.array([0, 1], "int64"))


@op("_backward__onnx_OneHot")
@part_of("_onnx_OneHot")
class OneHotBackward(OneHot):
    """The gradient of OneHot's values: sums of dy over the places of each. Shapes: dy, then those of OneHot -> (2,)."""

    inputs = ("dy", "indices", "depth", "values")
    needs = ()
    data_dependent_shape = False

    def shape(self, dy, indices, depth, pair):
        return pair

    def dtype(self, dy, indices, depth, pair):
        return pair

    def meaning(self, dy, indices, depth, pair):
        places, wide = self.places(indices, depth), widen(dy)
        on = np.where(places, wide, 0).sum()
        return np.array([wide.sum() - on, on]).astype(pair.dtype)

    def gradient(self, F, ddx, dy, indices, depth, pair, y):
        return F._onnx_OneHot(indices, depth, ddx, axis=self.axis), None, None, None


@op("_onnx_ConstantOfShape")
class ConstantOfShape(Standard):
    """value everywhere. Shapes: (n,) -> the numbers that input holds. Source: ONNX ConstantOfShape (opset 9 to newest)."""

    value: np.ndarray = np.zeros(1, np.float32)

    exception = "tensors say how much there is, maybe not before it runs"

    static_form = "_full"
    inputs = ("input",)
    types = {"input": {"int64"}, "output": STORED - WORDS - COMPLEX}
    needs = ("values",)
    data_dependent_shape = True

    def check(self):
        if self.value.size != 1:
            return f"got value of {self.value.size} elements, wanted one"
        return super().check()

    def shape(self, input, *, values):
        want_rank(self, input, 1, what="input")
        if values[0] is not None:
            return self.dims(values[0])
        return None if input[0] is UNKNOWN else of_rank(input[0])

    def dims(self, input: np.ndarray) -> tuple[Any, ...]:
        """The shape. Raises OpError for one that is none."""
        dims = tuple(d if type(d) is Dim else int(d) for d in input)
        if any(d < 0 for d in dims):
            raise self.error(f"got shape {dims}, wanted no negative size")
        return dims

    def dtype(self, input):
        return self.value.dtype

    def meaning(self, input):
        return np.full(self.dims(input), self.value.reshape(()))

    def gradient(self, F, dy, input, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([2, 3], "int64"), value=make.array([5], "int32"))
        yield make(make.array([4], "int64"))
