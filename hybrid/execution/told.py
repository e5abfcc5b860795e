"""Graphs whose shapes depend on small integers among what each call gives: how often a loop goes round, what shape there is to be.
Values that come again get a program of their own, in which they are constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.error import MXNetError
from ..core.memory_budget import size_of
from ..core.op import Spec
from ..core.shapes import is_known
from ..ir.graph import Entry, Node
from .backend import (
    Bound,
    Fallback,
    ReducedLayer,
    Request,
    Shortcut,
    ShortcutInParts,
    boxes_among,
    drop_first,
    placed,
    without_sharing,
)
from .hooks import Observer
from .interpreter import Interpretation
from .settled import IF, settled
from .stages import SMALL, VALUES, decides

FEW = 8
"""Elements of an input of a call that is looked at, at most; it has one axis or none, as sizes and counts do."""
SCALES = 16
"""Elements of floats between such an input and what it decides about."""
LIGHT = 1 << 22
"""Bytes of constants at most of a graph that is made anew for values: each program packs its own."""
WORTH = 64
"""Runs of the programs that there are which pay for another one, beyond the first VALUES."""
SEEN = 64
"""Sets of values that are remembered to have been met once, without a program yet."""

Values = tuple[bytes, ...]


class _Made(NamedTuple):
    """A program for some values, and what it takes: an array by its place, or the constant that stands for it."""

    bound: Bound
    takes: list[tuple[int, np.ndarray | None]]

    def take(self, arrays: Sequence[Any], versions: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Arrays that the program takes of these, and their versions."""
        inside = [arrays[i] if held is None else held for i, held in self.takes]
        return inside, [versions[i] if held is None else None for i, held in self.takes]


class Told(Bound):
    """One program for each set of values of the inputs that decide about shapes and come again; ``otherwise`` runs the others.

    deciding: places of all that decides; given: of those that come with each call."""

    def __init__(
        self,
        request: Request,
        deciding: Sequence[int],
        given: Sequence[int],
        otherwise: Callable[[], Bound | None],
    ):
        self._request, self._deciding, self._given = request, deciding, given
        self._make_otherwise = otherwise
        self._otherwise: Bound | None = None
        self._seen: dict[Values, None] = {}
        self._found: dict[Values, _Made | None] = {}
        """None where these values do not fit the graph."""
        self._credit = VALUES * WORTH
        self._last: Bound | None = None

    def run(
        self,
        arrays: Sequence[np.ndarray],
        versions: Sequence[Any] | None = None,
        rng: np.random.Generator | None = None,
        observe: Observer | None = None,
    ) -> list[np.ndarray]:
        found = self._bound(arrays)
        if found is None:
            if self._otherwise is None:
                self._otherwise = self._make_otherwise() or Interpretation(self._request)
            bound = self._otherwise
        else:
            bound = found.bound
            given = map(id, arrays) if versions is None else versions
            arrays, versions = found.take(arrays, list(given))
        self._last = bound
        results = bound.run(arrays, versions, rng, observe)
        return without_sharing(results, arrays) if bound.aliases else results

    def shortcut(self, versions: Sequence[Any], held: Sequence[np.ndarray | None]) -> ShortcutInParts | None:
        if any(held[i] is None for i in self._deciding if i not in self._given):
            return None
        specs = list(map(self._request.inference.spec, self._request.graph.outputs))
        given = tuple(i for i, a in enumerate(held) if a is None)
        call = _ToldCall(self, versions, held, given)
        return ShortcutInParts(call, given, len(specs), boxes_among(specs))

    def known(self, values: Values) -> _Made | None:
        """The program that there is for these values."""
        found = self._found.get(values)
        if found is not None:
            self._credit = min(self._credit + 1, VALUES * WORTH)
        return found

    @property
    def deciding(self) -> Sequence[int]:
        """Places of all that decides."""
        return self._deciding

    @property
    def quick(self) -> bool:  # type: ignore[override]
        return self._last is not None and self._last.quick

    def fallbacks(self) -> list[Fallback]:
        return [] if self._last is None else self._last.fallbacks()

    def reduced(self) -> list[ReducedLayer]:
        return [] if self._last is None else self._last.reduced()

    def profile(self, arrays: Sequence[np.ndarray]) -> list[dict[str, Any]] | None:
        found = self._bound(arrays)
        return None if found is None else found.bound.profile(found.take(arrays, arrays)[0])

    def _bound(self, arrays: Sequence[np.ndarray]) -> _Made | None:
        """The program for these values; None where there is none."""
        values = tuple([arrays[i].tobytes() for i in self._deciding])
        if values in self._found:
            self._credit = min(self._credit + 1, VALUES * WORTH)
            return self._found[values]
        if values not in self._seen:
            self._seen[values] = None
            drop_first(self._seen, SEEN)
            return None
        if self._credit < WORTH:
            return None
        self._credit -= WORTH
        self._found[values] = found = self._program(arrays)
        drop_first(self._found, VALUES)
        return found

    def _program(self, arrays: Sequence[np.ndarray]) -> _Made | None:
        request, names = self._request, self._request.names
        assert request.flow is not None
        constants = {names[i]: arrays[i].copy() for i in self._deciding}
        specs = {n: Spec(a.shape, a.dtype) for n, a in zip(names, arrays)}
        try:
            graph = settled(request.graph, specs, constants)
            part = request.flow.part(graph.outputs, request.fixed, constants)
            bound = part.prepare(tuple(x for n in part.names for x in specs[n])).bound
        except MXNetError:  # which a run says that knows the values
            return None
        held = {names[i]: constants[names[i]] for i in self._given}
        return _Made(bound, [(names.index(n), held.get(n)) for n in part.names])


