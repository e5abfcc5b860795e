"""Operators that give the same numbers another shape: Reshape and its kin, and permutations of axes."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core.attrs import Shape, ShapeOrNone
from ..core.dims import Ratio, fraction
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, is_known, show
from .adjoint import linear
from .common import axis_of
from .composing import reshaped


class Size(NamedTuple):
    """A dim of a reshaped array: a number times the sizes of some axes of the data, those that are not known.

    Numbers alone could not say that (batch, 6) reshaped by (0, -1, 2) is (batch, 3, 2) for every batch.
    """

    factor: Fraction | Ratio
    axes: tuple[int, ...] = ()

    def times(self, other: "Size") -> "Size":
        return Size(self.factor * other.factor, tuple(sorted((*self.axes, *other.axes))))

    def over(self, other: "Size") -> "Size | None":
        """The quotient; None when the divisor's axes do not all cancel."""
        rest = list(self.axes)
        for axis in other.axes:
            if axis not in rest:
                return None
            rest.remove(axis)
        return Size(self.factor / other.factor, tuple(rest))

    @property
    def dim(self) -> Any:
        """The dim as shapes have it: a number or UNKNOWN."""
        return UNKNOWN if self.axes else self.factor.numerator // self.factor.denominator


INFERRED: Any = None
"""Stands in a list of sizes for the one dim that makes up for the rest, where it cannot be said as a Size."""


def number(value: int) -> Size:
    """A Size that is known."""
    return Size(fraction(value))


def sizes_of(shape: Sequence[Any]) -> list[Size]:
    """The dims of data as sizes."""
    return [Size(Fraction(1), (a,)) if d is UNKNOWN else number(d) for a, d in enumerate(shape)]


