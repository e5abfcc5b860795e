"""Fuse attention that exporters and networks have written out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.dims import has_dims
from ..core.op import lookup
from ..core.shapes import identical
from ..ir.graph import Entry, Graph, Node
from ..ops.binary import BinaryOp, BinaryScalarOp
from ..ops.casting import Cast
from ..ops.elementwise import DivSqrtDim, UnaryPredicate
from ..ops.expand import Broadcasting
from ..ops.fused_attention import PLAIN, FusedAttention
from ..ops.linear import (
    BatchDot,
    CrossAttentionScores,
    CrossAttentionValues,
    Gemm2,
    Matmul,
    SelfAttentionScores,
    SelfAttentionValues,
)
from ..ops.shape import Reshaping, Transpose
from ..ops.softmax import Softmax
from ..ops.where import NpWhere, WhereNumberFirst, WhereNumberSecond
from .rewriter import Rewriter

STANDARD = "_onnx_Attention"
"""An operator that is loaded when a graph has it."""
_PRODUCTS = (Matmul, BatchDot, Gemm2)
_PROJECTED = (1, 2, 0, 3)
"""Axes of batch, head, place and feature in what MXNet's interleaved operators take and give: (T, N, heads, D)."""


def fuse_attention(graph: Graph, rewriter: Rewriter) -> Graph:
    """Products of queries and keys, what masks them, their softmax and its product with values become one operator.

    Before: ``matmul(softmax(where(seen, matmul(q, transpose(k)) / 8, -inf) + mask), v)``. After: ``attention(q, k, v, seen,
    mask)``, which reads transposed operands as they lie, and heads of keys that were repeated once; a transpose of the result
    becomes the way in which it is written. MXNet's interleaved projections are read where they are. float32, in inference; nobody
    else may read what comes between. ONNX's Attention becomes the same, in float16 and bfloat16 too.
    """
    if FusedAttention.name not in rewriter.native or rewriter.training:
        return graph
    match = _Match(graph, rewriter)
    standard = None
    if any(n.op is not None and n.op.name == STANDARD for n in graph.nodes):
        from .onnx_attention import attention as standard

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | Sequence[Entry] | None:
        own = Entry(node)
        if standard is not None and node.op is not None and node.op.name == STANDARD:
            return standard(node, now, rewriter)
        if node.means(Transpose):
            return match.written(node, now)
        if not node.means(*_PRODUCTS, SelfAttentionValues, CrossAttentionValues) or not rewriter.is_float32(own):
            return None
        found = match.attention(node)
        if found is None:
            return None
        parts, mixed, result = found
        inputs = [now(p.entry) if p.shape is None else rewriter.reshape(now(p.entry), p.shape) for p in parts]
        for mask in (mixed.keep, mixed.added):
            if mask is not None:
                entry = rewriter.reshape(now(mask.entry), mask.shape)
                inputs.append(rewriter.make(_NOT, f"{node.name}_seen", entry) if mask.flipped else entry)
        op = FusedAttention.bind(
            query_axes=parts[0].axes, key_axes=parts[1].axes, value_axes=parts[2].axes, result_axes=result,
            scale=mixed.scale * parts[0].scale * parts[1].scale, keep=mixed.keep is not None,
            added=mixed.added is not None, fill=mixed.fill, blind=mixed.blind,
        )  # fmt: skip
        return rewriter.reshape(rewriter.make(op, node.name, *inputs), rewriter.shape(own))

    return rewriter.rewrite(graph, change)


_BOOL = np.dtype(bool)
_NOT = lookup("_npi_logical_not").bind()


class _Part(NamedTuple):
    """Queries, keys or values: an entry, in another shape or (None) its own, which of its axes are what, and a factor."""

    entry: Entry
    axes: tuple[int, ...]
    shape: Any = None
    scale: float = 1.0


class _Mask(NamedTuple):
    """An entry in a shape of four axes; ``flipped``, where it says what does not stay."""

    entry: Entry
    shape: Any
    flipped: bool = False


class _Mixed(NamedTuple):
    """The fate of scores between the first product, which it holds, and the second."""

    product: Node
    scale: float = 1.0
    keep: _Mask | None = None
    fill: float = -math.inf
    added: _Mask | None = None
    blind: str = "nan"


