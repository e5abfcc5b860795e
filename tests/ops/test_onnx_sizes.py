"""Axes of an operator's inputs that may have another size than in its examples, the other inputs left as they are.

The table was compared with onnxruntime, which computes the same wherever it takes what the table says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hybrid.core.error import InternalError, MXNetError
from hybrid.core.op import Example, Spec
from hybrid.core.shapes import merge
from hybrid.execution.apply import apply
from tests.table.examples import examples

FREE = """
SwiGLU 1: A, B
PRelu 1: X -3 -2 +, slope -1=1 +
PRelu 2: X -2 -1 +, slope -3=1
Attention 1: Q -2, K, V -1
Attention 2: Q, K, V, attn_mask -4=1 -2=1 -1=1, past_key, past_value
Attention 3: Q, K, V -1, attn_mask -2=1 -1=1 +
RotaryEmbedding 1: X -3, cos_cache, sin_cache
RotaryEmbedding 2: X, cos_cache, sin_cache, position_ids
LinearAttention 1: query, key, value, past_state, decay, beta -1=1
LinearAttention 2: query, key, value
LinearAttention 3: query, key, value, decay
LinearAttention 4: query, key, value, beta
Pow 1: X -2 +, Y -1 +
Pow 2: X -2 -1 +, Y +
Pow 3: X -2 -1=1 +, Y -1=1 +
Mod 1: A -2 -1=1 +, B -1=1 +
Mod 2: A -2 -1=1 +, B -1=1 +
Mod 3: A -2 -1=1 +, B -1=1 +
BitShift 1: X -2 -1=1 +, Y -1=1 +
BitShift 2: X -2 -1=1 +, Y -1=1 +
Equal 1: A -2 -1=1 +, B -1=1 +
Sum 1: arg0 -2=1 -1=1 +, arg1 -1=1 +, arg2 -2=1 +
Sum 2: arg0 -2=1 -1=1 +, arg1 -1=1 +, arg2 -2=1 +
Mean 1: arg0 -2=1 -1=1 +, arg1 -1=1 +, arg2 -2=1 +
Mean 2: arg0 -2=1 -1=1 +, arg1 -1=1 +, arg2 -2=1 +
CastLike 1: input -2 -1 +, target_type +
CastLike 2: input -2 -1 +, target_type +
Conv 1: X -2 -1, W -2 -1, B
Conv 2: X -1, W -3 -1
ConvTranspose 1: X -2 -1, W -2 -1, B
ConvTranspose 2: X -1, W -2 -1
ConvTranspose 3: X -1, W -2 -1
DeformConv 1: X, W -4, offset
DeformConv 2: X, W, offset, B, mask
Range 2: start +, limit +, delta +
OneHot 1: indices -2 -1 +, values
Clip 1: input -2 -1 +, min +, max +
Clip 2: input -2 -1 +, max +
Clip 3: input -2 -1 +, min +
ms_GroupQueryAttention 1: query, key, value, past_key, past_value
GatherElements 1: data -2 -1, indices -2 -1
GatherElements 2: data -2 -1, indices -2 -1
GatherND 1: data -3 -2 -1 +?, indices -2 -1? +
GatherND 2: data -2 -1, indices -2
ScatterElements 1: data -2 -1 +?, indices, updates
ScatterElements 2: data -2 -1 +?, indices, updates
ScatterElements 3: data -2 -1 +?, indices, updates
ScatterElements 4: data -2 -1 +?, indices, updates
ScatterElements 5: data -2 -1 +?, indices, updates
ScatterND 1: data -3 -2, indices, updates
ScatterND 2: data -2, indices, updates
ScatterND 3: data -2, indices, updates
ScatterND 4: data -2, indices, updates
ScatterND 5: data -2, indices, updates
TensorScatter 1: past_cache -2, update -2?, write_indices
TensorScatter 2: past_cache -2, update -2, write_indices
ReverseSequence 1: input -3 -1, sequence_lens
ReverseSequence 2: input -1, sequence_lens
QuantizeLinear 1: x -3 -2 -1 +, y_scale +, y_zero_point +
QuantizeLinear 2: x -3 -1, y_scale -1=1, y_zero_point -1=1
QuantizeLinear 3: x -3 -2 -1 +, y_scale +
QuantizeLinear 4: x -3? -2? -1?, y_scale -3? -2? -1?
DequantizeLinear 1: x -2 -1 +, x_scale +, x_zero_point +
DequantizeLinear 2: x -2, x_scale -1=1, x_zero_point -1=1
DequantizeLinear 3: x -2? -1, x_scale -2? -1?
MatMulInteger 1: A -2 +, B -1 +, a_zero_point +
MatMulInteger 2: A -2 +, B +, b_zero_point -1=1 +
QLinearMatMul 1: a -2 +, a_scale +, a_zero_point +, b -1 +, b_scale +, b_zero_point +, y_scale +, y_zero_point +
ConvInteger 1: x -2 -1, w -4 -2 -1, x_zero_point +
ConvInteger 2: x -2 -1, w -4 -2 -1, x_zero_point +
QLinearConv 1: x -2 -1, x_scale +, x_zero_point +, w -2 -1, w_scale -1=1 +, w_zero_point -1=1 +, y_scale +,
    y_zero_point +
