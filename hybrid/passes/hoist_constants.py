"""Hoist constant subgraphs: what is the same in every run is evaluated once per version of the parameters."""

from __future__ import annotations

from typing import NamedTuple

from ..ir.graph import Entry, Graph
from ..ir.infer import Inference
from .rewriter import Rewriter


class Optimized(NamedTuple):
    """A graph as the passes have left it."""

    main: Graph
    """The part that runs every time."""
    constant: Graph | None
    """The part that is computed once for all runs with the same constants; None when there is nothing. Its outputs are
    what ``main`` reads as ``feeds``."""
    feeds: tuple[str, ...]
    """The variables of ``main`` that hold the outputs of ``constant``."""
    fixed: frozenset[str]
    """The variables of ``main`` that are constants as they are."""
    inference: Inference
    """Inference of ``main``."""


def without_hoisting(graph: Graph, rewriter: Rewriter) -> Optimized:
    """A graph of which nothing is taken out."""
    fixed = frozenset(n.name for n in graph.variables() if n.name in rewriter.constants)
    return Optimized(graph, None, (), fixed, rewriter.inference(graph))


def hoist_constants(graph: Graph, rewriter: Rewriter) -> Optimized:
    """Everything that follows from constants alone becomes a graph of its own.

    Before: ``conv(x, cast(w * s))``. After: ``conv(x, v)``, and another graph with the output ``cast(w * s)``, which feeds v.
    Random operators, control flow, and what changes states or depends on training stay.
    """
    names = {n.name for n in graph.variables()}
    taken: dict[tuple[int, int], Entry] = {}
    sources: list[Entry] = []

    def feed(entry: Entry) -> Entry:
        """The entry that readers of a constant read from now on."""
        if entry.node.op is None:
            return entry
        key = id(entry.node), entry.index
        if key not in taken:
            name = entry.name
            while name in names:
                name += "_"
            names.add(name)
            taken[key] = rewriter.variable(name, rewriter.spec(entry))
            sources.append(entry)
        return taken[key]

    def change(node, now):
        if rewriter.is_constant(Entry(node)):
            return tuple(Entry(node, i) for i in range(len(node.op.output_names())))
        if not any(e.node.op is not None and rewriter.is_constant(e) for e in node.inputs):
            return None
        inputs = tuple(feed(e) if rewriter.is_constant(e) else now(e) for e in node.inputs)
        return rewriter.with_inputs(node, inputs)

    main = rewriter.rewrite(graph, change)
    main = Graph(feed(e) if rewriter.is_constant(e) else e for e in main.outputs)
    found = without_hoisting(main, rewriter)
    if not sources:
        return found
    return found._replace(constant=Graph(sources), feeds=tuple(e.node.name for e in taken.values()))
