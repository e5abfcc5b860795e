"""Operators that the passes write over parameters, so that weights take up what follows them: computed once.

They compute in float64 and round once."""

import numpy as np

from ..core.attrs import Count
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, Shape, merge, merge_all, show
from .common import same, want_rank, want_rank_from

FLOAT64 = np.dtype(np.float64)


def _statistics(op, gamma, mean, var, beta) -> tuple[np.ndarray, np.ndarray]:
    """The factor and the summand, in float64, that BatchNorm with these statistics is."""
    scale = 1 / np.sqrt(var.astype(FLOAT64) + float(var.dtype.type(op.eps)))
    if not op.fix_gamma:
        scale *= gamma
    return scale, beta - mean * scale


class _Folding(Op):
    """Base of those that take BatchNorm's parameters."""

    eps: float
    fix_gamma: bool

    def infer_input_types(self, dtypes, outputs):
        return dtypes


@op("_fused_affine")
class Affine(_Folding):
    """The factor and the summand that BatchNorm with fixed statistics is, to broadcast with data of a rank, and in gamma's dtype:
    (gamma, beta, mean, var), each (C,) -> scale and shift, each with C at axis and ones elsewhere."""

    rank: int
    axis: int

    inputs = ("gamma", "beta", "mean", "var")

    def output_names(self):
        return ("scale", "shift")

    def check(self):
        return (
            None
            if 0 <= self.axis < self.rank <= 64
            else f"got axis={self.axis} and rank={self.rank}, wanted an axis of it"
        )

    def infer_shape(self, gamma, *rest):
        gamma = merge((UNKNOWN,), merge_all((gamma, *rest)))
        return [(*(1,) * self.axis, *gamma, *(1,) * (self.rank - self.axis - 1))] * 2

    def compute(self, gamma, beta, mean, var):
        shape = self.infer_shape(gamma.shape)[0]
        return tuple(a.reshape(shape).astype(gamma.dtype) for a in _statistics(self, gamma, mean, var, beta))

    @classmethod
    def examples(cls, make):
        parameters = [make.uniform(3), make.uniform(3), make.uniform(3), make.uniform(3, low=0.5, high=1.5)]
        yield make(*parameters, eps=1e-3, fix_gamma=False, rank=2, axis=1)
        yield make(*parameters, eps=1e-3, fix_gamma=True, rank=4, axis=1)


@op("_fused_folded")
class Folded(_Folding):
    """Weight and bias of a product that does what BatchNorm with fixed statistics did to its results:
    (weight, gamma, beta, mean, var, bias?) -> weight and bias. Of weight see Scaled."""

    num_group: Count = 1
    transposed: bool = False
    bias: bool = False

    inputs = ("weight", "gamma", "beta", "mean", "var", "bias")

    def input_names(self):
        return self.inputs if self.bias else self.inputs[:-1]

    def output_names(self):
        return ("weight", "bias")

    def infer_shape(self, weight, gamma, *rest):
        gamma = merge((UNKNOWN,), merge_all((gamma, *rest)))
        _want_filters(self, weight, gamma)
        return [weight, gamma]

    def compute(self, weight, gamma, beta, mean, var, *bias):
        scale, shift = _statistics(self, gamma, mean, var, beta)
        if bias:
            shift = shift + bias[0] * scale
        return scale_filters(weight, scale, self.num_group if self.transposed else None), shift.astype(weight.dtype)

    @classmethod
    def examples(cls, make):
        parameters = [make.uniform(4), make.uniform(4), make.uniform(4), make.uniform(4, low=0.5, high=1.5)]
        yield make(make.uniform(4, 3, 2, 2), *parameters, eps=1e-3, fix_gamma=False)
        weight = make.uniform(6, 2, 2, 2)
        yield make(
            weight, *parameters, make.uniform(4), eps=1e-3, fix_gamma=True, num_group=2, transposed=True, bias=True
        )


def _want_filters(op: "Folded | Scaled", weight: Shape, scale: Shape) -> None:
    """Raise OpError unless there is one number of scale, (num_filter,), for each filter of weight (see Scaled)."""
    want_rank(op, scale, 1, what="scale")
    want_rank_from(op, weight, 2 if op.transposed else 1, what="weight")  # a bias has filters alone
    if op.transposed and weight[0] is not UNKNOWN and weight[0] % op.num_group:
        raise op.error(f"got weight of shape {show(weight)}, wanted a multiple of {op.num_group} groups")
    same(op, "filters and scales", weight[1] * op.num_group if op.transposed else weight[0], scale[0])


def scale_filters(weight: np.ndarray, scale: np.ndarray, groups: int | None = None) -> np.ndarray:
    """weight (num_filter, ...) with every filter times its scale; with groups that of Deconvolution,
    (channels, num_filter / groups, ...)."""
    ones = (1,) * (weight.ndim - 2)
    factors = scale.astype(FLOAT64, copy=False)
    if groups is None:
        y = weight * factors.reshape(-1, *ones, *(1,) * (weight.ndim > 1))
    else:
        y = weight.reshape(groups, len(weight) // groups, *weight.shape[1:]) * factors.reshape(groups, 1, -1, *ones)
    return y.reshape(weight.shape).astype(weight.dtype)


@op("_fused_scaled")
class Scaled(Op):
    """weight (num_filter, ...) with every filter times its scale, (num_filter,). transposed: weight is that of Deconvolution,
    (channels, num_filter / num_group, ...)."""

    num_group: Count = 1
    transposed: bool = False

    inputs = ("weight", "scale")

    def infer_shape(self, weight, scale):
        _want_filters(self, weight, scale)
        return weight

    def compute(self, weight, scale):
        return scale_filters(weight, scale, self.num_group if self.transposed else None)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 3, 2, 2), make.uniform(4))
        yield make(make.uniform(4, 3, 2, 2), make.uniform(6), num_group=2, transposed=True)
