"""Convolutions of plain data and the gradients of convolutions, against NumPy, float64 and finite differences."""

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup

from ..grouped import over
from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

EPSILON = float(np.finfo("float32").eps)


def uniform(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).uniform(-1, 1, shape).astype("float32")


def close(name, arrays, within=8.0, **attrs):
    """Hold the kernel against NumPy in float64, at most ``within`` epsilons of the output's scale (no sum is longer than 288
    products before it is added to others), and results that are not finite against NumPy in float32."""
    op = lookup(name).bind(**attrs)
    with np.errstate(all="ignore"):
        exact = op.compute(*(a.astype("float64") for a in arrays))
    found: list = []
    want = specs = None
    for count in (1, 2):
        native.set_num_threads(count)
        single = Single(op, arrays, threads=count, specs=specs)
        specs = single.specs
        assert single.there
        (mine,) = single.run(arrays)
        want = reference(op, arrays, specs)[0] if want is None else want
        assert mine.dtype == want.dtype and mine.shape == want.shape
        finite = np.isfinite(want)
        np.testing.assert_array_equal(mine[~finite], want[~finite])
        atol = within * EPSILON * np.abs(exact[finite]).max(initial=0)
        np.testing.assert_allclose(mine[finite], exact[finite], rtol=0, atol=atol)
        found.append(mine)
    return found[0]


