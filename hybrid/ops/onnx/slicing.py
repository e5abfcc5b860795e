"""Arity of arrays, pads and triangles, where what to cut or to add may only be known at run time."""

import math
from typing import Literal

import numpy as np

from ...core.attrs import Arity, Shape
from ...core.dims import length_of
from ...core.op import op
from ...core.shapes import UNKNOWN, is_known
from ..adjoint import linear, scatter_sum
from ..common import axis_of
from ..composing import definite, known
from ..slicing import within
from .base import OBJECT, Standard, ints
from .types import INDICES, STORED


def cut(start: int, end: int, step: int, size: int) -> slice:
    """The slice that ONNX means along an axis of a size. A walk backwards from before the first element takes the first, as the
    standard and onnxruntime have it; Python's takes nothing. Source: ONNX Slice (opset 10 to newest)."""
    return slice(max(start, -size) if step < 0 else start, end, step)


@linear(0)
@op("_onnx_Slice")
class Slice(Standard):
    """data[starts[i]:ends[i]:steps[i]] along each axes[i] (the first ones by default); what counts from
    behind or lies outside is moved inside, as cut says. Source: ONNX Slice (opset 10 to newest)."""

    exception = "tensors say what is cut, maybe not before it runs"

    static_form = "slice"
    inputs = ("data", "starts", "ends", "axes", "steps")
    types = {"data": STORED, "starts ends axes steps": INDICES}
    optional = ("axes", "steps")
    needs = ("values",)
    data_dependent_shape = True
    partial = True
    only_moves_data = True

    def parts(self, rank, starts, ends, axes, steps):
        """(axis, start, end, step) for every axis that is cut."""
        axes = range(len(starts)) if axes is None else axes
        steps = (1,) * len(starts) if steps is None else steps
        if not len(starts) == len(ends) == len(axes) == len(steps):
            raise self.error(
                f"got starts={starts}, ends={ends}, axes={tuple(axes)}, steps={steps}, wanted equal lengths"
            )
        if 0 in [s for s in steps if s is not UNKNOWN]:
            raise self.error(f"got steps={steps}, wanted no zero")
        return [(axis_of(self, a, rank), *part) for a, *part in zip(axes, starts, ends, steps)]

    def shape(self, data, *others, values):
        starts, ends, axes, steps = map(ints, values[1:])
        out = list(data)
        if "axes" in self.given and not is_known(axes):
            return (UNKNOWN,) * len(data)
        counts = [len(v) for v in (axes, starts, ends, steps) if v is not None]
        # one number without a dimension counts as one, as in onnxruntime
        counts += [math.prod(s) for s in others[:2] if is_known(s)]
        count = counts[0] if counts else len(data)
        known = [
            (UNKNOWN,) * count if v is None and name in (*self.given, "starts", "ends") else v
            for name, v in zip(("starts", "ends", "axes", "steps"), (starts, ends, axes, steps))
        ]
        for axis, start, end, step in self.parts(len(data), *known):
            whole = is_known((start, end, step, data[axis]))
            part = cut(start, end, step, data[axis]) if whole else None
            out[axis] = UNKNOWN if part is None else length_of(part.start, part.stop, part.step, data[axis])
        return tuple(out)

    def part(self, shape, *others):
        """The index of the part."""
        index = [slice(None)] * len(shape)
        for axis, start, end, step in self.parts(len(shape), *map(ints, others)):
            index[axis] = cut(start, end, step, shape[axis])
        return tuple(index)

    def meaning(self, data, *others):
        return data[self.part(data.shape, *others)]

    def adjoint(self, of, dy, *arrays):
        data, *others = self.by_input(arrays)
        return within(data, self.part(data.shape, *others), dy)

    @classmethod
    def examples(cls, make):
        starts, ends = make.array([-1, 0], "int64"), make.array([-100, 3], "int64")
        axes, steps = make.array([2, 0], "int64"), make.array([-2, 1], "int64")
        yield make(make.uniform(3, 2, 5), starts, ends, axes, steps, given=("axes", "steps"))
        yield make(make.uniform(3, 4), make.array([1], "int64"), make.array([3], "int64"))


