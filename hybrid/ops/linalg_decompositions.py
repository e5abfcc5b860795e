"""Triangular matrices, and decompositions with several outputs."""

import math

import numpy as np

from ..core.op import WHOLE, Op, op
from ..core.shapes import UNKNOWN, Shape, is_known, merge, show
from .adjoint import linear
from .common import Sized, as_array, part_of, widen
from .composing import known, narrowly, of_floats, widely
from .linalg import Decomposed, DecompositionBackward, Square, flip, positive_definite
from .linear import want_at_least


def triangle(a: np.ndarray, lower: bool) -> np.ndarray:
    """One triangle of matrices, diagonal included, with zeros elsewhere."""
    return np.tril(a) if lower else np.triu(a)


def facing_up(rows: np.ndarray) -> np.ndarray:
    """Vectors of length 1, along the last axis, turned round where their largest element is negative.

    Of elements that are as large but for rounding the first decides, so that another implementation finds the same."""
    sizes = np.abs(rows)
    nearly = (1 - 64 * np.finfo(rows.dtype).eps) * sizes.max(-1, keepdims=True, initial=0)
    first = (sizes >= nearly).argmax(-1)[..., None] if rows.shape[-1] else np.zeros((*rows.shape[:-1], 0), np.intp)
    return np.where(np.take_along_axis(rows, first, -1) < 0, -rows, rows)


