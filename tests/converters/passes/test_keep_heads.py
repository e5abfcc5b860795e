"""Attention with four axes: heads that are folded into the batch and out of it again stay an axis of their own."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import bridge
import hybrid as mx
from converters.forms import USUAL, Forms
from converters.onnx_graph import OnnxGraph
from converters.passes import clean
from converters.passes.keep_heads import keep_heads

from . import graph_of, operators, rewritten

RNG = np.random.default_rng(7)
N, H, T, D = 2, 3, 5, 4
FEEDS = {n: RNG.standard_normal((N, H, T, D)).astype(np.float32) for n in "qkv"}
MASK = RNG.standard_normal((N * H, 1, T)).astype(np.float32)
STORED = {
    "in3": np.array([-1, T, D]), "out4": np.array([-1, H, T, D]), "same": np.array([-1, H, T, T]), "other": np.array([H, N, T, D]),
    "scale": np.float32([0.5]), "held": MASK, "axes": np.array([1]), "bias": RNG.standard_normal((T, T)).astype(np.float32),
    "one": RNG.standard_normal((1, T, T)).astype(np.float32),
}  # fmt: skip
JOIN = "a = Reshape(q, in3) b = Reshape(k, in3) c = Reshape(v, in3) t = Transpose<perm = [0, 2, 1]>(b) s = MatMul(a, t)"
REST = "p = Softmax<axis = -1>({}) m = MatMul(p, c) y = Reshape(m, out4)"


def attention(between: str, last: str = "z", rest: str = REST, more: str = "", outputs: str = "") -> str:
    shapes = ", ".join(f"float[{N}, {H}, {T}, {D}] {n}" for n in "qkv")
    given = f"{shapes}{more}"
    return f"g ({given}) => (float[{N}, {H}, {T}, {D}] y{outputs}) {{ {JOIN} {between} {rest.format(last)} }}"


def ranks(graph: OnnxGraph) -> set[int]:
    """Numbers of axes of all that products and Softmax make."""
    graph.infer()
    return {len(graph.shape(n.outputs[0]) or ()) for n in graph.nodes if n.op_type in ("MatMul", "Softmax")}


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize(
    "between, reshapes",
    [
        ("z = Mul(s, scale)", 0),
        ("z = Add(s, held)", 0),  # a constant is stored in the other shape
        ("z = Add(s, bias)", 0),
        ("z = Add(s, one)", 0),
        ("w = Transpose<perm = [0, 2, 1]>(s) u = Relu(w) z = Transpose<perm = [0, 2, 1]>(u)", 0),
        ("l = Less(s, held) o = Not(l) z = Where(o, s, scale)", 0),
    ],
)
def test_heads_stay_an_axis(between: str, reshapes: int, opset: int) -> None:
    text = attention(between)
    if opset < 13:
        text = text.replace("axis = -1", "axis = 2")
    graph, changed = rewritten(graph_of(text, opset=opset, **STORED), keep_heads, FEEDS)
    graph.nodes[:] = [n for n in graph.nodes if n.outputs[0] not in ("a", "b", "c")]
    assert changed and operators(graph).get("Reshape", 0) == reshapes
    assert ranks(graph) == {4} and graph.nodes[-1].outputs == ["y"]


def test_a_mask_that_is_computed_gets_one_reshape_for_all_layers() -> None:
    """It takes the place of an Unsqueeze; a tensor between two layers keeps its name."""
    text = attention(
        "e = Unsqueeze(mask, axes) l = Less(e, scale) z = Where(l, s, scale)",
        more=f", float[{N * H}, {T}] mask",
        rest=REST
        + " d = Reshape(y, in3) s2 = MatMul(d, t) z2 = Where(l, s2, scale) p2 = Softmax<axis = -1>(z2) m2 = MatMul(p2, c) "
        "r = Reshape(m2, out4)",
        outputs=f", float[{N}, {H}, {T}, {D}] r",
    )
    feeds = {**FEEDS, "mask": RNG.standard_normal((N * H, T)).astype(np.float32)}
    graph, changed = rewritten(graph_of(text, **STORED), keep_heads, feeds)
    clean(graph)
    assert changed and operators(graph)["Reshape"] == 1 and "Unsqueeze" not in operators(graph)
    assert ranks(graph) == {4}


@pytest.mark.parametrize(
    "why, between, last, outputs",
    [
        ("an output has the heads in its batch", "z = Mul(s, scale)", "z", f", float[{N * H}, {T}, {T}] s"),
        ("rows of other batches are mixed", "w = ReduceSum<keepdims = 1>(s, first) z = Mul(w, s)", "z", ""),
        ("the batch is turned", "w = Transpose<perm = [1, 0, 2]>(s) z = Transpose<perm = [1, 0, 2]>(w)", "z", ""),
        ("along another axis", "z = Softmax<axis = 1>(s)", "z", ""),
    ],
)
def test_what_cannot_have_another_axis_stays(why: str, between: str, last: str, outputs: str) -> None:
    graph = graph_of(attention(between, last, outputs=outputs), first=np.array([0]), **STORED)
    found, _ = rewritten(graph, keep_heads, FEEDS)
    made = {n.outputs[0]: n for n in found.nodes}
    assert "s" in made and made["s"].inputs == ("a", "t"), why


def test_nothing_is_done_that_leaves_as_many_nodes() -> None:
    """A tensor of unknown origin on the way in, and one way out."""
    text = f"g (float[{N * H}, {T}, {T}] x) => (float[{N}, {H}, {T}, {T}] y) {{ s = Softmax(x) y = Reshape(s, same) }}"
    graph = graph_of(text, **STORED)
    assert not keep_heads(graph) and operators(graph) == {"Softmax": 1, "Reshape": 1}


def test_other_heads_than_were_folded_are_another_form() -> None:
    """One Reshape remains, of those that fold and unfold."""
    shapes = f"float[{N}, {H}, {T}, {D}] q) => (float[{H}, {N}, {T}, {D}] y)"
    text = f"g ({shapes} {{ a = Reshape(q, in3) s = Softmax(a) y = Reshape(s, other) }}"
    graph, changed = rewritten(graph_of(text, **STORED), keep_heads, FEEDS)
    clean(graph)
    assert changed and operators(graph) == {"Reshape": 1, "Softmax": 1}


# -- MXNet's attention ------------------------------------------------------------------------------------------------------------


def interleaved(encdec: bool) -> mx.sym.Symbol:
    own, other, mask = mx.sym.var("own"), mx.sym.var("other"), mx.sym.var("mask")
    if encdec:
        scores = mx.sym.contrib.interleaved_matmul_encdec_qk(own, other, heads=H)
    else:
        scores = mx.sym.contrib.interleaved_matmul_selfatt_qk(own, heads=H)
    weights = mx.sym.softmax(mx.sym.broadcast_add(scores, mask))
    if encdec:
        return mx.sym.contrib.interleaved_matmul_encdec_valatt(other, weights, heads=H)
    return mx.sym.contrib.interleaved_matmul_selfatt_valatt(own, weights, heads=H)


@pytest.mark.parametrize("encdec", [False, True], ids=("selfatt", "encdec"))
@pytest.mark.parametrize("opset", [11, 17])
def test_interleaved_attention_is_written_as_runtimes_look_for_it(encdec: bool, opset: int) -> None:
    """Queries, keys and values of four axes, a Split, two products; verified, and the same bits as the graph that is kept."""
    shapes = {"own": (T, N, H * D * (1 if encdec else 3)), "mask": (N * H, 1, 6 if encdec else T)}
    shapes |= {"other": (6, N, 2 * H * D)} if encdec else {}
    found = {}
    for kind, forms in (("clean", USUAL), ("kept", Forms(keep_graph=True))):
        found[kind] = bridge.convert(
            interleaved(encdec), {}, inputs=shapes, opset=opset, forms=forms, draws=("expected",)
        )
        assert found[kind].verification.equivalent
    clean, kept = (Counter(f.operators) for f in found.values())
    assert clean["Split"] == 1 and "Gather" not in clean and (clean["MatMul"], clean["Softmax"]) == (2, 1)
    assert sum(clean.values()) < sum(kept.values())
    assert kept["Split"] == 2  # one for the scores, one for the values: as each node is translated


@pytest.mark.parametrize("open_axes", [{0: "length"}, {1: "batch"}, {0: "length", 1: "batch"}], ids=str)
def test_open_axes(open_axes: dict[int, str]) -> None:
    net = mx.sym.contrib.interleaved_matmul_selfatt_qk(mx.sym.var("x"), heads=H)
    net = mx.sym.contrib.interleaved_matmul_selfatt_valatt(mx.sym.var("x"), mx.sym.softmax(net), heads=H)
    found = bridge.convert(net, {}, inputs={"x": (T, N, 3 * H * D)}, dynamic={"x": open_axes}, draws=("expected",))
    assert found.verification is not None and found.verification.equivalent
    assert len({r["shapes"]["x"] for r in found.verification.runs}) > 1
    assert found.operators["Split"] == 1


@pytest.mark.parametrize("name, before, after", [("transformer_encoder", 146, 131), ("vision_transformer", 45, 40)])
def test_attention_by_batch_dot(name: str, before: int, after: int) -> None:
    """Networks that fold the heads into the batch themselves; before: nodes that were left without this rewriting."""
    place = f"fixtures/models/{name}"
    found = bridge.convert(f"{place}/model", inputs=f"{place}/inputs.npz", draws=("expected",), opset=17)
    assert found.verification is not None and found.verification.equivalent
    assert sum(found.operators.values()) <= after < before
