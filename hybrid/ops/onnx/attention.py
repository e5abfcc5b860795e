"""Attention as ONNX has it, its linear form, and rotary embeddings.

B is the batch, S the number of queries, T of keys (those of the past included), H of heads of the queries and K of keys and
values, D the size of a head and V that of a value."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.attrs import Arity, Count, DType
from ...core.op import Domain, op
from ...core.shapes import UNKNOWN, merge, show
from ..backward import Once
from ..common import fit, narrow, part_of, spread, want_rank, want_rank_from, widen
from ..composing import definite, known, narrowly, reshaped, widely
from .base import LikeInputs, Standard
from .types import FLOATS, PLAIN

Array = np.ndarray
INFINITY = float("inf")


def split_heads(x: Array, heads: int | None) -> Array:
    """(B, S, H*D) as (B, H, S, D); what has four dimensions stays."""
    if x.ndim == 4:
        return x
    assert heads is not None
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).transpose(0, 2, 1, 3)


def join_heads(x: Array) -> Array:
    """(B, H, S, D) as (B, S, H*D)."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


def sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """x, to whose shape the given one broadcasts, summed down to it."""
    extra = x.ndim - len(shape)
    x = x.sum(tuple(range(extra)))
    return x.sum(tuple(i for i, d in enumerate(shape) if d == 1 != x.shape[i]), keepdims=True)


class Attended(NamedTuple):
    """Intermediate results of attention; all (B, H, S, .) or (B, K, T, .)."""

    q: Array
    k: Array
    v: Array
    raw: Array
    """Scaled products, (B, H, S, T)."""
    capped: Array
    biased: Array
    shares: Array
    """After softmax."""
    y: Array


