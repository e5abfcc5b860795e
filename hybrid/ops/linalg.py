"""Linear algebra: sums over named axes (einsum, tensordot), diagonals, and decompositions of square matrices."""

import math
import string
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ..core.attrs import Arity
from ..core.op import WHOLE, Op, op
from ..core.shapes import Shape, broadcast, is_known, merge, show
from .adjoint import linear
from .common import Sized, as_array, as_many, axis_of, part_of, same, want_rank_from, widen
from .composing import definite, known, narrowly, of_floats, placed_at, reshaped, widely
from .contracting import contracted, diagonal
from .linear import Products, contraction_adjoint, want_at_least


@linear()
@op("_npi_einsum")
class Einsum(Op):
    """numpy.einsum: the product of all inputs, summed over every subscript that the output lacks.

    Without ``->`` the output has the ellipsis, then the subscripts that occur once, in alphabetical order. Shapes: each input
    has a dim for each of its subscripts, dims of one subscript are equal or 1."""

    num_args: Arity
    subscripts: str = ""
    optimize: int = 0

    inputs = ("*data",)
    tolerance = Products.tolerance

    def terms(self) -> tuple[list[str], str]:
        """Subscripts of the inputs and of the output, always spelled out, with ``...`` for an ellipsis."""
        left, arrow, right = self.subscripts.replace(" ", "").partition("->")
        terms = left.split(",")
        if not arrow:
            letters = left.replace("...", "").replace(",", "")
            right = "..." * ("..." in left) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
        return terms, right

    def check(self):
        terms, right = self.terms()
        if len(terms) != self.num_args:
            return f"got subscripts {self.subscripts!r} for {self.num_args} inputs"
        for term in (*terms, right):
            letters = term.replace("...", "", 1)
            if not all(c.isascii() and c.isalpha() for c in letters):
                return f"got subscripts {self.subscripts!r}, wanted letters and at most one ... per input"
        lost = set(right.replace("...", "")) - set("".join(terms))
        if lost or len(set(right) - {"."}) < len(right.replace("...", "")):
            return f"got output subscripts {right!r}, wanted subscripts of the inputs, each once"
        if "..." not in right and any("..." in t for t in terms):
            return f"got subscripts {self.subscripts!r}, wanted the ellipsis in the output too"
        return None

    def infer_shape(self, *shapes):
        terms, right = self.terms()
        dims: dict[str, list[Shape]] = {}
        rest: list[Shape] = []
        for term, shape in zip(terms, shapes):
            head, dots, tail = term.partition("...")
            if len(shape) < len(head + tail) or (not dots and len(shape) != len(head)):
                raise self.error(f"got an array of shape {show(shape)} for the subscripts {term!r}")
            end = len(shape) - len(tail)
            rest.append(shape[len(head) : end])
            own = list(zip(head + tail, (*shape[: len(head)], *shape[end:])))
            for letter in set(head + tail):  # a diagonal is that of a square
                same(self, f"elements along axes {letter} of one array", *(dim for name, dim in own if name == letter))
            for letter, dim in own:
                dims.setdefault(letter, []).append((dim,))
        sizes = {letter: broadcast(*found) for letter, found in dims.items()}  # all of them, since they may not fit
        ahead, dots, behind = right.partition("...")
        middle = broadcast(*rest) if dots else ()
        return (*(sizes[c][0] for c in ahead), *middle, *(sizes[c][0] for c in behind))

    def compute(self, *arrays):
        terms, right = self.terms()
        y = np.einsum(",".join(terms) + "->" + right, *map(widen, arrays), optimize=len(arrays) > 1)
        y = np.asarray(y, arrays[0].dtype)
        return y if len(arrays) > 1 else y.copy()  # alone it may be a view

    def composition(self, F, *arrays):
        if not known(*arrays) or any(0 in definite(x.shape) for x in arrays):
            return None
        terms, right = self._spell_out([len(x.shape) for x in arrays])
        dtype = arrays[0].dtype
        wide = widely(F, dtype, *arrays)
        parts = [diagonal(F, x, term, given.shape) for x, term, given in zip(wide, terms, arrays)]
        return narrowly(F, dtype, contracted(F, parts, right))

    def adjoint(self, of, dy, *arrays):
        terms, right = self._spell_out([a.ndim for a in arrays])
        own, others = arrays[of], [*arrays[:of], *arrays[of + 1 :]]
        left = [right, *terms[:of], *terms[of + 1 :]]
        sizes: dict[str, int] = {}
        for term, array in zip(left, (dy, *others)):
            for letter, size in zip(term, array.shape):
                sizes[letter] = max(size, sizes.get(letter, 1)) if size else 0
        dims = dict(zip(terms[of], own.shape))
        # an axis of size 1 that others are wider along takes their sum; one that no other has gets the same everywhere
        kept = [c for c in dims if c in sizes and not dims[c] == 1 != sizes[c]]
        given = np.einsum(",".join(left) + "->" + "".join(kept), dy, *others, optimize=True)
        if not dims:
            return given  # of a scalar np.einsum makes no view
        where = dict(zip(kept, given.shape))
        out = np.zeros(own.shape, given.dtype)
        diagonal = np.einsum(terms[of] + "->" + "".join(dims), out)  # a view
        diagonal[...] = given.reshape([where.get(c, 1) for c in dims])
        return out

    def _spell_out(self, ranks: list[int]) -> tuple[list[str], str]:
        """Subscripts of the inputs and of the output with letters for the axes of the ellipsis."""
        terms, right = self.terms()
        free = [c for c in string.ascii_letters if c not in self.subscripts]
        counts = [rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks)]
        most = max((n for t, n in zip(terms, counts) if "..." in t), default=0)
        spelled = [t.replace("...", "".join(free[most - n : most])) for t, n in zip(terms, counts)]
        return spelled, right.replace("...", "".join(free[:most]))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(4, 5), num_args=2, subscripts="...i,ij->...j")
        yield make(make.uniform(3, 3), num_args=1, subscripts="ii->i")


