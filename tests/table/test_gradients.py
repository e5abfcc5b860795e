"""Gradient rules against the gradients that MXNet recorded for the same heads, and against finite differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from hybrid import symbol
from hybrid.graph.executor import Program
from hybrid.graph.gradient import gradients
from hybrid.graph.graph import Entry, Graph, Node
from hybrid.op import Op

from .examples import examples
from .goldens import Case, cases, close


def gradients_of(
    op: Op, names: tuple[str, ...], feeds: Mapping[str, np.ndarray], heads: Mapping[int, np.ndarray]
) -> dict[str, np.ndarray]:
    """Gradients of all inputs of one operator when training, by its rule."""
    variables = [Node(None, n) for n in names]
    node = Node(op, "node", map(Entry, variables))
    ends = [(Entry(node, i), Entry(Node(None, f"head{i}"))) for i in heads]
    wanted = [v for v in variables if v.name not in op.mutates]
    found = gradients(symbol, ends, wanted)
    have = [(v.name, e) for v, e in zip(wanted, found) if e is not None]
    graph = Graph(e for _, e in have)
    given = {**feeds, **{f"head{i}": h for i, h in heads.items()}}
    used = {n.name for n in graph.variables()}
    results = Program(graph, training=True).run({k: np.array(v) for k, v in given.items() if k in used})
    zeros = {v.name: np.zeros_like(feeds[v.name]) for v in wanted}
    return zeros | {n: r for (n, _), r in zip(have, results)}


GRADED = [pytest.param(c, id=f"{c.operator}-{c.id}") for c in cases() if c.data.get("grad")]


@pytest.mark.parametrize("case", GRADED)
def test_gradients_are_those_of_mxnet(case: Case) -> None:
    heads = {int(i): h for i, h in case.data.get("head", {}).items()}
    got = gradients_of(case.op(), case.names, dict(zip(case.names, case.arrays())), heads)
    for name, want in case.data["grad"].items():
        close(got[name], want, case.op(), case.eps)
