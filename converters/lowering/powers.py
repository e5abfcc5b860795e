"""Powers and remainders as engines get them right: ncnn takes powers by logarithms, of positive numbers alone; MNN gives
fmod the sign of the divisor."""

from __future__ import annotations

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import F32, Rewriting

MOST = 64
"""The greatest power that is written as products."""


def powers(graph: OnnxGraph) -> None:
    """Pow(x, n) of a whole number n -> products, and the reciprocal of them where n is negative."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        exponent = graph.constant(node.inputs[1]) if node.op_type == "Pow" else None
        shape = graph.static(node.outputs[0])
        if exponent is None or exponent.size != 1 or shape is None or graph.static(node.inputs[0]) != shape:
            return False
        n = float(exponent.reshape(()))
        if not n.is_integer() or not 0 < abs(n) <= MOST or graph.dtype(node.inputs[0]) != F32:
            return False
        out, square, left, made = node.outputs[0], node.inputs[0], int(abs(n)), ""
        while True:
            last = left == 1 and n > 0
            if left & 1:
                made = r.node("Mul", made, square, shape=shape, out=out if last else "") if made else square
            left >>= 1
            if not left:
                break
            only = left == 1 and not made and n > 0
            square = r.node("Mul", square, square, shape=shape, out=out if only else "")
        if n < 0:
            r.node("Reciprocal", made, shape=shape, out=out)
        elif n == 1:
            r.written.append(OnnxNode("Identity", (made,), [out], {}, list(node.owner)))
        return True

    r.run(rewrite)


def remainders(graph: OnnxGraph) -> None:
    """Mod(x, y) with C's sign -> Sign(x) Mod(Abs(x), Abs(y)): exact."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        if node.op_type != "Mod" or not node.attrs.get("fmod") or graph.dtype(node.outputs[0]) != F32:
            return False
        shape, sizes = graph.static(node.outputs[0]), [graph.static(n) for n in node.inputs]
        makers = [graph.makers.get(n) for n in node.inputs]
        arrays = [graph.constant(n) for n in node.inputs]
        positive = [
            (m is not None and m.op_type == "Abs") or (a is not None and bool((a >= 0).all()))
            for m, a in zip(makers, arrays)
        ]
        if shape is None or None in sizes or all(positive):
            return False
        parts = []
        for name, array, size, is_positive in zip(node.inputs, arrays, sizes, positive):
            known = r.constant(np.abs(array)) if array is not None and not is_positive else name
            parts.append(known if is_positive or array is not None else r.node("Abs", name, shape=size or ()))
        rest = r.node("Mod", *parts, shape=shape, fmod=1)
        if positive[0]:
            r.written.append(OnnxNode("Identity", (rest,), [node.outputs[0]], {}, list(node.owner)))
        else:
            r.node("Mul", r.node("Sign", node.inputs[0], shape=sizes[0] or ()), rest, shape=shape, out=node.outputs[0])
        return True

    r.run(rewrite)
