"""Graphs whose values are known: a branch that is chosen stands for its If, a sequence that a loop fills becomes rows of it, and a
loop that may end early has room for the steps that it may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.memory_budget import size_of
from ..core.op import Spec, lookup
from ..core.shapes import UNKNOWN, is_known
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import Inference, infer

IF, LOOP, EMPTY, INSERT, JOIN = (
    f"_onnx_{n}" for n in ("If", "Loop", "SequenceEmpty", "SequenceInsert", "ConcatFromSequence")
)
"""Their names: the family is loaded when a graph has an operator of it, and not before."""
DEEP = 8
"""Branches within branches that are chosen."""
ROOM = 1 << 10
"""Steps of a loop that there is room for at most, and"""
LARGEST = 1 << 20
"""bytes of all its rows."""


def settled(graph: Graph, specs: Mapping[str, Spec], values: Mapping[str, np.ndarray]) -> Graph:
    """The graph where variables are of these specs, and some have these values. It means the same; the graph itself where nothing
    follows. Raises what inference raises."""

    def known(of: Graph) -> Inference:
        names = {n.name for n in of.variables()}
        shapes = {n: s.shape for n, s in specs.items() if n in names}
        dtypes = {n: s.dtype for n, s in specs.items() if n in names}
        return infer(of, shapes, dtypes, values={n: v for n, v in values.items() if n in names}, follow=True)

    if not any(n.op is not None and n.op.name in (IF, LOOP) for n in graph.nodes):
        return graph
    graph = _in_rows(graph, known)
    for _ in range(DEEP):
        found = _chosen(graph, known(graph))
        if found is graph:
            break
        graph = found
    return _with_room(graph, known(graph))


def _chosen(graph: Graph, inference: Inference) -> Graph:
    """Each If whose condition is known as the branch that it says."""
    names = {n.name for n in graph.nodes}
    found = inference.values or {}
    changed = False

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        nonlocal changed
        op: Any = node.op
        if op is None or op.name != IF:
            return None
        condition = found.get((id(node.inputs[0].node), node.inputs[0].index))
        if condition is None or condition.size != 1 or condition.dtype == object:
            return None
        changed = True
        chosen = 0 if condition.item() else 1
        return _inline(node.subgraphs[chosen], op.arrange(inputs)[chosen], node.name, names)

    made = graph.rewrite(change)
    return made if changed else graph


def _inline(body: Graph, held: Sequence[Entry], name: str, names: set[str]) -> list[Entry]:
    """The outputs of a body whose variables hold these, its nodes under names of their own."""
    given = dict(zip(map(id, body.variables()), held, strict=True))

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry]:
        if node.op is None:
            return [given[id(node)]]
        own = f"{name}_{node.name}"
        while own in names:
            own += "_"
        names.add(own)
        made = Node(node.op, own, inputs, node.attrs, node.subgraphs)
        return [Entry(made, i) for i in range(node.num_outputs)]

    return body.rewritten(change)


def _in_rows(graph: Graph, known: Any) -> Graph:
    """Sequences that begin empty, to whose end a loop adds one tensor in each step, and that are joined along a new axis behind it,
    as rows that the loop stacks; the graph itself where a loop might take no step (an error: nothing can be joined then), or the
    tensors might differ in shape."""
    readers = graph.uses()
    outside = {(id(e.node), e.index) for e in graph.outputs}
    rows: dict[int, list[int]] = {}
    for node in graph.nodes:
        op: Any = node.op
        if op is None or op.name != LOOP:
            continue
        places = [
            k
            for k in range(op.num_states)
            if _fills(node, k)
            and (id(node), k) not in outside
            and all(r.op is not None and _joins(r.op) for r, _ in readers.get((id(node), k), ()))
        ]
        if places:
            rows[id(node)] = places
    if not rows:
        return graph
    made: list[Entry] = []

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        op: Any = node.op
        if op is None:
            return None
        if id(node) in rows:
            places = rows[id(node)]
            where = _stacking(node, inputs, places)
            made.extend(where[k] for k in places)
            return where
        if _joins(op) and id(node.inputs[0].node) in rows and node.inputs[0].index in rows[id(node.inputs[0].node)]:
            return [_joined(node, inputs[0])]
        return None

    found = graph.rewrite(change)
    inference = known(found)
    shapes = [inference.spec(e).shape for e in made]
    return found if all(is_known(s) and s[0] > 0 for s in shapes) else graph


def _joins(op: Any) -> bool:
    return op.name == JOIN and op.new_axis


def _fills(loop: Node, state: int) -> bool:
    """True where a state begins as an empty sequence, to whose end each step adds one tensor and does nothing else with it."""
    op: Any = loop.op
    if loop.inputs[len(op.given) + state].node.op is None:
        return False
    if loop.inputs[len(op.given) + state].node.op.name != EMPTY:  # type: ignore[union-attr]
        return False
    (body,) = loop.subgraphs
    held = [v for v, place in zip(body.variables(), op.body_reads, strict=True) if place == 2 + state]
    result = body.outputs[1 + state].node
    insert: Any = result.op
    if len(held) != 1 or insert is None or insert.name != INSERT or insert.given:
        return False
    uses = body.uses()
    alone = [e.node for e in body.outputs].count(result) == 1 and not uses.get((id(result), 0))
    (variable,) = held
    read = uses.get((id(variable), 0), [])
    first = len(read) == 1 and read[0][0] is result and read[0][1] == 0
    return alone and first and all(e.node is not variable for e in body.outputs)


def _stacking(loop: Node, inputs: Sequence[Entry], places: Sequence[int]) -> list[Entry]:
    """Entries in the place of the outputs of a loop, which has rows in the place of sequences that are states."""
    op: Any = loop.op
    (body,) = loop.subgraphs
    kept = [k for k in range(op.num_states) if k not in places]
    outputs = [body.outputs[0], *(body.outputs[1 + k] for k in kept), *body.outputs[1 + op.num_states :]]
    outputs += [body.outputs[1 + k].node.inputs[1] for k in places]
    graph = Graph(outputs)
    reads = dict(zip(map(id, body.variables()), op.body_reads))
    moved = {2 + k: 2 + i for i, k in enumerate(kept)}
    after = len(places)
    fields = {n: getattr(op, n) for n in op.fields}
    fields["num_states"] = len(kept)
    fields["num_args"] = op.num_args - after
    fields["body_reads"] = tuple(
        place if place < 2 else moved[place] if place < 2 + op.num_states else place - after
        for place in (reads[id(v)] for v in graph.variables())
    )
    gone = {len(op.given) + k for k in places}
    made = Node(op.bind(**fields), loop.name, [e for i, e in enumerate(inputs) if i not in gone], loop.attrs, [graph])
    rows = iter(range(op.num_outputs - after, op.num_outputs))
    states = {k: i for i, k in enumerate(kept)}
    where = [Entry(made, states[k]) if k in states else Entry(made, next(rows)) for k in range(op.num_states)]
    return where + [Entry(made, i - after) for i in range(op.num_states, op.num_outputs)]


def _joined(join: Node, rows: Entry) -> Entry:
    """Rows (steps, ...), the steps along the axis that is asked for."""
    op: Any = join.op
    if not op.axis:
        return rows
    return Entry(Node(lookup("_np_moveaxis").bind(source=(0,), destination=(op.axis,)), join.name, [rows]))


def _with_room(graph: Graph, inference: Inference) -> Graph:
    """Loops of which it is known how many steps they may take, but not how many they will, with room for so many rows: all that is
    behind their states need not wait for them to end."""
    found = inference.values or {}

    def room(node: Node) -> int:
        op: Any = node.op
        specs = [inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
        states, rows = specs[: op.num_states], specs[op.num_states :]
        most = found.get((id(node.inputs[0].node), node.inputs[0].index)) if "M" in op.given else None
        whole = [Spec(None if s.shape is None else s.shape[1:], s.dtype) for s in rows]
        if not rows or most is None or most.dtype == object or not all(map(_is_tensor, (*states, *whole))):
            return 0
        if any(s.shape[0] is not UNKNOWN for s in rows):  # type: ignore[index]  # their ranks are known
            return 0
        count = int(most.item())
        size = sum(size_of(*s) for s in whole) * count
        return count if 0 < count <= ROOM and size <= LARGEST else 0

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        op: Any = node.op
        if op is None or op.name != LOOP or not (steps := room(node)):
            return None
        fields = {n: getattr(op, n) for n in op.fields}
        made = Node(lookup("_fused_loop").bind(**fields, room=steps), node.name, inputs, node.attrs, node.subgraphs)
        cut = lookup("_fused_first_rows").bind()
        rows = [
            Entry(Node(cut, f"{node.name}_rows{i}", [Entry(made, i), Entry(made, op.num_outputs)]))
            for i in range(op.num_states, op.num_outputs)
        ]
        return [*(Entry(made, i) for i in range(op.num_states)), *rows]

    return graph.rewrite(change)


def _is_tensor(spec: Spec) -> bool:
    return is_known(spec.shape) and spec.dtype is not None and not spec.dtype.hasobject
