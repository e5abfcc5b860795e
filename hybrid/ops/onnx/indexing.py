"""Taking and placing numbers by position as ONNX does. Positions are integers; negative ones count from behind,
others outside are refused."""

from typing import Any, ClassVar, Literal

import numpy as np

from ...core.attrs import Size
from ...core.op import op
from ...core.shapes import UNKNOWN, merge, show
from ..adjoint import linear
from ..common import axis_of, narrow, want_rank_from, widen
from ..composing import definite, known, placed_at
from .base import Standard
from .types import INDICES, STORED, TENSORS

Index = tuple[np.ndarray, ...]
Reduction = Literal["none", "add", "mul", "max", "min"]


class Taking(Standard):
    """Base of operators that take data[index], with an index that follows from the shape of data and the positions."""

    inputs = ("data", "indices")

    def index(self, data: tuple[int, ...], indices: np.ndarray) -> Index:
        """One array of positions for each of the first axes of data."""
        raise NotImplementedError

    def meaning(self, data, indices):
        return data[self.index(data.shape, indices)]

    def adjoint(self, of, dy, data, indices):
        out = np.zeros(data.shape, dy.dtype)
        np.add.at(out, self.index(data.shape, indices), dy)
        return out


def positions(op: Any, indices: np.ndarray, size: int) -> np.ndarray:
    """Positions along an axis of that size, as they are. Raises OpError when there are others than whole numbers from -size on and
    below size."""
    if indices.dtype.kind not in "iu":
        raise op.error(f"got indices of dtype {indices.dtype}, wanted whole numbers")
    if indices.size and not -size <= indices.min() <= indices.max() < size:
        raise op.error(f"got indices from {indices.min()} to {indices.max()} into {size} places")
    return indices


def along(op: Any, data: tuple[int, ...], indices: np.ndarray, axis: int) -> Index:
    """The index that takes, for every place of indices, that place of data with the position along axis in its stead.

    Raises OpError when indices reach outside of data."""
    axis = axis_of(op, axis, len(data))
    if len(data) != indices.ndim or any(i > d for a, (i, d) in enumerate(zip(indices.shape, data)) if a != axis):
        raise op.error(f"got data {show(data)} and indices {show(indices.shape)}, which are larger or of another rank")
    grid = list(np.ix_(*map(np.arange, indices.shape)))
    grid[axis] = positions(op, indices, data[axis])
    return tuple(grid)


def composed_along(F: Any, indices: Any, axis: int) -> Any:
    """along, of a symbol, as columns of coordinates."""
    shape, rank = indices.shape, len(indices.shape)
    lines = [placed_at(F, F._arange(start=0, stop=n, dtype="int64"), a, rank) for a, n in enumerate(shape)]
    spread = [F._npi_broadcast_to(line, shape=shape) for line in lines]
    return F.stack(*(F.Cast(indices, dtype="int64") if a == axis else s for a, s in enumerate(spread)), axis=0)


def _columns(F: Any, indices: Any) -> Any:
    """Coordinates along the last axis of a symbol as columns."""
    rank = len(indices.shape)
    return F.transpose(indices, axes=(rank - 1, *range(rank - 1)))


def by_columns(op: Any, data: tuple[int, ...], indices: np.ndarray, batch: int = 0) -> Index:
    """The index that takes the parts of data whose first coordinates the last axis of indices gives, after ``batch``
    axes which are both's.

    Raises OpError when there are more coordinates than axes, or the batches differ."""
    rank = indices.ndim - 1
    if rank < batch or data[:batch] != indices.shape[:batch] or batch + indices.shape[-1] > len(data):
        raise op.error(
            f"got data of shape {show(data)} and indices of shape {show(indices.shape)}, which do not go together"
        )
    columns = np.moveaxis(indices, -1, 0)
    return (
        *np.ix_(*map(np.arange, indices.shape[:-1]))[:batch],
        *(positions(op, c, size) for c, size in zip(columns, data[batch:])),
    )


