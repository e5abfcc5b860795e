"""Programs for sizes that vary. The first call of a graph is made a program for its sizes alone; a second one with others of the
same ranks shows which sizes vary, and the graph is traced with symbols in their place (core/dims.py): what comes out is a
program for all sizes that pass the guards, which the compiled part makes without asking Python again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.dims import EQUAL, LARGEST, SMALLEST, SYMBOL, Dim, Trace
from .backend import Bound

Key = tuple[Any, ...]
"""Shape, dtype, shape, dtype, ..."""
Position = tuple[int, int]
"""Number of an input, and an axis of it."""
MOST = 4
"""Traces of a graph for inputs of the same ranks: more are made for sizes that keep failing guards, and would fail again."""


class Traced(NamedTuple):
    """A graph traced: for which sizes, and what binds it to them."""

    symbols: tuple[tuple[Position, ...], ...]
    """Places of the size of each symbol;"""
    fixed: tuple[tuple[Position, int], ...]
    """the other sizes, which have to be these."""
    bind: Callable[[tuple[int, ...]], Bound | None]
    """From the symbols' sizes to the program; None where a guard fails."""

    def sizes(self, key: Key) -> tuple[int, ...] | None:
        """The symbols' sizes in a call; None where it is another call than was traced."""
        for (i, axis), size in self.fixed:
            if key[2 * i][axis] != size:
                return None
        found = []
        for positions in self.symbols:
            (i, axis), *rest = positions
            size = key[2 * i][axis]
            if not SMALLEST <= size <= LARGEST or any(key[2 * j][a] != size for j, a in rest):
                return None
            found.append(size)
        return tuple(found)


Make = Callable[[Key, Trace], "Callable[[tuple[int, ...]], Bound | None] | None"]
"""(shapes with Dims, dtypes, ...; their trace) -> what binds the graph; None where it cannot be traced."""


class Varying:
    """Knowledge of calls of one graph with the same ranks and dtypes. make: traces the graph."""

    def __init__(self, first: Key, make: Make):
        self._first, self._make = first, make
        self._varies: dict[Position, None] = {}
        """Sizes that were seen to be others than at first,"""
        self._decisive: set[Position] = set()
        """those that programs were found to depend on, so that each needs one of its own."""
        self._traced: list[Traced] = []
        self._left = MOST

    def bind(self, key: Key) -> Bound | None:
        """A program for a call; None where it needs one that is made for its sizes alone."""
        for traced in self._traced:
            sizes = traced.sizes(key)
            if sizes is not None and (found := traced.bind(sizes)) is not None:
                return found
        for i in range(0, len(key), 2):
            for axis, (size, first) in enumerate(zip(key[i], self._first[i])):
                if size != first:
                    self._varies[i // 2, axis] = None
        while self._left:
            self._left -= 1
            groups = self._groups(key)
            if not groups:
                return None
            trace = Trace()
            bind = self._trace(key, groups, trace)
            if bind is None:
                return None
            told = {g[1] for g in map(_told, trace.guards) if g is not None}
            if told:  # a trace that holds for one size of a symbol is not worth the symbol
                for number in told:
                    self._decisive.update(groups[number])
                continue
            inside = {p for positions in groups for p in positions}
            fixed = tuple(
                ((i // 2, axis), size)
                for i in range(0, len(key), 2)
                for axis, size in enumerate(key[i])
                if (i // 2, axis) not in inside
            )
            self._traced.insert(0, Traced(groups, fixed, bind))
            return bind(tuple(s.value for s in trace.symbols))
        return None

    def is_traced(self, key: Key) -> bool:
        """True for a call of sizes for which there is a trace, if its guards hold."""
        return any(traced.sizes(key) is not None for traced in self._traced)

    def _groups(self, key: Key) -> tuple[tuple[Position, ...], ...]:
        """Positions for symbols: those that vary together, being equal now and at first, have one."""
        groups: dict[tuple[int, int], list[Position]] = {}
        for i, axis in self._varies:
            size = key[2 * i][axis]
            if size >= SMALLEST and (i, axis) not in self._decisive:
                groups.setdefault((size, self._first[2 * i][axis]), []).append((i, axis))
        return tuple(map(tuple, groups.values()))

    def _trace(self, key: Key, groups: Sequence[Sequence[Position]], trace: Trace) -> Any:
        shapes = [list(shape) for shape in key[::2]]
        for positions in groups:
            (i, axis), *_ = positions
            symbol = trace.symbol(key[2 * i][axis])
            for j, a in positions:
                shapes[j][a] = symbol
        return self._make(tuple(x for s, d in zip(shapes, key[1::2]) for x in (tuple(s), d)), trace)


def _told(guard: tuple[int, Any, Any]) -> tuple[int, int] | None:
    """(the size, the number of the symbol) where a guard says the size of one symbol."""
    relation, left, right = guard
    dim, number = (left, right) if type(left) is Dim else (right, left)
    if relation != EQUAL or type(number) is Dim or len(dim.terms) > 2:
        return None
    atoms = {a for k in dim.terms for a in k}
    if len(atoms) != 1:
        return None
    kind, symbol, _ = dim.trace.atoms[atoms.pop()]
    return (dim.value, symbol) if kind == SYMBOL else None
