"""From the values that an operator's attributes may take to the combinations that are tried. No import of MXNet or hybrid:
the script that records and the tests both read it.

    space("Pooling", lambda a: [uniform(2, 3, *a.size)], {"kernel": [(3, 3), (2, 3)], "stride": [ABSENT, (2, 2)]},
          {"size": [(6, 5)]})

The first dictionary holds attributes, the second what else decides the inputs (shapes, dtypes). A value may be a function of
the other choices; it is asked once all plain ones are made. ABSENT leaves the attribute out.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

ALL = 256
"""A space of so many combinations, or fewer, is tried in full."""
MOST = 320
"""Of a larger one all pairs of values are tried, and as many triples as there is room for in so many combinations."""
TRIES = 16
"""Candidates per uncovered tuple of values."""


class _Absent:
    def __repr__(self) -> str:
        return "-"


ABSENT: Any = _Absent()


class Choices(dict[str, Any]):
    """One value for each name; as attributes too, where those that are absent read as None."""

    def __getattr__(self, name: str) -> Any:
        value = self.get(name)
        return None if value is ABSENT else value


Array = Callable[[np.random.RandomState], np.ndarray]


class Point(NamedTuple):
    """One combination."""

    operator: str
    key: str
    attrs: dict[str, str]
    """As MXNet's frontend writes them."""
    inputs: tuple[np.ndarray, ...]
    """Auxiliary states last. Those of one operator, shape and dtype are the same in all combinations."""
    np_shape: bool
    """MXNet's mode in which 0 is a size."""
    indices: tuple[int, ...] = ()
    """Index of the value that each attribute and each of ``given`` takes."""


@dataclass(frozen=True)
class Space:
    """The values of an operator's attributes and inputs, and which of their combinations mean something."""

    operator: str
    inputs: Callable[[Choices], Sequence[Array]]
    attrs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    given: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    where: Callable[[Choices], bool] = lambda _: True
    most: int = MOST

    @functools.cached_property
    def keys(self) -> dict[str, Sequence[int]]:
        """The keys of ``points()`` and the indices of each, for who looks at few of them: arrays take as long as all else."""
        found: dict[str, Sequence[int]] = {}
        for indices in _combinations(self):
            choices = self.choices(indices)
            if choices is not None:
                found.setdefault(_key(choices), indices)
        return found

    def points(self) -> Iterator[Point]:
        """The combinations, each once, always in the same order."""
        seen = set()
        for indices in _combinations(self):
            point = self.at(indices)
            if point is not None and point.key not in seen:
                seen.add(point.key)
                yield point

    def at(self, indices: Sequence[int]) -> Point | None:
        """One combination by the indices of its values; None where these mean nothing together."""
        choices = self.choices(indices)
        if choices is None:
            return None
        attrs = {n: str(choices[n]) for n in self.attrs if choices[n] is not ABSENT}
        arrays = []
        for i, make in enumerate(self.inputs(choices)):
            seed = zlib.crc32(f"{self.operator}/{i}".encode())
            arrays.append(np.asarray(make(np.random.RandomState(seed))))
        numpy_like = self.operator.startswith("_np") or bool(choices.np_shape)
        return Point(self.operator, _key(choices), attrs, tuple(arrays), numpy_like, tuple(indices))

    def choices(self, indices: Sequence[int]) -> Choices | None:
        """The values that indices stand for; None where they mean nothing together."""
        every = {**self.attrs, **self.given}
        picked = Choices((n, v[i]) for i, (n, v) in zip(indices, every.items()))
        for name, value in list(picked.items()):
            if callable(value):
                picked[name] = None  # one that asks for another of its kind gets an answer all the same
                picked[name] = value(picked)
        return picked if self.where(picked) else None


SPACES: dict[str, dict[str, list[Space]]] = {}
"""All spaces by family and operator."""
_family = ""


def space(
    operators: str,
    inputs: Callable[[Choices], Sequence[Array]],
    attrs: Mapping[str, Sequence[Any]] | None = None,
    given: Mapping[str, Sequence[Any]] | None = None,
    where: Callable[[Choices], bool] = lambda _: True,
    most: int = MOST,
) -> None:
    """Declare a space of each of some operators, named in one text. An operator may have several."""
    for operator in operators.split():
        SPACES[_family].setdefault(operator, []).append(Space(operator, inputs, attrs or {}, given or {}, where, most))


def family(name: str) -> None:
    """Say that what is declared from now on belongs to a family."""
    global _family
    _family = name
    SPACES[name] = {}


def _key(choices: Choices) -> str:
    return " ".join(f"{name}={value!r}" for name, value in choices.items() if value is not ABSENT)


def _combinations(space: Space) -> Iterator[Sequence[int]]:
    sizes = [len(v) for v in (*space.attrs.values(), *space.given.values())]
    # random() alone is the same in every version of Python
    rng = random.Random(zlib.crc32(f"{space.operator} {' '.join(space.attrs)}".encode()))
    if math.prod(sizes) <= min(ALL, space.most):
        yield from sorted(itertools.product(*map(range, sizes)), key=lambda _: rng.random())
    else:
        yield from _covering(sizes, lambda i: space.choices(i) is not None, space.most, rng)


def _covering(
    sizes: Sequence[int], allowed: Callable[[Sequence[int]], bool], most: int, rng: random.Random
) -> Iterator[tuple[int, ...]]:
    """Combinations that hold every pair of values that can be, then triples, up to so many."""

    def tuples(strength: int) -> list[tuple[tuple[int, int], ...]]:
        found = [
            tuple(zip(columns, picked))
            for columns in itertools.combinations(range(len(sizes)), strength)
            for picked in itertools.product(*(range(sizes[c]) for c in columns))
        ]
        return sorted(found, key=lambda _: rng.random())

    done: list[tuple[int, ...]] = []
    for strength in (2, 3):
        wanted = tuples(strength)
        left = set(wanted)
        for indices in done:
            left.difference_update(_within(indices, strength))
        for target in wanted:
            if target not in left:
                continue
            if len(done) >= most:
                return
            best, gain = None, 0
            for _ in range(TRIES):
                indices = [int(rng.random() * n) for n in sizes]
                for column, value in target:
                    indices[column] = value
                covers = len(left.intersection(_within(indices, strength)))
                if covers > gain and allowed(indices):
                    best, gain = tuple(indices), covers
            if best is None:
                continue  # these values hardly go together
            left.difference_update(_within(best, strength))
            done.append(best)
            yield best


def _within(indices: Sequence[int], strength: int) -> Iterator[tuple[tuple[int, int], ...]]:
    return itertools.combinations(enumerate(indices), strength)


def opt(*values: Any) -> list[Any]:
    """Each of the values, and none."""
    return [ABSENT, *values]


def each(*values: Any) -> Callable[[Choices], Any]:
    """The first ``nd`` of some values: one per spatial axis."""
    return lambda a: values[: a.nd]
