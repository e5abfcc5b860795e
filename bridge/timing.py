"""Times calls on a machine that has moods: calls in blocks, blocks in turns, medians and spread.

Nothing but the standard library: benchmarks/worker.py runs this file in the process of another engine, which has no gluonnx.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Block = Callable[[float], Sequence[float]]
"""From how long to go on, in seconds, to the seconds of each call."""

SAMPLE = 200e-6  # calls shorter than this many seconds are timed several at a time
LEAST = 3  # samples in a block
PAUSE = 0.005  # seconds between blocks: threads that spin for their next job have given up by then


class Timing(NamedTuple):
    """Seconds of one call."""

    median: float
    low: float
    """A tenth of all were faster,"""
    high: float
    """a tenth slower."""
    best: float
    samples: int

    def as_dict(self) -> dict[str, Any]:
        return {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in self._asdict().items()}


def summary(times: Sequence[float]) -> Timing:
    """Median and spread of at least one time."""
    ordered = sorted(times)
    last = len(ordered) - 1
    return Timing(
        statistics.median(ordered), ordered[round(last * 0.1)], ordered[round(last * 0.9)], ordered[0], len(ordered)
    )


def block(call: Callable[[], object], seconds: float, clock: Callable[[], float] | None = None) -> list[float]:
    """Seconds of each call, back to back. The first is not counted: it finds caches that others have filled. clock: what tells
    seconds: of the wall if None, or of the processor."""
    clock = clock or time.perf_counter
    call()
    start = clock()
    call()
    group = max(1, round(SAMPLE / max(clock() - start, 1e-9)))
    times: list[float] = []
    end = (start := clock()) + seconds
    while start < end or len(times) < LEAST:
        for _ in range(group):
            call()
        now = clock()
        times.append((now - start) / group)
        start = now
    return times


def in_turns(
    sides: Mapping[str, Block], seconds: float, rounds: int = 10, tell: Callable[[], object] | None = None
) -> dict[str, Timing]:
    """The sides A B A B ..., each for so many seconds in so many blocks, so that the machine's moods fall on all alike.

    tell: is called after each round."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            times[name] += side(seconds / rounds)
            time.sleep(PAUSE)
        if tell is not None:
            tell()
    return {name: summary(found) for name, found in times.items()}