class Tensordot(Products):
    """The sum of products over pairs of axes. Shapes: a's other dims, then b's."""

    left_open = ("pairs",)

    inputs = ("a", "b")

    def pairs(self, a_rank: int, b_rank: int) -> tuple[list[int], list[int]]:
        """The axes of a and of b that are summed over, paired in order."""
        raise NotImplementedError

    def infer_shape(self, a, b):
        left, right = self.pairs(len(a), len(b))
        merge(tuple(a[i] for i in left), tuple(b[j] for j in right))
        return (*(n for i, n in enumerate(a) if i not in left), *(n for j, n in enumerate(b) if j not in right))

    def product(self, a, b):
        return np.tensordot(a, b, self.pairs(a.ndim, b.ndim))

    def composition(self, F, a, b):
        if not known(a, b):
            return None
        left, right = definite(a.shape), definite(b.shape)
        one, two = self.pairs(len(left), len(right))
        free = [i for i in range(len(left)) if i not in one], [j for j in range(len(right)) if j not in two]
        inner = math.prod(left[i] for i in one)
        rows, columns = math.prod(left[i] for i in free[0]), math.prod(right[j] for j in free[1])
        x, y = widely(F, a.dtype, a, b)
        x = F._np_reshape(F.transpose(x, axes=(*free[0], *one)) if left else x, newshape=(rows, inner))
        y = F._np_reshape(F.transpose(y, axes=(*two, *free[1])) if right else y, newshape=(inner, columns))
        return F._np_reshape(narrowly(F, a.dtype, F.dot(x, y)), newshape=self.infer_shape(left, right))

    def adjoint(self, of, dy, a, b):
        return contraction_adjoint(of, dy, a, b, *self.pairs(a.ndim, b.ndim))


@linear()
@op("_npi_tensordot")
class TensordotAxes(Tensordot):
    """numpy.tensordot over the axes listed: a_axes_summed of a with b_axes_summed of b."""

    a_axes_summed: tuple[int, ...]
    b_axes_summed: tuple[int, ...]

    def check(self):
        if len(self.a_axes_summed) != len(self.b_axes_summed):
            return f"got axes {self.a_axes_summed} and {self.b_axes_summed}, wanted as many"
        return None

    def pairs(self, a_rank, b_rank):
        return [axis_of(self, i, a_rank) for i in self.a_axes_summed], [
            axis_of(self, j, b_rank) for j in self.b_axes_summed
        ]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(3, 2, 5), a_axes_summed=(1, 0), b_axes_summed=(0, 1))


