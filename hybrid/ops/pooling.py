"""Pooling: maxima, means, sums and p-norms over windows."""

import math
from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from ..core.attrs import Counts, ShapeOrNone, Sizes
from ..core.error import OpError
from ..core.op import WHOLE, Op, op
from ..core.shapes import UNKNOWN, show
from .common import largest, mean_over, narrow, want_rank, widen
from .windows import pad_spatial

PIECE = 1 << 19
"""Bytes of data that are treated at a time: what is made of them stays in cache."""


def pieces(array: np.ndarray) -> Iterator[slice]:
    """Slices along the first axis, of PIECE bytes each; long enough to copy well."""
    size = max(16, PIECE // max(1, math.prod(array.shape[1:]) * array.itemsize))
    return (slice(n, n + size) for n in range(0, len(array), size))


@op("Pooling", "_npx_pooling")
class Pooling(Op):
    """max, avg, sum or lp (the p_value-th root of the sum of p_value-th powers, signs kept) over sliding windows.

    Shapes: data (N, C, *spatial) -> (N, C, *steps), steps = 1 + (size + 2 pad - kernel) / stride, rounded down (pooling_convention
    valid) or up (full); with global_pool one window covers everything, whatever kernel, stride and pad say. layout with C last:
    data (N, *spatial, C). A mean counts padding unless count_include_pad is False, but never what full adds beyond it.
    max ignores NaN and answers the least finite number where a window holds nothing else.
    """

    primitive = True

    refuses = WHOLE

    kernel: Sizes = ()
    pool_type: Literal["avg", "lp", "max", "sum"] = "max"
    global_pool: bool = False
    cudnn_off: bool = False
    pooling_convention: Literal["full", "same", "valid"] = "valid"
    stride: Counts = ()
    pad: Sizes = ()
    p_value: int | None = None
    count_include_pad: bool | None = None
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"] | None = None

    larger: ClassVar[np.ufunc] = np.fmax
    ranks_of_global: ClassVar[tuple[int, ...]] = (3, 4, 5)
    """Ranks of data that one window may cover."""
    ignored_attributes = ("output_size",)

    @classmethod
    def bind(cls, **attrs):
        if attrs.get("output_size") not in (None, "None"):
            raise OpError(
                f"{cls.name}: output_size={attrs['output_size']!r}: adaptive pooling by MXNet 2.0's attribute is not supported; "
                "use _contrib_AdaptiveAvgPooling2D"
            )
        return super().bind(**attrs)

    def check(self):
        if self.pool_type == "lp" and self.p_value not in (1, 2, 3):
            return f"got p_value={self.p_value}, wanted 1, 2 or 3"
        if self.global_pool:
            return None
        rank = len(self.kernel)
        if not 1 <= rank <= 3 or min(self.kernel) < 1:
            return f"got kernel={show(self.kernel)}, wanted 1 to 3 positive sizes (or global_pool)"
        if self.stride and len(self.stride) != rank:
            return f"got stride={show(self.stride)}, wanted {rank} positive sizes, as many as kernel has"
        if self.pad and len(self.pad) != rank:
            return f"got pad={show(self.pad)}, wanted {rank} sizes of 0 or more"
        if self.pooling_convention == "same":
            return "pooling_convention=same is refused, as MXNet refuses to run it; give pad and valid"
        return None

    @property
    def strides(self) -> tuple[int, ...]:
        return self.stride or (1,) * len(self.kernel)

    @property
    def pads(self) -> tuple[int, ...]:
        return self.pad or (0,) * len(self.kernel)

    @property
    def channels_last(self) -> bool:
        return self.layout is not None and self.layout[-1] == "C"

    @property
    def power(self) -> int:
        """Power that elements are raised to before they are added, and of the root that is taken of the sum."""
        return self.p_value if self.pool_type == "lp" and self.p_value else 1

    @property
    def include(self) -> bool:
        """True when a mean counts padding."""
        return self.count_include_pad is not False

    def spatial(self, rank: int) -> slice:
        """Slice of the spatial axes."""
        return slice(1, rank - 1) if self.channels_last else slice(2, rank)

    def steps(self, size, kernel, stride, pad):
        """Number of windows along an axis."""
        if size is not UNKNOWN and size + 2 * pad < kernel:
            raise self.error(f"got kernel={show(self.kernel)} for a size of {size} padded by {pad} at both ends")
        up = stride - 1 if self.pooling_convention == "full" else 0
        return (size + 2 * pad - kernel + up) // stride + 1

    def infer_shape(self, data):
        want_rank(self, data, *(self.ranks_of_global if self.global_pool else (len(self.kernel) + 2,)))
        where = self.spatial(len(data))
        if self.global_pool:
            steps = (1,) * (len(data) - 2)
        else:
            steps = tuple(map(self.steps, data[where], self.kernel, self.strides, self.pads))
        return (*data[: where.start], *steps, *data[where.stop :])

    def counts(self, size, kernel, stride, pad) -> np.ndarray:
        """Number of elements that a mean counts at each window along an axis; 1 where there are none, so that their mean is
        0."""
        start = np.arange(self.steps(size, kernel, stride, pad)) * stride - pad
        end = np.minimum(start + kernel, size + pad)
        counted = end - start if self.include else np.minimum(end, size) - np.maximum(start, 0)
        return np.maximum(counted, 1)

    @staticmethod
    def least(dtype: np.dtype) -> float:
        """Number that a maximum starts from."""
        return -largest(dtype)

    def kernel_matches(self, dtype):
        # what a maximum over nothing, NaN or -inf starts from is the least number of the dtype, and infinite in a narrower one
        return dtype.itemsize >= 4 or self.pool_type != "max"

    def compute(self, data):
        x = widen(data)
        if self.power > 1:
            x = x**self.power
        axes = range(x.ndim)[self.spatial(x.ndim)]
        if self.global_pool:
            y = self._everything(x, tuple(axes))
        elif self.channels_last:
            y = self._slide(x, axes, self.pads)
        else:
            y = np.empty_like(x, order="C", shape=self.infer_shape(x.shape))
            flat, target = (a.reshape(math.prod(a.shape[:2]), *a.shape[2:]) for a in (x, y))
            for piece in pieces(flat):
                target[piece] = self._slide(flat[piece], range(1, flat.ndim), self.pads)
        if self.power > 1:
            y = np.sqrt(y) if self.power == 2 else np.cbrt(y)
        if (
            self.pool_type == "max" and x.dtype != data.dtype
        ):  # the maximum starts from the least of the data's own dtype
            np.maximum(y, self.least(data.dtype), out=y)
        return narrow(y, data.dtype)

    def gradient(self, F, dy, data, y):
        if self.power == 1:
            return F._backward_Pooling(dy, data, y, **self.dump())
        each = F.where(y == 0, F.zeros_like(y), dy * y ** (1 - self.power))  # a window of zeros gives none, as in MXNet
        return F._backward_Pooling(each, data, y, **self.dump() | {"pool_type": "sum"}) * data ** (self.power - 1)

    def _everything(self, x, axes):
        if self.pool_type == "max":
            return self.larger.reduce(x, axes, keepdims=True, initial=self.least(x.dtype))
        return (mean_over if self.pool_type == "avg" else np.sum)(x, axes, keepdims=True)

    def _slide(self, x, axes, pads):
        """Windows are separable: axis after axis, as many slices as the kernel is long."""
        fold = self.larger if self.pool_type == "max" else np.add
        fill = self.least(x.dtype) if self.pool_type == "max" else 0
        count = np.ones((), x.dtype)
        for axis, kernel, stride, pad in zip(axes, self.kernel, self.strides, pads):
            size = x.shape[axis]
            steps = self.steps(size, kernel, stride, pad)
            if self.pool_type == "avg":
                count = np.expand_dims(count, -1) * self.counts(size, kernel, stride, pad)
            reach = (steps - 1) * stride + kernel
            needed = max(0, reach - size - pad)
            before, after = ([n * (a == axis) for a in range(x.ndim)] for n in (pad, needed))
            x = pad_spatial(x, tuple(before), tuple(after), fill)
            lead = (slice(None),) * axis
            y = np.full_like(x, fill, order="C", shape=(*x.shape[:axis], steps, *x.shape[axis + 1 :]))
            for i in range(kernel):
                fold(y, x[(*lead, slice(i, i + (steps - 1) * stride + 1, stride))], out=y)
            x = y
        if self.pool_type == "avg":
            x /= count.reshape(*count.shape, 1) if self.channels_last else count
        return x

    @classmethod
    def examples(cls, make):
        for pool_type in ("max", "avg", "sum"):
            yield make(make.uniform(1, 2, 5, 5), kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=pool_type)
        yield make(make.uniform(1, 2, 6), kernel=(3,), stride=(2,), pooling_convention="full", pool_type="avg")
        yield make(make.uniform(1, 2, 4, 4), kernel=(2, 2), pool_type="lp", p_value=2)
        yield make(make.uniform(1, 2, 3, 4), global_pool=True, pool_type="avg")


@op("Pooling_v1")
class PoolingV1(Pooling):
    """Pooling as MXNet before 0.9 had it.

    A mean divides by the size of the kernel wherever the window lies; in a maximum padding counts as 0, NaN wins, and nothing
    at all gives -inf. Shapes: as Pooling, 2-D only.
    """

    exception = "windows at the ends of which it has rules of its own"

    larger = np.maximum
    ranks_of_global = (4, 5)

    def check(self):
        problem = super().check()
        if problem is None and (self.pool_type == "lp" or self.layout or len(self.kernel) not in (0, 2)):
            return "takes max, avg and sum over two spatial axes, channels first"
        return problem

    @staticmethod
    def least(dtype):
        return -np.inf

    def kernel_matches(self, dtype):
        return True  # that is infinite in every dtype

    def _slide(self, x, axes, pads):
        return super()._slide(pad_spatial(x, pads, pads), axes, (0, 0))

    def gradient(self, F, dy, data, y):
        return F._backward_Pooling_v1(dy, data, y, **self.dump())

    def counts(self, size, kernel, stride, pad):
        return np.full(self.steps(size, kernel, stride, pad), kernel)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 5, 5), kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg")


