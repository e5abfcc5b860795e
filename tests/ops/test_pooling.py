"""Pooling against its definition and against onnxruntime, over all small geometries and random ones."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import converters
from hybrid.error import OpError
from hybrid.op import REGISTRY
from hybrid.shapes import UNKNOWN
from tests.converters.test_detection_dynamic import graph_of
from tests.table.test_goldens import run_onnx

REDUCE = {"max": np.max, "avg": np.sum, "sum": np.sum}


def definition(op, x):
    """Window after window, as MXNet's documentation and sources describe them. x: (N, C, H, W)."""
    out = np.zeros(op.infer_shape(x.shape), x.dtype)
    for i, j in np.ndindex(*out.shape[2:]):
        spans, count = [], 1
        for at, size, kernel, stride, pad in zip((i, j), x.shape[2:], op.kernel, op.strides, op.pads):
            start, end = at * stride - pad, min(at * stride - pad + kernel, size + pad)
            inside = max(start, 0), min(end, size)
            count *= end - start if op.count_include_pad is not False else inside[1] - inside[0]
            spans.append(slice(inside[0], max(inside)))
        window = x[:, :, spans[0], spans[1]]
        if not window.size:
            out[:, :, i, j] = np.finfo(x.dtype).min if op.pool_type == "max" else 0
        else:
            out[:, :, i, j] = REDUCE[op.pool_type](window, axis=(2, 3)) / (count if op.pool_type == "avg" else 1)
    return out


@st.composite
def poolings(draw):
    """An operator, and the sizes of an image that it fits."""
    axes = [
        (draw(st.integers(1, 9)), draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.integers(0, 2)))
        for _ in "hw"
    ]
    size, kernel, stride, pad = zip(*axes)
    assume(all(p < k <= n + 2 * p for n, k, p in zip(size, kernel, pad)))
    op = REGISTRY["Pooling"].bind(
        kernel=kernel,
        stride=stride,
        pad=pad,
        pool_type=draw(st.sampled_from(sorted(REDUCE))),
        pooling_convention=draw(st.sampled_from(["valid", "full"])),
        count_include_pad=draw(st.sampled_from([None, True, False])),
    )
    return op, size


@given(poolings(), st.integers(0, 99))
@settings(max_examples=300, deadline=None)
def test_pooling_is_its_definition(pooling, seed):
    op, size = pooling
    x = np.random.default_rng(seed).integers(-9, 0, (2, 1, *size)).astype(np.float32)
    np.testing.assert_allclose(op.compute(x), definition(op, x), rtol=1e-6)


@given(poolings(), st.sampled_from([13, 17, 19, 21]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_onnxruntime_pools_the_same(pooling, opset, dynamic):
    op, size = pooling
    x = np.random.default_rng(0).integers(-9, 0, (2, 1, *size)).astype(np.float32)
    try:
        model = converters.to_onnx(
            graph_of("Pooling", op.dump()), {}, {"data": ("n", 1, "h", "w") if dynamic else x.shape}, opset
        )
    except converters.UnsupportedModel as error:
        # means over windows that may hold nothing, which is only known with the size
        assert (
            dynamic
            and "which is dynamic" in str(error)
            and any(s + p > k for s, p, k in zip(op.stride, op.pads, op.kernel))
        )
        return
    np.testing.assert_allclose(run_onnx(model, {"data": x})[0], op.compute(x), rtol=1e-6)


def test_maximum_passes_over_nan():
    x = np.array([1, np.nan, np.nan, np.nan, -np.inf, -np.inf], np.float32).reshape(1, 1, 6)
    op = REGISTRY["Pooling"].bind(kernel=(2,), stride=(2,), pool_type="max")
    least = np.finfo(np.float32).min
    np.testing.assert_array_equal(op.compute(x)[0, 0], [1, least, least])


def test_unknown_sizes_stay_unknown():
    op = REGISTRY["Pooling"].bind(kernel=(2, 2), stride=(2, 2))
    assert op.infer_shape((UNKNOWN, 3, UNKNOWN, 8))[1::2] == (3, 4)


@pytest.mark.parametrize(
    "attrs",
    [
        {"kernel": (2, 2), "pad": (2, 2)},
        {"kernel": (2, 2), "pool_type": "lp"},
        {"kernel": (2, 2), "pool_type": "lp", "p_value": 4},
        {"kernel": (3,), "pooling_convention": "same"},
        {"kernel": (2, 2), "stride": (2,)},
        {"pool_type": "max"},
    ],
    ids=str,
)
def test_what_mxnet_refuses_is_refused(attrs):
    with pytest.raises(OpError, match="Pooling: "):
        REGISTRY["Pooling"].bind(**attrs)
