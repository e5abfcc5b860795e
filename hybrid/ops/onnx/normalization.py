"""Normalizations in the forms that MXNet lacks. Their gradients are programs in MXNet's operators and so have gradients in turn."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.attrs import Arity, Count
from ...core.op import op
from ...core.shapes import UNKNOWN, merge, show
from ..adjoint import linear
from ..common import fit, mean_over, narrow, widen
from ..composing import (
    cast,
    composed_moments,
    computed_widely,
    definite,
    folded,
    known,
    narrowly,
    placed_at,
    reshaped,
    total,
    wide_dtype,
    widely,
)
from .base import Standard
from .types import FLOATS


def _project(F, v, h, mean: Callable[[Any], Any]):
    """Project a gradient as normalizing does: v without its mean and without its part along h."""
    return F.broadcast_sub(v, mean(v)) - F.broadcast_mul(h, mean(v * h))


def _planes(F, x):
    """(N, C, ...) as (N, C, everything else)."""
    flat = F.Flatten(F.reshape(x, shape=(-3, -2)))  # of no elements -1 could not be told
    return F.reshape_like(flat, x, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)


def _column(F, v, like):
    """(C,) so that it broadcasts against _planes, in the dtype of ``like``."""
    return F.reshape(F._backward_cast_like(v, like), shape=(1, -1, 1))


def _back(F, v, like):
    return F._backward_cast_like(F._backward_reshape_like(v, like), like)


def _want_planes(op, shape, least):
    if len(shape) < least:
        raise op.error(f"got data of shape {show(shape)}, wanted at least {least} axes")


def _refuse_stash(dtype: np.dtype) -> str | None:
    """Return a message where a dtype is none to compute in."""
    return None if dtype.name in FLOATS else f"got stash_type={dtype}, wanted {', '.join(sorted(FLOATS))}"


def _normalize(x, axes, epsilon):
    """(x normalized over axes, its mean, its standard deviation); step by step as MXNet's LayerNorm."""
    mean = mean_over(x, axes, keepdims=True)
    y = x - mean
    spread = np.sqrt(mean_over(np.square(y), axes, keepdims=True) + y.dtype.type(epsilon))
    y /= spread
    return y, mean, spread


