"""The distance of a file in another precision from the one that it was made of, in every tensor that both make."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from converters.onnx_types import HALF_CODES
from converters.precision.retype import GREATEST, tensor_types
from converters.writer import Converted

from ..engines import Arrays
from .survey import engine_of, float_tensors, groups_of
from .wishes import Beyond, Labelled, Stay

BEFORE = "precision.before"
"""Name of the fact that a file in another precision carries of what it was made of: bytes of that as an ONNX file."""
EXACT = 300.0
"""Decibels that stand for "the same numbers"."""
DECIDING = frozenset(("NonMaxSuppression", "TopK", "ArgMax", "ArgMin", "Unique", "NonZero"))
"""Operators that decide: where two numbers are near each other, rounding alone lets another row come first. What they decide in the
first model the second is given too, so that what follows can be compared; what they go by is compared by itself."""
THRESHOLDS = frozenset(("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"))
"""Operators that decide number by number: given to the second model too."""
STEPS = frozenset(("Floor", "Ceil", "Round", "Sign"))
"""Operators whose results jump by whole steps."""
MOVES = frozenset(
    ("Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Concat", "Split", "Expand", "Tile",
     "Not", "And", "Or", "Xor", "CumSum")
)  # fmt: skip
"""Operators that give decisions on."""
PICKS = {"Gather": 1, "GatherElements": 1, "GatherND": 1, "OneHot": 0, "ScatterElements": 1, "ScatterND": 1}
"""Places of the input that says what is picked, of operators that pick: it comes first among what may decide."""
SCALES = frozenset(("Add", "Sub", "Mul", "Div"))
"""Operators that give decisions on beside a constant."""


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
class Sums:
    """Sums over the examples, of one tensor."""

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
    """Measures of a network in another precision."""

    precision: str
    """float16, float32, or int8."""
    bytes: tuple[int, int]
    """Of the file before and after."""
    examples: int
    """Sets of inputs that this was measured on."""
    data: str
    """The source that they come from."""
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
    """Signal to noise of the outputs with onnxruntime's fused kernels, where it was looked at."""
    notes: tuple[str, ...] = ()
    """Remarks on the examples that integers were calibrated on."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Outputs that are decisions (places, truths, whole numbers, rows that are chosen), by the operator that decides: these differ
    by whole steps where two numbers are near each other, whatever was measured on the examples."""

    @property
    def worst(self) -> Accuracy | None:
        """The tensor among those judged with the least signal to noise."""
        found = [a for a in (*self.outputs, *self.layers) if a.tensor in self.judged]
        return min(found, key=lambda a: a.sqnr, default=None)

    @property
    def apart(self) -> str:
        """Words for the greatest difference of what is judged, of the tensor's largest number; empty where nothing is judged."""
        found = [a.max_rel for a in (*self.outputs, *self.layers) if a.tensor in self.judged]
        if not found:
            return ""
        return f"off by {max(found):.1e} of scale at most" if max(found) else "the same numbers"

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
    decided = decisions(before)
    typed = {i.name: i for i in tensor_types(before).graph.value_info} if decided else {}
    given_too = [n for n in decided if n in typed]
    after = _decided(after, {n: typed[n] for n in given_too})
    sizes = {n: s for n, s in float_tensors(before).items() if n in makers}
    outputs = [o.name for o in before.model.graph.output]
    if inside:
        there = {o for n in after.model.graph.node for o in n.output}
        sizes = {n: s for n, s in sizes.items() if n in there or n in outputs}
    else:
        sizes = {n: s for n, s in sizes.items() if n in outputs}
    sums = {n: Sums() for n in sizes}
    for group in groups_of(sizes):
        shown = group if inside else []
        first = engine_of(before, "before", [*shown, *given_too], rounding=plain, plain=plain)
        second = engine_of(after, "after", shown, rounding=plain, plain=plain)
        for given in feeds:
            want = first.run_unchecked(given)
            narrowed = {n: a.astype(fed[n]) if fed and n in fed else a for n, a in given.items()}
            got = second.run_unchecked(narrowed | {n: want[n] for n in given_too})
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
    """Tensors that nodes of half precision, or on 8-bit integers, make."""
    typed = tensor_types(after).graph
    infos = (*typed.value_info, *typed.output, *typed.input)
    half = {i.name for i in infos if i.type.tensor_type.elem_type in HALF_CODES}
    integers = {o for n in after.model.graph.node if n.op_type == "DequantizeLinear" for o in n.output}
    reading = {o for n in after.model.graph.node if integers.intersection(n.input) for o in n.output}
    return half | reading


