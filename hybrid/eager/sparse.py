"""Sparse arrays: rows of an array (row_sparse), and compressed sparse rows (csr). ``nd.sparse``.

They hold their parts, which is what files and slices are made of. Operators compute with their dense values, which are made
when the first one asks for them: an array that is loaded and saved takes the memory of its parts, whatever its shape.
Results are sparse where MXNet's are (``Op.infer_storage``).
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import functions, rng
from ..core.error import MXNetError, NotSupportedForSparseNDArray, OperandError, OpError
from ..core.fp_warnings import WITHOUT_WARNINGS
from ..core.op import Spec, lookup
from ..execution.apply import failure
from ..execution.context import Context, resolve
from ..execution.hooks import HOOKS
from ..formats.params import CSR, RowSparse
from ..ops.sparse_graph import OfStorage, csr_of
from ..ops.stored_places import compute_stored, nothing_stored, put_rows, take_rows, with_data
from .array import NDArray, binary, invoke, record
from .array import zeros as dense_zeros
from .dispatch import array_dtype, check_targets, contiguous_copy, specs_of
from .tape import STATE

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "Context",
    "NDArray",
    "NotSupportedForSparseNDArray",
    "RowSparseNDArray",
    "add",
    "array",
    "csr_matrix",
    "divide",
    "empty",
    "gs_retain",
    "multiply",
    "retain",
    "row_sparse_array",
    "subtract",
    "zeros",
]

Arity = RowSparse | CSR


class BaseSparseNDArray(NDArray):
    """An array of which only some entries are stored; operators take it as its dense values.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([[0, 0], [1, 2], [0, 0]]).tostype("row_sparse")
    >>> isinstance(x, mx.nd.sparse.BaseSparseNDArray), x.stype, x.shape
    (True, 'row_sparse', (3, 2))
    >>> x.data.asnumpy().tolist(), x.indices.asnumpy().tolist()
    ([[1.0, 2.0]], [1])
    >>> x.check_format()
    """

    __slots__ = ("_dense", "_parts")
    _parts: Any
    _dense: np.ndarray | None
    """All values, once somebody asked for them."""
    stype = "sparse"

    def __init__(self, parts: Any, ctx: Context | None = None):
        self._parts, self._dense = parts, None
        self._ctx = resolve(ctx)
        self._var = self._origin = None

    @property
    def _memory(self) -> np.ndarray:  # type: ignore[override]  # of a dense array it is there from the start
        dense = self._dense
        if dense is None:
            dense = self._dense = self._parts.todense()
        return dense

    @property
    def _dtype(self) -> np.dtype:
        return self._parts.data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._parts.shape)

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self._ctx}>"

    def _saved_form(self) -> Any:
        return self._parts

    def __reduce__(self) -> Any:
        return type(self), (self._parts, self._ctx)

    @property
    def data(self) -> NDArray:
        """A copy of the stored values."""
        return NDArray(self._parts.data, self._ctx)

    @property
    def indices(self) -> NDArray:
        """Positions of the stored values: rows (row_sparse) or columns (csr)."""
        return NDArray(np.asarray(self._parts.indices, np.int64), self._ctx)

    @property
    def _num_aux(self) -> int:
        return len(self._aux_types)

    @property
    def _aux_types(self) -> list[type]:
        return [np.int64] * (1 if self.stype == "row_sparse" else 2)

    def _aux_type(self, i: int) -> type:
        return self._aux_types[i]

    def _data(self) -> NDArray:
        return self.data

    def check_format(self, full_check: bool = True) -> None:
        """Nothing: parts that do not fit together are refused when an array is made of them."""

    def tostype(self, stype: str) -> NDArray:
        """The array in another storage type. Raises ValueError from one sparse type to the other."""
        if stype == self.stype:
            return self
        if stype in ("csr", "row_sparse"):
            raise ValueError(f"cast_storage from {self.stype} to {stype} is not supported")
        dense = from_dense(NDArray(self._read(), self._ctx), stype)
        dense._origin = self._origin
        return dense

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        wanted = array_dtype(dtype)
        if not copy and wanted == self._dtype:
            return self
        return type(self)(with_data(self._parts, self._parts.data.astype(wanted)), self._ctx)

    def copy(self) -> BaseSparseNDArray:
        made = type(self)(self._parts, self._ctx)
        made._origin = self._origin
        return made

    def detach(self) -> BaseSparseNDArray:
        return type(self)(self._parts, self._ctx)

    def _without_history(self) -> BaseSparseNDArray:
        return self.detach()

    def _detached_alias(self) -> BaseSparseNDArray:
        return self.detach()

    def copyto(self, other: Any) -> NDArray:
        """As for dense arrays. Raises TypeError between the two sparse types."""
        if isinstance(other, Context):
            return type(self)(self._parts, resolve(other))
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto does not support type {type(other)}")
        if other.stype not in ("default", self.stype):
            raise TypeError(f"copyto does not support destination NDArray stype {other.stype}")
        return super().copyto(other)

    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """Raises NotSupportedForSparseNDArray for whatever shape: tostype("default") gives an array that has others."""
        raise NotSupportedForSparseNDArray(
            f"Function reshape (namely operator Reshape) with arguments {shape} is not supported for SparseNDArray and only "
            "available in NDArray."
        )

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        super().attach_grad(grad_req, stype or self.stype)

    def _check_writable(self) -> None:
        raise MXNetError(f"{type(self).__name__} cannot be written to by this operation; use tostype('default') first")

    def _check_key(self, key: Any) -> None:
        """Raise ValueError for keys that no sparse array takes."""
        if isinstance(key, tuple):
            raise ValueError("Multi-dimension indexing is not supported")
        if not isinstance(key, int | np.integer | slice):
            raise ValueError(f"Undefined behaviour for {key}")

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice) and key != slice(None):
            raise ValueError(
                f"Assignment with slice for {type(self).__name__} is not implemented, got {key!r}, wanted [:]"
            )
        if not isinstance(key, slice):
            raise OperandError(f"{type(self).__name__} only supports [:] for assignment, got {key!r}")
        if isinstance(value, np.ndarray):
            value = NDArray(value, dtype=self._dtype)
        self._assign(..., value)

    def _assign(self, index: Any, value: Any) -> None:
        """Become the value, as a whole."""
        if isinstance(value, NDArray):
            if value.stype not in ("default", self.stype):
                raise TypeError(f"copyto does not support destination NDArray stype {self.stype}")
            if value.shape != self.shape:
                raise MXNetError(f"assignment: got an array of shape {value.shape}, wanted {self.shape}")
            source = value
        elif isinstance(value, int | float | np.number):
            if self.stype == "csr" and value:
                raise ValueError("Assigning numeric types to CSRNDArray is not implemented yet.")
            fresh = zeros(self.stype, self.shape, self._ctx, self._dtype)
            source = fresh if value == 0 else NDArray(np.full(self.shape, value, self._dtype))
        else:
            raise TypeError(f"type {type(value)} not supported")
        self._become(source)

    def _become(self, source: NDArray) -> None:
        """Hold the values of an array of this shape, whatever its storage."""
        found: Any = source if source.stype == self.stype else from_dense(source, self.stype)
        parts = with_data(found._parts, found._parts.data.astype(self._dtype, copy=False))
        if self._dense is not None:  # where others may look at it
            self._write()[...] = parts.todense()
        self._parts = parts

    def _inplace(self, name: str, other: Any) -> NDArray:
        self._become(_binary(functions.BINARY[name], self, other))
        return self

    def __neg__(self) -> NDArray:
        return _binary(functions.BINARY["multiply"], self, -1.0)

    def __abs__(self) -> NDArray:
        return apply(lookup("abs").bind(), [self])


class RowSparseNDArray(BaseSparseNDArray):
    """Rows ``data`` at ``indices``; all others are zero.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([[0, 0], [1, 2], [3, 4]]).tostype("row_sparse")
    >>> x.indices.asnumpy(), x.data.shape
    (array([1, 2]), (2, 2))
    >>> x.retain(mx.nd.array([2])).indices.asnumpy()
    array([2])
    """

    __slots__ = ()
    stype = "row_sparse"

    def __getitem__(self, key: Any) -> NDArray:
        self._check_key(key)
        if key != slice(None):
            raise MXNetError(f"RowSparseNDArray only supports [:] for __getitem__, got {key!r}")
        return self

    def retain(self, indices: NDArray) -> RowSparseNDArray:
        """The array with those of its rows alone."""
        return retain(self, indices)


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse rows.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([[0, 1], [2, 0]]).tostype("csr")
    >>> x.data.asnumpy(), x.indices.asnumpy(), x.indptr.asnumpy()
    (array([1., 2.], dtype=float32), array([1, 0]), array([0, 1, 2]))
    >>> x.tostype("default").asnumpy()
    array([[0., 1.],
           [2., 0.]], dtype=float32)
    """

    __slots__ = ()
    stype = "csr"

    @property
    def indptr(self) -> NDArray:
        """Start of each row among the stored values, and the end of the last one: (rows + 1,)."""
        return NDArray(np.asarray(self._parts.indptr, np.int64), self._ctx)

    def __getitem__(self, key: Any) -> NDArray:
        """A row as a matrix of one, or successive rows."""
        self._check_key(key)
        rows = self.shape[0]
        if isinstance(key, slice):
            if key.step not in (None, 1):
                raise ValueError("CSRNDArray only supports continuous slicing on axis 0")
            if key == slice(None):
                return self
            start, stop, _ = key.indices(rows)
        else:
            if not -rows <= key < rows:
                raise IndexError(f"index {key} is out of bounds for {rows} rows")
            start, stop = key % rows, key % rows + 1
        return apply(lookup("slice").bind(begin=(start,), end=(max(start, stop),)), [self])

    def asscipy(self) -> Any:
        """The matrix as SciPy has it. Raises ImportError without SciPy.

        Examples
        --------
        >>> import importlib.util
        >>> from gluonnx import mx
        >>> x = mx.nd.array([[0, 1], [2, 0]]).tostype("csr")
        >>> importlib.util.find_spec("scipy") is None or x.asscipy().nnz == 2
        True
        """
        parts = self._parts
        scipy = importlib.import_module("scipy.sparse")
        return scipy.csr_matrix((parts.data, parts.indices, parts.indptr), shape=parts.shape, dtype=self.dtype)


