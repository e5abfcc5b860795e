"""Norms of vectors and matrices as sums and singular values."""

import numpy as np

from ..registry import exports
from .jacobi import singular_value_decomposition
from .reduce import count_reduced, has_some
from .solving import floating


@exports("_npi_norm")
def export_npi_norm(b, op, data):
    kind, axes = op.kind(data.rank), op.axes(data.rank)
    x, some = floating(b, data), has_some(b, data, range(data.rank))
    if some is False:
        return b.reduce("Sum", b.Abs(x), axes, keepdims=op.keepdims)  # 0, or nothing
    y = norm(b, op, data, x, kind, axes)
    if some or not (kind == "column" or (kind == "vector" and op.ord < 0)):
        return y
    return b.Where(
        b.Equal(count_reduced(b, data, range(data.rank), np.int64), 0), 0, y
    )  # which is endless over nothing


def norm(b, op, data, x, kind, axes):
    """The norm of a kind of x, which is data in a dtype of floats, where there is something."""
    if kind == "root":
        return b.Sqrt(b.reduce("Sum", b.Mul(x, x), axes, keepdims=op.keepdims))
    if kind == "vector":
        return vector_norm(b, op, x, axes)
    if kind == "column":
        sums = b.reduce("Sum", b.Abs(x), axes[:1], keepdims=True)
        most = b.reduce("Max" if op.ord > 0 else "Min", sums, axes[1:], keepdims=True)
        return most if op.keepdims else b.squeeze(most, axes)
    row, column = axes if data.dim(axes[0]) <= data.dim(axes[1]) else axes[::-1]
    order = [*(i for i in range(data.rank) if i not in axes), row, column]
    matrices = b.transpose(x, order)
    matrices.shape = tuple(data.shape[i] for i in order)
    values = singular_value_decomposition(b, matrices)[1]
    if kind == "nuclear":
        y = b.reduce("Sum", values, [data.rank - 2], keepdims=False)
    else:
        y = b.Gather(values, 0 if op.ord > 0 else -1, axis=data.rank - 2)
    return b.unsqueeze(y, sorted(axes)) if op.keepdims else y


def vector_norm(b, op, x, axes):
    """(sum |x|^ord)^(1/ord), or how many are not 0."""
    if op.ord == 0:
        ones = b.cast(b.Not(b.Equal(x, b.like(0, x))), x.dtype)
        return b.reduce("Sum", ones, axes, keepdims=op.keepdims)
    sizes = b.Abs(x)
    if op.ord == 1:
        return b.reduce("Sum", sizes, axes, keepdims=op.keepdims)
    total = b.reduce("Sum", b.Pow(sizes, b.like(op.ord, x)), axes, keepdims=op.keepdims)
    return b.Pow(total, b.like(1 / op.ord, x))
