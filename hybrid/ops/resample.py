"""Images of another size, pixel for pixel as OpenCV 3.4 resizes them, which is what MXNet's image operators call.

Every method is separable: a new row (column) is a weighted sum of a few old ones. uint8 images are computed in whole
numbers of 1/2048 by the linear, cubic and Lanczos methods; floats, and uint8 by area, in float32. Cubic can be 1 off:
OpenCV's last rounding there depends on the place in the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

NEAREST, LINEAR, CUBIC, AREA, LANCZOS, LINEAR_EXACT = range(6)
METHODS = ("nearest", "linear", "cubic", "area", "Lanczos over 8x8", "linear, exact")
DTYPES = ("uint8", "float32", "float64", "int16", "uint16")
COEFFICIENT_BITS = 11


def resize(image: np.ndarray, width: int, height: int, method: int = LINEAR) -> np.ndarray:
    """The image (height, width, ...) in another size.

    method: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 5 linear with exact rounding.
    Raises ValueError for another method, dtype, or a size of 0."""
    if method not in range(len(METHODS)):
        raise ValueError(
            f"interpolation method {method}; wanted one of " + ", ".join(f"{i} {m}" for i, m in enumerate(METHODS))
        )
    if image.dtype.name not in DTYPES:
        raise ValueError(f"images of {image.dtype} cannot be resized; wanted {', '.join(DTYPES)}")
    old = image.shape[:2]
    if min(*old, width, height) < 1:
        raise ValueError(f"an image of {old[1]}x{old[0]} cannot become {width}x{height}: a size is 0")
    new = (height, width)
    if old == new:
        return image.copy()
    method = chosen(old, new, method)
    if method == NEAREST:
        rows, columns = (nearest(n, o) for n, o in zip(new, old))
        return image[rows[:, None], columns]
    if method == AREA and shrinks(old, new):
        return _area(image, new)
    taps = taps_of(old, new, method)
    if method == LINEAR_EXACT:
        return _exact(image, taps) if image.dtype == np.uint8 else _floats(image, taps)
    return _resize_fixed_point(image, taps, method) if image.dtype == np.uint8 else _floats(image, taps)


def chosen(old: tuple[int, int], new: tuple[int, int], method: int) -> int:
    """The method that OpenCV takes when asked for one: an image of half the size is resized by area, not linearly."""
    return AREA if method == LINEAR and all(o == 2 * n for n, o in zip(new, old)) else method


def shrinks(old: tuple[int, int], new: tuple[int, int]) -> bool:
    """True when resizing by area makes means of old pixels."""
    return all(o >= n for n, o in zip(new, old))


Taps = tuple[np.ndarray, np.ndarray]
"""For every new place: which old ones it is made of, and their weights (float32), both (new, taps)."""


def taps_of(old: tuple[int, int], new: tuple[int, int], method: int) -> list[Taps]:
    """Of rows and of columns; for methods but nearest, and area that shrinks."""
    taps = [_TAPS[method](n, o) for n, o in zip(new, old)]
    if method == LINEAR:
        taps[0] = _rows(*_places(new[0], old[0]), old[0])
    return taps


def matrices(old: tuple[int, int], new: tuple[int, int], method: int) -> list[np.ndarray]:
    """Matrices R and C that resize floats as R @ image @ C.T, float32, (new, old) each."""
    if method == AREA and shrinks(old, new):
        return [_cover(n, o) for n, o in zip(new, old)]
    out = []
    for n, o in zip(new, old):
        places, weights = _TAPS[method](n, o)
        matrix = np.zeros((n, o), np.float32)
        np.add.at(matrix, (np.arange(n)[:, None], places), weights)
        out.append(matrix)
    return out


def nearest(new: int, old: int) -> np.ndarray:
    """Old pixel that each new one is, along one axis."""
    return np.minimum((np.arange(new) * (1 / (new / old))).astype(np.int64), old - 1)


def _places(new: int, old: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of new pixels among the old: the pixel before, and the distance behind it."""
    scale = 1 / (new / old)
    position = ((np.arange(new) + 0.5) * scale - 0.5).astype(np.float32)
    before = np.floor(position)
    return before.astype(np.int64), position - before


def _linear(new: int, old: int) -> Taps:
    before, after = _places(new, old)
    return _pair(before, after, old)


