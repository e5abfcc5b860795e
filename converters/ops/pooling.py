"""Pooling as MaxPool and AveragePool with explicit pads.

MXNet's full convention is the valid one with stride - 1 more of padding at the far end, whatever the size; ceil_mode is used
for maxima alone and where no window can begin in that padding, because ONNX drops such a window, and opsets differ in what
its mean counts.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from hybrid.core.shapes import UNKNOWN

from ..error import Unsupported
from ..registry import exports, imports
from .convolution import in_networks, pad_spatial, window
from .reduce import has_some


class Window(NamedTuple):
    """A sliding window: ONNX's attributes, and how far the data is extended at the far end beyond op.pads."""

    kernel: list[int]
    strides: list[int]
    pads: list[int]
    extra: list[int]

    @classmethod
    def of(cls, op: Any, spatial: Any) -> "Window":
        extra = []
        for size, kernel, stride, pad in zip(spatial, op.kernel, op.strides, op.pads):
            if op.pooling_convention == "valid":
                extra.append(0)
            elif size is UNKNOWN:
                extra.append(stride - 1)
            else:
                extra.append(max(0, (op.steps(size, kernel, stride, pad) - 1) * stride + kernel - size - 2 * pad))
        return cls(list(op.kernel), list(op.strides), list(op.pads), extra)

    def max(self, b, x, before, after, least):
        """MaxPool of x padded by before and after; by a Pad with ``least`` where onnxruntime refuses such pads."""
        if any(p >= k for p, k in zip((*before, *after), self.kernel * 2)):
            x, before, after = pad(b, x, before, after, least), [0] * len(before), [0] * len(after)
            x = x if least else b.Max(x, b.like(0, x))  # a Pad with 0 would be fused into the pooling again
        return b.MaxPool(x, kernel_shape=self.kernel, strides=self.strides, pads=[*before, *after])

    def mean(self, b, x, before, after):
        """AveragePool of x padded by before and after, which are not counted."""
        return b.AveragePool(x, kernel_shape=self.kernel, strides=self.strides, pads=[*before, *after])

    def whole_mean(self, b, x):
        """The sum over every window, padding and all, divided by the size of the kernel."""
        if not any(self.extra) and all(p < k for p, k in zip(self.pads, self.kernel)):
            # beside a Pad it stays counted: onnxruntime may make one node of both again
            pads = self.pads if b.forms.counted_pads else [0] * len(self.pads)
            x = x if b.forms.counted_pads else pad(b, x, self.pads, self.pads, 0)
            attrs = {"pads": pads * 2, "count_include_pad": 1}
            return b.AveragePool(x, kernel_shape=self.kernel, strides=self.strides, **attrs)
        # explicit zeros, since onnxruntime counts only as far as the pads at the near end reach
        return self.mean(b, zeros_around(b, x, self.pads, self.ends), [0] * len(self.pads), [0] * len(self.pads))

    @property
    def ends(self) -> list[int]:
        return [p + e for p, e in zip(self.pads, self.extra)]


def pad(b, x, before, after, fill):
    """x with its last axes extended by ``fill``."""
    if not any(before) and not any(after):
        return x
    rest = [0] * (x.rank - len(before) if x.shape is not None else 2)
    return b.Pad(x, [*rest, *before, *rest, *after], b.like(fill, x))


def zeros_around(b, x, before, after):
    """x padded with zeros, ahead of a pooling. The Max changes nothing, but it keeps onnxruntime from fusing the Pad into
    the pooling, where padding means something else and may not be as wide as the kernel."""
    return b.Max(pad(b, x, before, after, 0), b.like(-np.inf, x)) if any((*before, *after)) else x


def _sum(b, w, x):
    return b.Mul(w.whole_mean(b, x), float(math.prod(w.kernel)))


def means(b, op, w, x, spatial):
    """The mean of every window of x, whose spatial sizes are given."""
    if op.name == "Pooling_v1" or (op.include and not any(w.extra)):
        return w.whole_mean(b, x)
    if op.include and all(e < k for e, k in zip(w.extra, w.kernel)):
        return w.mean(b, zeros_around(b, x, w.pads, w.pads), [0] * len(w.pads), w.extra)
    if not op.include and all(e < k for e, k in zip(w.ends, w.kernel)):
        return w.mean(b, x, w.pads, w.ends)
    # windows that hold nothing: their sum is 0, their count is taken for 1
    counts = np.ones(())
    for axis, size in enumerate(spatial):
        size = x.dim(2 + axis) if size is UNKNOWN else size
        counts = counts[..., None] * op.counts(size, w.kernel[axis], w.strides[axis], w.pads[axis])
    return b.Div(_sum(b, w, x), b.like(counts, x))


