"""Rewriting of a graph node by node: nodes are taken as they are, or others are written in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hybrid.core.op import Spec

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph

F32 = np.dtype(np.float32)
Sizes = tuple[int, ...]


class Rewriting:
    """A walk over a graph's nodes, in which each is kept or replaced."""

    def __init__(self, graph: OnnxGraph):
        self.graph = graph
        self.written: list[OnnxNode] = []
        self._owner, self._used = "", False

    def run(self, rewrite: Callable[[OnnxNode], bool]) -> None:
        """Walk: ``rewrite`` writes other nodes for one and says True, or False for one that stays."""
        for node in list(self.graph.nodes):
            self._owner, self._used = node.owner[0], False
            if node.domain or not rewrite(node):
                self.keep(node)
        self.graph.nodes[:] = self.written

    def keep(self, node: OnnxNode) -> None:
        """Take a node as it is."""
        self.written.append(node)

    def node(self, op_type: str, *inputs: str, shape: Sequence[int], out: str = "", **attrs: Any) -> str:
        """Write a node; gives its output, float32 of that shape. out: the name, where the output has one."""
        owner = self._owner if out and not self._used else self.graph.unique(f"{self._owner}/{op_type}")
        self._used = self._used or bool(out)
        name = out or self.graph.unique(f"{self._owner}/{op_type}_lowered")
        self.written.append(OnnxNode(op_type, tuple(inputs), [name], attrs, [owner]))
        self.graph.specs[name] = Spec(tuple(shape), F32)
        return name

    def constant(self, array: Any, hint: str = "constant") -> str:
        """Store a constant; gives its name."""
        name = self.graph.unique(f"{self._owner}/{hint}")
        stored = np.asarray(array)
        self.graph.initializers[name] = np.ascontiguousarray(stored).reshape(stored.shape)
        self.graph.specs[name] = Spec(stored.shape, stored.dtype)
        return name

    def number(self, value: float) -> str:
        """Store a number, float32 of one element."""
        return self.constant(np.full((), value, np.float32))

    def shape(self, name: str) -> Sizes | None:
        """The sizes of a tensor where all are known."""
        array = self.graph.constant(name)
        return self.graph.static(name) if array is None else array.shape

    def reshape(self, name: str, sizes: Sequence[int], out: str = "") -> str:
        """The tensor in another shape; itself where it has that one and needs no name."""
        if not out and self.shape(name) == tuple(sizes):
            return name
        array = self.graph.constant(name)
        if array is not None and not out:
            return self.constant(array.reshape(tuple(sizes)))
        return self.node("Reshape", name, self.constant(np.array(sizes, np.int64)), shape=sizes, out=out)

    def transpose(self, name: str, perm: Sequence[int], out: str = "") -> str:
        """The tensor with its axes in another order; itself where that is the order."""
        if not out and list(perm) == list(range(len(perm))):
            return name
        sizes = self.shape(name)
        assert sizes is not None
        return self.node("Transpose", name, shape=[sizes[p] for p in perm], out=out, perm=list(perm))

    def slice(self, name: str, axis: int, start: int, end: int, out: str = "") -> str:
        """A part along one axis."""
        sizes = self.shape(name)
        assert sizes is not None
        bounds = [self.constant(np.array([v], np.int64)) for v in (start, end, axis)]
        made = [end - start if a == axis else d for a, d in enumerate(sizes)]
        return self.node("Slice", name, *bounds, shape=made, out=out)
