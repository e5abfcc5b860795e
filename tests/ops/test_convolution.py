"""Convolution and its transpose against their definition, written as plainly as can be, over random geometries."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.core.error import OpError
from hybrid.core.op import REGISTRY
from hybrid.ops import windows


@st.composite
def geometries(draw):
    """(attributes, spatial sizes, channels a group, groups) of a convolution that fits."""
    rank = draw(st.integers(1, 3))
    axis = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2), st.integers(0, 3))
    kernel, stride, dilate, pad, more = zip(*draw(st.lists(axis, min_size=rank, max_size=rank)))
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilate)]
    sizes = tuple(max(1, r - 2 * p) + m for r, p, m in zip(reach, pad, more))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    filters = groups * draw(st.integers(1, 2))
    attrs = {
        "kernel": kernel,
        "stride": stride,
        "dilate": dilate,
        "pad": pad,
        "num_filter": filters,
        "num_group": groups,
    }
    return attrs, sizes, draw(st.integers(1, 2)), groups


def definition(x, weight, op, out_shape):
    """One multiplication after another."""
    out = np.zeros(out_shape)
    each, per_group = weight.shape[1], len(weight) // op.num_group
    for n, o, c in itertools.product(range(len(x)), range(len(weight)), range(each)):
        channel = x[n, o // per_group * each + c]
        for at in np.ndindex(*out_shape[2:]):
            for tap in np.ndindex(*op.kernel):
                place = [a * s + t * d - p for a, s, t, d, p in zip(at, op.strides, tap, op.dilations, op.pads)]
                if all(0 <= i < size for i, size in zip(place, channel.shape)):
                    out[(n, o, *at)] += weight[(o, c, *tap)] * channel[tuple(place)]
    return out


@given(geometries(), st.integers(0, 99), st.sampled_from([1, 4 << 20]))
@settings(max_examples=60, deadline=None)
def test_convolution_is_its_definition(geometry, seed, buffer):
    attrs, sizes, each, groups = geometry
    op, rng = REGISTRY["Convolution"].bind(**attrs, no_bias=True), np.random.default_rng(seed)
    x = rng.integers(-4, 5, (2, each * groups, *sizes)).astype(np.float32)
    weight = rng.integers(-4, 5, (op.num_filter, each, *op.kernel)).astype(np.float32)
    usual, windows.BUFFER = windows.BUFFER, (buffer, buffer)  # 1: as many pieces as there can be
    try:
        got = op.compute(x, weight)
    finally:
        windows.BUFFER = usual
    np.testing.assert_array_equal(got, definition(x, weight, op, op.infer_shape(x.shape, weight.shape)))


@given(geometries(), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_deconvolution_is_the_transpose(geometry, seed):
    """<conv(x), y> = <x, deconv(y)> for every x and y, where deconv's adj makes up for what conv's stride left out."""
    attrs, sizes, each, groups = geometry
    forward, rng = REGISTRY["Convolution"].bind(**attrs, no_bias=True), np.random.default_rng(seed)
    x = rng.integers(-4, 5, (2, each * groups, *sizes)).astype(np.float64)
    weight = rng.integers(-4, 5, (forward.num_filter, each, *forward.kernel)).astype(np.float64)
    y = rng.integers(-4, 5, forward.infer_shape(x.shape, weight.shape)).astype(np.float64)
    geometry = zip(sizes, forward.pads, forward.reach, forward.strides)
    adj = tuple((n + 2 * p - r) % s for n, p, r, s in geometry)
    back = REGISTRY["Deconvolution"].bind(**(attrs | {"num_filter": each * groups}), adj=adj)
    z = back.compute(y, weight)
    assert z.shape == x.shape == back.infer_shape(y.shape, weight.shape)
    assert (forward.compute(x, weight) * y).sum() == (x * z).sum()


def test_channels_last_is_channels_first_moved():
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(2, 4, 6, 5)), rng.normal(size=(6, 2, 3, 3))
    attrs = {"kernel": (3, 3), "num_filter": 6, "num_group": 2, "no_bias": True}
    first, last = (REGISTRY["Convolution"].bind(**attrs, layout=layout) for layout in ("NCHW", "NHWC"))
    got = last.compute(np.moveaxis(x, 1, -1), np.moveaxis(weight, 1, -1))
    assert got.shape == last.infer_shape((2, 6, 5, 4), (6, 3, 3, 2)) == (2, 4, 3, 6)
    np.testing.assert_array_equal(got, np.moveaxis(first.compute(x, weight), 1, -1))


def test_unfolding_needs_little_memory():
    """The windows of a layer of VGG are 9 times its data; only pieces of them are ever there."""
    import tracemalloc

    x, weight = np.zeros((1, 64, 112, 112), np.float32), np.zeros((8, 64, 3, 3), np.float32)
    op = REGISTRY["Convolution"].bind(kernel=(3, 3), num_filter=8, no_bias=True)
    tracemalloc.start()
    op.compute(x, weight)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * x.nbytes


@pytest.mark.parametrize(
    "name, attrs, shapes, message",
    [
        ("Convolution", {"kernel": (5, 5), "num_filter": 1}, [(1, 1, 4, 4), (1, 1, 5, 5)], "window"),
        (
            "Convolution",
            {"kernel": (1, 1), "num_filter": 2, "num_group": 2},
            [(1, 3, 4, 4), (2, 1, 1, 1)],
            "num_group=2",
        ),
        ("Convolution", {"kernel": (3, 3), "num_filter": 2}, [(1, 3, 4), (2, 3, 3)], "4 dimensions"),
        (
            "Deconvolution",
            {"kernel": (3, 3), "stride": (2, 2), "adj": (2, 2), "num_filter": 1},
            [(1, 1, 3, 3), (1, 1, 3, 3)],
            "adj",
        ),
        (
            "Deconvolution",
            {"kernel": (3, 3), "target_shape": (20, 20), "num_filter": 1},
            [(1, 1, 3, 3), (1, 1, 3, 3)],
            "at most",
        ),
        (
            "Deconvolution",
            {"kernel": (3, 3), "layout": "NHWC", "num_filter": 1},
            [(1, 3, 3, 1), (3, 1, 3, 3)],
            "layout",
        ),
    ],
)
def test_what_does_not_fit_is_refused(name, attrs, shapes, message):
    with pytest.raises(OpError, match=message):
        REGISTRY[name].bind(**attrs).infer_shape(*shapes)


@given(geometries(), st.integers(0, 99), st.sampled_from([1, 4 << 20]), st.sampled_from([1, 4096]))
@settings(max_examples=80, deadline=None)
def test_gradients_are_transposes(geometry, seed, buffer, wide):
    """<conv(x, w), dy> = <x, what data gets> = <w, what weight gets>, exactly, however the work is cut into pieces."""
    attrs, sizes, each, groups = geometry
    op, rng = REGISTRY["Convolution"].bind(**attrs, no_bias=True), np.random.default_rng(seed)
    x = rng.integers(-4, 5, (3, each * groups, *sizes)).astype(np.float64)
    weight = rng.integers(-4, 5, (op.num_filter, each, *op.kernel)).astype(np.float64)
    dy = rng.integers(-4, 5, op.infer_shape(x.shape, weight.shape)).astype(np.float64)
    usual = windows.BUFFER, windows.WIDE
    windows.BUFFER, windows.WIDE = (buffer, buffer), (wide, wide)
    try:
        want = (op.compute(x, weight) * dy).sum()
        to_data = REGISTRY["_backward_Convolution_data"].bind(**op.dump()).compute(dy, weight, x)
        to_weight = REGISTRY["_backward_Convolution_weight"].bind(**op.dump()).compute(dy, x, weight)
    finally:
        windows.BUFFER, windows.WIDE = usual
    assert to_data.shape == x.shape
    assert to_weight.shape == weight.shape
    assert (to_data * x).sum() == want
    assert (to_weight * weight).sum() == want


def test_gradients_of_channels_last_are_those_of_channels_first_moved():
    rng = np.random.default_rng(0)
    x, weight, dy = (rng.uniform(-1, 1, s) for s in ((2, 4, 6, 5), (6, 2, 3, 2), (2, 6, 3, 4)))
    attrs = {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0), "num_filter": 6, "num_group": 2}
    for name, factors in (("data", (dy, weight, x)), ("weight", (dy, x, weight))):
        first, last = (REGISTRY[f"_backward_Convolution_{name}"].bind(**attrs, layout=k) for k in ("NCHW", "NHWC"))
        want = np.moveaxis(first.compute(*factors), 1, -1)
        np.testing.assert_allclose(last.compute(*(np.moveaxis(a, 1, -1) for a in factors)), want, rtol=1e-12)
