"""Matrix products: FullyConnected, dot, batch_dot and their kin."""

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..core.attrs import Arity, Count
from ..core.op import DENSE, Op, Storage, op
from ..core.shapes import UNKNOWN, Shape, broadcast, merge, merge_all, show
from ..formats.params import CSR, RowSparse
from .adjoint import linear
from .backward import SumLike
from .common import as_array, axis_of, part_of, same, want_rank, widen
from .composing import definite, known, narrowly, of_floats, placed_at, reshaped, widely
from .stored_places import (
    csr_of_places,
    product,
    product_with_rows,
    transposed_product,
    transposed_product_with_rows,
)


@linear(0, 1, no_bias=True)
@op("FullyConnected", "_npx_fully_connected", "_sparse_FullyConnected")
class FullyConnected(Op):
    """data @ weight.T + bias, over the last axis, or with flatten over all axes but the first.

    Shapes: data (N, ...), weight (num_hidden, K), bias (num_hidden,) -> (N, num_hidden), or (..., num_hidden) unflattened.
    """

    num_hidden: Count
    no_bias: bool = False
    flatten: bool = True

    inputs = ("data", "weight", "bias")

    takes_matrices = True

    def matrices(self, second):
        return second.T

    def input_names(self):
        return self.inputs[: 2 if self.no_bias else 3]

    def infer_input_shapes(self, shapes, outputs):
        data, weight, *bias = shapes
        if data is not None:
            weight = (self.num_hidden, math.prod(data[1:]) if self.flatten else data[-1])
            if outputs[0] is not None:  # gives a begin state of unknown batch its batch
                data = (outputs[0][0], *data[1:]) if self.flatten else (*outputs[0][:-1], data[-1])
        return [data, weight, *((self.num_hidden,) for _ in bias)]

    def infer_shape(self, data, weight, *bias):
        return (*(data[:1] if self.flatten else data[:-1]), self.num_hidden)

    def composition(self, F, data, weight, *bias):
        if not known(data):
            return None
        shape = self.infer_shape(data.shape, weight.shape)
        if self.flatten and 0 in definite(data.shape[1:]):
            return None
        wide, weight, *bias = widely(F, data.dtype, data, weight, *bias)
        rows = F._np_reshape(
            wide, newshape=(-1 if 0 not in data.shape else 0, definite(weight_columns(self, data.shape))[0])
        )
        y = F.dot(rows, weight, transpose_b=True)
        y = F.broadcast_add(y, placed_at(F, bias[0], 1, 2)) if bias else y
        return reshaped(F, narrowly(F, data.dtype, y), shape)

    def compute(self, data, weight, *bias):
        x = data.reshape(len(data), math.prod(data.shape[1:])) if self.flatten and data.ndim != 2 else data
        y = widen(x) @ widen(weight).T
        if bias:
            y += bias[0]
        return y.astype(data.dtype, copy=False)

    def gradient(self, F, dy, data, weight, *bias_and_y):
        attrs = self.dump() | {"no_bias": True}
        found = [F._backward_FullyConnected(dy, data, weight, **attrs, of=i) for i in (0, 1)]
        return found if self.no_bias else [*found, F._backward_sum_like(dy, bias_and_y[0])]

    def adjoint(self, of, dy, data, weight):
        rows = dy.reshape(math.prod(dy.shape[:-1]), self.num_hidden)
        if of == 0:
            return (rows @ weight).reshape(data.shape)
        return rows.T @ data.reshape(len(rows), weight.shape[1])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 2, 4), make.uniform(3, 8), make.uniform(3), num_hidden=3)
        yield make(make.uniform(2, 2, 4), make.uniform(3, 4), make.uniform(3), num_hidden=3, flatten=False)
        yield make(make.uniform(2, 4), make.uniform(3, 4), num_hidden=3, no_bias=True)


def weight_columns(op: FullyConnected, data: Shape) -> Shape:
    """K, as a shape of one dim."""
    return (math.prod(data[1:]),) if op.flatten else data[-1:]


