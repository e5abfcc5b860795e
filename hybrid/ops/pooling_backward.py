"""Gradients of pooling by its data: spread over windows, or given to the maxima."""

import math
from itertools import product
from typing import ClassVar

import numpy as np

from ..core.op import op
from ..core.shapes import merge
from .common import contiguous, narrow, part_of, widen
from .pooling import AdaptiveAvgPooling2D, Pooling, PoolingV1, pieces
from .windows import pad_spatial


class _OfWindows(Pooling):
    """(dy, data, y) -> as data. With images and channels innermost, whatever the size of the images."""

    inputs = ("dy", "data", "y")
    shared: ClassVar[bool] = False
    """True when all equal maxima of a window get its gradient; else the first does."""
    border: ClassVar[float | None] = None
    """Value of padding in a maximum; None for nothing."""

    def infer_input_shapes(self, shapes, outputs):
        same = merge(shapes[0], shapes[2])
        return [same, merge(shapes[1], outputs[0]), same]

    def infer_shape(self, dy, data, y):
        return data

    def compute(self, dy, data, y):
        return narrow(self.first_channels(data.shape, self._give, widen(dy), widen(data), widen(y)), data.dtype)

    def first_channels(self, shape, work, *arrays):
        """work(*arrays) on arrays (N, C, *spatial), whatever the layout; its result in the layout, of that shape."""
        if not self.channels_last:
            return work(*arrays).reshape(shape)
        result = work(*(np.moveaxis(a, -1, 1) for a in arrays))
        return np.moveaxis(result.reshape(shape[0], shape[-1], *shape[1:-1]), 1, -1)

    def _give(self, dy, x, y):
        if self.pool_type == "max":
            return self._to_largest(dy, x, y)
        if not self.global_pool:
            return self._spread(dy, x.shape[2:])
        count = math.prod(x.shape[2:]) if self.pool_type == "avg" else 1
        return np.broadcast_to(dy / x.dtype.type(count), x.shape)

    def _spread(self, dy, spatial):
        """Every element of a window gets what the window got, divided by what a mean counts."""
        geometry = list(zip(spatial, self.kernel, self.strides, self.pads))
        if self.pool_type == "avg":
            count = np.ones((), dy.dtype)
            for one in geometry:
                count = np.expand_dims(count, -1) * self.counts(*one)
            dy = dy / count.astype(dy.dtype)
        dy = _flat(dy)
        out = np.empty_like(dy, order="C", shape=(len(dy), *spatial))
        for piece in pieces(out):
            part = contiguous(np.moveaxis(dy[piece], 0, -1))
            for axis, (size, kernel, stride, pad) in enumerate(geometry):
                lead = (slice(None),) * axis
                last = (part.shape[axis] - 1) * stride
                rows = max(last + kernel, pad + size)
                whole = np.zeros_like(part, order="C", shape=(*part.shape[:axis], rows, *part.shape[axis + 1 :]))
                for i in range(kernel):
                    whole[(*lead, slice(i, i + last + 1, stride))] += part
                part = whole[(*lead, slice(pad, pad + size))]
            out[piece] = np.moveaxis(part, -1, 0)
        return out

    def _chosen(self, x, y):
        """Of x (N, C, *spatial) piece by piece: (images and channels, their data parted, [(index of a tap, where it is the
        maximum chosen)])."""
        steps = y.shape[2:]
        x, y = _flat(x), _flat(y)
        border = self.least(x.dtype) if self.border is None else self.border
        for piece in pieces(x):
            part = self._part(x[piece], steps, border, self.least(x.dtype))
            yield piece, part, self._hits(part, contiguous(np.moveaxis(y[piece], 0, -1)))

    def _part(self, x, steps, border, beyond):
        """x (n, *spatial) with borders, elements that leave the same rest by the stride together: (*stride, *rows, n). What a
        tap meets is then one run of memory."""
        x = np.moveaxis(x, 0, -1)
        strides, spatial = self.strides, x.shape[:-1]
        rows = [
            max(n + (k - 1) // s, -(-(size + 2 * p) // s))
            for n, k, s, size, p in zip(steps, self.kernel, strides, spatial, self.pads)
        ]
        more = tuple(r * s - size - 2 * p for r, s, size, p in zip(rows, strides, spatial, self.pads))
        x = pad_spatial(pad_spatial(x, (*self.pads, 0), (*self.pads, 0), border), (0,) * x.ndim, (*more, 0), beyond)
        rank = len(rows)
        x = x.reshape(*(n for pair in zip(rows, strides) for n in pair), x.shape[-1])
        return contiguous(x.transpose(*range(1, 2 * rank, 2), *range(0, 2 * rank, 2), 2 * rank))

    def _join_parts(self, x, spatial):
        """The inverse of _part, as (n, *spatial)."""
        rank = len(spatial)
        rows = x.shape[rank:-1]
        x = x.transpose(*(a for i in range(rank) for a in (rank + i, i)), 2 * rank)
        x = x.reshape(*(r * s for r, s in zip(rows, self.strides)), x.shape[-1])
        return np.moveaxis(x[tuple(slice(p, p + n) for p, n in zip(self.pads, spatial))], -1, 0)

    def _hits(self, part, y):
        free = np.ones_like(y, bool, order="C")
        for tap in product(*map(range, self.kernel)):
            whole, rest = zip(*map(divmod, tap, self.strides))
            index = (*rest, *(slice(q, q + n) for q, n in zip(whole, y.shape)))
            hit = part[index] == y
            if not self.shared:
                hit &= free
                free ^= hit
            yield index, hit

    def _to_largest(self, dy, x, y):
        if self.global_pool:
            hit = largest(x, y, shared=self.shared)
            return np.where(hit, dy, dy.dtype.type(0))
        out = np.empty_like(x, order="C", shape=(math.prod(x.shape[:2]), *x.shape[2:]))
        dy = _flat(dy)
        for piece, part, hits in self._chosen(x, y):
            arriving = contiguous(np.moveaxis(dy[piece], 0, -1))
            given = np.zeros_like(part)
            for index, hit in hits:
                given[index] += _mask(arriving, hit)
            out[piece] = self._join_parts(given, x.shape[2:])
        return out


def _flat(x: np.ndarray) -> np.ndarray:
    """Images and channels as one axis."""
    return x.reshape(math.prod(x.shape[:2]), *x.shape[2:])


def _mask(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """values where chosen, else 0 (by their bits: NaN times 0 would be NaN, and np.where takes three times as long)."""
    bits = np.dtype(f"i{values.itemsize}")
    return (np.negative(chosen.view(np.int8), dtype=bits) & values.view(bits)).view(values.dtype)


def largest(x: np.ndarray, y: np.ndarray, *, shared: bool) -> np.ndarray:
    """True where x (N, C, *spatial) is the maximum y (N, C, 1...) of its image and channel: everywhere, or the first only."""
    hit = x == y
    if not shared:
        flat = hit.reshape(*hit.shape[:2], math.prod(hit.shape[2:]))
        first = flat.argmax(2)[..., None] if flat.size else np.zeros((*flat.shape[:2], 1), np.intp)
        hit = (flat & (np.arange(flat.shape[2]) == first)).reshape(hit.shape)
    return hit


class _Pick(_OfWindows):
    """(g, data, y) -> as y: the sum of g (shaped as data) over those elements of each window that its gradient goes to."""

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], shapes[1]), merge(shapes[0], shapes[1]), merge(shapes[2], outputs[0])]

    def infer_shape(self, dy, data, y):
        return y

    def compute(self, g, data, y):
        return narrow(self.first_channels(y.shape, self._pick, *map(widen, (g, data, y))), data.dtype)

    def _pick(self, g, x, y):
        if self.global_pool:
            return _mask(g, largest(x, y, shared=self.shared)).sum(tuple(range(2, x.ndim)), keepdims=True)
        out = np.empty_like(g, order="C", shape=(math.prod(y.shape[:2]), *y.shape[2:]))
        g = _flat(g)
        for piece, _, hits in self._chosen(x, y):
            source = self._part(g[piece], y.shape[2:], 0, 0)
            total = np.zeros_like(g, order="C", shape=(*y.shape[2:], source.shape[-1]))
            for index, hit in hits:
                total += _mask(source[index], hit)
            out[piece] = np.moveaxis(total, -1, 0)
        return out