def _like(parts: Any, values: np.ndarray) -> Arity:
    """The entries of dense values in the places that parts hold."""
    if isinstance(parts, RowSparse):
        return RowSparse(values[parts.indices], parts.indices, parts.shape)
    rows = np.repeat(np.arange(parts.shape[0]), np.diff(np.asarray(parts.indptr, np.int64)))
    return CSR(values[rows, parts.indices], parts.indptr, parts.indices, parts.shape)


def from_parts(parts: Arity, ctx: Context | None = None) -> BaseSparseNDArray:
    """The sparse array of parts as params.load gives them."""
    return (RowSparseNDArray if isinstance(parts, RowSparse) else CSRNDArray)(parts, ctx)


def from_dense(array: NDArray, stype: str) -> NDArray:
    """The array in a storage type. Raises ValueError for csr when it is no matrix, OpError for a type that there is not."""
    values = array.asnumpy()
    if stype == "default":
        return NDArray(values, array.context)
    if stype == "row_sparse" and values.ndim:
        rows = np.flatnonzero((values != 0).reshape(len(values), -1).any(axis=1))
        return RowSparseNDArray(RowSparse(values[rows], rows, values.shape), array.context)
    if stype == "csr":
        if values.ndim != 2:
            raise ValueError(
                f"To convert to a CSR, the NDArray should be 2 Dimensional. Current shape is {values.shape}"
            )
        return CSRNDArray(csr_of(values), array.context)
    raise OpError(f"tostype: got {stype!r} for shape {values.shape}, wanted 'default', 'row_sparse' or 'csr'")


