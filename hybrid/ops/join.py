"""Operators that join arrays along an axis, or cut one apart."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.attrs import Arity, Several, Shape
from ..core.op import DENSE, Op, Storage, op
from ..core.shapes import UNKNOWN, merge, merge_all, show
from .adjoint import joins
from .common import axis_of
from .composing import definite, reshaped


class Joining(Op):
    """Base of concatenations: inputs of one rank, equal but for one axis."""

    objects = True

    num_args: Arity

    inputs = ("*data",)
    left_open = ("joined_axis", "extend_shape")
    supports_out = True

    def joined_axis(self, rank: int) -> int:
        """The axis that inputs of this rank are joined along."""
        raise NotImplementedError

    def infer_shape(self, *shapes):
        axis = self.joined_axis(len(shapes[0]))
        if any(len(s) != len(shapes[0]) for s in shapes):
            raise self.error(f"got inputs of shapes {', '.join(map(show, shapes))}, wanted one rank")
        common = merge_all((*s[:axis], UNKNOWN, *s[axis + 1 :]) for s in shapes)
        assert common is not None
        return (*common[:axis], sum(s[axis] for s in shapes), *common[axis + 1 :])

    def infer_input_shapes(self, shapes, outputs):
        known = [s for s in (*shapes, *outputs) if s is not None]
        if not known:
            return shapes
        axis = self.joined_axis(len(known[0]))
        common = merge_all((*s[:axis], UNKNOWN, *s[axis + 1 :]) for s in known)
        return [merge(s, common) for s in shapes]

    def extend_shape(self, shape: Any) -> Any:
        """An input's shape as it is joined."""
        return shape

    def composition(self, F, *data):
        if any(x.shape is None for x in data):
            return None
        wide = [reshaped(F, x, self.extend_shape(x.shape)) for x in data]
        return F.Concat(*wide, dim=self.joined_axis(len(self.extend_shape(data[0].shape))))

    def compute(self, *data, out=None):
        return np.concatenate(data, self.joined_axis(data[0].ndim), out=out)

    def adjoints(self, dy, *data):
        # a join may change the rank of its inputs, but asks for the axis by the rank that they have when joined
        axis = self.joined_axis(dy.ndim)
        ends = np.cumsum([self.extend_shape(d.shape)[axis] for d in data])
        return [part.reshape(d.shape) for part, d in zip(np.split(dy, ends[:-1], axis), data)]


@joins
@op("Concat", "concat", "_sparse_concat")
class Concat(Joining):
    """The inputs one after another along the axis dim."""

    dim: int = 1

    primitive = True

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return Storage("csr") if {*stypes} == {"csr"} and self.dim == 0 else DENSE

    def joined_axis(self, rank):
        return axis_of(self, self.dim, rank)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 1, 4), make.uniform(2, 3, 4), num_args=2)
        yield make(make.uniform(2, 3), make.uniform(2, 1), num_args=2, dim=-1)


@joins
@op("_npi_concatenate")
class NumpyConcatenate(Joining):
    """The inputs one after another along axis; without an axis they are flattened first. Source: mx.np.concatenate."""

    meanings = {"axis": "Axis along which the inputs are joined; None: they are flattened first."}

    keeps = True

    axis: int | None = 0

    def output_names(self):
        return ("out",)

    def joined_axis(self, rank):
        return 0 if self.axis is None else axis_of(self, self.axis, rank)

    def infer_shape(self, *shapes):
        return super().infer_shape(*map(self.extend_shape, shapes))

    def extend_shape(self, shape):
        return (math.prod(shape),) if self.axis is None else shape

    def infer_input_shapes(self, shapes, outputs):
        return shapes if self.axis is None else super().infer_input_shapes(shapes, outputs)

    def compute(self, *data, out=None):
        return np.concatenate(data, self.axis, out=out)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 1), make.uniform(2, 3), num_args=2, axis=1)
        yield make(make.uniform(2, 1), make.uniform(2, 3), num_args=2, axis=None)


class Extending(Joining):
    """Base of joins whose inputs first get axes of size 1 until they have enough."""

    left_open = ("new_axes",)
    keeps = True

    def new_axes(self, rank: int) -> Sequence[int]:
        """Axes of the result that an input of this rank lacks."""
        raise NotImplementedError

    def extend_shape(self, shape):
        out = list(shape)
        for axis in self.new_axes(len(shape)):
            out.insert(axis, 1)
        return tuple(out)

    def infer_shape(self, *shapes):
        return super().infer_shape(*map(self.extend_shape, shapes))

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def compute(self, *data, out=None):
        wide = [d.reshape(self.extend_shape(d.shape)) for d in data]
        return np.concatenate(wide, self.joined_axis(wide[0].ndim), out=out)


