"""Storage of a graph's gradients: which of them have few rows, from what its variables are declared as."""

from __future__ import annotations

from collections.abc import Mapping

from .graph import Entry, Graph, Node
from .infer import Inference

STYPES = ("default", "row_sparse", "csr")
"""In the order of the numbers that ``__storage_type__`` has for them."""


def declared(node: Node) -> str:
    """The storage type that a variable is declared with."""
    return STYPES[int(node.attrs.get("__storage_type__", "0"))]


def gradient_storages(graph: Graph, result: Inference, variables: Mapping[str, str]) -> dict[str, str]:
    """Storage types of the gradients of variables by name, where they are not default. variables: theirs, by name.

    The operators say what they make of storage (``Op.infer_storage``, ``Op.infer_gradient_storage``). A gradient has few
    rows where all that it is the sum of have."""
    sparse = any(s != "default" for s in variables.values())
    if not sparse and not any(getattr(n.op, "sparse_grad", False) for n in graph.nodes):
        return {}
    found: dict[tuple[int, int], str] = {}
    parts: dict[str, set[str]] = {}
    for node in graph.nodes:
        if node.op is None:
            found[id(node), 0] = variables.get(node.name, "default")
            continue
        stypes = tuple(found.get((id(e.node), e.index), "default") for e in node.inputs)
        known, own = [result.spec(e).shape for e in node.inputs], result.spec(Entry(node)).shape
        shapes = [s for s in known if s is not None]
        if any(s != "default" for s in stypes) and own is not None and len(shapes) == len(known):
            found[id(node), 0] = node.op.infer_storage(stypes, shapes, own).stype
        made = node.op.infer_gradient_storage(stypes, found.get((id(node), 0), "default"))
        for entry, stype in zip(node.inputs, made):
            if entry.node.is_variable:
                parts.setdefault(entry.node.name, set()).add(stype)
    return {name: "row_sparse" for name, stypes in parts.items() if stypes == {"row_sparse"}}
