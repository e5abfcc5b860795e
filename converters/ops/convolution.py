"""Convolution and its transpose as Conv and ConvTranspose."""

import math

import numpy as np

from ..registry import to_onnx


@to_onnx("Convolution", "Convolution_v1")
def _(b, op, data, weight, bias=None):
    attrs = {
        "kernel_shape": list(op.kernel),
        "strides": list(op.strides),
        "dilations": list(op.dilations),
        "pads": [*op.pads, *op.pads],
        "group": op.num_group,
    }
    if not op.channels_last:
        return b.Conv(data, weight, bias, **attrs)
    rank = len(op.kernel) + 2
    first, last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    y = b.Conv(b.transpose(data, first), b.transpose(weight, first), bias, **attrs)
    return b.transpose(y, last)


@to_onnx("Deconvolution")
def deconvolution(b, op, data, weight, bias=None):
    """Deconvolution as ConvTranspose; bilinear UpSampling is one too."""
    needs_sizes = any(op.target_shape)
    pad, adj = op.borders([data.dim(a) for a in range(2, data.rank)] if needs_sizes else op.kernel)
    if 0 in op.target_shape and needs_sizes:  # MXNet takes a 0 beside other sizes at its word: nothing comes out
        dims = b.dims(b.size(data, 0), op.num_filter, *op.target_shape)
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


@to_onnx("im2col")
def _(b, op, data):
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


@to_onnx("col2im")
def _(b, op, data):
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


@to_onnx("col2im", since=18)
def _(b, op, data):
    return b.Col2Im(
        data,
        list(op.output_size),
        list(op.kernel),
        strides=list(op.strides),
        dilations=list(op.dilations),
        pads=[*op.pads, *op.pads],
    )
