"""Activation and LeakyReLU: element-wise non-linearities chosen by an attribute."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core.forking import cached_property
from ..core.op import WHOLE, Op, op
from ..core.shapes import merge_all, show
from .common import BOUNDED, Elementwise, as_array, narrow, spreads, widen
from .composing import narrowly, of_floats, placed_at, widely
from .special import erf

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772  # Klambauer et al. 2017, as MXNet and ONNX have them


def sigmoid(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """1 / (1 + exp(-x)); exp overflows to inf, which gives the right 0."""
    y = as_array(np.negative(x, out=out))  # without dimensions it would be a scalar, which nothing can write to
    np.exp(y, out=y)
    y += 1
    return np.reciprocal(y, out=y)


def softplus(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """log(1 + exp(x)) without overflow."""
    y = as_array(np.abs(x, out=out))
    np.negative(y, out=y)
    np.exp(y, out=y)
    np.log1p(y, out=y)
    y += np.maximum(x, 0)
    return y


def softsign(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """x / (1 + |x|)."""
    y = as_array(np.abs(x, out=out))
    y += 1
    return np.divide(x, y, out=y)


def log_sigmoid(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """log(1 / (1 + exp(-x))) without overflow."""
    return np.negative(softplus(-x), out=out)


def mish(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """x tanh(log(1 + exp(x))) (Misra 2019)."""
    return np.multiply(x, np.tanh(softplus(x)), out=out)


def relu(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The larger of x and 0."""
    return np.maximum(x, 0, out=out)


def composed_softplus(F: Any, x: Any) -> Any:
    """softplus, of symbols."""
    return F.log1p(F.exp(-F.abs(x))) + F._maximum_scalar(x, scalar=0)


# -- derivatives: (F, dy, x, y) -> the gradient of x, all symbols ----------------------------------------------------------


def relu_derivative(F: Any, dy: Any, x: Any, y: Any) -> Any:
    """dy where y is above 0."""
    return F._backward_relu(dy, y)


def sigmoid_derivative(F: Any, dy: Any, x: Any, y: Any) -> Any:
    """dy y (1 - y)."""
    return F._backward_sigmoid(dy, y)


def tanh_derivative(F: Any, dy: Any, x: Any, y: Any) -> Any:
    """dy (1 - y**2)."""
    return F._backward_tanh(dy, y)


def softplus_derivative(F: Any, dy: Any, x: Any, y: Any) -> Any:
    """dy (1 - exp(-y)), which is dy sigmoid(x)."""
    return F.expm1(-y) * -dy


def softsign_derivative(F: Any, dy: Any, x: Any, y: Any) -> Any:
    """dy / (1 + |x|)**2."""
    return dy / F.square(F.abs(x) + 1)


def log_sigmoid_derivative(F: Any, dy: Any, x: Any, y: Any) -> Any:
    """dy (1 - exp(y)), which is dy sigmoid(-x)."""
    return F.expm1(y) * -dy


def mish_derivative(F: Any, dy: Any, x: Any, y: Any) -> Any:
    """dy (t + x s (1 - t**2)) with s = sigmoid(x) and t = tanh(log(1 + exp(x))) = s (2 - s) / (1 + (1 - s)**2)."""
    s = F.sigmoid(x)
    t = s * (2 - s) / (1 + F.square(1 - s))
    return dy * (t + x * s * (1 - F.square(t)))


class OfOutput(Elementwise):
    """A derivative in terms of the function's output y, times the gradient dy of that."""

    inputs = ("dy", "y")
    supports_out = True


@op("_backward_relu")
class ReluBackward(OfOutput):
    """dy where y is above 0, else 0; NaN where y is."""

    def compute(self, dy, y, out=None):
        return np.multiply(np.sign(y, out=out), dy, out=out)

    def gradient(self, F, dy, head, y, gradient):
        return F._backward_relu(dy, y), None


@op("_backward_sigmoid")
class SigmoidBackward(OfOutput):
    """dy * y * (1 - y)."""

    def compute(self, dy, y, out=None):
        slope = as_array(np.subtract(1, y, out=out))
        slope *= y
        slope *= dy
        return slope

    def gradient(self, F, dy, head, y, gradient):
        return F._backward_sigmoid(dy, y), dy * head * (1 - y * 2)


@op("_backward_tanh")
class TanhBackward(OfOutput):
    """dy * (1 - y**2)."""

    def compute(self, dy, y, out=None):
        slope = as_array(np.multiply(y, y, out=out))
        np.subtract(1, slope, out=slope)
        slope *= dy
        return slope

    def gradient(self, F, dy, head, y, gradient):
        return F._backward_tanh(dy, y), dy * head * y * -2


class Nonlinearity(NamedTuple):
    """A function that takes ``out=``, and its derivative."""

    function: Callable[..., np.ndarray]
    derivative: Callable[[Any, Any, Any, Any], Any]


