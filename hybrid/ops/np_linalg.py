"""numpy.linalg as MXNet's np networks have it: equations, decompositions, pseudo-inverses.

What MXNet computes in float32 or float64 is computed there; whole numbers count as float64, float16 as float32, rounded once.
MXNet says of eigenvalues and pseudo-inverses that their gradient is 0, which is not so; here they have theirs.
"""

import math
from typing import Any, Literal

import numpy as np

from ..core.attrs import Shape
from ..core.op import Op, op
from ..core.shapes import is_known, merge, show
from .common import as_array, axis_of, forward_of, part_of, spread, widen
from .linalg import Decomposed, DecompositionBackward, Potrf, Square, positive_definite
from .linalg_decompositions import facing_up, flip
from .linear import want_at_least

FLOAT64 = np.dtype("float64")


def real(dtype: np.dtype) -> np.dtype:
    """The dtype of results: floats stay what they are, whole numbers become float64."""
    return dtype if dtype.kind == "f" else FLOAT64


class Solved(Op):
    """Base: results are those of ``run_lapack``, which gets its inputs in float32 or float64."""

    exception = "LAPACK's, of other forms than the primitives have"

    tolerance = Decomposed.tolerance

    def infer_type(self, *dtypes):
        names = self.output_names()
        return real(dtypes[0]) if len(names) == 1 else [real(dtypes[0])] * len(names)

    def run_lapack(self, *arrays: np.ndarray) -> Any:
        """The output, or a tuple of all."""
        raise NotImplementedError

    def compute(self, *arrays):
        dtype = real(arrays[0].dtype)
        try:
            found = self.run_lapack(*(widen(a.astype(real(a.dtype), copy=False)) for a in arrays))
        except np.linalg.LinAlgError as error:
            raise self.error(f"got a matrix that has no answer ({error})") from None
        if isinstance(found, tuple):
            return tuple(as_array(y).astype(dtype, copy=False) for y in found)
        return as_array(found).astype(dtype, copy=False)


class SolvedSquare(Solved, Square):
    """Base for matrices (..., N, N)."""

    @classmethod
    def examples(cls, make):
        yield make(positive_definite(make, 2, 3, 3))


@op("_npi_cholesky")
class Cholesky(Potrf):
    """The lower triangular L with A = L L^T, or the upper one U with A = U^T U; only that triangle of A is read.

    Shapes: (..., N, N) -> as A."""

    def composition(self, F, a):
        return F._linalg_potrf(a, lower=self.lower)


# -- equations -----------------------------------------------------------------------------------------------------------