@linear(0)
@op("_onnx_GatherElements")
class GatherElements(Taking):
    """For every place of indices, that place of data with the position along axis in its stead.

    Shapes: data and indices of one rank -> that of indices. Source: ONNX GatherElements (opset 11 to newest)."""

    axis: int = 0

    types = {"data": STORED, "indices": INDICES}

    def shape(self, data, indices):
        axis_of(self, self.axis, len(data))
        if len(data) != len(indices):
            raise self.error(f"got data of shape {show(data)} and indices of shape {show(indices)}, wanted one rank")
        return indices

    def composition(self, F, data, indices):
        if not known(data, indices) or 0 in definite(indices.shape):
            return None
        return F.gather_nd(data, composed_along(F, indices, axis_of(self, self.axis, len(data.shape))))

    def index(self, data, indices):
        return along(self, data, indices, self.axis)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.array([[2, -1, 0], [0, 1, -3]], "int64"))
        yield make(make.uniform(3, 4), make.array([[3, -1, 0], [0, 0, 2]], "int32"), axis=-1)


@linear(0)
@op("_onnx_GatherND")
class GatherND(Taking):
    """The parts of data whose first coordinates the last axis of indices gives, after batch_dims axes which both
    have.

    Shapes: data (b..., d..., rest...), indices (b..., n..., m) with m = number of d -> (b..., n..., rest...). Source:
    ONNX GatherND (opset 12 to newest)."""

    batch_dims: Size = 0

    types = {"data": STORED, "indices": {"int64"}}

    def shape(self, data, indices):
        if not indices:
            raise self.error("got indices without dimensions, wanted coordinates along the last one")
        if indices[-1] is UNKNOWN:
            return None
        if not indices[-1]:
            raise self.error(f"got indices of shape {show(indices)}, wanted one coordinate at least")
        if self.batch_dims >= len(indices) or self.batch_dims + indices[-1] > len(data):
            raise self.error(
                f"got {indices[-1]} coordinates after {self.batch_dims} axes for data of shape {show(data)}"
            )
        batch = merge(data[: self.batch_dims], indices[: self.batch_dims]) or ()
        return (
            *batch,
            *indices[self.batch_dims : -1],
            *data[self.batch_dims + indices[-1] :],
        )

    def composition(self, F, data, indices):
        if self.batch_dims or not known(data, indices):
            return None
        return F.gather_nd(data, _columns(F, indices))

    def index(self, data, indices):
        return by_columns(self, data, indices, self.batch_dims)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, 2), make.array([[0, 1], [2, -1]], "int64"))
        yield make(make.uniform(2, 3, 4), make.array([[[1], [-1]], [[0], [0]]], "int64"), batch_dims=1)


class Placing(Standard):
    """Base of operators that put updates at the places of data that the indices say, one after another: in the place
    of what is there, or added to it, multiplied with it, or the greatest or smallest of both."""

    reduction: Reduction = "none"

    inputs = ("data", "indices", "updates")
    gathers: ClassVar[str]
    """The operator that takes what this one places."""

    def index(self, data: tuple[int, ...], indices: np.ndarray) -> Index:
        """One array of positions for each of the first axes of data."""
        raise NotImplementedError

    def meaning(self, data, indices, updates):
        try:
            self.shape(data.shape, indices.shape, updates.shape)  # or NumPy would spread updates that are too small
        except ValueError as error:
            raise self.error(str(error)) from None
        index = self.index(data.shape, indices)
        if self.reduction == "none":
            out = data.copy()
            out[index] = updates
            return out
        function = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[self.reduction]
        out = np.array(widen(data))
        function.at(out, index, widen(updates))
        return narrow(out, data.dtype)

    def gradient(self, F, dy, data, indices, updates, y):
        """Of equal greatest or smallest numbers each gets an equal share."""
        attrs = self.dump()
        attrs.pop("reduction", None)

        def gather(x):
            return getattr(F, self.gathers)(x, indices, **attrs)

        def scatter(x, u, reduction):
            return getattr(F, self.name)(x, indices, u, **attrs, reduction=reduction)

        if self.reduction == "none":
            return scatter(dy, F.zeros_like(updates), "none"), None, gather(dy)
        if self.reduction == "add":
            return dy, None, gather(dy)
        if self.reduction == "mul":
            # where one factor is 0, the product of the others is not y / 0
            zero = F._equal_scalar(updates, scalar=0)
            ones, zeros = updates + zero, scatter(F.zeros_like(data), zero, "add")
            factors = gather(scatter(data, ones, "mul")) / ones * F._equal(gather(zeros), zero)
            return dy * scatter(F.ones_like(data), updates, "mul"), None, gather(dy) * factors
        own, theirs = F._equal(data, y), F._equal(updates, gather(y))
        share = dy / F.broadcast_maximum(scatter(own, theirs, "add"), F.ones_like(dy))
        return share * own, None, gather(share) * theirs


