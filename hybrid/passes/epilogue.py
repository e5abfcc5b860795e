"""Epilogues: what products and convolutions apply to their results before they store them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.graph import Entry, Node
from ..ops.activation import Activation, LeakyReLU
from ..ops.binary import BinaryOp, BinaryScalarOp
from ..ops.elementwise import AddN, Clip, Unary
from .rewriter import Key, Rewriter


class Epilogue(NamedTuple):
    """Operations that follow a product, up to ``last``, and can be done in it.

    First residual is added, then negative values are multiplied by slope, then they are cut to low..high."""

    last: Entry
    residual: Entry | None = None
    slope: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def attrs(self) -> dict[str, Any]:
        """As the fused operators have them."""
        return {"residual": self.residual is not None, "slope": self.slope, "low": self.low, "high": self.high}

    @property
    def linear(self) -> bool:
        """True where no function follows yet."""
        return self.slope is None and self.low is None and self.high is None


def match_epilogue(
    product: Entry, readers: dict[Key, list[Node | None]], rewriter: Rewriter, taken: set[int]
) -> Epilogue:
    """All that follows the product in one line, each read by nobody but the next, and that can be done in the product.

    The residual never depends on the product: nobody else reads that. taken: nodes that are part of another product already."""
    found = Epilogue(product)
    while True:
        read = readers.get((id(found.last.node), found.last.index), ())
        node = read[0] if len(read) == 1 else None
        if node is None or id(node) in taken:
            return found
        after = _extend(found, node, rewriter)
        if after is None:
            return found
        found = after


def nodes_between(first: Node, last: Node, readers: dict[Key, list[Node | None]]) -> Sequence[Node]:
    """The nodes from first, exclusive, to last, each of which alone reads the one before."""
    found = []
    while first is not last:
        (reader,) = readers[id(first), 0]
        assert reader is not None
        first = reader
        found.append(first)
    return found


def _extend(found: Epilogue, node: Node, rewriter: Rewriter) -> Epilogue | None:
    """The epilogue with a node more; None when it cannot take that up."""
    op: Any = node.op
    own = Entry(node)
    if (node.means(BinaryOp) and op.arithmetic.name == "add") or (node.means(AddN) and op.num_args == 2):
        if found.residual is not None or not found.linear:
            return None
        other = node.inputs[1] if node.inputs[0] == found.last else node.inputs[0]
        alike = all(rewriter.is_float32(e) and rewriter.shape(e) == rewriter.shape(own) for e in (*node.inputs, own))
        return found._replace(last=own, residual=other) if alike else None
    if node.means(LeakyReLU) and op.act_type == "leaky":
        return found._replace(last=own, slope=op.slope) if found.linear else None
    limits = _limits(node)
    if limits is None:
        return None
    low, high = limits
    if low is not None and found.high is not None and found.high < low:
        return None
    if high is not None and found.low is not None and found.low > high:
        return None
    return found._replace(
        last=own,
        low=low if found.low is None else found.low if low is None else max(low, found.low),
        high=high if found.high is None else found.high if high is None else min(high, found.high),
    )


def _limits(node: Node) -> tuple[float | None, float | None] | None:
    """(least, greatest) of an operator that cuts values to these; None when it does something else."""
    op: Any = node.op
    if (node.means(Unary) and op.unary_function.name == "relu") or (node.means(Activation) and op.act_type == "relu"):
        return 0.0, None
    if node.means(Clip):
        low, high = map(float, op.bounds(np.dtype(np.float32)))
        return (low, high) if low <= high else None
    if node.means(BinaryScalarOp) and op.arithmetic.name in ("maximum", "minimum") and op.scalar == op.scalar:
        limit = float(np.float32(op.scalar))
        return (limit, None) if op.arithmetic.name == "maximum" else (None, limit)
    return None
