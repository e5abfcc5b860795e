"""A backend that nothing in the front end knows of runs what programs compute; and what a backend may decline or is not shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, nd, profiler, sym
from hybrid.core.changes import LAST
from hybrid.core.op import Op
from hybrid.execution import backends
from hybrid.execution.backend import Backend, Bound, Request, Shortcut
from hybrid.execution.program import Program


class Wide(Backend):
    """Computes float32 in float64, and counts. It declines graphs that write to variables, and those that it is told to."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, ...]] = []
        """Operators of the graphs that have run."""
        self.declines: Callable[[Request], bool] = lambda request: False

    def bind(self, request: Request) -> Bound | None:
        if request.graph.written_variables(request.training) or self.declines(request):
            return None
        return WideGraph(self, request)


class WideGraph(Bound):
    def __init__(self, owner: Wide, request: Request) -> None:
        self.owner, self.request = owner, request
        self.program = Program(request.graph, training=request.training, native=False)

    def run(self, arrays: Any, versions: Any = None, rng: Any = None, observe: Any = None) -> list[np.ndarray]:
        self.owner.runs.append(tuple(n.op.name for n in self.request.graph.nodes if n.op is not None))
        feeds = dict(zip(self.request.names, (a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays)))
        dtypes = [self.request.inference.spec(e).dtype for e in self.request.graph.outputs]
        return [np.array(y, d, order="C") for y, d in zip(self.program.run(feeds, rng=rng), dtypes)]


@pytest.fixture
def wide() -> Iterator[Wide]:
    backend = Wide()
    backends.register(backend)
    yield backend
    backends.unregister(backend)


WEIGHTS = [np.random.default_rng(i).normal(size=s).astype("f") for i, s in enumerate(((7, 300), (7,), (2, 7), (2,)))]
X = np.random.default_rng(9).normal(size=(3, 300)).astype("f")


def exactly(x: np.ndarray) -> np.ndarray:
    """The network in float64, rounded once: what float32 all through does not give."""
    a, b, c, d = (w.astype(np.float64) for w in WEIGHTS)
    return (np.maximum(x.astype(np.float64) @ a.T + b, 0) @ c.T + d).astype("f")


def network() -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(7, activation="relu", in_units=300), gluon.nn.Dense(2, in_units=7))
    net.initialize()
    for parameter, values in zip(net.collect_params().values(), WEIGHTS, strict=True):
        parameter.set_data(nd.array(values))
    net.hybridize()
    return net


def test_a_third_backend_runs_blocks_executors_and_operators(wide: Wide) -> None:
    x, net = nd.array(X), network()
    assert ("_random_uniform",) in wide.runs, "of an initializer"
    wide.runs.clear()
    for times in (1, 2, 3):
        np.testing.assert_array_equal(net(x).asnumpy(), exactly(X))
        assert wide.runs == [("FullyConnected", "Activation", "FullyConnected")] * times
    wide.runs.clear()
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    assert ("FullyConnected", "Activation", "FullyConnected") in wide.runs and len(wide.runs) > 3
    gradient = next(iter(net.collect_params().values())).grad().asnumpy()
    wide.runs.clear()
    bound = sym.FullyConnected(sym.exp(sym.var("x")), sym.var("w"), num_hidden=7, no_bias=True).bind(
        mx.cpu(), {"x": x, "w": nd.array(WEIGHTS[0])}
    )
    (y,) = bound.forward()
    np.testing.assert_array_equal(y.asnumpy(), (np.exp(X.astype("d")) @ WEIGHTS[0].astype("d").T).astype("f"))
    large = nd.array(np.tile(X, (400, 1)))  # handed over to the scheduler
    np.testing.assert_array_equal(nd.exp(x).asnumpy(), np.exp(X.astype("d")).astype("f"))
    np.testing.assert_array_equal(nd.exp(large).asnumpy()[-3:], np.exp(X.astype("d")).astype("f"))
    assert wide.runs == [("exp", "FullyConnected"), ("exp",), ("exp",)]
    backends.unregister(wide)
    try:
        plain = net(x).asnumpy()
        assert not np.array_equal(plain, exactly(X)) and np.allclose(plain, exactly(X), rtol=1e-4, atol=1e-4)
        assert nd.exp(x).asnumpy().tolist() == np.exp(X).tolist() and len(wide.runs) == 3
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        found = next(iter(net.collect_params().values())).grad().asnumpy()
        np.testing.assert_allclose(found, gradient, rtol=0, atol=1e-4 * np.abs(gradient).max())
    finally:
        backends.register(wide)


