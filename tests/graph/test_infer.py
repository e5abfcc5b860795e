"""Inference: a fixed point, the same for every order, never in conflict with what runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.error import OpError
from hybrid.graph.executor import Program
from hybrid.graph.graph import Entry, Graph, Node
from hybrid.graph.infer import infer
from hybrid.op import REGISTRY
from hybrid.shapes import UNKNOWN, identical, is_known
from tests.graph.random_graphs import SHAPE, feeds, graphs


def node(op: str, name: str, *inputs: Node, **attrs: object) -> Node:
    return Node(REGISTRY[op].bind(**attrs), name, map(Entry, inputs))


def network() -> Graph:
    x = Node(None, "x")
    conv = node("Convolution", "c", x, Node(None, "cw"), Node(None, "cb"), kernel=(3, 3), num_filter=4, pad=(1, 1))
    pool = node("Pooling", "p", conv, kernel=(2, 2), stride=(2, 2))
    dense = node("FullyConnected", "f", pool, Node(None, "fw"), Node(None, "fb"), num_hidden=5)
    return Graph([Entry(dense)])


def variables(graph: Graph, result) -> dict:
    return {n.name: result.spec(Entry(n)).shape for n in graph.variables()}


def test_parameters_from_data() -> None:
    graph = network()
    result = infer(graph, {"x": (2, 3, 8, 8)})
    assert variables(graph, result) == {"x": (2, 3, 8, 8), "cw": (4, 3, 3, 3), "cb": (4,), "fw": (5, 64), "fb": (5,)}
    assert result.spec(graph.outputs[0]).shape == (2, 5)


def test_an_unknown_batch_stays_the_only_unknown() -> None:
    graph = network()
    result = infer(graph, {"x": (UNKNOWN, 3, 8, 8)})
    assert identical(result.spec(graph.outputs[0]).shape, (UNKNOWN, 5))
    assert variables(graph, result)["fw"] == (5, 64)
    assert result.unknown() == ["x", "cw", "cb", "fw", "fb"]  # no dtype was given
    assert infer(graph, {"x": (UNKNOWN, 3, 8, 8)}, default_dtype="float32").unknown() == ["x"]


def test_backward_from_outputs() -> None:
    """A recurrent state of unknown batch learns it from what it is added to."""
    state, x = Node(None, "state", (), {"__shape__": "(0, 4)"}), Node(None, "x")
    graph = Graph([Entry(node("elemwise_add", "s", node("relu", "r", state), x))])
    assert variables(graph, infer(graph, {"x": (3, 4)}))["state"] == (3, 4)


def test_zero_is_a_size() -> None:
    graph = Graph([Entry(node("relu", "r", Node(None, "x")))])
    assert infer(graph, {"x": (0, 3)}).spec(graph.outputs[0]).shape == (0, 3)
    assert infer(graph, {"x": ()}).spec(graph.outputs[0]).shape == ()


def test_dtypes() -> None:
    x = Node(None, "x")
    graph = Graph([Entry(node("elemwise_add", "s", node("Cast", "c", x, dtype="float16"), Node(None, "y")))])
    result = infer(graph, {}, {"x": "int32"})
    assert result.spec(graph.outputs[0]).dtype == np.float16
    assert result.spec(Entry(graph.nodes[-2])).dtype == np.float16  # y learns it
    with pytest.raises(OpError, match=r"operator s: .*float16.*float32"):
        infer(graph, {}, {"x": "int32", "y": "float32"})


def test_contradictions_name_the_node() -> None:
    with pytest.raises(OpError, match=r"operator f: \[FullyConnected\] .*fw|operator f: .*weight"):
        infer(network(), {"x": (2, 3, 8, 8), "fw": (5, 63)})
    with pytest.raises(OpError, match="variable x: __shape__='nonsense'"):
        infer(Graph([Entry(node("relu", "r", Node(None, "x", (), {"__shape__": "nonsense"})))]))


@given(graphs(), st.sets(st.sampled_from(["a", "b", "w"])))
def test_inference_is_a_fixed_point(graph: Graph, given_names: set[str]) -> None:
    names = {n.name for n in graph.variables()}
    first = infer(graph, {n: SHAPE for n in given_names & names})
    again = infer(graph, {n: s for n, s in variables(graph, first).items() if s is not None})
    for key, shape in first.shapes.items():
        assert identical(shape, again.shapes[key])
    more = infer(graph, {n: SHAPE for n in names})
    for key, shape in first.shapes.items():  # who knows more contradicts nothing
        assert shape is None or all(d is UNKNOWN or d == e for d, e in zip(shape, more.shapes[key]))


@given(graphs())
def test_what_is_inferred_is_what_runs(graph: Graph) -> None:
    values = feeds(graph)
    result = infer(graph, {n: v.shape for n, v in values.items()}, {n: v.dtype for n, v in values.items()})
    seen = {}
    Program(graph).run(values, lambda n, outputs: seen.update({id(n): [(o.shape, o.dtype) for o in outputs]}))
    for item in graph.nodes:
        if item.op is None:
            continue
        for i, got in enumerate(seen[id(item)]):
            spec = result.spec(Entry(item, i))
            assert is_known(spec.shape)
            assert got == (spec.shape, spec.dtype)
