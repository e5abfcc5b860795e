"""Ranges of activations for 8-bit integers: all numbers that were measured, all but the outermost, or those that lose least."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from converters.precision.qdq import Scale, step_of
from converters.writer import Converted
from hybrid.ops.quantization import CalibrateEntropy

from ..engines import Arrays
from .survey import Range, visit
from .wishes import Quantized

BINS = 4001
"""Of a histogram around 0: half as many as MXNet has, which takes a third of the time for the range of least divergence."""


def scales_of(
    wishes: Quantized, before: Converted, names: Iterable[str], ranges: Mapping[str, Range], feeds: Sequence[Arrays]
) -> dict[str, Scale]:
    """The scale of each tensor. ranges: as survey gives them. Raises EngineError."""
    wanted = list(dict.fromkeys(names))
    if wishes.method == "minmax":
        ends = {n: (ranges[n].low, ranges[n].high) for n in wanted}
    else:
        ends = {n: _ends(wishes, counts, ranges[n]) for n, counts in histograms(before, wanted, ranges, feeds).items()}
    return {n: step_of(*ends[n], wishes.activations) for n in wanted}


def histograms(
    before: Converted, names: Sequence[str], ranges: Mapping[str, Range], feeds: Sequence[Arrays]
) -> dict[str, np.ndarray]:
    """Counts of each tensor's numbers in BINS bins, as far to both sides of 0 as it reaches."""
    found = {n: np.zeros(BINS, np.int64) for n in names}

    def see(name: str, array: np.ndarray) -> None:
        reach = ranges[name].greatest or 1.0
        counts, _ = np.histogram(array[np.isfinite(array)], BINS, (-reach, reach))
        found[name] += counts

    visit(before, dict.fromkeys(names, 1 << 20), feeds, see)
    return found


def _ends(wishes: Quantized, counts: np.ndarray, range: Range) -> tuple[float, float]:
    """The ends of a range."""
    reach = range.greatest
    if not reach:
        return 0.0, 0.0
    edges = np.linspace(-reach, reach, BINS + 1)
    if wishes.method == "entropy":
        return by_entropy(counts, edges, range)
    return by_percentile(counts, edges, range, wishes.percentile)


def by_entropy(counts: np.ndarray, edges: np.ndarray, range: Range) -> tuple[float, float]:
    """The range whose integers diverge least from the numbers (Kullback and Leibler; Migacz 2017), as _contrib_calibrate_entropy
    finds it."""
    bins = 511 if range.low >= 0 else 255  # where nothing is negative all levels are on one side
    operator = CalibrateEntropy.bind(num_quantized_bins=bins)
    threshold = float(operator.compute(counts.astype(np.float32), edges.astype(np.float32))[0][0])
    return max(range.low, -threshold), min(range.high, threshold)


def by_percentile(counts: np.ndarray, edges: np.ndarray, range: Range, percentile: float) -> tuple[float, float]:
    """The range that holds so many of a hundred numbers; what is left out is as many on both sides, or all on the one where there
    are numbers."""
    total = int(counts.sum())
    out = (100 - percentile) / 100 * total
    one_sided = range.low >= 0 or range.high <= 0
    below = 0.0 if range.low >= 0 else out if one_sided else out / 2
    above = 0.0 if range.high <= 0 else out if one_sided else out / 2
    cumulative = np.cumsum(counts)
    low = float(edges[np.searchsorted(cumulative, below, side="right")]) if below else range.low
    high = float(edges[np.searchsorted(cumulative, total - above, side="left") + 1]) if above else range.high
    return max(low, range.low), min(high, range.high)
