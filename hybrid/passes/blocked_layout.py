"""Keep data in blocks of channels from convolution to convolution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ir.graph import Entry, Graph, Node
from ..ops.common import axes_of
from ..ops.fused import BLOCK, BlockedConcat, Conv, FusedElementwise, Pool, ToBlocked, blocks
from ..ops.join import Concat
from ..ops.pooling import AdaptiveAvgPooling2D, Pooling
from ..ops.reduce import Mean, NpMean
from ..ops.shape import Reshaping
from .rewriter import Rewriter, as_image

MOST_EMPTY = 1.5
"""Greatest ratio of the memory of blocks to that of channels where nothing but a chain asks for them."""


_CARRIERS = (FusedElementwise, Pooling, Concat, Reshaping)
"""Operators that may stand between convolutions."""


def use_blocked_layout(graph: Graph, rewriter: Rewriter) -> Graph:
    """Spread the blocked layout to what stands between convolutions, so that nothing is converted there.

    Before: ``conv(pack(pool(chain(unpack(conv(x))))))``. After: ``conv(blocked_pool(chain(conv(x))))``. Chains take as many blocks
    as they find, and have others packed if their result is wanted in blocks; pooling follows its input; concatenations of channels
    do if all but the last input fill their blocks. Means over whole images are pooling, however they are written. Constants are
    packed once. Rows (N, C, W) are images of height 1.
    """
    if not any(n.means(Conv) for n in graph.nodes):
        return graph
    wanted = _conv_inputs(graph, rewriter)

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op: Any = node.op
        own = Entry(node)
        if node.means(ToBlocked):
            return rewriter.pack(now(node.inputs[0]))
        if _is_mean_of_images(node, rewriter) and rewriter.in_blocks(now(node.inputs[0])):
            mean = Pool.bind(global_pool=True, pool_type="avg")
            found = rewriter.make(mean, node.name, rewriter.pack(now(node.inputs[0])))
            return _as_it_was(found, own, rewriter)
        if not _is_image(own, rewriter):
            return None
        if node.means(FusedElementwise):
            if not rewriter.is_float32(own, *node.inputs):
                return None
            found = _chain(node, list(map(now, node.inputs)), own in wanted, rewriter)
        elif node.means(Pooling):
            found = _pool(node, now(node.inputs[0]), rewriter)
        elif node.means(Concat) and op.joined_axis(len(rewriter.shape(own))) == 1:
            found = _concat(node, list(map(now, node.inputs)), own in wanted, rewriter)
        else:
            return None
        return None if found is None else _as_it_was(found, own, rewriter)

    return rewriter.rewrite(graph, change)


def _as_it_was(blocked: Entry, entry: Entry, rewriter: Rewriter) -> Entry:
    """Blocks in the shape of the entry that they stand for."""
    shape = rewriter.shape(entry)
    return rewriter.reshape(rewriter.unpack(blocked, shape[1]), shape)


def _is_image(entry: Entry, rewriter: Rewriter) -> bool:
    """True where it is an array (N, C, H, W) or (N, C, W) with elements, and no constant."""
    shape = rewriter.shape(entry)
    return rewriter.is_known(entry) and len(shape) in (3, 4) and 0 not in shape and not rewriter.is_constant(entry)


def _conv_inputs(graph: Graph, rewriter: Rewriter) -> set[Entry]:
    """Entries that some convolution reads in the end."""
    found: set[Entry] = set()
    for node in reversed(graph.nodes):
        if node.means(ToBlocked) or (node.means(*_CARRIERS) and Entry(node) in found):
            found.update(e for e in node.inputs if not rewriter.is_constant(e))
    return found


def _chain(node: Node, inputs: list[Entry], wanted: bool, rewriter: Rewriter) -> Entry | None:
    """The chain on blocks; None where it had better stay as it is."""
    shape = rewriter.shape(Entry(node))
    _, c, *_ = shape
    whole = [e for e in inputs if rewriter.shape(e) == shape and not rewriter.is_constant(e)]
    there = list(map(rewriter.in_blocks, whole))
    if not any(there) or not (wanted or (all(there) and blocks(c) * BLOCK <= MOST_EMPTY * c)):
        return None
    packed = []
    for entry in inputs:
        own = rewriter.shape(entry)
        image = as_image((1,) * (len(shape) - len(own)) + own)
        if math.prod(own) == 1:
            packed.append(entry)
        elif own == shape:
            packed.append(rewriter.pack(entry))
        elif image[1:] == (c, 1, 1):
            packed.append(rewriter.pack(rewriter.reshape(entry, image)))
        else:
            return None
    return rewriter.make(node.op, node.name, *packed)  # type: ignore[arg-type]


def _pool(node: Node, source: Entry, rewriter: Rewriter) -> Entry | None:
    op: Any = node.op
    if Pool.name not in rewriter.native or op.channels_last or op.pool_type == "lp":
        return None
    if not rewriter.in_blocks(source) or not rewriter.is_float32(source):
        return None
    attrs = {name: getattr(op, name) for name in op.fields}
    if len(rewriter.shape(source)) == 3:
        more = {"kernel": 1, "stride": 1, "pad": 0}
        attrs |= {"layout": None, **{name: (value, *attrs[name]) for name, value in more.items() if attrs[name]}}
    return rewriter.make(Pool.bind(**attrs), node.name, rewriter.pack(source))


def _is_mean_of_images(node: Node, rewriter: Rewriter) -> bool:
    """True where the node gives the means over height and width, however that is written."""
    op: Any = node.op
    if Pool.name not in rewriter.native or not node.means(AdaptiveAvgPooling2D, Mean, NpMean):
        return False
    if not rewriter.is_float32(Entry(node), *node.inputs) or len(rewriter.shape(node.inputs[0])) != 4:
        return False
    if node.means(AdaptiveAvgPooling2D):
        return op.grid == (1, 1)
    return axes_of(op, op.axis, 4, exclude=node.means(Mean) and op.exclude) == (2, 3)


def _concat(node: Node, inputs: list[Entry], wanted: bool, rewriter: Rewriter) -> Entry | None:
    if any(rewriter.shape(e)[1] % BLOCK for e in inputs[:-1]) or any(0 in rewriter.shape(e) for e in inputs):
        return None
    there = list(map(rewriter.in_blocks, inputs))
    if not (all(there) or (wanted and any(there))):
        return None
    return rewriter.make(BlockedConcat.bind(num_args=len(inputs)), node.name, *map(rewriter.pack, inputs))