class _Match:
    """Finds attention in a graph, from its last product."""

    def __init__(self, graph: Graph, rewriter: Rewriter):
        self.rewriter, self.shape = rewriter, rewriter.shape
        self.readers = rewriter.readers(graph)

    def read(self, entry: Entry) -> int:
        """By how many it is read."""
        return len(self.readers.get((id(entry.node), entry.index), ()))

    def attention(self, node: Node) -> tuple[list[_Part], _Mixed, tuple[int, ...]] | None:
        """Queries, keys and values, what becomes of scores, and how the result lies."""
        op: Any = node.op
        projected = node.means(SelfAttentionValues, CrossAttentionValues)
        values, weights = node.inputs if projected else node.inputs[::-1]
        second = (False, 1.0) if projected else self.plain(node)
        rank = len(self.shape(weights))
        if second is None or second[1] != 1 or rank not in (3, 4) or self.read(weights) > 1:
            return None
        mixed = self.shares(weights) if self.rewriter.is_float32(weights, values) else None
        if mixed is None:
            return None
        own: Any = mixed.product.op
        q = k = None
        swapped = False
        if mixed.product.means(*_PRODUCTS):
            q, k = mixed.product.inputs
            first = self.plain(mixed.product)
            if first is None or not self.rewriter.is_float32(q, k):
                return None
            swapped = not first[0]
            mixed = mixed._replace(scale=mixed.scale * first[1])
        heads = self.heads(weights, q, own)
        if q is None or k is None:
            queries, keys, scale = self.projections(mixed.product)
            mixed = mixed._replace(scale=mixed.scale * scale)
        else:
            queries, keys = self.parts(q, heads), self.parts(k, heads, swapped=swapped, kept=True)
        if projected:
            count = 3 if node.means(SelfAttentionValues) else 2
            kept = [self.projection(values, op.heads, count, count - 1)]
        else:
            if len(self.shape(values)) != rank:
                return None
            kept = self.parts(values, heads, swapped=second[0], scaled=False, kept=True)
        masked = self.masked(mixed, heads)
        if masked is None or not queries:
            return None
        query = queries[-1]
        b, h, s, d = self.sizes(query)
        for key in reversed(keys):
            for value in reversed(kept):
                groups, t = self.sizes(key)[1:3]
                whole = identical((groups,), (h,)) or (not has_dims((groups, h)) and groups and h % groups == 0)
                if (
                    whole
                    and identical(self.sizes(key), (b, groups, t, d))
                    and identical(self.sizes(value)[:3], (b, groups, t))
                    and self.rewriter.dtype(key.entry) == self.rewriter.dtype(value.entry)
                    and identical(self.four(self.shape(weights), heads), (b, h, s, t))
                ):
                    return [query, key, value], masked, _PROJECTED if projected else PLAIN
        return None

    def written(self, node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        """The transpose of attention's result, written so."""
        source = node.inputs[0]
        while source.node.means(Reshaping) and self.read(source) == 1:
            source = source.node.inputs[0]
        made = now(source)
        while made.node.means(Reshaping):
            made = made.node.inputs[0]
        op: Any = made.node.op
        if not made.node.means(FusedAttention) or self.read(source) != 1:
            return None
        if not identical(self.shape(made), self.shape(node.inputs[0])):
            return None
        turn: Any = node.op
        order = turn.order(4)
        axes = tuple(order.index(a) for a in op.result_axes)
        if axes[3] != 3:
            return None
        attrs = {name: getattr(op, name) for name in op.fields}
        return self.rewriter.make(op.bind(**{**attrs, "result_axes": axes}), made.node.name, *made.node.inputs)

    @staticmethod
    def plain(product: Node) -> tuple[bool, float] | None:
        """(True where a product reads its right operand transposed, what it is multiplied by); None where it does more."""
        op: Any = product.op
        if product.means(Matmul):
            return False, 1.0
        if op.transpose_a or (product.means(Gemm2) and op.axis != -2):
            return None
        return op.transpose_b, float(op.alpha) if product.means(Gemm2) else 1.0

    # -- shapes ---------------------------------------------------------------------------------------------------------

    def sizes(self, part: _Part) -> tuple[Any, ...]:
        """Sizes of batch, head, place and feature."""
        shape = self.shape(part.entry) if part.shape is None else part.shape
        return tuple(shape[a] for a in part.axes[:4])

    @staticmethod
    def four(shape: Any, heads: Any) -> Any:
        """A shape of scores or of what is added to them, with four axes."""
        if len(shape) == 3:
            return (*((1, 1) if identical(shape[:1], (1,)) else heads), *shape[1:])
        return (*(1,) * (4 - len(shape)), *shape)

    def heads(self, weights: Entry, query: Entry | None, op: Any) -> Any:
        """(batch, heads), where the scores have them as one axis too."""
        shape = self.shape(weights)
        if query is None:
            return (shape[0] // op.heads, op.heads)
        entry = weights
        for entry in (*self.chain(weights), *self.chain(query)):
            found = self.shape(entry)
            if len(found) == 4 and (len(shape) == 4 or identical((found[0] * found[1],), shape[:1])):
                return found[:2]
        return (1, shape[0])

    def chain(self, entry: Entry) -> Iterator[Entry]:
        """The entry, and what its numbers come from one by one."""
        yield entry
        while entry.node.means(
            Softmax, Reshaping, BinaryOp, BinaryScalarOp, NpWhere, WhereNumberFirst, WhereNumberSecond
        ):
            if not entry.node.inputs:
                return
            inputs = [e for e in entry.node.inputs if self.rewriter.is_float32(e)]
            if not inputs:
                return
            entry = max(inputs, key=lambda e: len(self.shape(e)))
            yield entry

    # -- operands -------------------------------------------------------------------------------------------------------

    def parts(
        self, entry: Entry, heads: Any, swapped: bool = False, scaled: bool = True, kept: bool = False
    ) -> list[_Part]:
        """Ways to read an operand of a product, from the nearest to the farthest: behind transposes and factors, and of what is
        kept behind casts of halves."""
        rank = len(self.shape(entry))
        axes = [*range(rank)]
        if swapped:
            axes[-2:] = axes[:-3:-1]
        found: list[_Part] = []
        scale = 1.0
        while True:
            shape, node, op = self.shape(entry), entry.node, entry.node.op
            any_op: Any = op
            if len(shape) == 4 and axes[3] == 3:
                found.append(_Part(entry, tuple(axes), None, scale))
            elif len(shape) == 3 and axes[2] == 2:
                lead = axes[0]
                four = (*shape[:lead], *heads, *shape[lead + 1 :])
                found.append(_Part(entry, (lead, lead + 1, *(a + (a > lead) for a in axes[1:])), four, scale))
            if node.means(Transpose):
                axes = [any_op.order(len(shape))[a] for a in axes]
                entry = node.inputs[0]
            elif kept and node.means(Cast) and self.is_half(node.inputs[0]):
                entry = node.inputs[0]
            elif scaled and (factor := self.factor(node)) is not None:
                scale *= factor
                entry = node.inputs[0]
            elif node.means(Reshaping):
                source = self.shape(node.inputs[0])
                if not self.rewriter.is_known(node.inputs[0]):
                    return found
                if len(shape) == 3 and axes[0] == 0 and identical(source, (*heads, *shape[1:])):
                    axes, entry = [0, 1, axes[1] + 1, axes[2] + 1], node.inputs[0]
                elif len(shape) == 4 and (few := self.repeated(node)) is not None:
                    entry = few
                    if len(self.shape(entry)) == 5:
                        b, k, _, t, d = self.shape(entry)
                        return [*found, _Part(entry, tuple(axes), (b, k, t, d), scale)] if axes[3] == 3 else found
                else:
                    return found
            else:
                return found

    def is_half(self, entry: Entry) -> bool:
        """True for float16 and bfloat16 of a known shape."""
        dtype = self.rewriter.dtype(entry)
        return self.rewriter.is_known(entry) and dtype is not None and dtype.name in ("float16", "bfloat16")

    def repeated(self, node: Node) -> Entry | None:
        """The source of (B, K * G, T, D) that is repeated along the second axis: (B, K, T, D) or (B, K, 1, T, D)."""
        wide = node.inputs[0]
        if not wide.node.means(Broadcasting) or len(self.shape(wide)) != 5:
            return None
        source = wide.node.inputs[0]
        b, k, _, t, d = self.shape(wide)
        if not identical(self.shape(source), (b, k, 1, t, d)) or not identical(self.shape(Entry(node))[2:], (t, d)):
            return None
        if not identical(self.shape(Entry(node))[:1], (b,)):
            return None
        before = source.node.inputs[0] if source.node.means(Reshaping) else None
        return before if before is not None and identical(self.shape(before), (b, k, t, d)) else source

    def projection(self, entry: Entry, heads: int, count: int, place: int) -> _Part:
        """Of (T, N, heads * count * D), one part."""
        t, n, width = self.shape(entry)
        shape = (t, n, heads, count, width // (heads * count))
        return _Part(entry, (1, 2, 0, 4, place), shape)

    def projections(self, product: Node) -> tuple[list[_Part], list[_Part], float]:
        """Queries and keys of MXNet's operators, and how scores are scaled."""
        op: Any = product.op
        if product.means(SelfAttentionScores):
            (both,) = product.inputs
            parts = [self.projection(both, op.heads, 3, i) for i in range(2)]
        else:
            t, n, width = self.shape(product.inputs[0])
            queries = _Part(product.inputs[0], _PROJECTED, (t, n, op.heads, width // op.heads))
            parts = [queries, self.projection(product.inputs[1], op.heads, 2, 0)]
        depth = self.sizes(parts[0])[3]
        return ([], [], 1.0) if has_dims((depth,)) else ([parts[0]], [parts[1]], depth**-0.5)

    # -- scores ---------------------------------------------------------------------------------------------------------

    def factor(self, node: Node) -> float | None:
        """By which the node multiplies its first input."""
        op: Any = node.op
        if node.means(DivSqrtDim):
            size = self.shape(node.inputs[0])[-1]
            return None if has_dims((size,)) or not size else size**-0.5
        if node.means(BinaryScalarOp) and not op.reflected and self.rewriter.is_float32(*node.inputs):
            if op.arithmetic.name == "multiply":
                return float(op.scalar)
            if op.arithmetic.name in ("divide", "quotient") and op.scalar:
                return 1 / float(op.scalar)
        return None

    def shares(self, weights: Entry) -> _Mixed | None:
        """The softmax that makes the shares, the NaN of which may be made zeros, and what comes before it."""
        while weights.node.means(Reshaping) and self.splits(weights.node) and self.read(weights) == 1:
            weights = weights.node.inputs[0]
        node, op, blind, most = weights.node, weights.node.op, "nan", 1
        any_op: Any = op
        if node.means(WhereNumberFirst) and any_op.scalar == 0:
            odd, weights = node.inputs
            test: Any = odd.node.op
            if (
                not odd.node.means(UnaryPredicate)
                or test.unary_function.name != "isnan"
                or odd.node.inputs[0] != weights
            ):
                return None
            if self.read(odd) != 1:
                return None
            node, any_op, blind, most = weights.node, weights.node.op, "finite", 2
        if not node.means(Softmax) or self.read(weights) != most or any_op.use_length:
            return None
        source = node.inputs[0]
        rank = len(self.shape(source))
        if (
            any_op.axis % rank != rank - 1
            or any_op.temperature not in (None, 1)
            or not self.rewriter.is_float32(source)
        ):
            return None
        found = self.scores(source)
        return found and found._replace(blind=blind)

    def splits(self, node: Node) -> bool:
        """True where a reshape splits or joins the axes before the last two."""
        shapes = self.shape(node.inputs[0]), self.shape(Entry(node))
        return all(s is not None and len(s) in (3, 4) for s in shapes) and identical(shapes[0][-2:], shapes[1][-2:])

    def scores(self, entry: Entry, late: bool = False) -> _Mixed | None:
        """The product that gives the scores, and what comes behind it; late: nothing is added any more."""
        node, op = entry.node, entry.node.op
        any_op: Any = op
        if self.read(entry) != 1 or not self.rewriter.is_float32(entry):
            return None
        if node.means(*_PRODUCTS, SelfAttentionScores, CrossAttentionScores):
            return _Mixed(node)
        if node.means(Reshaping):
            return self.scores(node.inputs[0], late) if self.splits(node) else None
        if node.means(BinaryOp) and any_op.arithmetic.name == "add" and not late:
            for scores, mask in (node.inputs, node.inputs[::-1]):
                if identical(self.shape(scores), self.shape(entry)) and self.rewriter.is_float32(mask):
                    found = self.scores(scores, late=True)
                    if found is not None:
                        return found._replace(added=_Mask(mask, (self.shape(mask), len(self.shape(entry)))))
            return None
        if node.means(WhereNumberFirst, WhereNumberSecond):
            condition, scores = node.inputs
            return self.kept(condition, scores, entry, float(any_op.scalar), node.means(WhereNumberFirst))
        factor = self.factor(node)
        found = self.scores(node.inputs[0], late=True) if factor is not None else None
        if found is None or found.keep is not None or found.added is not None:
            return None
        return found._replace(scale=found.scale * factor)  # type: ignore[operator]

    def kept(self, condition: Entry, scores: Entry, entry: Entry, fill: float, flipped: bool) -> _Mixed | None:
        """The scores where a condition has them stay."""
        test: Any = condition.node.op
        if flipped and condition.node.means(UnaryPredicate) and test.unary_function.name == "logical_not":
            condition, flipped = condition.node.inputs[0], False
        known = self.rewriter.is_known(condition) and self.rewriter.dtype(condition) == _BOOL
        if not known or not identical(self.shape(scores), self.shape(entry)):
            return None
        found = self.scores(scores, late=True)
        if found is None or found.keep is not None or found.added is not None:
            return None
        shape = self.shape(condition), len(self.shape(entry))
        return found._replace(keep=_Mask(condition, shape, flipped), fill=fill)

    def masked(self, mixed: _Mixed, heads: Any) -> _Mixed | None:
        """The same with masks in shapes of four axes."""

        def four(mask: _Mask | None) -> _Mask | None:
            if mask is None:
                return None
            shape, rank = mask.shape
            whole = (*(1,) * (rank - len(shape)), *shape)
            return mask._replace(shape=self.four(whole, heads))

        masks = [four(m) for m in (mixed.keep, mixed.added)]
        if any(m is not None and 0 in m.shape for m in masks):
            return None
        return mixed._replace(keep=masks[0], added=masks[1])
