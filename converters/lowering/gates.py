"""Gates as engines do not mistake them: OpenCV takes the product of any tensor with a HardSigmoid of slope 1/6 for HardSwish of
what the HardSigmoid reads (seen in 4.6 and 5.0: other numbers, without a word)."""

from __future__ import annotations

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import F32, Rewriting

SLOPE, CLOSE = 1 / 6, 1e-3


def gates(graph: OnnxGraph) -> None:
    """HardSigmoid with the slope of HardSwish -> Mul, Add, Clip, which is its definition."""
    r = _Gates(graph)
    r.run(r.rewrite)


class _Gates(Rewriting):
    def rewrite(self, node: OnnxNode) -> bool:
        if node.op_type != "HardSigmoid" or abs(node.attrs.get("alpha", 0.2) - SLOPE) > CLOSE:
            return False
        x, out = node.inputs[0], node.outputs[0]
        shape = self.shape(x)
        if shape is None or self.graph.dtype(x) != F32:
            return False
        scaled = self.node("Mul", x, self.number(node.attrs.get("alpha", 0.2)), shape=shape)
        moved = self.node("Add", scaled, self.number(node.attrs.get("beta", 0.5)), shape=shape)
        if self.graph.opset < 11:
            self.node("Clip", moved, shape=shape, out=out, min=0.0, max=1.0)
        else:
            self.node("Clip", moved, self.number(0), self.number(1), shape=shape, out=out)
        return True
