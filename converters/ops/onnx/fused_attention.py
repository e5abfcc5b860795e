"""Operators that onnxruntime's optimiser makes of transformers' attention, read as the standard's Attention and what is
around it; but for the one with a cache, which stays as it is."""

import numpy as np

from hybrid.core.shapes import UNKNOWN

from ...error import Unsupported
from ...onnx_types import code_of
from ...registry import MS, imports, passthrough
from .fused import spelt

passthrough("GroupQueryAttention", domain=MS)


def _size(value, axis, what):
    size = UNKNOWN if value.shape is None else value.shape[value.normalize_axis(axis)]
    if size is UNKNOWN:
        raise Unsupported(f"the size of axis {axis} of {what} is not known")
    return size


class _Spelling:
    """Nodes of a function that grows, and the values that its inputs are."""

    def __init__(self, g, dtype):
        self.g, self.dtype, self.nodes, self.inputs = g, dtype, [], {}

    def number(self, value, dtype=None):
        """The name of a constant."""
        name = f"number{len(self.inputs)}"
        self.inputs[name] = self.g.const(value, dtype or self.dtype)
        return name

    def of(self, **values):
        """The names of values; empty for those that are not there."""
        self.inputs |= {n: v for n, v in values.items() if v is not None}
        return ["" if v is None else n for n, v in values.items()]

    def node(self, op_type, *reads, outputs=1, **attributes):
        """Append a node; gives the name of its output, or all."""
        made = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append((op_type, list(reads), made, attributes))
        return made[0] if outputs == 1 else made

    def whole(self, *values):
        return self.number(list(values), np.int64)

    def mask_bias(self, mask, axes, worst, queries):
        """Summand of scores for a mask of integers: nothing where it is above 0, else a very low number. The second axis of
        queries is as long as there are queries: onnxruntime's Attention wants as many rows in a mask."""
        kept = self.node("Cast", self.node("Greater", mask, self.number(0, np.int32)), to=code_of(self.dtype))
        added = self.node("Mul", self.node("Sub", self.number(1), kept), self.number(worst))
        added = self.node("Unsqueeze", added, self.whole(*axes))
        count = self.node("Shape", queries, start=1, end=2)
        return self.node("Expand", added, self.node("Concat", self.whole(1, 1), count, self.whole(1), axis=0))

    def sum(self, *terms):
        """Of those that are there; empty when none is."""
        total = ""
        for term in terms:
            total = term if not total else self.node("Add", total, term) if term else total
        return total

    def run(self, outputs):
        return spelt(self.g, self.inputs, outputs, *self.nodes)


def _require_known(query):
    if query.dtype is None or query.shape is None:
        raise Unsupported("the shape or dtype of its first input is not known")


@imports("MultiHeadAttention", domain=MS)
def import_multi_head_attention(
    g,
    query,
    key=None,
    value=None,
    bias=None,
    key_padding_mask=None,
    attention_bias=None,
    past_key=None,
    past_value=None,
    past_sequence_length=None,
    cache_indirection=None,
    *,
    num_heads,
    mask_filter_value=-10000.0,
    scale=0.0,
    unidirectional=0,
):
    _require_known(query)
    if (
        key is None
        or value is None
        or query.rank != 3
        or past_sequence_length is not None
        or cache_indirection is not None
    ):
        raise Unsupported("packed query, key and value, or a shared cache: export the model without them")
    s = _Spelling(g, query.dtype)
    q, k, v = s.of(query=query, key=key, value=value)
    if bias is not None:
        if key.rank != 3:
            raise Unsupported("a bias with key and value of 4 dimensions")
        (b,) = s.of(bias=bias)
        sizes = s.whole(*(_size(x, 2, n) for n, x in (("query", query), ("query", query), ("value", value))))
        q, k, v = (s.node("Add", x, p) for x, p in zip((q, k, v), s.node("Split", b, sizes, outputs=3)))
    heads = {"q_num_heads": num_heads, "kv_num_heads": num_heads}
    if key.rank == 4:
        q = s.node("Transpose", s.node("Reshape", q, s.whole(0, 0, num_heads, -1)), perm=(0, 2, 1, 3))
        heads = {}
    padding = ""
    if key_padding_mask is not None:
        if key_padding_mask.rank == 1:
            raise Unsupported("key_padding_mask of lengths: export the model with one of (batch, keys)")
        axes = (1, 2) if key_padding_mask.rank == 2 else (1,)
        (given,) = s.of(key_padding_mask=key_padding_mask)
        padding = s.mask_bias(given, axes, mask_filter_value, "query")
    mask = s.sum(padding, *s.of(attention_bias=attention_bias))
    attributes = {"is_causal": unidirectional, **heads, **({"scale": scale} if scale else {})}
    past = s.of(past_key=past_key, past_value=past_value)
    y, *more = s.node("Attention", q, k, v, mask, *past, outputs=4, **attributes)
    if key.rank == 4:
        y = s.node("Reshape", s.node("Transpose", y, perm=(0, 2, 1, 3)), s.whole(0, 0, -1))
    return s.run([y, *more])[: g.outputs]


