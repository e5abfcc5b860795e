"""The judge of two engines: what it calls the same, and of which networks it asks that."""

import numpy as np
import pytest

from hybrid.core.op import REGISTRY
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node

from . import graphs, onnx_models


def chain(*ops):
    entry = Entry(Node(None, "data"))
    for i, (name, attrs) in enumerate(ops):
        entry = Entry(Node(REGISTRY[name].bind(**attrs), f"node{i}", [entry]))
    return Graph([entry])


@pytest.mark.parametrize("dtype, wrong", [("float16", 0.05), ("float32", 3e-4), ("float64", 1e-8)])
def test_a_small_share_of_the_largest_number_is_a_difference(dtype, wrong):
    a = np.linspace(-1, 1, 9).astype(dtype)
    b = a.copy()
    b[4] += wrong
    assert graphs.near(a, a) and not graphs.near(a, b)


def test_whole_numbers_and_bools_are_equal_or_differ():
    a = np.arange(4)
    assert graphs.near(a, a) and not graphs.near(a, a + 1) and not graphs.near(a > 1, a > 2)


def test_an_engine_that_gives_other_numbers_is_found(monkeypatch):
    graph = chain(("tanh", {}), ("sqrt", {}))
    feeds = {"data": np.full((3, 4), 0.5, np.float32)}
    run = Program.run

    def off(self, given, observe=None):
        found = run(self, given, observe)
        return [found[0] * np.float32(1.001)] if self.native else found

    assert graphs.compared(graph, feeds, True)
    monkeypatch.setattr(Program, "run", off)
    with pytest.raises(graphs.Disagreement, match="differs"):
        graphs.compared(graph, feeds, True)


@pytest.mark.parametrize(
    "ops, data, holds",
    [
        ([("tanh", {}), ("square", {})], 0.5, True),
        ([("sin", {}), ("floor", {})], np.pi, False),  # what is left of pi is a rounding
        ([("sum", {"axis": "1"}), ("_minus_scalar", {"scalar": "3.0"}), ("reciprocal", {})], 1.0, False),
    ],
)
def test_only_what_a_rounding_leaves_alone_is_asked_for(ops, data, holds):
    graph, feeds = chain(*ops), {"data": np.full((2, 3), data, np.float32)}
    (wanted,) = Program(graph, native=False).run(feeds)
    assert graphs.steady(graph, feeds, graph.outputs[0], wanted) == holds
    assert (feeds["data"] == np.float32(data)).all()


def test_onnx_models_to_start_from_are_whole():
    seeds = onnx_models.seeds()[:1200:40]
    read = [onnx_models.import_model(onnx_models._model(seed)) for seed in seeds]
    assert all(found.graph.outputs for found in read)
