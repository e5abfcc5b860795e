"""Fuse element-wise operators into chains, each one pass over memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ..core.shapes import broadcast
from ..ir.graph import Entry, Graph, Node
from ..ops.activation import LeakyReLU
from ..ops.casting import Cast
from ..ops.creation import Filled, Like
from ..ops.expand import Broadcasting
from ..ops.fused import FusedElementwise, arity
from ..ops.where import Where
from .elementwise_code import is_cast, number, opcodes_of
from .rewriter import GONE, Rewriter

MOST_OPERANDS = 6
"""Limits of a kernel: operands,"""
DEEPEST = 8
"""intermediate results,"""
LONGEST = 48
"""and opcodes."""


class _Expression(NamedTuple):
    """A chain's program: opcodes, in which ``$2`` is the third operand."""

    opcodes: tuple[str, ...]
    operands: tuple[Entry, ...]
    nodes: frozenset[Node]
    """Those that it stands for."""

    @property
    def fits(self) -> bool:
        """True where one chain can do it."""
        deepest = depth = 0
        for opcode in self.opcodes:
            depth += 1 - arity(opcode)
            deepest = max(deepest, depth)
        return deepest <= DEEPEST and len(self.operands) <= MOST_OPERANDS and len(self.opcodes) <= LONGEST


class _NodeProgram(NamedTuple):
    """A node's program on each element: opcodes, and what they are applied to."""

    opcodes: list[str]
    inputs: Sequence[_Expression | Entry]


def fuse_elementwise(graph: Graph, rewriter: Rewriter) -> Graph:
    """Element-wise operators become chains; one whose result nobody but another of the same shape reads goes into that.

    Before: ``relu((x + y) * 2)``. After: ``chain(x, y, "$0 $1 add 2 mul relu")``. What is read twice in a chain is written twice;
    the kernel computes it once. Arrays of one number, and what only repeats numbers along axes, are not made for chains. Dtypes
    may differ within one; a cast alone is none. Not what is constant.
    """
    if FusedElementwise.name not in rewriter.native:
        return graph
    readers = rewriter.readers(graph)
    programs: dict[Node, _NodeProgram] = {}
    for node in graph.nodes:
        found = _program_of(node, rewriter)
        if found is not None:
            programs[node] = found
    waiting: dict[Node, _Expression] = {}
    made: dict[Entry, tuple[Node, _Expression]] = {}

    def make(node: Node, expression: _Expression) -> Entry:
        op = FusedElementwise.bind(num_args=len(expression.operands), code=" ".join(expression.opcodes))
        entry = rewriter.make(op, node.name, *expression.operands)
        made[entry] = node, expression
        return entry

    def inline_chains(expression: _Expression, shape: tuple[int, ...]) -> _Expression:
        """The expression with those chains put in that nobody else reads."""
        if len(expression.opcodes) > LONGEST:  # and longer it would get
            return expression
        for entry in expression.operands:
            node, part = made.get(entry, (None, None))
            if node is None or part is None or rewriter.shape(entry) != shape:
                continue
            if all(reader in expression.nodes for reader in readers[id(node), 0]):
                inputs = [part if e == entry else e for e in expression.operands]
                whole = _combine(expression.opcodes, inputs, expression.nodes)
                if whole.fits:
                    return inline_chains(whole, shape)
        return expression

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        known = programs.get(node)
        if known is None:
            return None
        opcodes, sources = known
        inputs = [e if isinstance(e, _Expression) else waiting.get(e.node) or now(e) for e in sources]
        found = _combine(opcodes, inputs, {node})
        never = len(opcodes) > LONGEST  # then to look after each part would take the square of their number
        for i, part in enumerate(inputs):
            if not never and found.fits:
                break
            if isinstance(part, _Expression) and part.operands:
                # too much for one: what came before becomes one of its own
                inputs[i] = make(node.inputs[i].node, part)
                found = found if never else _combine(opcodes, inputs, {node})
        if never:
            found = _combine(opcodes, inputs, {node})
        shape = rewriter.shape(Entry(node))
        found = inline_chains(found, shape)
        alone = node.means(Cast) and is_cast(found.opcodes) and found.operands == (now(node.inputs[0]),)
        reader, *more = readers[id(node), 0]
        if reader in programs and not more and rewriter.shape(Entry(reader)) == shape:  # type: ignore[arg-type]
            waiting[node] = found
            return GONE
        return None if alone else make(node, found)

    return rewriter.rewrite(graph, change) if programs else graph