@op("_onnx_BatchNormalization")
class BatchNormalization(Standard):
    """(X - mean) / sqrt(var + epsilon) * scale + B for each channel, with the mean and variance given, or with training_mode
    those of the batch; then also what has been given moved towards them: old momentum + new (1 - momentum).

    Shapes: X (N, C, ...), scale, B, input_mean, input_var (C,) -> as X, (C,), (C,). Dtypes: Y has that of X, the others those of
    input_mean and input_var.
    Source: ONNX BatchNormalization (opset 15; older ones are brought to that form); Ioffe and Szegedy 2015."""

    epsilon: float = 9.999999747378752e-06
    momentum: float = 0.8999999761581421
    training_mode: bool = False
    num_outputs: Arity = 1

    inputs = ("X", "scale", "B", "input_mean", "input_var")
    types = {"X": FLOATS, "scale B": FLOATS, "input_mean input_var": FLOATS}

    def check(self):
        if self.num_outputs > 1 and not self.training_mode:
            return f"got {self.num_outputs} outputs without training_mode, wanted one"
        return super().check()

    def output_names(self):
        return ("Y", "running_mean", "running_var")[: self.num_outputs]

    def shape(self, x, *rest):
        _want_planes(self, x, 2)
        for shape in rest:
            merge(shape, x[1:2])
        return x if self.num_outputs == 1 else [x, *rest[2:]][: self.num_outputs]

    def dtype(self, x, *rest):
        return x if self.num_outputs == 1 else [x, *rest[2:]][: self.num_outputs]

    def composition(self, F, x, scale, b, mean, var):
        given = scale, b, mean, var
        if self.training_mode or not known(x, *given) or any(v.dtype != x.dtype for v in given):
            return None
        rank = len(x.shape)
        wide, factor, summand, center, spread = widely(F, x.dtype, x, *given)
        factor = F._rdiv_scalar(F.sqrt(spread + self.epsilon), scalar=1) * factor
        y = F.broadcast_mul(F.broadcast_sub(wide, placed_at(F, center, 1, rank)), placed_at(F, factor, 1, rank))
        return narrowly(F, x.dtype, F.broadcast_add(y, placed_at(F, summand, 1, rank)))

    def meaning(self, x, scale, b, mean, var):
        wide = widen(x)
        over = (0, *range(2, x.ndim))
        dims = (-1, *(1,) * (x.ndim - 2))
        old = [widen(v) for v in (mean, var)]
        new = old
        if self.training_mode:
            center = mean_over(wide, over)
            new = [center, mean_over(np.square(wide - center.reshape(dims)), over)]
        y = wide - new[0].reshape(dims)
        factor = (
            1 / np.sqrt(new[1] + new[1].dtype.type(self.epsilon)) * widen(scale)
        )  # step by step as MXNet's BatchNorm
        y *= factor.reshape(dims).astype(y.dtype, copy=False)
        y += widen(b).reshape(dims).astype(y.dtype, copy=False)
        results = [narrow(y, x.dtype)]
        for before, now, array in zip(old, new, (mean, var)):
            keep = before.dtype.type(self.momentum)
            results.append((before * keep + now * (1 - keep)).astype(array.dtype))
        return results[0] if self.num_outputs == 1 else tuple(results[: self.num_outputs])

    def gradient(self, F, dy, x, scale, b, mean, var, *outputs):
        heads = [dy] if self.num_outputs == 1 else list(dy)

        def average(v):
            return F.mean(v, axis=(0, 2), keepdims=True)

        def total(v):
            return F.sum(v, axis=(0, 2), keepdims=True)

        x3, g3, factor = _planes(F, x), _planes(F, heads[0]), _column(F, scale, x)
        center = average(x3) if self.training_mode else _column(F, mean, x)
        away = F.broadcast_sub(x3, center)
        spread = average(away * away) if self.training_mode else _column(F, var, x)
        inverse = F.rsqrt(spread + self.epsilon)
        h, v = F.broadcast_mul(away, inverse), F.broadcast_mul(g3, factor)
        dscale, db = _back(F, total(g3 * h), scale), _back(F, total(g3), b)
        if not self.training_mode:
            dx = F.broadcast_mul(v, inverse)
            dvar = total(v * h) * (inverse * inverse) * -0.5
            return _back(F, dx, x), dscale, db, _back(F, -total(dx), mean), _back(F, dvar, var)
        dx = F.broadcast_mul(_project(F, v, h, average), inverse)
        share = (1 - self.momentum) / total(F.ones_like(x3))
        rest: list[Any] = [None, None]
        if self.num_outputs > 1:
            dx = F.broadcast_add(dx, _column(F, heads[1], x) * share)
            rest[0] = heads[1] * self.momentum
        if self.num_outputs > 2:
            dx = dx + F.broadcast_mul(away, _column(F, heads[2], x) * share * 2)
            rest[1] = heads[2] * self.momentum
        return _back(F, dx, x), dscale, db, *rest

    @classmethod
    def examples(cls, make):
        given = [make.uniform(3), make.uniform(3), make.uniform(3), make.uniform(3, low=0.5, high=1.5)]
        yield make(make.uniform(2, 3, 2, 2), *given)
        yield make(make.uniform(4, 3, 2), *given, training_mode=True, num_outputs=3, momentum=0.75)


