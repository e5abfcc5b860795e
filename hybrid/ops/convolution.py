"""Convolution, its transpose, and the rearrangements im2col and col2im, with the operators that their gradients consist of.

A convolution is bilinear, so the derivatives of the three products in windows.py are these products again: data and weight
to output, output and weight to data (``_backward_*_data``), data and output to weight (``_backward_*_weight``).
"""

import math
from typing import Literal

import numpy as np

from ..core.attrs import Count, Counts, Sizes
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, merge, show
from .common import narrow, part_of, want_rank, widen
from .windows import convolve, correlate, deconvolve, fold, pad_spatial, windows


class Windowed(Op):
    """Attributes of operators that slide a window: kernel, and per spatial axis stride, dilate (default 1) and pad (0)."""

    kernel: Counts
    stride: Counts = ()
    dilate: Counts = ()
    pad: Sizes = ()

    def check(self):
        rank = len(self.kernel)
        if not 1 <= rank <= 3:
            return f"got kernel={show(self.kernel)}, wanted 1 to 3 positive sizes"
        for name in ("stride", "dilate", "pad", "adj", "target_shape"):
            value = getattr(self, name, ())
            if value and len(value) != rank:
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
        """Number of windows that fit along each spatial axis. Raises OpError when one does not fit at all."""
        for size, reach, pad in zip(spatial, self.reach, self.pads):
            if size is not UNKNOWN and size + 2 * pad < reach:
                window = f"window of {show(self.reach)} (kernel with dilate)"
                raise self.error(f"got a {window} for data of {show(spatial)} padded by {show(self.pads)}")
        return tuple((size + 2 * p - r) // s + 1 for size, r, s, p in zip(spatial, self.reach, self.strides, self.pads))


def _channels_first(array: np.ndarray, last: bool) -> np.ndarray:
    return np.moveaxis(array, -1, 1) if last else array


def _check_groups(filters: int, groups: int) -> str | None:
    if filters % groups:
        return f"got num_filter={filters} and num_group={groups}, wanted a positive multiple"
    return None


@op("Convolution", "_npx_convolution")
class Convolution(Windowed):
    """Cross-correlation of data with num_filter filters, plus bias; channels and filters in num_group separate groups.

    Shapes: data (N, C, *spatial), weight (num_filter, C/num_group, *kernel), bias (num_filter,)
    -> (N, num_filter, *steps) with steps = (size + 2 pad - dilate (kernel - 1) - 1) // stride + 1.
    layout NHWC and NDHWC (which MXNet runs on GPUs only): data (N, *spatial, C), weight (num_filter, *kernel, C/num_group).
    """

    num_filter: Count
    num_group: Count = 1
    workspace: int = 1024
    no_bias: bool = False
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None
    cudnn_off: bool = False
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"] | None = None

    primitive = True

    inputs = ("data", "weight", "bias")
    supports_out = True

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

    def input_names(self):
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
            raise self.error(f"got {channels} channels, wanted a multiple of num_group={self.num_group}")
        return self._join(batch, self.num_filter, self.steps(spatial))

    def compute(self, data, weight, *bias, out=None):
        x = _channels_first(widen(data), self.channels_last)
        kernels = _channels_first(widen(weight), self.channels_last)
        direct = out if x.dtype == data.dtype and not self.channels_last else None
        y = convolve(x, kernels, self.strides, self.dilations, self.pads, self.num_group, direct)
        if bias:
            y += bias[0].reshape(-1, *(1,) * len(self.kernel))
        return narrow(np.moveaxis(y, 1, -1) if self.channels_last else y, data.dtype, out)

    def gradient(self, F, dy, data, weight, *rest):
        attrs = self.dump()
        return (
            F._backward_Convolution_data(dy, weight, data, **attrs),
            F._backward_Convolution_weight(dy, data, weight, **attrs),
            *([] if self.no_bias else [F.sum(dy, axis=-1 if self.channels_last else 1, exclude=True)]),
        )

    def plain(self) -> dict[str, str]:
        """Its attributes without bias, for gradients of gradients."""
        return self.dump() | {"no_bias": "True"}

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


class _Product(Op):
    """One of the two other products of a convolution: (dy, the other factor, what the result is for) -> as the last."""

    supports_out = False

    def input_names(self):
        return self.inputs

    def infer_input_shapes(self, shapes, outputs):
        return [*shapes[:2], merge(shapes[2], outputs[0])]

    def infer_shape(self, dy, factor, like):
        return like


@op("_backward_Convolution_data")
@part_of("Convolution")
class BackwardConvolutionData(_Product, Convolution):
    """Gradient of a convolution by data: dy and weight to the shape of data, whose values are not read."""

    inputs = ("dy", "weight", "data")

    def compute(self, dy, weight, data):
        y, w = (_channels_first(widen(a), self.channels_last) for a in (dy, weight))
        size = self._split(data.shape)[2]
        x = deconvolve(y, w, self.strides, self.dilations, self.pads, self.num_group, size)
        return narrow(np.moveaxis(x, 1, -1) if self.channels_last else x, data.dtype)

    def gradient(self, F, g, dy, weight, data, dx):
        attrs = self.plain()
        return F.Convolution(g, weight, **attrs), F._backward_Convolution_weight(dy, g, weight, **attrs), None


@op("_backward_Convolution_weight")
@part_of("Convolution")
class BackwardConvolutionWeight(_Product, Convolution):
    """Gradient of a convolution by weight: dy and data to the shape of weight, whose values are not read."""

    inputs = ("dy", "data", "weight")

    def compute(self, dy, data, weight):
        y, x = (_channels_first(widen(a), self.channels_last) for a in (dy, data))
        w = correlate(x, y, self.kernel, self.strides, self.dilations, self.pads, self.num_group)
        return narrow(np.moveaxis(w, 1, -1) if self.channels_last else w, weight.dtype)

    def gradient(self, F, g, dy, data, weight, dw):
        attrs = self.plain()
        return F.Convolution(data, g, **attrs), F._backward_Convolution_data(dy, g, data, **attrs), None


@op("Convolution_v1")
class ConvolutionV1(Convolution):
    """Convolution as MXNet before 0.9 had it: the same meaning."""

    def composition(self, F, *inputs):
        return F.Convolution(*inputs, **self.dump())

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

    meanings = {"target_shape": "Sizes of the output's spatial axes; empty: they follow from the rest."}

    adj: Sizes = ()
    target_shape: Sizes = ()
    num_filter: Count
    num_group: Count = 1
    workspace: int = 512
    no_bias: bool = True
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None
    cudnn_off: bool = False
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"] | None = None

    primitive = True

    inputs = ("data", "weight", "bias")
    supports_out = True

    def check(self):
        return super().check() or _check_groups(self.num_filter, self.num_group)

    def input_names(self):
        return self.inputs[: 2 if self.no_bias else 3]

    def borders(self, spatial) -> tuple[tuple, tuple]:
        """(pad, adj) per spatial axis: what is cut off both ends, and what is then added at the far end."""
        if any(self.target_shape):
            whole = self._whole(spatial)
            excess = [w - t for w, t in zip(whole, self.target_shape)]
            if any(e is not UNKNOWN and e < 0 for e in excess):
                raise self.error(f"got target_shape={show(self.target_shape)}, wanted at most {show(whole)}")
            pad, adj = tuple((e + 1) // 2 for e in excess), tuple(e % 2 for e in excess)
        else:
            pad, adj = self.pads, self.adj or (0,) * len(self.kernel)
        if any(a is not UNKNOWN and a >= s for a, s in zip(adj, self.strides)):
            raise self.error(f"got adj={show(adj)}, wanted less than stride={show(self.strides)}")
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
            raise self.error(f"layout={self.layout} is not supported, wanted channels first")
        if data[1] is not UNKNOWN and data[1] % self.num_group:
            raise self.error(f"got {data[1]} channels, wanted a multiple of num_group={self.num_group}")
        pad, adj = self.borders(data[2:])
        if any(self.target_shape):
            return (data[0], self.num_filter, *self.target_shape)
        spatial = tuple(w - 2 * p + a for w, p, a in zip(self._whole(data[2:]), pad, adj))
        if any(n is not UNKNOWN and n < 0 for n in spatial):
            raise self.error(f"got pad={show(pad)}, which cuts off more than there is of {show(self._whole(data[2:]))}")
        return (data[0], self.num_filter, *spatial)

    def compute(self, data, weight, *bias, out=None):
        spatial = data.shape[2:]
        size = self.infer_shape(data.shape, weight.shape)[2:]
        pad, _ = self.borders(spatial)
        y = deconvolve(widen(data), widen(weight), self.strides, self.dilations, pad, self.num_group, size)
        if bias:
            y += bias[0].reshape(-1, *(1,) * len(self.kernel))
        return narrow(y, data.dtype, out)

    def uncut(self, y, spatial):
        """y (N, O, *size), made from data of that spatial size, as it was before anything was cut off or added."""
        pad, _ = self.borders(spatial)
        whole = self._whole(spatial)
        y = y[(..., *(slice(0, w - p) for w, p in zip(whole, pad)))]
        return pad_spatial(y, pad, tuple(w - p - n for w, p, n in zip(whole, pad, y.shape[2:])))

    def gradient(self, F, dy, data, weight, *rest):
        attrs = self.dump()
        return (
            F._backward_Deconvolution_data(dy, weight, data, **attrs),
            F._backward_Deconvolution_weight(dy, data, weight, **attrs),
            *([] if self.no_bias else [F.sum(dy, axis=1, exclude=True)]),
        )

    def plain(self) -> dict[str, str]:
        """Its attributes without bias, for gradients of gradients."""
        return self.dump() | {"no_bias": "True"}

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(1, 2, 3, 3), make.uniform(2, 2, 3, 3), kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=2
        )
        yield make(
            make.uniform(2, 2, 3), make.uniform(2, 1, 3), make.uniform(2), kernel=(3,), stride=(2,), adj=(1,),
            num_filter=2, num_group=2, no_bias=False,
        )  # fmt: skip


@op("_backward_Deconvolution_data")
@part_of("Deconvolution")
class BackwardDeconvolutionData(_Product, Deconvolution):
    """Gradient of a deconvolution by data: dy and weight to the shape of data, whose values are not read."""

    inputs = ("dy", "weight", "data")

    def compute(self, dy, weight, data):
        none = (0,) * len(self.kernel)
        y = self.uncut(widen(dy), data.shape[2:])
        return narrow(convolve(y, widen(weight), self.strides, self.dilations, none, self.num_group), data.dtype)

    def gradient(self, F, g, dy, weight, data, dx):
        attrs = self.plain()
        return F.Deconvolution(g, weight, **attrs), F._backward_Deconvolution_weight(dy, g, weight, **attrs), None


@op("_backward_Deconvolution_weight")
@part_of("Deconvolution")
class BackwardDeconvolutionWeight(_Product, Deconvolution):
    """Gradient of a deconvolution by weight: dy and data to the shape of weight, whose values are not read."""

    inputs = ("dy", "data", "weight")

    def compute(self, dy, data, weight):
        none = (0,) * len(self.kernel)
        y = self.uncut(widen(dy), data.shape[2:])
        w = correlate(y, widen(data), self.kernel, self.strides, self.dilations, none, self.num_group)
        return narrow(w, weight.dtype)

    def gradient(self, F, g, dy, data, weight, dw):
        attrs = self.plain()
        return F.Deconvolution(data, g, **attrs), F._backward_Deconvolution_data(dy, g, data, **attrs), None


@op("im2col")
class Im2Col(Windowed):
    """The windows of images as columns: data (N, C, H, W) -> (N, C * prod(kernel), number of windows)."""

    primitive = True

    def infer_shape(self, data):
        want_rank(self, data, len(self.kernel) + 2)
        steps = self.steps(data[2:])
        return (data[0], data[1] * math.prod(self.kernel), _product(steps))

    def compute(self, data):
        steps = self.steps(data.shape[2:])
        x = pad_spatial(data, self.pads, self.pads)
        view = windows(x, self.kernel, self.strides, self.dilations, steps)
        return view.reshape(len(data), data.shape[1] * math.prod(self.kernel), math.prod(steps))

    def gradient(self, F, dy, data, y):
        return F._backward_im2col(dy, data, **self.dump())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 4, 4), kernel=(2, 2), stride=(2, 1), pad=(1, 0))