def product(sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    out = number(1)
    for size in sizes:
        out = out.times(size)
    return out


class Reshaping(Op):
    """Base of operators that keep the numbers in order and change the shape."""

    left_open = ("sizes",)
    view = True
    only_moves_data = True

    def sizes(self, *shapes: Any) -> list[Size]:
        """The result's dims, at most one of which is INFERRED. Raises OpError when the data does not fit."""
        raise NotImplementedError

    def infer_shape(self, *shapes):
        return tuple(UNKNOWN if s is INFERRED else s.dim for s in self.sizes(*shapes))

    def composition(self, F, data, *others):
        shapes = [x.shape for x in (data, *others)]
        return None if None in shapes else reshaped(F, data, self.infer_shape(*shapes))

    def compute(self, data, *others):
        key = (data.shape, *(o.shape for o in others)) if others else data.shape
        shape = self.memo.get(key)
        if shape is None:
            shape = self.memo[key] = self.infer_shape(data.shape, *(o.shape for o in others))
        return data.reshape(shape)

    def gradient(self, F, dy, data, *others_and_y):
        return F._backward_reshape_like(dy, data), *(None for _ in others_and_y[1:])

    def complete_sizes(self, sizes: list[Size], data: Any, wanted: Any) -> list[Size]:
        """Sizes with INFERRED worked out where that is possible, checked against the data's shape."""
        total = product(sizes_of(data))
        if INFERRED not in sizes:
            made = product(sizes)
            if made.axes == total.axes and made.factor != total.factor:
                raise self.error(f"got data of shape {show(data)}, which {wanted} cannot hold")
            return sizes
        others = product([s for s in sizes if s is not INFERRED])
        if others.factor == 0:
            raise self.error(f"cannot tell -1 in {wanted} for data of shape {show(data)}, whose size is 0")
        rest = total.over(others)
        if rest is None:
            return sizes
        if not rest.axes and rest.factor.denominator != 1:
            raise self.error(f"got data of shape {show(data)}, of which {wanted} does not divide the size")
        return [rest if s is INFERRED else s for s in sizes]


def legacy_sizes(operator: Reshaping, codes: Sequence[int], data: list[Size]) -> list[Size]:
    """Sizes by the codes of Reshape: 0 keeps a dim, -1 infers one, -2 keeps the rest, -3 merges two, -4 splits one."""
    out: list[Size] = []
    source, position = 0, 0
    inferred: list[tuple[int, int]] = []

    def take(count: int) -> list[Size]:
        nonlocal source
        if source + count > len(data):
            raise operator.error(f"shape {show(tuple(codes))} asks for more dimensions than the {len(data)} of data")
        source += count
        return data[source - count : source]

    while position < len(codes):
        code = codes[position]
        position += 1
        if code == 0:
            out += take(1)
        elif code == -1:
            inferred.append((position - 1, len(out)))
            out.append(INFERRED)
            source += 1
        elif code == -2:
            out += data[source:]
            source = len(data)
        elif code == -3:
            out.append(product(take(2)))
        elif code == -4:
            out += split_size(operator, codes, position, take(1)[0])
            position += 2
        elif code > 0:
            out.append(number(code))
            source += 1
        else:
            raise operator.error(f"got code {code} in shape {show(tuple(codes))}, wanted a size or a code from 0 to -4")
    for place, wanted in inferred[:1]:
        # MXNet writes the inferred dim to the place that its code has among the codes, and leaves 1 where it belongs;
        # after -2 and -4, which stand for more or fewer dims than codes, these differ, and the size only fits over a 1
        if place != wanted:
            if place < len(out) and out[place] != number(1):
                raise operator.error(
                    f"MXNet cannot infer the -1 that comes after -2 or -4 in shape {show(tuple(codes))}"
                )
            out[wanted] = number(1)
            out[place : place + 1] = [INFERRED] * (place < len(out))
    return out


def split_size(operator: Reshaping, codes: Sequence[int], position: int, whole: Size) -> list[Size]:
    """One dim as two, given by the codes at position, one of which may be -1."""
    if position + 2 > len(codes):
        raise operator.error(f"got shape {show(tuple(codes))}, wanted two sizes after a split")
    parts = [INFERRED if c == -1 else number(c) for c in codes[position : position + 2]]
    if parts.count(INFERRED) == 2 or any(p is not INFERRED and p.factor < 1 for p in parts):
        raise operator.error(f"got shape {show(tuple(codes))}, wanted two sizes, one of them -1 at most, after a split")
    if INFERRED in parts:
        known = next(p for p in parts if p is not INFERRED)
        rest = Size(whole.factor / known.factor, whole.axes)
        parts = [rest if p is INFERRED else p for p in parts]
    made = product(parts)
    if not whole.axes and (made != whole or any(p.factor.denominator != 1 for p in parts)):
        raise operator.error(f"cannot split a dimension of {whole.dim} as shape {show(tuple(codes))} says")
    return parts


@op("Reshape", "reshape")
class Reshape(Reshaping):
    """The same numbers in another shape.

    shape holds sizes or codes: 0 keeps the dim at this place, -1 takes what is left, -2 keeps all dims that follow, -3
    merges two dims, -4 splits one into the two sizes after it (one of which may be -1). With reverse, codes are matched
    from the right, and a split is written backwards (size, size, -4). target_shape and keep_highest are the oldest
    spelling: one 0 is inferred, and keep_highest keeps the first dim. Source: MXNet Reshape.
    """

    meanings = {"shape": "Sizes and codes, as said above."}

    shape: Shape = ()
    reverse: bool = False
    target_shape: ShapeOrNone = ()
    keep_highest: bool = False

    def sizes(self, data):
        if not self.shape and not self.target_shape:
            return self.complete_sizes([], data, "the empty shape")
        if not self.shape:
            sizes = [number(d) if d > 0 else INFERRED for d in self.target_shape]
            if self.keep_highest:
                sizes[0] = sizes_of(data[:1])[0]
            wanted = f"target_shape {show(self.target_shape)}"
        else:
            wanted = f"shape {show(self.shape)}"
            # with reverse codes and axes are mirrored; a Size still names the axis that it means
            way = slice(None, None, -1 if self.reverse else 1)
            sizes = legacy_sizes(self, self.shape[way], sizes_of(data)[way])[way]
        if sizes.count(INFERRED) > 1:
            raise self.error(f"got {wanted}, wanted at most one dimension to infer")
        return self.complete_sizes(sizes, data, wanted)

    def infer_input_shapes(self, shapes, outputs):
        """One unknown dim of the data follows from the size of the output (MXNet's ReverseReshapeInferShape)."""
        data, output = shapes[0], outputs[0]
        if data is None or not is_known(output) or sum(d is UNKNOWN for d in data) != 1:
            return shapes
        known = math.prod(d for d in data if d is not UNKNOWN)
        size = math.prod(output)
        if known == 0 or size % known:
            return shapes
        return [tuple(size // known if d is UNKNOWN else d for d in data), *shapes[1:]]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), shape=(0, -1))
        yield make(make.uniform(2, 3, 4), shape=(-3, -2))
        yield make(make.uniform(2, 3, 4), shape=(0, -4, 3, -1, 0))
        yield make(make.uniform(2, 3, 4), shape=(-1, 0), reverse=True)


@op("_np_reshape")
class NumpyReshape(Reshaping):
    """The same numbers in the shape newshape, one dim of which may be -1; 0 is a size. Source: MXNet mx.np.reshape."""

    newshape: Shape
    order: Literal["C"] = "C"

    primitive = True
    inputs = ("a",)

    def check(self):
        if self.newshape.count(-1) > 1 or min(self.newshape, default=0) < -1:
            return f"newshape={show(self.newshape)} wants sizes, and -1 at most once"
        return None

    def sizes(self, a):
        sizes = [INFERRED if d == -1 else number(d) for d in self.newshape]
        return self.complete_sizes(sizes, a, f"newshape {show(self.newshape)}")

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), newshape=(6, -1))


@op("_npx_reshape", "_npi_reshape")
class ExtendedReshape(Reshaping):
    """The same numbers in another shape, with codes.

    -1 infers a dim, -2 keeps one, -3 skips one of size 1, -4 keeps all that are left, -5 merges two, -6 splits one into
    the two sizes after it. With reverse, codes are matched from the right. Source: MXNet mx.npx.reshape.
    """

    newshape: Shape
    reverse: bool = False
    order: Literal["C"] = "C"

    inputs = ("a",)

    def sizes(self, a):
        wanted = f"newshape {show(self.newshape)}"
        # with reverse codes and axes are mirrored; a Size still names the axis that it means
        way = slice(None, None, -1 if self.reverse else 1)
        sizes = self._forward(self.newshape[way], sizes_of(a)[way])[way]
        if sizes.count(INFERRED) > 1:
            raise self.error(f"got {wanted}, wanted at most one dimension to infer")
        return self.complete_sizes(sizes, a, wanted)

    def _forward(self, codes: Sequence[int], data: list[Size]) -> list[Size]:
        out: list[Size] = []
        source, position = 0, 0
        while position < len(codes):
            code = codes[position]
            position += 1
            if code < -6:
                raise self.error(f"got code {code} in newshape {show(self.newshape)}, wanted a size or a code to -6")
            needed = {-2: 1, -3: 1, -5: 2, -6: 1}.get(code, 0)
            if needed and source + needed > len(data):
                raise self.error(f"newshape {show(self.newshape)} asks for more dimensions than the {len(data)} of a")
            taken = data[source : source + needed]
            source += needed
            if code == -1:
                out.append(INFERRED)
                source += 1
            elif code == -2:
                out += taken
            elif code == -3:
                if not taken[0].axes and taken[0].factor != 1:
                    raise self.error(f"code -3 skips a dimension of size 1, got size {taken[0].dim}")
            elif code == -4:
                out += data[source:]
                source = len(data)
            elif code == -5:
                out.append(product(taken))
            elif code == -6:
                out += split_size(self, codes, position, taken[0])
                position += 2
            else:
                out.append(number(code))
                source += 1
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), newshape=(-2, -1))
        yield make(make.uniform(2, 3, 4), newshape=(-5, -4))
        yield make(make.uniform(2, 1, 4), newshape=(-2, -3, -6, 2, -1))


