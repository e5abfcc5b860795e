"""Short calls of graphs in stages: what has been found for one call, who runs each stage and where its arrays come from, serves the
next ones, whose shapes differ behind the first stage alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.error import MXNetError
from ..core.op import Op, Spec
from ..ir.graph import Node
from .backend import Part, Request, Shortcut, ShortcutInParts, drop_first, placed, without_sharing

MISSES = 16
"""Calls for which the second stage had to be made, more than those for which it had been, after which calls go the long way at
once: they would have run the first stage twice."""
KEPT = 32
"""Sets of shapes of the second stage whose shortcuts are kept."""


class Step(NamedTuple):
    """Operator between the stages: what it takes and gives, by places among all values."""

    node: Node
    op: Op
    specs: Sequence[Spec]
    sources: Sequence[int]
    target: int


class First(NamedTuple):
    """First stage: its shortcut, and the places of the arrays that this takes."""

    shortcut: Shortcut | ShortcutInParts
    takes: Sequence[int]


class Rest(NamedTuple):
    """Second stage: its program, for each input the place among the values or else the place of an array, versions and arrays as
    for ``Bound.shortcut``, and where its results go."""

    part: Part
    takes: Sequence[tuple[int, int]]
    versions: Sequence[Any]
    held: Sequence[np.ndarray | None]
    targets: Sequence[int]


class Passage:
    """A run from stage to stage. first, rest: None where there is nothing to run; size: of the values; held: arrays by place, None
    for those that come with each call; given: the places of these; variables: (place among values, place of an array); selected:
    steps that take so many of the rows that the first stage found; applied: the others; outputs: places among the values; shares:
    whether some may be memory of others."""

    def __init__(
        self,
        request: Request,
        first: First | None,
        rest: Rest | None,
        size: int,
        held: Sequence[np.ndarray | None],
        given: Sequence[int],
        variables: Sequence[tuple[int, int]],
        selected: Sequence[Step],
        applied: Sequence[Step],
        outputs: Sequence[int],
        shares: bool,
    ):
        self._apply = request.apply
        self._first, self._rest, self._held, self._given = first, rest, list(held), given
        count = 0 if first is None else first.shortcut.count
        self._blank: list[Any] = [None] * (size - count)
        self._variables, self._selected, self._applied = variables, selected, applied
        self._outputs, self._shares = outputs, shares
        self._alone = first is not None and [*first.takes] == [*given] and not (variables or rest or shares)
        """True where the first stage takes all that comes with a call, in its order, and nobody else takes anything."""
        self._found: dict[tuple[Any, ...], Shortcut | ShortcutInParts] = {}
        self._misses = 0

    def __call__(self, taken: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """The outputs; None where the long way has to be gone."""
        if self._misses > MISSES:
            return None
        arrays = [] if self._alone else placed(self._held, self._given, taken)
        found: list[Any] | None = []
        if self._first is not None:
            shortcut, takes = self._first
            found = shortcut.results(taken if self._alone else [arrays[i] for i in takes])
            if found is None:
                return None
        values = found + self._blank
        for target, place in self._variables:
            values[target] = arrays[place]
        for step in self._selected:
            rows, count = step.sources
            values[step.target] = selected(step.op, values[rows], values[count])
        try:
            for node, op, specs, sources, target in self._applied:
                given = [values[i] for i in sources]
                if (
                    op.dresses or op.cuts
                ):  # nothing to find out about first: as inferred, or no larger than what there is
                    values[target] = op.compute(*given)
                else:
                    results, _ = self._apply(node, given, specs, None)
                    values[target : target + len(results)] = results
            if self._rest is not None and not self._run_rest(self._rest, values, arrays):
                return None
        except MXNetError:  # who goes the long way says at which node
            return None
        outputs = [values[i] for i in self._outputs]
        return without_sharing(outputs, [a for a in arrays if a is not None]) if self._shares else outputs

    def _run_rest(self, rest: Rest, values: list[Any], arrays: Sequence[Any]) -> bool:
        """Run the second stage; False where that takes more than a shortcut."""
        inside = [arrays[place] if i < 0 else values[i] for i, place in rest.takes]
        key = tuple([x for a in inside for x in (a.shape, a.dtype)])
        shortcut = self._found.get(key)
        if shortcut is None:
            bound = rest.part.prepare(key).bound if rest.part.is_ready(key) else None
            shortcut = None if bound is None else bound.shortcut(rest.versions, rest.held)
            if shortcut is None:
                self._misses += 1
                return False
            self._found[key] = shortcut
            drop_first(self._found, KEPT)
        results = shortcut.results([inside[i] for i in shortcut.positions])
        if results is None:
            self._misses += 1
            return False
        self._misses -= self._misses > 0
        for target, result in zip(rest.targets, results):
            values[target] = result
        return True


def selected(op: Op, rows: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The result of an operator for which the first stage had room (``Op.with_room``): in memory of its own where most of that is
    not needed, and would be held as long as the result is."""
    number = int(count[0])
    found = rows[:number]
    return op.within(found if 2 * number > len(rows) else found.copy())
