"""Packed triangles as Gather, products with triangles as MatMul, equations and decompositions by Loops."""

import numpy as np

from hybrid.ops.linalg_decompositions import places

from ..registry import exports
from .jacobi import eigenvalues
from .linalg import extract_diagonal
from .linear import swap_last
from .np_linalg import mirror_triangle
from .solving import eliminate, floating, identity, row_space, substitute, transpose_matrices


@exports("_linalg_extracttrian")
def export_linalg_extracttrian(b, op, a):
    size = a.static[-1]
    rows, columns = places(size, op.offset, op.lower)
    flat = b.reshape(a, [*a.static[:-2], size * size])
    return b.Gather(flat, b.const(rows * size + columns), axis=a.rank - 2)


@exports("_linalg_maketrian")
def export_linalg_maketrian(b, op, a):
    size = op.infer_shape(a.static)[-1]
    table = np.zeros((size, size), np.int64)  # 0: the zero in front
    table[places(size, op.offset, op.lower)] = np.arange(1, a.static[-1] + 1)
    padded = b.Pad(a, [*[0] * (a.rank - 1), 1, *[0] * a.rank])
    return b.Gather(padded, b.const(table), axis=a.rank - 1)


@exports("_linalg_trmm")
def export_linalg_trmm(b, op, a, lhs):
    turned, upper = swap_last(b, a, op.transpose), op.lower == op.transpose
    if b.since(14):
        t = b.Trilu(turned, upper=int(upper))
    else:
        ones = np.ones((a.dim(-1),) * 2, bool)
        t = b.Where(np.triu(ones) if upper else np.tril(ones), turned, b.like(0, a))
    y = b.MatMul(lhs, t) if op.rightside else b.MatMul(t, lhs)
    return y if op.alpha == 1 else b.Mul(y, op.alpha)


@exports("_linalg_trsm")
def export_linalg_trsm(b, op, a, rhs):
    t, right = floating(b, a), floating(b, rhs)
    # X T = B is T^T X^T = B^T
    turned = op.transpose != op.rightside
    x = substitute(
        b,
        transpose_matrices(b, t) if turned else t,
        transpose_matrices(b, right) if op.rightside else right,
        lower=op.lower != turned,
    )
    y = transpose_matrices(b, x) if op.rightside else x
    return y if op.alpha == 1 else b.Mul(y, op.alpha)


@exports("_linalg_potri")
def export_linalg_potri(b, op, a):
    t = floating(b, a)
    inverse = substitute(b, t, identity(b, t), lower=op.lower)
    turned = transpose_matrices(b, inverse)
    return b.MatMul(turned, inverse) if op.lower else b.MatMul(inverse, turned)


@exports("_linalg_slogdet")
def export_linalg_slogdet(b, op, a):
    upper, _, signs = eliminate(b, floating(b, a))
    diagonal = extract_diagonal(b, upper, 0)
    last = a.rank - 2
    sign = b.Mul(b.reduce("Prod", b.Sign(diagonal), [last], keepdims=False), b.squeeze(signs, [last, last + 1]))
    log = b.reduce("Sum", b.Log(b.Abs(diagonal)), [last], keepdims=False)
    return (b.reshape(sign, [1]), b.reshape(log, [1])) if a.rank == 2 else (sign, log)


@exports("_linalg_syevd")
def export_linalg_syevd(b, op, a):
    values, rows = eigenvalues(b, mirror_triangle(b, a, "L"))
    return rows, values


@exports("_linalg_gelqf")
def export_linalg_gelqf(b, op, a):
    return row_space(b, floating(b, a))
