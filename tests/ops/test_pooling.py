"""Pooling's gradients against their definition, written as plainly as can be, over random geometries."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.core.examples import Maker
from hybrid.core.op import REGISTRY
from hybrid.ops import pooling
from hybrid.ops.common import largest
from tests.grouped import run
from tests.table.test_gradients import check_second_derivatives


@st.composite
def geometries(draw):
    """(attributes, spatial sizes) of a pooling that fits."""
    rank = draw(st.integers(1, 3))
    axis = st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2), st.integers(0, 4))
    kernel, stride, pad, more = zip(*draw(st.lists(axis, min_size=rank, max_size=rank)))
    pad = tuple(min(p, k - 1) for p, k in zip(pad, kernel))
    sizes = tuple(max(1, k - 2 * p) + m for k, p, m in zip(kernel, pad, more))
    convention = draw(st.sampled_from(["valid", "full"]))
    return {"kernel": kernel, "stride": stride, "pad": pad, "pooling_convention": convention}, sizes


def places(op, window, sizes):
    """Positions of a window's elements that lie in the image, in order."""
    for tap in np.ndindex(*op.kernel):
        place = tuple(w * s + t - p for w, s, t, p in zip(window, op.strides, tap, op.pads))
        if all(0 <= i < n for i, n in zip(place, sizes)):
            yield place


@given(geometries(), st.integers(0, 99), st.sampled_from([1, 1 << 19]))
@settings(max_examples=80, deadline=None)
def test_the_first_maximum_gets_the_gradient(geometry, seed, piece):
    attrs, sizes = geometry
    op, rng = REGISTRY["Pooling"].bind(**attrs), np.random.default_rng(seed)
    x = rng.integers(-2, 3, (2, 9, *sizes)).astype(np.float64)
    dy = rng.integers(-4, 5, op.infer_shape(x.shape)).astype(np.float64)
    want = np.zeros_like(x)
    for at in np.ndindex(*dy.shape):
        image = x[at[:2]]
        best = max(places(op, at[2:], sizes), key=lambda p, image=image: image[p], default=None)
        if best is not None:
            want[(*at[:2], *best)] += dy[at]
    usual, pooling.PIECE = pooling.PIECE, piece
    try:
        y = op.compute(x)
        got = REGISTRY["_backward_Pooling"].bind(**attrs).compute(dy, x, y)
    finally:
        pooling.PIECE = usual
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("pool_type", ["avg", "sum"])
@pytest.mark.parametrize("include", [True, False])
@given(geometry=geometries(), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_means_and_sums_share_the_gradient(pool_type, include, geometry, seed):
    """<pool(x), dy> = <x, what data gets>: both are linear."""
    attrs, sizes = geometry
    attrs = attrs | {"pool_type": pool_type, "count_include_pad": include}
    op, rng = REGISTRY["Pooling"].bind(**attrs), np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (2, 3, *sizes))
    y = op.compute(x)
    dy = rng.uniform(-1, 1, y.shape)
    got = REGISTRY["_backward_Pooling"].bind(**attrs).compute(dy, x, y)
    np.testing.assert_allclose((got * x).sum(), (y * dy).sum(), rtol=1e-9, atol=1e-9)


def test_what_is_not_chosen_gets_nothing_of_an_infinite_gradient():
    x = np.array([[[1.0, 2.0, 0.0, 1.0]]], np.float32)
    op = REGISTRY["Pooling"].bind(kernel=(2,), stride=(2,))
    dy = np.array([[[np.inf, np.nan]]], np.float32)
    got = REGISTRY["_backward_Pooling"].bind(**op.dump()).compute(dy, x, op.compute(x))
    np.testing.assert_array_equal(got, [[[0, np.inf, 0, np.nan]]])


def test_gradients_of_gradients_in_every_form():
    """Over all positions too, by every type, along one to three axes, and of the older operator."""
    rows = []
    for name, options in (
        ("Pooling", ({"pool_type": t} for t in ("max", "avg", "sum"))),
        ("Pooling", [{"pool_type": "lp", "p_value": 3}]),
        ("Pooling_v1", ({"pool_type": t} for t in ("max", "avg", "sum"))),
    ):
        make = Maker(REGISTRY[name])
        for more in options:
            for sizes, attrs in (
                ((4, 5), {"global_pool": True}),
                ((5, 4), {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0)}),
                ((5, 6), {"kernel": (2, 3), "stride": (2, 2), "pooling_convention": "full"}),
                ((3,), {"global_pool": True, "kernel": (1,)}),
                ((2, 3, 4), {"kernel": (2, 2, 3), "stride": (1, 1, 2), "layout": "NCDHW"}),
            )[: 3 if name == "Pooling_v1" else 5]:
                low = 0.2 if more["pool_type"] == "lp" else -1
                rows.append((f"{name} {more} {attrs}", make(make.uniform(2, 2, *sizes, low=low), **attrs, **more)))
                if name == "Pooling_v1":  # where all is below 0 the zeros around are the largest
                    below = make.uniform(1, 2, *sizes, low=-1, high=-0.2)
                    rows.append((f"{name} {more} {attrs} below 0", make(below, **attrs, **more)))
    run(rows, check_second_derivatives)


@pytest.mark.parametrize("name", ["AveragePool", "MaxPool", "Pooling"])
def test_pieces_of_many_planes_are_those_of_all_at_once(name, monkeypatch):
    """Forward, places of maxima, gradients and theirs: of 40 planes 16 at a time."""
    x = np.random.default_rng(0).normal(size=(4, 10, 5, 4)).astype(np.float32)
    if name == "Pooling":
        op = REGISTRY[name].bind(kernel=(2, 2), stride=(1, 2), pad=(1, 0))
    else:
        attrs = {"num_outputs": 2} if name == "MaxPool" else {}
        op = REGISTRY[f"_onnx_{name}"].bind(kernel_shape=(2, 2), pads=(1, 0, 0, 1), **attrs)

    def found():
        outputs = op.compute(x)
        outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
        if name == "Pooling":
            dy = np.arange(outputs[0].size, dtype=np.float32).reshape(outputs[0].shape)
            outputs.append(REGISTRY["_backward_Pooling"].bind(**op.dump()).compute(dy, x, outputs[0]))
            outputs.append(REGISTRY["_backward_Pooling_pick"].bind(**op.dump()).compute(x, x, outputs[0]))
        return outputs

    whole = found()
    monkeypatch.setattr(pooling, "PIECE", 1)
    for got, want in zip(found(), whole, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "known", [np.dtype("float32", metadata={"from": "a file"}), np.dtype("float32").newbyteorder("<")]
)
def test_where_a_maximum_begins_is_known_of_every_dtype_of_numpys(
    known: np.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that is not the very object that NumPy names so too: ml_dtypes, which may not be there, is for others."""
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert largest(known) == np.finfo(np.float32).max
