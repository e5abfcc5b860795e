"""Eliminate common subexpressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.graph import Entry, Graph, Node
from .rewriter import Rewriter


def eliminate_common_subexpressions(graph: Graph, rewriter: Rewriter) -> Graph:
    """Nodes that apply the same operator to the same tensors become one.

    Before: ``a = relu(x); b = relu(x)``. After: ``a`` for both. Random operators, control flow and what changes states stay.
    """
    known: dict[Any, tuple[Entry, ...]] = {}

    def change(node: Node, now: Callable[[Entry], Entry]) -> tuple[Entry, ...] | None:
        assert node.op is not None
        if not rewriter.is_pure(node):
            return None
        inputs = tuple(map(now, node.inputs))
        # two nodes without inputs may be of different shapes that their readers decide
        key = (node.op, rewriter.shape(Entry(node)) if not inputs else (), *((id(e.node), e.index) for e in inputs))
        found = known.get(key)
        if found is None:
            same = all(a.node is b.node for a, b in zip(inputs, node.inputs))
            outputs = range(len(node.op.output_names()))
            kept = [Entry(node, i) for i in outputs] if same else rewriter.with_inputs(node, inputs)
            known[key] = tuple(kept)
            return None if same else known[key]
        return found

    return rewriter.rewrite(graph, change)
