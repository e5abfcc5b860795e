"""Samplers: ONNX's own, or built from them exactly (by inverse distribution functions, by acceptance, by counting arrivals).

A model that holds one gives other numbers at every run."""

import math

import numpy as np

from hybrid.core.op import Spec
from hybrid.core.shapes import is_known
from hybrid.ops.random import FLOATS

from ..error import Unsupported
from ..onnx_types import code_of, dtype_of
from ..registry import exports, imports, not_exported
from .elementwise import number
from .solving import COUNTER, GOING

DOUBLE = code_of(np.dtype(np.float64))
BOOL = np.dtype(bool)


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


def between(b, shape):
    """Uniform samples above 0 and below 1 in float64, in the shape of an array; 0 and 1 themselves make logarithms infinite."""
    return b.RandomUniformLike(shape, dtype=DOUBLE, low=2.0**-54, high=1.0)


def exponential(b, shape):
    """Samples of rate 1, -log(u), in the shape of an array and in float64."""
    return b.Neg(b.Log(between(b, shape)))


def until(b, step, *states):
    """The states after step(builder, *states), which gives (what is still to do, *states), again and again until nothing is.

    What is still to do are truth values in the shape of the samples."""

    def body(inner, _, going, *given):
        left, *after = step(inner, *given)
        count = inner.reduce("Sum", inner.cast(left, np.float32), None, keepdims=False)
        return [inner.Greater(count, inner.like(0, count)), *after]

    graph = b.body(body, COUNTER, GOING, *(Spec(s.shape, s.dtype) for s in states))
    return b.Loop(None, b.const(True, np.bool_), *states, outputs=len(states), body=graph)


def standard_gamma(b, shape):
    """Samples of the gamma distribution of that shape, float64 values in the shape of the samples, and of scale 1.

    Source: Marsaglia and Tsang 2000, ACM Trans. Math. Softw. 26."""
    one = b.like(1.0, shape)
    small = b.Less(shape, one)
    d = b.Sub(b.Where(small, b.Add(shape, one), shape), 1 / 3)
    c = b.Reciprocal(b.Sqrt(b.Mul(d, 9.0)))
    # of others there are no samples to wait for: infinity of infinity, NaN of what is below 0
    drawn = b.And(b.GreaterOrEqual(shape, b.like(0.0, shape)), b.Less(shape, b.like(np.inf, shape)))
    none = b.Where(drawn, b.like(0.0, d), b.Sqrt(d))

    def step(inner, found, missing):
        x = inner.RandomNormalLike(d, dtype=DOUBLE)
        root = inner.Add(inner.Mul(c, x), one)
        v = inner.Mul(inner.Mul(root, root), root)
        positive = inner.Greater(v, inner.like(0.0, v))
        safe = inner.Where(positive, v, one)
        inside = inner.Add(inner.Sub(one, safe), inner.Log(safe))
        bound = inner.Add(inner.Mul(inner.Mul(x, x), 0.5), inner.Mul(d, inside))
        taken = inner.And(positive, inner.Less(inner.Log(between(inner, d)), bound))
        now = inner.And(missing, taken)
        left = inner.And(missing, inner.Not(taken))
        return [left, inner.Where(now, inner.Mul(d, v), found), left]

    found, _ = until(b, step, none, drawn)
    # of a shape below 1 it is one more, times u^(1 / shape)
    return b.Where(small, b.Mul(found, b.Pow(between(b, d), b.Reciprocal(shape))), found)


def poisson(b, lam):
    """Counts of Poisson's distribution of means lam, float64 values in the shape of the samples: how many of the arrivals that
    are exponentially apart come before lam. It takes as many steps as the largest count."""
    none = b.like(0.0, lam)
    start = b.Where(b.Less(lam, b.like(np.inf, lam)), none, lam)  # zeros, and what lam is where that is not finite

    def step(inner, time, count):
        later = inner.Add(time, exponential(inner, lam))
        before = inner.Less(later, lam)
        return [before, later, inner.Add(count, inner.cast(before, np.float64))]

    return until(b, step, start, start)[1]


@exports("_random_uniform", "_random_uniform_like")
def export_random_uniform(b, op, *data):
    shape = like(b, *data) if data else blank(b)
    return b.RandomUniformLike(shape, dtype=shape.dtype, low=op.low, high=op.high)


@exports("_random_normal", "_random_normal_like")
def export_random_normal(b, op, *data):
    shape = like(b, *data) if data else blank(b)
    return b.RandomNormalLike(shape, dtype=shape.dtype, mean=op.loc, scale=op.scale)


