"""Convolution with its gradients, pooling with its, and attention by kernels of our own (device/kernels.py), where a device runs
such; of float32, over two axes with channels ahead.

Everything else is what ``compute`` says, by the device's own functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device.array import DeviceArray
from ..device.base import Device
from ..device.kernels import (
    ATTENTION,
    CONVOLUTION,
    CONVOLUTION_DATA,
    CONVOLUTION_WEIGHT,
    FEATURES,
    POOLING,
    POOLING_DATA,
    QUERIES,
    THREADS,
    TILE,
)
from ..ops.convolution import BackwardConvolutionData, BackwardConvolutionWeight, Convolution
from ..ops.fused_attention import FusedAttention, placed
from ..ops.pooling import Pooling
from ..ops.pooling_backward import BackwardPooling
from .device_kernels import FLOAT, are_floats
from .device_rules import device_rule

BLOCKS = 512
"""Blocks that the depth of a product is cut for where there are fewer, so that a GPU has work for all of its processors."""
SHORTEST = 256
"""Pixels that a slice of the depth adds up at least."""
_MOST = 65535
"""Blocks that a grid may have along its second and third axis."""


def _blocks(rows: int, columns: int, deep: int) -> tuple[int, int, int] | None:
    """The grid of a product; None for one that is too large, or of nothing."""
    grid = -(-columns // TILE), -(-rows // TILE), deep
    return grid if all(grid) and grid[1] <= _MOST and grid[2] <= _MOST and grid[0] < 1 << 31 else None


def _geometry(op: Convolution, shape: tuple[int, ...]) -> tuple[np.int32, ...] | None:
    """Numbers that kernels take of a convolution of data of that shape; None for one that is not theirs."""
    if len(op.kernel) != 2 or op.channels_last:
        return None
    steps = op.steps(shape[2:])
    numbers = (*shape, op.num_filter, *steps, *op.kernel, *op.strides, *op.dilations, *op.pads, op.num_group)
    return tuple(map(np.int32, numbers)) if 0 not in numbers[: 4 + 3] else None


@device_rule(Convolution)
def run_convolution(device: Device, op: Convolution, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """A convolution as an implicit product."""
    x, weight, *bias = arrays
    if not are_floats(device, arrays) or (geometry := _geometry(op, x.shape)) is None:
        return None
    rows, columns = op.steps(x.shape[2:])
    grid = _blocks(op.num_filter // op.num_group, len(x) * rows * columns, op.num_group)
    if grid is None:
        return None
    y = device.empty((len(x), op.num_filter, rows, columns), FLOAT)
    given = (weight, x, *(bias or [weight]), y, np.int32(len(bias)), *geometry)
    device.kernel(CONVOLUTION, "convolution")(grid, (THREADS,), given)
    return y


@device_rule(BackwardConvolutionData)
def run_convolution_data(device: Device, op: Any, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """The gradient of a convolution by data, each element as the sum of what it took part in."""
    dy, weight, data = arrays
    if not are_floats(device, arrays) or (geometry := _geometry(op, data.shape)) is None:
        return None
    grid = _blocks(data.shape[1] // op.num_group, len(data) * math.prod(data.shape[2:]), op.num_group)
    if grid is None:
        return None
    dx = device.empty(data.shape, FLOAT)
    device.kernel(CONVOLUTION_DATA, "convolution_data")(grid, (THREADS,), (weight, dy, dx, *geometry))
    return dx


@device_rule(BackwardConvolutionWeight)
def run_convolution_weight(device: Device, op: Any, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """The gradient of a convolution by weight: sums over slices of all pixels, which are added up then, in one order."""
    dy, data, weight = arrays
    if not are_floats(device, arrays) or (geometry := _geometry(op, data.shape)) is None:
        return None
    depth = len(dy) * math.prod(dy.shape[2:])
    mine, window = op.num_filter // op.num_group, math.prod(weight.shape[1:])
    one = _blocks(mine, window, op.num_group)
    if one is None or depth >= 1 << 31:
        return None
    slices = max(1, min(BLOCKS // math.prod(one), depth // SHORTEST, _MOST // op.num_group))
    grid = (*one[:2], op.num_group * slices)
    parts = device.empty((slices, *weight.shape), FLOAT)
    numbers = np.int32(slices), np.int32(-(-depth // slices))
    device.kernel(CONVOLUTION_WEIGHT, "convolution_weight")(grid, (THREADS,), (dy, data, parts, *numbers, *geometry))
    summed: Any = np.reshape(parts, weight.shape) if slices == 1 else np.sum(parts, axis=0)
    return summed


def _windows(op: Pooling, shape: tuple[int, ...]) -> tuple[np.int32, ...] | None:
    """Numbers that kernels take of pooling of data of that shape; None for what is not theirs."""
    if len(op.kernel) not in (1, 2) or op.global_pool or op.channels_last or op.power > 1:
        return None
    spatial = shape[2:]
    steps = tuple(map(op.steps, spatial, op.kernel, op.strides, op.pads))
    kind = {"max": 0, "avg": 1}.get(op.pool_type, 2)
    pairs = ((spatial, 1), (steps, 1), (op.kernel, 1), (op.strides, 1), (op.pads, 0))
    flat = (n for values, alone in pairs for n in ((alone,) * (2 - len(values)) + tuple(values)))
    return tuple(map(np.int32, (kind, op.include, *flat)))


@device_rule(Pooling)
def run_pooling(device: Device, op: Pooling, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """Pooling over one or two axes, a thread an element."""
    (x,) = arrays
    if not are_floats(device, arrays) or (windows := _windows(op, x.shape)) is None:
        return None
    y = device.empty(op.infer_shape(x.shape), FLOAT)
    if y.size:
        grid = (-(-y.size // THREADS),)
        device.kernel(POOLING, "pooling")(grid, (THREADS,), (x, y, np.int64(y.size), *windows))
    return y


@device_rule(BackwardPooling)
def run_pooling_data(device: Device, op: Any, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """The gradient of pooling over one or two axes, a thread an element of the data."""
    dy, x, y = arrays
    if not are_floats(device, arrays) or (windows := _windows(op, x.shape)) is None:
        return None
    dx = device.empty(x.shape, FLOAT)
    grid = (-(-x.size // THREADS),)
    device.kernel(POOLING_DATA, "pooling_data")(grid, (THREADS,), (dy, x, y, dx, np.int64(x.size), *windows))
    return dx


def _strides(array: DeviceArray, axes: Sequence[int]) -> tuple[list[int], int]:
    """Elements between neighbours along batch, head, place and feature, and the place of the first."""
    steps = [n // array.itemsize for n in array.strides]
    (rest,) = {*range(5)}.difference(axes[:4]) if len(axes) == 5 else (None,)
    return [steps[a] for a in axes[:4]], 0 if rest is None else axes[4] * steps[rest]


@device_rule(FusedAttention)
def run_attention(device: Device, op: FusedAttention, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """Attention whose scores are never written down."""
    query, key, value = arrays[:3]
    masks = dict(zip(op.input_names()[3:], arrays[3:]))
    floats = [a for name, a in zip(op.input_names(), arrays) if name != "keep"]
    if not are_floats(device, floats) or any(not a.flags.c_contiguous for a in arrays):
        return None
    (batch, heads, queries, size), (_, groups, keys, _), (*_, value_size) = (
        tuple(x.shape[a] for a in axes[:4])
        for x, axes in ((query, op.query_axes), (key, op.key_axes), (value, op.value_axes))
    )
    if max(size, value_size) > FEATURES or heads > _MOST or batch > _MOST or not heads:
        return None
    y = device.empty(placed((batch, heads, queries, value_size), op.result_axes), FLOAT)
    found = [_strides(x, axes) for x, axes in ((query, op.query_axes), (key, op.key_axes), (value, op.value_axes))]
    strides = [n for steps, _ in found for n in steps] + _strides(y, op.result_axes)[0]
    for name in ("keep", "added"):
        mask = masks.get(name)
        strides += (
            [0] * 4 if mask is None else [n if s > 1 else 0 for n, s in zip(_strides(mask, range(4))[0], mask.shape)]
        )
    places = map(np.int64, [*(at for _, at in found), *strides])
    numbers = (
        *map(np.int32, (heads // groups, queries, keys, size, value_size)),
        *(np.float32(op.scale), np.float32(op.softcap), np.int32(op.keep), np.float32(op.fill), np.int32(op.added)),
        *map(np.int32, (-1 if op.before is None else op.before, -1 if op.after is None else op.after, op.offset)),
        np.int32(("nan", "zeros", "finite").index(op.blind)),
        np.float32(np.inf),
    )
    given = (query, key, value, masks.get("keep", query), masks.get("added", query), y, *places, *numbers)
    device.kernel(ATTENTION, "attention")((-(-queries // QUERIES), heads, batch), (THREADS,), given)
    return y