@op("_onnx_Attention")
class Attention(Standard):
    """softmax(softcap(scale Q K') + mask) V, per head; 1 / sqrt(D) is the scale where none is given.

    Shapes: Q (B, H, S, D) or (B, S, H*D), K (B, K, T, D) or (B, T, K*D), V accordingly -> Y as Q with the size of V; the keys and
    values with their past before them, (B, K, T, .); and the scores, (B, H, S, T), as of qk_matmul_output_mode: 0 products,
    1 after softcap, 2 after the mask, 3 after softmax. H is a multiple of K: neighbouring heads share a key. attn_mask broadcasts
    to (B, H, S, T): True or a number to add; a shorter last axis leaves the keys behind it out. is_causal and the windows count
    from the position of the query, which is past_sequence_length + i, or nonpad_kv_seqlen - S + i. A query that sees no key
    gets zeros.
    Source: ONNX Attention (opset 23 to newest)."""

    is_causal: bool = False
    kv_num_heads: Count | None = None
    left_window_size: int = -1
    q_num_heads: Count | None = None
    qk_matmul_output_mode: int = 0
    right_window_size: int = -1
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: DType | None = None
    num_outputs: Arity = 1

    exception = "has caches, masks and scales that its inputs decide about"

    inputs = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
    types = {
        "Q K past_key": FLOATS,
        "V past_value": FLOATS,
        "attn_mask": PLAIN,
        "nonpad_kv_seqlen": {"int64"},
    }
    optional = ("attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")

    def check(self):
        if ("past_key" in self.given) != ("past_value" in self.given):
            return "past_key and past_value have to be given together"
        if self.qk_matmul_output_mode not in range(4):
            return f"got qk_matmul_output_mode={self.qk_matmul_output_mode}, wanted 0 to 3"
        if self.softmax_precision is not None and self.softmax_precision.name not in FLOATS:
            return f"got softmax_precision={self.softmax_precision}, wanted a dtype of floats"
        return super().check()

    def output_names(self):
        return ("Y", "present_key", "present_value", "qk_matmul_output")[: self.num_outputs]

    def dtype(self, q, k, v, *rest):
        return [q, k, v, q][: self.num_outputs]

    def domain(self, name, shapes):
        return Domain(0, 1, integer=True) if name == "nonpad_kv_seqlen" else None

    def _split(self, shape, heads, what):
        want_rank(self, shape, 3, 4, what=what)
        if len(shape) == 4:
            return shape
        if not heads:
            raise self.error(f"got {what} of 3 dimensions, wanted q_num_heads and kv_num_heads with it")
        if shape[2] is not UNKNOWN and shape[2] % heads:
            raise self.error(
                f"got {what} of shape {show(shape)}, wanted a last size that is a multiple of {heads} heads"
            )
        return shape[0], heads, shape[1], shape[2] // heads

    def shape(self, q, k, v, mask, past_key, past_value, lengths):
        parts = (q, self.q_num_heads, "Q"), (k, self.kv_num_heads, "K"), (v, self.kv_num_heads, "V")
        queries, keys, values = (self._split(*p) for p in parts)
        batch, heads, count, _ = queries
        fit(
            self,
            {"Q": "B _ _ D", "K": "B K T D", "V": "B K T V", "past_key": "B K P D", "past_value": "B K P V"},
            {"Q": queries, "K": keys, "V": values, "past_key": past_key, "past_value": past_value},
        )
        if heads is not UNKNOWN and keys[1] is not UNKNOWN and (not keys[1] or heads % keys[1]):
            raise self.error(f"got {heads} heads of Q and {keys[1]} of K, wanted a multiple")
        y = (batch, heads, count, values[3]) if len(q) == 4 else (batch, count, heads * values[3])
        total = keys[2] if past_key is None else keys[2] + past_key[2]
        if mask is not None:
            want_rank_from(self, mask, 1, what="attn_mask")
            spread(self, mask[:-1], (batch, heads, count))
            if mask[-1] is not UNKNOWN and total is not UNKNOWN and mask[-1] > total:
                raise self.error(f"got attn_mask of shape {show(mask)}, wanted a last size of {total} keys at most")
        if lengths is not None:
            want_rank(self, lengths, 1, what="nonpad_kv_seqlen")
            spread(self, lengths, (batch,))
        present = (batch, keys[1], total, keys[3]), (batch, keys[1], total, values[3])
        return [y, *present, (batch, heads, count, total)][: self.num_outputs]

    def _bias(self, named: dict[str, Any], q: Array, k: Array) -> Array:
        """Summand of the scores, of any shape that broadcasts to (B, H, S, T)."""
        count, total = q.shape[2], k.shape[2]
        past, lengths, mask = named.get("past_key"), named.get("nonpad_kv_seqlen"), named.get("attn_mask")
        bias = np.zeros((1, 1, count, total), q.dtype)
        if mask is not None:
            bias = bias + self._pad_mask(mask, total, q.dtype)
        before = 0 if past is None else past.shape[2]
        if lengths is not None:
            lengths = lengths.reshape(-1, 1, 1, 1)
            before = lengths - count if past is None else before
        keys, queries = np.arange(total), np.arange(count)[:, None] + before
        seen = np.ones((1, 1, count, total), bool)
        if self.is_causal:
            seen = seen & (keys <= queries)
        if self.left_window_size >= 0:
            seen = seen & (queries - keys <= self.left_window_size)
        if self.right_window_size >= 0:
            seen = seen & (keys - queries <= self.right_window_size)
        if lengths is not None:
            seen = seen & (keys < lengths)
        return bias if seen.all() else np.where(seen, bias, -INFINITY).astype(q.dtype, copy=False)

    @staticmethod
    def _pad_mask(mask: Array, total: int, dtype: Any) -> Array:
        added = np.where(mask, 0, -INFINITY) if mask.dtype == np.bool_ else widen(mask).astype(dtype, copy=False)
        more = total - mask.shape[-1]
        added = (
            np.pad(added, [(0, 0)] * (mask.ndim - 1) + [(0, more)], constant_values=-INFINITY) if more > 0 else added
        )
        return added.astype(dtype, copy=False)

    def _scale(self, q: Array) -> float:
        return 1 / math.sqrt(max(q.shape[3], 1)) if self.scale is None else self.scale

    def _attend(self, named: dict[str, Any]) -> Attended:
        q = split_heads(widen(named["Q"]), self.q_num_heads)
        k, v = (split_heads(widen(named[n]), self.kv_num_heads) for n in ("K", "V"))
        if named.get("past_key") is not None:
            k = np.concatenate([widen(named["past_key"]), k], axis=2)
            v = np.concatenate([widen(named["past_value"]), v], axis=2)
        if not k.shape[1] or q.shape[1] % k.shape[1]:
            raise self.error(f"got {q.shape[1]} heads of Q and {k.shape[1]} of K, wanted a multiple")
        root = math.sqrt(abs(self._scale(q)))
        raw = _group_heads(q * root, k.shape[1]) @ (k * math.copysign(root, self._scale(q)))[:, :, None].swapaxes(
            -1, -2
        )
        raw = raw.reshape(*q.shape[:3], k.shape[2])
        capped = self.softcap * np.tanh(raw / self.softcap) if self.softcap else raw
        bias = self._bias(named, q, k)
        biased = capped + bias
        scores = biased if self.softmax_precision is None else widen(biased.astype(self.softmax_precision))
        top = scores.max(-1, keepdims=True, initial=-INFINITY)
        shares = np.exp(scores - np.where(np.isneginf(top), 0, top))
        whole = shares.sum(-1, keepdims=True)
        shares = shares / np.where(whole == 0, 1, whole)
        if self.softmax_precision is not None:
            shares = shares.astype(self.softmax_precision)
        blind = np.isneginf(bias.max(-1, keepdims=True, initial=-INFINITY))
        shares = np.where(blind, 0, shares).astype(q.dtype, copy=False)
        y = (_group_heads(shares, k.shape[1]) @ v[:, :, None]).reshape(*q.shape[:3], v.shape[3])
        return Attended(q, k, v, raw, capped, biased, shares, y)

    def meaning(self, *arrays):
        named = dict(zip(self.inputs, arrays))
        done = self._attend(named)
        y = join_heads(done.y) if named["Q"].ndim == 3 else done.y
        scores = (done.raw, done.capped, done.biased, done.shares)[self.qk_matmul_output_mode]
        dtypes = self.dtype(*(named[n].dtype for n in ("Q", "K", "V")))
        return tuple(narrow(a, d) for a, d in zip((y, done.k, done.v, scores), dtypes))

    def gradient(self, F, dy, *arrays):
        heads = dy if isinstance(dy, tuple) else (dy,)
        named = dict(zip(self.input_names(), arrays)) | {f"d{n}": h for n, h in zip(self.output_names(), heads)}
        found = F._backward__onnx_Attention(**named, **self.dump())
        placed = dict(zip(_floating(self.input_names()), found))
        return [placed.get(n) for n in self.input_names()]

    @classmethod
    def examples(cls, make):
        q, k, v = make.uniform(2, 4, 3, 4), make.uniform(2, 2, 5, 4), make.uniform(2, 2, 5, 3)
        yield make(q, k, v)
        past = make.uniform(2, 2, 2, 4), make.uniform(2, 2, 2, 3)
        attrs = {"is_causal": True, "softcap": 1.5, "num_outputs": 4, "qk_matmul_output_mode": 3, "scale": 0.7}
        yield make(q, k, v, make.uniform(2, 1, 3, 7), *past, given=("attn_mask", "past_key", "past_value"), **attrs)
        mask = make.array([[True, False, True, True, False]] * 3, "bool")
        attrs = {"q_num_heads": 2, "kv_num_heads": 1, "num_outputs": 1}
        yield make(
            make.uniform(2, 3, 8), make.uniform(2, 5, 4), make.uniform(2, 5, 3), mask, given=("attn_mask",), **attrs
        )