# -- operators ------------------------------------------------------------------------------------------------------------


def apply(op: Any, inputs: Sequence[NDArray], out: Any = None) -> Any:
    """invoke, for inputs or an output of which some are sparse; the result is sparse where it is in MXNet."""
    targets = [] if out is None else [out] if isinstance(out, NDArray) else list(out)
    if any(x.stype != "default" for x in targets):
        found = apply(op, inputs)
        for target, result in zip(targets, [found] if isinstance(found, NDArray) else found):
            target._assign(..., result.tostype("default"))
        return out
    if isinstance(op, OfStorage):
        made = _of_storage(op, inputs)
        if out is None:
            return made if len(made) > 1 else made[0]
        check_targets(op, targets, [Spec(x.shape, x._dtype) for x in made])
        for target, result in zip(targets, made):
            target._assign(..., result.tostype("default"))
        return out
    if (not targets or not STATE.recording) and (found := _compute_stored(op, inputs)) is not None:
        if not targets:
            return found
        check_targets(op, targets, [Spec(found.shape, found._dtype)])
        targets[0]._assign(..., found.tostype("default"))
        return out
    dense = invoke(op, inputs, out)
    for x, name in zip(inputs, op.input_names()):
        if name in op.mutates and isinstance(x, BaseSparseNDArray):
            x._become(NDArray(x._read()))
    if out is not None or not isinstance(dense, NDArray):
        return dense
    parts = _parts_to_store(op, inputs, dense)
    if parts is None:
        return dense
    made = from_parts(parts, dense._ctx)
    made._origin = dense._origin
    return made


