"""Samplers, where ONNX has one or one can be built exactly. A model that holds one gives other numbers at every run."""

import math

import numpy as np

from hybrid.ops.random import FLOATS
from hybrid.shapes import is_known

from ..error import Unsupported
from ..kinds import dtype_of
from ..registry import from_onnx, not_exported, to_onnx
from .elementwise import number


def blank(b):
    """An array in the shape of the samples, and in the dtype to draw in."""
    result = b.results[0]
    if not is_known(result.shape):
        raise Unsupported("the shape of the samples is dynamic or decided by readers; give shape")
    working = np.float64 if result.dtype == np.float64 else np.float32
    return b.Expand(b.const(np.zeros((), working)), list(result.shape))


def like(b, data):
    """data in a dtype that onnxruntime draws in: its own, or float32 for float16."""
    return b.cast(data, np.float32) if data.dtype == np.float16 else data


def exponential(b, blank):
    """Samples of rate 1, from uniform ones below 1: -log(1 - u)."""
    u = b.RandomUniformLike(blank, dtype=blank.dtype)
    return b.Neg(b.Log(b.Sub(b.like(1.0, u), u)))


@to_onnx("_random_uniform", "_random_uniform_like")
def _(b, op, *data):
    shape = like(b, *data) if data else blank(b)
    return b.RandomUniformLike(shape, dtype=shape.dtype, low=op.low, high=op.high)


@to_onnx("_random_normal", "_random_normal_like")
def _(b, op, *data):
    shape = like(b, *data) if data else blank(b)
    return b.RandomNormalLike(shape, dtype=shape.dtype, mean=op.loc, scale=op.scale)


@to_onnx("_random_exponential", "_random_exponential_like")
def _(b, op, *data):
    drawn = exponential(b, like(b, *data) if data else blank(b))
    return b.Div(drawn, b.like(op.lam, drawn))


def spread(b, op, *parameters):
    """An array to draw like, and parameters of its dtype with axes of 1 for the samples of each."""
    made = blank(b)
    axes = range(parameters[0].rank, parameters[0].rank + len(op.shape))
    return made, *(b.unsqueeze(b.cast(p, made.dtype), axes) for p in parameters)


@to_onnx("_sample_uniform")
def _(b, op, low, high):
    shape, low, high = spread(b, op, low, high)
    return b.Add(low, b.Mul(b.Sub(high, low), b.RandomUniformLike(shape, dtype=shape.dtype)))


@to_onnx("_sample_normal")
def _(b, op, mu, sigma):
    shape, mu, sigma = spread(b, op, mu, sigma)
    return b.Add(mu, b.Mul(sigma, b.RandomNormalLike(shape, dtype=shape.dtype)))


@to_onnx("_sample_exponential")
def _(b, op, lam):
    shape, lam = spread(b, op, lam)
    return b.Div(exponential(b, shape), lam)


@to_onnx("_random_randint")
def _(b, op):
    if op.high - op.low > 2**52:
        raise Unsupported(f"low={op.low}, high={op.high}: a float64 sample cannot tell so many integers apart")
    shape = b.cast(blank(b), np.float64)
    u = b.RandomUniformLike(shape, dtype=shape.dtype)
    step = b.cast(b.Floor(b.Mul(u, b.const(op.high - op.low, np.float64))), np.int64)
    return b.Add(step, b.const(op.low))


@to_onnx("_sample_multinomial")
def _(b, op, data):
    rows = b.Log(b.cast(b.reshape(data, [-1, data.dim(-1)]), np.float32))
    drawn = b.Multinomial(rows, sample_size=math.prod(op.shape), dtype=np.int32)
    if data.rank > 2:
        dims = b.dims(*(b.size(data, a) for a in range(data.rank - 1)), *op.shape)
    else:
        dims = [-1, *op.shape] if data.rank == 2 else list(op.shape) or [1]
    chosen = b.reshape(drawn, dims)
    if not op.get_prob:
        return chosen
    return chosen, b.reshape(b.cast(b.GatherElements(rows, drawn, axis=1), data.dtype), dims)


