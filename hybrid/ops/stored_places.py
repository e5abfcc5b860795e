"""Computing with sparse arrays in the places that they store: rows of an array (RowSparse), compressed sparse rows (CSR).

What is not stored is 0 and takes no part, not even against infinities, as in MXNet. Nothing here makes a dense array of a sparse
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.op import Op, Storage
from ..formats.params import CSR, RowSparse

Value = np.ndarray | RowSparse | CSR

_TERMS = 1 << 18
"""Terms of a product that are made at a time: they stay in the cache."""
_LONG = 32
"""Entries of a row from which a product of vectors is faster than sums of all rows together."""


def compute_stored(op: Op, values: Sequence[Value], storage: Storage) -> Value | None:
    """The result of an operator of one output for inputs of which some are sparse; None where it takes dense values.

    storage: of the result, as ``infer_storage`` says."""
    found = op.compute_stored(*values)
    if found is not None or not storage.like or op.needs or op.mutates:
        return found
    held = [values[i] for i in storage.like]
    if len(held) == 1:
        return _within(op, values, held[0])
    if len(held) == len(values) and all(isinstance(v, RowSparse) for v in held):
        return in_rows(op, held)  # type: ignore[arg-type]
    return None


def _within(op: Op, values: Sequence[Value], parts: Value) -> Value | None:
    """Each element for itself, in the places of one sparse input, to which the others are broadcast."""
    if isinstance(parts, np.ndarray) or any(v is not parts and not isinstance(v, np.ndarray) for v in values):
        return None
    places = parts.indices if isinstance(parts, RowSparse) else (rows_of(parts), parts.indices)
    given = [
        parts.data if v is parts else np.broadcast_to(v, parts.shape)[places]  # type: ignore[arg-type]
        for v in values
    ]
    return with_data(parts, op.compute(*given))


def in_rows(op: Op, arrays: Sequence[RowSparse]) -> RowSparse:
    """Each element for itself, in all rows that one of the inputs stores."""
    rows, places = _union([np.asarray(a.indices, np.int64) for a in arrays])
    wide = [np.zeros((len(rows), *a.shape[1:]), a.data.dtype) for a in arrays]
    for all_rows, array, own in zip(wide, arrays, places):
        all_rows[own] = array.data
    return RowSparse(op.compute(*wide), rows, arrays[0].shape)


def _union(numbers: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """All of these numbers, rising, and where in them those of each are. What rises already is merged, not sorted."""
    joined = np.concatenate(numbers)
    order = np.argsort(joined, kind="stable")
    rising = joined[order]
    new = np.ones(len(rising), bool)
    new[1:] = rising[1:] != rising[:-1]
    places = np.empty(len(rising), np.int64)
    places[order] = np.cumsum(new) - 1
    return rising[new], np.split(places, np.cumsum([len(n) for n in numbers])[:-1])


def in_entries(op: Op, a: CSR, b: CSR) -> CSR:
    """Each element for itself, in all places that one of the two stores; a result of 0 is stored no more."""
    width = a.shape[1]
    places, (own, other) = _union([rows_of(m) * width + m.indices for m in (a, b)])
    x, y = np.zeros(len(places), a.data.dtype), np.zeros(len(places), b.data.dtype)
    x[own], y[other] = a.data, b.data
    found = op.compute(x, y)
    kept = np.flatnonzero(found)
    return csr_of_places(found[kept], places[kept], a.shape)


def with_data(parts: RowSparse | CSR, data: np.ndarray) -> RowSparse | CSR:
    """The parts with other values in the same places."""
    if isinstance(parts, RowSparse):
        return RowSparse(data, parts.indices, parts.shape)
    return CSR(data, parts.indptr, parts.indices, parts.shape)


def nothing_stored(shape: tuple[int, ...], dtype: np.dtype, kind: type[RowSparse | CSR]) -> RowSparse | CSR:
    """Zeros of this shape, none of them stored."""
    none = np.zeros(0, np.int64)
    if kind is RowSparse:
        return RowSparse(np.zeros((0, *shape[1:]), dtype), none, shape)
    return CSR(np.zeros(0, dtype), np.zeros(shape[0] + 1, np.int64), none, shape)


def csr_of_places(data: np.ndarray, places: np.ndarray, shape: tuple[int, ...]) -> CSR:
    """The matrix with these values at places that rise: row times width plus column."""
    starts = np.searchsorted(places, np.arange(shape[0] + 1) * shape[1])
    return CSR(data, starts, places % max(shape[1], 1), shape)


def rows_of(matrix: CSR) -> np.ndarray:
    """The row of each stored value."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(np.asarray(matrix.indptr, np.int64)))


