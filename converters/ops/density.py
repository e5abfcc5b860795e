"""Densities of samples; those with gamma functions are computed in float64, since their logarithms nearly cancel."""

import math

import numpy as np

from ..registry import exports
from .special import gammaln


def expand_parameters(b, sample, *parameters):
    """Parameters with axes of 1 where the samples have more."""
    return [b.unsqueeze(p, range(p.rank, sample.rank)) for p in parameters]


def density_of_log(b, op, log):
    """The density of its logarithm, unless that is wanted."""
    return log if op.is_log else b.Exp(log)


@exports("_random_pdf_uniform")
def export_random_pdf_uniform(b, op, sample, low, high):
    low, high = expand_parameters(b, sample, low, high)
    width = b.Add(b.Sub(high, low), b.Mul(sample, b.like(0.0, sample)))  # in the shape of the samples
    return b.Neg(b.Log(width)) if op.is_log else b.Reciprocal(width)


@exports("_random_pdf_normal")
def export_random_pdf_normal(b, op, sample, mu, sigma):
    mu, sigma = expand_parameters(b, sample, mu, sigma)
    u = b.Div(b.Sub(sample, mu), sigma)
    scale = b.Log(b.Mul(sigma, b.like(math.sqrt(2 * math.pi), sample)))
    return density_of_log(b, op, b.Sub(b.Mul(b.Mul(u, u), b.like(-0.5, sample)), scale))


@exports("_random_pdf_exponential")
def export_random_pdf_exponential(b, op, sample, lam):
    (lam,) = expand_parameters(b, sample, lam)
    return density_of_log(b, op, b.Sub(b.Log(lam), b.Mul(lam, sample)))


def expand_in_float64(b, op, sample, *parameters):
    """All in float64, the parameters with axes of 1 where the samples have more."""
    own = op.own_axes
    values = []
    for p in parameters:
        lead = p.rank - own
        values.append(b.unsqueeze(b.cast(p, np.float64), range(lead, lead + sample.rank - p.rank)))
    return b.cast(sample, np.float64), *values


@exports("_random_pdf_gamma")
def export_random_pdf_gamma(b, op, sample, alpha, beta):
    x, alpha, beta = expand_in_float64(b, op, sample, alpha, beta)
    powers = b.Add(b.Mul(alpha, b.Log(beta)), b.Mul(b.Sub(alpha, b.like(1, x)), b.Log(x)))
    return density_of_log(b, op, b.Sub(b.Sub(powers, b.Mul(beta, x)), gammaln(b, alpha)))


def log_factorial(b, x):
    """log(x!)"""
    return gammaln(b, b.Add(x, b.like(1, x)))


@exports("_random_pdf_poisson")
def export_random_pdf_poisson(b, op, sample, lam):
    x, lam = expand_in_float64(b, op, sample, lam)
    return density_of_log(b, op, b.Sub(b.Sub(b.Mul(x, b.Log(lam)), log_factorial(b, x)), lam))


def log_negative_binomial(b, x, k, p):
    """The logarithm of the probability of x successes before k failures of probability p."""
    chances = b.Add(b.Mul(k, b.Log(p)), b.Mul(x, b.Log(b.Sub(b.like(1, x), p))))
    return b.Add(b.Sub(b.Sub(gammaln(b, b.Add(x, k)), log_factorial(b, x)), gammaln(b, k)), chances)


@exports("_random_pdf_negative_binomial")
def export_random_pdf_negative_binomial(b, op, sample, k, p):
    x, k, p = expand_in_float64(b, op, sample, k, p)
    return density_of_log(b, op, log_negative_binomial(b, x, k, p))


@exports("_random_pdf_generalized_negative_binomial")
def export_random_pdf_generalized_negative_binomial(b, op, sample, mu, alpha):
    x, mu, alpha = expand_in_float64(b, op, sample, mu, alpha)
    p = b.Reciprocal(b.Add(b.Mul(mu, alpha), b.like(1, x)))
    return density_of_log(b, op, log_negative_binomial(b, x, b.Reciprocal(alpha), p))


@exports("_random_pdf_dirichlet")
def export_random_pdf_dirichlet(b, op, sample, alpha):
    x, alpha = expand_in_float64(b, op, sample, alpha)
    terms = b.Sub(b.Mul(b.Sub(alpha, b.like(1, x)), b.Log(x)), gammaln(b, alpha))
    last = sample.rank - 1
    whole = gammaln(b, b.reduce("Sum", alpha, [last], keepdims=False))
    log = b.Add(b.reduce("Sum", terms, [last], keepdims=False), whole)
    return density_of_log(b, op, b.reshape(log, [1]) if sample.rank == 1 else log)
