"""How far a file in another precision is from the one that it was made of: every tensor that both make, in the whole models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from converters.precision.retype import GREATEST
from converters.writer import Converted

from ..engines import Arrays
from .survey import engine_of, float_tensors, groups_of
from .wishes import Beyond, Labelled, Stay

EXACT = 300.0
"""Decibels that stand for "the same numbers"."""
DECIDING = frozenset(("NonMaxSuppression", "TopK", "ArgMax", "ArgMin", "Unique", "NonZero", "Floor", "Ceil", "Round"))
"""Operators that decide: where two numbers are near each other, rounding alone lets another row come first."""


@dataclass(frozen=True)
class Accuracy:
    """The difference of one tensor over all examples. Numbers that are not finite, or a mask's, are left out."""

    tensor: str
    node: str
    operator: str
    max_abs: float
    scale: float
    """The greatest magnitude before."""
    cosine: float
    sqnr: float
    """Signal to noise: 10 log10 of the sum of squares over that of the differences, in decibels; 300 where nothing differs."""
    misplaced: int = 0
    """Number of elements that are NaN or infinite on one side only."""
    reduced: bool = True
    """True where the node computes in the other precision."""

    @property
    def max_rel(self) -> float:
        """The greatest difference over the scale."""
        return self.max_abs / self.scale if self.scale else self.max_abs