def _everything(b, op, x, rank):
    """One window over all spatial axes."""
    axes = list(range(rank)[op.spatial(rank)])
    if op.pool_type in ("sum", "lp"):
        return b.reduce("Sum", x, axes, keepdims=True)
    if op.channels_last:
        return b.reduce("Max" if op.pool_type == "max" else "Mean", x, axes, keepdims=True)
    return b.GlobalMaxPool(x) if op.pool_type == "max" else b.GlobalAveragePool(x)


def _power(b, op, x):
    """The elements' powers that lp pooling adds up."""
    if op.power == 1:
        return x
    square = b.Mul(x, x)
    return square if op.power == 2 else b.Mul(square, x)


def _root(b, op, x):
    """Undo the powers, keeping the sign for the third."""
    if op.power == 3:
        return b.Mul(b.Sign(x), b.Pow(b.Abs(x), b.like(1 / 3, x)))
    return b.Sqrt(x) if op.power == 2 else x


@exports("Pooling", "Pooling_v1")
def export_pooling(b, op, data):
    rank = data.rank
    if op.global_pool and op.pool_type == "lp" and op.power == 2 and not op.channels_last:
        return b.GlobalLpPool(data, p=2)
    if op.global_pool:
        return _root(b, op, _everything(b, op, _power(b, op, data), rank))
    spatial = data.shape[op.spatial(rank)]
    w = Window.of(op, spatial)
    x = b.transpose(data, [0, rank - 1, *range(1, rank - 1)]) if op.channels_last else data
    if op.pool_type == "max":
        y = maxima(b, op, w, x)
    elif op.pool_type == "avg":
        y = means(b, op, w, x, spatial)
    elif op.pool_type == "lp" and op.power == 2 and not any(w.extra):
        y = b.LpPool(x, kernel_shape=w.kernel, strides=w.strides, pads=w.pads * 2, p=2)
    else:
        y = _root(b, op, _sum(b, w, _power(b, op, x)))
    return b.transpose(y, [0, *range(2, rank), 1]) if op.channels_last else y


def maxima(b, op, w, x):
    """The maximum of every window of x."""
    least = op.least(np.dtype(x.dtype))
    if op.name == "Pooling_v1" and any(e >= k for e, k in zip(w.extra, w.kernel)):
        raise Unsupported(
            f"stride={op.stride} with pooling_convention=full: windows hold nothing, whose maximum ONNX leaves open"
        )
    if op.name == "Pooling" and any(w.extra) and all(p + s <= k for p, s, k in zip(w.pads, w.strides, w.kernel)):
        # no window begins in the padding at the end
        return b.MaxPool(x, kernel_shape=w.kernel, strides=w.strides, pads=w.pads * 2, ceil_mode=1)
    if op.name == "Pooling_v1" and any(w.pads):  # there padding counts as 0
        return w.max(b, zeros_around(b, x, w.pads, w.pads), [0] * len(w.pads), w.extra, least)
    return w.max(b, x, w.pads, w.ends, least)


