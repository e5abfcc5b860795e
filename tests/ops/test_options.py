"""Options and forms of operators that recorded cases leave out, by NumPy written plainly."""

from __future__ import annotations

import colorsys
import itertools
import math
from statistics import NormalDist
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hybrid as mx
from converters import to_onnx
from hybrid import autograd, nd
from hybrid.core.error import MXNetError, OpError
from hybrid.core.op import Op, lookup
from hybrid.core.shapes import is_known
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.fused import EXACT, OPCODES, WHOLE_ONLY
from tests.grouped import run
from tests.table.examples import examples
from tests.table.options import others
from tests.table.test_goldens import run_onnx

RNG = np.random.default_rng(11)


def op(name: str, **attrs: Any) -> Op:
    return lookup(name).bind(**attrs)


def uniform(*shape: int, low: float = -2, high: float = 2) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(np.float32)


def both(one: Op, *arrays: np.ndarray) -> list[np.ndarray]:
    """The first output by NumPy and compiled."""
    names = one.input_names()
    graph = Graph([Entry(Node(one, "node", [Entry(Node(None, n)) for n in names]))])
    return [Program(graph, native=native).run(dict(zip(names, arrays, strict=True)))[0] for native in (False, True)]


def test_what_is_computed_into_an_array_is_what_is_computed_without_one() -> None:
    def check(row: tuple[Op, list[np.ndarray]]) -> None:
        one, arrays = row
        try:
            shapes, dtypes = one.infer_shape(*(a.shape for a in arrays)), one.infer_type(*(a.dtype for a in arrays))
        except OpError:
            return
        if isinstance(shapes, list):
            return
        out = np.full(shapes, 77).astype(dtypes)
        with np.errstate(all="ignore"):
            wanted = np.array(one.compute(*arrays))
            given = one.compute(*arrays, out=out)
        assert given is out or given.base is out or np.shares_memory(given, out) or not given.size
        np.testing.assert_array_equal(given, wanted)

    rows = []
    for number, (one, arrays) in enumerate(itertools.chain(examples(), others())):
        if one.supports_out and not one.name.startswith("_onnx"):
            for dtype in ("float32", "float16", "float64", ml_dtypes.bfloat16, "int32", "uint8"):
                wide = [a.astype(dtype) if a.dtype == np.float32 else a for a in arrays]
                rows.append((f"{number} {one} {np.dtype(dtype)}", (one, wide)))
    dy = uniform(4, 5)
    for name, x, attrs in (
        ("relu", np.maximum(uniform(4, 5), 0), {}), ("sigmoid", uniform(4, 5, low=0), {}), ("tanh", uniform(4, 5), {}),
        ("softmax", uniform(4, 5, low=0, high=1), {"axis": 0}), ("log_softmax", uniform(4, 5, high=0), {"axis": -1}),
        ("clip", uniform(4, 5), {"a_min": -1, "a_max": 1}),
    ):  # fmt: skip
        for dtype in ("float32", "float16", "float64", ml_dtypes.bfloat16):
            one = op(f"_backward_{name}", **attrs)
            rows.append((f"{one} {np.dtype(dtype)}", (one, [dy.astype(dtype), x.astype(dtype)])))
    clips = (
        ((1, 3), "int8"),
        ((3, 1), "float32"),
        ((-4, 2), "uint8"),
        ((3, 1), "float64"),
        ((-1, 2), ml_dtypes.bfloat16),
    )
    rows += [(f"clip {b} {d}", (op("clip", a_min=b[0], a_max=b[1]), [np.arange(5).astype(d)])) for b, d in clips]
    run(rows, check)


def test_bounds_of_clip() -> None:
    for dtype, low, high in (
        ("int8", -3, 2),
        ("uint8", -5, 7),
        ("uint8", 3, 300),
        ("float32", -1.5, 2.25),
        ("int32", 1.7, 3.9),
    ):
        x = np.array([0, 1, 2, 3, 4, 9, 100]).astype(dtype) - np.array(3 if dtype[0] != "u" else 0).astype(dtype)
        ends = [np.float32(v).astype(np.int64) if dtype[0] != "f" else v for v in (low, high)]
        wide = x.astype(np.float64)
        wanted = np.where(wide > high, ends[1], np.where(wide < low, ends[0], wide))
        fitting = wanted.astype(np.int64).astype(dtype) if dtype[0] != "f" else wanted.astype(dtype)
        for found in both(op("clip", a_min=low, a_max=high), x):
            np.testing.assert_array_equal(found, fitting, f"{dtype} {low} {high}")