@joins
@op("_npi_vstack")
class VerticalStack(Extending):
    """The inputs one below another: along axis 0, vectors being rows. Source: mx.np.vstack."""

    def joined_axis(self, rank):
        return 0

    def new_axes(self, rank):
        return range(2 - rank)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), make.uniform(3), num_args=2)
        yield make(make.uniform(2, 3), make.uniform(1, 3), num_args=2)


@joins
@op("_npi_hstack")
class HorizontalStack(Extending):
    """The inputs side by side: along axis 1, or 0 for vectors and numbers. Source: mx.np.hstack."""

    # listed by MXNet, which chooses the axis by the rank all the same
    dim: int = 1

    def output_names(self):
        return ("out",)

    def joined_axis(self, rank):
        return min(rank - 1, 1)

    def new_axes(self, rank):
        return range(1 - rank)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), make.uniform(2), num_args=2)
        yield make(make.uniform(2, 3), make.uniform(2, 1), num_args=2)


@joins
@op("_npi_column_stack")
class ColumnStack(Extending):
    """The inputs side by side: along axis 1, vectors being columns. Source: mx.np.column_stack."""

    def joined_axis(self, rank):
        return 1

    def new_axes(self, rank):
        return range(rank, 2)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3), make.uniform(3, 2), num_args=2)


@joins
@op("_npi_dstack")
class DepthStack(Extending):
    """The inputs one behind another: along axis 2, vectors being rows and matrices layers. Source: mx.np.dstack."""

    # listed by MXNet, which joins along axis 2 all the same
    dim: int = 1

    def joined_axis(self, rank):
        return 2

    def new_axes(self, rank):
        return {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(rank, ())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), make.uniform(2, 3), num_args=2)
        yield make(make.uniform(3), make.uniform(3), num_args=2)


class Stacking(Op):
    """Base of stack: the inputs, which have one shape, along a new axis."""

    meanings = {"axis": "Position of the new axis in the result; negative ones count from its last."}

    objects = True

    num_args: Arity
    axis: int = 0

    inputs = ("*data",)
    supports_out = True

    def infer_shape(self, *shapes):
        common = merge_all(shapes)
        assert common is not None
        axis = axis_of(self, self.axis, len(common) + 1)
        return (*common[:axis], len(shapes), *common[axis:])

    def infer_input_shapes(self, shapes, outputs):
        return [merge_all(shapes)] * len(shapes)

    def composition(self, F, *data):
        if any(x.shape is None for x in data):
            return None
        axis = axis_of(self, self.axis, len(data[0].shape) + 1)
        return F.Concat(*(F.expand_dims(x, axis=axis) for x in data), dim=axis)

    def compute(self, *data, out=None):
        return np.stack(data, self.axis, out=out)

    def adjoints(self, dy, *data):
        return list(np.moveaxis(dy, axis_of(self, self.axis, dy.ndim), 0))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), make.uniform(2, 3), num_args=2)
        yield make(make.uniform(2, 3), make.uniform(2, 3), num_args=2, axis=-1)


@joins
@op("stack")
class Stack(Stacking):
    """The inputs, which have one shape, along a new axis."""


@joins
@op("_npi_stack")
class NumpyStack(Stacking):
    """The inputs, which have one shape, along a new axis. Source: mx.np.stack."""


class Splitting(Op):
    """Base of operators that cut data into pieces along an axis; with squeeze_axis pieces of size 1 lose it.

    Subclasses declare axis and squeeze_axis, each at its place in the order of positional arguments."""

    axis = 1
    squeeze_axis = False
    view = True
    left_open = ("pieces", "along", "put_together", "axis", "squeeze_axis")

    def pieces(self, total: Any) -> list[Any]:
        """Sizes of the pieces of an axis of size total. Raises OpError when it does not divide."""
        raise NotImplementedError

    def along(self, rank: int) -> int:
        """The axis that is cut, counted from the front."""
        return axis_of(self, self.axis, rank)

    def infer_shape(self, data):
        axis = self.along(len(data))
        sizes = self.pieces(data[axis])
        if self.squeeze_axis and any(s is not UNKNOWN and s != 1 for s in sizes):
            raise self.error(f"squeeze_axis wants pieces of size 1, got {show(tuple(sizes))} of data {show(data)}")
        return [(*data[:axis], *(() if self.squeeze_axis else (s,)), *data[axis + 1 :]) for s in sizes]

    def composition(self, F, data):
        if data.shape is None:
            return None
        axis, shapes = self.along(len(data.shape)), self.infer_shape(data.shape)
        bounds = np.cumsum([0, *definite(tuple(self.pieces(data.shape[axis])))]).tolist()
        front = (None,) * axis
        parts = [F.slice(data, begin=(*front, a), end=(*front, b)) for a, b in itertools.pairwise(bounds)]
        return tuple(reshaped(F, p, s) for p, s in zip(parts, shapes)) if self.squeeze_axis else tuple(parts)

    def compute(self, data):
        axis = self.along(data.ndim)
        bounds = np.cumsum(self.pieces(data.shape[axis]))[:-1]
        parts = np.split(data, bounds, axis)
        return tuple(p.squeeze(axis) for p in parts) if self.squeeze_axis else tuple(parts)

    def gradient(self, F, dy, *data_and_pieces):
        pieces = dy if isinstance(dy, tuple) else (dy,)
        return self.put_together(F, pieces)

    def put_together(self, F: Any, pieces: Sequence[Any]) -> Any:
        """The inverse, as a symbol."""
        if self.squeeze_axis:
            return F.stack(*pieces, axis=self.axis)
        return F.Concat(*pieces, dim=self.axis)


