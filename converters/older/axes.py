"""Axes as attributes, counted from the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybrid.core.shapes import UNKNOWN

from .forms import before
from .known import numbers_of, rank_of, shape, static

_COUNTED = frozenset(
    name
    for names in (
        "ArgMax ArgMin Concat Flatten Hardmax LogSoftmax Softmax Split Squeeze TopK Unsqueeze ReduceL1 ReduceL2 ReduceLogSum",
        "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
    )
    for name in names.split()
)
"""Operators whose axes count from the front alone before opset 11."""


def front_axes(b: Any, op_type: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes with axes counted from the front, where an operator has no others before opset 11."""
    if b.opset >= 11 or op_type not in _COUNTED:
        return attrs
    changed = dict(attrs)
    for name in ("axis", "axes"):
        given = attrs.get(name)
        axes = [given] if isinstance(given, int) else list(given or ())
        if any(a < 0 for a in axes):
            rank = max(rank_of(b, op_type, x) for x in inputs[:1]) + (len(axes) if op_type == "Unsqueeze" else 0)
            axes = [a % rank for a in axes]
            changed[name] = axes[0] if isinstance(given, int) else axes
    return changed


@before(13, "Squeeze", "Unsqueeze")
def axes_by_attribute(b: Any, op_type: str, x: Any, axes: Any = None) -> Any:
    """The axes of Squeeze and Unsqueeze as an attribute, in order."""
    found = numbers_of(b, op_type, axes, "axes", 13)
    attrs = front_axes(b, op_type, [x], {"axes": found})
    return b.plain(op_type, x, axes=attrs["axes"] and sorted(attrs["axes"]))


@before(13, "ReduceSum")
def sum_over_axes(
    b: Any, op_type: str, x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0, **given: Any
) -> Any:
    """The axes of ReduceSum as an attribute."""
    found = given.get("axes", numbers_of(b, op_type, axes, "axes", 13))
    if not found and noop_with_empty_axes:
        return b.plain("Identity", x)
    return b.plain(op_type, x, axes=found or None, keepdims=keepdims)


@before(13, "Split")
def split_by_attribute(b: Any, op_type: str, x: Any, sizes: Any = None, **attrs: Any) -> Any:
    """The sizes of Split's parts as an attribute."""
    return b.plain(op_type, x, split=numbers_of(b, op_type, sizes, "sizes", 13), **attrs)


@before(13, "Softmax", "LogSoftmax", "Hardmax")
def along_last_axis(b: Any, op_type: str, x: Any, *, axis: int = -1) -> Any:
    """These took all axes from one on together, which is one axis where it is the last."""
    rank = rank_of(b, op_type, x, 13)
    axis %= rank
    if axis == rank - 1:
        return b.plain(op_type, x, axis=axis)
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return b.transpose(b.plain(op_type, b.transpose(x, perm), axis=rank - 1), perm)


@before(9, "Flatten")
def flat(b: Any, op_type: str, x: Any, *, axis: int = 1) -> Any:
    """Of floats alone before opset 9."""
    if x.dtype is None or x.dtype.kind == "f":
        return b.plain(op_type, x, axis=axis)
    sizes = shape(b, x)
    if axis == 1 and (sizes is None or not any(d == 0 for d in sizes if d is not UNKNOWN)):
        return b.plain("Reshape", x, [0, -1])
    known = static(b, op_type, x, 9)
    rest = int(np.prod(known[axis:], dtype=np.int64))
    return b.plain("Reshape", x, [int(np.prod(known[:axis], dtype=np.int64)), rest])
