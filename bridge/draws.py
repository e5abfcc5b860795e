"""Seeded arrays for inputs: as a network expects them, wider than that, and at the edges of what it takes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, cast

import numpy as np

from hybrid.core.attrs import is_float
from hybrid.core.op import Domain, Spec
from hybrid.core.shapes import UNKNOWN

from .domains import Taken, intersect, within_dtype
from .models import BadInput, too_large
from .scripts import plain_draws
from .scripts.plain_draws import EXPECTED, WIDER, Numbers, Way

Kind = Literal["expected", "wide", "edges"]
KINDS = cast("tuple[Kind, ...]", plain_draws.KINDS)
SMALL_TABLE = 4096
"""Rows of a table up to which draws look at every one."""


def parse_kinds(texts: Sequence[str] | None) -> tuple[Kind, ...]:
    """Kinds of draws in texts with commas between them, all where there are none. Raises BadInput."""
    named = [part.strip() for text in texts or () for part in text.split(",") if part.strip()]
    unknown = [part for part in named if part not in KINDS]
    if unknown:
        raise BadInput(f"--draws: got {', '.join(unknown)}, wanted some of {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in named) or KINDS


FREE = (4, 1, 0)
"""The largest whole number that is drawn where nothing is known of them: at first, and where an engine refuses that, as what picks
something that is not there."""


def is_free(dtype: np.dtype | None, known: Taken) -> bool:
    """True for an input of whole numbers of which nothing is known."""
    return dtype is not None and dtype.kind in "iu" and known.domain is None and known.expected is None


class Seen(NamedTuple):
    """Rows of a table that draws look at."""

    rows: np.ndarray
    """A mask over all of them."""

    @property
    def incomplete(self) -> bool:
        """True where it is small, and some have not been."""
        return self.rows.size <= SMALL_TABLE and not self.rows.all()


def enlarged(mask: np.ndarray | None, rows: int) -> np.ndarray:
    """The mask with so many rows at least: a table that is an input itself may have more in another case."""
    return np.zeros(rows, bool) if mask is None else np.pad(mask, (0, max(0, rows - mask.size)))


def draw(
    specs: Mapping[str, Spec],
    known: Mapping[str, Taken],
    seed: int = 0,
    like: Mapping[str, np.ndarray] | None = None,
    told: dict[str, str] | None = None,
    *,
    way: Way = EXPECTED,
    asked: Mapping[str, Domain] | None = None,
    seen: dict[str, Seen] | None = None,
) -> dict[str, np.ndarray]:
    """Seeded arrays: of the input's domain evenly, or else values of the array in ``like`` (an image whose range the model counts
    on), or else standard normal numbers; wide and edges are made from the same.

    told: gets for each in words how it was drawn. asked: the numbers that a user wants. seen: rows of tables by the input that
    picks them; those that have not been looked at come first, and are entered."""
    told = {} if told is None else told
    if seed < 0:
        raise BadInput(f"got seed {seed}, wanted 0 or more")
    problems = too_large((f"input {name}", spec) for name, spec in specs.items())
    if problems:
        raise BadInput(*problems)
    feeds = {}
    for name, spec in specs.items():
        shape = tuple(spec.shape or ())
        if any(d is UNKNOWN for d in shape):
            raise BadInput(f"input {name}: the shape has unknown dims; give it")
        if any(d < 0 for d in shape):
            raise BadInput(f"input {name}: got shape {shape}, wanted no negative size; give its shape")
        one = _Draw(name, shape, spec.dtype or np.dtype(np.float32), seed, way)
        values, how = one.of(
            known.get(name, Taken()), (asked or {}).get(name), None if like is None else like.get(name), seen
        )
        feeds[name] = values.astype(one.dtype)
        told[name] = how if way.kind == "expected" else f"{way.kind}, {how}"
    return feeds


class _Draw(Numbers):
    """The draw of one input, with what is known of it; each method gives values, and words for them."""

    def of(
        self, known: Taken, asked: Domain | None, like: np.ndarray | None, seen: dict[str, Seen] | None
    ) -> tuple[np.ndarray, str]:
        domain = known.domain if asked is None else asked if known.domain is None else intersect(known.domain, asked)
        if domain is None and known.expected is not None:
            wide = self._expected(known.expected)
            if wide is not None:
                return wide
            domain = known.expected
        if domain is not None:
            domain = within_dtype(domain, self.dtype)
            if domain.columns and self.shape[-1:] == (len(domain.columns),):
                return self._by_column(domain.columns)
            if domain.high < domain.low:
                raise BadInput(f"input {self.name}: there is no number that the model could take; give another shape")
            accepted = domain if asked is not None or known.accepted is None else known.accepted
            if domain.integer:
                return self._whole(domain, within_dtype(accepted, self.dtype), 0 if asked else known.rows, seen)
            return self.real(domain.low, domain.high)
        if like is not None and like.size:
            return self._like(like)
        if known.mask and self.way.kind == "expected":
            return self._mask()
        if self.dtype.kind == "b":
            return self._bools()
        return self._integers() if self.dtype.kind in "iu" else self.normal()

    # -- numbers of a domain ----------------------------------------------------------------------------------------

    def _by_column(self, columns: Sequence[Domain]) -> tuple[np.ndarray, str]:
        """For each place along the last axis, numbers of its own domain."""
        one = copy.copy(self)
        one.shape = self.shape[:-1]
        drawn = [one.of(Taken(column), None, None, None) for column in columns]
        words = dict.fromkeys(how for _, how in drawn)
        return np.stack([values for values, _ in drawn], -1), f"by column {', '.join(words)}"

    def _whole(
        self, domain: Domain, accepted: Domain, rows: int, seen: dict[str, Seen] | None
    ) -> tuple[np.ndarray, str]:
        low, high = int(domain.low), int(domain.high)
        if self.way.kind == "edges":
            return self._ends(low, high, accepted)
        values, how = self.whole(low, high)
        if rows and seen is not None:
            mask = enlarged(seen[self.name].rows if self.name in seen else None, rows)
            seen[self.name] = Seen(mask)
            if rows <= SMALL_TABLE:
                values = values.reshape(-1)
                left = self.rng.permutation(low + np.flatnonzero(~mask[low : high + 1]))[: values.size]
                values[self.rng.permutation(values.size)[: left.size]] = left
                values = values.reshape(self.shape)
        # float16 has no odd numbers past 2048, and 29,999 becomes 30,000, which no table of so many rows has
        values = np.where(values.astype(self.dtype).astype(np.float64) > high, low, values)
        if rows and seen is not None:
            seen[self.name].rows[values.astype(self.dtype).astype(np.int64).reshape(-1)] = True
        return values, how

    def _ends(self, low: int, high: int, accepted: Domain) -> tuple[np.ndarray, str]:
        """The least and the greatest in turns, and what is defined beyond them."""
        ends = [low, high]
        least, most = int(accepted.low), int(accepted.high)
        if self.way.mild == 1:  # positions counted from behind, which ONNX has too
            least, most = max(least, -high - 1), min(most, high)
        if self.way.mild < 2:
            beyond = (-1, high + 1, least, most, low - 1, -high - 1)
            ends += [n for n in dict.fromkeys(beyond) if least <= n <= most and not low <= n <= high]
        return self.in_turns(ends)

    # -- numbers that are expected, and others ----------------------------------------------------------------------

    def _expected(self, domain: Domain) -> tuple[np.ndarray, str] | None:
        """Numbers further out than a network expects them; None to draw what it expects."""
        if self.way.kind == "expected" or not is_float(self.dtype):
            return None
        middle, half = (domain.low + domain.high) / 2, (domain.high - domain.low) / 2
        factor = WIDER[min(self.way.mild, 1)]
        low, high = middle - factor * half, middle + factor * half
        values = self.rng.uniform(low, high, self.shape)
        if self.way.kind == "wide":
            return values, f"evenly from {low:g} to {high:g}"
        ends = [0.0, domain.low, domain.high, -domain.high, low, high]
        return self.padded(self.sprinkled(values, ends)), f"{', '.join(f'{e:g}' for e in dict.fromkeys(ends))}"

    def _like(self, array: np.ndarray) -> tuple[np.ndarray, str]:
        values = self.rng.choice(array.reshape(-1), self.shape)
        return values, "values of the array given"

    def _bools(self) -> tuple[np.ndarray, str]:
        if self.way.kind == "edges":  # of a mask all that is masked, and nothing
            return np.resize([False, True], self.shape) if self.shape else np.zeros((), bool), "false and true in turns"
        return self.rng.integers(0, 2, self.shape), "true and false"

    def _mask(self) -> tuple[np.ndarray, str]:
        """Ones, and behind them zeros, as many in each row by lot, and none in the first: no row is padding alone, and what most
        positions hold counts."""
        if not self.shape:
            return np.ones((), np.int64), "a mask of 1"
        length = self.shape[-1]
        ones = self.rng.integers(1, max(length, 1) + 1, (*self.shape[:-1], 1))
        ones.reshape(-1)[:1] = length
        return np.arange(length) < ones, "a mask of ones and zeros"

    def _integers(self) -> tuple[np.ndarray, str]:
        limits, small = np.iinfo(self.dtype), self.dtype.itemsize == 1
        low, high = 0, FREE[0]
        if self.way.kind == "expected" and self.way.mild:
            high = FREE[self.way.mild]
        elif small and (
            self.way.kind != "expected" or self.dtype == np.uint8
        ):  # bytes that pick nothing are of pictures
            low, high = int(limits.min), int(limits.max)
        elif self.way.kind != "expected" and self.shape != ():  # a single one is a count: of loops, of what is kept
            high = 4 * WIDER[min(self.way.mild, 1)]
        if self.way.kind != "edges":
            return self.rng.integers(low, high + 1, self.shape), f"whole numbers from {low} to {high}"
        ends = [0, 1] if self.way.mild else [0, 1, low, high, max(int(limits.min), -5)]
        return self.rng.choice(ends, self.shape), f"of {', '.join(map(str, sorted(dict.fromkeys(ends))))}"