@op("SliceChannel", "split")
class SliceChannel(Splitting):
    """data cut into num_outputs equal pieces along axis."""

    meanings = {"num_outputs": "Number of equal pieces."}

    num_outputs: Arity
    axis: int = 1
    squeeze_axis: bool = False

    def output_names(self):
        return tuple(f"output{i}" for i in range(self.num_outputs))

    def pieces(self, total):
        if total is not UNKNOWN and total % self.num_outputs:
            raise self.error(f"cannot cut an axis of size {total} into {self.num_outputs} equal pieces")
        return [total // self.num_outputs] * self.num_outputs

    def infer_input_shapes(self, shapes, outputs):
        """Any piece says what all of the data is."""
        known = [o for o in outputs if o is not None]
        if not known:
            return shapes
        piece: Any = merge_all(known)
        axis = self.along(len(piece) + self.squeeze_axis)
        size = self.num_outputs if self.squeeze_axis else piece[axis] * self.num_outputs
        return [(*piece[:axis], size, *piece[axis + (not self.squeeze_axis) :])]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 4, 3), num_outputs=2)
        yield make(make.uniform(2, 4, 3), num_outputs=4, squeeze_axis=True)


class SplitAt(Splitting):
    """Base of splits by positions or number of sections.

    indices say where the pieces begin, 0 included; without them there are ``sections`` pieces, the first ones larger by
    one where the axis does not divide.
    """

    indices: Shape
    axis: int = 1
    squeeze_axis: bool = False
    sections: Several = 0

    def check(self):
        return "one of indices and sections is wanted" if not self.indices and self.sections < 1 else None

    def output_names(self):
        count = self.sections or len(self.indices)
        return ("output",) if count == 1 else tuple(f"output{i}" for i in range(count))

    def pieces(self, total):
        if self.sections:
            if total is UNKNOWN:
                return [total] * self.sections
            return [total // self.sections + (i < total % self.sections) for i in range(self.sections)]
        if self.indices[0] != 0:
            raise self.error(f"got indices={show(self.indices)}, wanted 0 first: the pieces are all of data")
        if total is not UNKNOWN and total == 0:  # wherever it is cut
            return [0] * len(self.indices)
        ends = (*self.indices[1:], total)
        sizes = [end - begin for begin, end in zip(self.indices, ends)]
        if any(s is not UNKNOWN and s < 0 for s in sizes):
            raise self.error(f"cannot cut an axis of size {total} at {show(self.indices)}")
        return sizes


@op("_split_v2", "_npi_split")
class SplitV2(SplitAt):
    """data cut along axis where indices say (0 included), or into so many sections."""

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 4, 3), indices=(0, 1))
        yield make(make.uniform(2, 4, 3), indices=(), sections=4, squeeze_axis=True)


@op("_npi_hsplit")
class HorizontalSplit(SplitAt):
    """data cut along axis 1 (0 for vectors) where indices say, or into sections. Source: mx.np.hsplit."""

    def along(self, rank):
        if rank == 0:
            raise self.error("got data without dimensions, wanted at least one")
        return min(rank - 1, 1)

    def put_together(self, F, pieces):
        return F._npi_hstack(*pieces)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 4), indices=(0, 1))


@op("_npi_dsplit")
class DepthSplit(SplitAt):
    """data cut along axis 2 where indices say, or into sections. Source: mx.np.dsplit."""

    def along(self, rank):
        return axis_of(self, 2, rank)

    def put_together(self, F, pieces):
        return F.Concat(*pieces, dim=2)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 1, 4), indices=(0, 1))