def columns(b: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The right side of A X = B as matrices, where it may be vectors."""
    return b[..., None] if b.ndim < a.ndim else b


class Equations(Solved):
    """Base for both sides of a linear equation, which may be of two dtypes: whole numbers beside floats, or floats of both widths.

    They are solved, and the solution is, in float64, but where all that is given is of one narrower float. Dtypes do not follow
    from one another."""

    def infer_input_types(self, dtypes, outputs):
        known = {d for d in dtypes if d is not None}
        if len(known) > 1 and any(d.itemsize == 2 and d.kind not in "iu" for d in known):  # of 16 bits only both
            return super().infer_input_types(dtypes, outputs)
        return dtypes

    def infer_type(self, *dtypes):
        return super().infer_type(max(map(real, dtypes), key=lambda d: d.itemsize))

    def compute(self, *arrays):
        dtype = max((real(a.dtype) for a in arrays), key=lambda d: d.itemsize)
        return super().compute(*(a.astype(dtype, copy=False) for a in arrays))


@op("_npi_solve")
class Solve(Equations, Square):
    """The solution X of A X = B. Shapes: A (..., N, N), B (..., N) with one axis less, or (..., N, M) -> as B."""

    inputs = ("A", "B")

    def infer_shape(self, a, b):
        side = self.side(a)
        if len(b) not in (len(a) - 1, len(a)):
            raise self.error(
                f"got A of shape {show(a)} and B of shape {show(b)}, wanted as many dimensions or one less"
            )
        vectors = len(b) < len(a)
        merge((side,), b[-1:] if vectors else b[-2:-1])
        lead = merge(a[:-2], b[: len(a) - 2]) or ()
        return (*lead, side) if vectors else (*lead, side, b[-1])

    def run_lapack(self, a, b):
        return np.linalg.solve(a, columns(b, a)).reshape(b.shape)

    def gradient(self, F, dy, a, b, x):
        matrix = F._backward_cast_like(a, x)
        db = F._npi_solve(F.SwapAxis(matrix, dim1=-1, dim2=-2), dy)
        return F._backward_cast_like(F._backward__npi_solve(db, x, matrix), a), F._backward_cast_like(db, b)

    @classmethod
    def examples(cls, make):
        a = positive_definite(make, 2, 3, 3)
        yield make(a, make.uniform(2, 3, 4))
        yield make(a, make.uniform(2, 3))


@op("_backward__npi_solve")
@part_of("_npi_solve", dB=0, X=0)
class SolveBackward(Op):
    """The gradient of A. Shapes: dB, X as B of _npi_solve, A (..., N, N) -> as A."""

    inputs = ("dB", "X", "A")

    def infer_shape(self, db, x, a):
        forward_of(self, "_npi_solve").infer_shape(a, merge(db, x))
        return a

    def compute(self, db, x, a):
        outer = -columns(widen(db), a) @ flip(columns(widen(x), a))
        return outer.astype(a.dtype, copy=False)


@op("_npi_tensorinv")
class TensorInverse(Solved):
    """The inverse of a as a linear map from its last axes to its first ``ind``. Shapes: a -> a[ind:] + a[:ind] of its dims."""

    ind: int = 2

    inputs = ("a",)

    def check(self):
        return None if self.ind > 0 else f"got ind={self.ind}, wanted at least 1"

    def infer_shape(self, a):
        front, back = a[: self.ind], a[self.ind :]
        if is_known(a) and math.prod(front) != math.prod(back):
            raise self.error(f"got a of shape {show(a)}, wanted as many numbers in {show(front)} as in {show(back)}")
        return (*back, *front)

    def run_lapack(self, a):
        size = math.prod(a.shape[: self.ind])
        return np.linalg.inv(a.reshape(size, size)).reshape(self.infer_shape(a.shape))

    def gradient(self, F, dy, a, y):
        return F._backward_cast_like(F._backward__npi_tensorinv(dy, F._backward_cast_like(a, y), y, ind=self.ind), a)

    @classmethod
    def examples(cls, make):
        yield make(positive_definite(make, 6, 6).reshape(2, 3, 6))
        yield make(positive_definite(make, 6, 6).reshape(6, 3, 2), ind=1)


@op("_backward__npi_tensorinv")
@part_of("_npi_tensorinv")
class TensorInverseBackward(DecompositionBackward):
    """The gradient of a. Shapes: dy, y as the inverse, a -> as a."""

    ind: int = 2

    inputs = ("dy", "a", "y")

    def back(self, dy, a, y):
        size = math.prod(a.shape[: self.ind])
        inverse = flip(y.reshape(size, size))
        return (-inverse @ dy.reshape(size, size) @ inverse).reshape(a.shape)


@op("_npi_tensorsolve")
class TensorSolve(Equations):
    """The x with tensordot(a, x, x.ndim) = b, after the axes a_axes of a have been moved to its end, in that order.

    Shapes: a (b's dims, x's dims once moved), b -> x."""

    a_axes: Shape = ()

    inputs = ("a", "b")

    def order(self, rank: int) -> list[int]:
        """The axes of a as they are once moved."""
        moved = [axis_of(self, i, rank) for i in self.a_axes]
        return [i for i in range(rank) if i not in moved] + moved

    def infer_shape(self, a, b):
        turned = [a[i] for i in self.order(len(a))]
        # where b has as many axes or more all sizes are 1; which of them x has is said as NumPy's slices say it
        first = len(b) if len(b) < len(a) else min(len(b) - len(a), len(a))
        x = tuple(turned[first:])
        if is_known(a) and is_known(b) and not math.prod(x) == math.prod(b) == math.prod(turned[: len(a) - len(x)]):
            raise self.error(f"got a of shape {show(a)} and b of shape {show(b)}, which make no square system")
        return x

    def run_lapack(self, a, b):
        matrix = a.transpose(self.order(a.ndim)).reshape(b.size, b.size)
        return np.linalg.solve(matrix, b.reshape(-1)).reshape(self.infer_shape(a.shape, b.shape))

    def gradient(self, F, dy, a, b, x):
        inputs = (a, b)
        found = F._backward__npi_tensorsolve(dy, *(F._backward_cast_like(i, x) for i in inputs), x, a_axes=self.a_axes)
        return tuple(F._backward_cast_like(g, i) for g, i in zip(found, inputs))

    @classmethod
    def examples(cls, make):
        a = positive_definite(make, 6, 6)
        yield make(a.reshape(2, 3, 6), make.uniform(2, 3))
        yield make(a.reshape(6, 2, 3), make.uniform(2, 3), a_axes=(0,))


@op("_backward__npi_tensorsolve")
@part_of("_npi_tensorsolve", dy=0, x=0)
class TensorSolveBackward(TensorSolve):
    """The gradients of a and b. Shapes: dy, x as the solution, a, b -> as a, as b."""

    inputs = ("dy", "a", "b", "x")

    def output_names(self):
        return ("output0", "output1")

    def infer_shape(self, dy, a, b, x):
        return [a, b]

    def gradient(self, F, dy, *arrays):
        return Op.gradient(self, F, dy, *arrays)  # none: differentiable once

    def run_lapack(self, dy, a, b, x):
        order = self.order(a.ndim)
        turned = a.transpose(order)
        db = np.linalg.solve(turned.reshape(b.size, b.size).T, dy.reshape(-1))
        da = -np.outer(db, x.reshape(-1)).reshape(turned.shape)
        return da.transpose(np.argsort(order)), db.reshape(b.shape)


# -- eigenvalues ---------------------------------------------------------------------------------------------------------


class ValuesAndVectors(Square):
    """Base of operators that give eigenvalues (..., N) and eigenvectors (..., N, N)."""

    def output_names(self):
        return ("output0", "output1")

    def infer_shape(self, a):
        self.side(a)
        return [a[:-1], a]


@op("_npi_eigh")
class Eigh(ValuesAndVectors, SolvedSquare):
    """Ascending eigenvalues w and eigenvectors V, as columns, of symmetric matrices: A = V diag(w) V^T.

    Only the triangle UPLO of A is read; the largest element of every eigenvector is positive, as in MXNet (LAPACK leaves the
    sign open). Shapes: (..., N, N) -> (..., N), as A."""

    UPLO: Literal["L", "U"] = "L"

    def run_lapack(self, a):
        values, vectors = np.linalg.eigh(a, self.UPLO)
        return values, flip(facing_up(flip(vectors)))

    def gradient(self, F, dy, a, values, vectors):
        turn = {"dim1": -1, "dim2": -2}
        found = F._backward__linalg_syevd(F.SwapAxis(dy[1], **turn), dy[0], F.SwapAxis(vectors, **turn), values)
        return F._backward_cast_like(found, a)

    @classmethod
    def examples(cls, make):
        yield make(positive_definite(make, 2, 3, 3))
        yield make(positive_definite(make, 3, 3), UPLO="U")


@op("_npi_eigvalsh")
class EigenvaluesSymmetric(SolvedSquare):
    """Ascending eigenvalues of symmetric matrices, of which the triangle UPLO is read. Shapes: (..., N, N) -> (..., N)."""

    UPLO: Literal["L", "U"] = "L"

    def infer_input_shapes(self, shapes, outputs):
        return [None if outputs[0] is None else (*outputs[0], *outputs[0][-1:])]

    def infer_shape(self, a):
        self.side(a)
        return a[:-1]

    def run_lapack(self, a):
        return np.linalg.eigvalsh(a, self.UPLO)

    def gradient(self, F, dy, a, values):
        found = F._backward__npi_eigvalsh(dy, F._backward_cast_like(a, values), UPLO=self.UPLO)
        return F._backward_cast_like(found, a)


@op("_backward__npi_eigvalsh")
@part_of("_npi_eigvalsh", dw=0)
class EigenvaluesSymmetricBackward(DecompositionBackward):
    """The gradient of A, symmetric. Shapes: dw (..., N), A (..., N, N) -> as A."""

    UPLO: Literal["L", "U"] = "L"

    inputs = ("dw", "A")

    def back(self, dy, a):
        vectors = np.linalg.eigh(a, self.UPLO)[1]
        return (vectors * dy[..., None, :]) @ flip(vectors)


class General(SolvedSquare):
    """Base for eigenvalues of general matrices, which have to be real."""

    def real_parts(self, values: Any, *others: Any) -> tuple[np.ndarray, ...]:
        """All as real numbers. Raises OpError when an eigenvalue is complex."""
        if np.any(values.imag != 0):
            raise self.error("got a matrix with complex eigenvalues, which no dtype of MXNet holds; wanted real ones")
        return tuple(y.real for y in (values, *others))

    @classmethod
    def examples(cls, make):
        # similar to a diagonal matrix: its eigenvalues are real and apart
        basis = make.uniform(2, 3, 3) + 2 * np.eye(3, dtype=np.float32)
        yield make((basis * np.array([1, 2, 4], np.float32)) @ np.linalg.inv(basis))


@op("_npi_eigvals")
class Eigenvalues(General):
    """The eigenvalues of general matrices, in the order in which LAPACK finds them. Shapes: (..., N, N) -> (..., N)."""

    def infer_input_shapes(self, shapes, outputs):
        return [None if outputs[0] is None else (*outputs[0], *outputs[0][-1:])]

    def infer_shape(self, a):
        self.side(a)
        return a[:-1]

    def run_lapack(self, a):
        return self.real_parts(np.linalg.eigvals(a))[0]

    def gradient(self, F, dy, a, values):
        w, v = F._npi_eig(a)
        return F._backward_cast_like(F._backward__npi_eig(dy, F.zeros_like(v), w, v), a)


@op("_npi_eig")
class Eig(ValuesAndVectors, General):
    """Eigenvalues w of general matrices, in the order in which LAPACK finds them, and eigenvectors V of length 1, as columns.

    A V = V diag(w); the sign of each eigenvector is LAPACK's. Shapes: (..., N, N) -> (..., N), as A."""

    primitive = True

    def run_lapack(self, a):
        return self.real_parts(*np.linalg.eig(a))

    def gradient(self, F, dy, a, values, vectors):
        return F._backward_cast_like(F._backward__npi_eig(*dy, values, vectors), a)


@op("_backward__npi_eig")
@part_of("_npi_eig", dw=0, dV=1, w=0, V=1)
class EigBackward(DecompositionBackward):
    """The gradient of A. Shapes: dw (..., N), dV (..., N, N), w, V as these -> as V.

    Source: Giles 2008, collected matrix derivative results, 3.1, with the length of eigenvectors kept."""

    inputs = ("dw", "dV", "w", "V")

    def infer_shape(self, dw, dv, w, v):
        return v

    def back(self, dw, dv, w, v):
        inner = flip(v) @ dv
        lengths = np.diagonal(inner, 0, -2, -1)[..., None, :]
        turned = inner - (flip(v) @ v) * lengths
        apart = w[..., None, :] - w[..., :, None]
        middle = np.where(np.eye(v.shape[-1], dtype=bool), dw[..., None], turned / np.where(apart == 0, np.inf, apart))
        return np.linalg.solve(flip(v), middle @ flip(v))


# -- singular values -----------------------------------------------------------------------------------------------------


@op("_npi_svd")
class Svd(Solved):
    """A = U diag(L) V with orthonormal columns of U and rows of V, and descending L of at least 0.

    The largest element of every row of V is positive, as in MXNet (LAPACK leaves the sign open).
    Shapes: (..., M, N), M <= N -> (..., M, M), (..., M), as A."""

    primitive = True

    inputs = ("A",)

    def output_names(self):
        return ("output0", "output1", "output2")

    def infer_input_shapes(self, shapes, outputs):
        return [outputs[2]]

    def infer_shape(self, a):
        want_at_least(self, a, 2)
        if is_known(a[-2:]) and a[-2] > a[-1]:
            raise self.error(f"got A of shape {show(a)}, wanted at most as many rows as columns")
        return [(*a[:-1], a[-2]), a[:-1], a]

    def run_lapack(self, a):
        u, values, v = np.linalg.svd(a, full_matrices=False)
        up = facing_up(v)
        # where that turned a row of V the column of U turns with it
        return np.where((up != v).any(-1)[..., None, :], -u, u), values, up

    def gradient(self, F, dy, a, u, values, v):
        return F._backward_cast_like(F._backward__npi_svd(*dy, u, values, v), a)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))
        yield make(make.uniform(3, 3))