def _pair(before: np.ndarray, after: np.ndarray, old: int) -> Taps:
    """Two neighbours each, the outermost pixel beyond the border."""
    after = np.where((before < 0) | (before >= old - 1), np.float32(0), after)
    before = before.clip(0, old - 1)
    return np.stack([before, np.minimum(before + 1, old - 1)], 1), np.stack([1 - after, after], 1).astype(np.float32)


def _rows(before: np.ndarray, after: np.ndarray, old: int) -> Taps:
    """As _pair for rows: beyond the border the outermost row twice, which in whole numbers is not the same as once."""
    return np.stack([before, before + 1], 1).clip(0, old - 1), np.stack([1 - after, after], 1).astype(np.float32)


def _area_taps(new: int, old: int) -> Taps:
    """By area where the image grows: an old pixel is spread, with a short ramp to the next."""
    inverse = new / old
    scale = 1 / inverse
    places = np.arange(new)
    before = np.floor(places * scale).astype(np.int64)
    after = ((places + 1) - (before + 1) * inverse).astype(np.float32)
    after = np.where(after <= 0, np.float32(0), after - np.floor(after))
    return _pair(before, after, old)


def _cubic(new: int, old: int) -> Taps:
    before, x = _places(new, old)
    a = np.float32(-0.75)
    one = np.float32(1)
    w = np.empty((new, 4), np.float32)
    w[:, 0] = ((a * (x + one) - 5 * a) * (x + one) + 8 * a) * (x + one) - 4 * a
    w[:, 1] = ((a + 2) * x - (a + 3)) * x * x + 1
    w[:, 2] = ((a + 2) * (one - x) - (a + 3)) * (one - x) * (one - x) + 1
    w[:, 3] = one - w[:, 0] - w[:, 1] - w[:, 2]
    return (before[:, None] + np.arange(-1, 3)).clip(0, old - 1), w


def _lanczos(new: int, old: int) -> Taps:
    """Weights sinc(t) sinc(t/4) for the 4 pixels to either side, made to sum to 1."""
    before, x = _places(new, old)
    distance = x[:, None].astype(np.float64) + 3 - np.arange(8)
    w = np.sinc(distance) * np.sinc(distance / 4)
    w = (w / w.sum(axis=1, keepdims=True)).astype(np.float32)
    return (before[:, None] + np.arange(-3, 5)).clip(0, old - 1), w


_TAPS: dict[int, Callable[[int, int], Taps]] = {
    LINEAR: _linear,
    CUBIC: _cubic,
    AREA: _area_taps,
    LANCZOS: _lanczos,
    LINEAR_EXACT: _linear,
}


