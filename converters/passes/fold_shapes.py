"""Shape and Size of a tensor whose sizes are known become constants."""

from __future__ import annotations

import math

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .fold_constants import Folding


def fold_shapes(graph: OnnxGraph) -> bool:
    """Shape(x) -> constant, where the sizes that it gives are known; Gather(Shape(x), i) too, where that size is, though others
    are not."""
    folding, makers = Folding(graph), graph.makers
    for node in graph.nodes:
        found = None
        if node.op_type == "Shape" and not node.domain:
            found = _sizes(graph, node)
        elif node.op_type == "Size" and not node.domain:
            shape = graph.static(node.inputs[0])
            found = None if shape is None else np.array(math.prod(shape), np.int64)
        elif node.op_type == "Gather" and not node.domain and not node.attrs.get("axis", 0):
            found = _gathered(graph, node, makers.get(node.inputs[0]))
        if found is not None:
            folding.put(node, [found])
    return folding.finish()


def _sizes(graph: OnnxGraph, node: OnnxNode) -> np.ndarray | None:
    shape = graph.shape(node.inputs[0])
    if shape is None:
        return None
    chosen = shape[slice(node.attrs.get("start", 0), node.attrs.get("end"))]
    return np.array(chosen, np.int64) if all(isinstance(d, int) for d in chosen) else None


def _gathered(graph: OnnxGraph, node: OnnxNode, source: OnnxNode | None) -> np.ndarray | None:
    which = graph.constant(node.inputs[1])
    if source is None or source.op_type != "Shape" or which is None or source.attrs.keys() & {"start", "end"}:
        return None
    shape = graph.shape(source.inputs[0])
    if shape is None or not all(-len(shape) <= i < len(shape) for i in which.reshape(-1)):
        return None
    chosen = [shape[i] for i in which.reshape(-1)]
    return np.array(chosen, np.int64).reshape(which.shape) if all(isinstance(d, int) for d in chosen) else None
