"""Pooling in every form that ONNX has: any number of axes, uneven pads, dilations, integers, and where the maxima are."""

import functools
import itertools
import math

import numpy as np

from ...core.attrs import Arity, Counts
from ...core.op import Domain, op
from ...core.shapes import UNKNOWN, merge, show
from ..adjoint import linear
from ..common import lowest, mean_over, narrow, part_of, want_rank, widen
from ..composing import computed_widely, definite, extreme, is_half, known, narrowly, total, widely
from ..pooling import pieces
from ..windows import pad_spatial, windows
from .base import INT64, Standard, ints
from .convolution import Ints, Slid
from .sliding import covered, slid, summed
from .types import BYTES, FLOATS


class _Pool(Slid):
    """Base. Shapes: X (N, C, *spatial) -> (N, C, *steps). ceil_mode rounds the number of steps up, except for windows that would
    start in the padding at the end; auto_pad decides it alone."""

    ceil_mode: bool = False

    inputs = ("X",)
    types = {"X": FLOATS}

    @property
    def kernel(self) -> tuple[int, ...]:
        """kernel_shape, which is not optional here."""
        if self.kernel_shape is None:
            raise self.error("attribute kernel_shape is required")
        return self.kernel_shape

    def count(self, size, before, after, reach, stride):
        """As Slid.count."""
        if not self.ceil_mode or self.auto_pad == "VALID":
            return super().count(size, before, after, reach, stride)
        if size is UNKNOWN:
            return UNKNOWN
        steps = -((reach - size - before - after) // stride) + 1
        return max(0, steps - ((steps - 1) * stride >= size + before))

    def borders(self, spatial, kernel):
        """As Slid.borders; where windows lie wider apart than they are long SAME_* cuts off instead (as the standard's formula and
        onnxruntime have it for pooling; for convolution nothing is cut off)."""
        if not self.auto_pad.startswith("SAME"):
            return self.explicit(len(kernel))
        steps, strides = self.steps(spatial, kernel), self.along(len(kernel), self.strides)
        whole = [(n - 1) * s + r - size for n, s, r, size in zip(steps, strides, self.reach(kernel), spatial)]
        first = [int(w / 2) if self.auto_pad == "SAME_UPPER" else int((w + 1) / 2) for w in whole]
        return tuple(first), tuple(w - f for w, f in zip(whole, first))

    def shape(self, x):
        if len(x) != len(self.kernel) + 2:
            raise self.error(
                f"got X of shape {show(x)} for kernel_shape={show(self.kernel)}, wanted {len(self.kernel) + 2} axes"
            )
        return (*x[:2], *self.steps(x[2:], self.kernel))

    def axes(self, spatial):
        """For every spatial axis (size, kernel, stride, dilation, padding before it, steps)."""
        rank = len(self.kernel)
        before, _ = self.borders(spatial, self.kernel)
        each = (
            self.along(rank, self.strides),
            self.along(rank, self.dilations),
            before,
            self.steps(spatial, self.kernel),
        )
        return list(zip(spatial, self.kernel, *each))

    def reduce_windows(self, x, ufunc, fill):
        """ufunc over all windows of x: axis after axis, as many slices as the kernel is long."""
        geometry = self.axes(x.shape[2:])
        out = np.empty((*x.shape[:2], *(g[-1] for g in geometry)), x.dtype)
        flat, target = (a.reshape(math.prod(a.shape[:2]), *a.shape[2:]) for a in (x, out))
        for piece in pieces(flat):
            part = flat[piece]
            for axis, (size, kernel, stride, dilation, before, steps) in enumerate(geometry, 1):
                end = max(0, (steps - 1) * stride + dilation * (kernel - 1) + 1 - size - before)
                lead = (slice(None),) * axis
                part = part[(*lead, slice(max(0, -before), None))]
                pads = tuple([n * (a == axis) for a in range(part.ndim)] for n in (max(0, before), end))
                part = pad_spatial(part, *map(tuple, pads), fill)
                total = part[(*lead, slice(0, (steps - 1) * stride + 1 if steps else 0, stride))].copy()
                for i in range(dilation, dilation * kernel, dilation):
                    ufunc(
                        total, part[(*lead, slice(i, i + (steps - 1) * stride + 1 if steps else i, stride))], out=total
                    )
                part = total
            target[piece] = part
        return out

    def spread(self, dy, spatial):
        """The transpose of ``folded`` by addition."""
        for axis, (size, kernel, stride, dilation, before, steps) in enumerate(self.axes(spatial), 2):
            lead, last = (slice(None),) * axis, (steps - 1) * stride
            reach = dilation * (kernel - 1) + 1
            whole = np.zeros((*dy.shape[:axis], max(last + reach, before + size), *dy.shape[axis + 1 :]), dy.dtype)
            for i in range(0, dilation * kernel, dilation) if steps else ():
                whole[(*lead, slice(i, i + last + 1, stride))] += dy
            dy = whole[(*lead, slice(max(0, before), before + size))]
            if before < 0:
                dy = np.concatenate([np.zeros((*dy.shape[:axis], -before, *dy.shape[axis + 1 :]), dy.dtype), dy], axis)
        return dy


class _MaxPool(_Pool):
    """Attributes of MaxPool."""

    storage_order: int = 0
    num_outputs: Arity = 1

    def positions(self, x: np.ndarray, y: np.ndarray, order: str) -> np.ndarray:
        """Position in x, flattened, of the first of the greatest elements of every window, shaped as y (N, C, *steps). The
        spatial axes of x count in C or F order."""
        geometry = self.axes(x.shape[2:])
        rank, spatial, steps = len(geometry), x.shape[2:], y.shape[2:]
        places, inside = [], np.ones((), bool)
        for axis, (size, kernel, stride, dilation, before, count) in enumerate(geometry):
            along = np.arange(kernel)[:, None] * dilation + np.arange(count) * stride - before
            dims = [1] * (2 * rank)
            dims[axis], dims[rank + axis] = kernel, count
            places.append(np.clip(along, 0, max(0, size - 1)).reshape(dims))
            inside = inside & ((along >= 0) & (along < size)).reshape(dims)
        weights = np.cumprod([1, *(spatial[:0:-1] if order == "C" else spatial[:-1])])[:: -1 if order == "C" else 1]
        taps = math.prod(self.kernel)
        flat = sum((p * int(w) for p, w in zip(places, weights)), np.zeros((), np.int64))
        flat = np.broadcast_to(flat, (*self.kernel, *steps)).reshape(taps, *steps)
        inside = np.broadcast_to(inside, (*self.kernel, *steps)).reshape(1, taps, *steps)
        before = tuple(g[4] for g in geometry)
        ends = tuple(max(0, (g[5] - 1) * g[2] + g[3] * (g[1] - 1) + 1 - g[0] - g[4]) for g in geometry)
        out = np.empty(y.shape, np.int64)
        if not out.size:
            return out
        planes, maxima, target = (a.reshape(math.prod(a.shape[:2]), *a.shape[2:]) for a in (x, y, out))
        strides, dilations = tuple(g[2] for g in geometry), tuple(g[3] for g in geometry)
        for piece in pieces(planes):
            cut = planes[(piece, *(slice(max(0, -b), None) for b in before))]
            padded = pad_spatial(cut, tuple(max(0, b) for b in before), ends)
            seen = windows(padded, self.kernel, strides, dilations, steps).reshape(-1, taps, *steps)
            greatest = maxima[piece][:, None]
            hit = inside & (seen == greatest)
            if x.dtype.kind not in "iub":
                hit |= inside & np.isnan(seen) & np.isnan(greatest)
            target[piece] = np.take_along_axis(flat[None], hit.argmax(1)[:, None], 1)[:, 0]
        out += np.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *(1,) * rank) * math.prod(spatial)
        return out


