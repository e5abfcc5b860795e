"""Suppression of boxes: who stays is decided as NumPy decides it."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup

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
