"""Parts shared by operator families: bases for regular shape rules, axis arithmetic, and compute in a wider dtype."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..core.error import reason_of
from ..core.np_mode import is_np_shape
from ..core.op import Op, lookup
from ..core.shapes import UNKNOWN, MaybeShape, Shape, Undecided, fits, is_known, merge, merge_all, show

T = TypeVar("T", bound=type[Op])

BOUNDED = ("cos", "erf", "sigmoid", "sin", "softsign", "tanh")
"""Functions whose values lie between -1 and 1."""


class Elementwise(Op):
    """All inputs and the output have one shape; what is known of any fills the others."""

    def infer_shape(self, *shapes):
        return merge_all(shapes)

    def infer_input_shapes(self, shapes: Sequence[MaybeShape], outputs: Sequence[MaybeShape]) -> Sequence[MaybeShape]:
        return [merge_all((*shapes, *outputs))] * len(shapes)


class Sized(Op):
    """Base of operators that are given a shape, in which a 0 is a dim that readers decide; bound with np_shape on, a size."""

    @classmethod
    def bind(cls, **attrs: Any) -> Op:
        if is_np_shape() and not cls.zero_is_size:
            return _of_sizes(cls).bind(**attrs)
        return super().bind(**attrs)

    def sizes(self, shape: Sequence[int]) -> Shape:
        """A shape attribute as inference takes it."""
        if self.zero_is_size:
            return tuple(UNKNOWN if d == -1 else d for d in shape)
        return tuple(d or UNKNOWN for d in shape)


@functools.cache
def _of_sizes(cls: type[Op]) -> type[Op]:
    """Class whose instances know that they were bound with np_shape on, under the operator's own name: it means the same."""
    return type(cls.__name__, (cls,), {"zero_is_size": True, "__doc__": cls.__doc__, "__module__": cls.__module__})


def tile_array(data: np.ndarray, repeats: Sequence[int]) -> np.ndarray:
    """As numpy.tile, which makes what it repeats along some axes before it is repeated 0 times along another."""
    if all(repeats):
        return np.tile(data, repeats)
    rank = max(data.ndim, len(repeats))
    sizes = [(1,) * (rank - len(s)) + tuple(s) for s in (data.shape, repeats)]
    return np.empty([a * b for a, b in zip(*sizes)], data.dtype)


def axis_of(op: Op, axis: int, rank: int) -> int:
    """axis counted from the front; raises OpError when it lies outside the rank."""
    if not -rank <= axis < rank:
        raise op.error(f"got axis {axis} for {rank} dimensions, wanted {-rank} to {rank - 1}")
    return axis % rank


def axes_of(op: Op, axes: Sequence[int] | None, rank: int, *, exclude: bool = False) -> tuple[int, ...]:
    """Reduction axes counted from the front, in order; None and () mean all (exclude or not), else exclude inverts."""
    if not axes:
        return tuple(range(rank))
    chosen = {axis_of(op, a, rank) for a in axes}
    if len(chosen) < len(axes):
        raise op.error(f"got axes {tuple(axes)}, wanted each once")
    return tuple(a for a in range(rank) if (a in chosen) != exclude)