not_exported(
    "ONNX has no sampler of this distribution and none to build it from; draw outside the network and feed the samples",
    *(
        form.format(name)
        for name in ("gamma", "poisson", "negative_binomial", "generalized_negative_binomial")
        for form in ("_random_{}", "_random_{}_like", "_sample_{}")
    ),
    "_sample_unique_zipfian",
)
not_exported("ONNX has no random permutation; shuffle outside the network", "_shuffle")


# -- reading -------------------------------------------------------------------------------------------------------------
# MXNet's samplers have no seed, take no scale of 0 and no shape with a 0 in it.


def _seeded(seed):
    return {} if seed is None else {"seed": seed}


@from_onnx("RandomNormal")
def _(g, *, shape, dtype=1, mean=0.0, scale=1.0, seed=None):
    wanted = dtype_of(dtype)
    if seed is None and wanted in FLOATS and shape and all(shape) and scale > 0:
        return g.apply("_random_normal", loc=mean, scale=scale, shape=shape, dtype=wanted)
    return g.itself(shape=shape, dtype=wanted, mean=mean, scale=scale, **_seeded(seed))


@from_onnx("RandomUniform")
def _(g, *, shape, dtype=1, low=0.0, high=1.0, seed=None):
    wanted = dtype_of(dtype)
    if seed is None and wanted in FLOATS and shape and all(shape) and low <= high:
        return g.apply("_random_uniform", low=low, high=high, shape=shape, dtype=wanted)
    return g.itself(shape=shape, dtype=wanted, low=low, high=high, **_seeded(seed))


@from_onnx("RandomNormalLike")
def _(g, x, *, dtype=None, mean=0.0, scale=1.0, seed=None):
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    if seed is None and x.dtype in FLOATS and wanted == x.dtype and scale > 0:
        return g.apply("_random_normal_like", x, loc=mean, scale=scale)
    return g.itself(x, dtype=wanted, mean=mean, scale=scale, **_seeded(seed))


@from_onnx("RandomUniformLike")
def _(g, x, *, dtype=None, low=0.0, high=1.0, seed=None):
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    if seed is None and x.dtype in FLOATS and wanted == x.dtype and low <= high:
        return g.apply("_random_uniform_like", x, low=low, high=high)
    return g.itself(x, dtype=wanted, low=low, high=high, **_seeded(seed))


@from_onnx("Multinomial", since=7)
def _(g, x, *, dtype=6, sample_size=1, seed=None):
    return g.itself(x, dtype=dtype_of(dtype), sample_size=sample_size, **_seeded(seed))


def _dropout(g, x, ratio, mask_dtype):
    """MXNet's Dropout, which drops when the network is trained; all pass the mask, if that is asked for."""
    if not g.wants(1):
        return g.Dropout(x, p=ratio)
    y, mask = g.apply("_onnx_Dropout", x)
    return y, mask if mask_dtype is None else g.Cast(mask, dtype=mask_dtype)


@from_onnx("Dropout")
def _(g, x, *, is_test=0, ratio=0.5):
    return _dropout(g, x, ratio, x.dtype)


@from_onnx("Dropout", since=7)
def _(g, x, *, ratio=0.5):
    return _dropout(g, x, ratio, x.dtype)


@from_onnx("Dropout", since=10)
def _(g, x, *, ratio=0.5):
    return _dropout(g, x, ratio, None)


@from_onnx("Dropout", since=12)
def _(g, x, ratio=None, training_mode=None, *, seed=None):
    share = 0.5 if ratio is None else number(ratio)
    known = training_mode is None or training_mode.fixed
    if known and share is not None and 0 <= share <= 1 and not g.wants(1):
        on = training_mode is not None and bool(training_mode.const.reshape(()))
        if not on or seed is None:
            return g.Dropout(x, p=share, mode="always" if on else "training")
    return g.itself(x, ratio, training_mode, **_seeded(seed))
