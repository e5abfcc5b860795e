"""The same operator on the same tensors is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import onnx

from ..builder import OnnxNode
from ..onnx_graph import Merging, OnnxGraph

RANDOM = ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomUniform")
"""Beginnings of the names of operators that give something else each time."""


def eliminate_common_subexpressions(graph: OnnxGraph) -> bool:
    """Two nodes of one operator with the same attributes that read the same tensors -> the first of them. What draws random
    numbers, has a body, or is of another domain is left alone."""
    merging = Merging(graph)
    seen: dict[Hashable, OnnxNode] = {}
    for node in graph.nodes:
        if node.domain or node.op_type.startswith(RANDOM) or any(map(_is_body, node.attrs.values())):
            continue
        attributes = tuple(sorted((k, _hashable(v)) for k, v in node.attrs.items()))
        key = node.op_type, merging.inputs(node), attributes, len(node.outputs)
        first = seen.setdefault(key, node)
        if first is not node:
            merging.drop(node, first.outputs)
    return merging.finish()


def _is_body(value: Any) -> bool:
    return isinstance(value, onnx.GraphProto)


def _hashable(value: Any) -> Hashable:
    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString(deterministic=True)
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    return repr(value)
