"""Batch normalization in the weights before it: what is folded, what the numbers are, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from converters.passes.fold_batch_norm import BLOCK, _scaled, fold_batch_norm

from . import graph_of, operators, rewritten

RNG = np.random.default_rng(5)
NORM = "y = BatchNormalization<epsilon = 0.001>(c, gamma, beta, mean, var)"


def statistics(channels: int, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    made = {n: RNG.standard_normal(channels) for n in ("gamma", "beta", "mean")} | {"var": RNG.random(channels) + 0.1}
    return {n: a.astype(dtype) for n, a in made.items()}


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


CONV = "g (float[2, 4, 6, 6] x) => (float[2, 6, h, w] y) {{ c = {} {} }}"
LAYERS = {
    "conv": (CONV.format("Conv<pads = [1, 1, 1, 1]>(x, w, b)", NORM), {"w": normal(6, 4, 3, 3), "b": normal(6)}),
    "conv without bias": (CONV.format("Conv(x, w)", NORM), {"w": normal(6, 4, 3, 3)}),
    "conv in groups": (CONV.format("Conv<group = 2>(x, w, b)", NORM), {"w": normal(6, 2, 3, 3), "b": normal(6)}),
    "deconv": (CONV.format("ConvTranspose(x, w, b)", NORM), {"w": normal(4, 6, 2, 2), "b": normal(6)}),
    "deconv in groups": (CONV.format("ConvTranspose<group = 2>(x, w)", NORM), {"w": normal(4, 3, 2, 2)}),
}
DENSE = "g (float[5, 4] x) => (float[5, 6] y) {{ c = {} {} }}"
DENSES = {
    "gemm": (DENSE.format("Gemm<transB = 1>(x, w, b)", NORM), {"w": normal(6, 4), "b": normal(6)}),
    "gemm without bias": (DENSE.format("Gemm(x, w)", NORM), {"w": normal(4, 6)}),
    "gemm with one bias": (DENSE.format("Gemm(x, w, b)", NORM), {"w": normal(4, 6), "b": normal(1)}),
    "matmul": (DENSE.format("MatMul(x, w)", NORM), {"w": normal(4, 6)}),
}


@pytest.mark.parametrize("kind", LAYERS | DENSES)
def test_folds_into_the_layer_before(kind: str) -> None:
    text, weights = (LAYERS | DENSES)[kind]
    graph = graph_of(text, told=("c", "y"), **weights, **statistics(6))
    feeds = {"x": normal(2, 4, 6, 6) if kind in LAYERS else normal(5, 4)}
    graph, changed = rewritten(graph, fold_batch_norm, feeds, exact=False)
    assert changed and operators(graph).keys().isdisjoint({"BatchNormalization", "MatMul"}) and len(graph.nodes) == 1
    assert graph.nodes[0].outputs == ["y"] and len(graph.nodes[0].inputs) == 3


def test_numbers_are_rounded_once() -> None:
    text, weights = LAYERS["conv"]
    found = statistics(6)
    graph = graph_of(text, **weights, **found)
    fold_batch_norm(graph)
    _, weight, bias = (graph.initializers.get(n) for n in graph.nodes[0].inputs)
    gamma, beta, mean, var = (found[n].astype(np.float64) for n in ("gamma", "beta", "mean", "var"))
    scale = gamma / np.sqrt(var + np.float64(np.float32(0.001)))
    want = weights["w"].astype(np.float64) * scale[:, None, None, None]
    np.testing.assert_array_equal(weight, want.astype(np.float32))
    np.testing.assert_array_equal(bias, ((weights["b"] - mean) * scale + beta).astype(np.float32))
    assert (np.abs(weight - want) <= 0.5 * np.spacing(np.abs(weight))).all()


def test_large_weights_go_in_pieces() -> None:
    weight, scale = normal(3, 2, BLOCK // 2), RNG.standard_normal(3)
    want = (weight.astype(np.float64) * scale[:, None, None]).astype(np.float32)
    np.testing.assert_array_equal(_scaled(weight, scale, 0, 1), want)
    weight, scale = normal(6, 2, BLOCK // 4), RNG.standard_normal(4)  # two groups, of rows that fill more than a block
    want = weight.astype(np.float64) * np.repeat(scale.reshape(2, 2), 3, axis=0)[:, :, None]
    np.testing.assert_array_equal(_scaled(weight, scale, 1, 2), want.astype(np.float32))


def test_one_after_another() -> None:
    text = CONV.format("Conv(x, w)", NORM.replace("y =", "z =") + "y = BatchNormalization(z, g2, b2, m2, v2)")
    second = dict(zip(("g2", "b2", "m2", "v2"), statistics(6).values()))
    graph = graph_of(text, w=normal(6, 4, 3, 3), **statistics(6), **second)
    assert fold_batch_norm(graph) and fold_batch_norm(graph) and operators(graph) == {"Conv": 1}


REFUSED = {
    "a weight that two layers read": CONV.format("Conv(x, w) d = Conv(x, w)", NORM.replace("y", "n") + "y = Add(n, d)"),
    "an output that others read": CONV.format("Conv(x, w)", NORM.replace("y =", "n =") + "y = Add(n, c)"),
    "an output of the graph": CONV.format("Conv(x, w)", NORM).replace("y)", "y, float[2, 6, h, w] c)"),
    "a weight that is an input": CONV.format("Conv(x, v)", NORM).replace("x)", "x, float[6, 4, 3, 3] v)", 1),
    "something between": CONV.format("Conv(x, w)", "r = Relu(c)" + NORM.replace("(c", "(r")),
    "a weight that a body reads": CONV.format("Conv(x, w)", NORM.replace("y =", "n =") + """
        t = Constant<value = bool {1}>()
        k = If<then_branch = a () => (float[6, 4, 3, 3] p) { p = Relu(w) }, else_branch = a2 () => (float[6, 4, 3, 3] q) {
        q = Identity(w) }>(t) s = ReduceMax<keepdims = 0>(k) y = Add(n, s)"""),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_leaves_alone(why: str) -> None:
    graph = graph_of(REFUSED[why], w=normal(6, 4, 3, 3), **statistics(6))
    before = list(graph.nodes)
    assert not fold_batch_norm(graph) and graph.nodes == before


def test_leaves_alone_what_trains() -> None:
    norm = "y, m, v = BatchNormalization<training_mode = 1>(c, gamma, beta, mean, var)"
    graph = graph_of(CONV.format("Conv(x, w)", norm), w=normal(6, 4, 3, 3), **statistics(6))
    assert not fold_batch_norm(graph)


def test_leaves_alone_products_of_higher_rank() -> None:
    text = "g (float[2, 6, 4] x) => (float[2, 6, 6] y) { c = MatMul(x, w) " + NORM + " }"
    assert not fold_batch_norm(graph_of(text, w=normal(4, 6), **statistics(6)))


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_leaves_alone_other_precisions(dtype: Any) -> None:
    text = LAYERS["conv"][0].replace("float[", "float16[" if dtype is np.float16 else "double[")
    weights = {n: a.astype(dtype) for n, a in LAYERS["conv"][1].items()}
    assert not fold_batch_norm(graph_of(text, **weights, **statistics(6, dtype)))


@pytest.mark.parametrize(
    "wrong", [{"gamma": np.nan}, {"var": -1.0}, {"mean": np.inf}, {"gamma": 3e38, "w": 3e38}, {"w": np.nan}]
)
def test_leaves_alone_what_is_not_finite(wrong: dict[str, float]) -> None:
    stored = {"w": normal(6, 4, 3, 3), **statistics(6)}
    for name, value in wrong.items():
        stored[name].flat[0] = value
    graph = graph_of(CONV.format("Conv(x, w)", NORM), **stored)
    assert not fold_batch_norm(graph) and operators(graph)["BatchNormalization"] == 1


def test_leaves_alone_normalization_before_a_layer() -> None:
    text = "g (float[2, 4, 6, 6] x) => (float[2, 6, 4, 4] y) { n = BatchNormalization(x, gamma, beta, mean, var) y = Conv(n, w) }"
    assert not fold_batch_norm(graph_of(text, w=normal(6, 4, 3, 3), **statistics(4)))
