"""The operators' own examples (``Op.examples``), with seeded arrays, as graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from hybrid.core.examples import Maker
from hybrid.core.op import OPS, Example, Op
from hybrid.execution.apply import apply
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer


def examples() -> Iterator[Example]:
    """All examples of all operators."""
    for cls in OPS.values():
        yield from cls.examples(Maker(cls))


Numbered = tuple[int, Example]
"""An example and which of all it is."""


def numbered(row: Numbered) -> tuple[str, str]:
    """The group and the row that a test of all examples has one in."""
    return row[1].op.name, str(row[0])


def graph_of(example: Example) -> tuple[Graph, dict[str, np.ndarray]]:
    """The one-operator graph of an example, and its feeds."""
    names = example.op.input_names()
    node = Node(example.op, "node", [Entry(Node(None, n)) for n in names], example.op.dump())
    return Graph(Entry(node, i) for i in range(node.num_visible_outputs)), dict(zip(names, example.arrays, strict=True))


def clear_room(op: Op, made: Sequence[np.ndarray]) -> None:
    """Zeros beyond the rows that an operator with room says there are (Op.rooms): what lies there is anything."""
    if op.rooms and made[0].ndim:
        rows, count = made
        rows[int(count.reshape(-1)[0]) :] = 0


def walk(
    graph: Graph, feeds: Mapping[str, np.ndarray], see: Callable[[Op, list[np.ndarray]], object] | None = None
) -> list[np.ndarray]:
    """The outputs when training, node after node in NumPy with all checks: a Program that runs once, in half the time.

    see: called with each operator and what it is given, but in graphs with control flow. Feeds that the graph does not read are
    left out, and none is written to."""
    known = {n.name: feeds[n.name].copy() for n in graph.variables()}
    if any(n.subgraphs for n in graph.nodes):
        return Program(graph, training=True, native=False).run(known)
    inference = infer(graph, {n: a.shape for n, a in known.items()}, {n: a.dtype for n, a in known.items()})
    values: dict[Node, Sequence[np.ndarray]] = {}
    for node in graph.nodes:
        if node.op is None:
            values[node] = [known[node.name]]
            continue
        given = [values[e.node][e.index] for e in node.inputs]
        specs = [inference.spec(Entry(node, i)) for i in range(len(node.op.output_names()))]
        if see is not None:
            see(node.op, given)
        values[node] = apply(node.op, given, specs, name=node.name, training=True)
    return [values[e.node][e.index] for e in graph.outputs]