@op("_onnx_Split")
class Split(Standard):
    """input cut along axis into pieces of the sizes ``split``, or into num_outputs pieces of one size, the last of
    which is smaller where the axis does not divide. Source: ONNX Split (opset 18 to newest)."""

    axis: int = 0
    num_outputs: Arity

    exception = "tensors say what is cut, maybe not before it runs"

    inputs = ("input", "split")
    types = {"input": STORED, "split": {"int64"}}
    optional = ("split",)
    needs = ("values",)
    data_dependent_shape = True
    only_moves_data = True

    def output_names(self):
        return tuple(f"output{i}" for i in range(self.num_outputs))

    def pieces(self, total, split):
        """Sizes of the pieces of an axis of size total."""
        if split is None:
            each = -(-total // self.num_outputs)
            return [*[each] * (self.num_outputs - 1), total - each * (self.num_outputs - 1)]
        return list(split)

    def check_sizes(self, total, sizes):
        """Raise OpError unless the pieces make up the axis."""
        if len(sizes) != self.num_outputs or any(s is not UNKNOWN and s < 0 for s in sizes):
            raise self.error(f"cannot cut an axis of size {total} into {self.num_outputs} pieces, got sizes {sizes}")
        if is_known((total, *sizes)) and sum(sizes) != total:
            raise self.error(f"got pieces of {sizes}, wanted the sum {total}")

    def shape(self, data, split, *, values):
        axis = axis_of(self, self.axis, len(data))
        known = ints(values[1])
        if known is None and "split" in self.given:
            sizes = [UNKNOWN] * self.num_outputs
        else:
            sizes = self.pieces(data[axis], known)
            self.check_sizes(data[axis], sizes)
        found = [(*data[:axis], s, *data[axis + 1 :]) for s in sizes]
        return found if len(found) > 1 else found[0]

    def meaning(self, data, split):
        axis = axis_of(self, self.axis, data.ndim)
        sizes = self.pieces(data.shape[axis], ints(split))
        self.check_sizes(data.shape[axis], sizes)
        return tuple(np.split(data, np.cumsum(sizes)[:-1], axis))

    def gradient(self, F, dy, *arrays):
        joined = F.Concat(*dy, dim=self.axis) if isinstance(dy, tuple) else dy
        return joined, *(None for _ in self.given)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 7), axis=1, num_outputs=3)
        yield make(make.uniform(5, 2), make.array([1, 4], "int64"), num_outputs=2, given=("split",))


