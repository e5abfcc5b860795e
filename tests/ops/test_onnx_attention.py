"""Attention in forms that no recorded model has."""

import itertools

import numpy as np
import pytest

from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.core.shapes import UNKNOWN

PAST = ("past_key", "past_value")


def test_masks_of_integers_may_be_short():
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3, 8), (2, 5, 4), (2, 5, 3)))
    mask = np.array([[0, 1], [2, 0], [0, -1]])
    op = lookup("_onnx_Attention").bind(given=("attn_mask",), q_num_heads=2, kv_num_heads=1)
    short, whole = (op.compute(q, k[:, :n], v[:, :n], m) for n, m in ((5, mask), (2, mask.astype(np.float32))))
    np.testing.assert_allclose(short, whole, rtol=1e-6)


QUERY = {"num_heads": 4, "kv_num_heads": 2}


def heads(x, count):
    """(B, S, count * D) as (B, count, S, D)."""
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def answers(query, keys, values, places, bias=0.0, window=None):
    """Attention of new queries to a cache of which each sees the places up to its own, (B, S, 4 * D); heads in pairs share keys."""
    q = heads(query.astype(float), 4)
    scores = q @ keys.repeat(2, 1).swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + bias
    at, own = np.arange(keys.shape[2]), places[:, None, :, None]
    seen = (at <= own) & (at > own - (window or 99))
    shares = np.exp(np.where(seen, scores, -np.inf))
    y = (shares / shares.sum(-1, keepdims=True)) @ values.repeat(2, 1)
    return y.swapaxes(1, 2).reshape(query.shape)


def test_grouped_queries_with_a_cache_and_without_one():
    rng = np.random.default_rng(7)
    query, key, value = (rng.standard_normal((2, 3, n)).astype(np.float32) for n in (16, 8, 8))
    past = [rng.standard_normal((2, 2, 6, 4)).astype(np.float32) for _ in range(2)]
    bias = rng.standard_normal((2, 4, 3, 5)).astype(np.float32)
    packed = np.concatenate([query, key, value], 2)
    for lengths, total in (([2, 2], 3), ([3, 4], 5), ([2, 4], 5), ([5, 4], 6), ([6, 5], 7)):
        before = np.zeros(2, int) if total == 3 else np.array(lengths) - 2
        places = before[:, None] + np.arange(3)
        for given in ((), ("past_key", "past_value")):
            if not given and total != 3:
                continue
            kept = []
            for new, old in zip((key, value), past):
                whole = np.zeros((2, 2, max(6, total) if given else total, 4), np.float32)
                for b in range(2):
                    if given:
                        whole[b, :, : before[b]] = old[b, :, : before[b]]
                    whole[b, :, places[b]] = heads(new, 2)[b].swapaxes(0, 1)
                kept.append(whole)
            sizes = np.array(lengths, np.int32), np.array(total, np.int32)
            for window in (None, 2):
                wanted = [answers(query, *kept, places, window=window), *kept]
                attrs = QUERY | ({} if window is None else {"local_window_size": window})
                apart = lookup("_onnx_ms_GroupQueryAttention").bind(given=("key", "value", *given), **attrs)
                arrays = (query, key, value, *(past if given else ()), *sizes)
                shapes = apart.infer_shape(*(a.shape for a in arrays), values=[None] * (len(arrays) - 1) + [sizes[1]])
                assert shapes == [w.shape for w in wanted]
                joined = lookup("_onnx_ms_GroupQueryAttention").bind(given=given, **attrs)
                for found in (apart.compute(*arrays), joined.compute(packed, *arrays[3:])):
                    for got, want in zip(found, wanted, strict=True):
                        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
            if given and total == 5:  # what is added ends where the cache is longer
                op = lookup("_onnx_ms_GroupQueryAttention").bind(
                    given=("key", "value", *given, "attention_bias"), **QUERY
                )
                assert op.infer_shape(*(a.shape for a in (*arrays, bias)), values=[None] * 8)[1][2] is UNKNOWN
                wide = np.pad(bias, [(0, 0)] * 3 + [(0, 1)])
                np.testing.assert_allclose(
                    op.compute(*arrays, bias)[0], answers(query, *kept, places, wide), rtol=1e-5, atol=1e-6
                )
                unknown = [(2, 2, UNKNOWN, 4) if a is past[0] or a is past[1] else a.shape for a in arrays]
                assert apart.infer_shape(*unknown, values=[None] * 6 + [sizes[1]])[1][2] is UNKNOWN
            if given:
                for low, words in (([1, total], "got seqlens_k"), ([max(6, total), total - 1], "for a cache of")):
                    if total != 3:
                        with pytest.raises(OpError, match=words):
                            apart.compute(*arrays[:-2], np.array(low, np.int32), sizes[1])


