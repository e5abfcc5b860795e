"""Rewritings of a converted graph, one a file, which leave what a good hand would have written.

Each takes an OnnxGraph, changes it, and says whether it did. Names of tensors mean afterwards what they meant before: a tensor that
is still made has the name it had, and where two turn out to be one, that of MXNet's stays. Outputs and inputs of the graph are not
touched, nor is anything that a body of control flow reads. What the passes compute is what every runtime would have computed:
operators that are exact, or (fold_batch_norm) float64 rounded once.
"""

from __future__ import annotations

from collections.abc import Callable

from ..onnx_graph import OnnxGraph, live
from .eliminate_casts import eliminate_casts
from .eliminate_clips import eliminate_clips
from .eliminate_common_subexpressions import eliminate_common_subexpressions
from .eliminate_identity import eliminate_identity
from .fold_batch_norm import fold_batch_norm
from .fold_constants import fold_constants
from .fold_shapes import fold_shapes
from .keep_heads import keep_heads
from .merge_transposes import merge_transposes

PASSES: tuple[Callable[[OnnxGraph], bool], ...] = (
    fold_shapes,
    fold_constants,
    eliminate_identity,
    eliminate_casts,
    eliminate_clips,
    merge_transposes,
    eliminate_common_subexpressions,
    fold_batch_norm,
    keep_heads,
)
ROUNDS = 8  # at most; what one round makes known is used by the next


def clean(graph: OnnxGraph) -> None:
    """Rewrite a graph until no pass changes it. An input that the symbol's outputs are made from stays one: where constants would
    leave nothing that reads it, the graph stays as it is."""
    before, stored = [(n, list(n.outputs)) for n in graph.nodes], dict(graph.initializers)
    wanted = _read_inputs(graph)
    for _ in range(ROUNDS):
        graph.infer()
        changed = [rewrite(graph) for rewrite in PASSES]
        graph.nodes[:] = live(graph.nodes, graph.outputs)
        if not any(changed):
            break
    if not wanted <= _read_inputs(graph):
        graph.nodes[:] = [n for n, _ in before]
        for node, outputs in before:
            node.outputs[:] = outputs
        graph.initializers.clear()
        graph.initializers.update(stored)


def _read_inputs(graph: OnnxGraph) -> set[str]:
    made = {o for node in graph.nodes for o in node.outputs}
    return {n for n in graph.reads if n not in made and n not in graph.initializers}
