"""Rewrite products with a constant matrix as dense layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.graph import Entry, Graph, Node
from ..ops.fused import Dense
from ..ops.linear import Dot, FullyConnected, Matmul
from ..ops.shape import Transpose
from .rewriter import Rewriter


def canonicalize_dense(graph: Graph, rewriter: Rewriter) -> Graph:
    """A product with a constant matrix becomes a dense layer, which can take up what follows it.

    Before: ``dot(x, w) + b``, as exporters write. After: ``dense(x, transpose(w)) + b``, and the transpose is constant. float32
    only.
    """
    if Dense.name not in rewriter.native:
        return graph

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op: Any = node.op
        if not node.means(Dot, Matmul) or (node.means(Dot) and op.transpose_a):
            return None
        data, weight = node.inputs
        if not rewriter.is_float32(data, weight) or not rewriter.is_constant(weight) or rewriter.is_constant(data):
            return None
        if len(rewriter.shape(data)) < 2 or len(rewriter.shape(weight)) != 2:
            return None
        if not (node.means(Dot) and op.transpose_b):
            weight = rewriter.make(Transpose.bind(axes=(1, 0)), f"{weight.node.name}_transpose", weight)
        dense = FullyConnected.bind(num_hidden=rewriter.shape(weight)[0], no_bias=True, flatten=False)
        return rewriter.make(dense, node.name, now(data), weight)

    return rewriter.rewrite(graph, change)