@dataclass
class _Sums:
    """What is added up of one tensor over the examples."""

    signal: float = 0.0
    noise: float = 0.0
    other: float = 0.0
    product: float = 0.0
    max_abs: float = 0.0
    scale: float = 0.0
    misplaced: int = 0

    def add(self, want: np.ndarray, got: np.ndarray) -> None:
        a, b = want.astype(np.float64).reshape(-1), got.astype(np.float64).reshape(-1)
        finite = np.isfinite(a) & np.isfinite(b)
        mask = (np.abs(a) > GREATEST) & (np.sign(a) == np.sign(b)) & (np.abs(b) > 0.99 * GREATEST)
        with np.errstate(invalid="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
        self.misplaced += int((~finite & ~same & ~mask).sum())
        a, b = a[finite & ~mask], b[finite & ~mask]
        delta = np.abs(a - b)
        self.signal += float(a @ a)
        self.other += float(b @ b)
        self.noise += float(delta @ delta)
        self.product += float(a @ b)
        self.max_abs = max(self.max_abs, float(delta.max(initial=0)))
        self.scale = max(self.scale, float(np.abs(a).max(initial=0)))

    @property
    def sqnr(self) -> float:
        if not self.noise:
            return EXACT
        return 10 * math.log10(self.signal / self.noise) if self.signal else -EXACT

    @property
    def cosine(self) -> float:
        norm = math.sqrt(self.signal * self.other)
        return min(1.0, self.product / norm) if norm else float(not self.noise)


@dataclass(frozen=True)
class AccuracyReport:
    """What became of a network in another precision."""

    precision: str
    """float16, float32, or int8."""
    bytes: tuple[int, int]
    """Of the file before and after."""
    examples: int
    """Sets of inputs that this was measured on."""
    data: str
    """Where they come from."""
    outputs: tuple[Accuracy, ...]
    layers: tuple[Accuracy, ...]
    """Every tensor that both files make, in order."""
    judged: tuple[str, ...]
    """Tensors whose signal to noise decides: outputs, and before what ranks and suppresses what it goes by."""
    least: float
    """Decibels that these have at least."""
    stays: tuple[Stay, ...] = ()
    beyond: tuple[Beyond, ...] = ()
    casts: int = 0
    quantized: tuple[str, ...] = ()
    """Nodes that compute on 8-bit integers."""
    calibration: Mapping[str, Any] = field(default_factory=dict)
    """The method of calibration and its settings."""
    labelled: Labelled | None = None
    runtime: Mapping[str, float] = field(default_factory=dict)
    """Signal to noise of the outputs with onnxruntime's fused kernels, against the same file node by node, where it was looked at."""

    @property
    def worst(self) -> Accuracy | None:
        """The tensor among those judged with the least signal to noise."""
        found = [a for a in (*self.outputs, *self.layers) if a.tensor in self.judged]
        return min(found, key=lambda a: a.sqnr, default=None)

    @property
    def failing(self) -> tuple[Accuracy, ...]:
        """Tensors among those judged that have less than is wanted, or are not finite where they were."""
        found = {a.tensor: a for a in (*self.layers, *self.outputs) if a.tensor in self.judged}
        return tuple(a for a in found.values() if a.sqnr < self.least or a.misplaced)


def measure(
    before: Converted,
    after: Converted,
    feeds: Sequence[Arrays],
    *,
    fed: Mapping[str, np.dtype] | None = None,
    inside: bool = True,
    plain: bool = True,
) -> tuple[Accuracy, ...]:
    """The differences of all float tensors that both make, in order; of the outputs alone without inside.

    fed: dtypes of inputs of the second, where they are others. plain: without fused kernels. Raises EngineError."""
    makers = {o: n for n in before.model.graph.node for o in n.output}
    kinds = _kinds(after)
    sizes = {n: s for n, s in float_tensors(before).items() if n in makers}
    outputs = [o.name for o in before.model.graph.output]
    if inside:
        there = {o for n in after.model.graph.node for o in n.output}
        sizes = {n: s for n, s in sizes.items() if n in there or n in outputs}
    else:
        sizes = {n: s for n, s in sizes.items() if n in outputs}
    sums = {n: _Sums() for n in sizes}
    for group in groups_of(sizes):
        shown = group if inside else []
        first = engine_of(before, "before", shown, plain=plain)
        second = engine_of(after, "after", shown, plain=plain)
        for given in feeds:
            want = first.run_unchecked(given)
            narrowed = {n: a.astype(fed[n]) if fed and n in fed else a for n, a in given.items()}
            got = second.run_unchecked(narrowed)
            for name in group:
                if name in want and name in got and want[name].shape == got[name].shape:
                    sums[name].add(want[name], got[name])
        first.free_memory()
        second.free_memory()
    return tuple(
        Accuracy(
            n, makers[n].name or n, makers[n].op_type, s.max_abs, s.scale, s.cosine, s.sqnr, s.misplaced, n in kinds
        )
        for n, s in sums.items()
    )


def _kinds(after: Converted) -> set[str]:
    """Tensors that nodes of float16, or on 8-bit integers, make."""
    from converters.precision.retype import tensor_types

    typed = tensor_types(after).graph
    infos = (*typed.value_info, *typed.output, *typed.input)
    half = {i.name for i in infos if i.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16}
    integers = {o for n in after.model.graph.node if n.op_type == "DequantizeLinear" for o in n.output}
    reading = {o for n in after.model.graph.node if integers.intersection(n.input) for o in n.output}
    return half | reading


def judged(converted: Converted) -> tuple[str, ...]:
    """Tensors by which a network is judged: outputs that no decision leads to, and the floats that decisions go by."""
    graph = converted.model.graph
    floats = float_tensors(converted)
    stored = {*converted.initializers}
    decided: set[str] = set()
    found: dict[str, None] = {}
    made = {o for n in graph.node for o in n.output}
    for node in graph.node:
        if node.op_type in DECIDING:
            decided.update(node.output)
            found |= {n: None for n in node.input if n in floats and n in made and n not in decided and n not in stored}
        elif decided.intersection(node.input):
            decided.update(node.output)
    found |= {o.name: None for o in graph.output if o.name in floats and o.name not in decided}
    return tuple(found)


def top(scores: np.ndarray, labels: np.ndarray, count: int) -> float:
    """Share of examples whose label is among the classes with the greatest scores. scores: (N, classes)."""
    best = np.argpartition(-scores, min(count, scores.shape[1]) - 1, axis=1)[:, :count]
    return float((best == labels[:, None]).any(axis=1).mean())
