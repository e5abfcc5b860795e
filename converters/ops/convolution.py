"""Convolution and its transpose as Conv and ConvTranspose."""

import math

import numpy as np

from hybrid.core.shapes import UNKNOWN, is_known

from ..error import Unsupported
from ..registry import exports, imports


def attributes(op) -> dict:
    """ONNX's names for how the windows of a convolution lie."""
    return {
        "kernel_shape": list(op.kernel),
        "strides": list(op.strides),
        "dilations": list(op.dilations),
        "pads": [*op.pads, *op.pads],
        "group": op.num_group,
    }


@exports("Convolution", "Convolution_v1")
def export_convolution(b, op, data, weight, bias=None):
    attrs = attributes(op)
    if not op.channels_last:
        return b.Conv(data, weight, bias, **attrs)
    rank = len(op.kernel) + 2
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    y = b.Conv(b.transpose(data, first), b.transpose(weight, first), bias, **attrs)
    return b.transpose(y, last)


@exports("Deconvolution")
def deconvolution(b, op, data, weight, bias=None):
    """Deconvolution as ConvTranspose; bilinear UpSampling is one too."""
    needs_sizes = any(op.target_shape)
    pad, adj = op.borders([data.dim(a) for a in range(2, data.rank)] if needs_sizes else op.kernel)
    size = op.infer_shape(data.sizes, weight.sizes)[2:]
    if any(n is not UNKNOWN and n == 0 for n in size):  # ONNX's ConvTranspose has no output without elements
        if not is_known(size):
            raise Unsupported(
                f"pad={op.pad} leaves an output without elements, whose other sizes are only known at run time"
            )
        dims = b.dims(b.size(data, 0), op.num_filter, *size)
        return b.Expand(b.const(np.zeros([1] * data.rank, data.dtype)), dims)
    return b.ConvTranspose(
        data,
        weight,
        bias,
        kernel_shape=list(op.kernel),
        strides=list(op.strides),
        dilations=list(op.dilations),
        pads=[*pad, *pad],
        output_padding=list(adj),
        group=op.num_group,
    )


def _one_hot_kernels(b, op, data, channels):
    """Weights (channels * prod(kernel), 1, *kernel) with which a grouped convolution picks every tap by itself."""
    taps = math.prod(op.kernel)
    return b.like(np.tile(np.eye(taps), (channels, 1)).reshape(channels * taps, 1, *op.kernel), data)


@exports("im2col")
def export_im2col(b, op, data):
    # by position, so that infinities and NaN stay where they are
    channels, *spatial = (data.dim(a) for a in range(1, data.rank))
    steps = op.steps(spatial)
    padded = [n + 2 * p for n, p in zip(spatial, op.pads)]
    position = np.zeros((*op.kernel, *steps), np.int64)
    sizes = zip(op.kernel, op.dilations, steps, op.strides, padded)
    for axis, (kernel, dilate, step, stride, size) in enumerate(sizes):
        along = np.arange(kernel)[:, None] * dilate + np.arange(step) * stride
        shape = [1] * position.ndim
        shape[axis], shape[len(op.kernel) + axis] = kernel, step
        position = position * size + along.reshape(shape)
    if any(op.pads):
        data = b.Pad(data, [0, 0, *op.pads, 0, 0, *op.pads])
    picked = b.Gather(b.reshape(data, [0, channels, math.prod(padded)]), position.ravel(), axis=2)
    return b.reshape(picked, [0, channels * math.prod(op.kernel), math.prod(steps)])


@exports("col2im")
def export_col2im(b, op, data):
    channels = data.dim(1) // math.prod(op.kernel)
    steps = op.steps(op.output_size)
    # what the windows do not reach at the far end is zero
    rest = [n + 2 * p - r - (w - 1) * s for n, p, r, w, s in zip(op.output_size, op.pads, op.reach, steps, op.strides)]
    return b.ConvTranspose(
        b.reshape(data, [0, data.dim(1), *steps]),
        _one_hot_kernels(b, op, data, channels),
        kernel_shape=list(op.kernel),
        strides=list(op.strides),
        dilations=list(op.dilations),
        pads=[*op.pads, *op.pads],
        output_padding=rest,
        group=channels,
    )


@exports("col2im", since=18)
def export_col2im_since_18(b, op, data):
    return b.Col2Im(
        data,
        list(op.output_size),
        list(op.kernel),
        strides=list(op.strides),
        dilations=list(op.dilations),
        pads=[*op.pads, *op.pads],
    )


# -- reading ----------------------------------------------------------------------------------------------------------------

FLOATS = ("float32", "float64", "float16")
"""The dtypes in which MXNet has neural networks."""


