"""A symbol whose nodes lie on several places: cut into parts, each a CachedOp that runs where its nodes lie.

A part is handed over when all before it have been, and the scheduler starts it when what it reads is there, so that parts on
different places run at the same time wherever none waits for the other, forward and, since the tape has a record of each, backward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..execution.context import Context
from ..frontend.symbol import Symbol
from ..ir.graph import Entry, Graph, Node
from .array import NDArray
from .cached_op import CachedOp
from .tape import STATE, TapeRecord, living

MOST_PARTS = 64
"""So many parts at most where places hand over what they have as soon as they have it, which takes more of them."""
GPU = Context.devstr2type["gpu"]
_Source = str | tuple[int, int]
"""An argument by its name, or (part, which of its outputs)."""


class Part(NamedTuple):
    """Nodes of one place that run together."""

    place: Context
    op: CachedOp
    reads: tuple[_Source, ...]
    """Inputs of the op, in order."""


class PlacedOp:
    """places: contexts of all nodes of the symbol's graph, by their ids. Calls take arrays by the names of the variables."""

    def __init__(self, symbol: Symbol, places: Mapping[int, Context]):
        self.symbol = symbol
        graph = symbol.graph
        groups = _grouped(graph, places, _levels(graph, places, early=True))
        if len(groups) > MOST_PARTS:
            groups = _grouped(graph, places, _levels(graph, places, early=False))
        self.parts, self.outputs = self._cut(graph, groups)

    def _cut(
        self, graph: Graph, groups: Sequence[tuple[Context, list[Node]]]
    ) -> tuple[list[Part], list[tuple[int, int]]]:
        """The parts of groups of nodes, and where the outputs of the graph are."""
        number = {id(n): i for i, (_, nodes) in enumerate(groups) for n in nodes}
        crossing: dict[tuple[int, int], Entry] = {}
        wanted: list[dict[tuple[int, int], Entry]] = [{} for _ in groups]
        for entry in graph.outputs:
            wanted[number[id(entry.node)]].setdefault((id(entry.node), entry.index), entry)
        for node in graph.nodes:
            for entry in node.inputs:
                key = id(entry.node), entry.index
                if entry.node.op is not None and number[id(entry.node)] != number[id(node)]:
                    crossing[key] = entry
                    wanted[number[key[0]]].setdefault(key, entry)
        mark = "_"
        while any(n.name.startswith(f"{mark}crossing") for n in graph.variables()):
            mark += "_"
        stands = {key: Node(None, f"{mark}crossing{i}") for i, key in enumerate(crossing)}
        where = {key: (i, j) for i, found in enumerate(wanted) for j, key in enumerate(found)}
        names = {node.name: where[key] for key, node in stands.items()}
        few = sum(n.op is not None for n in graph.nodes) <= 2
        parts = []
        for i, (place, _) in enumerate(groups):
            made = _part([*wanted[i].values()], number, i, stands)
            # whether gradients are those of a whole graph is decided by the graph, not by the size of a part
            op = CachedOp(self.symbol._face(made), () if few else [("inline_limit", -1)])
            parts.append(Part(place, op, tuple(names.get(n, n) for n in op.names)))
        return parts, [where[id(e.node), e.index] for e in graph.outputs]

    def __call__(self, arrays: Mapping[str, NDArray]) -> list[NDArray]:
        """The outputs, each on its place. Recorded while the tape is."""
        made: list[list[NDArray]] = []
        for place, op, reads in self.parts:
            given = [arrays[r] if isinstance(r, str) else made[r[0]][r[1]] for r in reads]
            with place:
                results = op._run([brought(x, place) for x in given])
            for array in results:
                array._ctx = place
            made.append(results)
        return [made[i][j] for i, j in self.outputs]


def _levels(graph: Graph, places: Mapping[int, Context], *, early: bool) -> dict[int, int]:
    """A number for each node, such that it is greater for whoever reads what another place has computed, and never less than those
    of a node's inputs. early: greater too for what reads of its own place what another place also reads, so that this one need not
    wait for it.

    Nodes of one place and one number never wait for each other by way of another place."""
    reads = [(e.node, n) for n in graph.nodes for e in n.inputs if e.node.op is not None]
    crosses = {id(source) for source, reader in reads if places[id(source)] != places[id(reader)]}
    found: dict[int, int] = {}
    users: dict[int, list[Node]] = {}
    """By variables that nodes change: those that have used them so far."""
    written = graph.written_variables(training=True)
    changed = {id(n) for n in graph.variables() if n.name in written}
    for node in graph.nodes:
        if node.op is None:
            found[id(node)] = 0
            continue
        before = [e.node for e in node.inputs]
        for entry in node.inputs:
            if id(entry.node) in changed:
                before += users.setdefault(id(entry.node), [])
                users[id(entry.node)].append(node)
        level = 0
        for other in before:
            away = other.op is not None and places[id(other)] != places[id(node)]
            level = max(level, found[id(other)] + (away or (early and id(other) in crosses)))
        found[id(node)] = level
    return found


def _grouped(
    graph: Graph, places: Mapping[int, Context], levels: Mapping[int, int]
) -> list[tuple[Context, list[Node]]]:
    """Nodes of one place and level together, lower levels first; variables only where they are outputs themselves."""
    ends = {id(e.node) for e in graph.outputs}
    found: dict[tuple[int, Context], list[Node]] = {}
    for node in graph.nodes:
        if node.op is not None or id(node) in ends:
            found.setdefault((levels[id(node)], places[id(node)]), []).append(node)
    return [(place, nodes) for (_, place), nodes in sorted(found.items(), key=lambda item: item[0][0])]


def _part(
    wanted: Sequence[Entry], number: Mapping[int, int], own: int, stands: Mapping[tuple[int, int], Node]
) -> list[Entry]:
    """Entries wanted of one part, behind variables that stand for what others compute."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.op is None or number[id(node)] == own:
            return None
        found = (stands.get((id(node), i)) for i in range(node.num_outputs))
        return [Entry(node, i) if stand is None else Entry(stand) for i, stand in enumerate(found)]

    return Graph(wanted).rewritten(change)


def brought(array: NDArray, place: Context) -> NDArray:
    """The array as one of another place, for work there: the same memory, since CPUs share theirs, and a copy on or from a GPU.

    Gradients come back the same way."""
    if array._ctx == place:
        return array
    if GPU in (array._ctx.device_typeid, place.device_typeid):
        return array.as_in_context(place)
    moved = array._without_history()
    moved._ctx = place
    if STATE.recording and living(array._origin) is not None:
        moved._origin = _Crossing(array._origin, array._ctx), 0
    return moved


class _Crossing(TapeRecord):
    """A recorded way from one place to another."""

    __slots__ = ("_home",)

    def __init__(self, parent: object, home: Context):
        super().__init__([parent], 1)
        self._home = home

    def backward(self, dys: Sequence[NDArray | None]) -> Sequence[NDArray | None]:
        return [None if dy is None else brought(dy, self._home) for dy in dys]
