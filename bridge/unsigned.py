"""Quantised models with unsigned weights, which onnxruntime multiplies exactly on every processor.

On x86 without VNNI its kernels for uint8 by int8 add two products into 16 bits, which saturate: 255 * 127 twice gives 32767. The
same numbers with weights and their zero points moved up by 128 mean the same and do not
(onnxruntime.ai/docs/performance/model-optimizations/quantization.html, "reduce_range")."""

from __future__ import annotations

import functools

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

from converters.names import Names

from .engines import EngineError, OnnxEngine
from .models import Model

_WEIGHTS = {"MatMulInteger": (0, 1, 2, 3), "ConvInteger": (0, 1, 2, 3), "QLinearConv": (0, 3, 2, 5),
            "QLinearMatMul": (0, 3, 2, 5), "QGemm": (0, 3, 2, 5)}  # fmt: skip
"""Places of data, weights, the data's zero point and the weights' among the inputs."""


@functools.cache
def saturates() -> bool:
    """True where onnxruntime's products of uint8 by int8 saturate on this processor."""
    vectors = [
        helper.make_tensor_value_info(n, k, [4, 4]) for n, k in (("x", TensorProto.UINT8), ("w", TensorProto.INT8))
    ]
    made = helper.make_tensor_value_info("y", TensorProto.INT32, [4, 4])
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "probe", vectors, [made])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=7)
    try:
        feeds = {"x": np.full((4, 4), 255, np.uint8), "w": np.full((4, 4), 127, np.int8)}
        return bool((OnnxEngine(Model("probe", proto=model)).run(feeds)["y"] != 4 * 255 * 127).any())
    except EngineError:
        return False


def with_unsigned_weights(model: ModelProto) -> ModelProto | None:
    """The model whose stored int8 weights that meet uint8 data are uint8; None where there are none."""
    stored = {t.name: t for t in model.graph.initializer}
    makers = {o: n for n in model.graph.node for o in n.output}
    out = ModelProto()
    out.CopyFrom(model)
    names = Names((*stored, *makers, *(i.name for i in model.graph.input)))
    moved: dict[str, str] = {}

    def up(name: str, shape: tuple[int, ...] = ()) -> str:
        """The name of a stored tensor moved up by 128; of zeros where there is none."""
        if name not in moved or not name:
            array = numpy_helper.to_array(stored[name]) if name else np.zeros(shape, np.int8)
            made = names.unique(f"{name or 'zero_point'}_unsigned")
            moved[name] = made
            out.graph.initializer.append(numpy_helper.from_array((array.astype(np.int16) + 128).astype(np.uint8), made))
        return moved[name]

    def unsigned(name: str, zero: str) -> bool:
        if zero in stored:
            return stored[zero].data_type == TensorProto.UINT8
        maker = makers.get(name)
        return maker is not None and maker.op_type == "DynamicQuantizeLinear"

    changed = False
    for node in out.graph.node:
        places = _WEIGHTS.get(node.op_type)
        if places is None:
            continue
        given = [*node.input, *[""] * 6]
        data, weight, data_zero, zero = (given[p] for p in places)
        signed = weight in stored and stored[weight].data_type == TensorProto.INT8
        if not signed or not unsigned(data, data_zero) or (zero and zero not in stored):
            continue
        while len(node.input) <= places[3]:
            node.input.append("")
        node.input[places[1]], node.input[places[3]] = up(weight), up(zero)
        changed = True
    return out if changed else None


def unsigned_of(model: Model) -> Model | None:
    """A model as onnxruntime multiplies it exactly here; None where it does so as it is."""
    if model.proto is None or not any(n.op_type in _WEIGHTS for n in model.proto.graph.node) or not saturates():
        return None
    made = with_unsigned_weights(model.proto if model.path is None else onnx.load(model.path))
    return None if made is None else Model(model.name, proto=made)
