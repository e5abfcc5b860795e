"""Kernels that read between elements, or in places that they find themselves: against NumPy and float64."""

import itertools

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.execution.lower import CompiledProgram
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node

from ..grouped import over
from .single import Single, reference
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
    """Sizes of what is resized by them are known, without which nothing is compiled."""
    scales = Entry(Node(lookup("_onnx_Constant").bind(value=np.array([1, 1.5], "float32")), "scales"))
    resize = lookup("_onnx_Resize").bind(given=("scales",), mode="linear")
    graph = Graph([Entry(Node(resize, "y", [Entry(Node(None, "x")), scales]))])
    program, x = Program(graph), uniform(4, 6)
    bound = program._specialize([x], {"x": x}).bound
    assert isinstance(bound, CompiledProgram) and all(bound.core.native())
    assert program.run({"x": x})[0].shape == (4, 9)


def alike(name, arrays, *, within=2e-6, **attrs):
    """Hold the kernel against NumPy, with one thread and two: what is beside it in float64 may choose other elements."""
    op = lookup(name).bind(**attrs)
    wanted = specs = None
    for count in (1, 2):
        native.set_num_threads(count)
        single = Single(op, arrays, threads=count, specs=specs)
        specs = single.specs
        assert single.there
        wanted = reference(op, arrays, specs) if wanted is None else wanted
        for got, want in zip(single.run(arrays), wanted, strict=True):
            scale = np.abs(want[np.isfinite(want)]).max(initial=0)
            np.testing.assert_allclose(got, want, rtol=0, atol=within * max(1.0, float(scale)))