def _program_of(node: Node, rewriter: Rewriter) -> _NodeProgram | None:
    """The node's program on each element, if a chain can do that to its inputs."""
    if node.op is None or not node.inputs or len(node.op.output_names()) != 1:
        return None
    own = Entry(node)
    if not all(map(rewriter.is_known, (own, *node.inputs))) or rewriter.is_constant(own):
        return None
    dtypes = [rewriter.dtype(e) for e in node.inputs]
    opcodes = opcodes_of(node.op, rewriter.shape(own), dtypes)  # type: ignore[arg-type]
    if opcodes is None:
        return None
    inputs = _broadcast_inputs(node, rewriter)
    chosen: list[_Expression | Entry] = [*inputs]
    for i, entry in enumerate(inputs):
        # what is only spread out, or the same number everywhere, need not be made; unless nothing else has the shape
        chosen[i] = _strip_broadcast(entry, rewriter)
        if chosen[i] is not entry and _spread(chosen, rewriter) != rewriter.shape(own):
            chosen[i] = entry
    return _NodeProgram(opcodes, chosen) if _spread(chosen, rewriter) == rewriter.shape(own) else None


def _spread(inputs: Sequence[_Expression | Entry], rewriter: Rewriter) -> tuple[int, ...] | None:
    """The shape that inputs broadcast to; None when all are numbers."""
    shapes = [rewriter.shape(e) for e in inputs if isinstance(e, Entry)]
    return functools.reduce(lambda a, b: a if a == b else broadcast(a, b), shapes) if shapes else None


def _broadcast_inputs(node: Node, rewriter: Rewriter) -> Sequence[Entry]:
    """The inputs so that they broadcast as NumPy has it."""
    first, *rest = node.inputs
    if node.means(LeakyReLU) and rest:  # a slope for each channel
        rank, slopes = len(rewriter.shape(first)), rewriter.shape(rest[0])
        if rank > 2 and slopes != (1,):
            return first, rewriter.reshape(rest[0], (*slopes, *(1,) * (rank - 2)))
    if node.means(Where) and rewriter.shape(first) != rewriter.shape(rest[0]):  # a condition for each row
        return rewriter.reshape(first, (*rewriter.shape(first), *(1,) * (len(rewriter.shape(rest[0])) - 1))), *rest
    return node.inputs


def _strip_broadcast(entry: Entry, rewriter: Rewriter) -> _Expression | Entry:
    """The number that all elements are, what was repeated to make the entry, or the entry."""
    node = entry.node
    if node.means(Broadcasting) and len(rewriter.shape(node.inputs[0])) == len(rewriter.shape(entry)):
        return node.inputs[0]
    if node.means(Like, Filled):
        op: Any = node.op
        dtype: Any = rewriter.dtype(entry)
        return _Expression((number(op.fill, dtype),), (), frozenset())
    return entry


def _combine(opcodes: Sequence[str], inputs: Sequence[_Expression | Entry], nodes: Collection[Node]) -> _Expression:
    """The opcodes applied to inputs, expressions put in where they are used."""
    operands: dict[Entry, int] = {}
    out: list[str] = []

    def place(entry: Entry) -> str:
        return f"${operands.setdefault(entry, len(operands))}"

    for opcode in opcodes:
        if opcode[0] != "$":
            out.append(opcode)
            continue
        part = inputs[int(opcode[1:])]
        if isinstance(part, _Expression):
            places = [place(e) for e in part.operands]
            out += [places[int(w[1:])] if w[0] == "$" else w for w in part.opcodes]
        else:
            out.append(place(part))
    parts = (p.nodes for p in inputs if isinstance(p, _Expression))
    return _Expression(tuple(out), tuple(operands), frozenset(nodes).union(*parts))
