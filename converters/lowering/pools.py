"""Pooling by norms as a convolution of powers with ones, LpPool and GlobalLpPool; and pooling of 8-bit integers as of floats."""

from __future__ import annotations

import math

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from ..onnx_types import code_of
from .rewriting import F32, Rewriting


def pools(graph: OnnxGraph) -> None:
    """LpPool(x) -> (sum over the window of abs(x)**p)**(1/p). What windows reach beyond the picture counts as 0, as in LpPool."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        if node.op_type not in ("LpPool", "GlobalLpPool"):
            return False
        p, shape = int(node.attrs.get("p", 2)), r.shape(node.inputs[0])
        made = graph.static(node.outputs[0])
        whole = node.op_type == "GlobalLpPool"
        odd = node.attrs.get("auto_pad", "NOTSET") not in ("NOTSET", b"NOTSET") or node.attrs.get("ceil_mode")
        if shape is None or made is None or len(shape) < 3 or odd or graph.dtype(node.inputs[0]) != np.float32:
            return False
        powers = r.node("Abs", node.inputs[0], shape=shape)
        if p > 1:
            powers = r.node("Pow", powers, r.number(p), shape=shape)
        last = node.outputs[0] if p == 1 else ""
        if whole:
            axes = list(range(2, len(shape)))
            powers = r.node("ReduceMean", powers, shape=made, axes=axes, keepdims=1)
            summed = r.node("Mul", powers, r.number(math.prod(shape[2:])), shape=made, out=last)
        else:
            kernel = list(node.attrs["kernel_shape"])
            ones = r.constant(np.ones((shape[1], 1, *kernel), np.float32), "ones")
            kept = {k: node.attrs[k] for k in ("kernel_shape", "pads", "strides", "dilations") if k in node.attrs}
            summed = r.node("Conv", powers, ones, shape=made, out=last, group=shape[1], **kept)
        if p == 2:
            r.node("Sqrt", summed, shape=made, out=node.outputs[0])
        elif p > 2:
            r.node("Pow", summed, r.number(1 / p), shape=made, out=node.outputs[0])
        return True

    r.run(rewrite)


def maxima(graph: OnnxGraph) -> None:
    """MaxPool of int8 or uint8 -> of float32, between Casts: exact."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        if node.op_type != "MaxPool" or any(node.outputs[1:]):
            return False
        x, out = node.inputs[0], node.outputs[0]
        shape, made, dtype = r.shape(x), graph.static(out), graph.dtype(x)
        if shape is None or made is None or dtype is None or dtype.kind not in "iu":
            return False
        given = r.node("Cast", x, shape=shape, to=code_of(F32))
        largest = r.node("MaxPool", given, shape=made, **node.attrs)
        r.written.append(OnnxNode("Cast", (largest,), [out], {"to": code_of(dtype)}, list(node.owner)))
        return True

    r.run(rewrite)
