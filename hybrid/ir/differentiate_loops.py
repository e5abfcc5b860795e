"""Derivatives of control flow: the gradient rule of a node whose operator applies subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.error import OpError
from ..core.op import BACKWARD, lookup
from .differentiate import Rule, gradients
from .graph import Entry, Graph, Node
from .infer import infer


def rule_through(node: Node, F: Any) -> Rule:  # noqa: N803
    """The gradient rule of a node with subgraphs: as its operator's ``_backward_X``, which runs them and their gradients.

    Raises OpError when one has no derivative, or does something that cannot be repeated."""
    op = node.op
    assert op is not None
    bodies = [node.subgraphs[i] for i in getattr(op, "differentiated", ())]
    if not bodies:
        raise OpError(f"{op.name} is non-differentiable: it has no gradient rule")
    for body in bodies:
        _check(op.name, body)
    backs, reads, reaches = zip(*(_back(F, body) for body in bodies))
    fields = {name: getattr(op, name) for name in op.fields}
    back = lookup(BACKWARD + op.name).bind(**fields, reads=reads, reaches=reaches)
    heads, inputs = [f"dy{i}" for i in range(len(op.returns()))], [f"x{i}" for i in range(len(op.takes()))]
    made = Node(back, back.name, [Entry(Node(None, n)) for n in (*heads, *inputs)], {}, (*node.subgraphs, *backs))
    return Rule(
        Graph(Entry(made, i) for i in range(len(inputs))),
        tuple(range(len(inputs))),
        tuple((n, i) for i, n in enumerate(heads)),
        tuple((n, i) for i, n in enumerate(inputs)),
        (),
    )


def _check(name: str, body: Graph) -> None:
    # the way back runs the body once more
    for node in body.everywhere():
        if node.op is not None and ("rng" in node.op.uses or node.op.mutates):
            what = "is random" if "rng" in node.op.uses else "changes its auxiliary states"
            raise OpError(
                f"{name}: the gradient runs the body again, whose node {node.name} ({node.op.name}) {what} each time; "
                "take it out of the body"
            )


def _smooth(dtype: np.dtype | None) -> bool:
    """Whether numbers of the dtype have derivatives; what is not known may."""
    return dtype is None or dtype.kind not in "iubO"


def _back(F: Any, body: Graph) -> tuple[Graph, Sequence[int], Sequence[int]]:  # noqa: N803
    """The gradients of a body's variables; what it reads, as places among the body's variables and then the gradients of
    its outputs; and which of the body's variables have a gradient. What is known to be no float has none."""
    variables = body.variables()
    heads = [Node(None, f"gradient of output {i}") for i in range(len(body.outputs))]
    known = infer(Graph((*body.outputs, *map(Entry, variables))))
    smooth = [_smooth(known.spec(Entry(n)).dtype) for n in variables]
    ends = [(e, Entry(h)) for e, h in zip(body.outputs, heads) if _smooth(known.spec(e).dtype)]
    made = iter(gradients(F, ends, [n for n, s in zip(variables, smooth) if s]))
    found = [next(made) if s else None for s in smooth]
    graph = Graph(e for e in found if e is not None)
    places = {id(n): i for i, n in enumerate((*variables, *heads))}
    return graph, [places[id(n)] for n in graph.variables()], [i for i, e in enumerate(found) if e is not None]
