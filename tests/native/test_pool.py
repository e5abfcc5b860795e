"""Pooling kernels against NumPy and float64."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup

from ..grouped import over
from .single import Single, reference
from .test_move import same

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

EPSILON = float(np.finfo("float32").eps)


def uniform(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def close(name, arrays, *, within=4.0, halo=(0, 0), threads=(1, 2), **attrs):
    """Hold the kernel against NumPy, and against NumPy in float64: at most ``within`` epsilons of the output's scale."""
    op = lookup(name).bind(**attrs)
    wanted = exact = specs = None
    if all(np.isfinite(a).all() and a.dtype == "float32" for a in arrays):
        exact = op.compute(*(a.astype("float64") for a in arrays))
    for count in threads:
        native.set_num_threads(count)
        single = Single(op, arrays, halo=halo, threads=count, specs=specs)
        specs = single.specs
        assert single.there
        got = single.run(arrays)
        wanted = reference(op, arrays, specs) if wanted is None else wanted
        for mine, want in zip(got, wanted, strict=True):
            assert mine.dtype == want.dtype
            finite = np.abs(want) < 1e38
            np.testing.assert_array_equal(mine[~finite], want[~finite])
            scale = np.abs(want[finite]).max(initial=0)
            np.testing.assert_allclose(mine[finite], want[finite], rtol=0, atol=2 * within * EPSILON * scale)
        if exact is not None:
            for mine, want in zip(got, exact if isinstance(exact, tuple) else (exact,), strict=True):
                there = np.abs(want) < 1e38  # windows of nothing hold the least number, whichever that is
                scale = np.abs(want[there]).max(initial=0)
                np.testing.assert_allclose(mine[there], want[there], rtol=0, atol=within * EPSILON * scale)


