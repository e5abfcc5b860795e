"""``mx.contrib.onnx`` as MXNet 1.9.1 has it: the older place of export_model, and what is known of an ONNX file."""

from __future__ import annotations

import os
from typing import Any

import onnx

from .models import BadInput, open_model
from .mxnet_onnx import export_model

__all__ = ["export_model", "get_model_metadata"]


def get_model_metadata(model_file: Any) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Names and shapes of an ONNX file's inputs and outputs: {"input_tensor_data": [...], "output_tensor_data": [...]}.

    A size that may vary is 0. Raises BadInput for a file that is no ONNX model. Source: MXNet contrib.onnx.get_model_metadata."""
    model = open_model(model_file)
    if not model.is_onnx:
        raise BadInput(f"{model.name} is no ONNX model; get_model_metadata takes one")
    proto = model.proto or onnx.load(os.fspath(model.path), load_external_data=False)  # type: ignore[arg-type]
    stored = {t.name for t in proto.graph.initializer}

    def described(values: Any) -> list[tuple[str, tuple[int, ...]]]:
        return [
            (v.name, tuple(d.dim_value for d in v.type.tensor_type.shape.dim)) for v in values if v.name not in stored
        ]

    return {
        "input_tensor_data": described(proto.graph.input),
        "output_tensor_data": described(proto.graph.output),
    }
