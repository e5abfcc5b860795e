"""A graph: nodes that apply an operator to outputs of other nodes, and the outputs that are wanted of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ..core.error import OpError
from ..core.op import Op

T = TypeVar("T")


class Node:
    """A variable (op is None) or the application of an operator.

    ``attrs`` holds texts: the operator's attributes as they were given, and whatever else came with the node
    (``__lr_mult__``, ``__shape__``, ...). ``op`` is the typed reading of the former. ``subgraphs`` belong to control flow.
    """

    __slots__ = ("attrs", "inputs", "name", "op", "subgraphs")

    def __init__(
        self,
        op: Op | None,
        name: str,
        inputs: Iterable[Entry] = (),
        attrs: dict[str, str] | None = None,
        subgraphs: Sequence[Graph] = (),
    ):
        self.op = op
        self.name = name
        self.inputs = tuple(inputs)
        self.attrs = dict(attrs or {})
        self.subgraphs = tuple(subgraphs)

    @property
    def is_variable(self) -> bool:
        return self.op is None

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of all outputs, as MXNet derives them from the node's name; a variable's output is the variable."""
        if self.op is None:
            return (self.name,)
        return tuple(f"{self.name}_{suffix}" for suffix in self.op.named_outputs)

    @property
    def num_outputs(self) -> int:
        return 1 if self.op is None else len(self.op.named_outputs)

    @property
    def num_visible_outputs(self) -> int:
        return 1 if self.op is None else self.op.num_visible_outputs()

    def means(self, *operators: type[Op]) -> bool:
        """True where it applies one of these operators: see Op.means."""
        return self.op is not None and self.op.means(*operators)

    def __repr__(self) -> str:
        return f"<{'variable' if self.op is None else self.op.name} {self.name}>"


class Entry(NamedTuple):
    """One output of a node."""

    node: Node
    index: int = 0

    @property
    def name(self) -> str:
        op = self.node.op
        return self.node.name if op is None else f"{self.node.name}_{op.named_outputs[self.index]}"


