"""Shapes as tensors, and reshapes whose target is only known at run time."""

import math

import numpy as np

from ...core.dims import array_of
from ...core.op import Op, op
from ...core.shapes import UNKNOWN, broadcast, is_known, of_rank, show
from ..common import axis_of, narrow, tile_array, want_rank, widen
from ..shape import INFERRED, Reshaping, number, product, sizes_of
from .base import INT64, Standard, ints
from .types import STORED


@op("_onnx_Shape")
class ShapeOf(Standard):
    """The shape of data from axis start to end (exclusive), as a 1-D int64 tensor; both count from behind when
    negative and are moved inside. Source: ONNX Shape (opset 15 to newest)."""

    start: int = 0
    end: int | None = None

    types = {"data": STORED}

    def shape(self, data):
        return (len(data[self.start : self.end]),)

    def dtype(self, data):
        return INT64

    def composition(self, F, data):
        return F.slice(F.shape_array(data), begin=(self.start,), end=(self.end,))

    def meaning(self, data):
        return np.array(data.shape[self.start : self.end], np.int64)

    def infer_value(self, values, shapes):
        found = None if shapes[0] is None else shapes[0][self.start : self.end]
        return array_of(found) if is_known(found) else None

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))
        yield make(make.uniform(2, 3, 4), start=1, end=-1)


@op("_onnx_Size")
class SizeOf(Standard):
    """Number of elements of data, as an int64 tensor of no dimension. Source: ONNX Size (opset 1 to newest)."""

    types = {"data": STORED}

    def shape(self, data):
        return ()

    def dtype(self, data):
        return INT64

    def composition(self, F, data):
        return F._np_prod(F.shape_array(data)) if data.shape else None

    def meaning(self, data):
        return np.array(data.size, np.int64)

    def infer_value(self, values, shapes):
        return array_of((math.prod(shapes[0]),)).reshape(()) if is_known(shapes[0]) else None

    def gradient(self, F, dy, data, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))


class Moving(Standard, Reshaping):
    """Base of operators that keep the numbers in order and take the new shape from an input."""

    keeps = True

    needs = ("values",)
    composition = Op.composition  # type: ignore[assignment]
    exception = "a tensor says the shape or the axes, maybe not before it runs"
    data_dependent_shape = True
    partial = True
    types = {"data": STORED, "axes": {"int64"}}

    def meaning(self, data, *others):
        return data.reshape(
            self.shape(data.shape, *(None if o is None else o.shape for o in others), values=(data, *others))
        )


@op("_onnx_Reshape")
class Reshape(Moving):
    """The numbers of data in the given shape, in which one -1 takes what is left and 0 keeps the dim at its place, or
    with allowzero is a size. Source: ONNX Reshape (opset 5 to newest)."""

    allowzero: bool = False

    inputs = ("data", "shape")
    types = {"data": STORED, "shape": {"int64"}}

    def shape(self, data, shape, *, values):
        want_rank(self, shape, 1, what="shape")
        wanted = ints(values[1])
        if wanted is None:
            return None if shape[0] is UNKNOWN else of_rank(shape[0])
        own, sizes, open_ = sizes_of(data), [], []
        for place, size in enumerate(wanted):
            if size is UNKNOWN:
                open_.append(place)
                sizes.append(INFERRED)
            elif size == 0 and not self.allowzero:
                if place >= len(own):
                    raise self.error(
                        f"got shape {wanted}, which keeps dim {place} of data that has {len(own)} dimensions"
                    )
                sizes.append(own[place])
            elif size < -1:
                raise self.error(f"got shape {wanted}, wanted sizes, 0 or -1")
            else:
                sizes.append(INFERRED if size == -1 else number(size))
        if open_:  # one of them may turn out to be anything
            return tuple(UNKNOWN if s is INFERRED else s.dim for s in sizes)
        if sizes.count(INFERRED) > 1:
            raise self.error(f"got shape {wanted}, wanted at most one -1")
        done = self.complete_sizes(sizes, data, f"shape {wanted}")
        return tuple(UNKNOWN if s is INFERRED else s.dim for s in done)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.array([0, -1], "int64"))
        yield make(make.uniform(2, 3, 4), make.array([4, 6], "int64"), allowzero=True)


@op("_onnx_Flatten")
class Flatten(Standard, Reshaping):
    """The axes before ``axis`` as one, and those from it on as another. Source: ONNX Flatten (opset 1 to newest)."""

    keeps = True

    axis: int = 1

    inputs = ("input",)
    types = {"input": STORED}

    def sizes(self, data):
        at = self.axis if self.axis == len(data) else axis_of(self, self.axis, len(data))
        sizes = sizes_of(data)
        return [product(sizes[:at]), product(sizes[at:])]

    def shape(self, data):
        return tuple(size.dim for size in self.sizes(data))

    def meaning(self, data):
        return data.reshape(self.shape(data.shape))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4, 2), axis=2)