class Products(Op):
    """Base of products of two arrays, computed by BLAS in float32 or wider."""

    inputs = ("lhs", "rhs")
    tolerance = 64.0  # sums over the inner dim, in another order in every implementation

    def product(self, lhs, rhs):
        raise NotImplementedError

    def compute(self, *arrays):
        return as_array(self.product(*map(widen, arrays))).astype(arrays[0].dtype, copy=False)


def contraction_adjoint(of: int, dy, a, b, left: Sequence[int], right: Sequence[int]):
    """The gradient of a or b in tensordot(a, b, (left, right)), whose axes are counted from the front."""
    free_a, free_b = [i for i in range(a.ndim) if i not in left], [j for j in range(b.ndim) if j not in right]
    dy = dy.reshape([a.shape[i] for i in free_a] + [b.shape[j] for j in free_b])
    if of == 0:
        given = np.tensordot(dy, b, (range(len(free_a), dy.ndim), free_b))
        # what is left of b comes in b's order
        axes = free_a + [left[right.index(j)] for j in sorted(right)]
    else:
        given = np.tensordot(a, dy, (free_a, range(len(free_a))))
        axes = [right[left.index(i)] for i in sorted(left)] + free_b
    return given.transpose(np.argsort(axes)) if axes else given


@linear()
@op("dot", "_sparse_dot")
class Dot(Products):
    """The sum over lhs's last axis and rhs's first; transpose_a takes lhs's first, transpose_b rhs's last.

    Shapes: (..., K), (K, ...) -> lhs's other dims, then rhs's; two vectors give (1,).
    """

    transpose_a: bool = False
    transpose_b: bool = False
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None

    primitive = True

    takes_matrices = True

    def matrices(self, second):
        shape = second.shape
        return second.reshape(-1, shape[-1]).T if self.transpose_b else second.reshape(shape[0], -1)

    def infer_storage(self, stypes=(), shapes=(), result=()):
        wanted = self.forward_stype
        if wanted is None and stypes[:1] == ("csr",) and self.transpose_a and not self.transpose_b:
            wanted = "row_sparse" if stypes[1] != "csr" else None
        elif wanted is None and stypes == ("default", "csr") and not self.transpose_a:
            wanted = "csr"
        return DENSE if wanted in (None, "default") else Storage(wanted)

    def infer_gradient_storage(self, stypes, result):
        rows = stypes[0] == "csr" and not self.transpose_a and not self.transpose_b
        return ["default", "row_sparse" if rows else "default"]

    def compute_stored(self, lhs, rhs):
        if self.transpose_b or self.forward_stype == "csr":
            return None
        if isinstance(lhs, CSR) and not isinstance(rhs, CSR):
            found = self._stored_product(lhs, rhs, self.transpose_a)
            if self.forward_stype == "default" and isinstance(found, RowSparse):
                return found.todense()
            return None if self.forward_stype == "row_sparse" and not isinstance(found, RowSparse) else found
        if self.forward_stype is not None:
            return None
        if isinstance(lhs, np.ndarray) and isinstance(rhs, CSR) and lhs.ndim == 2 and not self.transpose_a:
            found = transposed_product(rhs, widen(lhs).T)
            rows, columns = np.nonzero(found.data.T)
            values = found.data[columns, rows].astype(lhs.dtype, copy=False)
            shape = len(lhs), rhs.shape[1]
            return csr_of_places(values, rows * shape[1] + found.indices[columns], shape)
        return None

    def _stored_product(self, matrix: CSR, other: Any, transpose: bool) -> Any:
        """matrix, or its transpose, times an array or one of which some rows are stored."""
        dtype = matrix.data.dtype
        if isinstance(other, RowSparse):
            found: Any = (transposed_product_with_rows if transpose else product_with_rows)(matrix, other)
        else:
            found = (transposed_product if transpose else product)(matrix, widen(other))
        if isinstance(found, RowSparse):
            return RowSparse(found.data.astype(dtype, copy=False), found.indices, found.shape)
        return found.astype(dtype, copy=False)

    def adjoint_stored(self, of, dy, lhs, rhs):
        if of != 1 or self.transpose_b or not isinstance(lhs, CSR) or not isinstance(dy, np.ndarray):
            return None
        return self._stored_product(lhs, dy, not self.transpose_a)

    def axes(self, lhs_rank: int, rhs_rank: int) -> tuple[int, int]:
        """The axes that are summed over."""
        return (0 if self.transpose_a else lhs_rank - 1), (rhs_rank - 1 if self.transpose_b else 0)

    def infer_shape(self, lhs, rhs):
        if not lhs or not rhs:
            raise self.error("got an array without dimensions, wanted at least one")
        i, j = self.axes(len(lhs), len(rhs))
        merge((lhs[i],), (rhs[j],))
        return (*lhs[:i], *lhs[i + 1 :], *rhs[:j], *rhs[j + 1 :]) or (1,)

    def product(self, lhs, rhs):
        if lhs.ndim == 2 and rhs.ndim == 2:
            return np.dot(lhs.T if self.transpose_a else lhs, rhs.T if self.transpose_b else rhs)
        i, j = self.axes(lhs.ndim, rhs.ndim)
        return np.tensordot(lhs, rhs, ((i,), (j,))).reshape(self.infer_shape(lhs.shape, rhs.shape))

    def adjoint(self, of, dy, lhs, rhs):
        i, j = self.axes(lhs.ndim, rhs.ndim)
        return contraction_adjoint(of, dy, lhs, rhs, [i], [j])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(4, 5))


