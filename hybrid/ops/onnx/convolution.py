"""Convolution and its transpose in every form that ONNX has, convolution at moved points, and Col2Im."""

import math
from typing import Any, Literal

import numpy as np

from ...core.attrs import Count, Counts
from ...core.op import op
from ...core.shapes import UNKNOWN, merge, show
from ..adjoint import linear
from ..backward import Once
from ..common import narrow, part_of, want_rank, want_rank_from, widen
from ..composing import definite, known, narrowly, reshaped, widely
from ..deformable import (
    DEFORMED,
    Deformed,
    DeformedBackward,
    ModulatedDeformableConvolution,
    ModulatedDeformableConvolutionBackward,
)
from ..windows import convolve, correlate, deconvolve, fold, pad_spatial, windows
from .base import Standard, ints
from .sliding import padded
from .types import FLOATS, TENSORS

AutoPad = Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]
Ints = tuple[int, ...] | None


class Slid(Standard):
    """Base of what slides a window over the spatial axes. Attributes that are left out (None) are 1 for every axis, pads 0."""

    auto_pad: AutoPad = "NOTSET"
    dilations: Counts | None = None
    kernel_shape: Counts | None = None
    pads: Ints = None
    strides: Counts | None = None

    def check(self):
        problem = super().check()
        if problem:
            return problem
        each = {
            name: getattr(self, name)
            for name in ("dilations", "kernel_shape", "strides")
            if getattr(self, name) is not None
        }
        if self.pads is not None:
            each["pads"] = self.pads[::2]
            if len(self.pads) % 2:
                return f"got pads={show(self.pads)}, wanted two for every spatial axis"
        if len({len(v) for v in each.values()}) > 1:
            return f"got {', '.join(f'{n}={show(getattr(self, n))}' for n in each)}, wanted as many as there are spatial axes"
        if self.pads and min(self.pads) < 0:
            return f"got pads={show(self.pads)}, wanted positive ones"
        return None

    def along(self, rank: int, values: Ints) -> tuple[int, ...]:
        """One per spatial axis; 1 where nothing is said."""
        if values is None:
            return (1,) * rank
        if len(values) != rank:
            raise self.error(f"got {show(values)} for {rank} spatial axes")
        return values

    def reach(self, kernel: tuple) -> tuple:
        """Sizes of the window, gaps of dilation included."""
        return tuple(d * (k - 1) + 1 for k, d in zip(kernel, self.along(len(kernel), self.dilations)))

    def explicit(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """pads as they stand: at the beginning and at the end of each spatial axis."""
        pads = self.pads if self.pads is not None and self.auto_pad == "NOTSET" else (0,) * (2 * rank)
        if len(pads) != 2 * rank:
            raise self.error(f"got pads={show(pads)}, wanted {2 * rank} numbers")
        return pads[:rank], pads[rank:]

    def steps(self, spatial: tuple, kernel: tuple) -> tuple:
        """Number of windows along each spatial axis."""
        strides = self.along(len(kernel), self.strides)
        if len(spatial) != len(kernel):
            raise self.error(f"got {len(spatial)} spatial axes for a kernel of shape {show(kernel)}")
        if self.auto_pad.startswith("SAME"):
            return tuple(-(-size // s) for size, s in zip(spatial, strides))
        sizes = zip(spatial, *self.explicit(len(kernel)), self.reach(kernel), strides)
        return tuple(self.count(*each) for each in sizes)

    def count(self, size, before, after, reach, stride):
        """Number of windows along an axis."""
        if size is not UNKNOWN and reach is not UNKNOWN and size + before + after < reach:
            raise self.error(f"got a window of {reach} for a size of {size} padded by {before} and {after}")
        return (size + before + after - reach) // stride + 1

    def borders(self, spatial: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Padding at the beginning and at the end of each spatial axis."""
        if not self.auto_pad.startswith("SAME"):
            return self.explicit(len(kernel))
        strides = self.along(len(kernel), self.strides)
        whole = [
            max(0, (n - 1) * s + r - size)
            for n, s, r, size in zip(self.steps(spatial, kernel), strides, self.reach(kernel), spatial)
        ]
        less, more = tuple(w // 2 for w in whole), tuple(w - w // 2 for w in whole)
        return (less, more) if self.auto_pad == "SAME_UPPER" else (more, less)


def _bias_gradient(F, dy):
    return F.sum(dy, axis=1, exclude=True)


class _Convolved(Slid):
    """Base of both convolutions."""

    group: Count = 1

    inputs = ("X", "W", "B")
    types = {"X W B": FLOATS}
    optional = ("B",)

    def kernel(self, weight: tuple) -> tuple:
        """The sizes of the kernel. Raises OpError for a weight that has none."""
        want_rank_from(self, weight, 3, what="W")
        if any(d is not UNKNOWN and d < 1 for d in weight[2:]):
            raise self.error(f"got W of shape {show(weight)}, wanted a kernel of at least one element")
        if self.kernel_shape is None:
            return weight[2:]
        return merge(self.kernel_shape, weight[2:])

    def gradient(self, F, dy, x, w, *rest):
        attrs = self.dump()
        attrs.pop("given", None)
        name = f"_backward_{self.name}"
        found = [getattr(F, name)(dy, x, w, **attrs, of=i) for i in range(2)]
        return [*found, _bias_gradient(F, dy)] if self.given else found


@linear(0, 1)
@op("_onnx_Conv")
class Conv(_Convolved):
    """Cross-correlation of X with the filters W, plus B; group separate groups of channels and filters.

    Shapes: X (N, C, *spatial), W (M, C/group, *kernel), B (M,) -> (N, M, *steps), for any number of spatial axes.
    auto_pad SAME_*: as many steps as size / stride rounded up. Source: ONNX Conv (opset 1 to newest)."""

    gradient = _Convolved.gradient  # its own, or ``linear`` would make one that minds the bias

    def shape(self, x, w, b):
        want_rank_from(self, x, 3, what="X")
        kernel = self.kernel(w)
        if b is not None:
            merge(b, w[:1])
        channels = w[1] * self.group
        if x[1] is not UNKNOWN and channels is not UNKNOWN and x[1] != channels:
            raise self.error(
                f"got X of shape {show(x)} and W of shape {show(w)}, wanted {channels} channels for group={self.group}"
            )
        if w[0] is not UNKNOWN and w[0] % self.group:
            raise self.error(f"got {w[0]} filters, wanted a multiple of group={self.group}")
        return (x[0], w[0], *self.steps(x[2:], kernel))

    def _split_padding(self, x, kernel):
        """(x, pads on both sides that are still to be added): windows.py pads evenly as it goes."""
        before, after = self.borders(x.shape[2:], kernel)
        return (x, before) if before == after else (pad_spatial(x, before, after), (0,) * len(kernel))

    def _steps(self, rank):
        return self.along(rank, self.strides), self.along(rank, self.dilations)

    def composition(self, F, x, w, *bias):
        if not known(x, w, *bias) or len(x.shape) not in (3, 4, 5) or 0 in definite((*x.shape, *w.shape)):
            return None
        kernel = w.shape[2:]
        before, after = self.borders(x.shape[2:], kernel)
        even = before == after
        data = x if even else padded(F, x, x.shape, before, after)
        strides, dilations = self._steps(len(kernel))
        return F.Convolution(
            data, w, *bias, kernel=kernel, stride=strides, dilate=dilations, pad=before if even else (0,) * len(kernel),
            num_filter=w.shape[0], num_group=self.group, no_bias=not bias,
        )  # fmt: skip

    def meaning(self, x, w, b):
        wide, weight = widen(x), widen(w)
        kernel = weight.shape[2:]
        padded, pad = self._split_padding(wide, kernel)
        y = convolve(padded, weight, *self._steps(len(kernel)), pad, self.group)
        if b is not None:
            y += widen(b).reshape(-1, *(1,) * len(kernel))
        return narrow(y, x.dtype)

    def adjoint(self, of, dy, x, w):
        kernel = w.shape[2:]
        strides, dilations = self._steps(len(kernel))
        if of == 0:
            before, _ = self.borders(x.shape[2:], kernel)
            return deconvolve(dy, w, strides, dilations, before, self.group, x.shape[2:])
        padded, pad = self._split_padding(x, kernel)
        return correlate(padded, dy, kernel, strides, dilations, pad, self.group)

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(1, 2, 5, 6),
            make.uniform(4, 1, 3, 2),
            make.uniform(4),
            pads=(0, 1, 2, 0),
            strides=(2, 1),
            group=2,
            given=("B",),
        )
        yield make(make.uniform(1, 2, 7), make.uniform(3, 2, 2), auto_pad="SAME_LOWER", strides=(3,), dilations=(2,))


@linear(0, 1)
@op("_onnx_ConvTranspose")
class ConvTranspose(_Convolved):
    """The transpose of Conv: every element of X adds a multiple of the kernel to the output.

    Shapes: X (N, C, *spatial), W (C, M/group, *kernel), B (M,) -> (N, M, *size) with
    size = stride (size of X - 1) + output_padding + window - pads, or output_shape, to which what pads cut off is adapted
    (half at the beginning, the odd one there too unless auto_pad is SAME_UPPER); SAME_*: stride times the size of X.
    Source: ONNX ConvTranspose (opset 1 to newest; versions before 11 say the halves the other way round, which nobody followed)."""

    output_padding: Ints = None
    output_shape: Ints = None

    gradient = _Convolved.gradient

    def _sizes(self, spatial, kernel):
        rank = len(kernel)
        if len(spatial) != rank:
            raise self.error(f"got {len(spatial)} spatial axes for a kernel of shape {show(kernel)}")
        strides = self.along(rank, self.strides)
        added = self.output_padding or (0,) * rank
        room = [max(pair) for pair in zip(strides, self.along(rank, self.dilations), strict=True)]
        if len(added) != rank or any(not 0 <= a < r for a, r in zip(added, room)):
            raise self.error(
                f"got output_padding={show(added)}, wanted less than strides or dilations, {show(tuple(room))}"
            )
        whole = [s * (n - 1) + a + r for s, n, a, r in zip(strides, spatial, added, self.reach(kernel), strict=True)]
        if self.output_shape:
            if len(self.output_shape) not in (rank, rank + 2):
                raise self.error(f"got output_shape={self.output_shape}, wanted {rank} sizes")
            return whole, self.output_shape[-rank:]
        if self.auto_pad.startswith("SAME"):
            return whole, tuple(n * s for n, s in zip(spatial, strides))
        return whole, tuple(w - b - a for w, b, a in zip(whole, *self.explicit(rank)))

    def shape(self, x, w, b):
        want_rank_from(self, x, 3, what="X")
        kernel = self.kernel(w)
        if b is not None:
            merge(b, (w[1] * self.group,))
        if x[1] is not UNKNOWN and w[0] is not UNKNOWN and x[1] != w[0]:
            raise self.error(f"got X of shape {show(x)} and W of shape {show(w)}, wanted as many channels")
        if w[0] is not UNKNOWN and w[0] % self.group:
            raise self.error(f"got {w[0]} channels, wanted a multiple of group={self.group}")
        _, sizes = self._sizes(x[2:], kernel)
        if any(n is not UNKNOWN and n < 0 for n in sizes):
            raise self.error(f"pads={show(self.pads)} cut off more than there is")
        return (x[0], w[1] * self.group, *sizes)

    def _cut(self, spatial, kernel):
        """(what is cut off at the beginning, sizes) per spatial axis."""
        whole, sizes = self._sizes(spatial, kernel)
        if not self.output_shape and not self.auto_pad.startswith("SAME"):
            return self.explicit(len(kernel))[0], tuple(sizes)
        less = [max(0, w - n) for w, n in zip(whole, sizes)]  # where nothing is cut off, zeros fill the end
        return tuple(n // 2 if self.auto_pad == "SAME_UPPER" else n - n // 2 for n in less), tuple(sizes)

    def composition(self, F, x, w, *bias):
        if not known(x, w, *bias) or len(x.shape) not in (3, 4, 5) or 0 in definite((*x.shape, *w.shape)):
            return None
        kernel, filters = w.shape[2:], w.shape[1] * self.group
        cut, sizes = self._cut(x.shape[2:], kernel)
        strides, dilations = self.along(len(kernel), self.strides), self.along(len(kernel), self.dilations)
        if 0 in sizes:
            return None
        data, weight, *shift = widely(F, x.dtype, x, w, *bias)
        y = F.Deconvolution(
            data,
            weight,
            kernel=kernel,
            stride=strides,
            dilate=dilations,
            num_filter=filters,
            num_group=self.group,
            no_bias=True,
        )
        whole = [s * (n - 1) + r for s, n, r in zip(strides, x.shape[2:], self.reach(kernel))]
        more = [max(0, c + n - w) for c, n, w in zip(cut, sizes, whole)]
        y = padded(F, y, (x.shape[0], filters, *whole), (0,) * len(kernel), more)
        if any(cut) or [*sizes] != [w + m for w, m in zip(whole, more)]:
            ends = [c + n for c, n in zip(cut, sizes)]
            y = F.slice(y, begin=(None, None, *cut), end=(None, None, *ends))
        if shift:
            y = F.broadcast_add(y, reshaped(F, shift[0], (filters, *(1,) * len(kernel))))
        return narrowly(F, x.dtype, y)

    def meaning(self, x, w, b):
        rank = w.ndim - 2
        pad, size = self._cut(x.shape[2:], w.shape[2:])
        y = deconvolve(
            widen(x), widen(w), self.along(rank, self.strides), self.along(rank, self.dilations), pad, self.group, size
        )
        if b is not None:
            y += widen(b).reshape(-1, *(1,) * rank)
        return narrow(y, x.dtype)

    def adjoint(self, of, dy, x, w):
        kernel = w.shape[2:]
        rank = len(kernel)
        strides, dilations = self.along(rank, self.strides), self.along(rank, self.dilations)
        pad, _ = self._cut(x.shape[2:], kernel)
        reached = [s * (n - 1) + r for s, n, r in zip(strides, x.shape[2:], self.reach(kernel))]
        dy = dy[(..., *(slice(0, max(0, w - p)) for w, p in zip(reached, pad)))]
        dy = pad_spatial(dy, pad, tuple(max(0, w - p - n) for w, p, n in zip(reached, pad, dy.shape[2:])))
        none = (0,) * rank
        if of == 0:
            return convolve(dy, w, strides, dilations, none, self.group)
        return correlate(dy, x, kernel, strides, dilations, none, self.group)

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(1, 2, 3, 2), make.uniform(2, 2, 3, 2), make.uniform(4), pads=(1, 0, 0, 1), strides=(2, 1),
            group=2, output_padding=(1, 0), given=("B",),
        )  # fmt: skip
        yield make(make.uniform(1, 2, 4), make.uniform(2, 3, 3), strides=(2,), output_shape=(6,))
        yield make(make.uniform(1, 2, 4), make.uniform(2, 3, 3), strides=(2,), auto_pad="SAME_UPPER")


@op("_backward__onnx_DeformConv_points")
class _Points(ModulatedDeformableConvolution):
    """MXNet's operator for any number of filters, whatever offset_group."""

    check = Deformed.check


@op("_backward__backward__onnx_DeformConv_points")
@part_of("_backward__onnx_DeformConv_points")
class _PointsBackward(DeformedBackward):
    """The gradients of _Points."""

    im2col_step: int = 64

    inputs = ModulatedDeformableConvolutionBackward.inputs


DEFORMED[_PointsBackward.name] = _Points


class _Moved(Standard):
    """Attributes of a convolution at moved points."""

    dilations: Counts | None = None
    group: Count = 1
    kernel_shape: Counts | None = None
    offset_group: Count = 1
    pads: Ints = None
    strides: Counts | None = None

    exception = "pads and groups in ways that Convolution does not"

    def check(self):
        for name, count in (("dilations", 2), ("pads", 4), ("strides", 2)):
            value = getattr(self, name)
            if value and (len(value) != count or min(value) < 0):
                return f"got {name}={show(value)}, wanted {count} sizes"
        return super().check()

    def _operator(self, w) -> tuple[dict[str, Any], tuple[int, int], tuple[int, int]]:
        """The attributes of MXNet's operator that this is on padded data, and the pads."""
        pads = self.pads or (0, 0, 0, 0)
        attrs = {
            "kernel": w[2:],
            "stride": self.strides or (),
            "dilate": self.dilations or (),
            "num_filter": w[0],
            "num_group": self.group,
            "num_deformable_group": self.offset_group,
            "no_bias": True,
        }
        return attrs, (pads[0], pads[1]), (pads[2], pads[3])


@op("_onnx_DeformConv")
class DeformConv(_Moved):
    """Conv that reads every tap at a place moved by ``offset`` and multiplies it by ``mask``; zeros lie around the image.

    Shapes: X (N, C, H, W), W (M, C/group, kh, kw), offset (N, 2 offset_group kh kw, H', W'), B (M,),
    mask (N, offset_group kh kw, H', W') -> (N, M, H', W'). Only for two spatial axes, as everywhere else.
    Source: ONNX DeformConv (opset 19 to newest); Zhu et al. 2018, arXiv:1811.11168."""

    inputs = ("X", "W", "offset", "B", "mask")
    types = {"X W offset B mask": FLOATS}
    optional = ("B", "mask")
    tolerance = 128.0

    def shape(self, x, w, offset, b, mask):
        if len(x) != 4:
            raise self.error(f"got X of shape {show(x)}, wanted two spatial axes")
        want_rank(self, w, 4, what="W")
        attrs, before, after = self._operator(w)
        steps, places = tuple(attrs["stride"]) or (1, 1), tuple(attrs["dilate"]) or (1, 1)
        sizes = [
            (d + b + a - r * (k - 1) - 1) // s + 1
            for d, b, a, r, k, s in zip(x[2:], before, after, places, w[2:], steps)
        ]
        if any(n is not UNKNOWN and n < 1 for n in sizes):
            raise self.error(f"got X of shape {show(x)} and W of shape {show(w)}, wanted a kernel that fits in")
        taps = w[2] * w[3] * self.offset_group
        merge(offset, (x[0], 2 * taps, *sizes))
        if mask is not None:
            merge(mask, (x[0], taps, *sizes))
        if b is not None:
            merge(b, w[:1])
        merge(x[1:2], (w[1] * self.group,))
        for name, count, parts in (("group", w[0], self.group), ("offset_group", x[1], self.offset_group)):
            if count is not UNKNOWN and count % parts:
                raise self.error(f"got {count} channels, wanted a multiple of {name}={parts}")
        return (x[0], w[0], *sizes)

    def meaning(self, x, w, offset, b, mask):
        if not len(x):
            return np.zeros((0, len(w), *offset.shape[2:]), x.dtype)
        attrs, before, after = self._operator(w.shape)
        moved = _Points.bind(**attrs)
        padded = pad_spatial(widen(x), before, after)
        if mask is None:
            mask = np.ones((len(x), offset.shape[1] // 2, *offset.shape[2:]), padded.dtype)
        y = moved.compute(padded, widen(offset), widen(mask), widen(w))
        if b is not None:
            y = y + widen(b).reshape(-1, 1, 1)
        return narrow(y, x.dtype)

    def gradient(self, F, dy, *arrays):
        given = self.by_input(arrays[:-1])
        factors = [a for i, a in enumerate(given) if i != 3 and a is not None]
        attrs: dict[str, Any] = {**self.dump(), "given": tuple(n for n in self.given if n != "B")}
        found = list(F._backward__onnx_DeformConv(dy, *factors, **attrs))
        if "B" in self.given:
            found.insert(3, _bias_gradient(F, dy))
        return found

    @classmethod
    def examples(cls, make):
        offset = make.uniform(1, 16, 3, 3, low=-0.9, high=0.9)
        yield make(make.uniform(1, 2, 4, 4), make.uniform(2, 2, 2, 2), offset, offset_group=2)
        offset = make.uniform(1, 8, 5, 4, low=-0.9, high=0.9)
        yield make(
            make.uniform(1, 2, 4, 4), make.uniform(2, 1, 2, 2), offset, make.uniform(2), make.uniform(1, 4, 5, 4),
            group=2, pads=(1, 0, 1, 1), given=("B", "mask"),
        )  # fmt: skip


@op("_backward__onnx_DeformConv")
@part_of("_onnx_DeformConv")
class DeformConvBackward(Once, _Moved):
    """The gradients of X, W, offset and mask of DeformConv from that of its output."""

    inputs = ("dy", "X", "W", "offset", "mask")
    optional = ("mask",)

    def output_names(self):
        return self.input_names()[1:]

    def infer_shape(self, dy, *shapes):
        return list(shapes)

    def infer_type(self, dy, *dtypes):
        return list(dtypes)

    def meaning(self, dy, x, w, offset, mask):
        if not len(x):
            return tuple(np.zeros_like(a) for a in (x, w, offset, mask) if a is not None)
        attrs, before, after = self._operator(w.shape)
        padded = pad_spatial(widen(x), before, after)
        ones = np.ones((len(x), offset.shape[1] // 2, *offset.shape[2:]), padded.dtype) if mask is None else widen(mask)
        backward = _PointsBackward.bind(**attrs)
        dx, doffset, dmask, dw = backward.compute(widen(dy), padded, widen(offset), ones, widen(w))
        dx = dx[(..., *(slice(b, b + n) for b, n in zip(before, x.shape[2:])))]
        found = [narrow(g, a.dtype) for g, a in ((dx, x), (dw, w), (doffset, offset))]
        return tuple(found if mask is None else [*found, narrow(dmask, mask.dtype)])


@linear(0)
@op("_onnx_Col2Im")
class Col2Im(Standard):
    """Windows put back to where they came from and added up.

    Shapes: input (N, C * prod(block_shape), prod(steps)), image_shape and block_shape (spatial axes,) ->
    (N, C, *image_shape). Source: ONNX Col2Im (opset 18 to newest)."""

    dilations: Counts | None = None
    pads: Ints = None
    strides: Counts | None = None

    exception = "pads and groups in ways that Convolution does not"

    inputs = ("input", "image_shape", "block_shape")
    types = {"input": TENSORS, "image_shape": {"int64"}, "block_shape": {"int64"}}
    needs = ("values",)
    data_dependent_shape = True

    def shape(self, columns, image, block, *, values):
        want_rank(self, columns, 3, what="input")
        want_rank(self, image, 1, what="image_shape")
        merge(image, block)
        sizes, kernel = ints(values[1]), ints(values[2])
        rank = len(sizes) if sizes is not None else image[0]
        if rank is UNKNOWN:
            return None
        if kernel is not None and min(kernel, default=1) < 1:
            raise self.error(f"got block_shape {show(kernel)}, wanted sizes of at least 1")
        channels = UNKNOWN if kernel is None else columns[1] // math.prod(kernel)
        return (columns[0], channels, *(sizes or (UNKNOWN,) * rank))

    def _geometry(self, image, block):
        kernel, sizes = ints(block), ints(image)
        rank = len(kernel)
        strides, dilations = self.strides or (1,) * rank, self.dilations or (1,) * rank
        pads = self.pads or (0,) * (2 * rank)
        if not (len(sizes) == len(strides) == len(dilations) == len(pads) / 2 == rank):
            raise self.error(
                f"got image_shape {show(sizes)}, block_shape {show(kernel)}, strides {show(strides)}, dilations "
                f"{show(dilations)} and pads {show(pads)}, wanted numbers for as many axes"
            )
        padded = tuple(n + b + a for n, b, a in zip(sizes, pads[:rank], pads[rank:]))
        steps = tuple((n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(padded, dilations, kernel, strides))
        inner = tuple(slice(b, b + n) for b, n in zip(pads, sizes))
        return kernel, strides, dilations, steps, padded, inner

    def meaning(self, columns, image, block):
        kernel, strides, dilations, steps, padded, inner = self._geometry(image, block)
        if columns.shape[2] != math.prod(steps) or columns.shape[1] % math.prod(kernel):
            raise self.error(
                f"got input of shape {show(columns.shape)}, wanted windows of {show(kernel)} at {show(steps)} places of the image"
            )
        channels = columns.shape[1] // math.prod(kernel)
        wide = widen(columns).reshape(len(columns), channels, *kernel, *steps)
        whole = fold(wide, padded, kernel, strides, dilations, steps)
        return narrow(np.ascontiguousarray(whole[(..., *inner)]), columns.dtype)

    def adjoint(self, of, dy, columns, image, block):
        kernel, strides, dilations, steps, padded, inner = self._geometry(image, block)
        wanted = (*dy.shape[:1], math.prod(kernel) * dy.shape[1], math.prod(steps))
        if columns.shape != wanted:
            raise self.error(
                f"got input of shape {show(columns.shape)} for dy of {show(dy.shape)}, wanted {show(wanted)}"
            )
        whole = np.zeros((*dy.shape[:2], *padded), dy.dtype)
        whole[(..., *inner)] = dy
        return windows(whole, kernel, strides, dilations, steps).reshape(columns.shape)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 8, 6), make.array([3, 4], "int64"), make.array([2, 2], "int64"))
        yield make(
            make.uniform(1, 4, 9),
            make.array([3, 5], "int64"),
            make.array([2, 2], "int64"),
            pads=(1, 0, 0, 1),
            strides=(1, 2),
        )
