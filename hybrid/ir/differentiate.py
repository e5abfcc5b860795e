"""Derivatives: what operators' gradient rules say, and the graph that computes the gradients of a graph.

A rule (``Op.gradient``, or what follows from ``Op.composition``) is a program on expressions (build.py). It is traced once per
operator with its attributes, into a small graph whose variables are the gradients of the outputs, the inputs and the outputs.
Autograd runs that graph node by node; here such graphs are joined into the backward graph of a whole network. Either can be
differentiated again.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..core.error import OpError
from ..core.functions import unknown_arguments
from ..core.op import BACKWARD, INSTANCES, Op, lookup
from ..ops.creation import OnesLike, ZerosLike
from ..ops.elementwise import AddN
from . import build
from .compose import composition
from .graph import Entry, Graph, Node
from .infer import infer
from .kept_draws import repeatable


class GradientRule(NamedTuple):
    """A traced gradient rule."""

    graph: Graph
    """Its outputs are the gradients of the inputs that have one."""
    inputs: tuple[int, ...]
    """Numbers of those inputs."""
    heads: tuple[tuple[str, int], ...]
    """(variable, output) for each gradient of an output that it reads,"""
    reads: tuple[tuple[str, int], ...]
    """(variable, input) for each input,"""
    results: tuple[tuple[str, int], ...]
    """and (variable, output) for each output."""


@functools.lru_cache(maxsize=INSTANCES)
def rule(op: Op) -> GradientRule:
    """The operator's gradient rule, which is the derivative of its composition where it says no other. Raises OpError when it has
    none."""
    if op.unread:
        raise unknown_arguments(type(op), op.unread)
    if type(op).gradient is Op.gradient and (body := composition(op)) is not None:
        return _derived(body, op.num_visible_outputs())
    inputs = [build.variable(f"x{i}") for i in range(len(op.input_names()))]
    outputs = [build.variable(f"y{i}") for i in range(len(op.output_names()))]
    heads = [build.variable(f"dy{i}") for i in range(len(op.output_names()))]
    given = op.gradient(build.F, heads[0] if len(heads) == 1 else tuple(heads), *inputs, *outputs)
    if given is None:
        given = (None,) * len(inputs)
    elif not isinstance(given, tuple | list):
        given = (given,)
    if len(given) != len(inputs):
        raise op.error(f"its gradient rule gave {len(given)} gradients for {len(inputs)} inputs")
    wanted = [(i, g.entry) for i, g in enumerate(given) if g is not None]
    graph = Graph(entry for _, entry in wanted)
    used = {n.name for n in graph.variables()}

    def among(letter: str, count: int) -> tuple[tuple[str, int], ...]:
        return tuple((f"{letter}{i}", i) for i in range(count) if f"{letter}{i}" in used)

    return GradientRule(
        graph,
        tuple(i for i, _ in wanted),
        among("dy", len(heads)),
        among("x", len(inputs)),
        among("y", len(outputs)),
    )


def _derived(body: Graph, visible: int) -> GradientRule:
    """The gradient rule that follows from a composition, so many of whose outputs are visible: no rule reads the others, so that
    these have no gradients."""
    variables = {int(n.name[1:]): n for n in body.variables()}
    heads = [Entry(Node(None, f"dy{i}")) for i in range(visible)]
    found = dict(zip(variables, gradients(list(zip(body.outputs, heads)), list(variables.values()))))
    wanted = sorted((i, entry) for i, entry in found.items() if entry is not None)
    graph = Graph(entry for _, entry in wanted)
    used = {n.name for n in graph.variables()}
    return GradientRule(
        graph,
        tuple(i for i, _ in wanted),
        tuple((f"dy{i}", i) for i in range(len(heads)) if f"dy{i}" in used),
        tuple((f"x{i}", i) for i in sorted(variables) if f"x{i}" in used),
        (),
    )


def substitute(graph: Graph, values: Mapping[str, Entry]) -> list[Entry]:
    """The outputs of a graph with entries in place of its variables."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        return [values[node.name]] if node.is_variable else None

    return graph.rewritten(change)