def swap_dims(shape: tuple, swap: bool) -> tuple:
    """The shape with its last two dims exchanged if asked."""
    return (*shape[:-2], shape[-1], shape[-2]) if swap else shape


class MatrixProducts(Products):
    """Products of the last two dims, over equal leading ones."""

    transpose_a: bool = False
    transpose_b: bool = False

    takes_matrices = True

    def matrices(self, second):
        return np.swapaxes(second, -1, -2) if self.transpose_b else second

    def want_same_rank(self, a, b):
        if len(a) != len(b):
            raise self.error(f"got {len(a)} and {len(b)} dimensions, wanted as many")

    def matrix_shape(self, a, b):
        self.want_same_rank(a, b)
        a, b = swap_dims(a, self.transpose_a), swap_dims(b, self.transpose_b)
        merge(a[-1:], b[-2:-1])
        return (*merge(a[:-2], b[:-2]), a[-2], b[-1])

    def composed_product(self, F: Any, a: Any, b: Any, shapes: Sequence[Shape]) -> Any:
        """matrix_product of symbols of these shapes."""
        (*front, rows, inner), (columns, depth) = shapes[0], shapes[1][-2:]
        a, b = (F._np_reshape(x, newshape=(math.prod(front), *s[-2:])) for x, s in zip((a, b), shapes))
        y = F.batch_dot(a, b, transpose_a=self.transpose_a, transpose_b=self.transpose_b)
        return F._np_reshape(
            y, newshape=(*front, inner if self.transpose_a else rows, columns if self.transpose_b else depth)
        )

    def matrix_product(self, a, b):
        return (np.swapaxes(a, -1, -2) if self.transpose_a else a) @ (np.swapaxes(b, -1, -2) if self.transpose_b else b)

    def matrix_adjoint(self, of, dy, a, b):
        if of == 0:
            given = dy @ (b if self.transpose_b else np.swapaxes(b, -1, -2))
        else:
            given = (a if self.transpose_a else np.swapaxes(a, -1, -2)) @ dy
        return np.swapaxes(given, -1, -2) if (self.transpose_a, self.transpose_b)[of] else given


