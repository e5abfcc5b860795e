"""Operators that mirror, turn or roll arrays, and those about diagonals."""

import math
from typing import Any

import numpy as np

from ..core.attrs import Shape
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, show
from .adjoint import linear
from .common import axis_of, want_rank
from .composing import definite, known, placed_at, reshaped


class Mirroring(Op):
    """Base of reverse: the numbers in opposite order along some axes."""

    meanings = {"axis": "Axes along which the order is reversed."}

    axis: Shape

    view = True
    only_moves_data = True

    def infer_shape(self, data):
        self.along(len(data))
        return data

    def along(self, rank: int) -> list[int]:
        """The axes, from the front. Raises OpError where one is named twice, which MXNet turns twice and NumPy refuses."""
        named = sorted(range(rank) if self.axis is None else [axis_of(self, a, rank) for a in self.axis])
        if len(set(named)) < len(named):
            raise self.error(f"got axis={self.axis}, wanted each axis once")
        return named

    def infer_input_shapes(self, shapes, outputs):
        return [outputs[0]]

    def composition(self, F, data):
        if data.shape is None:
            return None
        step = tuple(-1 if a in self.along(len(data.shape)) else None for a in range(len(data.shape)))
        none = (None,) * len(step)
        return F.slice(data, begin=none, end=none, step=tuple(s or 1 for s in step)) if step else F._copy(data)

    def compute(self, data):
        return np.flip(data, tuple(self.along(data.ndim)))

    def adjoint(self, of, dy, data):
        return self.compute(dy)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axis=(1,))
        yield make(make.uniform(2, 3, 4), axis=(0, 2))


@linear(0)
@op("reverse", "flip")
class Reverse(Mirroring):
    """The numbers in opposite order along axis (one or several)."""


@linear(0)
@op("_npi_flip")
class NumpyFlip(Mirroring):
    """The numbers in opposite order along axis (one or several; None: all). Source: mx.np.flip."""

    meanings = {"axis": "Axes along which the order is reversed; None: all."}

    axis: Shape | None


class Diagonals(Op):
    """Base: the k-th diagonal over two axes, as the last axis; of a vector, the matrix that has it as diagonal.

    Shapes: (n,) -> (n + |k|, n + |k|); (..., n, m, ...) -> (..., length of the diagonal).
    """

    left_open = ("place", "length")

    def place(self) -> tuple[int, int, int]:
        """The diagonal, and the two axes that it is over."""
        raise NotImplementedError

    def axes(self, rank: int) -> tuple[int, int]:
        """The two axes, from the front."""
        _, *pair = self.place()
        one, two = (axis_of(self, a, rank) for a in pair)
        if one == two:
            raise self.error(f"got axes {pair[0]} and {pair[1]}, wanted two different ones")
        return one, two

    def length(self, rows: int, columns: int) -> int:
        """Of the diagonal in a matrix."""
        k = self.place()[0]
        return max(min(rows + min(k, 0), columns - max(k, 0)), 0)

    def infer_shape(self, data):
        if len(data) == 1:
            return (data[0] + abs(self.place()[0]),) * 2
        one, two = self.axes(len(data))
        rest = tuple(d for a, d in enumerate(data) if a not in (one, two))
        if data[one] is UNKNOWN or data[two] is UNKNOWN:
            return (*rest, UNKNOWN)
        return (*rest, self.length(data[one], data[two]))

    def composition(self, F, data):
        if not known(data):
            return None
        shape, k = definite(data.shape), self.place()[0]
        if len(shape) == 1:
            size = shape[0] + abs(k)
            rows = F._npi_pad(data, pad_width=((max(-k, 0), max(k, 0)),))
            lines, columns = (F._arange(start=0, stop=size, dtype="int64") for _ in range(2))
            hit = F.broadcast_equal(placed_at(F, lines, 0, 2) + k, placed_at(F, columns, 1, 2))
            spread = F._npi_broadcast_to(placed_at(F, rows, 0, 2), shape=(size, size))
            return F._npi_where(hit, spread, F.zeros_like(spread))
        one, two = self.axes(len(shape))
        count = self.infer_shape(shape)[-1]
        if not count:
            return None
        rest = [a for a in range(len(shape)) if a not in (one, two)]
        flat = F._np_reshape(
            F.transpose(data, axes=(one, two, *rest)), newshape=(shape[one] * shape[two], *(shape[a] for a in rest))
        )
        first, step = max(-k, 0) * shape[two] + max(k, 0), shape[two] + 1
        picked = F.slice(flat, begin=(first,), end=(first + (count - 1) * step + 1,), step=(step,))
        return F.transpose(picked, axes=(*range(1, len(rest) + 1), 0))

    def compute(self, data):
        k = self.place()[0]
        if data.ndim == 1:
            return np.diag(data, k)
        one, two = self.axes(data.ndim)
        # beyond the matrix all diagonals are empty, and some too far for NumPy's integers
        k = min(max(k, -data.shape[one]), data.shape[two])
        return np.diagonal(data, k, one, two).copy()

    def adjoint(self, of, dy, data):
        k = self.place()[0]
        if data.ndim == 1:
            return np.diagonal(dy, k)
        out = np.zeros_like(dy, order="C", shape=data.shape)
        places = np.arange(dy.shape[-1])
        # the two axes to the front, behind which those of dy are in order
        by_place = np.moveaxis(out, self.axes(data.ndim), (0, 1))
        by_place[places + max(-k, 0), places + max(k, 0)] = np.moveaxis(dy, -1, 0)
        return out


