"""Sums over named axes as Einsum, diagonals as masks, determinants as Det, inverses and Cholesky factors by Loops."""

import numpy as np

from ..registry import exports, imports
from .elementwise import is_short
from .linear import contract, einsum, swap_last
from .solving import cholesky, eliminate, floating, identity, solve, transpose_matrices


@exports("_npi_einsum")
def export_npi_einsum(b, op, *arrays):
    terms, right = op.terms()
    # ONNX wants every ellipsis to stand for as many axes
    rest = [x.rank - len(t.replace("...", "")) if "..." in t else None for t, x in zip(terms, arrays)]
    most = max((r for r in rest if r is not None), default=0)
    arrays = [
        x if r is None else b.unsqueeze(x, range(t.index("..."), t.index("...") + most - r))
        for t, x, r in zip(terms, arrays, rest)
    ]
    return einsum(b, ",".join(terms) + "->" + right, *arrays)


@exports("_npi_tensordot", "_npi_tensordot_int_axes")
def export_npi_tensordot(b, op, lhs, rhs):
    return contract(b, lhs, rhs, *op.pairs(lhs.rank, rhs.rank))


@exports("_linalg_syrk")
def export_linalg_syrk(b, op, a):
    y = b.MatMul(swap_last(b, a, op.transpose), swap_last(b, a, not op.transpose))
    return y if op.alpha == 1 else b.Mul(y, op.alpha)


def diagonal_mask(b, size, offset):
    """bool (size, size): True along the diagonal offset above the main one. size: a number, or a 1-D tensor."""
    if isinstance(size, int):
        return b.const(np.eye(size, k=offset, dtype=np.bool_))
    places = b.counting(size)
    return b.Equal(b.unsqueeze(b.Add(places, offset), [1]), b.unsqueeze(places, [0]))


def pad_front_back(b, a, before, after):
    """A with zeros before and after its last axis."""
    return b.Pad(a, [*[0] * (a.rank - 1), before, *[0] * (a.rank - 1), after]) if before or after else a


@exports("_linalg_makediag")
def export_linalg_makediag(b, op, a):
    # element i of A goes to row i + max(-offset, 0), which the padding puts it at
    padded = pad_front_back(b, a, max(-op.offset, 0), max(op.offset, 0))
    size = b.size(a, -1)
    size = size + abs(op.offset) if isinstance(size, int) else b.Add(size, abs(op.offset))
    return b.Where(diagonal_mask(b, size, op.offset), b.unsqueeze(padded, [a.rank]), 0)


def extract_diagonal(b, a, offset):
    """The diagonal of (..., N, N), offset above the main one."""
    masked = b.Where(diagonal_mask(b, b.size(a, -1), offset), a, 0)
    rows = b.reduce("Sum", masked, [a.rank - 1], keepdims=False)
    if not offset:
        return rows
    start, end = max(-offset, 0), -max(offset, 0) or np.iinfo(np.int64).max
    return b.slice(rows, [start], [end], [a.rank - 2])


@exports("_linalg_extractdiag")
def export_linalg_extractdiag(b, op, a):
    return extract_diagonal(b, a, op.offset)


def _per_matrix(b, a, y):
    return b.reshape(y, [1]) if a.rank == 2 else y


@exports("_linalg_sumlogdiag")
def export_linalg_sumlogdiag(b, op, a):
    return _per_matrix(b, a, b.reduce("Sum", b.Log(extract_diagonal(b, a, 0)), [-1], keepdims=False))


@exports("_linalg_det")
def export_linalg_det(b, op, a):
    if a.dtype != np.float64:
        return _per_matrix(b, a, b.Det(a))
    upper, _, signs = eliminate(b, a)  # onnxruntime's Det is for float32
    product = b.reduce("Prod", extract_diagonal(b, upper, 0), [a.rank - 2], keepdims=False)
    return _per_matrix(b, a, b.Mul(product, b.squeeze(signs, [a.rank - 2, a.rank - 1])))


@exports("_linalg_inverse")
def export_linalg_inverse(b, op, a):
    x = floating(b, a)
    return solve(b, x, identity(b, x))


@exports("_linalg_potrf", "_npi_cholesky")
def export_linalg_potrf(b, op, a):
    x = floating(b, a)
    return cholesky(b, x) if op.lower else transpose_matrices(b, cholesky(b, transpose_matrices(b, x)))


# -- reading -------------------------------------------------------------------------------------------------------------


@imports("Einsum", since=12)
def import_einsum(g, *arrays, equation):
    return g.apply("_npi_einsum", *arrays, subscripts=equation.replace(" ", ""))


@imports("Det", since=11)
def import_det(g, x):
    if x.shape is not None and len(x.shape) > 2 and not is_short(x):  # of one matrix MXNet gives (1,)
        return g.apply("_linalg_det", x)
    return g.passthrough(x)