def np_axes_of(op: Op, axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes counted from the front as operators of mx.np have them: None means all, () none."""
    return () if axes == () else axes_of(op, axes, rank)


def want_rank(op: Op, shape: Shape, *ranks: int, what: str = "data") -> None:
    """Raise OpError unless the shape has one of the ranks."""
    if len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise op.error(f"got {what} of shape {show(shape)}, wanted {wanted} dimensions")


def want_some(op: Op, shape: Shape, *axes: int, what: str = "data") -> None:
    """Raise OpError where a size along one of the axes is 0: there is nothing to take, repeat or interpolate."""
    if any(shape[a] is not UNKNOWN and shape[a] == 0 for a in axes):
        raise op.error(
            f"got {what} of shape {show(shape)}, wanted an element along axis {' and '.join(map(str, axes))}"
        )


def want_rank_from(op: Op, shape: Shape, least: int, *, what: str = "data") -> None:
    """Raise OpError unless the shape has at least so many dimensions."""
    if len(shape) < least:
        raise op.error(f"got {what} of shape {show(shape)}, wanted at least {least} dimensions")


def widen(array: np.ndarray) -> np.ndarray:
    """float16 and bfloat16 arrays as float32 (NumPy has no BLAS for them, and sums would round at every step)."""
    return array.astype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind not in "iub" else array


def narrow(array: np.ndarray, dtype: np.dtype, out: np.ndarray | None = None) -> np.ndarray:
    """The inverse of widen: array in dtype, in ``out`` when that is given (no copy where it is there already)."""
    if out is None:
        return array.astype(dtype, copy=False)
    if array is not out:
        out[...] = array
    return out


def lowest(dtype: np.dtype) -> Any:
    """A number that no number of the dtype is less than: where a maximum begins."""
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def highest(dtype: np.dtype) -> Any:
    """A number that no number of the dtype is greater than: where a minimum begins."""
    return True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def largest(dtype: np.dtype) -> float:
    """The greatest finite number of a dtype of floats, bfloat16 included."""
    if issubclass(dtype.type, np.floating):  # in whichever order of bytes
        return float(np.finfo(dtype).max)
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).max)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quotient; of integers towards zero, as in C. An integer by zero, which ends MXNet's process, is 0."""
    if a.dtype.kind not in "iub":
        return np.divide(a, b)
    quotient, rest = np.divmod(a, b)
    return quotient + ((rest != 0) & ((a < 0) != (b < 0)))


def mean_over(x: np.ndarray, axes: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> np.ndarray:
    """The mean of floats along axes, to the bit that of NumPy, but that of nothing is NaN without a warning."""
    total = np.add.reduce(x, axes, keepdims=keepdims)
    return total / x.dtype.type(x.size // total.size if total.size else 0)


def as_array(value: Any) -> Any:
    """A number or an array as an array; one of a device (device/array.py) as it is, which np.asarray would have to read."""
    return value if hasattr(value, "__array_function__") else np.asarray(value)


def contiguous(array: Any) -> Any:
    """np.ascontiguousarray, for arrays of a device too."""
    if type(array) is np.ndarray:
        return np.ascontiguousarray(array)
    return array if array.flags.c_contiguous else array.copy()


def truncate(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floats as integers of dtype the way C compiled for x86 casts them, on any machine.

    Fractions are cut off; NaN and what an int32 (int64 for 8-byte types and uint32) cannot hold becomes its smallest
    value; what that holds and dtype does not wraps round."""
    wide = np.dtype(np.int64 if dtype.itemsize == 8 or dtype == np.uint32 else np.int32)
    array = as_array(array)
    if array.dtype.kind == "f" and array.dtype.itemsize > 2 and type(array) is np.ndarray:
        whole = (np.abs(array) < 2.0 ** (8 * wide.itemsize - 1)).all()
    else:
        whole = False  # of a device nobody asks
    if whole:
        return array.astype(wide).astype(dtype, copy=False)  # nothing is out of bounds
    array = as_array(array).astype(np.float64, copy=False)
    smallest = float(np.iinfo(wide).min)
    inside = (array > smallest - 1) & (array < -smallest)
    return np.where(inside, array, smallest).astype(wide).astype(dtype)


def same(op: Op, what: str, *dims: Any) -> Any:
    """The one size that dims are, as far as it is known; raises OpError when they differ."""
    known = {d for d in dims if d is not UNKNOWN}
    if len(known) > 1:
        raise op.error(f"got {' and '.join(map(str, dims))} {what}, wanted the same number")
    return known.pop() if known else UNKNOWN


def as_many(op: Op, what: str, got: Shape, wanted: Shape) -> None:
    """Raise OpError unless a shape has as many elements as the wanted one; what is not known of them may be anything."""
    if is_known(got) and is_known(wanted) and math.prod(got) != math.prod(wanted):
        raise op.error(f"got {what} of shape {show(got)}, wanted as many elements as {show(wanted)} has")


def spreads(narrow: Shape, wide: Shape) -> bool:
    """True where an array of shape narrow can be repeated to the shape wide, as far as they are known."""
    ends = wide[len(wide) - len(narrow) :] if len(narrow) <= len(wide) else None
    return ends is not None and all(
        a is UNKNOWN or a == 1 or b is UNKNOWN or a == b for a, b in zip(narrow, ends, strict=True)
    )


def spread(op: Op, narrow: Shape, wide: Shape) -> None:
    """Raise OpError unless an array of shape narrow can be repeated to the shape wide."""
    if not spreads(narrow, wide):
        raise op.error(f"got shapes {show(narrow)} and {show(wide)}, wanted the first to broadcast to the second")


def want_one(op: Op, shape: Shape, what: str) -> None:
    """Raise OpError unless an array of that shape has one element, as far as that is known."""
    if any(d is not UNKNOWN and d != 1 for d in shape):
        raise op.error(f"got {what} of shape {show(shape)}, wanted a single number")


def fit(op: Op, sizes: Mapping[str, str], shapes: Mapping[str, MaybeShape]) -> dict[str, Any]:
    """The sizes of axes by their names, from the shapes of inputs and what their axes are called: {"data": "N C 4"}.

    Axes of one name have one size; numbers stand for themselves, "_" for any. Inputs that are not there are left out.
    Raises OpError when a shape has another rank or size."""
    found: dict[str, Any] = {}
    for name, text in sizes.items():
        shape, axes = shapes.get(name), text.split()
        if shape is None:
            continue
        wanted = [int(a) if a.isdigit() else found.get(a, UNKNOWN) for a in axes]
        if len(shape) != len(axes) or any(
            d is not UNKNOWN and w is not UNKNOWN and d != w for d, w in zip(shape, wanted)
        ):
            known = ", ".join(a if w is UNKNOWN or a.isdigit() else f"{a}={w}" for a, w in zip(axes, wanted))
            raise op.error(f"got {name} of shape {show(shape)}, wanted ({known})")
        found |= {a: d for a, d in zip(axes, shape) if d is not UNKNOWN and a != "_"}
    return found


def as_forward_wants(
    forward: Op, inputs: Sequence[MaybeShape], outputs: Sequence[MaybeShape]
) -> tuple[Sequence[MaybeShape], Sequence[MaybeShape]]:
    """Shapes of an operator's inputs and outputs, each filled in from the others. Raises ValueError where they contradict."""
    try:
        inputs = [merge(a, b) for a, b in zip(inputs, forward.infer_input_shapes(inputs, outputs), strict=True)]
        if any(s is None for s in inputs):
            return inputs, outputs
        found = forward.infer_shape(*inputs)
    except Undecided:
        return inputs, outputs
    found = found if isinstance(found, list) else [found]
    return inputs, [merge(a, b) for a, b in zip(outputs, found)]


def types_as_forward_wants(
    forward: Op, inputs: Sequence[np.dtype | None], outputs: Sequence[np.dtype | None]
) -> tuple[Sequence[np.dtype | None], Sequence[np.dtype | None]]:
    """Dtypes of an operator's inputs and outputs, each filled in from the others. Raises ValueError where they contradict."""
    filled = forward.infer_input_types(tuple(inputs), tuple(outputs))
    inputs = [agree(forward, n, a, b) for n, a, b in zip(forward.input_names(), inputs, filled, strict=True)]
    forward.want_dtype(inputs)
    known = [d for d in inputs if d is not None]
    if len(known) < len(inputs):
        return inputs, outputs
    found = forward.infer_type(*known)
    found = found if isinstance(found, list) else [found]
    return inputs, [agree(forward, n, a, b) for n, a, b in zip(forward.output_names(), outputs, found)]


def want_answers(
    op: Op, forward: Op, inputs: Sequence[np.ndarray], heads: Mapping[str, tuple[np.ndarray, str]]
) -> None:
    """Raise OpError unless arrays have the shapes of the outputs of the forward operator that they are named with: where the
    values of its inputs decide about shapes, inference could not say."""
    try:
        found = forward.infer_shape(*(a.shape for a in inputs), values=inputs)  # type: ignore[call-arg]
    except ValueError as error:
        raise op.error(reason_of(error, forward.name)) from None
    ends = dict(zip(forward.output_names(), found if isinstance(found, list) else [found]))
    for name, (array, end) in heads.items():
        if not fits(ends[end], array.shape):
            raise op.error(
                f"got {name} of shape {show(array.shape)}, wanted {show(ends[end])}, which is that of the output"
            )


def agree(op: Op, what: str, got: np.dtype | None, wanted: np.dtype | None) -> np.dtype | None:
    """The one dtype that these are, as far as it is known; raises OpError when they differ."""
    if got is not None and wanted is not None and got != wanted:
        raise op.error(f"got {what} of dtype {got}, wanted {wanted}; cast it")
    return wanted if got is None else got


HEADS: dict[str, int | str] = {"dy": 0, "y": 0}
"""Output of the forward operator that each input of a part of its gradient rule is, or is the gradient of."""


def part_of(forward: str, **heads: int | str) -> Callable[[T], T]:
    """For parts of gradient rules: inputs that have names of the forward operator's inputs are these, those in heads (dy and y
    without any) are of its outputs, by place or name. What is known of the shapes and dtypes of some follows for the others;
    what the forward operator does not take, or does not answer, raises. Where values decide about the shapes of its outputs
    that is seen when it runs.

    Attributes that have the same names are the forward operator's."""
    heads = heads or HEADS

    def decorate(cls: T) -> T:
        shapes_given, types_given, computed = cls.infer_input_shapes, cls.infer_input_types, cls.compute

        def infer_input_shapes(self, shapes, outputs):
            return _as_parts(self, forward, heads, shapes_given(self, shapes, outputs), merge, as_forward_wants)

        def infer_input_types(self, dtypes, outputs):
            agreed = functools.partial(agree, self, "gradients or outputs")
            return _as_parts(self, forward, heads, types_given(self, dtypes, outputs), agreed, types_as_forward_wants)

        @functools.wraps(computed)
        def compute(self, *arrays, **options):
            first = forward_of(self, forward)
            if "values" in first.needs:
                named = dict(zip(self.input_names(), arrays))
                ends = {n: _end(first, p) for n, p in heads.items() if n in named}
                want_answers(
                    self, first, [named[n] for n in first.input_names()], {n: (named[n], e) for n, e in ends.items()}
                )
            return computed(self, *arrays, **options)

        cls.infer_input_shapes = infer_input_shapes  # type: ignore[method-assign]
        cls.infer_input_types = infer_input_types  # type: ignore[method-assign]
        cls.compute = compute  # type: ignore[method-assign]
        return cls

    return decorate


def _as_parts(
    self: Op, forward: str, heads: Mapping[str, int | str], given: Sequence[Any], join: Any, wants: Any
) -> list[Any]:
    """Shapes or dtypes of the inputs of a part of a gradient rule, as far as they are known, held to what the forward
    operator ``wants``."""
    names, first = self.input_names(), forward_of(self, forward)
    named = dict(zip(names, given))
    ends: dict[str, Any] = dict.fromkeys(first.output_names())
    places = {n: _end(first, p) for n, p in heads.items() if n in named}
    for name, end in places.items():
        ends[end] = join(ends[end], named[name])
    inputs, found = wants(first, [named.get(n) for n in first.input_names()], list(ends.values()))
    ends = dict(zip(ends, found))
    named |= {n: s for n, s in zip(first.input_names(), inputs) if n in named}
    named |= {n: ends[end] for n, end in places.items()}
    return [named[n] for n in names]


def forward_of(op: Op, name: str) -> Op:
    """The operator of that name with the attributes that op has too."""
    if name not in op.memo:
        cls = lookup(name)
        op.memo[name] = cls.bind(**{n: f.kind.write(getattr(op, n)) for n, f in cls.fields.items() if n in op.fields})
    return op.memo[name]


def _end(forward: Op, place: int | str) -> str:
    """The name of an output, by place or name."""
    return place if isinstance(place, str) else forward.output_names()[place]
