"""Reshapes and permutations of axes, exact when the sizes are only known at run time."""

from collections.abc import Sequence

import numpy as np

from hybrid.ops.shape import INFERRED, Size, sizes_of
from hybrid.shapes import UNKNOWN

from ..builder import Builder, Value
from ..error import Unsupported
from ..registry import to_onnx


def reshaped(b: Builder, x: Value, sizes: Sequence[Size | Value | None]) -> Value:
    """x with dims that are sizes (of axes of x), Values of length 1, or at most one INFERRED.

    Written with numbers, 0 (ONNX Reshape: this dim of x) and -1 as far as these suffice, else with run-time sizes."""
    own = sizes_of(x.shape or ())
    plain: list[int | None] = []
    for axis, size in enumerate(sizes):
        if isinstance(size, Size) and not size.axes and size.factor != 0:
            plain.append(int(size.factor))
        elif isinstance(size, Size) and axis < len(own) and size == own[axis]:
            plain.append(0)
        else:
            plain.append(None)
    if plain.count(None) == 1 and not _empty(x):
        plain = [-1 if d is None else d for d in plain]
    if None not in plain:
        return b.reshape(x, [d for d in plain if d is not None])
    parts: list[int | Value] = []
    for size in sizes:
        if size is INFERRED:
            parts.append(-1)
        elif isinstance(size, Value):
            parts.append(size)
        else:
            parts.append(run_time_size(b, x, size))  # type: ignore[arg-type]
    shape = b.dims(*parts)
    if isinstance(shape, list):
        # a size of 0 that is not x's own at this place, which 0 cannot say before opset 14: there is nothing to move
        return b.Identity(b.const(np.empty(shape, x.dtype)))
    return b.reshape(x, shape)


def _empty(x: Value) -> bool:
    return any(d is not UNKNOWN and d == 0 for d in x.shape or ())


def run_time_size(b: Builder, x: Value, size: Size) -> int | Value:
    """A size of axes of x: a number when it is known, else a tensor of length 1."""
    if not size.axes:
        return int(size.factor)
    out = b.shape_of(x, size.axes[0])
    for axis in size.axes[1:]:
        out = b.Mul(out, b.shape_of(x, axis))
    if size.factor.numerator != 1:
        out = b.Mul(out, [size.factor.numerator])
    return out if size.factor.denominator == 1 else b.Div(out, [size.factor.denominator])


@to_onnx("Reshape", "_np_reshape", "_npx_reshape")
def _(b, op, data):
    return reshaped(b, data, op.sizes(_shape(data)))


def _shape(x: Value) -> tuple:
    """The shape with dims that may be UNKNOWN. Raises Unsupported when the rank is not known."""
    return () if x.rank == 0 else x.shape  # type: ignore[return-value]


@to_onnx("reshape_like")
def _(b, op, lhs, rhs):
    begin, end = op.span(lhs.rank, op.lhs_begin, op.lhs_end, "lhs")
    first, last = op.span(rhs.rank, op.rhs_begin, op.rhs_end, "rhs")
    sizes = op.sizes(lhs.shape, rhs.shape)
    if sizes.count(INFERRED) > 1:
        own, theirs = sizes_of(lhs.shape), sizes_of(rhs.shape[first:last])
        like = [b.shape_of(rhs, first + i) if size.axes else size for i, size in enumerate(theirs)]
        sizes = [*own[:begin], *like, *own[end:]]
    return reshaped(b, lhs, sizes)


@to_onnx("Flatten")
def _(b, op, data):
    return b.Flatten(data) if data.rank > 1 else reshaped(b, data, op.sizes(_shape(data)))


@to_onnx("expand_dims")
def _(b, op, data):
    return b.unsqueeze(data, [op.axis % (data.rank + 1)])


@to_onnx("squeeze", "_np_squeeze")
def _(b, op, data):
    if op.axis is None and any(d is UNKNOWN for d in _shape(data)):
        raise Unsupported("which axes have size 1 is not known with dynamic axes; give squeeze an axis")
    gone = range(data.rank) if op.axis is None else {a % data.rank for a in op.axis}
    axes = [a for a in gone if op.axis is not None or data.dim(a) == 1]
    if op.keeps_one and axes and len(axes) == data.rank:
        return b.reshape(data, [1])
    return b.squeeze(data, sorted(axes)) if axes else b.Identity(data)


@to_onnx("transpose", "_np_transpose", "SwapAxis", "_np_moveaxis")
def _(b, op, data):
    return b.transpose(data, op.order(data.rank))
