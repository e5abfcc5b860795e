"""Derivatives: what operators' gradient rules say, and the graph that computes the gradients of a graph.

A rule (``Op.gradient``) is a program on symbols. It is traced once per operator with its attributes, into a small graph
whose variables are the gradients of the outputs, the inputs and the outputs. Autograd runs that graph node by node; here
such graphs are joined into the backward graph of a whole network. Either can be differentiated again.

F is the module of symbol functions; it is handed in because graphs know nothing of symbols.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..attribute import AttrScope
from ..core.error import OpError
from ..core.op import INSTANCES, Op, lookup
from ..name import NameManager
from .graph import Entry, Graph, Node


class Rule(NamedTuple):
    """A traced gradient rule."""

    graph: Graph
    """Its outputs are the gradients of the inputs that have one."""
    inputs: tuple[int, ...]
    """Which inputs those are."""
    heads: tuple[tuple[str, int], ...]
    """(variable, output) for each gradient of an output that it reads,"""
    reads: tuple[tuple[str, int], ...]
    """(variable, input) for each input,"""
    results: tuple[tuple[str, int], ...]
    """and (variable, output) for each output."""


@functools.lru_cache(maxsize=INSTANCES)
def rule(op: Op, F: Any) -> Rule:  # noqa: N803
    """The operator's gradient rule. Raises OpError when it has none."""
    inputs = [F.var(f"x{i}") for i in range(len(op.takes()))]
    outputs = [F.var(f"y{i}") for i in range(len(op.returns()))]
    heads = [F.var(f"dy{i}") for i in range(len(op.returns()))]
    with NameManager(), AttrScope.clean():
        given = op.gradient(F, heads[0] if len(heads) == 1 else tuple(heads), *inputs, *outputs)
    if given is None:
        given = (None,) * len(inputs)
    elif not isinstance(given, tuple | list):
        given = (given,)
    if len(given) != len(inputs):
        raise OpError(f"{op.name}: its gradient rule gave {len(given)} gradients for {len(inputs)} inputs")
    wanted = [(i, g._entries[0]) for i, g in enumerate(given) if g is not None]
    graph = Graph(entry for _, entry in wanted)
    used = {n.name for n in graph.variables()}

    def among(letter: str, count: int) -> tuple[tuple[str, int], ...]:
        return tuple((f"{letter}{i}", i) for i in range(count) if f"{letter}{i}" in used)

    return Rule(
        graph,
        tuple(i for i, _ in wanted),
        among("dy", len(heads)),
        among("x", len(inputs)),
        among("y", len(outputs)),
    )


def substitute(graph: Graph, values: Mapping[str, Entry]) -> list[Entry]:
    """The outputs of a graph with entries in place of its variables."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        return [values[node.name]] if node.is_variable else None

    return list(graph.rewrite(change).outputs)


def gradients(
    F: Any,  # noqa: N803
    heads: Sequence[tuple[Entry, Entry | None]],
    wanted: Sequence[Node],
) -> list[Entry | None]:
    """Entries that compute the gradients of variables; None for those that nothing depends on.

    heads: outputs, each with the gradient it gets (None: ones).
    Raises OpError at a node that has no derivative and lies between heads and wanted."""
    from .differentiate_loops import rule_through  # which differentiates the bodies by this function

    forward = Graph(e for e, _ in heads)
    # only nodes that lead to a wanted variable take part
    leads = {id(n) for n in wanted}
    for node in forward.nodes:
        if any(id(e.node) in leads for e in node.inputs):
            leads.add(id(node))
    parts: dict[tuple[int, int], list[Entry]] = {}
    for entry, given in heads:
        if id(entry.node) in leads:
            parts.setdefault((id(entry.node), entry.index), []).append(given or _apply("ones_like", entry))

    def total(key: tuple[int, int]) -> Entry | None:
        found = parts.get(key)
        if not found:
            return None
        if len(found) > 1:
            parts[key] = found = [_apply("add_n", *found)]
        return found[0]

    for node in reversed(forward.nodes):
        if node.op is None or id(node) not in leads:
            continue
        arriving = [total((id(node), i)) for i in range(len(node.outputs))]
        if all(a is None for a in arriving):
            continue
        try:
            traced = rule_through(node, F) if node.subgraphs else rule(node.op, F)
        except OpError as error:
            raise OpError(f"Error in operator {node.name}: {error}") from error
        if not any(id(node.inputs[i].node) in leads for i in traced.inputs):
            continue
        values = {name: node.inputs[i] for name, i in traced.reads}
        values.update((name, Entry(node, i)) for name, i in traced.results)
        for name, i in traced.heads:
            values[name] = arriving[i] or _apply("zeros_like", Entry(node, i))
        for i, entry in zip(traced.inputs, substitute(traced.graph, values)):
            source = node.inputs[i]
            if id(source.node) in leads:
                parts.setdefault((id(source.node), source.index), []).append(entry)
    return [total((id(n), 0)) for n in wanted]


def _apply(name: str, *entries: Entry) -> Entry:
    cls = lookup(name)
    op = cls.bind(num_args=len(entries)) if cls.inputs[0].startswith("*") else cls.bind()
    return Entry(Node(op, name, entries))