@exports("_random_exponential", "_random_exponential_like")
def export_random_exponential(b, op, *data):
    drawn = exponential(b, like(b, *data) if data else blank(b))
    return b.Div(drawn, b.like(op.lam, drawn))


def attribute_parameters(b, op, *data):
    """The parameters that are attributes, as float64 arrays in the shape of the samples."""
    shape = b.shape_of(like(b, *data) if data else blank(b))
    return [b.Expand(b.const(float(getattr(op, p.name)), np.float64), shape) for p in op.law.parameters]


def repeat_parameters(b, op, *parameters):
    """The parameters that are arrays, in float64 and in the shape of the samples."""
    made, *wide = spread(b, op, *(b.cast(p, np.float64) for p in parameters))
    return [b.Expand(b.cast(p, np.float64), b.shape_of(made)) for p in wide]


def gamma_law(b, alpha, beta):
    """Samples of shape alpha and scale beta."""
    return b.Mul(standard_gamma(b, alpha), beta)


def negative_binomial_law(b, k, p):
    """Number of trials that succeed before k have failed: Poisson's counts of a mean that is drawn."""
    p = b.Min(p, b.like(1.0, p))  # MXNet takes more than 1 as 1
    return poisson(b, b.Div(b.Mul(standard_gamma(b, k), b.Sub(b.like(1.0, p), p)), p))


def generalized_law(b, mu, alpha):
    """Negative binomial counts of mean mu and dispersion alpha."""
    certain = b.Equal(alpha, b.like(0.0, alpha))  # without dispersion it is Poisson's
    alpha = b.Where(certain, b.like(1.0, alpha), alpha)
    drawn = b.Mul(standard_gamma(b, b.Reciprocal(alpha)), b.Mul(mu, alpha))
    return poisson(b, b.Where(certain, mu, drawn))


BUILT = {
    "gamma": gamma_law,
    "poisson": poisson,
    "negative_binomial": negative_binomial_law,
    "generalized_negative_binomial": generalized_law,
}


def _build_from_numbers(b, op, *data):
    return BUILT[op.law.name](b, *attribute_parameters(b, op, *data))


def _build_from_arrays(b, op, *parameters):
    return BUILT[op.law.name](b, *repeat_parameters(b, op, *parameters))


for _name in BUILT:
    exports(f"_random_{_name}", f"_random_{_name}_like")(_build_from_numbers)
    exports(f"_sample_{_name}")(_build_from_arrays)


def spread(b, op, *parameters):
    """An array to draw like, and parameters of its dtype with axes of 1 for the samples of each."""
    made = blank(b)
    axes = range(parameters[0].rank, parameters[0].rank + len(op.shape))
    return made, *(b.unsqueeze(b.cast(p, made.dtype), axes) for p in parameters)


@exports("_sample_uniform")
def export_sample_uniform(b, op, low, high):
    shape, low, high = spread(b, op, low, high)
    return b.Add(low, b.Mul(b.Sub(high, low), b.RandomUniformLike(shape, dtype=shape.dtype)))


@exports("_sample_normal")
def export_sample_normal(b, op, mu, sigma):
    shape, mu, sigma = spread(b, op, mu, sigma)
    return b.Add(mu, b.Mul(sigma, b.RandomNormalLike(shape, dtype=shape.dtype)))


@exports("_sample_exponential")
def export_sample_exponential(b, op, lam):
    shape, lam = spread(b, op, lam)
    return b.Div(exponential(b, shape), b.cast(lam, np.float64))


@exports("_random_randint")
def export_random_randint(b, op):
    if op.high - op.low > 2**52:
        raise Unsupported(f"low={op.low}, high={op.high}: a float64 sample cannot tell so many integers apart")
    shape = b.cast(blank(b), np.float64)
    u = b.RandomUniformLike(shape, dtype=shape.dtype)
    step = b.cast(b.Floor(b.Mul(u, b.const(op.high - op.low, np.float64))), np.int64)
    return b.Add(step, b.const(op.low))


@exports("_sample_multinomial")
def export_sample_multinomial(b, op, data):
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


def shuffle(b, count):
    """The numbers below count (as ``b.size`` gives it) in random order: those of as many uniform samples that are sorted."""
    dims = b.const([count]) if isinstance(count, int) else count
    keys = b.RandomUniformLike(b.Expand(b.const(0, np.float64), dims), dtype=DOUBLE)
    return b.TopK(keys, dims, axis=0, outputs=2)[1]


@exports("_shuffle")
def export_shuffle(b, op, data):
    return b.Gather(data, shuffle(b, b.size(data, 0)), axis=0) if data.rank else data


not_exported(
    "it draws as often as it takes for all to differ and says how often that was; draw classes outside the network and feed them",
    "_sample_unique_zipfian",
)


