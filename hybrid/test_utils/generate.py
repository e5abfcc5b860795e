"""Random shapes, arrays and matrices for tests. They come from numpy.random: ``numpy.random.seed`` repeats them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..context import Context
from ..eager.sparse import BaseSparseNDArray, csr_matrix, row_sparse_array
from ..ndarray import NDArray, array
from .tolerance import default_dtype

Shape = tuple[int, ...]


def random_arrays(*shapes: Shape) -> Any:
    """float32 arrays of normal random numbers: a list, or one array for one shape.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.random_arrays((2, 3)).shape, len(mx.test_utils.random_arrays((2,), (3,)))
    ((2, 3), 2)
    """
    made = [np.asarray(np.random.randn(*shape), default_dtype()) for shape in shapes]
    return made[0] if len(made) == 1 else made


def random_uniform_arrays(*shapes: Shape, **kwargs: Any) -> list[np.ndarray]:
    """Arrays of uniform random numbers; keywords low (0), high (1) and dtype (float32). Raises TypeError for others.

    Examples
    --------
    >>> from gluonnx import mx
    >>> (x,) = mx.test_utils.random_uniform_arrays((2, 3), low=5, high=6)
    >>> x.shape, x.dtype.name, bool((x >= 5).all())
    ((2, 3), 'float32', True)
    """
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise TypeError(f"Got unexpected argument/s : {', '.join(kwargs)}")
    return [np.asarray(np.random.uniform(low, high, size=shape), dtype) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """k different elements of a sequence in random order. Raises AssertionError where it has fewer.

    Examples
    --------
    >>> from gluonnx import mx
    >>> len(set(mx.test_utils.random_sample(range(10), 3)))
    3
    """
    if not 0 <= k <= len(population):
        raise AssertionError(f"random_sample: got k={k} of {len(population)} elements")
    mixed = list(population)
    np.random.shuffle(mixed)
    return mixed[:k]


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> Shape:
    """Two dimensions from 1 (or 0) to the given ones.

    Examples
    --------
    >>> from gluonnx import mx
    >>> rows, columns = mx.test_utils.rand_shape_2d(3, 4)
    >>> 1 <= rows <= 3, 1 <= columns <= 4
    (True, True)
    """
    return _dims((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> Shape:
    """Three dimensions from 1 (or 0) to the given ones.

    Examples
    --------
    >>> from gluonnx import mx
    >>> len(mx.test_utils.rand_shape_3d(3, 4, 5))
    3
    """
    return _dims((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> Shape:
    """num_dim dimensions from 1 (or 0) to dim.

    Examples
    --------
    >>> from gluonnx import mx
    >>> len(mx.test_utils.rand_shape_nd(4, dim=5))
    4
    """
    return _dims([dim] * num_dim, allow_zero_size)


def _dims(limits: Sequence[int], allow_zero_size: bool) -> Shape:
    return tuple(np.random.randint(0 if allow_zero_size else 1, limit + 1) for limit in limits)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[Any, Any]:
    """A point of a rectangle, int64; the upper ends are not in it.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x, y = mx.test_utils.rand_coord_2d(0, 3, 10, 13)
    >>> 0 <= int(x) < 3, 10 <= int(y) < 13
    (True, True)
    """
    return np.random.randint(x_low, x_high, dtype=np.int64), np.random.randint(y_low, y_high, dtype=np.int64)


# -- NDArrays, also sparse ones ----------------------------------------------------------------------------------------------


def rand_ndarray(
    shape: Shape,
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Context | None = None,
) -> NDArray:
    """An NDArray of normal random numbers; for sparse stypes what rand_sparse_ndarray makes.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.rand_ndarray((2, 3)).shape, mx.test_utils.rand_ndarray((2, 3), "csr", density=0.5).stype
    ((2, 3), 'csr')
    """
    if stype == "default":
        return array(random_arrays(shape), dtype=dtype, ctx=ctx)
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        dtype=dtype,
        distribution=distribution,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
        ctx=ctx,
    )[0]


def rand_sparse_ndarray(
    shape: Shape,
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> tuple[BaseSparseNDArray, tuple[Any, ...]]:
    """A sparse array and its parts: (values, indices) for row_sparse, (indptr, indices, data) for csr.

    density is the part of the rows (csr: of the elements) that are stored, random when None. Values are uniform in [0, 1) or
    all data_init, and modifier_func is applied to each. Raises AssertionError for another stype or distribution.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x, (values, rows) = mx.test_utils.rand_sparse_ndarray((3, 2), "row_sparse", rsp_indices=[0, 2])
    >>> x.stype, values.shape, rows.tolist()
    ('row_sparse', (2, 2), [0, 2])
    """
    density = np.random.rand() if density is None else density
    dtype = default_dtype() if dtype is None else dtype
    if distribution not in (None, "uniform") and (stype != "csr" or distribution != "powerlaw"):
        raise AssertionError(f"Distribution {distribution} not supported for {stype}")
    if stype == "row_sparse":
        if rsp_indices is None:
            rsp_indices = np.flatnonzero(np.random.rand(shape[0]) < density)
        rows = np.asarray(rsp_indices)
        if len(rows) > shape[0]:
            raise AssertionError(f"got {len(rows)} indices for {shape[0]} rows")
        values = np.random.rand(len(rows), *shape[1:]).astype(dtype)
        if data_init is not None:
            values.fill(data_init)
        if modifier_func is not None:
            values = assign_each(values, modifier_func)
        return row_sparse_array((values, rows), shape=shape, dtype=dtype, ctx=ctx), (values, rows)
    if stype != "csr":
        raise AssertionError(f"unknown storage type {stype!r}, wanted 'row_sparse' or 'csr'")
    if len(shape) != 2:
        raise AssertionError(f"csr matrices have two dimensions, got shape {shape}")
    made = _csr(shape, density, dtype, distribution or "uniform", data_init, shuffle_csr_indices, ctx)
    return made, (made.indptr, made.indices, made.data)


def _csr(
    shape: Shape,
    density: float,
    dtype: Any,
    distribution: str,
    value: float | None,
    shuffled: bool,
    ctx: Context | None,
) -> Any:
    if not 0 <= density <= 1:
        raise ValueError("density has to be between 0 and 1")
    if min(shape) <= 0:
        raise ValueError("num_rows or num_cols should be greater than 0")
    stored = int(shape[0] * shape[1] * density)
    if distribution == "powerlaw":
        return array(_powerlaw(shape, stored, density, dtype), ctx=ctx, dtype=dtype).tostype("csr")
    # elements in random places, sorted: rows, and columns within them
    places = np.sort(np.random.choice(shape[0] * shape[1], stored, replace=False))
    rows, columns = places // shape[1], places % shape[1]
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=shape[0]))))
    data = np.random.rand(stored) if value is None else np.full(stored, value)
    if shuffled:
        for start, end in itertools.pairwise(starts):
            np.random.shuffle(columns[start:end])
    return csr_matrix((data.astype(dtype), columns, starts), shape=shape, dtype=dtype, ctx=ctx)


def _powerlaw(shape: Shape, stored: int, density: float, dtype: Any) -> np.ndarray:
    """A matrix with as many elements as ``stored`` other than 0, each row twice as many as the one before.

    Every row has one to begin with; a row that would be full, while more are left than it has columns, is one value."""
    rows, columns = shape
    if stored < 2 * rows:
        raise ValueError(
            f"not supported for this density: {density} for this shape {shape} "
            "Please keep : num_rows * num_cols * density >= 2 * num_rows"
        )
    out = np.zeros(shape, dtype)
    out[:, 0] = 1 + np.random.uniform(0.001, 2, rows)
    left, width = stored - rows, 2
    for row in out:
        if left <= 0:
            break
        wanted = min(columns, width)
        if wanted == columns and left > columns:
            row[:] = 1 + np.random.uniform(0.001, 2)
            left -= columns - 1
            continue
        count = min(wanted - 1, left)
        row[1 : 1 + count] = 1 + np.random.uniform(0.001, 2, count)
        left -= count
        width *= 2
    if left > 0:
        raise ValueError(f"not supported for this density: {density} for this shape {shape}")
    return out


def create_sparse_array(
    shape: Shape,
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> BaseSparseNDArray:
    """The array of rand_sparse_ndarray, with sorted indices. Raises AssertionError for another stype.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.create_sparse_array((3, 2), "row_sparse", data_init=7, rsp_indices=[2, 0]).asnumpy()
    array([[7., 7.],
           [0., 0.],
           [7., 7.]], dtype=float32)
    """
    if stype not in ("row_sparse", "csr"):
        raise AssertionError(f"Unknown storage type: {stype}")
    return rand_sparse_ndarray(
        shape,
        stype,
        density=density,
        data_init=data_init,
        rsp_indices=None if rsp_indices is None else np.sort(np.asarray(rsp_indices)),
        dtype=dtype,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
    )[0]


def create_sparse_array_zd(
    shape: Shape,
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
) -> BaseSparseNDArray:
    """create_sparse_array whose row_sparse arrays hold the rows of rsp_indices, and none without it.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.create_sparse_array_zd((3, 2), "row_sparse", density=0.5).data.shape
    (0, 2)
    """
    return create_sparse_array(
        shape,
        stype,
        data_init=data_init,
        rsp_indices=rsp_indices,
        dtype=dtype,
        modifier_func=modifier_func,
        density=0.0 if stype == "row_sparse" else density,
        shuffle_csr_indices=shuffle_csr_indices,
    )


def assign_each(the_input: Any, function: Callable[[Any], Any] | None) -> np.ndarray:
    """A copy of the array with the function applied to each element; with None a plain copy.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.assign_each([1, 2, 3], lambda x: x * x).tolist()
    [1, 4, 9]
    """
    values = np.array(the_input)
    return values if function is None else np.vectorize(function, otypes=[values.dtype])(values)


def assign_each2(input1: Any, input2: Any, function: Callable[[Any, Any], Any] | None) -> np.ndarray:
    """An array of the function of each pair of elements; with None a copy of the first array.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.assign_each2([1, 2, 3], [3, 2, 1], max).tolist()
    [3, 2, 3]
    """
    values = np.array(input1)
    if function is None:
        return values
    return np.vectorize(function, otypes=[values.dtype])(values, np.asarray(input2))


# -- matrices -------------------------------------------------------------------------------------------------------------


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """0, 1, ... size - 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.create_vector(3).asnumpy().tolist()
    [0, 1, 2]
    """
    return array(np.arange(size), dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """A matrix whose row i is full of i.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.create_2d_tensor(2, 3).asnumpy().tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    return array(np.repeat(np.arange(rows)[:, None], columns, axis=1), dtype=dtype)


