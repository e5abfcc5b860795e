"""Pooling over regions as ONNX, against the engine, with dynamic sizes, padding regions and regions off the map."""

import numpy as np
import pytest

import converters
from hybrid.execution.program import Program
from tests.table.test_goldens import run_onnx

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
@pytest.mark.parametrize("opset", [13, 21, 24])
def test_dynamic_batch_map_and_regions(name, attrs, opset):
    graph = graph_of(name, attrs)
    model = converters.to_onnx(graph, {}, {"data": ("n", 8, "h", "w"), "rois": ("r", 5)}, opset)
    for seed, (batch, height, width, count) in enumerate([(1, 9, 7, 20), (3, 6, 12, 1)]):
        rng = np.random.default_rng(seed)
        low = rng.uniform(-4, 20, (count, 2))
        rois = np.concatenate(
            [rng.integers(-1, batch, (count, 1)), low, low + rng.uniform(0.5, 20, (count, 2))], axis=1
        )
        data = rng.normal(size=(batch, 8, height, width)).astype(np.float32)
        check(graph, model, {"data": data, "rois": rois.astype(np.float32)})


@pytest.mark.parametrize("ratio", [2, -1])
@pytest.mark.parametrize("opset", [13, 24])
def test_turned_regions(ratio, opset):
    graph = graph_of("_contrib_RROIAlign", {"pooled_size": (3, 2), "spatial_scale": 0.5, "sampling_ratio": ratio})
    model = converters.to_onnx(graph, {}, {"data": ("n", 4, "h", "w"), "rois": ("r", 6)}, opset)
    for seed, (batch, height, width, count) in enumerate([(1, 9, 7, 20), (3, 6, 12, 1)]):
        rng = np.random.default_rng(seed)
        parts = [rng.integers(-1, batch, (count, 1)), rng.uniform(-4, 20, (count, 2)), rng.uniform(0.5, 20, (count, 2))]
        rois = np.concatenate([*parts, rng.uniform(-400, 400, (count, 1))], axis=1)
        data = rng.normal(size=(batch, 4, height, width)).astype(np.float32)
        check(graph, model, {"data": data, "rois": rois.astype(np.float32)})


@pytest.mark.parametrize("no_trans", [False, True])
def test_moved_regions(no_trans):
    attrs = {"spatial_scale": 0.5, "output_dim": 2, "group_size": 2, "pooled_size": 3, "part_size": 2}
    attrs |= {"sample_per_part": 2, "trans_std": 0.3, "no_trans": no_trans}
    graph = graph_of("_contrib_DeformablePSROIPooling", attrs)
    shapes = {"data": ("n", 8, "h", "w"), "rois": ("r", 5)} | ({} if no_trans else {"trans": ("r", 4, 2, 2)})
    model = converters.to_onnx(graph, {}, shapes, 13)
    for seed, (batch, height, width, count) in enumerate([(1, 9, 7, 20), (3, 6, 12, 1)]):
        rng = np.random.default_rng(seed)
        low = rng.uniform(-4, 20, (count, 2))
        parts = [rng.integers(-1, batch, (count, 1)), low, low + rng.uniform(0.5, 20, (count, 2))]
        feeds = {"data": rng.normal(size=(batch, 8, height, width)), "rois": np.concatenate(parts, axis=1)}
        if not no_trans:
            feeds["trans"] = rng.normal(size=(count, 4, 2, 2))
        check(graph, model, {k: v.astype(np.float32) for k, v in feeds.items()})


@pytest.mark.parametrize("name", ["_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution"])
def test_moved_taps(name):
    attrs = {"kernel": (3, 2), "num_filter": 4, "num_group": 2, "num_deformable_group": 2}
    attrs |= {"stride": (2, 1), "dilate": (1, 2), "pad": (1, 1)}
    graph = graph_of(name, attrs)
    steps = ("n", 24, "y", "x")
    shapes = {"data": ("n", 4, "h", "w"), "offset": steps}
    shapes |= {"mask": ("n", 12, "y", "x")} if "Modulated" in name else {}
    rng = np.random.default_rng(0)
    params = {"weight": rng.normal(size=(4, 2, 3, 2)), "bias": rng.normal(size=4)}
    params = {k: v.astype(np.float32) for k, v in params.items()}
    model = converters.to_onnx(graph, params, shapes, 13)
    for batch, height, width in ((1, 5, 6), (2, 8, 5)):
        sizes = {"n": batch, "h": height, "w": width, "y": (height - 1) // 2 + 1, "x": width}
        feeds = {k: rng.normal(size=[sizes.get(d, d) for d in v]).astype(np.float32) * 2 for k, v in shapes.items()}
        feeds["offset"][0, 0, 0, 0] = np.nan  # a tap that is nowhere
        feeds["offset"][0, 1, 0, 0] = 1e30
        got = run_onnx(model, feeds)[0]
        want = Program(graph).run({**feeds, **params})[0]
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize(
    ("name", "attrs", "width"),
    [
        ("ROIPooling", {"pooled_size": (3, 2), "spatial_scale": 0.5}, 5),
        ("_contrib_ROIAlign", {"pooled_size": (3, 2), "spatial_scale": 0.5}, 5),
        ("_contrib_PSROIPooling", {"pooled_size": 2, "output_dim": 2, "spatial_scale": 0.5}, 5),
        ("_contrib_RROIAlign", {"pooled_size": (3, 2), "spatial_scale": 0.5}, 6),
    ],
)
@pytest.mark.parametrize("opset", [13, 24])
def test_no_region_at_all(name, attrs, width, opset):
    graph = graph_of(name, attrs)
    model = converters.to_onnx(graph, {}, {"data": ("n", 8, "h", "w"), "rois": ("r", width)}, opset)
    check(graph, model, {"data": np.ones((1, 8, 5, 6), np.float32), "rois": np.zeros((0, width), np.float32)})
