"""Convolutions whose sampling points are moved by an input: every tap of every window reads data at its own place."""

import math
from typing import Literal, NamedTuple

import numpy as np

from ..core.attrs import Count, Counts, Sizes
from ..core.op import WHOLE, Op, op
from ..core.shapes import UNKNOWN, merge
from .common import part_of, want_rank, want_some, widen
from .convolution import Windowed


class Corner(NamedTuple):
    """One of the four neighbours of every sampling point: where in the flat image, its weight, and how that changes."""

    index: np.ndarray
    weight: np.ndarray
    by_row: np.ndarray
    """The derivative of the weight by the point's row,"""
    by_column: np.ndarray
    """and by its column."""


class Deformed(Windowed):
    """Base. Shapes: data (N, C, H, W), offset (N, 2 D kh kw, H', W') with the row and the column that each tap is moved by,
    D groups of channels apart, weight (num_filter, C/num_group, kh, kw), bias (num_filter,) -> (N, num_filter, H', W').

    Points between pixels are interpolated linearly."""

    exception = "samples between pixels where data says"

    refuses = WHOLE

    num_filter: Count
    num_group: Count = 1
    num_deformable_group: Count = 1
    workspace: int = 1024
    no_bias: bool = False

    tolerance = 128.0
    modulated = False

    def check(self):
        if len(self.kernel) != 2:
            return f"got kernel={self.kernel}, wanted two sizes"
        if self.num_filter % self.num_group:
            return f"got num_filter={self.num_filter} and num_group={self.num_group}, wanted a positive multiple"
        return super().check()

    def input_names(self):
        return self.inputs[: len(self.inputs) - self.no_bias]

    def infer_input_shapes(self, shapes, outputs):
        data, offset, *mask, weight = shapes[: len(self.inputs) - 1]
        bias = shapes[len(self.inputs) - 1 :]
        if data is not None:
            want_rank(self, data, 4)
            taps = math.prod(self.kernel) * self.num_deformable_group
            steps = self.steps(data[2:])
            offset = merge(offset, (data[0], 2 * taps, *steps))
            mask = [merge(m, (data[0], taps, *steps)) for m in mask]
            weight = merge(weight, (self.num_filter, data[1] // self.num_group, *self.kernel))
        return [data, offset, *mask, weight, *(merge(b, (self.num_filter,)) for b in bias)]

    def infer_shape(self, data, *rest):
        want_rank(self, data, 4)
        want_some(self, data, *range(4))
        for name, groups in (("num_group", self.num_group), ("num_deformable_group", self.num_deformable_group)):
            if data[1] is not UNKNOWN and data[1] % groups:
                raise self.error(f"got {data[1]} channels for {name}={groups}, wanted a multiple")
        return (data[0], self.num_filter, *self.steps(data[2:]))

    def points(self, shape, offset):
        """(rows, columns) of the points (N, D, taps, H' W') that are read."""
        steps = self.steps(shape[2:])
        moved = offset.reshape(len(offset), self.num_deformable_group, -1, 2, math.prod(steps))
        places = []
        for axis in (0, 1):
            tap = np.arange(self.kernel[axis]) * self.dilations[axis]
            step = np.arange(steps[axis]) * self.strides[axis] - self.pads[axis]
            grid = np.add.outer(tap, step)
            full = (*self.kernel, *steps)
            spread = grid[:, None, :, None] if axis == 0 else grid[None, :, None, :]
            places.append(np.broadcast_to(spread, full).reshape(-1, math.prod(steps)) + moved[:, :, :, axis])
        return places

    def corners(self, shape, offset) -> list[Corner]:
        """The neighbours of all points; see ``reach_out`` for points outside of the image."""
        height, width = shape[2:]
        rows, columns = self.points(shape, offset)
        vertical, inside = self._along(rows, height)
        horizontal, also = self._along(columns, width)
        inside = inside & also
        found = []
        for row, up, d_up in vertical:
            for column, across, d_across in horizontal:
                found.append(
                    Corner(row * width + column, up * across * inside, d_up * across * inside, up * d_across * inside)
                )
        return found

    def _along(self, place, size):
        """((index, weight, derivative of the weight) of the neighbours below and above along one axis), and which points count.

        Without modulation points outside of the image count as 0, and beyond the last pixel its value is kept; with
        it the image fades to 0 over one pixel."""
        inside = (place > -1 if self.modulated else place >= 0) & (place < size)
        place = np.where(inside, place, 0)  # NaN, and what no index holds
        low = np.floor(place)
        part = place - low
        if self.modulated:
            there = [low >= 0, low + 1 < size]
        else:
            part = np.where(low >= size - 1, 0, part)
            there = [inside, inside & (low < size - 1)]
        first, second = (np.clip(low + i, 0, size - 1).astype(np.int64) for i in (0, 1))
        one = np.ones_like(part)
        return (
            (first, np.where(there[0], 1 - part, 0), np.where(there[0], -one, 0) * self._slope(there)),
            (second, np.where(there[1], part, 0), np.where(there[1], one, 0)),
        ), inside

    def _slope(self, there):
        """1 where the weight of the lower neighbour changes with the place: not at the last pixel, whose value is kept."""
        return 1 if self.modulated else there[1]

    def sample(self, data, corners) -> np.ndarray:
        """Data at the points: (N, D, C/D, taps, H' W')."""
        return sum(self._read(data, c.index) * c.weight[:, :, None] for c in corners)  # type: ignore[return-value]

    def _read(self, data, index):
        flat = data.reshape(len(data), self.num_deformable_group, -1, math.prod(data.shape[2:]))
        places = index.reshape(*index.shape[:2], 1, -1)
        return np.take_along_axis(flat, places, -1).reshape(*flat.shape[:3], *index.shape[2:])

    def factor(self, mask):
        """Factor of the samples: the mask (N, D, 1, taps, H' W') of a list that holds it, else 1."""
        return mask[0].reshape(len(mask[0]), self.num_deformable_group, 1, math.prod(self.kernel), -1) if mask else 1

    def columns(self, sampled):
        """Samples as the columns that filters are applied to: (N, groups, C/groups * taps, H' W')."""
        return sampled.reshape(len(sampled), self.num_group, -1, sampled.shape[-1])

    def filters(self, weight):
        """The filters (groups, filters of each, C/groups * taps)."""
        return weight.reshape(self.num_group, self.num_filter // self.num_group, -1)

    def compute(self, data, offset, *rest):
        wide = [widen(a) for a in (data, offset, *rest)]
        weight, *bias = wide[2 + self.modulated :]
        samples = self.sample(wide[0], self.corners(data.shape, wide[1])) * self.factor(wide[2 : 2 + self.modulated])
        y = np.matmul(self.filters(weight), self.columns(samples)).reshape(self.infer_shape(data.shape))
        if bias:
            y += bias[0][:, None, None]
        return y.astype(data.dtype, copy=False)

    def gradient(self, F, dy, *arrays):
        given = arrays[: len(self.input_names())]
        count = 3 + self.modulated
        found = getattr(F, f"_backward_{self.name}")(dy, *given[:count], **self.dump())
        db = [] if self.no_bias else [F.sum(dy, axis=(0, 2, 3))]
        return [*(found[i] for i in range(count)), *db]

    @classmethod
    def examples(cls, make):
        data, weight = make.uniform(2, 4, 5, 5), make.uniform(4, 2, 3, 3)
        mask = [make.uniform(2, 18, 3, 3, low=0)] if cls.modulated else []
        offset = make.uniform(2, 36, 3, 3, low=-0.4, high=0.4)
        yield make(
            data,
            offset,
            *mask,
            weight,
            make.uniform(4),
            kernel=(3, 3),
            num_filter=4,
            num_group=2,
            num_deformable_group=2,
        )


@op("_contrib_DeformableConvolution")
class DeformableConvolution(Deformed):
    """Convolution that reads every tap at a place moved by ``offset``. Source: Dai et al. 2017, arXiv:1703.06211.

    Points outside of the image count as 0; beyond the centre of the last pixel its value is kept."""

    layout: Literal["NCDHW", "NCHW", "NCW"] | None = None

    inputs = ("data", "offset", "weight", "bias")


@op("_contrib_ModulatedDeformableConvolution")
class ModulatedDeformableConvolution(Deformed):
    """Convolution that reads every tap at a place moved by ``offset`` and multiplies it by ``mask`` (N, D kh kw, H', W').

    Around the image there are zeros, which points between are interpolated with. Source: Zhu et al. 2018, arXiv:1811.11168."""

    meanings = {"mask": "Factors of the taps, 0 to 1."}

    im2col_step: int = 64
    layout: Literal["NCDHW", "NCHW", "NCW"] | None = None

    inputs = ("data", "offset", "mask", "weight", "bias")
    modulated = True

    def check(self):
        if self.num_filter % self.num_deformable_group:
            return f"got num_filter={self.num_filter} for num_deformable_group={self.num_deformable_group}, wanted a multiple"
        return super().check()


class DeformedBackward(Op):
    """Base: the gradients of data, offset, (mask) and weight of a deformed convolution, from that of its output."""

    kernel: Counts
    stride: Counts = ()
    dilate: Counts = ()
    pad: Sizes = ()
    num_filter: Count
    num_group: Count = 1
    num_deformable_group: Count = 1
    workspace: int = 1024
    no_bias: bool = False
    layout: Literal["NCDHW", "NCHW", "NCW"] | None = None

    def input_names(self):
        return self.inputs

    def output_names(self):
        return self.inputs[1:]

    def infer_shape(self, dy, *shapes):
        return list(shapes)

    def infer_type(self, dy, *dtypes):
        return list(dtypes)

    def compute(self, dy, data, offset, *rest):
        forward: Deformed = DEFORMED[self.name].bind(**{n: getattr(self, n) for n in self.fields})  # type: ignore[assignment]
        given = (data, offset, *rest)
        dy, data, offset, *mask, weight = (widen(a) for a in (dy, *given))
        corners = forward.corners(data.shape, offset)
        samples = forward.sample(data, corners)
        factor = forward.factor(mask)
        dy = dy.reshape(len(dy), forward.num_group, forward.num_filter // forward.num_group, -1)
        filters = forward.filters(weight)
        dw = np.matmul(dy, np.swapaxes(forward.columns(samples * factor), -1, -2)).sum(0).reshape(weight.shape)
        back = np.matmul(np.swapaxes(filters, -1, -2), dy).reshape(samples.shape)
        results = [self._of_data(data.shape, corners, back * factor)]
        moved = [
            sum(
                (forward._read(data, c.index) * back * factor).sum(2) * slope
                for c, slope in ((c, getattr(c, name)) for c in corners)
            )
            for name in ("by_row", "by_column")
        ]
        results.append(np.stack(moved, 3).reshape(offset.shape))
        if mask:
            results.append((samples * back).sum(2).reshape(mask[0].shape))
        return tuple(r.astype(a.dtype, copy=False) for r, a in zip([*results, dw], given))

    def _of_data(self, shape, corners, back):
        """Every sample's gradient added to its neighbours."""
        size = math.prod(shape[2:])
        planes = np.arange(shape[0] * shape[1]).reshape(*back.shape[:3], 1, 1) * size
        out = np.zeros(math.prod(shape))
        for corner in corners:
            places = (planes + corner.index[:, :, None]).reshape(-1)
            out += np.bincount(places, (back * corner.weight[:, :, None]).reshape(-1), out.size)
        return out.reshape(shape)


@op("_backward__contrib_DeformableConvolution")
@part_of("_contrib_DeformableConvolution")
class DeformableConvolutionBackward(DeformedBackward):
    """The gradients of ``_contrib_DeformableConvolution``."""

    inputs = ("dy", "data", "offset", "weight")


@op("_backward__contrib_ModulatedDeformableConvolution")
@part_of("_contrib_ModulatedDeformableConvolution")
class ModulatedDeformableConvolutionBackward(DeformedBackward):
    """The gradients of ``_contrib_ModulatedDeformableConvolution``."""

    im2col_step: int = 64

    inputs = ("dy", "data", "offset", "mask", "weight")


DEFORMED = {f"_backward_{cls.name}": cls for cls in (DeformableConvolution, ModulatedDeformableConvolution)}
