"""Layers of the family ``_onnx_``: numbers worked out by hand, where other runtimes differ from the standard or refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid import autograd, nd
from hybrid.core.error import MXNetError
from hybrid.core.op import OPS, Example, lookup
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.program import Program
from hybrid.ndarray import invoke
from hybrid.ops.onnx.base import ints
from tests.table.examples import graph_of


def run(name: str, *arrays: Any, **attrs: Any) -> list[np.ndarray]:
    """The outputs of an operator applied to arrays."""
    op = OPS[f"_onnx_{name}"].bind(**attrs)
    graph, feeds = graph_of(Example(op, tuple(np.asarray(a) for a in arrays)))
    return Program(graph).run(feeds)


def row(*values: float, dtype: str = "float32") -> np.ndarray:
    """One image of one channel and one row."""
    return np.array([[values]], dtype)


@pytest.mark.parametrize(
    ("auto_pad", "want"), [("NOTSET", [102, 1020, 203, 2030, 300]), ("SAME_UPPER", [10, 102, 1020, 203, 2030])]
)
def test_transposed_convolution_is_cut_to_output_shape(auto_pad: str, want: list[int]) -> None:
    got = run("ConvTranspose", row(1, 2, 3), row(1, 10, 100, 1000), strides=(2,), output_shape=(5,), auto_pad=auto_pad)
    np.testing.assert_array_equal(got[0][0, 0], want)


def test_output_shape_beyond_what_is_reached_is_filled_with_zeros() -> None:
    got = run("ConvTranspose", row(1, 2), row(1, 10), output_shape=(5,))
    np.testing.assert_array_equal(got[0][0, 0], [1, 12, 20, 0, 0])


def test_a_kernel_of_one_may_be_cut_off_at_the_end_only() -> None:
    got = run("ConvTranspose", row(1, 2, 3), row(2), pads=(0, 1), strides=(2,))
    np.testing.assert_array_equal(got[0][0, 0], [2, 0, 4, 0])


def test_padding_is_no_maximum_among_bytes() -> None:
    y, where = run("MaxPool", row(0, 0, 7, dtype="uint8"), kernel_shape=(2,), pads=(1, 1), num_outputs=2)
    np.testing.assert_array_equal(y[0, 0], [0, 0, 7, 7])
    np.testing.assert_array_equal(where[0, 0], [0, 0, 2, 2])


def test_maxima_of_bytes_have_gradients() -> None:
    for dtype, want in (("uint8", [3, 6, 3, 3, 3]), ("int8", [6, 0, 6, 3, 3])):
        x = nd.array(np.array([[[3, 250, 7, 0, 0]]], np.uint8).astype(dtype), dtype=dtype)
        x.attach_grad()
        with autograd.record():
            y = nd.onnx.MaxPool(x, kernel_shape=(2,), pads=(1, 1)) * 3
        y.backward()
        assert x.grad.dtype == np.dtype(dtype)
        assert x.grad.asnumpy().tolist() == [[want]]


def test_maxima_of_infinities_and_nan() -> None:
    y, where = run("MaxPool", row(-np.inf, -np.inf, np.nan, 1), kernel_shape=(2,), num_outputs=2)
    np.testing.assert_array_equal(y[0, 0], [-np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(where[0, 0], [0, 2, 2])


@pytest.mark.parametrize(("order", "want"), [(0, 5), (1, 5 // 3 + 5 % 3 * 2)])
def test_storage_order_counts_rows_or_columns_first(order: int, want: int) -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    assert run("MaxPool", x, kernel_shape=(2, 3), num_outputs=2, storage_order=order)[1].item() == want


def test_dilated_windows_that_lie_apart_with_same() -> None:
    # six elements make three steps; onnxruntime ignores the dilation and gives two
    got = run("MaxPool", row(1, 2, 3, 4, 5, 6), kernel_shape=(2,), dilations=(2,), strides=(2,), auto_pad="SAME_UPPER")
    np.testing.assert_array_equal(got[0][0, 0], [3, 5, 5])


@pytest.mark.parametrize(("include", "want"), [(True, [1 / 2, 5 / 2, 4 / 2]), (False, [1, 5 / 2, 4])])
def test_means_count_padding_but_not_what_rounding_up_adds(include: bool, want: list[float]) -> None:
    x = row(1, 2, 3, 4)
    got = run("AveragePool", x, kernel_shape=(2,), pads=(1, 1), strides=(2,), count_include_pad=include)[0]
    np.testing.assert_allclose(got[0, 0], want)
    got = run("AveragePool", row(1, 2, 3), kernel_shape=(2,), strides=(2,), ceil_mode=True, count_include_pad=include)[
        0
    ]
    np.testing.assert_allclose(got[0, 0], [1.5, 3])


def test_unpooling_counts_in_the_shape_that_follows_from_the_kernel() -> None:
    places = np.array([[[0, 3]]])
    got = run(
        "MaxUnpool", row(5, 6), places, np.array([1, 1, 6]), kernel_shape=(2,), strides=(2,), given=("output_shape",)
    )
    np.testing.assert_array_equal(got[0], [[[5, 0, 0, 6, 0, 0]]])
    with pytest.raises(MXNetError, match="indices 0 to 9, wanted them within"):
        run("MaxUnpool", row(5, 6), np.array([[[0, 9]]]), kernel_shape=(2,), strides=(2,))


def test_lrn_over_an_even_number_of_channels_reaches_further_behind() -> None:
    x = np.array([[1, 2, 3]], np.float32)
    got = run("LRN", x, size=2, alpha=2.0, beta=1.0, bias=1.0)[0]
    np.testing.assert_allclose(got, [[1 / (1 + 5), 2 / (1 + 13), 3 / (1 + 9)]], rtol=1e-6)


def test_align_corners_counts_the_elements_of_the_result() -> None:
    got = run("Resize", row(1, 2, 3, 4), np.array([1, 1, 0.6], np.float32), given=("scales",), mode="linear",
              coordinate_transformation_mode="align_corners")  # fmt: skip
    np.testing.assert_allclose(got[0], row(1, 4))


def test_resize_to_the_same_size_by_another_scale_moves_elements() -> None:
    got = run(
        "Resize", row(1, 2), np.array([1, 1, 1.25], np.float32), given=("scales",), mode="linear"
    )  # onnxruntime copies
    np.testing.assert_allclose(got[0], row(1, 1.7), rtol=1e-6)


@pytest.mark.parametrize(("policy", "want"), [("stretch", (6, 9)), ("not_larger", (5, 9)), ("not_smaller", (6, 12))])
def test_aspect_ratio_policies(policy: str, want: tuple[int, int]) -> None:
    x = np.zeros((1, 1, 2, 4), np.float32)
    got = run("Resize", x, np.array([6, 9]), given=("sizes",), axes=(-2, -1), keep_aspect_ratio_policy=policy)[0]
    assert got.shape[2:] == want


def test_resize_of_nothing_and_to_nothing() -> None:
    scales = np.array([1, 1, 2], np.float32)
    assert run("Resize", np.zeros((0, 1, 3), np.float32), scales, given=("scales",))[0].shape == (0, 1, 6)
    assert run("Resize", row(1, 2), np.array([1, 1, 0]), given=("sizes",))[0].shape == (1, 1, 0)
    with pytest.raises(MXNetError, match="wanted positive ones"):
        run("Resize", row(1, 2), np.array([1, 1, -1], np.float32), given=("scales",))


def test_a_grid_without_a_number_gives_none() -> None:
    grid = np.array([[[[np.nan, 0], [0, 0]]]], np.float32)
    got = run("GridSample", np.ones((1, 1, 2, 2), np.float32), grid)[0]
    np.testing.assert_array_equal(got[0, 0, 0], [np.nan, 1])


def test_half_precision_is_summed_up_wide() -> None:
    x = np.full((1, 1, 4096), 0.1, np.float16)
    got = run("AveragePool", x, kernel_shape=(4096,))[0]
    assert got.dtype == np.float16
    assert got.item() == np.float16(0.1)


@pytest.mark.parametrize("name", ["LayerNormalization", "RMSNormalization"])
def test_normalization_of_double_keeps_its_precision(name: str) -> None:
    x = np.array([[1, 1 + 1e-9, 1 - 1e-9]])
    y = run(name, x, np.ones(3), epsilon=0.0)[0]
    want = (x - x.mean()) / x.std() if name == "LayerNormalization" else x / np.sqrt((x * x).mean())
    np.testing.assert_allclose(y, want, rtol=1e-6)


def test_what_is_given_in_single_precision_leaves_double_precision_alone() -> None:
    """Numbers that both have give what they would in double precision."""
    rng = np.random.default_rng(3)

    def numbers(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(np.float16).astype(np.float64)

    x, grid = numbers(2, 3, 4, 5), numbers(2, 3, 2, 2)
    q, k, v, mask = numbers(1, 2, 3, 4), numbers(1, 2, 5, 4), numbers(1, 2, 5, 6), numbers(3, 5)
    cases = [
        ("GridSample", (x, grid), 1, {"mode": m, "padding_mode": p})
        for m in ("linear", "cubic", "nearest")
        for p in ("zeros", "border", "reflection")
    ]
    cases += [("Attention", (q, k, v, mask), place, {"given": ("attn_mask",)}) for place in (3,)]
    cases += [("Pow", (abs(x) + 1, numbers(5)), 1, {})]
    for name, arrays, place, attrs in cases:
        (want,) = run(name, *arrays, **attrs)
        for dtype in (np.float32, np.float16):
            mixed = [a.astype(dtype) if i == place else a for i, a in enumerate(arrays)]
            (got,) = run(name, *mixed, **attrs)
            assert got.dtype == want.dtype == np.float64
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13, err_msg=f"{name} {attrs} {dtype}")


def test_running_statistics_move_towards_those_of_the_batch() -> None:
    x = np.array([[[1, 3]], [[5, 7]]], np.float32)
    one = np.ones(1, np.float32)
    y, mean, var = run(
        "BatchNormalization",
        x,
        one,
        0 * one,
        2 * one,
        one,
        training_mode=True,
        num_outputs=3,
        momentum=0.75,
        epsilon=0.0,
    )
    np.testing.assert_allclose(y, (x - 4) / np.sqrt(5), rtol=1e-6)
    assert (mean.item(), var.item()) == (0.75 * 2 + 0.25 * 4, 0.75 + 0.25 * 5)


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(MXNetError, match="wanted 4 channels for group=2"):
        run("Conv", np.zeros((1, 3, 5)), np.zeros((2, 2, 3)), group=2)
    with pytest.raises(MXNetError, match="a window of 5 for a size of 3"):
        run("MaxPool", row(1, 2, 3), kernel_shape=(5,))
    with pytest.raises(MXNetError, match="wanted a multiple of num_groups=2"):
        run("GroupNormalization", np.zeros((1, 3, 2)), np.zeros(3), np.zeros(3), num_groups=2)
    with pytest.raises(MXNetError, match="neither scales nor sizes"):
        run("Resize", row(1, 2))


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_the_gradient_of_a_grid_is_its_derivative(mode: str, padding_mode: str, align_corners: bool) -> None:
    rng = np.random.default_rng(0)
    x, grid, head = (rng.uniform(-1.3, 1.3, s) for s in ((1, 2, 4, 3), (1, 3, 4, 2), (1, 2, 3, 4)))
    attrs = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    back = lookup("_backward__onnx_GridSample").bind(**attrs)
    along = rng.uniform(-1, 1, grid.shape)
    after, before = (run("GridSample", x, grid + sign * 1e-6 * along, **attrs)[0] for sign in (1, -1))
    want = ((after - before) * head).sum() / 2e-6
    np.testing.assert_allclose((back.compute(head, x, grid)[1] * along).sum(), want, rtol=1e-6)


def test_an_axis_to_resize_that_is_not_there() -> None:
    with pytest.raises(MXNetError, match="axis 9 for 3 dimensions"):
        run("Resize", row(1, 2), np.array([4]), given=("sizes",), axes=(9,))


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_updates_are_not_spread_over_places(reduction: str) -> None:
    scatter = OPS["_onnx_ScatterElements"].bind(reduction=reduction)
    with pytest.raises(ValueError, match="differ"):
        scatter.compute(np.zeros(3, np.float32), np.array([0, 1]), np.ones(1, np.float32))


def test_what_is_known_of_one_end_says_how_many_axes_a_slice_cuts() -> None:
    cut = OPS["_onnx_Slice"].bind()
    unknown, one = (UNKNOWN,), np.array([1])
    assert cut.infer_shape((4, 5, 6), unknown, (1,), values=[None, None, one]) == (UNKNOWN, 5, 6)
    assert cut.infer_shape((4, 5, 6), (2,), unknown, values=[None] * 3) == (UNKNOWN, UNKNOWN, 6)
    assert cut.infer_shape((4, 5, 6), unknown, unknown, values=[None] * 3) == (UNKNOWN, UNKNOWN, UNKNOWN)


@pytest.mark.parametrize(
    ("name", "shapes", "attrs", "want"),
    [
        ("GridSample", ((0, 2, 4, 3), (0, 5, 6, 2)), {}, (0, 2, 5, 6)),
        ("LSTM", ((0, 2, 3), (1, 16, 3), (1, 16, 4)), {}, (0, 1, 2, 4)),
        ("GRU", ((3, 0, 3), (1, 12, 3), (1, 12, 4)), {}, (3, 1, 0, 4)),
        ("LinearAttention", ((0, 3, 8), (0, 3, 4), (0, 3, 6)),
         {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "linear"}, (0, 3, 12)),
        ("DeformConv", ((0, 2, 4, 4), (5, 2, 2, 2), (0, 8, 3, 3)), {}, (0, 5, 3, 3)),
    ],
)  # fmt: skip
def test_nothing_to_compute(name: str, shapes: Any, attrs: dict[str, Any], want: tuple[int, ...]) -> None:
    assert run(name, *(np.zeros(s, np.float32) for s in shapes), **attrs)[0].shape == want


def test_col2im_of_no_images() -> None:
    assert run("Col2Im", np.zeros((0, 8, 6), np.float32), np.array([3, 4]), np.array([2, 2]))[0].shape == (0, 2, 3, 4)


def test_a_grid_for_another_batch() -> None:
    with pytest.raises(MXNetError, match="differ"):
        run("GridSample", np.zeros((2, 1, 4, 4), np.float32), np.zeros((1, 1, 2, 2), np.float32))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resized_to_nothing_is_empty(mode: str) -> None:
    antialias = mode != "nearest"
    data = row(*range(4)).reshape(1, 4)
    (found,) = run("Resize", data, np.array([0]), axes=(1,), given=("sizes",), mode=mode, antialias=antialias)
    assert found.shape == (1, 0)


@pytest.mark.parametrize("axis", range(-3, 4))
def test_flattened_at_every_axis(axis: int) -> None:
    """The rank too: then all axes come before."""
    x = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
    (found,) = run("Flatten", x, axis=axis)
    np.testing.assert_array_equal(found, x.reshape(int(np.prod(x.shape[:axis])), -1), strict=True)


@pytest.mark.parametrize("name", ["ScatterElements", "ScatterND"])
def test_gradients_of_products_at_places(name: str) -> None:
    """By the product rule, written out: also where one place takes several factors, and where some factor is 0."""
    for factors in ([2.0, -3.0, 0.5, 4.0], [0.0, -3.0, 0.5, 4.0], [0.0, 0.0, 0.5, 0.0]):
        places, dys = [1, 1, 2, 4], [1.5, -2.0, 3.0, 0.25, -0.75]
        data, updates = nd.array([3.0, 5.0, -2.0, 7.0, 0.0]), nd.array(factors)
        where = nd.array(places, dtype="int64")
        where = where.reshape((4, 1)) if name == "ScatterND" else where
        for array in (data, updates):
            array.attach_grad()
        with autograd.record():
            y = invoke(lookup(f"_onnx_{name}").bind(reduction="mul"), [data, where, updates])
        y.backward(nd.array(dys))
        first = data.asnumpy()
        own = [dys[i] * np.prod([f for f, p in zip(factors, places) if p == i]) for i in range(5)]
        theirs = [
            dys[p] * first[p] * np.prod([f for j, f in enumerate(factors) if places[j] == p and j != k])
            for k, p in enumerate(places)
        ]
        np.testing.assert_allclose(data.grad.asnumpy(), own, rtol=1e-6)
        np.testing.assert_allclose(updates.grad.asnumpy(), theirs, rtol=1e-6)


@pytest.mark.parametrize(("reduction", "highest"), [("max", 3.0), ("min", -3.0)])
@pytest.mark.parametrize("name", ["ScatterElements", "ScatterND"])
def test_what_is_equally_large_shares_the_gradient(name: str, reduction: str, highest: float) -> None:
    data, updates = nd.array([0.0, highest, 0.0, highest]), nd.array([highest, highest, highest, 0.0])
    where = nd.array([1, 1, 2, 3], dtype="int64")
    where = where.reshape((4, 1)) if name == "ScatterND" else where
    for array in (data, updates):
        array.attach_grad()
    with autograd.record():
        y = invoke(lookup(f"_onnx_{name}").bind(reduction=reduction), [data, where, updates])
    y.backward(nd.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(y.asnumpy(), [0, highest, highest, highest])
    np.testing.assert_allclose(data.grad.asnumpy(), [1, 2 / 3, 0, 4], rtol=1e-6)
    np.testing.assert_allclose(updates.grad.asnumpy(), [2 / 3, 2 / 3, 3, 0], rtol=1e-6)


def test_sizes_that_are_empty_are_none() -> None:
    """Files of before opset 18 give an empty tensor for the one of scales and sizes that they do not mean."""
    x, scales = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4), np.float32([1, 1, 2, 1.5])
    for mode in ("nearest", "linear"):
        attrs = {"mode": mode, "coordinate_transformation_mode": "asymmetric"}
        (want,) = run("Resize", x, scales, given=("scales",), **attrs)
        (got,) = run("Resize", x, scales, np.zeros(0, np.int64), given=("scales", "sizes"), **attrs)
        assert want.shape == (1, 1, 6, 6)
        np.testing.assert_array_equal(got, want)


def test_regions_larger_than_any_picture_are_refused() -> None:
    x, index = np.ones((1, 1, 4, 4), np.float32), np.zeros(1, np.int64)
    assert run("RoiAlign", x, np.float32([[0, 0, 400, 400]]), index)[0].shape == (1, 1, 1, 1)
    with pytest.raises(MXNetError, match="one of the size of an image"):
        run("RoiAlign", x, np.float32([[0, 0, 1e15, 4]]), index)


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (True, False), (False, True), (True, True)])
def test_gradients_of_turned_factors(ta: bool, tb: bool) -> None:
    """Of y = 0.5 A' B': those of A' and B' by hand, turned as A and B are."""
    rng = np.random.default_rng(0)
    a, b, dy = (rng.integers(-4, 5, s).astype(np.float32) for s in ((2, 3), (3, 4), (2, 4)))
    x, w = nd.array(a.T if ta else a), nd.array(b.T if tb else b)
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = invoke(OPS["_onnx_Gemm"].bind(transA=ta, transB=tb, alpha=0.5), [x, w])
    y.backward(nd.array(dy))
    np.testing.assert_array_equal(x.grad.asnumpy(), 0.5 * ((dy @ b.T).T if ta else dy @ b.T))
    np.testing.assert_array_equal(w.grad.asnumpy(), 0.5 * ((a.T @ dy).T if tb else a.T @ dy))


def test_whole_numbers_are_multiplied_to_narrow_floats() -> None:
    """QLinearMatMul's result has the dtype of its zero point, float8 also where the factors are bytes."""
    float8 = np.dtype("float8_e4m3fn")
    a, b = np.int8([[1, -2, 3]]), np.int8([[2, 1], [1, 0], [-1, 4]])
    one = np.float32(1)
    (y,) = run(
        "QLinearMatMul", a, one, np.int8(0), b, np.float32(0.5), np.int8(0), np.float32(0.25), np.zeros((), float8)
    )
    assert y.dtype == float8
    np.testing.assert_array_equal(y.astype(np.float32), 2 * (a.astype(np.float32) @ b))


def test_what_rules_say_of_ranks() -> None:
    with pytest.raises(MXNetError, match="at least 2"):
        lookup("_backward__onnx_classes").bind().infer_shape((3,), (3,))
    with pytest.raises(MXNetError):
        lookup("_onnx_DFT").bind().infer_shape((), values=[None])
    with pytest.raises(MXNetError, match="output_padding"):
        run("ConvTranspose", np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)), strides=(2, 2), output_padding=(1,))
    with pytest.raises(MXNetError, match="wanted whole numbers"):
        ints(np.array([1.5]))


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resized_to_nothing_without_aliases(mode: str) -> None:
    """A scale of 0 stretches no filter."""
    sizes = np.array([1, 1, 0, 2])
    (y,) = run("Resize", np.ones((1, 1, 3, 4), np.float32), sizes, given=("sizes",), mode=mode, antialias=True)
    assert y.shape == (1, 1, 0, 2)
    x = nd.ones((1, 1, 3, 4))
    x.attach_grad()
    with autograd.record():
        made = OPS["_onnx_Resize"].bind(given=("sizes",), mode=mode, antialias=True)
        y = invoke(made, [x, nd.array(sizes, dtype="int64")])
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.zeros((1, 1, 3, 4)))
