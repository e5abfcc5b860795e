"""Operators that take or place numbers by position: take, Embedding, pick, gather_nd, one_hot and their kin.

Positions may be floats, which are cut to integers. A position outside is moved to the nearest inside (mode clip),
counted round and round (wrap), or refused (raise), as each operator says.
"""

import math
from typing import Any, Literal

import numpy as np

from ..core.attrs import Count, DType, Shape
from ..core.op import DENSE, Domain, Op, Storage, op
from ..core.shapes import UNKNOWN, is_known, merge, show
from ..formats.params import RowSparse
from .adjoint import linear, scatter_sum
from .common import axis_of, truncate, want_some
from .composing import clipped, definite, folded, known, placed_at, reshaped
from .stored_places import take_rows


def positions(array: np.ndarray) -> np.ndarray:
    """Positions as integers."""
    return array.astype(np.int64) if array.dtype.kind in "iub" else truncate(array, np.dtype(np.int64))


def inside(where: np.ndarray, size: int, mode: str = "clip") -> np.ndarray:
    """Integer positions moved inside an axis of the size."""
    return where % size if mode == "wrap" else np.minimum(np.maximum(where, 0), size - 1)


def below(size: Any) -> Domain | None:
    """The domain of positions on an axis of the size, where that is known."""
    return None if size is UNKNOWN or size == 0 else Domain(0, size - 1, integer=True)


def around(domain: Domain | None) -> Domain | None:
    """Positions inside and outside of an axis, some times its size on either side, of those inside."""
    return None if domain is None else Domain(-2 * domain.high - 3, 3 * domain.high + 4, integer=True)


def places(op: Op, indices: np.ndarray, shape: Shape) -> tuple[np.ndarray, ...]:
    """Columns of coordinates as an index into an array of that shape, negative ones from behind. Raises OpError where one is
    outside of it."""
    found = tuple(positions(indices))
    for where, size in zip(found, shape):
        if where.size and not -size <= where.min() <= where.max() < size:
            raise op.error(f"got coordinates {where.min()} to {where.max()} along an axis of {size}")
    return found


class Indexing(Op):
    """Base of operators whose result has the dtype of the first input, whatever that of the positions."""

    objects = True

    def infer_type(self, data, *others):
        if any(d.hasobject for d in others):
            raise self.error("got words or sequences for positions, wanted numbers")
        return data

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], *dtypes[1:]]


@linear(0)
@op("take", "_npi_take")
class Take(Indexing):
    """The parts of a at the positions indices along axis.

    Shapes: a (..., n, ...), indices of any shape, which takes the place of the axis. Mode raise refuses negative ones.
    """

    meanings = {
        "a": "The array that parts are taken of.",
        "axis": "Axis that positions count along; negative ones count from the last.",
        "mode": "Of positions outside clip takes the nearest inside, wrap counts on from the other end, raise refuses.",
    }

    axis: int = 0
    mode: Literal["clip", "wrap", "raise"] = "clip"

    primitive = True

    inputs = ("a", "indices")
    picks = "a"

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return Storage("csr") if stypes[:1] == ("csr",) and self.axis == 0 and len(result) == 2 else DENSE

    def infer_shape(self, a, indices):
        axis = axis_of(self, self.axis, len(a))
        if not is_known(indices) or math.prod(indices):
            want_some(self, a, axis, what="a")
        return (*a[:axis], *indices, *a[axis + 1 :])

    def domain(self, name, shapes):
        a = shapes[0]
        return below(a[axis_of(self, self.axis, len(a))]) if name == "indices" and a is not None else None

    def accepts(self, name, shapes):
        return None if self.mode == "raise" else around(self.domain(name, shapes))

    def compute(self, a, indices):
        where = positions(indices)
        axis = axis_of(self, self.axis, a.ndim)
        size = a.shape[axis]
        if self.mode == "raise" and np.any((where < 0) | (where >= size)):
            raise self.error(f"got positions {where.min()} to {where.max()} on an axis of size {size}")
        if (
            self.mode == "wrap"
        ):  # NumPy's own wrap subtracts the size again and again, which takes forever for far positions
            where = inside(where, size, "wrap")
        return a.take(where, axis, mode="clip")

    def adjoint(self, of, dy, a, indices):
        axis = axis_of(self, self.axis, a.ndim)
        before, size, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
        where = inside(positions(indices).ravel(), size, self.mode)
        parts = np.moveaxis(dy.reshape(*before, len(where), *after), axis, 0)
        return np.moveaxis(scatter_sum(parts, where, size), 0, axis)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 3), make.integers(2, 3, high=4))
        yield make(make.uniform(2, 4), make.integers(3, high=9), axis=1, mode="wrap")