def finished(y: np.ndarray, slope: float | None, low: float | None, high: float | None) -> np.ndarray:
    y = y if slope is None else np.where(y < 0, y * np.float32(slope), y)
    return np.clip(y, -np.inf if low is None else low, np.inf if high is None else high)


def blocked(x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape
    wide = np.zeros((n, -(-c // 16) * 16, h, w), x.dtype)
    wide[:, :c] = x
    return wide.reshape(n, -1, 16, h, w).transpose(0, 1, 3, 4, 2).copy()


def unblocked(x: np.ndarray, channels: int) -> np.ndarray:
    n, _, h, w, _ = x.shape
    return x.transpose(0, 1, 4, 2, 3).reshape(n, -1, h, w)[:, :channels]


def test_what_follows_a_product_is_done_within_the_limits() -> None:
    """Slopes and limits that are reached on both sides, of each of two convolutions in one."""
    x, w, b = uniform(2, 20, 6, 5), uniform(21, 20, 3, 2), uniform(21)
    one, two = uniform(20, 1, 3, 2), uniform(20)
    narrow = uniform(21, 20, 1, 1)
    plain = op("Convolution", kernel=(3, 2), num_filter=21, pad=(1, 0), stride=(2, 1)).compute(x, w, b)
    each = {"kernel": (3, 2), "num_filter": 20, "num_group": 20, "pad": (1, 0), "stride": (2, 1)}
    apart = op("Convolution", **each).compute(x, one, two)
    residual = uniform(*plain.shape)
    for slope, low, high in (
        (0.3, -0.5, 0.75),
        (None, -1.5, None),
        (None, None, 1.25),
        (-0.5, None, None),
        (None, 0, 6),
    ):
        ends = {"slope": slope, "low": low, "high": high}
        first = {f"first_{n}": v for n, v in ends.items()}
        wanted = finished(plain + residual, slope, low, high)
        attrs = {"kernel": (3, 2), "num_filter": 21, "pad": (1, 0), "stride": (2, 1), "channels": 20}
        for found in both(
            op("_fused_conv", **attrs, bias=True, residual=True, **ends), blocked(x), w, b, blocked(residual)
        ):
            np.testing.assert_allclose(unblocked(found, 21), wanted, atol=2e-4, err_msg=f"conv {ends}")
        middle = finished(apart, slope, low, high)
        for after in ({}, {"high": 0.5, "slope": 0.25, "low": -2}):
            wide = np.einsum("nchw,oc->nohw", middle, narrow[:, :, 0, 0]) + b[:, None, None]
            wanted = finished(wide, after.get("slope"), after.get("low"), after.get("high"))
            separable = op("_fused_separable", **attrs, bias=True, **first, **after)
            for found in both(separable, blocked(x), one, two, narrow, b):
                np.testing.assert_allclose(
                    unblocked(found, 21), wanted, atol=2e-4, err_msg=f"separable {first} {after}"
                )
        rows, weight, rest = uniform(3, 9), uniform(5, 9), uniform(3, 5)
        dense = op("_fused_dense", num_hidden=5, bias=True, residual=True, **ends)
        for found in both(dense, rows, weight, b[:5], rest):
            wanted = finished(rows @ weight.T + b[:5] + rest, slope, low, high)
            np.testing.assert_allclose(found, wanted, atol=1e-5, err_msg=f"dense {ends}")


class Drawn:
    """Random numbers that are known before: parts of the way from the lowest to the highest, in turn."""

    def __init__(self, *parts: float, order: tuple[int, ...] = ()):
        self.parts, self.order = list(parts), order

    def random(self) -> float:
        return self.parts.pop(0)

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.parts.pop(0)

    def normal(self, mean: float, deviation: float, count: int) -> np.ndarray:
        return np.array([mean + deviation * self.parts.pop(0) for _ in range(count)])

    def permutation(self, count: int) -> list[int]:
        assert sorted(self.order) == list(range(count))
        return list(self.order)


BLUE, GRAY = 0.114, np.array([0.299, 0.587, 0.114])


def varied(x: np.ndarray, kind: str, factor: float) -> np.ndarray:
    """Of an image in float64; hue by Python's own conversion."""
    gray = x.shape[2] == 1
    if kind == "brightness":
        return x * factor
    if kind == "contrast":
        return x * factor + (1 - factor) * (x if gray else x @ GRAY).mean()
    if gray:
        return x
    if kind == "saturation":
        return x * factor + x[:, :, 2:] * BLUE * (1 - factor)
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:2]):
        hue, light, saturation = colorsys.rgb_to_hls(*x[place] / 255)
        out[place] = np.array(colorsys.hls_to_rgb(hue + factor, light, saturation)) * 255
    return out


def test_images_are_varied_by_what_is_drawn() -> None:
    """Also gray ones and of uint8, which stops at its limits; each kind alone, and all in the order that is drawn."""

    def as_given(y: np.ndarray, dtype: np.dtype) -> np.ndarray:
        return np.trunc(y.clip(0, 255)) if dtype == np.uint8 else y

    color = RNG.uniform(0, 255, (3, 4, 3))
    color[0, 0], color[0, 1], color[1, 0] = 90, [200, 10, 10], [0, 255, 30]
    kinds = ("brightness", "contrast", "saturation", "hue")
    for image, dtype in itertools.product((color, color[:, :, 1:2]), (np.float32, np.uint8)):
        data = image.astype(dtype)
        wide = data.astype(np.float64)
        loose = 1.0 if dtype == np.uint8 else 2e-3  # a fraction that is cut off may be all but 1
        for kind in kinds:
            for part in (0.25, 1.0):
                one = op(f"_image_random_{kind}", min_factor=0.2, max_factor=1.6)
                found = one.compute(data, rng=Drawn(part))
                assert found.dtype == dtype
                wanted = as_given(varied(wide, kind, 0.2 + 1.4 * part), found.dtype)
                np.testing.assert_allclose(found, wanted, atol=loose, rtol=1e-5, err_msg=f"{kind} {dtype}")
        amounts = {"brightness": 0.3, "contrast": 0.5, "saturation": 0.7, "hue": 0.2}
        for order in ((2, 0, 3, 1), (3, 2, 1, 0)):
            found = op("_image_random_color_jitter", **amounts).compute(
                data, rng=Drawn(0.9, 0.1, 0.75, 0.3, order=order)
            )
            wanted = wide
            for place, part in zip(order, (0.9, 0.1, 0.75, 0.3)):
                kind = kinds[place]
                amount = (2 * part - 1) * amounts[kind]
                wanted = as_given(varied(wanted, kind, amount + (kind != "hue")), found.dtype)
            np.testing.assert_allclose(found, wanted, atol=4 * loose, rtol=1e-4, err_msg=f"jitter {order} {dtype}")
        some = op("_image_random_color_jitter", **amounts | {"brightness": 0, "saturation": 0})
        found = some.compute(data, rng=Drawn(1, 0, order=(1, 0)))
        wanted = as_given(varied(as_given(varied(wide, "hue", 0.2), found.dtype), "contrast", 0.5), found.dtype)
        np.testing.assert_allclose(found, wanted, atol=2 * loose, rtol=1e-4, err_msg=f"some {dtype}")
        alpha = np.array([0.2, -0.5, 0.9])
        # the principal components of ImageNet (Krizhevsky et al. 2012), as in MXNet's image_random-inl.h
        eigen = [[55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009], [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
                 [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203]]  # fmt: skip
        lit = wide if image.shape[2] == 1 else wide + np.array(eigen) @ alpha
        for found in (
            op("_image_adjust_lighting", alpha=tuple(alpha)).compute(data),
            op("_image_random_lighting", alpha_std=0.5).compute(data, rng=Drawn(*alpha / 0.5)),
        ):
            np.testing.assert_allclose(found, as_given(lit, found.dtype), atol=loose, err_msg=f"lighting {dtype}")
        for name, axis in (("left_right", 1), ("top_bottom", 0)):
            one = op(f"_image_random_flip_{name}")
            np.testing.assert_array_equal(one.compute(data, rng=Drawn(0.4999)), np.flip(data, axis))
            np.testing.assert_array_equal(one.compute(data, rng=Drawn(0.5)), data)


def test_slopes_of_rrelu_are_those_of_its_gradient() -> None:
    mx.random.seed(3)
    x = nd.array(uniform(3, 40))
    head = uniform(3, 40)
    x.attach_grad()
    with autograd.record():
        y = nd.LeakyReLU(x, act_type="rrelu", lower_bound=0.3, upper_bound=0.6)
        y = y[0] if isinstance(y, list | tuple) else y
    y.backward(nd.array(head))
    data = x.asnumpy()
    slopes = y.asnumpy() / data
    below = data < 0
    assert (
        (slopes[below] > 0.3 - 1e-6).all() and (slopes[below] < 0.6 + 1e-6).all() and len(np.unique(slopes[below])) > 9
    )
    np.testing.assert_allclose(x.grad.asnumpy(), np.where(below, slopes, 1) * head, rtol=1e-5)


def test_what_only_values_show_to_be_wrong_is_refused_when_it_runs() -> None:
    singular = np.float32([[2, 0], [1, 0]])
    for one, arrays, words in (
        (op("_linalg_trsm"), (singular, uniform(2, 3)), "zero on its diagonal"),
        (op("_linalg_trsm", rightside=True), (singular, uniform(3, 2)), "zero on its diagonal"),
        (op("_linalg_potrf"), (np.float32([[1, 2], [2, 1]]),), "a matrix that has none"),
        (op("_linalg_inverse"), (np.float32([[1, 2], [2, 4]]),), "a matrix that has none"),
        (op("take", mode="raise"), (uniform(3), np.float32([0, 3])), "positions 0 to 3 on an axis of size 3"),
        (op("take", mode="raise"), (uniform(3), np.float32([-1, 2])), "positions -1 to 2"),
        (op("gather_nd"), (uniform(3, 2), np.float32([[0, 3]])), "outside"),
        (op("_backward_gather_nd"), (uniform(2, 2), uniform(3, 2), np.float32([[0, 3]])), "outside"),
        (op("_backward_gather_nd"), (uniform(2, 2), uniform(3, 2), np.float32([[0, -4]])), "outside"),
        (op("scatter_nd", shape=(3,)), (uniform(2), np.float32([[0, -4]])), "coordinates -4 to 0 along an axis of 3"),
        (op("fill_element_0index"), (uniform(2, 3), uniform(2), np.float32([0, 3])), "positions 0 to 3"),
        (op("fill_element_0index"), (uniform(2, 3), uniform(2), np.float32([-4, 0])), "positions -4 to 0"),
        (op("_backward__contrib_boolean_mask"), (uniform(1, 2), uniform(3, 2), np.float32([1, 0, 1])), "1 rows, wanted 2"),
        (op("_backward__npi_pad", pad_width=((1, 0),), mode="maximum"), (uniform(3), uniform(2)), "has no gradient"),
    ):  # fmt: skip
        with pytest.raises(MXNetError, match=words):
            one.compute(*arrays)
    for one, words in (
        (op("_zeros", shape=(2, 0)), "readers decide"),
        (op("_arange", start=2, infer_range=True), "give stop"),
    ):
        assert not is_known(one.infer_shape())
        with pytest.raises(OpError, match=words):
            one.compute(one.infer_shape())
    np.testing.assert_array_equal(
        op("_arange", start=2, step=0.5, repeat=2, infer_range=True).compute((5,)), [2, 2, 2.5, 2.5, 3]
    )
    with pytest.raises(OpError, match="words or sequences"):
        op("Cast", dtype="float32").infer_type(np.dtype(object))
    with pytest.raises(OpError, match="words or sequences"):
        op("take").infer_type(np.dtype(np.float32), np.dtype(object))


def test_places_by_plain_loops() -> None:
    data = uniform(3, 4, 2)
    columns = np.float32([[0, -1, 2, 0], [1.9, -4, 3, 1]])
    for found in both(op("gather_nd"), data, columns):
        np.testing.assert_array_equal(found, [data[int(i), int(j)] for i, j in columns.T])
    nowhere = np.zeros((0, 2, 3), np.float32)
    for found in both(op("gather_nd"), data, nowhere):
        np.testing.assert_array_equal(found, np.broadcast_to(data, (2, 3, 3, 4, 2)))
    numbers = uniform(3, 2)
    wanted = np.zeros((4, 5, 2), np.float32)
    wanted[[1, -1, 1], [2, 0, 2]] = numbers  # the last at a place counts
    place = np.float32([[1, -1, 1], [2, 0, 2]])
    for found in both(op("scatter_nd", shape=(4, 5, 2)), numbers, place):
        np.testing.assert_array_equal(found, wanted)
    left = uniform(4, 5, 2)
    wanted = left.copy()
    wanted[[1, -1, 1], [2, 0, 2]] = numbers
    for found in both(op("_scatter_set_nd", shape=(4, 5, 2)), left, numbers, place):
        np.testing.assert_array_equal(found, wanted)
    rows = uniform(3, 4)
    for found in both(op("fill_element_0index"), rows, numbers[:, 0], np.float32([2, -1, 0])):
        wanted = rows.copy()
        for i, at in enumerate((2, -1, 0)):
            wanted[i, at] = numbers[i, 0]
        np.testing.assert_array_equal(found, wanted)
    for mode, at in (("clip", [[1, 0, 3], [2, 3, 0]]), ("wrap", [[1, 3, 1], [2, 3, 3]])):
        index = np.float32([[1, -1, 5], [2.7, 3, -5]])
        matrix = uniform(2, 3, 4)
        wanted = [[matrix[i, j, at[i][j]] for j in range(3)] for i in range(2)]
        for found in both(op("pick", mode=mode), matrix, index):
            np.testing.assert_array_equal(found, wanted)
        for found in both(op("pick", mode=mode, keepdims=True, axis=1), matrix.transpose(0, 2, 1).copy(), index):
            np.testing.assert_array_equal(found, np.array(wanted)[:, None])
    np.testing.assert_array_equal(op("pick", axis=0).infer_input_shapes([(2, 3, 4), None], [None])[1], (3, 4))


def test_pieces_lose_the_axis_that_they_are_cut_along() -> None:
    data = uniform(2, 3, 4)
    for one, axis, turned in (
        (op("_split_v2", indices=(), sections=3, axis=-2, squeeze_axis=True), 1, data),
        (op("SliceChannel", num_outputs=4, axis=2, squeeze_axis=True), 2, data),
        (op("SliceChannel", num_outputs=4, axis=-1, squeeze_axis=True), 2, data[:1]),
        (op("_split_v2", indices=(0, 1, 2), squeeze_axis=True), 1, data[:, :, 1:2]),
        (op("_npi_hsplit", indices=(0, 1, 2), squeeze_axis=True), 1, data),
        (op("_npi_dsplit", indices=(), sections=4, squeeze_axis=True), 2, data),
        (op("_split_v2", indices=(0, 1), axis=0, squeeze_axis=True), 0, data),
    ):
        found = one.compute(turned)
        assert one.infer_shape(turned.shape) == [f.shape for f in found] and len(found) == turned.shape[axis]
        for index, part in enumerate(found):
            np.testing.assert_array_equal(part, turned.take(index, axis))


def test_mixed_precision_casts_short_floats_alone() -> None:
    half, brain, single, double, whole = (
        np.dtype(d) for d in ("float16", ml_dtypes.bfloat16, "float32", "float64", "int32")
    )
    for dtype, wanted in ((half, single), (brain, single), (single, single), (double, double), (whole, whole)):
        one = op("amp_cast", dtype="float32")
        assert one.infer_type(dtype) == wanted and one.compute(np.array([1, 2]).astype(dtype)).dtype == wanted
    for narrow, given, wanted in (
        (False, (half, single, double, whole), [single, single, double, whole]),
        (True, (single, half, double, whole), [half, half, double, whole]),
        (False, (whole, double), [whole, double]),
        (False, (double, half), [double, double]),
        (False, (double, half, single), [double, single, single]),
        (True, (double, half, single), [double, half, half]),
        (False, (half, double), [half, double]),
    ):
        one = op("amp_multicast", num_outputs=len(given), cast_narrow=narrow)
        arrays = [np.array([1, 2.5]).astype(d) for d in given]
        assert one.infer_type(*given) == wanted and [y.dtype for y in one.compute(*arrays)] == wanted
        for x, y in zip(arrays, one.compute(*arrays)):
            np.testing.assert_array_equal(x, y)
            assert not np.shares_memory(x, y)
    # no float32 says what they become: MXNet 1.9.1 without oneDNN makes them 2, as the first array is
    one = op("amp_multicast", num_outputs=2)
    assert [y.tolist() for y in one.compute(np.int32([7]), np.float16([2.75]))] == [[7], [2.75]]
    assert one.infer_type(whole, half) == [whole, half]
    wide = op("_backward_widen_like")
    assert wide.infer_type(half, single) == single and wide.infer_type(double, half) == double
    np.testing.assert_array_equal(wide.compute(np.float64([1.1]), np.float16([3])), np.float64([1.1]))
    for name in ("all_finite", "multi_all_finite"):
        more = {"num_arrays": 1} if name[0] == "m" else {}
        for values, finite in (([1, 2], 1), ([1, np.inf], 0), ([np.nan, 2], 0), ([], 1)):
            found = op(name, **more).compute(np.float16(values))
            assert found.dtype == np.float32 and found.tolist() == [finite]
    assert op("multi_all_finite", num_arrays=2).compute(uniform(2), np.float32([1, -np.inf])).tolist() == [0]


def test_decimals_left_of_the_point_cut_integers_off() -> None:
    data = np.array([-176, -25, -4, 0, 5, 25, 99, 176])
    for decimals, step in ((-1, 10), (-2, 100)):
        for dtype in ("int32", "int64", "int8"):
            x = data.clip(-128, 127).astype(dtype)
            for found in both(op("_npi_around", decimals=decimals), x):
                np.testing.assert_array_equal(found, np.trunc(x.astype(float) / step) * step, f"{decimals} {dtype}")
        for found in both(op("_npi_around", decimals=decimals), data.astype(np.float32)):
            np.testing.assert_array_equal(found, np.rint(data / step) * step)
    for dtype in ("int8", "uint8", "int32", "int64"):
        limits = np.iinfo(dtype)
        x = np.array([limits.min, limits.max, 123, limits.max - 101], dtype)
        for decimals in (
            -1,
            -2,
            -3,
            -9,
            -10,
            -18,
            -19,
            -30,
        ):  # int8 holds 100 and not 1000, int64 10**18 and not 10**19
            step = 10**-decimals
            wanted = [abs(n) // step * step * (1 if n > 0 else -1) for n in map(int, x)]
            one = op("_npi_around", decimals=decimals)
            node = Node(one, "node", [Entry(Node(None, "x"))], one.dump())
            exported = run_onnx(to_onnx(Graph([Entry(node)]), {}, {"x": x}), {"x": x})
            for found in (*both(one, x), *exported):
                assert (found.dtype, found.tolist()) == (np.dtype(dtype), wanted), (dtype, decimals)
    for found in both(op("_npi_around", decimals=2), np.array([3, -7])):
        np.testing.assert_array_equal(found, [3, -7])


def test_what_is_repeated_no_times_gets_no_gradient() -> None:
    empty, data = np.zeros(0, np.float32), uniform(2, 3)
    for axis in (None, 1):
        assert op("repeat", repeats=0, axis=axis).compute(data).shape == (0,)
        np.testing.assert_array_equal(
            op("_backward_repeat", repeats=0, axis=axis).compute(empty, data), np.zeros((2, 3))
        )
    np.testing.assert_array_equal(
        op("_backward_repeat", repeats=2).compute(empty, np.zeros((0, 3), np.float32)), np.zeros((0, 3))
    )
    shaped = op("_backward_tile", reps=(0, 2)).compute(np.zeros((0, 6), np.float32), data)
    np.testing.assert_array_equal(shaped, np.zeros((2, 3)))


def halves_away(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


LOG_GAMMA = np.vectorize(math.lgamma)
ONE = {
    "abs": np.abs, "negative": np.negative, "reciprocal": lambda x: 1 / x, "square": lambda x: x * x, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "log2": np.log2, "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan, "arcsin": np.arcsin, "arccos": np.arccos,
    "arctan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh, "arccosh": np.arccosh,
    "arctanh": np.arctanh, "erf": np.vectorize(math.erf), "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)), "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "rint": lambda x: np.ceil(x - 0.5), "round": halves_away,
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / 2**0.5)), "softplus": lambda x: np.logaddexp(0, x),
    "signum": np.sign, "not": lambda x: x == 0, "around": np.rint, "invert": lambda x: -x - 1,
}  # fmt: skip
TWO = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "mod": lambda a, b: a - b * np.floor(a / b),
    "pow": np.power, "hypot": lambda a, b: np.sqrt(a * a + b * b), "arctan2": np.arctan2, "max": np.maximum, "min": np.minimum,
    "copysign": lambda a, b: np.where((a < 0) == (b < 0), a, -a), "eq": np.equal, "ne": np.not_equal, "gt": np.greater,
    "ge": np.greater_equal, "lt": np.less, "le": np.less_equal, "and": lambda a, b: (a != 0) & (b != 0),
    "or": lambda a, b: (a != 0) | (b != 0), "xor": lambda a, b: (a != 0) ^ (b != 0),
    "leaky": lambda a, b: np.where(a < 0, a * b, a), "ldexp": lambda a, b: a * 2.0**b, "fmod": np.fmod,
    "bitand": lambda a, b: a.astype(int) & b.astype(int), "bitor": lambda a, b: a.astype(int) | b.astype(int),
    "bitxor": lambda a, b: a.astype(int) ^ b.astype(int), "shl": lambda a, b: np.where(b < 0, 0, a * 2**b),
    "shr": lambda a, b: np.where(b < 0, -1.0 * (a < 0), np.floor(a / 2**b)),
}  # fmt: skip
WHOLE = {
    "div": lambda a, b: np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b))),
    "mod": lambda a, b: np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b))),
    "fmod": lambda a, b: np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b))),
}
"""Functions of whole numbers that go other ways than those of floats."""
STEP = 1e-3
POSITIVE = {
    "erfinv": lambda x: np.vectorize(lambda v: NormalDist().inv_cdf((1 + v) / 2) / 2**0.5)(x), "gamma": np.vectorize(math.gamma),
    "gammaln": LOG_GAMMA, "digamma": lambda x: (LOG_GAMMA(x + STEP) - LOG_GAMMA(x - STEP)) / (2 * STEP),
    "trigamma": lambda x: (LOG_GAMMA(x + STEP) - 2 * LOG_GAMMA(x) + LOG_GAMMA(x - STEP)) / STEP**2,
}  # fmt: skip
"""Functions of positive numbers, to five digits."""
X = np.array([-2.75, -1.5, -0.5, 0, 0.25, 0.5, 1, 1.5, 2.5, 7, np.nan])
Y = np.array([1.5, -1.5, 0.75, 0.25, -0.5, 0.5, -2, 1.25, 2.5, 3, 1])


