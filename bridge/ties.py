"""Choices that rounding decides: the place of the largest of two numbers that are equal up to rounding.

What an argmax, a ranking, a comparison or a cast to whole numbers gives jumps where its inputs move by a rounding; so do rows that
are put in order or suppressed by the numbers in them. So outputs may differ by whole steps though both sides are right. Two sides
made the same choice as far as anybody can tell where each node gives the same from the same values (nodewise.py) and the numbers
that were chosen from agree: then the outputs are compared once more, as they are when the second side chooses as the first did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hybrid.core.attrs import is_float
from hybrid.core.error import MXNetError

from .compare import TIES, TOLERANCES, Difference, Tolerance, compare, is_whole
from .conditioning import WITNESSED, moved, reach
from .engines import Arrays, Engine, EngineError, NativeEngine, Tensor, in_groups
from .nodewise import EXPOSED_BYTES, NodewiseResult
from .result import Case


class Choice(NamedTuple):
    """A tensor that the two sides chose otherwise."""

    tensor: Tensor
    count: int
    """Number of elements that are others."""
    size: int
    made_from: tuple[str, ...]
    """Tensors of floats that were chosen from, which agree."""

    @property
    def words(self) -> str:
        """Words for a report."""
        of = f" of {', '.join(self.made_from)}" if self.made_from else ""
        return (
            f"{self.count} of {self.size} numbers of {self.tensor.name} ({self.tensor.operator}) are chosen otherwise; those{of} "
            "that they are chosen from agree up to rounding"
        )


def settle_ties(
    left: Engine,
    right: Engine,
    case: Case,
    inner: NodewiseResult,
    pairs: Sequence[tuple[str, str]],
    differences: Sequence[Difference],
    results: tuple[Arrays, Arrays],
    precision: Mapping[str, str],
) -> tuple[list[Difference], list[Choice]]:
    """The differences of the outputs (``pairs``) of a case, accepted by TIES where choices alone decide them; and these choices.

    inner: the case node by node, where no node differs. results: outputs of both sides, by their names. precision: of the left
    side's tensors (Engine.precision)."""
    try:
        return _Search(left, right, case, inner, results, precision).settle(pairs, differences)
    except (EngineError, MXNetError, KeyError, ValueError):  # who does not show what is inside shows no tie
        return list(differences), []