@imports("Attention", domain=MS)
def import_attention(
    g,
    x,
    weights,
    bias=None,
    mask_index=None,
    past=None,
    attention_bias=None,
    past_sequence_length=None,
    *,
    num_heads,
    do_rotary=0,
    mask_filter_value=-10000.0,
    past_present_share_buffer=0,
    qkv_hidden_sizes=(),
    rotary_embedding_dim=0,
    scale=0.0,
    unidirectional=0,
):
    _require_known(x)
    if do_rotary or past_present_share_buffer or past_sequence_length is not None:
        raise Unsupported("do_rotary or a shared cache: export the model without them")
    s = _Spelling(g, x.dtype)
    sizes = list(qkv_hidden_sizes) or [_size(weights, 1, "weights") // 3] * 3
    both = s.node("MatMul", *s.of(x=x, weights=weights))
    whole = both if bias is None else s.node("Add", both, *s.of(bias=bias))
    q, k, v = s.node("Split", whole, s.whole(*sizes), outputs=3, axis=-1)
    padding = lengths = ""
    if mask_index is not None and mask_index.rank == 1:
        if past is not None:
            raise Unsupported("mask_index of lengths with a past: export the model with one of (batch, keys)")
        lengths = s.node("Cast", *s.of(mask_index=mask_index), to=7)
    elif mask_index is not None:
        if mask_index.rank == 4:
            raise Unsupported("mask_index of 4 dimensions: export the model with one of (batch, keys)")
        axes = (1, 2) if mask_index.rank == 2 else (1,)
        (given,) = s.of(mask_index=mask_index)
        padding = s.mask_bias(given, axes, mask_filter_value, "x")
    mask = s.sum(padding, *s.of(attention_bias=attention_bias))
    before = ["", ""]
    if past is not None:
        before = [s.node("Gather", *s.of(past=past), s.number(i, np.int64), axis=0) for i in (0, 1)]
    attributes = {"is_causal": unidirectional, "q_num_heads": num_heads, "kv_num_heads": num_heads}
    attributes |= {"scale": scale} if scale else {}
    y, *present = s.node("Attention", q, k, v, mask, *before, lengths, outputs=3, **attributes)
    if not g.wants(1):
        return s.run([y])
    parts = [s.node("Unsqueeze", p, s.whole(0)) for p in present]
    return s.run([y, s.node("Concat", *parts, axis=0)])


@imports("RotaryEmbedding", domain=MS)
def import_rotary_embedding(
    g,
    x,
    position_ids,
    cos_cache,
    sin_cache,
    *,
    interleaved=0,
    is_packed_batching=0,
    num_heads=0,
    rotary_embedding_dim=0,
    scale=1.0,
):
    _require_known(x)
    if is_packed_batching or scale != 1 or position_ids.rank != 2:
        raise Unsupported("packed batches, a scale or one position for all: export the model without them")
    s = _Spelling(g, x.dtype)
    if x.rank == 3 and not num_heads:
        half = _size(cos_cache, 1, "cos_cache")
        if not half:
            raise Unsupported("got cos_cache without columns, wanted half the width of a head")
        num_heads = _size(x, 2, "input") // (2 * half)
    reads = s.of(x=x, cos_cache=cos_cache, sin_cache=sin_cache, position_ids=position_ids)
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": rotary_embedding_dim}
    attributes |= {"num_heads": num_heads} if num_heads else {}  # heads that are an axis need not be counted
    return s.run([s.node("RotaryEmbedding", *reads, **attributes)])


@imports("EmbedLayerNormalization", domain=MS)
def import_embed_layer_normalization(
    g,
    input_ids,
    segment_ids,
    word_embedding,
    position_embedding,
    segment_embedding,
    gamma,
    beta,
    mask=None,
    position_ids=None,
    *,
    epsilon=1e-12,
    mask_index_type=1,
):
    _require_known(word_embedding)
    s = _Spelling(g, word_embedding.dtype)
    ids, words, positions = s.of(ids=input_ids, words=word_embedding, positions=position_embedding)
    terms = [s.node("Gather", words, ids, axis=0)]
    if position_ids is not None:
        terms.append(s.node("Gather", positions, *s.of(position_ids=position_ids), axis=0))
    else:
        count = s.node("Shape", ids, start=1, end=2)
        terms.append(s.node("Slice", positions, s.whole(0), count, s.whole(0)))
    if segment_ids is not None and segment_embedding is not None:
        terms.append(s.node("Gather", *s.of(segments=segment_embedding, segment_ids=segment_ids), axis=0))
    total = s.sum(*terms)
    y = s.node("LayerNormalization", total, *s.of(gamma=gamma, beta=beta), epsilon=epsilon)
    # with mask_index_type 1 how many of each row count; nobody reads it otherwise
    some = s.node("Cast", ids if mask is None else s.of(mask=mask)[0], to=6)
    some = s.node("Mul", some, s.number(0, np.int32)) if mask is None else some
    lengths = s.node("ReduceSum", some, s.whole(1), keepdims=0)
    return s.run([y, lengths, total])[: g.outputs]
