"""Replace *_like operators by their static form where shape and dtype are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dims import has_dims
from ..core.op import lookup
from ..ir.graph import Entry, Graph, Node
from ..ops import backward, creation, expand, reduce, shape
from ..ops.activation import Slopes
from ..ops.binary import DivScalar
from ..ops.casting import Cast
from ..ops.detection import MultiBoxPrior
from ..ops.indexing import IndexArray, Take
from ..ops.slicing import Slice, SliceLike
from .rewriter import Rewriter

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


def resolve_like_ops(graph: Graph, rewriter: Rewriter) -> Graph:
    """Operators whose further inputs lend them nothing but a shape or a dtype become such that state it.

    Before: ``reshape_like(x, y)``, ``slice_like(x, y)``, ``broadcast_like(x, y)``, ``cast_like(x, y)``, for y (2, 3).
    After: ``reshape(x, (2, 3))``, ``slice(x, (0, 0), (2, 3))``, ``broadcast_to(x, (2, 3))``, ``cast(x, float32)``.
    Before: ``_onnx_Expand(x, s)`` and ``_onnx_Slice(x, s, ...)``, for tensors s that are known. After: as above.
    Before: ``_onnx_Compress(x, condition)``, for a condition that is known. After: ``take(x, places)``.
    Before: ``arange_like(x)``. After: ``arange_like(zeros)``, which is constant.
    """

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op: Any = node.op
        own = Entry(node)
        if (
            not (op.static_form or node.means(*_ALL))
            or rewriter.is_constant(own)
            or not all(map(rewriter.is_known, (own, *node.inputs)))
        ):
            return None
        wanted, source = rewriter.shape(own), node.inputs[0]
        if 0 in wanted or 0 in rewriter.shape(source):
            return None
        if node.means(*_RESHAPES):
            return rewriter.reshape(now(source), wanted)
        if node.means(backward.SumLike):
            return now(source) if wanted == rewriter.shape(source) else None
        if node.means(backward.CastLike):
            dtype = rewriter.dtype(own)
            return (
                now(source)
                if dtype == rewriter.dtype(source)
                else rewriter.make(Cast.bind(dtype=dtype), node.name, now(source))
            )
        if node.means(backward.BroadcastLike, expand.BroadcastLike) or op.static_form == expand.BroadcastTo.name:
            have = rewriter.shape(source)
            ranked = rewriter.reshape(now(source), (1,) * (len(wanted) - len(have)) + have)
            return ranked if have == wanted else rewriter.make(expand.BroadcastTo.bind(shape=wanted), node.name, ranked)
        if op.static_form == Slice.name:
            held = [rewriter.values.get((id(e.node), e.index)) for e in node.inputs[1:]]
            if any(v is None for v in held):
                return None
            index = op.part(rewriter.shape(source), *op.by_input((None, *held))[1:])
            ends = {"begin": tuple(i.start for i in index), "end": tuple(i.stop for i in index)}
            return rewriter.make(Slice.bind(**ends, step=tuple(i.step for i in index)), node.name, now(source))
        if op.static_form == Take.name:
            condition = rewriter.values.get((id(node.inputs[1].node), node.inputs[1].index))
            if condition is None or condition.dtype != bool:
                return None
            flat = (
                rewriter.reshape(now(source), (math.prod(rewriter.shape(source)),)) if op.axis is None else now(source)
            )
            places = rewriter.make(
                lookup("_onnx_Constant").bind(value=np.flatnonzero(condition)), f"{node.name}_places"
            )
            take = Take.bind(axis=op.axis or 0, mode="raise")
            return rewriter.make(take, node.name, flat, places)
        if node.means(SliceLike):
            return rewriter.make(Slice.bind(begin=(0,) * len(wanted), end=wanted), node.name, now(source))
        if node.means(reduce.OverCount):
            sizes = rewriter.shape(node.inputs[1])
            count = math.prod(sizes[a] for a in op.axes(len(sizes))) - op.ddof
            inexact = rewriter.dtype(own).kind not in "iub" and count  # type: ignore[union-attr]
            return rewriter.make(DivScalar.bind(scalar=float(count)), node.name, now(source)) if inexact else None
        if op.static_form == creation.Full.name:
            value = op.value.item()
            if not has_dims(wanted) or isinstance(value, complex) or float(value) != value:
                return None
            return rewriter.make(creation.Full.bind(shape=wanted, value=float(value), dtype=op.value.dtype), node.name)
        if rewriter.traced and has_dims(wanted):
            if not node.means(creation.Like):
                return None
            full = creation.Full.bind(shape=wanted, value=op.fill, dtype=rewriter.dtype(own))
            return rewriter.make(full, node.name)
        if math.prod(wanted) <= MOST:  # _FROM_SHAPES
            zeros = creation.Zeros.bind(shape=rewriter.shape(source), dtype=rewriter.dtype(source))
            return rewriter.make(op, node.name, rewriter.make(zeros, f"{node.name}_like"))
        return None

    return rewriter.rewrite(graph, change)
