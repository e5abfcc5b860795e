"""Settings that were attributes before they were inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.core.shapes import UNKNOWN

from .forms import before, wanting
from .gathering import from_front
from .known import as_value, constant, is_whole, numbers_of, rank_of, shape, static
from .schemas import undefined


@before(12, "Clip")
def clip_whole_numbers(b: Any, op_type: str, x: Any, low: Any = None, high: Any = None) -> Any:
    """Clip is of floats alone before opset 12, with bounds as attributes before 11; float64 has kernels for Max and Min."""
    if not is_whole(x.dtype) and x.dtype != np.float64:
        if b.opset >= 11:
            return b.plain(op_type, x, low, high)
        bounds = {"min": constant(low), "max": constant(high)}
        given = {"min": low, "max": high}
        if all(bounds[name] is not None for name in given if given[name] is not None):
            return b.plain(op_type, x, **{k: float(v.reshape(())) for k, v in bounds.items() if v is not None})
    for bound, kind in ((low, "Max"), (high, "Min")):
        if bound is not None:
            x = b.node(kind, x, as_value(b, bound, x))
    return x


@before(11, "Pad")
def pad_by_attributes(
    b: Any, op_type: str, x: Any, pads: Any, value: Any = None, axes: Any = None, *, mode: str = "constant"
) -> Any:
    """The pads of Pad, and the number that fills them, as attributes."""
    filled = 0.0 if value is None else constant(value)
    if filled is None:
        raise wanting(b.opset, "Pad with a computed value", 11)
    filled = float(np.reshape(filled, ()))
    return b.plain(op_type, x, pads=numbers_of(b, op_type, pads, "pads", 11), mode=mode, value=filled)


@before(10, "Slice")
def slice_by_attributes(
    b: Any, op_type: str, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None
) -> Any:
    """The bounds of Slice as attributes, by steps of one."""
    first, last = (numbers_of(b, op_type, v, n, 10) for v, n in ((starts, "starts"), (ends, "ends")))
    assert first is not None and last is not None
    along = numbers_of(b, op_type, axes, "axes", 10) or list(range(len(first)))
    strides = numbers_of(b, op_type, steps, "steps", 10) or [1] * len(first)
    if any(a < 0 for a in along):
        along = [a % rank_of(b, op_type, x, 10) for a in along]
    plain = [i for i, step in enumerate(strides) if step == 1]
    if plain:
        starts, ends = [first[i] for i in plain], [last[i] for i in plain]
        if b.opset < 10 and any(abs(v) >= 2**31 for v in (*starts, *ends)):
            starts, ends = ([max(min(v, 2**31 - 1), 1 - 2**31) for v in part] for part in (starts, ends))
        sliced = b.plain(op_type, x, starts=starts, ends=ends, axes=[along[i] for i in plain])
    else:
        sliced = x
    if len(plain) < len(strides):
        sizes = shape(b, x)
        for i in (i for i in range(len(strides)) if i not in plain):
            size = UNKNOWN if sizes is None else sizes[along[i]]
            if size is UNKNOWN:
                raise wanting(b.opset, f"Slice with a step of {strides[i]} along an axis of unknown size", 10)
            chosen = np.arange(int(size))[slice(*_bounds(first[i], last[i], strides[i]))]
            sliced = b.plain("Gather", sliced, chosen, axis=along[i])
    return sliced


def _bounds(start: int, end: int, step: int) -> tuple[int, int | None, int]:
    """Those of a slice of Python: an end far below zero is none."""
    return start, None if step < 0 and end <= -(2**31) + 1 else end, step


@before(11, "TopK")
def top_of_all(
    b: Any, op_type: str, x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1, outputs: int = 2
) -> Any:
    """The largest alone, of floats."""
    del sorted
    if not is_whole(x.dtype):
        given = x if largest else b.node("Neg", x)
    elif x.dtype.itemsize < 8:  # no whole number is lost, and the least has a negative
        given = b.cast(x, np.float64)
        given = given if largest else b.node("Neg", given)
    else:
        raise wanting(b.opset, f"TopK of {x.dtype.name}", 11)
    if b.opset < 10:
        numbers = numbers_of(b, op_type, k, "k", 10)
        assert numbers is not None
        found = b.plain(op_type, given, k=numbers[0], axis=axis, outputs=outputs)
    else:
        found = b.plain(op_type, given, k, axis=axis, outputs=outputs)
    tops = found[0] if largest else b.node("Neg", found[0])
    return (b.cast(tops, x.dtype) if x.dtype is not None else tops, found[1])


@before(11, "Gemm")
def with_summand(b: Any, op_type: str, x: Any, y: Any, c: Any = None, **attrs: Any) -> Any:
    """The summand has to be there before opset 11; some engines want one number for each column."""
    known = shape(b, y)
    columns = known[0 if attrs.get("transB") else 1] if known is not None else UNKNOWN
    zeros = np.zeros(1 if columns is UNKNOWN else columns, x.dtype)
    return b.plain(op_type, x, y, zeros if c is None else c, **attrs)


@before(13, "Resize")
def resize_with_region(
    b: Any, op_type: str, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, **attrs: Any
) -> Any:
    """Resize of opset 11 wants all inputs; that of opset 10, and Upsample, know one way to place pixels."""
    if b.opset >= 11:
        none = np.zeros(0, np.float32)
        return b.plain(op_type, x, none if roi is None else roi, none if scales is None else scales, sizes, **attrs)
    mode = attrs.pop("mode", "nearest")
    placed = attrs.pop("coordinate_transformation_mode", "half_pixel")
    rounded = attrs.pop("nearest_mode", "round_prefer_floor") if mode == "nearest" else "floor"
    if roi is not None or sizes is not None or placed != "asymmetric" or rounded != "floor" or mode == "cubic" or attrs:
        raise wanting(b.opset, f"Resize of mode {mode}, {placed}" + (" to sizes" if sizes is not None else ""), 11)
    if b.opset == 10:
        return b.plain(op_type, x, scales, mode=mode)
    if b.opset == 9:
        return b.plain("Upsample", x, scales, mode=mode)
    return b.plain("Upsample", x, scales=numbers_of(b, "Upsample", scales, "scales", 9), mode=mode)


@before(11, "ScatterElements")
def scatter(b: Any, op_type: str, x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    """Scatter, as it was called from opset 9 on."""
    if reduction != "none":
        raise wanting(b.opset, f"{op_type} with reduction = {reduction!r}", 16)
    if b.opset < 9:
        raise undefined(op_type, b.opset)
    return b.plain("Scatter", x, from_front(b, indices, static(b, op_type, x, 11)[axis]), updates, axis=axis)


@before(11, "DepthToSpace")
def depth_to_space(b: Any, op_type: str, x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Columns before rows came with opset 11."""
    if mode == "DCR":
        return b.plain(op_type, x, blocksize=blocksize)
    n, c, h, w = static(b, op_type, x, 11)
    deep = c // blocksize**2
    parts = b.transpose(b.reshape(x, [n, deep, blocksize, blocksize, h, w]), (0, 1, 4, 2, 5, 3))
    return b.reshape(parts, [n, deep, h * blocksize, w * blocksize])
