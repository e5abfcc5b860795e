"""Detectors without their suppression: boxes and scores are the symbol's own, and TensorRT's plugin chooses what it chose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import bridge
import converters
import hybrid as mx
from bridge.detectors import FACT
from converters.forms import Forms
from hybrid.execution.program import Program
from tests.converters.detectors import CLASSES, Detector, EfficientNMS_TRT, best_class, ssd, yolo
from tests.models.networks import networks

DETECTORS = {
    "ssd": lambda: ssd(),
    "ssd_agnostic": lambda: ssd(force=True),
    "yolo": lambda: yolo(),
    "yolo_few": lambda: yolo(topk=25, thresh=0.1),
    "best_class": lambda: best_class(),
}


def converted(detector: Detector, target: Path, nms: str, **options: Any) -> bridge.ConvertResult:
    return bridge.convert(
        detector.symbol,
        detector.params,
        inputs={"data": detector.shape},
        output=target,
        forms=Forms(nms=nms),
        **options,
    )


def detections(detector: Detector, data: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ids, scores, boxes = Program(detector.symbol.graph, detector.params).run({"data": data})
    return ids[..., 0], scores[..., 0], boxes


def same_detections(want: tuple[np.ndarray, ...], got: tuple[np.ndarray, ...], *, all_of_them: bool) -> int:
    """Assert that of every image the same is found, in the same order; gives how much. all_of_them: and no more than that."""
    total = 0
    count, boxes, scores, ids = got
    for image, (kind, score, box) in enumerate(zip(*want)):
        some = int((kind >= 0).sum())
        assert count[image, 0] == some if all_of_them else count[image, 0] >= some
        np.testing.assert_array_equal(ids[image, :some], kind[:some])
        np.testing.assert_allclose(scores[image, :some], score[:some], rtol=1e-5)
        np.testing.assert_allclose(boxes[image, :some], box[:some], rtol=0, atol=1e-5 * np.abs(box).max())
        total += some
    return total


@pytest.mark.parametrize("name", DETECTORS)
def test_the_plugin_finds_what_the_symbol_finds(name: str, tmp_path: Path) -> None:
    detector = DETECTORS[name]()
    result = converted(detector, tmp_path / "m.onnx", "tensorrt-plugin")
    assert result.verification is not None and result.verification.verdict == "equivalent"
    assert any("was not run" in w for w in result.warnings)
    evaluator = ReferenceEvaluator(str(tmp_path / "m.onnx"), new_ops=[EfficientNMS_TRT])
    assert evaluator.output_names == ["num_detections", "detection_boxes", "detection_scores", "detection_classes"]
    data = np.random.default_rng(1).uniform(-1, 1, detector.shape).astype(np.float32)
    got: Any = evaluator.run(None, {"data": data})
    assert same_detections(detections(detector, data), got, all_of_them=name != "yolo_few") > 10


@pytest.mark.parametrize(("name", "count"), [("ssd", 240), ("yolo", 160), ("best_class", 64)])
def test_each_box_comes_once_with_a_score_for_every_class(name: str, count: int, tmp_path: Path) -> None:
    detector = DETECTORS[name]()
    result = converted(detector, tmp_path / "m.onnx", "none")
    assert result.verification is not None and result.verification.verdict == "equivalent"
    assert {n: o["shape"] for n, o in result.outputs.items()} == {"boxes": [2, count, 4], "scores": [2, count, CLASSES]}
    model = onnx.load(tmp_path / "m.onnx")
    assert not {"NonMaxSuppression", "TopK", "Tile"} & {n.op_type for n in model.graph.node}
    facts = json.loads({p.key: p.value for p in model.metadata_props}[FACT])
    assert facts["most"] == min(20 if name != "best_class" else 30, count) and not facts["class_agnostic"]


def test_the_batch_may_stay_open(tmp_path: Path) -> None:
    detector = yolo()
    converted(detector, tmp_path / "m.onnx", "tensorrt-plugin", dynamic={"data": {0: "batch"}})
    evaluator = ReferenceEvaluator(str(tmp_path / "m.onnx"), new_ops=[EfficientNMS_TRT])
    data = np.random.default_rng(1).uniform(-1, 1, (3, *detector.shape[1:])).astype(np.float32)
    same_detections(detections(detector, data), evaluator.run(None, {"data": data}), all_of_them=True)


@pytest.mark.parametrize("nms", ["none", "tensorrt-plugin"])
@pytest.mark.parametrize("name", ["ssd", "yolo"])
def test_recorded_networks(name: str, nms: str, tmp_path: Path) -> None:
    [network] = [n for n in networks() if n.name == name]
    inputs, outputs = network.runs()[0]
    result = bridge.convert(network.prefix, inputs=inputs, output=tmp_path / "m.onnx", forms=Forms(nms=nms))
    assert result.verification is not None and result.verification.verdict == "equivalent"
    if nms == "none":
        assert list(result.outputs)[:2] == ["boxes", "scores"]
        return
    evaluator = ReferenceEvaluator(str(tmp_path / "m.onnx"), new_ops=[EfficientNMS_TRT])
    got: dict[str, Any] = dict(
        zip(evaluator.output_names, evaluator.run(None, {n: inputs[n] for n in evaluator.input_names}))
    )
    if name == "ssd":  # suppressed rows stay where they are, with the class -1
        rows = outputs["detection_output"]
        kept = [r[r[:, 0] >= 0] for r in rows]
    else:
        rows = np.concatenate([outputs[n] for n in list(outputs)[:3]], axis=-1)
        kept = [r[r[:, 0] >= 0] for r in rows]
    for image, want in enumerate(kept):
        assert len(want) > 3
        np.testing.assert_array_equal(got["detection_classes"][image, : len(want)], want[:, 0])
        np.testing.assert_allclose(got["detection_scores"][image, : len(want)], want[:, 1], rtol=1e-5)
        np.testing.assert_allclose(got["detection_boxes"][image, : len(want)], want[:, 2:], rtol=1e-5, atol=1e-5)


def test_an_input_that_is_called_as_an_output_will_be_is_told(tmp_path: Path) -> None:
    """It was written twice: not valid ONNX."""
    for name in ("scores", "boxes"):
        found = mx.sym.contrib.MultiBoxDetection(mx.sym.var(name), mx.sym.var("offsets"), mx.sym.var("anchors"))
        inputs = {name: (1, 3, 6), "offsets": (1, 24), "anchors": (1, 6, 4)}
        with pytest.raises(converters.ConversionError, match=f"{name} is called as an output is .* another name"):
            bridge.convert(found, {}, inputs=inputs, output=tmp_path / "m.onnx", forms=Forms(nms="none"))
        assert not (tmp_path / "m.onnx").exists()


def test_what_is_no_detector_is_refused_with_what_was_found(tmp_path: Path) -> None:
    names = {n.name: n for n in networks()}
    for name, words in (
        ("mobile_face", "wanted a network that ends in box_nms or MultiBoxDetection"),
        ("faster_rcnn", r"rois \(_contrib_Proposal\) chooses regions"),
        ("box_operators", r"box_nms1 \(_contrib_box_nms\): one of several"),
    ):
        with pytest.raises(converters.ConversionError, match=words):
            network = names[name]
            bridge.convert(
                network.prefix, inputs=network.runs()[0][0], output=tmp_path / "m.onnx", forms=Forms(nms="none")
            )
        assert not (tmp_path / "m.onnx").exists()


def test_classes_that_the_graph_does_not_tell_are_refused(tmp_path: Path) -> None:
    with pytest.raises(converters.UnsupportedModel, match="does not tell which classes"):
        converted(best_class(kinds="round"), tmp_path / "m.onnx", "none")


def test_what_computes_with_detections_is_refused(tmp_path: Path) -> None:
    detector = yolo()
    scores = detector.symbol[1]
    changed = detector._replace(symbol=scores * 2)
    with pytest.raises(converters.UnsupportedModel, match=r"computes with what .* chooses"):
        converted(changed, tmp_path / "m.onnx", "none")


def test_training_and_detection_before_suppression_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(bridge.BadInput, match="convert without --training"):
        converted(yolo(), tmp_path / "m.onnx", "none", training=True)


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="wanted one of onnx, none, tensorrt-plugin"):
        Forms(nms="trt")


def test_the_plugin_is_written_by_converters_too() -> None:
    detector = yolo()
    model = converters.to_onnx(
        detector.symbol, detector.params, {"data": detector.shape}, forms=Forms(nms="tensorrt-plugin")
    )
    [node] = [n for n in model.graph.node if n.op_type == "EfficientNMS_TRT"]
    read = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert list(node.input) == ["boxes", "scores"] and node.domain == "TRT"
    assert read["max_output_boxes"] == 20 and read["background_class"] == -1 and read["class_agnostic"] == 0
    assert read["iou_threshold"] == np.nextafter(
        np.float32(0.45), np.float32(1)
    )  # the plugin suppresses at it, box_nms above