QLinearConv 2: x -2 -1, x_scale +, x_zero_point +, w -2 -1, w_scale -1=1 +, w_zero_point -1=1 +, y_scale +,
    y_zero_point +, B -1=1 +
ms_MatMulIntegerToFloat 1: A -2 +, B +, a_scale +, b_scale -1=1 +, a_zero_point +
ms_DynamicQuantizeMatMul 1: A -2 +, B +, b_scale -1=1 +, bias -1=1 +
ms_QGemm 1: A -2, a_scale +, a_zero_point +, B -1, b_scale +, b_zero_point +
ms_QGemm 2: A -2, a_scale +, a_zero_point +, B, b_scale +, b_zero_point +, C -1=1 +, y_scale +, y_zero_point +
NegativeLogLikelihoodLoss 1: input -1, target
NegativeLogLikelihoodLoss 2: input -2, target
NegativeLogLikelihoodLoss 3: input, target, weight
SoftmaxCrossEntropyLoss 1: scores -1, labels
SoftmaxCrossEntropyLoss 2: scores -2, labels
SoftmaxCrossEntropyLoss 3: scores, labels, weights
Gemm 1: A -2, B, C -1=1 +
Gemm 2: A -1, B -2
Gemm 3: A, B -1, C -2=1
ml_FeatureVectorizer 1: arg0 -1, arg1 -1
ml_ArrayFeatureExtractor 1: X -2 -1 +, Y -1 +
BatchNormalization 1: X -4 -2 -1, scale, B, input_mean, input_var
BatchNormalization 2: X -3 -1, scale, B, input_mean, input_var
InstanceNormalization 1: input -4 -2 -1, scale, B
LayerNormalization 1: X -3 +, Scale -2=1 -1=1 +, B -2=1 -1=1 +
LayerNormalization 2: X -3 -2 +, Scale -1=1 +
RMSNormalization 1: X -3 -2 +, scale -1=1 +
RMSNormalization 2: X -3 -1 +, scale -2=1 +
GroupNormalization 1: X -4 -2 -1, scale, bias
ms_QLinearSigmoid 1: X -3 -2 -1 +, X_scale +, X_zero_point +, Y_scale +, Y_zero_point +
ms_QLinearLeakyRelu 1: X -3 -2 -1 +, X_scale +, X_zero_point +, Y_scale +, Y_zero_point +
ms_QLinearSoftmax 1: X -3 -2 -1 +, X_scale +, X_zero_point +, Y_scale +, Y_zero_point +
ms_QLinearSoftmax 2: X -3 -2 -1 +, X_scale +, X_zero_point +, Y_scale +, Y_zero_point +
ms_QLinearGlobalAveragePool 1: X -3 -2 -1 +, X_scale +, X_zero_point +, Y_scale +, Y_zero_point +
ms_QLinearAveragePool 1: X -3 -2 -1, X_scale +, X_zero_point +, Y_scale +, Y_zero_point +
ms_QLinearAveragePool 2: X -3 -2 -1, X_scale +, X_zero_point +, Y_scale +, Y_zero_point +
ms_QLinearAdd 1: A -2 -1=1 +, A_scale +, A_zero_point +, B -1=1 +, B_scale +, B_zero_point +, C_scale +,
    C_zero_point +
ms_QLinearMul 1: A -2 -1=1 +, A_scale +, A_zero_point +, B -1=1 +, B_scale +, B_zero_point +, C_scale +,
    C_zero_point +
