"""Products on 8-bit integers as ONNX's runtimes read them: pairs of QuantizeLinear and DequantizeLinear around nodes that stay.

A node that is quantised reads its activations through such a pair, its weights from int8 with a scale for each output channel, and
its bias from int32, with the product of both scales, as an integer kernel adds it up. Runtimes that know such kernels put them in
the place of all three; others compute the same numbers in float32 (ONNX's QDQ form; TensorRT, OpenVINO, onnxruntime)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from ..error import ConversionError
from ..writer import Converted

PER_CHANNEL = 13
"""The first opset in which DequantizeLinear has an axis."""
OLDEST = 10
"""The first opset that has it at all."""
WEIGHTS: Mapping[str, tuple[int, int, Any]] = {
    "int8": (127, 0, np.int8), "uint8": (127, 128, np.uint8), "int7": (63, 0, np.int8),
}  # fmt: skip
"""Integers of weights: the greatest, the zero point, and the dtype. uint8 are the numbers of int8, moved by 128: where a CPU has no
instructions for dot products of bytes (VNNI), onnxruntime adds products of uint8 and int8 up in 16 bits, which saturate, and of
uint8 and uint8 it does not. int7 are halves of int8, whose sums do not saturate either."""
_ROOM = float(2**30)
"""Of int32, that a bias takes at most."""


@dataclass(frozen=True)
class Scale:
    """The integers of a tensor: x is about (q - zero) * step."""

    step: float
    zero: int
    dtype: str
    """uint8 or int8."""


@dataclass(frozen=True)
class Product:
    """A node that is to read integers."""

    output: str
    """The tensor that it makes."""
    activations: tuple[int, ...]
    """Places of inputs that are quantised by the scale of their tensor."""
    weight: int | None = None
    """The place of a constant."""
    axis: int | None = None
    """The weight's axis of output channels; None for one scale."""
    bias: int | None = None
    """The place of a constant that is added, (channels,)."""


def step_of(low: float, high: float, dtype: str) -> Scale:
    """The integers for numbers from low to high: of uint8 all 256 with any zero point, of int8 as many on both sides of 0."""
    low, high = min(low, 0.0), max(high, 0.0)
    if dtype == "int8":
        reach = max(-low, high)
        return Scale(_positive(reach / 127), 0, dtype)
    step = _positive((high - low) / 255)
    return Scale(step, int(np.clip(np.rint(-low / step), 0, 255)), dtype)


def _positive(step: float) -> float:
    """A scale that float32 holds."""
    found = float(np.float32(step))
    return found if found >= float(np.finfo(np.float32).tiny) else 1.0


def to_qdq(
    converted: Converted,
    products: Sequence[Product],
    scales: Mapping[str, Scale],
    *,
    weights: str = "int8",
    beside: str = "",
) -> Converted:
    """The model with these nodes on integers. scales: of the tensors that they read.

    weights: their integers, of WEIGHTS. beside: a suffix; the nodes stay, and such on integers, called so, are put beside them,
    which read the same numbers: what each loses by itself can be measured at once. Raises ConversionError below opset 10."""
    if converted.opset < OLDEST:
        raise ConversionError(
            f"8-bit integers want opset {OLDEST} or newer ({PER_CHANNEL} for a scale for each channel), got {converted.opset}"
        )
    return _Writing(converted, scales, weights, beside).all(products)


