"""Scan along the first axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.graph import Entry, Graph, Node
from ..ops.shape import Transpose
from .rewriter import Rewriter

SCAN = "_onnx_Scan"
"""Its name: the family is loaded when a graph has an operator of it, and not before."""


def scan_first_axis(graph: Graph, rewriter: Rewriter) -> Graph:
    """Have what is scanned, and what is stacked, its steps along the first axis: slices and rows lie in one piece then.

    Before: ``scan(h, x)`` along axis 1 of x. After: ``scan(h, transpose(x, (1, 0)))`` along axis 0; its results alike."""

    def moved(entry: Entry, order: tuple[int, ...]) -> Entry:
        return rewriter.make(Transpose.bind(axes=order), f"{entry.node.name}_steps", entry)

    def change(node: Node, now: Callable[[Entry], Entry]) -> list[Entry] | None:
        op: Any = node.op
        entries = [Entry(node, i) for i in range(node.num_outputs)]
        if op.name != SCAN or op.batched or not all(map(rewriter.is_known, (*node.inputs, *entries))):
            return None
        places = op.split(range(len(node.inputs)))[2]
        axes = op.axes("input", [len(rewriter.shape(node.inputs[i])) for i in places])
        rows = op.axes("output", [len(rewriter.shape(e)) for e in entries[op.num_states :]])
        if not any((*axes, *rows)):
            return None
        inputs = list(map(now, node.inputs))
        for i, axis in zip(places, axes):
            if axis:
                rank = len(rewriter.shape(node.inputs[i]))
                inputs[i] = moved(inputs[i], (axis, *(a for a in range(rank) if a != axis)))
        fields = {n: getattr(op, n) for n in op.fields} | {"scan_input_axes": None, "scan_output_axes": None}
        specs = [rewriter.spec(e) for e in entries]
        for i, axis in enumerate(rows, op.num_states):
            shape: Any = specs[i].shape
            specs[i] = specs[i]._replace(shape=(shape[axis], *shape[:axis], *shape[axis + 1 :]))
        made = rewriter.make_flow(op.bind(**fields), node, inputs, specs)
        for i, axis in enumerate(rows, op.num_states):
            if axis:
                rank = len(rewriter.shape(entries[i]))
                made[i] = moved(made[i], (*range(1, axis + 1), 0, *range(axis + 1, rank)))
        return made

    return rewriter.rewrite(graph, change)
