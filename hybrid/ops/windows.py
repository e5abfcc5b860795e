"""Sliding windows in NumPy: unfolding, folding back, and the three products that convolutions consist of.

Everything works on channels-first arrays of any number of spatial axes: data (N, C, *spatial), weight (O, C/groups, *kernel).
"""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

BUFFER = 4 << 20, 64 << 20
"""Bytes of unfolded windows that are made at a time, at least and at most: few enough to stay in cache, but twice as many as
the weights have, which BLAS reads anew for every piece."""
WIDE = 4096, 128
"""Number of columns that a piece should have: longer runs are copied faster (first, for windows that are unfolded), and a matrix
that narrow is not multiplied at full speed (second, where nothing is copied)."""


def pad_spatial(x: np.ndarray, before: tuple[int, ...], after: tuple[int, ...], fill: float = 0) -> np.ndarray:
    """x with its last axes extended by ``fill``; x itself where nothing is to be added."""
    if not any(before) and not any(after):
        return x
    rest = x.shape[: x.ndim - len(before)]
    spatial = x.shape[x.ndim - len(before) :]
    out = np.full_like(x, fill, order="C", shape=(*rest, *(b + n + a for b, n, a in zip(before, spatial, after))))
    out[(..., *(slice(b, b + n) for b, n in zip(before, spatial)))] = x
    return out


def windows(x: np.ndarray, kernel: tuple, stride: tuple, dilate: tuple, steps: tuple) -> np.ndarray:
    """All windows of x (..., *spatial) as a view (..., *kernel, *steps)."""
    lead = x.ndim - len(kernel)
    inner = [s * d for s, d in zip(x.strides[lead:], dilate)]
    outer = [s * d for s, d in zip(x.strides[lead:], stride)]
    shape = (*x.shape[:lead], *kernel, *steps)
    return np.lib.stride_tricks.as_strided(x, shape, (*x.strides[:lead], *inner, *outer), writeable=False)


def taps(kernel: tuple, stride: tuple, dilate: tuple, steps: tuple) -> Iterator[tuple[tuple, tuple]]:
    """(position in the kernel, index of what it meets at every step) for each tap of the kernel."""
    for tap in product(*map(range, kernel)):
        begin = [k * d for k, d in zip(tap, dilate)]
        yield tap, (..., *(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(begin, steps, stride)))