@op("_backward_Pooling")
@part_of("Pooling")
class BackwardPooling(_OfWindows):
    """Gradient of Pooling by data: (dy, data, y) -> as data. The first of equal maxima gets all."""

    def gradient(self, F, g, dy, data, y, dx):
        attrs = self.dump()
        back = F._backward_Pooling_pick(g, data, y, **attrs) if self.pool_type == "max" else F.Pooling(g, **attrs)
        return back, None, None


@op("_backward_Pooling_pick")
@part_of("Pooling", y=0)
class BackwardPoolingPick(_Pick):
    """Gradient of _backward_Pooling by dy when that chooses maxima."""

    def gradient(self, F, dy, g, data, y, out):
        return F._backward_Pooling(dy, data, y, **self.dump()), None, None


class _OfV1(PoolingV1):
    """Its data is extended by zeros, which may be the maximum; all equal maxima get the gradient."""

    shared = True
    border = 0.0


@op("_backward_Pooling_v1")
@part_of("Pooling_v1")
class BackwardPoolingV1(_OfV1, _OfWindows):
    """Gradient of Pooling_v1 by data: (dy, data, y) -> as data."""

    def gradient(self, F, g, dy, data, y, dx):
        attrs = self.dump()
        back = F._backward_Pooling_v1_pick(g, data, y, **attrs) if self.pool_type == "max" else F.Pooling_v1(g, **attrs)
        return back, None, None


@op("_backward_Pooling_v1_pick")
@part_of("Pooling_v1", y=0)
class BackwardPoolingV1Pick(_OfV1, _Pick):
    """Gradient of _backward_Pooling_v1 by dy when that chooses maxima."""

    def gradient(self, F, dy, g, data, y, out):
        return F._backward_Pooling_v1(dy, data, y, **self.dump()), None, None


@op("_backward_contrib_AdaptiveAvgPooling2D")
@part_of("_contrib_AdaptiveAvgPooling2D")
class BackwardAdaptiveAvgPooling2D(AdaptiveAvgPooling2D):
    """Gradient of _contrib_AdaptiveAvgPooling2D by data: (dy, data) -> as data, whose values are not read."""

    inputs = ("dy", "data")

    def infer_shape(self, dy, data):
        return data

    def compute(self, dy, data):
        x = widen(dy)
        for axis in (2, 3):
            lead, size = (slice(None),) * axis, data.shape[axis]
            out = np.zeros_like(x, order="C", shape=(*x.shape[:axis], size, *x.shape[axis + 1 :]))
            for i, (start, end) in enumerate(self.cells(size, self.grid[axis - 2])):
                out[(*lead, slice(start, end))] += x[(*lead, slice(i, i + 1))] / x.dtype.type(end - start)
            x = out
        return narrow(x, data.dtype)

    def gradient(self, F, g, dy, data, dx):
        return F._contrib_AdaptiveAvgPooling2D(g, **self.dump()), None
