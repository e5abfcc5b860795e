"""Gradients of normalizations, and the gradients of these.

All normalizations that have gamma and beta are one thing over data seen as (A, B, C): gamma and beta belong to the middle
axis, mean and variance are taken over the batch (A and C), the layer (B) or the instance (C). With h the normalized data,
s = 1 / sqrt(var + eps), M the mean over those axes and P(v) = v - M(v) - h M(v h),

    dx = s P(gamma dy)   dgamma = sum of dy h   dbeta = sum of dy

(P is its own transpose, and the derivative of h by x is s P). With mean and variance given P is the identity.
"""

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from ..core.attrs import Count
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, is_known, merge, merge_all
from .common import Elementwise, agree, as_many, axis_of, mean_over, narrow, part_of, want_rank, want_rank_from, widen

PIECE = 1 << 20
"""Bytes of data that are treated at a time: what is made of them stays in cache."""

AXES = {"batch": (0, 2), "layer": (1,), "instance": (2,)}


class _NormalizationBackward(Op):
    """Base of both: the attributes of the normalization, and how its arrays are seen."""

    over: Literal["batch", "instance", "layer"]
    axis: int = 1
    groups: int = 0
    """Number of gammas along axis; 0 for as many as the axis is long."""
    third: Literal["rstd", "std", "var"]
    """Kind of the third output of the normalization."""
    eps: float = 0.0
    """Added to the variance where that is the third output."""
    fixed: bool = False
    """True when mean and variance are given even when training."""
    fix_gamma: bool = False
    """True when gamma counts as 1."""

    needs = ("training",)

    def check(self):
        if (self.fixed or self.fix_gamma) and self.over != "batch":
            return (
                f"got fixed={self.fixed} and fix_gamma={self.fix_gamma} over={self.over}, which is said of batches only"
            )
        if self.axis != 1 and (self.groups or self.over == "instance"):
            return f"got axis={self.axis} over={self.over} with groups={self.groups}, wanted 1, the axis of channels"
        if not self.eps >= 0:
            return f"got eps={self.eps}, wanted 0 or more: it keeps variances from 0"
        return f"got groups={self.groups}, wanted 0 or more" if self.groups < 0 else None

    def fit_shapes(self, data, gamma, mean, spread):
        """gamma, mean and spread with the sizes that go with data. Raises OpError where theirs differ."""
        axis = axis_of(self, self.axis, len(data))
        if self.groups or self.over == "instance":
            want_rank_from(self, data, 2)
            middle = self.groups or data[1]
            sizes = data[0] * middle if self.over == "instance" else UNKNOWN
        else:
            middle = data[axis]
            sizes = middle if self.over == "batch" else UNKNOWN
            if self.over == "layer" and is_known(data):
                sizes = math.prod(data[:axis]) * math.prod(data[axis + 1 :])
        for name, shape in (("mean", mean), ("spread", spread)):
            as_many(self, name, shape, (sizes,))
        want_rank(self, gamma, 1, what="gamma")
        return merge(gamma, (middle,))

    def infer_input_types(self, dtypes, outputs):
        whole = [n for n, d in zip(self.input_names(), dtypes) if d is not None and d.kind in "iub"]
        if whole:
            raise self.error(f"got {', '.join(whole)} of whole numbers, wanted floats; cast them")
        named = dict(zip(self.input_names(), dtypes))
        agree(self, "dy", named["dy"], named["data"])
        return dtypes

    def constant(self, training: bool) -> bool:
        """True when mean and variance do not depend on the data."""
        return self.over == "batch" and (self.fixed or not training)

    def shape3(self, shape: tuple[int, ...]) -> tuple[int, int, int]:
        """(A, B, C) for data of a shape."""
        axis = axis_of(self, self.axis, len(shape))
        if self.groups or self.over == "instance":
            middle = self.groups or shape[1]
            return shape[0], middle, math.prod(shape[1:]) // max(1, middle)
        return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])

    def view_parameters(self, data, gamma, mean, spread):
        """(gamma, mean, s over a batch and else 1 / s), each ready to be broadcast against (A, B, C): MXNet multiplies by the
        one and divides by the other, which shows where nearly everything cancels."""
        a, b, c = self.shape3(data.shape)
        statistics = tuple(1 if i in AXES[self.over] else n for i, n in enumerate((a, b, c)))
        spread = widen(spread)
        if self.third == "var":
            spread = np.sqrt(spread + spread.dtype.type(self.eps))
        scale = spread if (self.third == "rstd") == (self.over == "batch") else 1 / spread
        gamma = np.ones((1, b, 1), scale.dtype) if self.fix_gamma else widen(gamma).reshape(1, b, 1)
        return gamma, widen(mean).reshape(statistics), scale.reshape(statistics)

    def pieces(self, shape: tuple[int, int, int], itemsize: int) -> Iterator[tuple[slice, slice]]:
        """Slices of A and B to treat at a time, of an array that holds something: never part of what a mean is taken over."""
        a, b, c = shape
        if self.over == "batch":
            step = max(1, PIECE // (a * c * itemsize)) if c >= 16 else b
            yield from ((slice(None), slice(i, i + step)) for i in range(0, b, step))
        else:
            step = max(1, PIECE // (b * c * itemsize))
            yield from ((slice(i, i + step), slice(None)) for i in range(0, a, step))


def _cut(array: np.ndarray, piece: tuple[slice, slice]) -> np.ndarray:
    """A piece of an array to be broadcast: axes of one element stay as they are."""
    return array[tuple(s if n > 1 else slice(None) for s, n in zip(piece, array.shape))]


@op("_backward_normalization")
class BackwardNormalization(_NormalizationBackward):
    """(dy, data, gamma, mean, third) -> (dx, dgamma, dbeta), where mean and spread are the normalization's outputs."""

    inputs = ("dy", "data", "gamma", "mean", "spread")

    def output_names(self):
        return ("data", "gamma", "beta")

    def infer_shape(self, dy, data, gamma, mean, spread):
        data, gamma = merge(dy, data), self.fit_shapes(data, gamma, mean, spread)
        return [data, gamma, gamma]

    def infer_type(self, dy, data, gamma, mean, spread):
        return [data, gamma, gamma]

    def compute(self, dy, data, gamma, mean, spread, *, training=False):
        shape, constant, axes = self.shape3(data.shape), self.constant(training), AXES[self.over]
        gammas, means, scales = self.view_parameters(data, gamma, mean, spread)
        y, x = widen(dy).reshape(shape), widen(data).reshape(shape)
        dx = np.empty_like(x, order="C", shape=shape)
        sums = np.zeros_like(x, order="C", shape=(2, shape[1]))
        batch = self.over == "batch"
        for piece in self.pieces(shape, x.itemsize) if data.size else ():  # of nothing there are no means
            part, g, m, s = (_cut(a, piece) for a in (y, gammas, means, scales))
            h = x[piece] - m
            by_gamma = None
            if batch and data.dtype == np.float16:  # MXNet rounds what it adds up to float16
                by_gamma = (s * widen(narrow(h, data.dtype) * dy.reshape(shape)[piece])).sum((0, 2))
            h = np.multiply(h, s, out=h) if batch else np.divide(h, s, out=h)
            if by_gamma is None:
                by_gamma = (part * h).sum((0, 2))
            by_beta = part.sum((0, 2))
            sums[0, piece[1]] += by_gamma
            sums[1, piece[1]] += by_beta
            v = part * (g * s) if batch else part * g / s
            if constant:
                dx[piece] = v
                continue
            if batch:
                count = x.dtype.type(shape[0] * shape[2])
                mean_h, mean_1 = (g * s * p[:, None] / count for p in (by_gamma, by_beta))
            else:
                mean_h, mean_1 = (mean_over(u, axes, keepdims=True) for u in (v * h, v))
            v -= mean_1
            h *= mean_h
            np.subtract(v, h, out=dx[piece])
        if self.fix_gamma:
            sums[0] = 0
        return narrow(dx.reshape(data.shape), data.dtype), *(a.astype(gamma.dtype, copy=False) for a in sums)

    def gradient(self, F, g, dy, data, gamma, mean, spread, *outputs):
        found = F._backward_normalization_twice(*g, dy, data, gamma, mean, spread, **self.dump())
        return found[0], found[1], found[2], None, None


@op("_backward_batch_normalization")
class BackwardBatchNormalization(BackwardNormalization):
    """_backward_normalization of a batch, which also moves the moving mean and variance towards those of the batch.

    MXNet moves them here and not in the forward pass: those of frozen layers, and of passes that are only looked at, stay. When not
    training they are the mean and variance, whatever the forward pass had."""

    momentum: float = 0.899999976

    inputs = (*BackwardNormalization.inputs, "moving_mean", "moving_var")
    mutates = ("moving_mean", "moving_var")

    def check(self):
        if self.over != "batch" or self.third == "std":
            return f"got over={self.over} and third={self.third}, wanted a batch's variance or 1 / s"
        return super().check()

    def infer_shape(self, dy, data, gamma, mean, spread, *moving):
        data, gamma = merge(dy, data), self.fit_shapes(data, gamma, mean, spread)
        gamma = merge_all((gamma, mean, spread, *moving))
        return [data, gamma, gamma]

    def infer_type(self, dy, data, gamma, mean, spread, *moving):
        return [data, gamma, gamma]

    def compute(self, dy, data, gamma, mean, spread, moving_mean, moving_var, *, training=False):
        constant = self.constant(training)
        if constant:
            mean = moving_mean
            spread = moving_var
            if self.third == "rstd":
                spread = 1 / np.sqrt(widen(moving_var) + widen(moving_var).dtype.type(self.eps))
        gradients = super().compute(dy, data, gamma, mean, spread, training=training)
        if not constant:
            var = spread if self.third == "var" else 1 / np.square(spread) - spread.dtype.type(self.eps)
            keep = float(np.float32(self.momentum))
            for moving, batch in ((moving_mean, mean), (moving_var, var)):
                moving *= keep
                moving += (1 - keep) * batch
        return gradients

    def gradient(self, F, g, dy, data, gamma, mean, spread, moving_mean, moving_var, *outputs):
        attrs = {k: v for k, v in self.dump().items() if k != "momentum"}
        found = F._backward_normalization_twice(*g, dy, data, gamma, mean, spread, **attrs)
        return found[0], found[1], found[2], None, None, None, None


@op("_backward_normalization_twice")
class BackwardNormalizationTwice(_NormalizationBackward):
    """Gradient of _backward_normalization by dy, data and gamma; gx, ggamma and gbeta are the gradients of its outputs."""

    inputs = ("gx", "ggamma", "gbeta", "dy", "data", "gamma", "mean", "spread")

    def output_names(self):
        return ("dy", "data", "gamma")

    def infer_shape(self, gx, ggamma, gbeta, dy, data, gamma, mean, spread):
        data, gamma = merge_all((gx, dy, data)), self.fit_shapes(data, gamma, mean, spread)
        gamma = merge_all((gamma, ggamma, gbeta))
        return [data, data, gamma]

    def infer_type(self, gx, ggamma, gbeta, dy, data, gamma, mean, spread):
        return [data, data, gamma]

    def compute(self, gx, ggamma, gbeta, dy, data, gamma, mean, spread, *, training=False):
        shape, constant, axes = self.shape3(data.shape), self.constant(training), AXES[self.over]
        gammas, means, scales = self.view_parameters(data, gamma, mean, spread)
        scales = scales if self.over == "batch" else 1 / scales
        u, y, x = (widen(a).reshape(shape) for a in (gx, dy, data))
        a, b = ((widen(v) * (i or not self.fix_gamma)).reshape(1, -1, 1) for i, v in enumerate((ggamma, gbeta)))
        h = (x - means) * scales

        def over(v):
            return mean_over(v, axes, keepdims=True)

        def project(v):
            return v if constant else v - over(v) - h * over(v * h)

        into = scales * project(u)
        v = gammas * y
        to_dy = gammas * into + a * h + b
        to_gamma = 0 * gammas if self.fix_gamma else (y * into).sum((0, 2))
        if constant:
            to_x = a * y * scales
        else:
            w = a * y - scales * (u * over(v * h) + v * over(u * h))
            to_x = scales * project(w) - scales**2 * h * over(u * project(v))
        return (
            *(narrow(t.reshape(data.shape), data.dtype) for t in (to_dy, to_x)),
            to_gamma.reshape(gamma.shape).astype(gamma.dtype, copy=False),
        )


@op("_backward_L2Normalization")
@part_of("L2Normalization", dy=0, y=0, norm=1)
class BackwardL2Normalization(Op):
    """Gradient of L2Normalization by data: (dy, y, norm) -> as dy."""

    mode: Literal["channel", "instance", "spatial"] = "instance"

    inputs = ("dy", "y", "norm")

    def infer_shape(self, dy, y, norm):
        return y

    def compute(self, dy, y, norm):
        axes = tuple(range(1, y.ndim)) if self.mode == "instance" else (1,)
        if self.mode == "spatial":
            axes = tuple(range(2, y.ndim))
        g, unit, norm = widen(dy), widen(y), np.expand_dims(widen(norm), axes)
        return narrow((g - unit * (g * unit).sum(axes, keepdims=True)) / norm, y.dtype)


@op("_backward_LRN")
@part_of("LRN", dy=0, norm=1)
class BackwardLRN(Elementwise):
    """Gradient of LRN by data: (dy, data, norm) -> as data."""

    alpha: float = 9.99999975e-05
    beta: float = 0.75
    knorm: float = 2.0
    nsize: Count

    inputs = ("dy", "data", "norm")

    def compute(self, dy, data, norm):
        g, x, norm = map(widen, (dy, data, norm))
        reach, beta = (self.nsize - 1) // 2, x.dtype.type(self.beta)
        power = norm**-beta
        weighted = g * x * power / norm
        padded = np.zeros((len(x), x.shape[1] + 2 * reach, *x.shape[2:]), x.dtype)
        padded[:, reach : reach + x.shape[1]] = weighted
        near = sum(padded[:, i : i + x.shape[1]] for i in range(2 * reach + 1))
        return narrow(g * power - x.dtype.type(2 * self.alpha * self.beta / self.nsize) * x * near, data.dtype)
