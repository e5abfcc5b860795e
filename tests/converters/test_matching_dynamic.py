"""Matching and training targets as ONNX, against the engine, with dynamic sizes and many ties."""

import numpy as np
import pytest

import converters
from tests.converters.test_detection_dynamic import boxes_of, check, graph_of


@pytest.mark.parametrize(
    "attrs",
    [
        {"threshold": 0.2},
        {"threshold": 0.7, "is_ascend": True},
        {"threshold": -1.0, "topk": 1},
        {"threshold": 2.0},
        {"threshold": 0.0, "topk": 50},
    ],
    ids=["plain", "ascend", "topk", "none", "topk-past-all"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
def test_matching(attrs, dtype, lead):
    graph = graph_of("_contrib_bipartite_matching", attrs)
    names = ("p", "q")[: len(lead)]
    model = converters.convert(graph, {}, {"data": (*names, "r", "c")}, default_dtype=dtype).proto()
    for seed, sizes in enumerate([(5, 7), (9, 2), (1, 1)]):
        rng = np.random.default_rng(seed)
        check(graph, model, {"data": (rng.integers(-3, 10, (*lead, *sizes)) / 10).astype(dtype)})
        if dtype == "float64":  # numbers that are one in float32, whole ones too
            close = 2**24 + rng.permutation(np.prod(sizes)).reshape(sizes) % 11
            check(graph, model, {"data": np.broadcast_to(close * (2.0**-24 if seed else 1.0), (*lead, *sizes)).copy()})
    special = np.array([[np.nan, np.inf, 0.5], [0.5, -np.inf, 0.25]])
    check(graph, model, {"data": np.broadcast_to(special, (*lead, 2, 3)).astype(dtype)})


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"overlap_threshold": 0.25, "variances": (0.2, 0.3, 0.1, 0.4)},
        {"overlap_threshold": 0.0, "ignore_label": -7.0},
        {"negative_mining_ratio": 0.7, "minimum_negative_samples": 3},
        {"negative_mining_ratio": 3.0, "negative_mining_thresh": 0.125, "ignore_label": -2.0},
    ],
    ids=["plain", "variances", "pairs-only", "mining", "mining-thresh"],
)
def test_targets(attrs):
    graph = graph_of("_contrib_MultiBoxTarget", attrs)
    axes = {"anchor": (1, "a", 4), "label": ("n", "m", 6), "cls_pred": ("n", 3, "a")}
    model = converters.to_onnx(graph, {}, axes)
    for seed, (batch, anchors, objects) in enumerate([(1, 40, 5), (4, 6, 3), (3, 20, 30)]):
        rng = np.random.default_rng(seed)
        label = np.zeros((batch, objects, 6), np.float32)
        label[..., 0] = rng.integers(0, 3, (batch, objects))
        for image, real in enumerate(rng.integers(0, objects + 1, batch)):
            label[image, real:] = -1
        label[..., 1:5] = np.where(label[..., :1] < 0, -1, proper(rng, batch, objects))
        scores = np.zeros((batch, 3, anchors), np.float32)
        scores[:, 0] = rng.integers(-2, 3, (batch, anchors))
        check(graph, model, {"anchor": proper(rng, 1, anchors), "label": label, "cls_pred": scores})


def proper(rng, *shape):
    """Boxes that have an area."""
    boxes = boxes_of(rng, *shape)
    low, high = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([low, np.maximum(high, low + np.float32(0.1))], axis=-1)


def test_encoded_boxes():
    graph = graph_of("_contrib_box_encode", {})
    pairs, boxes = ("n", "a"), {"anchors": ("n", "a", 4), "refs": ("n", "m", 4), "means": (4,), "stds": (4,)}
    model = converters.to_onnx(graph, {}, {"samples": pairs, "matches": pairs, **boxes})
    for seed, (batch, anchors, objects) in enumerate([(2, 9, 3), (1, 4, 6)]):
        rng = np.random.default_rng(seed)
        feeds = {
            "samples": rng.integers(-1, 2, (batch, anchors)).astype(np.float32),
            "matches": rng.integers(0, objects, (batch, anchors)).astype(np.float32),
            "anchors": proper(rng, batch, anchors),
            "refs": proper(rng, batch, objects),
            "means": np.float32([0, 0.1, 0.2, 0.3]),
            "stds": np.float32([0.1, 0.1, 0.2, 0.2]),
        }
        check(graph, model, feeds)