def _compute_stored(op: Any, inputs: Sequence[NDArray]) -> NDArray | None:
    """The result of an operator from what sparse inputs store; None where it takes dense values, or is to be seen by hooks."""
    if HOOKS or op.num_visible_outputs() != 1:
        return None
    shapes, dtypes = tuple(x.shape for x in inputs), tuple(x._dtype for x in inputs)
    key = "stored", shapes, dtypes
    specs = op.memo.get(key)
    if specs is None:
        specs = op.memo[key] = specs_of(op, shapes, dtypes)
    values = [x._parts if isinstance(x, BaseSparseNDArray) else x._read() for x in inputs]
    storage = op.infer_storage(tuple(x.stype for x in inputs), shapes, specs[0].shape)
    try:
        found = WITHOUT_WARNINGS.run(compute_stored, op, values, storage)
    except Exception as error:
        arrays = [v if isinstance(v, np.ndarray) else v.data for v in values]
        raise failure(op, arrays, op.name, error) from error
    if found is None:
        return None
    ctx = inputs[0]._ctx
    made = NDArray._own(contiguous_copy(found), ctx) if isinstance(found, np.ndarray) else from_parts(found, ctx)
    if STATE.recording:
        record(op, inputs, [made], specs)
    return made


def _of_storage(op: OfStorage, inputs: Sequence[Any]) -> list[NDArray]:
    """The results of an operator that asks what csr arrays store."""
    specs_of(op, [x.shape for x in inputs], [x._dtype for x in inputs])
    given = []
    for i, x in enumerate(inputs):
        if i >= op.graphs():
            given.append(x.asnumpy())
        else:
            given.append(x._parts if isinstance(x, CSRNDArray) else csr_of(x.asnumpy()))
    found = op.compute_sparse(*given, **({"rng": rng.fork()} if "rng" in op.needs else {}))
    return [
        CSRNDArray(r, inputs[0]._ctx) if isinstance(r, CSR) else NDArray(r, inputs[0]._ctx, dtype=r.dtype)
        for r in found
    ]


