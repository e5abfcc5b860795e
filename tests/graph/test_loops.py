"""Gradients of control flow, against difference quotients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, nd, sym
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.ir import build
from hybrid.ir.differentiate import gradients, rule
from hybrid.ir.graph import Entry, Graph, Node
from tests.graph.control import apply, choice, counting, foreach, growing, one, outputs, rank_one, two_of_each, variable


def check(graph: Graph, feeds: Mapping[str, np.ndarray], *moving: str) -> None:
    """The gradients of the variables that move."""
    values = {k: np.asarray(v, np.float64) for k, v in feeds.items()}
    forward, rng = Program(graph), np.random.default_rng(0)
    heads = {f"head{i}": rng.uniform(-1, 1, y.shape) for i, y in enumerate(forward.run(values))}
    wanted = [n for n in graph.variables() if n.name in moving]
    found = gradients([(e, Entry(Node(None, h))) for e, h in zip(graph.outputs, heads)], wanted)
    back = Program(Graph(e for e in found if e is not None))
    got = back.run({k: v for k, v in (values | heads).items() if k in back.inputs})
    assert len(got) == len(moving)

    def total(name: str, step: np.ndarray) -> float:
        moved = values | {name: values[name] + step}
        return sum(float((h * y).sum()) for h, y in zip(heads.values(), forward.run(moved)))

    for node, gradient in zip(wanted, got):
        step = rng.uniform(-1e-6, 1e-6, gradient.shape)
        slope = (total(node.name, step) - total(node.name, -step)) / 2
        np.testing.assert_allclose((gradient * step).sum(), slope, rtol=1e-5, atol=1e-12)


def recurrent() -> Graph:
    """A cell with weights from outside, whose output depends on the states before and after."""
    data, weight, state = map(variable, ("data-0", "weight-0", "state-0"))
    product = one("FullyConnected", data, weight, num_hidden=4, no_bias=True)
    new = one("tanh", one("elemwise_add", product, state, name="sum"), name="new")
    body = Graph([one("elemwise_mul", new, state, name="out"), new])
    return foreach(body, ["data", "state", "weight"], (0,), (2,), (1,))


def test_foreach_hands_gradients_from_step_to_step() -> None:
    rng = np.random.default_rng(1)
    shapes = {"data": (3, 2, 5), "state": (2, 4), "weight": (4, 5)}
    check(recurrent(), {k: rng.uniform(-1, 1, s) for k, s in shapes.items()}, *shapes)


@pytest.mark.parametrize("make", [two_of_each, rank_one])
def test_foreach_puts_gradients_in_their_places(make) -> None:
    case = make()
    check(case.graph, case.feeds, *case.feeds)


@pytest.mark.parametrize("start", [0.3, 2.5, -1.5, -5.5])
def test_while_loop_goes_back_over_the_steps_that_it_took(start: float) -> None:
    check(counting(start), {"start": np.array([start]), "state": np.array([1.0, 3.0])}, "start", "state")


def test_while_loop_whose_variable_grows() -> None:
    check(growing().graph, {"start": np.array([2.5]), "s": np.array([1.0, 2.0])}, "start", "s")


@pytest.mark.parametrize("p", [0, 2])
def test_cond_goes_back_through_the_body_that_was_chosen(p: float) -> None:
    case = choice(p, (5, 6, 7))
    check(case.graph, case.feeds, "a", "b")


def test_what_cannot_run_again_is_refused() -> None:
    data, state = variable("data-0"), variable("state-0")
    drop = one("Dropout", one("elemwise_add", data, state, name="sum"), name="drop")
    graph = foreach(Graph([drop, drop]), ["data", "state"], (0,), (1,))
    heads = [(e, None) for e in graph.outputs]
    with pytest.raises(OpError, match=r"whose node drop .* is random each time"):
        gradients(heads, graph.variables())


class Dropping(mx.gluon.HybridBlock):
    """A loop that drops of its data and of its state, and says what was there before and after."""

    def __init__(self, axes: tuple[int, ...]):
        super().__init__()
        self.axes = axes
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(3, 4), init=mx.init.Uniform(1))

    def hybrid_forward(self, F, x, state, weight):  # noqa: N803
        def body(row, states):
            dropped = F.Dropout(row, p=0.5, axes=self.axes)
            total = states[0] + F.FullyConnected(dropped, weight, None, no_bias=True, num_hidden=3)
            after = F.Dropout(total, p=0.25)
            return [after * after, dropped, total, after], [after]

        return F.contrib.foreach(body, x, [state])


@pytest.mark.parametrize("axes", [(), (1,)])
def test_loops_go_back_through_what_they_have_dropped(axes: tuple[int, ...]) -> None:
    net, values = Dropping(axes), np.random.default_rng(0).uniform(1, 2, (5, 2, 4))
    net.initialize()
    net.hybridize()
    weight = net.weight.data()
    for _ in range(2):
        x: Any = nd.array(values)
        state: Any = nd.ones((2, 3))
        for array in (x, state):
            array.attach_grad()
        with autograd.record():
            (squares, dropped, total, after), (last,) = net(x, state)
            loss = squares.sum() + last.sum()
        loss.backward()
        found = [g.asnumpy() for g in (x.grad, state.grad, net.weight.grad())]
        first, second = dropped / x, nd.where(total == 0, nd.zeros_like(total), after / total)
        assert {0.0, 2.0} == set(first.asnumpy().ravel().tolist())
        with autograd.record():
            now: Any = state
            loss: Any = 0
            for t in range(5):
                now = (now + nd.dot(x[t] * first[t], weight, transpose_b=True)) * second[t]
                loss = loss + (now * now).sum()
            loss = loss + now.sum()
        loss.backward()
        for got, wanted in zip(found, (x.grad, state.grad, net.weight.grad()), strict=True):
            np.testing.assert_allclose(got, wanted.asnumpy(), rtol=1e-4, atol=1e-4)
        assert np.abs(found[2]).max() > 0.1


@pytest.mark.parametrize("first", [True, False])
def test_no_branch_may_be_random_or_change_states(first: bool) -> None:
    x, p, *stats = map(sym.var, ("x", "p", "g", "b", "m", "v"))
    for name, made, said in (
        ("drop", lambda: sym.Dropout(x, name="drop"), "is random each time"),
        ("norm", lambda: sym.BatchNorm(x, *stats, name="norm"), "changes its auxiliary states each time"),
    ):
        branches = (made, lambda: x * 2) if first else (lambda: x * 2, made)
        graph = sym.contrib.cond(p, *branches).graph
        with pytest.raises(OpError, match=rf"whose node {name} .* {said}"):
            gradients([(e, None) for e in graph.outputs], graph.variables())


def test_a_body_without_derivative() -> None:
    data, state = variable("data-0"), variable("state-0")
    node = apply("_onehot_encode", data, state, name="product")
    graph = foreach(Graph([*outputs(node).outputs, state]), ["data", "state"], (0,), (1,))
    with pytest.raises(OpError, match="product: _onehot_encode is non-differentiable"):
        gradients([(graph.outputs[0], None)], graph.variables())


def test_what_a_body_changes_cannot_run_again() -> None:
    data, state = variable("data-0"), variable("state-0")
    stats = [variable(n) for n in ("g", "b", "m", "v")]
    norm = one("BatchNorm", data, *stats, name="norm")
    body = Graph([norm, one("elemwise_add", norm, state, name="sum")])
    graph = foreach(body, ["data", "state", "g", "b", "m", "v"], (0,), (1,), (2, 3, 4, 5))
    with pytest.raises(OpError, match=r"whose node norm \(BatchNorm\) changes its auxiliary states each time"):
        gradients([(e, None) for e in graph.outputs], graph.variables())


def test_rules_of_gradients_are_held_to_their_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many gradients as inputs, of functions that are given what they take."""
    a, b = build.variable("a"), build.variable("b")
    parts = build.F.SliceChannel(a, num_outputs=2)
    assert len(parts) == 2 and len(build.F.exp(data=parts[1]).entries) == 1
    for wrong, said in (
        (lambda: build.F.exp(parts), "has 2 outputs, wanted a single one; index it"),
        (lambda: build.F.exp(), "got inputs none, wanted data"),
        (lambda: build.F.elemwise_add(a), "got inputs lhs, wanted lhs, rhs"),
        (lambda: build.F.elemwise_add(lhs=a), "got inputs lhs, wanted"),
        (lambda: build.F.exp(a, other=b), "got inputs data, other, wanted data"),
    ):  # fmt: skip
        with pytest.raises(OpError, match=said):
            wrong()
    add = lookup("elemwise_add").bind()
    for given in ((a,), (a, a, a), a):
        monkeypatch.setattr(type(add), "gradient", lambda self, F, dy, *arrays, given=given: given)  # noqa: N803
        count = len(given) if isinstance(given, tuple) else 1
        with pytest.raises(OpError, match=f"its gradient rule gave {count} gradients for 2 inputs"):
            rule.__wrapped__(add)
