"""Loops and choices over arrays and symbols of mx.np: imperatively, hybridized, as symbols; gradients. (MXNet 1.9.1 has none.)"""

# ruff: noqa: N803
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import hybrid as mx


@pytest.fixture(autouse=True)
def mode() -> Iterator[None]:
    with mx.np_shape(True), mx.np_array(True):
        yield


def array(*shape: int) -> mx.np.ndarray:
    values = np.arange(1, 1 + np.prod(shape, dtype=int), dtype=np.float32) / 4
    return mx.nd.array(values).as_np_ndarray().reshape(shape)


def running(F: Any, x: Any, s: Any) -> Any:
    """Sums of all rows up to each."""
    out, last = F.contrib.foreach(lambda row, state: (F.npx.relu(row + state) * 2, row + state), x, s)
    return [out, last]


def two(F: Any, x: Any, s: Any) -> Any:
    """A loop over two arrays with two states, whose outputs are two."""
    out, last = F.contrib.foreach(
        lambda rows, states: ([rows[0] * states[0], rows[1] + 1], [states[0] + rows[1], states[1] * 0.5]),
        [x, F.np.tanh(x)],
        [s, s + 1],
    )
    return [*out, *last]


def doubling(F: Any, x: Any, s: Any) -> Any:
    """A loop that ends by what it computes."""
    out, last = F.contrib.while_loop(
        lambda i, v: i < 3.5, lambda i, v: ([v, F.npx.sigmoid(v)], [i + 1, v * x]), [s, x], max_iterations=6
    )
    return [*out, *last]


def choosing(F: Any, x: Any, s: Any) -> Any:
    """A choice."""
    return [F.contrib.cond(s > 0.5, lambda: F.np.exp(x), lambda: x * 3)]


CASES: list[tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = [
    (running, (3, 2), (2,)),
    (running, (4,), ()),
    (two, (3, 2), (2,)),
    (doubling, (2, 3), (1,)),
    (choosing, (2, 2), (1,)),
    (choosing, (), ()),
]


@pytest.mark.parametrize(("body", "x", "s"), CASES)
def test_hybridized_loops_give_what_imperative_ones_give(
    body: Callable[..., Any], x: tuple[int, ...], s: tuple[int, ...]
) -> None:
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, *inputs: Any) -> Any:
            return body(F, *inputs)

    answers = []
    for hybridize in (False, True):
        block, inputs = Block(), (array(*x), array(*s))
        if hybridize:
            block.hybridize()
        for each in inputs:
            each.attach_grad()
        with mx.autograd.record():
            outputs = block(*inputs)
            assert all(type(o) is mx.np.ndarray for o in outputs)
            whole = outputs[0] * 2
        whole.backward()
        gradients: list[Any] = [i.grad for i in inputs]
        answers.append([v.asnumpy() for v in (*outputs, *gradients)])
    for eager, compiled in zip(*answers, strict=True):
        assert eager.shape == compiled.shape and eager.dtype == compiled.dtype
        np.testing.assert_allclose(eager, compiled, rtol=1e-6)


def test_symbols_and_arrays_keep_their_faces() -> None:
    x, s = mx.sym.var("x").as_np_ndarray(), mx.sym.var("s").as_np_ndarray()
    for made in (
        mx.sym.contrib.foreach(lambda row, states: (row + states[0], states), x, [s])[1][0],
        mx.sym.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), x, 4)[0],
        mx.sym.contrib.cond(s > 0, lambda: x, lambda: x + 1),
    ):
        assert type(made) is mx.sym.np._Symbol
    classic = mx.sym.contrib.foreach(lambda row, state: (row + state, state), mx.sym.var("x"), mx.sym.var("s"))
    assert [type(part) for part in classic] == [mx.sym.Symbol] * 2
    with mx.np_array(False), mx.np_shape(False):
        out, last = mx.nd.contrib.foreach(lambda row, state: (row * 2, state), mx.nd.ones((2, 3)), mx.nd.zeros((1,)))
    assert type(out) is type(last) is mx.nd.NDArray
