"""Sparse arrays as far as parameter files hold them: rows of an array, and compressed sparse rows. ``nd.sparse``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .context import Context, resolve
from .error import MXNetError
from .array import NDArray
from .params import CSR, RowSparse


class BaseSparseNDArray(NDArray):
    """An array of which only some entries are stored; operators take it as its dense values."""

    __slots__ = ("_parts",)
    stype = "sparse"

    def __init__(self, parts: Any, ctx: Context | None = None):
        super().__init__(parts.todense(), ctx)
        self._array.flags.writeable = False  # the parts are what counts
        self._parts = parts

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self._ctx}>"

    def _stored(self) -> Any:
        return self._parts

    def __reduce__(self) -> Any:
        return type(self), (self._parts, self._ctx)

    @property
    def data(self) -> NDArray:
        return NDArray(self._parts.data, self._ctx)

    @property
    def indices(self) -> NDArray:
        return NDArray(self._parts.indices, self._ctx)

    def tostype(self, stype: str) -> NDArray:
        return self if stype == self.stype else from_dense(NDArray(self._array, self._ctx), stype)

    def copy(self) -> BaseSparseNDArray:
        return type(self)(self._parts, self._ctx)

    def __getitem__(self, key: Any) -> NDArray:
        return NDArray(self._array, self._ctx)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_writable()

    def _check_writable(self) -> None:
        raise MXNetError(f"{type(self).__name__} cannot be written to; use tostype('default') first")


class RowSparseNDArray(BaseSparseNDArray):
    """Rows ``data`` at ``indices``; all others are zero."""

    __slots__ = ()
    stype = "row_sparse"


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse rows."""

    __slots__ = ()
    stype = "csr"

    @property
    def indptr(self) -> NDArray:
        return NDArray(self._parts.indptr, self._ctx)


def from_parts(parts: RowSparse | CSR, ctx: Context | None = None) -> BaseSparseNDArray:
    """The sparse array of parts as params.load gives them."""
    return (RowSparseNDArray if isinstance(parts, RowSparse) else CSRNDArray)(parts, ctx)


def from_dense(array: NDArray, stype: str) -> NDArray:
    """The array in a storage type. Raises MXNetError for one that there is not, or that the shape cannot have."""
    values = array.asnumpy()
    if stype == "default":
        return NDArray(values, array.context)
    if stype == "row_sparse" and values.ndim:
        rows = np.flatnonzero(values.reshape(len(values), -1).any(axis=1))
        return RowSparseNDArray(RowSparse(values[rows], rows, values.shape), array.context)
    if stype == "csr" and values.ndim == 2:
        row, column = np.nonzero(values)
        starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(values)))))
        return CSRNDArray(CSR(values[row, column], starts, column, values.shape), array.context)
    raise MXNetError(
        f"tostype: got {stype!r} for shape {values.shape}, wanted 'default', 'row_sparse', or for matrices 'csr'"
    )


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    """A row_sparse array of ``(data, indices)`` and a shape."""
    data, indices = (np.asarray(part) for part in arg1)
    full = tuple(shape) if shape is not None else (int(indices.max(initial=-1)) + 1, *data.shape[1:])
    data = data.astype(dtype or np.float32, copy=False)
    return RowSparseNDArray(RowSparse(data, indices.astype(np.int64), full), resolve(ctx))


def csr_matrix(arg1: Any, shape: Any, ctx: Context | None = None, dtype: Any = None) -> CSRNDArray:
    """A csr matrix of ``(data, indices, indptr)`` and a shape."""
    data, indices, indptr = (np.asarray(part) for part in arg1)
    data = data.astype(dtype or np.float32, copy=False)
    return CSRNDArray(CSR(data, indptr.astype(np.int64), indices.astype(np.int64), tuple(shape)), resolve(ctx))
