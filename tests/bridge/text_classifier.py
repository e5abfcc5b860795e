"""A small Transformer's worth of a text classifier as ONNX: word ids and a mask of open sizes, positions up to 16, LayerNorms that
share their weights, and a head."""

import numpy as np
import onnx
from onnx import numpy_helper

WORDS, POSITIONS, WIDTH, CLASSES = 20, 16, 8, 3


def classifier(*, seed: int = 0) -> onnx.ModelProto:
    """The model."""
    rng = np.random.default_rng(seed)
    weights = {
        "words": (WORDS, WIDTH),
        "positions": (POSITIONS, WIDTH),
        "norm_weight": (WIDTH,),
        "norm_bias": (WIDTH,),
        "inner_weight": (WIDTH, WIDTH),
        "head_weight": (CLASSES, WIDTH),
        "head_bias": (CLASSES,),
    }
    constants = {
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "last": np.array([2], np.int64),
        "index": np.array(1, np.int64),
        "middle": np.array([1], np.int64),
    }
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        classifier (int64[batch, seq] input_ids, int64[batch, seq] attention_mask) => (float[batch, 3] logits) {
            embedded = Gather(words, input_ids)
            sizes = Shape(input_ids)
            length = Gather(sizes, index)
            end = Unsqueeze(length, zero)
            placed = Slice(positions, zero, end, zero, one)
            summed = Add(embedded, placed)
            first = LayerNormalization <axis = -1, epsilon = 0.00001> (summed, norm_weight, norm_bias)
            inner = MatMul(first, inner_weight)
            active = Relu(inner)
            residual = Add(first, active)
            second = LayerNormalization <axis = -1, epsilon = 0.00001> (residual, norm_weight, norm_bias)
            mask = Cast <to = 1> (attention_mask)
            wide_mask = Unsqueeze(mask, last)
            masked = Mul(second, wide_mask)
            total = ReduceSum <keepdims = 0> (masked, middle)
            count = ReduceSum <keepdims = 1> (mask, middle)
            least = Constant <value = float[1] {1}> ()
            safe = Max(count, least)
            pooled = Div(total, safe)
            logits = Gemm <transB = 1> (pooled, head_weight, head_bias)
        }
    """
    model = onnx.parser.parse_model(text)
    for name, shape in weights.items():
        array = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    model.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in constants.items())
    for i, node in enumerate(model.graph.node):
        node.name = f"/{node.output[0]}/{node.op_type}_{i}"
    onnx.checker.check_model(model, full_check=True)
    return model


PARAMETERS = sum((WORDS * WIDTH, POSITIONS * WIDTH, 2 * WIDTH, WIDTH * WIDTH, CLASSES * WIDTH, CLASSES))
"""Numbers in its weights."""
