"""Calls of blocks whose graphs run in stages, or for values that calls give: the short way, against NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.eager.cached_op import FastCall, FastCallLater
from hybrid.execution import passage
from hybrid.execution.program import Program
from hybrid.gluon import SymbolBlock
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.strict import POSITIONS, STRICT
from hybrid.symbol import Symbol
from tests.graph.control import one, variable
from tests.native.test_stages import WEIGHTS, feeds, places
from tests.native.test_told import X, branches, counting, reshaped, times

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

Feeds = Mapping[str, np.ndarray]


def merged(graph: Graph) -> Graph:
    """The graph with one variable of each name."""
    variables: dict[str, Entry] = {}
    return graph.rewrite(lambda node, _: [variables.setdefault(node.name, Entry(node))] if node.op is None else None)


class Watched:
    """Block of a graph, beside the same by NumPy, and how many of its calls were short."""

    def __init__(self, graph: Graph, monkeypatch: pytest.MonkeyPatch, **weights: np.ndarray):
        graph = merged(graph)
        self.meaning = Program(graph, native=False)
        self.inputs = [n.name for n in graph.variables() if n.name not in weights]
        self.block = SymbolBlock(Symbol(graph.outputs), [mx.sym.var(n) for n in self.inputs])
        for name, value in weights.items():
            parameter = self.block.collect_params()[name]
            parameter.shape = value.shape
            parameter.initialize()
            parameter.set_data(mx.nd.array(value))
        self.block.hybridize()
        self.weights = weights
        self.short: list[bool] = []
        call = FastCall.__subclasses__()[0].__call__

        def watched(fast: FastCall, *given: Any) -> Any:
            found = call(fast, *given)
            self.short.append(found is not None)
            return found

        monkeypatch.setattr(FastCall.__subclasses__()[0], "__call__", watched)

    def __call__(self, given: Feeds) -> None:
        """One call, whose results are those of NumPy, and memory of their own."""
        arrays = [mx.nd.array(given[n], dtype=given[n].dtype) for n in self.inputs]
        found = self.block(*arrays)
        found = found if isinstance(found, list) else [found]
        for mine, want in zip(found, self.meaning.run({**given, **self.weights}), strict=True):
            assert mine.shape == want.shape and mine.dtype == want.dtype
            np.testing.assert_allclose(mine.asnumpy(), want, rtol=1e-5, atol=1e-6)
        for mine in found:
            mine[:] = 7
        for array, name in zip(arrays, self.inputs):
            np.testing.assert_array_equal(array.asnumpy(), given[name])


@pytest.fixture
def watched(monkeypatch):
    return lambda graph, **weights: Watched(graph, monkeypatch, **weights)


def calls(net: Watched, given: Sequence[Feeds], rounds: int = 4) -> None:
    for _ in range(rounds):
        for each in given:
            net(each)


def test_a_shape_that_a_call_gives(level, watched):
    net = watched(reshaped())
    calls(net, [{"x": X, "dims": np.array(d)} for d in ([2, 6], [-1, 3], [12, 1])], 5)
    assert all(net.short[-6:])


def test_a_flag_chooses_what_is_run_the_short_way(level, watched):
    net = watched(branches())
    calls(net, [{"x": X, "flip": np.array(f)} for f in (True, False)], 5)
    assert all(net.short[-4:])


@pytest.mark.parametrize("condition", [False, True])
def test_loops_that_go_round_as_often_as_a_call_says(level, watched, condition):
    net = watched(counting(condition))
    calls(net, times(5, 2, 3), 6)
    assert all(net.short[-6:])


def test_a_loop_that_takes_no_step(level, watched):
    """A kernel leaves it to NumPy where a sequence stays empty: the long way says so, each time."""
    net = watched(counting(sequence="stacked"))
    calls(net, times(5, 2), 4)
    for _ in range(3):
        with pytest.raises(mx.base.MXNetError, match="got a sequence of 0 elements"):
            net(times(0)[0])
    calls(net, times(5, 2), 2)
    assert all(net.short[-4:])


def test_rows_that_a_first_stage_finds(level, watched):
    """Among the outputs are an input, a weight and the same result twice."""
    net = watched(places(), w=WEIGHTS)
    calls(net, [feeds(0), feeds(1), feeds(2)], 12)
    assert net.short and any(net.short)


def found(rows: str = "x") -> Graph:
    """Rows of x where a flag is set, as numbers of rows of a table, which is an input too."""
    at = one("_onnx_NonZero", variable(rows), name="at")
    return Graph([at, one("take", variable("table"), one("Reshape", at, shape=(-1,), name="flat"), name="rows")])


def test_a_second_stage_of_any_size(level, watched):
    net = watched(found())
    rng = np.random.default_rng(3)
    table = rng.uniform(size=(20, 4)).astype(np.float32)
    for count in rng.integers(0, 20, 60):
        x = np.zeros(20, np.float32)
        x[rng.permutation(20)[:count]] = 1
        net({"x": x, "table": table})
    assert sum(net.short[-20:]) > 15


def test_few_of_many_rows_do_not_hold_the_room_for_all() -> None:
    op = one("_onnx_NonZero", variable("x")).node.op
    rows = np.arange(2000).reshape(1000, 2)
    few, many = (passage.selected(op, rows, np.array([n])) for n in (3, 900))
    assert few.shape == (2, 3) and many.shape == (2, 900)
    wide = one("_onnx_NonMaxSuppression", *map(variable, "abcde")).node.op
    assert not np.shares_memory(passage.selected(wide, rows, np.array([3])), rows)
    assert np.shares_memory(passage.selected(wide, rows, np.array([900])), rows)


def test_weights_that_another_stage_computes(level, watched):
    """Read as a layer reads parameters, they are others in each call all the same."""
    rows = one("_contrib_boolean_mask", variable("x"), variable("keep"), name="rows")
    dense = one("FullyConnected", rows, one("exp", variable("w"), name="weights"), no_bias=True, num_hidden=3, name="y")
    net = watched(Graph([one("_mul_scalar", dense, scalar=2.0, name="z")]))
    rng = np.random.default_rng(0)
    for _ in range(6):
        net(
            {
                "x": rng.uniform(-1, 1, (5, 4)).astype(np.float32),
                "keep": np.float32([1, 0, 0, 1, 0]),
                "w": rng.uniform(-1, 1, (3, 4)).astype(np.float32),
            }
        )


def test_an_input_that_a_first_stage_reads_as_a_parameter(level, watched):
    x, w = variable("x"), variable("w")
    dense = one("FullyConnected", x, w, no_bias=True, num_hidden=3, name="y")
    at = one("_onnx_NonZero", one("Activation", dense, act_type="relu", name="r"), name="at")
    net = watched(Graph([dense, at, one("exp", w, name="e")]))
    rng = np.random.default_rng(0)
    for _ in range(6):
        net({n: rng.uniform(-1, 1, s).astype(np.float32) for n, s in (("x", (5, 4)), ("w", (3, 4)))})


def test_results_that_are_one_another_and_parameters_that_change(level, watched):
    x = variable("x")
    product = one("dot", x, variable("w"), name="product")
    net = watched(Graph([product, one("_copy", product, name="again"), one("tanh", product, name="t")]), w=WEIGHTS)
    calls(net, [feeds(0), feeds(1)], 3)
    assert all(net.short[-4:])
    net.weights = {"w": 2 * WEIGHTS}
    net.block.collect_params()["w"].set_data(mx.nd.array(2 * WEIGHTS))
    calls(net, [feeds(0), feeds(1)], 3)
    assert all(net.short[-4:])


def test_a_refusal_in_the_second_stage_is_told_as_numpy_tells_it(level, watched):
    table = np.ones((4, 3), np.float32)
    good, bad = np.float32([0, 1, 0, 1, 0, 0]), np.float32([0, 1, 0, 0, 0, 1])
    flat = one("Reshape", one("_onnx_NonZero", variable("x"), name="at"), shape=(-1,), name="flat")
    taken = one("take", variable("table"), flat, mode="raise", name="rows")
    net = watched(Graph([taken]))
    calls(net, [{"x": good, "table": table}], 4)
    for _ in range(3):
        with pytest.raises(mx.base.MXNetError, match="5"):
            net({"x": bad, "table": table})
        net({"x": good, "table": table})


def test_tables_of_which_few_rows_are_read_take_no_time(level):
    """Of an embedding of 20 MB three rows are read; as the weight of a layer it is read whole."""
    data, weight = mx.sym.var("data"), mx.sym.var("weight")
    rows = mx.sym.Embedding(data, weight, input_dim=80000, output_dim=64)
    layer = mx.sym.FullyConnected(data, weight, num_hidden=80000, no_bias=True)
    weights = np.ones((80000, 64), np.float32)
    for symbol, shape, quick in ((rows, (1, 3), True), (layer, (1, 64), False)):
        program = Program((symbol * 2.0).graph, {"weight": weights})
        given = {"data": np.ones(shape, np.float32)}
        assert program.run(given)[0].shape[0] == 1
        key = tuple(x for n in program.names for x in ((given.get(n, weights)).shape, np.dtype("float32")))
        assert program.prepare(key).bound.quick is quick


@pytest.mark.parametrize("count", [2, 600])
def test_long_runs_go_on_while_the_caller_does_something_else(level, watched, count):
    weights = np.eye(512, dtype=np.float32)
    product = one("dot", one("dot", variable("x"), variable("w"), name="first"), variable("w"), name="second")
    net = watched(Graph([product, one("tanh", product, name="t")]), w=weights)
    calls(net, [{"x": np.ones((count, 512), np.float32)}], 20)
    assert any(net.short) == (count == 2)


class Long:
    """Block of a product that takes long, and how many of its calls were handed over the short way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, picks: bool = False):
        rows = one("take", variable("x"), variable("at"), mode="wrap", name="rows") if picks else variable("x")
        if picks:
            rows.node.attrs[POSITIONS] = STRICT
        product = one("dot", one("dot", rows, variable("w"), name="first"), variable("w"), name="second")
        graph = merged(Graph([product]))
        self.block = SymbolBlock(Symbol(graph.outputs), [mx.sym.var(n) for n in ("x", "at")[: 1 + picks]])
        self.weight = self.block.collect_params()["w"]
        self.weight.shape = 512, 512
        self.weight.initialize()
        self.block.hybridize()
        self.short: list[bool] = []
        call = FastCallLater.__call__

        def watched(fast: FastCallLater, *given: Any) -> Any:
            found = call(fast, *given)
            self.short.append(found is not None)
            return found

        monkeypatch.setattr(FastCallLater, "__call__", watched)


