"""Samplers of np networks: standard draws by inverse distribution functions, moved and stretched."""

import math

import numpy as np

from hybrid.core.shapes import is_known
from hybrid.ops.np_random import Drawn

from ..registry import exports, for_every_operator
from .random import DOUBLE, between, exponential, shuffle, standard_gamma


def parameters(b, op, arrays):
    """All parameters in float64: constants, or what is cast from arrays."""
    values = op.merge_parameters(arrays)
    return [b.cast(v, np.float64) if hasattr(v, "rank") else b.const(float(v), np.float64) for v in values]


def target(b, op, values):
    """An array of float64 in the shape of the samples."""
    result = b.results[0]
    if is_known(result.shape):
        return b.Expand(b.const(0, np.float64), b.const(list(result.shape)))
    whole = values[0] if len(values) == 1 else b.Add(*values)
    if op.size:
        return b.Expand(b.const(0, np.float64), b.dims(*op.size, b.shape_of(whole)))
    return whole


def _uniform(b, shape, low, high):
    return b.Add(low, b.Mul(b.Sub(high, low), b.RandomUniformLike(shape, dtype=DOUBLE)))


def _normal(b, shape, loc, scale):
    return b.Add(loc, b.Mul(scale, b.RandomNormalLike(shape, dtype=DOUBLE)))


def _gumbel(b, shape, loc, scale):
    return b.Sub(loc, b.Mul(scale, b.Log(exponential(b, shape))))


def _logistic(b, shape, loc, scale):
    u = between(b, shape)
    return b.Add(loc, b.Mul(scale, b.Sub(b.Log(u), b.Log(b.Sub(b.like(1.0, u), u)))))


def _exponential(b, shape, scale):
    return b.Mul(scale, exponential(b, shape))


def _rayleigh(b, shape, scale):
    return b.Mul(scale, b.Sqrt(b.Mul(exponential(b, shape), 2.0)))


def _weibull(b, shape, a):
    return b.Pow(exponential(b, shape), b.Reciprocal(a))


def _pareto(b, shape, a):
    return b.Sub(b.Exp(b.Div(exponential(b, shape), a)), 1.0)


def _powerd(b, shape, a):
    return b.Pow(between(b, shape), b.Reciprocal(a))


MADE = {
    "uniform": _uniform,
    "normal": _normal,
    "gumbel": _gumbel,
    "logistic": _logistic,
    "exponential": _exponential,
    "rayleigh": _rayleigh,
    "weibull": _weibull,
    "pareto": _pareto,
    "powerd": _powerd,
}


def _draw(b, op, *arrays):
    values = parameters(b, op, arrays)
    return MADE[op.law.name](b, target(b, op, values), *values)


@for_every_operator
def export_draws(name, cls):
    """Register draws from distributions."""
    if issubclass(cls, Drawn):
        exports(name)(_draw)


@exports("_npi_gamma")
def export_npi_gamma(b, op, *arrays):
    shape, scale = parameters(b, op, arrays)
    size = b.shape_of(target(b, op, [shape, scale]))
    return b.Mul(standard_gamma(b, b.Expand(shape, size)), scale)


@exports("_npi_bernoulli")
def export_npi_bernoulli(b, op, *arrays):
    (p,) = parameters(b, op, arrays)
    u = b.RandomUniformLike(target(b, op, [p]), dtype=DOUBLE)
    if op.is_logit:
        p = b.Reciprocal(b.Add(b.Exp(b.Neg(p)), 1.0))
    return b.cast(b.Less(u, p), op.dtype)


def count_passed(b, u, ends):
    """Number of the ends (k,) that each of u (...) has passed: int64 (...)."""
    passed = b.GreaterOrEqual(b.unsqueeze(u, [u.rank]), ends)
    return b.reduce("Sum", b.cast(passed, np.int64), [u.rank], keepdims=False)


@exports("_npi_choice")
def export_npi_choice(b, op, *arrays):
    count = b.size(arrays[0], 0) if op.a is None else op.a
    size = list(op.size or ())
    wanted = math.prod(size)
    if op.weighted:
        p = b.cast(arrays[-1], np.float64)
    if not op.replace:
        if not op.weighted:
            order = shuffle(b, count)
        else:  # Gumbel's noise makes the order that of drawing one after the other
            keys = b.Sub(b.Log(p), b.Log(exponential(b, p)))
            order = b.TopK(keys, b.const([wanted]), axis=0, outputs=2)[1]
        return b.reshape(b.slice(order, [0], [wanted], [0]), size)
    u = b.RandomUniformLike(b.Expand(b.const(0, np.float64), b.const(size)), dtype=DOUBLE)
    u.shape = tuple(size)
    if op.weighted:
        ends = b.CumSum(p, 0)
        total = b.reduce("Sum", p, [0], keepdims=True)
        # the last end is not asked: what lies behind the last but one is the last
        return count_passed(b, u, b.slice(b.Div(ends, total), [0], [-1], [0]))
    many = b.const(count) if isinstance(count, int) else b.squeeze(count, [0])
    return b.cast(b.Floor(b.Mul(u, b.cast(many, np.float64))), np.int64)


@exports("_npi_multinomial")
def export_npi_multinomial(b, op, *arrays):
    p = b.cast(arrays[0], np.float64) if arrays else b.const(op.pvals, np.float64)
    size = list(op.size or ())
    rank = len(size)
    u = b.RandomUniformLike(b.Expand(b.const(0, np.float64), b.const([*size, 1, op.n])), dtype=DOUBLE)
    # how many lie before each end; the last end is 1, whatever the probabilities sum to
    ends = b.unsqueeze(b.CumSum(b.slice(p, [0], [-1], [0]), 0), [1])
    before = b.reduce("Sum", b.cast(b.Less(u, ends), np.int64), [rank + 1], keepdims=False)
    edge = b.Expand(b.const(0), b.const([*size, 1]))
    whole = b.Expand(b.const(op.n), b.const([*size, 1]))
    return b.Sub(b.Concat(before, whole, axis=rank), b.Concat(edge, before, axis=rank))
