"""Products and convolutions of 8-bit numbers and what turns floats into them, against NumPy: they are exact."""

import ctypes
import itertools
import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup

from ..grouped import over
from ..table.goldens import same
from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")


def whole(*shape, dtype, seed=0):
    """Numbers from all of the dtype's range, its ends among them."""
    info = np.iinfo(dtype)
    values = np.random.default_rng((seed, *shape)).integers(info.min, info.max + 1, shape).astype(dtype)
    values.reshape(-1)[:1] = info.min
    values.reshape(-1)[-1:] = info.max
    return values


QUICK = {"v4": "avx512_vnni", "v3": "avx_vnni"}
"""Levels that may have instructions for products of bytes, and what Linux calls them."""
if platform.machine() in ("aarch64", "arm64"):
    QUICK = {"plain": "asimddp"}
WAYS = [(n, way) for n in native.LEVELS for way in ("", " without VNNI") if way or n in QUICK]


@pytest.fixture(
    params=[
        pytest.param(n + way, marks=() if n == native.LEVELS[0] else [pytest.mark.slow, pytest.mark.share(2)])
        for n, way in WAYS
    ]
)
def level(request):
    """The CPU level whose kernels the test uses, with the machine's VNNI (or Arm's dot product), if it has that, and without."""
    name, *without = request.param.split(" ", 1)
    before = native.use(name)
    library = ctypes.CDLL(str(native._library(name)))
    library.gluonnx_use_vnni(not without)
    yield name
    library.gluonnx_use_vnni(True)
    native.use(before)


def equal(op, arrays, constants, there=True):
    """All outputs equal NumPy's to the last bit (NaN where NumPy has NaN), with 1 and 2 threads and constants or none."""
    wanted = specs = None
    for threads in (1, 2):
        native.set_num_threads(threads)
        for fixed in ((), constants):
            single = Single(op, arrays, constants=fixed, threads=threads, specs=specs)
            specs = single.specs
            assert single.there == there
            if not there:
                continue
            wanted = reference(op, arrays, single.specs) if wanted is None else wanted
            for got, want in zip(single.run(arrays), wanted, strict=True):
                assert got.dtype == want.dtype
                same(got, want)


SIZES = [
    ((1, 1), 1),
    ((3, 5), 7),
    ((7, 64), 32),
    ((40, 33), 65),
    ((2, 3, 130), 200),
    ((13, 1024), 31),
    ((1, 70), 90),
    ((70, 128), 65),  # as much as matrix registers hold, and more
    ((33, 61), 1),
    ((0, 4), 3),
    ((3, 0), 4),
    ((3, 4), 0),
]


@over("left, n", SIZES)
@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
def test_sums(level, left, n, types):
    a, b = whole(*left, dtype=types[0]), whole(left[-1], n, dtype=types[1])
    op = lookup("_onnx_MatMulInteger")
    equal(op.bind(), (a, b), (1,))
    one, rows = whole(1, dtype=types[0], seed=1)[0:1].reshape(()), whole(left[-2], dtype=types[0], seed=2)
    columns = whole(n, dtype=types[1], seed=3)
    equal(op.bind(given=("a_zero_point",)), (a, b, one), (1, 2))
    equal(op.bind(given=("b_zero_point",)), (a, b, columns), (1, 2))
    equal(op.bind(given=("a_zero_point", "b_zero_point")), (a, b, rows, columns), (1, 3))


@over("left, n", SIZES)
@pytest.mark.parametrize("types", [("uint8", "int8", "uint8"), ("int8", "int8", "int8"), ("uint8", "uint8", "int8")])
def test_quantised_again(level, left, n, types):
    a, b = whole(*left, dtype=types[0]), whole(left[-1], n, dtype=types[1])
    op = lookup("_onnx_QLinearMatMul").bind()
    zero = np.array(3, types[2])
    for scales in (np.array(0.02, "float32"), np.linspace(0.01, 0.05, n).astype("float32")):
        for y_scale in (0.5, 1e-3, np.nan):
            rest = np.array(7, types[0]), b, scales, np.array(-3 if types[1] == "int8" else 5, types[1])
            equal(op, (a, np.array(0.05, "float32"), *rest, np.array(y_scale, "float32"), zero), (3, 4, 5))


def test_left_to_numpy(level):
    a, b = whole(3, 4, dtype="uint8"), whole(4, dtype="int8")
    equal(lookup("_onnx_MatMulInteger").bind(), (a, b), (1,), there=False)


