"""Fold batch normalization, and other constant factors and summands of channels, into the weights before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.op import Op
from ..ir.graph import Entry, Graph, Node
from ..ops.binary import BinaryOp, BinaryScalarOp, BroadcastAdd, BroadcastMul
from ..ops.common import axis_of
from ..ops.convolution import Convolution, ConvolutionV1, Deconvolution
from ..ops.elementwise import Negative, Relu
from ..ops.folding import Affine, Folded, Scaled
from ..ops.fused import FusedElementwise
from ..ops.linear import FullyConnected
from ..ops.normalization import BatchNormWithReLU, _BatchNorm
from .rewriter import Rewriter

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_ADD, _MULTIPLY, _NEGATIVE, _RELU = (cls.bind() for cls in (BroadcastAdd, BroadcastMul, Negative, Relu))
_PRODUCTS = (Convolution, ConvolutionV1, Deconvolution, FullyConnected)


def fold_batch_norm(graph: Graph, rewriter: Rewriter) -> Graph:
    """BatchNorm with fixed statistics, and constants that channels are multiplied by or that are added to them, disappear in the
    weight and bias of the product before, if nobody else reads that; where there is none, BatchNorm becomes a chain. A number that
    everything is multiplied by or divided by disappears in the same way.

    Before: ``batch_norm(conv(x, w))``. After: ``conv(x, w * s, b)`` with s and b from constants: ``s = gamma / sqrt(var + eps)``.
    Before: ``batch_norm(concat(x, y))``. After: ``concat(x, y) * s + b``.
    """
    readers = rewriter.readers(graph)

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        op: Any = node.op
        if node.means(_BatchNorm, BatchNormWithReLU):
            return _batch_norm(node, now)
        if node.means(BinaryOp) and op.arithmetic.name in ("add", "subtract", "multiply"):
            for place in (0, 1) if op.arithmetic.name != "subtract" else (0,):
                data, other = node.inputs[place], node.inputs[1 - place]
                if rewriter.is_constant(other) and not rewriter.is_constant(data):
                    return _arithmetic(node, op.arithmetic.name, data, now(data), other)
        if node.means(BinaryScalarOp) and op.arithmetic.name in ("multiply", "divide") and not op.reflected:
            return _number(op, node, now(node.inputs[0]))
        return None

    def foldable(data: Entry, source: Entry, axis: int) -> bool:
        """True where the new node behind data is a product that can take up factors along the axis."""
        op: Any = source.node.op
        if not source.node.means(*_PRODUCTS) or len(readers[id(data.node), data.index]) != 1:
            return False
        rank = len(rewriter.shape(source))
        channels = rank - 1 if source.node.means(FullyConnected) or getattr(op, "channels_last", False) else 1
        return axis == channels and all(map(rewriter.is_constant, source.node.inputs[1:]))

    def _number(op: Op, node: Node, source: Entry) -> Entry | None:
        rank = len(rewriter.shape(source) or ())
        if rewriter.dtype(source) not in _FLOATS or not any(foldable(node.inputs[0], source, a) for a in (1, rank - 1)):
            return None
        scaled = [rewriter.make(op, f"{e.node.name}_scaled", e) for e in source.node.inputs[1:]]
        return _product(source, scaled[0], scaled[1] if len(scaled) > 1 else None, rewriter)

    def _batch_norm(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        op: Any = node.op
        data, own = node.inputs[0], Entry(node)
        fixed = not rewriter.training or op.use_global_stats
        seen = any((id(node), i) in readers for i in (1, 2))
        if not fixed or seen or not rewriter.is_known(own) or rewriter.dtype(own) not in _FLOATS:
            return None
        if not all(map(rewriter.is_constant, node.inputs[1:])):
            return None
        source, rank = now(data), len(rewriter.shape(own))
        axis = axis_of(op, op.axis, rank)
        attrs = {"eps": op.eps, "fix_gamma": op.fix_gamma}
        if foldable(data, source, axis):
            product: Any = source.node.op
            _, weight, *bias = source.node.inputs
            folded = Folded.bind(**attrs, **_groups(product), bias=bool(bias))
            weight = rewriter.make(folded, f"{source.node.name}_folded", weight, *node.inputs[1:], *bias)
            y = _product(source, weight, Entry(weight.node, 1), rewriter)
        else:
            dtype = rewriter.dtype(own)
            if any(rewriter.dtype(e) != dtype for e in node.inputs[1:]):
                return None
            affine = Affine.bind(**attrs, rank=rank, axis=axis)
            scale = rewriter.make(affine, f"{node.name}_affine", *node.inputs[1:])
            shift = Entry(scale.node, 1)
            if FusedElementwise.name in rewriter.native:
                code = "$0 $1 mul $2 add" + " relu" * node.means(BatchNormWithReLU)
                return rewriter.make(FusedElementwise.bind(num_args=3, code=code), node.name, source, scale, shift)
            y = rewriter.make(_MULTIPLY, f"{node.name}_scaled", source, scale)
            y = rewriter.make(_ADD, node.name, y, shift)
        return rewriter.make(_RELU, f"{node.name}_relu", y) if node.means(BatchNormWithReLU) else y

    def _arithmetic(node: Node, name: str, data: Entry, source: Entry, other: Entry) -> Entry | None:
        own = Entry(node)
        if not rewriter.is_known(own) or rewriter.dtype(own) not in _FLOATS:
            return None
        shape, extra = rewriter.shape(own), rewriter.shape(other)
        # a product of float32 stays one where float64 is multiplied or added
        if rewriter.spec(own) != rewriter.spec(data) or rewriter.dtype(other) != rewriter.dtype(own) or not extra:
            return None
        # the one axis along which the constant differs
        axes = [len(shape) - len(extra) + i for i, d in enumerate(extra) if d != 1]
        if len(axes) != 1 or not foldable(data, source, axes[0]):
            return None
        other = rewriter.reshape(other, (shape[axes[0]],))
        _, weight, *rest = source.node.inputs
        bias = rest[0] if rest else None
        if name == "multiply":
            weight = rewriter.make(Scaled.bind(**_groups(source.node.op)), f"{node.name}_weight", weight, other)
            bias = None if bias is None else rewriter.make(Scaled.bind(), f"{node.name}_bias", bias, other)
        else:
            other = rewriter.make(_NEGATIVE, f"{node.name}_shift", other) if name == "subtract" else other
            bias = other if bias is None else rewriter.make(_ADD, f"{node.name}_bias", bias, other)
        return _product(source, weight, bias, rewriter)

    return rewriter.rewrite(graph, change)


def _groups(op: Any) -> dict[str, Any]:
    """Grouping and layout of a product's weight, as attributes."""
    return {"num_group": op.num_group, "transposed": True} if op.means(Deconvolution) else {}


def _product(source: Entry, weight: Entry, bias: Entry | None, rewriter: Rewriter) -> Entry:
    """The product with another weight and bias."""
    node = source.node
    op: Any = node.op
    data = node.inputs[0]
    if bias is None:
        return rewriter.make(op, node.name, data, weight)
    if op.no_bias:
        op = type(op).bind(**{**{name: getattr(op, name) for name in op.fields}, "no_bias": False})
    return rewriter.make(op, node.name, data, weight, bias)
