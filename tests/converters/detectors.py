"""Detectors as GluonCV writes them, small, with drawn parameters; and TensorRT's EfficientNMS in NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from onnx.reference.op_run import OpRun

from hybrid import symbol as sym
from hybrid.ops.detection import overlaps

CLASSES = 3


class Detector(NamedTuple):
    """A symbol and its parameters."""

    symbol: Any
    params: dict[str, np.ndarray]
    shape: tuple[int, ...]
    """Of its input, data."""


def _drawn(symbol: Any, shape: tuple[int, ...], spread: float) -> Detector:
    rng = np.random.default_rng(5)
    shapes, _, _ = symbol.infer_shape(data=shape)
    named = {n: s for n, s in zip(symbol.list_arguments(), shapes) if n != "data"}
    params = {
        n: rng.normal(size=s).astype(np.float32) * spread / np.sqrt(max(1, np.prod(s[1:]))) for n, s in named.items()
    }
    return Detector(symbol, {n: p.astype(np.float32) for n, p in params.items()}, shape)


def _stem(data: Any, name: str, channels: int, stride: int = 2) -> Any:
    made = sym.Convolution(data, name=name, num_filter=channels, kernel=(3, 3), stride=(stride, stride), pad=(1, 1))
    return sym.Activation(made, act_type="relu")


def ssd(batch: int = 2, *, topk: int = 400, post: int = 20, force: bool = False) -> Detector:
    """GluonCV's SSD: offsets decoded, classes above a threshold beside their boxes, box_nms by class, three outputs."""
    first = _stem(_stem(sym.var("data"), "conv0", 8), "conv1", 8)
    maps, kinds, offsets, anchors = [first, _stem(first, "conv2", 8)], [], [], []
    for i, one in enumerate(maps):
        for kind, found, width in (("cls", kinds, CLASSES + 1), ("box", offsets, 4)):
            made = sym.Convolution(one, name=f"{kind}{i}", num_filter=3 * width, kernel=(3, 3), pad=(1, 1))
            found.append(sym.Flatten(sym.transpose(made, axes=(0, 2, 3, 1))))
        made = sym.contrib.MultiBoxPrior(one, sizes=(0.3 + 0.3 * i, 0.5), ratios=(1, 2))
        anchors.append(sym.Reshape(made, shape=(1, -1)))
    scores = sym.softmax(sym.Reshape(sym.Concat(*kinds, dim=1), shape=(0, -1, CLASSES + 1)))
    offsets = sym.Reshape(sym.Concat(*offsets, dim=1), shape=(0, -1, 4))
    corners = sym.Reshape(sym.Concat(*anchors, dim=1), shape=(1, -1, 4))
    low, high = sym.slice_axis(corners, axis=-1, begin=0, end=2), sym.slice_axis(corners, axis=-1, begin=2, end=4)
    centred = sym.Concat((low + high) / 2, high - low, dim=-1)
    boxes = sym.contrib.box_decode(offsets, centred, std0=0.1, std1=0.1, std2=0.2, std3=0.2)
    template = sym.zeros_like(sym.slice_axis(scores, axis=-1, begin=0, end=1))
    scores = sym.slice_axis(scores, axis=-1, begin=1, end=None)
    ids = sym.broadcast_add(template, sym.reshape(sym.arange(CLASSES), shape=(1, 1, CLASSES)))
    mask = scores > 0.01
    ids = sym.where(mask, ids, sym.ones_like(ids) * -1)
    scores = sym.where(mask, scores, sym.zeros_like(scores))
    results = [
        sym.Concat(*(sym.slice_axis(x, axis=-1, begin=i, end=i + 1) for x in (ids, scores)), boxes, dim=-1)
        for i in range(CLASSES)
    ]
    result = sym.Concat(*results, dim=1)
    limits = {"overlap_thresh": 0.45, "topk": topk, "valid_thresh": 0.01, "force_suppress": force}
    return _drawn(_ends(result, limits, post), (batch, 3, 32, 32), 1.2)