def topological(outputs: Iterable[Entry]) -> list[Node]:
    """All nodes that the outputs need, inputs before users, in MXNet's order (depth first, inputs left to right)."""
    order: list[Node] = []
    done: set[int] = set()
    for output in outputs:
        if id(output.node) in done:
            continue
        done.add(id(output.node))
        stack = [(output.node, iter(output.node.inputs))]
        while stack:
            node, rest = stack[-1]
            for entry in rest:
                if id(entry.node) not in done:
                    done.add(id(entry.node))
                    stack.append((entry.node, iter(entry.node.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def dependency_order(needs: Sequence[Collection[int]]) -> tuple[list[int], list[int]]:
    """Numbers of nodes so that each comes after those it needs, and those that stand in or behind a cycle. needs: for each node the
    different nodes that it needs. What is in order already stays as it is."""
    if all(j < i for i, need in enumerate(needs) for j in need):
        return list(range(len(needs))), []
    waiting = [len(need) for need in needs]
    readers: list[list[int]] = [[] for _ in needs]
    for index, need in enumerate(needs):
        for source in need:
            readers[source].append(index)
    ready = [i for i, count in enumerate(waiting) if not count][::-1]
    order = []
    while ready:
        order.append(ready.pop())
        for reader in readers[order[-1]]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return order, [i for i, count in enumerate(waiting) if count]


class Graph:
    """The nodes behind a list of outputs. Graphs share nodes freely; rewriting makes new nodes."""

    def __init__(self, outputs: Iterable[Entry]):
        self.outputs = tuple(outputs)
        self.nodes = topological(self.outputs)
        self._auxiliary = {
            id(entry.node)
            for node in self.nodes
            if node.op is not None and node.op.mutates
            for name, entry in zip(node.op.input_names(), node.inputs)
            if name in node.op.mutates and entry.node.is_variable
        }

    def all_nodes(self) -> Iterator[Node]:
        """All nodes, those of the bodies of control flow too."""
        for node in self.nodes:
            yield node
            for body in node.subgraphs:
                yield from body.all_nodes()

    def variables(self) -> list[Node]:
        return [n for n in self.nodes if n.is_variable]

    def is_auxiliary(self, node: Node) -> bool:
        """True for a variable that some operator updates while training (a moving mean)."""
        return id(node) in self._auxiliary

    def arguments(self) -> list[Node]:
        return [n for n in self.nodes if n.is_variable and not self.is_auxiliary(n)]

    def auxiliary_states(self) -> list[Node]:
        return [n for n in self.nodes if n.is_variable and self.is_auxiliary(n)]

    def written_variables(self, training: bool) -> frozenset[str]:
        """Names of the variables whose memory a run writes to: those that operators update, directly or through a view of the
        same memory, and whatever a body that writes is given (which of it that is, only its operator knows)."""
        found = set()
        for node in self.nodes:
            if node.op is None:
                continue
            entries = []
            if node.op.mutates and (training or node.op.always_mutates):
                entries = [e for n, e in zip(node.op.input_names(), node.inputs) if n in node.op.mutates]
            if any(body.written_variables(training) for body in node.subgraphs):
                entries = list(node.inputs)
            for entry in entries:
                source = entry.node
                while source.op is not None and source.op.view:
                    source = source.inputs[0].node
                if source.op is None:
                    found.add(source.name)
        return frozenset(found)

    def feeds(self, values: Sequence[T]) -> dict[str, T]:
        """By name what the variables hold, from their order: how control flow calls its subgraphs. Raises OpError when there
        are not as many, or when two variables go by one name."""
        names = [n.name for n in self.variables()]
        if len(names) != len(values) or len(set(names)) < len(names):
            raise OpError(
                f"a subgraph with inputs {', '.join(names)} got {len(values)}, wanted one for each distinct name"
            )
        return dict(zip(names, values))

    def internals(self) -> Graph:
        """The graph whose outputs are all visible outputs of all nodes, variables included."""
        return Graph(Entry(n, i) for n in self.nodes for i in range(n.num_visible_outputs))

    def uses(self) -> dict[tuple[int, int], list[tuple[Node, int]]]:
        """Readers of each output: (id of node, output index) -> [(reader, input position)]."""
        readers: dict[tuple[int, int], list[tuple[Node, int]]] = {}
        for node in self.nodes:
            for position, entry in enumerate(node.inputs):
                readers.setdefault((id(entry.node), entry.index), []).append((node, position))
        return readers

    def rewrite(self, change: Callable[[Node, tuple[Entry, ...]], Sequence[Entry] | None]) -> Graph:
        """A new graph. ``change(node, new_inputs)`` gives what stands for the node's outputs, or None to keep it."""
        return Graph(self.rewritten(change))

    def rewritten(self, change: Callable[[Node, tuple[Entry, ...]], Sequence[Entry] | None]) -> list[Entry]:
        """The outputs of the graph that ``rewrite`` makes, without a look at what lies behind the entries that ``change`` gives."""
        new: dict[int, Sequence[Entry]] = {}
        for node in self.nodes:
            inputs = tuple(new[id(e.node)][e.index] for e in node.inputs)
            replaced = change(node, inputs)
            if replaced is None:
                same = all(a.node is b.node and a.index == b.index for a, b in zip(inputs, node.inputs))
                kept = node if same else Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
                replaced = [Entry(kept, i) for i in range(node.num_outputs)]
            new[id(node)] = replaced
        return [new[id(e.node)][e.index] for e in self.outputs]


class SubgraphFunction:
    """A subgraph as its operator gets it (see Op.needs): a function through it, and the graph itself."""

    __slots__ = ("_through", "graph")

    def __init__(self, graph: Graph, through: Callable[..., Any]):
        self.graph, self._through = graph, through

    def __call__(self, *held: Any) -> Any:
        return self._through(self.graph, *held)