@op("_backward_im2col")
@part_of("im2col")
class BackwardIm2Col(Windowed):
    """Columns put back and added up: (dy, data) -> as data, whose values are not read."""

    inputs = ("dy", "data")

    def infer_shape(self, dy, data):
        return data

    def compute(self, dy, data):
        return _put_back(self, dy, data.shape[2:])

    def gradient(self, F, g, dy, data, dx):
        return F.im2col(g, **self.dump()), None


def _put_back(op: Windowed, data, size):
    """The columns of windows over an image of that size, each element added where it came from."""
    steps = op.steps(size)
    pieces = widen(data).reshape(len(data), data.shape[1] // math.prod(op.kernel), *op.kernel, *steps)
    padded = tuple(n + 2 * p for n, p in zip(size, op.pads))
    y = fold(pieces, padded, op.kernel, op.strides, op.dilations, steps)
    return narrow(y[(..., *(slice(p, p + n) for p, n in zip(op.pads, size)))], data.dtype)


@op("col2im")
class Col2Im(Windowed):
    """Columns put back and added up, the transpose of im2col: data (N, C * prod(kernel), windows) -> (N, C, *output_size)."""

    output_size: Sizes

    primitive = True

    positional_first = ("output_size",)

    def infer_shape(self, data):
        want_rank(self, data, 3)
        if len(self.output_size) != len(self.kernel):
            raise self.error(
                f"got output_size={show(self.output_size)}, wanted {len(self.kernel)} sizes, as many as kernel has"
            )
        want = math.prod(self.steps(self.output_size))
        if data[2] is not UNKNOWN and data[2] != want:
            raise self.error(f"got {data[2]} columns, wanted {want} for output_size={show(self.output_size)}")
        if data[1] is not UNKNOWN and data[1] % math.prod(self.kernel):
            raise self.error(
                f"got {data[1]} rows, wanted a multiple of the {math.prod(self.kernel)} elements of kernel"
            )
        return (data[0], data[1] // math.prod(self.kernel), *self.output_size)

    def compute(self, data):
        return _put_back(self, data, self.output_size)

    def gradient(self, F, dy, data, y):
        attrs = self.dump()
        del attrs["output_size"]
        return F.im2col(dy, **attrs)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 8, 9), output_size=(4, 4), kernel=(2, 2), stride=(2, 1), pad=(1, 0))


def _product(dims):
    """math.prod for dims that may be UNKNOWN."""
    total = 1
    for dim in dims:
        total = dim * total
    return total