def yolo(batch: int = 2, *, topk: int = 400, post: int = 20, thresh: float = 0.01) -> Detector:
    """GluonCV's YOLO version 3: two scales, boxes repeated for each class, all scales joined."""
    first = _stem(_stem(sym.var("data"), "conv0", 8), "conv1", 8)
    found = []
    for i, (one, size, stride) in enumerate(((first, 8, 4), (_stem(first, "conv2", 8), 4, 8))):
        width = 5 + CLASSES
        raw = sym.Convolution(one, name=f"out{i}", num_filter=2 * width, kernel=(1, 1))
        raw = sym.transpose(sym.reshape(raw, shape=(0, 2 * width, -1)), axes=(0, 2, 1))
        raw = sym.reshape(raw, shape=(0, -1, 2, width))
        part = {
            n: sym.slice_axis(raw, axis=-1, begin=a, end=e) for n, a, e in (("xy", 0, 2), ("wh", 2, 4), ("obj", 4, 5))
        }
        kinds = sym.slice_axis(raw, axis=-1, begin=5, end=None)
        row = sym.reshape(sym.tile(sym.arange(size), reps=(size,)), shape=(1, -1, 1, 1))
        column = sym.reshape(sym.repeat(sym.arange(size), repeats=size), shape=(1, -1, 1, 1))
        grid = sym.Concat(row, column, dim=3)
        centres = sym.broadcast_add(sym.sigmoid(part["xy"]), grid) * stride
        half = sym.exp(part["wh"]) * 6 / 2
        boxes = sym.Concat(centres - half, centres + half, dim=-1)
        score = sym.broadcast_mul(sym.sigmoid(kinds), sym.sigmoid(part["obj"]))
        boxes = sym.tile(sym.expand_dims(boxes, axis=0), reps=(CLASSES, 1, 1, 1, 1))
        scores = sym.expand_dims(sym.transpose(score, axes=(3, 0, 1, 2)), axis=-1)
        ids = sym.broadcast_add(scores * 0, sym.reshape(sym.arange(0, CLASSES), shape=(CLASSES, 1, 1, 1, 1)))
        rows = sym.Concat(ids, scores, boxes, dim=-1)
        found.append(sym.reshape(sym.transpose(rows, axes=(1, 0, 2, 3, 4)), shape=(0, -1, 6)))
    limits = {"overlap_thresh": 0.45, "topk": topk, "valid_thresh": thresh}
    return _drawn(_ends(sym.Concat(*found, dim=1), limits, post), (batch, 3, 32, 32), 1.0)


def best_class(batch: int = 2, *, kinds: str = "argmax") -> Detector:
    """One row for each box, of its best class; told by the graph (argmax), or not (round)."""
    raw = _stem(_stem(sym.var("data"), "conv0", 8), "conv1", 4 + CLASSES)
    raw = sym.reshape(sym.transpose(raw, axes=(0, 2, 3, 1)), shape=(0, -1, 4 + CLASSES))
    corner, scores = sym.slice_axis(raw, axis=-1, begin=0, end=4), sym.slice_axis(raw, axis=-1, begin=4, end=None)
    scores = sym.softmax(scores)
    low, size = sym.slice_axis(corner, axis=-1, begin=0, end=2), sym.slice_axis(corner, axis=-1, begin=2, end=4)
    best = sym.max(scores, axis=-1, keepdims=True)
    found = sym.argmax(scores, axis=-1, keepdims=True) if kinds == "argmax" else sym.round(best * 3)
    rows = sym.Concat(found, best, low, low + size + 0.5, dim=-1)
    return _drawn(_ends(rows, {"overlap_thresh": 0.3, "topk": -1, "valid_thresh": 0.2}, 30), (batch, 3, 32, 32), 2.0)


def _ends(rows: Any, limits: dict[str, Any], post: int) -> Any:
    found = sym.contrib.box_nms(rows, id_index=0, score_index=1, coord_start=2, **limits)
    found = sym.slice_axis(found, axis=1, begin=0, end=post)
    return sym.Group([sym.slice_axis(found, axis=2, begin=a, end=e) for a, e in ((0, 1), (1, 2), (2, 6))])


class EfficientNMS_TRT(OpRun):  # noqa: N801  the operator's name
    """TensorRT's plugin: pairs of boxes and classes with scores at or above score_threshold, best first, suppressed where they
    overlap with a better one of their class at or above iou_threshold; max_output_boxes of them, 0 after the last."""

    op_domain = "TRT"

    def _run(
        self, boxes: Any, scores: Any, score_threshold: Any = None, iou_threshold: Any = None, max_output_boxes: Any = None,
        background_class: Any = None, score_activation: Any = None, class_agnostic: Any = None, box_coding: Any = None,
        plugin_version: Any = None,
    ) -> Any:  # fmt: skip
        assert (score_activation, box_coding, plugin_version) == (0, 0, "1")
        images, most = len(boxes), int(max_output_boxes)
        found = [
            np.zeros((images, *s), d) for s, d in (((1,), "i4"), ((most, 4), "f4"), ((most,), "f4"), ((most,), "i4"))
        ]
        for image in range(images):
            box, kind = np.nonzero(scores[image] >= np.float32(score_threshold))
            keep = kind != background_class
            box, kind = box[keep], kind[keep]
            order = np.argsort(-scores[image][box, kind], kind="stable")
            chosen: list[tuple[int, int]] = []
            for b, k in zip(box[order], kind[order]):
                rivals = [c for c, other in chosen if class_agnostic or other == k]
                with np.errstate(invalid="ignore"):
                    iou = overlaps(boxes[image][b], boxes[image][rivals], "corner")
                if not (iou >= np.float32(iou_threshold)).any():
                    chosen.append((b, k))
            chosen = chosen[:most]
            found[0][image] = len(chosen)
            for place, (b, k) in enumerate(chosen):
                found[1][image, place], found[2][image, place], found[3][image, place] = (
                    boxes[image, b],
                    scores[image, b, k],
                    k,
                )
        return tuple(found)