@op("_onnx_ScatterElements")
class ScatterElements(Placing):
    """data with updates at the places of indices, but for the position along axis, which indices give.

    Shapes: indices and updates the same. Source: ONNX ScatterElements (opset 18 to newest)."""

    axis: int = 0

    gathers = "_onnx_GatherElements"
    types = {"data updates": TENSORS, "indices": INDICES}

    def shape(self, data, indices, updates):
        axis_of(self, self.axis, len(data))
        merge(indices, updates)
        return data

    def composition(self, F, data, indices, updates):
        if self.reduction != "none" or not known(data, indices) or 0 in definite(indices.shape):
            return None
        where = composed_along(F, indices, axis_of(self, self.axis, len(data.shape)))
        return F._scatter_set_nd(data, updates, where, shape=definite(data.shape))

    def index(self, data, indices):
        return along(self, data, indices, self.axis)

    @classmethod
    def examples(cls, make):
        where = make.array([[2, -1, 0], [0, 1, -2]], "int64")
        yield make(make.uniform(3, 4), where, make.uniform(2, 3))
        for reduction in ("add", "mul", "max", "min"):
            yield make(make.uniform(3, 4), where, make.uniform(2, 3), axis=1, reduction=reduction)


@op("_onnx_ScatterND")
class ScatterND(Placing):
    """data with updates as its parts at the coordinates that the last axis of indices gives.

    Shapes: data (d..., rest...), indices (n..., m) with m = number of d, updates (n..., rest...). Source: ONNX
    ScatterND (opset 18 to newest)."""

    gathers = "_onnx_GatherND"
    types = {"data updates": TENSORS, "indices": {"int64"}}

    def shape(self, data, indices, updates):
        if not indices:
            raise self.error("got indices without dimensions, wanted coordinates along the last one")
        if indices[-1] is not UNKNOWN:
            if indices[-1] > len(data):
                raise self.error(f"got {indices[-1]} coordinates for data of shape {show(data)}")
            merge(updates, (*indices[:-1], *data[indices[-1] :]))
        return data

    def composition(self, F, data, indices, updates):
        if self.reduction != "none" or not known(data, indices):
            return None
        return F._scatter_set_nd(data, updates, _columns(F, indices), shape=definite(data.shape))

    def index(self, data, indices):
        return by_columns(self, data, indices)

    @classmethod
    def examples(cls, make):
        where = make.array([[0, 1], [-1, -1], [1, 0]], "int64")
        yield make(make.uniform(3, 4, 2), where, make.uniform(3, 2))
        for reduction in ("add", "mul", "max", "min"):
            yield make(
                make.uniform(3, 4), make.array([[0], [-1], [0]], "int64"), make.uniform(3, 4), reduction=reduction
            )