def _group_heads(x: Array, groups: int) -> Array:
    """(B, H, S, .) as (B, K, H/K, S, .)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


def _floating(names: tuple[str, ...]) -> tuple[str, ...]:
    """The inputs that may have a gradient (a mask of truth values gets zeros of no use)."""
    return tuple(n for n in names if n != "nonpad_kv_seqlen")


@op("_backward__onnx_Attention")
@part_of(
    "_onnx_Attention",
    dY="Y",
    dpresent_key="present_key",
    dpresent_value="present_value",
    dqk_matmul_output="qk_matmul_output",
)
class AttentionBackward(Once, LikeInputs, Attention):
    """The gradients of Attention's inputs. Shapes: the gradients of its outputs, then its inputs -> as those (without
    nonpad_kv_seqlen)."""

    inputs = ("dY", "dpresent_key", "dpresent_value", "dqk_matmul_output", *Attention.inputs)

    def input_names(self):
        return (*self.inputs[: self.num_outputs], *super().input_names()[4:])

    def output_names(self):
        return _floating(self.input_names()[self.num_outputs :])

    def compute(self, *arrays, **_options):
        named = dict(zip(self.input_names(), arrays))
        q, k, v, _, capped, _, shares, _ = self._attend(named)
        groups, scale = k.shape[1], self._scale(q)
        scores: list[Array | None] = [None] * 4
        if self.num_outputs > 3:
            scores[self.qk_matmul_output_mode] = widen(named["dqk_matmul_output"])
        dy = _group_heads(split_heads(widen(named["dY"]), q.shape[1]), groups)
        dv = (_group_heads(shares, groups).swapaxes(-1, -2) @ dy).sum(2)
        dshares = (dy @ v[:, :, None].swapaxes(-1, -2)).reshape(shares.shape)
        dshares = _plus(dshares, scores[3])
        dbiased = _plus(shares * (dshares - (shares * dshares).sum(-1, keepdims=True)), scores[2])
        draw = _plus(dbiased, scores[1])
        if self.softcap:
            draw = draw * (1 - (capped / self.softcap) ** 2)
        draw = _group_heads(_plus(draw, scores[0]), groups)
        dq = (draw @ k[:, :, None]).reshape(q.shape) * scale
        dk = (draw.swapaxes(-1, -2) @ _group_heads(q, groups)).sum(2) * scale
        if self.num_outputs > 1:
            dk = dk + widen(named["dpresent_key"])
        if self.num_outputs > 2:
            dv = dv + widen(named["dpresent_value"])
        found = {"Q": dq, "K": dk, "V": dv}
        if "past_key" in named:
            past = named["past_key"].shape[2]
            found |= {
                "past_key": dk[:, :, :past],
                "past_value": dv[:, :, :past],
                "K": dk[:, :, past:],
                "V": dv[:, :, past:],
            }
        if "attn_mask" in named:
            mask = named["attn_mask"]
            there = dbiased[..., : mask.shape[-1]] if mask.shape[-1] < dbiased.shape[-1] else dbiased
            found["attn_mask"] = sum_to(there, mask.shape)
        if named["Q"].ndim == 3:
            found |= {n: join_heads(found[n]) for n in ("Q", "K", "V")}
        return tuple(narrow(found[n], named[n].dtype) for n in self.output_names())


def _plus(a: Array, b: Array | None) -> Array:
    return a if b is None else a + b


# -- rotary embeddings -----------------------------------------------------------------------------------------------------


@op("_onnx_RotaryEmbedding")
class RotaryEmbedding(Standard):
    """Pairs of features turned by an angle that grows with the position: neighbours when interleaved, else those of both halves.

    Shapes: X (B, H, S, D) or (B, S, H*D), cos_cache and sin_cache (positions, R/2) with position_ids (B, S), or (B, S, R/2) -> X.
    R is rotary_embedding_dim, or D where that is 0; features behind it stay. Source: ONNX RotaryEmbedding (opset 23 to newest);
    Su et al. 2021, arXiv:2104.09864."""

    interleaved: bool = False
    num_heads: Count | None = None
    rotary_embedding_dim: int = 0

    exception = "has caches, masks and scales that its inputs decide about"

    inputs = ("X", "cos_cache", "sin_cache", "position_ids")
    types = {"X cos_cache sin_cache": FLOATS - {"float64"}, "position_ids": {"int64"}}
    optional = ("position_ids",)

    def shape(self, x, *rest):
        want_rank(self, x, 3, 4, what="X")
        if len(x) == 4:
            batch, _, steps, size = x
        elif not self.num_heads:
            raise self.error("got X of 3 dimensions, wanted num_heads with it")
        else:
            batch, steps, wide = x
            if wide is not UNKNOWN and wide % self.num_heads:
                raise self.error(f"got X of shape {show(x)}, wanted a last size that is a multiple of {self.num_heads}")
            size = wide // self.num_heads
        turned = self.rotary_embedding_dim or size
        if turned is not UNKNOWN and (turned % 2 or (size is not UNKNOWN and not 0 <= turned <= size)):
            raise self.error(f"got {turned} features to turn of {size}, wanted an even number of these")
        named = {"X": (batch, steps, turned // 2), **dict(zip(self.inputs[-3:], rest))}
        caches = dict.fromkeys(self.inputs[-3:-1], "P R" if self.given else "B S R")
        fit(self, {"X": "B S R", **caches, "position_ids": "B S"}, named)
        return x

    def domain(self, name, shapes):
        return Domain(0, 1, integer=True) if name == "position_ids" else None

    def _parts(self, x: Array) -> tuple[Array, Array, Array]:
        """Views of the two features of each pair, and of those that stay; x (B, H, S, D)."""
        size = self.rotary_embedding_dim or x.shape[3]
        turned = x[..., :size]
        first = turned[..., 0::2] if self.interleaved else turned[..., : size // 2]
        second = turned[..., 1::2] if self.interleaved else turned[..., size // 2 :]
        return first, second, x[..., size:]

    def _angles(self, cache: Array, positions: Array | None) -> Array:
        """(B, 1, S, R/2)."""
        if positions is not None and positions.size and not 0 <= positions.min() <= positions.max() < len(cache):
            raise self.error(f"got position_ids {positions.min()} to {positions.max()}, wanted 0 to {len(cache) - 1}")
        return widen(cache if positions is None else cache[positions])[:, None]

    def _rotate(self, x, cos, sin, shape):
        first, second, rest = self._parts(x)
        out = np.empty(x.shape, x.dtype)
        first_out, second_out, rest_out = self._parts(out)
        first_out[...] = cos * first - sin * second
        second_out[...] = sin * first + cos * second
        rest_out[...] = rest
        return join_heads(out) if len(shape) == 3 else out

    def composition(self, F, x, cos, sin, positions=None):
        if not known(x, cos, sin) or positions is not None or 0 in definite(x.shape):  # positions may lie outside
            return None
        flat, heads = len(x.shape) == 3, self.num_heads
        wide, cos, sin = widely(F, x.dtype, x, cos, sin)
        size = x.shape[-1] // heads if flat else x.shape[3]
        turned = self.rotary_embedding_dim or size
        if flat:
            wide = F.transpose(reshaped(F, wide, (*x.shape[:2], heads, size)), axes=(0, 2, 1, 3))
        shape = (x.shape[0], heads, x.shape[1], size) if flat else x.shape
        pairs = F.slice_axis(wide, axis=3, begin=0, end=turned)
        place = 4 if self.interleaved else 3
        grouped = (turned // 2, 2) if self.interleaved else (2, turned // 2)
        pairs = reshaped(F, pairs, (*shape[:3], *grouped))
        first, second = (F.squeeze(F.slice_axis(pairs, axis=place, begin=i, end=i + 1), axis=place) for i in (0, 1))
        cos, sin = (F.expand_dims(v, axis=1) for v in (cos, sin))
        y = F.stack(
            F.broadcast_sub(F.broadcast_mul(cos, first), F.broadcast_mul(sin, second)),
            F.broadcast_add(F.broadcast_mul(sin, first), F.broadcast_mul(cos, second)),
            axis=place,
        )
        y = reshaped(F, y, (*shape[:3], turned))
        if turned < size:
            y = F.Concat(y, F.slice_axis(wide, axis=3, begin=turned, end=size), dim=3)
        return narrowly(F, x.dtype, reshaped(F, F.transpose(y, axes=(0, 2, 1, 3)), x.shape) if flat else y)

    def meaning(self, x, cos, sin, positions):
        cos, sin = self._angles(cos, positions), self._angles(sin, positions)
        return narrow(self._rotate(split_heads(widen(x), self.num_heads), cos, sin, x.shape), x.dtype)

    def gradient(self, F, dy, x, cos, sin, *more):
        positions = dict(zip(("position_ids",), more[:-1]))
        named = {"X": x, "cos_cache": cos, "sin_cache": sin, **positions}
        found = F._backward__onnx_RotaryEmbedding(dY=dy, **named, **self.dump())
        return [*found, *(None for _ in positions)]

    @classmethod
    def examples(cls, make):
        x, angles = make.uniform(2, 3, 4, 6), make.uniform(2, 4, 3)
        yield make(x, angles, make.uniform(2, 4, 3))
        ids = make.array([[0, 3, 1, 1], [2, 0, 4, 3]], "int64")
        attrs = {"num_heads": 3, "interleaved": True, "rotary_embedding_dim": 4, "given": ("position_ids",)}
        yield make(make.uniform(2, 4, 18), make.uniform(5, 2), make.uniform(5, 2), ids, **attrs)


@op("_backward__onnx_RotaryEmbedding")
@part_of("_onnx_RotaryEmbedding", dY=0)
class RotaryEmbeddingBackward(Once, RotaryEmbedding):
    """The gradients of X, cos_cache and sin_cache. Shapes: dY as X, then RotaryEmbedding's inputs -> as those three."""

    inputs = ("dY", *RotaryEmbedding.inputs)

    def output_names(self):
        return ("X", "cos_cache", "sin_cache")

    def infer_shape(self, *shapes, **_options):
        return list(shapes[1:4])

    def infer_type(self, *dtypes):
        return list(dtypes[1:4])

    def compute(self, *arrays, **_options):
        dy, x, cos, sin, positions = self.by_input(arrays)
        angles = self._angles(cos, positions), self._angles(sin, positions)
        wide_x, wide_dy = (split_heads(widen(a), self.num_heads) for a in (x, dy))
        dx = self._rotate(wide_dy, angles[0], -angles[1], x.shape)
        (first, second, _), (dfirst, dsecond, _) = self._parts(wide_x), self._parts(wide_dy)
        dcos = (dfirst * first + dsecond * second).sum(1)
        dsin = (dsecond * first - dfirst * second).sum(1)
        caches = []
        for cache, grad in ((cos, dcos), (sin, dsin)):
            if positions is not None:
                whole = np.zeros(cache.shape, grad.dtype)
                np.add.at(whole, positions, grad)
                grad = whole
            caches.append(narrow(sum_to(grad, cache.shape), cache.dtype))
        return narrow(dx, x.dtype), *caches


