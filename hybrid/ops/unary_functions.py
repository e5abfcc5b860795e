"""Functions of one element, each with its derivative. elementwise.py makes operators of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import activation, special
from .common import as_array, truncate, widen

Derivative = Callable[[Any, Any, Any, Any], Any]
"""(F, dy, x, y) -> the gradient of x, as Op.gradient says; None where the function is flat."""


class UnaryFunction(NamedTuple):
    """A function of one element. ints says how integers get through: "direct", or as that floating dtype and cut off."""

    name: str
    text: str
    function: Callable[..., np.ndarray]
    derivative: Derivative | None = None
    ints: str = "float64"
    predicate: bool = False
    supports_out: bool = False
    """function takes ``out=``."""
    refused: str = "b"
    """Kinds of dtypes that it is not for, see numpy.dtype.kind; predicates are for all."""
    composed: Callable[[Any, Any], Any] | None = None
    """(F, x) -> the same in other operators, of floats (predicates: of any dtype, giving bool); None for a primitive."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The function on an array of any dtype, keeping the dtype (predicates: bool)."""
        if self.predicate or self.ints == "direct" or x.dtype.kind not in "iub":
            return as_array(self.function(x))
        return truncate(self.function(x.astype(self.ints)), x.dtype)


def _float64(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: function(as_array(x).astype(np.float64, copy=False)).astype(x.dtype)


def _wide(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: as_array(function(widen(x))).astype(x.dtype, copy=False)


def _sign(x: np.ndarray) -> np.ndarray:
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _cube_root(x: np.ndarray) -> np.ndarray:
    """Of cubes exactly: some builds of NumPy miss these by a rounding, and the roots of whole numbers would be cut off below."""
    y = np.cbrt(x)
    whole = np.rint(y)
    return np.where(whole * whole * whole == x, whole, y)


def _rint(x: np.ndarray) -> np.ndarray:
    floor, ceil = np.floor(x), np.ceil(x)
    return np.where(x - floor <= ceil - x, floor, ceil)


def _round(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    floor = np.floor(size)
    return np.copysign(np.where(size - floor >= 0.5, floor + 1, floor), x)


def _identity_on_integers(function: np.ufunc) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: x.copy() if x.dtype.kind in "iub" else function(x)


def _erfinv(x: np.ndarray) -> np.ndarray:
    """As special.erfinv; for integers, which have no NaN, 0 outside -1..1."""
    y = special.erfinv(np.asarray(x, np.float64))
    return truncate(np.where(np.isnan(y), 0, y), x.dtype) if x.dtype.kind in "iub" else y.astype(x.dtype)


# MXNet's constants, which are float32 whatever the dtype of the data
DEGREES = np.float32(180) / np.float32(np.pi)
RADIANS = np.float32(np.pi) / np.float32(180)
ROOT_PI = float(np.float32(np.sqrt(np.pi)))


def flat(F: Any, dy: Any, x: Any, y: Any) -> None:
    """The derivative is 0 everywhere, or MXNet takes it for 0."""


# fmt: off
UNARY_FUNCTIONS = {
    row.name: row
    for row in (
        UnaryFunction("abs", "the absolute value", np.abs, lambda F, dy, x, y: dy * F.sign(x), "direct"),
        UnaryFunction("negative", "the negative", np.negative, lambda F, dy, x, y: -dy, "direct"),
        UnaryFunction("square", "the square", np.square, lambda F, dy, x, y: dy * x * 2, "direct", supports_out=True,
              composed=lambda F, x: F.broadcast_mul(x, x)),
        UnaryFunction("sign", "1, 0 or -1 by sign; 0 for NaN", _sign, flat, "direct"),
        UnaryFunction("relu", "the larger of the element and 0; NaN stays", activation.relu, activation.relu_derivative, "direct",
              supports_out=True,
              composed=lambda F, x: F._maximum_scalar(x, scalar=0)),
        UnaryFunction("bitwise_not", "every bit inverted; of bool the opposite", np.invert, flat, "direct", refused="fV"),
        UnaryFunction("floor", "rounded down", _identity_on_integers(np.floor), flat, "direct"),
        UnaryFunction("ceil", "rounded up", _identity_on_integers(np.ceil), flat, "direct"),
        UnaryFunction("trunc", "rounded towards 0", _identity_on_integers(np.trunc), flat, "direct"),
        UnaryFunction("rint", "rounded to the nearest integer, halves down", _rint, flat),
        UnaryFunction("round", "rounded to the nearest integer, halves away from 0", _round, flat),
        UnaryFunction("logical_not", "1 where the element is 0, else 0", np.logical_not, flat, predicate=True),
        UnaryFunction("isnan", "whether the element is NaN", np.isnan, flat, predicate=True,
              composed=lambda F, x: F._npi_not_equal(x, x)),
        UnaryFunction("isinf", "whether the element is infinite", np.isinf, flat, predicate=True,
              composed=lambda F, x: F._npi_equal_scalar(F.abs(x), scalar=np.inf)),
        UnaryFunction("isposinf", "whether the element is positive infinity", np.isposinf, flat, predicate=True,
              composed=lambda F, x: F._npi_equal_scalar(x, scalar=np.inf)),
        UnaryFunction("isneginf", "whether the element is negative infinity", np.isneginf, flat, predicate=True,
              composed=lambda F, x: F._npi_equal_scalar(x, scalar=-np.inf)),
        UnaryFunction("isfinite", "whether the element is finite", np.isfinite, flat, predicate=True,
              composed=lambda F, x: F._npi_less_scalar(F.abs(x), scalar=np.inf)),
        UnaryFunction("exp", "e to the power of the element", np.exp, lambda F, dy, x, y: dy * y),
        UnaryFunction("expm1", "exp(x) - 1, accurate near 0", np.expm1, lambda F, dy, x, y: dy * F.exp(x)),
        UnaryFunction("log", "the natural logarithm", np.log, lambda F, dy, x, y: dy / x),
        UnaryFunction("log10", "the logarithm to base 10", np.log10, lambda F, dy, x, y: dy / (x * np.log(10)),
              composed=lambda F, x: F.log(x) * (1 / np.log(10))),
        UnaryFunction("log2", "the logarithm to base 2", np.log2, lambda F, dy, x, y: dy / (x * np.log(2)),
              composed=lambda F, x: F.log(x) * (1 / np.log(2))),
        UnaryFunction("log1p", "log(1 + x), accurate near 0", np.log1p, lambda F, dy, x, y: dy / (x + 1)),
        UnaryFunction("sqrt", "the square root", np.sqrt, lambda F, dy, x, y: dy / y * 0.5),
        UnaryFunction("rsqrt", "one over the square root", _wide(lambda x: 1 / np.sqrt(x)), lambda F, dy, x, y: dy * y / x * -0.5,
              composed=lambda F, x: F.reciprocal(F.sqrt(x))),
        UnaryFunction("cbrt", "the cube root", _cube_root, lambda F, dy, x, y: dy / (F.square(y) * 3)),
        UnaryFunction("rcbrt", "one over the cube root", _wide(lambda x: 1 / np.cbrt(x)), lambda F, dy, x, y: dy * y / (x * -3),
              composed=lambda F, x: F.reciprocal(F.cbrt(x))),
        UnaryFunction("reciprocal", "one over the element", lambda x: 1 / x, lambda F, dy, x, y: -dy * F.square(y),
              composed=lambda F, x: F._rdiv_scalar(x, scalar=1)),
        UnaryFunction("sin", "the sine", np.sin, lambda F, dy, x, y: dy * F.cos(x)),
        UnaryFunction("cos", "the cosine", np.cos, lambda F, dy, x, y: -dy * F.sin(x)),
        UnaryFunction("tan", "the tangent", np.tan, lambda F, dy, x, y: dy * (F.square(y) + 1)),
        UnaryFunction("arcsin", "the inverse sine", np.arcsin, lambda F, dy, x, y: dy / F.sqrt(1 - F.square(x))),
        UnaryFunction("arccos", "the inverse cosine", np.arccos, lambda F, dy, x, y: -dy / F.sqrt(1 - F.square(x))),
        UnaryFunction("arctan", "the inverse tangent", np.arctan, lambda F, dy, x, y: dy / (F.square(x) + 1)),
        UnaryFunction("sinh", "the hyperbolic sine", np.sinh, lambda F, dy, x, y: dy * F.cosh(x)),
        UnaryFunction("cosh", "the hyperbolic cosine", np.cosh, lambda F, dy, x, y: dy * F.sinh(x)),
        UnaryFunction("tanh", "the hyperbolic tangent", np.tanh, activation.tanh_derivative),
        UnaryFunction("arcsinh", "the inverse hyperbolic sine", np.arcsinh, lambda F, dy, x, y: dy / F.sqrt(F.square(x) + 1)),
        UnaryFunction("arccosh", "the inverse hyperbolic cosine", np.arccosh, lambda F, dy, x, y: dy / F.sqrt(F.square(x) - 1)),
        UnaryFunction("arctanh", "the inverse hyperbolic tangent", np.arctanh, lambda F, dy, x, y: dy / (1 - F.square(x))),
        UnaryFunction("degrees", "radians in degrees", lambda x: x * x.dtype.type(DEGREES), lambda F, dy, x, y: dy * float(DEGREES),
              "float32",
              composed=lambda F, x: x * float(DEGREES)),
        UnaryFunction("radians", "degrees in radians", lambda x: x * x.dtype.type(RADIANS), lambda F, dy, x, y: dy * float(RADIANS),
              "float32",
              composed=lambda F, x: x * float(RADIANS)),
        UnaryFunction("sigmoid", "1 / (1 + exp(-x))", _wide(activation.sigmoid), activation.sigmoid_derivative,
              composed=lambda F, x: F.reciprocal(F.exp(-x) + 1)),
        UnaryFunction("softsign", "x / (1 + |x|)", _wide(activation.softsign), activation.softsign_derivative,
              composed=lambda F, x: x / (F.abs(x) + 1)),
        UnaryFunction("log_sigmoid", "log(1 / (1 + exp(-x)))", _wide(activation.log_sigmoid), activation.log_sigmoid_derivative,
              composed=lambda F, x: -activation.composed_softplus(F, -x)),
        UnaryFunction("mish", "x * tanh(log(1 + exp(x)))", _wide(activation.mish), activation.mish_derivative,
              composed=lambda F, x: x * F.tanh(activation.composed_softplus(F, x))),
        UnaryFunction("erf", "the error function", _float64(special.erf),
              lambda F, dy, x, y: dy * F.exp(-F.square(x)) * (2 / ROOT_PI)),
        UnaryFunction("erfinv", "the inverse error function", _erfinv,
              lambda F, dy, x, y: dy * F.exp(F.square(y)) * (ROOT_PI / 2), "direct"),
        UnaryFunction("gamma", "the gamma function", _float64(special.gamma), lambda F, dy, x, y: dy * y * F._backward_digamma(x)),
        UnaryFunction("gammaln", "the logarithm of the gamma function's absolute value", _float64(special.gammaln),
              lambda F, dy, x, y: dy * F._backward_digamma(x)),
        UnaryFunction("digamma", "the derivative of gammaln", _float64(special.digamma),
              lambda F, dy, x, y: dy * F._backward_trigamma(x)),
        UnaryFunction("trigamma", "the derivative of digamma", _float64(special.trigamma)),
    )
}
# fmt: on
