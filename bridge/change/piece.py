"""A piece of two models that makes one tensor from others, run by both from the same values, and made smaller."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from converters.error import ConversionError
from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError

from ..compare import TOLERANCES, Tolerance, coarsest
from ..engines import Arrays, Engine, EngineError
from ..models import BadInput

REFUSED = (EngineError, MXNetError, ConversionError, BadInput, KeyError, ValueError)
"""Errors of an engine that does not take a piece of these sizes."""
SMALLER = 20.0  # seconds spent on smaller sizes


class Limit(NamedTuple):
    """|got - want| that a piece may have: atol + rtol * |want|, as NumPy has it."""

    atol: float
    rtol: float

    def beyond(self, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """A mask of elements that differ by more; NaN is NaN."""
        if not is_float(want.dtype) or not is_float(got.dtype):
            return got != want
        wide, true = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return ~(
                (wide == true)
                | (np.isnan(wide) & np.isnan(true))
                | (np.abs(wide - true) <= self.atol + self.rtol * np.abs(true))
            )


class Outcome(NamedTuple):
    """One run of a piece by both sides."""

    want: np.ndarray
    got: np.ndarray

    @property
    def alike(self) -> bool:
        """True where shapes and kinds of numbers are the same."""
        return self.want.shape == self.got.shape and is_float(self.want.dtype) == is_float(self.got.dtype)

    def fails(self, limit: Limit) -> bool:
        """True where the two differ by more than the limit."""
        return not self.alike or bool(limit.beyond(self.got, self.want).any())

    def worst(self) -> tuple[int, ...]:
        """The place of the greatest difference."""
        apart = np.nan_to_num(np.abs(self.got.astype(np.float64) - self.want.astype(np.float64)), nan=np.inf)
        return tuple(int(i) for i in np.unravel_index(int(apart.argmax()), apart.shape)) if apart.size else ()


def usual_limit(outcome: Outcome, tolerance: Tolerance | None = None) -> Limit:
    """The limit that tolerance says for such numbers; by default that of the coarser dtype."""
    want, name = outcome.want, coarsest([outcome.want.dtype.name, outcome.got.dtype.name]) or outcome.want.dtype.name
    tolerance = tolerance or TOLERANCES.get(name, Tolerance(0.0, 0.0))
    scale = float(np.abs(want[np.isfinite(want)]).max(initial=0)) if is_float(want.dtype) else 0.0
    return Limit(tolerance.limit(scale) if tolerance.scaled else tolerance.atol, tolerance.rtol)


class Piece:
    """The part of both models that makes one tensor when all that reads one of ``cut`` is given its value."""

    def __init__(self, left: Engine, right: Engine, theirs: Mapping[str, str], cut: Sequence[str], target: str):
        """theirs: the right side's names of tensors and inputs. cut, target: by the left side's names."""
        self.left, self.right, self.theirs, self.target = left, right, theirs, target
        self.cut = frozenset(cut) | {target}
        self.cut_right = frozenset(theirs.get(n, n) for n in self.cut)

    def reads(self, given: Mapping[str, object]) -> list[str]:
        """Tensors and inputs (``given``) that it is made from, by the left side's names."""
        mine = {t: n for n, t in self.theirs.items()}
        parts = (
            self.left.part(self.cut, [self.target]),
            self.right.part(self.cut_right, [self.theirs.get(self.target, self.target)]),
        )
        found: dict[str, None] = {}
        for part, back in zip(parts, ({}, mine)):
            names = part.reads if part is not None else [*self.cut, *given]
            found.update((back.get(n, n), None) for n in names)
        return [n for n in found if (n in self.cut and n != self.target) or n in given]

    def operators(self) -> tuple[int, int]:
        """Numbers of operators on both sides; 0 where that is not known."""
        parts = (
            self.left.part(self.cut, [self.target]),
            self.right.part(self.cut_right, [self.theirs.get(self.target, self.target)]),
        )
        return tuple(p.operators if p is not None else 0 for p in parts)  # type: ignore[return-value]

    def given_right(self, values: Mapping[str, np.ndarray]) -> Arrays:
        """Values by the right side's names."""
        return {self.theirs.get(n, n): v for n, v in values.items()}

    def run(self, values: Arrays) -> Outcome:
        """Both sides' tensor from these values. Raises whatever the engines do (REFUSED)."""
        other = self.theirs.get(self.target, self.target)
        want = self.left.run_forced(self.cut, values, [self.target])[self.target]
        got = self.right.run_forced(self.cut_right, self.given_right(values), [other])[other]
        return Outcome(np.asarray(want), np.asarray(got))

    def try_run(self, values: Arrays) -> Outcome | None:
        """As run; None where an engine does not take it."""
        try:
            return self.run(values)
        except REFUSED:
            return None


def shrink(
    piece: Piece, values: Arrays, outcome: Outcome, limit: Limit, tell: Callable[[str], None]
) -> tuple[Arrays, Outcome]:
    """The values, cut along their axes as far as the piece still fails: the batch first, then each size in halves."""
    start = time.perf_counter()
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(values, outcome):
            if time.perf_counter() - start > SMALLER:
                return values, outcome
            found = piece.try_run(smaller)
            if found is not None and found.fails(limit) and (found.alike or not outcome.alike):
                values, outcome, progress = smaller, found, True
                tell(f"smaller sizes: {', '.join('x'.join(map(str, v.shape)) for v in values.values())}")
                break
    return values, outcome


def _smaller(values: Arrays, outcome: Outcome) -> Iterator[Arrays]:
    """Values with a size cut in all arrays that have it on that axis: to the place where the difference is greatest, to half."""
    rank = max((v.ndim for v in values.values()), default=0)
    worst = outcome.worst() if outcome.alike else ()
    for axis in range(rank):
        for size in sorted(
            {v.shape[axis] for v in values.values() if v.ndim > axis and v.shape[axis] > 1}, reverse=True
        ):
            place = worst[axis] if axis < len(worst) and outcome.want.shape[axis] == size else 0
            half = -(-size // 2)
            for begin, end in dict.fromkeys(((place, place + 1), (0, half), (size - half, size), (0, size - 1))):
                yield {
                    n: v[(slice(None),) * axis + (slice(begin, end),)] if v.ndim > axis and v.shape[axis] == size else v
                    for n, v in values.items()
                }
