"""Gradient rules of operators, as graphs."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid.core.error import OpError
from hybrid.core.op import Op
from hybrid.ir.compose import composition
from hybrid.ir.differentiate import gradients, rule
from hybrid.ir.graph import Entry, Graph, Node


def gradient_graph(op: Op, names: tuple[str, ...], heads: Iterable[int]) -> tuple[list[str], Graph]:
    """The graph of the gradients of the inputs names[i], by the operator's rule, and which inputs have one.

    Its variables are the inputs and head0, head1, ... for the outputs in heads."""
    variables = [Node(None, n) for n in names]
    node = Node(op, "node", map(Entry, variables))
    ends = [(Entry(node, i), Entry(Node(None, f"head{i}"))) for i in heads]
    wanted = [v for v in variables if v.name not in op.mutates]
    have = [(v.name, e) for v, e in zip(wanted, gradients(ends, wanted)) if e is not None]
    return [n for n, _ in have], Graph(e for _, e in have)


def has_rule(op: Op) -> bool:
    """True where the operator has a gradient rule. One that has and fails is a fault: then this raises."""
    if type(op).gradient is Op.gradient and composition(op) is None:
        return False
    try:
        rule(op)
    except OpError as error:
        if "has no gradient" in str(error) or "non-differentiable" in str(error):
            return False
        raise
    return True
