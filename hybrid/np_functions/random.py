"""Samplers of mx.np.random and mx.npx.random. A parameter of a law is a number, an array or a symbol.

Samples of laws that are a standard draw, moved and stretched, have gradients by their parameters (ops/np_random.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.error import OperandError, OpError
from ..execution.context import Context
from .elementwise import BINARY, binary
from .side import Side, function


def _whereabouts(F: Side, ctx: Any) -> dict[str, Any]:  # noqa: N803
    """The attribute ctx, where it is to be given."""
    if ctx is None and F.eager:
        ctx = Context.current
        return {} if ctx.device_typeid == 1 and not ctx.device_id else {"ctx": ctx}
    return {"ctx": Context.current if ctx is None else ctx}


def _sample(F: Side, op: str, parameters: dict[str, Any], size: Any, ctx: Any, out: Any = None, **more: Any) -> Any:  # noqa: N803
    """Draw by the operator: parameters that are arrays or symbols are its inputs, and None among its attributes.

    Raises OpError (a ValueError) for parameters that are no numbers, or that mean no law."""
    arrays, numbers = [], {}
    for name, value in parameters.items():
        if isinstance(value, F.kind):
            arrays.append(value)
            numbers[name] = None
        else:
            numbers[name] = value
    where = {} if ctx is _NOWHERE else _whereabouts(F, ctx)
    return getattr(F.ops, op)(*arrays, **numbers, size=None if size == () else size, **where, **more, out=out)


_NOWHERE = object()
"""The context of operators that have no such attribute."""


@function("np.random")
def uniform(
    F: Side,  # noqa: N803
    low: Any = 0.0,
    high: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Numbers from low (included) to high (excluded), all equally likely. dtype: float32 unless given."""
    return _sample(F, "_npi_uniform", {"low": low, "high": high}, size, ctx, out, dtype=dtype or "float32")


