"""Runs a graph operator by operator, showing every array to a callback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import _Name
from ..core.error import MXNetError
from ..ndarray import NDArray, invoke
from ..symbol import Symbol


def run_watched(
    graph: Symbol, inputs: Sequence[NDArray], callback: Callable[[str, str, NDArray], Any], monitor_all: bool
) -> Any:
    """Apply the graph to inputs in the order of list_inputs, recorded by autograd as any operators.

    callback gets the name of each output as ``Symbol.list_outputs`` has it, the operator's name and the array; with
    monitor_all it gets the operator's inputs before that, named after the node too."""
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
            for name, array in zip(node.op.input_names(), arrays):
                callback(_Name(f"{node.name}_{name}"), _Name(node.op.name), array)
        out = invoke(node.op, arrays)
        made = [out] if isinstance(out, NDArray) else out
        results.update({(id(node), i): array for i, array in enumerate(made)})
        for name, array in zip(node.outputs, made):
            callback(_Name(name), _Name(node.op.name), array)
    outs = [results[id(e.node), e.index] for e in graph._entries]
    return outs[0] if len(outs) == 1 else outs
