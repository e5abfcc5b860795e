"""Tie ranges that infer their length to what they are as long as."""

from __future__ import annotations

from typing import Any

from ..ir.graph import Entry, Graph, Node, topological
from ..ops.binary import ElementwiseBinaryOp
from ..ops.creation import Arange, ArangeLike


def resolve_open_ranges(graph: Graph) -> Graph:
    """Ranges whose length their readers decide say whose it is, so that it may be any.

    Before: ``elemwise_add(arange(infer_range=True), x)``. After: ``elemwise_add(arange_like(x, axis=0), x)``. The same graph
    where there are none.
    """
    ranges = [n for n in graph.nodes if _is_open(n)]
    if not ranges:
        return graph
    uses = graph.uses()
    measures: dict[int, Entry] = {}
    for node in ranges:
        # readers that are as long as the range, and of its dtype
        alike = [(r, i) for r, i in uses.get((id(node), 0), ()) if r.means(ElementwiseBinaryOp)]
        others = (r.inputs[1 - i] for r, i in alike)
        measure = next((e for e in others if not any(n in ranges for n in topological([e]))), None)
        if measure is not None:
            measures[id(node)] = measure
    return Graph(_measured(graph, measures)) if measures else graph


def _is_open(node: Node) -> bool:
    op: Any = node.op
    return node.means(Arange) and op.is_open()


def _measured(graph: Graph, measures: dict[int, Entry]) -> list[Entry]:
    """The outputs, with ranges as long as what measures them in the place of the nodes of these ids."""
    made: dict[int, Node] = {}
    waiting = list(graph.nodes)
    while waiting:  # twice: the first time for what no such range is needed for, so for all that measures them
        later = []
        for node in waiting:
            measure = measures.get(id(node))
            reads = node.inputs if measure is None else (measure,)
            if any(id(e.node) not in made for e in reads):
                later.append(node)
                continue
            inputs = [Entry(made[id(e.node)], e.index) for e in reads]
            op: Any = node.op
            if measure is not None:
                like = ArangeLike.bind(start=op.start, step=op.step, repeat=op.repeat, axis=0)
                made[id(node)] = Node(like, node.name, inputs)
            else:
                made[id(node)] = Node(op, node.name, inputs, node.attrs, node.subgraphs) if inputs else node
        waiting = later
    return [Entry(made[id(e.node)], e.index) for e in graph.outputs]