def sources(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """For each place of an axis padded with its own numbers, the place that its number is from. size is not 0."""
    places = np.arange(-before, size + after)
    if mode == "edge":
        return places.clip(0, size - 1)
    if mode == "wrap":
        return places % size
    turn = places % max(2 * size - 2, 1)
    return np.minimum(turn, 2 * size - 2 - turn)


@linear(0, 2, jointly=True)
@op("_onnx_Pad")
class Pad(Standard):
    """data with pads[i] places before and pads[n + i] after axis axes[i] (all by default); a negative number takes as
    many away first.

    They hold constant_value (0 by default), or with mode edge the last number, reflect the numbers mirrored at it,
    wrap those of the other end. ``axes`` wants constant_value. Source: ONNX Pad (opset 18 to newest)."""

    mode: Literal["constant", "reflect", "edge", "wrap"] = "constant"

    exception = "tensors say what is cut, maybe not before it runs"

    inputs = ("data", "pads", "constant_value", "axes")
    types = {"data constant_value": STORED, "pads": {"int64"}, "axes": INDICES}
    optional = ("constant_value", "axes")
    numbers = ("constant_value",)
    needs = ("values",)
    data_dependent_shape = True

    def check(self):
        if "axes" in self.given and "constant_value" not in self.given:
            return f"got given={self.given}, wanted constant_value with axes"
        return super().check()

    def pairs(self, rank, pads, axes):
        """(before, after) for every axis."""
        chosen = range(rank) if axes is None else [axis_of(self, a, rank) for a in axes]
        if len(pads) != 2 * len(chosen):
            raise self.error(f"got pads={pads}, wanted two for each of {len(chosen)} axes")
        found = dict(zip(chosen, zip(pads, pads[len(chosen) :])))
        return [found.get(a, (0, 0)) for a in range(rank)]

    def shape(self, data, pads, value, axes, *, values):
        pads, axes = ints(values[1]), ints(values[3])
        if pads is None or ("axes" in self.given and axes is None):
            return (UNKNOWN,) * len(data)
        return tuple(d + before + after for d, (before, after) in zip(data, self.pairs(len(data), pads, axes)))

    def meaning(self, data, pads, value, axes):
        pairs = self.pairs(data.ndim, ints(pads), ints(axes))
        cut = data[(..., *self.kept_part(data.shape, pairs))]
        if self.mode == "constant":
            fill = value.reshape(()) if value is not None else "" if data.dtype == object else np.zeros((), data.dtype)
            out = np.full([d + b + a for d, (b, a) in zip(data.shape, pairs)], fill, data.dtype)
            out[self.places(cut.shape, pairs)] = cut
            return out
        for axis, pair in enumerate(pairs):
            if max(pair) > 0 and not cut.shape[axis]:
                raise self.error(
                    f"cannot pad axis {axis} of data of shape {data.shape} with mode {self.mode}: it is empty"
                )
        if not cut.size:  # without what along other axes lies between
            return np.empty([d + max(b, 0) + max(a, 0) for d, (b, a) in zip(cut.shape, pairs)], data.dtype)
        for axis, (before, after) in enumerate(pairs):
            if before > 0 or after > 0:
                cut = cut.take(sources(cut.shape[axis], max(before, 0), max(after, 0), self.mode), axis)
        return cut

    @staticmethod
    def kept_part(shape, pairs):
        """The part of data that negative pads leave."""
        return tuple(slice(max(-b, 0), max(d - max(-a, 0), 0)) for d, (b, a) in zip(shape, pairs))

    @staticmethod
    def places(shape, pairs):
        """Index of that part in the result."""
        return tuple(slice(max(b, 0), max(b, 0) + d) for d, (b, a) in zip(shape, pairs))

    def adjoint(self, of, dy, *arrays):
        data, pads, _value, axes = self.by_input(arrays)
        pairs = self.pairs(data.ndim, ints(pads), ints(axes))
        kept = self.kept_part(data.shape, pairs)
        inner = [len(range(d)[k]) for d, k in zip(data.shape, kept)]
        if self.mode == "constant":
            place = self.places(inner, pairs)
            if of == 2:
                return (dy.sum() - dy[place].sum()).reshape(arrays[2].shape)
            return within(data, kept, dy[place])
        if of == 2:
            return np.zeros(arrays[2].shape, dy.dtype)
        for axis, (size, (before, after)) in enumerate(zip(inner, pairs)):
            if before > 0 or after > 0:
                where = sources(size, max(before, 0), max(after, 0), self.mode)
                dy = np.moveaxis(scatter_sum(np.moveaxis(dy, axis, 0), where, size), 0, axis)
        return within(data, kept, dy)

    def gradient(self, F, dy, *arrays_and_y):
        given, attrs = arrays_and_y[:-1], self.dump()
        linear_in = (0, 2) if "constant_value" in self.given else (0,)
        return [F._backward__onnx_Pad(dy, *given, **attrs, of=i) if i in linear_in else None for i in range(len(given))]

    @classmethod
    def examples(cls, make):
        pads = make.array([1, -1, 2, 0, 3, 0], "int64")
        yield make(make.uniform(2, 3, 4), pads, make.array(1.5), given=("constant_value",))
        for mode in ("reflect", "edge"):
            yield make(make.uniform(2, 3, 4), make.array([0, 2, 1, 0, 1, 3], "int64"), mode=mode)


@linear(0)
@op("_onnx_CenterCropPad")
class CenterCropPad(Standard):
    """The middle of input_data, or input_data in the middle of zeros, so that axes (all by default) have the sizes
    ``shape``; what is odd goes to the end. Source: ONNX CenterCropPad (opset 18 to newest)."""

    axes: Shape | None = None

    exception = "tensors say what is cut, maybe not before it runs"

    inputs = ("input_data", "shape")
    types = {"input_data": STORED, "shape": INDICES}
    needs = ("values",)
    data_dependent_shape = True
    partial = True

    def sizes(self, data, wanted):
        """The shape of the result."""
        axes = range(len(data)) if self.axes is None else [axis_of(self, a, len(data)) for a in self.axes]
        if len(wanted) != len(axes):
            raise self.error(f"got shape {wanted}, wanted {len(axes)} sizes")
        out = list(data)
        for axis, size in zip(axes, wanted):
            out[axis] = size
        return tuple(out)

    def shape(self, data, shape, *, values):
        count = len(data) if self.axes is None else len(self.axes)
        return self.sizes(data, (UNKNOWN,) * count if values[1] is None else ints(values[1]))

    @staticmethod
    def middle(whole, part):
        """Index of the middle of the larger of two sizes, as long as the smaller, for every axis; nothing is cut where the
        first is the smaller one."""
        return tuple(slice((w - p) // 2, (w - p) // 2 + p) if p < w else slice(None) for w, p in zip(whole, part))

    def meaning(self, data, shape):
        sizes = self.sizes(data.shape, ints(shape))
        out = np.zeros(sizes, data.dtype)
        out[self.middle(sizes, data.shape)] = data[self.middle(data.shape, sizes)]
        return out

    def adjoint(self, of, dy, data, shape):
        return within(data, self.middle(data.shape, dy.shape), dy[self.middle(dy.shape, data.shape)])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 3, 5), make.array([7, 2], "int64"), axes=(0, -1))


@linear(0)
@op("_onnx_Trilu")
class Trilu(Standard):
    """The last two axes of input with zeros below its k-th diagonal, or with upper=0 above it. Source: ONNX Trilu
    (opset 14 to newest)."""

    upper: bool = True

    inputs = ("input", "k")
    types = {"input": STORED, "k": {"int64"}}
    optional = ("k",)
    numbers = optional

    def shape(self, data, k):
        if len(data) < 2:
            raise self.error(f"got {len(data)} dimensions, wanted two at least")
        return data

    def composition(self, F, data, k=None):
        if k is not None or not known(data) or data.dtype == OBJECT:  # k is known only when it runs
            return None
        rows, columns = definite(data.shape[-2:])
        down = F.expand_dims(F._arange(start=0, stop=rows, dtype="int64"), axis=1)
        across = F._arange(start=0, stop=columns, dtype="int64")
        kept = F.broadcast_lesser_equal(*((down, across) if self.upper else (across, down)))
        return F._npi_where(kept, data, F.zeros_like(data))

    def meaning(self, data, k):
        rows, columns = data.shape[-2:]
        diagonal = 0 if k is None else min(max(int(k.item()), -rows), columns)
        across = np.arange(columns) - np.arange(rows)[:, None]
        kept = across >= diagonal if self.upper else across <= diagonal
        return np.where(kept, data, np.zeros((), data.dtype))

    def adjoint(self, of, dy, *arrays):
        return self.meaning(dy, self.by_input(arrays)[1])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))
        yield make(make.uniform(3, 4), make.array(-1, "int64"), upper=False, given=("k",))
