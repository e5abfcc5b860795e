"""Dropout in bodies of loops, whose gradients run the bodies once more: what it multiplied by is kept and read in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..ops.binary import BroadcastMul
from ..ops.control import ForEach
from ..ops.normalization import Dropout
from .graph import Entry, Graph, Node

MASK = 1
"""Number of Dropout's output that is what it multiplied by."""


def keeping(graph: Graph) -> Graph:
    """The graph with such masks of each step among the outputs of its loops; the graph itself where there are none."""
    if not any(node.means(ForEach) and _drops(node) for node in graph.nodes):
        return graph

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        drops = _drops(node) if node.means(ForEach) else []
        if not drops:
            return None
        op: Any = node.op
        (body,), count = node.subgraphs, op.num_out_data
        masks = [Entry(n, MASK) for n in drops]
        fields = {n: getattr(op, n) for n in op.fields}
        fields |= {"num_outputs": op.num_outputs + len(masks), "num_out_data": count + len(masks)}
        outputs = (*body.outputs[:count], *masks, *body.outputs[count:])
        made = Node(type(op).bind(**fields), node.name, inputs, {}, (Graph(outputs),))
        return [Entry(made, i if i < count else i + len(masks)) for i in range(op.num_outputs)]

    return graph.rewrite(change)


def _drops(node: Node) -> list[Node]:
    return [n for n in node.subgraphs[0].nodes if n.means(Dropout)]


class Repeatable(NamedTuple):
    """A loop that is given masks, behind its data, instead of drawing them."""

    op: Any
    body: Graph
    outputs: tuple[int, ...]
    """Numbers of the node's outputs that are outputs of it."""
    masks: tuple[int, ...]
    """Numbers of the masks that it is given."""


def repeatable(node: Node) -> Repeatable | None:
    """The loop with what ``keeping`` has kept in the place of Dropout; None where that is nothing."""
    op: Any = node.op
    if not node.means(ForEach):
        return None
    (body,) = node.subgraphs
    last = enumerate(body.outputs[: op.num_out_data])
    kept = {id(e.node): i for i, e in last if e.node.means(Dropout) and e.index == MASK}
    if not kept:
        return None
    masks = {key: Node(None, f"mask of output {i}") for key, i in kept.items()}

    def change(inner: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if id(inner) not in masks:
            return None
        mask = Entry(masks[id(inner)])
        return [Entry(Node(BroadcastMul.bind(), inner.name, (inputs[0], mask))), mask]

    left = tuple(i for i in range(op.num_outputs) if i not in kept.values())
    again = Graph(body.outputs[i] for i in left).rewrite(change)
    places = {id(n): i for i, n in enumerate(again.variables())}
    old = body.variables()
    if any(id(n) not in places for n in (*old, *masks.values())):
        return None
    fields = {n: getattr(op, n) for n in op.fields}
    for name in ("in_data_locs", "in_state_locs", "remain_locs"):
        fields[name] = tuple(places[id(old[i])] for i in fields[name])
    fields["in_data_locs"] += tuple(places[id(n)] for n in masks.values())
    count = len(masks)
    fields |= {"num_args": op.num_args + count, "num_outputs": len(left), "num_out_data": op.num_out_data - count}
    return Repeatable(type(op).bind(**fields), again, left, tuple(kept.values()))
