"""Tensors of two models that are one, found by what they hold, for where names say nothing or the wrong thing.

Tensors that hold the same numbers are one. Behind a fault nothing holds the same numbers; there a tensor of the second model is
given the numbers of one of the first, on trial: when what follows is right then, these two are one, and the fault is before them.
So files whose inner names an optimiser changed, and those whose nodes were folded, are compared as closely as what they have in
common allows."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from hybrid.core.attrs import is_float

from .engines import Arrays, Engine, EngineError, Tensor
from .result import Case

LIKE = 0.02  # of their norm that two tensors are apart at most when they are taken for one
AKIN = 0.5  # cosine from which on two tensors of one place are taken for one that is wrong
SAMPLE = 512  # elements of a tensor that are looked at
TRIALS = 48  # runs of the second model on trial
TRIED_BYTES = (
    12 << 30
)  # of tensors and parameters in all these runs: half a minute, and the same trials on every machine
WINDOW = 10  # tensors of each side, from where the models part, that are tried
HEALED = 3  # tensors that become right by a trial, from which on no other is tried
HELD_BYTES = 1 << 30  # of the first model's tensors


class Pairing(NamedTuple):
    """Tensors that belong together."""

    pairs: list[tuple[Tensor, Tensor]]
    """In the order of the first model."""
    sure: frozenset[str]
    """Those, by the first model's names, that hold the same numbers when what is before them does."""


def match(
    first: Engine, second: Engine, case: Case, outputs: Mapping[str, str], known: Mapping[str, str]
) -> Pairing | None:
    """The tensors of two engines that are one; None where they are too large to be held. outputs: names of the second model's by
    those of the first; known: those of tensors inside. Raises EngineError and MXNetError."""
    if not first.inner_tensors() or not second.inner_tensors() or sum(first.sizes(case.feeds).values()) > HELD_BYTES:
        return None
    return _Matcher(first, second, case, outputs, known).run()


def by_name(engine: Engine) -> dict[str, Tensor]:
    """The tensors inside whose names occur once."""
    tensors = engine.inner_tensors()
    times = Counter(t.name for t in tensors)
    return {t.name: t for t in tensors if times[t.name] == 1}


