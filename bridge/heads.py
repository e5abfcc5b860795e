"""Outputs of a network that only training needs: losses, and what is computed from labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hybrid.ir.graph import Entry, Graph, Node

LOSSES = frozenset(
    ("BlockGrad", "CTCLoss", "MakeLoss", "make_loss", "smooth_l1", "softmax_cross_entropy", "mean", "sum", "_copy")
)
"""Operators that end a head of which nobody reads the numbers outside of training."""
LABEL = "label"
"""Part of the names of variables that are labels, and of operators' inputs that take one."""


def without_training_heads(
    graph: Graph, params: Collection[str], named: Collection[str]
) -> tuple[Graph, dict[str, tuple[str, ...]]]:
    """The graph without the outputs that only a label feeds, where others are left that need none; and these, with their labels.

    A label is a variable that no parameter fills, read as a label by every operator that reads it, or called one; one that is named
    (``--input label:...``) is an input like any other. Left out is what reads a label by way of an operator's input of that name,
    or ends in a loss; where what is left reads the label as well, nothing is."""
    labels = _labels(graph, {*params, *named}) if len(graph.outputs) > 1 else {}
    needs = [_needed(e, labels) for e in graph.outputs] if labels else []
    kept = [e for e, (names, _) in zip(graph.outputs, needs) if not names]
    if not kept or len(kept) == len(needs) or any(names and not head for names, head in needs):
        return graph, {}
    return Graph(kept), {e.name: names for e, (names, _) in zip(graph.outputs, needs) if names}


def _labels(graph: Graph, others: Collection[str]) -> dict[int, str]:
    """Variables that are labels, by the id of their nodes."""
    readers = graph.uses()
    found = {}
    for node in graph.variables():
        if node.name in others:
            continue
        reads = [_is_label(reader, position) for reader, position in readers.get((id(node), 0), ())]
        if LABEL in node.name.lower() or (reads and all(reads)):
            found[id(node)] = node.name
    return found


def _is_label(reader: Node, position: int) -> bool:
    assert reader.op is not None
    names = reader.op.input_names()
    return position < len(names) and LABEL in names[position]


def _needed(output: Entry, labels: Mapping[int, str]) -> tuple[tuple[str, ...], bool]:
    """The labels that an output needs; whether it is a head of training."""
    names: dict[str, None] = {}
    head = output.node.op is not None and output.node.op.name in LOSSES
    todo, seen = [output.node], {id(output.node)}
    as_labels = True
    while todo:
        node = todo.pop()
        names_of, ignored = ((), ()) if node.op is None else (node.op.input_names(), node.op.ignored)
        for position, entry in enumerate(node.inputs):
            if position < len(names_of) and names_of[position] in ignored:  # inference does not read it
                continue
            if id(entry.node) in labels:
                names[labels[id(entry.node)]] = None
                as_labels = as_labels and _is_label(node, position)
            if id(entry.node) not in seen:
                seen.add(id(entry.node))
                todo.append(entry.node)
    return tuple(names), head or as_labels