@linear(0)
@op("diag")
class Diag(Diagonals):
    """The k-th diagonal over axis1 and axis2, as the last axis; of a vector, the matrix that has it as diagonal.

    Shapes: (n,) -> (n + |k|, n + |k|); (..., n, m, ...) -> (..., length of the diagonal).
    """

    k: int = 0
    axis1: int = 0
    axis2: int = 1

    def place(self):
        return self.k, self.axis1, self.axis2

    def length(self, rows, columns):
        if rows + min(self.k, 0) < 0 or columns - max(self.k, 0) < 0:
            raise self.error(f"a matrix of shape {show((rows, columns))} has no diagonal k={self.k}")
        return super().length(rows, columns)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), k=1)
        yield make(make.uniform(3, 4), k=-1)
        yield make(make.uniform(2, 3, 4), axis1=1, axis2=2)


@linear(0)
@op("_np_diag")
class NumpyDiag(Diagonals):
    """The k-th diagonal of a matrix; of a vector, the matrix that has it as diagonal. Source: mx.np.diag."""

    k: int = 0

    def place(self):
        return self.k, 0, 1

    def infer_shape(self, data):
        want_rank(self, data, 1, 2)
        return super().infer_shape(data)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), k=1)
        yield make(make.uniform(3, 4), k=-1)


@linear(0)
@op("_np_diagonal")
class NumpyDiagonal(Diagonals):
    """The diagonal over axis1 and axis2 that begins at offset, as the last axis. Source: mx.np.diagonal."""

    offset: int = 0
    axis1: int = 0
    axis2: int = 1

    def place(self):
        return self.offset, self.axis1, self.axis2

    def infer_shape(self, data):
        if len(data) < 2:
            raise self.error(f"got data of shape {show(data)}, wanted at least 2 dimensions")
        return super().infer_shape(data)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), offset=1, axis1=1, axis2=2)


@linear(0)
@op("_npi_tril")
class Tril(Op):
    """data with zeros above the k-th diagonal of its last two axes; a vector becomes every row of a matrix first.

    Source: mx.np.tril."""

    k: int = 0

    def infer_shape(self, data):
        if not data:
            raise self.error("got data without dimensions, wanted at least one")
        return data * 2 if len(data) == 1 else data

    def diagonal(self, shape: tuple[int, ...]) -> int:
        """k, or where the matrices end."""
        return max(-shape[-2], min(self.k, shape[-1]))

    def composition(self, F, data):
        if data.shape is None:
            return None
        shape = definite(self.infer_shape(data.shape))
        rows, columns = (F._arange(start=0, stop=n, dtype="int64") for n in shape[-2:])
        kept = F.broadcast_greater_equal(placed_at(F, rows, 0, 2) + self.diagonal(shape), placed_at(F, columns, 1, 2))
        whole = data if len(data.shape) > 1 else F._npi_broadcast_to(data, shape=shape)
        return F._npi_where(kept, whole, F.zeros_like(whole))

    def compute(self, data):
        return np.tril(data, self.diagonal(self.infer_shape(data.shape)))

    def adjoint(self, of, dy, data):
        kept = np.tril(dy, self.diagonal(dy.shape))
        return kept.sum(0) if data.ndim == 1 else kept

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), k=1)
        yield make(make.uniform(3))