@linear()
@op("_npi_tensordot_int_axes")
class TensordotCount(Tensordot):
    """numpy.tensordot over the last ``axes`` axes of a and the first of b."""

    meanings = {"axes": "Number of axes that are summed over: the last of a, the first of b."}

    axes: int

    def pairs(self, a_rank, b_rank):
        if not 0 <= self.axes <= min(a_rank, b_rank):
            raise self.error(f"got axes={self.axes} for {a_rank} and {b_rank} dimensions")
        return [*range(a_rank - self.axes, a_rank)], [*range(self.axes)]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(3, 4, 5), axes=2)


@op("_linalg_syrk", "linalg_syrk")
class Syrk(Products):
    """alpha A A^T, or with transpose alpha A^T A. Shapes: (..., M, N) -> (..., M, M) or (..., N, N)."""

    meanings = {"transpose": "A^T A; else A A^T."}

    transpose: bool = False
    alpha: float = 1.0

    inputs = ("A",)

    def infer_shape(self, a):
        want_at_least(self, a, 2)
        size = a[-1] if self.transpose else a[-2]
        return (*a[:-2], size, size)

    def composition(self, F, a):
        if not known(a) or not of_floats(a):
            return None
        (x,) = widely(F, a.dtype, a)
        flags = {"transpose_a": self.transpose, "transpose_b": not self.transpose}
        return narrowly(F, a.dtype, F._linalg_gemm2(x, x, alpha=self.alpha, **flags))

    def product(self, a):
        flipped = np.swapaxes(a, -1, -2)
        return self.alpha * (flipped @ a if self.transpose else a @ flipped)

    def gradient(self, F, dy, a, y):
        both = dy + F.SwapAxis(dy, dim1=-1, dim2=-2)
        pair = (a, both) if self.transpose else (both, a)
        return F._linalg_gemm2(*pair, alpha=self.alpha)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), transpose=True, alpha=2.0)


@op("_linalg_makediag", "linalg_makediag")
class MakeDiag(Op):
    """Matrices that hold A along a diagonal, offset above the main one. Shapes: (..., N) -> (..., N + |offset|, same)."""

    refuses = WHOLE

    offset: int = 0

    inputs = ("A",)

    def infer_shape(self, a):
        want_at_least(self, a, 1)
        size = a[-1] + abs(self.offset)
        return (*a[:-1], size, size)

    def composition(self, F, a):
        if a.shape is None:
            return None
        *front, size = definite(a.shape)
        rank, k = len(a.shape) + 1, self.offset
        padded = F._npi_pad(a, pad_width=(*((0, 0),) * len(front), (max(-k, 0), max(k, 0))))
        side = size + abs(k)
        lines = (F._arange(start=0, stop=side, dtype="int64") for _ in range(2))
        rows, columns = (placed_at(F, line, axis, rank) for line, axis in zip(lines, (rank - 2, rank - 1)))
        spread = F._npi_broadcast_to(F.expand_dims(padded, axis=rank - 1), shape=(*front, side, side))
        return F._npi_where(F.broadcast_equal(rows + k, columns), spread, F.zeros_like(spread))

    def compute(self, a):
        out = np.zeros(self.infer_shape(a.shape), a.dtype)
        places = np.arange(a.shape[-1])
        out[..., places + max(-self.offset, 0), places + max(self.offset, 0)] = a
        return out

    def gradient(self, F, dy, a, y):
        return F._linalg_extractdiag(dy, offset=self.offset)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), offset=1)


class Square(Op):
    """Works on square matrices A (..., N, N)."""

    inputs = ("A",)

    def side(self, a: Shape):
        """N. Raises OpError when the matrices are not square."""
        want_at_least(self, a, 2)
        if is_known(a[-2:]) and a[-2] != a[-1]:
            raise self.error(f"got A of shape {show(a)}, wanted square matrices")
        return merge(a[-2:-1], a[-1:])[0]


