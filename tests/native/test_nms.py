"""Boxes: who stays, who goes with whom, as NumPy decides it."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup

from ..grouped import over
from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")


def boxes(*shape, seed=0):
    """Corners of boxes within the unit square, some with swapped corners."""
    rng = np.random.default_rng(seed)
    corner = rng.uniform(-0.1, 0.8, (*shape, 2))
    return np.concatenate([corner, corner + rng.uniform(-0.02, 0.4, (*shape, 2))], -1).astype("float32")


def agrees(name, arrays, **attrs):
    op = lookup(name).bind(**attrs)
    for threads in (1, 2):
        native.set_num_threads(threads)
        single = Single(op, arrays, threads=threads)
        assert single.there
        for got, want in zip(single.run(arrays), reference(op, arrays, single.specs), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


def detections(*shape, classes=3, seed=0):
    """Rows of class, score and box; some scores are equal, some are no number."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.uniform(0, 1, (*shape, 1)), 2)
    score[rng.uniform(size=score.shape) < 0.03] = np.nan
    return np.concatenate([rng.integers(0, classes, (*shape, 1)), score, boxes(*shape, seed=seed)], -1).astype(
        "float32"
    )


ATTRS = [
    {},
    {"overlap_thresh": 0.2, "id_index": 0},
    {"overlap_thresh": 0.3, "id_index": 0, "force_suppress": True, "valid_thresh": 0.4},
    {"id_index": 0, "background_id": 1, "topk": 20},
    {"in_format": "center", "overlap_thresh": 0.1},
    {"in_format": "center", "out_format": "corner"},
    {"out_format": "center", "overlap_thresh": 0.7, "id_index": 0},
]


@pytest.mark.parametrize("attrs", ATTRS)
@pytest.mark.parametrize("shape", [(60,), (3, 100), (2, 2, 17), (1,), (0,), (2, 0), (400,)])
def test_box_nms(level, shape, attrs):
    agrees("_contrib_box_nms", [detections(*shape)], **attrs)


def test_box_nms_of_what_is_no_number(level):
    data = detections(80)
    data[::7, 3] = np.nan
    data[::11, 0] = np.nan
    agrees("_contrib_box_nms", [data], id_index=0, overlap_thresh=0.2)


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"threshold": 0.4, "nms_threshold": 0.3},
        {"nms_topk": 10, "force_suppress": True},
        {"clip": False, "nms_threshold": 0.9, "variances": (0.2, 0.1, 0.3, 0.1)},
        {"nms_threshold": -1},
    ],
)
@pytest.mark.parametrize(("batch", "count"), [(1, 1), (3, 90), (2, 300), (0, 5)])
def test_multibox_detection(level, batch, count, attrs):
    rng = np.random.default_rng(1)
    scores = rng.uniform(0, 1, (batch, 4, count)).astype("float32")
    scores /= scores.sum(1, keepdims=True)
    arrays = [scores, rng.normal(0, 1, (batch, count * 4)).astype("float32"), boxes(1, count)]
    agrees("_contrib_MultiBoxDetection", arrays, **attrs)


@over("form", ["corner", "center"])
def test_overlaps(level, form):
    for dtype in ("float32", "float64"):
        for one, other in (((7, 9), (5,)), ((1,), (300,)), ((0,), (3,)), ((4,), (0,))):
            a, b = boxes(*one).astype(dtype), boxes(*other, seed=1).astype(dtype)
            if a.size > 40:
                a[0, 0] = a[1, 1, 2] = np.nan
                a[2, 2], b[:1] = 0, 0
            agrees("_contrib_box_iou", [a, b], format=form)


@over("form", ["corner", "center"])
def test_boxes_and_offsets(level, form):
    rng = np.random.default_rng(3)
    for dtype in ("float32", "float64"):
        offsets = rng.normal(0, 1, (3, 40, 4)).astype(dtype)
        for clip in (-1.0, 0.4):
            agrees(
                "_contrib_box_decode", [offsets, boxes(1, 40).astype(dtype)], format=form, clip=clip, std0=0.1, std3=0.3
            )
    samples = rng.integers(-1, 2, (3, 40)).astype("float32")
    matches = np.where(samples > 0, rng.integers(0, 6, (3, 40)), 99).astype("float32")
    matches[samples > 0] += np.float32(0.7)  # fractions are cut off
    sides = np.abs(boxes(3, 40) - np.float32([0, 0, 1, 1])) + np.float32([0, 0, 2, 2])
    moments = rng.uniform(0.1, 1, (2, 4)).astype("float32")
    agrees("_contrib_box_encode", [samples, matches, sides, sides[:, :6].copy(), *moments])