_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, *HALF_CODES)
_CHOICES = (onnx.TensorProto.INT64, onnx.TensorProto.BOOL)


def decisions(converted: Converted) -> list[str]:
    """Integers and truth values that operators which decide make."""
    typed = tensor_types(converted).graph
    kinds = {i.name: i.type.tensor_type.elem_type for i in (*typed.value_info, *typed.output)}
    made = (o for n in converted.model.graph.node if n.op_type in DECIDING | THRESHOLDS for o in n.output if o)
    outputs = {o.name for o in converted.model.graph.output}
    return [n for n in made if kinds.get(n) in _CHOICES and n not in outputs]


def chosen(converted: Converted) -> dict[str, str]:
    """Outputs that are decisions, or are picked by some, and the operator that decides."""
    typed = tensor_types(converted).graph
    kinds = {i.name: i.type.tensor_type.elem_type for i in (*typed.value_info, *typed.output, *typed.input)}
    made = {o for n in converted.model.graph.node if n.op_type != "Constant" for o in n.output}
    made |= {i.name for i in converted.model.graph.input}
    known: dict[str, str] = {}
    for node in converted.model.graph.node:
        said = _decider(node, kinds, made, known)
        known |= {
            o: said for place, o in enumerate(node.output) if said and not (node.op_type == "TopK" and place == 0)
        }
    return {o.name: known[o.name] for o in converted.model.graph.output if o.name in known}


def _decider(node: onnx.NodeProto, kinds: Mapping[str, int], made: Container[str], known: Mapping[str, str]) -> str:
    """The operator that decides what a node gives; empty where none does. made: tensors that are no constants. known: of tensors
    before it."""
    operator, asked = node.op_type, list(node.input)
    floats = any(kinds.get(n) in _FLOATS and n in made for n in asked)
    if floats and operator in DECIDING | STEPS | THRESHOLDS and not any(n in known for n in asked):
        return operator
    if floats and operator == "Cast" and asked[0] not in known and kinds.get(node.output[0]) not in (None, *_FLOATS):
        return operator
    if operator in PICKS:
        asked.sort(key=lambda n: n != node.input[PICKS[operator]])
    elif operator == "Where":  # by numbers that are held against others it may be continuous, as a leaky relu is
        asked = [*asked[1:], *(n for n in asked[:1] if known.get(n) in DECIDING)]
    elif (
        operator in SCALES and all(n in made for n in asked)
    ) or operator not in MOVES | SCALES | DECIDING | STEPS | THRESHOLDS:
        return ""
    return next((known[n] for n in asked if n in known), "")


def _decided(converted: Converted, given: Mapping[str, onnx.ValueInfoProto]) -> Converted:
    """The model with decisions as inputs."""
    if not given:
        return converted
    model = onnx.ModelProto()
    model.CopyFrom(converted.model)
    for node in model.graph.node:
        if any(o in given for o in node.output):
            node.output[:] = [f"{o}/own" if o in given else o for o in node.output]
    for info in given.values():
        new = model.graph.input.add()
        new.name = info.name
        new.type.tensor_type.elem_type = info.type.tensor_type.elem_type
    return Converted(model, converted.initializers)


def judged(converted: Converted) -> tuple[str, ...]:
    """Tensors by which a network is judged: outputs, and the floats that decisions go by."""
    graph = converted.model.graph
    floats = float_tensors(converted)
    made = {o for n in graph.node for o in n.output}
    found = {
        n: None for node in graph.node if node.op_type in DECIDING for n in node.input if n in floats and n in made
    }
    return tuple(found | {o.name: None for o in graph.output if o.name in floats})


def top(scores: np.ndarray, labels: np.ndarray, count: int) -> float:
    """Share of examples whose label is among the classes with the greatest scores. scores: (N, classes)."""
    best = np.argpartition(-scores, min(count, scores.shape[1]) - 1, axis=1)[:, :count]
    return float((best == labels[:, None]).any(axis=1).mean())
