"""Sets of numbers that a tensor may hold, where the graph alone tells: classes that detectors count up beside their boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.ir.graph import Entry
from hybrid.ir.infer import Inference

_MOST = 1024
"""Different numbers that are worth listing."""
_KEEPING = frozenset(
    [
        "_copy",
        "BlockGrad",
        "Reshape",
        "_np_reshape",
        "_npx_reshape",
        "reshape_like",
        "slice_like",
        "tile",
        "broadcast_axis",
    ]
)
"""Operators that keep each row's numbers in place where rows stay as long as they were."""
LIKE = frozenset(("slice_like", "broadcast_like", "reshape_like"))
"""Operators that look at the shape of their second input."""
MOVING = frozenset(
    (
        *(*_KEEPING, *LIKE, "Flatten", "expand_dims", "squeeze", "transpose", "SwapAxis"),
        *("repeat", "slice", "broadcast_to", "stack", "SliceChannel"),
    )
)
"""Operators that give numbers of their inputs, elsewhere."""
_MADE = frozenset(["_zeros", "_ones", "_full", "_arange"])
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "broadcast_add": np.add,
    "elemwise_add": np.add,
    "broadcast_sub": np.subtract,
    "elemwise_sub": np.subtract,
    "broadcast_mul": np.multiply,
    "elemwise_mul": np.multiply,
}
_SCALAR: dict[str, Callable[[Any, Any], Any]] = {
    "_plus_scalar": np.add,
    "_minus_scalar": np.subtract,
    "_mul_scalar": np.multiply,
    "_div_scalar": np.divide,
}
_ACTIVATIONS = frozenset(("sigmoid", "softmax", "SoftmaxActivation", "SoftmaxOutput"))


def possible_values(entry: Entry, inference: Inference, column: int | None = None) -> np.ndarray | None:
    """The numbers that a tensor may hold, in order and each once, as float64; None where the graph does not tell, or they are many.

    column: a position along the last axis, for those that stand there. inference: of the graph, with the shapes that are known.
    There may be more in the answer than ever occurs, and never less, but for NaN where an activation gave NaN."""
    return ValueSearch(inference).values(entry, column)


class ValueSearch:
    """One look at a graph, which remembers what it has seen."""

    def __init__(self, inference: Inference):
        self.inference = inference
        self._seen: dict[tuple[int, int, int | None], np.ndarray | None] = {}
        self._bounded: dict[int, bool] = {}

    def shape(self, entry: Entry) -> tuple[Any, ...]:
        return self.inference.spec(entry).shape or ()

    def values(self, entry: Entry, column: int | None) -> np.ndarray | None:
        key = (id(entry.node), entry.index, column)
        if key not in self._seen:
            found = self._values(entry, column)
            self._seen[key] = None if found is None or found.size > _MOST else found
        return self._seen[key]

    def _values(self, entry: Entry, column: int | None) -> np.ndarray | None:
        op: Any = entry.node.op
        inputs, shape = entry.node.inputs, self.shape(entry)
        if op is None:
            return None
        name = op.name
        if name == "Concat":
            return self._joined(inputs, op.dim % len(shape) == len(shape) - 1 if shape else None, column)
        if name in ("where", "_npi_where"):
            return self._union(inputs[1:], None)
        if name in MOVING:
            kept = column if self._keeps_columns(entry) else None
            return self._union(inputs[:1] if name in LIKE else inputs, kept)
        if name == "slice_axis":
            last = bool(shape) and op.axis % len(shape) == len(shape) - 1
            if last and op.begin >= 0:
                column = (
                    op.begin + column
                    if column is not None
                    else op.begin
                    if shape[-1] is not UNKNOWN and shape[-1] == 1
                    else None
                )
            return self.values(inputs[0], None if last and op.begin < 0 else column)
        if name == "zeros_like":
            return np.zeros(1)
        if name == "ones_like":
            return np.ones(1)
        if not inputs and name in _MADE and is_known(shape) and math.prod(shape) <= _MOST:
            return np.unique(op.compute(shape=shape).astype(np.float64))
        dtype = self.inference.spec(entry).dtype or np.dtype(np.float32)
        if name == "_mul_scalar" and op.scalar == 0 and self.within_one(inputs[0]):
            return np.zeros(1)
        if name in _SCALAR:
            found = self.values(inputs[0], column)
            return None if found is None else _exact(_SCALAR[name](found, op.scalar), dtype)
        if name in _BINARY:
            one = self.values(inputs[0], None)
            other = None if one is None else self.values(inputs[1], None)
            return None if one is None or other is None else _exact(_BINARY[name](one[:, None], other), dtype)
        if name == "argmax" and op.axis is not None:
            before = self.shape(inputs[0])
            size: Any = before[op.axis] if before else UNKNOWN
            return None if size is UNKNOWN or size > _MOST else np.arange(size, dtype=np.float64)
        return None

    def _union(self, entries: Iterable[Entry], column: int | None) -> np.ndarray | None:
        parts = []
        for entry in entries:
            found = self.values(entry, column)
            if found is None:
                return None
            parts.append(found)
        return np.unique(np.concatenate(parts)) if parts else None

    def _joined(self, parts: Sequence[Entry], last: bool | None, column: int | None) -> np.ndarray | None:
        """The numbers of a Concat, along the last axis or another one; None where that is not known."""
        if column is None or not last:
            return self._union(parts, None if last is None else column)
        for part in parts:
            size: Any = (self.shape(part) or (UNKNOWN,))[-1]
            if size is UNKNOWN:
                return None
            if column < size:
                return self.values(part, column)
            column = column - int(size)
        return None

    def _keeps_columns(self, entry: Entry) -> bool:
        """True where what stands at a position along the last axis has stood there in the inputs too."""
        op: Any = entry.node.op
        before, after = self.shape(entry.node.inputs[0]), self.shape(entry)
        if not before or not after or before[-1] is UNKNOWN or after[-1] is UNKNOWN or before[-1] != after[-1]:
            return False
        if op.name == "transpose":
            return bool(op.axes) and op.axes[-1] % len(before) == len(before) - 1
        return op.name in _KEEPING

    def within_one(self, entry: Entry) -> bool:
        """True for what lies between -1 and 1 whatever arrives: activations, their products, and parts of these."""
        key = id(entry.node)
        if key not in self._bounded:
            self._bounded[key] = self._is_within_one(entry)
        return self._bounded[key]

    def _is_within_one(self, entry: Entry) -> bool:
        op: Any = entry.node.op
        inputs = entry.node.inputs
        if op is None:
            return False
        if op.name in _ACTIVATIONS or (op.name == "Activation" and op.act_type in ("sigmoid", "tanh")):
            return True
        if op.name in ("broadcast_mul", "elemwise_mul", "Concat"):
            return all(map(self.within_one, inputs))
        return (op.name in MOVING or op.name == "slice_axis") and self.within_one(inputs[0])


def _exact(values: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Each number once; None where the dtype does not hold them all as they are."""
    values = np.unique(values)
    return values if np.array_equal(values.astype(dtype).astype(np.float64), values) else None
