"""Boxes: what the recorded cases do not show."""

import numpy as np
import pytest

from hybrid.core.error import OpError
from hybrid.core.op import REGISTRY
from hybrid.ops.detection import decode, overlaps, suppress
from hybrid.ops.matching import encode


def test_decoding_undoes_encoding():
    rng = np.random.default_rng(0)
    low = rng.uniform(0, 0.5, (2, 5, 2))
    anchors, boxes = np.concatenate([low, low + rng.uniform(0.1, 0.5, (2, 5, 2))], axis=-1)
    scales = (0.1, 0.1, 0.2, 0.2)
    np.testing.assert_allclose(decode(encode(anchors, boxes, scales), anchors, scales, "corner"), boxes)


def test_suppression_by_class_is_suppression_of_each_class():
    rng = np.random.default_rng(0)
    low = rng.uniform(0, 1, (60, 2))
    boxes, ids = np.concatenate([low, low + 0.4], axis=1), rng.integers(0, 3, 60)
    stays = suppress(boxes, ids, 0.3, "corner", inclusive=False)
    for i in range(60):
        better = [j for j in range(i) if ids[j] == ids[i] and stays[j]]
        assert stays[i] == all(overlaps(boxes[i], boxes[j], "corner") <= 0.3 for j in better)
    assert 0 < stays.sum() < 60


def test_invisible_output_of_suppression_says_where_rows_came_from():
    rows = np.float32([[0, 0.2, 0, 0, 1, 1], [0, 0.9, 0, 0, 0.9, 1], [0, 0.5, 2, 2, 3, 3]])
    out, place = REGISTRY["_contrib_box_nms"].bind().compute(rows)
    assert place.ravel().tolist() == [1, 2, -1]
    np.testing.assert_array_equal(out[:2], rows[[1, 2]])


def test_suppression_leaves_the_form_of_rows_with_a_negative_first_coordinate():
    """As MXNet 1.9.1 does: it takes such a row for one that was removed."""
    rows = np.float32([[0.9, 5, -7, 2, 4], [0.8, -0.5, 20, 3, 2], [0.7, 0, 40, 2, 2]])
    op = REGISTRY["_contrib_box_nms"].bind(coord_start=1, score_index=0, in_format="center", out_format="corner")
    out, _ = op.compute(rows)
    np.testing.assert_array_equal(out, np.float32([[0.9, 4, -9, 6, -5], [0.8, -0.5, 20, 3, 2], [0.7, -1, 39, 1, 41]]))
    rows = np.float32([[0.9, 5, -7, 7, 4], [0.8, -0.5, 20, 3, 22]])
    op = REGISTRY["_contrib_box_nms"].bind(coord_start=1, score_index=0, out_format="center")
    np.testing.assert_array_equal(op.compute(rows)[0], np.float32([[0.9, 6, -1.5, 2, 11], rows[1]]))


@pytest.mark.parametrize(
    "name, attrs, message",
    [
        ("_contrib_MultiBoxPrior", {"steps": (0.5, -1)}, "both y and x"),
        ("_contrib_MultiBoxDetection", {"variances": (1, 1)}, "four numbers"),
        ("_contrib_Proposal", {"rpn_post_nms_top_n": 0}, "positive"),
        ("ROIPooling", {"pooled_size": (2,), "spatial_scale": 1}, "height, width"),
        ("SpatialTransformer", {"transform_type": "affine", "sampler_type": "bilinear"}, "both positive"),
        ("Correlation", {"kernel_size": 2}, "kernel_size=2, wanted an odd one"),
    ],
)
def test_refuses_attributes_that_mean_nothing(name, attrs, message):
    with pytest.raises(OpError, match=message):
        REGISTRY[name].bind(**attrs)


def test_a_region_without_area_is_refused_when_aligned():
    op = REGISTRY["_contrib_ROIAlign"].bind(pooled_size=(2, 2), spatial_scale=1, aligned=True)
    with pytest.raises(OpError, match="without area"):
        op.compute(np.zeros((1, 1, 4, 4), np.float32), np.float32([[0, 2, 2, 2, 3]]))


def test_no_proposals_for_an_image_larger_than_its_map():
    op = REGISTRY["_contrib_Proposal"].bind(scales=(1,), ratios=(1,))
    with pytest.raises(OpError, match="wanted no fewer"):
        op.compute(np.zeros((1, 2, 2, 2), np.float32), np.zeros((1, 4, 2, 2), np.float32), np.float32([[64, 64, 1]]))