@over(
    "left, right",
    [
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 40, 70), (3, 70, 33)),
        ((13, 65), (2, 65, 32)),
        ((3, 40, 64), (3, 64, 33)),
        ((1, 2, 3, 2100), (2, 1, 2100, 7)),
        ((2, 3, 0), (2, 0, 4)),
        ((0, 3, 4), (0, 4, 5)),
        ((2, 0, 4), (2, 4, 5)),
    ],
)
@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
def test_batches(level, left, right, types):
    a, b = whole(*left, dtype=types[0]), whole(*right, dtype=types[1], seed=1)
    op, zeros = (
        lookup("_onnx_MatMulInteger"),
        (np.array(7, types[0]), np.array(-3 if types[1] == "int8" else 5, types[1])),
    )
    equal(op.bind(), (a, b), ())
    equal(op.bind(given=("a_zero_point", "b_zero_point")), (a, b, *zeros), (1,))
    again = lookup("_onnx_QLinearMatMul").bind()
    for y_scale in (0.5, 1e-3, np.nan):
        scales = [np.array(v, "float32") for v in (0.05, 0.02, y_scale)]
        arrays = (a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], np.array(100, types[0]))
        equal(again, arrays, (1, 2))


@over("steps, batch, heads, size", [(5, 2, 2, 4), (40, 1, 3, 33), (1, 1, 1, 1), (70, 2, 1, 16), (0, 2, 2, 3)])
def test_mxnet_attention(level, steps, batch, heads, size):
    scores, values = lookup("_sg_mkldnn_selfatt_qk"), lookup("_sg_mkldnn_selfatt_valatt")
    x = whole(steps, batch, heads * 3 * size, dtype="int8")
    weights = whole(batch * heads, steps, steps, dtype="uint8", seed=1)
    calibrated = [{"min_calib_range": -2.0, "max_calib_range": v} for v in (4.0, 1e-6)]
    for attrs in ({}, {"enable_float_output": True}, *calibrated):
        attrs = {"heads": heads, "quantized": True, **attrs}
        for low, high in RANGE_ENDS[:4]:
            all_cases(scores, [((x, *ends_of(low, high)), attrs)])
            all_cases(values, [((x, weights, *ends_of(low, high), *ends_of(0, 1.5)), attrs)])


BYTES = ("uint8", "int8")
TYPES = [(a, b) for a in BYTES for b in BYTES]