@op("Flatten", "flatten", "_npx_batch_flatten")
class Flatten(Reshaping):
    """All axes but the first as one: (N, ...) -> (N, product of the others)."""

    def sizes(self, data):
        if not data:
            raise self.error("got data without dimensions, wanted at least one")
        sizes = sizes_of(data)
        return [sizes[0], product(sizes[1:])]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4))
        yield make(make.uniform(5))


@op("expand_dims", "_npi_expand_dims")
class ExpandDims(Reshaping):
    """A new axis of size 1 at position axis of the result."""

    meanings = {"axis": "Position of the new axis in the result; negative ones count from its last."}

    axis: int

    def sizes(self, data):
        at = axis_of(self, self.axis, len(data) + 1)
        sizes = sizes_of(data)
        return [*sizes[:at], number(1), *sizes[at:]]

    def infer_input_shapes(self, shapes, outputs):
        if outputs[0] is None:
            return shapes
        at = axis_of(self, self.axis, len(outputs[0]))
        return [(*outputs[0][:at], *outputs[0][at + 1 :])]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), axis=1)
        yield make(make.uniform(2, 3), axis=-1)


@op("squeeze")
class Squeeze(Reshaping):
    """Without the axes, which have size 1; by default without all such axes. An array of one element keeps one dim."""

    meanings = {"axis": "Axes to drop, each of size 1; None: all such axes."}

    axis: Shape | None = None

    left_open = ("keeps_one",)

    keeps_one = True

    def sizes(self, data):
        sizes = sizes_of(data)
        if self.axis is None:
            gone = {a for a, d in enumerate(data) if d == 1}
        else:
            gone = {axis_of(self, a, len(data)) for a in self.axis}
            for axis in gone:
                if data[axis] is not UNKNOWN and data[axis] != 1:
                    raise self.error(f"cannot squeeze axis {axis} of data of shape {show(data)}, whose size is not 1")
        left = [s for a, s in enumerate(sizes) if a not in gone]
        return left or ([number(1)] if self.keeps_one and data else [])

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 1, 3, 1))
        yield make(make.uniform(2, 1, 3, 1), axis=(1,))


