"""Operators that onnxruntime's optimiser makes of transformers: against onnxruntime, at two lengths each."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import converters

from .agreement import agree

if onnx.defs.onnx_opset_version() < 24:
    pytest.skip("this onnx does not know the standard's Attention", allow_module_level=True)

MS = "com.microsoft"
B, N, D = 3, 4, 8
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def model(
    op_type: str, names: str, given: dict[str, np.ndarray], stored: dict[str, np.ndarray], outputs: str, **attrs: Any
) -> Any:
    """One node: names of all its inputs; given are fed, with free sizes but the last."""
    infos = []
    for name, array in given.items():
        size = array.shape[-1] if array.dtype == np.float32 and name != "attention_bias" else None
        dims = [*(f"{name}{i}" for i in range(array.ndim - 1)), size]
        infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
    there = [n if n in given or n in stored else "" for n in names.split()]
    while not there[-1]:
        there.pop()
    node = helper.make_node(op_type, there, outputs.split(), domain=MS, **attrs)
    kinds = [6 if n == "mask_index" else 1 for n in outputs.split()]
    results = [helper.make_tensor_value_info(n, k, None) for n, k in zip(outputs.split(), kinds)]
    graph = helper.make_graph([node], "g", infos, results, [numpy_helper.from_array(a, n) for n, a in stored.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def check(
    op_type: str, names: str, runs: list[dict[str, np.ndarray]], stored: Any = None, outputs: str = "y", **attrs: Any
) -> None:
    agree(model(op_type, names, runs[0], stored or {}, outputs, **attrs), *runs, rtol=2e-5, again=23)


HEADS = "query key value bias key_padding_mask attention_bias past_key past_value"


def asked(count: int, total: int, **more: np.ndarray) -> dict[str, np.ndarray]:
    return {"query": normal(B, count, N * D), "key": normal(B, total, N * D), "value": normal(B, total, N * 6), **more}


@pytest.mark.parametrize("causal", [0, 1])
def test_multi_head_attention(causal: int) -> None:
    attrs = {"num_heads": N, "unidirectional": causal}
    counts = ((5, 5), (3, 3)) if causal else ((3, 5), (4, 2))
    check("MultiHeadAttention", HEADS, [asked(*c) for c in counts], **attrs)
    check(
        "MultiHeadAttention",
        HEADS,
        [asked(*c) for c in counts],
        {"bias": normal(2 * N * D + N * 6)},
        **attrs,
        scale=0.2,
    )
    masks = [(RNG.random((B, c[1])) < 0.7).astype(np.int32) for c in counts]
    masks[0][:, 0] = masks[1][:, 0] = 1
    runs = [asked(*c, key_padding_mask=m) for c, m in zip(counts, masks)]
    check("MultiHeadAttention", HEADS, runs, **attrs)
    for run, count in zip(runs, counts):
        run["attention_bias"] = normal(1, N, *count)
    check("MultiHeadAttention", HEADS, runs, **attrs)


@pytest.mark.parametrize("values", [(0, 1, 2, 5), (0, 1, -1, -3)], ids=str)
def test_masks_of_numbers_beside_0_and_1(values: tuple[int, ...]) -> None:
    counts = ((3, 5), (4, 2))
    runs = [asked(*c, key_padding_mask=RNG.choice(values, (B, c[1])).astype(np.int32)) for c in counts]
    stored = {"weights": normal(10, 3 * N * D), "bias": normal(3 * N * D)}
    whole = [{"x": normal(B, t, 10), "mask_index": RNG.choice(values, (B, t)).astype(np.int32)} for t in (5, 3)]
    square = [{"x": normal(B, t, 10), "mask_index": RNG.choice(values, (B, t, t)).astype(np.int32)} for t in (5, 3)]
    for several in (runs, whole, square):
        for run in several:
            run["key_padding_mask" if "query" in run else "mask_index"][..., 0] = 1
    check("MultiHeadAttention", HEADS, runs, num_heads=N)
    check("Attention", WHOLE, whole, stored, num_heads=N)
    check("Attention", WHOLE, square, stored, num_heads=N)


def test_multi_head_attention_with_a_past() -> None:
    past = [{"past_key": normal(B, N, p, D), "past_value": normal(B, N, p, D)} for p in (4, 2)]
    runs = [{n: normal(B, 3, N * D) for n in ("query", "key", "value")} | p for p in past]
    check("MultiHeadAttention", HEADS, runs, outputs="y present_key present_value", num_heads=N, unidirectional=1)


def test_multi_head_attention_to_keys_of_four_dimensions() -> None:
    runs = [{"query": normal(B, 3, N * D), "key": normal(B, N, t, D), "value": normal(B, N, t, D)} for t in (5, 2)]
    check("MultiHeadAttention", HEADS, runs, num_heads=N)


WHOLE = "x weights bias mask_index past attention_bias"


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_of_one_input(causal: int) -> None:
    stored = {"weights": normal(10, 3 * N * D), "bias": normal(3 * N * D)}
    attrs = {"num_heads": N, "unidirectional": causal}
    check("Attention", WHOLE, [{"x": normal(B, t, 10)} for t in (5, 3)], stored, **attrs)
    runs = [{"x": normal(B, t, 10), "mask_index": (RNG.random((B, t)) < 0.7).astype(np.int32)} for t in (5, 3)]
    for run in runs:
        run["mask_index"][:, 0] = 1
    check("Attention", WHOLE, runs, stored, **attrs)
    runs = [{"x": normal(B, t, 10), "mask_index": np.array([t, t - 1, t - 2], np.int32)} for t in (5, 3)]
    check("Attention", WHOLE, runs[:1] if causal else runs, stored, **({**attrs, "unidirectional": 0}))
    runs = [{"x": normal(B, t, 10), "past": normal(2, B, N, 2, D)} for t in (5, 3)]
    check("Attention", WHOLE, runs, stored, "y present", **attrs)
    check(
        "Attention", WHOLE, runs, stored, "y present", rotary_embedding_dim=32, **attrs
    )  # of what do_rotary would turn


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embeddings(interleaved: int) -> None:
    stored = {"cos_cache": normal(9, D // 2), "sin_cache": normal(9, D // 2)}
    runs = [{"x": normal(B, t, N * D), "position_ids": RNG.integers(0, 9, (B, t))} for t in (5, 3)]
    check("RotaryEmbedding", "x position_ids cos_cache sin_cache", runs, stored, interleaved=interleaved)


def test_embeddings() -> None:
    names = "ids segment_ids words positions segments gamma beta mask"
    stored = {
        "words": normal(20, D),
        "positions": normal(7, D),
        "segments": normal(2, D),
        "gamma": normal(D),
        "beta": normal(D),
    }
    runs = [{"ids": RNG.integers(0, 20, (B, t)), "segment_ids": RNG.integers(0, 2, (B, t))} for t in (5, 3)]
    runs = [{n: a.astype(np.int32) for n, a in run.items()} for run in runs]
    for run in runs:
        run["mask"] = (RNG.random(run["ids"].shape) < 0.7).astype(np.int32)
    check("EmbedLayerNormalization", names, runs, stored, "y mask_index", epsilon=1e-5)
    placed = [run | {"position_ids": RNG.integers(0, 7, run["ids"].shape).astype(np.int32)} for run in runs]
    check("EmbedLayerNormalization", f"{names} position_ids", placed, stored, "y mask_index", epsilon=1e-5)


def test_what_is_not_read_is_said() -> None:
    proto = model("MultiHeadAttention", HEADS, {"query": normal(B, 3, N, 3, D)}, {}, "y", num_heads=N)
    with pytest.raises(converters.UnsupportedModel, match="packed query"):
        converters.import_model(proto)
    assert isinstance(proto, onnx.ModelProto)
    stored = {"weights": normal(10, 3 * N * D)}
    names = "x weights bias mask_index past attention_bias past_sequence_length"
    length = {"past_sequence_length": np.array(2, np.int32)}
    for more, attrs in (({}, {"do_rotary": 1}), ({}, {"past_present_share_buffer": 1}), (length, {})):
        proto = model("Attention", names, {"x": normal(B, 3, 10), **more}, stored, "y", num_heads=N, **attrs)
        with pytest.raises(converters.UnsupportedModel, match="do_rotary or a shared cache"):
            converters.import_model(proto)


CACHED = "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache"


@pytest.mark.parametrize("rotary", [0, 1])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("window", [-1, 2])
def test_attention_with_a_cache(rotary: int, packed: bool, window: int) -> None:
    """A prompt, then one position more; then rows of the batch that have got to different ends."""
    size, attrs = 16, {"num_heads": N, "kv_num_heads": 2, "do_rotary": rotary, "local_window_size": window}
    caches = {"cos_cache": normal(9, size // 2), "sin_cache": normal(9, size // 2)} if rotary else {}
    runs = []
    for count, past, ends in ((4, 0, [3, 3, 3]), (1, 4, [4, 4, 4]), (1, 4, [4, 2, 3])):
        run = {"query": normal(B, count, (N + 4) * size)} if packed else {"query": normal(B, count, N * size)}
        if not packed:
            run |= {n: normal(B, count, 2 * size) for n in ("key", "value")}
        run |= {n: normal(B, 2, past, size) for n in ("past_key", "past_value")}
        run |= {"seqlens_k": np.array(ends, np.int32), "total_sequence_length": np.array(count + past, np.int32)}
        runs.append(run)
    proto = model("GroupQueryAttention", CACHED, runs[0], caches, "y k v", **attrs)
    for info in proto.graph.input:
        if not runs[0][info.name].ndim:
            del info.type.tensor_type.shape.dim[:]
    agree(proto, *runs, rtol=2e-5)


def test_masks_of_every_query_and_scales() -> None:
    """A mask of three axes has rows for the queries; qkv_hidden_sizes may differ; scale and mask_filter_value are taken."""
    masks = [(RNG.random((B, *c)) < 0.7).astype(np.int32) for c in ((3, 5), (4, 2))]
    for mask in masks:
        mask[..., 0] = 1
    runs = [asked(*m.shape[1:], key_padding_mask=m) for m in masks]
    check("MultiHeadAttention", HEADS, runs, num_heads=N, scale=0.3, mask_filter_value=-3.0)
    square = [(RNG.random((B, t, t)) < 0.7).astype(np.int32) for t in (5, 3)]
    for mask in square:
        mask[..., 0] = 1
    stored = {"weights": normal(10, 2 * N * D + N * 6), "bias": normal(2 * N * D + N * 6)}
    sizes = {"qkv_hidden_sizes": [N * D, N * D, N * 6], "num_heads": N}
    runs = [{"x": normal(B, len(m[0]), 10), "mask_index": m} for m in square]
    check("Attention", WHOLE, runs, stored, **sizes, scale=0.4, mask_filter_value=-5.0)
    check("Attention", WHOLE, [{"x": normal(B, t, 10)} for t in (5, 3)], stored, **sizes)
    for run, t in zip(runs, (5, 3)):
        run["attention_bias"] = normal(1, N, t, t)
        del run["mask_index"]
    check("Attention", WHOLE, runs, stored, **sizes)


def test_rotary_embeddings_of_heads_that_are_named_or_an_axis() -> None:
    stored = {"cos_cache": normal(9, D // 2), "sin_cache": normal(9, D // 2)}
    names = "x position_ids cos_cache sin_cache"
    runs = [{"x": normal(B, N, t, D), "position_ids": RNG.integers(0, 9, (B, t))} for t in (5, 3)]
    check("RotaryEmbedding", names, runs, stored)
    runs = [{"x": normal(B, t, N * D), "position_ids": RNG.integers(0, 9, (B, t))} for t in (5, 3)]
    part = {"cos_cache": normal(9, D // 4), "sin_cache": normal(9, D // 4)}
    check("RotaryEmbedding", names, runs, part, num_heads=N, rotary_embedding_dim=D // 2)


def test_embeddings_without_segments_or_a_mask() -> None:
    names = "ids segment_ids words positions segments gamma beta mask"
    stored = {"words": normal(20, D), "positions": normal(7, D), "gamma": normal(D), "beta": normal(D)}
    runs = [{"ids": RNG.integers(0, 20, (B, t)).astype(np.int32)} for t in (5, 3)]
    check("EmbedLayerNormalization", names, runs, stored, "y mask_index", epsilon=1e-5)
    check("EmbedLayerNormalization", names, runs, stored, "y", epsilon=1e-5, mask_index_type=0)


def test_what_attention_has_to_be_told() -> None:
    query = {"query": normal(B, 3, N * D)}
    both = {"key": normal(B, 5, N * D), "value": normal(B, 5, N * D)}
    heads = {"key": normal(B, N, 5, D), "value": normal(B, N, 5, D)}
    weights, bias = {"weights": normal(10, 3 * N * D)}, {"bias": normal(3 * N * D)}
    cached = f"{HEADS} past_sequence_length cache_indirection"
    whole, x = f"{WHOLE} past_sequence_length", {"x": normal(B, 3, 10)}
    turning = {"cos_cache": normal(9, D // 2), "sin_cache": normal(9, D // 2)}
    places = {"position_ids": RNG.integers(0, 9, (B, 3))}
    rows = {"x": normal(B, 3, N * D)}
    for op_type, names, given, stored, attributes, message in (
        ("MultiHeadAttention", cached, {"query": normal(B, 3, N, 2, D), **both}, {}, {}, "packed query"),
        ("MultiHeadAttention", cached, query | {"key": both["key"]}, {}, {}, "packed query"),
        ("MultiHeadAttention", cached, query | both | {"past_sequence_length": np.array([2], "i4")}, {}, {}, "shared cache"),
        ("MultiHeadAttention", cached, query | both | {"cache_indirection": np.zeros((B, 1, 5), "i4")}, {}, {}, "shared cache"),
        ("MultiHeadAttention", cached, query | heads, bias, {}, "a bias with key and value of 4 dimensions"),
        ("MultiHeadAttention", cached, query | both | {"key_padding_mask": np.array([5, 4, 2], "i4")}, {}, {},
         "key_padding_mask of lengths"),
        ("Attention", whole, x | {"mask_index": np.array([3, 2, 1], "i4"), "past": normal(2, B, N, 2, D)}, weights, {},
         "mask_index of lengths with a past"),
        ("Attention", whole, x | {"mask_index": np.ones((B, 1, 8, 8), "i4")}, weights, {}, "mask_index of 4 dimensions"),
        ("RotaryEmbedding", "x position_ids cos_cache sin_cache", rows | places, turning, {"scale": 2.0}, "a scale"),
        ("RotaryEmbedding", "x position_ids cos_cache sin_cache", rows | places, turning, {"is_packed_batching": 1}, "packed"),
        ("RotaryEmbedding", "x position_ids cos_cache sin_cache", rows | {"position_ids": np.array([4])}, turning, {},
         "one position for all"),
    ):  # fmt: skip
        if op_type != "RotaryEmbedding":
            attributes = {"num_heads": N, **attributes}
        with pytest.raises(converters.UnsupportedModel, match=message):
            converters.import_model(model(op_type, names, given, stored, "y", **attributes))
    # sizes, ranks and dtypes that are not declared
    proto = model("MultiHeadAttention", HEADS, query | both, bias, "y", num_heads=N)
    proto.graph.input[0].type.tensor_type.shape.dim[2].Clear()
    with pytest.raises(converters.UnsupportedModel, match="the size of axis 2 of query is not known"):
        converters.import_model(proto)
    proto = model("Attention", WHOLE, x | {"weights": weights["weights"]}, {}, "y", num_heads=N)
    for change in ("dims", "rank"):
        kind = proto.graph.input[1].type.tensor_type
        if change == "dims":
            kind.shape.dim[1].Clear()
        else:
            kind.ClearField("shape")
        with pytest.raises(converters.UnsupportedModel, match="the size of axis 1 of weights is not known"):
            converters.import_model(proto)
    for op_type, names, given, stored in (
        ("MultiHeadAttention", HEADS, query | both, {}),
        ("Attention", WHOLE, x, weights),
        ("RotaryEmbedding", "x position_ids cos_cache sin_cache", rows | places, turning),
    ):
        attributes = {} if op_type == "RotaryEmbedding" else {"num_heads": N}
        for field in ("shape", "elem_type"):
            proto = model(op_type, names, given, stored, "y", **attributes)
            proto.graph.input[0].type.tensor_type.ClearField(field)
            with pytest.raises(converters.UnsupportedModel, match="shape or dtype of its first input is not known"):
                converters.import_model(proto)
