"""Element-wise operators one after the other, in one pass over memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from ...ops.activation import LeakyReLU
from ...ops.fused import CODE, Chain
from ..graph import Entry, Graph, Node
from .context import GONE, Context
from .words import meaning

MOST_OPERANDS = 6
"""What a kernel keeps at hand: pointers to inputs,"""
DEEPEST = 8
"""intermediate results,"""
LONGEST = 48
"""and how many words."""


class _Expression(NamedTuple):
    """What a chain computes: words, in which ``$2`` is the third operand."""

    words: tuple[str, ...]
    operands: tuple[Entry, ...]
    nodes: frozenset[Node]
    """Those that it stands for."""

    @property
    def fits(self) -> bool:
        """Whether one chain can do it."""
        deepest = depth = 0
        for word in self.words:
            depth += 1 - (CODE[word][0] if word in CODE else 0)
            deepest = max(deepest, depth)
        return deepest <= DEEPEST and len(self.operands) <= MOST_OPERANDS and len(self.words) <= LONGEST


def chain(graph: Graph, context: Context) -> Graph:
    """Element-wise operators become chains; one whose result nobody but another of the same shape reads goes into that.

    Before: ``relu((x + y) * 2)``. After: ``chain(x, y, "$0 $1 add 2 mul relu")``. What is read twice in a chain is written twice; the
    kernel computes it once. float32 only, and not what is constant.
    """
    if Chain.name not in context.native:
        return graph
    readers = context.readers(graph)
    meanings: dict[Node, list[str]] = {}
    for node in graph.nodes:
        words = _meaning(node, context)
        if words is not None:
            meanings[node] = words
    waiting: dict[Node, _Expression] = {}
    made: dict[Entry, tuple[Node, _Expression]] = {}

    def make(node: Node, expression: _Expression) -> Entry:
        op = Chain.bind(num_args=len(expression.operands), code=" ".join(expression.words))
        entry = context.make(op, node.name, *expression.operands)
        made[entry] = node, expression
        return entry

    def shared(expression: _Expression, shape: tuple[int, ...]) -> _Expression:
        """The expression with those chains put in that nobody else reads."""
        for entry in expression.operands:
            node, part = made.get(entry, (None, None))
            if node is None or part is None or context.shape(entry) != shape:
                continue
            if all(reader in expression.nodes for reader in readers[id(node), 0]):
                inputs = [part if e == entry else e for e in expression.operands]
                whole = _combined(expression.words, inputs, expression.nodes)
                if whole.fits:
                    return shared(whole, shape)
        return expression

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        words = meanings.get(node)
        if words is None:
            return None
        inputs: list[_Expression | Entry] = [waiting.get(e.node) or now(e) for e in _fitted(node, context)]
        found = _combined(words, inputs, {node})
        for i, part in enumerate(inputs):
            if found.fits:
                break
            if isinstance(part, _Expression):  # too much for one: what came before becomes one of its own
                inputs[i] = make(node.inputs[i].node, part)
                found = _combined(words, inputs, {node})
        shape = context.shape(Entry(node))
        found = shared(found, shape)
        reader, *more = readers[id(node), 0] if (id(node), 0) in readers else [None]
        if reader in meanings and not more and context.shape(Entry(reader)) == shape:  # type: ignore[arg-type]
            waiting[node] = found
            return GONE
        return make(node, found)

    return context.rewrite(graph, change) if meanings else graph


def _meaning(node: Node, context: Context) -> list[str] | None:
    """What the node does to each element, if a chain can do that to its inputs."""
    if node.op is None or not node.inputs or len(node.op.returns()) != 1:
        return None
    words = meaning(node.op)
    own = Entry(node)
    if words is None or context.is_constant(own) or not context.is_float32(own, *node.inputs):
        return None
    shapes = [context.shape(e) for e in _fitted(node, context)]
    try:
        return words if np.broadcast_shapes(*shapes) == context.shape(own) else None
    except ValueError:  # a condition that chooses rows
        return None


def _fitted(node: Node, context: Context) -> Sequence[Entry]:
    """The inputs so that they broadcast as NumPy has it."""
    if isinstance(node.op, LeakyReLU) and len(node.inputs) == 2:
        data, slopes = node.inputs
        rank, (count,) = len(context.shape(data)), context.shape(slopes)
        if rank > 2 and count > 1:
            return data, context.reshape(slopes, (count, *(1,) * (rank - 2)))
    return node.inputs


def _combined(
    words: Sequence[str], inputs: Sequence[_Expression | Entry], nodes: Collection[Node]
) -> _Expression:
    """The words applied to inputs, expressions put in where they are used."""
    operands: dict[Entry, int] = {}
    out: list[str] = []

    def place(entry: Entry) -> str:
        return f"${operands.setdefault(entry, len(operands))}"

    for word in words:
        if word[0] != "$":
            out.append(word)
            continue
        part = inputs[int(word[1:])]
        if isinstance(part, _Expression):
            places = [place(e) for e in part.operands]
            out += [places[int(w[1:])] if w[0] == "$" else w for w in part.words]
        else:
            out.append(place(part))
    parts = (p.nodes for p in inputs if isinstance(p, _Expression))
    return _Expression(tuple(out), tuple(operands), frozenset(nodes).union(*parts))