@op("_np_squeeze")
class NumpySqueeze(Squeeze):
    """Without the axes, which have size 1; by default without all such axes. Source: MXNet mx.np.squeeze."""

    inputs = ("a",)
    keeps_one = False

    def sizes(self, data):
        return [] if not data and self.axis in ((0,), (-1,)) else super().sizes(data)  # NumPy lets a number have one


@op("reshape_like", "_npx_reshape_like")
class ReshapeLike(Reshaping):
    """lhs in the shape of rhs; or only axes lhs_begin to lhs_end, in the shape of axes rhs_begin to rhs_end of rhs."""

    lhs_begin: int | None = None
    lhs_end: int | None = None
    rhs_begin: int | None = None
    rhs_end: int | None = None

    inputs = ("lhs", "rhs")

    def sizes(self, lhs, rhs):
        begin, end = self.span(len(lhs), self.lhs_begin, self.lhs_end, "lhs")
        first, last = self.span(len(rhs), self.rhs_begin, self.rhs_end, "rhs")
        own = sizes_of(lhs)
        # a size that only rhs knows cannot be named by an axis of lhs; one of them follows from the rest
        new = [INFERRED if d is UNKNOWN else number(d) for d in rhs[first:last]]
        sizes = [*own[:begin], *new, *own[end:]]
        if sizes.count(INFERRED) > 1:
            return sizes
        return self.complete_sizes(sizes, lhs, f"the shape {show(rhs)} of rhs")

    def span(self, rank: int, begin: int | None, end: int | None, what: str) -> tuple[int, int]:
        """Axes from begin to end counted from the front."""
        first = 0 if begin is None else begin + rank if begin < 0 else begin
        last = rank if end is None else end + rank if end < 0 else end
        if not 0 <= first < last <= rank:
            raise self.error(f"got axes {begin} to {end} of {what}, which has {rank} dimensions")
        return first, last

    def infer_type(self, lhs, rhs):
        return lhs

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], dtypes[1]]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 6), make.uniform(3, 4))
        yield make(make.uniform(2, 3, 4), make.uniform(5, 6), lhs_begin=0, lhs_end=2, rhs_begin=1, rhs_end=2)