@dataclass
class _Search:
    left: Engine
    right: Engine
    case: Case
    inner: NodewiseResult
    results: tuple[Arrays, Arrays]
    precision: Mapping[str, str]
    near: dict[str, bool] = field(default_factory=dict)
    """By tensor of floats whether both sides' agree."""
    chosen: dict[str, np.ndarray] = field(default_factory=dict)
    """Whole numbers of the left side that are others on the right, and what it puts in order (rows) in another one."""
    counts: dict[str, int] = field(default_factory=dict)

    def settle(
        self, pairs: Sequence[tuple[str, str]], differences: Sequence[Difference]
    ) -> tuple[list[Difference], list[Choice]]:
        theirs = {**self.inner.pairs_from(self.left), **dict(pairs)}
        open_ = [a for d, (a, _) in zip(differences, pairs) if not d.equal and d.compared]
        tensors = self._before(open_, theirs)
        self._look(tensors, theirs)
        choices = {c.tensor.name: c for c in map(self._choice, tensors) if c is not None}
        if not choices:
            return list(differences), []
        direct = set(choices).intersection(open_)
        rest = {a: b for a, b in pairs if a in open_ and a not in direct}
        forced = self._forced(choices, theirs, rest)
        out = []
        for d, (a, b) in zip(differences, pairs):
            want = self.results[0][a]
            if a in direct or (a in rest and compare(a, forced[b], want, self._limits(a, want)).equal):
                d = d.accept(TIES)
            out.append(d)
        told = self._read_by([d.name for d in out if d.settled_by == TIES], tensors)
        return out, [c for n, c in choices.items() if n in told]

    def _before(self, names: Sequence[str], theirs: Mapping[str, str]) -> list[Tensor]:
        """The left side's tensors that these follow from, and these, in order; those that have a partner."""
        tensors = self.left.inner_tensors()
        wanted = self._read_by(names, tensors)
        return [t for t in tensors if t.name in wanted and t.name in theirs]

    @staticmethod
    def _read_by(names: Sequence[str], tensors: Sequence[Tensor]) -> set[str]:
        wanted = set(names)
        for tensor in reversed(tensors):
            if tensor.name in wanted:
                wanted.update(tensor.inputs)
        return wanted

    def _look(self, tensors: Sequence[Tensor], theirs: Mapping[str, str]) -> None:
        """Compare tensors of the two runs: floats, whether they agree; whole numbers, whether they are the same."""
        sizes = self.left.sizes(self.case.feeds)
        ordered = {t.name for t in tensors if self._is_ordered(t, theirs)}
        for group in in_groups(tensors, lambda t: sizes.get(t.name, EXPOSED_BYTES // 64), EXPOSED_BYTES):
            # a runtime that shows what is inside may fuse, and round, otherwise than when it gave the outputs
            mine = self.left.expose(self.case.feeds, [t.name for t in group]) | self.results[0]
            other = self.right.expose(self.case.feeds, [theirs[t.name] for t in group]) | self.results[1]
            for name, want in ((t.name, mine[t.name]) for t in group if t.name in mine):
                got = other.get(theirs.get(name, name))
                if got is None or got.shape != want.shape or want.dtype.kind not in "fiubV":
                    continue
                if is_whole(want) and is_whole(got):
                    if count := int((want.astype(np.float64) != got.astype(np.float64)).sum()):
                        self.chosen[name], self.counts[name] = want, count
                elif is_float(want.dtype):
                    got = got.astype(want.dtype)
                    found = compare(name, got, want, self._limits(name, want))
                    self.near[name] = found.equal or (name not in ordered and self._reached(name, got, want))
                    if not self.near[name] and name in ordered:
                        self.chosen[name], self.counts[name] = want, found.beyond

    def _is_ordered(self, tensor: Tensor, theirs: Mapping[str, str]) -> bool:
        """True for a tensor that both sides make alike from the same values, and in which rounding may decide what comes where."""
        alone = self.inner.compared.get(tensor.name if self.inner.source is self.left else theirs[tensor.name])
        if alone is None or not alone.equal:
            return False
        part = self.left.part(frozenset(self.inner.pairs_from(self.left)), [tensor.name])
        return part is not None and any(n.op is not None and n.op.is_ordering for n in part.graph.nodes)

    def _limits(self, name: str, array: np.ndarray) -> Tolerance | None:
        return TOLERANCES.get(self.precision.get(name, "")) if is_float(array.dtype) else None

    def _reached(self, name: str, got: np.ndarray, want: np.ndarray) -> bool:
        """True where both are as near to float64 as float32 runs whose inputs are moved by a unit in the last place come."""
        feeds: Arrays = dict(self.case.feeds)
        if isinstance(self.left, NativeEngine):
            feeds = self.left.complete(feeds)
        exact = self.left.exact(frozenset(), feeds, name)
        if exact is None or exact.shape != want.shape:
            return False
        runs = [
            self.left.run_forced(frozenset(), {n: moved(n, a, seed) for n, a in feeds.items()}, [name])[name]
            for seed in range(WITNESSED + 1)
        ]
        found = reach(exact, runs, want, got)
        return (found.reached and not found.blunt) or found.small

    def _choice(self, tensor: Tensor) -> Choice | None:
        """The choice that a tensor is; None where it is none, or what it is made from does not agree."""
        if tensor.name not in self.chosen:
            return None
        part = self.left.part(frozenset(self.inner.pairs_from(self.left)), [tensor.name])
        read = tensor.inputs if part is None else part.reads
        floats = [n for n in read if n in self.near]
        known = [n for n in read if n in self.near or n in self.chosen]
        if not known or not all(self.near[n] for n in floats):
            return None
        array = self.chosen[tensor.name]
        return Choice(tensor, self.counts[tensor.name], array.size, tuple(floats))

    def _forced(self, choices: Mapping[str, Choice], theirs: Mapping[str, str], outputs: Mapping[str, str]) -> Arrays:
        """The right side's outputs, by its names, when it chooses as the left side did."""
        if not outputs:
            return {}
        values = {theirs[n]: self.chosen[n] for n in choices}
        given = {**self.case.feeds, **values}
        return self.right.run_forced(frozenset(values), given, list(outputs.values()))
