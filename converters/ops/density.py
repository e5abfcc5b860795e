"""Densities, where they need no gamma function."""

import math

from ..registry import not_exported, to_onnx


def spread(b, sample, *parameters):
    """Parameters with axes of 1 where the samples have more."""
    return [b.unsqueeze(p, range(p.rank, sample.rank)) for p in parameters]


def finished(b, op, log):
    """The density of its logarithm, unless that is wanted."""
    return log if op.is_log else b.Exp(log)


@to_onnx("_random_pdf_uniform")
def _(b, op, sample, low, high):
    low, high = spread(b, sample, low, high)
    width = b.Add(b.Sub(high, low), b.Mul(sample, b.like(0.0, sample)))  # in the shape of the samples
    return b.Neg(b.Log(width)) if op.is_log else b.Reciprocal(width)


@to_onnx("_random_pdf_normal")
def _(b, op, sample, mu, sigma):
    mu, sigma = spread(b, sample, mu, sigma)
    u = b.Div(b.Sub(sample, mu), sigma)
    scale = b.Log(b.Mul(sigma, b.like(math.sqrt(2 * math.pi), sample)))
    return finished(b, op, b.Sub(b.Mul(b.Mul(u, u), b.like(-0.5, sample)), scale))


@to_onnx("_random_pdf_exponential")
def _(b, op, sample, lam):
    (lam,) = spread(b, sample, lam)
    return finished(b, op, b.Sub(b.Log(lam), b.Mul(lam, sample)))


not_exported(
    "ONNX has no logarithm of the gamma function; compute the density outside the network",
    *(
        f"_random_pdf_{name}"
        for name in ("gamma", "poisson", "negative_binomial", "generalized_negative_binomial", "dirichlet")
    ),
)