def test_what_a_backend_declines_and_cannot_show_others_run(wide: Wide) -> None:
    x, net = nd.array(X), network()
    seen: list[str] = []
    wide.runs.clear()
    net(x)
    executor = sym.exp(sym.var("x"), name="e").bind(mx.cpu(), {"x": x})
    executor.set_monitor_callback(lambda name, array: seen.append(name))
    executor.forward()
    assert seen == ["e_output"] and len(wide.runs) == 1
    profiler.set_config(aggregate_stats=True)
    profiler.set_state("run")
    net(x), nd.exp(x)
    profiler.set_state("stop")
    assert len(wide.runs) == 1
    net(x)
    assert len(wide.runs) == 2
    wide.declines = lambda request: any(n.op is not None and n.op.name == "Activation" for n in request.graph.nodes)
    before = LAST.backends
    backends.unregister(wide)
    backends.register(wide)
    assert LAST.backends != before
    np.testing.assert_allclose(net(x).asnumpy(), exactly(X), rtol=1e-4, atol=1e-4)
    assert len(wide.runs) == 2
    wide.runs.clear()
    momentum = nd.ones(3)
    nd.sgd_mom_update(nd.ones(3), nd.ones(3), momentum, lr=0.5, momentum=0.5)
    assert momentum.asnumpy().tolist() == [0, 0, 0] and not wide.runs
    Program(sym.exp(sym.var("x")).graph, native=False).run({"x": X})
    assert not wide.runs


def test_steps_and_shortcuts_of_a_backend_are_taken(wide: Wide, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def update(op: Op, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> bool:
        steps.append(op.name)
        outs[0][...] = 5
        return True

    def run(memory: np.ndarray, out: np.ndarray, number: int) -> bool:
        out[...] = number
        return True

    weight = nd.ones(3)
    monkeypatch.setattr(wide, "update", update)
    nd.sgd_update(weight, nd.ones(3), lr=0.5, out=weight)
    assert steps == ["sgd_update"] and weight.asnumpy().tolist() == [5, 5, 5]
    monkeypatch.setattr(WideGraph, "shortcut", lambda self, *given: Shortcut(((np.empty, (3, 2), X.dtype),), run, 8))
    x, net = nd.array(X), network()
    np.testing.assert_array_equal(net(x).asnumpy(), exactly(X))
    for _ in range(2):
        assert net(x).asnumpy().tolist() == [[8, 8]] * 3
    released: list[int] = []
    monkeypatch.setattr(wide, "release_memory", lambda: released.append(1) or 1 << 40)
    assert backends.release_memory() >= 1 << 40
    mx.cpu().empty_cache()
    assert len(released) == 2


def test_a_step_of_an_optimizer_is_for_who_takes_it_first(wide: Wide) -> None:
    weight = nd.ones(3)
    nd.sgd_update(weight, nd.ones(3), lr=0.5, out=weight)
    assert wide.runs == [("sgd_update",)] and weight.asnumpy().tolist() == [0.5] * 3


def test_what_is_not_there_is_told_when_numpy_runs_something_large(
    wide: Wide, by_numpy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(wide, "warn_if_missing", lambda: told.append(1))
    net, small, large = network(), nd.array(X), nd.array(np.tile(X, (400, 1)))
    net(large).wait_to_read()
    assert not told
    wide.declines = lambda request: True
    backends.unregister(wide)
    backends.register(wide)
    net(small).wait_to_read()
    assert not told
    net(large).wait_to_read()
    assert told == [1]