@op("_onnx_MaxPool")
class MaxPool(_MaxPool):
    """The maximum over sliding windows, and as a second output where in X, flattened, it is (the first of equal ones; padding does
    not count). storage_order 1: with the first spatial axis innermost.

    Shapes: X (N, C, *spatial), any number of axes and any real dtype -> Y, Indices (N, C, *steps); indices are int64.
    NaN is greater than everything. Source: ONNX MaxPool (opset 1 to newest)."""

    types = {"X": FLOATS | BYTES}

    def output_names(self):
        return ("Y", "Indices")[: self.num_outputs]

    def shape(self, x):
        found = super().shape(x)
        return found if self.num_outputs == 1 else [found, found]

    def dtype(self, x):
        return x if self.num_outputs == 1 else [x, INT64]

    def composition(self, F, x):
        if self.num_outputs > 1 or not known(x) or 0 in definite(x.shape):
            return None
        geometry = self.axes(x.shape[2:])
        data = covered(F, x, x.shape, geometry, float(lowest(x.dtype)))
        return None if data is None else slid(F, data, geometry, F.broadcast_maximum)

    def meaning(self, x):
        wide = widen(x)
        y = self.reduce_windows(wide, np.maximum, lowest(wide.dtype))
        result = narrow(y, x.dtype)
        return (
            result if self.num_outputs == 1 else (result, self.positions(wide, y, "F" if self.storage_order else "C"))
        )

    def gradient(self, F, dy, x, *outputs):
        return F._backward__onnx_MaxPool(dy if self.num_outputs == 1 else dy[0], x, **self.dump())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 5, 6), kernel_shape=(3, 2), pads=(0, 1, 1, 0), strides=(2, 2), ceil_mode=True)
        yield make(make.integers(1, 2, 5, 6, low=-128, high=128, dtype="int8"), kernel_shape=(2, 3), pads=(1, 1, 1, 1))
        yield make(
            make.uniform(1, 2, 7, 5),
            kernel_shape=(2, 2),
            dilations=(2, 1),
            num_outputs=2,
            strides=(1, 2),
            storage_order=1,
        )
        yield make(make.array([[[3, 250, 7, 0, 0]]], "uint8"), kernel_shape=(2,), pads=(1, 1), num_outputs=2)


