"""Samplers with a seed, or of dtypes that MXNet's lack, and Dropout that the model itself turns on.

Without a seed numbers come from the engine's generator. With one they are the same at every run, from NumPy's RandomState, whose
sequences never change and which onnx's own evaluator draws from."""

import math
from typing import Any

import numpy as np

from ...core.attrs import DType
from ...core.attrs import Shape as Dims
from ...core.op import op
from ...core.shapes import show
from ..casting import convert
from ..common import want_rank, widen
from .base import BOOL, Standard
from .types import FLOAT8, FLOATS, INDICES, PLAIN, TENSORS


def source(seed: float | None, rng: Any) -> Any:
    """The generator to draw from: one of its own for a seed, else rng."""
    if seed is None or not math.isfinite(seed):
        return rng
    return np.random.RandomState(int(seed) % 2**32)


class Sampler(Standard):
    """Base of samplers. They have gradient 0."""

    seed: float | None = None

    exception = "draws numbers in an order of its own"

    needs = ("rng",)

    def gradient(self, F, dy, *arrays):
        return None


class Free(Sampler):
    """Base of samplers whose shape is an attribute. Shapes: -> shape."""

    dtype: DType = np.dtype("float32")  # type: ignore[assignment]  # ONNX's name for it
    shape: Dims  # type: ignore[assignment]  # ONNX's name for it

    inputs = ()
    types = {"output": FLOATS}

    def infer_shape(self):
        return self.shape

    def gives(self):
        return self.dtype

    @classmethod
    def examples(cls, make):
        yield make(shape=(3, 4))
        yield make(shape=(2,), dtype="float64")


class Like(Sampler):
    """Base of samplers whose shape is that of input. Shapes: any -> as input."""

    dtype: DType | None = None  # type: ignore[assignment]  # ONNX's name for it

    inputs = ("input",)

    def infer_shape(self, input):
        return input

    def gives(self, input):
        return self.dtype or input

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4))
        yield make(make.integers(3, 4, dtype="int32"), dtype="float64")


def _normal(self: Any, rng: Any, shape: Any, dtype: Any) -> np.ndarray:
    return convert(self.mean + self.scale * source(self.seed, rng).standard_normal(shape), dtype)


def _uniform(self: Any, rng: Any, shape: Any, dtype: Any) -> np.ndarray:
    y = convert(self.low + (self.high - self.low) * source(self.seed, rng).random(shape), dtype)
    low, high = (np.float64(v).astype(dtype) for v in (self.low, self.high))
    return np.where((y >= high) & (self.high > self.low), low, y)  # rounding may reach high, which is excluded


@op("_onnx_RandomNormal")
class RandomNormal(Free):
    """Normally distributed numbers. Source: ONNX RandomNormal (opset 1 to newest)."""

    mean: float = 0.0
    scale: float = 1.0

    def compute(self, rng: Any = None):
        return _normal(self, rng, self.shape, self.dtype)


@op("_onnx_RandomUniform")
class RandomUniform(Free):
    """Numbers from low (included) to high (excluded), all equally likely. Source: ONNX RandomUniform (opset 1 to newest)."""

    low: float = 0.0
    high: float = 1.0

    def compute(self, rng: Any = None):
        return _uniform(self, rng, self.shape, self.dtype)


@op("_onnx_RandomNormalLike")
class RandomNormalLike(Like):
    """Normally distributed numbers. Source: ONNX RandomNormalLike (opset 1 to newest)."""

    mean: float = 0.0
    scale: float = 1.0

    types = {"input": TENSORS, "output": FLOATS}

    def compute(self, input, rng: Any = None):
        return _normal(self, rng, input.shape, self.gives(input.dtype))


@op("_onnx_RandomUniformLike")
class RandomUniformLike(Like):
    """Numbers from low (included) to high (excluded), all equally likely. Source: ONNX RandomUniformLike (opset 1 to newest)."""

    low: float = 0.0
    high: float = 1.0

    types = {"input": TENSORS, "output": FLOATS}

    def compute(self, input, rng: Any = None):
        return _uniform(self, rng, input.shape, self.gives(input.dtype))


