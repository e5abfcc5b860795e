"""Graphs in which values decide about shapes, run stage by stage: what is known before the run as one program, then by NumPy the
nodes whose results have the shapes that nobody knew, then what is behind them as a graph of its own, for the shapes that it meets.

That is worth it where the same shapes come again. Where they do not, NumPy runs the graph as before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.error import MXNetError
from ..core.op import Spec
from ..core.shapes import is_known
from ..ir.graph import Entry, Graph, Node
from .backend import Bound, Fallback, Part, Request, Shortcut
from .hooks import Observer

SEEN = 64
"""Sets of shapes behind a stage that are remembered to have been met."""
PATIENCE = 16
"""Part of new shapes, more than those of known ones, after which NumPy does it all."""

VALUES = 8
"""Sets of values of what decides about shapes for which programs are kept, and"""
SMALL = 64
"""elements of such a tensor at most."""

Key = tuple[int, int]


class Decided(Bound):
    """A graph whose shapes depend on integers that rarely have other values (where a slice begins, what shape there is to be): one
    program for each set of their values."""

    def __init__(self, request: Request, deciding: Sequence[int]):
        self._request, self._deciding = request, deciding
        self._found: dict[tuple[bytes, ...], Bound] = {}
        self._last: tuple[Any, Bound] | None = None

    def run(
        self,
        arrays: Sequence[np.ndarray],
        versions: Sequence[Any] | None = None,
        rng: np.random.Generator | None = None,
        observe: Observer | None = None,
    ) -> list[np.ndarray]:
        return self._bound(arrays, versions).run(arrays, versions, rng, observe)

    @property
    def quick(self) -> bool:  # type: ignore[override]
        return self._last is not None and self._last[1].quick

    def fallbacks(self) -> list[Fallback]:
        return [] if self._last is None else self._last[1].fallbacks()

    def profile(self, arrays: Sequence[np.ndarray]) -> list[dict[str, Any]] | None:
        return self._bound(arrays, None).profile(arrays)

    def shortcut(self, versions: Sequence[Any]) -> Shortcut | None:
        last = self._last
        if last is None or last[0] != [versions[i] for i in self._deciding]:
            return None
        return last[1].shortcut(versions)

    def _bound(self, arrays: Sequence[np.ndarray], versions: Sequence[Any] | None) -> Bound:
        marks = None if versions is None else [versions[i] for i in self._deciding]
        last = self._last
        if last is not None and marks is not None and last[0] == marks:
            return last[1]
        values = tuple(arrays[i].tobytes() for i in self._deciding)
        bound = self._found.get(values)
        if bound is None:
            assert self._request.flow is not None
            constants = {self._request.names[i]: arrays[i].copy() for i in self._deciding}
            part = self._request.flow.part(self._request.graph.outputs, self._request.fixed, constants)
            bound = part.prepare(tuple(x for a in arrays for x in (a.shape, a.dtype))).bound
            self._found[values] = bound
            for old in list(self._found)[:-VALUES]:
                self._found.pop(old, None)
        self._last = marks, bound
        return bound


class Staged(Bound):
    """A graph in stages. reference: NumPy, as it runs the whole."""

    def __init__(self, request: Request, reference: Bound, cut: _Cut):
        assert request.flow is not None
        self._request, self._reference, self._cut = request, reference, cut
        self._place = {name: i for i, name in enumerate(request.names)}
        make = request.flow.part
        self._first = make(cut.first, request.fixed) if cut.first else None
        self._rest = make(cut.rest, request.fixed) if cut.rest else None
        self._seen: dict[Any, int] = {}
        self._misses = 0
        self._ran: tuple[Bound, ...] = ()
        """Those that ran last."""

    def fallbacks(self) -> list[Fallback]:
        why = "data decide about the shapes of its results"
        own = [Fallback(n.name, n.op.name, why) for n in self._cut.ready if n.op is not None]
        found = [f for bound in self._ran for f in bound.fallbacks()]
        return found if self._reference in self._ran else own + found

    def run(
        self,
        arrays: Sequence[np.ndarray],
        versions: Sequence[Any] | None = None,
        rng: np.random.Generator | None = None,
        observe: Observer | None = None,
    ) -> list[np.ndarray]:
        self._ran = ()
        if self._misses > PATIENCE:
            return self._refer(arrays, versions, rng, observe)
        given = list(map(id, arrays)) if versions is None else versions
        values: dict[Key, np.ndarray] = {}
        own: set[Key] = set()
        """Entries whose memory is theirs alone."""
        if self._first is not None:
            found = self._run(self._first, {}, arrays, given, rng)
            for entry, result in zip(self._cut.first, found):
                values[id(entry.node), entry.index] = result
        for node in self._cut.variables:
            values[id(node), 0] = arrays[self._place[node.name]]
        for node in self._cut.ready:
            specs = [self._request.inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
            results, _ = self._request.apply(node, [values[id(e.node), e.index] for e in node.inputs], specs, rng)
            values.update(((id(node), i), r) for i, r in enumerate(results))
        if self._rest is not None:
            crossing = {name: values[id(e.node), e.index] for name, e in self._cut.crossing.items()}
            found = self._behind(self._rest, crossing, arrays, given, rng)
            if found is None:
                return self._refer(arrays, versions, rng, observe)
            for entry, result in zip(self._cut.behind, found):
                values[id(entry.node), entry.index] = result
        results = []
        for entry in self._request.graph.outputs:
            key = id(entry.node), entry.index
            result = values[key]
            free = key not in own and result.flags.c_contiguous and result.flags.writeable
            fresh = free and not any(np.may_share_memory(result, a) for a in (*arrays, *results))
            own.add(key)
            results.append(result if fresh else np.array(result, order="C"))
        return results

    def _refer(self, *given: Any) -> list[np.ndarray]:
        """The outputs by NumPy."""
        self._ran = (self._reference,)
        return self._reference.run(*given)

    def _behind(
        self, rest: Part, crossing: dict[str, np.ndarray], arrays: Sequence[np.ndarray], versions: Any, rng: Any
    ) -> list[np.ndarray] | None:
        """Outputs of what is behind the first stage; None where its shapes are new, or do not fit: NumPy says so."""
        key = tuple((a.shape, a.dtype) for a in crossing.values())
        known = key in self._seen
        self._misses += -1 if known and self._misses > 0 else 0 if known else 1
        self._seen[key] = self._seen.pop(key, 0) + 1
        for old in list(self._seen)[:-SEEN]:
            self._seen.pop(old, None)
        if not known:
            return None
        try:
            return self._run(rest, crossing, arrays, versions, rng)
        except MXNetError:
            return None

    def _run(
        self, program: Part, crossing: dict[str, np.ndarray], arrays: Sequence[np.ndarray], versions: Any, rng: Any
    ) -> list[np.ndarray]:
        inside, marks = [], []
        for name in program.names:
            if name in crossing:
                inside.append(crossing[name])
                marks.append(None)
            else:
                inside.append(arrays[self._place[name]])
                marks.append(versions[self._place[name]])
        prepared = program.prepare(tuple(x for a in inside for x in (a.shape, a.dtype)))
        self._ran += (prepared.bound,)
        return prepared.bound.run(inside, marks, rng)


class _Cut:
    """A graph cut behind what is known of it."""

    def __init__(self, request: Request):
        graph, inference = request.graph, request.inference
        known: set[int] = set()
        for node in graph.nodes:
            specs = [inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
            if all(id(e.node) in known for e in node.inputs) and all(map(_is_tensor, specs)):
                known.add(id(node))
        ahead = known | {id(n) for n in graph.variables()}
        self.ready = [
            n for n in graph.nodes if id(n) not in ahead and all(id(e.node) in ahead for e in n.inputs)
        ]  # applied by NumPy
        done = ahead | {id(n) for n in self.ready}
        wanted = {
            (id(e.node), e.index): e
            for e in (*graph.outputs, *(e for n in graph.nodes if id(n) not in ahead for e in n.inputs))
        }
        self.first = [e for e in wanted.values() if id(e.node) in known and e.node.op is not None]
        self.variables = [e.node for e in wanted.values() if e.node.op is None]
        self.behind = list({(id(e.node), e.index): e for e in graph.outputs if id(e.node) not in done}.values())
        names = {n.name for n in graph.nodes}
        self.crossing: dict[str, Entry] = {}
        """Entries that what is behind reads, by the names of the variables that it has for them."""

        def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
            if node.op is None or id(node) not in done:
                return None
            made = []
            for i in range(node.num_outputs):
                name = f"{node.name}_{i}"
                while name in names:
                    name += "_"
                names.add(name)
                self.crossing[name] = Entry(node, i)
                made.append(Entry(Node(None, name)))
            return made

        self.rest = Graph(self.behind).rewrite(change).outputs if self.behind else ()
        read = {n.name for n in Graph(self.rest).variables()}
        self.crossing = {n: e for n, e in self.crossing.items() if n in read}


def _is_tensor(spec: Spec) -> bool:
    return is_known(spec.shape) and spec.dtype is not None and not spec.dtype.hasobject


def _decides(spec: Spec) -> bool:
    """True for integers that may be the sizes or places of something."""
    shape, dtype = spec
    return is_known(shape) and dtype is not None and dtype.kind in "iub" and math.prod(shape) <= SMALL


def decided(request: Request) -> Decided | None:
    """The graph with a program for each set of values of the integers that it is given and that rarely change; None where there are
    none, or no operator looks at them."""
    if request.training or request.flow is None or not request.flow.undecided:
        return None
    if not any(n.op is not None and "values" in n.op.needs for n in request.graph.nodes):
        return None
    specs = {n.name: request.inference.spec(Entry(n)) for n in request.graph.variables()}
    deciding = [i for i, name in enumerate(request.names) if name in request.fixed and _decides(specs[name])]
    return Decided(request, deciding) if deciding else None


def in_stages(request: Request, reference: Bound) -> Staged | None:
    """The graph in stages; None where there would be one only, or where steps have to stay in their order."""
    ops = [n.op for n in request.graph.all_nodes() if n.op is not None]
    if (
        request.training
        or request.flow is None
        or any(op.mutates or op.always_mutates or "rng" in op.needs for op in ops)
    ):
        return None
    cut = _Cut(request)
    if not cut.ready or not (cut.first or cut.rest):
        return None
    return Staged(request, reference, cut)
