"""Opsets that the installed onnxruntime opens, and what is meant by those that users ask for."""

from __future__ import annotations

import functools

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import converters
from converters.export import NEWEST, ir_version

from .paths import BadInput


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
    """The newest opset, 21 at most, that onnxruntime opens, which "newest" is: from 22 on its newer releases lose kernels."""
    return next(o for o in range(converters.default_opset(), 0, -1) if opens(o))


def check_opset(opset: int | str | None) -> None:
    """Raise BadInput unless an opset is a number that is written, NEWEST or None, which is the oldest that loses nothing."""
    oldest, last = converters.OLDEST, converters.newest_opset()
    number = isinstance(opset, int) and oldest <= opset <= last
    if not number and opset not in (None, NEWEST):
        raise BadInput(f"got opset {opset}, wanted {oldest} to {last} (the newest that onnx defines) or {NEWEST!r}")


def parse_opset(text: str | None) -> int | str | None:
    """The opset that ``--opset`` names. Raises BadInput for what is none."""
    opset = int(text) if text is not None and text.isdecimal() else text
    check_opset(opset)
    return opset