def _sum(image: np.ndarray, axis: int, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums of rows (axis 0) or columns (axis 1)."""
    if axis == 1:  # the channels as columns of their own: NumPy is slow where the last axis is short
        channels = math.prod(image.shape[2:])
        shape = (len(image), len(places), *image.shape[2:])
        places = (places[:, None] * channels + np.arange(channels)[:, None]).reshape(-1, places.shape[1])
        weights = np.repeat(weights, channels, axis=0)
        flat = image.reshape(len(image), image.shape[1] * channels)
        return _weighted(flat, 1, places, weights).reshape(shape)
    return _weighted(image, 0, places, weights)


def _weighted(image: np.ndarray, axis: int, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums along an axis."""
    shape = [1] * image.ndim
    shape[axis] = -1
    total = np.take(image, places[:, 0], axis=axis) * weights[:, 0].reshape(shape)
    for tap in range(1, places.shape[1]):
        part = np.take(image, places[:, tap], axis=axis)
        part *= weights[:, tap].reshape(shape)
        total += part
    return total


def _resize_fixed_point(image: np.ndarray, taps: list[Taps], method: int) -> np.ndarray:
    """uint8, in whole numbers."""
    one = np.float32(1 << COEFFICIENT_BITS)
    (rows, row_weights), (columns, column_weights) = (
        (p, np.rint(w * one).clip(-32768, 32767).astype(np.int32)) for p, w in taps
    )
    across = _sum(image.astype(np.int32), 1, columns, column_weights)
    if method in (LINEAR, AREA):  # OpenCV cuts this one short to fit 16-bit products
        high = across >> 4
        shape = (-1,) + (1,) * (image.ndim - 1)
        total = sum(
            (np.take(high, rows[:, t], axis=0) * row_weights[:, t].reshape(shape)) >> 16 for t in range(rows.shape[1])
        )
        return np.clip((total + 2) >> 2, 0, 255).astype(np.uint8)
    total = _sum(across, 0, rows, row_weights)
    shift = 2 * COEFFICIENT_BITS
    return np.clip((total + (1 << shift - 1)) >> shift, 0, 255).astype(np.uint8)


def _exact(image: np.ndarray, taps: list[Taps]) -> np.ndarray:
    """uint8, with weights in 1/256 and one rounding."""
    (rows, row_weights), (columns, column_weights) = ((p, np.rint(w * 256).astype(np.int64)) for p, w in taps)
    total = _sum(_sum(image.astype(np.int64), 1, columns, column_weights), 0, rows, row_weights)
    return ((total + (1 << 15)) >> 16).clip(0, 255).astype(np.uint8)


def _floats(image: np.ndarray, taps: list[Taps]) -> np.ndarray:
    """Floats; integers of 16 bits are rounded at the end."""
    work = np.float64 if image.dtype == np.float64 else np.float32
    (rows, row_weights), (columns, column_weights) = taps
    total = _sum(_sum(image.astype(work), 1, columns, column_weights), 0, rows, row_weights)
    return _round(total, image.dtype)


def _round(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "f":
        return values.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    return np.rint(values).clip(limits.min, limits.max).astype(dtype)


def _area(image: np.ndarray, new: tuple[int, int]) -> np.ndarray:
    """The mean of the old pixels that a new one covers, in part or whole."""
    height, width = image.shape[:2]
    if height % new[0] == 0 and width % new[1] == 0:
        down, right = height // new[0], width // new[1]
        blocks = image.reshape(new[0], down, new[1], right, *image.shape[2:])
        if image.dtype == np.uint8:
            total = blocks.sum(axis=(1, 3), dtype=np.int64)
            if (down, right) == (2, 2):
                return ((total + 2) >> 2).astype(np.uint8)
            return _round(total.astype(np.float32) * np.float32(1 / (down * right)), image.dtype)
        work = np.float64 if image.dtype == np.float64 else np.float32
        total = blocks.sum(axis=(1, 3), dtype=work) * work(np.float32(1 / (down * right)))
        return _round(total, image.dtype)
    return _floats(image, [covered_pixels(n, o) for n, o in zip(new, image.shape[:2])])


def covered_pixels(new: int, old: int) -> Taps:
    """The old pixels that a new one covers, along one axis."""
    cover = _cover(new, old)
    count = int((cover > 0).sum(1).max())
    places = (cover > 0).argmax(1)[:, None] + np.arange(count)
    inside = places < old
    places = places.clip(max=old - 1)
    return places, np.where(inside, np.take_along_axis(cover, places, 1), np.float32(0))


def _cover(new: int, old: int) -> np.ndarray:
    """Share that each old pixel has in a new one, (new, old)."""
    scale = old / new
    start = np.arange(new)[:, None] * scale
    stop = start + scale
    places = np.arange(old)
    covered = (np.minimum(stop, places + 1) - np.maximum(start, places)).clip(0)
    covered[covered < 1e-3] = 0  # as OpenCV leaves slivers out
    return (covered / np.minimum(scale, old - start)).astype(np.float32)


def pad(
    image: np.ndarray, top: int, bottom: int, left: int, right: int, kind: int = 0, values: object = 0
) -> np.ndarray:
    """The image with a border. kind: 0 of ``values`` (one, or one a channel), 1 the outermost pixels repeated, 2 mirrored with
    the outermost pixels, 3 wrapped round, 4 mirrored without them. Raises ValueError for another kind."""
    modes: dict[int, Any] = {0: "constant", 1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}
    if kind not in modes:
        raise ValueError(f"border type {kind}; wanted 0 constant, 1 edge, 2 symmetric, 3 wrap or 4 reflect")
    widths = [(top, bottom), (left, right), *[(0, 0)] * (image.ndim - 2)]
    if kind:
        return np.pad(image, widths, mode=modes[kind])
    height, width = image.shape[:2]
    out = np.empty((top + height + bottom, left + width + right, *image.shape[2:]), image.dtype)
    filling = np.asarray(values)
    if image.dtype.kind in "iu":  # the nearest that there is, as OpenCV has it
        least, most = np.iinfo(image.dtype).min, np.iinfo(image.dtype).max
        filling = np.rint(filling).clip(least, most)
    out[...] = filling.astype(image.dtype)
    out[top : top + height, left : left + width] = image
    return out
