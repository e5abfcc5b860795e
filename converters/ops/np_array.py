"""Diagonals, differences, averages and polynomials of NumPy in basic operators."""

import math

import numpy as np

from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.ops.common import np_axes_of

from ..registry import exports, not_exported
from .elementwise import is_whole
from .linalg import diagonal_mask, pad_front_back
from .reduce import KINDS, count_reduced

not_exported(
    "tensors of ONNX are values, of which nobody can tell where they lie; take it out of the network",
    "_npi_share_memory",
)


@exports("_np_atleast_1d", "_np_atleast_2d", "_np_atleast_3d")
def export_np_atleast_1d(b, op, *arrays):
    made = []
    for x in arrays:
        new = [a for a, d in enumerate(op.widen_shape(("own",) * x.rank)) if d == 1]
        made.append(b.unsqueeze(x, new) if new else b.rename(x))
    return tuple(made)


@exports("_np_diagflat")
def export_np_diagflat(b, op, data):
    flat = b.reshape(data, [-1])
    flat.shape = (UNKNOWN,)
    whole = is_known(data.shape)
    size = math.prod(data.shape) + abs(op.k) if whole else b.reshape(b.Add(b.Size(data), abs(op.k)), [1])
    padded = pad_front_back(b, flat, max(-op.k, 0), max(op.k, 0))
    return b.Where(diagonal_mask(b, size, op.k), b.unsqueeze(padded, [1]), 0)


@exports("_np_trace")
def export_np_trace(b, op, data):
    first, second = op.axes(data.rank)
    rows = b.Add(b.counting(b.size(data, first)), op.offset)
    columns = b.counting(b.size(data, second))
    rows = b.unsqueeze(rows, [a for a in range(data.rank) if a != first])
    columns = b.unsqueeze(columns, [a for a in range(data.rank) if a != second])
    kept = b.Where(b.Equal(rows, columns), data, 0)
    return b.squeeze(KINDS["sum"](b, kept, (first, second)), [first, second])


@exports("_npi_diag_indices_from")
def export_npi_diag_indices_from(b, op, data):
    places = b.unsqueeze(b.counting(b.size(data, 0)), [0])
    return b.Tile(places, [data.rank, 1])


def neighbours(b, x, axis):
    """x without its first along axis, and without its last."""
    return b.slice(x, [1], [np.iinfo(np.int64).max], [axis]), b.slice(x, [0], [-1], [axis])


@exports("_npi_diff")
def export_npi_diff(b, op, a):
    x = b.wide(a)
    for _ in range(op.n):
        x = b.Sub(*neighbours(b, x, op.axis % a.rank))
    return b.cast(x, a.dtype) if op.n else b.Identity(a)


@exports("_npi_ediff1d")
def export_npi_ediff1d(b, op, data, *arrays):
    begin, end = op.ends(arrays)
    flat = b.reshape(data, [-1])

    def placed(part):
        if part is None or isinstance(part, float):
            return map(b.const, op.flat(part, data.dtype))
        return [b.reshape(part, [-1])]

    parts = [*placed(begin), b.Sub(*neighbours(b, flat, 0)), *placed(end)]
    return b.Concat(*parts, axis=0) if len(parts) > 1 else parts[0]


UNROLLED = 64
"""Number of coefficients of a polynomial that have nodes of their own; more are gone through by a Scan."""


@exports("_npi_polyval")
def export_npi_polyval(b, op, p, x):
    coefficients, at = b.wide(p), b.wide(x)
    total = b.Expand(b.like(0, at), b.Shape(x))
    if p.dim(0) > UNROLLED:

        def step(inner, total, coefficient):
            return [inner.Add(inner.Mul(total, at), coefficient)]

        body = b.body(step, Spec(x.shape, at.dtype), Spec((), at.dtype))
        return b.cast(b.Scan(total, coefficients, body=body, num_scan_inputs=1), x.dtype)
    for i in range(p.dim(0)):
        total = b.Add(b.Mul(total, at), b.Gather(coefficients, b.const(i), axis=0))
    return b.cast(total, x.dtype)


@exports("_npi_average")
def export_npi_average(b, op, a, *weights):
    axes, wide, add = np_axes_of(op, op.axis, a.rank), b.wide(a), KINDS["sum"]
    if weights:
        scale, whole = b.wide(weights[0]), weights[0].rank == a.rank
        if not whole:
            scale = b.reshape(scale, [-1 if i in axes else 1 for i in range(a.rank)])
        total, count = add(b, b.Mul(wide, scale), axes), add(b, scale, axes)
    else:
        whole = False
        total, count = add(b, wide, axes), count_reduced(b, wide, axes)
    if is_whole(a):
        quotient = b.Div(b.cast(total, np.float64), b.cast(count, np.float64))
        mean = b.to_integer(quotient, a.dtype)
    else:
        mean = b.Div(total, count)
    mean, count = (b.cast(y, a.dtype) for y in (mean, count))
    count = b.squeeze(count, axes) if whole else b.reshape(count, [])
    return b.squeeze(mean, axes), count


@exports("_npx_constraint_check")
def export_npx_constraint_check(b, op, input):
    # nothing in ONNX raises: where the check fails, the answer is False
    each = b.Concat(b.reshape(b.cast(input, np.int32), [-1]), b.const(np.ones(1, np.int32)), axis=0)
    least = b.reduce("Min", each, [0], keepdims=False)
    return b.cast(least, np.bool_)