# -- linear attention ------------------------------------------------------------------------------------------------------

LinearAttentionRule = Literal["linear", "gated", "delta", "gated_delta"]


class Sequence(NamedTuple):
    """The inputs of linear attention, time first: q (S, B, H, D), k (S, B, K, D), v (S, B, K, V), keep (S, B, K, D or 1) what is
    left of the state, rate (S, B, K or 1, 1)."""

    q: Array
    k: Array
    v: Array
    keep: Array | None
    rate: Array | None
    state: Array


@op("_onnx_LinearAttention")
class LinearAttention(Standard):
    """A state per head that takes up key (x) value at every step and is asked by the query: S = keep S + key (x) w, o = scale S' q.

    keep is 1, or exp(decay) for the gated rules; w is the value, or for the delta rules beta (value - (keep S)' key).
    Shapes: query (B, S, H*D), key (B, S, K*D), value (B, S, K*V), past_state (B, K, D, V), decay (B, S, K*D or K),
    beta (B, S, K or 1) -> (B, S, H*V), (B, K, D, V). Source: ONNX LinearAttention (opset 27 to newest)."""

    chunk_size: int = 64
    kv_num_heads: Count
    q_num_heads: Count
    scale: float = 0.0
    update_rule: LinearAttentionRule = "gated_delta"

    exception = "has caches, masks and scales that its inputs decide about"

    inputs = ("query", "key", "value", "past_state", "decay", "beta")
    types = {"query key value decay beta": FLOATS - {"float64"}, "past_state": FLOATS - {"float64"}}
    optional = ("past_state", "decay", "beta")

    def check(self):
        if self.q_num_heads % self.kv_num_heads:
            return f"got q_num_heads={self.q_num_heads}, wanted a multiple of kv_num_heads={self.kv_num_heads}"
        wanted = [n for n, word in (("decay", "gated"), ("beta", "delta")) if word in self.update_rule]
        missing = [n for n in wanted if n not in self.given]
        if missing:
            return f"update_rule={self.update_rule} wants {', '.join(missing)}"
        return super().check()

    def output_names(self):
        return ("output", "present_state")

    def dtype(self, query, key, value, state, *rest):
        return [query, query if state is None else state]

    def shape(self, query, key, value, *rest):
        for name, each, count in zip(self.inputs, (query, key, value), (self.q_num_heads, *[self.kv_num_heads] * 2)):
            want_rank(self, each, 3, what=name)
            if each[2] is not UNKNOWN and (each[2] == 0 or each[2] % count):
                raise self.error(
                    f"got {name} of shape {show(each)}, wanted a last size that is a multiple of {count} heads"
                )
        heads, size, width = self.kv_num_heads, query[2] // self.q_num_heads, value[2] // self.kv_num_heads
        merge(key, (*query[:2], heads * size))
        merge(value, (*query[:2], UNKNOWN))
        state, decay, beta = rest
        if state is not None:
            merge(state, (query[0], heads, size, width))
        for name, given, sizes in (("decay", decay, (heads * size, heads)), ("beta", beta, (heads, 1))):
            if given is not None:
                merge(given, (*query[:2], UNKNOWN))
                if given[2] is not UNKNOWN and all(n is not UNKNOWN and given[2] != n for n in sizes):
                    raise self.error(
                        f"got {name} of shape {show(given)}, wanted a last size of {sizes[0]} or {sizes[1]}"
                    )
        return [(*query[:2], self.q_num_heads * width), (query[0], heads, size, width)]

    def _read(self, query, key, value, state, decay, beta) -> Sequence:
        heads = self.kv_num_heads

        def first(x, count):
            x = widen(x)
            return x.reshape(*x.shape[:2], count, x.shape[2] // count).swapaxes(0, 1)

        q, k, v = first(query, self.q_num_heads), first(key, heads), first(value, heads)
        keep = np.exp(first(decay, heads)) if "gated" in self.update_rule else None
        rate = first(beta, beta.shape[2]) if "delta" in self.update_rule else None
        begin = (
            np.zeros((*k.shape[1:], v.shape[3]), k.dtype) if state is None else widen(state).astype(k.dtype, copy=False)
        )
        return Sequence(q, k, v, keep, rate, begin)

    def _scale(self, q: Array) -> float:
        return self.scale or 1 / math.sqrt(q.shape[-1])

    def _step(self, given: Sequence, t: int, state: Array):
        """(what is left of the state, what the rate applies to, what is taken up with the key)."""
        left = state if given.keep is None else given.keep[t][..., None] * state
        if given.rate is None:
            return left, given.v[t], given.v[t]
        news = given.v[t] - np.einsum("bkdv,bkd->bkv", left, given.k[t])
        return left, news, given.rate[t] * news

    def meaning(self, *arrays):
        given = self._read(*arrays)
        state, scale = given.state, self._scale(given.q)
        steps, batch, heads, _ = given.q.shape
        width = given.v.shape[3]
        out = np.empty((steps, batch, heads, width), given.q.dtype)
        for t in range(steps):
            left, _, taken = self._step(given, t, state)
            state = left + given.k[t][..., None] * taken[:, :, None]
            asked = _group_heads(given.q[t][:, :, None], self.kv_num_heads)
            out[t] = (asked @ state[:, :, None]).reshape(batch, heads, width) * scale
        dtypes = self.dtype(*(None if a is None else a.dtype for a in arrays))
        out = out.swapaxes(0, 1).reshape(batch, steps, heads * width)
        return narrow(out, dtypes[0]), narrow(state, dtypes[1])

    def gradient(self, F, dy, *arrays):
        names = self.input_names()
        heads = dict(zip(("doutput", "dpresent_state"), dy))
        return list(F._backward__onnx_LinearAttention(**heads, **dict(zip(names, arrays)), **self.dump()))

    @classmethod
    def examples(cls, make):
        q, k, v = make.uniform(2, 3, 8), make.uniform(2, 3, 4), make.uniform(2, 3, 6)
        heads = {"q_num_heads": 4, "kv_num_heads": 2}
        state, decay, beta = make.uniform(2, 2, 2, 3), make.uniform(2, 3, 4), make.uniform(2, 3, 2, low=0)
        yield make(q, k, v, state, decay, beta, given=cls.optional, **heads)
        yield make(q, k, v, update_rule="linear", scale=0.5, **heads)
        yield make(q, k, v, make.uniform(2, 3, 2), given=("decay",), update_rule="gated", **heads)
        yield make(q, k, v, make.uniform(2, 3, 1, low=0), given=("beta",), update_rule="delta", **heads)


@op("_backward__onnx_LinearAttention")
@part_of("_onnx_LinearAttention", doutput=0, dpresent_state=1)
class LinearAttentionBackward(Once, LinearAttention):
    """The gradients of LinearAttention's inputs, step by step. Shapes: those of its outputs, then its inputs -> as its inputs."""

    inputs = ("doutput", "dpresent_state", *LinearAttention.inputs)

    def output_names(self):
        return self.input_names()[2:]

    def infer_shape(self, *shapes, **_options):
        return list(shapes[2:])

    def infer_type(self, *dtypes):
        return list(dtypes[2:])

    def compute(self, *arrays, **_options):
        dout, dstate, *rest = self.by_input(arrays)
        given = self._read(*rest)
        states, scale = [given.state], self._scale(given.q)
        steps, batch, heads, _ = given.q.shape
        for t in range(steps):
            left, _, taken = self._step(given, t, states[-1])
            states.append(left + given.k[t][..., None] * taken[:, :, None])
        dout = widen(dout).reshape(batch, steps, heads, given.v.shape[3]).swapaxes(0, 1) * scale
        dq, dk, dv = (np.empty_like(a) for a in (given.q, given.k, given.v))
        dkeep = None if given.keep is None else np.empty_like(given.keep)
        drate = None if given.rate is None else np.empty_like(given.rate)
        d = widen(dstate).astype(given.q.dtype, copy=False)
        for t in reversed(range(steps)):
            left, news, taken = self._step(given, t, states[t])
            asked, answers = (_group_heads(a[t], self.kv_num_heads) for a in (given.q, dout))
            d = d + asked.swapaxes(-1, -2) @ answers
            dq[t] = (answers @ states[t + 1].swapaxes(-1, -2)).reshape(dq[t].shape)
            dk[t] = np.einsum("bkdv,bkv->bkd", d, taken)
            dnews = np.einsum("bkdv,bkd->bkv", d, given.k[t])
            if given.rate is not None and drate is not None:
                drate[t] = sum_to((dnews * news).sum(-1, keepdims=True), drate[t].shape)
                dnews = given.rate[t] * dnews
                dk[t] -= np.einsum("bkdv,bkv->bkd", left, dnews)
                d = d - given.k[t][..., None] * dnews[:, :, None]
            dv[t] = dnews
            if given.keep is not None and dkeep is not None:
                dkeep[t] = sum_to((d * left).sum(-1), dkeep[t].shape)  # of the decay: left = exp(decay) state
                d = given.keep[t][..., None] * d
        found = zip(LinearAttention.inputs, (dq, dk, dv, None, dkeep, drate))
        named = {n: a.swapaxes(0, 1).reshape(batch, steps, math.prod(a.shape[2:])) for n, a in found if a is not None}
        named["past_state"] = d
        given_arrays = dict(zip(LinearAttention.inputs, rest))
        # decay and beta of rules that do not read them have no influence
        return tuple(
            narrow(named[n], given_arrays[n].dtype) if n in named else np.zeros_like(given_arrays[n])
            for n in self.output_names()
        )