def window(x, rank, auto_pad, strides, dilations, kernel, pads):
    """(what is added at the beginning, at the end) of each spatial axis, negative where the windows of SAME_* lie apart; None when
    that is only known at run time, or as many numbers are not given as there are axes."""
    lengths = [len(v) for v in (strides, dilations, kernel)]
    if lengths != [rank] * 3 or (pads and len(pads) != 2 * rank):
        return None
    if not auto_pad.startswith("SAME"):
        pads = tuple(pads or (0,) * (2 * rank)) if auto_pad in ("NOTSET", "") else (0,) * (2 * rank)
        return pads[:rank], pads[rank:]
    spatial = (UNKNOWN,) * rank if x.shape is None else x.shape[2:]
    if len(spatial) != rank:
        return None
    totals = []
    for size, stride, dilation, length in zip(spatial, strides, dilations, kernel):
        if stride == 1:
            totals.append(dilation * (length - 1))
        elif size is UNKNOWN:
            return None
        else:
            totals.append((-(-size // stride) - 1) * stride + dilation * (length - 1) + 1 - size)
    less, more = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


def pad_spatial(g, x, before, after, fill=0.0):
    """x with its spatial axes extended, by MXNet's Pad, which is for two and three of them."""
    width = (0, 0, 0, 0, *(n for pair in zip(before, after) for n in pair))
    return g.Pad(x, mode="constant", pad_width=width, constant_value=fill)


def in_networks(x, *others):
    """True when MXNet has neural networks in the dtype of x, and all others that are there have the same."""
    return x.dtype is not None and x.dtype.name in FLOATS and all(v is None or v.dtype == x.dtype for v in others)


def _of_mxnet(x, w, b):
    """True when MXNet's own operators take these."""
    return w.shape is not None and is_known(w.shape) and 3 <= len(w.shape) <= 5 and in_networks(x, w, b)


@imports("Conv")
def import_conv(
    g, x, w, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None
):
    attrs = {
        "auto_pad": auto_pad,
        "dilations": dilations,
        "group": group,
        "kernel_shape": kernel_shape,
        "pads": pads,
        "strides": strides,
    }
    if not _of_mxnet(x, w, b):
        return g.passthrough(x, w, b, **attrs)
    kernel = w.shape[2:]
    rank = len(kernel)
    steps, gaps = strides or (1,) * rank, dilations or (1,) * rank
    edges = window(x, rank, auto_pad, steps, gaps, kernel, pads)
    fits = kernel_shape is None or tuple(kernel_shape) == kernel
    if edges is None or not fits or min(*edges[0], *edges[1]) < 0 or (rank == 1 and edges[0] != edges[1]):
        return g.passthrough(x, w, b, **attrs)
    before, after = edges
    if before != after:
        x, before = pad_spatial(g, x, before, after), (0,) * rank
    parts = (x, w) if b is None else (x, w, b)
    how = {
        "kernel": kernel,
        "stride": steps,
        "dilate": gaps,
        "pad": before,
        "num_filter": w.shape[0],
        "num_group": group,
    }
    return g.Convolution(*parts, **how, no_bias=b is None)


@imports("ConvTranspose")
def import_conv_transpose(
    g, x, w, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, output_padding=None, output_shape=None,
    pads=None, strides=None,
):  # fmt: skip
    attrs = {
        "auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape,
        "output_padding": output_padding, "output_shape": output_shape, "pads": pads, "strides": strides,
    }  # fmt: skip
    plain = auto_pad in ("NOTSET", "VALID") and not output_shape and _of_mxnet(x, w, b)
    edges, kernel, steps, gaps, added = None, (), (), (), ()
    if plain:
        kernel = w.shape[2:]
        rank = len(kernel)
        steps, gaps, added = strides or (1,) * rank, dilations or (1,) * rank, output_padding or (0,) * rank
        edges = window(x, rank, auto_pad, steps, gaps, kernel, pads)
        plain = (
            edges is not None
            and edges[0] == edges[1]
            and all(a < s for a, s in zip(added, steps))
            and (kernel_shape is None or tuple(kernel_shape) == kernel)
        )
    if not plain or edges is None:
        return g.passthrough(x, w, b, **attrs)
    parts = (x, w) if b is None else (x, w, b)
    how = {
        "kernel": kernel,
        "stride": steps,
        "dilate": gaps,
        "pad": edges[0],
        "adj": added,
        "num_filter": w.shape[1] * group,
    }
    return g.Deconvolution(*parts, **how, num_group=group, no_bias=b is None)


@imports("Col2Im", since=18)
def import_col2_im(g, x, image_shape, block_shape, *, dilations=None, pads=None, strides=None):
    fixed = image_shape.fixed and block_shape.fixed
    if (
        fixed
        and 1 <= len(block_shape.ints()) <= 3
        and (pads is None or pads[: len(pads) // 2] == pads[len(pads) // 2 :])
    ):
        kernel = tuple(block_shape.ints())
        how = {"stride": strides, "dilate": dilations, "pad": None if pads is None else pads[: len(kernel)]}
        how = {k: v for k, v in how.items() if v is not None}
        return g.col2im(x, output_size=tuple(image_shape.ints()), kernel=kernel, **how)
    return g.passthrough(x, image_shape, block_shape, dilations=dilations, pads=pads, strides=strides)
