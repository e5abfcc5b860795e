"""ONNX's Attention as the fused operator, and what its caches hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dims import has_dims
from ..core.shapes import identical
from ..ir.graph import Entry, Node
from ..ops.fused_attention import FusedAttention
from ..ops.join import Concat
from ..ops.shape import Transpose
from .rewriter import Rewriter

_PLAIN, _ROWS = (0, 1, 2, 3), (0, 2, 1, 3)
_FLOAT32 = np.dtype(np.float32)


def attention(node: Node, now: Callable[[Entry], Entry], rewriter: Rewriter) -> list[Entry] | None:
    """Entries for the outputs of an ``_onnx_Attention``; None where it stays.

    Keys and values go behind those of the past by one copy, which is what the outputs hold, and are read from there. It stays with
    lengths that are data, scores as an output, a softmax in another precision, and masks that leave out the keys behind them."""
    op: Any = node.op
    if not all(map(rewriter.is_known, (*node.inputs, Entry(node)))) or op.num_outputs > 3:
        return None
    named = dict(zip(op.input_names(), node.inputs))
    dtype = rewriter.dtype(named["Q"])
    precisions = (None, _FLOAT32)
    if "nonpad_kv_seqlen" in named or op.softmax_precision not in precisions:
        return None
    if dtype is None or any(rewriter.dtype(named[n]) != dtype for n in ("K", "V")):
        return None
    if not rewriter.has_kernel(FusedAttention.name, dtype):
        return None

    def split(name: str, heads: int | None) -> tuple[Entry, tuple[int, ...]]:
        """An input with four axes, and which are batch, head, place and feature."""
        entry = now(named[name])
        shape = rewriter.shape(named[name])
        if len(shape) == 4:
            return entry, _PLAIN
        assert heads is not None
        return rewriter.reshape(entry, (*shape[:2], heads, shape[2] // heads)), _ROWS

    if any(0 in rewriter.shape(e) for e in (*node.inputs, Entry(node))):
        return None
    query, query_axes = split("Q", op.q_num_heads)
    size = rewriter.shape(query)[3]
    if has_dims((size,)):
        return None
    kept: list[tuple[Entry, tuple[int, ...]]] = []
    for name in ("K", "V"):
        entry, axes = split(name, op.kv_num_heads)
        past = named.get("past_key" if name == "K" else "past_value")
        if axes != _PLAIN and (past is not None or op.num_outputs > 1):
            entry, axes = rewriter.make(Transpose.bind(axes=_ROWS), f"{node.name}_{name}", entry), _PLAIN
        if past is not None:
            entry = rewriter.make(Concat.bind(num_args=2, dim=2), f"{node.name}_past_{name}", now(past), entry)
        kept.append((entry, axes))
    (key, key_axes), (value, value_axes) = kept
    total = rewriter.shape(key)[key_axes[2]]
    masks = []
    mask = named.get("attn_mask")
    is_bool = mask is not None and rewriter.dtype(mask) == np.dtype(bool)
    if mask is not None:
        shape = rewriter.shape(mask)
        if len(shape) > 4 or not identical(shape[-1:], (total,)):
            return None
        if not is_bool and rewriter.dtype(mask) not in (dtype, _FLOAT32):
            return None
        masks.append(rewriter.reshape(now(mask), (*(1,) * (4 - len(shape)), *shape)))
    past = named.get("past_key")
    after = op.right_window_size if op.right_window_size >= 0 else None
    fused = FusedAttention.bind(
        query_axes=query_axes, key_axes=key_axes, value_axes=value_axes, result_axes=query_axes,
        scale=size**-0.5 if op.scale is None else op.scale, softcap=op.softcap, keep=is_bool,
        added=mask is not None and not is_bool, blind="zeros",
        before=op.left_window_size if op.left_window_size >= 0 else None, after=0 if op.is_causal else after,
        offset=0 if past is None else rewriter.shape(past)[2],
    )  # fmt: skip
    y = rewriter.make(fused, node.name, query, key, value, *masks)
    return [rewriter.reshape(y, rewriter.shape(Entry(node))), key, value][: op.num_outputs]
