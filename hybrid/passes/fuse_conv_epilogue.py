"""Fuse convolutions with the element-wise operators behind them, on data in blocks of channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.graph import Entry, Graph, Node
from ..ops.convolution import Convolution, ConvolutionV1
from ..ops.fused import Conv
from .epilogue import Epilogue, match_epilogue, nodes_between
from .rewriter import GONE, Rewriter, as_image

FEW = 4
"""Up to so many channels convolutions read rows of pixels instead of blocks, which would be almost empty."""


def fuse_conv_epilogue(graph: Graph, rewriter: Rewriter) -> Graph:
    """A convolution and what follows it, if nobody else reads that, become one operator on blocks.

    Before: ``relu(conv(x, w, b) + y)``. After: ``unpack(fused_conv(pack(x), w, b, pack(y), low=0))``. Convolutions in one dimension
    become such with a height of 1. What is packed that was unpacked just before is the blocks again. float32 only.
    """
    if Conv.name not in rewriter.native or rewriter.training:
        return graph
    readers = rewriter.readers(graph)
    taken: set[int] = set()
    ends: dict[int, tuple[Node, Epilogue]] = {}
    for node in graph.nodes:
        if node.means(Convolution, ConvolutionV1) and _suits(node, rewriter):
            epilogue = match_epilogue(Entry(node), readers, rewriter, taken)
            between = nodes_between(node, epilogue.last.node, readers)
            taken.update(map(id, (node, *between)))
            ends[id(epilogue.last.node)] = node, epilogue

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        if id(node) in ends:
            product, epilogue = ends[id(node)]
            residual = None if epilogue.residual is None else now(epilogue.residual)
            return _fuse(product, list(map(now, product.inputs)), epilogue, residual, rewriter)
        return GONE if id(node) in taken else None

    return rewriter.rewrite(graph, change) if ends else graph


def _suits(node: Node, rewriter: Rewriter) -> bool:
    op: Any = node.op
    own = Entry(node)
    if op.channels_last or len(op.kernel) > 2 or not rewriter.is_float32(own, *node.inputs):
        return False
    return all(0 not in rewriter.shape(e) for e in (own, *node.inputs))


def _fuse(product: Node, inputs: list[Entry], epilogue: Epilogue, residual: Entry | None, rewriter: Rewriter) -> Entry:
    """Fuse the convolution ``product`` with its epilogue."""
    op: Any = product.op
    wanted = rewriter.shape(Entry(product))
    flat = len(op.kernel) == 1
    data, weight, *bias = inputs
    channels = rewriter.shape(data)[1]
    blocked = channels > FEW or op.num_group > 1 or rewriter.in_blocks(data)
    front = (0,) * flat
    fused = Conv.bind(
        kernel=(1,) * flat + op.kernel, stride=(1,) * flat + op.strides, dilate=(1,) * flat + op.dilations,
        pad=front + op.pads, num_filter=op.num_filter, num_group=op.num_group, channels=channels, blocked=blocked,
        bias=bool(bias), **epilogue.attrs,
    )  # fmt: skip
    rest = [] if residual is None else [rewriter.pack(residual)]
    source = rewriter.pack(data) if blocked else rewriter.reshape(data, as_image(rewriter.shape(data)))
    weight = rewriter.reshape(weight, as_image(rewriter.shape(weight)))
    blocks = rewriter.make(fused, epilogue.last.node.name, source, weight, *bias, *rest)
    return rewriter.reshape(rewriter.unpack(blocks, op.num_filter), wanted)