@op("_backward__npi_svd")
@part_of("_npi_svd", dU=0, dL=1, dV=2, U=0, L=1, V=2)
class SvdBackward(DecompositionBackward):
    """The gradient of A. Shapes: dU, U (..., M, M), dL, L (..., M), dV, V (..., M, N) -> as V.

    Source: Townsend 2016, Differentiating the singular value decomposition."""

    inputs = ("dU", "dL", "dV", "U", "L", "V")

    def infer_shape(self, du, dl, dv, u, values, v):
        return v

    def back(self, du, dl, dv, u, values, v):
        squares = np.square(values)
        apart = squares[..., None, :] - squares[..., :, None]
        weights = 1 / np.where(apart == 0, np.inf, apart)  # equal ones have no vectors of their own
        left = weights * (flip(u) @ du - flip(du) @ u) * values[..., None, :]
        turned = v @ flip(dv)
        right = values[..., :, None] * weights * (turned - flip(turned))
        middle = left + right + np.where(np.eye(u.shape[-1], dtype=bool), dl[..., None], 0)
        outside = (dv - (dv @ flip(v)) @ v) / values[..., None]
        return u @ (middle @ v + outside)


class PseudoInverse(Solved):
    """Base of the pseudo-inverses; MXNet makes no use of hermitian, which is for speed. Shapes: A (..., M, N) -> (..., N, M)."""

    def infer_input_shapes(self, shapes, outputs):
        turned = outputs[0]
        return [None if turned is None else (*turned[:-2], *turned[:-3:-1]), *shapes[1:]]

    def infer_shape(self, a, *rcond):
        want_at_least(self, a, 2)
        return (*a[:-2], a[-1], a[-2])

    def gradient(self, F, dy, a, *rcond_and_y):
        y = rcond_and_y[-1]
        made = F._backward_cast_like(F._backward__npi_pinv(dy, F._backward_cast_like(a, y), y), a)
        return made if len(rcond_and_y) == 1 else (made, None)


