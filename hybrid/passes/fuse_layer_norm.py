"""Fuse layer normalization, and that by the root of the mean square, that exporters have written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..core.op import Op
from ..ir.graph import Entry, Graph, Node
from ..ops.binary import BinaryOp, BinaryScalarOp
from ..ops.elementwise import Unary
from ..ops.fused_norm import RMSNorm
from ..ops.normalization import LayerNorm
from ..ops.reduce import Mean, NpMean, NpSum, Sum
from .rewriter import Rewriter

_RATIOS = ("divide", "quotient")


def fuse_layer_norm(graph: Graph, rewriter: Rewriter) -> Graph:
    """Layer normalization over the last axis, written as its formula, becomes the operator.

    Before, with m the mean of x and v that of its squared deviation: ``(x - m) / sqrt(v + eps) * gamma + beta``, or
    ``x * g + (beta - m * g)`` with ``g = gamma / sqrt(v + eps)``. After: ``layer_norm(x, gamma, beta)``. float32 only, for constant
    gamma and beta.

    Likewise ``x / sqrt(mean(x**2) + eps) * gamma``, which becomes ``rms_norm(x, gamma)``.
    """
    if LayerNorm.name not in rewriter.native:
        return graph
    plain = RMSNorm.name in rewriter.native and not rewriter.training

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op: Any = node.op
        if not node.means(BinaryOp) or not rewriter.is_float32(Entry(node)):
            return None
        if plain and op.arithmetic.name == "multiply":
            return _by_root_mean_square(node, now, rewriter)
        if op.arithmetic.name != "add":
            return None
        for found in (_match_normalization(node, rewriter), _affine(node, rewriter)):
            if found is None:
                continue
            source, gamma, beta, eps = found
            size = rewriter.shape(source)[-1]
            vectors = [_vector(e, size, rewriter) for e in (gamma, beta)]
            if rewriter.shape(source) == rewriter.shape(Entry(node)) and None not in vectors:
                return rewriter.make(LayerNorm.bind(axis=-1, eps=eps), node.name, now(source), *vectors)  # type: ignore[arg-type]
        return None

    return rewriter.rewrite(graph, change)


def _by_root_mean_square(node: Node, now: Callable[[Entry], Entry], rewriter: Rewriter) -> Entry | None:
    """x / sqrt(mean(x**2) + eps) * gamma as the operator."""
    for unit, gamma in _either_way(node):
        if not rewriter.is_constant(gamma):
            continue
        for source, variance in _quotients(unit):
            op: Any = variance.node.op
            if not variance.node.means(BinaryScalarOp) or op.arithmetic.name != "add":
                continue
            square = _averaged(variance.node.inputs[0], rewriter)
            if square is None or _squared(square) != source or not rewriter.is_float32(source):
                continue
            vector = _vector(gamma, rewriter.shape(source)[-1], rewriter)
            if vector is not None and rewriter.shape(source) == rewriter.shape(Entry(node)):
                return rewriter.make(RMSNorm.bind(eps=op.scalar), node.name, now(source), vector)
    return None


_Found = tuple[Entry, Entry, Entry, float]
"""The entry that is normalized, gamma, beta and eps."""


def _match_normalization(node: Node, rewriter: Rewriter) -> _Found | None:
    """(x - m) / sqrt(v + eps) * gamma + beta."""
    for product, beta in _either_way(node):
        for unit, gamma in _either_way(_producer(product, "multiply")):
            for centered, scale in _quotients(unit):
                deviation = _deviation(scale, rewriter)
                if deviation and deviation[0] == centered and rewriter.is_constant(gamma):
                    return _source(centered, rewriter), gamma, beta, deviation[1]
    return None


def _affine(node: Node, rewriter: Rewriter) -> _Found | None:
    """x * g + (beta - m * g)."""
    for product, rest in _either_way(node):
        for source, factor in _either_way(_producer(product, "multiply")):
            for one, gamma in _either_way(_producer(factor, "multiply")):
                inverse = _inverse(one)
                deviation = _deviation(inverse, rewriter) if inverse and rewriter.is_constant(gamma) else None
                if deviation is None or _source(deviation[0], rewriter) != source:
                    continue
                mean = deviation[0].node.inputs[1]
                for beta, negated in _sums(rest):
                    for m, g in _either_way(_producer(negated, "multiply")):
                        negative = _producer(m, "negative")
                        if g == factor and (negative.inputs[0] if negative else None) == mean:
                            return source, gamma, beta, deviation[1]
                difference = _producer(rest, "subtract")
                if difference and any(
                    (m, g) == (mean, factor) for m, g in _either_way(_producer(difference.inputs[1], "multiply"))
                ):
                    return source, gamma, difference.inputs[0], deviation[1]
    return None


def _producer(entry: Entry, name: str) -> Node | None:
    """The node that makes the entry, if it applies the function of that name to all its inputs."""
    op: Any = entry.node.op
    function = op.unary_function if entry.node.means(Unary) else op.arithmetic if entry.node.means(BinaryOp) else None
    return entry.node if function is not None and function.name == name else None


def _either_way(node: Node | None) -> Iterator[tuple[Entry, Entry]]:
    """The inputs of a node that has two, in both orders."""
    if node is not None:
        first, second = node.inputs
        yield first, second
        yield second, first


def _sums(entry: Entry) -> Iterator[tuple[Entry, Entry]]:
    return _either_way(_producer(entry, "add"))


def _quotients(entry: Entry) -> Iterator[tuple[Entry, Entry]]:
    """(a, b) for an entry that is a / sqrt(b), however that is written."""
    node = _producer(entry, "divide")
    root = _producer(node.inputs[1], "sqrt") if node else None
    if node and root:
        yield node.inputs[0], root.inputs[0]
    for one, other in _either_way(_producer(entry, "multiply")):
        inverse = _inverse(other)
        if inverse:
            yield one, inverse


def _inverse(entry: Entry) -> Entry | None:
    """b of an entry that is 1 / sqrt(b)."""
    direct = _producer(entry, "rsqrt")
    if direct:
        return direct.inputs[0]
    op: Any = entry.node.op
    one_by = entry.node.means(BinaryScalarOp) and op.arithmetic.name in _RATIOS and op.reflected and op.scalar == 1
    reciprocal = entry.node if one_by else _producer(entry, "reciprocal")
    root = _producer(reciprocal.inputs[0], "sqrt") if reciprocal else None
    return root.inputs[0] if root else None


def _deviation(entry: Entry, rewriter: Rewriter) -> tuple[Entry, float] | None:
    """(x - m, eps) of an entry that is mean((x - m)**2) + eps with m the mean of x."""
    op: Any = entry.node.op
    if not entry.node.means(BinaryScalarOp) or op.arithmetic.name != "add":
        return None
    mean = _mean_of(entry.node.inputs[0], rewriter)
    centered = None if mean is None else _squared(mean)
    return (centered, op.scalar) if centered and _source(centered, rewriter) else None


def _squared(entry: Entry) -> Entry | None:
    """x of an entry that is x**2."""
    node = entry.node
    power: Any = node.op
    if node.means(BinaryScalarOp) and power.arithmetic.name == "power":
        return node.inputs[0] if not power.reflected and power.scalar == 2 else None
    product = _producer(entry, "multiply")
    if _producer(entry, "square") or (product and product.inputs[0] == product.inputs[1]):
        return node.inputs[0]
    return None


def _averaged(entry: Entry, rewriter: Rewriter) -> Entry | None:
    """x of an entry that is the mean of x along the last axis, which stays: or the sum, divided by how many there are."""
    node = entry.node
    op: Any = node.op
    if not node.means(BinaryScalarOp) or op.arithmetic.name not in _RATIOS or op.reflected:
        return _mean_of(entry, rewriter)
    found = _along_last(node.inputs[0], rewriter, Sum, NpSum)
    return found if found and rewriter.shape(found)[-1] == op.scalar else None


def _source(centered: Entry, rewriter: Rewriter) -> Any:
    """x of an entry that is x - mean(x); None when it is something else."""
    node = _producer(centered, "subtract")
    return node.inputs[0] if node and _mean_of(node.inputs[1], rewriter) == node.inputs[0] else None


def _mean_of(entry: Entry, rewriter: Rewriter) -> Entry | None:
    """x of an entry that is the mean of x along the last axis, which stays."""
    return _along_last(entry, rewriter, Mean, NpMean)


def _along_last(entry: Entry, rewriter: Rewriter, *reductions: type[Op]) -> Entry | None:
    """x of an entry that one of these reductions makes of x along the last axis, which stays."""
    node = entry.node
    op: Any = node.op
    if not node.means(*reductions) or not rewriter.is_float32(entry, *node.inputs) or not op.keepdims:
        return None
    rank = len(rewriter.shape(entry))
    axes = [a % rank for a in op.axis or ()]
    return node.inputs[0] if axes == [rank - 1] and not getattr(op, "exclude", False) else None


def _vector(entry: Entry, size: int, rewriter: Rewriter) -> Entry | None:
    """A constant that differs along the last axis only, with that axis alone."""
    if not rewriter.is_constant(entry) or not rewriter.is_float32(entry):
        return None
    *ones, last = rewriter.shape(entry) or (1,)
    return rewriter.reshape(entry, (size,)) if last == size and set(ones) <= {1} else None
