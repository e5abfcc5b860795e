"""Stored floats that are no parameters of the network, although an ONNX file has one kind of stored tensor for both.

Names, numbers and readers tell: a mask, a scale of QuantizeLinear or a table of sines is never trained, whoever has stored it. What
nothing tells stays a parameter. Numbers of a layer's weight and bias never tell anything: they may be new ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import onnx

from .stored_names import is_made_up

HELD = "constants by their names, numbers or readers, held with grad_req null"
DOUBTFUL = "trained, although the file does not say whether they are parameters"

SINGLE = "single numbers, which are not trained (in the shape (1,) they would be)"

Readers = Sequence[tuple[onnx.NodeProto | None, int]]

_WEIGHTS = {
    **dict.fromkeys(("Conv", "ConvTranspose", "FusedConv", "DeformConv", "Gemm", "FusedGemm"), (0, 1, 2, 4)),
    **dict.fromkeys(("MatMul", "FusedMatMul", "TransposeMatMul", "Einsum"), tuple(range(9))),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (1, 2, 3, 7)),
    **dict.fromkeys(
        ("BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization"), (1, 2)
    ),
    **dict.fromkeys(("RMSNormalization", "SimplifiedLayerNormalization", "PRelu"), (1, 2)),
    **dict.fromkeys(("Gather", "GatherND", "GatherElements"), (0,)),
}
"""Inputs that are weights and biases, by operator; of onnxruntime's own fused ones all."""
THROUGH = frozenset(
    ("Transpose", "Reshape", "Unsqueeze", "Squeeze", "Identity", "Split", "Slice", "Cast", "Flatten", "Expand")
)
"""Operators that give on what they read: what reads their outputs tells."""
_STRUCTURE = {
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), (1, 2)),
    "Resize": (1, 2, 3),
    "Upsample": (1,),
    "Clip": (1, 2),
    "Pad": (2,),
    "OneHot": (2,),
    "NonMaxSuppression": (3, 4),
    "Dropout": (1,),
    **dict.fromkeys(("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"), (0, 1)),
}
"""Inputs that are scales, limits and the like, of which nobody wants a gradient, or of which there is none."""
_ARITHMETIC = frozenset(("Add", "Sub", "Mul", "Div", "Pow", "Exp", "Sigmoid", "Softplus", "Tanh", "Reciprocal", "Neg"))
_STATES = {"LSTM": (5, 6), "GRU": (5,), "RNN": (5,)}
_OF_LAYERS = re.compile(
    r".*[._/](?:weight|bias|gamma|beta|kernel|alpha|scale|running_mean|running_var)(?::\d)?$|.*/ReadVariableOp"
)
_BUFFERS = re.compile(
    r"(?:.*[._/])?(?:num_batches_tracked|running_mean|running_var|inv_freq|original_inv_freq|(?:cos|sin)(?:_cached|_cache)|freqs_cis|"
    r"(?:\w+_)?mask(?:ed_bias)?|(?:pixel|image|img|input)_(?:mean|std)|anchors?|anchor_grid|strides|position_ids)$"
    r"|_tensor_constant\d*$|_?lifted_tensor_\d+$|c_lifted_tensor_\d+$"
)
_FILLED = re.compile(r"(?:zeros|ones|full|empty|arange|linspace|logspace|eye|scalar_tensor)(?:_like)?(?:_\d+)?$")
_NORMALIZING = re.compile(r"(?:.*[._/])?(?:mean|std|mu|sigma)\d?$")
_LARGE = 1 << 24
"""Elements up to which numbers are looked at."""


