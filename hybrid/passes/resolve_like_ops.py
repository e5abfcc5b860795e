"""Replace *_like operators by their static form where shape and dtype are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.op import lookup
from ..ir.graph import Entry, Graph, Node
from ..ops import backward, creation, expand, reduce, shape
from ..ops.activation import Slopes
from ..ops.casting import Cast
from ..ops.detection import MultiBoxPrior
from ..ops.indexing import IndexArray
from ..ops.slicing import Slice, SliceLike
from .rewriter import Context

_RESHAPES = (shape.ReshapeLike, backward.ReshapeLike, reduce.Restore, Slopes)
_FROM_SHAPES = (creation.Like, creation.FullLike, creation.ArangeLike, creation.AboutShape, MultiBoxPrior, IndexArray)
"""Operators that read nothing of their input but its shape and dtype,"""
MOST = 1 << 20
"""and how many elements they may give to be computed once and kept."""
_FORMS = (
    backward.SumLike,
    backward.CastLike,
    backward.BroadcastLike,
    expand.BroadcastLike,
    SliceLike,
    reduce.OverCount,
)
_ALL = (*_RESHAPES, *_FORMS, *_FROM_SHAPES)


def state_forms(graph: Graph, context: Context) -> Graph:
    """Operators whose further inputs lend them nothing but a shape or a dtype become such that state it.

    Before: ``reshape_like(x, y)``, ``slice_like(x, y)``, ``broadcast_like(x, y)``, ``cast_like(x, y)``, for y (2, 3).
    After: ``reshape(x, (2, 3))``, ``slice(x, (0, 0), (2, 3))``, ``broadcast_to(x, (2, 3))``, ``cast(x, float32)``.
    Before: ``arange_like(x)``. After: ``arange_like(zeros)``, which is constant.
    """

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op: Any = node.op
        own = Entry(node)
        if not node.means(*_ALL) or context.is_constant(own) or not all(map(context.known, (own, *node.inputs))):
            return None
        wanted, source = context.shape(own), node.inputs[0]
        if 0 in wanted or 0 in context.shape(source):
            return None
        if node.means(*_RESHAPES):
            return context.reshape(now(source), wanted)
        if node.means(backward.SumLike):
            return now(source) if wanted == context.shape(source) else None
        if node.means(backward.CastLike):
            dtype = context.dtype(own)
            return (
                now(source)
                if dtype == context.dtype(source)
                else context.make(Cast.bind(dtype=dtype), node.name, now(source))
            )
        if node.means(backward.BroadcastLike, expand.BroadcastLike):
            have = context.shape(source)
            ranked = context.reshape(now(source), (1,) * (len(wanted) - len(have)) + have)
            return ranked if have == wanted else context.make(expand.BroadcastTo.bind(shape=wanted), node.name, ranked)
        if node.means(SliceLike):
            return context.make(Slice.bind(begin=(0,) * len(wanted), end=wanted), node.name, now(source))
        if node.means(reduce.OverCount):
            sizes = context.shape(node.inputs[1])
            count = math.prod(sizes[a] for a in op.axes(len(sizes))) - op.ddof
            inexact = context.dtype(own).kind not in "iub" and count  # type: ignore[union-attr]
            return (
                context.make(lookup("_div_scalar").bind(scalar=float(count)), node.name, now(source))
                if inexact
                else None
            )
        if node.means(*_FROM_SHAPES) and math.prod(wanted) <= MOST:
            zeros = lookup("_zeros").bind(shape=context.shape(source), dtype=context.dtype(source))
            return context.make(op, node.name, context.make(zeros, f"{node.name}_like"))
        return None

    return context.rewrite(graph, change)
