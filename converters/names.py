"""Names that nothing else has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from hybrid.ir.graph import Entry, Graph, Node

KEPT = "__onnx_name__"
"""Attribute of a node with the name that its first output has in ONNX, where MXNet gives it another; of further ones with their
number. MXNet passes over attributes of this form."""


def _key(index: int) -> str:
    return KEPT if not index else f"__onnx_name_{index}__"


def keep_name(entry: Entry, name: str) -> None:
    """Note the name that a tensor has in ONNX, where its node does not say it and notes no other."""
    if entry.name != name:
        entry.node.attrs.setdefault(_key(entry.index), name)


def onnx_names(node: Node) -> tuple[str, ...]:
    """Names of a node's outputs in ONNX."""
    return tuple(node.attrs.get(_key(i), name) for i, name in enumerate(node.outputs))


def name_outputs(graph: Graph, names: Mapping[Entry, str]) -> Graph:
    """The graph with names that outputs are to have in ONNX."""
    wanted: dict[int, dict[str, str]] = {}
    for entry, name in names.items():
        wanted.setdefault(id(entry.node), {})[_key(entry.index)] = name

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if id(node) not in wanted:
            return None
        new = Node(node.op, node.name, inputs, node.attrs | wanted[id(node)], node.subgraphs)
        return [Entry(new, i) for i in range(new.num_outputs)]

    return graph.rewrite(change)


def kept_names(graph: Graph) -> dict[str, str]:
    """Names in ONNX of the tensors of a graph that are called otherwise in MXNet."""
    return {o: n for node in graph.nodes for o, n in zip(node.outputs, onnx_names(node)) if o != n}


class Names:
    """Names that are taken."""

    def __init__(self, taken: Iterable[str] = ()):
        self.taken = set(taken)
        self._next: dict[str, int] = {}
        """The number to try first for a name that is taken."""

    def unique(self, name: str) -> str:
        """The name, or the name with a number when it is taken; from now on it is."""
        candidate, count = name, self._next.get(name, 1)
        while candidate in self.taken or not candidate:
            candidate, count = f"{name}_{count}", count + 1
        self.taken.add(candidate)
        self._next[name] = count
        return candidate


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Names with a number after those that come again, as the converter names such outputs."""
    taken = Names()
    return tuple(map(taken.unique, names))


def own_names(graph: Graph, called: Callable[[Entry], str]) -> dict[tuple[int, int], str]:
    """Names of outputs of the graph, as ``unique`` has them, and of tensors inside whose name others have too, by the node's id and
    the number of its output. The latter get a number in brackets, which is no other model's name: such names say nothing of what
    belongs together. What is not named here has its name alone."""
    found: dict[tuple[int, int], str] = {}
    for name, entry in zip(unique(map(called, graph.outputs)), graph.outputs):
        if entry.node.op is not None:
            found.setdefault((id(entry.node), entry.index), name)
    every = [Entry(n, i) for n in graph.nodes if n.op is not None for i in range(n.num_outputs)]
    times = Counter(map(called, every))
    count: Counter[str] = Counter()
    for entry in every:
        name = called(entry)
        if times[name] > 1:
            count[name] += 1
            found.setdefault((id(entry.node), entry.index), f"{name} ({count[name]})")
    return found
