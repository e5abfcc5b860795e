"""Rounding to the even neighbour, for engines whose Round takes halves away from zero (MNN 3.6.1: 0.5 to 1, 2.5 to 3)."""

from __future__ import annotations

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import F32, Rewriting


def rounds(graph: OnnxGraph) -> None:
    """Round(x) -> Floor(x) or Ceil(x), whichever is nearer; halfway 2 Floor(x / 2 + 1 / 2). Exact; infinities and NaN stay."""
    r = Rewriting(graph)

    def _truth(kind: str, rest: str) -> str:
        name = graph.unique(f"{rest}_{kind.lower()}")
        r.written.append(OnnxNode(kind, (rest, r.number(0.5)), [name], {}, [graph.unique(f"{rest}/{kind}")]))
        return name

    def rewrite(node: OnnxNode) -> bool:
        if node.op_type != "Round" or graph.dtype(node.inputs[0]) != F32:
            return False
        x, shape = node.inputs[0], graph.static(node.outputs[0])
        if shape is None:
            return False
        below, above = r.node("Floor", x, shape=shape), r.node("Ceil", x, shape=shape)
        rest = r.node("Sub", x, below, shape=shape)
        over, tied = _truth("Greater", rest), _truth("Equal", rest)
        near = r.node("Where", over, above, below, shape=shape)
        halved = r.node("Add", r.node("Mul", x, r.number(0.5), shape=shape), r.number(0.5), shape=shape)
        even = r.node("Mul", r.node("Floor", halved, shape=shape), r.number(2), shape=shape)
        r.node("Where", tied, even, near, shape=shape, out=node.outputs[0])
        return True

    r.run(rewrite)
