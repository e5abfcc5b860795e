"""Linear interpolation between pixels at places that are computed, as four Gathers: what samplers of fixed rules cannot say."""

import math

import numpy as np


def product(b, *sizes):
    """The product of sizes as ``b.size`` gives them: a number where all are, else a 1-D Value."""
    known = math.prod(n for n in sizes if isinstance(n, int))
    total = known
    for size in sizes:
        if not isinstance(size, int):
            total = b.Mul(size, total)
    return total


def neighbours(b, place, size, *, fades=False, least=0.0, most=None):
    """The pixels before and after places along an axis of that size, ((index, weight), (index, weight)), and which places count.

    Places outside have weight 0. Without fades these are those below ``least``, and those from the size on or (with most) beyond
    size + most; nearer ones take the outermost pixel's value. With it the image fades to 0 over one pixel."""
    limit = size if isinstance(size, int) else b.cast(size, place.dtype)
    last = size - 1 if isinstance(size, int) else b.Sub(limit, 1)
    if fades:
        inside = b.And(b.Greater(place, -1), b.Less(place, limit))
    else:
        below = b.Less(place, limit) if most is None else b.LessOrEqual(place, b.Add(b.like(most, place), limit))
        inside = b.And(b.GreaterOrEqual(place, least), below)
    place = b.Where(inside, place, 0)  # NaN, and what no index holds
    if not fades:
        place = b.Min(b.Max(place, b.like(0, place)), _like(b, last, place))
    before = b.Floor(place)
    after, part = b.Add(before, 1), b.Sub(place, before)
    weights = [b.Sub(1, part), part]
    inner = [inside, inside]
    if fades:
        inner = [b.And(inside, b.GreaterOrEqual(before, 0)), b.And(inside, b.LessOrEqual(after, last))]
    indices = b.Max(before, b.like(0, place)), b.Min(after, _like(b, last, place))
    pairs = [(b.cast(i, np.int64), b.Where(here, w, 0)) for i, here, w in zip(indices, inner, weights)]
    return pairs, inside


def _like(b, value, sibling):
    return b.like(value, sibling) if isinstance(value, int) else value


def pixels(b, maps, channels):
    """Maps (N, groups * channels, H, W) as one list of pixels: (N * groups * H * W, channels)."""
    groups = maps.dim(1) // channels
    return b.reshape(b.transpose(b.reshape(maps, b.dims(0, groups, channels, -1)), [0, 1, 3, 2]), b.dims(-1, channels))


def interpolate(b, listed, first, rows, columns, width):
    """The values (..., channels) between four pixels of a list (see ``pixels``).

    first: where in the list the image starts; rows, columns: the neighbours (...) along both axes; width: of the image."""
    total = None
    for row, up in rows:
        for column, across in columns:
            index = b.Add(first, b.Add(b.Mul(row, width), column))
            part = b.Mul(b.Gather(listed, index, axis=0), b.unsqueeze(b.Mul(up, across), [-1]))
            total = part if total is None else b.Add(total, part)
    return total