def places(size: int, offset: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the triangle that an offset and ``lower`` mean, in the order of its packed elements.

    Above the diagonal ``offset`` when that is positive, below when it is negative, else as ``lower`` says. A lower triangle
    is packed by rows, an upper one by columns."""
    if offset < 0 or (offset == 0 and lower):
        return np.tril_indices(size, offset)
    columns, rows = np.tril_indices(size, -offset)
    return rows, columns


class Triangle(Square):
    """Has to do with a triangle of matrices; see ``places``."""

    exception = "packs triangles in an order of its own"

    refuses = WHOLE

    offset: int = 0
    lower: bool = True


@linear()
@op("_linalg_extracttrian", "linalg_extracttrian")
class ExtractTriangle(Triangle):
    """A triangle of every matrix, packed: a lower one by rows, an upper one by columns; offset as for diagonals.

    Shapes: (..., N, N) -> (..., K (K + 1) / 2) with K = N - |offset|."""

    def infer_shape(self, a):
        size = self.side(a) - abs(self.offset)
        if size is not UNKNOWN and size <= 0:
            raise self.error(f"got A of shape {show(a)} and offset {self.offset}, wanted an offset within")
        return (*a[:-2], size * (size + 1) // 2)

    def compute(self, a):
        return a[(..., *places(a.shape[-1], self.offset, self.lower))].copy()

    def adjoint(self, of, dy, a):
        out = np.zeros_like(dy, order="C", shape=a.shape)
        out[(..., *places(a.shape[-1], self.offset, self.lower))] = dy
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 3))
        yield make(make.uniform(2, 3, 3), lower=False)
        yield make(make.uniform(3, 3), offset=1)


@linear()
@op("_linalg_maketrian", "linalg_maketrian")
class MakeTriangle(Op):
    """Triangular matrices of packed elements: the inverse of ``_linalg_extracttrian``.

    Shapes: (..., K (K + 1) / 2) -> (..., N, N) with N = K + |offset|."""

    exception = "packs triangles in an order of its own"

    refuses = WHOLE

    offset: int = 0
    lower: bool = True

    inputs = ("A",)

    def infer_shape(self, a):
        want_at_least(self, a, 1)
        if not is_known(a[-1:]):
            return (*a[:-1], a[-1], a[-1])
        size = (math.isqrt(8 * a[-1] + 1) - 1) // 2
        if size * (size + 1) // 2 != a[-1]:
            raise self.error(f"got A of shape {show(a)}, wanted K (K + 1) / 2 elements along the last axis")
        return (*a[:-1], size + abs(self.offset), size + abs(self.offset))

    def compute(self, a):
        shape = self.infer_shape(a.shape)
        out = np.zeros(shape, a.dtype)
        out[(..., *places(shape[-1], self.offset, self.lower))] = a
        return out

    def adjoint(self, of, dy, a):
        return dy[(..., *places(dy.shape[-1], self.offset, self.lower))]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 6))
        yield make(make.uniform(2, 6), lower=False)
        yield make(make.uniform(3), offset=-1)


@linear()
@op("_backward_triangle")
class KeepTriangle(Square):
    """A triangle of matrices, diagonal included, with zeros elsewhere. Shapes: (..., N, N) -> as A."""

    lower: bool = True

    def infer_shape(self, a):
        self.side(a)
        return a

    def compute(self, a):
        return triangle(a, self.lower)

    def adjoint(self, of, dy, a):
        return triangle(dy, self.lower)


class Triangular(Op):
    """A product of B with T, a triangle of A: from the left, or with rightside from the right."""

    refuses = WHOLE

    transpose: bool = False
    rightside: bool = False
    lower: bool = True
    alpha: float = 1.0

    inputs = ("A", "B")
    tolerance = 256.0

    def infer_input_shapes(self, shapes, outputs):
        a, b = shapes[0], merge(shapes[1], outputs[0])
        if b is not None and len(b) > 1 and (a is None or len(a) == len(b)):  # infer_shape says what else is wrong
            a = merge(a, (*b[:-2], *(b[-1:] if self.rightside else b[-2:-1]) * 2))
        return [a, b]

    def infer_shape(self, a, b):
        want_at_least(self, a, 2)
        want_at_least(self, b, 2)
        if len(a) != len(b):
            raise self.error(f"got A of shape {show(a)} and B of shape {show(b)}, wanted as many dimensions")
        merge(a[-2:-1], a[-1:])
        merge(a[-1:], b[-1:] if self.rightside else b[-2:-1])
        return (*(merge(a[:-2], b[:-2]) or ()), *b[-2:])

    def compute(self, a, b):
        t = triangle(widen(a), self.lower)
        product = self.product(flip(t) if self.transpose else t, widen(b))
        return (self.alpha * product).astype(b.dtype, copy=False)

    def product(self, t: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The product that alpha multiplies."""
        raise NotImplementedError

    def backwards(self, F, dy, a, alpha):
        """The same product with dy for B and T transposed, which is the gradient of B."""
        name, attrs = self.name, {"rightside": self.rightside, "lower": self.lower, "alpha": alpha}
        return getattr(F, name)(a, dy, transpose=not self.transpose, **attrs)

    def outer(self, F, x, y, alpha):
        """The gradient of A: of x y^T where T is not transposed, kept to its triangle.

        x and y: what T leads to and what it is applied to, as columns when T is on the left, as rows on the right."""
        first, second = (y, x) if self.transpose is not self.rightside else (x, y)
        flags = {"transpose_a": self.rightside, "transpose_b": not self.rightside}
        return F._backward_triangle(F._linalg_gemm2(first, second, alpha=alpha, **flags), lower=self.lower)

    @classmethod
    def examples(cls, make):
        a = positive_definite(make, 2, 3, 3)
        yield make(a, make.uniform(2, 3, 4), alpha=1.5)
        yield make(a, make.uniform(2, 4, 3), rightside=True, transpose=True, lower=False)


@op("_linalg_trmm", "linalg_trmm")
class Trmm(Triangular):
    """alpha T B or alpha T^T B, with rightside alpha B T or alpha B T^T; T is the lower triangle of A, or the upper one.

    Shapes: A (..., N, N), B (..., N, M), with rightside (..., M, N) -> as B."""

    def composition(self, F, a, b):
        if not known(a, b) or not of_floats(b):
            return None
        x, y = widely(F, b.dtype, a, b)
        flip = {"dim1": -1, "dim2": -2}
        t = F._npi_tril(x) if self.lower else F.SwapAxis(F._npi_tril(F.SwapAxis(x, **flip)), **flip)
        pair, flag = ((y, t), "transpose_b") if self.rightside else ((t, y), "transpose_a")
        return narrowly(F, b.dtype, F._linalg_gemm2(*pair, alpha=self.alpha, **{flag: self.transpose}))

    def product(self, t, b):
        return b @ t if self.rightside else t @ b

    def gradient(self, F, dy, a, b, y):
        return self.outer(F, dy, b, self.alpha), self.backwards(F, dy, a, self.alpha)


@op("_linalg_trsm", "linalg_trsm")
class Trsm(Triangular):
    """The solution X of T X = alpha B or T^T X = alpha B, with rightside of X T = alpha B or X T^T = alpha B.

    T is the lower triangle of A, or the upper one. Shapes: A (..., N, N), B (..., N, M), with rightside (..., M, N) -> as B."""

    primitive = True

    def product(self, t, b):
        try:
            return flip(np.linalg.solve(flip(t), flip(b))) if self.rightside else np.linalg.solve(t, b)
        except np.linalg.LinAlgError as error:
            raise self.error(f"got a triangle with a zero on its diagonal ({error})") from None

    def gradient(self, F, dy, a, b, y):
        db = self.backwards(F, dy, a, self.alpha)
        return self.outer(F, self.backwards(F, dy, a, 1.0), y, -1.0), db


@op("_linalg_potri", "linalg_potri")
class Potri(Decomposed):
    """The inverse of L L^T, where L is the lower triangle of A, or of U^T U, where U is the upper one. Shapes: (..., N, N) -> as A.

    MXNet's documentation leaves lower out."""

    lower: bool = True

    def composition(self, F, a):
        if not known(a):
            return None
        (x,) = widely(F, a.dtype, a)
        factor = F._npi_tril(x if self.lower else F.SwapAxis(x, dim1=-1, dim2=-2))
        return narrowly(F, a.dtype, F._linalg_inverse(F._linalg_gemm2(factor, factor, transpose_b=True)))

    def infer_input_shapes(self, shapes, outputs):
        return [outputs[0]]

    def decompose(self, a):
        inverse = np.linalg.inv(np.tril(a if self.lower else flip(a)))
        return flip(inverse) @ inverse

    def gradient(self, F, dy, a, y):
        both = F._linalg_gemm2(y, dy + F.SwapAxis(dy, dim1=-1, dim2=-2))
        factor = a if self.lower else F.SwapAxis(a, dim1=-1, dim2=-2)
        found = F._backward_triangle(F._linalg_trsm(factor, both, rightside=True, transpose=True, alpha=-1.0))
        return found if self.lower else F.SwapAxis(found, dim1=-1, dim2=-2)


class Decompositions(Square):
    """Gives several arrays, by LAPACK in float32 or wider."""

    refuses = WHOLE

    tolerance = Decomposed.tolerance

    def decompose(self, a: np.ndarray) -> tuple[np.ndarray, ...]:
        """The outputs."""
        raise NotImplementedError

    def compute(self, a):
        try:
            return tuple(as_array(y).astype(a.dtype, copy=False) for y in self.decompose(widen(a)))
        except np.linalg.LinAlgError as error:
            raise self.error(f"got a matrix that has none ({error})") from None


@op("_linalg_slogdet", "linalg_slogdet", "_npi_slogdet")
class SlogDet(Sized, Decompositions):
    """The sign of the determinant, and the logarithm of its absolute value: 0 and -inf for singular matrices.

    Shapes: (..., N, N) -> (...) both; a single matrix gives (1,), bound with np_shape on (). MXNet's hidden outputs are left
    out."""

    primitive = True

    def output_names(self):
        return ("output0", "output1")

    def infer_shape(self, a):
        self.side(a)
        return [self.left(a)] * 2

    def left(self, a: tuple) -> tuple:
        """The shape of a number for each matrix."""
        return a[:-2] or (() if self.zero_is_size else (1,))

    def decompose(self, a):
        return tuple(np.reshape(y, self.left(a.shape)) for y in np.linalg.slogdet(a))

    def gradient(self, F, dy, a, sign, logarithm):
        # as that of a determinant of 1, or of 0 for singular matrices
        return F._backward__linalg_det(dy[1], a, F.abs(sign))

    @classmethod
    def examples(cls, make):
        yield make(positive_definite(make, 2, 3, 3))


@op("_linalg_syevd")
class Syevd(Decompositions):
    """Eigenvectors U, as rows, and ascending eigenvalues L of symmetric matrices: A = U^T diag(L) U.

    Only the lower triangle of A is read; the largest element of every eigenvector is positive.
    Shapes: (..., N, N) -> as A, (..., N)."""

    primitive = True

    def output_names(self):
        return ("output0", "output1")

    def infer_shape(self, a):
        self.side(a)
        return [a, a[:-1]]

    def decompose(self, a):
        values, vectors = np.linalg.eigh(a)
        return facing_up(flip(vectors)), values

    def gradient(self, F, dy, a, u, values):
        return F._backward__linalg_syevd(*dy, u, values)

    @classmethod
    def examples(cls, make):
        yield make(positive_definite(make, 2, 3, 3))


@op("_backward__linalg_syevd")
@part_of("_linalg_syevd", dU=0, dL=1, U=0, L=1)
class SyevdBackward(DecompositionBackward):
    """The gradient of A, symmetric. Shapes: dU, dL, U (..., N, N), L (..., N) -> as U.

    Source: Giles 2008, collected matrix derivative results, 3.1. Eigenvalues that are (nearly) equal have eigenvectors that
    do not depend on A continuously; there the difference counts as at least 1e-6 of the magnitude of the eigenvalues."""

    inputs = ("dU", "dL", "U", "L")

    def infer_shape(self, du, dl, u, values):
        return u

    def back(self, du, dl, u, values):
        apart = values[..., None, :] - values[..., :, None]
        least = 1e-6 * np.abs(values).max(-1, initial=0, keepdims=True)[..., None]
        apart = np.where(np.abs(apart) < least, np.where(apart < 0, -least, least), apart)
        turned = u @ flip(du) / np.where(apart == 0, 1, apart)
        middle = np.where(np.eye(u.shape[-1], dtype=bool), dl[..., None], (turned + flip(turned)) / 2)
        return flip(u) @ middle @ u


@op("_linalg_gelqf", "linalg_gelqf")
class Gelqf(Decompositions):
    """Orthonormal rows Q and lower triangular L with A = L Q. Shapes: (..., M, N), M <= N -> as A, (..., M, M)."""

    primitive = True

    inputs = ("A",)

    def output_names(self):
        return ("output0", "output1")

    def infer_input_shapes(self, shapes, outputs):
        return [outputs[0]]

    def infer_shape(self, a):
        want_at_least(self, a, 2)
        if is_known(a[-2:]) and a[-2] > a[-1]:
            raise self.error(f"got A of shape {show(a)}, wanted at most as many rows as columns")
        return [a, (*a[:-1], a[-2])]

    def decompose(self, a):
        q, r = np.linalg.qr(flip(a))
        return flip(q), flip(r)

    def gradient(self, F, dy, a, q, lower):
        return F._backward__linalg_gelqf(*dy, q, lower)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))


@op("_backward__linalg_gelqf")
@part_of("_linalg_gelqf", dQ=0, dL=1, Q=0, L=1)
class GelqfBackward(DecompositionBackward):
    """The gradient of A. Shapes: dQ, Q (..., M, N), dL, L (..., M, M) -> as Q.

    Source: Seeger et al. 2017, arXiv:1710.08717, section 4."""

    inputs = ("dQ", "dL", "Q", "L")

    def infer_shape(self, dq, dl, q, lower) -> Shape:
        return q

    def back(self, dq, dl, q, lower):
        inner = flip(lower) @ dl - dq @ flip(q)
        symmetric = np.tril(inner) + flip(np.tril(inner, -1))
        return np.linalg.solve(flip(lower), dq + symmetric @ q)
