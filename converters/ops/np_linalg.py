"""numpy.linalg: equations by elimination, symmetric eigenvalues and singular values by rotations."""

import math

from ..registry import exports, not_exported
from .jacobi import eigenvalues, facing_up, singular_value_decomposition
from .linalg import extract_diagonal
from .solving import floating, identity, row_space, solve, transpose_matrices, with_shape_of


@exports("_npi_solve")
def export_npi_solve(b, op, a, rhs):
    matrix, right = sides(b, a, rhs)
    if rhs.rank == a.rank:
        return solve(b, matrix, right)
    column = b.unsqueeze(right, [rhs.rank])
    column.shape = (*rhs.shape, 1)
    return b.squeeze(solve(b, matrix, column), [rhs.rank])


def sides(b, *arrays):
    """Both sides of an equation in the dtype to solve it in: the wider one where they are of two."""
    given = [floating(b, x) for x in arrays]
    dtype = max((x.dtype for x in given), key=lambda d: d.itemsize)
    return [b.cast(x, dtype) for x in given]


def as_matrix(b, a, size):
    """An array as one matrix."""
    made = b.reshape(floating(b, a), [size, size])
    made.shape = (size, size)
    return made


@exports("_npi_tensorinv")
def export_npi_tensorinv(b, op, a):
    matrix = as_matrix(b, a, math.prod(a.static[: op.ind]))
    return b.reshape(solve(b, matrix, identity(b, matrix)), list(op.infer_shape(a.static)))


@exports("_npi_tensorsolve")
def export_npi_tensorsolve(b, op, a, rhs):
    size = math.prod(rhs.static)
    matrix, right = sides(b, a, rhs)
    matrix = as_matrix(b, b.transpose(matrix, op.order(a.rank)), size)
    column = b.reshape(right, [size, 1])
    column.shape = (size, 1)
    return b.reshape(solve(b, matrix, column), list(op.infer_shape(a.static, rhs.static)))


def mirror_triangle(b, a, letter):
    """Symmetric matrices that have one triangle of a."""
    x = floating(b, a)
    columns = b.counting(b.size(a, -1))
    rows = b.unsqueeze(columns, [1])
    own = b.LessOrEqual(columns, rows) if letter == "L" else b.LessOrEqual(rows, columns)
    return with_shape_of(b.Where(own, x, transpose_matrices(b, x)), a)


@exports("_npi_eigvalsh")
def export_npi_eigvalsh(b, op, a):
    return eigenvalues(b, mirror_triangle(b, a, op.UPLO))[0]


@exports("_npi_eigh")
def export_npi_eigh(b, op, a):
    values, rows = eigenvalues(b, mirror_triangle(b, a, op.UPLO))
    return values, transpose_matrices(b, rows)


not_exported(
    "eigenvalues of general matrices may be complex, and their order and scale are those in which LAPACK's iterations come upon "
    "them; decompose outside the network, or use eigh for symmetric matrices",
    "_npi_eig",
    "_npi_eigvals",
)


@exports("_npi_svd")
def export_npi_svd(b, op, a):
    u, values, w = singular_value_decomposition(b, floating(b, a))
    # rows of w are orthogonal: made orthonormal by reflections they keep their directions, and those of length 0 get one
    v, lengths = row_space(b, w)
    up = facing_up(b, v, a.rank)
    same = b.Mul(
        b.reduce("Sum", b.Mul(v, up), [a.rank - 1], keepdims=True),
        b.unsqueeze(extract_diagonal(b, lengths, 0), [a.rank - 1]),
    )
    turned = b.Where(b.Less(same, b.like(0, u)), b.Neg(u), u)
    return transpose_matrices(b, with_shape_of(turned, u)), values, up


def pseudo_inverse(b, a, rcond):
    """The pseudo-inverse; rcond is a number or broadcasts to the largest singular value of each matrix, kept as (..., 1)."""
    x = floating(b, a)
    tall = a.dim(-2) > a.dim(-1)
    u, values, w = singular_value_decomposition(b, transpose_matrices(b, x) if tall else x)
    if a.dim(-1) == 0 or a.dim(-2) == 0:
        return transpose_matrices(b, x)
    cut = b.Mul(b.reduce("Max", values, [a.rank - 2], keepdims=True), rcond)
    squares = b.Mul(values, values)
    kept = b.Greater(values, cut)
    one = b.like(1, x)
    weights = b.Where(kept, b.Div(one, b.Where(kept, squares, one)), b.like(0, x))
    # A = U^T W, so the inverse is W^T diag(1 / values^2) U
    scaled = b.Mul(u, b.unsqueeze(weights, [a.rank - 1]))
    y = b.MatMul(transpose_matrices(b, w), scaled)
    y.shape = (*w.shape[:-2], w.shape[-1], w.shape[-2])
    return transpose_matrices(b, y) if tall else y


@exports("_npi_pinv")
def export_npi_pinv(b, op, a, rcond):
    return pseudo_inverse(b, a, b.unsqueeze(b.cast(rcond, floating(b, a).dtype), [rcond.rank]))


@exports("_npi_pinv_scalar_rcond")
def export_npi_pinv_scalar_rcond(b, op, a):
    return pseudo_inverse(b, a, op.rcond)
