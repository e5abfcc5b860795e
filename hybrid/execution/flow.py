"""Control flow that NumPy's plan comes to, because shapes before or behind it are known only as the graph runs. What it is given
has shapes then: it is run as a graph of its own, compiled for them.

Loops whose steps nobody knows before are run with room for some rows (ops/onnx/control.py, OpenLoop); with more where there
was not enough."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.changes import draw
from ..core.error import MXNetError
from ..core.op import lookup
from ..ir.graph import Entry, Graph, Node
from .backend import Part, Parts, drop_first
from .hooks import HOOKS

ROOM, MOST = 64, 1 << 20
"""Rows for which there is room at first, and at most."""
SEEN = 64
"""Sets of shapes of a node that are remembered to have been met once, without a program yet."""
LOOP = "_onnx_Loop"
"""Its name: the family is loaded when a graph has an operator of it, and not before."""

Key = tuple[Any, ...]


class Flow(Parts):
    """The programs of parts of one graph, and its control flow. make: (a part, its variables that rarely change, those that are
    constants, whether it is a single node, of which there are no parts, its variables that are computed) -> its program; constants:
    the graph's."""

    def __init__(self, make: Callable[..., Part], constants: Mapping[str, np.ndarray]):
        self._make, self._constants = make, constants
        self._nodes: dict[int, _Single | None] = {}
        self.cuts: dict[Any, Any] = {}
        self.told: Mapping[str, np.ndarray] = {}

    def run(self, node: Node, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """The results of a node; None where its own rule has to give them."""
        if HOOKS:  # which see the steps of bodies
            return None
        if id(node) not in self._nodes:
            self._nodes[id(node)] = _Single(node, self) if _is_pure(node) else None
        single = self._nodes[id(node)]
        return None if single is None else single.run(arrays)

    def program(self, node: Node, op: Any) -> Part:
        """A program of one node, with another operator in the place of its own."""
        fixed = [f"input{i}" for i, e in enumerate(node.inputs) if e.node.op is None and e.node.name in self._constants]
        made = Node(
            op, node.name, [Entry(Node(None, f"input{i}")) for i in range(len(node.inputs))], {}, node.subgraphs
        )
        return self._make(Graph(Entry(made, i) for i in range(made.num_outputs)), fixed, None, True)

    def versions(self, node: Node, arrays: Sequence[np.ndarray]) -> list[Any]:
        """Versions of the inputs of a node: those of constants stay, unless a run was given something else in their place."""
        names = [e.node.name if e.node.op is None else "" for e in node.inputs]
        return [None if self._constants.get(n) is a else draw() for n, a in zip(names, arrays)]

    def part(
        self,
        outputs: Sequence[Entry],
        fixed: Collection[str],
        constants: Mapping[str, np.ndarray] | None = None,
        computed: Collection[str] = (),
    ) -> Part:
        return self._make(Graph(outputs), fixed, self.told if constants is None else constants, False, computed)


class _Single:
    """One node."""

    def __init__(self, node: Node, flow: Flow):
        self._node, self._flow = node, flow
        self._seen: dict[Key, None] = {}
        self._programs: dict[int, Part] = {}
        """By the rows that there is room for; 0 where there are none whose number is not known."""
        op: Any = node.op
        self._open = op.name == LOOP and op.num_outputs > op.num_states
        self._room = ROOM

    def run(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...] | None:
        key = tuple(x for a in arrays for x in (a.shape, a.dtype))
        if key not in self._seen:  # one that does not come again is not worth a program
            self._seen[key] = None
            drop_first(self._seen, SEEN)
            return None
        if not self._open:
            return self._attempt(0, key, arrays)
        op: Any = self._node.op
        most = int(arrays[0].item()) if "M" in op.given and arrays[0].size == 1 else MOST
        while most > 0:
            room = min(self._room, 1 << (most - 1).bit_length())
            found = self._attempt(room, key, arrays)
            if found is None:
                return None
            *results, steps = found
            if steps >= 0:
                return (*results[: op.num_states], *(r[:steps] for r in results[op.num_states :]))
            if self._room >= MOST:
                return None
            self._room = 4 * room
        return None

    def _attempt(self, room: int, key: Key, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """The results where the compiled part takes the node for such arrays."""
        if room not in self._programs:
            op: Any = self._node.op
            if room:
                fields = {n: getattr(op, n) for n in op.fields}
                op = lookup("_fused_loop").bind(**fields, room=room)
            self._programs[room] = self._flow.program(self._node, op)
        try:
            bound = self._programs[room].bound_for(key)
        except MXNetError:  # the rule says it where it comes to it
            return None
        return None if bound is None else tuple(bound.run(arrays, self._flow.versions(self._node, arrays)))


def _is_pure(node: Node) -> bool:
    """True for control flow, no gradient of it, that neither draws nor writes to what it is given."""
    if getattr(node.op, "differentiates", True):  # other operators with subgraphs say nothing of it
        return False
    inside = [n.op for body in node.subgraphs for n in body.all_nodes() if n.op is not None]
    return not any(op.mutates or "rng" in op.needs for op in inside)