@op("_onnx_InstanceNormalization")
class InstanceNormalization(Standard):
    """X normalized over the spatial axes of each channel of each image, times scale, plus B.

    Shapes: input (N, C, ...), scale and B (C,) -> as input. Source: ONNX InstanceNormalization (opset 1 to newest)."""

    epsilon: float = 9.999999747378752e-06

    inputs = ("input", "scale", "B")
    types = {"input scale B": FLOATS}

    def shape(self, x, scale, b):
        _want_planes(self, x, 2)
        merge(scale, x[1:2])
        merge(b, x[1:2])
        return x

    def composition(self, F, x, scale, b):
        if not known(x, scale, b) or 0 in definite(x.shape):
            return None
        rank = len(x.shape)
        wide, factor, summand = widely(F, x.dtype, x, scale, b)
        y, _, var = composed_moments(F, wide, tuple(range(2, rank)), math.prod(x.shape[2:]))
        y = F.broadcast_mul(y, F.broadcast_div(placed_at(F, factor, 1, rank), F.sqrt(var + self.epsilon)))
        return narrowly(F, x.dtype, F.broadcast_add(y, placed_at(F, summand, 1, rank)))

    def meaning(self, x, scale, b):
        dims = (-1, *(1,) * (x.ndim - 2))
        wide, over = widen(x), tuple(range(2, x.ndim))
        y = wide - mean_over(wide, over, keepdims=True)
        # step by step as MXNet's InstanceNorm
        y *= widen(scale).reshape(dims) / np.sqrt(
            mean_over(np.square(y), over, keepdims=True) + y.dtype.type(self.epsilon)
        )
        y += widen(b).reshape(dims)
        return narrow(y, x.dtype)

    def gradient(self, F, dy, x, scale, b, y):
        def average(v):
            return F.mean(v, axis=2, keepdims=True)

        x3, g3 = _planes(F, x), _planes(F, dy)
        away = F.broadcast_sub(x3, average(x3))
        inverse = F.rsqrt(average(away * away) + self.epsilon)
        h = F.broadcast_mul(away, inverse)
        dx = F.broadcast_mul(_project(F, F.broadcast_mul(g3, _column(F, scale, x)), h, average), inverse)
        return _back(F, dx, x), F.sum(g3 * h, axis=(0, 2)), F.sum(g3, axis=(0, 2))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4, 2), make.uniform(3), make.uniform(3))


class _FromAxis(Standard):
    """Base of what normalizes over all axes from ``axis`` on, in the dtype stash_type where that is the wider one.

    (onnxruntime takes float64 down to float32 there, as the standard's text has it; here it keeps its precision.)"""

    axis: int = -1
    epsilon: float = 9.999999747378752e-06
    stash_type: np.dtype = np.dtype(np.float32)

    def check(self):
        return super().check() or _refuse_stash(self.stash_type)

    def axes(self, rank: int) -> tuple[int, ...]:
        """Axes that the mean is over."""
        if not -rank <= self.axis < max(rank, 1):
            raise self.error(f"got axis={self.axis} for {rank} axes")
        return tuple(range(self.axis % rank, rank)) if rank else ()

    def wide(self, x):
        """x in the dtype to compute in."""
        wide = widen(x)
        return wide.astype(self.stash_type) if self.stash_type.itemsize > wide.dtype.itemsize else wide

    def said_widely(self, F: Any, x: Any) -> tuple[Any, np.dtype]:
        """x in the dtype to compute in, of expressions; and that dtype."""
        dtype = wide_dtype(x.dtype, self.stash_type)
        return cast(F, x, x.dtype, dtype), dtype

    def average(self, F):
        """The mean over the axes as a function of symbols, whose rank is not known."""
        if self.axis < 0:
            return lambda v: F.mean(v, axis=tuple(range(self.axis, 0)), keepdims=True)
        return lambda v: F.mean(v, axis=tuple(range(self.axis)), exclude=True, keepdims=True)


