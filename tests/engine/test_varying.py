"""Graphs that are called with changing sizes: what is traced, what it is right for, whose weights it has."""

from __future__ import annotations

import threading
from numbers import Integral

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, native, nd
from hybrid.core.dims import AT_MOST, EQUAL, LESS, UNEQUAL, Ratio, Trace, array_of, has_dims, length_of
from hybrid.core.op import lookup
from hybrid.core.shapes import UNKNOWN, Undecided, broadcast
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node

compiled = pytest.mark.skipif(native.level() is None, reason="the compiled part is not there")


def guards(trace: Trace) -> list[tuple[int, str, str]]:
    return [(r, str(a), str(b)) for r, a, b in trace.guards]


def test_arithmetic_of_sizes_is_that_of_their_values_and_simplifies() -> None:
    trace = Trace()
    n, m = trace.symbol(4), trace.symbol(7)
    for made, value in (
        (n + 1, 5), (2 - n, -2), (n * m - m, 21), (n * m * 8 // m, 32), ((n + 3) // 2, 3), (-(-(n + 3) // 2), 4), (n % 3, 1),
        (30 // m, 4), (30 % m, 2), (n**2, 16), (abs(2 - n), 2), (max(n, m), 7), (n * 6 // (n * 2), 3), ((n + m) * 3 // (n + m), 3),
    ):  # fmt: skip
        assert (made if type(made) is int else made.value) == value
    assert type(n - n) is int and type(n * 0) is int and type(n * 12 * m // (n * m)) is int and n * 6 % 3 == 0
    assert n * m is m * n and n + m - m is n and isinstance(n, Integral)
    half = Ratio(n, 1) / Ratio(2, 1)
    assert (half.numerator.value, half.denominator) == (2, 1) and half == Ratio(n // 2, 1)
    with pytest.raises(ZeroDivisionError):
        _ = n // 0
    with pytest.raises(Undecided):
        _ = n == UNKNOWN


def test_answers_that_hold_for_some_sizes_only_are_guards() -> None:
    trace = Trace()
    n, m = trace.symbol(4), trace.symbol(7)
    assert (
        n > 0 and n >= 2 and n != 1 and n + 1 > n and 2 * n >= n and not n < 2.5 - 1 and n < float("inf") and n * m > 3
    )
    assert trace.guards == []
    assert n < 5 and n != m and n <= 4.5 and broadcast((n, 1), (1, m)) == (n, m)
    assert guards(trace) == [(LESS, "4<s0>", "5"), (UNEQUAL, "4<s0>", "7<s1>"), (AT_MOST, "4<s0>", "4")]
    count = len(trace.guards)
    assert range(n) == range(4) and int(m) == 7 and np.empty(n).shape == (4,)
    told = [g for g in trace.guards if g[0] == EQUAL]
    assert len(told) == 2 and len(trace.guards) == count + 2
    sizes = array_of((n, 3))
    assert sizes.dtype == object and has_dims(sizes) and array_of((2, 3)).dtype == np.int64


def test_slices_of_axes_that_vary_are_as_long_as_python_says() -> None:
    ends = (None, 0, 1, 3, 5, 9, -1, -3, -9)
    for start in ends:
        for stop in ends:
            for step in (None, 1, 2, -1, -2):
                trace = Trace()
                found = length_of(start, stop, step, trace.symbol(5))
                value = found if type(found) is int else found.value
                assert value == len(range(*slice(start, stop, step).indices(5))), (start, stop, step)


def network() -> gluon.HybridBlock:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3, padding=1, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.MaxPool2D())
    net.add(gluon.nn.Conv2D(20, 3), gluon.nn.GlobalAvgPool2D(), gluon.nn.Dense(300), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier())
    return net


@compiled
def test_a_network_is_traced_once_and_follows_its_weights() -> None:
    net, rng = network(), np.random.default_rng(0)
    xs = [
        nd.array(rng.normal(size=(n, 3, h, h + 2)))
        for n, h in ((2, 12), (3, 12), (5, 16), (4, 21), (1, 16), (7, 13), (6, 30))
    ]
    wanted = [net(x).asnumpy() for x in xs]
    net.hybridize()
    for _ in range(2):
        for x, want in zip(xs, wanted):
            np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)
    program = net._cached_op.program(False)
    traced = [s.bound for s in program._plans.values() if getattr(s.bound, "symbols", ())]
    assert len(traced) >= 4 and len({id(b.lowered) for b in traced}) <= 3
    net[6].weight.set_data(net[6].weight.data() * 2)
    net[0].bias.set_data(net[0].bias.data() + 0.5)
    net.hybridize(False)
    wanted = [net(x).asnumpy() for x in xs]
    net._active = True
    for x, want in zip(xs, wanted):
        np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)


@compiled
def test_weights_that_are_packed_alike_are_shared_until_they_change() -> None:
    data, weight = Entry(Node(None, "x")), Entry(Node(None, "w"))
    dense = lookup("FullyConnected").bind(num_hidden=40, no_bias=True)
    program = Program(Graph([Entry(Node(dense, "y", [data, weight]))]), fixed=["w"])
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 40, 24)).astype(np.float32)

    def run(rows: int, w: np.ndarray) -> None:
        x = rng.normal(size=(rows, 24)).astype(np.float32)
        bound = program.prepare((x.shape, x.dtype, w.shape, w.dtype)).bound
        (y,) = bound.run([x, w], [None, id(w)])
        np.testing.assert_allclose(y, x @ w.T, rtol=1e-4, atol=1e-4)

    for rows in (20, 30, 40, 50):
        run(rows, one)
    bounds = [s.bound for s in program._plans.values()]
    assert bounds[-1]._packed is bounds[-2]._packed and bounds[-1].symbols == (50,)
    run(50, two)
    run(40, one)
    run(40, two)
    run(50, one)
    run(60, two)
    failed: list[BaseException] = []

    def work(w: np.ndarray, first: int) -> None:
        try:
            for i in range(20):
                run(first + i, w)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=given) for given in ((one, 70), (two, 80))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


@compiled
def test_sizes_that_programs_depend_on_have_programs_of_their_own() -> None:
    """A last axis that has to be the weight's, a batch that varies with it."""
    graph = Graph(
        [
            Entry(
                Node(
                    lookup("Reshape").bind(shape=(-1, 6)),
                    "y",
                    [Entry(Node(lookup("exp").bind(), "e", [Entry(Node(None, "x"))]))],
                )
            )
        ]
    )
    program = Program(graph)
    for shape in ((4, 6), (5, 12), (7, 6), (8, 18), (3, 4), (9, 24), (5, 30)):
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        np.testing.assert_allclose(program.run({"x": x})[0], np.exp(x).reshape(-1, 6), rtol=1e-5)
    with pytest.raises(mx.MXNetError, match="does not divide"):
        program.run({"x": np.ones((5, 7), np.float32)})
