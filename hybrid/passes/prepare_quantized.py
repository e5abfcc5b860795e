"""Take MXNet's fused layers apart: what follows from quantised parameters alone, and those that are not quantised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.op import Op
from ..ir.graph import Entry, Graph, Node, SubgraphFunction
from ..ops.indexing import Embedding
from ..ops.quantization import INT32, UINT8
from ..ops.quantization_layers import QuantizedEmbedding, QuantizedFlatten
from ..ops.quantized_products import (
    FittedWeights,
    QuantizedProductConv,
    QuantizedProductDense,
    QuantizedWeights,
    activation_of,
)
from ..ops.subgraph import NORM, SUM, FusedConvolution, FusedFullyConnected, scale_of
from .rewriter import Rewriter

Range = tuple[Any, Any]


def prepare_quantized(graph: Graph, rewriter: Rewriter) -> Graph:
    """Fused layers of quantised networks become parameters, which are quantised once, and products of integers.

    Before: ``conv(x, w, b, low, high)``, which quantises w and b in every run. After: ``product(x, *weights(w, b), low, high)``.
    What the bias may be depends on the range of x: where that is not known before it runs, and one scale does not do for all
    filters, the layer stays. Layers in float become the operators that they fuse; what only moves integers becomes what moves
    floats."""
    if not {QuantizedProductConv.name, QuantizedProductDense.name} <= rewriter.native:
        return graph
    ranges = _Ranges(rewriter)

    def change(node: Node, now: Callable[[Entry], Entry]) -> list[Entry] | None:
        op: Any = node.op
        if not all(map(rewriter.is_known, node.inputs)):
            return None
        if node.means(QuantizedFlatten) and 0 not in rewriter.shape(node.inputs[0]):
            data, *ends = map(now, node.inputs)
            return [rewriter.reshape(data, rewriter.shape(Entry(node))), *ends]
        if node.means(QuantizedEmbedding):
            data, weight, *ends = map(now, node.inputs)
            rows = Embedding.bind(input_dim=op.input_dim, output_dim=op.output_dim)
            return [rewriter.make(rows, node.name, data, weight), *ends]
        if not hasattr(op, "in_whole"):  # one of the fused layers
            return None
        if not op.quantized:
            (body,) = node.subgraphs
            return None if rewriter.training else rewriter.inline(body, body.feeds([*map(now, node.inputs)]), node.name)
        parts = op.parts([SubgraphFunction(g, _nobody) for g in node.subgraphs])
        given = dict(zip(op.input_names(), node.inputs))
        found = ranges.of(given["min_data"], given["max_data"])
        dtype = rewriter.dtype(given["data"])
        assert dtype is not None
        if node.means(FusedConvolution) and dtype == UINT8 and (found is None or op.negative(dtype, found[0])):
            return None
        scale = None if found is None else float(scale_of(dtype, *found))
        weights: Any
        if node.means(FusedConvolution) or op.channel_wise_quantize:
            normed = parts.norm is not None
            norm = {"normed": True, "eps": parts.norm.eps, "fix_gamma": parts.norm.fix_gamma} if normed else {}
            if scale is None and op.each:
                return None
            bias = op.has_bias or normed
            weights = QuantizedWeights.bind(given=op.has_bias, bias=bias, each=op.each, data_scale=scale, **norm)
            sources = [given["weight"], *((given["bias"],) if op.has_bias else ()), *(given[n] for n in NORM if normed)]
        else:
            if scale is None and op.has_bias:
                return None
            weights = FittedWeights.bind(bias=op.has_bias, data_scale=scale)
            sources = [given[n] for n in (n.replace("given_", "") for n in weights.input_names())]
        made = rewriter.make(weights, f"{node.name}_weights", *map(now, sources)).node
        packed = dict(zip(weights.output_names(), (Entry(made, i) for i in range(made.num_outputs))))
        product = _product(op, parts, weights.bias)
        held = {n: now(e) for n, e in given.items()} | packed
        if op.sums:
            held["residual"] = now(given[SUM])
        done = rewriter.make(product, node.name, *(held[n] for n in product.input_names())).node
        return [Entry(done, i) for i in range(done.num_outputs)]

    return rewriter.rewrite(graph, change)


def _nobody(*_held: Any) -> Any:
    raise AssertionError("a subgraph that is only looked at")


def _product(op: Any, parts: Any, bias: bool) -> Op:
    """The product that a fused layer consists of, and what follows it."""
    product, late = parts.product, activation_of(parts.late)
    attrs = {
        "out_type": op.result_type(parts),
        "bias": bias,
        "whole": op.in_whole(parts),
        **activation_of(parts.act),
        **({"late": late["act"], "late_slope": late.get("slope", 0.25)} if late else {}),
    }
    if op.calibrated is not None and attrs["out_type"] != INT32:
        attrs |= {"min_calib_range": op.min_calib_range, "max_calib_range": op.max_calib_range}
    if op.means(FusedFullyConnected):
        return QuantizedProductDense.bind(num_hidden=product.num_hidden, flatten=product.flatten, **attrs)
    return QuantizedProductConv.bind(
        kernel=product.kernel, stride=product.strides, dilate=product.dilations, pad=product.pads, num_filter=product.num_filter,
        num_group=product.num_group, residual=op.sums, **attrs,
    )  # fmt: skip


class _Ranges:
    """Ranges that are known before a graph runs: those of calibrated tensors, and of what keeps these."""

    def __init__(self, rewriter: Rewriter):
        self._rewriter = rewriter
        self._known: dict[int, Range | None] = {}

    def of(self, low: Entry, high: Entry) -> Range | None:
        """The range whose ends these are; None when it is not known."""
        node = low.node
        if high.node is not node or (low.index, high.index) != (1, 2):
            return None
        if id(node) not in self._known:
            self._known[id(node)] = self._find(node)
        return self._known[id(node)]

    def _find(self, node: Node) -> Range | None:
        op: Any = node.op
        dtype = self._rewriter.dtype(Entry(node))
        if not hasattr(op, "range_ahead") or dtype is None:
            return None
        given = dict(zip(op.input_names(), node.inputs))
        kept = [self.of(given[a], given[b]) for a, b in op.range_inputs()]
        return op.range_ahead(dtype, kept)