@linear()
@op("batch_dot", "_npx_batch_dot")
class BatchDot(MatrixProducts):
    """Matrix products of the last two dims, for every index of the others. Shapes: (..., M, K), (..., K, N) -> (..., M, N)."""

    forward_stype: Literal["csr", "default", "row_sparse"] | None = None

    primitive = True

    def infer_shape(self, lhs, rhs):
        want_at_least(self, lhs, 3)
        return self.matrix_shape(lhs, rhs)

    def product(self, lhs, rhs):
        return self.matrix_product(lhs, rhs)

    def adjoint(self, of, dy, lhs, rhs):
        return self.matrix_adjoint(of, dy, lhs, rhs)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(2, 4, 5))
        yield make(make.uniform(2, 3, 4), make.uniform(2, 5, 4), transpose_b=True)


def want_at_least(op: Op, shape: tuple, rank: int) -> None:
    """Raise OpError unless the shape has that many dims."""
    if len(shape) < rank:
        raise op.error(f"got {len(shape)} dimensions, wanted at least {rank}")


class Gemm(MatrixProducts):
    """Matrices lie along ``axis`` (rows) and the last axis (columns)."""

    meanings = {"axis": "Axis of the matrices' rows, negative ones counted from the last; columns are the last axis."}

    alpha: float = 1.0
    axis: int = -2

    inputs = ("A", "B")

    def infer_shape(self, a, b, *c):
        want_at_least(self, a, 2)
        self.want_same_rank(a, b)
        row = axis_of(self, self.axis, len(a))
        if row == len(a) - 1:
            raise self.error(f"got axis {self.axis}, wanted another than the last, which has the columns")
        front, back = (*range(row), *range(row + 1, len(a) - 1)), (row, len(a) - 1)
        shape = self.matrix_shape(*(tuple(s[i] for i in (*front, *back)) for s in (a, b)))
        out = [shape[-1]] * len(a)
        for place, dim in zip((*front, *back), shape):
            out[place] = dim
        return tuple(out)

    def composition(self, F, a, b, *c):
        if not known(a, b) or not of_floats(a):
            return None
        rank, row = len(a.shape), axis_of(self, self.axis, len(a.shape))
        order = [i for i in range(rank - 1) if i != row] + [row, rank - 1]
        shapes = [tuple(definite(x.shape)[i] for i in order) for x in (a, b)]
        wide = widely(F, a.dtype, a, b, *c)
        left, right = (F.transpose(x, axes=order) for x in wide[:2])
        y = self.composed_product(F, left, right, shapes) * self.alpha
        y = F.transpose(y, axes=[order.index(i) for i in range(rank)])
        y = y if not c else F.broadcast_add(y, wide[2] * self.beta)  # type: ignore[attr-defined]
        return narrowly(F, a.dtype, y)

    def product(self, a, b, *c):
        a, b = (np.moveaxis(x, self.axis, -2) for x in (a, b))
        return np.moveaxis(self.alpha * self.matrix_product(a, b), -2, self.axis)

    def adjoint(self, of, dy, a, b):
        dy, a, b = (np.moveaxis(x, self.axis, -2) for x in (dy, a, b))
        return np.moveaxis(self.alpha * self.matrix_adjoint(of, dy, a, b), -2, self.axis)


@linear()
@op("_linalg_gemm2", "linalg_gemm2")
class Gemm2(Gemm):
    """alpha * A @ B, either transposed if asked. Shapes: (..., M, K), (..., K, N) -> (..., M, N)."""

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(2, 4, 5), alpha=2.0)


