"""Choosing element by element as Where."""

import numpy as np

from ..registry import to_onnx


@to_onnx("where")
def _(b, op, condition, x, y):
    if condition.rank == 1 and x.rank > 1:
        condition = b.unsqueeze(condition, range(1, x.rank))
    return b.Where(b.cast(condition, np.bool_), x, y)


@to_onnx("_npi_where")
def _(b, op, condition, x, y):
    return b.Where(b.cast(condition, np.bool_), x, y)


@to_onnx("_npi_where_lscalar")
def _(b, op, condition, x):
    return b.Where(b.cast(condition, np.bool_), b.like(op.scalar, x), x)


@to_onnx("_npi_where_rscalar")
def _(b, op, condition, y):
    return b.Where(b.cast(condition, np.bool_), y, b.like(op.scalar, y))


@to_onnx("_npi_where_scalar2")
def _(b, op, condition):
    return b.Where(b.cast(condition, np.bool_), b.const(op.x, np.float32), b.const(op.y, np.float32))
