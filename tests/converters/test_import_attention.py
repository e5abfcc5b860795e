"""Attention in all its forms and rotary embeddings, read, run and written; two batches each, at two lengths."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import converters
from bridge.onnx_backend import prepare
from converters.importer import import_model

from .agreement import agree, by_onnxruntime, same

if onnx.defs.onnx_opset_version() < 24:
    pytest.skip("this onnx does not know the standard's Attention", allow_module_level=True)

B, H, S, T, D, V = 3, 4, 5, 7, 8, 6
NAMES = ["Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"]


def model(
    op_type: str, given: dict[str, np.ndarray], names: list[str], outputs: list[str], opset: int, **attrs: Any
) -> Any:
    """One node; all sizes are free."""
    code = helper.np_dtype_to_tensor_dtype
    infos = [
        helper.make_tensor_value_info(n, code(a.dtype), [f"{n}{i}" for i in range(a.ndim)]) for n, a in given.items()
    ]
    last = max(i for i, n in enumerate(names) if n in given)
    node = helper.make_node(op_type, [n if n in given else "" for n in names[: last + 1]], outputs, **attrs)
    kind = code(next(iter(given.values())).dtype)
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info(o, kind, None) for o in outputs if o])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def arrays(
    kv: int, past: int, mask: str, flat: bool, seed: int, count: int = S, dtype: Any = np.float32
) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(dtype)

    if flat:
        found = {"Q": normal(B, count, H * D), "K": normal(B, T, kv * D), "V": normal(B, T, kv * V)}
    else:
        found = {"Q": normal(B, H, count, D), "K": normal(B, kv, T, D), "V": normal(B, kv, T, V)}
    if mask == "bool":
        found["attn_mask"] = rng.random((count, T + past)) < 0.7
        found["attn_mask"][0] = False  # a query that sees nothing
    elif mask == "float":
        found["attn_mask"] = normal(B, 1, count, T + past)
    if past:
        found |= {"past_key": normal(B, kv, past, D), "past_value": normal(B, kv, past, V)}
    return found


@pytest.mark.parametrize("kv", [4, 2, 1])
@pytest.mark.parametrize("mask", ["", "bool", "float"])
@pytest.mark.parametrize(("past", "causal", "flat"), [(0, 0, True), (0, 1, False), (2, 1, True), (2, 0, False)])
def test_attention(kv: int, mask: str, past: int, causal: int, flat: bool) -> None:
    attrs: dict[str, Any] = {"is_causal": causal, "qk_matmul_output_mode": 3 if mask else 1}
    attrs |= {"q_num_heads": H, "kv_num_heads": kv} if flat else {"softcap": 1.5, "scale": 0.3}
    runs = [arrays(kv, past, mask, flat, 1), arrays(kv, past, mask, flat, 2, count=2)]
    outputs = ["Y", "present_key", "present_value", "qk"] if past else ["Y"]
    agree(model("Attention", runs[0], NAMES, outputs, 23, **attrs), *runs, rtol=2e-5, again=23)


@pytest.mark.parametrize("mask", ["", "bool", "float"])
@pytest.mark.parametrize(
    ("past", "causal", "flat", "kv"), [(0, 0, True, 4), (0, 1, False, 2), (2, 1, True, 1), (2, 0, False, 4)]
)
def test_attention_below_opset_23(mask: str, past: int, causal: int, flat: bool, kv: int) -> None:
    attrs: dict[str, Any] = {"is_causal": causal, "qk_matmul_output_mode": 3 if mask else 1}
    attrs |= {"q_num_heads": H, "kv_num_heads": kv} if flat else {"softcap": 1.5, "scale": 0.3}
    runs = [arrays(kv, past, mask, flat, 1), arrays(kv, past, mask, flat, 2, count=2)]
    outputs = ["Y", "present_key", "present_value", "qk"] if past else ["Y"]
    proto = model("Attention", runs[0], NAMES, outputs, 23, **attrs)
    for index, info in enumerate(proto.graph.input):  # the sizes of heads have to be known
        for axis in range(1, len(info.type.tensor_type.shape.dim)):
            if index >= 3 or axis != (1 if flat else 2):
                info.type.tensor_type.shape.dim[axis].dim_value = runs[0][info.name].shape[axis]
    free = [{n: a for n, a in run.items()} for run in runs]
    decomposed(proto, *(free if not mask else free[:1]))


def decomposed(proto: onnx.ModelProto, *runs: dict[str, np.ndarray]) -> None:
    """Check that the model written at opset 18 computes the same."""
    found = import_model(proto)
    written = converters.to_onnx(found.graph, found.params, found.inputs, 18)
    for run in runs:
        for one, other in zip(by_onnxruntime(written, run), prepare(proto).run(run), strict=True):
            same(np.asarray(one), other, 2e-5)


def test_attention_in_float16() -> None:
    given = arrays(2, 0, "bool", False, 3, dtype=np.float16)
    agree(model("Attention", given, NAMES, ["Y"], 23), given, rtol=3e-3, again=23)


def plain(given: dict[str, np.ndarray], seen: np.ndarray) -> np.ndarray:
    """Attention of equal heads by its definition; seen broadcasts to (B, H, S, T)."""
    scores = given["Q"] @ given["K"].swapaxes(-1, -2) / np.sqrt(D)
    scores = np.where(seen, np.exp(scores), 0)
    whole = scores.sum(-1, keepdims=True)
    return np.where(whole == 0, 0, scores / np.where(whole == 0, 1, whole)) @ given["V"]


@pytest.mark.parametrize("causal", [0, 1])
def test_lengths_of_a_cache(causal: int) -> None:
    given = arrays(H, 0, "", False, 4) | {"nonpad_kv_seqlen": np.array([7, 2, 5])}
    lengths = given["nonpad_kv_seqlen"].reshape(-1, 1, 1, 1)
    queries, keys = np.arange(S)[:, None], np.arange(T)
    seen = (keys < lengths) & ((keys <= queries + lengths - S) if causal else True)
    (got,) = prepare(model("Attention", given, NAMES, ["Y"], 24, is_causal=causal)).run(given)
    np.testing.assert_allclose(got, plain(given, seen), rtol=1e-5, atol=1e-6)
    proto = model("Attention", given, NAMES, ["Y"], 24, is_causal=causal)
    for info in proto.graph.input[:3]:
        for axis in (1, 3):
            info.type.tensor_type.shape.dim[axis].dim_value = given[info.name].shape[axis]
    decomposed(proto, given)


def test_a_mask_shorter_than_the_keys() -> None:
    """onnxruntime refuses it."""
    given = arrays(H, 0, "float", False, 5)
    given["attn_mask"] = np.zeros((S, 3), np.float32)
    (got,) = prepare(model("Attention", given, NAMES, ["Y"], 24)).run(given)
    np.testing.assert_allclose(got, plain(given, np.arange(T) < 3), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(onnx.defs.get_schema("Attention").since_version < 25, reason="an older onnx knows no windows")
@pytest.mark.parametrize(("left", "right"), [(1, -1), (0, -1), (-1, 0), (-1, 2), (0, 1), (2, 0)])
def test_windows(left: int, right: int) -> None:
    given = arrays(H, 2, "", False, 6)
    queries, keys = np.arange(S)[:, None] + 2, np.arange(T + 2)
    seen = (left < 0) | (queries - keys <= left)
    seen = seen & ((right < 0) | (keys - queries <= right))
    opset = onnx.defs.onnx_opset_version()
    proto = model("Attention", given, NAMES, ["Y"], opset, left_window_size=left, right_window_size=right)
    (got,) = prepare(proto).run(given)
    whole = {"Q": given["Q"]} | {
        n: np.concatenate([given[p], given[n]], 2) for n, p in (("K", "past_key"), ("V", "past_value"))
    }
    np.testing.assert_allclose(got, plain(whole, seen), rtol=1e-5, atol=1e-6)
    found = import_model(proto)
    for older in (21, 23, 24):  # which have no Attention, or one without windows
        written = converters.to_onnx(found.graph, {}, given, older)
        assert all(n.op_type != "Attention" for n in written.graph.node)
        (got,) = by_onnxruntime(written, given)
        np.testing.assert_allclose(got, plain(whole, seen), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("part", [0, 4])
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("flat", [False, True])
def test_rotary_embeddings(interleaved: int, part: int, positions: bool, flat: bool) -> None:
    size, attrs = (part or D) // 2, {"interleaved": interleaved, "rotary_embedding_dim": part}
    if flat or part:  # onnxruntime wants it for a part of four dimensions too
        attrs["num_heads"] = H
    runs = []
    for count in (5, 1):
        rng = np.random.default_rng(count)
        x = rng.normal(size=(B, count, H * D) if flat else (B, H, count, D)).astype(np.float32)
        cache = (9, size) if positions else (B, count, size)
        run = {"X": x} | {n: rng.normal(size=cache).astype(np.float32) for n in ("cos_cache", "sin_cache")}
        runs.append(run | ({"position_ids": rng.integers(0, 9, (B, count))} if positions else {}))
    names = ["X", "cos_cache", "sin_cache", "position_ids"]
    proto = model("RotaryEmbedding", runs[0], names, ["Y"], 23, **attrs)
    agree(proto, *runs, rtol=1e-5, again=23)
    proto.graph.input[0].type.tensor_type.shape.dim[-1].dim_value = runs[0]["X"].shape[-1]
    decomposed(proto, *runs)


def test_flexible_attention_is_read_by_its_definition() -> None:
    if not hasattr(TensorProto, "FLOAT4E2M1") or not _flexible():
        pytest.skip("an older onnx has no FlexAttention")
    given = arrays(2, 0, "", False, 7)
    body = onnx.parser.parse_graph("double (float[b, h, s, t] x) => (float[b, h, s, t] y) { y = Add (x, x) }")
    code = [helper.make_tensor_value_info(n, 1, ["b", None, None, None]) for n in "QKV"]
    node = helper.make_node("FlexAttention", list("QKV"), ["Y"], domain="ai.onnx.preview", score_mod=body)
    graph = helper.make_graph([node], "g", code, [helper.make_tensor_value_info("Y", 1, None)])
    opsets = [helper.make_opsetid("", 26), helper.make_opsetid("ai.onnx.preview", 1)]
    (got,) = prepare(helper.make_model(graph, opset_imports=opsets)).run(given)
    twice = {"Q": 2 * given["Q"]} | {n: np.repeat(given[n], 2, axis=1) for n in "KV"}
    np.testing.assert_allclose(got, plain(twice, np.True_), rtol=1e-5, atol=1e-6)


def _flexible() -> bool:
    return any(s.name == "FlexAttention" for s in onnx.defs.get_all_schemas_with_history())


def sized(proto: onnx.ModelProto, run: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The model with all sizes declared."""
    for info in proto.graph.input:
        for dim, size in zip(info.type.tensor_type.shape.dim, run[info.name].shape):
            dim.dim_value = size
    return proto


