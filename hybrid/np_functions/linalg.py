"""``np.linalg``: matrices factored, inverted and measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .side import Side, function

# -- norms ---------------------------------------------------------------------------------------------------------------


def _of_sums(F: Side, x: Any, axis: tuple[int, int], ord: Any, keepdims: bool) -> Any:  # noqa: N803
    """The largest or smallest sum of absolute values of a row (ord inf, -inf) or a column (1, -1) of matrices."""
    row, column = axis
    added, left = (column, row) if ord in ("inf", "-inf") else (row, column)
    if not keepdims and left > added:
        left -= 1
    sums = F.ops._np_sum(F.ops._npi_absolute(x), axis=added, keepdims=keepdims)
    chosen = F.ops._np_min if ord in ("-inf", -1) else F.ops._np_max
    return chosen(sums, axis=left, keepdims=keepdims)


@function("np.linalg")
def norm(F: Side, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: N803
    """A norm of all numbers, of vectors along an axis, or of matrices along two.

    ord: None and 'fro' the root of the sum of squares; of vectors a number; of matrices 1, -1, 2, -2, 'inf', '-inf', 'nuc'.
    Without an axis 'inf' and '-inf' are those of all numbers; NumPy's inf and -inf are those of matrices where there are two axes
    or more. Raises TypeError for an axis that is no integer and no tuple, ValueError for inf and -inf of a symbol without one."""
    if axis is not None and not isinstance(axis, int | tuple):
        raise TypeError("'axis' must be None, an integer or a tuple of integers.")
    if axis is None and ord is None:
        return F.ops._npi_norm(x, ord=2, axis=None, keepdims=keepdims, flag=-2)
    axes = (axis,) if isinstance(axis, int) else axis
    if isinstance(ord, float) and math.isinf(ord):
        if axes is None:
            if not F.eager:
                raise ValueError(
                    f"norm: ord={ord} of a symbol wants an axis: it is not known whether it is a vector or a matrix"
                )
            axes = (x.ndim - 2, x.ndim - 1) if x.ndim > 1 else None
        ord = "inf" if ord > 0 else "-inf"
    pair = axes if axes is not None and len(axes) == 2 else None
    if pair and ord in ("inf", "-inf", 1, -1):
        return _of_sums(F, x, (pair[0], pair[1]), ord, keepdims)
    if ord in ("inf", "-inf"):
        chosen = F.ops._np_max if ord == "inf" else F.ops._np_min
        return chosen(F.ops._npi_absolute(x), axis=axes, keepdims=keepdims)
    if ord is None or ord in ("fro", "f"):
        return F.ops._npi_norm(x, ord=2, axis=axes, keepdims=keepdims, flag=1)
    if ord == "nuc":
        return F.ops._npi_norm(x, ord=2, axis=axes, keepdims=keepdims, flag=2)
    return F.ops._npi_norm(x, ord=ord, axis=axes, keepdims=keepdims, flag=0 if pair and ord in (2, -2) else -1)


# -- factors, inverses, solutions ----------------------------------------------------------------------------------------


def _several(F: Side, found: Any) -> Any:  # noqa: N803
    """A tuple of arrays; the list of symbols."""
    return tuple(found) if F.eager else found


@function("np.linalg")
def svd(F: Side, a: Any) -> Any:  # noqa: N803
    """(ut, l, v) of matrices with a = ut diag(l) v, reduced: l holds the singular values from the largest."""
    return _several(F, F.ops._npi_svd(a))


@function("np.linalg")
def cholesky(F: Side, a: Any) -> Any:  # noqa: N803
    """The lower triangular factor l of symmetric positive definite matrices l l^T."""
    return F.ops._npi_cholesky(a)


@function("np.linalg")
def inv(F: Side, a: Any) -> Any:  # noqa: N803
    """The inverses of matrices."""
    return F.ops._npi_inv(a)


@function("np.linalg")
def det(F: Side, a: Any) -> Any:  # noqa: N803
    """The determinants of matrices."""
    return F.ops._npi_det(a)


@function("np.linalg")
def slogdet(F: Side, a: Any) -> Any:  # noqa: N803
    """Signs of the determinants of matrices, and logarithms of their absolute values."""
    return F.ops._npi_slogdet(a)


@function("np.linalg")
def solve(F: Side, a: Any, b: Any) -> Any:  # noqa: N803
    """x with a x = b, of matrices a and vectors or matrices b."""
    return F.ops._npi_solve(a, b)


@function("np.linalg")
def tensorinv(F: Side, a: Any, ind: int = 2) -> Any:  # noqa: N803
    """The inverse of an array as a linear map from its axes behind ind to those before."""
    return F.ops._npi_tensorinv(a, ind=ind)


@function("np.linalg")
def tensorsolve(F: Side, a: Any, b: Any, axes: Any = None) -> Any:  # noqa: N803
    """x with tensordot(a, x, x.ndim) = b. axes: those of a to be moved behind the others first."""
    return F.ops._npi_tensorsolve(a, b, a_axes=() if axes is None else axes)


@function("np.linalg")
def pinv(F: Side, a: Any, rcond: Any = 1e-15, hermitian: bool = False) -> Any:  # noqa: N803
    """The pseudo-inverses of matrices. Singular values up to rcond times the largest count as 0.

    Raises NotImplementedError for hermitian, which MXNet has not got."""
    if hermitian is True:
        raise NotImplementedError("hermitian is not supported yet...")
    if np.isscalar(rcond):
        return F.ops._npi_pinv_scalar_rcond(a, rcond=rcond, hermitian=hermitian)
    return F.ops._npi_pinv(a, rcond, hermitian=hermitian)


@function("np.linalg")
def eigvals(F: Side, a: Any) -> Any:  # noqa: N803
    """The eigenvalues of matrices that have real ones."""
    return F.ops._npi_eigvals(a)


@function("np.linalg")
def eigvalsh(F: Side, a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues of symmetric matrices, of which one half is read, from the smallest."""
    return F.ops._npi_eigvalsh(a, UPLO=UPLO)


@function("np.linalg")
def eig(F: Side, a: Any) -> Any:  # noqa: N803
    """The eigenvalues of matrices that have real ones, and their eigenvectors as columns."""
    return _several(F, F.ops._npi_eig(a))


@function("np.linalg")
def eigh(F: Side, a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """The eigenvalues of symmetric matrices, of which one half is read, from the smallest, and their eigenvectors as columns."""
    return _several(F, F.ops._npi_eigh(a, UPLO=UPLO))