def _rolled(F: Any, data: Any, axis: int, shift: int, size: int) -> Any:
    """A symbol moved on by shift along an axis of that size."""
    if not size or not shift % size:
        return F._copy(data)
    at = size - shift % size
    parts = [F.slice_axis(data, axis=axis, begin=a, end=b) for a, b in ((at, size), (0, at))]
    return F.Concat(*parts, dim=axis)


@linear(0)
@op("_np_roll")
class Roll(Op):
    """The numbers moved on by shift along axis, the last ones coming in at the front; without axis through all of data.

    Source: mx.np.roll."""

    meanings = {"axis": "Axes along which numbers move; None: through all of data."}

    shift: Shape | None = None
    axis: Shape | None = None

    def check(self):
        if not self.shift or (self.axis is not None and len(self.shift) not in (1, len(self.axis))):
            return f"shift={self.shift} and axis={self.axis} want equal lengths, or one shift"
        return (
            None
            if self.axis is not None or len(self.shift) == 1
            else f"shift={self.shift} wants one number without axis"
        )

    def shifts(self) -> list[tuple[int, int]]:
        """Axes and by how much the numbers move along each."""
        assert self.shift is not None and self.axis is not None
        return [(axis, self.shift[i % len(self.shift)]) for i, axis in enumerate(self.axis)]

    def infer_shape(self, data):
        for axis in self.axis or ():
            axis_of(self, axis, len(data))
        return data

    def infer_input_shapes(self, shapes, outputs):
        return [outputs[0]]

    def composition(self, F, data):
        if data.shape is None:
            return None
        assert self.shift is not None
        shape = definite(data.shape)
        if self.axis is None:
            flat = F._np_reshape(data, newshape=(-1,)) if math.prod(shape) else data
            return reshaped(F, _rolled(F, flat, 0, self.shift[0], math.prod(shape)), shape)
        for axis, shift in self.shifts():
            data = _rolled(F, data, axis_of(self, axis, len(shape)), shift, shape[axis])
        return data

    def compute(self, data):
        assert self.shift is not None
        return np.roll(data, self.shift, self.axis)

    def adjoint(self, of, dy, data):
        assert self.shift is not None
        return np.roll(dy, [-s for s in self.shift], self.axis)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), shift=(2,))
        yield make(make.uniform(2, 3), shift=(-1, 1), axis=(0, -1))


@linear(0)
@op("_npi_rot90")
class Rot90(Op):
    """data turned k times by a right angle, from the first of axes towards the second. Source: mx.np.rot90."""

    meanings = {"k": "Number of right angles.", "axes": "The plane: from the first axis towards the second."}

    k: int = 1
    axes: Shape | None = (0, 1)

    view = True
    only_moves_data = True

    def plane(self, rank: int) -> tuple[int, int]:
        """The two axes, from the front."""
        chosen = tuple(axis_of(self, a, rank) for a in self.axes or (0, 1))
        if len(chosen) != 2 or chosen[0] == chosen[1]:
            raise self.error(f"got axes {self.axes}, wanted two different ones")
        return chosen

    def order(self, rank: int) -> list[int]:
        """The permutation of axes that is part of the turn."""
        order = list(range(rank))
        if self.k % 2:
            one, two = self.plane(rank)
            order[one], order[two] = two, one
        return order

    def infer_shape(self, data):
        self.plane(len(data))
        return tuple(data[a] for a in self.order(len(data)))

    def composition(self, F, data):
        if data.shape is None:
            return None
        one, two = self.plane(len(data.shape))
        turns = self.k % 4
        if turns == 0:
            return F._copy(data)
        if turns == 2:
            return F.reverse(data, axis=(one, two))
        if turns == 1:
            return F.transpose(F.reverse(data, axis=(two,)), axes=self.order(len(data.shape)))
        return F.reverse(F.transpose(data, axes=self.order(len(data.shape))), axis=(two,))

    def compute(self, data):
        return np.rot90(data, self.k, self.plane(data.ndim))

    def adjoint(self, of, dy, data):
        return np.rot90(dy, -self.k, self.plane(data.ndim))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axes=(1, 2))
        yield make(make.uniform(2, 3), k=-1)
