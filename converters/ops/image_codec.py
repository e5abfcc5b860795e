"""The operators inside mx.image's functions."""

import numpy as np

from hybrid.ops.resample import (
    AREA,
    COEFFICIENT_BITS,
    LINEAR,
    LINEAR_EXACT,
    NEAREST,
    chosen,
    covered_pixels,
    matrices,
    nearest,
    shrinks,
    taps_of,
)

from ..error import Unsupported
from ..registry import exports, not_exported


@exports("_cvimresize")
def export_cvimresize(b, op, src):
    old, new = (src.dim(0), src.dim(1)), (op.h, op.w)
    method = chosen(old, new, op.method(*old))
    if method == NEAREST:
        rows, columns = (nearest(n, o) for n, o in zip(new, old))
        return b.Gather(b.Gather(src, rows, axis=0), columns, axis=1)
    planes = b.transpose(src, [2, 0, 1])
    if src.dtype.kind == "f":
        rows, columns = matrices(old, new, method)
        y = b.MatMul(b.MatMul(b.like(rows, src), planes), b.like(columns.T, src))
    else:
        y = resize_integers(b, planes, old, new, method)
    return b.transpose(y, [1, 2, 0])


def resize_integers(b, planes, old, new, method):
    """Planes (..., H, W) of whole numbers in another size, rounded where OpenCV rounds: uint8 with weights in 1/2048, in steps that
    are exact; by area, and with 16 bits, in float32, added in OpenCV's order."""
    dtype = planes.dtype
    if old == new:
        return b.Identity(planes)
    if method == AREA and shrinks(old, new):
        factors = [o // n for n, o in zip(new, old)]
        if any(o % n for n, o in zip(new, old)):
            return _in_turn(b, planes, [covered_pixels(n, o) for n, o in zip(new, old)])
        if dtype != np.uint8 and factors[0] * factors[1] > 256:
            raise Unsupported(
                f"means of {factors[0] * factors[1]} {dtype} pixels, which OpenCV rounds as it adds; cast them"
            )
        rows, columns = (np.kron(np.eye(n), np.ones(f)) for n, f in zip(new, factors))
        total = b.MatMul(b.MatMul(rows, b.cast(planes, np.float64)), columns.T)
        if factors == [2, 2] and dtype == np.uint8:
            return b.cast(b.Floor(b.Div(b.Add(total, 2), 4)), dtype)
        return _round(b, b.Mul(b.cast(total, np.float32), np.float32(1 / (factors[0] * factors[1]))), dtype)
    taps = taps_of(old, new, method)
    if dtype != np.uint8:
        return _in_turn(b, planes, taps)
    scale = 256 if method == LINEAR_EXACT else 1 << COEFFICIENT_BITS
    (rows, down), (columns, across) = ((p, np.rint(w * np.float32(scale)).astype(np.float64)) for p, w in taps)
    wide = b.MatMul(b.cast(planes, np.float64), _matrix(columns, across, old[1]).T)
    if method in (LINEAR, AREA):
        high, total = b.Floor(b.Div(wide, 16)), None
        for places, weights in zip(rows.T, down.T):
            part = b.Mul(b.Gather(high, places, axis=-2), weights[:, None])
            part = b.Floor(b.Div(part, 1 << 16))
            total = part if total is None else b.Add(total, part)
        y = b.Floor(b.Div(b.Add(total, 2), 4))
    else:
        one = scale**2
        y = b.Floor(b.Div(b.Add(b.MatMul(_matrix(rows, down, old[0]), wide), one // 2), one))
    return b.cast(b.Clip(y, 0, 255), dtype)


def _in_turn(b, planes, taps):
    """Sums in float32, tap by tap: columns, then rows."""
    y = b.cast(planes, np.float32)
    for axis, (places, weights) in ((-1, taps[1]), (-2, taps[0])):
        total = None
        for place, weight in zip(places.T, weights.T):
            part = b.Mul(b.Gather(y, place, axis=axis), weight if axis == -1 else weight[:, None])
            total = part if total is None else b.Add(total, part)
        y = total
    return _round(b, y, planes.dtype)


def _round(b, y, dtype):
    limits = np.iinfo(dtype)
    return b.to_integer(b.Clip(b.Round(y), float(limits.min), float(limits.max)), dtype)


def _matrix(places, weights, size):
    """The matrix of weighted sums, (new, old)."""
    out = np.zeros((len(places), size))
    np.add.at(out, (np.arange(len(places))[:, None], places), weights)
    return out


@exports("_cvcopyMakeBorder")
def export_cvcopy_make_border(b, op, src):
    if op.type:
        rows, columns = (op.places(src.dim(axis), axis) for axis in (0, 1))
        return b.Gather(b.Gather(src, rows, axis=0), columns, axis=1)
    filling = op.filling(src.dim(2)).astype(src.dtype)
    if (filling == filling[0]).all():
        return _pad(b, op, src, filling[0])
    planes = b.split(src, [1] * len(filling), 2)
    return b.Concat(*(_pad(b, op, plane, value) for plane, value in zip(planes, filling)), axis=2)


def _pad(b, op, plane, value):
    return b.Pad(plane, [op.top, op.left, 0, op.bot, op.right, 0], b.like(value, plane))


not_exported(
    "it decodes the bytes of a file (JPEG, PNG): ONNX's ImageDecoder leaves open what pixels a decoder gives, and onnxruntime has "
    "no kernel for it; feed the network pixels",
    "_cvimdecode",
)
