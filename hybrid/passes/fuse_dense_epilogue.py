"""Fuse dense layers with the element-wise operators behind them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ir.graph import Entry, Graph, Node
from ..ops.fused import Dense
from ..ops.linear import FullyConnected
from .epilogue import Epilogue, finish_of, nodes_between
from .rewriter import GONE, Context


def fuse_dense(graph: Graph, context: Context) -> Graph:
    """A dense layer and what follows it, if nobody else reads that, become one operator on matrices.

    Before: ``relu(dense(x, w, b))`` with x (N, T, K), not flattened. After: ``reshape(fused_dense(reshape(x, (N * T, K)), w, b,
    low=0))``. float32 only.
    """
    if Dense.name not in context.native:
        return graph
    readers = context.readers(graph)
    taken: set[int] = set()
    ends: dict[int, tuple[Node, Epilogue]] = {}
    for node in graph.nodes:
        if node.means(FullyConnected) and _suits(node, context):
            finish = finish_of(Entry(node), readers, context, taken)
            taken.update(map(id, (node, *nodes_between(node, finish.last.node, readers))))
            ends[id(finish.last.node)] = node, finish

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        if id(node) not in ends:
            return GONE if id(node) in taken else None
        product, finish = ends[id(node)]
        op: Any = product.op
        data, weight, *rest = map(now, product.inputs)
        shape = context.shape(Entry(product))
        rows = math.prod(shape[:-1])
        rest += [] if finish.residual is None else [context.reshape(now(finish.residual), (rows, op.num_hidden))]
        fused = Dense.bind(num_hidden=op.num_hidden, bias=not op.no_bias, **finish.attrs)
        data = context.reshape(data, (rows, math.prod(context.shape(data)) // rows))
        return context.reshape(context.make(fused, node.name, data, weight, *rest), shape)

    return context.rewrite(graph, change) if ends else graph


def _suits(node: Node, context: Context) -> bool:
    entries = (Entry(node), *node.inputs)
    return context.is_float32(*entries) and all(0 not in context.shape(e) for e in entries)