@op("_onnx_Bernoulli")
class Bernoulli(Like):
    """1 with the probability that input holds, else 0. Source: ONNX Bernoulli (opset 15 to newest)."""

    types = {"input": FLOATS, "output": PLAIN}

    def compute(self, input, rng: Any = None):
        return (source(self.seed, rng).random(input.shape) < widen(input)).astype(self.gives(input.dtype))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=0))
        yield make(make.uniform(3, 4, low=0), dtype="int64")


@op("_onnx_Multinomial")
class Multinomial(Sampler):
    """sample_size classes drawn for each row of input, which holds the logarithms of probabilities up to a constant.

    Shapes: (N, C) -> (N, sample_size). Source: ONNX Multinomial (opset 7 to newest)."""

    dtype: DType = np.dtype("int32")  # type: ignore[assignment]  # ONNX's name for it
    sample_size: int = 1

    inputs = ("input",)
    types = {"input": FLOATS, "output": INDICES}

    def infer_shape(self, input):
        want_rank(self, input, 2)
        if input[1] == 0:
            raise self.error(f"got input of shape {show(input)}, wanted one class at least")
        return (input[0], self.sample_size)

    def gives(self, input):
        return self.dtype

    def compute(self, input, rng: Any = None):
        wide = input.astype(np.float64)
        likely = np.exp(wide - wide.max(1, keepdims=True))
        if not np.isfinite(likely).all():
            raise self.error(
                "got rows with NaN or infinity, wanted logarithms of probabilities with a finite largest one"
            )
        ends = np.cumsum(likely, 1)
        wanted = source(self.seed, rng).random((len(wide), self.sample_size)) * ends[:, -1:]
        return (wanted[:, :, None] >= ends[:, None, :-1]).sum(2).astype(self.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 5), sample_size=16)
        yield make(make.uniform(2, 5), sample_size=3, dtype="int64")


@op("_onnx_Dropout")
class Dropout(Standard):
    """data, with training_mode each element zeroed with probability ratio (0.5 where it is left out) and the others divided by
    1 - ratio; and which elements passed. Shapes: any, (), () -> as data, as data.

    What the model says counts, not whether it is being trained. Source: ONNX Dropout (opset 12 to newest)."""

    seed: int | None = None

    exception = "draws numbers in an order of its own"

    inputs = ("data", "ratio", "training_mode")
    types = {"data": FLOATS | FLOAT8, "ratio": FLOATS | FLOAT8, "training_mode": {"bool"}}
    optional = ("ratio", "training_mode")
    numbers = optional
    needs = ("rng",)

    def output_names(self):
        return ("output", "mask")

    def draws(self, training):
        return "training_mode" in self.given

    def shape(self, data, ratio=None, training_mode=None):
        return [data, data]

    def dtype(self, data, ratio=None, training_mode=None):
        return [data, BOOL]

    def meaning(self, data, ratio=None, training_mode=None, *, rng: Any = None):
        share = 0.5 if ratio is None else float(np.asarray(ratio).reshape(()))
        if not 0 <= share < 1:
            raise self.error(f"got ratio={share:g}, wanted 0 to less than 1")
        if training_mode is None or not training_mode.reshape(()) or share == 0:
            return data.copy(), np.ones(data.shape, bool)
        mask = source(self.seed, rng).random(data.shape) >= share
        wide = widen(data)
        return (np.where(mask, wide / wide.dtype.type(1 - share), wide.dtype.type(0))).astype(data.dtype), mask

    def gradient(self, F, dy, data, *others_and_ys):
        *others, _, mask = others_and_ys
        given = {n: v for n, v in zip(self.input_names()[1:], others)}
        ratio = given.get("ratio")
        passed = F._backward_cast_like(mask, data)
        if "training_mode" not in given:
            return [dy[0], *(None for _ in others)]
        rest = 0.5 if ratio is None else 1 - F._backward_cast_like(ratio, data)
        scaled = dy[0] * passed / rest if ratio is None else F.broadcast_div(dy[0] * passed, rest)
        on = F._backward_cast_like(given["training_mode"], data)
        found = F.broadcast_add(F.broadcast_mul(scaled, on), F.broadcast_mul(dy[0], 1 - on))
        return [found, *(None for _ in others)]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4))
        given = ("ratio", "training_mode")
        yield make(make.uniform(3, 4), make.array(0.0), make.array(True, "bool"), given=given)