def gradients(
    heads: Sequence[tuple[Entry, Entry | None]],
    wanted: Sequence[Node],
    outputs: Sequence[Entry] = (),
    shares: list[tuple[Node, int, Entry]] | None = None,
) -> list[Entry | None]:
    """Entries that compute the gradients of variables; None for those that nothing depends on.

    heads: outputs, each with the gradient it gets (None: ones); outputs: others, which get zeros. Zeros, as BlockGrad gives, are
    no entries, but they go on to what lies before: a loss head whose rule reads no gradient has one whatever comes. shares: gets
    (node, input, entry) for each share of a gradient, which is what one use of an entry adds to it.
    Raises OpError at a node that has no derivative and gets one."""
    forward = Graph((*(e for e, _ in heads), *outputs))
    # only nodes that lead to a wanted variable take part
    leads = {id(n) for n in wanted}
    for node in forward.nodes:
        if any(id(e.node) in leads for e in node.inputs):
            leads.add(id(node))
    parts: dict[tuple[int, int], list[Entry]] = {}
    reached = {id(e.node) for e in forward.outputs}
    for entry, given in heads:
        if id(entry.node) in leads:
            parts.setdefault((id(entry.node), entry.index), []).append(given or _apply(OnesLike, entry))

    def total(key: tuple[int, int]) -> Entry | None:
        found = parts.get(key)
        if not found:
            return None
        if len(found) > 1:
            parts[key] = found = [_apply(AddN, *found)]
        return found[0]

    for node in reversed(forward.nodes):
        if node.op is None or id(node) not in leads or id(node) not in reached:
            continue
        reached.update(id(e.node) for e in node.inputs)
        arriving = [total((id(node), i)) for i in range(node.num_outputs)]
        straight = straight_through(node)
        if straight is not None:
            before = node.inputs[0].node
            source = before.inputs[0]
            reached.add(id(source.node))
            if arriving[0] is not None and id(source.node) in leads:
                entry = Entry(Node(straight, straight.name, (arriving[0], *before.inputs)))
                parts.setdefault((id(source.node), source.index), []).append(entry)
                if shares is not None:
                    shares.append((before, 0, entry))
            continue
        zero = all(a is None for a in arriving)
        if zero and node.subgraphs:
            continue
        try:
            traced = _rule_of_subgraphs(node) if node.subgraphs else rule(node.op)
        except OpError as error:
            if zero:
                continue
            raise OpError(f"Error in operator {node.name}: {error}") from error
        if zero and traced.heads:
            continue
        if not any(id(node.inputs[i].node) in leads for i in traced.inputs):
            continue
        values = {name: node.inputs[i] for name, i in traced.reads}
        values.update((name, Entry(node, i)) for name, i in traced.results)
        for name, i in traced.heads:
            values[name] = arriving[i] or _apply(ZerosLike, Entry(node, i))
        for i, entry in zip(traced.inputs, substitute(traced.graph, values)):
            source = node.inputs[i]
            if id(source.node) in leads:
                parts.setdefault((id(source.node), source.index), []).append(entry)
                if shares is not None:
                    shares.append((node, i, entry))
    return [total((id(n), 0)) for n in wanted]


def straight_through(node: Node) -> Op | None:
    """The operator that carries a gradient past a node and the one before it, which it undoes but for rounding; None where there
    is no such pair. On its own the one before has a derivative of zero."""
    undone = getattr(node.op, "undone", None)
    before = node.inputs[0].node if undone is not None else None
    if undone is None or before is None or before.op is None:
        return None
    return undone(before.op, all(map(_same, node.inputs[1:], before.inputs[1:])))


def _same(a: Entry, b: Entry) -> bool:
    """True for one entry, and for constants of the same value."""
    if a == b:
        return True
    one, other = (None if e.node.inputs else getattr(e.node.op, "value", None) for e in (a, b))
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return False
    return one.dtype == other.dtype and np.array_equal(one, other)


def without_gradient(graph: Graph) -> dict[str, tuple[str, ...]]:
    """Names of the variables that get no gradient from any output, each with the operators that pass none on."""
    uses = graph.uses()
    reached = {id(e.node) for e in graph.outputs}
    stops: dict[int, dict[str, None]] = {}
    """Of nodes that get none, the operators on the way that do."""
    for node in reversed(graph.nodes):
        readers = [use for i in range(node.num_outputs) for use in uses.get((id(node), i), ())]
        own = [(r, p) for r, p in readers if id(r) in reached]
        if any(_passes(r, p) for r, p in own):
            reached.add(id(node))
        for reader, place in own:  # a pair passes it on to what the first of the two reads
            if not place and straight_through(reader) is not None:
                reached.add(id(node.inputs[0].node))
        if id(node) not in reached:
            stops[id(node)] = {}
            for reader, _ in readers:
                own_name = {} if reader.op is None else {reader.op.name: None}
                stops[id(node)] |= own_name if id(reader) in reached else stops[id(reader)]
    return {n.name: tuple(stops[id(n)]) for n in graph.variables() if id(n) in stops}