CONVOLUTIONS = {
    # batch, channels, filters, spatial, kernel, stride, dilate, pad, groups
    "one pixel": (1, 1, 1, (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), 1),
    "first of LeNet": (3, 1, 20, (28, 28), (5, 5), (1, 1), (1, 1), (0, 0), 1),
    "second of LeNet": (3, 20, 50, (12, 12), (5, 5), (1, 1), (1, 1), (0, 0), 1),
    "stem": (2, 3, 17, (33, 31), (7, 7), (2, 2), (1, 1), (3, 3), 1),
    "3x3": (4, 64, 64, (9, 9), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "3x3, stride 2": (2, 18, 35, (12, 13), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "small images": (5, 33, 70, (2, 2), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "weights larger than images": (16, 300, 260, (2, 2), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "weights larger than images, stride 2": (12, 220, 256, (5, 5), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "1x1": (4, 32, 48, (8, 8), (1, 1), (1, 1), (1, 1), (0, 0), 1),
    "1x1 of one pixel": (40, 130, 70, (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), 1),
    "1x1, stride 2": (4, 32, 48, (8, 9), (1, 1), (2, 2), (1, 1), (0, 0), 1),
    "1x1, stride 3, nothing but corners": (1, 5, 7, (1, 1), (1, 1), (3, 3), (1, 1), (0, 0), 1),
    "kernel smaller than stride": (2, 5, 7, (9, 9), (2, 2), (5, 4), (1, 1), (0, 1), 1),
    "dilated": (2, 8, 8, (20, 40), (3, 3), (1, 1), (2, 2), (2, 2), 1),
    "dilated, stride 2": (1, 6, 5, (15, 19), (3, 3), (2, 2), (2, 3), (2, 1), 1),
    "all different": (2, 6, 4, (13, 12), (3, 4), (3, 2), (2, 3), (4, 5), 2),
    "groups": (2, 12, 18, (7, 6), (3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise": (2, 16, 16, (11, 13), (3, 3), (1, 1), (1, 1), (1, 1), 16),
    "depthwise, stride 2, two filters each": (2, 16, 32, (11, 13), (3, 3), (2, 2), (1, 1), (1, 1), 16),
    "pad larger than the kernel": (2, 3, 4, (5, 5), (3, 3), (1, 1), (1, 1), (4, 3), 1),
    "rest that no window sees": (2, 3, 4, (8, 9), (3, 3), (3, 4), (1, 1), (0, 0), 1),
    "wide": (1, 2, 3, (3, 150), (1, 7), (1, 1), (1, 1), (0, 3), 1),
    "large": (1, 16, 24, (70, 70), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "1-D": (2, 3, 4, (17,), (3,), (2,), (2,), (1,), 1),
    "1-D, long": (3, 20, 20, (300,), (5,), (1,), (1,), (2,), 1),
    "3-D": (2, 3, 4, (6, 7, 8), (3, 2, 3), (1, 1, 1), (1, 2, 1), (1, 0, 2), 1),
    "3-D, strides": (2, 3, 4, (6, 7, 8), (3, 2, 3), (2, 1, 2), (1, 2, 1), (1, 0, 2), 1),
    "3-D, strides, depth split": (2, 20, 12, (9, 7, 8), (4, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 2),
    "3-D, kernel smaller than stride": (2, 5, 7, (6, 7, 8), (1, 1, 2), (2, 2, 3), (1, 1, 1), (0, 0, 0), 1),
    "no images": (0, 3, 4, (5, 5), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "no channels": (2, 0, 4, (5, 5), (3, 3), (1, 1), (1, 1), (1, 1), 1),
}


def operands(case):
    batch, channels, filters, spatial, kernel, stride, dilate, pad, groups = case
    steps = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(spatial, pad, dilate, kernel, stride))
    attrs = {
        "kernel": kernel,
        "stride": stride,
        "dilate": dilate,
        "pad": pad,
        "num_filter": filters,
        "num_group": groups,
    }
    return (
        uniform(batch, channels, *spatial),
        uniform(filters, channels // groups, *kernel),
        uniform(filters),
        uniform(batch, filters, *steps),
        attrs,
    )


cases = pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)


@cases
def test_convolution(level, case):
    data, weight, bias, _, attrs = operands(case)
    close("Convolution", (data, weight, bias), **attrs)
    close("Convolution", (data, weight), no_bias=True, **attrs)


@cases
def test_to_data(level, case):
    data, weight, _, dy, attrs = operands(case)
    close("_backward_Convolution_data", (dy, weight, data), **attrs)


def test_groups_that_threads_cannot_share_evenly(level):
    """Few windows: threads take groups, four of seven and three."""
    data, weight, bias, dy, attrs = operands((1, 280, 1400, (3, 3), (3, 3), (1, 1), (1, 1), (1, 1), 7))
    close("Convolution", (data, weight, bias), **attrs)
    close("_backward_Convolution_data", (dy, weight, data), **attrs)


@cases
def test_to_weight(level, case):
    data, weight, _, dy, attrs = operands(case)
    close("_backward_Convolution_weight", (dy, data, weight), **attrs)


def transposed(case, adj=0, target=False):
    """Operands of a deconvolution from `spatial`, or None when its output would be empty or adj is no rest of the stride."""
    batch, channels, filters, spatial, kernel, stride, dilate, pad, groups = case
    sizes = zip(spatial, stride, dilate, kernel, pad)
    out = tuple((n - 1) * s + d * (k - 1) + 1 - 2 * p + adj for n, s, d, k, p in sizes)
    if min(out) < 1 or (adj and adj >= min(stride)):
        return None
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "num_filter": filters, "num_group": groups}
    attrs |= {"target_shape": out} if target else {"pad": pad, "adj": (adj,) * len(kernel)}
    data, dy = uniform(batch, channels, *spatial), uniform(batch, filters, *out)
    return data, uniform(channels, filters // groups, *kernel), uniform(filters), dy, attrs


SAME_AGAIN = (
    "stem",
    "3x3",
    "second of LeNet",
    "weights larger than images",
    "wide",
    "large",
    "1-D, long",
    "1x1 of one pixel",
)
"""Not for the transposed ones, which are the same products."""


@pytest.mark.parametrize("name", [n for n in CONVOLUTIONS if n not in SAME_AGAIN])
@over("adj, target", [(0, False), (1, False), (0, True)])
def test_deconvolution(level, name, adj, target):
    case = CONVOLUTIONS[name]
    made = transposed(case, adj, target)
    if made is None:
        pytest.skip("no such deconvolution")
    data, weight, bias, dy, attrs = made
    close("Deconvolution", (data, weight, bias), no_bias=False, **attrs)
    close("_backward_Deconvolution_data", (dy, weight, data), **attrs)
    close("_backward_Deconvolution_weight", (dy, data, weight), **attrs)


def test_batches_that_are_copied_in_rounds(level):
    """More images than are copied with their borders at once (8 Mi numbers): the last is of the second round."""
    x, w, dy = (
        np.resize(uniform(9973), (3, 1, 1, 2_900_000)),
        uniform(1, 1, 1, 2),
        np.resize(uniform(9967), (3, 1, 1, 2_900_001)),
    )
    attrs = {"kernel": (1, 2), "pad": (0, 1), "num_filter": 1}
    wide = np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 1)))
    y = wide[..., :-1] * w[..., 0] + wide[..., 1:] * w[..., 1]
    taps = [np.vdot(dy, wide[..., i : i + dy.shape[-1]]) for i in range(2)]
    for name, arrays, want, atol in (
        ("Convolution", (x, w), y, 1e-6),
        ("_backward_Convolution_weight", (dy, x, w), np.reshape(taps, w.shape), 1e-6 * np.abs(dy).sum()),
    ):
        op = lookup(name).bind(**attrs, **({"no_bias": True} if name == "Convolution" else {}))
        single = Single(op, arrays)
        assert single.there
        assert np.abs(single.run(arrays)[0] - want).max() <= atol, name  # NumPy's own takes seconds


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(level, value):
    """Not-a-numbers spread to what saw them, and nowhere else."""
    data, weight, _, dy, attrs = operands((2, 17, 20, (9, 9), (3, 3), (1, 1), (1, 1), (0, 0), 1))
    data[1, 3, 4, 4] = value
    close("Convolution", (data, weight), no_bias=True, **attrs)
    close("_backward_Convolution_weight", (dy, data, weight), **attrs)
    close("Deconvolution", (data, weight.swapaxes(0, 1)), kernel=(3, 3), num_filter=20)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_layouts(layout):
    """Channels last is NumPy's."""
    op = lookup("Convolution").bind(kernel=(3, 3), num_filter=4, no_bias=True, layout=layout)
    last = layout == "NHWC"
    arrays = (uniform(1, 6, 6, 3), uniform(4, 3, 3, 3)) if last else (uniform(1, 3, 6, 6), uniform(4, 3, 3, 3))
    assert Single(op, arrays).there != last


DIFFERENCES = ["stem", "3x3, stride 2", "all different", "groups", "3-D, strides"]


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences(level, name):
    """Gradients are what the convolution changes by: it is linear in each factor, so that large steps are exact."""
    data, weight, _, dy, attrs = operands(CONVOLUTIONS[name])
    forward = lookup("Convolution").bind(no_bias=True, **attrs)

    def value(x, w):
        (y,) = Single(forward, (x, w)).run((x, w))
        return (y.astype("float64") * dy).sum()

    to_data = close("_backward_Convolution_data", (dy, weight, data), **attrs)
    to_weight = close("_backward_Convolution_weight", (dy, data, weight), **attrs)
    draw = np.random.default_rng(1)
    for _ in range(6):
        at = tuple(draw.integers(n) for n in data.shape)
        moved = data.copy()
        moved[at] += 1
        assert value(moved, weight) - value(data, weight) == pytest.approx(to_data[at], rel=1e-3, abs=1e-3)
        at = tuple(draw.integers(n) for n in weight.shape)
        moved = weight.copy()
        moved[at] += 1
        assert value(data, moved) - value(data, weight) == pytest.approx(to_weight[at], rel=1e-3, abs=1e-3)