@op("_linalg_extractdiag", "linalg_extractdiag")
class ExtractDiag(Square):
    """A diagonal of every matrix, offset above the main one. Shapes: (..., N, N) -> (..., N - |offset|)."""

    refuses = WHOLE

    offset: int = 0

    def infer_shape(self, a):
        return (*a[:-2], self.side(a) - abs(self.offset))

    def composition(self, F, a):
        return F._np_diagonal(a, offset=self.offset, axis1=-2, axis2=-1)

    def compute(self, a):
        return np.diagonal(a, self.offset, -2, -1).copy()

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 3), offset=-1)


def flip(a: np.ndarray) -> np.ndarray:
    """Matrices transposed."""
    return np.swapaxes(a, -1, -2)


def positive_definite(make, *shape):
    """Symmetric matrices with positive eigenvalues, for examples."""
    a = make.uniform(*shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1], dtype=a.dtype)


T = TypeVar("T")


class Decomposed(Square):
    """Works on a decomposition, by LAPACK in float32 or wider."""

    refuses = WHOLE

    tolerance = 256.0  # errors grow with the condition of the matrix

    def infer_shape(self, a):
        self.side(a)
        return a

    def decompose(self, a):
        raise NotImplementedError

    def compute(self, a):
        return as_array(self.attempt(self.decompose, widen(a))).astype(a.dtype, copy=False)

    def attempt(self, work: Callable[..., T], *arrays: np.ndarray) -> T:
        """work(*arrays), which is LAPACK's. Raises OpError where the numbers of a matrix have none."""
        try:
            return work(*arrays)
        except np.linalg.LinAlgError as error:
            raise self.error(f"got a matrix that has none ({error})") from None

    @classmethod
    def examples(cls, make):
        yield make(positive_definite(make, 2, 3, 3))


class Reduced(Decomposed):
    """One number for each matrix."""

    def infer_shape(self, a):
        self.side(a)
        return a[:-2] or (1,)


@op("_linalg_sumlogdiag", "linalg_sumlogdiag")
class SumLogDiag(Reduced):
    """The sum of the logarithms of the main diagonal. Shapes: (..., N, N) -> (...); a single matrix gives (1,)."""

    def decompose(self, a):
        return np.log(np.diagonal(a, 0, -2, -1)).sum(-1).reshape(self.infer_shape(a.shape))

    def composition(self, F, a):
        if not known(a) or not of_floats(a):
            return None
        (x,) = widely(F, a.dtype, a)
        logs = F.sum(F.log(F._linalg_extractdiag(x)), axis=-1, keepdims=True)
        return narrowly(F, a.dtype, reshaped(F, logs, self.infer_shape(a.shape)))

    def gradient(self, F, dy, a, y):
        return F._linalg_makediag(F._backward_per_matrix(dy, F._linalg_extractdiag(a)) / F._linalg_extractdiag(a))


@op("_linalg_det", "linalg_det", "_npi_det")
class Det(Sized, Reduced):
    """The determinant. Shapes: (..., N, N) -> (...); a single matrix gives (1,), bound with np_shape on ().

    MXNet's hidden outputs are left out."""

    def infer_shape(self, a):
        return super().infer_shape(a) if len(a) > 2 or not self.zero_is_size else ()

    def output_names(self):
        return ("output0",)

    def composition(self, F, a):
        if not known(a) or not of_floats(a):
            return None
        (x,) = widely(F, a.dtype, a)
        sign, size, *_ = F._linalg_slogdet(x)
        return narrowly(F, a.dtype, reshaped(F, sign * F.exp(size), self.infer_shape(a.shape)))

    def decompose(self, a):
        return np.reshape(np.linalg.det(a), self.infer_shape(a.shape))

    def gradient(self, F, dy, a, y):
        return F._backward__linalg_det(dy, a, y)


@op("_linalg_inverse", "linalg_inverse", "_npi_inv")
class Inverse(Decomposed):
    """The inverse. Shapes: (..., N, N) -> as A."""

    primitive = True

    def infer_input_shapes(self, shapes, outputs):
        return [outputs[0]]

    def decompose(self, a):
        return np.linalg.inv(a)

    def gradient(self, F, dy, a, y):
        return F._linalg_gemm2(F._linalg_gemm2(y, dy, transpose_a=True, alpha=-1), y, transpose_b=True)