def points(*shape, reach=1.3, seed=3):
    """Coordinates of a grid, some on the corners, far outside, or no numbers."""
    found = np.random.default_rng(seed).uniform(-reach, reach, shape).astype("float32")
    flat = found.reshape(-1)
    flat[:: max(1, flat.size // 9)] = (1, -1, 0, 5, -7, 1e9, -1e20, np.nan, np.inf, 1)[
        : len(flat[:: max(1, flat.size // 9)])
    ]
    return found


@over("size", [(5, 7), (1, 6), (1, 1), (9, 200)])
def test_bilinear_sampler(level, size):
    for channels, target in ((3, (4, 5)), (1, (1, 1)), (20, (13, 11)), (2, (0, 3))):
        alike("BilinearSampler", [uniform(2, channels, *size), points(2, 2, *target)])
        wide = uniform(2, channels, *size).astype("float64"), points(2, 2, *target).astype("float64")
        alike("BilinearSampler", [*wide])
        maps = {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (6, 9)}
        within = 2e-6 * max(size)  # places are rounded, and pixels differ
        alike("SpatialTransformer", [uniform(2, channels, *size), uniform(2, 6, seed=4)], within=within, **maps)
    alike("GridGenerator", [uniform(3, 2, *size) * 4], transform_type="warp")
    alike("GridGenerator", [uniform(3, 6)], transform_type="affine", target_shape=size)


@over("padding", ["zeros", "border", "reflection"])
@over("mode", ["linear", "nearest", "cubic"])
@over("corners", [True, False])
def test_grid_sample(level, padding, mode, corners):
    attrs = {"padding_mode": padding, "mode": mode, "align_corners": corners}
    for size in ((5, 7), (1, 6), (1, 1)):
        alike("_onnx_GridSample", [uniform(2, 3, *size), points(2, 9, 8, 2)], within=2e-5, **attrs)
    if mode != "cubic":
        alike("_onnx_GridSample", [uniform(2, 3, 4, 5, 6), points(2, 3, 2, 8, 3)], within=2e-5, **attrs)
        alike("_onnx_GridSample", [uniform(2, 3, 9), points(2, 70, 1)], within=2e-5, **attrs)


@over("corners", [True, False])
def test_affine_grid(level, corners):
    for size in ((3, 4), (1, 1), (2, 5, 3), (40, 60), (0, 2)):
        theta = uniform(2, len(size), len(size) + 1)
        alike("_onnx_AffineGrid", [theta, sized(2, 1, *size)], align_corners=corners)
        alike("_onnx_AffineGrid", [theta.astype("float64"), sized(2, 1, *size)], align_corners=corners)


@over("multiply", [True, False])
def test_correlation(level, multiply):
    for attrs in (
        {"max_displacement": 2, "stride2": 2, "pad_size": 2},
        {"max_displacement": 3, "stride1": 2, "pad_size": 4, "kernel_size": 3},
        {"max_displacement": 3, "stride2": 2, "stride1": 3, "pad_size": 1},
        {"max_displacement": 0},
    ):
        given = uniform(2, 5, 11, 9), uniform(2, 5, 11, 9, seed=1)
        alike("Correlation", [*given], is_multiply=multiply, **attrs)


def regions(count, images, seed=5):
    """Boxes in an image of 40 x 60 and beyond its borders, of some images and none, some with swapped corners."""
    rng = np.random.default_rng(seed)
    corner = rng.uniform(-10, 55, (count, 2))
    sides = rng.uniform(-6, 30, (count, 2))
    index = rng.integers(-1, images, (count, 1))
    return np.concatenate([index, corner, corner + sides], 1).astype("float32")


@over("scale", [1.0, 0.5, 0.0625])
def test_regions(level, scale):
    data, found = uniform(3, 8, 40, 60), regions(17, 3)
    for size in ((2, 3), (7, 7), (1, 1)):
        alike("ROIPooling", [data, found], pooled_size=size, spatial_scale=scale)
        for ratio in (-1, 2):
            alike("_contrib_ROIAlign", [data, found], pooled_size=size, spatial_scale=scale, sample_ratio=ratio)
            right = np.concatenate([found[:, :1], np.sort(found[:, 1:].reshape(-1, 2, 2), 1).reshape(-1, 4)], 1)
            attrs = {"spatial_scale": scale, "sample_ratio": ratio, "aligned": True}
            alike("_contrib_ROIAlign", [data, right + np.float32([0, 0, 0, 1, 1])], pooled_size=size, **attrs)
    alike("_contrib_ROIAlign", [data, found], pooled_size=(2, 2), spatial_scale=scale, position_sensitive=True)
    for groups in (2, 1):
        maps = uniform(3, 2 * groups**2, 40, 60)
        sizes = {"output_dim": 2, "pooled_size": 3, "group_size": groups}
        alike("_contrib_PSROIPooling", [maps, found], spatial_scale=scale, **sizes)


@over("mode", ["avg", "max"])
@over("where", ["half_pixel", "output_half_pixel"])
def test_onnx_roi_align(level, mode, where):
    data, found = uniform(3, 8, 40, 60), regions(17, 3)
    images = found[:, 0].astype(np.int64)
    for ratio in (0, 3):
        for size in ((2, 3), (7, 7)):
            attrs = {"output_height": size[0], "output_width": size[1], "sampling_ratio": ratio, "spatial_scale": 0.5}
            attrs |= {"mode": mode, "coordinate_transformation_mode": where}
            alike("_onnx_RoiAlign", [data, found[:, 1:].copy(), images], **attrs)


def test_what_a_kernel_refuses_numpy_does(level):
    """Regions of images that there are not: NumPy says so within the compiled program, of which the other steps are done."""
    data, rois = Entry(Node(None, "data")), Entry(Node(None, "rois"))
    pooling = lookup("ROIPooling").bind(pooled_size=(2, 2), spatial_scale=1)
    program = Program(Graph([Entry(Node(lookup("exp").bind(), "y", [Entry(Node(pooling, "pooled", [data, rois]))]))]))
    feeds = {"data": uniform(2, 3, 8, 9), "rois": np.float32([[1, 1, 1, 4, 6]])}
    bound = program._specialize([feeds[n] for n in program.names], feeds).bound
    assert isinstance(bound, CompiledProgram) and all(bound.core.native()) and not bound.core.sure()
    right = program.run(feeds)[0]
    shortcut, out = bound.shortcut([0, 0], [None, None]), np.empty_like(right)
    assert shortcut is not None and shortcut.run([feeds["data"], feeds["rois"]], [out], shortcut.number)
    np.testing.assert_array_equal(out, right)
    refused = np.array([[2, 1, 1, 4, 6]], np.float32)
    assert not shortcut.run([feeds["data"], refused], [out], shortcut.number)
    with pytest.raises(OpError, match="regions of image 2"):
        program.run({**feeds, "rois": np.float32([[2, 1, 1, 4, 6]])})
    far = np.float32([[1, 1, 1, 4e9, 6]])  # which NumPy cuts to the image
    cut = np.exp(pooling.compute(feeds["data"], far))
    np.testing.assert_allclose(program.run({**feeds, "rois": far})[0], cut, rtol=1e-6)
    np.testing.assert_array_equal(program.run(feeds)[0], right)


@over("name", ["_contrib_Proposal", "_contrib_MultiProposal"])
def test_proposals(level, name):
    batch = 1 if name == "_contrib_Proposal" else 3
    rng = np.random.default_rng(2)
    shape = {"scales": (2, 4, 8), "ratios": (0.5, 1, 2), "feature_stride": 4}
    scores = np.round(rng.uniform(0, 1, (batch, 18, 9, 12)), 2).astype("float32")
    scores[0, 10, 3] = np.nan
    offsets, info = rng.normal(0, 0.3, (batch, 36, 9, 12)).astype("float32"), np.float32([[34, 48, 1.5]] * batch)
    for attrs in (
        {"rpn_post_nms_top_n": 20},
        {"rpn_post_nms_top_n": 300, "rpn_pre_nms_top_n": 60, "threshold": 0.3, "rpn_min_size": 9},
        {"rpn_post_nms_top_n": 7, "rpn_pre_nms_top_n": -1, "iou_loss": True, "output_score": True},
    ):
        alike(name, [scores, offsets, info], **shape, **attrs)


@over("scale", [1.0, 0.25])
def test_gradients_of_regions(level, scale):
    data, found = uniform(3, 8, 40, 60), regions(17, 3)
    data[0, :, 5:30, 5:30] = np.round(data[0, :, 5:30, 5:30], 1)  # the first of equal maxima
    for size in ((2, 3), (7, 7)):
        dy = uniform(17, 8, *size, seed=2)
        alike("_backward_ROIPooling", [dy, data, found], pooled_size=size, spatial_scale=scale)
        for ratio in (-1, 2):
            attrs = {"pooled_size": size, "spatial_scale": scale, "sample_ratio": ratio}
            alike("_backward_ROIAlign", [dy, data, found], within=1e-5, **attrs)


def test_gradients_of_samples(level):
    for channels, size, target in ((3, (5, 7), (4, 5)), (20, (1, 6), (13, 11)), (1, (9, 20), (1, 1))):
        given = uniform(2, channels, *target), uniform(2, channels, *size, seed=1), points(2, 2, *target)
        alike("_backward_BilinearSampler", [*given], within=1e-5)
        alike("_backward_BilinearSampler", [a.astype("float64") for a in given])


@over("mode", ["sum", "concat"])
def test_gradients_of_upsampling(level, mode):
    attrs = {"scale": 2, "sample_type": "nearest", "multi_input_mode": mode, "num_args": 3}
    parts = [uniform(2, 3, 4, 6), uniform(2, 3, 8, 12), uniform(2, 3, 2, 1)]
    dy = uniform(2, 3 if mode == "sum" else 9, 8, 12, seed=1)
    for of in range(3):
        close("_backward_UpSampling", [dy, *parts], of=of, **attrs)
        close("_backward_UpSampling", [a.astype("float64") for a in (dy, *parts)], of=of, **attrs)


@over("modulated", [True, False])
def test_deformable_convolution(level, modulated):
    name = "_contrib_ModulatedDeformableConvolution" if modulated else "_contrib_DeformableConvolution"
    for size, channels, filters, attrs in (
        ((9, 11), 4, 6, {"kernel": (3, 3), "num_group": 2, "num_deformable_group": 2, "pad": (1, 1)}),
        ((40, 33), 8, 8, {"kernel": (3, 2), "stride": (2, 1), "dilate": (1, 2), "no_bias": True}),
        ((5, 1), 3, 4, {"kernel": (1, 1)}),
    ):
        op = lookup(name).bind(num_filter=filters, **attrs)
        data = uniform(2, channels, *size)
        steps, taps = op.steps(size), np.prod(op.kernel) * op.num_deformable_group
        offset = uniform(2, 2 * taps, *steps, seed=1) * 4
        offset[0, :, 0] = np.round(offset[0, :, 0])  # on pixels, and on the border
        offset[0, :2, -1, 0] = np.nan, 1e20
        mask = [uniform(2, taps, *steps, seed=2)] if modulated else []
        weight = uniform(filters, channels // op.num_group, *op.kernel, seed=3)
        bias = [] if op.no_bias else [uniform(filters, seed=4)]
        alike(name, [data, offset, *mask, weight, *bias], within=2e-5, num_filter=filters, **attrs)


def test_onnx_deformable_convolution(level):
    for given in ((), ("B",), ("mask",), ("B", "mask")):
        attrs = {"pads": (1, 0, 2, 1), "strides": (2, 1), "group": 2, "offset_group": 3, "given": given}
        x, w = uniform(2, 12, 10, 9), uniform(4, 6, 3, 2)
        offset = uniform(2, 36, 6, 9, seed=1) * 4
        more = [uniform(4, seed=2)] * ("B" in given) + [uniform(2, 18, 6, 9, seed=3)] * ("mask" in given)
        alike("_onnx_DeformConv", [x, w, offset, *more], within=2e-5, **attrs)
