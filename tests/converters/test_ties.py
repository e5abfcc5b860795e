"""Lowerings do not lean on which of equal numbers comes first: engines differ there (OpenVINO and MNN do not keep ONNX's order)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import bridge
from tests.models.networks import Network, agree, networks

DETECTORS = [n for n in networks() if n.name in ("ssd", "yolo")]


class TopK(OpRun):
    """ONNX's TopK with the last of equal numbers first."""

    op_domain = ""

    def _run(self, x: np.ndarray, k: np.ndarray, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
        turned = np.flip(x, axis)
        order = np.argsort(-turned if largest else turned, axis=axis, kind="stable")
        order = order.take(np.arange(int(np.ravel(k)[0])), axis=axis)
        return np.take_along_axis(turned, order, axis), (x.shape[axis] - 1 - order).astype(np.int64)


class GatherElements(OpRun):
    """ONNX's GatherElements; onnx's own evaluator fails where an axis is longer than 64."""

    op_domain = ""

    def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> Any:
        return (np.take_along_axis(data, indices, axis),)


@pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in DETECTORS])
def test_detections_do_not_depend_on_the_order_of_ties(network: Network, tmp_path: Path) -> None:
    target = tmp_path / "model.onnx"
    runs = network.runs()
    bridge.convert(network.prefix, inputs=runs[0][0], output=target, dynamic=network.dynamic(), verify=False)
    evaluator = ReferenceEvaluator(str(target), new_ops=[TopK, GatherElements])
    for inputs, outputs in runs:
        used = {n: inputs[n] for n in evaluator.input_names}
        agree(dict(zip(evaluator.output_names, evaluator.run(None, used))), outputs, network.limit)


@pytest.mark.parametrize("name", ["ssd", "yolo", "faster_rcnn"])
def test_openvino_finds_the_same_boxes(name: str, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    [network] = [n for n in networks() if n.name == name]
    target = tmp_path / "model.onnx"
    runs = network.runs()
    bridge.convert(network.prefix, inputs=runs[0][0], output=target, dynamic=network.dynamic(), verify=False)
    compiled = openvino.Core().compile_model(str(target), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    names = [next(iter(i.get_names())) for i in compiled.inputs]
    for inputs, outputs in runs:
        found = compiled({n: inputs[n] for n in names})
        got = {next(iter(o.get_names())): np.array(found[o]) for o in compiled.outputs}
        agree(got, outputs, network.limit)
