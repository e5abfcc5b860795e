"""Runs a graph operator by operator, showing every array to a callback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..error import MXNetError
from ..ndarray import NDArray, invoke
from ..symbol import Symbol


def run_watched(
    graph: Symbol, inputs: Sequence[NDArray], callback: Callable[[str, NDArray], Any], monitor_all: bool
) -> Any:
    """What the graph computes of inputs in the order of list_inputs, recorded by autograd as any operators.

    callback gets ``name_output`` and the array; monitor_all: before that the operator's inputs too."""
    values = {node.name: array for node, array in zip(graph.graph.variables(), inputs, strict=True)}
    results: dict[tuple[int, int], NDArray] = {}
    for node in graph.graph.nodes:
        if node.op is None:
            results[id(node), 0] = values[node.name]
            continue
        if node.subgraphs:
            raise MXNetError(f"operator hooks cannot look into {node.name}: control flow runs as a whole")
        arrays = [results[id(e.node), e.index] for e in node.inputs]
        if monitor_all:
            for entry, array in zip(node.inputs, arrays):
                callback(entry.name, array)
        out = invoke(node.op, arrays)
        made = [out] if isinstance(out, NDArray) else out
        results.update({(id(node), i): array for i, array in enumerate(made)})
        for entry, array in zip(node.outputs, made):
            callback(entry, array)
    outs = [results[id(e.node), e.index] for e in graph._entries]
    return outs[0] if len(outs) == 1 else outs
