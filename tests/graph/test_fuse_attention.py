"""Attention that is written out, and what the pass makes of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.graph.optimizing import counted, optimized, plainly, run

B, S, T, H, D = 2, 5, 7, 3, 4
F: Any = mx.sym
Arrays = dict[str, np.ndarray]


def uniform(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).uniform(-2, 2, shape).astype(np.float32)


FEEDS: Arrays = {
    "q": uniform(B, S, H * D),
    "k": uniform(B, T, H * D, seed=1),
    "v": uniform(B, T, H * D, seed=2),
    "few_k": uniform(B, 1, T, D, seed=3),
    "few_v": uniform(B, 1, T, D, seed=4),
    "mask": np.where(uniform(B, 1, 1, T, seed=5) > -1, 0, -np.inf).astype(np.float32),
    "square": np.where(uniform(S, T, seed=6) > -1, 0, -1e4).astype(np.float32),
    "seen": uniform(1, 1, S, T, seed=7) > -1,
    "qkv": uniform(S, B, H * 3 * D, seed=8),
    "kv": uniform(T, B, H * 2 * D, seed=9),
    "row": uniform(S, B, H * D, seed=10),
    "biased": uniform(B * H, S, S, seed=11),
}


def heads(name: str) -> Any:
    """(B, H, L, D) of (B, L, H * D)."""
    return F.transpose(F.Reshape(F.var(name), shape=(0, 0, H, -1)), axes=(0, 2, 1, 3))


def joined(y: Any) -> Any:
    return F.Reshape(F.transpose(y, axes=(0, 2, 1, 3)), shape=(0, 0, -1))


def scores() -> Any:
    return F._npi_matmul(heads("q"), F.transpose(heads("k"), axes=(0, 1, 3, 2)))


def flat(name: str) -> Any:
    """(B * H, L, D), as GluonNLP has it."""
    return F.Reshape(heads(name), shape=(-3, -2))


def mixed(shares: Any) -> Any:
    return joined(F._npi_matmul(shares, heads("v")))


def repeated(name: str) -> Any:
    """(B, H, T, D) of (B, 1, T, D)."""
    wide = F.broadcast_to(F.expand_dims(F.var(name), axis=2), shape=(B, 1, H, T, D))
    return F.Reshape(wide, shape=(B, H, T, D))


def without_nan(shares: Any) -> Any:
    return F._npi_where_lscalar(F._npi_isnan(shares), shares, scalar=0.0)


def self_attention(masked: Callable[[Any], Any] = lambda x: x) -> Any:
    qkv = F.var("qkv")
    shares = F.softmax(masked(F._contrib_interleaved_matmul_selfatt_qk(qkv, heads=H)))
    return F._contrib_interleaved_matmul_selfatt_valatt(qkv, shares, heads=H)


def cross_attention() -> Any:
    kv = F.var("kv")
    shares = F.softmax(F._contrib_interleaved_matmul_encdec_qk(F.var("row"), kv, heads=H))
    return F._contrib_interleaved_matmul_encdec_valatt(kv, shares, heads=H)


ROWS = (0, 2, 1, 3)
FORMS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "plain": (lambda: mixed(F.softmax(scores())), {"query_axes": ROWS, "key_axes": ROWS, "result_axes": ROWS}),
    "divided": (lambda: mixed(F.softmax(scores() / 2.0)), {"scale": 0.5}),
    "operands are scaled": (
        lambda: mixed(F.softmax(F._npi_matmul(heads("q") * 0.5, F.transpose(heads("k") * 0.5, axes=(0, 1, 3, 2))))),
        {"scale": 0.25, "key_axes": ROWS},
    ),
    "added": (
        lambda: mixed(F.softmax(F.broadcast_add(scores() / 2.0, F.var("mask")))),
        {"added": True, "keep": False, "scale": 0.5},
    ),
    "added first": (lambda: mixed(F.softmax(F.broadcast_add(F.var("square"), scores()))), {"added": True}),
    "kept": (
        lambda: mixed(F.softmax(F._npi_where_rscalar(F.var("seen"), scores() * 3.0, scalar=-1e4))),
        {"keep": True, "fill": -1e4, "scale": 3.0},
    ),
    "left out": (
        lambda: mixed(F.softmax(F._npi_where_lscalar(F._npi_logical_not(F.var("seen")), scores(), scalar=-math.inf))),
        {"keep": True, "fill": -math.inf},
    ),
    "left out where it says so": (
        lambda: mixed(F.softmax(F._npi_where_lscalar(F.var("seen"), scores(), scalar=-1e4))),
        {"keep": True},
    ),
    "kept, then added": (
        lambda: mixed(
            F.softmax(F.broadcast_add(F._npi_where_rscalar(F.var("seen"), scores(), scalar=-1e4), F.var("mask")))
        ),
        {"keep": True, "added": True},
    ),
    "zeros for NaN": (
        lambda: mixed(without_nan(F.softmax(F.broadcast_add(scores(), F.var("mask"))))),
        {"blind": "finite", "added": True},
    ),
    "shared keys": (
        lambda: F._npi_matmul(
            F.softmax(F._npi_matmul(heads("q"), F.transpose(repeated("few_k"), axes=(0, 1, 3, 2)))), repeated("few_v")
        ),
        {"result_axes": (0, 1, 2, 3)},
    ),
    "one head of keys": (
        lambda: F._npi_matmul(
            F.softmax(F._npi_matmul(heads("q"), F.transpose(F.var("few_k"), axes=(0, 1, 3, 2)))), F.var("few_v")
        ),
        {},
    ),
    "batch_dot": (
        lambda: F.batch_dot(F.softmax(F.batch_dot(flat("q"), flat("k"), transpose_b=True) / 2.0), flat("v")),
        {"query_axes": ROWS, "key_axes": ROWS, "value_axes": ROWS},
    ),
    "div_sqrt_dim": (
        lambda: F.batch_dot(
            F.softmax(F.batch_dot(F._contrib_div_sqrt_dim(F.var("q")), F.var("k"), transpose_b=True)), F.var("v")
        ),
        {"scale": (H * D) ** -0.5},
    ),
    "gemm2": (
        lambda: F.batch_dot(
            F.softmax(F.linalg.gemm2(F.var("q"), F.var("k"), transpose_b=True, alpha=0.25)), F.var("v")
        ),
        {"scale": 0.25},
    ),
    "batches and heads apart for a mask": (
        lambda: F.batch_dot(
            F.Reshape(
                F.softmax(
                    F.broadcast_add(
                        F.Reshape(F.batch_dot(flat("q"), flat("k"), transpose_b=True), shape=(-4, B, H, 0, 0)),
                        F.var("mask"),
                    )
                ),
                shape=(-3, 0, 0),
            ),
            flat("v"),
        ),
        {"added": True, "query_axes": ROWS},
    ),
    "interleaved": (self_attention, {"query_axes": (1, 2, 0, 4, 0), "value_axes": (1, 2, 0, 4, 2)}),
    "interleaved with a mask": (lambda: self_attention(lambda x: x + F.var("biased")), {"added": True}),
    "interleaved of two": (cross_attention, {"key_axes": (1, 2, 0, 4, 0), "query_axes": (1, 2, 0, 3)}),
}


def shown_too() -> Any:
    shares = F.softmax(scores())
    return F.Group([mixed(shares), shares])


LEFT: dict[str, Callable[[], Any]] = {
    "shares are an output": shown_too,
    "softmax along another axis": lambda: mixed(F.softmax(scores(), axis=-2)),
    "a mask that is scaled too": lambda: mixed(F.softmax(F.broadcast_add(scores(), F.var("mask")) * 2.0)),
    "a reflected division": lambda: mixed(F.softmax(2.0 / scores())),
    "kept after it is added": lambda: mixed(
        F.softmax(F._npi_where_rscalar(F.var("seen"), F.broadcast_add(scores(), F.var("mask")), scalar=-1e4))
    ),
    "other numbers for NaN": lambda: mixed(
        F._npi_where_lscalar(F._npi_isnan(scores()), F.softmax(scores()), scalar=0.0)
    ),
    "shares times something": lambda: mixed(F.softmax(scores()) * 0.5),
}


def traced(symbol: Any) -> tuple[Any, Arrays]:
    graph = symbol.graph
    names = {n.name for n in graph.variables()}
    return graph, {n: a for n, a in FEEDS.items() if n in names}


@pytest.mark.parametrize("form", FORMS)
def test_is_one_operator(form: str) -> None:
    make, attrs = FORMS[form]
    graph, feeds = traced(make())
    found = optimized(graph, feeds, {})
    counts = counted(found.main)
    assert counts["_fused_attention"] == 1
    assert not counts.keys() & {"softmax", "_npi_matmul", "batch_dot", "transpose", "_linalg_gemm2"}
    (node,) = (n for n in found.main.nodes if n.op is not None and n.op.name == "_fused_attention")
    assert {name: getattr(node.op, name) for name in attrs} == attrs
    with np.errstate(invalid="ignore"):
        for one, other in zip(run(found, feeds, {}), plainly(graph, feeds, {}), strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("form", LEFT)
def test_is_left(form: str) -> None:
    graph, feeds = traced(LEFT[form]())
    found = optimized(graph, feeds, {})
    assert not counted(found.main)["_fused_attention"]


def test_is_left_in_training() -> None:
    graph, feeds = traced(FORMS["plain"][0]())
    assert not counted(optimized(graph, feeds, {}, training=True).main)["_fused_attention"]


def test_caches_of_halves_are_not_widened() -> None:
    """Keys and values that a float16 network keeps are read as they lie."""
    k, v = (F.Cast(F.var(n), dtype="float32") for n in ("few_k", "few_v"))
    shares = F.softmax(F._npi_matmul(heads("q"), F.transpose(k, axes=(0, 1, 3, 2))))
    graph, feeds = traced(F._npi_matmul(shares, v))
    feeds = {n: a.astype("float16") if n != "q" else a for n, a in feeds.items()}
    found = optimized(graph, feeds, {})
    assert counted(found.main)["_fused_attention"] == 1
    assert not counted(found.main)["Cast"]
    (y,), (want,) = run(found, feeds, {}), plainly(graph, feeds, {})
    np.testing.assert_allclose(y, want, rtol=2e-5, atol=2e-6)


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_lengths_that_vary() -> None:
    """A program that was traced gives what one for these sizes gives."""
    graph, _ = traced(FORMS["added"][0]())
    program = Program(graph, {})
    for queries, keys in ((5, 7), (3, 11), (1, 20), (40, 33), (2, 2)):
        feeds = {
            "q": uniform(B, queries, H * D), "k": uniform(B, keys, H * D), "v": uniform(B, keys, H * D, seed=1),
            "mask": uniform(B, 1, 1, keys),
        }  # fmt: skip
        (y,), (want,) = program.run(feeds), plainly(graph, feeds, {})
        np.testing.assert_allclose(y, want, rtol=2e-5, atol=2e-6)


Q, K, V = uniform(2, 4, 3, 8), uniform(2, 2, 5, 8), uniform(2, 2, 5, 6)
WIDE = uniform(2, 3, 32), uniform(2, 5, 16), uniform(2, 5, 12)
PAST = uniform(2, 2, 4, 8), uniform(2, 2, 4, 6)
CACHE = ("past_key", "past_value")
GROUPED = {"q_num_heads": 4, "kv_num_heads": 2}
MASK = uniform(3, 9, seed=3)
STANDARD: dict[str, tuple[tuple[np.ndarray, ...], dict[str, Any]]] = {
    "plain": ((Q, K, V), {}),
    "causal": ((Q, K, V), {"is_causal": True, "softcap": 2.0, "scale": 0.3}),
    "window": ((Q, K, V), {"left_window_size": 1, "right_window_size": 0, "num_outputs": 3}),
    "cache": ((Q, K, V, *PAST), {"given": CACHE, "is_causal": True, "num_outputs": 3}),
    "mask": ((Q, K, V, MASK, *PAST), {"given": ("attn_mask", *CACHE), "is_causal": True}),
    "truth": ((Q, K, V, MASK > 1, *PAST), {"given": ("attn_mask", *CACHE), "num_outputs": 3}),
    "rows": ((*WIDE, np.array([[True] * 5, [False] * 5, [True] * 4 + [False]])), {"given": ("attn_mask",), **GROUPED}),
    "rows with a cache": ((*WIDE, *PAST), {"given": CACHE, "num_outputs": 3, **GROUPED}),
}
OTHERWISE: dict[str, tuple[tuple[np.ndarray, ...], dict[str, Any]]] = {
    "scores as an output": ((Q, K, V), {"num_outputs": 4}),
    "a short mask": ((Q, K, V, MASK[:, :4]), {"given": ("attn_mask",)}),
    "lengths": ((Q, K, V, np.array([3, 5])), {"given": ("nonpad_kv_seqlen",)}),
    "softmax in float16": ((Q, K, V), {"softmax_precision": "float16"}),
}


def standard(case: tuple[tuple[np.ndarray, ...], dict[str, Any]], dtype: str) -> tuple[Program, Arrays, Any]:
    """A program of ONNX's Attention, what it is fed, and what NumPy says."""
    arrays = [a.astype(dtype) if a.dtype == np.float32 else a for a in case[0]]
    op: Any = lookup("_onnx_Attention").bind(**case[1])
    feeds = dict(zip(op.input_names(), arrays))
    node = Node(op, "attention", [Entry(Node(None, n)) for n in feeds])
    program = Program(Graph([Entry(node, i) for i in range(len(op.output_names()))]), {})
    return program, feeds, op.compute(*arrays)


def fallbacks(program: Program, feeds: Arrays) -> Any:
    key = tuple(x for n in program.names for x in (feeds[n].shape, feeds[n].dtype))
    return program.prepare(key).bound.fallbacks()


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", STANDARD)
def test_standard_attention(case: str, dtype: str) -> None:
    program, feeds, want = standard(STANDARD[case], dtype)
    error = 2e-3 if dtype == "float16" else 2e-6
    for one, other in zip(program.run(feeds), want):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one.astype("float32"), other.astype("float32"), rtol=error, atol=error)
    assert not fallbacks(program, feeds)


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
@pytest.mark.parametrize("case", OTHERWISE)
def test_standard_attention_that_is_left(case: str) -> None:
    program, feeds, want = standard(OTHERWISE[case], "float32")
    for one, other in zip(program.run(feeds), want):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
