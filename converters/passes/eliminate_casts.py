"""Casts of casts become one, or none."""

from __future__ import annotations

import numpy as np

from ..onnx_graph import Merging, OnnxGraph


def eliminate_casts(graph: OnnxGraph) -> bool:
    """Cast(Cast(x, wide), y) -> Cast(x, y), and -> x where y is what x has: wide holds every number that x may hold."""
    merging, makers = Merging(graph), graph.makers
    for node in graph.nodes:
        if node.op_type != "Cast":
            continue
        inner = makers.get(merging.resolve(node.inputs[0]))
        if inner is None or inner.op_type != "Cast":
            continue
        source = merging.resolve(inner.inputs[0])
        first, wide, last = graph.dtype(source), graph.dtype(inner.outputs[0]), graph.dtype(node.outputs[0])
        if first is None or wide is None or last is None or not _holds(wide, first):
            continue
        if last == first:
            merging.drop(node, [source])
        elif first.kind == "b" or last.kind == "f" or (wide.kind == "i" and first.kind in "iu"):
            merging.put(node, node._replace(inputs=(source,)))
    return merging.finish()


_DIGITS = {"float16": 11, "float32": 24, "float64": 53}


def _holds(wide: np.dtype, narrow: np.dtype) -> bool:
    """True where every number of the one dtype is one of the other."""
    if narrow.kind == "b":
        return wide.kind in "iuf"
    if narrow.kind in "iu" and wide.name in _DIGITS:
        return np.iinfo(narrow).bits - (narrow.kind == "i") <= _DIGITS[wide.name]
    if narrow.kind in "iuf" and wide.kind in "iuf":
        return np.can_cast(narrow, wide, "safe")
    return False