def test_every_word_of_a_chain_means_what_it_says() -> None:
    """By NumPy and compiled; the first of two is what was pushed first; of integers where they are exact."""
    assert {*ONE, *TWO, *POSITIVE, "where"} == set(OPCODES) and set(OPCODES) >= EXACT > WHOLE_ONLY
    for dtype in (np.float32, np.float64, np.int32):
        x, y = (np.nan_to_num(v).astype(dtype) if dtype == np.int32 else v.astype(dtype) for v in (X, Y))
        given = [(word, [x], rule) for word, rule in ONE.items()]
        given += [(word, [x, y], rule) for word, rule in TWO.items()]
        given.append(("where", [y.round(), x, x[::-1].copy()], lambda c, a, b: np.where(c != 0, a, b)))
        for word, rule in POSITIVE.items():
            some = np.array([0.5, 0.75, 0.875] if word == "erfinv" else [0.75, 1, 1.5, 2.5, 7, 20.25]).astype(dtype)
            given.append((word, [some], rule))
        for word, arrays, rule in given:
            if word not in EXACT if dtype == np.int32 else word in WHOLE_ONLY:
                continue
            rule = WHOLE.get(word, rule) if dtype == np.int32 else rule
            with np.errstate(all="ignore"):
                wanted = rule(*(a.astype(np.float64) for a in arrays)).astype(dtype)
            code = " ".join([*(f"${i}" for i in range(len(arrays))), word])
            for found in both(op("_fused_chain", num_args=len(arrays), code=code), *arrays):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=f"{code} of {np.dtype(dtype)}")
    for found in both(
        op("_fused_chain", num_args=2, code="$1 2 sub $0 -0.5 mul $1 max div"), *(v.astype(np.float32) for v in (X, Y))
    ):
        np.testing.assert_allclose(found, ((Y - 2) / np.maximum(X * -0.5, Y)).astype(np.float32), rtol=1e-6)