class EmbeddingBase(Indexing):
    """Base of embeddings: rows of weight by position."""

    meanings = {"data": "Positions, whole numbers of any dtype.", "dtype": "Dtype of weight and result."}

    input_dim: Count
    output_dim: Count
    dtype: DType = np.dtype("float32")
    sparse_grad: bool = False

    inputs = ("data", "weight")
    picks = "weight"
    objects = False

    def infer_input_shapes(self, shapes, outputs):
        return [shapes[0], (self.input_dim, self.output_dim)]

    def infer_shape(self, data, weight):
        return (*data, self.output_dim)

    def infer_type(self, data, weight):
        return weight

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0], dtypes[1] or outputs[0] or self.dtype]

    def domain(self, name, shapes):
        return below(self.input_dim) if name == "data" else None

    def accepts(self, name, shapes):
        return around(self.domain(name, shapes))

    def composition(self, F, data, weight):
        return F.take(weight, data, axis=0, mode="clip")

    def compute(self, data, weight):
        return weight.take(positions(data), 0, mode="clip")

    def adjoint(self, of, dy, data, weight):
        where = inside(positions(data), self.input_dim).ravel()
        return scatter_sum(dy.reshape(len(where), self.output_dim), where, self.input_dim)

    def compute_stored(self, data, weight):
        if not isinstance(data, np.ndarray) or not isinstance(weight, RowSparse):
            return None
        where = inside(positions(data), self.input_dim)
        return take_rows(weight, where.ravel()).reshape(*where.shape, self.output_dim)

    def infer_gradient_storage(self, stypes, result):
        return ["default", "row_sparse" if self.sparse_grad else "default"]

    def adjoint_stored(self, of, dy, data, weight):
        """The gradient of weight in the rows that data names."""
        if not self.sparse_grad or not isinstance(dy, np.ndarray) or not isinstance(data, np.ndarray):
            return None
        rows, where = np.unique(inside(positions(data), self.input_dim), return_inverse=True)
        values = scatter_sum(dy.reshape(where.size, self.output_dim), where.ravel(), len(rows))
        return RowSparse(values, rows, (self.input_dim, self.output_dim))

    @classmethod
    def examples(cls, make):
        yield make(make.integers(2, 3, high=5), make.uniform(5, 4), input_dim=5, output_dim=4)


@linear(1)
@op("Embedding", "_sparse_Embedding", "_npx_embedding")
class Embedding(EmbeddingBase):
    """The rows of weight at the positions data; those outside are moved to the nearest inside.

    Shapes: data (...), weight (input_dim, output_dim) -> (..., output_dim).
    """


@linear(1)
@op("_contrib_SparseEmbedding")
class SparseEmbedding(EmbeddingBase):
    """The rows of weight at the positions data, as Embedding; its gradient is stored sparsely.

    Shapes: data (...), weight (input_dim, output_dim) -> (..., output_dim).
    """


