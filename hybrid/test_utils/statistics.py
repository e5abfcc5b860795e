"""Tests that random numbers have the distribution they should have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Generator = Callable[[int], Any]
"""Gives that many independent samples."""


def gen_buckets_probs_with_ppf(ppf: Callable[[float], float], nbuckets: int) -> tuple[list[Any], list[float]]:
    """Intervals of equal probability, and their probabilities, of a distribution with that quantile function.

    Raises AssertionError for fewer than one.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.gen_buckets_probs_with_ppf(lambda p: 10 * p, 2)  # of numbers from 0 to 10
    ([(0.0, 5.0), (5.0, 10.0)], [0.5, 0.5])
    """
    if nbuckets <= 0:
        raise AssertionError(f"got nbuckets={nbuckets}, wanted at least 1")
    ends = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(itertools.pairwise(ends)), [1.0 / nbuckets] * nbuckets


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """True when the mean of samples is within three of its standard deviations of mu.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> numbers = np.random.default_rng(0)
    >>> mx.test_utils.mean_check(lambda count: numbers.normal(2, 3, count), mu=2, sigma=3, nsamples=1000)
    True
    >>> mx.test_utils.mean_check(lambda count: numbers.normal(5, 3, count), mu=2, sigma=3, nsamples=1000)
    False
    """
    mean = np.asarray(generator(nsamples)).mean()
    return bool(abs(mean - mu) < 3 * sigma / math.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """True when the variance of samples is within three of its standard deviations of sigma^2.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> numbers = np.random.default_rng(0)
    >>> mx.test_utils.var_check(lambda count: numbers.normal(2, 3, count), sigma=3, nsamples=1000)
    True
    >>> mx.test_utils.var_check(lambda count: numbers.normal(2, 4, count), sigma=3, nsamples=1000)
    False
    """
    variance = np.asarray(generator(nsamples)).var(ddof=1)
    return bool(abs(variance - sigma**2) < 3 * math.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(
    generator: Generator, buckets: list[Any], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, np.ndarray, np.ndarray]:
    """Pearson's test: (p value, observed frequencies, expected ones).

    buckets: ascending intervals (low, high) that do not overlap, or values of a discrete distribution. Raises
    AssertionError for others, and for another number of probs.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> numbers = np.random.default_rng(1)
    >>> def tossed(count):
    ...     return numbers.integers(2, size=count)
    >>> p, observed, expected = mx.test_utils.chi_square_check(tossed, [0, 1], [0.5, 0.5], 1000)
    >>> p > 0.05, int(observed.sum()), expected.tolist()
    (True, 1000, [500, 500])
    """
    if not isinstance(buckets, list) or len(probs) != len(buckets):
        raise AssertionError(f"got {len(probs)} probabilities for {len(buckets)} buckets, wanted a list of as many")
    samples = np.asarray(generator(nsamples)).reshape(-1)
    if isinstance(buckets[0], list | tuple):
        ends = np.asarray(buckets, np.float32).reshape(-1)
        if np.any(ends[:-1] > ends[1:]):
            raise AssertionError(f"the intervals {buckets} are not in ascending order")
        place = np.searchsorted(ends, samples, side="right")  # odd inside of an interval, even between two
        observed = np.bincount(place // 2, minlength=len(buckets))[: len(buckets)]
    else:
        observed = np.array([np.count_nonzero(samples == b) for b in buckets])
    expected = (nsamples * np.asarray(probs, np.float32)).astype(np.int32)
    statistic = float((np.square(observed - expected, dtype=np.float64) / expected).sum())
    return _chi_square_tail(statistic, len(buckets) - 1), observed, expected


def _chi_square_tail(x: float, freedom: int) -> float:
    """The probability that a chi-square variable is above x: the regularized upper incomplete gamma function Q(freedom/2, x/2).

    A series below freedom/2 + 1, a continued fraction (Lentz's method) above."""
    a, x = freedom / 2, x / 2
    if x <= 0 or a <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while abs(term) > total * 1e-16:
            n += 1
            term *= x / n
            total += term
        return 1 - scale * total
    tiny = 1e-300
    b = x + 1 - a
    c, d = 1 / tiny, 1 / b
    fraction = d
    for i in range(1, 10000):
        step = i * (a - i)
        b += 2
        d = 1 / (step * d + b or tiny)
        c = b + step / c or tiny
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return scale * fraction


def verify_generator(
    generator: Generator,
    buckets: list[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """The p values of nrepeat chi-square tests. Raises AssertionError when fewer than success_rate of them exceed alpha.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> numbers = np.random.default_rng(1)
    >>> def tossed(count):
    ...     return numbers.integers(2, size=count)
    >>> len(mx.test_utils.verify_generator(tossed, [0, 1], [0.5, 0.5], 1000, nrepeat=3))
    3
    """
    results = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in results]
    if sum(p > alpha for p in values) < nrepeat * success_rate:
        observed, expected = [list(r[1]) for r in results], [list(r[2]) for r in results]
        raise AssertionError(
            f"Generator test fails, Chi-square p={values}, obs_freq={observed}, expected_freq={expected}."
            f"\nbuckets={buckets}, probs={probs}"
        )
    return values
