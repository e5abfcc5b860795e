"""Grids, sampling and correlation as ONNX, against the engine, with dynamic sizes."""

import numpy as np
import pytest

import converters
from hybrid.execution.program import Program
from tests.table.goldens import run_onnx

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


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("width", [1, 4])
def test_grids_that_are_not_finite_or_beyond_all_whole_numbers(opset, width):
    """Seen: onnxruntime's GridSample reads some pixel there. MXNet 1.9.1 answers NaN, and 0 at what is finite."""
    places = np.array([0, 1e5, 1e19, -1e19, 1e30, np.inf, -np.inf, np.nan], np.float32)
    grid = np.zeros((1, 2, 1, len(places)), np.float32)
    grid[0, 0, 0] = places
    feeds = {"data": np.full((1, 1, 3, width), 2, np.float32), "grid": grid}
    graph = graph_of("BilinearSampler", {})
    want = [2, *([0] * 4 if width > 1 else [2] * 4), *[np.nan] * 3]
    with np.errstate(all="ignore"):
        (own,) = Program(graph).run(feeds)
    (written,) = run_onnx(converters.to_onnx(graph, {}, feeds, opset), feeds)
    for got in (own, written):
        np.testing.assert_array_equal(got.ravel(), np.array(want, np.float32))