@op("_onnx_Squeeze")
class Squeeze(Moving):
    """data without the axes, which have size 1; by default without all such axes.

    An empty list of axes removes none (onnxruntime removes all). Source: ONNX Squeeze (opset 1 to newest)."""

    inputs = ("data", "axes")
    optional = ("axes",)

    def shape(self, data, axes, *, values):
        if "axes" not in self.given:
            return tuple(d for d in data if d != 1)
        found = ints(values[1])
        if not is_known(found):
            return None if (axes and axes[0] is UNKNOWN) else of_rank(len(data) - math.prod(axes))
        gone = {axis_of(self, a, len(data)) for a in found}
        for axis in gone:
            if data[axis] is not UNKNOWN and data[axis] != 1:
                raise self.error(f"cannot squeeze axis {axis} of size {data[axis]}")
        return tuple(d for a, d in enumerate(data) if a not in gone)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 1, 3, 1), make.array([1, -1], "int64"), given=("axes",))
        yield make(make.uniform(2, 1, 3, 1))


@op("_onnx_Unsqueeze")
class Unsqueeze(Moving):
    """data with new axes of size 1 at the places ``axes`` of the result. Source: ONNX Unsqueeze (opset 1 to newest)."""

    inputs = ("data", "axes")

    def shape(self, data, axes, *, values):
        found = ints(values[1])
        if not is_known(found):
            return None if (axes and axes[0] is UNKNOWN) else of_rank(len(data) + math.prod(axes))
        rank = len(data) + len(found)
        new = {axis_of(self, a, rank) for a in found}
        if len(new) < len(found):
            raise self.error(f"got axes {found}, wanted each once")
        old = iter(data)
        return tuple(1 if a in new else next(old) for a in range(rank))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), make.array([0, -1], "int64"))


AXES = 32
"""The most axes that NumPy broadcasts."""


@op("_onnx_Expand")
class Expand(Standard):
    """input broadcast with the given shape: a size of 1 there keeps input's. Source: ONNX Expand (opset 8 to
    newest)."""

    exception = "a tensor says the shape, maybe not before it runs"

    static_form = "broadcast_to"
    inputs = ("input", "shape")
    types = {"input": STORED, "shape": {"int64"}}
    needs = ("values",)
    data_dependent_shape = True
    partial = True

    def shape(self, data, shape, *, values):
        wanted = ints(values[1])
        if wanted is None:
            if shape[0] is UNKNOWN:
                return None
            wanted = of_rank(shape[0])
        if len(wanted) > AXES:
            raise self.error(f"got a shape of {len(wanted)} sizes, wanted {AXES} at most")
        return broadcast(data, wanted)

    def meaning(self, data, shape):
        return np.broadcast_to(data, np.broadcast_shapes(data.shape, ints(shape)))

    def gradient(self, F, dy, data, shape, y):
        return F._backward_sum_like(dy, data), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 1), make.array([2, 1, 4], "int64"))


@op("_onnx_Tile")
class Tile(Standard):
    """input repeated as often as repeats says along each axis. Source: ONNX Tile (opset 6 to newest)."""

    exception = "a tensor says the shape, maybe not before it runs"

    inputs = ("input", "repeats")
    types = {"input": STORED, "repeats": {"int64"}}
    needs = ("values",)
    data_dependent_shape = True
    partial = True

    def shape(self, data, repeats, *, values):
        found = ints(values[1])
        if found is None:
            return (UNKNOWN,) * len(data)
        if len(found) != len(data):
            raise self.error(f"got repeats {found}, wanted {len(data)} numbers")
        return tuple(d * r for d, r in zip(data, found))

    def meaning(self, data, repeats):
        return tile_array(data, ints(repeats))

    def gradient(self, F, dy, data, repeats, y):
        return F._backward__onnx_Tile(dy, data, repeats), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), make.array([2, 3], "int64"))


@op("_backward__onnx_Tile")
class TileBackward(Standard):
    """The repeats of dy added up in the shape of data."""

    inputs = ("dy", "data", "repeats")

    def shape(self, dy, data, repeats):
        return data

    def dtype(self, dy, data, repeats):
        return data

    def meaning(self, dy, data, repeats):
        if len(ints(repeats)) != data.ndim or dy.shape != tuple(n * d for n, d in zip(ints(repeats), data.shape)):
            raise self.error(
                f"got dy of shape {show(dy.shape)}, wanted {show(data.shape)} times the repeats {show(ints(repeats))}"
            )
        split = widen(dy).reshape([n for pair in zip(ints(repeats), data.shape) for n in pair])
        return narrow(split.sum(tuple(range(0, split.ndim, 2))), data.dtype)

    def gradient(self, F, ddx, dy, data, repeats, dx):
        return F._onnx_Tile(ddx, repeats), None, None
