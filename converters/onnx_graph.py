"""A graph of ONNX nodes between its translation and its file: what the rewritings of converters/passes read and change."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

from hybrid.core.op import Spec
from hybrid.ops.onnx.base import OBJECT

from .builder import OnnxNode
from .error import Unsupported
from .onnx_types import code_of, declared_spec
from .schemas import schema_of
from .writer import stored_tensor

SMALL = 1024  # elements up to which shape inference reads what an initializer holds
OPEN = "?"
"""A size that is not known and has no name."""
ALIKE = {"GreaterOrEqual": "Greater", "LessOrEqual": "Less"}
"""Operators without shape inference in older opsets, and those that take and give the same."""


@dataclass(eq=False)
class OnnxGraph:
    """Nodes in order, initializers, and what is known of tensors. Names are what tensors are known by."""

    nodes: list[OnnxNode]
    initializers: dict[str, np.ndarray]
    inputs: Mapping[str, Spec]
    """Those whose dtype is known; sizes that vary are texts, equal ones the same size."""
    outputs: frozenset[str]
    opset: int
    unique: Callable[[str], str]
    """Gives a name that nothing has yet, as near to the one asked for as can be."""
    told: Mapping[str, Spec] = field(default_factory=dict)
    """Tensors that the symbol has, by their names: what inference says of them; sizes that are not known are OPEN."""
    tied: frozenset[str] = frozenset()
    """Initializers that are weights and to stay one each, while several nodes read them."""
    specs: dict[str, Spec] = field(default_factory=dict)
    """Specs that ``infer`` found."""

    def infer(self) -> None:
        """Infer shapes and dtypes with onnx's own inference, from those of inputs and initializers and what is told."""
        known = {n: s for n, s in (*self.inputs.items(), *self.told.items()) if _tells(s)}
        stored = {n: Spec(a.shape, a.dtype) for n, a in self.initializers.items() if a.dtype != OBJECT}
        nodes = list(self._inferable({*known, *stored}))
        small = [stored_tensor(n, self.initializers[n]) for n in stored if self.initializers[n].size <= SMALL]
        read = {n for node in nodes for n in node.inputs}
        made = {o for node in nodes for o in node.outputs}
        model = helper.make_model(
            helper.make_graph(
                [n.proto() for n in nodes],
                "graph",
                [_info(n, s) for n, s in (*known.items(), *stored.items()) if n in read and n not in made],
                [],
                [t for t in small if t.name in read],
                value_info=[_info(n, s) for n, s in known.items() if n in made],
            ),
            opset_imports=[helper.make_opsetid("", self.opset)],
        )
        try:
            found = onnx.shape_inference.infer_shapes(model, data_prop=True).graph.value_info
        except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, RuntimeError):
            found = ()  # of what onnx's checker would refuse too: no more is known then than was told
        self.specs = {}
        for info in found:
            with contextlib.suppress(Unsupported):
                self.specs[info.name] = declared_spec(info.type)
        self.specs |= stored | {n: _more(self.specs.get(n), s) for n, s in known.items()}

    def _inferable(self, known: set[str]) -> Iterator[OnnxNode]:
        """Nodes of whose inputs all types are known, or can be inferred: given others, some of onnx's inference ends the process.
        Bodies are not looked into; what comes of them is told."""
        for node in self.nodes:
            node = node._replace(op_type=ALIKE.get(node.op_type, node.op_type))
            schema = None if node.domain else schema_of(node.op_type, self.opset)
            bodies = any(isinstance(v, onnx.GraphProto) for v in node.attrs.values())
            if schema is None or bodies or not schema.has_type_and_shape_inference_function:
                continue
            if all(n in known for n in node.inputs if n):
                known.update(node.outputs)
                yield node

    def shape(self, name: str) -> tuple[Any, ...] | None:
        """Sizes of a tensor: numbers, names, or OPEN; None where not even the rank is known."""
        return self.specs.get(name, Spec()).shape

    def static(self, name: str) -> tuple[int, ...] | None:
        """The shape of a tensor where all sizes are numbers; else None."""
        shape = self.shape(name)
        return shape if shape is not None and all(isinstance(d, int) for d in shape) else None  # type: ignore[return-value]

    def dtype(self, name: str) -> np.dtype | None:
        return self.specs.get(name, Spec()).dtype

    def same_shape(self, a: str, b: str, *, count: bool = False) -> bool:
        """True where two tensors are known to have one shape. count: they have as many elements as each other, so that one size of
        them may be unknown where the others are the same."""
        one, other = self.shape(a), self.shape(b)
        if one is None or other is None or len(one) != len(other):
            return False
        doubtful = [p for p, q in zip(one, other) if p != q or p == OPEN]
        if not doubtful:
            return True
        rest = [p for p, q in zip(one, other) if p == q and p != OPEN]
        return count and len(doubtful) == 1 and all(isinstance(d, int) and d > 0 for d in rest)

    @property
    def makers(self) -> dict[str, OnnxNode]:
        """Nodes by the tensors that they make."""
        return {o: node for node in self.nodes for o in node.outputs}

    @property
    def reads(self) -> Counter[str]:
        """Counts of how often each tensor is read, by bodies and as an output of the graph too."""
        return Counter([*(n for node in self.nodes for n in node.reads()), *self.outputs])

    @property
    def pinned(self) -> set[str]:
        """Tensors that bodies read by name, and what goes by the same name there."""
        return {n for node in self.nodes if node.attrs for n in node.reads_inside()}

    def constant(self, name: str) -> np.ndarray | None:
        """The array of an initializer; None for what is none."""
        return self.initializers.get(name)