# data, weights, attributes
WINDOWS = [
    ((1, 1, 4, 4), (2, 1, 2, 2), {"pads": (1, 0, 1, 1)}),
    ((2, 5, 9, 11), (7, 5, 3, 2), {"pads": (1, 1, 0, 2), "strides": (2, 1)}),
    ((1, 8, 20, 37), (13, 8, 3, 3), {"pads": (1, 1, 1, 1)}),
    ((1, 3, 17, 19), (5, 3, 5, 4), {"strides": (3, 2), "dilations": (2, 3), "pads": (3, 5, 4, 6)}),
    ((2, 6, 7, 7), (9, 2, 3, 3), {"group": 3, "auto_pad": "SAME_UPPER", "strides": (2, 2)}),
    ((1, 4, 5, 6), (6, 4, 3, 2), {"auto_pad": "SAME_LOWER", "strides": (1, 3)}),
    ((1, 4, 5, 6), (6, 4, 3, 2), {"auto_pad": "VALID"}),
    ((2, 33, 6, 7), (17, 33, 1, 1), {}),
    ((2, 64, 6, 7), (40, 64, 1, 1), {}),
    ((1, 128, 5, 9), (70, 64, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
    ((2, 33, 6, 7), (17, 33, 1, 1), {"strides": (2, 3)}),
    ((1, 6, 23), (4, 3, 5), {"group": 2, "dilations": (2,), "pads": (3, 1)}),
    ((1, 3, 4, 5, 6), (5, 3, 2, 3, 2), {"strides": (1, 2, 3), "pads": (1, 0, 1, 0, 2, 1)}),
    ((2, 4, 9, 40), (4, 1, 3, 3), {"group": 4, "pads": (1, 1, 1, 1)}),
    ((1, 2, 70, 61), (2, 1, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
    ((2, 3, 9, 11), (6, 1, 3, 2), {"group": 3, "strides": (2, 3), "dilations": (2, 2), "pads": (2, 0, 1, 3)}),
    ((1, 3, 4, 5, 6), (3, 1, 2, 3, 2), {"group": 3, "strides": (2, 1, 2), "pads": (1, 0, 1, 0, 2, 1)}),
    ((0, 3, 5, 5), (2, 3, 3, 3), {}),
    ((1, 3, 5, 5), (0, 3, 3, 3), {}),
]


@over("data, weights, attrs", WINDOWS)
@pytest.mark.parametrize("types", TYPES)
def test_convolutions(level, data, weights, attrs, types):
    x, w = whole(*data, dtype=types[0]), whole(*weights, dtype=types[1])
    op = lookup("_onnx_ConvInteger")
    zero, zeros = np.array(77, types[0]), whole(len(w), dtype=types[1], seed=1)
    equal(op.bind(**attrs), (x, w), (1,))
    equal(op.bind(given=("x_zero_point",), **attrs), (x, w, zero), (1,))
    equal(op.bind(given=("x_zero_point", "w_zero_point"), **attrs), (x, w, zero, zeros), (1, 3))


@over("data, weights, attrs", WINDOWS)
@pytest.mark.parametrize("types", [(*t, y) for t, y in zip(TYPES, BYTES * 2)])
@pytest.mark.share(2)
def test_convolutions_quantised_again(level, data, weights, attrs, types):
    x, w = whole(*data, dtype=types[0]), whole(*weights, dtype=types[1])
    filters = len(w)
    given = np.array(0.05, "float32"), np.array(7, types[0]), w
    bias = np.random.default_rng(0).integers(-(2**31), 2**31, filters).astype("int32") // 2**14
    zeros = whole(filters, dtype=types[1], seed=1)
    each = np.linspace(0.01, 0.05, filters).astype("float32"), zeros
    op = lookup("_onnx_QLinearConv")
    for y_scale in (3.0, 1e-3, np.inf):
        last = np.array(y_scale, "float32"), np.array(100, types[2])
        one = np.array(0.02, "float32"), np.array(3, types[1])
        equal(op.bind(**attrs), (x, *given, *one, *last), (3, 4, 5))
        equal(op.bind(given=("B",), **attrs), (x, *given, *each, *last, bias), (3, 4, 5, 8))


@over("attrs", [{"group": 2, "pads": (1, 0, 2, 1)}, {"strides": (2, 1), "auto_pad": "SAME_UPPER"}])
@pytest.mark.parametrize("types", TYPES)
def test_any_operand_may_be_a_constant(level, attrs, types):
    """Every subset of them: weights are packed once only where nothing else that packing reads can change."""
    x, w = whole(1, 4, 6, 7, dtype=types[0]), whole(6, 4 // attrs.get("group", 1), 3, 2, dtype=types[1])
    zeros = whole(len(w), dtype=types[1], seed=1)
    sizes, bias = np.linspace(0.01, 0.05, len(w)).astype("float32"), np.arange(-3, 3, dtype="int32") * 999
    y = np.array(0.3, "float32"), np.array(100, types[0])
    sums = lookup("_onnx_ConvInteger").bind(given=("x_zero_point", "w_zero_point"), **attrs)
    again = lookup("_onnx_QLinearConv").bind(given=("B",), **attrs)
    for op, arrays, last in (
        (sums, (x, w, np.array(77, types[0]), zeros), 4),
        (again, (x, np.array(0.05, "float32"), np.array(7, types[0]), w, sizes, zeros, *y, bias), 6),
    ):
        (want, *_) = Single(op, arrays, constants=()).run(arrays)
        np.testing.assert_array_equal(want, reference(op, arrays, Single(op, arrays).specs)[0])
        for count in range(1, last):
            for fixed in itertools.combinations(range(1, last), count):
                (got, *_) = Single(op, arrays, constants=fixed).run(arrays)
                np.testing.assert_array_equal(got, want, str(fixed))


RANGES = [np.array([v], "float32") for v in (-1.5, 2, -0.5, 0.4, -0.1, 0.2)]


@pytest.mark.parametrize("data", BYTES)
@over("n, k", [(1, 1), (5, 6), (33, 70), (40, 1024), (2, 0)])
def test_mxnet_dense(level, data, n, k):
    op = lookup("_contrib_quantized_fully_connected")
    x, w, bias = whole(3, 2, k, dtype=data), whole(n, k, dtype="int8"), whole(n, dtype="int8", seed=2)
    for flatten in (False, True):
        x = x.reshape(6, 1, k) if flatten else x
        for reach in (0.2, np.nan, np.inf, 1e9):
            ranges = (*RANGES[:5], np.array([reach], "float32"))
            equal(op.bind(num_hidden=n, flatten=flatten), (x, w, bias, *ranges), (1, 2, *range(5, 9)))
        equal(op.bind(num_hidden=n, flatten=flatten, no_bias=True), (x, w, *RANGES[:4]), (1, 4, 5))


@pytest.mark.parametrize("data", BYTES)
@over(
    "shape, weights, attrs",
    [
        ((2, 3, 9, 11), (5, 3, 3, 2), {"kernel": (3, 2), "pad": (1, 0), "stride": (2, 1), "dilate": (1, 2)}),
        ((2, 6, 9, 11), (6, 1, 3, 3), {"kernel": (3, 3), "pad": (1, 1), "num_group": 6}),
        ((1, 6, 20), (4, 3, 5), {"kernel": (5,), "num_group": 2}),
        ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"kernel": (2, 3, 2), "pad": (1, 1, 0)}),
        ((1, 200, 12, 12), (8, 200, 5, 5), {"kernel": (5, 5)}),  # sums that float32 does not have
    ],
)
def test_mxnet_convolution(level, data, shape, weights, attrs):
    op = lookup("_contrib_quantized_conv")
    x, w, bias = (whole(*s, dtype=t) for s, t in ((shape, data), (weights, "int8"), (weights[:1], "int8")))
    equal(op.bind(num_filter=len(w), **attrs), (x, w, bias, *RANGES), (1, 2, *range(5, 9)))
    equal(op.bind(num_filter=len(w), no_bias=True, **attrs), (x, w, *RANGES[:4]), (1, 4, 5))


def floats(n, shape=None, scale=3.0):
    """Numbers of all sizes, halves, infinities and NaN among them when there is room."""
    x = (np.random.default_rng(n).normal(size=n) * scale).astype("float32")
    special = np.array([0.5, -0.5, 1.5, 2.5, 1e30, -1e30, -0.0], "float32")
    x[: len(special)] = special[:n]
    return x if shape is None else x.reshape(shape)


SPOILT = (None, np.nan, np.inf, -np.inf)


@over("n", [0, 1, 7, 64, 1003, 100_001])
@pytest.mark.parametrize("spoilt", SPOILT)
def test_onnx_conversions_of_floats(level, n, spoilt):
    x = floats(n)
    if spoilt is not None and n:
        x[n // 2] = x[-1] = spoilt
    dynamic = lookup("_onnx_DynamicQuantizeLinear").bind()
    with np.errstate(all="ignore"):
        equal(dynamic, (x,), ())
        equal(dynamic, (np.abs(x),), ())
        op = lookup("_onnx_QuantizeLinear")
        for scale in (0.1, 1.0, 0.0, 1e-30):
            scales = np.array(scale, "float32")
            equal(op.bind(), (x, scales), (1,))
            for zero in (np.array(3, "uint8"), np.array(-100, "int8")):
                equal(op.bind(given=("y_zero_point",)), (x, scales, zero), (1, 2))


@pytest.mark.parametrize("dtype", BYTES)
@over("axis", [0, 1, -1])
def test_onnx_conversions_along_an_axis(level, dtype, axis):
    shape = (3, 5, 70) if axis >= 0 else (3, 5, 4)
    x = floats(int(np.prod(shape)), shape)
    size = shape[axis]
    scales, zeros = np.linspace(0.1, 0.9, size).astype("float32"), whole(size, dtype=dtype)
    there = axis >= 0
    one = lookup("_onnx_QuantizeLinear")
    equal(one.bind(given=("y_zero_point",), axis=axis), (x, scales, zeros), (1, 2), there)
    equal(one.bind(output_dtype=dtype, axis=axis), (x, scales), (1,), there)
    other = lookup("_onnx_DequantizeLinear")
    x = whole(*shape, dtype=dtype)
    equal(other.bind(given=("x_zero_point",), axis=axis), (x, scales, zeros), (1, 2), there)
    equal(other.bind(given=("x_zero_point",)), (x, scales[0], zeros[0]), (1, 2))
    equal(other.bind(), (x, scales[0]), ())


@pytest.mark.parametrize("out", BYTES)
@over("n", [0, 1, 33, 100_001])
@pytest.mark.parametrize("spoilt", SPOILT)
def test_mxnet_conversions(level, out, n, spoilt):
    x = floats(n)
    if spoilt is not None and n:
        x[n // 2] = spoilt
    calibrated = {"min_calib_range": -1.5, "max_calib_range": 1.0}
    with np.errstate(all="ignore"):
        equal(lookup("_contrib_quantize").bind(out_type=out), (x, *RANGES[:2]), (1, 2))
        two = lookup("_contrib_quantize_v2")
        equal(two.bind(out_type=out), (x,), ())
        equal(two.bind(out_type=out, **calibrated), (x,), ())
        equal(two.bind(out_type="auto", min_calib_range=0.0, max_calib_range=2.0), (x,), ())
        equal(lookup("_contrib_dequantize").bind(), (whole(n, dtype=out), *RANGES[:2]), (1, 2))
        sums = np.random.default_rng(n).integers(-(10**6), 10**6, n).astype("int32")
        again = lookup("_contrib_requantize")
        for ranges in (RANGES[:2], [np.array([9e4], "float32"), np.array([np.nan], "float32")]):
            equal(again.bind(out_type=out), (sums, *ranges), (1, 2))
            equal(again.bind(out_type=out, **calibrated), (sums, *ranges), (1, 2))


def test_vnni_is_used_where_it_is(level, request):
    """That the tests' two ways are two."""
    a, b = whole(3, 5, dtype="uint8"), whole(5, 7, dtype="int8")
    how = Single(lookup("_onnx_MatMulInteger").bind(), (a, b)).program.describe()[0]["how"]
    cpu = Path("/proc/cpuinfo")
    flags = cpu.read_text(encoding="utf-8").split() if cpu.is_file() else []
    if level == "plain" and level in QUICK:  # an emulator shows the file of the machine that it runs on
        flags = ["asimddp"] if sys.platform == "darwin" or ctypes.CDLL(None).getauxval(16) & 1 << 20 else []
    there = QUICK.get(level) in flags and "without" not in request.node.name
    assert how == (("dotprod" if level == "plain" else "vnni") if there else "pairs")


FORMS = {13: "fitted twice", 25: "fitted", 300: "pairs"}
"""Forms that weights of such a deviation are packed in where bytes have no instruction of their own."""


def bell(*shape, deviation, dtype="int8"):
    """Weights of that deviation, cut off, the first four and others here and there as large as they can be."""
    values = np.random.default_rng(deviation).normal(0, deviation, shape).round().clip(-128, 127).reshape(-1)
    for start, size in ((0, 1), (values.size // 3, 2), (values.size // 2 + 1, 5)):
        values[start : start + size] = -128
    values[-3:] = 127, -127, 127
    return (values + (128 if dtype == "uint8" else 0)).astype(dtype).reshape(shape)


def fits(level):
    """True where the level's kernels fit weights: it has these and nothing faster."""
    a, b = whole(3, 5, dtype="uint8"), whole(5, 7, dtype="int8")
    quick = Single(lookup("_onnx_MatMulInteger").bind(), (a, b)).program.describe()[0]["how"] != "pairs"
    return level != "plain" and not quick


@pytest.mark.parametrize("deviation", FORMS)
@over(
    "left, n, types", [((2, 131), 40, 0), ((9, 260), 70, 1), ((64, 7), 33, 2), ((1, 512), 300, 3), ((1, 1031), 1101, 0)]
)
def test_weights_are_fitted(level, deviation, left, n, types):
    """Products with large numbers on the left, which 16 bits would not hold, and kernels of other sizes that take the weights."""
    data, kind = TYPES[types]
    a, b = whole(*left, dtype=data), bell(left[-1], n, deviation=deviation, dtype=kind)
    a[0] = np.iinfo(data).max
    points = np.array(3, data), whole(n, dtype=kind)
    op = lookup("_onnx_MatMulInteger").bind(given=("a_zero_point", "b_zero_point"))
    equal(op, (a, b, *points), (1, 3))
    first = Single(op, (a, b, *points), constants=(1, 3))
    if fits(level) and left[-1] > 100:
        assert first.program.describe()[0]["how"] == FORMS[deviation]
    more = np.concatenate([a, a[::-1], a])
    other = Single(op, (more, b, *points), constants=(1, 3))
    assert other.program.adopt([first.program]) >= 0
    np.testing.assert_array_equal(other.run((more, b, *points))[0], reference(op, (more, b, *points), other.specs)[0])
    assert other.program.describe()[0]["how"] == first.program.describe()[0]["how"]
    wider = whole(left[-1], n + 1, dtype=kind)
    assert (
        Single(op, (a, wider, points[0], whole(n + 1, dtype=kind)), constants=(1, 3)).program.adopt([first.program]) < 0
    )


@pytest.mark.parametrize("deviation", FORMS)
@over("data, weights, attrs", [w for w in WINDOWS if w[1][1] > 1 and 0 not in (*w[0], *w[1])][::2])
def test_filters_are_fitted(level, deviation, data, weights, attrs):
    kinds = TYPES[sum(weights) % len(TYPES)]
    x, w = whole(*data, dtype=kinds[0]), bell(*weights, deviation=deviation, dtype=kinds[1])
    x[0] = np.iinfo(kinds[0]).max
    points = np.array(77, kinds[0]), whole(len(w), dtype=kinds[1], seed=1)
    op = lookup("_onnx_ConvInteger").bind(given=("x_zero_point", "w_zero_point"), **attrs)
    equal(op, (x, w, *points), (1, 3))
    first = Single(op, (x, w, *points), constants=(1, 3))
    if fits(level) and w.size > 4000 and deviation != 300:
        assert first.program.describe()[0]["how"].startswith("fitted")
    more = np.concatenate([x, x[..., ::-1]])
    other = Single(op, (more, w, *points), constants=(1, 3))
    assert other.program.adopt([first.program]) >= 0
    np.testing.assert_array_equal(other.run((more, w, *points))[0], reference(op, (more, w, *points), other.specs)[0])


ACTS = [
    {},
    {"act": "relu"},
    {"act": "leaky", "slope": 0.1},
    {"act": "clip", "low": 0.0, "high": 6.0},
    {"act": "abs"},
    {"act": "gelu"},
]
ENDS = [np.array([v], "float32") for v in (-1.5, 2.0)]


def fused_cases(filters, result, rng):
    """Attributes and operands behind data and weight of a fused layer whose result has that shape: every activation, dtype, bias
    and scale, a few at a time."""
    for i, (act, out_type) in enumerate(itertools.product(ACTS, ("int8", "uint8", "int32", "float32"))):
        each = out_type != "int32" and i % 3 > 0
        scale = rng.uniform(50, 3000, filters if each else 1).astype("float32")
        scale[:1] = (200, np.nan, 2.0**31, 1e-30)[i % 4]
        attrs = {"out_type": out_type, **act}
        rest = [scale]
        if i % 4:
            attrs["bias"] = True
            whole = rng.integers(-(2**31), 2**31, filters) >> int(rng.integers(3, 20))
            rest.append(whole.astype("int32") if i % 4 < 3 else rng.normal(size=filters).astype("float32") * 9)
        rest += ENDS
        if result is not None and i % 2:
            other = rng.integers(0, 256, result).astype("uint8")
            rest += [other.view("int8") if i % 3 else other, np.array([-3], "float32"), np.array([2.5], "float32")]
            attrs |= {"residual": True, "late": ("", "relu", "leaky")[i % 3], "late_slope": 0.3}
        if out_type == "int32":
            rest.append(np.array([0.5], "float32"))
        elif out_type != "float32":
            attrs |= {"min_calib_range": -60.0, "max_calib_range": (50.0, 1e-5, 9e4)[i % 3]}
        yield attrs, rest


@pytest.mark.parametrize("data", BYTES)
@over("m, n, k", [(1, 1, 1), (3, 5, 6), (13, 70, 33), (2, 40, 1024), (0, 3, 4), (2, 3, 0)])
def test_fused_dense(level, data, m, n, k):
    x, w = whole(m, k, dtype=data), whole(n, k, dtype="int8", seed=1)
    op = lookup("_fused_quantized_dense")
    rng = np.random.default_rng(m + n + k)
    for attrs, rest in fused_cases(n, None, rng):
        equal(op.bind(num_hidden=n, **attrs), (x, w, *rest), (1, *range(2, 2 + len(rest))))
    whole_sums = op.bind(num_hidden=n, out_type="int32", whole=True)
    equal(whole_sums, (x, w, np.array([9.5], "float32"), *ENDS, np.array([0.5], "float32")), (1, 2))


@pytest.mark.parametrize("data", BYTES)
@over(
    "shape, weights, attrs",
    [
        ((2, 3, 9, 11), (5, 3, 3, 2), {"pad": (1, 0), "stride": (2, 1), "dilate": (1, 2)}),
        ((2, 6, 9, 11), (6, 1, 3, 3), {"pad": (1, 1), "num_group": 6}),
        ((3, 20, 5, 7), (33, 20, 1, 1), {}),
        ((1, 6, 20), (4, 3, 5), {"num_group": 2}),
        ((0, 3, 5, 5), (2, 3, 3, 3), {}),
    ],
)
def test_fused_convolution(level, data, shape, weights, attrs):
    op = lookup("_fused_quantized_conv")
    rank = len(shape) - 2
    attrs = {"kernel": weights[2:], "stride": (1,) * rank, "dilate": (1,) * rank, "pad": (0,) * rank} | attrs
    x, w = whole(*shape, dtype=data), whole(*weights, dtype="int8", seed=1)
    result = op.bind(num_filter=len(w), out_type="float32", **attrs).plain.infer_shape(shape, weights)
    for more, rest in fused_cases(len(w), result, np.random.default_rng(len(w))):
        equal(op.bind(num_filter=len(w), **attrs, **more), (x, w, *rest), (1, *range(2, 2 + len(rest))))


def all_cases(op, cases, constants=()):
    for arrays, attrs in cases:
        with np.errstate(all="ignore"):
            equal(op.bind(**attrs), arrays, constants)


RANGE_ENDS = [(-1.5, 2.0), (0.0, 3.0), (-0.25, 0.1), (0.0, 0.0), (np.nan, 1.0), (-1e30, 1e30)]


def ends_of(low, high):
    return np.array([low], "float32"), np.array([high], "float32")


@over("shape", [(1,), (0, 3), (2, 3, 70), (33,), (100_001,)])
def test_mxnet_elements(level, shape):
    a, b, c, d = (
        whole(*shape, dtype="int8"),
        whole(*shape, dtype="int8", seed=1),
        *(whole(*shape, dtype="uint8", seed=s) for s in (2, 3)),
    )
    pairs = [(a, b), (c, d), (a, d), (c, b)]
    calibrated = ({}, *({"min_calib_range": -2.0, "max_calib_range": v} for v in (4.0, 1e-6, 1e30)))
    ranges = [(*ends_of(*x), *ends_of(*y)) for x, y in itertools.pairwise(RANGE_ENDS)]
    some = len(a.reshape(-1)) > 1000
    add = lookup("_contrib_quantized_elemwise_add")
    all_cases(add, ((((*p, *r), k)) for p in pairs for r in ranges[: 1 if some else None] for k in calibrated))
    multiply = lookup("_contrib_quantized_elemwise_mul")
    kinds = (*calibrated, {"enable_float_output": True})
    all_cases(multiply, ((((a, b, *r), k)) for r in ranges[: 1 if some else None] for k in kinds))
    act = lookup("_contrib_quantized_act")
    all_cases(act, (((x, *ends_of(-1, 2)), {"act_type": "relu"}) for x in (a, c)))
    table = whole(256, dtype="uint8", seed=9)
    all_cases(lookup("_fused_lookup"), (((x, t), {}) for x in (a, c) for t in (table, table.view("int8"))))


@over("shape, axis", [((2, 3, 5, 7), 1), ((1, 40, 33), 1), ((4, 3), 1), ((0, 3, 2), 1), ((2, 3, 17), -1)])
def test_mxnet_normalization(level, shape, axis):
    rng = np.random.default_rng(1)
    op, size = lookup("_contrib_quantized_batch_norm"), shape[axis]
    gamma, beta, mean, var = (rng.uniform(0.5, 1.5, size).astype("float32") for _ in range(4))
    for dtype in BYTES:
        for low, high in ((-3.0, 2.0), (-1e-6, 0.0), (0.0, 0.0)):
            attrs = {"axis": axis, "min_calib_range": low, "max_calib_range": high, "eps": 1e-5}
            all_cases(
                op, [((whole(*shape, dtype=dtype), gamma, beta, mean, var, *ends_of(-1, 2)), attrs)], (1, 2, 3, 4)
            )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenations(level, axis):
    shapes = [[4, 3, 5], [4, 3, 5], [4, 3, 5]]
    for s, n in zip(shapes, (1, 40, 7)):
        s[axis] = n
    for kinds in itertools.product(BYTES, repeat=3):
        arrays = [whole(*s, dtype=k, seed=i) for i, (s, k) in enumerate(zip(shapes, kinds))]
        for ranges in (RANGE_ENDS[:3], RANGE_ENDS[1:4], RANGE_ENDS[3:], [RANGE_ENDS[0]] * 3):
            ends = [e for r in ranges for e in ends_of(*r)]
            all_cases(lookup("_contrib_quantized_concat"), [((*arrays, *ends), {"num_args": 3, "dim": axis})])
        for to in BYTES:
            for scale in (0.07, np.nan, 0.0):
                parts = [(x, np.array(0.1 * i, "float32"), np.array(5 * i, x.dtype)) for i, x in enumerate(arrays, 1)]
                given = (np.array(scale, "float32"), np.array(9, to), *(e for p in parts for e in p))
                all_cases(lookup("_onnx_ms_QLinearConcat"), [(given, {"axis": axis, "num_args": 11})])


@over(
    "left, right",
    [
        ((2, 3, 70), (2, 3, 70)),
        ((2, 3, 70), (3, 1)),
        ((5,), (4, 1, 1)),
        ((), (7, 9)),
        ((), ()),
        ((3, 1, 33), (1, 4, 33)),
        ((0, 3), (3,)),
        ((100_001,), (1,)),
    ],
)
def test_onnx_pairs(level, left, right):
    zeros = ("A_zero_point", "B_zero_point", "C_zero_point")
    for name, dtype in itertools.product(("Add", "Mul"), BYTES):
        a, b = whole(*left, dtype=dtype).reshape(left), whole(*right, dtype=dtype, seed=1).reshape(right)
        points = [np.array(v, dtype) for v in (7, 90, 100)]
        for scale in (0.9, 1e-3, np.nan, 0.0):
            scales = [np.array(s, "float32") for s in (0.1, 0.07, scale)]
            op = lookup(f"_onnx_ms_QLinear{name}")
            all_cases(
                op, [((a, scales[0], points[0], b, scales[1], points[1], scales[2], points[2]), {"given": zeros})]
            )
            all_cases(op, [((a, scales[0], b, scales[1], scales[2]), {})])


POOLS = [
    ((2, 3, 9, 11), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}),
    ((1, 70, 8, 6), {"kernel": (2, 2), "stride": (2, 2)}),
    ((1, 2, 5, 40), {"kernel": (2, 3), "pad": (1, 2)}),
    ((1, 2, 5, 7), {"kernel": (4, 3), "stride": (3, 2), "pooling_convention": "full"}),
    ((2, 5, 13), {"kernel": (5,), "stride": (3,), "pad": (2,)}),
    ((1, 2, 4, 5, 6), {"kernel": (2, 3, 2), "stride": (1, 2, 2), "pad": (0, 1, 1)}),
    ((2, 33, 7, 7), {"kernel": (1, 1), "global_pool": True}),
    ((2, 3, 5), {"kernel": (1,), "global_pool": True}),
    ((0, 3, 4, 4), {"kernel": (2, 2)}),
]


@over("shape, attrs", POOLS)
def test_pooling(level, shape, attrs):
    op, standard = lookup("_contrib_quantized_pooling"), lookup("_onnx_MaxPool")
    for dtype, kind in itertools.product(BYTES, ("max", "avg")):
        x = whole(*shape, dtype=dtype)
        for include in (True, False):
            given = {**attrs, "pool_type": kind, "count_include_pad": include}
            all_cases(op, [((x, *ends_of(-1, 2)), given)])
        if not attrs.get("global_pool") and "pooling_convention" not in attrs:
            said = {"strides": attrs.get("stride"), "pads": attrs.get("pad", ()) * 2}
            all_cases(standard, [((x,), {"kernel_shape": attrs["kernel"]} | {k: v for k, v in said.items() if v})])


@over("shape", [(2, 3, 5, 7), (1, 70, 13), (1, 2, 3, 4, 5), (0, 2, 3), (2, 3, 0)])
def test_onnx_global_means(level, shape):
    op = lookup("_onnx_ms_QLinearGlobalAveragePool")
    for dtype in BYTES:
        x, zeros = whole(*shape, dtype=dtype), [np.array(v, dtype) for v in (7, 100)]
        for scale in (0.03, 1e-5, np.nan):
            scales = [np.array(v, "float32") for v in (0.05, scale)]
            given = ("X_zero_point", "Y_zero_point")
            all_cases(op, [((x, scales[0], zeros[0], scales[1], zeros[1]), {"given": given})])
            all_cases(op, [((x, *scales), {})])
            all_cases(op, [((x, *scales, zeros[1]), {"given": given[1:]})])


@over("left, n", SIZES)
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.share(2)
def test_products_with_what_follows(level, left, n, types):
    a, b = whole(*left, dtype=types[0]), whole(left[-1], n, dtype=types[1])
    columns = np.linspace(0.01, 0.05, n).astype("float32")
    point, points = np.array(7, types[0]), whole(n, dtype=types[1], seed=3)
    bias = np.linspace(-3, 3, n).astype("float32")
    scale, zero = np.array(0.05, "float32"), np.array(-3 if types[1] == "int8" else 5, types[1])
    op = lookup("_onnx_ms_MatMulIntegerToFloat")
    equal(op.bind(), (a, b, scale, np.array(0.02, "float32")), (1, 3))
    given = ("a_zero_point", "b_zero_point", "bias")
    equal(op.bind(given=given), (a, b, scale, columns, point, points, bias), (1, 3, 5, 6))
    if a.ndim > 2:
        return
    op, terms = lookup("_onnx_ms_QGemm"), (np.linspace(-1, 1, n) * 2**20).astype("int32")
    for scales, zeros in ((columns, points), (np.array(0.02, "float32"), zero)):
        first = (a, scale, point, np.ascontiguousarray(b.T), scales, zeros)
        equal(op.bind(transB=True, alpha=0.7), first, (3, 4, 5))
        equal(op.bind(transB=True, given=("C",)), (*first, terms), (3, 4, 5))
        equal(
            op.bind(given=("C",)),
            (a, scale, point, b, scales, zeros, terms[:1]) if n else (*first[:3], b, scales, zeros, terms),
            (3, 4, 5),
        )
        for y_scale in (0.5, 1e-3, np.nan):
            last = (terms.reshape(1, n), np.array(y_scale, "float32"))
            equal(op.bind(transB=True, given=("C", "y_scale")), (*first, *last), (3, 4, 5))
            every = ("C", "y_scale", "y_zero_point")
            equal(op.bind(transB=True, given=every), (*first, *last, np.array(100, types[0])), (3, 4, 5))
