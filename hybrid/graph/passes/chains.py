"""Element-wise operators one after the other, in one pass over memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...ops.activation import LeakyReLU
from ...ops.fused import CODE, Chain
from ...shapes import is_known
from ..graph import Entry, Graph, Node
from .context import GONE, Context
from .words import meaning

MOST_OPERANDS = 6
"""What a kernel keeps at hand: pointers to inputs,"""
DEEPEST = 8
"""and intermediate results."""


class _Expression(NamedTuple):
    """What a chain computes: words, in which ``$2`` is the third operand."""

    words: tuple[str, ...]
    operands: tuple[Entry, ...]

    @property
    def depth(self) -> int:
        """How many intermediate results there are at once."""
        deepest = depth = 0
        for word in self.words:
            depth += 1 - (CODE[word][0] if word in CODE else 0)
            deepest = max(deepest, depth)
        return deepest


def chain(graph: Graph, context: Context) -> Graph:
    """Element-wise operators become chains; one whose result nobody but another of the same shape reads goes into that.

    Before: ``relu((x + y) * 2)``. After: ``chain(x, y, "$0 $1 add 2 mul relu")``. float32 only, and not what is constant.
    """
    if Chain.name not in context.native:
        return graph
    readers = context.readers(graph)
    meanings: dict[int, list[str]] = {}
    for node in graph.nodes:
        words = _meaning(node, context)
        if words is not None:
            meanings[id(node)] = words
    waiting: dict[int, _Expression] = {}

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        words = meanings.get(id(node))
        if words is None:
            return None
        own = Entry(node)
        inputs = [waiting.get(id(e.node)) or now(e) for e in _fitted(node, context)]
        found = _combined(words, inputs)
        for i, part in enumerate(inputs):
            if len(found.operands) <= MOST_OPERANDS and found.depth <= DEEPEST:
                break
            if isinstance(part, _Expression):  # too much for one: what came before becomes one of its own
                inputs[i] = _made(part, node.inputs[i].node, context)
                found = _combined(words, inputs)
        read = readers.get((id(node), 0), [None])
        reader = read[0] if len(read) == 1 else None
        if reader is not None and _single(meanings.get(id(reader)), reader, node) and _alike(own, Entry(reader), context):
            waiting[id(node)] = found
            return GONE
        return _made(found, node, context)

    return context.rewrite(graph, change) if meanings else graph


def _made(expression: _Expression, node: Node, context: Context) -> Entry:
    op = Chain.bind(num_args=len(expression.operands), code=" ".join(expression.words))
    return context.make(op, node.name, *expression.operands)


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


def _alike(entry: Entry, other: Entry, context: Context) -> bool:
    return context.shape(entry) == context.shape(other)


def _single(words: list[str] | None, reader: Node, source: Node) -> bool:
    """Whether the words of the reader use what the source gives once only; else it would be computed again."""
    if words is None:
        return False
    place = next(i for i, e in enumerate(reader.inputs) if e.node is source)
    return words.count(f"${place}") == 1


def _combined(words: Sequence[str], inputs: Sequence[_Expression | Entry]) -> _Expression:
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
    return _Expression(tuple(out), tuple(operands))
