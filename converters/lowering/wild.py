"""Search for tensors in which NaN or infinity may lie: 0 times that is NaN, so that no arithmetic leaves them out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph

WILD = frozenset((
    "Acos", "Acosh", "Asin", "Atanh", "Div", "Exp", "If", "Log", "Loop", "Mod", "Pow", "Reciprocal", "Scan", "Sqrt",
))  # fmt: skip
"""Operators that may give NaN or infinity of numbers as they occur."""
ONE_BY_ONE = frozenset((
    "Abs", "Add", "Cast", "Clip", "Concat", "Expand", "Flatten", "Identity", "Max", "Min", "Mul", "Neg", "Pad", "Reshape", "Slice",
    "Split", "Squeeze", "Sub", "Sum", "Tile", "Transpose", "Unsqueeze", "Where",
))  # fmt: skip
"""Operators whose numbers each come from few."""


def is_wild(graph: OnnxGraph, name: str) -> bool:
    """True where an operator near a tensor may make NaN or infinity of numbers as they occur; sums and products of many are taken
    to be numbers."""
    makers = graph.makers
    seen, stack = set(), [name]
    while stack:
        node = makers.get(stack.pop())
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if node.op_type in WILD and not _is_tame(graph, makers, node):
            return True
        if node.op_type in ONE_BY_ONE:
            stack += node.inputs
    return False


def _is_tame(graph: OnnxGraph, makers: Mapping[str, OnnxNode], node: OnnxNode) -> bool:
    """True of a division by constants or by a deviation, and of a deviation, the root of a mean and a positive number."""
    if node.op_type == "Div":
        divisor, maker = graph.constant(node.inputs[1]), makers.get(node.inputs[1])
        if divisor is not None:
            return bool(np.all(divisor))
        return maker is not None and maker.op_type == "Sqrt" and _is_tame(graph, makers, maker)
    summed = makers.get(node.inputs[0]) if node.op_type == "Sqrt" else None
    if summed is None or summed.op_type != "Add":
        return False
    least = [graph.constant(n) for n in summed.inputs]
    squared = any(_is_mean_of_squares(makers, makers.get(n)) for n in summed.inputs)
    return squared and any(a is not None and bool((a > 0).all()) for a in least)


def _is_mean_of_squares(makers: Mapping[str, OnnxNode], node: OnnxNode | None) -> bool:
    inner = makers.get(node.inputs[0]) if node is not None and node.op_type == "ReduceMean" else None
    return inner is not None and inner.op_type == "Mul" and inner.inputs[0] == inner.inputs[1]
