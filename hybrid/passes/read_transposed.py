"""Let products read transposed operands as they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.shapes import identical
from ..ir.graph import Entry, Graph, Node
from ..ops.linear import BatchDot, Matmul
from ..ops.shape import Transpose
from .rewriter import Rewriter


def read_transposed(graph: Graph, rewriter: Rewriter) -> Graph:
    """A batch of products with a matrix that was transposed for it reads that matrix by its rows, as attention reads its keys.

    Before: ``matmul(q, transpose(k, (0, 1, 3, 2)))``. After: ``batch_dot(q, k, transpose_b=True)``. Of a transpose that moves
    other axes too, ``(0, 2, 3, 1)``, there remains what moves whole rows, ``(0, 2, 1, 3)``. float32 only, for matrices that
    are not constant: constants are transposed once.
    """
    if BatchDot.name not in rewriter.native:
        return graph

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op: Any = node.op
        if not node.means(Matmul, BatchDot) or (node.means(BatchDot) and (op.transpose_a or op.transpose_b)):
            return None
        left, right = node.inputs
        turn: Any = right.node.op
        if not rewriter.is_float32(left, right) or rewriter.is_constant(right) or not right.node.means(Transpose):
            return None
        a, b = rewriter.shape(left), rewriter.shape(right)
        if len(b) < 3 or not identical(a[:-2], b[:-2]):
            return None
        *front, row, column = turn.order(len(b))
        if row != len(b) - 1:
            return None
        rows, axes = now(right.node.inputs[0]), (*front, column, row)
        if axes != tuple(range(len(b))):
            rows = rewriter.make(Transpose.bind(axes=axes), f"{right.node.name}_rows", rows)
        return rewriter.make(BatchDot.bind(transpose_b=True), node.name, now(left), rows)

    return rewriter.rewrite(graph, change)
