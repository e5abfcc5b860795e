"""Fuse depthwise and pointwise convolutions, tiled by rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.graph import Entry, Graph, Node
from ..ops.fused import Conv, DepthwisePointwise, FusedElementwise
from .rewriter import GONE, Key, Rewriter

SCALED = {"$0 $1 mul $2 add": None, "$0 $1 mul $2 add relu": 0.0}
"""Chains that take a factor and a summand for each channel, and the least that they give."""


def fuse_depthwise_pointwise(graph: Graph, rewriter: Rewriter) -> Graph:
    """A convolution of each channel for itself, and one of 1 x 1 that alone reads it, become one operator; so do a normalization
    that could not be folded (with its activation) and the convolution of 1 x 1 behind it.

    Before: ``conv(conv(x, v, c, num_group=channels), w, b)``, ``conv(chain(x, factor, summand), w, b)``, on blocks.
    After: ``separable(x, v, c, w, b)``. What is between them stays in a core's cache and is never written whole.
    """
    if DepthwisePointwise.name not in rewriter.native:
        return graph
    readers = rewriter.readers(graph)
    firsts: set[int] = set()
    seconds: set[int] = set()
    for node in graph.nodes:  # inputs first; what is a second already can be no first
        if _is_second(node, readers, rewriter) and id(node.inputs[0].node) not in seconds:
            seconds.add(id(node))
            firsts.add(id(node.inputs[0].node))
    if not firsts:
        return graph

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        if id(node) in firsts:
            return GONE
        if id(node) not in seconds:
            return None
        op: Any = node.op
        first = node.inputs[0].node
        data, *rest = map(now, first.inputs)
        if first.means(FusedElementwise):
            data, rest, attrs = _split_scale(first, op.channels, list(map(now, first.inputs)), rewriter)
        else:
            earlier: Any = first.op
            attrs = {name: getattr(earlier, name) for name in ("kernel", "stride", "dilate", "pad")}
            attrs |= {f"first_{name}": getattr(earlier, name) for name in ("slope", "low", "high")}
        attrs |= {
            name: getattr(op, name) for name in ("num_filter", "channels", "bias", "residual", "slope", "low", "high")
        }
        return rewriter.make(DepthwisePointwise.bind(**attrs), node.name, data, *rest, *map(now, node.inputs[1:]))

    return rewriter.rewrite(graph, change)


def _is_second(node: Node, readers: dict[Key, list[Node | None]], rewriter: Rewriter) -> bool:
    op: Any = node.op
    if not node.means(Conv) or not op.blocked or op.num_group != 1 or any(op.pad):
        return False
    if (*op.kernel, *op.stride) != (1, 1, 1, 1):
        return False
    source = node.inputs[0]
    if len(readers[id(source.node), source.index]) != 1:
        return False
    return _is_first(source.node, op.channels, rewriter)


def _is_first(node: Node, channels: int, rewriter: Rewriter) -> bool:
    op: Any = node.op
    if node.means(Conv):
        alone = op.blocked and op.num_group == op.num_filter == op.channels == channels
        return alone and op.bias and not op.residual
    if not node.means(FusedElementwise) or op.code not in SCALED:
        return False
    _, blocks, *_, width = rewriter.shape(Entry(node))
    return all(rewriter.is_constant(e) and rewriter.shape(e) == (1, blocks, 1, 1, width) for e in node.inputs[1:])


def _split_scale(
    chain: Node, channels: int, inputs: list[Entry], rewriter: Rewriter
) -> tuple[Entry, list[Entry], dict[str, Any]]:
    """The data of a chain, what is a weight and a bias by channel, and the attributes that say the rest."""
    op: Any = chain.op
    data, *scales = inputs
    factor, summand = (rewriter.unpack(e, channels) for e in scales)
    attrs = {"kernel": (1, 1), "first_low": SCALED[op.code]}
    return data, [rewriter.reshape(factor, (channels, 1, 1, 1)), rewriter.reshape(summand, (channels,))], attrs
