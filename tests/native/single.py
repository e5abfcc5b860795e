"""One kernel at a time: an operator applied to arrays by the compiled part, so that it can be held against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybrid import native
from hybrid.graph.executor import apply
from hybrid.graph.infer import infer
from hybrid.graph.lower import KNOWN, attributes
from hybrid.op import Op
from tests.table.examples import Example, graph_of

ARENA, INPUT, OUTPUT, CONSTANT = range(4)


def specs_of(op: Op, arrays: Sequence[np.ndarray]) -> list[Any]:
    """What inference says of the outputs."""
    graph, feeds = graph_of(Example(op, tuple(arrays)))
    node = graph.outputs[0].node
    found = infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()}, values=feeds)
    from hybrid.graph.graph import Entry

    return [found.spec(Entry(node, i)) for i in range(len(node.outputs))]


def blocked(shape: Sequence[int], op: Op) -> bool:
    """Whether an operand of this shape of this operator is blocked data."""
    return op.name.startswith("_fused_") and len(shape) == 5 and shape[-1] == 16 and op.name != "_fused_chain"


class Single:
    """An operator bound to shapes; ``constants``: positions of inputs that stay the same; halo: around blocked operands."""

    def __init__(
        self,
        op: Op,
        arrays: Sequence[np.ndarray],
        constants: Sequence[int] = (),
        halo: tuple[int, int] = (0, 0),
        threads: int = 1,
        precise: bool = False,
        training: bool = False,
    ):
        self.op, self.constants, self.halo = op, tuple(constants), halo
        self.specs = specs_of(op, arrays)
        tensors: list[Any] = []
        counts = [0, 0, 0, 0]
        for i, array in enumerate(arrays):
            kind = CONSTANT if i in self.constants else INPUT
            tensors.append(self._tensor(array.dtype, array.shape, kind, counts))
        for spec in self.specs:
            tensors.append(self._tensor(spec.dtype, spec.shape, OUTPUT, counts))
        count = len(arrays)
        attrs = attributes(op, training)
        steps = [(op.name, attrs or {}, list(range(count)), list(range(count, count + len(self.specs))), attrs is None)]
        self.program = native.program(
            tensors, steps, 0, counts[INPUT], counts[OUTPUT], counts[CONSTANT], threads, precise
        )
        self.there: bool = self.program.native()[0]
        if self.constants:
            self._held = [np.ascontiguousarray(arrays[i]) for i in self.constants]
            self.program.set_constants(self._held, list(range(len(self._held))))

    def _tensor(self, dtype: Any, shape: Sequence[int], kind: int, counts: list[int]) -> tuple[Any, ...]:
        number = counts[kind]
        counts[kind] += 1
        if not blocked(shape, self.op):
            name = str(dtype) if str(dtype) in KNOWN else f"opaque{np.dtype(dtype).itemsize}"
            return (name, tuple(shape), False, 0, 0, 0, kind, number)
        h, w = self.halo
        stride = shape[1] * (shape[2] + 2 * h) * (shape[3] + 2 * w) * 16
        return (str(dtype), tuple(shape), True, h, w, stride, kind, number)

    def _padded(self, array: np.ndarray) -> np.ndarray:
        if not blocked(array.shape, self.op):
            return np.ascontiguousarray(array).reshape(array.shape)  # which would make () into (1,)
        h, w = self.halo
        return np.pad(array, ((0, 0), (0, 0), (h, h), (w, w), (0, 0)))

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs. Raises what binding or running raises."""
        inputs = [self._padded(a) for i, a in enumerate(arrays) if i not in self.constants]
        outs = [self._padded(np.zeros(s.shape, s.dtype)) for s in self.specs]
        for out in outs:
            out.reshape(-1).view(np.uint8)[...] = 0x7F  # what was there before must not matter
        self.program.run(inputs, outs, None)
        h, w = self.halo
        return [
            o[:, :, h : o.shape[2] - h, w : o.shape[3] - w] if blocked(o.shape, self.op) else o
            for o in outs
        ]  # fmt: skip


def reference(
    op: Op, arrays: Sequence[np.ndarray], specs: Sequence[Any], training: bool = False
) -> tuple[np.ndarray, ...]:
    """NumPy's answer, with all checks."""
    return apply(op, arrays, specs, name=op.name, training=training)
