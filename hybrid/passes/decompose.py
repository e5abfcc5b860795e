"""Put compositions in the place of operators without a kernel, where what they are made of has kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.op import Op, Spec
from ..ir.compose import composition, expand, fused_form, infer_body, is_pure
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
    """Operators that nothing compiled computes become what they are composed of, if all of that is compiled, for their dtypes.

    Before: ``smooth_l1(x)``. After: ``where(abs(x) > 1, abs(x) - 0.5, square(x) * 0.5)``, which is one chain.
    """
    if FusedElementwise.name not in rewriter.native:
        return graph

    def is_compiled(op: Op, specs: Sequence[Spec], shape: tuple[int, ...] = (1,)) -> bool:
        if op.means(*_FREE) or (not op.input_names() and is_pure(op)):
            return True
        dtypes = [s.dtype for s in specs]
        if not dtypes or any(d is None for d in dtypes):
            return False
        if rewriter.has_kernel(op.name, dtypes[0]):
            return True
        return opcodes_of(op, shape, dtypes) is not None  # type: ignore[arg-type]

    def change(node: Node, now: Callable[[Entry], Entry]) -> Sequence[Entry] | None:
        op, own = node.op, Entry(node)
        assert op is not None
        if not node.inputs or not is_pure(op) or rewriter.is_constant(own):
            return None
        if not all(map(rewriter.is_known, (own, *node.inputs))) or 0 in rewriter.shape(own):
            return None
        specs = [rewriter.spec(e) for e in node.inputs]
        if op.refuses_values or is_compiled(op, specs):
            return None
        body = composition(op, specs) or fused_form(op, specs)
        if body is None:
            return None
        body = expand(body, infer_body(body, specs), lambda inner, given: not is_compiled(inner, given))
        known = infer_body(body, specs)
        for inner in body.nodes:
            given = [known.spec(e) for e in inner.inputs]
            if inner.op is not None and not is_compiled(inner.op, given, known.spec(Entry(inner)).shape or (1,)):  # type: ignore[arg-type]
                return None
        return rewriter.inline(body, {f"x{i}": now(e) for i, e in enumerate(node.inputs)}, node.name)

    return rewriter.rewrite(graph, change)
