"""Fuse dense layers with the element-wise operators behind them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ir.graph import Entry, Graph, Node
from ..ops.fused import Dense
from ..ops.linear import FullyConnected
from .epilogue import Epilogue, match_epilogue, nodes_between
from .rewriter import GONE, Rewriter


def fuse_dense_epilogue(graph: Graph, rewriter: Rewriter) -> Graph:
    """A dense layer and what follows it, if nobody else reads that, become one operator on matrices.

    Before: ``relu(dense(x, w, b))`` with x (N, T, K), not flattened. After: ``reshape(fused_dense(reshape(x, (N * T, K)), w, b,
    low=0))``. float32 only.
    """
    if Dense.name not in rewriter.native:
        return graph
    readers = rewriter.readers(graph)
    taken: set[int] = set()
    ends: dict[int, tuple[Node, Epilogue]] = {}
    for node in graph.nodes:
        if node.means(FullyConnected) and _suits(node, rewriter):
            epilogue = match_epilogue(Entry(node), readers, rewriter, taken)
            taken.update(map(id, (node, *nodes_between(node, epilogue.last.node, readers))))
            ends[id(epilogue.last.node)] = node, epilogue

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        if id(node) not in ends:
            return GONE if id(node) in taken else None
        product, epilogue = ends[id(node)]
        op: Any = product.op
        data, weight, *rest = map(now, product.inputs)
        shape = rewriter.shape(Entry(product))
        rows = math.prod(shape[:-1])
        rest += [] if epilogue.residual is None else [rewriter.reshape(now(epilogue.residual), (rows, op.num_hidden))]
        fused = Dense.bind(num_hidden=op.num_hidden, bias=not op.no_bias, **epilogue.attrs)
        data = rewriter.reshape(data, (rows, math.prod(rewriter.shape(data)) // rows))
        return rewriter.reshape(rewriter.make(fused, node.name, data, weight, *rest), shape)

    return rewriter.rewrite(graph, change) if ends else graph


def _suits(node: Node, rewriter: Rewriter) -> bool:
    entries = (Entry(node), *node.inputs)
    return rewriter.is_float32(*entries) and all(0 not in rewriter.shape(e) for e in entries)