class _ToldCall:
    """Short calls of a graph that is told values, for those for which there is a program."""

    def __init__(self, told: Told, versions: Sequence[Any], held: Sequence[np.ndarray | None], given: Sequence[int]):
        self._told, self._versions, self._held, self._given = told, list(versions), list(held), given
        self._values = [(i, None if (a := held[i]) is None else a.tobytes()) for i in told.deciding]
        self._found: dict[Values, tuple[_Made, Shortcut | ShortcutInParts]] = {}

    def __call__(self, taken: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        arrays = placed(self._held, self._given, taken)
        values = tuple([arrays[i].tobytes() if known is None else known for i, known in self._values])
        made = self._told.known(values)
        if made is None:
            return None
        found = self._found.get(values)
        if found is None or found[0] is not made:
            inside, versions = made.take(self._held, self._versions)
            shortcut = made.bound.shortcut(versions, inside)
            if shortcut is None:
                return None
            self._found[values] = found = made, shortcut
            drop_first(self._found, VALUES)
        shortcut, takes = found[1], made.takes
        return shortcut.results(
            [arrays[i] if held is None else held for i, held in (takes[p] for p in shortcut.positions)]
        )


def told(request: Request, otherwise: Callable[[], Bound | None]) -> Told | None:
    """The graph with a program for each set of values of the inputs that decide about its shapes; None where none does."""
    graph, inference = request.graph, request.inference
    if request.training or request.flow is None or not request.flow.whole or request.trace is not None:
        return None
    if any(n.op is not None and (n.op.mutates or "rng" in n.op.needs) for n in graph.all_nodes()):
        return None
    specs = {n.name: inference.spec(Entry(n)) for n in graph.variables()}
    fixed = [n for n in request.names if n in request.fixed]
    if sum(size_of(*specs[n]) for n in fixed if is_known(specs[n].shape)) > LIGHT:
        return None
    names = _deciding(request)
    given = [i for i, n in enumerate(request.names) if n in names]
    if not given:
        return None
    constant = [i for i, n in enumerate(request.names) if n in request.fixed and decides(specs[n])]
    return Told(request, [*given, *constant], given, otherwise)


def _deciding(request: Request) -> set[str]:
    """Names of the inputs of a call that shapes follow from which nobody knows."""
    inference = request.inference
    wanted: list[tuple[Node, Callable[[Spec], bool]]] = []
    for node in request.graph.nodes:
        specs = [inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
        if node.op is not None and not all(is_known(s.shape) for s in specs):
            # what reads no values before it runs may still read what a loop has put together
            reads = "values" in node.op.needs or node.op.name == IF
            wanted.append((node, _leads if reads else _is_collection))
    seen = set()
    names = set()
    while wanted:
        reader, leads = wanted.pop()
        assert reader.op is not None
        for entry in reader.inputs[: 1 if reader.op.name == IF else None]:
            spec, node = inference.spec(entry), entry.node
            if id(node) in seen or not leads(spec):
                continue
            seen.add(id(node))
            if node.op is not None:
                wanted.append((node, _leads))
            elif node.name not in request.fixed and _tells(spec):
                names.add(node.name)
    return names


def _tells(spec: Spec) -> bool:
    """True for sizes, counts and flags; masks of several elements are data."""
    shape, dtype = spec
    if not decides(spec, FEW) or len(shape or ()) > 1:
        return False
    return dtype is not None and (dtype.kind in "iu" or math.prod(shape or ()) == 1)


def _is_collection(spec: Spec) -> bool:
    return spec.dtype is not None and spec.dtype.hasobject


def _leads(spec: Spec) -> bool:
    """True for what values that decide about shapes may be computed as."""
    shape, dtype = spec
    if _is_collection(spec):
        return True
    if dtype is None or dtype.kind not in "iubf":
        return False
    return not is_known(shape) or math.prod(shape) <= (SCALES if dtype.kind == "f" else SMALL)
