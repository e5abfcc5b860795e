"""Nodes that are left out: identities, casts, clips, transposes, duplicates; and those that are not."""

from __future__ import annotations

import numpy as np
import pytest

from converters.passes import clean
from converters.passes.eliminate_casts import eliminate_casts
from converters.passes.eliminate_clips import eliminate_clips
from converters.passes.eliminate_common_subexpressions import eliminate_common_subexpressions
from converters.passes.eliminate_identity import eliminate_identity
from converters.passes.merge_transposes import merge_transposes

from . import graph_of, operators, rewritten

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
ONES = np.ones(1, np.float32)

NOTHING = {
    "Identity": "i = Identity(x)",
    "Concat": "i = Concat<axis = 1>(x)",
    "Sum": "i = Sum(x)",
    "Max": "i = Max(x)",
    "Cast": "i = Cast<to = 1>(x)",
    "Transpose": "i = Transpose<perm = [0, 1, 2]>(x)",
    "Reshape": "i = Reshape(x, shape)",
    "Slice": "i = Slice(x, zeros, most)",
    "Expand": "i = Expand(x, ones)",
    "Pad": "i = Pad(x, none)",
    "Mul": "i = Mul(x, one)",
    "Mul by a number on the left": "i = Mul(one, x)",
    "Div": "i = Div(x, one)",
    "Tile": "i = Tile(x, ones)",
}
STORED = {
    "shape": np.array([2, -1, 4]), "zeros": np.zeros(3, np.int64), "most": np.full(3, 1 << 40), "ones": np.ones(3, np.int64),
    "none": np.zeros(6, np.int64), "one": ONES, "minus": np.full(3, -1), "reach": np.full(3, -(1 << 40)),
    "turned": np.array([0, 1, 0, 0, -1, 0]), "batch": np.array([-1, 3, 4]), "wide": np.ones((1, 1, 1, 1), np.float32),
}  # fmt: skip


def between(body: str, x: str = "2, 3, 4", y: str = "a, b, c") -> str:
    return f"g (float[{x}] x) => (float[{y}] y) {{ {body} y = Relu(i) }}"


@pytest.mark.parametrize("kind", NOTHING)
def test_what_gives_what_it_reads_is_left_out(kind: str) -> None:
    graph, changed = rewritten(graph_of(between(NOTHING[kind]), **STORED), eliminate_identity, {"x": X})
    assert changed and operators(graph) == {"Relu": 1} and graph.nodes[0].inputs == ("x",)


@pytest.mark.parametrize(
    "body",
    [
        "i = Slice(x, minus, reach, zeros3, minus)".replace("zeros3", "axes"),
        "i = Pad(x, turned)",
        "i = Mul(x, wide)",
        "i = Reshape(x, other)",
        "i = Transpose<perm = [1, 0, 2]>(x)",
    ],
)  # fmt: skip
def test_what_changes_something_stays(body: str) -> None:
    stored = {**STORED, "axes": np.arange(3), "other": np.array([3, 2, 4])}
    y = "a, b, c, d" if "wide" in body else "a, b, c"
    graph = graph_of(between(body, y=y), **stored)
    assert not eliminate_identity(graph) and len(graph.nodes) == 2


def test_a_reshape_with_one_size_that_varies() -> None:
    graph, changed = rewritten(
        graph_of(between("i = Reshape(x, batch)", "n, 3, 4"), **STORED), eliminate_identity, {"x": X}
    )
    assert changed and operators(graph) == {"Relu": 1}
    # the other sizes might be none, or two of them vary
    assert not eliminate_identity(graph_of(between("i = Reshape(x, batch)", "n, m, 4"), **STORED))
    assert not eliminate_identity(graph_of(between("i = Expand(x, size)", "n, 3, 4"), size=np.array([5, 1, 1])))


def test_names() -> None:
    text = "g (float[2] x) => (float[2] y, float[2] z) { a = Relu(x) b = Identity(a) y = Neg(b) z = Abs(b) }"
    graph = graph_of(text, told=("b",))  # MXNet's name stays
    assert eliminate_identity(graph) and graph.nodes[0].outputs == ["b"] and graph.nodes[1].inputs == ("b",)
    graph = graph_of(text, told=("a", "b"))
    assert eliminate_identity(graph) and graph.nodes[0].outputs == ["a"] and graph.nodes[2].inputs == ("a",)