@op("_linalg_potrf", "linalg_potrf")
class Potrf(Decomposed):
    """The lower triangular L with A = L L^T (Cholesky), or the upper one U with A = U^T U. Shapes: (..., N, N) -> as A.

    Of A that triangle alone is read. MXNet's documentation leaves lower out."""

    primitive = True

    lower: bool = True

    untold = ("lower",)

    def infer_input_shapes(self, shapes, outputs):
        return [outputs[0]]

    def decompose(self, a):
        return np.linalg.cholesky(a) if self.lower else flip(np.linalg.cholesky(flip(a)))

    def gradient(self, F, dy, a, y):
        if not self.lower:
            dy, y = (F.SwapAxis(x, dim1=-1, dim2=-2) for x in (dy, y))
        return F._backward__linalg_potrf(dy, y)  # symmetric


class DecompositionBackward(Decomposed):
    """Base of parts of the gradient rules of decompositions. The result has the shape of the last input but y."""

    def infer_shape(self, *shapes):
        return shapes[1]

    def compute(self, *arrays):
        return self.attempt(self.back, *map(widen, arrays)).astype(arrays[0].dtype, copy=False)

    def back(self, dy: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
        """The gradient."""
        raise NotImplementedError


@op("_backward__linalg_det")
@part_of("_linalg_det")
class DetBackward(DecompositionBackward):
    """dy times the determinant times the inverse, transposed; 0 for singular matrices, as in MXNet.

    Shapes: dy (...) or (1,), A (..., N, N), y as dy -> as A."""

    inputs = ("dy", "A", "y")

    def back(self, dy, a, y):
        singular = y.reshape(*a.shape[:-2], 1, 1) == 0
        inverse = np.linalg.inv(np.where(singular, np.eye(a.shape[-1], dtype=a.dtype), a))
        return np.where(singular, 0, (dy * y).reshape(singular.shape) * np.swapaxes(inverse, -1, -2))

    def gradient(self, F, ddx, dy, a, y, dx):
        inverse = F.SwapAxis(F._linalg_inverse(a), dim1=-1, dim2=-2)
        inner = F.sum(ddx * inverse, axis=(-2, -1))
        scales = F._linalg_makediag(F._backward_per_matrix(dy * y, F._linalg_extractdiag(a)))
        turned = F._linalg_gemm2(F._linalg_gemm2(inverse, ddx, transpose_b=True), inverse)
        return inner * y, F._linalg_gemm2(scales, turned, alpha=-1), inner * dy


@op("_backward__linalg_potrf")
@part_of("_linalg_potrf")
class PotrfBackward(DecompositionBackward):
    """The gradient of A, symmetric, from that of its Cholesky factor. Shapes: dy, y (..., N, N) -> the same.

    Source: Murray 2016, arXiv:1602.07527."""

    inputs = ("dy", "y")

    def infer_shape(self, dy, y):
        self.side(y)
        return merge(dy, y)

    def back(self, dy, y):
        flipped = np.swapaxes(y, -1, -2)
        lower = np.tril(flipped @ dy)
        middle = lower + np.swapaxes(np.tril(lower, -1), -1, -2)
        half = np.linalg.solve(flipped, middle)
        return np.swapaxes(np.linalg.solve(flipped, np.swapaxes(half, -1, -2)), -1, -2) / 2


@linear(0)
@op("_backward_per_matrix")
class PerMatrix(Op):
    """A number for every matrix, repeated along its diagonal. Shapes: data (...) or (1,), diagonal (..., N) -> (..., N)."""

    inputs = ("data", "diagonal")

    def infer_shape(self, data, diagonal):
        want_rank_from(self, diagonal, 1, what="diagonal")
        as_many(self, "data", data, diagonal[:-1])
        return diagonal

    def compute(self, data, diagonal):
        return np.broadcast_to(data.reshape(*diagonal.shape[:-1], 1), diagonal.shape).copy()

    def adjoint(self, of, dy, data, diagonal):
        return dy.sum(-1).reshape(data.shape)