class _Matcher:
    def __init__(self, first: Engine, second: Engine, case: Case, outputs: Mapping[str, str], known: Mapping[str, str]):
        self.second, self.case = second, case
        self.mine, self.theirs = by_name(first), by_name(second)
        self.outputs = {a: b for a, b in outputs.items() if a in self.mine and b in self.theirs}
        shown = first.expose(case.feeds, list(self.mine))
        self.values = {n: v for n, v in shown.items() if n in self.mine and v.dtype != object}
        self.samples = {n: _sample(v) for n, v in self.values.items()}
        self.pairs = {**{a: b for a, b in known.items() if a in self.values}, **self.outputs}
        self.sure = set(known) & set(self.pairs)
        self.trials = min(TRIALS, TRIED_BYTES // max(sum(first.sizes(case.feeds).values()), 1))

    def run(self) -> Pairing:
        made = self._made(self.pairs)
        while True:
            alike = self._alike(made, self.pairs)
            if alike:
                self.pairs |= alike
                self.sure |= set(alike)
            else:
                wrong = self._wrong_outputs(made)
                ends = wrong or [n for n in self.outputs if n in self.samples and self.samples[n].little]
                trial = self._try(made, wrong, ends) if ends else None
                if trial is None:
                    break
                self.pairs |= trial
                self.sure |= set(trial)
            made = self._made(self.pairs)
        self._pair_rest(made)
        return Pairing(
            [(t, self.theirs[self.pairs[n]]) for n, t in self.mine.items() if n in self.pairs], frozenset(self.sure)
        )

    def _made(self, pairs: Mapping[str, str]) -> Arrays:
        """The second model's values of all that is not paired, and of its outputs, from the first's values for what is."""
        given = {b: self.values[a] for a, b in pairs.items() if a in self.values}
        cut = frozenset(given)
        wanted = [n for n in self.theirs if n not in cut or n in self.outputs.values()]
        while wanted:
            try:
                return self.second.run_forced(cut, {**self.case.feeds, **given}, wanted)
            except EngineError:  # what is wrong before it may fit no longer: as far as it goes
                wanted = wanted[: len(wanted) // 2]
        return {}

    def _wrong_outputs(self, made: Arrays) -> list[str]:
        """Outputs, by the first model's names, that are not the same, or that the second does not get to."""
        return [
            a
            for a, b in self.outputs.items()
            if b not in made or a not in self.samples or _apart(self.samples[a], _sample(made[b])) > LIKE
        ]

    def _alike(self, made: Arrays, pairs: Mapping[str, str]) -> dict[str, str]:
        """Pairs of tensors that hold the same numbers; of several the one of the same name, else the nearest, else the first."""
        free = {n: s for n, s in self.samples.items() if n not in pairs and s.tells}
        kinds: dict[tuple[object, ...], list[str]] = {}
        for name, sample in free.items():
            kinds.setdefault(sample.kind, []).append(name)
        found: list[tuple[bool, float, int, int, str, str]] = []
        place = {n: i for i, n in enumerate(self.mine)}
        for index, (name, array) in enumerate(made.items()):
            if name in self.outputs.values() or array.dtype == object:
                continue
            sample = _sample(array)
            if not sample.tells:
                continue
            for candidate in kinds.get(sample.kind, ()):
                apart = _apart(free[candidate], sample)
                if apart <= LIKE:
                    found.append((candidate != name, round(apart, 4), place[candidate], index, candidate, name))
        out: dict[str, str] = {}
        taken: set[str] = set()
        for *_rank, a, b in sorted(found):
            if a not in out and b not in taken:
                out[a] = b
                taken.add(b)
        return out

    # -- behind a fault ---------------------------------------------------------------------------------------------

    def _try(self, made: Arrays, wrong: list[str], ends: list[str]) -> dict[str, str] | None:
        """The pair that makes most of what follows right. wrong: outputs that are not yet; ends: those before which to look."""
        mine = self._before(self.mine, ends, self.pairs)
        theirs = self._before(self.theirs, [self.outputs[n] for n in ends], self.pairs.values())
        ranked = sorted(
            (not self._fit(a, b, made), a != b, i + j, a, b)
            for i, a in enumerate(mine[:WINDOW])
            for j, b in enumerate(theirs)
            if a in self.values and (a == b or (j < WINDOW and b in made and made[b].ndim == self.values[a].ndim))
        )
        best, most = None, 0
        for *_rank, a, b in ranked:
            if not self.trials:
                break
            self.trials -= 1
            pairs = {**self.pairs, a: b}
            now = self._made(pairs)
            still = self._wrong_outputs(now)
            healed = len(self._alike(now, pairs)) + len(wrong) - len(still)
            if healed > most:
                best, most = {a: b}, healed
            if healed >= HEALED or (wrong and healed and not still):
                break
        return best and {self._likest(a, b, mine): b for a, b in best.items()}

    def _likest(self, a: str, b: str, free: list[str]) -> str:
        """Of the free tensors that hold the numbers of a, which heal as much in the place of b, the one that as many follow from as
        from b: a sum with a state of zeros holds what is added to it."""
        array = self.values[a]
        same = [
            n
            for n in free
            if n in self.values and np.array_equal(self.values[n], array, equal_nan=is_float(array.dtype))
        ]
        wanted = len(self._after(self.theirs, b))
        return min(same, key=lambda n: (abs(len(self._after(self.mine, n)) - wanted), n != a)) if len(same) > 1 else a

    @staticmethod
    def _after(tensors: Mapping[str, Tensor], name: str) -> set[str]:
        """The tensor and those that follow from it."""
        found = {name}
        for tensor in tensors.values():
            if not found.isdisjoint(tensor.inputs):
                found.add(tensor.name)
        return found

    def _fit(self, a: str, b: str, made: Arrays) -> bool:
        return b in made and (made[b].shape, made[b].dtype) == (self.values[a].shape, self.values[a].dtype)

    @staticmethod
    def _before(tensors: Mapping[str, Tensor], ends: Iterable[str], known: Collection[str]) -> list[str]:
        """Tensors from which the ends follow without one that is known between, in order."""
        seen: set[str] = set()
        stack = [n for end in ends for n in tensors[end].inputs]
        known = set(known)
        while stack:
            name = stack.pop()
            if name not in seen and name in tensors and name not in known:
                seen.add(name)
                stack.extend(tensors[name].inputs)
        return [n for n in tensors if n in seen]

    def _pair_rest(self, made: Arrays) -> None:
        """Pair the rest, where it is akin: of the same name, else, of those whose names the other side does not have, the only
        ones made from the same tensors. Names count where most tensors that hold the same numbers have the same."""
        taken = set(self.pairs.values())
        named = [a == b for a, b in self.pairs.items() if a in self.sure and a in self.theirs]
        names_tell = 2 * sum(named) >= len(named)
        mine = [n for n in self.samples if n not in self.pairs]
        theirs = [n for n in made if n not in taken]
        for name in mine:
            if names_tell and name in theirs and self._akin(name, name, made):
                self.pairs[name] = name
        partner, taken = self.pairs, set(self.pairs.values())
        ours: dict[frozenset[str], list[str]] = {}
        for name in mine:
            if name not in partner and not (names_tell and name in self.theirs):
                around = self._around(self.mine, name, partner)
                ours.setdefault(frozenset(partner.get(n, n) for n in around), []).append(name)
        others: dict[frozenset[str], list[str]] = {}
        for name in theirs:
            if name not in taken and not (names_tell and name in self.mine):
                others.setdefault(frozenset(self._around(self.theirs, name, taken)), []).append(name)
        for place, names in ours.items():
            for name in names:
                fit = [n for n in others.get(place, ()) if self._akin(name, n, made)]
                if len(fit) == 1 and sum(self._akin(n, fit[0], made) for n in names) == 1:
                    self.pairs[name] = fit[0]

    def _akin(self, a: str, b: str, made: Arrays) -> bool:
        if not self._fit(a, b, made):
            return False
        one, other = self.samples[a], _sample(made[b])
        size = float(np.linalg.norm(one.numbers) * np.linalg.norm(other.numbers))
        return one.tells and bool(size) and abs(float(one.numbers @ other.numbers)) > AKIN * size

    @staticmethod
    def _around(tensors: Mapping[str, Tensor], name: str, known: Collection[str]) -> set[str]:
        """The nearest known tensors, and inputs of the model, that a tensor is made from."""
        found: set[str] = set()
        seen: set[str] = set()
        stack = list(tensors[name].inputs)
        while stack:
            read = stack.pop()
            if read in seen:
                continue
            seen.add(read)
            if read in known or read not in tensors:
                found.add(read)
            else:
                stack.extend(tensors[read].inputs)
        return found


class _Sample(NamedTuple):
    """Some elements of a tensor, always the same places of one shape."""

    kind: tuple[object, ...]
    """Shape and dtype."""
    numbers: np.ndarray
    """0 in place of what is not finite."""
    finite: np.ndarray
    tells: bool
    """False where they are all one: that holds for tensors that are not one as well."""

    @property
    def little(self) -> bool:
        """True where they are all one, or 0 and 1 as a saturated softmax gives them: what is before may differ."""
        return not self.tells or bool((np.abs(self.numbers * (self.numbers - 1)) < 1e-9).all())


def _sample(array: np.ndarray) -> _Sample:
    kind = (array.shape, array.dtype.name)
    flat = array.reshape(-1)
    if flat.size > SAMPLE:
        rng = np.random.default_rng(zlib.crc32(str(array.shape).encode()))
        flat = flat[np.sort(rng.choice(flat.size, SAMPLE, replace=False))]
    if flat.dtype.kind not in "biuf" and flat.dtype.name != "bfloat16":
        flat = np.zeros(0)
    numbers = flat.astype(np.float64)
    finite = np.isfinite(numbers)
    numbers[~finite] = 0
    return _Sample(kind, numbers, finite, numbers.size > 1 and bool((numbers != numbers[0]).any()))


def _apart(one: _Sample, other: _Sample) -> float:
    """Distance of two tensors, of their norm; whole numbers are the same or not."""
    if one.kind != other.kind or not np.array_equal(one.finite, other.finite):
        return np.inf
    apart = float(np.linalg.norm(one.numbers - other.numbers))
    if not apart:
        return 0.0
    whole = not str(one.kind[1]).startswith(("float", "bfloat"))
    size = max(float(np.linalg.norm(one.numbers)), float(np.linalg.norm(other.numbers)))
    return np.inf if whole else apart / size