def test_anchors(level):
    for shape in ((1, 2, 3, 4), (2, 1, 1, 1), (1, 1, 20, 30)):
        for attrs in (
            {"sizes": (0.3, 0.4), "ratios": (1, 2, 0.5), "clip": True},
            {"steps": (0.1, 0.2), "offsets": (0.1, 0.9)},
        ):
            agrees("_contrib_MultiBoxPrior", [np.zeros(shape, "float32")], **attrs)


@over("ascends", [True, False])
@over("topk", [-1, 2, 0])
def test_matching(level, ascends, topk):
    rng = np.random.default_rng(4)
    for shape in ((3, 9, 5), (1, 1), (2, 2, 30, 40), (0, 3), (2, 0, 4)):
        scores = np.round(rng.uniform(0, 1, shape), 1).astype("float32")
        scores[rng.uniform(size=shape) < 0.05] = np.nan
        for given in (scores, scores.astype("float64")):
            agrees("_contrib_bipartite_matching", [given], threshold=0.45, is_ascend=ascends, topk=topk)


@over("centred", [True, False])
@over("overlap", [0.0, 0.3, 0.7])
def test_onnx_suppression(level, centred, overlap):
    """With a result of the size that NumPy gives it."""
    rng = np.random.default_rng(5)
    limits = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
    for batch, classes, count, most in ((2, 3, 60, 10), (1, 1, 200, 1000), (1, 2, 0, 5), (0, 2, 7, 5), (2, 1, 30, 0)):
        scores = np.round(rng.uniform(0, 1, (batch, classes, count)), 2).astype("float32")
        scores[rng.uniform(size=scores.shape) < 0.05] = np.nan
        arrays = [boxes(batch, count), scores, np.int64([most]), np.float32([overlap]), np.float32(0.4)]
        for given in (0, 1, 2, 3):
            attrs = {"center_point_box": centred, "given": limits[:given]}
            agrees("_onnx_NonMaxSuppression", arrays[: 2 + given], **attrs)


def test_suppression_of_another_number_of_boxes_is_left_to_numpy(level):
    op = lookup("_onnx_NonMaxSuppression").bind(given=("max_output_boxes_per_class",))
    apart = np.float32([[[0, 0, 1, 1], [5, 5, 6, 6]]])
    arrays = [apart, np.float32([[[0.5, 0.6]]]), np.int64([5])]
    single = Single(op, arrays)
    assert single.there and single.run(arrays)[0].tolist() == [[0, 0, 1], [0, 0, 0]]
    with pytest.raises(RuntimeError, match="leaves to NumPy"):
        single.run([apart[:, :1].repeat(2, 1), *arrays[1:]])


def test_targets(level):
    rng = np.random.default_rng(6)
    for batch, anchors, objects in ((3, 60, 4), (1, 1, 1), (2, 200, 30), (2, 5, 0)):
        anchor = np.abs(boxes(1, anchors))
        label = np.concatenate([rng.integers(0, 3, (batch, objects, 1)), boxes(batch, objects, seed=2)], -1)
        label[0, objects // 2 :, 0] = -1  # there are no more
        label[:, :1, 1:] = anchor[0, :1]  # the same overlap, many times
        scores = np.round(rng.normal(0, 1, (batch, 4, anchors)), 1).astype("float32")
        scores[-1, 1, :3] = np.nan
        for attrs in (
            {},
            {"overlap_threshold": 0.2, "negative_mining_ratio": 3.0, "ignore_label": -7.0},
            {"overlap_threshold": -1.0, "negative_mining_ratio": 1.5, "negative_mining_thresh": 0.3},
        ):
            agrees("_contrib_MultiBoxTarget", [anchor, label.astype("float32"), scores], **attrs)
