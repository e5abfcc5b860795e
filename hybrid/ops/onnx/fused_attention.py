"""Attention with a cache of keys and values, as onnxruntime has it. Letters: see attention.py."""

from typing import Any

import numpy as np

from ...core.attrs import Count
from ...core.op import Domain, op
from ...core.shapes import UNKNOWN, show
from ..common import fit, spread, want_rank
from .attention import Attention, RotaryEmbedding, join_heads, split_heads
from .base import Standard
from .types import FLOATS

Array = np.ndarray
CACHES = ("past_key", "past_value", "cos_cache", "sin_cache", "position_ids", "attention_bias")


@op("_onnx_ms_GroupQueryAttention")
class GroupQueryAttention(Standard):
    """Causal attention to a cache of keys and values, into which the new ones go behind the seqlens_k + 1 - S that each row of the
    batch has there (behind none when S is total_sequence_length).

    Shapes: query (B, S, H*D), key and value (B, S, K*D), or query alone with all three side by side (B, S, (H+2K)*D); caches
    (B, K, P, D), seqlens_k (B,), total_sequence_length scalar, cos_cache and sin_cache (positions, R/2), position_ids (B, S),
    attention_bias that broadcasts to (B, H, S, total) -> (B, S, H*D), caches (B, K, T, D) where T is the greater of P and
    total_sequence_length. With local_window_size, only so many positions before its own are seen by a query.
    Source: onnxruntime GroupQueryAttention (com.microsoft 1)."""

    do_rotary: bool = False
    kv_num_heads: Count
    local_window_size: int = -1
    num_heads: Count
    rotary_interleaved: bool = False
    scale: float = 0.0
    softcap: float = 0.0

    exception = "has caches, masks and scales that its inputs decide about"

    inputs = ("query", "key", "value", *CACHES[:2], "seqlens_k", "total_sequence_length", *CACHES[2:])
    types = {
        "query key value past_key past_value cos_cache sin_cache attention_bias": FLOATS - {"float64"},
        "seqlens_k total_sequence_length": {"int32"},
        "position_ids": {"int64"},
    }
    optional = ("key", "value", *CACHES)
    needs = ("values",)
    numbers = ("total_sequence_length",)
    data_dependent_shape = True

    def check(self):
        if self.do_rotary and not {"cos_cache", "sin_cache"} <= set(self.given):
            return "do_rotary wants cos_cache and sin_cache"
        return super().check()

    def output_names(self):
        return ("output", "present_key", "present_value")

    def dtype(self, query, *rest):
        return [query] * 3

    def domain(self, name, shapes):
        return Domain(0, 1, integer=True) if name in ("seqlens_k", "total_sequence_length", "position_ids") else None

    def shape(self, query, key, value, past, *rest, values):
        want_rank(self, query, 3, what="query")
        if (key is None) != (value is None):
            raise self.error("got key or value alone, wanted both or neither")
        heads = self.num_heads + (2 * self.kv_num_heads if key is None else 0)
        if query[2] is not UNKNOWN and (query[2] == 0 or query[2] % heads):
            raise self.error(
                f"got query of shape {show(query)}, wanted a last size that is a multiple of {heads} heads"
            )
        size, total = query[2] // heads, values[6]
        named = dict(zip(self.inputs, (query, key, value, past, *rest)))
        fit(self, self._axes(size), named)
        if (bias := named["attention_bias"]) is not None:
            want_rank(self, bias, 4, what="attention_bias")
            spread(self, bias[:3], (query[0], self.num_heads, query[1]))
        held: Any = UNKNOWN
        if total is not None and (past is None or past[2] is not UNKNOWN):
            held = max(int(total.reshape(-1)[0]), 0 if past is None else past[2])
        present = (query[0], self.kv_num_heads, held, size)
        return [(*query[:2], self.num_heads * size), present, present]

    def _axes(self, size: Any) -> dict[str, str]:
        """Names of the axes of the inputs, for heads of a size: see common.fit."""
        groups = self.kv_num_heads
        wide, each = ("_", "D") if size is UNKNOWN else (str(groups * size), str(size))
        return {
            "query": "B S _",
            "key": f"B S {wide}",
            "value": f"B S {wide}",
            "past_key": f"B {groups} P {each}",
            "past_value": f"B {groups} P {each}",
            "seqlens_k": "B",
            "cos_cache": "M R",
            "sin_cache": "M R",
            "position_ids": "B S",
        }

    def _rotate(self, x: Array, heads: int, cos: Array, sin: Array, positions: Array) -> Array:
        turn = RotaryEmbedding.bind(
            num_heads=heads,
            interleaved=self.rotary_interleaved,
            rotary_embedding_dim=2 * cos.shape[1],
            given=("position_ids",),
        )
        return turn.compute(x, cos, sin, positions)

    def meaning(self, query, key, value, past_key, past_value, lengths, total, cos, sin, positions, added):
        count, groups = query.shape[1], self.kv_num_heads
        if key is None:
            size = query.shape[2] // (self.num_heads + 2 * groups)
            query, key, value = np.split(query, [self.num_heads * size, (self.num_heads + groups) * size], axis=2)
        whole = int(total.reshape(-1)[0])
        before = np.zeros(len(query), np.int64) if whole == count else lengths.reshape(-1).astype(np.int64) + 1 - count
        if (before < 0).any():
            raise self.error(f"got seqlens_k {lengths.tolist()} for {count} new positions")
        places = before[:, None] + np.arange(count)
        if self.do_rotary:
            turn = places if positions is None else positions
            query = self._rotate(query, self.num_heads, cos, sin, turn)
            key = self._rotate(key, groups, cos, sin, turn)
        keys, values = (
            self._update_cache(past, split_heads(new, groups), before, whole)
            for past, new in ((past_key, key), (past_value, value))
        )
        seen = np.arange(keys.shape[2]) <= places[:, None, :, None]
        if self.local_window_size >= 0:
            seen = seen & (np.arange(keys.shape[2]) > places[:, None, :, None] - self.local_window_size)
        mask = np.where(seen, 0, -np.inf).astype(np.float32)
        if added is not None:
            if added.shape[3] != whole:
                raise self.error(
                    f"got attention_bias of shape {show(added.shape)}, wanted a last size of total_sequence_length {whole}"
                )
            mask = mask + np.pad(added.astype(np.float32), ((0, 0), (0, 0), (0, 0), (0, keys.shape[2] - whole)))
        attention = Attention.bind(given=("attn_mask",), scale=self.scale or None, softcap=self.softcap)
        (y,) = attention.compute(split_heads(query, self.num_heads), keys, values, mask)
        return join_heads(y), keys, values

    def _update_cache(self, past: Array | None, new: Array, before: Array, whole: int) -> Array:
        """The cache with what is new behind the places that each row has filled before."""
        places = before[:, None] + np.arange(new.shape[2])
        held = 0 if past is None else past.shape[2]
        length = max(held, whole)
        kept = np.zeros((new.shape[0], new.shape[1], length, new.shape[3]), new.dtype)
        if past is not None:  # what lies behind the own end of a row is not its
            kept[:, :, :held] = np.where(np.arange(held)[:, None] < before[:, None, None, None], past, 0)
        if places.max(initial=-1) >= length:
            raise self.error(f"got places up to {places.max()} for a cache of {length}")
        kept[np.arange(len(new))[:, None], :, places] = new.swapaxes(1, 2)
        return kept

    def gradient(self, F, dy, *arrays):
        raise self.error("has no gradient: it is for inference with a cache")

    @classmethod
    def examples(cls, make):
        attrs = {"num_heads": 4, "kv_num_heads": 2}
        past = make.uniform(2, 2, 3, 8), make.uniform(2, 2, 3, 8)
        sizes = make.array([3, 3], "int32"), make.array(4, "int32")
        new = make.uniform(2, 1, 32), make.uniform(2, 1, 16), make.uniform(2, 1, 16)
        yield make(*new, *past, *sizes, given=("key", "value", "past_key", "past_value"), **attrs)