@op("_onnx_LayerNormalization")
class LayerNormalization(_FromAxis):
    """X normalized over all axes from ``axis`` on, times Scale, plus B; further outputs: the mean and 1 / the standard deviation.

    Shapes: X any, Scale and B what broadcasts to X -> as X, and twice X with 1 from axis on, in stash_type.
    Source: ONNX LayerNormalization (opset 17 to newest); Ba, Kiros and Hinton 2016."""

    num_outputs: Arity = 1

    inputs = ("X", "Scale", "B")
    types = {"X Scale B": FLOATS}
    optional = ("B",)
    spreads = ("Scale", "B")

    def output_names(self):
        return ("Y", "Mean", "InvStdDev")[: self.num_outputs]

    def shape(self, x, scale, b):
        axes = self.axes(len(x))
        reduced = tuple(1 if a in axes else d for a, d in enumerate(x))
        return x if self.num_outputs == 1 else [x, reduced, reduced][: self.num_outputs]

    def dtype(self, x, scale, b):
        return x if self.num_outputs == 1 else [x, self.stash_type, self.stash_type][: self.num_outputs]

    def composition(self, F, x, scale, *b):
        if not known(x, scale, *b) or 0 in definite(x.shape):
            return None
        axes = self.axes(len(x.shape))
        wide, have = self.said_widely(F, x)
        y, mean, var = composed_moments(F, wide, axes, math.prod(x.shape[a] for a in axes))
        spread = F.sqrt(var + self.epsilon)
        y = F.broadcast_mul(F.broadcast_div(y, spread), cast(F, scale, scale.dtype, have))
        y = F.broadcast_add(y, cast(F, b[0], b[0].dtype, have)) if b else y
        others = (cast(F, v, have, self.stash_type) for v in (mean, 1 / spread))
        outputs = (cast(F, y, have, x.dtype), *others)[: self.num_outputs]
        return outputs if self.num_outputs > 1 else outputs[0]

    def meaning(self, x, scale, b):
        y, mean, spread = _normalize(self.wide(x), self.axes(x.ndim), self.epsilon)
        inverse = 1 / spread
        y = y * widen(scale)
        if b is not None:
            y += widen(b)
        y = y.astype(x.dtype, copy=False)
        return (
            y
            if self.num_outputs == 1
            else (y, mean.astype(self.stash_type), inverse.astype(self.stash_type))[: self.num_outputs]
        )

    def gradient(self, F, dy, x, scale, *rest):
        heads = [dy] if self.num_outputs == 1 else [F._backward_cast_like(d, x) for d in dy]
        average = self.average(F)
        away = F.broadcast_sub(x, average(x))
        inverse = F.rsqrt(average(away * away) + self.epsilon)
        h = F.broadcast_mul(away, inverse)
        dx = F.broadcast_mul(_project(F, F._npi_multiply(heads[0], scale), h, average), inverse)
        if self.num_outputs > 1:  # the mean of what is spread evenly over n is 1 / n of it
            count = 1 / self._count(F, F.ones_like(x))
            dx = F.broadcast_add(dx, heads[1] * count)
            if self.num_outputs > 2:
                dx = dx - F.broadcast_mul(h, heads[2] * inverse * inverse * count)
        found = [dx, F._backward_sum_like(heads[0] * h, scale)]
        return [*found, F._backward_sum_like(heads[0], rest[0])] if self.given else found

    def _count(self, F, ones):
        axes = (
            {"axis": tuple(range(self.axis, 0))}
            if self.axis < 0
            else {"axis": tuple(range(self.axis)), "exclude": True}
        )
        return F.sum(ones, keepdims=True, **axes)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(3, 4), make.uniform(3, 4), axis=1, given=("B",), num_outputs=3)
        yield make(make.uniform(2, 3, 4), make.uniform(4), axis=-1)