@op("_linalg_gemm", "linalg_gemm")
class GemmPlus(Gemm):
    """alpha * A @ B + beta * C, A and B transposed if asked. Shapes: (..., M, K), (..., K, N), (..., M, N) -> (..., M, N)."""

    beta: float = 1.0

    inputs = ("A", "B", "C")
    positional_first = ("transpose_a", "transpose_b", "alpha", "beta")

    def infer_input_shapes(self, shapes, outputs):
        a, b, c = shapes
        product = None if a is None or b is None else super().infer_shape(a, b)
        return [a, b, merge_all((c, product, *outputs))]

    def infer_shape(self, a, b, c):
        return merge(super().infer_shape(a, b), c)

    def composition(self, F, a, b, c):
        return super().composition(F, a, b, c)

    def product(self, a, b, c):
        return super().product(a, b) + self.beta * c

    def gradient(self, F, dy, a, b, c, y):
        attrs = self.dump()
        attrs.pop("beta", None)
        da, db = (F._backward__linalg_gemm2(dy, a, b, of=i, **attrs) for i in (0, 1))
        return da, db, dy * self.beta

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(2, 4, 5), make.uniform(2, 3, 5), beta=0.5)


@linear()
@op("_npi_matmul")
class Matmul(Products):
    """numpy.matmul: matrix products of the last two dims, the others broadcast."""

    inputs = ("a", "b")

    takes_matrices = True

    def infer_shape(self, a, b):
        if not a or not b:
            raise self.error("got an array without dimensions, wanted at least one")
        left, right = (a if len(a) > 1 else (1, *a)), (b if len(b) > 1 else (*b, 1))
        merge(left[-1:], right[-2:-1])
        return (*broadcast(left[:-2], right[:-2]), *left[-2:-1][: len(a) > 1], *right[-1:][: len(b) > 1])

    def composition(self, F, a, b):
        if not known(a, b) or not of_floats(a):
            return None
        left, right = definite(a.shape), definite(b.shape)
        shape, wide = self.infer_shape(left, right), widely(F, a.dtype, a, b)
        left, right = (left if len(left) > 1 else (1, *left)), (right if len(right) > 1 else (*right, 1))
        front = broadcast(left[:-2], right[:-2])
        x, y = (
            F._np_reshape(
                F._npi_broadcast_to(F._np_reshape(v, newshape=s), shape=(*front, *s[-2:])),
                newshape=(math.prod(front), *s[-2:]),
            )
            for v, s in zip(wide, (left, right))
        )
        return narrowly(F, a.dtype, F._np_reshape(F.batch_dot(x, y), newshape=shape))

    def product(self, a, b):
        return np.matmul(a, b)

    def adjoint(self, of, dy, a, b):
        left, right = (a if a.ndim > 1 else a[None]), (b if b.ndim > 1 else b[:, None])
        if a.ndim == 1:
            dy = np.expand_dims(dy, -1 if b.ndim == 1 else -2)
        if b.ndim == 1:
            dy = dy[..., None]
        given = dy @ np.swapaxes(right, -1, -2) if of == 0 else np.swapaxes(left, -1, -2) @ dy
        return SumLike.bind().compute(given, (left, right)[of]).reshape((a, b)[of].shape)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 1, 3, 4), make.uniform(5, 4, 2))


@linear()
@op("_np_dot")
class NumpyDot(Products):
    """numpy.dot: the sum over a's last axis and b's last but one (or only) axis; a scalar scales."""

    inputs = ("a", "b")

    takes_matrices = True

    def infer_input_shapes(self, shapes, outputs):
        a, b = shapes
        if not a or not b:
            return shapes
        j = max(0, len(b) - 2)
        shared = merge(a[-1:], b[j : j + 1])
        rows, before, after = a[:-1], b[:j], b[j + 1 :]
        if outputs[0] is not None and len(outputs[0]) == len(rows) + len(before) + len(after):
            rows, rest = merge(rows, outputs[0][: len(rows)]), outputs[0][len(rows) :]
            before, after = merge(before, rest[:j]), merge(after, rest[j:])
        return [(*rows, *shared), (*before, *shared, *after)]

    def infer_shape(self, a, b):
        if not a or not b:
            return a or b
        j = max(0, len(b) - 2)
        merge(a[-1:], b[j : j + 1])
        return (*a[:-1], *b[:j], *b[j + 1 :])

    def composition(self, F, a, b):
        if not known(a, b):
            return None
        left, right = definite(a.shape), definite(b.shape)
        if not left or not right:
            return F.broadcast_mul(a, b)
        if len(right) > 2:
            b = F.transpose(b, axes=(len(right) - 2, *range(len(right) - 2), len(right) - 1))
        return F._np_reshape(F.dot(a, b), newshape=self.infer_shape(left, right))

    def product(self, a, b):
        return np.dot(a, b)

    def adjoint(self, of, dy, a, b):
        if not a.ndim or not b.ndim:
            return SumLike.bind().compute(dy * (b, a)[of], (a, b)[of])
        return contraction_adjoint(of, dy, a, b, [a.ndim - 1], [max(0, b.ndim - 2)])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(5, 4, 2))


