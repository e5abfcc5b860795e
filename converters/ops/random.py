"""Samplers, where ONNX has one or one can be built exactly. A model that holds one gives other numbers at every run."""

import math

import numpy as np

from hybrid.shapes import is_known

from ..error import Unsupported
from ..registry import not_exported, to_onnx


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