def is_held(name: str, array: np.ndarray, readers: Readers, producer: str, fed: frozenset[str]) -> bool:
    """True for what is no parameter by its name, its numbers or its readers. fed: inputs of the model."""
    if not readers or not array.size or any(node is None for node, _ in readers) or _is_state(readers):
        return False
    if all(n is not None and n.op_type == "DequantizeLinear" for n, _ in readers):
        return False  # scales of integers that stay what they are, and may be trained in their place
    if _all_in(readers, _STRUCTURE) or _BUFFERS.match(name):
        return True
    made_up, layer = is_made_up(name, producer), any(_is_weight(n, i) for n, i in readers if n is not None)
    if _is_progression(array) and producer and not (made_up and layer):
        return True  # bins of a distribution, frequencies of positions
    if layer and not all(n is not None and n.op_type.startswith("Gather") for n, _ in readers):
        return False
    if array.size == 1 and made_up:
        return True
    if producer == "pytorch" and _FILLED.match(name):
        return True
    if made_up and _all_in(readers, _STATES) and (array == array.flat[0]).all():
        return True
    if _normalizes(readers, fed) and (made_up or _NORMALIZING.match(name)):
        return True
    if array.size > _LARGE or array.dtype.kind != "f":
        return False
    return _is_mask(array) or _is_table_of_sines(array) or (made_up and _is_grid(array))


def is_single(name: str, readers: Readers, producer: str) -> bool:
    """True for a number without axes that may have been a parameter, such as the temperature of a softmax."""
    own = readers and not is_made_up(name, producer) and not _BUFFERS.match(name)
    return bool(own) and all(n is not None and n.op_type in _ARITHMETIC for n, _ in readers)


def is_doubtful(name: str, readers: Readers) -> bool:
    """True for what is trained while neither its name nor its readers say that it is a parameter."""
    if not readers or _OF_LAYERS.match(name) or _is_state(readers):
        return False
    return not any(node is None or _is_weight(node, place) for node, place in readers)


def _is_state(readers: Readers) -> bool:
    """True for a moving mean or variance, which is no parameter but moves."""
    return any(n is not None and n.op_type == "BatchNormalization" and place in (3, 4) for n, place in readers)


def _is_weight(node: onnx.NodeProto, place: int) -> bool:
    if node.domain not in ("", "ai.onnx") and node.op_type not in _WEIGHTS:
        return True  # fused layers, and functions of the model
    return place < 0 or place in _WEIGHTS.get(node.op_type, ())


def _all_in(readers: Readers, places: dict[str, tuple[int, ...]]) -> bool:
    return all(node is not None and place in places.get(node.op_type, ()) for node, place in readers)


def _normalizes(readers: Readers, fed: frozenset[str]) -> bool:
    """True where an input of the model is made small: a mean is subtracted from it, or it is divided."""
    return all(n is not None and n.op_type in ("Sub", "Div") and i == 1 and n.input[0] in fed for n, i in readers)


def _is_mask(array: np.ndarray) -> bool:
    """True for zeros and ones, and for what softmax or a maximum never takes."""
    if array.size < 2:
        return False
    low, high = array.min(), array.max()
    if not (np.isinf(low) or low <= -100 or (low == 0 and high == 1)) or high > 1:
        return False
    return bool(((array == low) | (array == high) | (array == 0)).all())


def _is_table_of_sines(array: np.ndarray) -> bool:
    """True for sines and cosines of positions: none beyond 1, and those of position 0 are 0 and 1."""
    if array.size < 8 or array.ndim < 2 or not (np.abs(array) <= 1).all():
        return False
    for axis in range(array.ndim):
        if array.shape[axis] > 1:
            first, second = (array.take(i, axis) for i in (0, 1))
            begins = bool(((first == 0) | (first == 1)).all()) and first.size > 1
            if begins and not ((second == 0) | (second == 1)).all() and not (first == second).all():
                return True
    return False


def _is_grid(array: np.ndarray) -> bool:
    """True for three halves or more, such as the middles of pixels."""
    twice = array * 2
    return bool(np.isfinite(twice).all() and (twice == np.rint(twice)).all() and np.unique(twice).size >= 3)


def _is_progression(array: np.ndarray) -> bool:
    """True for four whole numbers or more in a row of equal steps, or of equal factors."""
    flat = array.reshape(-1)
    if array.dtype.kind != "f" or not 4 <= flat.size <= 4096 or not (flat == np.rint(flat)).all() or flat[0] == flat[1]:
        return False
    if np.isinf(flat).any():
        return False
    steps = np.diff(flat)
    return bool((steps == steps[0]).all() or (flat[0] > 0 and (flat[1:] == flat[:-1] * (flat[1] / flat[0])).all()))