_ACTIVATIONS = {
    "log_sigmoid": Nonlinearity(log_sigmoid, log_sigmoid_derivative),
    "mish": Nonlinearity(mish, mish_derivative),
    "relu": Nonlinearity(relu, relu_derivative),
    "sigmoid": Nonlinearity(sigmoid, sigmoid_derivative),
    "softrelu": Nonlinearity(softplus, softplus_derivative),
    "softsign": Nonlinearity(softsign, softsign_derivative),
    "tanh": Nonlinearity(np.tanh, tanh_derivative),
}


@op("Activation", "_npx_activation")
class Activation(Elementwise):
    """One of relu, sigmoid, softrelu (log(1 + exp(x))), softsign and tanh, element by element; log_sigmoid and mish since 2.0.

    NaN stays NaN, as in MXNet's own kernels (oneDNN's float32 relu answers 0).
    """

    act_type: Literal["log_sigmoid", "mish", "relu", "sigmoid", "softrelu", "softsign", "tanh"]

    supports_out = True

    @property
    def bound(self) -> float:
        return float(self.act_type in BOUNDED)

    def infer_type(self, data):
        if data.kind in "iub" and self.act_type != "relu":
            raise self.error(f"got data of dtype {data}, wanted floats; cast it")
        return data

    def composition(self, F, data):
        if not of_floats(data):  # relu alone
            return F._maximum_scalar(data, scalar=0) if data.dtype.kind != "b" else None
        (x,) = widely(F, data.dtype, data)
        y = composed_softplus(F, x) if self.act_type == "softrelu" else getattr(F, self.act_type)(x)
        return narrowly(F, data.dtype, y)

    def compute(self, data, out=None):
        x = widen(data)
        return narrow(_ACTIVATIONS[self.act_type].function(x, out if x is data else None), data.dtype, out)

    def gradient(self, F, dy, x, y):
        return _ACTIVATIONS[self.act_type].derivative(F, dy, x, y)

    @classmethod
    def examples(cls, make):
        for act_type in _ACTIVATIONS:
            yield make(make.uniform(2, 3), act_type=act_type)


def _leaky(x, slope):
    """x where it is positive, else slope * x; np.where would stumble over every change of sign."""
    if not np.isfinite(slope).all():
        return np.where(x > 0, x, x * slope)
    y = np.minimum(x, 0)
    y *= slope
    y += np.maximum(x, 0)
    return y


def gelu(x):
    """x times the normal distribution function, in pieces that stay in cache."""
    y = np.empty(x.shape, x.dtype)
    source, target = x.reshape(-1), y.reshape(-1)
    for start in range(0, x.size, 1 << 14):
        piece = source[start : start + (1 << 14)].astype(np.float64)
        target[start : start + (1 << 14)] = piece * (0.5 * (1 + erf(piece * 0.5**0.5)))
    return y


@op("_backward_leaky")
class LeakyBackward(Elementwise):
    """dy, times slope where x is 0 or below."""

    slope: float

    inputs = ("dy", "x")

    def compute(self, dy, x):
        # a table of the two slopes: choosing between arrays would stumble over every change of sign
        return np.array([1, self.slope], dy.dtype).take((x <= 0).view(np.int8), mode="clip") * dy

    def gradient(self, F, dy, head, x, y):
        return F._backward_leaky(dy, x, slope=self.slope), None


def _along_channels(gamma: np.ndarray, rank: int) -> np.ndarray:
    """Slopes so that they broadcast with data of that rank."""
    return gamma.reshape(*gamma.shape, *(1,) * (rank - 2)) if rank else gamma.reshape(())


@op("_backward_slopes")
class Slopes(Op):
    """gamma of LeakyReLU so that it broadcasts with data. Shapes: gamma (C,) or (N, C), data (N, C, ...) -> (C, 1, ...)."""

    inputs = ("gamma", "data")
    view = True
    only_moves_data = True

    def infer_shape(self, gamma, data):
        return (*gamma, *(1,) * (len(data) - 2)) if data else ()

    def compute(self, gamma, data):
        return _along_channels(gamma, data.ndim)

    def gradient(self, F, dy, gamma, data, slopes):
        return F._backward_reshape_like(dy, gamma), None