def test_scores_may_be_softened_in_another_dtype_and_turned_round() -> None:
    """softmax_precision, a scale below 0, masks as long as the keys are known to be, and shorter ones; below opset 23."""
    given = arrays(2, 0, "float", False, 8)
    for attrs in ({"softmax_precision": TensorProto.DOUBLE}, {"scale": -0.4}, {}):
        decomposed(sized(model("Attention", given, NAMES, ["Y"], 23, **attrs), given), given)
        if "scale" not in attrs:  # onnxruntime refuses one below 0
            agree(model("Attention", given, NAMES, ["Y"], 23, **attrs), given, rtol=2e-5, again=23)
    halves = arrays(2, 0, "", False, 9, dtype=np.float16)
    proto = sized(model("Attention", halves, NAMES, ["Y"], 23, softmax_precision=TensorProto.FLOAT), halves)
    (want,) = prepare(proto).run(halves)
    found = import_model(proto)
    written = converters.to_onnx(found.graph, {}, found.inputs, 18)
    casts = [a.i for n in written.graph.node if n.op_type == "Cast" for a in n.attribute if a.name == "to"]
    assert TensorProto.FLOAT in casts
    np.testing.assert_allclose(by_onnxruntime(written, halves)[0], want, rtol=4e-3, atol=4e-3)
    short = arrays(H, 0, "", False, 5) | {"attn_mask": np.linspace(-1, 1, S * 3, dtype=np.float32).reshape(S, 3)}
    scores = short["Q"] @ short["K"].swapaxes(-1, -2) / np.sqrt(D)
    scores = np.exp(scores[..., :3] + short["attn_mask"])
    want = scores / scores.sum(-1, keepdims=True) @ short["V"][:, :, :3]
    proto = model("Attention", short, NAMES, ["Y"], 24)
    for known in (True, False):
        if known:
            sized(proto, short)
        else:  # the sizes of heads have to be known
            for info in proto.graph.input:
                for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                    if info.name == "attn_mask" or axis == 2:
                        dim.Clear()
        found = import_model(proto)
        written = converters.to_onnx(found.graph, {}, short, 18) if known else converters.to_onnx(found.graph, {}, {
            n: converters.export.Spec(tuple(f"{n}{i}" if n == "attn_mask" or i == 2 else s for i, s in enumerate(a.shape)), a.dtype)
            for n, a in short.items()
        }, 18)  # fmt: skip
        np.testing.assert_allclose(by_onnxruntime(written, short)[0], want, rtol=1e-5, atol=1e-6)


def test_brain_floats_have_no_attention_below_opset_23() -> None:
    given = arrays(2, 0, "", False, 10)
    for op_type, attrs in (
        ("Attention", {}),
        ("Attention", {"softmax_precision": TensorProto.BFLOAT16}),
        ("RotaryEmbedding", {}),
    ):
        if op_type == "Attention":
            proto = sized(model(op_type, given, NAMES, ["Y"], 23, **attrs), given)
        else:
            turned = {"X": given["Q"], **{n: np.ones((B, S, D // 2), np.float32) for n in ("cos_cache", "sin_cache")}}
            proto = sized(model(op_type, turned, ["X", "cos_cache", "sin_cache"], ["Y"], 23), turned)
        for info in [] if attrs else proto.graph.input:
            info.type.tensor_type.elem_type = TensorProto.BFLOAT16
        found = import_model(proto)
        with pytest.raises(converters.UnsupportedModel, match="bfloat16 needs opset 23"):
            converters.to_onnx(found.graph, {}, found.inputs, 18)
