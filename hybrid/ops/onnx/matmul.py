"""Gemm and Det, where MXNet's forms round twice or give other shapes."""

from typing import Any

import numpy as np

from ...core.op import op
from ...core.shapes import merge
from ..common import narrow, part_of, truncate, want_rank, widen
from ..composing import definite, known, narrowly, of_floats, reshaped, widely
from .base import Standard
from .types import FLOATS, PRECISE


@op("_onnx_Gemm")
class Gemm(Standard):
    """alpha * A @ B + beta * C, A and B transposed if asked, rounded once; whole numbers are cut off where alpha or beta is none.

    Shapes: (M, K), (K, N), one that broadcasts to (M, N) -> (M, N). Source: ONNX Gemm (opset 11 to newest)."""

    alpha: float = 1.0
    beta: float = 1.0
    transA: bool = False  # noqa: N815  ONNX's names
    transB: bool = False  # noqa: N815

    inputs = ("A", "B", "C")
    types = {"A B C": PRECISE}
    optional = ("C",)
    spreads = optional
    tolerance = 64.0
    takes_matrices = True

    def matrices(self, second):
        return second.T if self.transB else second

    def shape(self, a, b, c=None):
        want_rank(self, a, 2, what="A")
        want_rank(self, b, 2, what="B")
        (m, k), (j, n) = (a[::-1] if self.transA else a), (b[::-1] if self.transB else b)
        merge((k,), (j,))
        return (m, n)

    def composition(self, F, a, b, c=None):
        if not known(a, b) or not of_floats(a):
            return None
        left, right, *summand = widely(F, a.dtype, a, b, *(() if c is None else (c,)))
        y = F.dot(left, right, transpose_a=self.transA, transpose_b=self.transB)
        y = y if self.alpha == 1 else y * self.alpha
        if summand:
            y = F.broadcast_add(y, summand[0] if self.beta == 1 else summand[0] * self.beta)
        return narrowly(F, a.dtype, y)

    def meaning(self, a, b, c=None):
        y = (widen(a).T if self.transA else widen(a)) @ (widen(b).T if self.transB else widen(b))
        whole = a.dtype.kind in "iu"
        if whole and not (float(self.alpha).is_integer() and float(self.beta).is_integer()):
            y = y * self.alpha + (0 if c is None else c * self.beta)
            return truncate(y, a.dtype)
        number = a.dtype.type if whole else y.dtype.type
        y = y if self.alpha == 1 else y * number(self.alpha)
        if c is not None:
            y = y + (widen(c) if self.beta == 1 else widen(c) * number(self.beta))
        return narrow(np.asarray(y), a.dtype)

    def gradient(self, F, dy, a, b, *c_and_y):
        # y = A' B': dA' = dy B'^T, dB' = A'^T dy, and transposed where A' = A^T
        ta, tb = self.transA, self.transB
        da = F.dot(b, dy, transpose_a=tb, transpose_b=True) if ta else F.dot(dy, b, transpose_b=not tb)
        db = F.dot(dy, a, transpose_a=True, transpose_b=ta) if tb else F.dot(a, dy, transpose_a=not ta)
        found = [da * self.alpha, db * self.alpha]
        return [*found, F._backward_sum_like(dy, c_and_y[0]) * self.beta] if "C" in self.given else found

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(2, 3), make.uniform(4, 3), make.uniform(4), given=("C",), transB=True, alpha=0.5, beta=2.0
        )
        yield make(make.uniform(3, 2), make.uniform(4, 3), transA=True, transB=True)
        yield make(make.uniform(3, 2), make.uniform(3, 4), make.uniform(2, 1), given=("C",), transA=True)


@op("_onnx_Det")
class Det(Standard):
    """The determinant. Shapes: (..., M, M) -> (...). Source: ONNX Det (opset 11 to newest)."""

    inputs = ("X",)
    types = {"X": FLOATS}
    tolerance = 64.0

    def shape(self, x):
        if len(x) < 2:
            raise self.error(f"got {len(x)} dimensions, wanted at least 2")
        merge(x[-1:], x[-2:-1])
        return x[:-2]

    def composition(self, F, *inputs):
        (a,) = inputs
        return None if a.shape is None else reshaped(F, F._linalg_det(a), definite(a.shape)[:-2])

    def meaning(self, x: Any):
        return narrow(np.asarray(np.linalg.det(widen(x))), x.dtype)

    def gradient(self, F, dy, x, y):
        return F._backward__onnx_Det(dy, x)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 3))
        yield make(make.uniform(2, 2, 4, 4))


@op("_backward__onnx_Det")
@part_of("_onnx_Det")
class DetBackward(Standard):
    """dy times the cofactors of X, which singular matrices have too. Shapes: dy (...), X (..., M, M) -> as X."""

    inputs = ("dy", "X")

    def shape(self, dy, x):
        return x

    def dtype(self, dy, x):
        return x

    def meaning(self, dy, x: Any):
        u, s, v = np.linalg.svd(widen(x))
        # the cofactors of U S V^T are det(U) det(V) U C V^T, where C holds the products of all singular values but one
        size = s.shape[-1]
        others = np.where(np.eye(size, dtype=bool), s.dtype.type(1), s[..., None, :]).prod(-1)
        sign = np.linalg.det(u) * np.linalg.det(v)
        cofactors = sign[..., None, None] * ((u * others[..., None, :]) @ v)
        return narrow(widen(dy)[..., None, None] * cofactors, x.dtype)

    def gradient(self, F, ddx, dy, x, dx):
        # cofactors are det(X) X^-T: here X has to have an inverse
        inverse = F.SwapAxis(F._linalg_inverse(x), dim1=-1, dim2=-2)
        inner = F.broadcast_mul(inverse, F._np_sum(ddx * inverse, axis=(-2, -1), keepdims=True))
        outer = F._linalg_gemm2(F._linalg_gemm2(inverse, ddx, transpose_b=True), inverse)
        scale = F._backward_restore(dy * F._onnx_Det(x), x, axis=(-2, -1))
        along = F._np_sum(ddx * F._backward__onnx_Det(F.ones_like(dy), x), axis=(-2, -1))
        return along, F.broadcast_mul(inner - outer, scale)
