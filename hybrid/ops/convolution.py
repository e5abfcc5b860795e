"""Convolution, its transpose, and the rearrangements im2col and col2im.

All compute works on channels-first arrays of any number of spatial axes: data (N, C, *spatial), weight (O, C/groups, *kernel).
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import Literal

import numpy as np

from ..op import Op, op
from ..shapes import UNKNOWN, merge, show
from .common import narrow, want_rank, widen

BUFFER = 4 << 20, 64 << 20
"""Bytes of unfolded windows that are made at a time, at least and at most: few enough to stay in cache, but twice as many as
the weights have, which BLAS reads anew for every piece."""


class Windowed(Op):
    """Attributes of operators that slide a window: kernel, and per spatial axis stride, dilate (default 1) and pad (0)."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...] = ()
    dilate: tuple[int, ...] = ()
    pad: tuple[int, ...] = ()

    def check(self):
        rank = len(self.kernel)
        if not 1 <= rank <= 3 or min(self.kernel) < 1:
            return f"got kernel={show(self.kernel)}, wanted 1 to 3 positive sizes"
        for name in ("stride", "dilate", "pad", "adj", "target_shape"):
            value = getattr(self, name, ())
            if value and (len(value) != rank or min(value) < (name in ("stride", "dilate"))):
                return f"got {name}={show(value)}, wanted {rank} sizes, as many as kernel has"
        return None

    @property
    def strides(self) -> tuple[int, ...]:
        return self.stride or (1,) * len(self.kernel)

    @property
    def dilations(self) -> tuple[int, ...]:
        return self.dilate or (1,) * len(self.kernel)

    @property
    def pads(self) -> tuple[int, ...]:
        return self.pad or (0,) * len(self.kernel)

    @property
    def reach(self) -> tuple[int, ...]:
        """Sizes of the window, gaps of dilation included."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations))

    def steps(self, spatial):
        """How many windows fit along each spatial axis. Raises OpError when one does not fit at all."""
        for size, reach, pad in zip(spatial, self.reach, self.pads):
            if size is not UNKNOWN and size + 2 * pad < reach:
                window = f"window of {show(self.reach)} (kernel with dilate)"
                raise self.fail(f"got a {window} for data of {show(spatial)} padded by {show(self.pads)}")
        return tuple((size + 2 * p - r) // s + 1 for size, r, s, p in zip(spatial, self.reach, self.strides, self.pads))


def pad_spatial(x: np.ndarray, before: tuple[int, ...], after: tuple[int, ...], fill: float = 0) -> np.ndarray:
    """x with its last axes extended by ``fill``; x itself where nothing is to be added."""
    if not any(before) and not any(after):
        return x
    rest = x.shape[: x.ndim - len(before)]
    spatial = x.shape[x.ndim - len(before) :]
    out = np.full((*rest, *(b + n + a for b, n, a in zip(before, spatial, after))), fill, x.dtype)
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


def convolve(x, weight, stride, dilate, pad, groups, out=None):
    """The cross-correlation of x (N, C, *spatial) with weight (O, C/groups, *kernel), without bias."""
    kernel = weight.shape[2:]
    batch, channels = x.shape[:2]
    filters = len(weight)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilate)]
    steps = tuple((n + 2 * p - r) // s + 1 for n, p, r, s in zip(x.shape[2:], pad, reach, stride))
    if out is None:
        out = np.empty((batch, filters, *steps), x.dtype)
    if not out.size:
        return out
    if not channels:
        out[...] = 0
        return out
    x = pad_spatial(x, pad, pad)
    if channels == groups and math.prod(kernel) > 1:
        return _depthwise(x, weight, stride, dilate, steps, out)
    weight = weight.reshape(groups, filters // groups, -1)
    result = out.reshape(batch, groups, filters // groups, math.prod(steps))
    if math.prod(kernel) == 1:
        x = x[(..., *(slice(None, (n - 1) * s + 1, s) for n, s in zip(steps, stride)))]
        columns = x.reshape(batch, groups, channels // groups, -1)
        _multiply(weight, columns, result)
        return out
    view = windows(x, kernel, stride, dilate, steps)
    depth = channels // groups * math.prod(kernel)
    inner = math.prod(steps[1:])  # columns made by one step along the first spatial axis
    budget = min(max(BUFFER[0], 2 * weight.nbytes), BUFFER[1])
    rows = max(1, min(steps[0], budget // (groups * depth * inner * x.itemsize)))
    buffer = np.empty(groups * depth * rows * inner, x.dtype)
    lead = (slice(None),) * (1 + len(kernel))
    for n in range(batch):
        for row in range(0, steps[0], rows):
            piece = view[n][(*lead, slice(row, row + rows))]
            columns = buffer[: piece.size].reshape(piece.shape)
            columns[...] = piece
            columns = columns.reshape(groups, depth, -1)
            _multiply(weight, columns, result[n, :, :, row * inner : row * inner + columns.shape[-1]])
    return out


def _multiply(weight: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
    """out = weight @ columns over the leading axes. One group is multiplied as matrices, which needs no broadcasting."""
    if len(weight) > 1 or columns.ndim > 3:
        np.matmul(weight, columns, out=out)
    else:
        np.matmul(weight[0], columns[0], out=out[0])


def _depthwise(x, weight, stride, dilate, steps, out):
    """One input channel for each filter: a sum over the kernel's taps, channels in pieces that stay in cache."""
    kernel = weight.shape[2:]
    channels = x.shape[1]
    each = len(weight) // channels
    weight = weight.reshape(channels, each, *kernel, *(1,) * len(kernel))
    size = math.prod(steps) * each * x.itemsize
    piece = max(1, (256 << 10) // size)
    scratch = np.empty((min(piece, channels), each, *steps), x.dtype)
    for n in range(len(x)):
        result = out[n].reshape(channels, each, *steps)
        for c in range(0, channels, piece):
            source = x[n, c : c + piece, None]
            target = result[c : c + piece]
            product_ = scratch[: len(target)]
            for i, (tap, index) in enumerate(taps(kernel, stride, dilate, steps)):
                factor = weight[(slice(c, c + piece), slice(None), *tap)]
                if i == 0:
                    np.multiply(source[index], factor, out=target)
                else:
                    np.multiply(source[index], factor, out=product_)
                    target += product_
    return out


def fold(columns, size, kernel, stride, dilate, steps):
    """The sum of windows (..., *kernel, *steps) placed where they came from: the transpose of ``windows``, (..., *size).

    Elements whose positions leave the same rest by the stride are kept together until the end, so that every tap adds to
    memory in one run."""
    rank = len(kernel)
    lead = columns.shape[: columns.ndim - 2 * rank]
    rows = [n + (k - 1) * d // s for n, k, d, s in zip(steps, kernel, dilate, stride)]
    out = np.zeros((*lead, *stride, *rows), columns.dtype)
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


def deconvolve(x, weight, stride, dilate, groups):
    """The transpose of a convolution, nothing cut off: x (N, C, *spatial), weight (C, O/groups, *kernel)."""
    kernel = weight.shape[2:]
    batch, channels, *steps = x.shape
    steps = tuple(steps)
    each = weight.shape[1]
    size = tuple((n - 1) * s + d * (k - 1) + 1 for n, s, k, d in zip(steps, stride, kernel, dilate))
    out = np.empty((batch, groups * each, *size), x.dtype)
    flat = weight.reshape(groups, channels // groups, -1).swapaxes(1, 2)
    for n in range(batch):
        pixels = x[n].reshape(groups, channels // groups, -1)
        columns = flat * pixels if channels == groups else flat @ pixels
        out[n] = fold(columns.reshape(groups * each, *kernel, *steps), size, kernel, stride, dilate, steps)
    return out


def _channels_first(array: np.ndarray, last: bool) -> np.ndarray:
    return np.moveaxis(array, -1, 1) if last else array


def _check_groups(filters: int, groups: int) -> str | None:
    if groups < 1 or filters < 1 or filters % groups:
        return f"got num_filter={filters} and num_group={groups}, wanted a positive multiple"
    return None


@op("Convolution", "_npx_convolution")
class Convolution(Windowed):
    """Cross-correlation of data with num_filter filters, plus bias; channels and filters in num_group separate groups.

    Shapes: data (N, C, *spatial), weight (num_filter, C/num_group, *kernel), bias (num_filter,)
    -> (N, num_filter, *steps) with steps = (size + 2 pad - dilate (kernel - 1) - 1) // stride + 1.
    layout NHWC and NDHWC (which MXNet runs on GPUs only): data (N, *spatial, C), weight (num_filter, *kernel, C/num_group).
    """

    num_filter: int
    num_group: int = 1
    workspace: int = 1024
    no_bias: bool = False
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None
    cudnn_off: bool = False
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"] | None = None

    inputs = ("data", "weight", "bias")
    into = True

    def check(self):
        problem = super().check() or _check_groups(self.num_filter, self.num_group)
        if problem:
            return problem
        if self.layout and len(self.layout) != len(self.kernel) + 2:
            return f"got layout={self.layout} for kernel={show(self.kernel)}, wanted {len(self.kernel) + 2} letters"
        return None

    @property
    def channels_last(self) -> bool:
        return self.layout is not None and self.layout[-1] == "C"

    def takes(self):
        return self.inputs[: 2 if self.no_bias else 3]

    def _split(self, shape):
        """(N, C, spatial) of a shape in the operator's layout."""
        want_rank(self, shape, len(self.kernel) + 2)
        return (shape[0], shape[-1], shape[1:-1]) if self.channels_last else (shape[0], shape[1], shape[2:])

    def _join(self, batch, channels, spatial):
        return (batch, *spatial, channels) if self.channels_last else (batch, channels, *spatial)

    def infer_input_shapes(self, shapes, outputs):
        data, weight, *bias = shapes
        if data is not None:
            each = self._split(data)[1] // self.num_group
            weight = merge(weight, self._join(self.num_filter, each, self.kernel))
        if outputs[0] is not None and weight is not None:
            # a state whose batch size was left open (0) learns it here; sizes are determined where nothing is skipped
            batch, _, steps = self._split(outputs[0])
            sizes = zip(steps, self.reach, self.strides, self.pads)
            spatial = tuple(n + r - 1 - 2 * p if s == 1 else UNKNOWN for n, r, s, p in sizes)
            data = merge(data, self._join(batch, self._split(weight)[1] * self.num_group, spatial))
        return [data, weight, *((self.num_filter,) for _ in bias)]

    def infer_shape(self, data, weight, *bias):
        batch, channels, spatial = self._split(data)
        if channels is not UNKNOWN and channels % self.num_group:
            raise self.fail(f"got {channels} channels, wanted a multiple of num_group={self.num_group}")
        return self._join(batch, self.num_filter, self.steps(spatial))

    def compute(self, data, weight, *bias, out=None):
        x = _channels_first(widen(data), self.channels_last)
        kernels = _channels_first(widen(weight), self.channels_last)
        direct = out if x.dtype == data.dtype and not self.channels_last else None
        y = convolve(x, kernels, self.strides, self.dilations, self.pads, self.num_group, direct)
        if bias:
            y += bias[0].reshape(-1, *(1,) * len(self.kernel))
        return narrow(np.moveaxis(y, 1, -1) if self.channels_last else y, data.dtype, out)

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(2, 4, 5, 5),
            make.uniform(6, 2, 3, 3),
            make.uniform(6),
            kernel=(3, 3),
            num_filter=6,
            num_group=2,
        )
        yield make(
            make.uniform(1, 2, 6, 5),
            make.uniform(3, 2, 3, 2),
            kernel=(3, 2),
            stride=(2, 1),
            pad=(1, 0),
            num_filter=3,
            no_bias=True,
        )
        yield make(
            make.uniform(1, 3, 5),
            make.uniform(3, 1, 2),
            kernel=(2,),
            dilate=(2,),
            num_filter=3,
            num_group=3,
            no_bias=True,
        )


@op("Convolution_v1")
class ConvolutionV1(Convolution):
    """Convolution as MXNet before 0.9 had it: the same meaning."""

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 4, 4), make.uniform(3, 2, 3, 3), kernel=(3, 3), num_filter=3, no_bias=True)


@op("Deconvolution", "_npx_deconvolution")
class Deconvolution(Windowed):
    """The transpose of Convolution: every input element adds a multiple of the kernel to the output.

    Shapes: data (N, C, *spatial), weight (C, num_filter/num_group, *kernel), bias (num_filter,) -> (N, num_filter, *out)
    with out = stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj, or target_shape where any of it is not 0 (then pad
    and adj follow from it). Channels-last layouts are refused, as MXNet does.
    """

    adj: tuple[int, ...] = ()
    target_shape: tuple[int, ...] = ()
    num_filter: int
    num_group: int = 1
    workspace: int = 512
    no_bias: bool = True
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None
    cudnn_off: bool = False
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"] | None = None

    inputs = ("data", "weight", "bias")
    into = True

    def check(self):
        return super().check() or _check_groups(self.num_filter, self.num_group)

    def takes(self):
        return self.inputs[: 2 if self.no_bias else 3]

    def borders(self, spatial) -> tuple[tuple, tuple]:
        """(pad, adj) per spatial axis: what is cut off both ends, and what is then added at the far end."""
        if any(self.target_shape):
            whole = self._whole(spatial)
            excess = [w - t for w, t in zip(whole, self.target_shape)]
            if any(e is not UNKNOWN and e < 0 for e in excess):
                raise self.fail(f"got target_shape={show(self.target_shape)}, wanted at most {show(whole)}")
            pad, adj = tuple((e + 1) // 2 for e in excess), tuple(e % 2 for e in excess)
        else:
            pad, adj = self.pads, self.adj or (0,) * len(self.kernel)
        if any(a is not UNKNOWN and a >= s for a, s in zip(adj, self.strides)):
            raise self.fail(f"got adj={show(adj)}, wanted less than stride={show(self.strides)}")
        return pad, adj

    def _whole(self, spatial):
        """Output sizes before anything is cut off."""
        return tuple((n - 1) * s + r for n, s, r in zip(spatial, self.strides, self.reach))

    def infer_input_shapes(self, shapes, outputs):
        data, weight, *bias = shapes
        if data is not None:
            want_rank(self, data, len(self.kernel) + 2)
            weight = merge(weight, (data[1], self.num_filter // self.num_group, *self.kernel))
        if outputs[0] is not None and weight is not None:
            data = merge(data, (outputs[0][0], weight[0], *(UNKNOWN for _ in self.kernel)))
        return [data, weight, *((self.num_filter,) for _ in bias)]

    def infer_shape(self, data, weight, *bias):
        want_rank(self, data, len(self.kernel) + 2)
        if self.layout and self.layout[-1] == "C":
            raise self.fail(f"layout={self.layout} is not supported, wanted channels first")
        if data[1] is not UNKNOWN and data[1] % self.num_group:
            raise self.fail(f"got {data[1]} channels, wanted a multiple of num_group={self.num_group}")
        pad, adj = self.borders(data[2:])
        if any(self.target_shape):
            return (data[0], self.num_filter, *self.target_shape)
        spatial = tuple(w - 2 * p + a for w, p, a in zip(self._whole(data[2:]), pad, adj))
        if any(n is not UNKNOWN and n < 0 for n in spatial):
            raise self.fail(f"got pad={show(pad)}, which cuts off more than there is of {show(self._whole(data[2:]))}")
        return (data[0], self.num_filter, *spatial)

    def compute(self, data, weight, *bias, out=None):
        y = deconvolve(widen(data), widen(weight), self.strides, self.dilations, self.num_group)
        pad, adj = self.borders(data.shape[2:])
        short = tuple(max(0, a - p) for p, a in zip(pad, adj))
        y = pad_spatial(y, (0,) * len(pad), short)
        sizes = (w - 2 * p + a for w, p, a in zip(self._whole(data.shape[2:]), pad, adj))
        y = y[(..., *(slice(p, p + n) for p, n in zip(pad, sizes)))]
        if bias:
            y += bias[0].reshape(-1, *(1,) * len(self.kernel))
        return narrow(y, data.dtype, out)

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(1, 2, 3, 3), make.uniform(2, 2, 3, 3), kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=2
        )
        yield make(
            make.uniform(2, 2, 3), make.uniform(2, 1, 3), make.uniform(2), kernel=(3,), stride=(2,), adj=(1,),
            num_filter=2, num_group=2, no_bias=False,
        )  # fmt: skip


@op("im2col")
class Im2Col(Windowed):
    """The windows of images as columns: data (N, C, H, W) -> (N, C * prod(kernel), number of windows)."""

    def infer_shape(self, data):
        want_rank(self, data, len(self.kernel) + 2)
        steps = self.steps(data[2:])
        return (data[0], data[1] * math.prod(self.kernel), _product(steps))

    def compute(self, data):
        steps = self.steps(data.shape[2:])
        x = pad_spatial(data, self.pads, self.pads)
        view = windows(x, self.kernel, self.strides, self.dilations, steps)
        return view.reshape(len(data), data.shape[1] * math.prod(self.kernel), math.prod(steps))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 4, 4), kernel=(2, 2), stride=(2, 1), pad=(1, 0))


@op("col2im")
class Col2Im(Windowed):
    """Columns put back and added up, the transpose of im2col: data (N, C * prod(kernel), windows) -> (N, C, *output_size)."""

    output_size: tuple[int, ...]

    def infer_shape(self, data):
        want_rank(self, data, 3)
        want = math.prod(self.steps(self.output_size))
        if data[2] is not UNKNOWN and data[2] != want:
            raise self.fail(f"got {data[2]} columns, wanted {want} for output_size={show(self.output_size)}")
        if data[1] is not UNKNOWN and data[1] % math.prod(self.kernel):
            raise self.fail(f"got {data[1]} rows, wanted a multiple of the {math.prod(self.kernel)} elements of kernel")
        return (data[0], data[1] // math.prod(self.kernel), *self.output_size)

    def compute(self, data):
        steps = self.steps(self.output_size)
        columns = widen(data).reshape(len(data), -1, *self.kernel, *steps)
        size = tuple(n + 2 * p for n, p in zip(self.output_size, self.pads))
        y = fold(columns, size, self.kernel, self.strides, self.dilations, steps)
        y = y[(..., *(slice(p, p + n) for p, n in zip(self.pads, self.output_size)))]
        return narrow(y, data.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 8, 9), output_size=(4, 4), kernel=(2, 2), stride=(2, 1), pad=(1, 0))


def _product(dims):
    """math.prod for dims that may be UNKNOWN."""
    total = 1
    for dim in dims:
        total = dim * total
    return total