# -- reading -------------------------------------------------------------------------------------------------------------
# MXNet's samplers have no seed, take no scale of 0 and no shape with a 0 in it.


def _seed_attribute(seed):
    return {} if seed is None else {"seed": seed}


@imports("RandomNormal")
def import_random_normal(g, *, shape, dtype=1, mean=0.0, scale=1.0, seed=None):
    wanted = dtype_of(dtype)
    if seed is None and wanted in FLOATS and shape and all(shape) and scale > 0:
        return g.apply("_random_normal", loc=mean, scale=scale, shape=shape, dtype=wanted)
    return g.passthrough(shape=shape, dtype=wanted, mean=mean, scale=scale, **_seed_attribute(seed))


@imports("RandomUniform")
def import_random_uniform(g, *, shape, dtype=1, low=0.0, high=1.0, seed=None):
    wanted = dtype_of(dtype)
    if seed is None and wanted in FLOATS and shape and all(shape) and low <= high:
        return g.apply("_random_uniform", low=low, high=high, shape=shape, dtype=wanted)
    return g.passthrough(shape=shape, dtype=wanted, low=low, high=high, **_seed_attribute(seed))


@imports("RandomNormalLike")
def import_random_normal_like(g, x, *, dtype=None, mean=0.0, scale=1.0, seed=None):
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    if seed is None and x.dtype in FLOATS and wanted == x.dtype and scale > 0:
        return g.apply("_random_normal_like", x, loc=mean, scale=scale)
    return g.passthrough(x, dtype=wanted, mean=mean, scale=scale, **_seed_attribute(seed))


@imports("RandomUniformLike")
def import_random_uniform_like(g, x, *, dtype=None, low=0.0, high=1.0, seed=None):
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    if seed is None and x.dtype in FLOATS and wanted == x.dtype and low <= high:
        return g.apply("_random_uniform_like", x, low=low, high=high)
    return g.passthrough(x, dtype=wanted, low=low, high=high, **_seed_attribute(seed))


@imports("Multinomial", since=7)
def import_multinomial(g, x, *, dtype=6, sample_size=1, seed=None):
    return g.passthrough(x, dtype=dtype_of(dtype), sample_size=sample_size, **_seed_attribute(seed))


def _dropout(g, x, ratio, mask_dtype, *, settled):
    """Dropout that passes everything in inference: MXNet's, which drops when the network is trained.

    One whose mask is read stays what the file says in training too, so that data and mask go together: data as they are, and
    a mask that is true everywhere, of mask_dtype. ratio: None where it is only known at run time, which leaves it without effect.
    settled: the opset says what the mask holds in inference; before opset 12 none does."""
    masked = g.wants(1) and g.is_read(1)
    if masked and not settled:
        g.note_fix(
            "no opset before 12 says what the mask of Dropout holds in inference: read as all true, as opset 12 does "
            "(onnxruntime gives all false)",
            changes_numerics=True,
        )
    y = g.identity(x) if masked or ratio is None else g.Dropout(x, p=ratio)
    if not g.wants(1):
        return y
    mask = g.ones_like(x)
    return y, mask if mask_dtype == x.dtype else g.Cast(mask, dtype=mask_dtype)


@imports("Dropout")
def import_dropout_first(g, x, *, is_test=0, ratio=0.5):
    return _dropout(g, x, ratio, x.dtype, settled=False)


@imports("Dropout", since=7)
def import_dropout_since_7(g, x, *, ratio=0.5):
    return _dropout(g, x, ratio, x.dtype, settled=False)


@imports("Dropout", since=10)
def import_dropout_since_10(g, x, *, ratio=0.5):
    return _dropout(g, x, ratio, BOOL, settled=False)


@imports("Dropout", since=12)
def import_dropout_since_12(g, x, ratio=None, training_mode=None, *, seed=None):
    share = 0.5 if ratio is None else number(ratio)
    valid = share is None or 0 <= share <= 1
    if valid and (training_mode is None or (training_mode.fixed and not training_mode.item())):
        if g.shared.trains:
            g.note_training("not in training mode beside others that are, and so dropping nothing in training either")
            share = None
        return _dropout(g, x, share, BOOL, settled=True)
    masked = g.wants(1) and g.is_read(1)
    if (
        valid
        and share is not None
        and training_mode is not None
        and training_mode.fixed
        and seed is None
        and not masked
    ):
        y = g.Dropout(x, p=share, mode="always")
        return (y, g.Cast(g.ones_like(x), dtype=BOOL)) if g.wants(1) else y
    return g.passthrough(x, ratio, training_mode, **_seed_attribute(seed))