def test_batch_normalization_folded_into_other_weights() -> None:
    for dtype, fixed, groups in itertools.product((np.float32, np.float16), (False, True), (1, 2)):
        gamma, beta, mean, bias = (uniform(6).astype(dtype) for _ in range(4))
        var = uniform(6, low=0.1, high=2).astype(dtype)
        wide = [v.astype(np.float64) for v in (gamma, beta, mean, var, bias)]
        scale = (1 if fixed else wide[0]) / np.sqrt(wide[3] + 0.01)
        attrs = {"eps": 0.01, "fix_gamma": fixed}
        close = {"rtol": 2 * float(np.finfo(dtype).eps), "atol": 4 * float(np.finfo(dtype).eps)}
        for axis in (0, 1, 3):
            shape = [6 if a == axis else 1 for a in range(4)]
            one = op("_fused_affine", rank=4, axis=axis, **attrs)
            for found, wanted in zip(one.compute(gamma, beta, mean, var), (scale, wide[1] - wide[2] * scale)):
                assert found.dtype == dtype
                np.testing.assert_allclose(found, wanted.reshape(shape), **close)
            assert one.infer_shape((6,), (6,), (6,), (6,))[0] == tuple(shape)
        for transposed, biased in itertools.product((False, True), repeat=2):
            weight = uniform(*((4, 6 // groups, 2, 3) if transposed else (6, 4, 2, 3))).astype(dtype)
            one = op("_fused_folded", **attrs, transposed=transposed, num_group=groups, bias=biased)
            found = one.compute(weight, gamma, beta, mean, var, *([bias] if biased else []))
            wanted = weight.astype(np.float64).copy()
            for channel in range(6):
                if transposed:  # the filters of a group lie behind its channels
                    group, which = divmod(channel, 6 // groups)
                    wanted[group * 4 // groups : (group + 1) * 4 // groups, which] *= scale[channel]
                else:
                    wanted[channel] *= scale[channel]
            np.testing.assert_allclose(found[0], wanted, **close)
            np.testing.assert_allclose(
                found[1], wide[1] - wide[2] * scale + (wide[4] * scale if biased else 0), **close
            )
            only = op("_fused_scaled", transposed=transposed, num_group=groups).compute(weight, scale.astype(dtype))
            np.testing.assert_allclose(only, wanted, rtol=4 * close["rtol"])


def test_floats_become_integers_as_c_casts_them() -> None:
    """Beside one that is out of bounds, too: at the ends of int32, and of what goes by way of int64 (x86)."""
    data, least = np.float64([-2147483647, 2147483647, 3e9, np.nan, -5.9, -np.inf]), -(2**31)
    for dtype, wanted in (
        ("int32", [1 + least, 2147483647, least, least, -5, least]),
        ("int8", [1, -1, 0, 0, -5, 0]),
        ("uint8", [1, 255, 0, 0, 251, 0]),
        ("uint32", [2147483649, 2147483647, 3000000000, 0, 2**32 - 5, 0]),
        ("int64", [1 + least, 2147483647, 3000000000, -(2**63), -5, -(2**63)]),
    ):
        np.testing.assert_array_equal(op("Cast", dtype=dtype).compute(data), np.array(wanted, dtype), dtype)
