"""Cut off what only computes labels."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.graph import Entry, Graph, Node


def strip_labels(graph: Graph) -> Graph:
    """The graph as inference reads it.

    Before: loss heads read labels, which may be computed (``label.reshape((-1,))``). After: every such input is a variable
    of its own, named as MXNet names one made by itself (``softmax_label``), so that nothing else hangs on it. The same graph
    where all of them are already.
    """
    readers = [n for n in graph.nodes if n.op is not None and n.op.ignored]
    if all(e.node.is_variable for n in readers for e in _ignored(n)):
        return graph

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if node.op is None or not node.op.ignored:
            return None
        cut = [
            Entry(Node(None, f"{node.name}_{name}"))
            if name in node.op.ignored and not entry.node.is_variable
            else entry
            for name, entry in zip(node.op.input_names(), inputs)
        ]
        new = Node(node.op, node.name, cut, node.attrs, node.subgraphs)
        return [Entry(new, i) for i in range(new.num_outputs)]

    return graph.rewrite(change)


def _ignored(node: Node) -> Iterator[Entry]:
    """The inputs of a node that inference does not read."""
    assert node.op is not None
    return (e for name, e in zip(node.op.input_names(), node.inputs) if name in node.op.ignored)


def label_names(graph: Graph) -> Iterator[str]:
    """Variables that only feed positions which inference does not read."""
    readers = graph.uses()
    for node in graph.variables():
        roles = readers.get((id(node), 0), ())
        if roles and all(r.op is not None and r.op.input_names()[i] in r.op.ignored for r, i in roles):
            yield node.name
