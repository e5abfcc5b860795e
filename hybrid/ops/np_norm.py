"""numpy.linalg.norm as MXNet's np networks have it."""

import math

import numpy as np

from ..core.attrs import Shape
from ..core.op import Op, op
from .common import as_array, axis_of, part_of, widen
from .composing import definite, extreme, known, narrowly, of_floats, reshaped, total, widely
from .linalg import Decomposed


@op("_npi_norm")
class Norm(Op):
    """A norm of vectors (one axis) or matrices (two axes; None stands for the last two), as numpy.linalg.norm.

    Vectors: ord 0 counts what is not 0, any other is (sum |x|^ord)^(1/ord). Matrices: flag 1 is the root of the sum of squares,
    flag 2 the sum of the singular values; else ord 1 and -1 the largest and smallest sum of a column, 2 and -2 the largest
    and smallest singular value. flag -2: the root of the sum of squares of everything. Shapes: as reductions over axis."""

    meanings = {"axis": "The axis of vectors, or the two of matrices; None: the last two."}

    ord: float = 2.0
    axis: Shape | None = None
    keepdims: bool = False
    flag: int = -1

    exception = "has a norm for each order, of vectors and matrices"

    tolerance = Decomposed.tolerance

    def check(self):
        if math.isinf(self.ord):
            return f"got ord={self.ord}, wanted a finite one; take the maximum or minimum of the absolute values"
        if self.axis is not None and len(self.axis) not in (1, 2):
            return f"got axis={self.axis}, wanted one axis for vectors or two for matrices"
        if self.flag == -2 and self.axis is not None:
            return f"got flag=-2, which is the norm of everything, and axis={self.axis}"
        return None

    def axes(self, rank: int) -> tuple[int, ...]:
        """The axes that are reduced, counted from the front, in the order given."""
        if self.flag == -2:
            return tuple(range(rank))
        given = tuple(range(-min(rank, 2), 0)) if self.axis is None else self.axis
        found = tuple(axis_of(self, i, rank) for i in given)
        if len(set(found)) < len(found) or not rank:
            raise self.error(f"got axis={self.axis} for {rank} dimensions")
        return found

    def root(self, rank: int) -> bool:
        """True when the norm is the root of a sum of squares."""
        vectors = len(self.axes(rank)) != 2
        return self.flag in (-2, 1) or (vectors and self.ord == 2 and self.flag != 2)

    def kind(self, rank: int) -> str:
        """One of root, vector, nuclear, column, spectral."""
        if self.root(rank):
            return "root"
        if len(self.axes(rank)) != 2:
            if self.flag == 2:
                raise self.error(f"got flag=2, the nuclear norm of matrices, and axis={self.axis}")
            return "vector"
        if self.flag == 2:
            return "nuclear"
        if self.ord not in (1, -1, 2, -2):
            raise self.error(f"got ord={self.ord:g} for matrices, wanted 1, -1, 2 or -2")
        return "column" if abs(self.ord) == 1 else "spectral"

    def infer_shape(self, data):
        self.kind(len(data))
        axes = self.axes(len(data))
        if self.keepdims:
            return tuple(1 if i in axes else d for i, d in enumerate(data))
        return tuple(d for i, d in enumerate(data) if i not in axes)

    def composition(self, F, data):
        if not known(data) or not of_floats(data) or 0 in definite(data.shape):
            return None
        rank = len(data.shape)
        kind, axes = self.kind(rank), self.axes(rank)
        if kind in ("nuclear", "spectral") or not rank:
            return None
        (x,) = widely(F, data.dtype, data)
        if kind == "root":
            y = F.sqrt(total(F, F.square(x), axes))
        elif kind == "column":
            y = extreme(F, "max" if self.ord > 0 else "min", total(F, F.abs(x), axes[:1]), axes[1:])
        elif self.ord == 0:
            y = total(F, F._not_equal_scalar(x, scalar=0), axes)
        elif self.ord == 1:
            y = total(F, F.abs(x), axes)
        else:
            number = np.float64 if data.dtype == np.float64 else np.float32
            with np.errstate(over="ignore", divide="ignore"):
                root = float(1 / number(self.ord))
            y = F._power_scalar(total(F, F._power_scalar(F.abs(x), scalar=self.ord), axes), scalar=root)
        return narrowly(F, data.dtype, reshaped(F, y, self.infer_shape(data.shape)))

    def compute(self, data):
        x = widen(data) if data.dtype.kind == "f" else data.astype(np.float64)
        kind, axes = self.kind(x.ndim), self.axes(x.ndim)
        if kind == "root" or not x.size:  # of nothing all norms are 0, those that are a greatest or least too
            y = np.sqrt(np.square(x).sum(axes))
        elif kind == "vector":
            y = np.linalg.norm(x, self.ord, axes[0])
        else:
            y = np.linalg.norm(x, "nuc" if kind == "nuclear" else self.ord, axes)
        return as_array(y).reshape(self.infer_shape(data.shape)).astype(data.dtype)

    def gradient(self, F, dy, data, y):
        attrs = {"ord": self.ord, "axis": self.axis, "keepdims": self.keepdims, "flag": self.flag}
        return F._backward__npi_norm(dy, data, y, **attrs)

    @classmethod
    def examples(cls, make):
        x = make.uniform(2, 3, 4, low=0.2) * make.array([1, -1, 1, 1])
        yield make(x[0], flag=-2)
        yield make(x, axis=(1,), ord=3, keepdims=True)
        yield make(x, axis=(0, 2), flag=1)
        yield make(x, axis=(1, 2), flag=2)
        for order in (1, -1, 2, -2):
            yield make(x, ord=order, axis=(2, 1))