@op("_contrib_AdaptiveAvgPooling2D")
class AdaptiveAvgPooling2D(Op):
    """Means over a grid of output_size windows that cover the image evenly: [floor(i H / h), ceil((i + 1) H / h)).

    Shapes: data (N, C, H, W) -> (N, C, h, w); output_size has h and w, one size for both, or nothing for 1.
    """

    exception = "windows of different sizes side by side"

    refuses = WHOLE

    output_size: ShapeOrNone = ()

    def check(self):
        if len(self.output_size) > 2 or any(n < 1 for n in self.output_size):
            return f"got output_size={show(self.output_size)}, wanted up to two positive sizes"
        return None

    @property
    def grid(self) -> tuple[int, int]:
        """Output height and width."""
        height, *width = self.output_size or (1,)
        return height, (width or [height])[0]

    @staticmethod
    def cells(size: int, count: int) -> list[tuple[int, int]]:
        """(start, end) of every window along an axis."""
        return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]

    def infer_shape(self, data):
        want_rank(self, data, 4)
        return (*data[:2], *self.grid)

    def compute(self, data):
        x = widen(data)
        for axis, count in zip((2, 3), self.grid):
            lead = (slice(None),) * axis
            means = [mean_over(x[(*lead, slice(*cell))], axis) for cell in self.cells(x.shape[axis], count)]
            x = np.stack(means, axis)
        return narrow(x, data.dtype)

    def gradient(self, F, dy, data, y):
        return F._backward_contrib_AdaptiveAvgPooling2D(dy, data, **self.dump())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 5, 7), output_size=(2, 3))
        yield make(make.uniform(1, 2, 4, 4))