@op("_npi_pinv")
class Pinv(PseudoInverse):
    """The pseudo-inverse, taking singular values of at most rcond times the largest one for 0.

    Shapes: A (..., M, N), rcond any that broadcasts to (...) -> (..., N, M)."""

    hermitian: bool = False

    inputs = ("A", "rcond")

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_shape(self, a, rcond):
        if len(rcond) > len(a) - 2:
            raise self.error(f"got rcond of shape {show(rcond)} for A of shape {show(a)}, wanted one for each matrix")
        spread(self, rcond, a[:-2])
        return super().infer_shape(a)

    def run_lapack(self, a, rcond):
        return np.linalg.pinv(a, rcond)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.array(1e-6))
        yield make(make.uniform(2, 4, 3), make.array([1e-6, 1e-3]))


@op("_npi_pinv_scalar_rcond")
class PinvScalar(PseudoInverse):
    """The pseudo-inverse, taking singular values of at most rcond times the largest one for 0.

    Shapes: (..., M, N) -> (..., N, M)."""

    rcond: float = 1e-15
    hermitian: bool = False

    inputs = ("A",)

    def run_lapack(self, a):
        return np.linalg.pinv(a, self.rcond)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))
        yield make(make.uniform(4, 3), rcond=0.01)


@op("_backward__npi_pinv")
@part_of("_npi_pinv_scalar_rcond")
class PinvBackward(DecompositionBackward):
    """The gradient of A. Shapes: dy, y (..., N, M), A (..., M, N) -> as A.

    Source: Noferini 2017, A formula for the Frechet derivative of a generalized matrix function; that of 1 / x for the singular
    values that y was made of, and of 0 for those that rcond cuts."""

    inputs = ("dy", "A", "y")

    def back(self, dy, a, y):
        u, values, v = np.linalg.svd(a, full_matrices=False)
        turned, rows = flip(dy), flip(v)
        kept = np.abs(np.einsum("...kn,...nm,...mk->...k", v, y, u)) * values > 0.5  # y has 1 / x there, else 0
        inverse = np.where(kept, 1 / np.where(kept, values, 1), 0)
        across = flip(u) @ turned @ rows
        one, other = values[..., :, None], values[..., None, :]
        both = inverse[..., :, None] * inverse[..., None, :]
        mixed = kept[..., :, None] != kept[..., None, :]
        gap = np.where(mixed, np.abs(np.square(one) - np.square(other)), 1)
        ratio = np.minimum(one, other) / np.where(mixed, np.maximum(one, other), 1)
        middle = np.where(mixed, (across + flip(across) * ratio) / gap, -flip(across) * both)
        squares = np.square(inverse)
        beside = (turned - u @ (flip(u) @ turned)) @ (rows * squares[..., None, :]) @ v
        below = (u * squares[..., None, :]) @ flip(u) @ (turned - (turned @ rows) @ v)
        return u @ middle @ v + beside + below
