"""Put compositions in the place of operators without a kernel, where what they are made of has kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..core.op import Op
from ..ir.compose import composition, expand, infer_body, is_pure
from ..ir.graph import Entry, Graph, Node
from ..ops.creation import Filled, FullLike, Like, Range
from ..ops.elementwise import Identity, IdentityLike
from ..ops.fused import FusedElementwise
from ..ops.shape import Reshaping
from .elementwise_code import opcodes_of
from .rewriter import Rewriter

_FREE = (Reshaping, Identity, IdentityLike, Filled, Like, FullLike, Range)
"""Operators that only rename memory, or are computed once and kept."""


def decompose(graph: Graph, rewriter: Rewriter) -> Graph:
    """Operators on float32 that nothing compiled computes become what they are composed of, if all of that is compiled.

    Before: ``smooth_l1(x)``. After: ``where(abs(x) > 1, abs(x) - 0.5, square(x) * 0.5)``, which is one chain.
    """
    if FusedElementwise.name not in rewriter.native:
        return graph

    def is_compiled(op: Op, shape: tuple[int, ...] = (1,), single: bool = True) -> bool:
        return op.name in rewriter.native or op.means(*_FREE) or (single and opcodes_of(op, shape) is not None)

    def change(node: Node, now: Callable[[Entry], Entry]) -> Sequence[Entry] | None:
        op, own = node.op, Entry(node)
        assert op is not None
        if is_compiled(op) or not node.inputs or not is_pure(op) or rewriter.is_constant(own):
            return None
        if not rewriter.is_float32(own, *node.inputs) or 0 in rewriter.shape(own):
            return None
        specs = [rewriter.spec(e) for e in node.inputs]
        body = composition(op, specs)
        if body is None:
            return None
        body = expand(body, infer_body(body, specs), lambda inner: not is_compiled(inner))
        known = infer_body(body, specs)
        for inner in body.nodes:
            spec = known.spec(Entry(inner))
            if inner.op is not None and not is_compiled(inner.op, spec.shape or (1,), spec.dtype == np.float32):
                return None
        return rewriter.inline(body, {f"x{i}": now(e) for i, e in enumerate(node.inputs)}, node.name)

    return rewriter.rewrite(graph, change)
