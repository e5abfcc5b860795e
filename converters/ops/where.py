"""Choosing element by element as Where."""

import numpy as np

from hybrid.ops.casting import convert

from ..registry import exports, imports
from .binary import scalar_operand
from .elementwise import holds_floats


@exports("_npi_where")
def export_npi_where(b, op, condition, x, y):
    return b.Where(b.cast(condition, np.bool_), x, y)


@exports("_npi_where_lscalar")
def export_npi_where_lscalar(b, op, condition, x):
    return b.Where(b.cast(condition, np.bool_), b.const(convert(np.asarray(op.scalar), x.dtype)), x)


@exports("_npi_where_rscalar")
def export_npi_where_rscalar(b, op, condition, y):
    return b.Where(b.cast(condition, np.bool_), y, b.const(convert(np.asarray(op.scalar), y.dtype)))


@exports("_npi_where_scalar2")
def export_npi_where_scalar2(b, op, condition):
    return b.Where(b.cast(condition, np.bool_), b.const(op.x, np.float32), b.const(op.y, np.float32))


@imports("Where", since=9)
def import_where(g, condition, x, y):
    first, second = (scalar_operand(condition, v) if holds_floats(v) else None for v in (x, y))
    if first is not None and second is None:
        return g.apply("_npi_where_lscalar", condition, y, scalar=first)
    if second is not None and first is None:
        return g.apply("_npi_where_rscalar", condition, x, scalar=second)
    return g.apply("_npi_where", condition, x, y)
