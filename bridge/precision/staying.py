"""The nodes of a float32 network that float16 would harm, each with the reason; found before anything is rewritten.

Float16 has 11 bits and reaches to 65504: no whole number past 2048 is safe in it, nor the square of 300. What stays: numbers
beyond it, whole numbers past 2048 (positions, counts, tokens), what becomes an index or a decision (boxes on their way into
NonMaxSuppression and ROI pooling, keys of TopK, coordinates of a grid, floats that are cast to integers) back to the
convolution or product that it came from, squares that overflow inside a norm, and constants that would become 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import onnx

from converters.onnx_types import dtype_of
from converters.precision.retype import GREATEST, tensor_types
from converters.proto_nodes import reads
from converters.writer import Converted
from hybrid.core.attrs import is_float

from ..paths import BadInput, names_in
from .survey import Range
from .wishes import Beyond, Stay

HEADROOM = 2.0
"""Times that other inputs may reach further than those that were measured."""
EXACT = 2048.0
"""The whole numbers that float16 holds without a gap."""
FEW = 16
"""Elements up to which a constant counts as a parameter of the arithmetic (an epsilon), and not as weights."""
HEAVY = frozenset(
    ("Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum", "LSTM", "GRU", "RNN", "DeformConv", "BatchNormalization",
     "InstanceNormalization", "LayerNormalization", "GroupNormalization", "ConvInteger", "MatMulInteger", "Attention")
)  # fmt: skip
"""Operators that what stays is not followed through: behind them are features, no positions."""
DECIDING = {
    "NonMaxSuppression": (0, 1), "RoiAlign": (1,), "MaxRoiPool": (1,), "GridSample": (1,), "DeformConv": (2,), "TopK": (0,),
    "ArgMax": (0,), "ArgMin": (0,), "OneHot": (0, 2), "Unique": (0,), "Floor": (0,), "Ceil": (0,), "Round": (0,), "Mod": (0, 1),
    "Range": (0, 1, 2), "CumSum": (0,),
}  # fmt: skip
"""Inputs whose exact numbers decide, by operator."""
SQUARING = frozenset(
    ("ReduceL2", "ReduceSumSquare", "LpPool", "GlobalLpPool", "LpNormalization", "InstanceNormalization", "LayerNormalization",
     "GroupNormalization", "MeanVarianceNormalization", "LRN", "ReduceLogSumExp")
)  # fmt: skip
"""Operators that square numbers inside, where they are not seen."""
MASKING = frozenset(("Where", "ScatterND", "ScatterElements", "Pad", "Concat", "Expand", "ConstantOfShape"))
"""Operators that put a constant in place of numbers: one beyond float16 stands for "not this one"."""
BOUNDING = frozenset(("Clip", "Max", "Min"))
"""Operators of which a bound beyond float16 bounds nothing that float16 holds."""
MOVING = frozenset(
    ("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Tile", "Slice", "Split", "Gather", "GatherND",
     "GatherElements", "Concat", "Identity", "Where", "ScatterND", "ScatterElements", "Pad", "Compress", "ReverseSequence")
)  # fmt: skip
"""Operators that move numbers and change none."""
SOFT = frozenset(("Softmax", "LogSoftmax"))


class Staying:
    """The nodes that stay, found rule by rule."""

    def __init__(self, converted: Converted, ranges: Mapping[str, Range]):
        self.graph, self.initializers, self.ranges = converted.model.graph, converted.initializers, ranges
        typed = tensor_types(converted).graph
        self.floats = {
            i.name
            for i in (*typed.input, *typed.value_info, *typed.output)
            if i.type.tensor_type.elem_type and is_float(dtype_of(i.type.tensor_type.elem_type))
        }
        self.maker = {o: n for n in self.graph.node for o in n.output if o}
        self.readers: dict[str, list[onnx.NodeProto]] = {}
        for node in self.graph.node:
            for name in dict.fromkeys(reads(node)):
                self.readers.setdefault(name, []).append(node)
        self.constants = self._constants()
        self.found: dict[str, Stay] = {}
        self.beyond: list[Beyond] = []
        self.masked: set[str] = set()

    def _constants(self) -> dict[str, np.ndarray]:
        """Float constants of the graph by name: initializers, and what Constant nodes make."""
        out = {n: a for n, a in self.initializers.items() if is_float(a.dtype)}
        for node in self.graph.node:
            if node.op_type == "Constant":
                for a in node.attribute:
                    if a.name == "value" and is_float(dtype_of(a.t.data_type)):
                        out[node.output[0]] = onnx.numpy_helper.to_array(a.t)
        return out

    def stay(self, node: onnx.NodeProto, reason: str) -> None:
        """Let a node stay; the first reason is told."""
        name = next((o for o in node.output if o), "")
        if name and name not in self.found:
            self.found[name] = Stay(node.name or name, node.op_type, name, reason)

    @property
    def tensors(self) -> set[str]:
        """Tensors that are made by nodes that stay."""
        return set(self.found)

    def stays(self, node: onnx.NodeProto) -> bool:
        return any(o in self.found for o in node.output)

    # -- rules ------------------------------------------------------------------------------------------------------

    def find(self, asked: Sequence[str]) -> None:
        """Go through all rules. Raises BadInput for names that nothing in the graph has."""
        self._asked(asked)
        self._constants_beyond()
        self._activations()
        self._deciding()
        self._vanishing()
        self.settle()

    def _asked(self, asked: Sequence[str]) -> None:
        unknown = []
        for text in names_in(asked, {t for t in asked if any(named(n, t) for n in self.graph.node)}):
            matching = [n for n in self.graph.node if named(n, text)]
            for node in matching:
                self.stay(node, "asked for")
            if not matching:
                unknown.append(f"{text}: no node and no operator of the file has that name; inspect --nodes lists them")
        if unknown:
            raise BadInput(*unknown)

    def _constants_beyond(self) -> None:
        for name, array in self.constants.items():
            with np.errstate(invalid="ignore"):
                beyond = array[np.isfinite(array) & (np.abs(array) > GREATEST)]
            if not beyond.size:
                continue
            kind = "weight" if array.size > FEW else "constant"
            staying, clamped = [], []
            for node in self.readers.get(name, ()):
                mask = node.op_type in MASKING and (beyond < 0).all()
                if kind == "constant" and (mask or node.op_type in BOUNDING):
                    clamped.append(node)
                    if mask:
                        self.masked.update(node.output)
                else:
                    staying.append(node)
                    self.stay(node, f"reads {name}, which holds {_most(beyond):.3g}")
            became = [f"{_names(clamped)} reads {np.copysign(GREATEST, _most(beyond)):g} instead"] if clamped else []
            became += [f"{_names(staying)} stays in float32"] if staying else []
            self.beyond.append(Beyond(name, kind, _most(beyond), "; ".join(became) or "nothing reads it"))
        for node in self.graph.node:  # what is masked is moved on
            if node.op_type in MOVING and self.masked.intersection(node.input):
                self.masked.update(node.output)

    def _activations(self) -> None:
        for name, range in self.ranges.items():
            if name in self.constants:
                continue
            around = [n for n in (self.maker.get(name), *self.readers.get(name, ())) if n is not None]
            if range.greatest * HEADROOM > GREATEST:
                if self._is_mask(name, range):
                    continue
                far = range.low if -range.low > range.high else range.high
                for node in around:
                    self.stay(node, f"{name} reaches {far:.3g}")
                if range.greatest > GREATEST:
                    self.beyond.append(
                        Beyond(
                            name, "activation", far, f"{_names(around)} {'stay' if around[1:] else 'stays'} in float32"
                        )
                    )
            elif range.whole and range.greatest > EXACT:
                for node in around:
                    self.stay(node, f"{name} holds whole numbers up to {range.greatest:.0f}")
            elif range.greatest**2 * HEADROOM > GREATEST:
                for node in self.readers.get(name, ()):
                    if node.op_type in SQUARING:
                        self.stay(node, f"squares of {name}, which reaches {range.greatest:.3g}")

    def _is_mask(self, name: str, range: Range) -> bool:
        """True for a tensor whose numbers beyond float16 are a mask's, and which no arithmetic reads."""
        return (
            name in self.masked
            and range.high * HEADROOM <= GREATEST
            and all(n.op_type in MOVING | SOFT for n in self.readers.get(name, ()))
        )

    def _deciding(self) -> None:
        for node in self.graph.node:
            places: Iterable[int] = DECIDING.get(node.op_type, ())
            if node.op_type == "Cast" and node.output[0] not in self.floats:
                places = (0,)
            for place in places:
                if place < len(node.input) and node.input[place] in self.floats:
                    self.stay(node, "decides by the exact numbers that it reads")
                    self._back(node.input[place], node)

    def _back(self, name: str, reader: onnx.NodeProto) -> None:
        """Let what makes a tensor stay, back to features."""
        stack = [name]
        seen = set()
        while stack:
            node = self.maker.get(stack.pop())
            if node is None or id(node) in seen or node.op_type in HEAVY:
                continue
            seen.add(id(node))
            if any(a.type == onnx.AttributeProto.GRAPH for a in node.attribute):
                continue
            self.stay(node, f"leads to {reader.name or reader.output[0]} ({reader.op_type})")
            stack += [n for n in node.input if n in self.floats]

    def _vanishing(self) -> None:
        """Let stay what reads an epsilon that float16 has no number for, and what divides by the sum, or takes its root."""
        for name, array in self.constants.items():
            if array.size > FEW or not array.size:
                continue
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                small = array.astype(np.float16).astype(np.float64)
                lost = np.isfinite(array) & (array != 0) & (np.abs(small / array.astype(np.float64) - 1) > 0.01)
                lost &= np.abs(array) < 1
            if not lost.any():
                continue
            for node in self.readers.get(name, ()):
                self.stay(node, f"reads {name}, {_most(array[lost]):.3g}, which float16 does not hold")
                for output in node.output:
                    for reader in self.readers.get(output, ()):
                        if reader.op_type in ("Sqrt", "Div", "Pow", "Reciprocal", "Log", "Rsqrt"):
                            self.stay(reader, f"reads what {node.name or output} makes")

    def settle(self) -> None:
        """Let stay what only moves numbers that stay: a cast there and back would gain nothing."""
        for node in self.graph.node:
            if node.op_type not in MOVING or self.stays(node):
                continue
            floats = [n for n in node.input if n in self.floats and n not in self.constants]
            if floats and all(n in self.maker and self.stays(self.maker[n]) for n in floats):
                self.stay(node, f"moves what {self.maker[floats[0]].name or floats[0]} makes")


def named(node: onnx.NodeProto, text: str) -> bool:
    """True for a node that a user calls so: by its operator, name, a tensor of its own, or the symbol's node that it is part of."""
    own = (node.name, *node.output)
    return node.op_type == text or any(n in (text, f"{text}_output") or n.startswith(f"{text}/") for n in own)


def _most(array: np.ndarray) -> float:
    return float(array.flat[np.abs(array).argmax()])


def _names(nodes: Sequence[onnx.NodeProto]) -> str:
    names = [n.name or n.output[0] for n in nodes]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