class Permutation(Op):
    """Base of operators that reorder axes."""

    left_open = ("order",)
    view = True
    only_moves_data = True

    def order(self, rank: int) -> Sequence[int]:
        """For every axis of the result, the axis of data that it is."""
        raise NotImplementedError

    def infer_shape(self, data):
        return tuple(data[a] for a in self.order(len(data)))

    def infer_input_shapes(self, shapes, outputs):
        if outputs[0] is None:
            return shapes
        order = self.order(len(outputs[0]))
        return [tuple(outputs[0][order.index(a)] for a in range(len(order)))]

    def composition(self, F, data):
        return None if data.shape is None else F.transpose(data, axes=tuple(self.order(len(data.shape))))

    def compute(self, data):
        return data.transpose(self.order(data.ndim))

    def adjoint(self, of, dy, data):
        return dy.transpose(np.argsort(self.order(data.ndim)))


@linear(0)
@op("transpose")
class Transpose(Permutation):
    """Axes reordered: axis i of the result is axis axes[i] of data; by default all axes reversed."""

    meanings = {"axes": "Axes of data in their new order; empty: reversed."}

    axes: Shape = ()

    primitive = True

    def order(self, rank):
        if not self.axes:
            return range(rank)[::-1]
        order = [axis_of(self, a, rank) for a in self.axes]
        if sorted(order) != list(range(rank)):
            raise self.error(f"got axes {show(self.axes)}, wanted each of the {rank} axes of data once")
        return order

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), axes=(2, 0, 1))
        yield make(make.uniform(2, 3))


@linear(0)
@op("_np_transpose")
class NumpyTranspose(Transpose):
    """Axes reordered: axis i of the result is axis axes[i] of a; by default all reversed. Source: mx.np.transpose."""

    meanings = {"axes": "Axes of a in their new order; None: reversed."}

    # an optional tuple here: mx.np.transpose writes None
    axes: Shape | None = None

    inputs = ("a",)


@linear(0)
@op("SwapAxis", "swapaxes", "_npi_swapaxes")
class SwapAxis(Permutation):
    """Axes dim1 and dim2 exchanged."""

    dim1: int = 0
    dim2: int = 0

    def order(self, rank):
        order = list(range(rank))
        one, two = axis_of(self, self.dim1, rank), axis_of(self, self.dim2, rank)
        order[one], order[two] = two, one
        return order

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), dim1=0, dim2=2)


@linear(0)
@op("_np_moveaxis")
class MoveAxis(Permutation):
    """The axes source moved to the positions destination, the others in order. Source: MXNet mx.np.moveaxis."""

    source: Shape
    destination: Shape

    inputs = ("a",)

    def order(self, rank):
        source = [axis_of(self, a, rank) for a in self.source]
        destination = [axis_of(self, a, rank) for a in self.destination]
        if (
            len(set(source)) != len(source)
            or len(set(destination)) != len(destination)
            or len(source) != len(destination)
        ):
            raise self.error(
                f"got source {show(self.source)} and destination {show(self.destination)}, wanted pairs of axes"
            )
        order = [a for a in range(rank) if a not in source]
        for to, axis in sorted(zip(destination, source)):
            order.insert(to, axis)
        return order

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), source=(0,), destination=(-1,))
