"""Questions for NaN and infinity as comparisons, for engines that have the operators but cannot read their answers (OpenVINO 2023:
"doesn't support BOOL precision"), or have none."""

from __future__ import annotations

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import F32, Rewriting


def nans(graph: OnnxGraph) -> None:
    """IsNaN(x) -> Not(Equal(x, x)): exact. Not for MNN, whose Equal says that NaN is itself."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        if node.op_type != "IsNaN" or graph.dtype(node.inputs[0]) != F32:
            return False
        same = graph.unique(f"{node.outputs[0]}_same")
        pair = (node.inputs[0],) * 2
        r.written.append(OnnxNode("Equal", pair, [same], {}, [graph.unique(f"{node.owner[0]}/Equal")]))
        r.written.append(OnnxNode("Not", (same,), list(node.outputs), {}, list(node.owner)))
        return True

    r.run(rewrite)


def infinities(graph: OnnxGraph) -> None:
    """IsInf(x) -> Equal(Abs(x), infinity), or Equal(x, one of the infinities): exact."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        if node.op_type != "IsInf" or graph.dtype(node.inputs[0]) != F32:
            return False
        x, shape = node.inputs[0], graph.static(node.outputs[0])
        high, low = (bool(node.attrs.get(f"detect_{which}", 1)) for which in ("positive", "negative"))
        if shape is None or not (high or low):
            return False
        size = r.node("Abs", x, shape=shape) if high and low else x
        infinite = r.number(np.inf if high else -np.inf)
        r.written.append(OnnxNode("Equal", (size, infinite), list(node.outputs), {}, list(node.owner)))
        return True

    r.run(rewrite)