@op("batch_take")
class BatchTake(Indexing):
    """One number of each row of a: a[i, indices[i]]; positions outside are moved to the nearest inside.

    Shapes: a (n, m), indices (n,) int32 -> (n,).
    """

    meanings = {"a": "The matrix that numbers are taken of."}

    inputs = ("a", "indices")

    def infer_shape(self, a, indices):
        if len(a) != 2:
            raise self.error(f"got a of shape {show(a)}, wanted 2 dimensions")
        want_some(self, a, 1, what="a")
        return merge(indices, a[:1])

    def infer_type(self, a, indices):
        if indices != np.int32:
            raise self.error(f"got indices of dtype {indices}, wanted int32")
        return a

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], dtypes[1] or np.dtype(np.int32)]

    def domain(self, name, shapes):
        return below(shapes[0][1]) if name == "indices" and shapes[0] is not None else None

    def accepts(self, name, shapes):
        return around(self.domain(name, shapes))

    def composition(self, F, a, indices):
        return F.pick(a, indices, axis=1)

    def compute(self, a, indices):
        return a[np.arange(len(a)), inside(indices, a.shape[1])]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.integers(3, high=4, dtype="int32"))


@linear(0)
@op("pick", "choose_element_0index", "_npx_pick")
class Pick(Indexing):
    """One number along axis for each place of the other axes: data[i, index[i]] for two dimensions.

    Shapes: data (..., n, ...), index the same without the axis or with 1 there; the result keeps a 1 with
    keepdims, and when data has no other axis.
    """

    meanings = {
        "axis": "Axis that positions count along, negative ones counted from the last; None: data is flattened first."
    }

    axis: int | None = -1
    keepdims: bool = False
    mode: Literal["clip", "wrap"] = "clip"

    inputs = ("data", "index")

    def check(self):
        return "axis=None wants an axis" if self.axis is None else None

    def along(self, rank: int) -> int:
        """The axis, from the front."""
        assert self.axis is not None
        return axis_of(self, self.axis, rank)

    def infer_input_shapes(self, shapes, outputs):
        data, index = shapes
        if data is None:
            return shapes
        axis = self.along(len(data))
        kept = index is not None and len(index) == len(data)
        return [data, merge(index, (*data[:axis], *((1,) if kept else ()), *data[axis + 1 :]))]

    def infer_shape(self, data, index):
        axis = self.along(len(data))
        without = (*data[:axis], *data[axis + 1 :])
        kept = (*data[:axis], 1, *data[axis + 1 :])
        want_some(self, data, axis)
        merge(index, kept if len(index) == len(data) else without)
        return kept if self.keepdims or not without else without

    def domain(self, name, shapes):
        data = shapes[0]
        return below(data[self.along(len(data))]) if name == "index" and data is not None else None

    def accepts(self, name, shapes):
        return around(self.domain(name, shapes))

    def composition(self, F, data, index):
        if data.shape is None or index.shape is None:
            return None
        shape, axis = definite(data.shape), self.along(len(data.shape))
        kept, rank = (*shape[:axis], 1, *shape[axis + 1 :]), len(shape)
        if 0 in kept:
            return None
        where = F._np_reshape(F.Cast(index, dtype="int64"), newshape=kept)
        size = shape[axis]
        where = F._mod_scalar(where, scalar=size) if self.mode == "wrap" else clipped(F, where, size)
        lines = [placed_at(F, F._arange(start=0, stop=n, dtype="int64"), a, rank) for a, n in enumerate(kept)]
        where = [where if a == axis else F._npi_broadcast_to(line, shape=kept) for a, line in enumerate(lines)]
        return reshaped(F, F.gather_nd(data, F.stack(*where, axis=0)), self.infer_shape(data.shape, index.shape))

    def compute(self, data, index):
        axis = self.along(data.ndim)
        where = self.where(data, index)
        if axis == data.ndim - 1 and data.size and where.size == data.size // data.shape[axis]:
            rows = np.arange(0, data.size, data.shape[axis])  # where each begins
            picked = data.reshape(-1).take(rows + where.reshape(-1)).reshape(where.shape)
        else:
            picked = np.take_along_axis(data, where, axis)
        return picked if self.keepdims or data.ndim == 1 else picked.squeeze(axis)

    def where(self, data: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The positions, with a 1 at the axis."""
        axis = self.along(data.ndim)
        where = inside(positions(index), data.shape[axis], self.mode)
        return where if where.ndim == data.ndim else np.expand_dims(where, axis)

    def adjoint(self, of, dy, data, index):
        out, where = np.zeros_like(dy, order="C", shape=data.shape), self.where(data, index)
        np.put_along_axis(out, where, dy.reshape(where.shape), self.along(data.ndim))
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.integers(3, high=4))
        yield make(make.uniform(3, 4), make.integers(4, high=3), axis=0, keepdims=True)


@linear(0)
@op("gather_nd", "_npi_gather_nd", "_npx_gather_nd")
class GatherND(Indexing):
    """The parts of data at positions given by columns: result[j] = data[indices[0, j], indices[1, j], ...].

    Shapes: data (d0, d1, ...), indices (m, ...), m <= rank of data -> (..., dm, ...). Negative ones count from behind.
    """

    primitive = True

    inputs = ("data", "indices")

    def infer_shape(self, data, indices):
        if not indices:
            raise self.error("got indices without dimensions, wanted a first axis of coordinates")
        if indices[0] is UNKNOWN:
            return None
        if indices[0] > len(data):
            raise self.error(f"got {indices[0]} coordinates for data of shape {show(data)}")
        return (*indices[1:], *data[indices[0] :])

    def domain(self, name, shapes):
        data, indices = shapes
        if name != "indices" or data is None or indices is None or indices[0] is UNKNOWN:
            return None
        sizes = data[: indices[0]]
        return None if any(s is UNKNOWN for s in sizes) else below(min(sizes, default=0))

    def compute(self, data, indices):
        if not len(indices):  # no coordinates: all of data, at every place
            return np.array(np.broadcast_to(data, (*indices.shape[1:], *data.shape)))
        try:
            return data[tuple(positions(indices))]
        except IndexError:
            raise self.error(f"got coordinates outside of data of shape {show(data.shape)}") from None

    def adjoint(self, of, dy, data, indices):
        sizes = data.shape[: len(indices)]
        flat = np.zeros(indices.shape[1:], np.int64)
        for size, where in zip(sizes, positions(indices)):
            if where.size and not -size <= where.min() <= where.max() < size:
                raise self.error(f"got coordinates outside of data of shape {show(data.shape)}")
            flat = flat * size + np.where(where < 0, where + size, where)
        parts = dy.reshape(flat.size, *data.shape[len(sizes) :])
        return scatter_sum(parts, flat.ravel(), math.prod(sizes)).reshape(data.shape)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.integers(2, 5, high=3))
        yield make(make.uniform(3, 4, 2), make.integers(1, 5, high=3))


class Scattering(Op):
    """Base of operators that place numbers at positions given by columns, as gather_nd takes them."""

    shape: Shape

    def fits(self, numbers: Any, indices: Any) -> None:
        """Raise OpError unless there are as many numbers as positions and remaining dims."""
        if not indices or (indices[0] is not UNKNOWN and indices[0] > len(self.shape)):
            raise self.error(f"got indices of shape {show(indices)} for an array of shape {show(self.shape)}")
        if indices[0] is not UNKNOWN:
            merge(numbers, (*indices[1:], *self.shape[indices[0] :]))

    def domain(self, name, shapes):
        return below(min(self.shape, default=0)) if name == "indices" else None


@op("scatter_nd")
class ScatterND(Scattering):
    """Zeros of the given shape, with data at positions given by columns: result[indices[0, j], ...] = data[j].

    Shapes: data (..., rest), indices (m, ...). Where a position occurs twice the last number counts.
    """

    primitive = True

    inputs = ("data", "indices")

    def infer_shape(self, data, indices):
        self.fits(data, indices)
        return self.shape

    def infer_type(self, data, indices):
        return data

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], dtypes[1]]

    def compute(self, data, indices):
        out = np.zeros(self.shape, data.dtype)
        out[places(self, indices, self.shape)] = data
        return out

    def gradient(self, F, dy, data, indices, y):
        return F.gather_nd(dy, indices), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), make.array([[0, 2, 1], [3, 0, 1]]), shape=(3, 4))


@op("_scatter_set_nd", "_npi_scatter_set_nd")
class ScatterSetND(Scattering):
    """lhs, which has the given shape, with rhs at positions given by columns: lhs[indices[0, j], ...] = rhs[j]."""

    primitive = True

    inputs = ("lhs", "rhs", "indices")

    def infer_input_shapes(self, shapes, outputs):
        return [self.shape, *shapes[1:]]

    def infer_shape(self, lhs, rhs, indices):
        self.fits(rhs, indices)
        return lhs

    def infer_type(self, lhs, rhs, indices):
        return lhs

    def infer_input_types(self, dtypes, outputs):
        known = dtypes[0] or dtypes[1] or outputs[0]
        return [known, known, dtypes[2]]

    def compute(self, lhs, rhs, indices):
        out = lhs.copy()
        out[places(self, indices, self.shape)] = rhs
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5), make.uniform(2), make.array([[0, 3]]), shape=(5,))


@op("fill_element_0index")
class FillElement(Op):
    """lhs with one number of each row replaced: lhs[i, rhs[i]] = mhs[i]. Shapes: lhs (n, m), mhs (n,), rhs (n,)."""

    inputs = ("lhs", "mhs", "rhs")

    def infer_shape(self, lhs, mhs, rhs):
        if len(lhs) != 2:
            raise self.error(f"got lhs of shape {show(lhs)}, wanted 2 dimensions")
        merge(mhs, lhs[:1])
        merge(rhs, lhs[:1])
        return lhs

    def domain(self, name, shapes):
        return below(shapes[0][1]) if name == "rhs" and shapes[0] is not None else None

    def composition(self, F, lhs, mhs, rhs):
        if lhs.shape is None:
            return None
        rows, columns = definite(lhs.shape)
        where = F.stack(F._arange(start=0, stop=rows, dtype="int64"), F.Cast(rhs, dtype="int64"), axis=0)
        return F._scatter_set_nd(lhs, mhs, where, shape=(rows, columns))

    def compute(self, lhs, mhs, rhs):
        out, where = lhs.copy(), positions(rhs)
        if where.size and not -lhs.shape[1] <= where.min() <= where.max() < lhs.shape[1]:
            raise self.error(f"got positions {where.min()} to {where.max()} in rows of {lhs.shape[1]}")
        out[np.arange(len(lhs)), where] = mhs
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.uniform(3), make.integers(3, high=4))


@op("one_hot", "_npx_one_hot")
class OneHot(Op):
    """on_value at the position, along a new last axis, and off_value elsewhere (everywhere, if that is outside).

    Shapes: indices (...) -> (..., depth).
    """

    meanings = {"dtype": "Dtype of the result."}

    depth: int
    on_value: float = 1.0
    off_value: float = 0.0
    dtype: DType = np.dtype("float32")

    inputs = ("indices",)

    def infer_shape(self, indices):
        return (*indices, self.depth)

    def infer_type(self, indices):
        return self.dtype

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def domain(self, name, shapes):
        return below(self.depth)

    def accepts(self, name, shapes):
        return around(self.domain(name, shapes))

    def composition(self, F, indices):
        if not known(indices) or self.depth < 1:
            return None
        rank = len(indices.shape) + 1
        places = placed_at(F, F._arange(start=0, stop=self.depth, dtype="int64"), rank - 1, rank)
        hit = F.broadcast_equal(F.expand_dims(F.Cast(indices, dtype="int64"), axis=rank - 1), places)
        on, off = (F._npi_full_like(hit, fill_value=v, dtype=self.dtype) for v in (self.on_value, self.off_value))
        return F._npi_where(hit, on, off)

    def compute(self, indices):
        hit = positions(indices)[..., None] == np.arange(self.depth)
        on, off = np.array([self.on_value, self.off_value]).astype(self.dtype)
        return np.where(hit, on, off)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.integers(2, 3, high=4), depth=4)
        yield make(make.integers(3, high=3), depth=3, on_value=5.0, off_value=-1.5)


@op("_ravel_multi_index", "ravel_multi_index")
class RavelMultiIndex(Op):
    """Columns of coordinates in an array of the given shape, as positions in the flattened array.

    Shapes: data (rank of shape, n) -> (n,). Coordinates outside are reckoned with all the same.
    """

    meanings = {"shape": "Shape of the array that the coordinates lie in."}

    shape: Shape

    def infer_input_shapes(self, shapes, outputs):
        return [None if outputs[0] is None else (len(self.shape), *outputs[0])]

    def infer_shape(self, data):
        if len(data) != 2:
            raise self.error(f"got data of shape {show(data)}, wanted 2 dimensions")
        merge(data[:1], (len(self.shape),))
        return data[1:]

    def strides(self) -> list[int]:
        """By how many places a step along each axis moves in the flattened array."""
        return [math.prod(self.shape[a + 1 :]) for a in range(len(self.shape))]

    def composition(self, F, data):
        if not known(data):
            return None
        rows = F.Cast(data, dtype="int64")
        parts = [F.slice_axis(rows, axis=0, begin=i, end=i + 1) * n for i, n in enumerate(self.strides())]
        return (
            F.Cast(F._np_reshape(folded(F.broadcast_add, parts), newshape=(-1,)), dtype=data.dtype) if parts else None
        )

    def compute(self, data):
        return (positions(data) * np.array(self.strides())[:, None]).sum(0).astype(data.dtype)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([[0, 2, 1], [3, 0, 1]]), shape=(3, 4))


@op("_unravel_index", "unravel_index")
class UnravelIndex(Op):
    """Positions in a flattened array of the given shape, as columns of coordinates. Shapes: data (n,) -> (rank, n)."""

    meanings = {"shape": "Shape of the array that the coordinates lie in."}

    shape: Shape

    exception = "takes positions apart as C divides"

    def check(self):
        return None if self.shape else "got shape=(), wanted sizes"

    def infer_input_shapes(self, shapes, outputs):
        return [None if outputs[0] is None else outputs[0][1:]]

    def infer_shape(self, data):
        if len(data) != 1:
            raise self.error(
                f"got data of shape {show(data)}, wanted 1 dimension (MXNet gives meaningless numbers for more)"
            )
        return (len(self.shape), *data)

    def domain(self, name, shapes):
        return below(math.prod(self.shape))

    def compute(self, data):
        left, out = positions(data), []
        for size in self.shape[:0:-1]:
            # towards zero, as C divides; the first coordinate takes whatever is left
            rest = np.fmod(left, size)
            out.append(rest)
            left = (left - rest) // size
        return np.stack([left, *out[::-1]]).astype(data.dtype)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([0, 5, 11]), shape=(3, 4))


@linear(0, 2, jointly=True)
@op("_contrib_index_copy")
class IndexCopy(Indexing):
    """old_tensor with the rows at index_vector replaced by those of new_tensor."""

    inputs = ("old_tensor", "index_vector", "new_tensor")

    def infer_shape(self, old, index, new):
        if len(index) != 1:
            raise self.error(f"got index_vector of shape {show(index)}, wanted 1 dimension")
        merge(new, (*index, *old[1:]))
        return old

    def infer_input_types(self, dtypes, outputs):
        known = dtypes[0] or dtypes[2] or outputs[0]
        return [known, dtypes[1], known]

    def domain(self, name, shapes):
        return below(shapes[0][0]) if name == "index_vector" and shapes[0] is not None else None

    def composition(self, F, old, index, new):
        if old.shape is None:
            return None
        return F._scatter_set_nd(old, new, F.expand_dims(index, axis=0), shape=definite(old.shape))

    def compute(self, old, index, new):
        out = old.copy()
        out[places(self, index[None], old.shape)] = new
        return out

    def adjoint(self, of, dy, old, index, new):
        where = positions(index)
        if of == 2:
            return dy[where]
        out = dy.copy()
        out[where] = 0
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 3), make.array([0, 4], "int32"), make.uniform(2, 3))


@op("_contrib_index_array")
class IndexArray(Op):
    """For every number of data its coordinates (int64), along a new last axis; only those on axes, if given."""

    meanings = {"axes": "Axes whose coordinates are given; None: all."}

    axes: Shape | None = None

    def chosen(self, rank: int) -> list[int]:
        """The axes whose coordinates are given."""
        return list(range(rank)) if self.axes is None else [axis_of(self, a, rank) for a in self.axes]

    def infer_shape(self, data):
        return (*data, len(self.chosen(len(data))))

    def infer_type(self, data):
        return np.dtype(np.int64)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def composition(self, F, data):
        if data.shape is None or 0 in definite(data.shape):
            return None
        sizes, rank = data.shape, len(data.shape)
        lines = [placed_at(F, F._arange(start=0, stop=n, dtype="int64"), a, rank) for a, n in enumerate(sizes)]
        chosen = [F._npi_broadcast_to(lines[a], shape=sizes) for a in self.chosen(rank)]
        return F.stack(*chosen, axis=-1) if chosen else None

    def compute(self, data):
        grid = np.indices(data.shape)[self.chosen(data.ndim)]
        return np.moveaxis(grid, 0, -1).astype(np.int64)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3))
        yield make(make.uniform(2, 3, 2), axes=(1, 0))


@linear(0)
@op("_contrib_boolean_mask", "_npi_boolean_mask")
class BooleanMask(Indexing):
    """The rows of data for which index is not 0. Shapes: data (n, ...), index (n,) -> (how many, ...)."""

    meanings = {"axis": "Axis that is chosen along; 0 is the only one."}

    axis: int = 0

    primitive = True

    inputs = ("data", "index")
    data_dependent_shape = True

    def check(self):
        return f"axis={self.axis} wants 0, as MXNet does" if self.axis != 0 else None

    def infer_shape(self, data, index):
        if not data:
            raise self.error("got data without dimensions, wanted rows")
        merge(index, data[:1])
        return (UNKNOWN, *data[1:])

    def domain(self, name, shapes):
        return Domain(0, 1, integer=True) if name == "index" else None

    def compute(self, data, index):
        return data[index != 0]

    def adjoint(self, of, dy, data, index):
        out, kept = np.zeros_like(dy, order="C", shape=data.shape), index != 0
        if len(dy) != np.count_nonzero(kept):
            raise self.error(f"got dy of {len(dy)} rows, wanted {np.count_nonzero(kept)}, which index keeps")
        out[kept] = dy
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 3), make.array([1, 0, 1, 1]))


@linear(0)
@op("_np_cumsum", "cumsum")
class CumSum(Op):
    """Running sums along axis, or of the flattened array; of bools as int64."""

    meanings = {
        "axis": "Axis along which sums run, negative ones counted from the last; None: data is flattened first.",
        "dtype": "Dtype to add up in, and of the result; None: that of the data.",
    }

    axis: int | None = None
    dtype: DType | None = None

    primitive = True

    inputs = ("a",)

    def infer_shape(self, a):
        if self.axis is None:
            return (math.prod(a),)
        axis_of(self, self.axis, len(a))
        return a

    def infer_input_shapes(self, shapes, outputs):
        return shapes if self.axis is None else [outputs[0]]

    def infer_type(self, a):
        return self.dtype or (np.dtype(np.int64) if a.kind == "b" else a)

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or (None if self.dtype else outputs[0])]

    def compute(self, a):
        return self._running(a, self.infer_type(a.dtype))

    def adjoint(self, of, dy, a):
        return np.flip(self._running(np.flip(dy, self.axis), dy.dtype), self.axis).reshape(a.shape)

    def _running(self, a: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """In float64 where that is wider: what each addition loses is in all sums after it."""
        wide = np.dtype(np.float64) if dtype.itemsize < 8 and dtype.kind not in "iub" else dtype
        return np.cumsum(a, self.axis, wide).astype(dtype, copy=False)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), axis=1)
        yield make(make.uniform(2, 3))
