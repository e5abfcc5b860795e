"""Compute between quantised numbers as integers: what stands between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from ..ir.graph import Graph
from .rewriter import Rewriter

FAMILY = "_onnx_"
"""The first letters of the names of operators that are loaded when a graph has one of them."""


def fuse_qdq(graph: Graph, rewriter: Rewriter) -> Graph:
    """Operators whose inputs come from DequantizeLinear, and whose result nobody but QuantizeLinear reads, compute on integers.

    Before: ``quantize(conv(dequantize(x), dequantize(w), dequantize(b)))``. After: ``qlinear_conv(x, w, b)``. Products and
    convolutions with constant weights, products of two tensors, sums, element-wise products, maxima and means of whole images have
    such a form; what moves numbers moves bytes; functions of one tensor become a table of 256 results. 8 bits, one scale and zero
    point a tensor, those of weights by filter or column too. docs/decisions/0021 says how the numbers differ.

    Dynamically quantised products take up what scales them, and a row that is added: ``cast(matmul_integer(x, w)) * s + b`` becomes
    one operator, with the same numbers. So do functions of quantised numbers (QLinearSigmoid, QLinearLeakyRelu), as tables, and
    QLinearSoftmax and QLinearAveragePool, as what they are on floats."""
    if rewriter.training or not any(n.op is not None and n.op.name.startswith(FAMILY) for n in graph.nodes):
        return graph
    from .qdq_forms import Fusion

    return Fusion(graph, rewriter).run()
