"""Operators of preprocessing as ONNX, against the engine, with dynamic sizes."""

import numpy as np
import pytest

import converters

from .test_detection_dynamic import check, graph_of

IMAGE, BATCH = {"data": ("h", "w", 3)}, {"data": ("n", "h", "w", 3)}
CASES = {
    "tensor": ("_image_to_tensor", {}, BATCH),
    "normalize": ("_image_normalize", {"mean": (0.1, 0.2, 0.3), "std": (0.4, 0.5, 0.6)}, {"data": ("n", 3, "h", "w")}),
    "crop": ("_image_crop", {"x": 1, "y": 2, "width": 3, "height": 2}, BATCH),
    "flip": ("_image_flip_left_right", {}, IMAGE),
    "lighting": ("_image_adjust_lighting", {"alpha": (1, 2, 3)}, IMAGE),
    "linear": ("_image_resize", {"size": (6, 5)}, BATCH),
    "shorter side": ("_image_resize", {"size": (6,), "keep_ratio": True}, BATCH),
    "shorter side, nearest": ("_image_resize", {"size": (3,), "keep_ratio": True, "interp": 0}, IMAGE),
    "nearest": ("_image_resize", {"size": (6, 5), "interp": 0}, IMAGE),
}


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("name, attrs, axes", CASES.values(), ids=CASES)
def test_dynamic_sizes(name, attrs, axes, opset):
    graph = graph_of(name, attrs)
    model = converters.to_onnx(graph, {}, axes, opset)
    for seed, sizes in enumerate([{"n": 1, "h": 7, "w": 5}, {"n": 3, "h": 4, "w": 9}]):
        rng = np.random.default_rng(seed)
        feeds = {k: rng.uniform(0, 255, [sizes.get(d, d) for d in v]).astype(np.float32) for k, v in axes.items()}
        check(graph, model, feeds)


def test_pixels_beyond_their_dtype() -> None:
    """Those of one byte stop at its ends where MXNet saturates; others wrap round."""
    cases = [("_image_adjust_lighting", {"alpha": tuple(sign * a for a in (2, 3, 4))}, 3) for sign in (1, -1)]
    cases += [("_image_adjust_lighting", {"alpha": (2, 3, 4)}, 1), ("_image_to_tensor", {}, 3)]
    cases += [("_image_normalize", {"mean": (mean,), "std": (std,)}, 0) for mean in (90, -90) for std in (0.1, -0.3, 2)]
    failed = []
    for dtype in ("uint8", "int8", "int32", "float32"):
        info = np.iinfo("uint8" if dtype == "float32" else dtype)
        ends = np.array([info.min, info.min + 1, 0, 1, 5, info.max // 2, info.max - 1, info.max]).astype(dtype)
        for name, attrs, channels in cases:
            data = ends.reshape(1, 2, 4) if not channels else np.repeat(ends.reshape(2, 4, 1), channels, axis=2)
            graph = graph_of(name, attrs)
            model = converters.to_onnx(graph, {}, {"data": converters.export.Spec(data.shape, data.dtype)})
            try:
                check(graph, model, {"data": data})
            except AssertionError as error:
                failed.append(f"{name} {attrs} {dtype}: {error}")
    assert not failed


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [
        ({"size": (3,), "keep_ratio": True, "interp": 2}, "keep_ratio with images of unknown size"),
        ({"size": (3, 4), "interp": 3}, "interp=3 with images of unknown size"),
    ],
)
def test_what_unknown_sizes_leave_open(attrs, reason):
    with pytest.raises(converters.UnsupportedModel, match=reason):
        converters.to_onnx(graph_of("_image_resize", attrs), {}, IMAGE)