def columns(x, kernel, stride, dilate, pad, steps, groups, least=0) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """x (N, C, *spatial) unfolded piece by piece: (images, steps along the first spatial axis, columns), where columns are
    (groups, C/groups * prod(kernel), rows * inner steps * images), images innermost.

    Small images are taken several at once, so that columns are many and copied in long runs; large ones in bands.
    least: bytes of what every piece is multiplied with."""
    if math.prod(kernel) == 1:  # what is skipped need not be moved
        x = pad_spatial(x, pad, pad)[(..., *(slice(None, (n - 1) * s + 1, s) for n, s in zip(steps, stride)))]
        stride, pad = (1,) * len(kernel), (0,) * len(kernel)
    batch, channels = x.shape[:2]
    depth = channels * math.prod(kernel)
    inner = math.prod(steps[1:])
    budget = min(max(BUFFER[0], 2 * least), BUFFER[1])
    most = max(1, budget // (depth * inner * x.itemsize))  # rows of columns, over all images of a piece
    unfolded = math.prod(kernel) > 1
    images = max(1, min(batch, most // steps[0], -(-WIDE[not unfolded] // (inner * steps[0]))))
    rows = min(steps[0], most) if images == 1 else steps[0]
    buffer = np.empty(depth * rows * inner * images if unfolded else 0, x.dtype)
    for n in range(0, batch, images):
        part = np.moveaxis(x[n : n + images], 0, -1)
        part = np.ascontiguousarray(pad_spatial(part, (*pad, 0), (*pad, 0)))
        count = part.shape[-1]
        view = windows(part, (*kernel, 1), (*stride, 1), (*dilate, 1), (*steps, count))
        for row in range(0, steps[0], rows):
            piece = view[(*(slice(None),) * (2 + len(kernel)), slice(row, row + rows))]
            if unfolded:
                target = buffer[: piece.size].reshape(piece.shape)
                target[...] = piece
                piece = target
            yield slice(n, n + count), slice(row, row + rows), piece.reshape(groups, depth // groups, -1)


def _steps(sizes, kernel, stride, dilate, pad):
    """Spatial sizes of a convolution's result."""
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilate)]
    return tuple((n + 2 * p - r) // s + 1 for n, p, r, s in zip(sizes, pad, reach, stride))


def convolve(x, weight, stride, dilate, pad, groups, out=None):
    """The cross-correlation of x (N, C, *spatial) with weight (O, C/groups, *kernel), without bias."""
    if type(x) is not np.ndarray:
        return convolve_by_taps(x, weight, stride, dilate, pad, groups)
    kernel = weight.shape[2:]
    batch, channels = x.shape[:2]
    filters = len(weight)
    steps = _steps(x.shape[2:], kernel, stride, dilate, pad)
    if out is None:
        out = np.empty((batch, filters, *steps), x.dtype)
    if not out.size:
        return out
    if not channels:
        out[...] = 0
        return out
    if channels == groups > 1 and math.prod(kernel) > 1:
        return _depthwise(x, weight, stride, dilate, pad, steps, out)
    weight = weight.reshape(groups, filters // groups, -1)
    inner = math.prod(steps[1:])
    for images, rows, piece in columns(x, kernel, stride, dilate, pad, steps, groups, weight.nbytes):
        if images.stop - images.start == 1:
            result = out[images.start].reshape(groups, filters // groups, -1)
            first = rows.start * inner
            _multiply(weight, piece, result[:, :, first : first + piece.shape[-1]])
        else:
            result = np.empty((groups, filters // groups, piece.shape[-1]), x.dtype)
            _multiply(weight, piece, result)
            out[images] = np.moveaxis(result.reshape(filters, *steps, -1), -1, 0)
    return out


def _multiply(weight: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
    """out = weight @ columns of each group. One is multiplied as matrices, which needs no broadcasting."""
    if len(weight) > 1:
        np.matmul(weight, columns, out=out)
    else:
        np.matmul(weight[0], columns[0], out=out[0])


def _depthwise(x, weight, stride, dilate, pad, steps, out):
    """One input channel for each filter: a sum over the kernel's taps, channels and images in pieces that stay in cache."""
    kernel = weight.shape[2:]
    batch, channels = x.shape[:2]
    each = len(weight) // channels
    weight = weight.reshape(channels, each, *kernel, *(1,) * (len(kernel) + 1))
    images = max(1, min(batch, WIDE[0] // math.prod(steps)))
    size = math.prod(steps) * each * images * x.itemsize
    step = max(1, (256 << 10) // size)
    scratch = np.empty((2, min(step, channels) * each * math.prod(steps) * images), x.dtype)
    for n, c in product(range(0, batch, images), range(0, channels, step)):
        source = np.moveaxis(x[n : n + images, c : c + step], 0, -1)
        source = np.ascontiguousarray(pad_spatial(source, (*pad, 0), (*pad, 0)))[:, None]
        count = source.shape[-1]
        shape = (len(source), each, *steps, count)
        total, term = (a[: math.prod(shape)].reshape(shape) for a in scratch)
        for i, (tap, index) in enumerate(taps(kernel, stride, dilate, steps)):
            factor = weight[(slice(c, c + step), slice(None), *tap)]
            np.multiply(source[(*index, slice(None))], factor, out=term if i else total)
            if i:
                total += term
        out[n : n + count, c * each : (c + len(source)) * each] = np.moveaxis(total.reshape(-1, *steps, count), -1, 0)
    return out


def fold(columns, size, kernel, stride, dilate, steps):
    """The sum of windows (..., *kernel, *steps) placed where they came from: the transpose of ``windows``, (..., *size).

    Elements whose positions leave the same rest by the stride are kept together until the end, so that every tap adds to
    memory in one run."""
    rank = len(kernel)
    lead = columns.shape[: columns.ndim - 2 * rank]
    rows = [n + (k - 1) * d // s for n, k, d, s in zip(steps, kernel, dilate, stride)]
    out = np.zeros_like(columns, order="C", shape=(*lead, *stride, *rows))
    for tap in product(*map(range, kernel)):
        whole, rest = zip(*(divmod(t * d, s) for t, d, s in zip(tap, dilate, stride)))
        target = out[(*(slice(None),) * len(lead), *rest, *(slice(q, q + n) for q, n in zip(whole, steps)))]
        target += columns[(*(slice(None),) * len(lead), *tap)]
    first = len(lead)
    out = out.transpose(*range(first), *(a for i in range(rank) for a in (first + rank + i, first + i)))
    out = out.reshape(*lead, *(n * s for n, s in zip(rows, stride)))
    short = [max(0, n - have) for n, have in zip(size, out.shape[first:])]
    out = pad_spatial(out, (0,) * rank, tuple(short))
    return out[(..., *map(slice, size))]


def deconvolve(x, weight, stride, dilate, pad, groups, size):
    """The transpose of ``convolve``: x (N, O, *steps) and weight (O, C/groups, *kernel) to (N, C, *size).

    Every element of x adds a multiple of the kernel; pad is cut off in front, and what is beyond size behind."""
    if type(x) is not np.ndarray:
        return deconvolve_by_taps(x, weight, stride, dilate, pad, groups, size)
    kernel = weight.shape[2:]
    batch, filters, *steps = x.shape
    each = weight.shape[1]
    channels = each * groups
    if not x.size or not weight.size:
        return np.zeros((batch, channels, *size), x.dtype)
    ones = (1,) * len(kernel)
    if kernel == ones and not any(pad):
        turned = weight.reshape(groups, filters // groups, each).swapaxes(1, 2).reshape(channels, -1, *kernel)
        values = convolve(x, turned, ones, ones, pad, groups)
        if size == tuple(steps):
            return values
        out = np.zeros((batch, channels, *size), x.dtype)
        kept = [min(n, -(-m // s)) for n, m, s in zip(steps, size, stride)]
        out[(..., *(slice(0, n * s, s) for n, s in zip(kept, stride)))] = values[(..., *map(slice, kept))]
        return out
    rest = tuple(d * (k - 1) - p for d, k, p in zip(dilate, kernel, pad))
    fits = all(n == s + r - p for n, s, r, p in zip(size, steps, rest, pad)) and min(rest) >= 0
    if (
        filters <= channels and tuple(stride) == ones and fits
    ):  # a convolution by the kernel turned round, which copies less
        turned = weight.reshape(groups, filters // groups, each, *kernel)[
            (..., *(slice(None, None, -1) for _ in kernel))
        ]
        turned = turned.swapaxes(1, 2).reshape(channels, -1, *kernel)
        return convolve(x, turned, ones, dilate, rest, groups)
    out = np.empty((batch, channels, *size), x.dtype)
    if filters == groups > 1:  # one row for each group: no sum to take, and nothing gained by matrices
        flat = weight.reshape(groups, each * math.prod(kernel), 1)
    else:
        flat = weight.reshape(groups, filters // groups, -1).swapaxes(1, 2)
    images = max(1, BUFFER[0] // (channels * math.prod(kernel) * math.prod(steps) * x.itemsize))
    images = min(images, batch, -(-WIDE[0] // math.prod(steps)))
    whole = tuple((n - 1) * s + d * (k - 1) + 1 for n, s, k, d in zip(steps, stride, kernel, dilate))
    for n in range(0, batch, images):
        pixels = np.ascontiguousarray(np.moveaxis(x[n : n + images], 0, -1))
        count = pixels.shape[-1]
        pixels = pixels.reshape(groups, filters // groups, -1)
        pieces = flat * pixels if filters == groups > 1 else flat @ pixels if groups > 1 else flat[0] @ pixels[0]
        pieces = pieces.reshape(channels, *kernel, 1, *steps, count)
        part = fold(pieces, (*whole, count), (*kernel, 1), (*stride, 1), (*dilate, 1), (*steps, count))
        part = pad_spatial(
            part, (0,) * (len(kernel) + 1), (*(max(0, p + n - w) for p, n, w in zip(pad, size, whole)), 0)
        )
        part = part[(slice(None), *(slice(p, p + n) for p, n in zip(pad, size)))]
        out[n : n + count] = np.moveaxis(part, -1, 0)
    return out


def correlate(x, y, kernel, stride, dilate, pad, groups):
    """The third product: which weight (O, C/groups, *kernel) led from x (N, C, *spatial) to y (N, O, *steps), that is, the
    sum over images and steps of y times the window of x."""
    if type(x) is not np.ndarray:
        return correlate_by_taps(x, y, kernel, stride, dilate, pad, groups)
    filters, steps = y.shape[1], y.shape[2:]
    channels = x.shape[1]
    out = np.zeros((groups, filters // groups, channels // groups * math.prod(kernel)), x.dtype)
    if x.size and y.size:
        for images, rows, piece in columns(x, kernel, stride, dilate, pad, steps, groups):
            factor = np.moveaxis(y[images, :, rows], 0, -1).reshape(groups, filters // groups, -1)
            if groups > 1:
                out += factor @ piece.swapaxes(1, 2)
            else:
                out[0] += factor[0] @ piece[0].T
    return out.reshape(filters, channels // groups, *kernel)


# -- arrays of a device (device/array.py): whole columns, and one product for each group -------------------------------------


def _unfolded(x, kernel, stride, dilate, pad, steps, groups):
    """x (N, C, *spatial) as columns (N, groups, C/groups * prod(kernel), prod(steps)), a copy for each tap."""
    x = pad_spatial(x, pad, pad)
    pieces = [x[where] for _, where in taps(kernel, stride, dilate, steps)]
    whole = np.stack(pieces, axis=2)
    return whole.reshape(len(x), groups, x.shape[1] // groups * len(pieces), math.prod(steps))


def convolve_by_taps(x, weight, stride, dilate, pad, groups):
    """convolve, of an array of a device."""
    kernel, filters = weight.shape[2:], len(weight)
    steps = _steps(x.shape[2:], kernel, stride, dilate, pad)
    if not x.size or not weight.size:
        return np.zeros_like(x, order="C", shape=(len(x), filters, *steps))
    piece = _unfolded(x, kernel, stride, dilate, pad, steps, groups)
    return np.matmul(weight.reshape(groups, filters // groups, -1), piece).reshape(len(x), filters, *steps)


def deconvolve_by_taps(x, weight, stride, dilate, pad, groups, size):
    """deconvolve, of an array of a device."""
    kernel, (batch, filters, *steps) = weight.shape[2:], x.shape
    channels = weight.shape[1] * groups
    y = np.zeros_like(x, order="C", shape=(batch, channels, *(n + p for n, p in zip(size, pad))))
    if not x.size or not weight.size:
        return y[(..., *(slice(p, None) for p in pad))]
    turned = weight.reshape(groups, filters // groups, -1).swapaxes(1, 2)
    piece = np.matmul(turned, x.reshape(batch, groups, filters // groups, -1))
    piece = piece.reshape(batch, channels, math.prod(kernel), *steps)
    for number, tap in enumerate(product(*map(range, kernel))):
        begin = [k * d for k, d in zip(tap, dilate)]
        counts = [max(0, min(n, -(-(m - b) // s))) for n, m, b, s in zip(steps, y.shape[2:], begin, stride)]
        where = tuple(slice(b, b + (n - 1) * s + 1, s) if n else slice(0) for b, n, s in zip(begin, counts, stride))
        y[(..., *where)] += piece[(slice(None), slice(None), number, *map(slice, counts))]
    return y[(..., *(slice(p, None) for p in pad))]


def correlate_by_taps(x, y, kernel, stride, dilate, pad, groups):
    """correlate, of arrays of a device."""
    filters, steps, channels = y.shape[1], y.shape[2:], x.shape[1]
    if not x.size or not y.size:
        return np.zeros_like(x, order="C", shape=(filters, channels // groups, *kernel))
    piece = _unfolded(x, kernel, stride, dilate, pad, steps, groups)
    factor = y.reshape(len(y), groups, filters // groups, math.prod(steps))
    return np.matmul(factor, piece.swapaxes(2, 3)).sum(0).reshape(filters, channels // groups, *kernel)