def get_identity_mat(size: int) -> NDArray:
    """The identity matrix, float32.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.get_identity_mat(2).asnumpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return array(np.eye(size))


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identity matrices, (2, size, size), float32.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.get_identity_mat_batch(2).shape
    (2, 2, 2)
    """
    return array(np.stack([np.eye(size)] * 2))


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random (n, n) matrix Q with Q Q^T = 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> q = mx.test_utils.new_orthonormal_matrix_2d(3)
    >>> np.allclose(q @ q.T, np.eye(3))
    True
    """
    x = np.random.randn(n, n)
    return np.linalg.qr(x.T @ x)[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric (n, n) matrix with eigenvalues in [-10, 10).

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> x = mx.test_utils.new_sym_matrix_with_real_eigvals_2d(3)
    >>> np.allclose(x, x.T)
    True
    """
    q = new_orthonormal_matrix_2d(n)
    return q.T @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ q


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random (n, n) matrix with eigenvalues in [-10, 10), of eigenvectors that are far from dependent.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> x = mx.test_utils.new_matrix_with_real_eigvals_2d(3)
    >>> np.allclose(np.linalg.eigvals(x).imag, 0)
    True
    """
    while True:
        scales = np.diag(np.random.uniform(-1.0, 1.0, n))
        v = np.random.uniform(-1.0, 1.0, (n, 1))
        v /= np.linalg.norm(v)
        q = (np.eye(n) - 2 * v @ v.T) @ scales  # a reflection, scaled
        if np.linalg.cond(q, 2) < 3:
            return np.linalg.inv(q) @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ q


def _stack(make: Callable[[int], np.ndarray], shape: Shape) -> np.ndarray:
    return np.array([make(shape[-1]) for _ in range(int(np.prod(shape[:-2])))]).reshape(shape)


def new_matrix_with_real_eigvals_nd(shape: Shape) -> np.ndarray:
    """An array (..., n, n) of matrices of new_matrix_with_real_eigvals_2d.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.new_matrix_with_real_eigvals_nd((2, 3, 3)).shape
    (2, 3, 3)
    """
    return _stack(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: Shape) -> np.ndarray:
    """An array (..., n, n) of matrices of new_sym_matrix_with_real_eigvals_2d.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.new_sym_matrix_with_real_eigvals_nd((2, 3, 3)).shape
    (2, 3, 3)
    """
    return _stack(new_sym_matrix_with_real_eigvals_2d, shape)


def np_reduce(dat: np.ndarray, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> np.ndarray:
    """numpy_reduce_func over an axis, several, or all (None), one after the other.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.np_reduce(np.ones((2, 3, 4)), (0, 2), True, np.sum).tolist()
    [[[8.0], [8.0], [8.0]]]
    """
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    out = dat
    for i in sorted(axes, reverse=True):
        out = numpy_reduce_func(out, axis=i)
    return out.reshape([1 if i in axes else n for i, n in enumerate(dat.shape)]) if keepdims else out


def collapse_sum_like(a: np.ndarray, shape: Shape) -> np.ndarray:
    """The sum of an array over the axes along which an array of ``shape`` would be broadcast to it.

    Raises AssertionError where none would be.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> mx.test_utils.collapse_sum_like(np.ones((2, 3, 4)), (3, 1)).tolist()
    [[8.0], [8.0], [8.0]]
    """
    extra = a.ndim - len(shape)
    if extra < 0 or any(s not in (1, n) for s, n in zip(shape, a.shape[extra:])):
        raise AssertionError(f"collapse_sum_like: {shape} cannot be broadcast to {a.shape}")
    axes = (*range(extra), *(extra + i for i, s in enumerate(shape) if s != a.shape[extra + i]))
    return a.sum(axis=axes).reshape(shape)