@function("np.random")
def normal(
    F: Side,  # noqa: N803
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Normally distributed numbers of mean loc and standard deviation scale. dtype: float32 unless given."""
    return _sample(F, "_npi_normal", {"loc": loc, "scale": scale}, size, ctx, out, dtype=dtype or "float32")


@function("np.random")
def lognormal(
    F: Side,  # noqa: N803
    mean: Any = 0.0,
    sigma: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Numbers whose logarithms are normally distributed of mean ``mean`` and standard deviation sigma; out takes the logarithms."""
    return F.ops._npi_exp(normal(F, mean, sigma, size, dtype, ctx, out))


@function("np.random")
def logistic(F: Side, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:  # noqa: N803
    """Numbers of the logistic distribution of mean loc and that scale."""
    return _sample(F, "_npi_logistic", {"loc": loc, "scale": scale}, size, ctx, out)


@function("np.random")
def gumbel(F: Side, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:  # noqa: N803
    """Numbers of Gumbel's distribution of mode loc and that scale."""
    return _sample(F, "_npi_gumbel", {"loc": loc, "scale": scale}, size, ctx, out)


@function("np.random")
def rayleigh(F: Side, scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:  # noqa: N803
    """Numbers of Rayleigh's distribution of mode scale."""
    return _sample(F, "_npi_rayleigh", {"scale": scale}, size, ctx, out)


@function("np.random")
def exponential(F: Side, scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:  # noqa: N803
    """Exponentially distributed numbers of mean scale."""
    return _sample(F, "_npi_exponential", {"scale": scale}, size, ctx, out)


@function("np.random")
def weibull(F: Side, a: Any, size: Any = None, ctx: Any = None, out: Any = None) -> Any:  # noqa: N803
    """Numbers of Weibull's distribution of shape a and scale 1."""
    return _sample(F, "_npi_weibull", {"a": a}, size, ctx, out)


@function("np.random")
def pareto(F: Side, a: Any, size: Any = None, ctx: Any = None, out: Any = None) -> Any:  # noqa: N803
    """Numbers of the Pareto II (Lomax) distribution of shape a, which begins at 0."""
    return _sample(F, "_npi_pareto", {"a": a}, size, ctx, out)


@function("np.random")
def power(F: Side, a: Any, size: Any = None) -> Any:  # noqa: N803
    """Numbers in [0, 1] of density a x^(a - 1)."""
    return _sample(F, "_npi_powerd", {"a": a}, size, _NOWHERE)


@function("np.random")
def gamma(
    F: Side,  # noqa: N803
    shape: Any,
    scale: Any = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Numbers of the gamma distribution of that shape and scale, in the shape of out where there is one. Its parameters have no
    gradients."""
    if out is not None:
        size = out.shape
    return _sample(F, "_npi_gamma", {"shape": shape, "scale": scale}, size, ctx, out, dtype=dtype or "float32")


@function("np.random")
def beta(F: Side, a: Any, b: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:  # noqa: N803
    """Numbers of the beta distribution of shapes a and b, made of two of gamma's in float64. Its parameters have no gradients."""
    x, y = gamma(F, a, 1, size, "float64", ctx), gamma(F, b, 1, size, "float64", ctx)
    part = F.ops._npi_true_divide(x, F.ops._npi_add(x, y))
    return F.ops._npi_cast(part, dtype=dtype or "float32")


@function("np.random")
def chisquare(F: Side, df: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:  # noqa: N803
    """Numbers of the chi-square distribution of df degrees of freedom, as MXNet 1.9.1 draws them: gamma's of shape df / 2 and scale
    1/2, whose mean is df / 4."""
    return gamma(F, binary(F, BINARY["true_divide"], df, 2), 1 / 2, size, dtype, ctx)


@function("np.random")
def randint(
    F: Side,  # noqa: N803
    low: Any,
    high: Any = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Whole numbers from low (included) to high (excluded), or from 0 to low; int64 unless given, or int32."""
    if high is None:
        low, high = 0, low
    shape = () if size is None else size
    where = _whereabouts(F, ctx)
    return F.ops._npi_random_randint(low=low, high=high, shape=shape, dtype=dtype or "int64", **where, out=out)


def _sizes(size: tuple[Any, ...]) -> tuple[Any, ...]:
    """The size that rand and randn were given, one argument a dimension. Raises OpError for anything but whole numbers."""
    for each in size:
        if not isinstance(each, int | np.integer):
            raise OpError(f"got {each!r} among the sizes, wanted whole numbers, one argument a dimension")
    return size


@function("np.random")
def rand(F: Side, *size: int, **kwargs: Any) -> Any:  # noqa: N803
    """Numbers from 0 (included) to 1 (excluded) in a shape, one argument a dimension."""
    return uniform(F, 0, 1, size=_sizes(size), **kwargs)


@function("np.random", symbols=False)
def randn(F: Side, *size: int, **kwargs: Any) -> Any:  # noqa: N803
    """Normally distributed numbers in a shape, one argument a dimension."""
    return normal(F, 0, 1, size=_sizes(size), **kwargs)


@function("np.random")
def choice(
    F: Side,  # noqa: N803
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """Numbers below a, or rows of an array a: all equally likely, or as an array p says; without replace none comes twice.

    out takes numbers only: rows are new."""
    if p is not None and not isinstance(p, F.kind):
        raise OperandError(f"choice: p must be an array or a symbol of mx.np, got {type(p).__name__}")
    weights = () if p is None else (p,)
    given = {"size": None if size == () else size, "replace": replace, "weighted": p is not None}
    if isinstance(a, F.kind):
        places = F.ops._npi_choice(a, *weights, a=None, **given)
        return F.ops._npi_take(a, places)
    return F.ops._npi_choice(*weights, a=a, **given, **_whereabouts(F, ctx), out=out)


@function("np.random", symbols=False)
def multinomial(F: Side, n: int, pvals: Any, size: Any = None) -> Any:  # noqa: N803
    """Count how often each outcome came in n trials of probabilities pvals: an array of mx.np, or a list of numbers, in which
    the last takes what is left of 1. Raises ValueError for an array of NumPy, or for anything but one dimension."""
    if isinstance(pvals, F.kind):
        return F.ops._npi_multinomial(pvals, pvals=None, n=n, size=size)
    if isinstance(pvals, np.ndarray):
        raise ValueError("numpy ndarray is not supported!")
    if any(isinstance(each, list) for each in pvals):
        raise ValueError("object too deep for desired array")
    return F.ops._npi_multinomial(n=n, pvals=pvals, size=size)


@function("np.random")
def multivariate_normal(
    F: Side,  # noqa: N803
    mean: Any,
    cov: Any,
    size: Any = None,
    check_valid: Any = None,
    tol: Any = None,
) -> Any:
    """Normally distributed vectors of means (..., n) for positive definite cov (..., n, n): size of each pair.

    With L L^T = cov the covariances of what is drawn are L^T L, as in MXNet 1.9.1: those that cov says where it is diagonal.
    Raises OperandError (a TypeError) for what is no array, OpError for shapes that do not fit together. check_valid and tol are not
    read; mx.sym.np raises NotImplementedError for them."""
    if not F.eager and not (check_valid is None and tol is None):
        raise NotImplementedError("Parameters `check_valid` and `tol` are not supported")
    for value in (mean, cov):
        if not isinstance(value, F.kind):
            raise OperandError(f"multivariate_normal: wanted arrays or symbols of mx.np, got {type(value).__name__}")
    if F.eager and (mean.ndim < 1 or cov.ndim < 2 or not cov.shape[-1] == cov.shape[-2] == mean.shape[-1]):
        raise OpError(
            f"multivariate_normal: got mean of shape {mean.shape} and cov of shape {cov.shape}, wanted (..., n) and (..., n, n)"
        )
    root = F.ops._npi_cholesky(cov)
    # the noise is in the shape and dtype of mean + cov[..., 0], whatever they are, with size in front
    like = F.ops._npi_add(mean, F.ops._np_sum(root, axis=-1))
    extra = () if size is None else (size,) if isinstance(size, int | np.integer) else tuple(size)
    for count in reversed(extra):
        like = F.ops._npi_expand_dims(like, axis=0)
        like = F.ops._np_repeat(like, repeats=count, axis=0) if count else F.ops._npx_slice(like, begin=(0,), end=(0,))
    noise = F.ops._random_normal_like(like)
    return F.ops._npi_add(mean, F.ops._npi_einsum(root, noise, subscripts="...jk,...j->...k"))


@function("np.random")
def shuffle(F: Side, x: Any) -> None:  # noqa: N803
    """Put the rows of an array in random order, in place. For symbols nothing happens, as in MXNet.

    Raises OpError for a single number."""
    if not F.eager:
        return
    if isinstance(x, F.kind) and not x.ndim:
        raise OpError("shuffle: got a single number, wanted an array of one dimension or more")
    F.ops._npi_shuffle(x, out=x)


@function("npx.random")
def bernoulli(
    F: Side,  # noqa: N803
    prob: Any = None,
    logit: Any = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
    out: Any = None,
) -> Any:
    """1 with probability prob, or 1 / (1 + exp(-logit)), else 0. dtype: float32 unless given.

    Raises ValueError unless one of prob and logit is given."""
    if (prob is None) == (logit is None):
        raise ValueError(
            f"Either `prob` or `logit` must be specified, but not both. Received prob={prob}, logit={logit}"
        )
    name, value = ("prob", prob) if logit is None else ("logit", logit)
    more = {"logit" if name == "prob" else "prob": None, "is_logit": name == "logit", "dtype": dtype or "float32"}
    return _sample(F, "_npi_bernoulli", {name: value}, size, ctx, out, **more)


@function("npx.random")
def uniform_n(
    F: Side,  # noqa: N803
    low: Any = 0.0,
    high: Any = 1.0,
    batch_shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
) -> Any:
    """As np.random.uniform, batch_shape samples for each element of the parameters: batch_shape comes in front of their shape."""
    return _sample(F, "_npi_uniform_n", {"low": low, "high": high}, batch_shape, ctx, dtype=dtype or "float32")


@function("npx.random")
def normal_n(
    F: Side,  # noqa: N803
    loc: Any = 0.0,
    scale: Any = 1.0,
    batch_shape: Any = None,
    dtype: Any = None,
    ctx: Any = None,
) -> Any:
    """As np.random.normal, batch_shape samples for each element of the parameters: batch_shape comes in front of their shape."""
    return _sample(F, "_npi_normal_n", {"loc": loc, "scale": scale}, batch_shape, ctx, dtype=dtype or "float32")
