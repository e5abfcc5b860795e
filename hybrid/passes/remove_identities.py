"""Remove identities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.shapes import is_known
from ..ir.graph import Entry, Graph, Node
from ..ops.casting import Cast
from ..ops.elementwise import AddN, Identity, IdentityLike
from ..ops.expand import Broadcasting, NumpyPad, Pad, Repeat, Tile
from ..ops.join import Joining
from ..ops.normalization import Dropout
from ..ops.shape import Permutation, Reshaping, Transpose
from ..ops.slicing import SliceAxis, SliceLike
from .rewriter import Rewriter

_SAME = (Identity, IdentityLike)
"""Operators that pass their first input on."""
_SAME_IF_ALIKE = (Cast, Reshaping, Broadcasting, Tile, Repeat, Pad, NumpyPad, Joining, SliceAxis, SliceLike)
"""Operators that pass their first input on whenever the result has its shape and dtype."""
_MOVES = (*_SAME_IF_ALIKE, Permutation)


def remove_identities(graph: Graph, rewriter: Rewriter) -> Graph:
    """Leave out what passes its input on; reshapes after reshapes and transposes after transposes become one, or nothing.

    Before: ``identity(x)``, ``dropout(x)`` in inference, ``cast(x)`` to its own dtype, ``reshape(x)`` to its own shape, a
    concatenation of one, ``transpose(transpose(x, (1, 0)), (1, 0))``. After: ``x``.
    """

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        op: Any = node.op
        own = Entry(node)
        if not node.inputs:
            return None
        source = node.inputs[0]
        if node.means(*_SAME):
            return now(source)
        if node.means(Dropout):
            return now(source) if not op.draws(rewriter.training) and Entry(node, 1) not in read else None
        if node.means(AddN) and op.num_args == 1:
            return now(source)
        if not node.means(*_MOVES) or not (rewriter.is_known(own) and rewriter.is_known(source)):
            return None
        shape = rewriter.shape(own)
        if node.means(*_SAME_IF_ALIKE) and rewriter.spec(own) == rewriter.spec(source):
            return now(source)
        if node.means(Reshaping) and 0 not in shape:
            return rewriter.reshape(now(source), shape) if _detours(node) else None
        if node.means(Permutation):
            return _compose_permutation(now(source), list(op.order(len(shape))), node, rewriter)
        return None

    read = {e for n in graph.nodes for e in n.inputs if e.index} | set(graph.outputs)
    return rewriter.rewrite(graph, change)


def _detours(node: Node) -> bool:
    """True where a reshape asks another array for its shape, or reshapes what has been reshaped."""
    first, *others = node.inputs
    return bool(others) or first.node.means(Reshaping)


def _compose_permutation(source: Entry, order: list[int], node: Node, rewriter: Rewriter) -> Entry | None:
    """Compose a transpose with those before it, to a reshape where that is enough; None for the node itself."""
    while source.node.means(Permutation) and is_known(rewriter.shape(source.node.inputs[0])):
        before: Any = source.node.op
        inner = before.order(len(order))
        order = [inner[a] for a in order]
        source = source.node.inputs[0]
    shape = rewriter.shape(source)
    if order == list(range(len(order))):
        return source
    if [a for a in order if shape[a] != 1] == [a for a in range(len(shape)) if shape[a] != 1] and 0 not in shape:
        return rewriter.reshape(source, tuple(shape[a] for a in order))
    if source is node.inputs[0]:
        return None
    return rewriter.make(Transpose.bind(axes=tuple(order)), node.name, source)
