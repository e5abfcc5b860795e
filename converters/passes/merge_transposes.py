"""Transposes of transposes become one."""

from __future__ import annotations

from ..onnx_graph import Merging, OnnxGraph


def merge_transposes(graph: OnnxGraph) -> bool:
    """Transpose(Transpose(x, p), q) -> Transpose(x, p after q); a pair that undoes itself is nothing."""
    merging, makers = Merging(graph), graph.makers
    for node in graph.nodes:
        inner = makers.get(merging.resolve(node.inputs[0])) if node.op_type == "Transpose" else None
        if inner is None or inner.op_type != "Transpose":
            continue
        first, second = inner.attrs.get("perm"), node.attrs.get("perm")
        if first is None or second is None:
            continue
        perm, source = [first[axis] for axis in second], merging.resolve(inner.inputs[0])
        if perm != sorted(perm) or not merging.drop(node, [source]):
            merging.put(node, node._replace(inputs=(source,), attrs={**node.attrs, "perm": perm}))
    return merging.finish()
