"""Measures of a difference that are worth their time only where somebody looks: histograms, channels, the worst elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BINS = 40
DECADES = (-16.0, 4.0)
"""Powers of ten between which errors are counted, half a decade a bin; what is smaller or larger is in the first or last."""
CHANNELS = 256
"""Channels that are told apart; where there are more, as many in a row share a place."""
WORST = 10
NOISE = 1e-6
"""An element counts as different from this share of the scale on, or from a quarter of the worst difference where that is less."""
SAMPLE = 240
NAMES = {
    1: ("element",),
    2: ("row", "column"),
    4: ("image", "channel", "row", "column"),
    5: ("image", "channel", "slice", "row", "column"),
}
"""Names of axes by how many there are; others go by their number."""


@dataclass(frozen=True)
class Details:
    """A closer look at ``got`` beside ``want``, of one shape. Numbers that are not finite are counted as nothing."""

    same: int
    """Number of elements that are the same number."""
    errors: tuple[int, ...]
    """Number of other elements by the power of ten of |got - want| (BINS between DECADES)."""
    edges: tuple[float, float]
    """The least and the greatest finite value of both."""
    want: tuple[int, ...]
    """Number of values of want in each of BINS between the edges."""
    got: tuple[int, ...]
    axis: int | None
    """The axis of the channels; None where there is none."""
    channels: tuple[float, ...]
    """The greatest difference in each channel."""
    worst: tuple[tuple[tuple[int, ...], float, float], ...]
    """Place, want and got of the elements that are furthest apart."""
    sample: tuple[tuple[float, float], ...]
    """Pairs of want and got, evenly from the whole."""
    where: str
    """Words for the place of the elements that differ; empty where none does."""


def examine(got: np.ndarray, want: np.ndarray) -> Details | None:
    """Details of two arrays of one shape; None where these are no numbers."""
    if (
        got.shape != want.shape
        or not want.size
        or any(a.dtype.kind not in "fiub" and not _small(a) for a in (got, want))
    ):
        return None
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore", over="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        delta = np.where(same, 0.0, np.where(finite, np.abs(a - b), np.inf))
    top = float(delta.max())
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=0))
    apart = ~same & (delta >= min(scale * NOISE, top / 4))
    flat = delta.reshape(-1)
    few = min(WORST, flat.size)
    order = np.argpartition(-flat, few - 1)[:few]
    order = [int(i) for i in order[np.argsort(-flat[order], kind="stable")] if flat[i] > 0]
    low, high = (_end(f, a, b) for f in (np.min, np.max))
    axis = None if a.ndim < 2 else 1 if a.ndim > 2 else a.ndim - 1
    return Details(
        same=int(same.sum()),
        errors=_by_power(flat),
        edges=(low, high),
        want=_histogram(b, low, high),
        got=_histogram(a, low, high),
        axis=axis,
        channels=() if axis is None else _channels(delta, axis),
        worst=tuple((_place(i, a.shape), float(b.flat[i]), float(a.flat[i])) for i in order),
        sample=tuple((float(b.flat[i]), float(a.flat[i])) for i in _chosen(flat.size, order) if finite.flat[i]),
        where=place_in_words(apart),
    )


def _small(array: np.ndarray) -> bool:
    """True for numbers of half precision that NumPy does not know as floats (bfloat16)."""
    return array.dtype.kind == "V" and array.dtype.name == "bfloat16"


def _end(which: object, *arrays: np.ndarray) -> float:
    ends = [float(which(x[np.isfinite(x)])) for x in arrays if np.isfinite(x).any()]  # type: ignore[operator]
    return float(which(ends)) if ends else 0.0  # type: ignore[operator]


def _place(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape))


def _by_power(errors: np.ndarray) -> tuple[int, ...]:
    low, high = DECADES
    powers = np.log10(errors[(errors > 0) & np.isfinite(errors)])
    counts, _ = np.histogram(np.clip(powers, low, math.nextafter(high, low)), BINS, DECADES)
    return tuple(map(int, counts))


def _histogram(values: np.ndarray, low: float, high: float) -> tuple[int, ...]:
    if not math.isfinite(high - low):  # a span past float64
        return (0,) * BINS
    # by share of the span: neighbours among floats have none between them where an edge could be
    shares = (
        (values[np.isfinite(values)] - low) / (high - low) if high > low else np.full(np.isfinite(values).sum(), 0.5)
    )
    counts, _ = np.histogram(shares, BINS, (0.0, 1.0))
    return tuple(map(int, counts))


def _channels(delta: np.ndarray, axis: int) -> tuple[float, ...]:
    greatest = delta.max(axis=tuple(i for i in range(delta.ndim) if i != axis))
    step = math.ceil(len(greatest) / CHANNELS)
    return tuple(float(greatest[i : i + step].max()) for i in range(0, len(greatest), step))


def _chosen(size: int, worst: Sequence[int]) -> list[int]:
    """Places spread over an array, and the worst. The step is odd and no divisor, so that no column of a table is met alone."""
    if size <= SAMPLE:
        return list(range(size))
    step = size / SAMPLE
    return sorted({*(int(i * step) for i in range(SAMPLE)), *worst})


def place_in_words(mask: np.ndarray) -> str:
    """Words for the place of the elements that are set: "channel 5 of 128 (all 128 elements)"."""
    count = int(mask.sum())
    if not count:
        return ""
    names = NAMES.get(mask.ndim, tuple(f"axis {i}" for i in range(mask.ndim)))
    parts, box = [], 1
    for axis, name in enumerate(names):
        size = mask.shape[axis]
        touched = np.flatnonzero(mask.any(axis=tuple(i for i in range(mask.ndim) if i != axis)))
        box *= len(touched)
        if len(touched) < size:
            parts.append(_along(name, [int(i) for i in touched], size))
    inside = f"all {box:,} elements" if count == box else f"{count:,} of {box:,} elements"
    if not parts:
        return "the one element" if box == 1 else inside
    return f"{', '.join(parts)} ({inside if box > 1 else 'one element'})"


def _along(name: str, touched: list[int], size: int) -> str:
    """Words for places along one axis."""
    numbered = name.startswith("axis ")
    many = f"{name}:" if numbered else f"{name}s"
    if len(touched) == 1:
        return f"{f'{name}:' if numbered else name} {touched[0]} of {size}"
    if touched == [0, size - 1]:
        return f"the first and last of {size} along {name}" if numbered else f"the first and last {name} of {size}"
    if touched[-1] - touched[0] == len(touched) - 1:
        return f"{many} {touched[0]} to {touched[-1]} of {size}"
    if len(touched) <= 4:
        return f"{many} {', '.join(map(str, touched))} of {size}"
    steps = {b - a for a, b in itertools.pairwise(touched)}
    if len(steps) == 1:
        return f"every {_ordinal(steps.pop())} of {size} {f'along {name}' if numbered else many}, from {touched[0]}"
    return f"{len(touched)} of {size} {f'along {name}' if numbered else many}"


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")