def test_outputs_keep_their_names() -> None:
    x = {"x": X[0, 0]}
    graph, _ = rewritten(
        graph_of("g (float[4] x) => (float[4] y) { a = Relu(x) y = Identity(a) }"), eliminate_identity, x
    )
    assert operators(graph) == {"Relu": 1} and graph.nodes[0].outputs == ["y"]
    for text in (
        "g (float[4] x) => (float[4] y) { y = Identity(x) }",  # an input
        "g (float[4] x) => (float[4] y) { y = Identity(w) }",  # an initializer
        "g (float[4] x) => (float[4] y, float[4] z) { y = Relu(x) z = Identity(y) }",  # another output
    ):
        graph = graph_of(text, w=np.ones(4, np.float32))
        assert not eliminate_identity(graph) and operators(graph)["Identity"] == 1
    twice = "g (float[4] x) => (float[4] y, float[4] z) { a = Relu(x) y = Identity(a) z = Identity(a) }"
    graph, _ = rewritten(graph_of(twice), eliminate_identity, x)
    assert operators(graph) == {"Relu": 1, "Identity": 1}


BODY = "If<then_branch = a () => (float[4] p) {{ p = Relu({0}) }}, else_branch = b () => (float[4] q) {{ q = Neg({0}) }}>(t)"


def test_what_bodies_read_keeps_its_name() -> None:
    text = (
        "g (float[4] x, bool t) => (float[4] y) { a = Relu(x) i = Identity(a) k = "
        + BODY.format("i")
        + " y = Add(k, i) }"
    )
    assert not eliminate_identity(graph_of(text))
    text = (
        "g (float[4] x, bool t) => (float[4] y) { a = Relu(x) k = "
        + BODY.format("a")
        + " i = Add(k, a) y = Identity(a) }"
    )
    assert not eliminate_identity(graph_of(text))  # y cannot be a's name
    text = (
        "g (float[4] x, bool t) => (float[4] y) { a = Relu(x) i = Identity(a) k = "
        + BODY.format("a")
        + " y = Add(k, i) }"
    )
    graph, _ = rewritten(graph_of(text), eliminate_identity, {"x": X[0, 0], "t": np.array(True)})
    assert operators(graph) == {"Relu": 1, "If": 1, "Add": 1} and graph.nodes[0].outputs == ["a"]


# -- casts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "wide", "last", "left"),
    [
        ("float16", 1, 10, 0), ("float", 11, 1, 0), ("int32", 7, 6, 0), ("uint8", 1, 2, 0), ("bool", 6, 1, 1),
        ("float16", 11, 1, 1), ("int32", 11, 1, 1), ("uint8", 6, 7, 1), ("float", 10, 1, 2), ("int64", 1, 7, 2),
        ("float", 7, 1, 2), ("int32", 1, 6, 2), ("float", 11, 6, 2), ("int32", 11, 3, 2), ("int8", 2, 3, 2),
    ],
)  # fmt: skip
def test_casts(first: str, wide: int, last: int, left: int) -> None:
    """left: casts that stay of the two from the first dtype through the wide one to the last."""
    text = f"g ({first}[3] x) => (bool[3] y) {{ a = Cast<to = {wide}>(x) b = Cast<to = {last}>(a) y = Equal(b, b) }}"
    dtype = {"float": "float32"}.get(first, first)
    feeds = {"x": np.array([0, 1, 100]).astype(dtype)}
    graph, changed = rewritten(graph_of(text), eliminate_casts, feeds)
    assert operators(graph)["Cast"] == left and changed == (left < 2)


# -- transposes -------------------------------------------------------------------------------------------------------


def test_transposes_become_one() -> None:
    text = between(
        "a = Transpose<perm = [1, 2, 0]>(x) b = Transpose<perm = [0, 2, 1]>(a) i = Transpose<perm = [2, 1, 0]>(b)"
    )
    graph, _ = rewritten(graph_of(text), clean, {"x": X})
    assert operators(graph) == {"Transpose": 1, "Relu": 1}
    text = between("a = Transpose<perm = [1, 2, 0]>(x) i = Transpose<perm = [2, 0, 1]>(a)")
    graph, _ = rewritten(graph_of(text), merge_transposes, {"x": X})
    assert operators(graph) == {"Relu": 1}


def test_a_transpose_that_others_read_stays() -> None:
    text = "g (float[2, 3, 4] x)"
    text += " => (float[a, b, c] y, float[3, 4, 2] z) { t = Transpose<perm = [1, 2, 0]>(x)"
    text += " y = Transpose<perm = [2, 0, 1]>(t) z = Relu(t) }"
    graph, _ = rewritten(graph_of(text), merge_transposes, {"x": X})
    assert operators(graph) == {"Transpose": 2, "Relu": 1}  # y is x, which cannot be called so


# -- clips ------------------------------------------------------------------------------------------------------------

BOUNDS = {"zero": np.int64(0), "two": np.int64(2), "one1": np.int64(1), "axis": np.array([1]), "k": np.array([2])}
TABLE = {"w": np.arange(6, dtype=np.float32).reshape(3, 2)}


