"""Convolutions at moved points: as DeformConv where that says it (it fades to zeros around the image, as the modulated one does),
else as a matrix product of samples that are gathered pixel by pixel."""

import math

import numpy as np

from hybrid.core.shapes import is_known

from ..registry import exports, imports
from .convolution import in_networks, pad_spatial
from .sampling import interpolate, neighbours, pixels, product


@exports("_contrib_ModulatedDeformableConvolution", since=19)
def export_contrib_modulated_deformable_convolution_since_19(b, op, data, offset, mask, weight, bias=None):
    return b.DeformConv(
        data,
        weight,
        offset,
        bias,
        mask,
        kernel_shape=list(op.kernel),
        strides=list(op.strides),
        dilations=list(op.dilations),
        pads=[*op.pads, *op.pads],
        group=op.num_group,
        offset_group=op.num_deformable_group,
    )


@exports("_contrib_DeformableConvolution")
def export_contrib_deformable_convolution(b, op, data, offset, weight, bias=None):
    return _gather_taps(b, op, data, offset, None, weight, bias)


@exports("_contrib_ModulatedDeformableConvolution")
def export_contrib_modulated_deformable_convolution(b, op, data, offset, mask, weight, bias=None):
    return _gather_taps(b, op, data, offset, mask, weight, bias)


def _gather_taps(b, op, data, offset, mask, weight, bias):
    channels, groups, taps = data.dim(1), op.num_deformable_group, math.prod(op.kernel)
    height, width = b.size(data, 2), b.size(data, 3)
    steps = b.size(offset, 2), b.size(offset, 3)
    moved = b.reshape(b.wide(offset), [0, groups, taps, 2, -1])
    places = [
        b.Add(b.Gather(moved, axis, axis=3), b.cast(_grid(b, op, axis, steps), moved.dtype)) for axis in (0, 1)
    ]  # N, D, taps, H' W'
    rows, columns = (neighbours(b, p, n, fades=op.modulated)[0] for p, n in zip(places, (height, width)))
    planes = product(b, b.size(data, 0), groups)
    first = b.reshape(b.Mul(b.counting(planes), product(b, height, width)), [-1, groups, 1, 1])
    samples = interpolate(b, pixels(b, b.wide(data), channels // groups), first, rows, columns, width)
    if mask is not None:
        samples = b.Mul(samples, b.reshape(b.wide(mask), [0, groups, taps, -1, 1]))
    samples = b.transpose(samples, [0, 1, 4, 2, 3])  # N, D, C/D, taps, H' W'
    samples = b.reshape(samples, b.dims(0, op.num_group, channels // op.num_group * taps, product(b, *steps)))
    filters = b.reshape(b.wide(weight), [op.num_group, op.num_filter // op.num_group, -1])
    y = b.reshape(b.MatMul(filters, samples), b.dims(0, op.num_filter, *steps))
    return y if bias is None else b.Add(y, b.unsqueeze(b.wide(bias), [1, 2]))


def _grid(b, op, axis, steps):
    """Positions of the taps before they are moved, along one axis: (taps, H' W') integers."""
    tap = (np.arange(op.kernel[axis]) * op.dilations[axis] - op.pads[axis]).reshape([(-1, 1, 1, 1), (-1, 1, 1)][axis])
    stride = op.strides[axis]
    if all(isinstance(n, int) for n in steps):
        step = (np.arange(steps[axis]) * stride).reshape([(-1, 1), (-1,)][axis])
        return b.const(np.broadcast_to(tap + step, (*op.kernel, *steps)).reshape(math.prod(op.kernel), -1))
    step = b.unsqueeze(b.Mul(b.counting(steps[axis]), stride), [1] if axis == 0 else [])
    return b.reshape(b.Expand(b.Add(b.const(tap), step), b.dims(*op.kernel, *steps)), [math.prod(op.kernel), -1])


@imports("DeformConv", since=19)
def import_deform_conv(
    g,
    x,
    w,
    offset,
    b=None,
    mask=None,
    *,
    dilations=None,
    group=1,
    kernel_shape=None,
    offset_group=1,
    pads=None,
    strides=None,
):
    shape = w.shape if is_known(w.shape) and len(w.shape) == 4 else None
    if mask is None or shape is None or shape[0] % offset_group or not in_networks(x):
        attrs = {"dilations": dilations, "group": group, "kernel_shape": kernel_shape, "offset_group": offset_group}
        return g.passthrough(x, w, offset, b, mask, **attrs, pads=pads, strides=strides)
    before, after = (pads[:2], pads[2:]) if pads else ((0, 0), (0, 0))
    if before != after:
        x, before = pad_spatial(g, x, before, after), (0, 0)
    return g.apply(
        "_contrib_ModulatedDeformableConvolution",
        *(v for v in (x, offset, mask, w, b) if v is not None),
        kernel=shape[2:],
        stride=strides or (1, 1),
        dilate=dilations or (1, 1),
        pad=before,
        num_filter=shape[0],
        num_group=group,
        num_deformable_group=offset_group,
        no_bias=b is None,
    )
