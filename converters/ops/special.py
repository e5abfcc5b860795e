"""Functions that ONNX lacks, or onnxruntime has in float32 only, as float64 graphs: those of hybrid/ops/special.py, step by step.

Their coefficients are the ones that stand there with their sources; errors are a few units in the last place of float64, so
float32 results are correctly rounded but for rare halves. Poles, negative arguments, infinities and NaN are as in the engine.
"""

import math

import numpy as np

from hybrid.ops import special


def polynomial(b, x, coefficients):
    """A polynomial, coefficients from the highest power down."""
    y = b.like(coefficients[0], x)
    for c in coefficients[1:]:
        y = b.Add(b.Mul(y, x), b.like(c, x))
    return y


def ratio(b, x, numerator, denominator):
    """A quotient of polynomials."""
    return b.Div(polynomial(b, x, numerator), polynomial(b, x, denominator))


def _with_sign(b, size, x):
    return b.Where(b.Less(x, b.like(0, x)), b.Neg(size), size)


def erf(b, x):
    """The error function."""
    size = b.Abs(x)
    middle = b.Clip(size, 0.46875, special.ERFC_ONE)
    tail = b.Sub(b.like(1, x), b.Mul(b.Exp(b.Neg(b.Mul(middle, middle))), ratio(b, middle, *special.ERFC_MIDDLE)))
    tail = b.Where(b.Greater(size, b.like(special.ERFC_ONE, x)), b.like(1, x), tail)
    centre = b.Clip(x, -0.46875, 0.46875)
    small = b.Mul(centre, ratio(b, b.Mul(centre, centre), *special.ERF_SMALL))
    y = b.Where(b.LessOrEqual(size, b.like(0.46875, x)), small, _with_sign(b, tail, x))
    return b.Where(b.IsNaN(x), x, y)


def erfinv(b, x):
    """The inverse error function; NaN beyond 1."""
    half = b.Mul(x, b.like(0.5, x))
    square = b.Clip(b.Mul(half, half), 0, 0.180625)
    centre = b.Mul(half, ratio(b, b.Sub(b.like(0.180625, x), square), *special.QUANTILE_CENTRE))
    size, one = b.Abs(x), b.like(1, x)
    outside = b.Clip(b.Mul(b.Sub(one, size), b.like(0.5, x)), float(np.finfo(np.float64).tiny), 0.5)
    r = b.Sqrt(b.Neg(b.Log(outside)))
    near = ratio(b, b.Sub(r, b.like(1.6, x)), *special.QUANTILE_NEAR)
    far = ratio(b, b.Sub(r, b.like(5, x)), *special.QUANTILE_FAR)
    tail = _with_sign(b, b.Where(b.LessOrEqual(r, b.like(5, x)), near, far), x)
    y = b.Where(b.LessOrEqual(b.Abs(half), b.like(0.425, x)), centre, tail)
    y = b.Div(y, b.like(math.sqrt(2), x))
    y = b.Where(b.Equal(size, one), _with_sign(b, b.like(np.inf, x), x), y)
    return b.Where(b.LessOrEqual(size, one), y, b.like(np.nan, x))


def _stirling(b, x):
    return b.Div(polynomial(b, b.Reciprocal(b.Mul(x, x)), special.STIRLING), x)


def _sine(b, x):
    """sin(pi x) without loss for large x."""
    nearest = b.Round(x)
    half = b.Mul(nearest, b.like(0.5, x))
    even = b.Equal(b.Floor(half), half)
    y = b.Sin(b.Mul(b.Sub(x, nearest), b.like(math.pi, x)))
    return b.Where(even, y, b.Neg(y))


def _reflect(b, x):
    """1 - x where x is negative, so at least 0."""
    return b.Where(b.Less(x, b.like(0, x)), b.Sub(b.like(1, x), x), x)


def _gammaln_between(b, x):
    one, low = b.like(1, x), b.Less(x, b.like(0.5, x))
    y, product = b.Where(low, b.Add(x, one), x), one
    for _ in range(int(special.ASYMPTOTIC) - 2):
        large = b.Greater(y, b.like(2.5, x))
        y = b.Where(large, b.Sub(y, one), y)
        product = b.Where(large, b.Mul(product, y), product)
    two = b.Greater(y, b.like(1.5, x))
    z = b.Sub(y, b.Where(two, b.like(2, x), one))
    rest = b.Mul(b.Mul(z, z), polynomial(b, b.Neg(z), special.AROUND_ONE[::-1]))
    series = b.Add(b.Mul(z, b.like(1 - special.EULER, x)), rest)
    series = b.Where(two, series, b.Sub(series, b.Log(b.Where(two, one, y))))
    return b.Sub(b.Add(b.Log(product), series), b.Log(b.Where(low, x, one)))


def gammaln(b, x):
    """log |gamma(x)|; infinite at 0, -1, -2, ... and at both infinities."""
    limit, infinite = b.like(special.ASYMPTOTIC, x), b.like(np.inf, x)
    positive = _reflect(b, x)
    small = b.Less(positive, limit)
    y = b.Where(small, limit, positive)
    value = b.Sub(b.Mul(b.Sub(y, b.like(0.5, x)), b.Log(y)), y)
    value = b.Add(value, b.Add(b.like(0.5 * math.log(2 * math.pi), x), _stirling(b, y)))
    value = b.Where(small, _gammaln_between(b, b.Where(small, positive, limit)), value)
    value = b.Where(b.Or(b.Equal(x, b.like(0, x)), b.IsInf(x)), infinite, value)
    negative = b.Less(x, b.like(0, x))
    mirrored = b.Sub(b.Log(b.Div(b.like(math.pi, x), b.Abs(_sine(b, x)))), value)
    whole = b.Or(b.Equal(b.Floor(x), x), b.IsInf(x))
    return b.Where(negative, b.Where(whole, infinite, mirrored), value)


def gamma(b, x):
    """The gamma function; NaN at -1, -2, ... and infinite, of either sign, at 0."""
    one, limit = b.like(1, x), b.like(special.ASYMPTOTIC, x)
    y, product = _reflect(b, x), one
    y = b.Where(b.Greater(y, b.like(200, x)), b.like(200, x), y)
    for _ in range(int(special.ASYMPTOTIC)):
        small = b.Less(y, limit)
        product = b.Where(small, b.Mul(product, y), product)
        y = b.Where(small, b.Add(y, one), y)
    # the whole power overflows before the product does
    half = b.Pow(y, b.Sub(b.Mul(y, b.like(0.5, x)), b.like(0.25, x)))
    scaled = b.Mul(b.Mul(b.Mul(b.like(math.sqrt(2 * math.pi), x), half), b.Exp(b.Neg(y))), half)
    value = b.Div(b.Mul(scaled, b.Exp(_stirling(b, y))), product)
    count = len(special.FACTORIALS)
    listed = b.And(b.GreaterOrEqual(x, one), b.LessOrEqual(x, b.like(count, x)))
    listed = b.And(listed, b.Equal(b.Floor(x), x))
    place = b.Sub(b.cast(b.Where(listed, x, one), np.int64), 1)
    value = b.Where(listed, b.Gather(b.const(special.FACTORIALS), place), value)
    mirrored = b.Div(b.like(math.pi, x), b.Mul(_sine(b, x), value))
    poles = b.Where(b.Equal(b.Floor(x), x), b.like(np.nan, x), mirrored)
    none = b.like(0, x)
    # onnxruntime's Where loses the sign of zeros, so the pole that has one is asked of x itself
    return b.Where(b.Less(x, none), poles, b.Where(b.Equal(x, none), b.Reciprocal(x), value))
