"""Batch normalization in the weights of the layer before it.

What is stored is ``weight * scale`` and ``(bias - mean) * scale + beta`` with ``scale = gamma / sqrt(var + epsilon)``, computed in
float64 and rounded once: each number is within half a unit in the last place of what it means, as parameters themselves are. The
layer rounds its sums in float32 as before, and normalization's own roundings are gone, so that results are as near to the truth as
they were. Where that does not hold the fold is not made:

- float16, whose products are summed in float32: there a second rounding of the weights would be the largest error;
- float64, which nothing wider is at hand for;
- numbers that leave float32's range, and parameters that hold NaN or infinity (below its smallest normal number float32 has fewer
  digits, or none where a runtime flushes it to 0: verification takes such numbers for 0, and so does this);
- normalization *before* a layer, which takes the mean off first: folded, it is taken off a sum that has been rounded already.

hybrid/passes/fold_batch_norm.py does the same for our own engine, each time it runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph

LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
BLOCK = 1 << 20  # elements that are computed in float64 at a time
F32 = np.dtype(np.float32)
FOLDED_NAME = "_folded"
"""End of the names of weights that hold a normalization."""


def fold_batch_norm(graph: OnnxGraph) -> bool:
    """BatchNormalization(Conv(x, w, b)) -> Conv(x, w', b'); so ConvTranspose, Gemm and MatMul of rank 2.

    Only where the layer's output is read by nothing else, its weight and bias are initializers that nothing else reads, and the
    statistics are initializers. The result keeps the normalization's name, which is that of the numbers."""
    makers, reads = graph.makers, graph.reads
    place = {id(node): i for i, node in enumerate(graph.nodes)}
    changed = False
    for norm in list(graph.nodes):
        if (
            norm.op_type != "BatchNormalization"
            or norm.domain
            or norm.attrs.get("training_mode")
            or len(norm.outputs) > 1
        ):
            continue
        layer = makers.get(norm.inputs[0])
        if layer is None or layer.op_type not in LAYERS or layer.domain or reads[layer.outputs[0]] != 1:
            continue
        new = _folded(graph, layer, norm, reads)
        if new is None:
            continue
        # in the layer's place, before what may read it
        graph.nodes[place[id(layer)]] = new
        graph.nodes[place[id(norm)]] = _GONE
        makers[norm.outputs[0]] = new
        place[id(new)] = place[id(layer)]
        changed = True
    graph.nodes[:] = [n for n in graph.nodes if n is not _GONE]
    return changed


_GONE = OnnxNode("", (), [], {}, [""])


def _folded(graph: OnnxGraph, layer: OnnxNode, norm: OnnxNode, reads: Mapping[str, int]) -> OnnxNode | None:
    """The layer with the normalization in its weights; None where that may not be."""
    data, weight_name, *rest = layer.inputs
    bias_name = rest[0] if rest else ""
    held = [graph.constant(n) for n in (*norm.inputs[1:5], weight_name, *([bias_name] if bias_name else []))]
    arrays = [a for a in held if a is not None and a.dtype == F32]
    if len(arrays) < len(held) or reads[weight_name] != 1:
        return None
    weight, bias = arrays[4], arrays[5] if bias_name else None
    attrs = layer.attrs
    if layer.op_type == "Gemm":
        if attrs.get("alpha", 1.0) != 1 or attrs.get("transA") or (bias is not None and attrs.get("beta", 1.0) != 1):
            return None
    elif layer.op_type == "MatMul" and (weight.ndim != 2 or len(graph.shape(data) or ()) != 2):
        return None
    groups = attrs.get("group", 1) if layer.op_type == "ConvTranspose" else 1
    axis = _output_axis(layer)
    channels = weight.shape[axis] * groups
    gamma, beta, mean, var = (a.astype(np.float64) for a in arrays[:4])
    if gamma.shape != (channels,) or (bias is not None and bias.size not in (1, channels)) or not weight.size:
        return None
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(var + np.float64(np.float32(norm.attrs.get("epsilon", 1e-5))))
        shift = (0.0 if bias is None else bias.reshape(-1).astype(np.float64)) - mean
        new_bias = _rounded(shift * scale + beta)
        new_weight = _scaled(weight, scale, axis, groups)
    if new_weight is None or new_bias is None:
        return None
    names = [graph.unique(f"{n}{FOLDED_NAME}") for n in (weight_name, bias_name or norm.inputs[2])]
    graph.initializers.update(zip(names, (new_weight, new_bias)))
    op_type = "Gemm" if layer.op_type == "MatMul" else layer.op_type
    return layer._replace(op_type=op_type, inputs=(data, *names), outputs=norm.outputs)


def _output_axis(layer: OnnxNode) -> int:
    if layer.op_type == "Conv":
        return 0
    if layer.op_type == "Gemm":
        return 0 if layer.attrs.get("transB") else 1
    return 1


def _scaled(weight: np.ndarray, scale: np.ndarray, axis: int, groups: int) -> np.ndarray | None:
    """The weight, times the scale of its output channel; None where that leaves float32's range. axis: 0 or 1; groups: of rows,
    each with scales of its own."""
    out = np.empty(weight.shape, F32)
    rows = max(1, BLOCK // max(1, weight[:1].size))
    size = weight.shape[0] // groups  # no block lies in two groups
    for first in range(0, weight.shape[0], size):
        own = scale if axis == 0 else np.split(scale, groups)[first // size]
        for start in range(first, first + size, rows):
            part = slice(start, min(start + rows, first + size))
            factor = own[part] if axis == 0 else own
            block = _rounded(weight[part].astype(np.float64) * factor.reshape([-1, *[1] * (weight.ndim - 1 - axis)]))
            if block is None:
                return None
            out[part] = block
    return out


def _rounded(exact: np.ndarray) -> np.ndarray | None:
    """float64 as float32; None where a number is not finite then."""
    with np.errstate(over="ignore"):
        found = exact.astype(F32)
    return found if np.isfinite(found).all() else None