GEOMETRIES = [
    {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
    {"kernel": (3, 3), "stride": (2, 2), "pooling_convention": "full"},
    {"kernel": (3, 3), "stride": (1, 1), "pad": (1, 1)},
    {"kernel": (2, 2), "stride": (2, 2)},
    {"kernel": (2, 2), "stride": (2, 2), "pad": (1, 1), "pooling_convention": "full"},
    {"kernel": (3, 2), "stride": (3, 1), "pad": (2, 0), "pooling_convention": "full"},
    {"kernel": (5, 4), "pad": (4, 3)},
    {"kernel": (1, 1), "stride": (3, 3), "pooling_convention": "full"},
    {"kernel": (8, 9)},
    {"global_pool": True, "kernel": (2, 2), "pad": (1, 1)},
    {"global_pool": True},
]
TYPES = [
    {"pool_type": "max"},
    {"pool_type": "avg"},
    {"pool_type": "avg", "count_include_pad": False},
    {"pool_type": "sum"},
    {"pool_type": "lp", "p_value": 1},
    {"pool_type": "lp", "p_value": 2},
    {"pool_type": "lp", "p_value": 3},
]


@over("halo", [(0, 0), (1, 2)])
@over("attrs", GEOMETRIES)
@pytest.mark.parametrize("kind", TYPES)
def test_fused_pool(level, attrs, kind, halo):
    data = uniform(2, 3, 9, 13, 16)
    if kind.get("p_value") == 3:
        data = abs(data)  # the root of cubes that nearly cancel tells nothing
    close("_fused_pool", [data], halo=halo, **attrs, **kind)


@over("shape", [(1, 1, 8, 9, 16), (0, 2, 9, 9, 16), (1, 0, 9, 9, 16), (1, 4, 56, 56, 16), (1, 2, 112, 112, 16)])
@pytest.mark.parametrize("kind", TYPES[:2])
def test_fused_pool_of_other_sizes(level, shape, kind):
    for attrs in GEOMETRIES[:4] + GEOMETRIES[-1:]:
        close("_fused_pool", [uniform(*shape)], halo=(1, 1), **attrs, **kind)


def odd(data):
    """With NaN, infinities and images of nothing else."""
    flat = data.reshape(-1)
    rng = np.random.default_rng(1)
    for value in (np.nan, np.inf, -np.inf):
        flat[rng.integers(0, flat.size, flat.size // 20)] = value
    data[0, 0, :4, :4] = np.nan
    data[1, 0, :4, :4] = -np.inf
    return data


@over("attrs", GEOMETRIES)
@pytest.mark.parametrize("kind", TYPES[:2])
def test_fused_pool_of_what_is_no_number(level, attrs, kind):
    close("_fused_pool", [odd(uniform(2, 2, 9, 13, 16))], halo=(1, 1), **attrs, **kind)


@pytest.mark.parametrize("kind", [*TYPES[:2], TYPES[3]])
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_fused_pool_of_nothing(level, kind):
    close("_fused_pool", [uniform(2, 2, 0, 3, 16)], global_pool=True, **kind)


def test_lanes_beyond_the_channels_do_not_matter(level):
    data = uniform(1, 1, 9, 9, 16)
    data[..., 5:] = np.nan
    op = lookup("_fused_pool").bind(kernel=(3, 3), pool_type="avg")
    single = Single(op, [data])
    assert np.isfinite(single.run([data])[0][..., :5]).all()


SHAPES = [(2, 3, 9, 13), (2, 3, 11), (1, 2, 9, 10, 13), (3, 6, 11), (3, 6, 9, 11), (2, 9, 9, 10, 9)]
"""Few planes, and as many as are taken side by side."""


def in_axes(attrs, rank):
    """The geometry in so many axes."""
    out = {}
    for name, value in attrs.items():
        out[name] = (value * 2)[:rank] if isinstance(value, tuple) else value
    return out


@over("shape", SHAPES)
@over("attrs", GEOMETRIES)
@pytest.mark.parametrize("kind", TYPES)
def test_pooling(level, shape, attrs, kind):
    data = uniform(*shape)
    if kind.get("p_value") == 3:
        data = abs(data)
    close("Pooling", [data], **in_axes(attrs, len(shape) - 2), **kind)


@over("attrs", GEOMETRIES)
@pytest.mark.parametrize("kind", TYPES[:2])
def test_pooling_of_what_is_no_number(level, attrs, kind):
    close("Pooling", [odd(uniform(2, 3, 9, 13))], **attrs, **kind)


@over("shape", [(1, 16, 56, 56), (0, 2, 9, 9), (1, 0, 9, 9), (1, 8, 112, 112)])
@pytest.mark.parametrize("kind", TYPES[:2])
def test_pooling_of_other_sizes(level, shape, kind):
    for attrs in GEOMETRIES[:4] + GEOMETRIES[-1:]:
        close("Pooling", [uniform(*shape)], **attrs, **kind)


@over("shape", [(2, 3, 5), (2, 3, 4, 6), (1, 2, 3, 5, 4), (3, 6, 3, 5, 4)])
@pytest.mark.parametrize("kind", TYPES[:5])
def test_one_window_of_the_whole_image(level, shape, kind):
    """With padding on no, one or all sides, which counts or does not."""
    axes = len(shape) - 2
    for pad in np.ndindex((3,) * axes):
        attrs = {"kernel": tuple(n + 2 * p for n, p in zip(shape[2:], pad)), "pad": pad, **kind}
        data = uniform(*shape)
        close("Pooling", [data], threads=(1,), **attrs)
        close("_backward_Pooling", back(data, attrs), within=6, threads=(1,), **attrs)
        if axes == 2:
            close("_fused_pool", [uniform(1, 2, *shape[2:], 16)], threads=(1,), **attrs)


@pytest.mark.parametrize("kind", [*TYPES[:2], TYPES[3]])
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_pooling_of_nothing(level, kind):
    close("Pooling", [uniform(2, 3, 0, 3)], global_pool=True, **kind)


def test_channels_last_are_left_to_numpy(level):
    op = lookup("Pooling").bind(kernel=(2, 2), layout="NHWC")
    assert not Single(op, [uniform(1, 4, 4, 3)]).there


def back(data, attrs):
    """(dy, data, y) of a pooling."""
    y = lookup("Pooling").bind(**attrs).compute(data)
    return [uniform(*y.shape, seed=9), data, y]


@over("shape", SHAPES)
@over("attrs", GEOMETRIES)
@pytest.mark.parametrize("kind", TYPES[:5])
def test_pooling_backward(level, shape, attrs, kind):
    attrs = in_axes(attrs, len(shape) - 2) | kind
    data = uniform(*shape)
    close("_backward_Pooling", back(data, attrs), within=6, **attrs)
    if kind["pool_type"] == "max":  # many are equal
        close("_backward_Pooling", back(np.rint(2 * data), attrs), within=6, **attrs)


@over("attrs", GEOMETRIES)
def test_pooling_backward_of_what_is_no_number(level, attrs):
    data = odd(uniform(2, 3, 9, 13))
    close("_backward_Pooling", back(data, attrs), **attrs)


@over("shape", [(2, 8, 56, 56), (0, 2, 9, 9), (1, 0, 9, 9), (1, 2, 112, 111)])
@pytest.mark.parametrize("kind", TYPES[:2])
def test_pooling_backward_of_other_sizes(level, shape, kind):
    for attrs in GEOMETRIES[:4] + GEOMETRIES[-1:]:
        close("_backward_Pooling", back(uniform(*shape), attrs | kind), within=6, **attrs, **kind)


@over("size", [(), (1,), (2, 3), (7, 7), (9, 20), (5,)])
def test_adaptive_pooling(level, size):
    data = uniform(2, 3, 9, 13)
    close("_contrib_AdaptiveAvgPooling2D", [data], output_size=size)
    dy = lookup("_contrib_AdaptiveAvgPooling2D").bind(output_size=size).compute(data)
    close("_backward_contrib_AdaptiveAvgPooling2D", [dy, data], output_size=size)


@pytest.mark.parametrize("align", [True, False])
@over("size", [(5, 6), (9, 13), (18, 26), (1, 1), (9, 40), (30, 13), (4, 1), (100, 90)])
def test_bilinear_resize(level, size, align):
    attrs = {"height": size[0], "width": size[1], "align_corners": align}
    data = uniform(2, 3, 9, 13)
    close("_contrib_BilinearResize2D", [data], **attrs)
    dy = uniform(2, 3, *size, seed=4)
    close("_backward__contrib_BilinearResize2D", [dy, data], within=8, of=0, **attrs)
    close("_contrib_BilinearResize2D", [uniform(1, 2, 1, 3), uniform(1, 1, *size)], mode="like", align_corners=align)


STANDARD = [
    {"kernel_shape": (3, 2), "pads": (0, 1, 1, 0), "strides": (2, 2), "ceil_mode": True},
    {"kernel_shape": (2, 3), "dilations": (3, 2), "strides": (1, 2)},
    {"kernel_shape": (3, 3), "auto_pad": "SAME_UPPER", "strides": (2, 1)},
    {"kernel_shape": (2, 2), "auto_pad": "SAME_LOWER", "strides": (3, 3)},
    {"kernel_shape": (9, 10)},
    {"kernel_shape": (4, 5), "pads": (3, 4, 3, 4), "auto_pad": "NOTSET"},
    {"kernel_shape": (2, 2), "pads": (2, 2, 2, 2), "dilations": (1, 2)},
]


@over("shape", [(2, 3, 9, 13), (2, 3, 13), (1, 2, 9, 10, 13), (1, 20, 33, 40), (0, 2, 9, 13)])
@over("attrs", STANDARD)
def test_standard_pooling(level, shape, attrs):
    """ONNX's, of any number of axes."""
    rank = len(shape) - 2
    attrs = {n: (v * 2)[:rank] if n != "pads" and isinstance(v, tuple) else v for n, v in attrs.items()}
    if "pads" in attrs:
        half = len(attrs["pads"]) // 2
        attrs["pads"] = (attrs["pads"][:half] * 2)[:rank] + (attrs["pads"][half:] * 2)[:rank]
    data = odd(uniform(*shape)) if shape[0] == 2 and len(shape) == 4 else uniform(*shape)
    for dtype in ("float32", "float64"):
        given = uniform(*shape).astype(dtype)
        close("_onnx_AveragePool", [given], **attrs)
        close("_onnx_AveragePool", [given], count_include_pad=True, **attrs)
        close("_onnx_MaxPool", [given], **attrs)
        for p in (1, 2, 3):
            close("_onnx_LpPool", [given], within=8, p=p, **attrs)
    integers = np.random.default_rng(1).integers(-9, 9, shape)
    for given in (data, integers.astype("int8"), abs(integers).astype("uint8"), integers.astype("float32")):
        for order in (0, 1):
            close("_onnx_MaxPool", [given], num_outputs=2, storage_order=order, **attrs)
        close("_onnx_MaxPool", [given], **attrs)


def test_maxima_put_back(level):
    data = uniform(2, 3, 8, 13)
    attrs = {"kernel_shape": (2, 3), "strides": (2, 2)}
    y, where = lookup("_onnx_MaxPool").bind(num_outputs=2, **attrs).compute(data)
    same("_onnx_MaxUnpool", [y, where], **attrs)
    where[0, 0, 0, :3] = -1, 7, 7  # from the end, and the last of equal ones
    for dtype in ("float32", "float64", "float16"):
        same("_onnx_MaxUnpool", [y.astype(dtype), where], **attrs)
        for goal in ((2, 3, 9, 13), (2, 3, 8, 20), (2, 2, 20, 9)):
            same("_onnx_MaxUnpool", [y.astype(dtype), where, np.int64(goal)], given=("output_shape",), **attrs)