def test_grouped_queries_turn_by_the_positions_that_are_given():
    rng = np.random.default_rng(8)
    query, key, value = (rng.standard_normal((2, 3, n)).astype(np.float32) for n in (16, 8, 8))
    angles = rng.uniform(-2, 2, (9, 2))
    caches, ids = (
        (np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)),
        np.array([[4, 0, 8], [1, 1, 5]]),
    )

    def turned(x, count, at):
        first, second = np.split(heads(x.astype(float), count), 2, -1)
        cos, sin = (f(angles)[at][:, None] for f in (np.cos, np.sin))
        both = np.concatenate([first * cos - second * sin, first * sin + second * cos], -1)
        return both.swapaxes(1, 2).reshape(x.shape)

    sizes = np.array([2, 2], np.int32), np.array(3, np.int32)
    usual = np.tile(np.arange(3), (2, 1))
    for given, at in (((), usual), (("position_ids",), ids)):
        op = lookup("_onnx_ms_GroupQueryAttention").bind(
            given=("key", "value", "cos_cache", "sin_cache", *given), do_rotary=True, **QUERY
        )
        found = op.compute(query, key, value, *sizes, *caches, *([ids] if given else []))
        keys, values = heads(turned(key, 2, at), 2), heads(value, 2)
        np.testing.assert_allclose(found[1], keys, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[0], answers(turned(query, 4, at), keys, values, usual), rtol=1e-5, atol=1e-6)
    for given in ((), ("cos_cache",), ("sin_cache",)):
        with pytest.raises(OpError, match="wants cos_cache and sin_cache"):
            lookup("_onnx_ms_GroupQueryAttention").bind(given=given, do_rotary=True, **QUERY)
    rotary = lookup("_onnx_RotaryEmbedding").bind(given=("position_ids",))
    nothing = np.zeros((2, 3, 0, 4), np.float32)
    assert rotary.compute(nothing, *caches, np.zeros((2, 0), np.int64)).shape == nothing.shape


def test_queries_see_no_further_than_keys_count():
    """With and without a past, causal or not, and a negative scale, written plainly."""
    rng = np.random.default_rng(9)
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3)))
    past = [rng.standard_normal((2, 2, 2, n)).astype(np.float32) for n in (4, 3)]
    lengths = np.array([4, 3])
    for given, causal, scale in itertools.product(
        (("nonpad_kv_seqlen",), (), PAST, (*PAST, "nonpad_kv_seqlen")), (True, False), (None, -0.7)
    ):
        keys, values = (np.concatenate([p, x], 2) if PAST[0] in given else x for p, x in zip(past, (k, v)))
        total = keys.shape[2]
        scores = q.astype(float) @ keys.repeat(2, 1).swapaxes(-1, -2) * (0.5 if scale is None else scale)
        at = np.arange(total)
        seen = np.ones((2, 1, 3, total), bool)
        begin = np.zeros(2, int)
        if PAST[0] in given:
            begin += 2
        elif given:
            begin = lengths - 3
        if "nonpad_kv_seqlen" in given:
            seen &= at < lengths[:, None, None, None]
        if causal:
            seen &= at <= (begin[:, None] + np.arange(3))[:, None, :, None]
        shares = np.exp(np.where(seen, scores, -np.inf))
        wanted = (shares / shares.sum(-1, keepdims=True)) @ values.repeat(2, 1)
        arrays = [*(past if PAST[0] in given else ()), *([lengths] if "nonpad_kv_seqlen" in given else ())]
        op = lookup("_onnx_Attention").bind(given=given, is_causal=causal, scale=scale)
        np.testing.assert_allclose(
            op.compute(q, k, v, *arrays)[0], wanted, rtol=1e-5, atol=1e-6, err_msg=f"{given} {causal} {scale}"
        )