def test_calls_that_take_long_are_handed_over_the_short_way(level, monkeypatch):
    """Their inputs may be pending, and whoever changes a parameter then waits for who reads it."""
    net = Long(monkeypatch)
    x, eye = mx.nd.ones((600, 512)), np.eye(512, dtype=np.float32)
    net.weight.set_data(mx.nd.array(eye))
    for _ in range(8):
        net.block(x).wait_to_read()
    net.short.clear()
    for factor in (1, 2, 3):
        net.weight.set_data(mx.nd.array(factor * eye))
        net.block(x).wait_to_read()
        net.block(x).wait_to_read()
        made = [net.block(x)]
        made += [net.block(made[0]), net.block(2 * made[0])]
        net.weight.data()[:] = 0
        for each, wanted in zip(made, (factor**2, factor**4, 2 * factor**4)):
            np.testing.assert_array_equal(each.asnumpy(), np.full((600, 512), wanted, np.float32))
    assert sum(net.short) >= 9


def test_a_long_call_that_others_overtake_is_made_anew(level, monkeypatch):
    """Its turn comes when the compiled part holds what follows from other values than those of the call."""
    net = Long(monkeypatch)
    x, eye = mx.nd.ones((600, 512)), np.eye(512, dtype=np.float32)
    net.weight.set_data(mx.nd.array(eye))
    for _ in range(8):
        net.block(x).wait_to_read()
    (fast,) = net.block._fast.values()
    monkeypatch.setattr(fast, "_results", lambda given: None)
    np.testing.assert_array_equal(net.block(x).asnumpy(), np.ones((600, 512), np.float32))

    def none_left(given: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(fast, "_results", none_left)
    np.testing.assert_array_equal(net.block(x).asnumpy(), np.ones((600, 512), np.float32))
    assert net.short[-2:] == [True, True]


def test_long_calls_look_at_positions_first(level, monkeypatch):
    net = Long(monkeypatch, picks=True)
    x, good = mx.nd.ones((600, 512)), mx.nd.array(np.arange(600), dtype="int32")
    net.weight.set_data(mx.nd.array(np.eye(512, dtype=np.float32)))
    for _ in range(8):
        net.block(x, good).wait_to_read()
    net.short.clear()
    for _ in range(3):
        with pytest.raises(mx.base.MXNetError, match="wanted -600 to 599"):
            net.block(x, good + 1)
        np.testing.assert_array_equal(net.block(x, good).asnumpy(), np.ones((600, 512), np.float32))
    assert any(net.short) and not all(net.short)