@op("khatri_rao")
class KhatriRao(Op):
    """The column-wise Kronecker product. Shapes: (M1, K), (M2, K), ... -> (M1 * M2 * ..., K)."""

    num_args: Arity

    inputs = ("*args",)

    def infer_shape(self, *shapes):
        for shape in shapes:
            want_rank(self, shape, 2, what="a factor")
        columns = merge_all(s[1:] for s in shapes)
        return (math.prod(s[0] for s in shapes), *(columns or ()))

    def composition(self, F, *arrays):
        out = arrays[0]
        for x in arrays[1:]:
            pair = F.expand_dims(out, axis=1), F.expand_dims(x, axis=0)
            out = F.Reshape(F.broadcast_mul(*pair), shape=(-3, -2))
        return out if len(arrays) > 1 else F._copy(out)

    def compute(self, *arrays):
        out = arrays[0]
        for array in arrays[1:]:
            out = (out[:, None] * array[None]).reshape(len(out) * len(array), out.shape[1])
        return out.copy()

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), make.uniform(4, 3), num_args=2)


class Attention(Products):
    """Multi-head attention on interleaved projections: within a head the parts (queries, keys, values) lie side by side."""

    heads: Count

    def width(self, shape: Shape, count: int, *, what: str) -> Any:
        """D, of the shape (T, N, heads * count * D) of projections. Raises OpError when it is no such shape."""
        want_rank(self, shape, 3, what=what)
        if shape[2] is not UNKNOWN and shape[2] % (self.heads * count):
            raise self.error(
                f"got {what} of shape {show(shape)}, wanted a last dim that is a multiple of {count} for each of {self.heads} heads"
            )
        return shape[2] // (self.heads * count)

    def split_parts(self, array: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
        """Of (T, N, heads * count * D), each part as (N * heads, T, D)."""
        t, n, width = array.shape
        split = array.reshape(t, n * self.heads, count, width // (self.heads * count))
        return tuple(split[:, :, i].transpose(1, 0, 2) for i in range(count))

    def composed_parts(self, F: Any, x: Any, shape: Shape, count: int) -> list[Any]:
        """apart, of a symbol."""
        t, n, width = definite(shape)
        depth = width // (self.heads * count)
        split = F._np_reshape(x, newshape=(t, n * self.heads, count, depth))
        parts = [F.slice_axis(split, axis=2, begin=i, end=i + 1) for i in range(count)]
        return [F.transpose(F._np_reshape(p, newshape=(t, n * self.heads, depth)), axes=(1, 0, 2)) for p in parts]

    def composed_scores(self, F: Any, queries: Any, keys: Any, depth: int) -> Any:
        """scores, of symbols."""
        return F.batch_dot(queries / math.sqrt(depth), keys, transpose_b=True)

    def composed_mixed(self, F: Any, attention: Any, values: Any, shape: Shape) -> Any:
        """mixed, of symbols, in that shape."""
        return F._np_reshape(F.transpose(F.batch_dot(attention, values), axes=(1, 0, 2)), newshape=definite(shape))

    def scores(self, queries, keys):
        return (queries / math.sqrt(queries.shape[-1])) @ keys.transpose(0, 2, 1)

    def mix_values(self, attention, values):
        """(T, N, heads * D) from (N * heads, T, S) and (N * heads, S, D)."""
        out = (attention @ values).transpose(1, 0, 2)
        return out.reshape(out.shape[0], out.shape[1] // self.heads, self.heads * out.shape[2])

    def join_parts(self, *parts: np.ndarray | None) -> np.ndarray:
        """The inverse of parts; None stands for zeros."""
        some = next(p for p in parts if p is not None)
        rows, t, d = some.shape
        out = np.zeros_like(some, order="C", shape=(t, rows, len(parts), d))
        for i, part in enumerate(parts):
            if part is not None:
                out[:, :, i] = part.transpose(1, 0, 2)
        return out.reshape(t, rows // self.heads, self.heads * len(parts) * d)

    def mix_adjoint(self, dy: np.ndarray, attention: np.ndarray, values: np.ndarray | None) -> np.ndarray:
        """The gradient of attention in mixed given the values, else that of the values."""
        (rows,) = self.split_parts(dy, 1)
        return attention.transpose(0, 2, 1) @ rows if values is None else rows @ values.transpose(0, 2, 1)


@op("_contrib_interleaved_matmul_selfatt_qk")
class SelfAttentionScores(Attention):
    """Scaled scores of self attention. Shapes: (T, N, heads * 3 * D) -> (N * heads, T, T)."""

    inputs = ("queries_keys_values",)

    def infer_shape(self, qkv):
        self.width(qkv, 3, what="queries_keys_values")
        return (qkv[1] * self.heads, qkv[0], qkv[0])

    def composition(self, F, qkv):
        if not known(qkv) or not of_floats(qkv):
            return None
        (wide,) = widely(F, qkv.dtype, qkv)
        queries, keys, _ = self.composed_parts(F, wide, qkv.shape, 3)
        return narrowly(F, qkv.dtype, self.composed_scores(F, queries, keys, qkv.shape[2] // (3 * self.heads)))

    def product(self, qkv):
        queries, keys, _ = self.split_parts(qkv, 3)
        return self.scores(queries, keys)

    def gradient(self, F, dy, qkv, y):
        return F._backward__contrib_interleaved_matmul_selfatt_qk(dy, qkv, heads=self.heads)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2, 12), heads=2)


@op("_backward__contrib_interleaved_matmul_selfatt_qk")
@part_of("_contrib_interleaved_matmul_selfatt_qk")
class SelfAttentionScoresBackward(Attention):
    """The gradient of the projections. Shapes: dy (N * heads, T, T), projections (T, N, heads * 3 * D) -> as these."""

    inputs = ("dy", "queries_keys_values")

    def infer_shape(self, dy, qkv):
        return qkv

    def product(self, dy, qkv):
        queries, keys, _ = self.split_parts(qkv, 3)
        dy = dy / math.sqrt(queries.shape[-1])
        return self.join_parts(dy @ keys, dy.transpose(0, 2, 1) @ queries, None)

    def gradient(self, F, ddx, dy, qkv, dx):
        # the scores are a quadratic form, so what is bilinear in two projections is had from three scores
        scores = functools.partial(F._contrib_interleaved_matmul_selfatt_qk, heads=self.heads)
        return scores(qkv + ddx) - scores(qkv) - scores(ddx), F._backward__contrib_interleaved_matmul_selfatt_qk(
            dy, ddx, heads=self.heads
        )


@linear()
@op("_contrib_interleaved_matmul_selfatt_valatt")
class SelfAttentionValues(Attention):
    """Values weighted by attention. Shapes: (T, N, heads * 3 * D), (N * heads, T, T) -> (T, N, heads * D)."""

    inputs = ("queries_keys_values", "attention")

    def infer_shape(self, qkv, attention):
        width = self.width(qkv, 3, what="queries_keys_values")
        merge(attention, (qkv[1] * self.heads, qkv[0], qkv[0]))
        return (qkv[0], qkv[1], self.heads * width)

    def composition(self, F, qkv, attention):
        if not known(qkv, attention) or not of_floats(qkv):
            return None
        wide, weights = widely(F, qkv.dtype, qkv, attention)
        values = self.composed_parts(F, wide, qkv.shape, 3)[2]
        return narrowly(
            F, qkv.dtype, self.composed_mixed(F, weights, values, self.infer_shape(qkv.shape, attention.shape))
        )

    def product(self, qkv, attention):
        return self.mix_values(attention, self.split_parts(qkv, 3)[2])

    def adjoint(self, of, dy, qkv, attention):
        if of == 0:
            return self.join_parts(None, None, self.mix_adjoint(dy, attention, None))
        return self.mix_adjoint(dy, attention, self.split_parts(qkv, 3)[2])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2, 12), make.uniform(4, 3, 3), heads=2)


@linear()
@op("_contrib_interleaved_matmul_encdec_qk")
class CrossAttentionScores(Attention):
    """Scaled scores of attention to an encoder. Shapes: (T, N, heads * D), (S, N, heads * 2 * D) -> (N * heads, T, S)."""

    inputs = ("queries", "keys_values")

    def infer_shape(self, queries, keys_values):
        same(
            self, "numbers for each head",
            self.width(queries, 1, what="queries"), self.width(keys_values, 2, what="keys_values"),
        )  # fmt: skip
        batch = merge(queries[1:2], keys_values[1:2])[0]  # type: ignore[index]
        return (batch * self.heads, queries[0], keys_values[0])

    def composition(self, F, queries, keys_values):
        if not known(queries, keys_values) or not of_floats(queries):
            return None
        wide = widely(F, queries.dtype, queries, keys_values)
        (rows,) = self.composed_parts(F, wide[0], queries.shape, 1)
        keys = self.composed_parts(F, wide[1], keys_values.shape, 2)[0]
        return narrowly(F, queries.dtype, self.composed_scores(F, rows, keys, queries.shape[2] // self.heads))

    def product(self, queries, keys_values):
        return self.scores(self.split_parts(queries, 1)[0], self.split_parts(keys_values, 2)[0])

    def adjoint(self, of, dy, queries, keys_values):
        (rows,), keys = self.split_parts(queries, 1), self.split_parts(keys_values, 2)[0]
        dy = dy / math.sqrt(rows.shape[-1])
        return self.join_parts(dy @ keys) if of == 0 else self.join_parts(dy.transpose(0, 2, 1) @ rows, None)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2, 4), make.uniform(5, 2, 8), heads=2)


@linear()
@op("_contrib_interleaved_matmul_encdec_valatt")
class CrossAttentionValues(Attention):
    """Encoder values weighted by attention. Shapes: (S, N, heads * 2 * D), (N * heads, T, S) -> (T, N, heads * D)."""

    inputs = ("keys_values", "attention")

    def infer_shape(self, keys_values, attention):
        width = self.width(keys_values, 2, what="keys_values")
        merge(attention, (keys_values[1] * self.heads, UNKNOWN, keys_values[0]))
        return (attention[1], keys_values[1], self.heads * width)

    def composition(self, F, keys_values, attention):
        if not known(keys_values, attention) or not of_floats(keys_values):
            return None
        wide, weights = widely(F, keys_values.dtype, keys_values, attention)
        values = self.composed_parts(F, wide, keys_values.shape, 2)[1]
        shape = self.infer_shape(keys_values.shape, attention.shape)
        return narrowly(F, keys_values.dtype, self.composed_mixed(F, weights, values, shape))

    def product(self, keys_values, attention):
        return self.mix_values(attention, self.split_parts(keys_values, 2)[1])

    def adjoint(self, of, dy, keys_values, attention):
        if of == 0:
            return self.join_parts(None, self.mix_adjoint(dy, attention, None))
        return self.mix_adjoint(dy, attention, self.split_parts(keys_values, 2)[1])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 2, 8), make.uniform(4, 3, 5), heads=2)
