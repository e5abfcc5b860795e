"""Clip of whole numbers that are inside anyway is left out."""

from __future__ import annotations

from collections.abc import Mapping

from ..builder import OnnxNode
from ..onnx_graph import Merging, OnnxGraph

MOVES = frozenset((
    "Cast", "Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "Reshape", "Slice", "Split",
    "Squeeze", "Tile", "Transpose", "Unsqueeze",
))  # fmt: skip
"""Operators whose results hold what their inputs hold."""
WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "int64")
DEPTH = 32  # nodes that are looked back at most


def eliminate_clips(graph: OnnxGraph) -> bool:
    """Clip(x, low, high) -> x, for whole numbers known to lie between: constants, and positions that ArgMax and TopK find."""
    merging, makers = Merging(graph), graph.makers
    for node in graph.nodes:
        if node.op_type != "Clip" or node.domain or node.attrs or str(graph.dtype(node.inputs[0])) not in WHOLE:
            continue
        ends = [graph.constant(n) if n else None for n in (*node.inputs[1:], "", "")[:2]]
        bounds = _bounds(graph, makers, node.inputs[0])
        low, high = (None if e is None else int(e) for e in ends)
        given = [n for n in node.inputs[1:] if n]
        if bounds is None or len(given) != sum(e is not None for e in ends):
            continue
        if (low is None or low <= bounds[0]) and (high is None or bounds[1] <= high):
            merging.drop(node, [node.inputs[0]])
    return merging.finish()


def _bounds(graph: OnnxGraph, makers: Mapping[str, OnnxNode], name: str, depth: int = DEPTH) -> tuple[int, int] | None:
    """The smallest and the largest number that a tensor may hold; None where that is not known."""
    array = graph.constant(name)
    if array is not None:
        whole = array.size and array.dtype.name in WHOLE
        return (int(array.min()), int(array.max())) if whole else None
    node = makers.get(name)
    if node is None or node.domain or not depth:
        return None
    if node.op_type in ("ArgMax", "ArgMin") or (node.op_type == "TopK" and name == node.outputs[-1]):
        shape = graph.shape(node.inputs[0])
        size = None if shape is None else shape[node.attrs.get("axis", 0 if node.op_type != "TopK" else -1)]
        return (0, max(size - 1, 0)) if isinstance(size, int) else None
    if node.op_type not in MOVES or (node.op_type == "Cast" and not _is_exact(graph, node)):
        return None
    data = node.inputs if node.op_type == "Concat" else node.inputs[:1]
    found = [_bounds(graph, makers, n, depth - 1) for n in data]
    known = [f for f in found if f is not None and max(map(abs, f)) <= 1 << 24]  # which a float32 in between holds
    return (min(f[0] for f in known), max(f[1] for f in known)) if len(known) == len(found) else None


def _is_exact(graph: OnnxGraph, node: OnnxNode) -> bool:
    """True for a cast that changes no position, from any of these dtypes to any other."""
    kinds = {str(graph.dtype(n)) for n in (node.inputs[0], node.outputs[0])}
    return kinds <= {"float32", "float64", "int32", "int64"}
