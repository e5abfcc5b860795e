"""Graphs in which values decide about shapes, run stage by stage: what is known before the run as one program, then by NumPy the
nodes whose results have the shapes that nobody knew, then what is behind them as a graph of its own, for the shapes that it meets.
What selects has room for the most that there may be in the first program (``Op.with_room``), and is cut to what there is.

A part behind is traced for sizes that vary (varying.py). Where that cannot be, and the same shapes do not come again, NumPy runs
it, unless it has weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.error import MXNetError
from ..core.op import Spec
from ..core.shapes import is_known
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import Inference
from ..ops.elementwise import Identity
from .backend import (
    Bound,
    Fallback,
    Part,
    ReducedLayer,
    Request,
    Shortcut,
    ShortcutInParts,
    boxes_among,
    drop_first,
    without_sharing,
)
from .hooks import Observer
from .passage import First, Passage, Rest, Step, selected

PATIENCE = 16
"""Sets of shapes for which a part is made anew, more than runs of those that it was made for, after which NumPy runs it."""

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

    def reduced(self) -> list[ReducedLayer]:
        return [] if self._last is None else self._last[1].reduced()

    def profile(self, arrays: Sequence[np.ndarray]) -> list[dict[str, Any]] | None:
        return self._bound(arrays, None).profile(arrays)

    def shortcut(self, versions: Sequence[Any], held: Sequence[np.ndarray | None]) -> Shortcut | ShortcutInParts | None:
        last = self._last
        if last is None or last[0] != [versions[i] for i in self._deciding]:
            return None
        if any(held[i] is None for i in self._deciding):
            return None
        return last[1].shortcut(versions, held)

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
            drop_first(self._found, VALUES)
        self._last = marks, bound
        return bound


class _Stages:
    """A graph cut in two, and the programs of both parts."""

    def __init__(self, request: Request, cut: _Cut):
        assert request.flow is not None
        self.cut = cut
        self.first = request.flow.part(cut.first, request.fixed) if cut.first else None
        self.rest = request.flow.part(cut.rest, request.fixed, computed=cut.crossing) if cut.rest else None
        self.weighty = (
            any(
                n.op is not None and n.op.parameters.intersection(n.op.input_names())
                for n in Graph(cut.rest).all_nodes()
            )
            if cut.rest
            else False
        )
        """True where NumPy would take longer than to make a program."""
        self.misses = 0
        """Sets of shapes that the rest was made for, less the runs of those that it had been made for."""
        place = {name: i for i, name in enumerate(request.names)}
        self.first_places = [place[n] for n in self.first.names] if self.first else []
        names = [*cut.crossing]
        self.rest_places = [place.get(n, -1) for n in self.rest.names] if self.rest else []
        """Places of the arrays that the rest takes, and -1 for what crosses over,"""
        self.rest_crossing = [names.index(n) for n in self.rest.names if n in cut.crossing] if self.rest else []
        """in the order in which the rest takes it."""
        self.variables = [(id(n), place[n.name]) for n in cut.variables]


class Staged(Bound):
    """A graph in stages. reference: NumPy, as it runs the whole."""

    def __init__(self, request: Request, reference: Bound, stages: _Stages):
        self._request, self._reference, self._stages = request, reference, stages
        inference = request.inference
        self._specs = [[inference.spec(Entry(n, i)) for i in range(n.num_outputs)] for n in stages.cut.ready]
        self._ran: tuple[Bound, ...] = ()
        """Those that ran last."""

    def shortcut(self, versions: Sequence[Any], held: Sequence[np.ndarray | None]) -> Shortcut | ShortcutInParts | None:
        stages, cut = self._stages, self._stages.cut
        specs = {n.name: self._request.inference.spec(Entry(n)) for n in self._request.graph.variables()}
        first = None
        if stages.first is not None:
            places = stages.first_places
            bound = stages.first.prepare(tuple(x for n in stages.first.names for x in specs[n])).bound
            shortcut = bound.shortcut([versions[i] for i in places], [held[i] for i in places])
            if shortcut is None:
                return None
            first = First(shortcut, [places[p] for p in shortcut.positions])
        slots: dict[Key, int] = {(id(e.node), e.index): i for i, e in enumerate(cut.first)}
        for node in (*cut.variables, *cut.ready):
            for i in range(node.num_outputs):
                slots[id(node), i] = len(slots)
        for entry in cut.behind:
            slots[id(entry.node), entry.index] = len(slots)
        rest = None
        if stages.rest is not None:
            across = iter(stages.rest_crossing)
            crossing = [slots[id(e.node), e.index] for e in cut.crossing.values()]
            places = stages.rest_places
            rest = Rest(
                stages.rest,
                [(crossing[next(across)], i) if i < 0 else (-1, i) for i in places],
                [None if i < 0 else versions[i] for i in places],
                [None if i < 0 else held[i] for i in places],
                [slots[id(e.node), e.index] for e in cut.behind],
            )
        roomy, applied = [], []
        for node, given in zip(cut.ready, self._specs):
            assert node.op is not None
            if id(node) in cut.roomy:
                sources = [slots[id(cut.roomy[id(node)]), i] for i in range(2)]
                roomy.append(Step(node, node.op, given, sources, slots[id(node), 0]))
            else:
                sources = [slots[id(e.node), e.index] for e in node.inputs]
                applied.append(Step(node, node.op, given, sources, slots[id(node), 0]))
        ends = self._request.graph.outputs
        outputs = [slots[id(e.node), e.index] for e in ends]
        shared = {id(n) for n in cut.variables} | {id(s.node) for s in applied if not s.op.dresses}
        variables = [(slots[n, 0], i) for n, i in stages.variables]
        taken = {
            *(first.takes if first else ()),
            *(i for _, i in variables),
            *(i for i in stages.rest_places if i >= 0),
        }
        given = tuple(sorted(i for i in taken if held[i] is None))
        passage = Passage(
            self._request,
            first,
            rest,
            len(slots),
            [a if i in taken else None for i, a in enumerate(held)],
            given,
            variables,
            roomy,
            applied,
            outputs,
            len({*outputs}) < len(outputs) or any(id(e.node) in shared for e in ends),
        )
        return ShortcutInParts(passage, given, len(outputs), boxes_among([*map(self._request.inference.spec, ends)]))

    def fallbacks(self) -> list[Fallback]:
        cut, words = self._stages.cut, "it makes words or maps"
        own = [
            Fallback(n.name, n.op.name, words if n.op.dresses else "data decide about the shapes of its results")
            for n in cut.ready
            if n.op is not None and id(n) not in cut.roomy and not n.op.cuts
        ]
        found = [f for bound in self._ran for f in bound.fallbacks()]
        return found if self._reference in self._ran else own + found

    def reduced(self) -> list[ReducedLayer]:
        return [r for bound in self._ran for r in bound.reduced()]

    def run(
        self,
        arrays: Sequence[np.ndarray],
        versions: Sequence[Any] | None = None,
        rng: np.random.Generator | None = None,
        observe: Observer | None = None,
    ) -> list[np.ndarray]:
        self._ran = ()
        stages, cut = self._stages, self._stages.cut
        given = list(map(id, arrays)) if versions is None else versions
        values: dict[Key, np.ndarray] = {}
        if stages.first is not None:
            inside, marks = [arrays[i] for i in stages.first_places], [given[i] for i in stages.first_places]
            bound = stages.first.prepare(tuple(x for a in inside for x in (a.shape, a.dtype))).bound
            self._ran += (bound,)
            for entry, result in zip(cut.first, bound.run(inside, marks, rng)):
                values[id(entry.node), entry.index] = result
        for node, place in stages.variables:
            values[node, 0] = arrays[place]
        for node, specs in zip(cut.ready, self._specs):
            if id(node) in cut.roomy:
                found, count = (values[id(cut.roomy[id(node)]), i] for i in range(2))
                assert node.op is not None
                values[id(node), 0] = selected(node.op, found, count)
                continue
            results, _ = self._request.apply(node, [values[id(e.node), e.index] for e in node.inputs], specs, rng)
            values.update(((id(node), i), r) for i, r in enumerate(results))
        if stages.rest is not None:
            behind = self._behind(stages.rest, values, arrays, given, rng)
            if behind is None:
                return self._refer(arrays, versions, rng, observe)
            for entry, result in zip(cut.behind, behind):
                values[id(entry.node), entry.index] = result
        return without_sharing([values[id(e.node), e.index] for e in self._request.graph.outputs], arrays)

    def _refer(self, *given: Any) -> list[np.ndarray]:
        """The outputs by NumPy."""
        self._ran = (self._reference,)
        return self._reference.run(*given)

    def _behind(
        self, rest: Part, values: dict[Key, np.ndarray], arrays: Sequence[np.ndarray], versions: Any, rng: Any
    ) -> list[np.ndarray] | None:
        """Outputs of what is behind the first stage; None where its shapes do not fit: NumPy says so."""
        stages = self._stages
        crossing = [values[id(e.node), e.index] for e in stages.cut.crossing.values()]
        across = iter(stages.rest_crossing)
        inside = [crossing[next(across)] if i < 0 else arrays[i] for i in stages.rest_places]
        marks = [None if i < 0 else versions[i] for i in stages.rest_places]
        key = tuple(x for a in inside for x in (a.shape, a.dtype))
        try:
            if rest.is_ready(key):
                stages.misses -= stages.misses > 0
                bound = rest.prepare(key).bound
            elif stages.misses > PATIENCE and not stages.weighty:
                bound = rest.interpreted(key)
            else:
                stages.misses += 1
                bound = rest.prepare(key).bound
            self._ran += (bound,)
            return bound.run(inside, marks, rng)
        except MXNetError:
            return None


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
        self.roomy: dict[int, Node] = {}
        """Of what is ready: a node of the first program that computes it with room for the most there may be."""
        for node in self.ready:
            op = (
                None
                if node.op is None or not all(map(_is_tensor, map(inference.spec, node.inputs)))
                else node.op.with_room()
            )
            if op is not None:
                self.roomy[id(node)] = Node(op, node.name, node.inputs)
        wanted = {
            (id(e.node), e.index): e
            for e in (
                *graph.outputs,
                *(e for n in graph.nodes if id(n) not in (ahead | {*self.roomy}) for e in n.inputs),
            )
        }
        self.first = [e for e in wanted.values() if id(e.node) in known and e.node.op is not None]
        self.first += [Entry(node, i) for node in self.roomy.values() for i in range(2)]
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
        first = tuple((id(e.node), e.index) for e in self.first if id(e.node) in known)
        self.mark = frozenset(request.fixed), tuple(map(id, self.ready)), first
        """Equal for cuts that differ in sizes alone."""


def _is_tensor(spec: Spec) -> bool:
    return is_known(spec.shape) and spec.dtype is not None and not spec.dtype.hasobject


def decides(spec: Spec, most: int = SMALL) -> bool:
    """True for integers that may be the sizes or places of something."""
    shape, dtype = spec
    return is_known(shape) and dtype is not None and dtype.kind in "iub" and math.prod(shape) <= most


def decided(request: Request) -> Decided | None:
    """The graph with a program for each set of values of the integers that it is given and that rarely change; None where there are
    none, or no operator looks at them."""
    if request.training or request.flow is None or not request.flow.undecided:
        return None
    if not any(n.op is not None and "values" in n.op.needs for n in request.graph.nodes):
        return None
    specs = {n.name: request.inference.spec(Entry(n)) for n in request.graph.variables()}
    deciding = [i for i, name in enumerate(request.names) if name in request.fixed and decides(specs[name])]
    return Decided(request, deciding) if deciding else None


def _with_words_last(request: Request) -> Request:
    """The graph with operators that give words said in numbers, of which words are made behind them (``Op.in_numbers``); words are
    not copied then."""
    graph, inference, flow = request.graph, request.inference, request.flow
    assert flow is not None
    cuts = flow.cuts
    apart = {id(n): found for n in graph.nodes if n.op is not None and (found := n.op.in_numbers()) is not None}
    if not apart:
        return request
    if "words last" not in cuts:  # once for all sizes: whose first stages are to be the same
        numbers: list[tuple[Key, Key]] = []
        alike: list[tuple[Key, Key]] = []

        def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry]:
            if node.means(Identity) and not _is_tensor(inference.spec(Entry(node))):
                made = list(inputs)
            elif id(node) not in apart:
                same = all(a.node is b.node and a.index == b.index for a, b in zip(inputs, node.inputs))
                kept = node if same else Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
                made = [Entry(kept, i) for i in range(node.num_outputs)]
            else:
                op, words = apart[id(node)]
                inner = Node(op, f"{node.name}_numbers", inputs)
                numbers.extend(((id(node), i), (id(inner), i)) for i, w in enumerate(words) if w is not None)
                made = [
                    Entry(inner, i) if w is None else Entry(Node(w, node.name, [Entry(inner, i)]))
                    for i, w in enumerate(words)
                ]
            alike.extend(((id(node), i), (id(e.node), e.index)) for i, e in enumerate(made))
            return made

        cuts["words last"] = graph.rewrite(change), alike, numbers
    made, alike, numbers = cuts["words last"]
    known = Inference(made)
    for old, new in (*alike, *numbers):
        known.shapes[new], known.dtypes[new] = inference.shapes.get(old), inference.dtypes.get(old)
    for _, new in numbers:
        known.dtypes[new] = np.dtype(np.int64)
    if inference.values is not None:
        known.values = {new: inference.values[old] for old, new in alike if old in inference.values}
    return request._replace(graph=made, inference=known)


def in_stages(request: Request, reference: Bound) -> Staged | None:
    """The graph in stages; None where there would be one only, or where steps have to stay in their order."""
    ops = [n.op for n in request.graph.all_nodes() if n.op is not None]
    flow = request.flow
    if request.training or flow is None or any(op.mutates or op.always_mutates or "rng" in op.needs for op in ops):
        return None
    request = _with_words_last(request)
    cut = _Cut(request)
    if not cut.ready or not (cut.first or cut.rest):
        return None
    if cut.mark not in flow.cuts:
        flow.cuts[cut.mark] = _Stages(request, cut)
    return Staged(request, reference, flow.cuts[cut.mark])
