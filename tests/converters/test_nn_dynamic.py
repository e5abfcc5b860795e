"""Convolution, pooling, normalization and resizing with dynamic axes: one ONNX model for every size, and run-time parameters."""

import numpy as np
import pytest

import converters
from hybrid.execution.program import Program
from tests.table.goldens import close
from tests.table.test_goldens import run_onnx

from .test_detection_dynamic import graph_of

SIZES = ({"n": 1, "h": 8, "w": 11, "c": 4}, {"n": 3, "h": 9, "w": 8, "c": 4})
IMAGE = ("n", 4, "h", "w")
NORM = {"gamma": (4,), "beta": (4,), "moving_mean": (4,), "moving_var": (4,)}

CASES = [
    ("Activation", {"act_type": "softrelu"}, IMAGE, {}),
    ("LeakyReLU", {"act_type": "prelu"}, ("n", 4, "w"), {"gamma": (4,)}),
    ("LeakyReLU", {"act_type": "prelu"}, ("n", 4), {"gamma": (1,)}),
    ("LeakyReLU", {"act_type": "gelu"}, ("n", "w"), {}),
    ("LeakyReLU", {"act_type": "rrelu"}, ("n", "w"), {}),
    (
        "Convolution",
        {"kernel": (3, 3), "pad": (1, 1), "stride": (2, 2), "num_filter": 2},
        IMAGE,
        {"weight": (2, 4, 3, 3), "bias": (2,)},
    ),
    (
        "Convolution",
        {"kernel": (3, 2), "num_filter": 8, "num_group": 4, "no_bias": True, "layout": "NHWC", "dilate": (2, 1)},
        ("n", "h", "w", 4),
        {"weight": (8, 3, 2, 1)},
    ),
    (
        "Deconvolution",
        {"kernel": (3, 3), "pad": (1, 0), "adj": (1, 1), "stride": (2, 2), "num_filter": 6, "num_group": 2},
        IMAGE,
        {"weight": (4, 3, 3, 3)},
    ),
    (
        "Deconvolution",
        {"kernel": (4, 4), "stride": (2, 2), "target_shape": (15, 17), "num_filter": 2},
        ("n", 4, 8, 8),
        {"weight": (4, 2, 4, 4)},
    ),
    ("im2col", {"kernel": (3, 2), "pad": (1, 1), "stride": (2, 1)}, ("n", 2, 6, 5), {}),
    ("col2im", {"kernel": (3, 2), "pad": (1, 1), "stride": (2, 1), "output_size": (6, 5)}, ("n", 12, 18), {}),
    ("Pooling", {"kernel": (3, 3), "pad": (1, 1), "stride": (2, 2), "pool_type": "max"}, IMAGE, {}),
    ("Pooling", {"kernel": (3, 3), "stride": (2, 2), "pool_type": "max", "pooling_convention": "full"}, IMAGE, {}),
    (
        "Pooling",
        {"kernel": (2, 2), "pad": (1, 1), "stride": (2, 2), "pool_type": "avg", "pooling_convention": "full"},
        IMAGE,
        {},
    ),
    (
        "Pooling",
        {"kernel": (3, 3), "pad": (1, 1), "stride": (2, 2), "pool_type": "avg", "count_include_pad": False},
        IMAGE,
        {},
    ),
    (
        "Pooling",
        {"kernel": (3, 2), "stride": (2, 2), "pool_type": "lp", "p_value": 3, "layout": "NHWC"},
        ("n", "h", "w", "c"),
        {},
    ),
    ("Pooling", {"global_pool": True, "pool_type": "avg"}, IMAGE, {}),
    ("Pooling", {"global_pool": True, "pool_type": "sum"}, ("n", 4, "w"), {}),
    (
        "Pooling_v1",
        {"kernel": (3, 3), "pad": (1, 1), "stride": (2, 2), "pool_type": "max", "pooling_convention": "full"},
        IMAGE,
        {},
    ),
    (
        "Pooling_v1",
        {"kernel": (3, 3), "pad": (1, 1), "stride": (2, 2), "pool_type": "avg", "pooling_convention": "full"},
        IMAGE,
        {},
    ),
    ("_contrib_AdaptiveAvgPooling2D", {}, IMAGE, {}),
    ("_contrib_AdaptiveAvgPooling2D", {"output_size": (3, 4)}, ("n", "c", 7, 8), {}),
    ("BatchNorm", {}, IMAGE, NORM),
    ("BatchNorm", {"fix_gamma": False}, ("n", 4), NORM),
    ("BatchNorm", {"fix_gamma": False, "axis": -1, "output_mean_var": True}, ("n", "h", 4), NORM),
    ("LayerNorm", {}, ("n", "h", 4), {"gamma": (4,), "beta": (4,)}),
    ("LayerNorm", {"axis": 1, "output_mean_var": True}, ("n", 4, "w"), {"gamma": (4,), "beta": (4,)}),
    ("InstanceNorm", {}, IMAGE, {"gamma": (4,), "beta": (4,)}),
    ("GroupNorm", {"num_groups": 2}, IMAGE, {"gamma": (2,), "beta": (2,)}),
    ("GroupNorm", {"num_groups": 2, "output_mean_var": True}, ("n", 4, "w"), {"gamma": (2,), "beta": (2,)}),
    ("L2Normalization", {"mode": "spatial"}, IMAGE, {}),
    ("LRN", {"nsize": 4, "alpha": 0.5}, ("n", "c", "h", "w"), {}),
    ("Dropout", {}, ("n", "w"), {}),
    ("UpSampling", {"scale": 2, "sample_type": "nearest", "num_args": 1}, IMAGE, {}),
    (
        "UpSampling",
        {"scale": 3, "sample_type": "bilinear", "num_filter": 4, "num_args": 2},
        IMAGE,
        {"weight": (4, 1, 5, 5)},
    ),
    ("_contrib_BilinearResize2D", {"height": 5, "width": 20}, IMAGE, {}),
    ("_contrib_BilinearResize2D", {"height": 1, "width": 20, "align_corners": False}, IMAGE, {}),
    *(
        ("_contrib_BilinearResize2D", {"mode": f"to_{parity}_{way}"}, IMAGE, {})
        for parity in ("even", "odd")
        for way in ("up", "down")
    ),
    *(
        ("_contrib_BilinearResize2D", {"mode": mode, "scale_height": 1.3, "scale_width": 0.7}, IMAGE, {})
        for mode in ("size", "odd_scale")
    ),
    ("depth_to_space", {"block_size": 2}, IMAGE, {}),
]


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "fed"])
@pytest.mark.parametrize("name, attrs, axes, parameters", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_one_model_for_every_size(name, attrs, axes, parameters, stored):
    graph, rng = graph_of(name, attrs), np.random.default_rng(len(str(attrs)))
    extra = {k: rng.uniform(0.5, 1.5, shape).astype(np.float32) for k, shape in parameters.items()}
    fed = {} if stored else parameters
    first = graph.outputs[0].node.inputs[0].name
    model = converters.to_onnx(graph, extra if stored else {}, {first: axes, **fed})
    for sizes in SIZES:
        data = rng.normal(size=[sizes.get(a, a) for a in axes]).astype(np.float32)
        feeds = {first: data, **extra}
        for got, want in zip(run_onnx(model, feeds), Program(graph).run(feeds), strict=True):
            close(got, want, graph.outputs[0].node.op)


@pytest.mark.parametrize("sizes", [(3, 4), ("h", "w")], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("mode", ["concat", "sum"])
def test_upsampling_of_several_images_to_one_size(mode, sizes):
    attrs = {"scale": 2, "sample_type": "nearest", "num_args": 3, "multi_input_mode": mode}
    graph = graph_of("UpSampling", attrs)
    larger = {(3, 4): (6, 8), ("h", "w"): ("h2", "w2")}[sizes]
    axes = {"arg0": ("n", 2, *sizes), "arg1": ("n", 2, *larger), "arg2": ("n", 2, *sizes)}
    model = converters.to_onnx(graph, {}, axes)
    for h, w in ((3, 4), *(((5, 2),) if "h" in sizes else ())):
        known = {"n": h, "h": h, "w": w, "h2": 2 * h, "w2": 2 * w}
        rng = np.random.default_rng(h)
        feeds = {k: rng.normal(size=[known.get(d, d) for d in v]).astype(np.float32) for k, v in axes.items()}
        close(run_onnx(model, feeds)[0], Program(graph).run(feeds)[0], graph.outputs[0].node.op)


def test_resizing_like_another_dynamic_image():
    graph = graph_of("_contrib_BilinearResize2D", {"mode": "like", "align_corners": False})
    model = converters.to_onnx(graph, {}, {"data": IMAGE, "like": (1, 1, "a", "b")})
    for h, w in ((5, 7), (16, 1)):
        data = np.random.default_rng(h).normal(size=(2, 4, 6, 5)).astype(np.float32)
        feeds = {"data": data, "like": np.zeros((1, 1, h, w), np.float32)}
        close(run_onnx(model, feeds)[0], Program(graph).run(feeds)[0], graph.outputs[0].node.op)


def test_random_dropout_is_random_in_onnx_too():
    graph = graph_of("Dropout", {"mode": "always", "p": 0.25, "axes": (1,)})
    model = converters.to_onnx(graph, {}, {"data": ("n", "w")})
    (got,) = run_onnx(model, {"data": np.ones((400, 3), np.float32)})
    assert set(np.unique(got)) == {np.float32(0), np.float32(4 / 3)}
    assert (got == got[:, :1]).all() and 0.1 < (got == 0).mean() < 0.4


def test_an_empty_maximum_is_refused():
    attrs = {"kernel": (2, 2), "stride": (3, 3), "pooling_convention": "full", "pool_type": "max"}
    with pytest.raises(converters.UnsupportedModel, match="windows hold nothing"):
        converters.to_onnx(graph_of("Pooling_v1", attrs), {}, {"data": IMAGE})
