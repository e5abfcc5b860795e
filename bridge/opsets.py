"""Opsets that the installed onnxruntime opens, and the one to write by default."""

from __future__ import annotations

import functools

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import converters
from converters.export import ir_version


@functools.cache
def opens(opset: int) -> bool:
    """True where onnxruntime opens a model of this opset. Found by trying: releases differ, and so do their own tables."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "probe",
        [info("x", TensorProto.FLOAT, [1])],
        [info("y", TensorProto.FLOAT, [1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version(opset))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions share no base class
        if "pset" in str(error) or "IR version" in str(error):
            return False
        raise
    return bool(session.run(None, {"x": np.ones(1, np.float32)})[0] == 1)


def newest() -> int:
    """The newest opset that onnxruntime opens and converters write."""
    return next(o for o in range(converters.newest_opset(), 0, -1) if opens(o))


def default_opset() -> int:
    """The newest opset, 21 at most, that onnxruntime opens: from 22 on its newer releases lose kernels."""
    return next(o for o in range(converters.default_opset(), 0, -1) if opens(o))