@pytest.mark.parametrize(
    ("body", "gone"),
    [
        ("p = ArgMax<axis = 1>(x) c = Clip(p, zero, two)", True),
        (
            "p = ArgMin<axis = -2>(x) f = Cast<to = 1>(p) q = Cast<to = 7>(f) s = Squeeze(q, axis) c = Clip(s, zero, two)",
            True,
        ),
        ("v, p = TopK<axis = 1>(x, k) c = Clip(p, zero, two)", True),
        ("p = ArgMax<axis = 1>(x) c = Clip(p, zero, one1)", False),
        ("p = ArgMax<axis = 2>(x) c = Clip(p, zero, two)", False),
        ("p = ArgMax<axis = 1>(x) q = Add(p, one1) c = Clip(q, zero, two)", False),
        ("q = Cast<to = 7>(x) c = Clip(q, zero, two)", False),
    ],
)
def test_positions_that_are_inside_are_not_moved(body: str, gone: bool) -> None:
    dims = ", ".join("abcdefg"[: 3 if "Squeeze" in body else 4])
    text = f"g (float[2, 3, 4] x) => (float[{dims}] y) {{ {body} y = Gather(w, c) }}"
    graph, changed = rewritten(graph_of(text, **BOUNDS, **TABLE), eliminate_clips, {"x": X})
    assert changed == gone and operators(graph)["Clip"] == (not gone)


def test_clips_of_floats_and_by_attributes_stay() -> None:
    assert not eliminate_clips(graph_of(between("i = Clip(x, low)"), low=np.float32(-1e30)))
    old = '<ir_version: 8, opset_import: ["" : 7]> g (int64[3] x)'
    old += " => (int64[3] y) { p = ArgMax<axis = 0, keepdims = 1>(x) y = Clip<max = 1.0>(p) }"
    assert not eliminate_clips(graph_of(old))


# -- duplicates -------------------------------------------------------------------------------------------------------


def test_duplicates_are_computed_once() -> None:
    text = """g (float[2, 3, 4] x) => (float[2, 3, 4] y) {
        a = Softmax<axis = 1>(x) b = Softmax<axis = 1>(x) c = Softmax<axis = 2>(x) d = Neg(a) e = Neg(b)
        f = Sum(d, e) y = Add(f, c) }"""
    graph, changed = rewritten(graph_of(text), eliminate_common_subexpressions, {"x": X})
    assert changed and operators(graph) == {"Softmax": 2, "Neg": 1, "Sum": 1, "Add": 1}


@pytest.mark.parametrize(
    "body",
    [
        "a = RandomUniformLike(x) b = RandomUniformLike(x)",
        "a = RandomNormalLike(x) b = RandomNormalLike(x)",
        "a = LeakyRelu<alpha = 0.1>(x) b = LeakyRelu<alpha = 0.2>(x)",
        "a, m = Dropout(x) b, n = Dropout(x)",
    ],
)
def test_what_is_not_the_same_stays(body: str) -> None:
    graph = graph_of(f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ {body} y = Sub(a, b) }}")
    assert not eliminate_common_subexpressions(graph) and len(graph.nodes) == 3


def test_outputs_that_are_the_same_stay_two() -> None:
    graph = graph_of("g (float[4] x) => (float[4] y, float[4] z) { y = Relu(x) z = Relu(x) }")
    assert not eliminate_common_subexpressions(graph)
    text = "g (float[4] x) => (float[4] y, float[4] z) { a = Relu(x) y = Relu(x) z = Neg(a) }"
    graph, _ = rewritten(graph_of(text), eliminate_common_subexpressions, {"x": X[0, 0]})
    assert operators(graph) == {"Relu": 1, "Neg": 1} and graph.nodes[0].outputs == ["y"]


def test_nodes_of_several_outputs() -> None:
    text = "g (float[4] x)"
    text += " => (float[2] y) { a, b = Split<axis = 0>(x, h) c, d = Split<axis = 0>(x, h) e = Add(a, d) y = Add(e, c) }"
    graph, _ = rewritten(graph_of(text, h=np.array([2, 2])), eliminate_common_subexpressions, {"x": X[0, 0]})
    assert operators(graph) == {"Split": 1, "Add": 2}


def test_a_constant_of_a_computed_shape_is_the_constant() -> None:
    """And not what its shape is computed from, which is no constant."""
    body = "g (float[3] x) => (float[3] y) { s = Shape(x) i = Expand(w, s) y = Add(i, x) }"
    graph, changed = rewritten(graph_of(body, w=np.float32([1, 2, 3])), eliminate_identity, {"x": X[0, 0, :3]})
    assert changed and operators(graph) == {"Add": 1}
