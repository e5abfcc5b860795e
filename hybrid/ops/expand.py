"""Operators that repeat numbers: broadcasts, tile, repeat, Pad."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..core.attrs import Shape, Size
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, show
from .adjoint import linear, scatter_sum
from .common import axis_of, tile_array, want_rank, want_some
from .composing import definite, repeated, reshaped


class Broadcasting(Op):
    """Base of operators that repeat data along axes of size 1."""

    objects = True

    def infer_type(self, data, *like):
        return data

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], *dtypes[1:]]

    def broadcast_shape(self, data, wanted):
        """The shape data gets when its axes take the wanted sizes (None: keep). Raises OpError when one cannot."""
        out = []
        for axis, (have, want) in enumerate(zip(data, wanted)):
            if want is None:
                out.append(have)
            elif have is not UNKNOWN and want is not UNKNOWN and have not in (1, want):
                raise self.error(f"cannot broadcast axis {axis} of data of shape {show(data)} to size {want}")
            else:
                out.append(have if want is UNKNOWN and have is not UNKNOWN and have != 1 else want)
        return tuple(out)

    def composition(self, F, data, *like):
        shapes = [x.shape for x in (data, *like)]
        return None if None in shapes else repeated(F, data, self.infer_shape(*shapes))

    def compute(self, data, *like):
        return np.broadcast_to(data, self.infer_shape(data.shape, *(x.shape for x in like))).copy()

    def gradient(self, F, dy, data, *like_and_y):
        return F._backward_sum_like(dy, data), *(None for _ in like_and_y[1:])


@op("broadcast_to")
class BroadcastTo(Broadcasting):
    """data repeated along axes of size 1 to the given shape, where 0 keeps a dim. The rank stays."""

    meanings = {"shape": "Shape of the result, of the same rank; 0 keeps a dim."}

    shape: Shape = ()

    def target_sizes(self, rank: int) -> list[int | None]:
        """The size that each axis takes, None where it keeps its own."""
        if rank != len(self.shape):
            raise self.error(f"got data of {rank} dimensions, wanted {len(self.shape)} as in shape {show(self.shape)}")
        return [d or None for d in self.shape]

    def infer_shape(self, data):
        return self.broadcast_shape(data, self.target_sizes(len(data)))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 1, 3), shape=(2, 4, 3))
        yield make(make.uniform(2, 1), shape=(0, 3))


@op("_npi_broadcast_to")
class NumpyBroadcastTo(Broadcasting):
    """array repeated along axes of size 1 and new axes in front to the given shape, where -2 keeps a dim.

    Source: mx.np.broadcast_to."""

    meanings = {"shape": "Shape of the result; -2 keeps a dim."}

    shape: Shape = ()

    primitive = True
    inputs = ("array",)

    def target_sizes(self, rank: int) -> list[int | None]:
        """The size that each axis takes, None where it keeps its own."""
        if rank > len(self.shape):
            raise self.error(f"got array of {rank} dimensions, wanted at most {len(self.shape)}")
        return [None if d == -2 else d for d in self.shape]

    def infer_shape(self, array):
        wanted = self.target_sizes(len(array))
        return self.broadcast_shape((1,) * (len(wanted) - len(array)) + array, wanted)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 1), shape=(2, 3, 4))


@op("broadcast_axis", "broadcast_axes")
class BroadcastAxis(Broadcasting):
    """data repeated along each axis, which has size 1, to the size given for it."""

    meanings = {"axis": "Axes that are repeated, each of size 1.", "size": "New size of each of these axes."}

    axis: Shape = ()
    size: Shape = ()

    def check(self):
        if len(self.axis) != len(self.size):
            return f"axis={show(self.axis)} and size={show(self.size)} want equal lengths"
        return None

    def target_sizes(self, rank: int) -> list[int | None]:
        """The size that each axis takes, None where it keeps its own."""
        sizes: list[int | None] = [None] * rank
        for axis, size in zip(self.axis, self.size):
            sizes[axis_of(self, axis, rank)] = size
        return sizes

    def infer_shape(self, data):
        wanted = self.target_sizes(len(data))
        for axis, (have, want) in enumerate(zip(data, wanted)):
            if want is not None and have is not UNKNOWN and have != 1:
                raise self.error(f"cannot broadcast axis {axis} of data of shape {show(data)}, whose size is not 1")
        return self.broadcast_shape(data, wanted)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 3, 1), axis=(0, 2), size=(2, 4))


@op("broadcast_like")
class BroadcastLike(Broadcasting):
    """lhs repeated along axes of size 1 to the shape of rhs, or, where both are given, along lhs_axes to the sizes of rhs_axes."""

    lhs_axes: Shape | None = None
    rhs_axes: Shape | None = None

    inputs = ("lhs", "rhs")

    def check(self):
        if self.lhs_axes is None or self.rhs_axes is None:  # MXNet looks at neither
            return None
        if len(self.lhs_axes) != len(self.rhs_axes):
            return f"lhs_axes={self.lhs_axes} and rhs_axes={self.rhs_axes} want equal lengths"
        return None

    def pairs(self, lhs: int, rhs: int) -> list[tuple[int, int]]:
        """Axes of lhs with the axes of rhs whose sizes they take, given the ranks."""
        if self.lhs_axes is None or self.rhs_axes is None:
            if lhs != rhs:
                raise self.error(f"got {lhs} and {rhs} dimensions, wanted equally many, or lhs_axes and rhs_axes")
            return [(a, a) for a in range(lhs)]
        return [(axis_of(self, a, lhs), axis_of(self, b, rhs)) for a, b in zip(self.lhs_axes, self.rhs_axes)]

    def infer_shape(self, lhs, rhs):
        wanted: list = [None] * len(lhs)
        for a, b in self.pairs(len(lhs), len(rhs)):
            wanted[a] = rhs[b]
        return self.broadcast_shape(lhs, wanted)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 3), make.uniform(2, 3))
        yield make(make.uniform(2, 1, 2), make.uniform(4, 3), lhs_axes=(1,), rhs_axes=(0,))


@linear(0)
@op("tile", "_npi_tile")
class Tile(Op):
    """data repeated reps times along each axis; reps and axes are matched from the right, missing ones are 1."""

    objects = True

    reps: Shape

    def check(self):
        return f"reps={show(self.reps)} wants no negative number" if min(self.reps, default=0) < 0 else None

    def pad_reps(self, rank: int) -> tuple[int, ...]:
        """reps with ones in front, for at least rank axes."""
        return (1,) * (rank - len(self.reps)) + self.reps

    def infer_shape(self, data):
        reps = self.pad_reps(len(data))
        return tuple(d * r for d, r in zip((1,) * (len(reps) - len(data)) + data, reps))

    def composition(self, F, data):
        if data.shape is None:
            return None
        reps = self.pad_reps(len(data.shape))
        shape = definite((1,) * (len(reps) - len(data.shape)) + data.shape)
        split = reshaped(F, data, tuple(n for d in shape for n in (1, d)))
        many = repeated(F, split, tuple(n for pair in zip(reps, shape) for n in pair))
        return reshaped(F, many, tuple(map(math.prod, zip(reps, shape))))

    def compute(self, data):
        return tile_array(data, self.reps)

    def adjoint(self, of, dy, data):
        reps = self.pad_reps(data.ndim)
        shape = (1,) * (len(reps) - data.ndim) + data.shape
        split = dy.reshape([n for pair in zip(reps, shape) for n in pair])
        return split.sum(tuple(range(0, split.ndim, 2))).reshape(data.shape)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), reps=(2, 2))
        yield make(make.uniform(2, 3), reps=(2, 1, 3))


@linear(0)
@op("repeat", "_np_repeat")
class Repeat(Op):
    """Every number of data repeats times along axis, or of the flattened data. Zero times gives the shape (0,)."""

    meanings = {
        "axis": "Axis along which numbers are repeated, negative ones counted from the last; None: data is flattened first."
    }

    objects = True

    repeats: Size
    axis: int | None = None

    def infer_shape(self, data):
        if self.repeats == 0:
            return (0,)
        if self.axis is None:
            return (math.prod(data) * self.repeats,)
        axis = axis_of(self, self.axis, len(data))
        return (*data[:axis], data[axis] * self.repeats, *data[axis + 1 :])

    def composition(self, F, data):
        if data.shape is None or self.repeats == 0:
            return None
        shape = definite(data.shape)
        at = len(shape) if self.axis is None else axis_of(self, self.axis, len(shape)) + 1
        many = repeated(F, reshaped(F, data, (*shape[:at], 1, *shape[at:])), (*shape[:at], self.repeats, *shape[at:]))
        return reshaped(F, many, self.infer_shape(shape))

    def compute(self, data):
        if self.repeats == 0:
            return np.empty((0,), data.dtype)
        return np.repeat(data, self.repeats, self.axis)

    def adjoint(self, of, dy, data):
        if self.repeats == 0:
            return np.zeros_like(dy, order="C", shape=data.shape)
        after = 1 if self.axis is None else math.prod(data.shape[axis_of(self, self.axis, data.ndim) + 1 :])
        split = dy.reshape(data.size // after if after else 0, self.repeats, after)
        return split.sum(1).reshape(data.shape)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), repeats=2, axis=1)
        yield make(make.uniform(2, 3), repeats=3)


def unpad(dy: np.ndarray, shape: tuple[int, ...], pairs: Sequence[Sequence[int]], mode: str) -> np.ndarray:
    """The gradient of an array of that shape from that of the array padded."""
    if mode == "constant":
        return dy[tuple(slice(before, before + size) for size, (before, _) in zip(shape, pairs))]
    for axis, (size, pair) in enumerate(zip(shape, pairs)):
        if any(pair):
            sources = np.pad(np.arange(size), tuple(pair), mode)  # type: ignore[call-overload]
            dy = np.moveaxis(scatter_sum(np.moveaxis(dy, axis, 0), sources, size), 0, axis)
    return dy


@linear(0, constant_value=0)
@op("Pad", "pad")
class Pad(Op):
    """Rows of numbers around data of 4 or 5 dimensions, the first two excepted.

    pad_width gives, for every axis, how many come before and after. mode constant puts constant_value there, edge
    repeats the last number, reflect mirrors data at its last number.
    """

    meanings = {"mode": "What the border holds: see above."}

    mode: Literal["constant", "edge", "reflect"]
    pad_width: Shape
    constant_value: float = 0.0

    def pairs(self) -> list[tuple[int, int]]:
        """For every axis how many numbers come before and after."""
        return list(zip(self.pad_width[::2], self.pad_width[1::2]))

    def check(self):
        if len(self.pad_width) not in (8, 10) or min(self.pad_width) < 0:
            return f"pad_width={show(self.pad_width)} wants 8 or 10 numbers, none negative"
        return (
            f"pad_width={show(self.pad_width)} wants zeros for the first two axes" if any(self.pad_width[:4]) else None
        )

    def infer_shape(self, data):
        want_rank(self, data, len(self.pad_width) // 2)
        if self.mode == "edge":
            want_some(self, data, *(axis for axis, pair in enumerate(self.pairs()) if any(pair)))
        if self.mode == "reflect":
            for axis, pair in enumerate(self.pairs()):
                if data[axis] is not UNKNOWN and any(pair) and max(pair) >= data[axis]:
                    raise self.error(
                        f"cannot reflect {max(pair)} numbers over axis {axis} of data of shape {show(data)}"
                    )
        return tuple(d + before + after for d, (before, after) in zip(data, self.pairs()))

    def composition(self, F, data):
        return F._npi_pad(data, pad_width=self.pairs(), mode=self.mode, constant_value=self.constant_value)

    def compute(self, data):
        if self.mode == "constant":
            return np.pad(data, self.pairs(), constant_values=self.constant_value)
        return np.pad(data, self.pairs(), self.mode)

    def adjoint(self, of, dy, data):
        return unpad(dy, data.shape, self.pairs(), self.mode)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 3, 4), mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 2, 1), constant_value=1.5)
        yield make(make.uniform(1, 2, 3, 4), mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 2, 1))
        yield make(make.uniform(1, 2, 3, 4), mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 2, 1))


@linear(0, constant_value=0)
@op("_npi_pad")
class NumpyPad(Op):
    """Rows of numbers around data, as many before and after each axis as pad_width has pairs.

    constant puts constant_value there, edge repeats the last number, reflect and symmetric mirror data at and behind it,
    maximum and minimum put those along the axis. Source: mx.np.pad.
    """

    meanings = {"mode": "What the border holds: see above."}

    pad_width: tuple[tuple[int, ...], ...]
    mode: Literal["constant", "edge", "reflect", "symmetric", "maximum", "minimum"] = "constant"
    constant_value: float = 0.0
    reflect_type: Literal["even"] = "even"

    primitive = True

    def check(self):
        if any(len(pair) != 2 or min(pair) < 0 for pair in self.pad_width):
            return f"pad_width={self.pad_width} wants pairs, none negative"
        return None

    def infer_shape(self, data):
        want_rank(self, data, len(self.pad_width))
        empty = (d is not UNKNOWN and d == 0 and max(around) > 0 for d, around in zip(data, self.pad_width))
        if self.mode != "constant" and any(empty):
            raise self.error(f"got data of shape {show(data)}, wanted an element to pad with along each axis")
        return tuple(d + before + after for d, (before, after) in zip(data, self.pad_width))

    def compute(self, data):
        if self.mode == "constant":
            return np.pad(data, self.pad_width, constant_values=self.constant_value)
        return np.pad(data, self.pad_width, self.mode)

    def adjoint(self, of, dy, data):
        if self.mode in ("maximum", "minimum"):
            raise self.error(f"got mode={self.mode!r}, which has no gradient; pad with another mode")
        return unpad(dy, data.shape, self.pad_width, self.mode)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), pad_width=((1, 2), (0, 1)), constant_value=2.5)
        yield make(make.uniform(2, 3), pad_width=((3, 2), (0, 1)), mode="symmetric")