@op("_backward__npi_norm")
@part_of("_npi_norm")
class NormBackward(Norm):
    """The gradient of data. Shapes: dy, y as _npi_norm gives, data -> as data.

    Of several columns or singular values that are the extreme one, the first takes it all."""

    inputs = ("dy", "data", "y")

    def infer_shape(self, dy, data, y):
        return data

    def infer_type(self, *dtypes):
        return dtypes[1]

    def gradient(self, F, dy, *arrays):
        return Op.gradient(self, F, dy, *arrays)  # none: differentiable once

    def compute(self, dy, data, y):
        x, axes, kind = widen(data), self.axes(data.ndim), self.kind(data.ndim)
        kept = [1 if i in axes else d for i, d in enumerate(x.shape)]
        head, norm = widen(dy).reshape(kept), widen(y).reshape(kept)
        if not x.size:
            out = x
        elif kind == "root":
            out = head * x / norm
        elif kind == "vector":
            out = head * self._along(x, norm)
        else:
            places = (-2, -1)
            moved = np.moveaxis(x, axes, places)
            steep = self._of_columns(moved) if kind == "column" else self._of_singular(moved, kind)
            out = np.moveaxis(np.moveaxis(head, axes, places) * steep, places, axes)
        return as_array(out).astype(data.dtype, copy=False)

    def _along(self, x: np.ndarray, norm: np.ndarray) -> np.ndarray:
        if self.ord in (0, 1):
            return np.sign(x) * self.ord
        return np.sign(x) * np.abs(x) ** (self.ord - 1) * norm ** (1 - self.ord)

    def _of_columns(self, x: np.ndarray) -> np.ndarray:
        sums = np.abs(x).sum(-2)
        found = (sums * self.ord).argmax(-1)
        return np.where(np.arange(x.shape[-1]) == found[..., None, None], np.sign(x), 0)

    def _of_singular(self, x: np.ndarray, kind: str) -> np.ndarray:
        u, _, v = np.linalg.svd(x, full_matrices=False)
        if kind == "nuclear":
            return u @ v
        place = 0 if self.ord > 0 else -1
        return u[..., :, place, None] * v[..., None, place, :]