ms_QLinearConcat 1: arg0 +, arg1 +, arg2, arg3 +, arg4 +, arg5 -2, arg6 +, arg7 +
Dropout 2: data -2 -1 +, ratio +, training_mode +
CumSum 1: x -3 -2 -1 +, axis +
CumSum 2: x -3 -2 -1 +, axis +
CumProd 1: x -3 -2 -1 +, axis +
CumProd 2: x -3 -2 -1 +, axis +
Resize 1: X -2 -1, scales
Resize 2: X -2 -1, scales
Resize 4: X -2 -1, roi
RNN 1: X -3 -2, W, R
RNN 2: X -3, W, R, B, sequence_lens, initial_h
GRU 1: X -3 -2, W, R, B
GRU 2: X -3, W, R, B, sequence_lens, initial_h
LSTM 1: X -3 -2, W, R, P
LSTM 2: X -3, W, R, B, sequence_lens, initial_h, initial_c, P
RoiAlign 1: X -4 -3 -2 -1, rois, batch_indices
RoiAlign 2: X -4 -3 -2 -1, rois, batch_indices
RoiAlign 3: X -4 -3 -2 -1, rois, batch_indices
Compress 1: input -2 -1 +?, condition -1? +
Compress 2: input -2 -1 +, condition -1 +
NonMaxSuppression 1: boxes, scores -2, max_output_boxes_per_class +, iou_threshold +, score_threshold +
NonMaxSuppression 2: boxes, scores -2, max_output_boxes_per_class +
STFT 1: signal -3 -2, window -1
MelWeightMatrix 1: num_mel_bins +, lower_edge_hertz +, upper_edge_hertz +
Pad 1: data -3 -2 -1, constant_value +
Trilu 2: input -2 -1 +, k +
GridSample 1: X -3 -2 -1, grid -3 -2
GridSample 2: X -3 -2 -1, grid -3 -2
GridSample 3: X -3 -2 -1, grid -3 -2
GridSample 4: X -4 -3 -2 -1, grid -4 -2
StringConcat 1: X -2 +, Y -1 +
training_Adagrad 1: arg0 +, arg1 +, arg2, arg3, arg4
training_Adam 1: arg0 +, arg1 +, arg2, arg3, arg4, arg5
training_Momentum 1: arg0 +, arg1 +, arg2, arg3, arg4, arg5, arg6, arg7
training_Momentum 2: arg0 +, arg1 +, arg2, arg3, arg4, arg5, arg6, arg7
"""


def several() -> Iterator[tuple[str, Example, list[int]]]:
    """(operator and number, example, places of inputs whose sizes are no count) of examples with several such inputs."""
    number: Counter[str] = Counter()
    for example in examples():
        op, arrays = example
        if op.name.startswith("_onnx_") and "subgraphs" not in op.needs:
            number[op.name] += 1
            counts = {i for i, a in enumerate(arrays) if i > 0 and "values" in op.needs and a.dtype.kind in "iu"}
            places = [i for i in range(len(arrays)) if i not in counts]
            if len(places) > 1:
                yield f"{op.name.removeprefix('_onnx_')} {number[op.name]}", example, places


def inferred(example: Example) -> list[Any] | None:
    """The shapes of the outputs; None where those of the inputs are refused."""
    op, arrays = example
    shapes = [a.shape for a in arrays]
    options = {"values": list(arrays)} if "values" in op.needs else {}
    try:
        for shape, filled in zip(shapes, op.infer_input_shapes(tuple(shapes), [None] * len(op.output_names()))):
            merge(shape, filled)
        found = op.infer_shape(*shapes, **options)
    except (MXNetError, ValueError):
        return None
    return found if isinstance(found, list) else [found]


def taken(example: Example) -> str | None:
    """ "" for what is inferred and computed alike, "?" for what is refused only when it runs, None for what is refused at once."""
    shapes = inferred(example)
    if shapes is None:
        return None
    op, arrays = example
    try:
        apply(op, arrays, [Spec(s, None) for s in shapes], name="node")
    except InternalError:
        raise
    except MXNetError:
        return "?"
    return ""


def free(example: Example, place: int) -> Iterator[str]:
    """-1: the last axis may be longer; -1=1: it may be 1 instead and nothing else, as it is spread; +: there may be one more axis
    of 1 in front; ?: that is refused only when it runs."""
    op, arrays = example

    def given(other: np.ndarray) -> Example:
        return Example(op, (*arrays[:place], other, *arrays[place + 1 :]))

    array = arrays[place]
    for axis in range(-array.ndim, 0):
        size = array.shape[axis]
        longer, single = (
            taken(given(np.take(array, np.arange(n) % size, axis))) if size > 1 else None for n in (size + 1, 1)
        )
        if longer is not None:
            yield f"{axis}{longer}"
        elif single is not None:
            yield f"{axis}=1{single}"
    more = taken(given(array[None]))
    if more is not None:
        yield f"+{more}"


def line(where: str, example: Example, places: Sequence[int]) -> str:
    parts = (" ".join([example.op.input_names()[i], *free(example, i)]) for i in places)
    return f"{where}: {', '.join(parts)}"


def test_sizes_that_differ() -> None:
    found = [line(*row) for row in several()]
    assert sorted(found) == sorted(re.sub(r"\n +", " ", FREE.strip()).split("\n"))