@op("LeakyReLU", "_npx_leaky_relu")
class LeakyReLU(Op):
    """Linear units that let something through below 0.

    leaky: slope * x below 0. elu: slope * (exp(x) - 1) below 0. prelu: gamma * x below 0, where gamma has one slope, or one
    for each channel (axis 1), of all rows or of each. selu and gelu have no attributes. rrelu: a slope drawn uniformly from
    lower_bound to upper_bound for every element when training, and their mean in inference; its second output is the slopes.

    At NaN the gradient of elu is NaN, as in MXNet's own kernels (oneDNN's float32 elu answers 1).

    Shapes: data (N, C, ...) or (C,), gamma (1,), (C,), (1, C), (N, C) or (N, 1) -> as data.
    """

    meanings = {"gamma": "Slopes below 0 that are learnt; there with act_type prelu."}

    refuses = WHOLE

    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky"
    slope: float = 0.25
    lower_bound: float = 0.125
    upper_bound: float = 0.333999991

    inputs = ("data", "gamma")
    initializers = {"gamma": '["Constant", {"value": 0.25}]'}
    epsilon = float(np.finfo(np.float32).eps)

    @cached_property
    def needs(self):  # type: ignore[override]  # only one of them is random
        return ("training", "rng") if self.act_type == "rrelu" else ()

    def input_names(self):
        return self.inputs if self.act_type == "prelu" else self.inputs[:1]

    def output_names(self):
        return ("output", "mask") if self.act_type == "rrelu" else ("output",)

    def infer_input_shapes(self, shapes, outputs):
        data, *gamma = shapes
        data = merge_all((data, *outputs))
        if gamma == [None] and data is not None:
            gamma = [data[1:2] or data]
        return [data, *gamma]

    def infer_shape(self, data, *gamma):
        for shape in gamma:
            if not shape or not spreads(shape, data[:2] or (1,)):
                channels = show(data[1:2] or data)
                raise self.error(f"got gamma of shape {show(shape)}, wanted (1,) or one slope a channel, {channels}")
        return [data, data] if self.act_type == "rrelu" else data

    def composition(self, F, data, gamma=None):
        if self.act_type == "rrelu" or data.shape is None:
            return None
        x, *slope = widely(F, data.dtype, data, *(() if gamma is None else (gamma,)))
        below, is_above = F._minimum_scalar(x, scalar=0), F._greater_scalar(x, scalar=0)
        if self.act_type == "leaky":
            y = F._npi_where(is_above, x, x * self.slope)
        elif self.act_type == "prelu":
            if gamma is None or gamma.shape is None or len(gamma.shape) > 1:
                return None
            scaled = F.broadcast_mul(x, placed_at(F, slope[0], min(1, len(data.shape) - 1), len(data.shape)))
            y = F._npi_where(is_above, x, scaled)
        elif self.act_type == "gelu":
            y = x * ((F.erf(x * 0.5**0.5) + 1) * 0.5)
        else:
            scale = SELU_SCALE if self.act_type == "selu" else 1.0
            slope = self.slope if self.act_type == "elu" else SELU_SCALE * SELU_ALPHA
            y = F._npi_where(is_above, x * scale, F.expm1(below) * slope)
        return narrowly(F, data.dtype, y)

    def compute(self, data, gamma: Any = None, *, training=False, rng: Any = None):
        x = widen(data)
        if self.act_type == "rrelu":
            slopes = np.full_like(x, (self.lower_bound + self.upper_bound) / 2)
            if training:
                slopes[...] = rng.uniform(self.lower_bound, self.upper_bound, x.shape)
            return narrow(_leaky(x, slopes), data.dtype), narrow(slopes, data.dtype)
        if self.act_type == "leaky":
            y = _leaky(x, self.slope)
        elif self.act_type == "prelu":
            y = _leaky(x, _along_channels(widen(gamma), x.ndim))
        elif self.act_type == "elu":
            y = np.where(x > 0, x, self.slope * np.expm1(np.minimum(x, 0)))
        elif self.act_type == "selu":
            y = np.where(x > 0, SELU_SCALE * x, (SELU_SCALE * SELU_ALPHA) * np.expm1(np.minimum(x, 0)))
        else:
            y = gelu(x)
        return narrow(y, data.dtype)

    def gradient(self, F, dy, x, *arrays):
        if self.act_type == "prelu":
            gamma = arrays[0]
            slopes = F._backward_slopes(gamma, x)
            below = F._backward_sum_like(dy * F._minimum_scalar(x, scalar=0), slopes)
            return F.where(x > 0, dy, F.broadcast_mul(dy, slopes)), F._backward_reshape_like(below, gamma)
        if self.act_type == "rrelu":
            return F.where(x > 0, dy[0], dy[0] * arrays[-1])
        if self.act_type == "leaky":
            return F._backward_leaky(dy, x, slope=self.slope)
        if self.act_type == "gelu":
            likely = (F.erf(x * 0.5**0.5) + 1) * 0.5
            return dy * (likely + x * F.exp(F.square(x) * -0.5) * (2 * np.pi) ** -0.5)
        # where x is above 0 the other branch is not taken, but it must not overflow: its derivative counts as 0 times that
        e = F.exp(F._minimum_scalar(x, scalar=0))
        if self.act_type == "elu":
            return F.where(x > 0, dy, dy * e * self.slope)
        return F.where(x > 0, dy * SELU_SCALE, dy * e * (SELU_SCALE * SELU_ALPHA))

    @classmethod
    def examples(cls, make):
        for act_type in ("leaky", "elu", "selu", "gelu"):
            yield make(make.uniform(2, 3), act_type=act_type)
        yield make(make.uniform(2, 3, 3), make.uniform(3), act_type="prelu")
        yield make(make.uniform(2, 3, 2, 2), make.uniform(1), act_type="prelu")
