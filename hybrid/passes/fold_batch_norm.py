"""Fold batch normalization, and other constant factors and summands of channels, into the weights before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.op import Op, lookup
from ..ir.graph import Entry, Graph, Node
from ..ops.binary import Pair, Scalar
from ..ops.common import axis_of
from ..ops.convolution import Convolution, ConvolutionV1, Deconvolution
from ..ops.folding import Affine, Folded, Scaled
from ..ops.fused import Chain
from ..ops.linear import FullyConnected
from ..ops.normalization import BatchNormWithReLU, _BatchNorm
from .rewriter import Context

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_ADD, _MULTIPLY, _NEGATIVE, _RELU = (lookup(n).bind() for n in ("broadcast_add", "broadcast_mul", "negative", "relu"))
_PRODUCTS = (Convolution, ConvolutionV1, Deconvolution, FullyConnected)


def fold_normalization(graph: Graph, context: Context) -> Graph:
    """BatchNorm with fixed statistics, and constants that channels are multiplied by or that are added to them, disappear in the
    weight and bias of the product before, if nobody else reads that; where there is none, BatchNorm becomes a chain. A number that
    everything is multiplied by or divided by disappears in the same way.

    Before: ``batch_norm(conv(x, w))``. After: ``conv(x, w * s, b)`` with s and b from constants: ``s = gamma / sqrt(var + eps)``.
    Before: ``batch_norm(concat(x, y))``. After: ``concat(x, y) * s + b``.
    """
    readers = context.readers(graph)

    def change(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        op: Any = node.op
        if node.means(_BatchNorm, BatchNormWithReLU):
            return _batch_norm(node, now)
        if node.means(Pair) and op.arithmetic.name in ("add", "subtract", "multiply"):
            for place in (0, 1) if op.arithmetic.name != "subtract" else (0,):
                data, other = node.inputs[place], node.inputs[1 - place]
                if context.is_constant(other) and not context.is_constant(data):
                    return _arithmetic(node, op.arithmetic.name, data, now(data), other)
        if node.means(Scalar) and op.arithmetic.name in ("multiply", "divide") and not op.reflected:
            return _number(op, node, now(node.inputs[0]))
        return None

    def foldable(data: Entry, source: Entry, axis: int) -> bool:
        """Whether the new node behind data is a product that can take up factors along the axis."""
        op: Any = source.node.op
        if not source.node.means(*_PRODUCTS) or len(readers[id(data.node), data.index]) != 1:
            return False
        rank = len(context.shape(source))
        channels = rank - 1 if source.node.means(FullyConnected) or getattr(op, "channels_last", False) else 1
        return axis == channels and all(map(context.is_constant, source.node.inputs[1:]))

    def _number(op: Op, node: Node, source: Entry) -> Entry | None:
        rank = len(context.shape(source) or ())
        if context.dtype(source) not in _FLOATS or not any(foldable(node.inputs[0], source, a) for a in (1, rank - 1)):
            return None
        scaled = [context.make(op, f"{e.node.name}_scaled", e) for e in source.node.inputs[1:]]
        return _product(source, scaled[0], scaled[1] if len(scaled) > 1 else None, context)

    def _batch_norm(node: Node, now: Callable[[Entry], Entry]) -> Entry | tuple[Entry, ...] | None:
        op: Any = node.op
        data, own = node.inputs[0], Entry(node)
        fixed = not context.training or op.use_global_stats
        seen = any((id(node), i) in readers for i in (1, 2))
        if not fixed or seen or not context.known(own) or context.dtype(own) not in _FLOATS:
            return None
        if not all(map(context.is_constant, node.inputs[1:])):
            return None
        source, rank = now(data), len(context.shape(own))
        axis = axis_of(op, op.axis, rank)
        attrs = {"eps": op.eps, "fix_gamma": op.fix_gamma}
        if foldable(data, source, axis):
            product: Any = source.node.op
            _, weight, *bias = source.node.inputs
            folded = Folded.bind(**attrs, **_groups(product), bias=bool(bias))
            weight = context.make(folded, f"{source.node.name}_folded", weight, *node.inputs[1:], *bias)
            y = _product(source, weight, Entry(weight.node, 1), context)
        else:
            dtype = context.dtype(own)
            if any(context.dtype(e) != dtype for e in node.inputs[1:]):
                return None
            affine = Affine.bind(**attrs, rank=rank, axis=axis)
            scale = context.make(affine, f"{node.name}_affine", *node.inputs[1:])
            shift = Entry(scale.node, 1)
            if dtype == np.float32 and Chain.name in context.native:
                code = "$0 $1 mul $2 add" + " relu" * node.means(BatchNormWithReLU)
                return context.make(Chain.bind(num_args=3, code=code), node.name, source, scale, shift)
            y = context.make(_MULTIPLY, f"{node.name}_scaled", source, scale)
            y = context.make(_ADD, node.name, y, shift)
        return context.make(_RELU, f"{node.name}_relu", y) if node.means(BatchNormWithReLU) else y

    def _arithmetic(node: Node, name: str, data: Entry, source: Entry, other: Entry) -> Entry | None:
        own = Entry(node)
        if not context.known(own) or context.dtype(own) not in _FLOATS:
            return None
        shape, extra = context.shape(own), context.shape(other)
        # a product of float32 stays one where float64 is multiplied or added
        if context.spec(own) != context.spec(data) or context.dtype(other) != context.dtype(own) or not extra:
            return None
        # the one axis along which the constant differs
        axes = [len(shape) - len(extra) + i for i, d in enumerate(extra) if d != 1]
        if len(axes) != 1 or not foldable(data, source, axes[0]):
            return None
        other = context.reshape(other, (shape[axes[0]],))
        _, weight, *rest = source.node.inputs
        bias = rest[0] if rest else None
        if name == "multiply":
            weight = context.make(Scaled.bind(**_groups(source.node.op)), f"{node.name}_weight", weight, other)
            bias = None if bias is None else context.make(Scaled.bind(), f"{node.name}_bias", bias, other)
        else:
            other = context.make(_NEGATIVE, f"{node.name}_shift", other) if name == "subtract" else other
            bias = other if bias is None else context.make(_ADD, f"{node.name}_bias", bias, other)
        return _product(source, weight, bias, context)

    return context.rewrite(graph, change)


def _groups(op: Any) -> dict[str, Any]:
    """What there is to know of a product's weight."""
    return {"num_group": op.num_group, "transposed": True} if op.means(Deconvolution) else {}


def _product(source: Entry, weight: Entry, bias: Entry | None, context: Context) -> Entry:
    """The product with another weight and bias."""
    node = source.node
    op: Any = node.op
    data = node.inputs[0]
    if bias is None:
        return context.make(op, node.name, data, weight)
    if op.no_bias:
        op = type(op).bind(**{**{name: getattr(op, name) for name in op.fields}, "no_bias": False})
    return context.make(op, node.name, data, weight, bias)