def _parts_to_store(op: Any, inputs: Sequence[Any], result: NDArray) -> Arity | None:
    """The parts to store of an operator's result; None for all of it, as a dense array."""
    storage = op.infer_storage(tuple(x.stype for x in inputs), [x.shape for x in inputs], result.shape)
    if storage.stype == "default":
        return None
    like = [inputs[i]._parts for i in storage.like]
    if len(like) == 1:
        return _like(like[0], result._read())
    if like:
        rows = functools.reduce(np.union1d, (parts.indices for parts in like))
        return RowSparse(result._read()[rows], rows, result.shape)
    made: Any = from_dense(result, storage.stype)
    return made._parts


_ELEMWISE = {"add": "elemwise_add", "subtract": "elemwise_sub", "multiply": "elemwise_mul", "divide": "elemwise_div"}
"""Operators of arrays of one shape, which keep more of them sparse than those that broadcast."""


def _binary(row: functions.Binary, lhs: Any, rhs: Any) -> Any:
    """Python's operators, when one side at least is sparse."""
    if (
        isinstance(lhs, BaseSparseNDArray)
        and isinstance(rhs, NDArray)
        and lhs.shape == rhs.shape
        and row.name in _ELEMWISE
    ):
        return apply(lookup(_ELEMWISE[row.name]).bind(), [lhs, rhs])
    return broadcast(row, lhs, rhs)


def broadcast(row: functions.Binary, lhs: Any, rhs: Any) -> Any:
    """The functions of mx.nd that broadcast, when one side at least is sparse."""
    if isinstance(lhs, NDArray) and isinstance(rhs, NDArray):
        if lhs.ndim != rhs.ndim:
            lhs, rhs = (x if x.ndim >= y.ndim else x.tostype("default") for x, y in ((lhs, rhs), (rhs, lhs)))
        return apply(lookup(row.array).bind(), [lhs, rhs])
    if isinstance(lhs, NDArray) and isinstance(rhs, int | float | np.number):
        return apply(lookup(row.scalar).bind(scalar=float(rhs)), [lhs])
    if isinstance(rhs, NDArray) and isinstance(lhs, int | float | np.number):
        return apply(lookup(row.reflected).bind(scalar=float(lhs)), [rhs])
    return binary(row, lhs, rhs)


functions.add_operators(BaseSparseNDArray, _binary)


_SHOWN = {
    "add": "('default', [[2.0, 3.0], [4.0, 2.0]])",
    "subtract": "('default', [[-2.0, -1.0], [0.0, -2.0]])",
    "multiply": "('csr', [[0.0, 2.0], [4.0, 0.0]])",
    "divide": "('csr', [[0.0, 0.5], [1.0, 0.0]])",
}
"""By function the result of its example."""


