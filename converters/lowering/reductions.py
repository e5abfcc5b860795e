"""Reductions of whole numbers to one, which OpenCV 5.0 crashes on where they name all of the axes."""

from __future__ import annotations

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import Rewriting


def reductions(graph: OnnxGraph) -> None:
    """Reductions of integers over all axes -> the same without axes, which means all."""
    r = _Reductions(graph)
    r.run(r.rewrite)


class _Reductions(Rewriting):
    def rewrite(self, node: OnnxNode) -> bool:
        if not node.op_type.startswith("Reduce"):
            return False
        dtype = self.graph.dtype(node.inputs[0])
        if dtype is None or dtype.kind not in "iu":
            return False
        shape, axes = self.shape(node.inputs[0]), node.attrs.get("axes")
        if axes is None and len(node.inputs) > 1:
            stored = self.graph.constant(node.inputs[1])
            axes = None if stored is None else [int(a) for a in stored.ravel()]
        if not shape or not axes or len({a % len(shape) for a in axes}) < len(shape):
            return False
        attrs = {k: v for k, v in node.attrs.items() if k != "axes"}
        self.keep(node._replace(inputs=node.inputs[:1], attrs=attrs))
        return True


def sums(graph: OnnxGraph) -> None:
    """CumSum that does not say its direction -> with reverse=0, which ONNX means: onnx2torch 1.5.15 takes 1 for it."""
    for place, node in enumerate(graph.nodes):
        if node.op_type == "CumSum" and not node.domain and "reverse" not in node.attrs:
            graph.nodes[place] = node._replace(attrs={**node.attrs, "reverse": 0})
