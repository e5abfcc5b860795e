"""Weights that several nodes share: one parameter, which is trained, frozen and changed for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid.ir.graph import Graph
from hybrid.ir.weights import weights_by_reader

SHOWN = 4


def shared_weights(graph: Graph, params: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Nodes that read a parameter, by the names of the parameters which several do. params: their arrays.
    A single number is no weight: it scales."""
    fixed = {n.name for n in graph.variables() if n.attrs.get("__grad_req__") == "null"}
    inputs = {n.name for n in graph.variables() if n.name in fixed or n.name not in params or params[n.name].size < 2}
    readers: dict[str, list[str]] = {}
    for node, weights in weights_by_reader(graph, inputs, twice=True):
        for weight in weights:
            readers.setdefault(weight.name, []).append(node.name)
    return {name: tuple(nodes) for name, nodes in readers.items() if len(nodes) > 1}


def shared_words(shared: Mapping[str, Sequence[str]]) -> list[str]:
    """Lines for them: parameters that the same nodes read in one."""
    by_nodes: dict[tuple[str, ...], list[str]] = {}
    for name, nodes in shared.items():
        by_nodes.setdefault(tuple(nodes), []).append(name)
    return [f"{_few(names)} by {_few(nodes)}" for nodes, names in by_nodes.items()]


def training_words(training: Mapping[str, Sequence[str]]) -> list[str]:
    """Lines for what is to be known before a network is trained."""
    return [f"{what}: {_few(names)}" for what, names in training.items()]


def _few(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
