"""Probability densities of the distributions in random.py, as functions of samples and parameters."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.op import Domain, Op, op
from ..core.shapes import merge, merge_all, show
from .common import as_array, as_forward_wants, forward_of
from .composing import definite, known
from .random import wrong_float
from .special import digamma, gammaln

NUMPY = SimpleNamespace(log=np.log, gammaln=gammaln, sum=np.sum)
"""The functions of arrays that logarithms of densities are made of."""


class Density(NamedTuple):
    """The logarithm of a density, and its derivatives; all by NumPy on float64 arrays that broadcast."""

    name: str
    parameters: tuple[str, ...]
    log: Callable[..., Any]
    """log(functions, sample, *parameters), the functions being NUMPY, or F for symbols"""
    slopes: Callable[..., tuple[Any, ...]]
    """The derivatives of log by the sample and by each parameter."""
    doc: str
    counts: bool = False
    """True when samples are integers; then there is no derivative by them, and it is given as 0."""


def _uniform(m, x, low, high):
    return 0 * x - m.log(high - low)  # MXNet does not ask whether x lies between them


def _uniform_slopes(x, low, high):
    return 0 * x, 1 / (high - low) + 0 * x, -1 / (high - low) + 0 * x


def _normal(m, x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - m.log(float(np.sqrt(2 * np.pi)) * sigma)


def _normal_slopes(x, mu, sigma):
    u = (x - mu) / sigma
    return -u / sigma, u / sigma, (u**2 - 1) / sigma


def _gamma(m, x, a, b):
    return a * m.log(b) + (a - 1) * m.log(x) - b * x - m.gammaln(a)


def _gamma_slopes(x, a, b):
    return (a - 1) / x - b, np.log(b) + np.log(x) - digamma(a), a / b - x


def _exponential(m, x, lam):
    return m.log(lam) - lam * x


def _exponential_slopes(x, lam):
    return -lam + 0 * x, 1 / lam - x


def _poisson(m, x, lam):
    return x * m.log(lam) - m.gammaln(x + 1) - lam


def _poisson_slopes(x, lam):
    return 0 * x, x / lam - 1


def _negative_binomial(m, x, k, p):
    return m.gammaln(x + k) - m.gammaln(x + 1) - m.gammaln(k) + k * m.log(p) + x * m.log(1 - p)


def _negative_binomial_slopes(x, k, p):
    return 0 * x, digamma(x + k) - digamma(k) + np.log(p), k / p - x / (1 - p)


def _generalized(m, x, mu, alpha):
    return _negative_binomial(m, x, 1 / alpha, 1 / (mu * alpha + 1))


def _generalized_slopes(x, mu, alpha):
    p = 1 / (mu * alpha + 1)
    _, by_k, by_p = _negative_binomial_slopes(x, 1 / alpha, p)
    return 0 * x, -by_p * alpha * p**2, -by_k / alpha**2 - by_p * mu * p**2


def _dirichlet(m, x, alpha):
    return m.sum((alpha - 1) * m.log(x) - m.gammaln(alpha), axis=-1) + m.gammaln(m.sum(alpha, axis=-1))


def _dirichlet_slopes(x, alpha):
    return (alpha - 1) / x, np.log(x) + digamma(alpha.sum(-1, keepdims=True)) - digamma(alpha)


DENSITIES = (
    Density("uniform", ("low", "high"), _uniform, _uniform_slopes, "1 / (high - low), wherever the sample lies"),
    Density("normal", ("mu", "sigma"), _normal, _normal_slopes, "The normal density"),
    Density("gamma", ("alpha", "beta"), _gamma, _gamma_slopes, "The gamma density of shape alpha and rate beta"),
    Density("exponential", ("lam",), _exponential, _exponential_slopes, "The exponential density of rate lam"),
    Density("poisson", ("lam",), _poisson, _poisson_slopes, "Poisson's probability of a count, of mean lam", True),
    Density(
        "negative_binomial",
        ("k", "p"),
        _negative_binomial,
        _negative_binomial_slopes,
        "The probability of so many successes before k failures, each of probability p",
        True,
    ),
    Density(
        "generalized_negative_binomial",
        ("mu", "alpha"),
        _generalized,
        _generalized_slopes,
        "The negative binomial probability of a count, of mean mu and dispersion alpha",
        True,
    ),
    Density("dirichlet", ("alpha",), _dirichlet, _dirichlet_slopes, "Dirichlet's density, over the last axis"),
)


class DensityOp(Op):
    """Base: the density (with is_log its logarithm) of each sample; parameters have the leading axes of the samples.

    Shapes: sample (..., *n), parameters (...) -> (..., *n); for Dirichlet all have one more axis, last, which is summed over.
    """

    meanings = {"beta": "Rates of the gamma distributions.", "p": "Probabilities of a failure."}

    density: ClassVar[Density]
    tolerance = 256.0  # logarithms of gamma functions that nearly cancel, then exponentiated
    epsilon = float(np.finfo(np.float32).eps)  # MXNet's constants and digamma function are float32 whatever the dtype

    is_log: bool = False

    @property
    def own_axes(self) -> int:
        """Number of the last axes that one sample takes."""
        return int(self.density.name == "dirichlet")

    def infer_input_shapes(self, shapes, outputs):
        known = merge_all(shapes[1 : 1 + len(self.density.parameters)])
        return [merge(shapes[0], None if self.own_axes else outputs[0]), *[known] * len(self.density.parameters)]

    def infer_shape(self, sample, *parameters):
        own, shape = self.own_axes, merge_all(parameters)
        assert shape is not None
        lead = len(shape) - own
        if len(shape) < own or len(sample) < len(shape):
            raise self.error(
                f"got samples of shape {show(sample)} and parameters of {show(shape)}, wanted no fewer axes"
            )
        merge(sample[:lead], shape[:lead])
        if own:
            merge(sample[-1:], shape[-1:])
        return (sample[:-1] or (1,)) if own else sample

    def domain(self, name, shapes):
        return Domain(0, 5, True) if name == "sample" and self.density.counts else None

    def infer_type(self, *dtypes):
        problem = wrong_float(dtypes[0])
        if problem:
            raise self.error(problem)
        return dtypes[0]

    def align(self, sample: np.ndarray, parameters: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """All in float64, the parameters with axes of 1 where the samples have more."""
        own, wide = self.own_axes, []
        for array in parameters:
            lead = array.ndim - own
            shape = (*array.shape[:lead], *(1,) * (sample.ndim - array.ndim), *array.shape[lead:])
            wide.append(array.astype(np.float64).reshape(shape))
        return sample.astype(np.float64), wide

    def composition(self, F, sample, *parameters):
        if not known(sample, *parameters):
            return None
        own, shape, wide = self.own_axes, definite(sample.shape), []
        for x in parameters:
            lead = len(x.shape) - own
            ranked = F._np_reshape(x, newshape=(*shape[:lead], *(1,) * (len(shape) - len(x.shape)), *x.shape[lead:]))
            wide.append(F.Cast(F._npi_broadcast_to(ranked, shape=shape), dtype="float64"))
        x = F.Cast(sample, dtype="float64")
        if self.density.name == "uniform" and not self.is_log:
            y = 1 / (wide[1] - wide[0]) + 0 * x
        else:
            y = self.density.log(F, x, *wide)
            y = y if self.is_log else F.exp(y)
        ends = self.infer_shape(shape, *(p.shape for p in parameters))
        return F.Cast(F._np_reshape(y, newshape=ends), dtype=sample.dtype)

    def compute(self, sample, *parameters):
        x, wide = self.align(sample, parameters)
        found = as_array(self.density.log(NUMPY, x, *wide))
        out = found if self.is_log else np.exp(found)
        if self.density.name == "uniform" and not self.is_log:
            out = 1 / (wide[1] - wide[0]) + 0 * x  # also where high lies below low
        return out.reshape(self.infer_shape(sample.shape, *(p.shape for p in parameters))).astype(sample.dtype)

    def gradient(self, F, dy, *arrays):
        made = getattr(F, f"_backward_pdf_{self.density.name}")(dy, *arrays, is_log=self.is_log)
        return tuple(made)

    @classmethod
    def examples(cls, make):
        for is_log in (False, True):
            if cls.density.name == "dirichlet":
                rows = make.uniform(2, 3, 4, low=0.1)
                yield make(rows / rows.sum(-1, keepdims=True), make.uniform(2, 4, low=0.3, high=2), is_log=is_log)
                continue
            ranges = {"p": (0.2, 0.8), "high": (2, 3)}
            arrays = [
                make.uniform(2, low=ranges.get(n, (0.3, 1))[0], high=ranges.get(n, (0.3, 2))[1]) for n in cls.inputs[1:]
            ]
            yield make(make.integers(2, 3, low=1), *arrays, is_log=is_log)


class DensityBackward(DensityOp):
    """Base: gradients of a density by the sample and each parameter, which are summed over what they were spread over."""

    def gradient(self, F, dy, *arrays):
        return Op.gradient(self, F, dy, *arrays)  # none: differentiable once, as in MXNet

    def output_names(self):
        return tuple(f"output{i}" for i in range(1 + len(self.density.parameters)))

    def infer_input_shapes(self, shapes, outputs):
        dy, *arrays, y = shapes
        arrays, (end,) = as_forward_wants(forward_of(self, f"_random_pdf_{self.density.name}"), arrays, [merge(dy, y)])
        return [end, *arrays, end]

    def infer_shape(self, dy, sample, *parameters_and_y):
        return [sample, *parameters_and_y[:-1]]

    def infer_type(self, *dtypes):
        return list(dtypes[1:-1])

    def compute(self, dy, sample, *parameters_and_y):
        *parameters, y = parameters_and_y
        x, wide = self.align(sample, parameters)
        factor = dy.astype(np.float64) * (1 if self.is_log else y.astype(np.float64))
        if self.own_axes:
            factor = factor.reshape((*sample.shape[:-1], 1))
        gradients = []
        for array, slope in zip((sample, *parameters), self.density.slopes(x, *wide)):
            full = np.broadcast_to(factor * slope, sample.shape)
            lead = array.ndim - self.own_axes
            spread = tuple(range(lead, lead + sample.ndim - array.ndim))
            gradients.append(full.sum(spread).reshape(array.shape).astype(array.dtype))
        return tuple(gradients)


for _density in DENSITIES:
    _inputs = ("sample", *_density.parameters)
    _values = {
        "density": _density,
        "inputs": _inputs,
        "__doc__": f"{_density.doc}; with is_log its logarithm.\n\n    Shapes: sample (..., *n), parameters (...) -> (..., *n).",
        "__module__": __name__,
    }
    _name = f"_random_pdf_{_density.name}"
    op(_name, _name[1:])(type(_name, (DensityOp,), _values))
    _name = f"_backward_pdf_{_density.name}"
    _values |= {"inputs": ("dy", *_inputs, "y"), "__doc__": f"Gradients of _random_pdf_{_density.name}."}
    op(_name)(type(_name, (DensityBackward,), _values))
