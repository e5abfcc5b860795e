"""What carries gradients back through linear operators (hybrid/ops/adjoint.py), generated from the registry.

The adjoint B of a linear map A is what <dy, A u> = <B dy, u> says it is, for all u and dy.
"""

from __future__ import annotations

import numpy as np
import pytest

from hybrid import symbol
from hybrid.graph.executor import Program
from hybrid.graph.gradient import gradients, rule
from hybrid.graph.graph import Entry, Graph, Node
from hybrid.op import BACKWARD, REGISTRY, Example
from hybrid.ops.adjoint import Adjoint

from .examples import examples


def adjoint_of(example: Example) -> type[Adjoint] | None:
    found = REGISTRY.get(BACKWARD + example.op.name)
    if found is None or not issubclass(found, Adjoint):
        return None
    # some take another way with some attributes
    used = (type(node.op) for node in rule(example.op, symbol).graph.nodes)
    return found if found in used else None


LINEAR = [pytest.param(e, id=f"{e.op.name}-{i}") for i, e in enumerate(examples()) if adjoint_of(e)]


def wide(arrays: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    return [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]


def inputs_of(cls: type[Adjoint], count: int) -> list[int]:
    return [i for i in (cls.linear_in or range(count)) if i < count]


@pytest.mark.parametrize("example", LINEAR)
def test_what_comes_back_is_the_adjoint(example: Example) -> None:
    cls, rng = adjoint_of(example), np.random.default_rng(0)
    assert cls is not None
    arrays = wide(example.arrays)
    fields = {name: getattr(example.op, name) for name in example.op.fields}
    linear_in = inputs_of(cls, len(arrays))
    if "no_bias" in cls.homogeneous:
        arrays = arrays[:2]
    homogeneous = type(example.op).bind(**{**fields, **cls.homogeneous})
    for i in linear_in:
        u = rng.uniform(-1, 1, arrays[i].shape)
        others = [np.zeros_like(a) if cls.jointly and j in linear_in else a for j, a in enumerate(arrays)]
        y = homogeneous.compute(*others[:i], u, *others[i + 1 :])
        dy = rng.uniform(-1, 1, y.shape)
        back = cls.bind(**{**fields, **cls.homogeneous, "of": i}).compute(dy, *arrays)
        assert back.shape == arrays[i].shape
        np.testing.assert_allclose((back * u).sum(), (dy * y).sum(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("example", LINEAR)
def test_gradients_of_gradients(example: Example) -> None:
    """Along a random direction, against a difference quotient."""
    cls, rng = adjoint_of(example), np.random.default_rng(0)
    assert cls is not None
    names, arrays = example.op.takes(), wide(example.arrays)
    variables, head = [Node(None, n) for n in names], Node(None, "head")
    output = Entry(Node(example.op, "node", map(Entry, variables)))
    values = dict(zip(names, arrays))
    values["head"] = rng.uniform(-1, 1, Program(Graph([output])).run(values)[0].shape)
    wanted = [variables[i] for i in inputs_of(cls, len(variables))]
    firsts = [e for e in gradients(symbol, [(output, Entry(head))], wanted) if e is not None]
    first = Graph(firsts)
    moving = [*wanted, head]

    def run(graph: Graph, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        used = {n.name for n in graph.variables()}
        return Program(graph, training=True).run({k: v for k, v in feeds.items() if k in used})

    weights = [rng.uniform(-1, 1, values[n.name].shape) for n in wanted]
    given = {f"weight{i}": w for i, w in enumerate(weights)}
    ends = [(e, Entry(Node(None, n))) for e, n in zip(firsts, given)]
    second = [(n, e) for n, e in zip(moving, gradients(symbol, ends, moving)) if e is not None]
    got = run(Graph(e for _, e in second), values | given)
    direction = {n.name: rng.uniform(-1, 1, values[n.name].shape) for n in moving}
    slope = sum((g * direction[n.name]).sum() for (n, _), g in zip(second, got))

    def total(step: float) -> float:
        moved = {k: v + step * direction[k] if k in direction else v for k, v in values.items()}
        return sum(float((w * g).sum()) for w, g in zip(weights, run(first, moved)))

    # what is linear in each of a few inputs is no more than a cubic along a line, of which this quotient is exact but for step**2
    np.testing.assert_allclose(slope, (total(1e-4) - total(-1e-4)) / 2e-4, rtol=1e-6, atol=1e-6)