@op("_backward__onnx_MaxPool")
@part_of("_onnx_MaxPool")
class MaxPoolBackward(_MaxPool):
    """Gradient of MaxPool by X: (dy, X) -> as X; the first of equal maxima gets all."""

    inputs = ("dy", "X")
    types = {"X": FLOATS | BYTES}

    def shape(self, dy, x):
        return x

    def dtype(self, dy, x):
        return x

    def meaning(self, dy, x):
        wide = widen(x)
        where = self.positions(wide, self.reduce_windows(wide, np.maximum, lowest(wide.dtype)), "C")
        dx = np.bincount(where.reshape(-1), widen(dy).reshape(-1), x.size) if x.size else np.zeros(0)
        return dx.reshape(x.shape).astype(x.dtype)

    def gradient(self, F, g, dy, x, dx):
        attrs = {**self.dump(), "num_outputs": 2, "storage_order": 0}
        return F.take(F.reshape(g, shape=(-1,)), F._onnx_MaxPool(x, **attrs)[1]), None


@linear(0)
@op("_onnx_AveragePool")
class AveragePool(_Pool):
    """Means over sliding windows. Padding counts with count_include_pad only, what ceil_mode adds beyond it never.

    Shapes: X (N, C, *spatial), any number of axes -> (N, C, *steps). Source: ONNX AveragePool (opset 1 to newest)."""

    count_include_pad: bool = False

    def divisors(self, spatial, dtype):
        """By how much the sum over each window is divided; 1 where there is nothing in it."""
        _, after = self.borders(spatial, self.kernel)
        found = np.ones((), dtype)
        for (size, kernel, stride, dilation, before, steps), end in zip(self.axes(spatial), after):
            at = np.arange(steps)[:, None] * stride + np.arange(kernel) * dilation - before
            low, high = (-before, size + end) if self.count_include_pad else (0, size)
            found = found[..., None] * ((at >= low) & (at < high)).sum(1)
        return np.maximum(found, 1).astype(dtype)

    def composition(self, F, x):
        if not known(x) or 0 in definite(x.shape):
            return None
        geometry, (_, after) = self.axes(x.shape[2:]), self.borders(x.shape[2:], self.kernel)
        (wide,) = widely(F, x.dtype, x)
        data = covered(F, wide, x.shape, geometry, 0)
        if data is None:
            return None
        # what counts: the data, with what is padded or without it
        counting = [(g[0] + g[4] + max(0, end), *g[1:4], 0, g[5]) for g, end in zip(geometry, after)]
        counting = counting if self.count_include_pad else geometry
        shape = (1, 1, *(g[0] for g in counting))
        ones = F._ones(shape=shape, dtype="float32" if is_half(x.dtype) else x.dtype)
        counts = F._maximum_scalar(summed(F, covered(F, ones, shape, counting, 0), geometry), scalar=1)
        return narrowly(F, x.dtype, F.broadcast_div(summed(F, data, geometry), counts))

    def meaning(self, x):
        wide = widen(x)
        y = self.reduce_windows(wide, np.add, 0)
        y /= self.divisors(x.shape[2:], y.dtype)
        return narrow(y, x.dtype)

    def adjoint(self, of, dy, x):
        return self.spread(dy / self.divisors(x.shape[2:], dy.dtype), x.shape[2:])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 5, 6), kernel_shape=(3, 2), pads=(0, 1, 1, 0), strides=(2, 2))
        # onnxruntime counts padding with ceil_mode as the standard says from opset 19 on
        yield make(
            make.uniform(1, 2, 7, 5), kernel_shape=(2, 2), pads=(1, 1, 0, 1), dilations=(2, 1), count_include_pad=True
        )
        yield make(make.uniform(1, 1, 6), kernel_shape=(3,), auto_pad="SAME_UPPER", strides=(2,))


