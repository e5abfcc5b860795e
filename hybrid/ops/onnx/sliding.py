"""Parts of compositions of what slides a window: padding, and windows folded axis after axis."""

from collections.abc import Callable, Sequence
from typing import Any

from ..composing import folded, reshaped

Geometry = Sequence[tuple[int, int, int, int, int, int]]
"""For every spatial axis (size, kernel, stride, dilation, padding before it, steps)."""


def padded(F: Any, x: Any, shape: Sequence[int], before: Sequence[int], after: Sequence[int], value: float = 0) -> Any:
    """x, which has that shape, (N, C, *spatial) with up to three spatial axes, with so much of a value around it."""
    if not any((*before, *after)):
        return x
    pairs = [n for pair in zip(before, after) for n in pair]
    if len(shape) > 3:
        return F.Pad(x, mode="constant", pad_width=(0, 0, 0, 0, *pairs), constant_value=value)
    image = reshaped(F, x, (*shape[:2], 1, shape[2]))
    wide = F.Pad(image, mode="constant", pad_width=(0, 0, 0, 0, 0, 0, *pairs), constant_value=value)
    return reshaped(F, wide, (*shape[:2], sum((shape[2], *pairs))))


def covered(F: Any, x: Any, shape: Sequence[int], geometry: Geometry, value: float) -> Any:
    """x with a value around it, so that all windows lie inside; None where they begin inside the data, or axes are too many."""
    before = [g[4] for g in geometry]
    after = [max(0, (g[5] - 1) * g[2] + g[3] * (g[1] - 1) + 1 - g[0] - g[4]) for g in geometry]
    if min(before) < 0 or len(geometry) > 3 or any(g[5] < 1 for g in geometry):
        return None
    return padded(F, x, shape, before, after, value)


def slid(F: Any, x: Any, geometry: Geometry, function: Callable[[Any, Any], Any]) -> Any:
    """The function over all windows of what is covered, as many slices along an axis as the kernel is long."""
    for axis, (_, kernel, stride, dilation, _, steps) in enumerate(geometry, 2):
        lead, last = (None,) * axis, (steps - 1) * stride + 1
        parts = [
            F.slice(x, begin=(*lead, i * dilation), end=(*lead, i * dilation + last), step=(*(1,) * axis, stride))
            for i in range(kernel)
        ]
        x = folded(function, parts)
    return x


def summed(F: Any, x: Any, geometry: Geometry) -> Any:
    """Sums over all windows of what is covered."""
    if any(g[3] != 1 for g in geometry):
        return slid(F, x, geometry, F.broadcast_add)
    return F.Pooling(x, kernel=tuple(g[1] for g in geometry), stride=tuple(g[2] for g in geometry), pool_type="sum")
