"""Constants and shapes that are known: what becomes an initializer, and what stays a node."""

from __future__ import annotations

import numpy as np
import pytest

from converters.passes import clean
from converters.passes.fold_constants import SMALL, evaluate, fold_constants
from converters.passes.fold_shapes import fold_shapes

from . import graph_of, operators, rewritten

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_a_chain_becomes_one_constant() -> None:
    text = """g (float[2, 3, 4] x) => (float[2, 3, 4] y) {
        r = Range(zero, three, one) f = Cast<to = 1>(r) s = Unsqueeze(f, axis)
        y = Mul(x, s) }"""
    stored = {"zero": np.int64(0), "one": np.int64(1), "three": np.int64(3), "axis": np.array([1])}
    graph, changed = rewritten(graph_of(text, **stored), fold_constants, {"x": X})
    assert changed and operators(graph) == {"Mul": 1}
    np.testing.assert_array_equal(graph.initializers["s"], np.arange(3, dtype=np.float32)[:, None])


def test_shapes_that_are_known_are_constants() -> None:
    text = """g (float[2, 3, 4] x) => (float[2, 12] y) {
        s = Shape(x) n = Gather(s, first) d = Concat<axis = 0>(n, minus) y = Reshape(x, d) }"""
    graph = graph_of(text, first=np.array([0]), minus=np.array([-1]))
    graph, _ = rewritten(graph, clean, {"x": X})
    assert operators(graph) == {"Reshape": 1}


def test_one_size_may_be_known_where_others_vary() -> None:
    text = """g (float[n, 3, 4] x) => (int64[1] a, int64[1] b, float[n, 3, 4] y) {
        s = Shape(x) k = Gather(s, last) m = Gather(s, first) a = Add(k, one) b = Add(m, one) y = Relu(x) }"""
    graph = graph_of(text, last=np.array([-1]), first=np.array([0]), one=np.array([1]))
    graph, changed = rewritten(graph, fold_shapes, {"x": X})
    assert changed and "k" in graph.initializers and "m" not in graph.initializers and operators(graph)["Shape"] == 1


@pytest.mark.parametrize("text", ["s = Shape(x)", "s = Shape<start = 1>(x)", "s = Size(x)"])
def test_sizes_that_vary_stay(text: str) -> None:
    graph = graph_of(f"g (float[2, m, 4] x) => (int64[k] y) {{ {text} y = Identity(s) }}")
    assert not fold_shapes(graph)


def test_part_of_a_shape() -> None:
    text = "g (float[m, 3, 4] x) => (int64[2] y) { s = Shape<start = 1>(x) y = Add(s, one) }"
    graph, changed = rewritten(graph_of(text, one=np.array([1])), fold_shapes, {"x": X})
    assert changed and graph.initializers["s"].tolist() == [3, 4]


def test_an_output_is_made_by_a_node() -> None:
    graph = graph_of(
        "g (float[2] x) => (float[2] y, float[2] z) { y = Add(a, a) z = Relu(x) }", a=np.ones(2, np.float32)
    )
    assert not fold_constants(graph)


def test_what_would_be_large_stays() -> None:
    size = SMALL  # of float32: four times what is allowed
    text = f"g (float[{size}] x) => (float[{size}] y) {{ e = Expand(one, size) y = Add(x, e) }}"
    graph = graph_of(text, one=np.ones(1, np.float32), size=np.array([size]))
    assert not fold_constants(graph)
    text = f"g (float[{size}] x) => (float[{size}] y) {{ r = Range(zero, stop, one) y = Add(x, r) }}"
    numbers = {"zero": np.float32(0), "stop": np.float32(size), "one": np.float32(1)}
    assert not fold_constants(graph_of(text, **numbers))
    table = np.ones((SMALL, 2), np.float32)  # which others read too
    text = f"g (float[2, {SMALL}] x) => (float[2, {SMALL}] y, float[2] z) "
    text += "{ t = Transpose<perm = [1, 0]>(w) y = Add(x, t) z = Gather(w, i) }"
    assert not fold_constants(graph_of(text, w=table, i=np.int64(0)))


def test_a_large_weight_that_nothing_else_reads_is_turned_here() -> None:
    table = np.arange(SMALL * 2, dtype=np.float32).reshape(SMALL, 2)
    text = f"g (float[2, {SMALL}] x) => (float[2, {SMALL}] y) {{ t = Transpose<perm = [1, 0]>(w) y = Add(x, t) }}"
    graph, changed = rewritten(graph_of(text, w=table), fold_constants, {"x": np.zeros((2, SMALL), np.float32)})
    assert changed and operators(graph) == {"Add": 1}


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("c = Div(a, b)", {"a": np.array([7, -7]), "b": np.array([2, 2])}),
        ("c = Div(a, b)", {"a": np.array([7, 7]), "b": np.array([2, 0])}),
        ("f = Cast<to = 7>(a) c = Identity(f)", {"a": np.array([1e30, np.nan], np.float32)}),
        ("c = Exp(a)", {"a": np.array([1.0, 2.0], np.float32)}),
        ("c = RandomUniformLike(a)", {"a": np.array([1.0, 2.0], np.float32)}),
    ],
)
def test_what_runtimes_may_answer_otherwise_stays(text: str, stored: dict[str, np.ndarray]) -> None:
    kind = "int64" if "Div" in text or "Cast" in text else "float"
    graph = graph_of(f"g ({kind}[2] x) => ({kind}[2] y) {{ {text} y = Add(x, c) }}", **stored)
    before = operators(graph)
    fold_constants(graph)
    assert operators(graph) == before


def test_an_input_that_only_its_shape_is_read_of_stays_one() -> None:
    graph = graph_of("g (float[2, 3] x) => (int64[2] y) { s = Shape(x) y = Add(s, one) }", one=np.array([1]))
    clean(graph)
    assert operators(graph) == {"Shape": 1, "Add": 1} and graph.nodes[0].outputs == ["s"]


def test_empty_tensors() -> None:
    text = "g (float[0, 3] x) => (float[0, 3] y) { s = Shape(x) z = ConstantOfShape(s) y = Add(x, z) }"
    graph, _ = rewritten(graph_of(text), clean, {"x": np.zeros((0, 3), np.float32)})
    assert operators(graph) == {"Add": 1}


def test_what_the_evaluator_refuses_stays() -> None:
    graph = graph_of(
        "g (float[2] x) => (float[2] y) { c = Reshape(a, s) y = Add(x, c) }", a=np.ones(2, np.float32), s=np.array([3])
    )
    assert evaluate(graph.nodes[0], {n: graph.initializers[n] for n in ("a", "s")}, 17) is None
    assert not fold_constants(graph)
