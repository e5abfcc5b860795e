"""Functions that NumPy lacks, in float64 to within a few units in the last place: erf, erfinv, gamma and its kin."""

import math

import numpy as np

Coefficients = tuple[float, ...]


def _ratio(x: np.ndarray, numerator: Coefficients, denominator: Coefficients) -> np.ndarray:
    """A quotient of polynomials, coefficients from the highest power down."""
    return np.polyval(numerator, x) / np.polyval(denominator, x)


# W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969) 631-637
ERF_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
ERFC_MIDDLE = (
    (
        *(2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1),
        *(2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3),
        1.23033935479799725e3,
    ),
    (
        *(1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3),
        *(3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
    ),
)
ERFC_ONE = 6.0  # from here on 1 - erf is below half an ulp of 1


def erf(x: np.ndarray) -> np.ndarray:
    """The error function of a float64 array."""
    size = np.abs(x)
    middle = np.clip(size, 0.46875, ERFC_ONE)
    tail = 1.0 - np.exp(-middle * middle) * _ratio(middle, *ERFC_MIDDLE)
    small = np.minimum(size, 0.46875)
    y = np.where(size <= 0.46875, small * _ratio(small * small, *ERF_SMALL), np.where(size > ERFC_ONE, 1.0, tail))
    return np.where(np.isnan(x), x, np.copysign(y, x))


# M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37 (1988) 477-484
QUANTILE_CENTRE = (
    (
        *(2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4),
        *(1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    ),
    (
        *(5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4),
        *(5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
    ),
)
QUANTILE_NEAR = (
    (
        *(7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0),
        *(3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    ),
    (
        *(1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1),
        *(6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
    ),
)
QUANTILE_FAR = (
    (
        *(2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2),
        *(2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    ),
    (
        *(2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4),
        *(1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
    ),
)


def erfinv(x: np.ndarray) -> np.ndarray:
    """The inverse error function of a float64 array: the normal quantile at (1 + x) / 2, over sqrt(2). NaN beyond 1."""
    half = x / 2
    centre = half * _ratio(0.180625 - np.clip(half * half, 0, 0.180625), *QUANTILE_CENTRE)
    r = np.sqrt(-np.log(np.clip((1 - np.abs(x)) / 2, np.finfo(np.float64).tiny, 0.5)))
    tail = np.where(r <= 5, _ratio(r - 1.6, *QUANTILE_NEAR), _ratio(r - 5, *QUANTILE_FAR))
    y = np.where(np.abs(half) <= 0.425, centre, np.copysign(tail, x)) / np.sqrt(2.0)
    y = np.where(np.abs(x) == 1, np.copysign(np.inf, x), y)
    return np.where(np.abs(x) <= 1, y, np.nan)


# M. Abramowitz, I. Stegun, Handbook of Mathematical Functions: 6.1.40 (Stirling), 6.1.33 (around 1), 6.1.17 (reflection)
STIRLING = (-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
ASYMPTOTIC = 13.0  # from here on Stirling's series reaches float64
EULER = 0.57721566490153286061
AROUND_ONE = (  # (zeta(k) - 1) / k for k = 2, 3, ...
    *(0.3224670334241132, 0.0673523010531981, 0.020580808427784546, 0.007385551028673986),
    *(0.0028905103307415234, 0.001192753911703261, 0.0005096695247430425, 0.00022315475845357939),
    *(9.945751278180853e-05, 4.492623673813314e-05, 2.050721277567069e-05, 9.439488275268397e-06),
    *(4.374866789907488e-06, 2.039215753801366e-06, 9.55141213040742e-07, 4.492469198764566e-07),
    *(2.1207184805554665e-07, 1.0043224823968099e-07, 4.7698101693639804e-08, 2.2711094608943164e-08),
    *(1.0838659214896955e-08, 5.183475041970047e-09, 2.4836745438024785e-09, 1.1921401405860912e-09),
    *(5.731367241678862e-10, 2.7595228851242334e-10, 1.330476437424449e-10, 6.4229645638381e-11),
)


def _stirling(x: np.ndarray) -> np.ndarray:
    """Remainder of Stirling's formula for gammaln(x), for x of ASYMPTOTIC and more."""
    return np.polyval(STIRLING, 1 / (x * x)) / x


def _shift(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(y, p) such that gamma(x) = gamma(y) / p and y is at least ASYMPTOTIC, for x of 0 and more."""
    y, product = x.copy(), np.ones_like(x)
    for _ in range(int(ASYMPTOTIC)):
        small = y < ASYMPTOTIC
        product = np.where(small, product * y, product)
        y = np.where(small, y + 1, y)
    return y, product


def _sine(x: np.ndarray) -> np.ndarray:
    """sin(pi x) without loss for large x."""
    nearest = np.rint(x)
    return np.sin(np.pi * (x - nearest)) * np.where(np.mod(nearest, 2) == 0, 1.0, -1.0)


def _gammaln_between(x: np.ndarray) -> np.ndarray:
    """gammaln for 0 < x < ASYMPTOTIC: moved to where the series around 1 or 2 converges, adding logarithms of one sign."""
    y, product = np.where(x < 0.5, x + 1, x), np.ones_like(x)
    for _ in range(int(ASYMPTOTIC) - 2):
        large = y > 2.5
        y = np.where(large, y - 1, y)
        product = np.where(large, product * y, product)
    two = y > 1.5
    z = y - np.where(two, 2, 1)
    series = z * (1 - EULER) + z * z * np.polyval(AROUND_ONE[::-1], -z)
    return np.log(product) + np.where(two, series, series - np.log1p(z)) - np.log(np.where(x < 0.5, x, 1))


def gammaln(x: np.ndarray) -> np.ndarray:
    """log |gamma(x)| of a float64 array; infinite at 0, -1, -2, ... and at both infinities."""
    positive = np.where(x < 0, 1 - x, x)
    y = np.maximum(positive, ASYMPTOTIC)
    value = (y - 0.5) * np.log(y) - y + 0.5 * np.log(2 * np.pi) + _stirling(y)
    value = np.where(positive < ASYMPTOTIC, _gammaln_between(np.minimum(positive, ASYMPTOTIC)), value)
    value = np.where((x == 0) | np.isinf(x), np.inf, value)
    reflected = np.log(np.pi / np.abs(_sine(x))) - value
    return np.where(x < 0, np.where((x == np.floor(x)) | np.isinf(x), np.inf, reflected), value)


FACTORIALS = np.array([float(math.factorial(n)) for n in range(171)])


def gamma(x: np.ndarray) -> np.ndarray:
    """The gamma function of a float64 array; NaN at -1, -2, ... and infinite, of either sign, at 0."""
    y, product = _shift(np.minimum(np.where(x < 0, 1 - x, x), 200.0))
    half = np.power(y, y / 2 - 0.25)  # the whole power overflows before the product does
    value = np.sqrt(2 * np.pi) * half * np.exp(-y) * half * np.exp(_stirling(y)) / product
    whole = (x >= 1) & (x <= len(FACTORIALS)) & (x == np.floor(x))
    value = np.where(whole, FACTORIALS[np.where(whole, x, 1).astype(np.intp) - 1], value)
    reflected = np.pi / (_sine(x) * value)
    return np.where(x < 0, np.where(x == np.floor(x), np.nan, reflected), value)


# B(2k) / 2k for k = 8 ... 1: digamma's asymptotic series in 1 / x**2 (6.3.18); B(2k) for trigamma's (6.4.12)
_DIGAMMA = (-3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
_TRIGAMMA = (-3617 / 510, 7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)


def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of gammaln of a float64 array; the largest number at 0, -1, -2, ..., as in MXNet."""
    y, total = np.where(x < 0, 1 - x, x), np.zeros_like(x)
    for _ in range(int(ASYMPTOTIC)):
        small = y < ASYMPTOTIC
        total = np.where(small, total - 1 / y, total)
        y = np.where(small, y + 1, y)
    value = np.log(y) - 0.5 / y - np.polyval(_DIGAMMA, 1 / (y * y)) / (y * y) + total
    reflected = value - np.pi * np.cos(np.pi * (x - np.rint(x))) / np.sin(np.pi * (x - np.rint(x)))
    pole = (x <= 0) & ((x == np.floor(x)) | np.isinf(x))
    return np.where(pole, np.finfo(np.float64).max, np.where(x < 0, reflected, value))


def trigamma(x: np.ndarray) -> np.ndarray:
    """The derivative of digamma of a float64 array; infinite at 0, -1, -2, ..."""
    y, total = np.where(x < 0, 1 - x, x), np.zeros_like(x)
    for _ in range(int(ASYMPTOTIC)):
        small = y < ASYMPTOTIC
        total = np.where(small, total + 1 / (y * y), total)
        y = np.where(small, y + 1, y)
    value = 1 / y + 0.5 / (y * y) + np.polyval(_TRIGAMMA, 1 / (y * y)) / (y * y * y) + total
    return np.where(x < 0, np.square(np.pi / np.sin(np.pi * (x - np.rint(x)))) - value, value)
