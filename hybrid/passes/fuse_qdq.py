"""Compute between quantised numbers as integers: what stands between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from ..ir.graph import Graph
from .rewriter import Rewriter


def fuse_qdq(graph: Graph, rewriter: Rewriter) -> Graph:
    """Operators whose inputs come from DequantizeLinear, and whose result nobody but QuantizeLinear reads, compute on integers.

    Before: ``quantize(conv(dequantize(x), dequantize(w), dequantize(b)))``. After: ``qlinear_conv(x, w, b)``. Products and
    convolutions with constant weights, products of two tensors, sums, element-wise products, maxima and means of whole images have
    such a form; what moves numbers moves bytes; functions of one tensor become a table of 256 results. 8 bits, one scale and zero
    point a tensor, those of weights by filter or column too. docs/decisions/0021 says how the numbers differ."""
    if rewriter.training or not any(n.op is not None and n.op.name == "_onnx_QuantizeLinear" for n in graph.nodes):
        return graph
    from .qdq_forms import Fusion

    return Fusion(graph, rewriter).run()