@linear(0, 1, jointly=True)
@op("_onnx_TensorScatter")
class TensorScatter(Standard):
    """past_cache with update written along axis from write_indices[batch] on (0 by default); circular goes on at the
    beginning.

    Shapes: past_cache (batch, ..., n, ...), update the same but for axis, where it may be shorter, write_indices
    (batch,). Source: ONNX TensorScatter (opset 24 to newest)."""

    mode: Literal["linear", "circular"] = "linear"
    axis: int = -2

    exception = "writes to a cache at places that data says"

    inputs = ("past_cache", "update", "write_indices")
    types = {"past_cache update": STORED - {"int2", "uint2"}, "write_indices": {"int64"}}
    optional = ("write_indices",)

    def shape(self, past, update, where):
        axis = axis_of(self, self.axis, len(past))
        if axis == 0:
            raise self.error(f"got axis {self.axis}, wanted another than that of the batch")
        merge((*past[:axis], UNKNOWN, *past[axis + 1 :]), (*update[:axis], UNKNOWN, *update[axis + 1 :]))
        if UNKNOWN is not past[axis] and UNKNOWN is not update[axis] and update[axis] > past[axis]:
            raise self.error(f"got {update[axis]} steps of update for a cache of {past[axis]}, wanted no more")
        if where is not None:
            merge(where, past[:1])
        return past

    def index(self, past, update, where):
        """Index at which update comes to lie. Raises OpError when that is outside."""
        axis = axis_of(self, self.axis, len(past))
        begin = np.zeros(past[0], np.int64) if where is None else where.astype(np.int64)
        steps = begin[:, None] + np.arange(update[axis])
        if self.mode == "circular":
            steps = steps % past[axis]
        elif steps.size and (steps.min() < 0 or steps.max() >= past[axis]):
            raise self.error(f"got write_indices {begin.tolist()} for {update[axis]} steps in a cache of {past[axis]}")
        grid = list(np.ix_(*map(np.arange, update)))
        grid[axis] = steps.reshape(
            [*steps.shape[:1], *(steps.shape[1] if a == axis else 1 for a in range(1, len(past)))]
        )
        return tuple(grid)

    def meaning(self, past, update, where):
        out = past.copy()
        out[self.index(past.shape, update.shape, where)] = update
        return out

    def adjoint(self, of, dy, *arrays):
        past, update, where = self.by_input(arrays)
        index = self.index(past.shape, update.shape, where)
        if of == 1:
            return dy[index]
        out = dy.copy()
        out[index] = 0
        return out

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(2, 3, 5, 2), make.uniform(2, 3, 2, 2), make.array([1, 3], "int64"), given=("write_indices",)
        )
        yield make(
            make.uniform(2, 4, 3),
            make.uniform(2, 2, 3),
            make.array([3, 1], "int64"),
            mode="circular",
            given=("write_indices",),
        )


@linear(0)
@op("_onnx_ReverseSequence")
class ReverseSequence(Standard):
    """The first sequence_lens[i] steps of every sequence of input backwards; later ones stay where they are.

    Shapes: input (batch, steps, ...) or by batch_axis and time_axis (steps, batch, ...), sequence_lens (batch,).
    Source: ONNX ReverseSequence (opset 10 to newest)."""

    batch_axis: int = 1
    time_axis: int = 0

    exception = "has its batch and its steps along any axes"

    inputs = ("input", "sequence_lens")
    types = {"input": STORED, "sequence_lens": {"int64"}}

    def check(self):
        if {self.batch_axis, self.time_axis} != {0, 1}:
            return f"got batch_axis={self.batch_axis} and time_axis={self.time_axis}, wanted 0 and 1"
        return super().check()

    def shape(self, data, lengths):
        want_rank_from(self, data, 2, what="input")
        merge(lengths, (data[self.batch_axis],))
        return data

    def meaning(self, data, lengths):
        count = data.shape[self.time_axis]
        steps, ends = np.arange(count)[:, None], lengths.astype(np.int64)
        if ends.size and not 0 <= ends.min() <= ends.max() <= count:
            raise self.error(f"got sequence_lens {ends.tolist()}, wanted 0 to {count}")
        source = np.where(steps < ends, ends - 1 - steps, steps)
        batch = np.arange(data.shape[self.batch_axis])
        return data[source, batch] if self.time_axis == 0 else data[batch[:, None], source.T]

    def adjoint(self, of, dy, data, lengths):
        return self.meaning(dy, lengths)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 3, 2), make.array([4, 1, 2], "int64"))
        yield make(make.uniform(3, 4), make.array([4, 1, 3], "int64"), batch_axis=0, time_axis=1)
