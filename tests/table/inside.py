"""Operators' examples inside of graphs: as inner node, as head, shared by several readers, applied twice, given one array twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hybrid.core.op import Example, Op, lookup
from hybrid.core.shapes import is_known
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer

Arrays = dict[str, np.ndarray]
Form = Callable[[Op, list[np.ndarray]], "tuple[Graph, Arrays] | None"]


class _Making:
    """A graph in the making around one operator: its variables and what they hold."""

    def __init__(self, op: Op, arrays: list[np.ndarray]):
        self.op, self.arrays = op, arrays
        self.feeds: Arrays = {}
        self._count = 0

    def variables(self, mark: str = "") -> list[Entry]:
        """Variables for all inputs; states are each node's own."""
        names = [f"{n}{mark}" for n in self.op.input_names()]
        self.feeds |= dict(zip(names, self.arrays, strict=True))
        return [Entry(Node(None, n)) for n in names]

    def apply(self, name: str, *inputs: Entry, **attrs: object) -> Entry:
        return Entry(self.node(lookup(name).bind(**attrs), inputs))

    def node(self, op: Op, inputs: tuple[Entry, ...] | list[Entry]) -> Node:
        self._count += 1
        return Node(op, f"n{self._count}", inputs, op.dump())

    def results(self, inputs: list[Entry]) -> list[Entry]:
        """Results that the operator gives a user."""
        node = self.node(self.op, inputs)
        return [Entry(node, i) for i in range(node.num_visible_outputs)]

    def before(self, inputs: list[Entry]) -> list[Entry]:
        """The inputs computed by something that keeps their values; states and what is no float stay variables."""
        return [
            self.apply("_mul_scalar", self.apply("_mul_scalar", e, scalar=2.0), scalar=0.5)
            if a.dtype.kind == "f" and n not in self.op.mutates
            else e
            for n, e, a in zip(self.op.input_names(), inputs, self.arrays, strict=True)
        ]

    def joined(self, entry: Entry) -> Entry:
        """An output that a variable of its shape is multiplied by, and that is added to what becomes of that."""
        graph = Graph([entry])
        spec = infer(
            graph, *({n: getattr(self.feeds[n], what) for n in self.feeds} for what in ("shape", "dtype"))
        ).spec(entry)
        if not is_known(spec.shape) or spec.dtype is None or spec.dtype.kind not in "fV" or spec.dtype.itemsize < 2:
            return self.after(entry)
        name = f"other{len(self.feeds)}"
        self.feeds[name] = np.random.default_rng(len(self.feeds)).uniform(-1, 1, spec.shape).astype(spec.dtype)
        other = Entry(Node(None, name))
        return self.apply("elemwise_add", self.after(self.apply("elemwise_mul", entry, other)), entry)

    def after(self, entry: Entry, scale: float = 3.0) -> Entry:
        """Results of another operator for an output."""
        return self.apply("_plus_scalar", self.apply("_mul_scalar", entry, scalar=scale), scalar=0.5)


def _head(m: _Making) -> list[Entry]:
    return m.results(m.before(m.variables()))


def _inner(m: _Making) -> list[Entry]:
    return [m.joined(e) for e in m.results(m.before(m.variables()))]


def _shared(m: _Making) -> list[Entry]:
    """An output of the graph that two others read, straight from variables."""
    found = m.results(m.variables())
    return [
        *found,
        *(m.apply("_mul_scalar", m.after(e), scalar=0.5) for e in found),
        *(m.after(e, -1.0) for e in found),
    ]


def _twice(m: _Making) -> list[Entry]:
    """Applied to the same arrays twice, and to copies of the first's; the states are different ones."""
    first = m.variables()
    again = [e if n not in m.op.mutates else f for n, e, f in zip(m.op.input_names(), first, m.variables("_again"))]
    m.feeds = {e.node.name: m.feeds[e.node.name] for e in (*first, *again)}
    return [*(m.after(e) for e in m.results(first)), *(m.after(e, -2.0) for e in m.results(m.before(again)))]


def _alike(m: _Making) -> list[Entry]:
    """The first input in the place of all that are like it."""
    inputs, names = m.variables(), m.op.input_names()
    if not inputs:
        return []
    first = m.arrays[0]
    same = [i for i, (n, a) in enumerate(zip(names, m.arrays)) if n not in m.op.mutates
            and (a.shape, a.dtype) == (first.shape, first.dtype)]  # fmt: skip
    if len(same) < 2 or 0 not in same:
        return []
    inputs = [inputs[0] if i in same else e for i, e in enumerate(inputs)]
    m.feeds = {e.node.name: m.feeds[e.node.name] for e in inputs}
    return [m.after(e) for e in m.results(inputs)]


def _together(m: _Making) -> list[Entry]:
    """All of these in one: what reads variables is an output and read by two, what reads computed arrays is an inner node."""
    first = m.results(m.variables())
    return [*first, *map(m.joined, first), *(m.after(e, -2.0) for e in m.results(m.before(m.variables("_again"))))]


FORMS = {"together": _together, "head": _head, "inner": _inner, "shared": _shared, "twice": _twice, "alike": _alike}


def inside(example: Example, form: str) -> tuple[Graph, Arrays] | None:
    """The example in that form, and what its variables hold; None where it has none."""
    making = _Making(example.op, list(example.arrays))
    outputs = FORMS[form](making)
    return (Graph(outputs), making.feeds) if outputs else None


def forms(example: Example) -> Iterator[tuple[str, Graph, Arrays]]:
    """All forms that an example has."""
    for form in FORMS:
        found = inside(example, form)
        if found is not None:
            yield form, *found
