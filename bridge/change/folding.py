"""Operations that optimizers put together: batch normalization in a convolution's weights, an activation in the node before it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .matching import Matching
from .network import Network, Operation

NORMS = ("BatchNormalization", "BatchNorm")
LAYERS = ("Conv", "ConvTranspose", "Convolution", "Deconvolution", "Gemm", "FullyConnected", "com.microsoft::FusedConv")
CLOSE = 2e-5  # of a filter's scale up to which folded weights are the same: they were rounded twice


class Fold(NamedTuple):
    """A normalization that one network has and whose numbers are in the other's layer."""

    norm: Operation
    weight: np.ndarray
    bias: np.ndarray
    """Those that the layer has to have then."""


def fold_of(network: Network, layer: Operation, matching: Matching) -> Fold | None:
    """The normalization behind a layer that has no partner, folded into the layer; None where there is none."""
    partner = matching.theirs if network is matching.a else matching.mine
    readers = network.readers.get(layer.outputs[0], [])
    weights = [n for n in layer.inputs[1:] if n in network.stored]
    if len(readers) != 1 or layer.operator not in LAYERS or not weights or layer.outputs[0] in network.outputs:
        return None
    norm = readers[0]
    if norm in partner or norm.operator not in NORMS or norm.inputs[0] != layer.outputs[0]:
        return None
    if not all(n in network.stored for n in norm.inputs[1:5]) or len(norm.inputs) < 5:
        return None
    gamma, beta, mean, var = (network.array(n).astype(np.float64) for n in norm.inputs[1:5])
    epsilon = float(norm.attributes.get("epsilon", norm.attributes.get("eps", 1e-5)))
    if norm.attributes.get("fix_gamma"):
        gamma = np.ones_like(gamma)
    weight = network.array(weights[0]).astype(np.float64)
    scale = gamma / np.sqrt(var + epsilon)
    axis = _output_axis(layer)
    if weight.shape[axis] != len(scale):
        return None
    bias = network.array(weights[1]).astype(np.float64) if len(weights) > 1 else np.zeros_like(scale)
    if bias.shape != scale.shape:
        return None
    shape = [1] * weight.ndim
    shape[axis] = -1
    return Fold(norm, weight * scale.reshape(shape), (bias - mean) * scale + beta)


def _output_axis(layer: Operation) -> int:
    if layer.operator in ("ConvTranspose", "Deconvolution"):
        return 1
    return 1 if layer.operator == "Gemm" and not layer.attributes.get("transB") else 0


def settled(want: np.ndarray, got: np.ndarray) -> np.ndarray:
    """``want``, with ``got`` in place of what differs by rounding alone, so that what is left is told."""
    if got.shape != want.shape:
        return want
    axes = tuple(range(1, want.ndim))
    scale = np.abs(want).max(axis=axes, keepdims=True, initial=0) if want.ndim > 1 else np.abs(want).max(initial=0)
    return np.where(np.abs(want - got) <= CLOSE * scale + CLOSE * np.abs(want), got, want).astype(got.dtype)


def fused_activation(matching: Matching, mine: Operation, theirs: Operation) -> Operation | None:
    """The activation behind an operation of a that has no partner, since the other side's operation does it; None for none."""
    activation = theirs.attributes.get("activation")
    readers = matching.a.readers.get(mine.outputs[0], [])
    if not activation or theirs.operator != f"com.microsoft::Fused{mine.operator}" or len(readers) != 1:
        return None
    last = readers[0]
    return last if last not in matching.theirs and last.operator == activation else None
