"""Resize as its formulas say, written down in loops: every way of finding places, every kernel, to every number of elements."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hybrid.core.op import lookup

WAYS = (
    *("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"),
    *("tf_half_pixel_for_nn", "tf_crop_and_resize"),
)
ROI = (0.25, 0.875)
A = -0.625


def place(way: str, i: int, old: int, new: int, scale: float) -> float:
    """Place of element i of the result among the old ones."""
    if way == "align_corners":
        return i * (old - 1) / (new - 1) if new > 1 else 0
    if way == "asymmetric":
        return i / scale
    if way == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    if way == "tf_crop_and_resize":
        start, end = ROI
        if new == 1:
            return 0.5 * (start + end) * (old - 1)
        return start * (old - 1) + i * (end - start) * (old - 1) / (new - 1)
    if way == "pytorch_half_pixel" and new == 1:
        return 0
    offset = old / 2 * (1 - new / (scale * old)) if way == "half_pixel_symmetric" else 0
    return offset + (i + 0.5) / scale - 0.5


def keys(t: float) -> float:
    t = abs(t)
    if t <= 1:
        return (A + 2) * t**3 - (A + 3) * t**2 + 1
    return A * t**3 - 5 * A * t**2 + 8 * A * t - 4 * A if t < 2 else 0


def weights(at: float, old: int, scale: float, mode: str, antialias: bool, exclude: bool) -> np.ndarray:
    """Contributions of the old elements to a new one that lies there."""
    stretch = min(scale, 1) if antialias else 1
    kernel = keys if mode == "cubic" else lambda t: max(0, 1 - abs(t))
    reach = math.ceil((2 if mode == "cubic" else 1) / stretch)
    found, whole = np.zeros(old), 0.0
    for p in range(math.floor(at) - reach, math.floor(at) + reach + 2):
        share = kernel((p - at) * stretch)
        if exclude and not 0 <= p < old:
            continue
        found[min(max(p, 0), old - 1)] += share
        whole += share
    return found / whole if exclude or stretch < 1 else found


ROUNDED = {
    "round_prefer_floor": lambda at: math.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: math.floor(at + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}


def applied(x: np.ndarray, new: int, scale: float | None, **attrs: Any) -> tuple[np.ndarray, np.ndarray]:
    """x resized along its middle axis, by a size or a scale, and the gradient of x for 1, 2, 3, ..."""
    cropped = attrs["coordinate_transformation_mode"] == "tf_crop_and_resize"
    given = ("roi",) * cropped + (("sizes",) if scale is None else ("scales",))
    how = np.array([new]) if scale is None else np.array([scale], np.float32)
    inputs = x, *[np.array(ROI, np.float32)] * cropped, how
    attrs |= {"axes": (1,), "cubic_coeff_a": A, "given": given}
    y = lookup("_onnx_Resize").bind(**attrs).compute(*inputs)
    head = 1 + np.arange(y.size, dtype=y.dtype).reshape(y.shape)
    return y, lookup("_backward__onnx_Resize").bind(**attrs, of=0).compute(head, *inputs)


def test_resized_by_linear_and_cubic_kernels() -> None:
    """And the gradient, which is the transpose."""
    x, wrong = np.random.default_rng(5).uniform(-1, 1, (2, 7, 3)), []
    for way, mode, antialias, exclude in itertools.product(WAYS, ("linear", "cubic"), (False, True), (False, True)):
        for new, scale in (*((n, None) for n in (1, 2, 3, 4, 5, 6, 8, 15)), (3, 0.5), (12, 1.75), (2, 0.375)):
            if scale is not None and way == "tf_crop_and_resize" and antialias:
                continue
            attrs = {"coordinate_transformation_mode": way, "mode": mode, "antialias": antialias}
            y, dx = applied(x, new, scale, **attrs, exclude_outside=exclude)
            factor = new / 7 if scale is None else scale
            rows = [weights(place(way, i, 7, new, factor), 7, factor, mode, antialias, exclude) for i in range(new)]
            matrix = np.array(rows)
            head = 1 + np.arange(2 * new * 3.0).reshape(2, new, 3)
            near = 2e-5 if way == "tf_crop_and_resize" else 1e-11  # its places are in single precision, as elsewhere
            size = float(np.abs(head).max())
            for what, got, want, most in (
                ("result", y, np.einsum("ij,njk->nik", matrix, x), near),
                ("gradient", dx, np.einsum("ij,nik->njk", matrix, head), near * size),
            ):
                if got.shape != want.shape or not np.abs(got - want).max() <= most:
                    wrong.append(f"{what} {way} {mode} to {new} by {scale} {antialias=} {exclude=}")
    assert not wrong, "\n".join(wrong)


def test_resized_by_the_nearest_element() -> None:
    x, wrong = np.random.default_rng(6).permutation(42).reshape(2, 7, 3).astype(np.float64), []
    for way, (name, rounded) in itertools.product(WAYS, ROUNDED.items()):
        for new, scale in (*((n, None) for n in (1, 2, 3, 5, 8, 14)), (3, 0.5), (12, 1.75), (28, 4.0)):
            y, dx = applied(x, new, scale, coordinate_transformation_mode=way, nearest_mode=name)
            places = [place(way, i, 7, new, new / 7 if scale is None else scale) for i in range(new)]
            exact = (
                scale in (0.5, 4) and way != "half_pixel_symmetric"
            )  # by which halves and whole places are met, elsewhere by chance
            sure = [exact or abs(p * 2 - round(p * 2)) > 1e-4 for p in places]
            chosen = np.array([min(max(rounded(p), 0), 6) for p in places])
            if y.shape != (2, new, 3) or not np.array_equal(y[:, sure], x[:, chosen[sure]]):
                wrong.append(f"{way} {name} to {new} by {scale}: {y[0, :, 0]}, wanted {x[0, chosen, 0]}")
            elif all(sure):
                want = np.zeros(x.shape)
                np.add.at(want, (slice(None), chosen), 1 + np.arange(y.size).reshape(y.shape))
                if not np.array_equal(dx, want):
                    wrong.append(f"gradient {way} {name} to {new} by {scale}")
    assert not wrong, "\n".join(wrong)
