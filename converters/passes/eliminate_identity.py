"""Nodes that give what they read are left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import Merging, OnnxGraph


def eliminate_identity(graph: OnnxGraph) -> bool:
    """Identity(x) -> x; so Concat and Sum of one, Cast to the own dtype, Transpose that leaves the axes, Reshape, Slice, Expand,
    Pad and their like that leave the shape, and products with one."""
    merging = Merging(graph)
    for node in graph.nodes:
        same = NOTHING.get(node.op_type)
        if same is not None and not node.domain and len(node.outputs) == 1 and same(graph, node):
            data = node.inputs if node.op_type in PRODUCTS else node.inputs[:1]  # not the sizes, which may be computed
            merging.drop(node, [next((n for n in data if graph.constant(n) is None), data[0])])
    return merging.finish()


Test = Callable[[OnnxGraph, OnnxNode], bool]


def _always(graph: OnnxGraph, node: OnnxNode) -> bool:
    return True


def _one(graph: OnnxGraph, node: OnnxNode) -> bool:
    return len(node.inputs) == 1


def _same_dtype(graph: OnnxGraph, node: OnnxNode) -> bool:
    source = graph.dtype(node.inputs[0])
    return source is not None and source == graph.dtype(node.outputs[0])


def _same_shape(graph: OnnxGraph, node: OnnxNode) -> bool:
    return graph.same_shape(node.inputs[0], node.outputs[0])


def _same_count(graph: OnnxGraph, node: OnnxNode) -> bool:
    return graph.same_shape(node.inputs[0], node.outputs[0], count=True)


def _same_order(graph: OnnxGraph, node: OnnxNode) -> bool:
    perm = node.attrs.get("perm")
    return perm is not None and list(perm) == list(range(len(perm)))


def _same_slice(graph: OnnxGraph, node: OnnxNode) -> bool:
    """All of it, forwards: what is as long as before with steps of 1."""
    data, *rest = node.inputs
    steps = graph.constant(rest[3]) if len(rest) > 3 and rest[3] else np.ones(1)
    return (
        steps is not None and bool((steps == 1).all()) and graph.static(data) is not None and _same_shape(graph, node)
    )


def _same_pad(graph: OnnxGraph, node: OnnxNode) -> bool:
    """Nothing is added, nor taken away on one side and added on the other."""
    pads = graph.constant(node.inputs[1]) if len(node.inputs) > 1 else None
    return pads is not None and not pads.any()


def _neutral(*places: int) -> Test:
    """A test of a product, in which one of the inputs at these places is a constant of ones alone."""

    def test(graph: OnnxGraph, node: OnnxNode) -> bool:
        for place in places:
            array, other = graph.constant(node.inputs[place]), node.inputs[1 - place]
            if array is not None and graph.constant(other) is None and array.size == 1 and (array == 1).all():
                rank = graph.shape(other)
                return rank is not None and array.ndim <= len(rank)
        return False

    return test


PRODUCTS = ("Div", "Mul")
"""Operators of which either input may be what is left."""

NOTHING: dict[str, Test] = {
    "Cast": _same_dtype,
    "Concat": _one,
    "Div": _neutral(1),
    "Expand": _same_shape,
    "Flatten": _same_count,
    "Identity": _always,
    "Max": _one,
    "Min": _one,
    "Mul": _neutral(0, 1),
    "Pad": _same_pad,
    "Reshape": _same_count,
    "Slice": _same_slice,
    "Squeeze": _same_count,
    "Sum": _one,
    "Tile": _same_shape,
    "Transpose": _same_order,
    "Unsqueeze": _same_count,
}
"""By operator: whether a node of it gives what it reads."""