def _passes(node: Node, place: int) -> bool:
    """True where a node passes a gradient on to an input."""
    if node.subgraphs or node.op is None:
        return True
    try:
        return straight_through(node) is None and place in rule(node.op).inputs
    except OpError:
        return False


def _apply(cls: type[Op], *entries: Entry) -> Entry:
    op = cls.bind(num_args=len(entries)) if cls.inputs[0].startswith("*") else cls.bind()
    return Entry(Node(op, cls.name, entries))


# -- control flow: the gradient rule of a node whose operator applies subgraphs ------------------------------------------------


def _rule_of_subgraphs(node: Node) -> GradientRule:
    """The gradient rule of a node with subgraphs: as its operator's ``_backward_X``, which runs them and their gradients.

    Raises OpError when one has no derivative, or does something that cannot be repeated."""
    op, bodies = node.op, node.subgraphs
    assert op is not None
    given, results, kept = range(len(op.input_names())), range(len(op.output_names())), ()
    behind = 0
    if (again := repeatable(node)) is not None:
        behind = len(again.op.in_data_locs) - len(again.masks)
        op, bodies, results, kept = again.op, (again.body,), again.outputs, again.masks
    subgraphs = [bodies[i] for i in getattr(op, "differentiated", ())]
    if not subgraphs:
        raise OpError(f"{op.name} is non-differentiable: it has no gradient rule")
    for body in subgraphs:
        _check(op.name, body)
    backs, reads, reaches = zip(*(_subgraph_gradients(body) for body in subgraphs))
    fields = {name: getattr(op, name) for name in op.fields}
    back = lookup(BACKWARD + op.name).bind(**fields, reads=reads, reaches=reaches)
    heads = [(f"dy{i}", i) for i in results]
    inputs, masks = [(f"x{i}", i) for i in given], [(f"y{i}", i) for i in kept]
    names = [n for n, _ in (*heads, *inputs[:behind], *masks, *inputs[behind:])]
    made = Node(back, back.name, [Entry(Node(None, n)) for n in names], {}, (*bodies, *backs))
    return GradientRule(
        Graph(Entry(made, i if i < behind else i + len(kept)) for i in given),
        tuple(given),
        tuple(heads),
        tuple(inputs),
        tuple(masks),
    )


def _check(name: str, body: Graph) -> None:
    # the way back runs the body once more
    for node in body.all_nodes():
        if node.op is not None and ("rng" in node.op.needs or node.op.mutates):
            what = "is random" if "rng" in node.op.needs else "changes its auxiliary states"
            raise OpError(
                f"{name}: the gradient runs the body again, whose node {node.name} ({node.op.name}) {what} each time; "
                "take it out of the body"
            )


def _is_differentiable(dtype: np.dtype | None) -> bool:
    """True where numbers of the dtype have derivatives; what is not known may."""
    return dtype is None or dtype.kind not in "iubO"


def _subgraph_gradients(body: Graph) -> tuple[Graph, Sequence[int], Sequence[int]]:
    """The gradients of a body's variables; what it reads, as places among the body's variables and then the gradients of
    its outputs; and which of the body's variables have a gradient. What is known to be no float has none."""
    variables = body.variables()
    heads = [Node(None, f"gradient of output {i}") for i in range(len(body.outputs))]
    known = infer(Graph((*body.outputs, *map(Entry, variables))))
    smooth = [_is_differentiable(known.spec(Entry(n)).dtype) for n in variables]
    ends = [(e, Entry(h)) for e, h in zip(body.outputs, heads) if _is_differentiable(known.spec(e).dtype)]
    made = iter(gradients(ends, [n for n, s in zip(variables, smooth) if s]))
    found = [next(made) if s else None for s in smooth]
    graph = Graph(e for e in found if e is not None)
    places = {id(n): i for i, n in enumerate((*variables, *heads))}
    return graph, [places[id(n)] for n in graph.variables()], [i for i, e in enumerate(found) if e is not None]