@op("_onnx_RMSNormalization")
class RMSNormalization(_FromAxis):
    """X divided by the root of its mean square over all axes from ``axis`` on, times scale, in the dtype of scale.

    Shapes: X any, scale what broadcasts to X -> as X.
    Source: ONNX RMSNormalization (opset 23 to newest); Zhang and Sennrich 2019."""

    inputs = ("X", "scale")
    types = {"X": FLOATS, "scale": FLOATS}
    spreads = ("scale",)

    def shape(self, x, scale):
        self.axes(len(x))
        return x

    def dtype(self, x, scale):
        return scale

    def composition(self, F, x, scale):
        if not known(x, scale) or 0 in definite(x.shape):
            return None
        axes = self.axes(len(x.shape))
        wide, have = self.said_widely(F, x)
        mean = total(F, F.square(wide), axes) / math.prod(x.shape[a] for a in axes)
        y = F.broadcast_div(wide, F.sqrt(mean + self.epsilon))
        if scale.dtype.itemsize > have.itemsize:
            y, have = F.Cast(y, dtype=scale.dtype), scale.dtype
        return cast(F, F.broadcast_mul(y, cast(F, scale, scale.dtype, have)), have, scale.dtype)

    def meaning(self, x, scale):
        wide = self.wide(x)
        y = wide / np.sqrt(mean_over(np.square(wide), self.axes(x.ndim), keepdims=True) + wide.dtype.type(self.epsilon))
        return (y * widen(scale)).astype(scale.dtype, copy=False)

    def gradient(self, F, dy, x, scale, y):
        dy = F._backward_cast_like(dy, x)
        average = self.average(F)
        inverse = F.rsqrt(average(x * x) + self.epsilon)
        h = F.broadcast_mul(x, inverse)
        v = F._npi_multiply(dy, F._backward_cast_like(scale, x))
        dx = F.broadcast_mul(v - F.broadcast_mul(h, average(v * h)), inverse)
        return dx, F._backward_cast_like(F._backward_sum_like(dy * h, scale), scale)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(4))
        yield make(make.uniform(2, 3, 4), make.uniform(3, 1), axis=1)


@op("_onnx_GroupNormalization")
class GroupNormalization(Standard):
    """X normalized over each of num_groups groups of channels of each image, times scale and plus bias of the channel.

    Shapes: X (N, C, ...), scale and bias (C,) -> as X. Computed in stash_type where that is the wider dtype.
    Source: ONNX GroupNormalization (opset 21 to newest); Wu and He 2018."""

    epsilon: float = 9.999999747378752e-06
    num_groups: Count
    stash_type: np.dtype = np.dtype(np.float32)

    inputs = ("X", "scale", "bias")
    types = {"X scale bias": FLOATS}

    def check(self):
        return super().check() or _refuse_stash(self.stash_type)

    def shape(self, x, scale, bias):
        _want_planes(self, x, 2)
        fit(self, {"X": "C", "scale": "C", "bias": "C"}, {"X": x[1:2], "scale": scale, "bias": bias})
        if x[1] is not UNKNOWN and x[1] % self.num_groups:
            raise self.error(f"got {x[1]} channels, wanted a multiple of num_groups={self.num_groups}")
        return x

    def composition(self, F, x, scale, bias):
        if not known(x, scale, bias) or 0 in definite(x.shape):
            return None
        rank, have = len(x.shape), wide_dtype(x.dtype, self.stash_type)
        count = math.prod(x.shape[1:]) // self.num_groups
        groups = reshaped(F, cast(F, x, x.dtype, have), (x.shape[0], self.num_groups, count))
        y, _, var = composed_moments(F, groups, (2,), count)
        y = reshaped(F, F.broadcast_div(y, F.sqrt(var + self.epsilon)), x.shape)
        factor, summand = (placed_at(F, cast(F, v, v.dtype, have), 1, rank) for v in (scale, bias))
        return cast(F, F.broadcast_add(F.broadcast_mul(y, factor), summand), have, x.dtype)

    def meaning(self, x, scale, bias):
        wide = widen(x)
        if self.stash_type.itemsize > wide.dtype.itemsize:
            wide = wide.astype(self.stash_type)
        dims = (-1, *(1,) * (x.ndim - 2))
        y, _, _ = _normalize(wide.reshape(len(x), self.num_groups, x[:1].size // self.num_groups), (2,), self.epsilon)
        y = y.reshape(x.shape) * widen(scale).reshape(dims)
        y += widen(bias).reshape(dims)
        return y.astype(x.dtype, copy=False)

    def gradient(self, F, dy, x, scale, bias, y):
        def grouped(v):
            return F.reshape(F.reshape(v, shape=(0, -4, self.num_groups, -1, 0)), shape=(0, 0, -3))

        def average(v):
            return F.mean(v, axis=2, keepdims=True)

        x3, g3 = grouped(_planes(F, x)), _planes(F, dy)
        away = F.broadcast_sub(x3, average(x3))
        inverse = F.rsqrt(average(away * away) + self.epsilon)
        h = F.broadcast_mul(away, inverse)
        v = grouped(F.broadcast_mul(g3, _column(F, scale, x)))
        dx = F.broadcast_mul(_project(F, v, h, average), inverse)
        each = g3 * F._backward_reshape_like(h, g3)
        return _back(F, dx, x), F.sum(each, axis=(0, 2)), F.sum(g3, axis=(0, 2))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 4, 3, 2), make.uniform(4), make.uniform(4), num_groups=2)