def take_rows(array: RowSparse, rows: np.ndarray) -> np.ndarray:
    """The rows with these numbers, zeros where nothing is stored."""
    out = np.zeros((len(rows), *array.shape[1:]), array.data.dtype)
    found, places = find_rows(array, rows)
    out[found] = array.data[places]
    return out


def find_rows(array: RowSparse, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places in ``rows`` of those that are stored, and their places in ``array.data``."""
    stored = np.asarray(array.indices, np.int64)
    if not len(stored):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = None if bool((stored[1:] > stored[:-1]).all()) else np.argsort(stored)
    ordered = stored if order is None else stored[order]
    places = np.minimum(np.searchsorted(ordered, rows), len(ordered) - 1)
    found = np.flatnonzero(ordered[places] == rows)
    places = places[found]
    return found, places if order is None else order[places]


def put_rows(array: RowSparse, rows: np.ndarray, values: np.ndarray) -> RowSparse:
    """The array with other values in these rows, each of which is named once; they are stored then."""
    found, places = find_rows(array, rows)
    if len(found) == len(rows):
        data = array.data.copy()
        data[places] = values
        return RowSparse(data, array.indices, array.shape)
    all_rows = np.union1d(array.indices, rows)
    data = take_rows(array, all_rows)
    data[np.searchsorted(all_rows, rows)] = values
    return RowSparse(data, all_rows, array.shape)


def product(matrix: CSR, dense: np.ndarray) -> np.ndarray:
    """matrix (M, N) times dense (N,) or (N, K): (M,) or (M, K), in the wider dtype of both."""
    starts, columns, data = np.asarray(matrix.indptr, np.int64), matrix.indices, matrix.data
    out = np.zeros((matrix.shape[0], *dense.shape[1:]), np.result_type(data, dense))
    rows = np.flatnonzero(starts[1:] > starts[:-1])
    if not len(rows) or not out.size:
        return out
    if len(columns) >= _LONG * len(rows):
        for row in rows:
            own = slice(starts[row], starts[row + 1])
            out[row] = data[own] @ dense[columns[own]]
        return out
    first = starts[rows]
    width = max(1, dense[:1].size)
    begin = 0
    while begin < len(rows):
        # as many whole rows as make so many terms, one at least
        after = max(begin + 1, int(np.searchsorted(starts[rows + 1], first[begin] + _TERMS // width, "right")))
        own = slice(first[begin], starts[rows[after - 1] + 1])
        terms = dense[columns[own]]
        factors = data[own].reshape(-1, *(1,) * (dense.ndim - 1))
        terms = np.multiply(terms, factors, out=terms if terms.dtype == out.dtype else None)
        out[rows[begin:after]] = np.add.reduceat(terms, first[begin:after] - own.start, axis=0)
        begin = after
    return out


def transposed_product(matrix: CSR, dense: np.ndarray) -> RowSparse:
    """The transpose of matrix (M, N) times dense (M,) or (M, K): (N,) or (N, K), with the rows of the columns that are stored."""
    return _by_columns(matrix.data, rows_of(matrix), matrix, matrix.indices, dense)


def transposed_product_with_rows(matrix: CSR, array: RowSparse) -> RowSparse:
    """As transposed_product, for an array (M, K) of which some rows are stored."""
    found, places = find_rows(array, rows_of(matrix))
    return _by_columns(matrix.data[found], places, matrix, matrix.indices[found], array.data)


def _by_columns(data: np.ndarray, rows: np.ndarray, matrix: CSR, columns: np.ndarray, dense: np.ndarray) -> RowSparse:
    """Sums by column of data times the rows of dense."""
    order = np.argsort(columns, kind="stable")
    columns = np.asarray(columns, np.int64)[order]
    first = np.flatnonzero(np.concatenate([[True], columns[1:] != columns[:-1]])) if len(columns) else columns
    turned = CSR(data[order], np.append(first, len(columns)), rows[order], (len(first), len(dense)))
    return RowSparse(product(turned, dense), columns[first], (matrix.shape[1], *dense.shape[1:]))


def product_with_rows(matrix: CSR, array: RowSparse) -> np.ndarray:
    """matrix (M, N) times an array (N, K) of which some rows are stored."""
    found, places = find_rows(array, np.asarray(matrix.indices, np.int64))
    counts = np.bincount(rows_of(matrix)[found], minlength=matrix.shape[0])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return product(CSR(matrix.data[found], starts, places, (matrix.shape[0], len(array.data))), array.data)
