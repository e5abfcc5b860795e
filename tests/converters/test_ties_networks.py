"""Every committed network that chooses among numbers, in an evaluator that takes the last of equals and gives what it picks
the other way round: the answers are MXNet's all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_non_max_suppression import NonMaxSuppression as Suppression

import bridge
from tests.converters.test_ties import GatherElements, TopK
from tests.models.networks import Network, agree, networks

CHOOSING = frozenset(("ArgMax", "ArgMin", "NonMaxSuppression", "TopK", "Unique", "NonZero"))


def _last(find: Any) -> Any:
    def run(self: OpRun, x: np.ndarray, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        places = x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis)
        return ((np.expand_dims(places, axis) if keepdims else places).astype(np.int64),)

    return run


class ArgMax(OpRun):
    """ONNX's ArgMax with the last of equal numbers."""

    op_domain = ""
    _run = _last(np.argmax)


class ArgMin(OpRun):
    """ONNX's ArgMin with the last of equal numbers."""

    op_domain = ""
    _run = _last(np.argmin)


class NonMaxSuppression(Suppression):
    """ONNX's NonMaxSuppression; what it picks comes the other way round."""

    op_domain = ""

    def _run(self, *inputs: Any, **attributes: Any) -> Any:
        (picked,) = super()._run(*inputs, **attributes)
        return (picked[::-1],)


class MaxRoiPool(OpRun):
    """ONNX's MaxRoiPool, which onnx's own evaluator has not: the largest number of each part of a region, 0 of parts with none."""

    op_domain = ""

    def _run(self, x: np.ndarray, rois: np.ndarray, pooled_shape: Any = None, spatial_scale: float = 1.0) -> Any:
        rows, columns = pooled_shape
        out = np.zeros((len(rois), x.shape[1], rows, columns), x.dtype)
        for i, (image, *corners) in enumerate(rois):
            left, top, right, bottom = (int(v) for v in np.floor(np.multiply(corners, spatial_scale) + 0.5))
            high, wide = max(bottom - top + 1, 1) / rows, max(right - left + 1, 1) / columns
            for r in range(rows):
                for c in range(columns):
                    ys = np.clip([int(np.floor(r * high)) + top, int(np.ceil((r + 1) * high)) + top], 0, x.shape[2])
                    xs = np.clip([int(np.floor(c * wide)) + left, int(np.ceil((c + 1) * wide)) + left], 0, x.shape[3])
                    part = x[int(image), :, ys[0] : ys[1], xs[0] : xs[1]]
                    out[i, :, r, c] = part.max(axis=(1, 2)) if part.size else 0
        return (out,)


OTHERWISE = [MaxRoiPool, TopK, ArgMax, ArgMin, NonMaxSuppression, GatherElements]


def otherwise(path: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a file, by the evaluator that settles equals otherwise."""
    evaluator = ReferenceEvaluator(str(path), new_ops=OTHERWISE)
    given = {n: inputs[n] for n in evaluator.input_names}
    found: Any = evaluator.run(None, given)
    return dict(zip(evaluator.output_names, found))


@pytest.mark.slow
@pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in networks()])
def test_no_network_depends_on_the_order_of_equals(network: Network, tmp_path: Path) -> None:
    target, runs = tmp_path / "model.onnx", network.runs()
    bridge.convert(network.prefix, inputs=runs[0][0], output=target, dynamic=network.dynamic(), verify=False)
    if CHOOSING & {n.op_type for n in onnx.load(target).graph.node}:
        for inputs, outputs in runs:
            agree(otherwise(target, inputs), outputs, network.limit)


def test_the_evaluator_settles_equals_otherwise() -> None:
    """Equals come the other way round, which the test above stands on."""
    info, code = onnx.helper.make_tensor_value_info, onnx.TensorProto
    nodes = [
        onnx.helper.make_node("TopK", ["x", "k"], ["v", "top"]),
        onnx.helper.make_node("ArgMax", ["x"], ["most"], axis=1),
        onnx.helper.make_node("NonMaxSuppression", ["b", "s", "k", "t", "t"], ["picked"]),
    ]
    stored = {"k": np.array([2]), "t": np.array([0.5], np.float32)}
    graph = onnx.helper.make_graph(
        nodes, "g", [info("x", code.FLOAT, [1, 3]), info("b", code.FLOAT, [1, 2, 4]), info("s", code.FLOAT, [1, 1, 2])],
        [info(n, code.INT64, None) for n in ("top", "most", "picked")],
        [onnx.numpy_helper.from_array(a, n) for n, a in stored.items()],
    )  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    boxes = np.array([[[0, 0, 1, 1], [5, 5, 6, 6]]], np.float32)
    feeds = {"x": np.ones((1, 3), np.float32), "b": boxes, "s": np.array([[[2, 1]]], np.float32)}
    found: Any = ReferenceEvaluator(model, new_ops=OTHERWISE).run(None, feeds)
    assert found[0].tolist() == [[2, 1]]
    assert found[1].tolist() == [[2]]
    assert found[2].tolist() == [[0, 0, 1], [0, 0, 0]]