class _Power(Standard):
    """Base of p-norms: the gradient of the root and of the powers."""

    p: int = 2

    inputs = ("X",)

    def check(self):
        return super().check() or (None if self.p >= 1 else f"got p={self.p}, wanted at least 1")

    def powers(self, x):
        """The elements' powers that are added up."""
        return np.square(x) if self.p == 2 else np.abs(x) ** self.p

    def root(self, total):
        """Take the root that undoes the powers."""
        return np.sqrt(total) if self.p == 2 else total ** total.dtype.type(1 / self.p)

    def of_root(self, F, dy, y):
        """The gradient of the sum of powers, divided by p; 0 where that is 0."""
        return dy if self.p == 1 else F.where(y == 0, F.zeros_like(y), dy * y ** (1 - self.p))

    def of_powers(self, F, x):
        """The derivative of the powers, divided by p."""
        return F.sign(x) if self.p == 1 else x if self.p == 2 else F.sign(x) * F.abs(x) ** (self.p - 1)


@linear(0)
@op("_backward__onnx_LpPool_sum")
class _SumPool(_Pool):
    """Sums over sliding windows, for the gradient of LpPool."""

    def meaning(self, x):
        return narrow(self.reduce_windows(widen(x), np.add, 0), x.dtype)

    def adjoint(self, of, dy, x):
        return self.spread(dy, x.shape[2:])


@op("_onnx_LpPool")
class LpPool(_Power, _Pool):
    """The p-norm of sliding windows: the p-th root of the sum of the p-th powers of absolute values; padding is 0.

    Shapes: X (N, C, *spatial), any number of axes -> (N, C, *steps). Source: ONNX LpPool (opset 1 to newest)."""

    def composition(self, F, x):
        if not known(x) or 0 in definite(x.shape):
            return None
        (wide,) = widely(F, x.dtype, x)
        geometry = self.axes(x.shape[2:])
        data = covered(F, F.square(wide) if self.p == 2 else F.abs(wide) ** self.p, x.shape, geometry, 0)
        if data is None:
            return None
        total = summed(F, data, geometry)
        return narrowly(F, x.dtype, F.sqrt(total) if self.p == 2 else total ** (1 / self.p))

    def meaning(self, x):
        wide = widen(x)
        return narrow(self.root(self.reduce_windows(self.powers(wide), np.add, 0)), x.dtype)

    def gradient(self, F, dy, x, y):
        attrs = self.dump()
        attrs.pop("p", None)
        back = F._backward__backward__onnx_LpPool_sum(self.of_root(F, dy, y), x, **attrs, of=0)
        return back * self.of_powers(F, x)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 5, 6), kernel_shape=(3, 2), pads=(0, 1, 1, 0), strides=(2, 2))
        yield make(make.uniform(1, 2, 6), kernel_shape=(2,), dilations=(2,), p=3)


class _Global(Standard):
    """Base. Shapes: X (N, C, *spatial), any number of axes -> (N, C, 1...)."""

    inputs = ("X",)
    types = {"X": FLOATS}

    def shape(self, x):
        return (*x[:2], *(1,) * (len(x) - 2))


@linear(0)
@op("_onnx_GlobalAveragePool")
class GlobalAveragePool(_Global):
    """The mean over all spatial axes. Source: ONNX GlobalAveragePool (opset 1 to newest)."""

    def composition(self, F, x):
        axes = range(2, len(x.shape)) if known(x) else ()
        count = math.prod(definite(x.shape)[2:]) if known(x) else 0
        return computed_widely(F, x, lambda wide: total(F, wide, axes) / count if axes else wide) if count else None

    def meaning(self, x):
        return narrow(mean_over(widen(x), tuple(range(2, x.ndim)), keepdims=True), x.dtype)

    def adjoint(self, of, dy, x):
        return np.broadcast_to(dy / dy.dtype.type(max(1, math.prod(x.shape[2:]))), x.shape)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 2, 2, 1, 2))


@op("_onnx_GlobalMaxPool")
class GlobalMaxPool(_Global):
    """The maximum over all spatial axes; all equal maxima get the gradient. Source: ONNX GlobalMaxPool (opset 1 to newest)."""

    def composition(self, F, x):
        return extreme(F, "max", x, range(2, len(x.shape))) if known(x) and 0 not in definite(x.shape) else None

    def meaning(self, x):
        return x.max(tuple(range(2, x.ndim)), keepdims=True, initial=lowest(x.dtype)) if x.ndim > 2 else x.copy()

    def gradient(self, F, dy, x, y):
        return F.broadcast_mul(F.broadcast_equal(x, y), dy)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 2, 2))