class _Neighbours(Standard):
    """Sums over ``size`` neighbouring channels: (size - 1) // 2 before, the rest of them behind."""

    size: int

    inputs = ("X",)

    def shape(self, x):
        _want_planes(self, x, 2)
        return x

    def sum_window(self, x, before):
        """The sum from ``before`` channels before each one on."""
        channels, out = x.shape[1], np.zeros_like(x)
        for away in range(max(-before, 1 - channels), min(self.size - 1 - before, channels - 1) + 1):
            out[:, max(0, -away) : channels - max(0, away)] += x[:, max(0, away) : channels - max(0, -away)]
        return out


@linear(0)
@op("_backward__onnx_LRN_sum")
class _NeighbourSum(_Neighbours):
    """The sums of LRN, for its gradient."""

    def meaning(self, x):
        return narrow(self.sum_window(widen(x), (self.size - 1) // 2), x.dtype)

    def adjoint(self, of, dy, x):
        return self.sum_window(dy, self.size // 2)


@op("_onnx_LRN")
class LRN(_Neighbours):
    """X / (bias + alpha / size * sum of the squares of size neighbouring channels) ** beta.

    Shapes: X (N, C, ...) -> as X. Source: ONNX LRN (opset 1 to newest); Krizhevsky, Sutskever and Hinton 2012."""

    alpha: float = 9.999999747378752e-05
    beta: float = 0.75
    bias: float = 1.0

    types = {"X": FLOATS}

    def check(self):
        return super().check() or (None if self.size > 0 else f"got size={self.size}, wanted at least 1")

    def composition(self, F, x):
        def function(wide):
            channels, before = x.shape[1], (self.size - 1) // 2
            sides = [
                min(n, channels - 1) for n in (before, self.size - 1 - before)
            ]  # there are no channels farther away
            squares = F._npi_pad(F.square(wide), pad_width=((0, 0), tuple(sides), *((0, 0),) * (len(x.shape) - 2)))
            parts = [F.slice_axis(squares, axis=1, begin=i, end=i + channels) for i in range(sum(sides) + 1)]
            norm = folded(F.broadcast_add, parts) * (self.alpha / self.size) + self.bias
            return wide * norm**-self.beta

        return computed_widely(F, x, function) if known(x) and 0 not in definite(x.shape) else None

    def meaning(self, x):
        wide = widen(x)
        norm = self.sum_window(np.square(wide), (self.size - 1) // 2)
        norm = norm * norm.dtype.type(self.alpha / self.size) + norm.dtype.type(self.bias)
        return narrow(wide * norm ** norm.dtype.type(-self.beta), x.dtype)

    def gradient(self, F, dy, x, y):
        norm = F._backward__onnx_LRN_sum(x * x, size=self.size) * (self.alpha / self.size) + self.bias
        by_norm = F._backward__backward__onnx_LRN_sum(dy * x * norm ** (-self.beta - 1), x, size=self.size, of=0)
        return dy * norm**-self.beta - x * by_norm * (2 * self.alpha * self.beta / self.size)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 5, 2, 2), size=3, alpha=0.5)  # onnxruntime takes four axes and odd sizes only
