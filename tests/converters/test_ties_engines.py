"""Equal scores everywhere: engines that put equals in another order than ONNX find the boxes that the engine here finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import converters
from converters.forms import USUAL
from hybrid.execution.program import Program
from tests.converters.test_detection_dynamic import graph_of
from tests.converters.test_ties import GatherElements, TopK
from tests.table.test_goldens import run_onnx

SUPPRESSED = (
    {"overlap_thresh": 0.5, "id_index": 0, "topk": 12},
    {"overlap_thresh": 0.25, "id_index": 0, "background_id": 1, "valid_thresh": 0.3},
    {"overlap_thresh": 0.4, "id_index": 0, "force_suppress": True, "topk": 25},
    {"overlap_thresh": 0.3, "in_format": "center", "out_format": "corner", "topk": 9},
)
DETECTED = ({"nms_threshold": 0.45, "nms_topk": 10}, {"nms_threshold": 0.25, "force_suppress": True})


def _boxes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    low = rng.random((*shape, 2))
    return np.concatenate([low, low + rng.uniform(0.1, 0.6, (*shape, 2))], axis=-1).astype(np.float32)


def tied(images: int) -> Iterator[tuple[str, dict[str, Any], dict[str, np.ndarray]]]:
    """Operators that choose among boxes, with inputs in which most scores are equal to others."""
    rng = np.random.default_rng(3)
    for attrs in SUPPRESSED:
        kinds, scores = rng.integers(0, 3, (images, 60, 1)), rng.integers(0, 5, (images, 60, 1)) / 5
        yield (
            "_contrib_box_nms",
            attrs,
            {"data": np.concatenate([kinds, scores, _boxes(rng, images, 60)], -1).astype("f4")},
        )
    for attrs in DETECTED:
        scores = (rng.integers(0, 6, (images, 4, 60)) / 6).astype(np.float32)
        moves = rng.normal(size=(images, 240)).astype(np.float32)
        yield "_contrib_MultiBoxDetection", attrs, {"cls_prob": scores, "loc_pred": moves, "anchor": _boxes(rng, 1, 60)}
    small = {"scales": (1, 2), "ratios": (0.5, 1), "rpn_pre_nms_top_n": 90, "rpn_post_nms_top_n": 20, "threshold": 0.6}
    feeds = {
        "cls_prob": (rng.integers(0, 4, (images, 8, 5, 6)) / 4).astype(np.float32),
        "bbox_pred": rng.uniform(-0.4, 0.4, (images, 16, 5, 6)).astype(np.float32),
        "im_info": np.tile(np.array([[80, 96, 1]], np.float32), (images, 1)),
    }
    yield "_contrib_MultiProposal", {**small, "output_score": True}, feeds


def _reversed(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Any:
    return ReferenceEvaluator(model, new_ops=[TopK, GatherElements]).run(None, feeds)


def _openvino(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Any:
    openvino = pytest.importorskip("openvino")
    core = openvino.Core()
    compiled = core.compile_model(
        core.read_model(model.SerializeToString(), b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    found = compiled({n: feeds[n] for i in compiled.inputs for n in i.get_names()})
    return [np.array(found[o]) for o in compiled.outputs]


ENGINES: dict[str, Callable[..., Any]] = {"onnxruntime": run_onnx, "ties reversed": _reversed, "openvino": _openvino}


@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_equal_scores_come_in_order_of_position(engine: str, images: int) -> None:
    for name, attrs, feeds in tied(images):
        graph = graph_of(name, attrs)
        model = converters.to_onnx(graph, {}, {n: a.shape for n, a in feeds.items()}, forms=USUAL)
        assert not {"Unique", "GatherND", "Shape", "Expand"} & {n.op_type for n in model.graph.node}, name
        for got, want in zip(ENGINES[engine](model, feeds), Program(graph).run(feeds), strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max(), err_msg=f"{name} {attrs}")


GRID_THRESHOLDS = (0.25, 1 / 3, 0.5, 0.6)
"""Overlaps that boxes on a coarse grid have, to the last digit."""


def on_a_grid(seed: int) -> Iterator[tuple[str, dict[str, Any], dict[str, np.ndarray]]]:
    """Suppression among boxes with corners on a grid of 6 x 6, at thresholds that many pairs of them meet."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 4, (2, 24, 2))
    boxes = np.concatenate([low, low + rng.integers(1, 4, (2, 24, 2))], axis=-1)
    scores = rng.permuted(np.tile(np.arange(1, 25) / 25, (2, 1)), axis=1)[..., None]
    rows = np.concatenate([scores, boxes], axis=-1).astype(np.float32)
    for limit in GRID_THRESHOLDS:
        shared = {"coord_start": 1, "score_index": 0, "id_index": -1, "overlap_thresh": limit}
        yield "_contrib_box_nms", shared, {"data": rows}


@pytest.mark.parametrize("engine", ENGINES)
def test_overlaps_that_meet_the_threshold(engine: str) -> None:
    """MXNet keeps a box that overlaps by the threshold itself. OpenVINO does not: its files say so."""
    forms = replace(USUAL, suppresses_at=engine == "openvino")
    met = 0
    for seed in range(6):
        for name, attrs, feeds in on_a_grid(seed):
            graph = graph_of(name, attrs)
            model = converters.to_onnx(graph, {}, {n: a.shape for n, a in feeds.items()}, forms=forms)
            want = Program(graph).run(feeds)
            for got, right in zip(ENGINES[engine](model, feeds), want, strict=True):
                np.testing.assert_array_equal(got, right, err_msg=f"{name} {attrs} {seed}")
            below = graph_of(
                name, attrs | {"overlap_thresh": float(np.nextafter(np.float32(attrs["overlap_thresh"]), 0))}
            )
            met += not all(np.array_equal(a, c) for a, c in zip(Program(below).run(feeds), want))
    assert met >= 6, "thresholds that pairs meet"


def test_openvino_by_the_form_for_others_would_lose_boxes() -> None:
    """The difference that the form is for: else it could go."""
    lost = 0
    for seed in range(3):
        for name, attrs, feeds in on_a_grid(seed):
            graph = graph_of(name, attrs)
            model = converters.to_onnx(graph, {}, {n: a.shape for n, a in feeds.items()}, forms=USUAL)
            lost += not np.array_equal(_openvino(model, feeds)[0], Program(graph).run(feeds)[0])
    assert lost
