"""Pooling over regions as ONNX, against the engine, with dynamic sizes, padding regions and regions off the map."""

import numpy as np
import pytest

import converters

from .test_detection_dynamic import check, graph_of


@pytest.mark.parametrize(
    "name, attrs",
    [
        ("ROIPooling", {"pooled_size": (3, 2), "spatial_scale": 0.5}),
        ("_contrib_ROIAlign", {"pooled_size": (3, 2), "spatial_scale": 0.5}),
        ("_contrib_ROIAlign", {"pooled_size": (2, 2), "spatial_scale": 0.25, "sample_ratio": 2, "aligned": True}),
        ("_contrib_ROIAlign", {"pooled_size": (2, 2), "spatial_scale": 1, "position_sensitive": True}),
        ("_contrib_PSROIPooling", {"pooled_size": 2, "output_dim": 2, "spatial_scale": 0.5}),
        ("_contrib_PSROIPooling", {"pooled_size": 3, "output_dim": 2, "group_size": 2, "spatial_scale": 0.25}),
    ],
    ids=["pool", "align", "aligned", "sensitive", "cells", "groups"],
)
def test_dynamic_batch_map_and_regions(name, attrs):
    graph = graph_of(name, attrs)
    model = converters.to_onnx(graph, {}, {"data": ("n", 8, "h", "w"), "rois": ("r", 5)})
    for seed, (batch, height, width, count) in enumerate([(1, 9, 7, 20), (3, 6, 12, 1)]):
        rng = np.random.default_rng(seed)
        low = rng.uniform(-4, 20, (count, 2))
        rois = np.concatenate(
            [rng.integers(-1, batch, (count, 1)), low, low + rng.uniform(0.5, 20, (count, 2))], axis=1
        )
        data = rng.normal(size=(batch, 8, height, width)).astype(np.float32)
        check(graph, model, {"data": data, "rois": rois.astype(np.float32)})


def test_half_pixels_need_opset_16():
    graph = graph_of("_contrib_ROIAlign", {"pooled_size": (2, 2), "spatial_scale": 1, "aligned": True})
    inputs = {"data": (1, 2, 5, 5), "rois": (1, 5)}
    with pytest.raises(converters.UnsupportedModel, match="use 16 to 21"):
        converters.to_onnx(graph, {}, inputs, 15)