def _tells(spec: Spec) -> bool:
    return spec.dtype is not None and spec.dtype != OBJECT


def _more(found: Spec | None, told: Spec) -> Spec:
    """The spec that is told of a tensor, with sizes that inference found where it is silent."""
    if found is None or found.shape is None or told.shape is None or len(found.shape) != len(told.shape):
        return told if told.shape is not None or found is None else Spec(found.shape, told.dtype)
    return Spec(tuple(f if t == OPEN else t for f, t in zip(found.shape, told.shape)), told.dtype)


def _info(name: str, spec: Spec) -> onnx.ValueInfoProto:
    assert spec.dtype is not None
    shape = None if spec.shape is None else [None if d == OPEN else d for d in spec.shape]
    return helper.make_tensor_value_info(name, code_of(spec.dtype), shape)


class Merging:
    """Tensors found to be one with others, while a pass walks the nodes in order; ``finish`` rewrites the graph.

    What bodies read keeps its name, and so do inputs, initializers and outputs; of two names that are left to choose from, that
    which the symbol knows stays."""

    def __init__(self, graph: OnnxGraph):
        self.graph = graph
        self.pinned = graph.pinned
        self._made = {o for node in graph.nodes for o in node.outputs}
        self._same: dict[str, str] = {}  # a tensor, and the earlier one that it is
        self._shown: dict[str, str] = {}  # the name that an earlier one gets
        self._dropped: set[int] = set()
        self._put: dict[int, OnnxNode] = {}

    def resolve(self, name: str) -> str:
        """The tensor that a name stands for."""
        return self._same.get(name, name)

    def inputs(self, node: OnnxNode) -> tuple[str, ...]:
        """Names that a node reads, resolved."""
        return tuple(map(self.resolve, node.inputs))

    def can(self, later: str, earlier: str) -> bool:
        """True where readers of the one may read the other, and nobody outside misses a name."""
        if later in self.pinned:
            return False
        return later not in self.graph.outputs or self._renamable(earlier)

    def _renamable(self, name: str) -> bool:
        shown = self._shown.get(name, name)
        return name in self._made and name not in self.pinned and shown not in self.graph.outputs

    def drop(self, node: OnnxNode, instead: Iterable[str]) -> bool:
        """Leave out a node whose outputs are the tensors ``instead``, which come earlier; False where that may not be."""
        pairs = [(later, self.resolve(earlier)) for later, earlier in zip(node.outputs, instead)]
        if not all(self.can(*pair) for pair in pairs) or len({e for _, e in pairs}) < len(pairs):
            return False
        for later, earlier in pairs:
            self._same[later] = earlier
            told = self.graph.told
            known = later in told and self._shown.get(earlier, earlier) not in told
            if later in self.graph.outputs or (known and self._renamable(earlier)):
                self._shown[earlier] = later
        self._dropped.add(id(node))
        return True

    def put(self, node: OnnxNode, new: OnnxNode) -> None:
        """Write another node in the place of one; it makes the same tensors."""
        self._put[id(node)] = new

    def finish(self) -> bool:
        """Rewrite the graph; True where anything changed."""
        if not self._dropped and not self._put:
            return False
        graph, shown = self.graph, self._shown

        def name(n: str) -> str:
            found = self.resolve(n)
            return shown.get(found, found)

        nodes = []
        for node in graph.nodes:
            if id(node) not in self._dropped:
                new = self._put.get(id(node), node)
                new.outputs[:] = [shown.get(o, o) for o in new.outputs]  # the list by which the builder knows a node
                inputs = tuple(map(name, new.inputs))
                nodes.append(new if inputs == new.inputs else new._replace(inputs=inputs))
        graph.nodes[:] = nodes
        return True


def live(nodes: Collection[OnnxNode], wanted: Iterable[str]) -> list[OnnxNode]:
    """Those of the nodes, which stand in order, that the tensors wanted need."""
    needed, kept = set(wanted), []
    for node in reversed(list(nodes)):
        if needed.intersection(node.outputs):
            kept.append(node)
            needed.update(node.reads())
    return kept[::-1]
