"""Attention and rotary embeddings, which ONNX has since opset 23: below it, by what they are made of."""

import math

import numpy as np

from ...error import Unsupported
from ...registry import exports, passthrough

passthrough("Attention", since=23, write=False)
passthrough("RotaryEmbedding", since=23)
passthrough("LinearAttention", since=27)


def _split(b, x, heads):
    """(B, S, H*D) as (B, H, S, D)."""
    return x if x.rank == 4 else b.transpose(b.reshape(x, [0, 0, heads, -1]), [0, 2, 1, 3])


def _join(b, x):
    return b.reshape(b.transpose(x, [0, 2, 1, 3]), [0, 0, -1])


@exports("_onnx_Attention", since=23)
def export_onnx_attention(b, op, *inputs):
    windows = op.left_window_size >= 0 or op.right_window_size >= 0
    since = 25 if windows else 24 if "nonpad_kv_seqlen" in op.given else 23
    return b.passthrough("", "Attention", op, inputs) if b.opset >= since else _decompose(b, op, *inputs)


@exports("_onnx_Attention")
def _decompose(b, op, *inputs):
    given = dict(zip(op.inputs, op.by_input(inputs)))
    q, k, v = (given[n] for n in ("Q", "K", "V"))
    flat = q.rank == 3
    heads, groups = (op.q_num_heads, op.kv_num_heads) if flat else (q.dim(1), k.dim(1))
    if (op.softmax_precision or q.dtype) == np.dtype("bfloat16"):
        raise Unsupported("bfloat16 needs opset 23")
    keys, values = _split(b, k, groups), _split(b, v, groups)
    if given["past_key"] is not None:
        keys, values = b.Concat(given["past_key"], keys, axis=2), b.Concat(given["past_value"], values, axis=2)
    present = keys, values
    size, width = (q.dim(2) // heads, v.dim(2) // groups) if flat else (q.dim(3), v.dim(3))
    if heads != groups:
        times = [1, 1, heads // groups, 1, 1]
        keys, values = (
            b.reshape(b.Tile(b.unsqueeze(x, [2]), times), [0, heads, -1, n]) for x, n in ((keys, size), (values, width))
        )
    scale = 1 / math.sqrt(size) if op.scale is None else op.scale
    root = math.sqrt(abs(scale))
    turned = b.Mul(b.transpose(keys, [0, 1, 3, 2]), b.like(math.copysign(root, scale), q))
    raw = b.MatMul(b.Mul(_split(b, q, heads), b.like(root, q)), turned)
    capped = b.Mul(b.Tanh(b.Div(raw, b.like(op.softcap, q))), b.like(op.softcap, q)) if op.softcap else raw
    bias = _bias(b, op, given, b.size(q, 1 if flat else 2), present[0])
    biased = capped if bias is None else b.Add(capped, bias)
    wide = biased if op.softmax_precision is None else b.cast(biased, op.softmax_precision)
    shares = b.cast(b.Softmax(wide, axis=-1), q.dtype)
    if bias is not None:  # a query that sees nothing gets zeros, not what softmax makes of infinities
        blind = b.Equal(b.reduce("Max", bias, [-1], keepdims=True), b.like(-np.inf, q))
        shares = b.Where(blind, b.like(0, q), shares)
    y = b.MatMul(shares, values)
    scores = (raw, capped, biased, shares)[op.qk_matmul_output_mode]
    return (_join(b, y) if flat else y, *present, scores)[: op.num_outputs]


def _bias(b, op, given, count, keys):
    """Summand of the scores; None when there is none. count: of the queries."""
    q, mask, past, lengths = (given[n] for n in ("Q", "attn_mask", "past_key", "nonpad_kv_seqlen"))
    zero, never = b.like(0, q), b.like(-np.inf, q)
    total = b.shape_of(keys, 2) if past is not None else b.size(given["K"], 1 if q.rank == 3 else 2)
    bias = None
    if mask is not None:
        bias = b.Where(mask, zero, never) if mask.dtype == np.bool_ else mask
        own = b.size(mask, mask.rank - 1)
        if not (isinstance(own, int) and isinstance(total, int) and own == total):
            missing = b.Sub(
                b.const([total]) if isinstance(total, int) else total, own if not isinstance(own, int) else [own]
            )
            bias = b.Pad(bias, b.dims(*[0] * (2 * mask.rank - 1), missing), never)
    seen = []
    if op.is_causal or op.left_window_size >= 0 or op.right_window_size >= 0 or lengths is not None:
        places, queries = b.counting(total), b.unsqueeze(b.counting(count), [1])
        if past is not None:
            queries = b.Add(queries, b.shape_of(past, 2))
        if lengths is not None:
            lengths = b.reshape(lengths, [-1, 1, 1, 1])
            seen.append(b.Less(places, lengths))
            if past is None:
                queries = b.Add(queries, b.Sub(lengths, count))
        if op.is_causal:
            seen.append(b.LessOrEqual(places, queries))
        if op.left_window_size >= 0:
            seen.append(b.LessOrEqual(b.Sub(queries, places), op.left_window_size))
        if op.right_window_size >= 0:
            seen.append(b.LessOrEqual(b.Sub(places, queries), op.right_window_size))
    for condition in seen:
        bias = b.Where(condition, zero if bias is None else bias, never)
    return bias


@exports("_onnx_RotaryEmbedding")
def export_onnx_rotary_embedding(b, op, *inputs):
    x, cos, sin, positions = op.by_input(inputs)
    if x.dtype == np.dtype("bfloat16"):
        raise Unsupported("bfloat16 needs opset 23")
    cos, sin = (b.unsqueeze(c if positions is None else b.Gather(c, positions, axis=0), [1]) for c in (cos, sin))
    head = x.dim(2) // op.num_heads if x.rank == 3 else x.dim(3)
    size, split = op.rotary_embedding_dim or head, _split(b, x, op.num_heads)
    turned, *rest = b.split(split, [size, head - size], 3) if size < head else (split,)
    if op.interleaved:
        first, second = (b.slice(turned, [start], [size], [3], [2]) for start in (0, 1))
    else:
        first, second = b.split(turned, [size // 2] * 2, 3)
    parts = b.Sub(b.Mul(cos, first), b.Mul(sin, second)), b.Add(b.Mul(sin, first), b.Mul(cos, second))
    if op.interleaved:
        done = b.reshape(b.Concat(*(b.unsqueeze(p, [4]) for p in parts), axis=4), [0, 0, 0, size])
    else:
        done = b.Concat(*parts, axis=3)
    done = b.Concat(done, *rest, axis=3) if rest else done
    return _join(b, done) if x.rank == 3 else done
