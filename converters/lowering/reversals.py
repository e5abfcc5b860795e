"""Slices that run backwards, which MNN crashes on (SIGSEGV in 3.6.1, from four dimensions on)."""

from __future__ import annotations

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import F32, Rewriting


def reversals(graph: OnnxGraph) -> None:
    """Slice along axes with negative steps -> Gather of these positions, after a Slice along the others."""
    r = _Reversals(graph)
    r.run(r.rewrite)


class _Reversals(Rewriting):
    def rewrite(self, node: OnnxNode) -> bool:
        if node.op_type != "Slice" or len(node.inputs) < 5:
            return False
        given = [self.graph.constant(n) for n in node.inputs[1:]]
        x, shape = node.inputs[0], self.shape(node.inputs[0])
        if shape is None or any(a is None for a in given) or self.graph.dtype(x) != F32:
            return False
        starts, ends, axes, steps = ([int(v) for v in a.ravel()] for a in given if a is not None)
        if all(s > 0 for s in steps):
            return False
        ahead = [i for i, s in enumerate(steps) if s > 0]
        sizes = list(shape)
        if ahead:
            for i in ahead:
                sizes[axes[i]] = len(range(sizes[axes[i]])[starts[i] : ends[i] : steps[i]])
            parts = (self.constant(np.array([v[i] for i in ahead], np.int64)) for v in (starts, ends, axes, steps))
            x = self.node("Slice", x, *parts, shape=sizes)
        back = [i for i, s in enumerate(steps) if s < 0]
        for i in back:
            axis = axes[i] % len(sizes)
            # ONNX: an end beyond the first element is -size - 1 or less, where Python's slices would count from the end
            end = None if ends[i] < -sizes[axis] else ends[i]
            places = np.arange(sizes[axis], dtype=np.int64)[starts[i] : end : steps[i]]
            sizes[axis] = len(places)
            last = i == back[-1]
            x = self.node(
                "Gather", x, self.constant(places), shape=sizes, out=node.outputs[0] if last else "", axis=axis
            )
        return True