@exports("_contrib_AdaptiveAvgPooling2D")
def export_contrib_adaptive_avg_pooling2_d(b, op, data):
    if has_some(b, data, (2, 3)) is False:
        return b.Expand(b.like(np.nan, data), b.dims(b.size(data, 0), b.size(data, 1), *op.grid))
    if op.grid == (1, 1):
        return b.GlobalAveragePool(data)
    sizes = [data.dim(2), data.dim(3)]
    if all(n % g == 0 for n, g in zip(sizes, op.grid)):
        kernel = [n // g for n, g in zip(sizes, op.grid)]
        return b.AveragePool(data, kernel_shape=kernel, strides=kernel)
    x = data
    for axis, size, count in zip((2, 3), sizes, op.grid):
        cells = op.cells(size, count)
        means = [b.reduce("Mean", b.slice(x, [s], [e], [axis]), [axis], keepdims=True) for s, e in cells]
        x = b.Concat(*means, axis=axis) if len(means) > 1 else means[0]
    return x


# -- reading ----------------------------------------------------------------------------------------------------------------


def _windows(auto_pad, ceil_mode, dilations, kernel_shape, pads, strides):
    """The attributes by which poolings say what their windows are."""
    return {
        "auto_pad": auto_pad,
        "ceil_mode": ceil_mode,
        "dilations": dilations,
        "kernel_shape": kernel_shape,
        "pads": pads,
        "strides": strides,
    }


def _pooling(g: Any, x: Any, kind: str, attrs: dict[str, Any], **own: Any) -> Any:
    """A pooling as MXNet's; None where MXNet's means something else."""
    kernel = attrs["kernel_shape"]
    rank = len(kernel)
    strides, dilations = attrs["strides"] or (1,) * rank, attrs.get("dilations") or (1,) * rank
    edges = window(x, rank, attrs["auto_pad"], strides, dilations, kernel, attrs["pads"])
    if edges is None or not in_networks(x) or not 1 <= rank <= 3 or set(dilations) != {1}:
        return None
    plain, whole = True, {}
    if attrs.get("ceil_mode") and attrs["auto_pad"] == "NOTSET":
        spatial = (UNKNOWN,) * rank if x.shape is None else x.shape[2:]
        uneven = [
            (s, p, k)
            for n, s, k, p, q in zip(spatial, strides, kernel, *edges)
            if s > 1 and (n is UNKNOWN or (n + p + q - k) % s)
        ]
        if uneven:
            # "full" is the same unless a window may begin in the padding at the end
            plain = kind != "lp" and edges[0] == edges[1] and all(p + s <= k for s, p, k in uneven)
            whole = {"pooling_convention": "full"}
    plain = plain and min(*edges[0], *edges[1]) >= 0
    if plain and edges[0] != edges[1]:
        plain = kind == "max" and rank > 1
        if plain:  # windows that lie in the padding alone would give what is put there
            x, edges = pad_spatial(g, x, *edges, fill=float(np.finfo(x.dtype).min)), ((0,) * rank,) * 2
    if not plain or any(p >= k for p, k in zip(edges[0], kernel)):
        return None
    return g.Pooling(x, kernel=kernel, stride=strides, pad=edges[0], pool_type=kind, **own, **whole)


@imports("MaxPool")
def import_max_pool(
    g, x, *, auto_pad="NOTSET", ceil_mode=0, dilations=None, kernel_shape, pads=None, storage_order=0, strides=None
):
    attrs = _windows(auto_pad, ceil_mode, dilations, kernel_shape, pads, strides)
    made = None if g.wants(1) else _pooling(g, x, "max", attrs)
    return g.passthrough(x, **attrs, storage_order=storage_order, num_outputs=1 + g.wants(1)) if made is None else made


@imports("AveragePool")
def import_average_pool(
    g, x, *, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None, kernel_shape, pads=None, strides=None
):
    attrs = _windows(auto_pad, ceil_mode, dilations, kernel_shape, pads, strides)
    made = _pooling(g, x, "avg", attrs, count_include_pad=bool(count_include_pad))
    return g.passthrough(x, **attrs, count_include_pad=count_include_pad) if made is None else made


@imports("LpPool")
def import_lp_pool(g, x, *, auto_pad="NOTSET", ceil_mode=0, dilations=None, kernel_shape, p=2, pads=None, strides=None):
    attrs = _windows(auto_pad, ceil_mode, dilations, kernel_shape, pads, strides)
    made = _pooling(g, x, "lp", attrs, p_value=2) if p == 2 else None  # of others MXNet keeps the signs
    return g.passthrough(x, **attrs, p=_whole(p)) if made is None else made


def _whole(p):
    if not float(p).is_integer():
        raise Unsupported(f"got p={p}, wanted a whole number")
    return int(p)


def _overall(g, x, kind, **attrs):
    """A pooling over all spatial axes; as it stands where there are none, or more than three, or nobody knows."""
    if x.shape is None or not 3 <= len(x.shape) <= 5 or not in_networks(x):
        return None
    return g.Pooling(x, global_pool=True, pool_type=kind, **attrs)


@imports("GlobalAveragePool")
def import_global_average_pool(g, x):
    return _overall(g, x, "avg") or g.passthrough(x)


@imports("GlobalMaxPool")
def import_global_max_pool(g, x):
    return _overall(g, x, "max") or g.passthrough(x)


@imports("GlobalLpPool")
def import_global_lp_pool(g, x, *, p=2):
    return (_overall(g, x, "lp", p_value=2) if p == 2 else None) or g.passthrough(x, p=_whole(p))