def _function(name: str) -> Callable[[Any, Any], Any]:
    row = functions.BINARY[name]

    def function(lhs: Any, rhs: Any) -> Any:
        if name == "multiply" and isinstance(rhs, BaseSparseNDArray) and not isinstance(lhs, BaseSparseNDArray):
            lhs, rhs = rhs, lhs
        return _binary(row, lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""``{name}`` of two arrays, which broadcast, or of an array and a number; sparse where it can be.

Examples
--------
>>> from gluonnx import mx
>>> x = mx.nd.array([[0, 1], [2, 0]]).tostype("csr")
>>> y = mx.nd.sparse.{name}(x, 2)
>>> y.stype, y.asnumpy().tolist()
{_SHOWN[name]}
"""
    return function


add, subtract, multiply, divide = map(_function, ("add", "subtract", "multiply", "divide"))


def retain(data: NDArray, indices: NDArray) -> RowSparseNDArray:
    """A row_sparse array with those of its rows alone. Raises MXNetError for other arrays.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([[1, 2], [3, 4], [5, 6]]).tostype("row_sparse")
    >>> mx.nd.sparse.retain(x, mx.nd.array([0, 2])).asnumpy()
    array([[1., 2.],
           [0., 0.],
           [5., 6.]], dtype=float32)
    """
    if not isinstance(data, RowSparseNDArray):
        raise MXNetError(f"retain: got a {data.stype} array, wanted a row_sparse one")
    return apply(lookup("_sparse_retain").bind(), [data, indices])


gs_retain = retain


def rows_of_array(array: NDArray, rows: np.ndarray) -> np.ndarray:
    """A copy of the rows with these numbers, zeros where a row_sparse array stores nothing."""
    return take_rows(array._parts, rows) if isinstance(array, RowSparseNDArray) else array._read()[rows]


def write_rows(array: NDArray, rows: np.ndarray, values: np.ndarray) -> None:
    """Write over the rows with these numbers, each named once."""
    if isinstance(array, RowSparseNDArray):
        array._become(RowSparseNDArray(put_rows(array._parts, rows, values), array._ctx))
    else:
        array._write()[rows] = values
        array._mark_written()


# -- making arrays --------------------------------------------------------------------------------------------------------


def _values(source: Any, dtype: Any) -> np.ndarray:
    """An array's values; in its own dtype, but float32 for lists, unless one is given."""
    given = source if isinstance(source, np.ndarray) else source.asnumpy() if isinstance(source, NDArray) else None
    if given is not None:
        return given if dtype is None else given.astype(array_dtype(dtype))
    return np.asarray(source, array_dtype(dtype))


def _triples(source: Any, dtype: Any) -> np.ndarray:
    """Values that stand at rows and columns; as SciPy sums them unless a dtype is given: lists in NumPy's dtype, not in float16."""
    given = source.asnumpy() if isinstance(source, NDArray) else np.asarray(source)
    return (
        given.astype(np.float32 if given.dtype == np.float16 else given.dtype)
        if dtype is None
        else _values(given, dtype)
    )


def _places(source: Any) -> np.ndarray:
    return np.asarray(source.asnumpy() if isinstance(source, NDArray) else source).astype(np.int64)


def _is_shape(parts: tuple[Any, ...]) -> bool:
    return all(isinstance(n, int | np.integer) for n in parts)


def _check_shape(made: NDArray, shape: Any) -> Any:
    if shape is not None and made.shape != tuple(shape):
        raise ValueError(f"Shape mismatch detected. {made.shape} v.s. {tuple(shape)}")
    return made


def csr_matrix(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> CSRNDArray:
    """A csr matrix of ``(data, indices, indptr)``, of ``(data, (rows, columns))`` where what stands twice is summed, of
    a shape ``(m, n)`` (all zeros), or of a matrix: csr, SciPy's, dense, or nested lists.

    Raises ValueError when the parts or the shape do not fit, or for a row_sparse array.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.sparse.csr_matrix(([5, 6], [1, 0], [0, 1, 2]), shape=(2, 3))
    >>> x.asnumpy()
    array([[0., 5., 0.],
           [6., 0., 0.]], dtype=float32)
    """
    if isinstance(arg1, BaseSparseNDArray):
        if not isinstance(arg1, CSRNDArray):
            raise ValueError(f"Unexpected input type: {type(arg1).__name__}")
        made = CSRNDArray(arg1._parts, resolve(ctx or arg1._ctx))
        return _check_shape(made if dtype is None else made.astype(dtype), shape)
    if hasattr(arg1, "tocsr"):
        found = arg1.tocsr()
        arg1, shape = (found.data, found.indices, found.indptr), shape or found.shape
    if not isinstance(arg1, tuple):
        dense = NDArray(_values(arg1, dtype), ctx)
        return _check_shape(dense.tostype("csr"), shape)
    if len(arg1) == 2 and _is_shape(arg1):
        return zeros("csr", _check_shape(NDArray(np.empty(arg1)), shape).shape, ctx, dtype)
    if len(arg1) == 2:
        data, (rows, columns) = _triples(arg1[0], dtype), map(_places, arg1[1])
        size = tuple(shape) if shape is not None else (rows.max(initial=-1) + 1, columns.max(initial=-1) + 1)
        numbers, back = np.unique(rows * size[1] + columns, return_inverse=True)
        summed = np.zeros(len(numbers), data.dtype)
        np.add.at(summed, back.ravel(), data)
        starts = np.searchsorted(numbers, np.arange(size[0] + 1) * size[1])
        return CSRNDArray(CSR(summed, starts, numbers % size[1], size), resolve(ctx))
    if len(arg1) != 3:
        raise ValueError(f"Unexpected length of input tuple: {len(arg1)}")
    data, columns, starts = _values(arg1[0], dtype), _places(arg1[1]), _places(arg1[2])
    size = tuple(shape) if shape is not None else (len(starts) - 1, int(columns.max(initial=-1)) + 1)
    return CSRNDArray(CSR(data, starts, columns, size), resolve(ctx))


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    """A row_sparse array of ``(data, indices)``, of a shape (all zeros), or of an array: row_sparse, dense, or nested lists.

    Raises ValueError when the parts or the shape do not fit, or for a csr matrix.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2))
    >>> x.asnumpy()
    array([[0., 0.],
           [1., 2.],
           [0., 0.]], dtype=float32)
    """
    if isinstance(arg1, BaseSparseNDArray):
        if not isinstance(arg1, RowSparseNDArray):
            raise ValueError(f"Unexpected input type: {type(arg1).__name__}")
        made = RowSparseNDArray(arg1._parts, resolve(ctx or arg1._ctx))
        return _check_shape(made if dtype is None else made.astype(dtype), shape)
    if not isinstance(arg1, tuple):
        return _check_shape(NDArray(_values(arg1, dtype), ctx).tostype("row_sparse"), shape)
    if len(arg1) < 2:
        raise ValueError(f"Unexpected length of input tuple: {len(arg1)}")
    if _is_shape(arg1):
        return zeros("row_sparse", _check_shape(NDArray(np.empty(arg1)), shape).shape, ctx, dtype)
    data, rows = _values(arg1[0], dtype), _places(arg1[1])
    size = tuple(shape) if shape is not None else (int(rows.max(initial=-1)) + 1, *data.shape[1:])
    return RowSparseNDArray(RowSparse(data, rows, size), resolve(ctx))


def zeros(stype: str, shape: Any, ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Zeros in a storage type, none of them stored. Raises ValueError for a type that there is not.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.sparse.zeros("csr", (2, 3))
    >>> x.stype, x.shape, x.data.shape
    ('csr', (2, 3), (0,))
    """
    wanted = array_dtype(dtype)
    if stype == "default":
        return dense_zeros(shape, ctx, wanted)
    size = tuple(map(operator.index, shape))
    if stype in ("row_sparse", "csr"):
        return from_parts(nothing_stored(size, wanted, RowSparse if stype == "row_sparse" else CSR), ctx)
    raise ValueError(f"unknown storage type {stype!r}, wanted 'default', 'row_sparse' or 'csr'")


empty = zeros


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> BaseSparseNDArray:
    """A copy of a sparse array, or of a SciPy matrix. Raises ValueError for anything that is not sparse.

    Raises OperandError for a dense array.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.nd.sparse.array(mx.nd.array([[0, 1]]).tostype("csr")).stype
    'csr'
    """
    if isinstance(source_array, CSRNDArray) or hasattr(source_array, "tocsr"):
        return csr_matrix(source_array, None, ctx, dtype)
    if isinstance(source_array, RowSparseNDArray):
        return row_sparse_array(source_array, None, ctx, dtype)
    if isinstance(source_array, NDArray):
        raise OperandError("sparse.array: got a dense array, wanted a sparse one; use tostype")
    raise ValueError(f"sparse.array: got {type(source_array).__name__}, wanted a sparse array; use mx.nd.array")