@op("_onnx_GlobalLpPool")
class GlobalLpPool(_Power, _Global):
    """The p-norm over all spatial axes. Source: ONNX GlobalLpPool (opset 1 to newest)."""

    def composition(self, F, x):
        def function(wide):
            powers = F.square(wide) if self.p == 2 else F.abs(wide) ** self.p
            summed = total(F, powers, range(2, len(x.shape)))
            return F.sqrt(summed) if self.p == 2 else summed ** (1 / self.p)

        return computed_widely(F, x, function)

    def meaning(self, x):
        wide = self.powers(widen(x))
        return narrow(self.root(wide.sum(tuple(range(2, x.ndim)), keepdims=True)), x.dtype)

    def gradient(self, F, dy, x, y):
        return F.broadcast_mul(self.of_powers(F, x), self.of_root(F, dy, y))

    @classmethod
    def examples(cls, make):
        for p in (2, 3):
            yield make(make.uniform(2, 3, 2, 4), p=p)


@linear(0)
@op("_onnx_MaxUnpool")
class MaxUnpool(Standard):
    """Put the maxima that MaxPool chose back to where they were, zeros around them.

    Shapes: X and I (N, C, *steps), output_shape (axes of X,) -> (N, C, *spatial) with stride (steps - 1) + kernel - pads,
    in which I counts (onnxruntime: in output_shape); what output_shape is larger by is added at the end.
    Source: ONNX MaxUnpool (opset 9 to newest)."""

    kernel_shape: Counts
    pads: Ints = None
    strides: Counts | None = None

    exception = "windows with ceilings, dilations and counts of their own"

    inputs = ("X", "I", "output_shape")
    types = {"X": FLOATS, "I output_shape": {"int64"}}
    optional = ("output_shape",)
    needs = ("values",)
    data_dependent_shape = True

    def domain(self, name, shapes):
        return Domain(0, 0, integer=True) if name == "I" else None

    def _sizes(self, x):
        rank = len(self.kernel_shape)
        pads, strides = self.pads or (0,) * (2 * rank), self.strides or (1,) * rank
        spatial = zip(x[2:], strides, self.kernel_shape, pads, pads[rank:])
        return (*x[:2], *((n - 1) * s + k - b - a for n, s, k, b, a in spatial))

    def shape(self, x, i, output, *, values):
        rank = len(self.kernel_shape)
        want_rank(self, x, 2 + rank, what="X")
        merge(x, i)
        if output is None:
            return self._sizes(x)
        merge(output, (len(x),))
        return ints(values[2]) or (UNKNOWN,) * len(x)

    def _places(self, x, i):
        """(sizes in which I counts, I, flattened, from 0 on)."""
        sizes = self._sizes(x.shape)
        total = math.prod(sizes)
        where = i.reshape(-1)
        where = np.where(where < 0, where + total, where)
        if where.size and not (where.min() >= 0 and where.max() < total):
            raise self.error(f"got indices {i.min()} to {i.max()}, wanted them within {show(sizes)}")
        return sizes, where

    def meaning(self, x, i, output):
        sizes, where = self._places(x, i)
        y = np.zeros(math.prod(sizes), x.dtype)
        y[where] = x.reshape(-1)
        y = y.reshape(sizes)
        goal = sizes if output is None else ints(output)
        if goal == sizes:
            return y
        common = tuple(slice(min(a, b)) for a, b in itertools.zip_longest(sizes, goal, fillvalue=0))
        out = np.zeros(goal, x.dtype)
        out[common] = y[common]
        return out

    def adjoint(self, of, dy, x, i, output=None):
        sizes, where = self._places(x, i)
        common = tuple(slice(min(a, b)) for a, b in zip(sizes, dy.shape))
        whole = np.zeros(sizes, dy.dtype)
        whole[common] = dy[common]
        last = np.empty(whole.size, np.int64)  # of equal indices the last one is written
        last[where] = np.arange(where.size)
        return np.where(last[where] == np.arange(where.size), whole.reshape(-1)[where], 0).reshape(x.shape)

    @classmethod
    def examples(cls, make):
        places = make.array([[[[5, 7], [13, 15]]]], "int64")
        made = functools.partial(make, make.uniform(1, 1, 2, 2), places)
        yield made(kernel_shape=(2, 2), strides=(2, 2))
