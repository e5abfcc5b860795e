"""Grids, sampling and correlation as ONNX, against the engine, with dynamic sizes."""

import numpy as np
import pytest

import converters

from .test_detection_dynamic import check, graph_of

KINDS = {"transform_type": "affine", "sampler_type": "bilinear"}
CASES = {
    "affine": ("GridGenerator", {"transform_type": "affine", "target_shape": (3, 4)}, {"data": ("n", 6)}),
    "warp": ("GridGenerator", {"transform_type": "warp"}, {"data": ("n", 2, "h", "w")}),
    "sampler": ("BilinearSampler", {}, {"data": ("n", 3, "h", "w"), "grid": ("n", 2, "a", "b")}),
    "transformer": (
        "SpatialTransformer",
        {"target_shape": (4, 3), **KINDS},
        {"data": ("n", 3, "h", "w"), "loc": ("n", 6)},
    ),
    "correlation": (
        "Correlation",
        {"kernel_size": 3, "max_displacement": 3, "stride1": 2, "stride2": 2, "pad_size": 3},
        {"data1": ("n", 2, "h", "w"), "data2": ("n", 2, "h", "w")},
    ),
    "difference": (
        "Correlation",
        {"max_displacement": 1, "pad_size": 1, "is_multiply": False},
        {"data1": ("n", 2, "h", "w"), "data2": ("n", 2, "h", "w")},
    ),
}


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("name, attrs, axes", CASES.values(), ids=CASES)
def test_dynamic_sizes(name, attrs, axes, opset):
    graph = graph_of(name, attrs)
    model = converters.to_onnx(graph, {}, axes, opset)
    for seed, sizes in enumerate([{"n": 1, "h": 7, "w": 5, "a": 3, "b": 4}, {"n": 3, "h": 4, "w": 9, "a": 6, "b": 2}]):
        rng = np.random.default_rng(seed)
        feeds = {k: rng.uniform(-1.3, 1.3, [sizes.get(d, d) for d in v]).astype(np.float32) for k, v in axes.items()}
        check(graph, model, feeds)