class _Writing:
    def __init__(self, converted: Converted, scales: Mapping[str, Scale], weights: str, beside: str):
        self.converted, self.scales, self.beside = converted, scales, beside
        self.most, self.zero, self.dtype = WEIGHTS[weights]
        self.per_channel = converted.opset >= PER_CHANNEL
        self.arrays = dict(converted.initializers)
        self.constants = dict(converted.initializers)
        for node in converted.model.graph.node:
            if node.op_type == "Constant":
                for a in node.attribute:
                    if a.name == "value":
                        self.constants[node.output[0]] = onnx.numpy_helper.to_array(a.t)
        self.pairs: dict[str, str] = {}
        self.steps: dict[str, np.ndarray] = {}
        self.nodes: list[onnx.NodeProto] = []

    def all(self, products: Sequence[Product]) -> Converted:
        """The rewritten model."""
        by_output = {p.output: p for p in products}
        model = onnx.ModelProto()
        model.CopyFrom(self.converted.model)
        for node in self.converted.model.graph.node:
            product = next((by_output[o] for o in node.output if o in by_output), None)
            if product is None:
                self.nodes.append(node)
                continue
            if self.beside:
                self.nodes.append(node)
            self._on_integers(node, product)
        del model.graph.node[:]
        model.graph.node.extend(self.nodes)
        read = {n for node in self.nodes for n in _names(node)} | {o.name for o in model.graph.output}
        return Converted(model, {n: a for n, a in self.arrays.items() if n in read})

    def _on_integers(self, node: onnx.NodeProto, product: Product) -> None:
        new = onnx.NodeProto()
        new.CopyFrom(node)
        for place in product.activations:
            new.input[place] = self._pair(node.input[place])
        if product.weight is not None:
            step = self.scales[node.input[product.activations[0]]].step
            bias = None if product.bias is None else self.constants[node.input[product.bias]]
            name, steps = self._weight(node, product, step, bias)
            new.input[product.weight] = name
            if product.bias is not None and bias is not None:
                new.input[product.bias] = self._bias(node, product, bias, step * steps)
        if self.beside:
            new.name = f"{node.name}{self.beside}"
            new.output[:] = [f"{o}{self.beside}" if o else o for o in node.output]
        self.nodes.append(new)

    def _pair(self, name: str) -> str:
        """The tensor through integers and back."""
        if name not in self.pairs:
            scale = self.scales[name]
            step, zero = f"{name}/scale", f"{name}/zero_point"
            self.arrays[step] = np.array(scale.step, np.float32)
            self.arrays[zero] = np.array(scale.zero, scale.dtype)
            integers, back = f"{name}/quantized", f"{name}/dequantized"
            self.nodes.append(
                onnx.helper.make_node("QuantizeLinear", [name, step, zero], [integers], f"{name}/quantize")
            )
            self.nodes.append(
                onnx.helper.make_node("DequantizeLinear", [integers, step, zero], [back], f"{name}/dequantize")
            )
            self.pairs[name] = back
        return self.pairs[name]

    def _weight(
        self, node: onnx.NodeProto, product: Product, step: float, bias: np.ndarray | None
    ) -> tuple[str, np.ndarray]:
        """The weight from integers, and its scales: (channels,) or (). A channel that is nearly 0 beside a large bias gets a scale
        in which int32 holds that bias."""
        assert product.weight is not None
        name = node.input[product.weight]
        array = self.constants[name].astype(np.float32)
        axis = product.axis if self.per_channel else None
        others = tuple(i for i in range(array.ndim) if i != axis) if axis is not None else None
        reach = np.abs(array).max(axis=others, initial=0) / self.most
        if bias is not None and (axis is None or bias.shape == reach.shape):
            room = np.abs(bias.astype(np.float64)) / (step * _ROOM)
            reach = np.maximum(reach, room if axis is not None else room.max(initial=0))
        steps = np.where(reach > np.finfo(np.float32).tiny, reach, 1.0).astype(np.float32)
        shape = [-1 if i == axis else 1 for i in range(array.ndim)] if axis is not None else []
        integers = np.clip(np.rint(array / steps.reshape(shape)), -self.most, self.most) + self.zero
        made = f"{node.output[0]}{self.beside}/weight"
        self.arrays |= {
            f"{made}_integers": integers.astype(self.dtype),
            f"{made}_scale": steps,
            f"{made}_zero_point": np.full(steps.shape, self.zero, self.dtype),
        }
        inputs = [f"{made}_integers", f"{made}_scale", f"{made}_zero_point"]
        self._dequantize(inputs, made, axis)
        return made, steps

    def _bias(self, node: onnx.NodeProto, product: Product, bias: np.ndarray, steps: np.ndarray) -> str:
        """The bias from int32."""
        made = f"{node.output[0]}{self.beside}/bias"
        steps = np.asarray(steps, np.float32)
        limits = np.iinfo(np.int32)
        whole = np.clip(np.rint(bias.astype(np.float64) / steps), limits.min, limits.max).astype(np.int32)
        self.arrays |= {f"{made}_int32": whole, f"{made}_scale": steps}
        self._dequantize([f"{made}_int32", f"{made}_scale"], made, 0 if steps.ndim else None)
        return made

    def _dequantize(self, inputs: Sequence[str], made: str, axis: int | None) -> None:
        attributes: dict[str, Any] = {"axis": axis} if axis is not None else {}
        self.nodes.append(onnx.helper.make_node("DequantizeLinear", inputs, [made], f"{made}_dequantize", **attributes))


def _names(node: onnx.NodeProto) -> list[str]:
    from ..proto_nodes import reads

    return list(reads(node))
