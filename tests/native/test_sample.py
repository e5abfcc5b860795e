"""Kernels that read between elements, or in places that they find themselves: against NumPy and float64."""

import itertools

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup
from hybrid.execution.lower import CompiledProgram
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node

from ..grouped import over
from .single import Single
from .test_move import numbers, same
from .test_pool import close, uniform

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")


MODES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")


def sized(*sizes):
    return np.array(sizes, np.int64)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@over("where", MODES)
@over("size", [(6, 14), (18, 26), (9, 40), (1, 1), (4, 13), (30, 5), (10, 12)])
def test_resize_between(level, mode, where, size):
    attrs = {"given": ("sizes",), "axes": (2, 3), "coordinate_transformation_mode": where, "mode": mode}
    data = uniform(2, 3, 9, 13)
    for more in ({}, {"exclude_outside": True}, {"antialias": True}):
        within = 16 if more else 6  # a weight of a few is little more than 0, and they are made to sum to 1
        close("_onnx_Resize", [data, sized(*size)], within=within, **attrs, **more)
    same("_onnx_Resize", [numbers(2, 2, 9, 13, dtype="uint8"), sized(*size)], **attrs)
    same("_onnx_Resize", [numbers(1, 2, 9, 13, dtype="int64"), sized(*size)], **attrs)


@over("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@over("where", (*MODES, "tf_half_pixel_for_nn"))
def test_resize_to_the_nearest(level, nearest, where):
    attrs = {"nearest_mode": nearest, "coordinate_transformation_mode": where}
    for dtype, size in itertools.product(
        ("float32", "uint8", "float16", "int64"), [(6, 14), (18, 26), (1, 40), (9, 13)]
    ):
        data = numbers(2, 3, 9, 13, dtype=dtype)
        same("_onnx_Resize", [data, sized(*size)], given=("sizes",), axes=(2, 3), **attrs)
    data = numbers(2, 9, 13, 5)
    same("_onnx_Resize", [data, sized(5, 40)], given=("sizes",), axes=(-2, 1), **attrs)
    same("_onnx_Resize", [data, np.array([1, 0.7, 2.5, 1.21], "float32")], given=("scales",), **attrs)
    same("_onnx_Resize", [data, sized(0, 3)], given=("sizes",), axes=(1, 2), **attrs)


@over("policy", ["stretch", "not_larger", "not_smaller"])
@over("mode", ["nearest", "linear", "cubic"])
def test_resize_along_any_axes(level, policy, mode):
    attrs = {"keep_aspect_ratio_policy": policy, "mode": mode}
    for shape, axes, size in (
        ((2, 5, 6, 7, 3), (1, 2, 3), (7, 9, 3)),
        ((1, 40, 50, 3), (1, 2), (30, 80)),
        ((4, 1), (0,), (9,)),
        ((1, 1, 300, 200), (3, 2), (150, 420)),
        ((3, 8), (1,), (1,)),
    ):
        close("_onnx_Resize", [uniform(*shape), sized(*size)], within=8, given=("sizes",), axes=axes, **attrs)
    scales = np.array([0.6, 1.7], "float32")
    for more in ({}, {"antialias": True}):
        close("_onnx_Resize", [uniform(7, 9), scales], within=16, given=("scales",), **attrs, **more)
        close("_onnx_Resize", [uniform(7, 9).astype("float64"), scales], given=("scales",), **attrs, **more)


@over("mode", ["nearest", "linear", "cubic"])
def test_resize_of_a_part(level, mode):
    attrs = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "axes": (1, 2),
        "extrapolation_value": 7.5,
        "mode": mode,
    }
    for roi in ((0, 0, 1, 1), (0.2, 0.1, 0.7, 0.9), (-0.3, 0.5, 1.2, 1.4), (0.9, 0.8, 0.1, 0.2)):
        roi = np.array(roi, "float32")
        for size in ((4, 9), (1, 1), (7, 5)):
            for dtype in ("float32", "uint8", "int32"):
                data = numbers(2, 7, 5, 3, dtype=dtype)
                given = [data, roi, sized(*size)]
                (close if dtype == "float32" else same)("_onnx_Resize", given, given=("roi", "sizes"), **attrs)


def test_resize_refuses_sizes_that_do_not_follow(level):
    """Sizes of another run than the one that it was bound to."""
    op = lookup("_onnx_Resize").bind(given=("sizes",))
    single = Single(op, [uniform(3, 4), sized(6, 8)])
    assert single.there and not single.program.sure()
    with pytest.raises(RuntimeError, match="leaves to NumPy"):
        single.run([uniform(3, 4), sized(6, 7)])


@over("dtype", ["float32", "float64", "int8", "uint8", "int32", "int64"])
def test_upsampling_of_several(level, dtype):
    parts = [numbers(2, 3, *size, dtype=dtype, seed=i) for i, size in enumerate([(4, 6), (8, 12), (2, 6), (1, 1)])]
    for mode in ("sum", "concat"):
        for count in (2, 4):
            same("UpSampling", parts[:count], scale=2, sample_type="nearest", multi_input_mode=mode, num_args=count)


@over("scale", [1, 2, 3, 4, 8])
def test_upsampling_between(level, scale):
    kernel = 2 * scale - scale % 2
    for channels in (1, 5, 21):
        arrays = [uniform(2, channels, 7, 9), uniform(channels, 1, kernel, kernel)]
        close("UpSampling", arrays, within=8, scale=scale, sample_type="bilinear", num_filter=channels, num_args=2)


def test_sizes_follow_from_constant_scales(level):
    """What is resized by them has a known size, without which nothing is compiled."""
    scales = Entry(Node(lookup("_onnx_Constant").bind(value=np.array([1, 1.5], "float32")), "scales"))
    resize = lookup("_onnx_Resize").bind(given=("scales",), mode="linear")
    graph = Graph([Entry(Node(resize, "y", [Entry(Node(None, "x")), scales]))])
    program, x = Program(graph), uniform(4, 6)
    bound = program._specialize([x], {"x": x}).bound
    assert isinstance(bound, CompiledProgram) and all(bound.core.native())
    assert program.run({"x": x})[0].shape == (4, 9)
