"""Symbolic shapes: what chains of nodes that compute shapes give, in terms of the sizes of the model's inputs.

Exporters write ``x.view(x.size(0), -1)`` as Shape, Gather, Unsqueeze, Concat and Reshape. With a dynamic batch none
of these is a constant, but all that they compute is known: the batch, and -1. A Count is such a number, a polynomial
in sizes that only the run will tell; what equals what, and what cannot be negative, follows from the polynomials. So
Reshape becomes MXNet's own again, with its codes 0 and -1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from hybrid.core.op import Op
from hybrid.core.shapes import UNKNOWN, Undecided, is_known
from hybrid.ops.onnx.slicing import cut
from hybrid.ops.shape import INFERRED, Reshaping

MOST = 64
"""Elements of a tensor of sizes."""

Atom = Any
Terms = dict[tuple[Atom, ...], int | Fraction]

_serial = itertools.count()


class Count:
    """A whole number that depends on sizes known at run time: a polynomial in them.

    A factor of a term is a text for a size, which is not negative, or a tuple for a number of which is only known how
    it is computed. Arithmetic with numbers and Counts gives numbers or Counts; Counts are equal when their
    polynomials are, and never to a number. Other comparisons raise Undecided, so that shape rules which have to
    compare give no answer."""

    __slots__ = ("terms",)

    def __init__(self, terms: Terms):
        self.terms = terms

    @classmethod
    def of_name(cls, name: str) -> Count:
        """The size of that name."""
        return cls({(name,): 1})

    @classmethod
    def fresh(cls) -> Count:
        """A size of which nothing is known."""
        return cls.of_name(f"?{next(_serial)}?")

    @classmethod
    def of_operation(cls, *how: Any) -> Count:
        """A number of which only is known what operation gives it, and of what."""
        return cls({(how,): 1})

    @staticmethod
    def _terms(value: Any) -> Terms:
        return value.terms if isinstance(value, Count) else {(): int(value)}

    def _sum(self, other: Any, sign: int) -> Any:
        if not isinstance(other, int | np.integer | Count):
            return NotImplemented
        out = dict(self.terms)
        for key, factor in self._terms(other).items():
            out[key] = out.get(key, 0) + sign * factor
        return _simple(out)

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Any:
        return _simple({key: -factor for key, factor in self.terms.items()})

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int | np.integer | Fraction | Count):
            return NotImplemented
        factors = {(): other} if isinstance(other, Fraction) else self._terms(other)
        out: Terms = {}
        for (one, a), (two, b) in itertools.product(self.terms.items(), factors.items()):
            key = tuple(sorted((*one, *two), key=repr)) if one and two else one or two
            out[key] = out.get(key, 0) + a * b
        return _simple(out)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, int | np.integer) and other:
            if all(factor % int(other) == 0 for factor in self.terms.values()):
                return _simple({key: factor // int(other) for key, factor in self.terms.items()})
        elif isinstance(other, Count):
            found = _quotient(self, other)
            return Count.of_operation("div", self, other) if found is None else found
        return Count.of_operation("div", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return Count.of_operation("div", other, self)

    def __mod__(self, other: Any) -> Any:
        if isinstance(other, int | np.integer) and other and all(f % int(other) == 0 for f in self.terms.values()):
            return 0
        return Count.of_operation("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return Count.of_operation("mod", other, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Count) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def _raise_undecided(self, *_others: object) -> Any:
        raise Undecided

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _raise_undecided

    @property
    def is_size(self) -> bool:
        """True when it cannot be negative, whatever the sizes."""
        return all(factor > 0 and all(isinstance(a, str) for a in key) for key, factor in self.terms.items())

    def __repr__(self) -> str:
        return " + ".join(
            "*".join(map(str, (*((f,) if f != 1 or not key else ()), *key))) for key, f in self.terms.items()
        )


def _simple(terms: Terms) -> Any:
    """The number that the terms add up to, or the Count. Fractions stay: of the dims of a reshape they are whole all
    the same."""
    left = {key: int(f) if f.denominator == 1 else f for key, f in terms.items() if f}
    if not left:
        return 0
    alone = left.get(()) if len(left) == 1 else None
    return alone if isinstance(alone, int) else Count(left)


def _quotient(whole: Count, part: Count) -> Any:
    """whole / part where part is a single term that divides all of whole; else None."""
    if len(part.terms) > 1:
        return None
    ((divisor, by),) = part.terms.items()
    out: Terms = {}
    for key, factor in whole.terms.items():
        rest = list(key)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if factor % by:
            return None
        out[tuple(rest)] = factor // by
    return _simple(out)


# -- what is known of values ------------------------------------------------------------------------------------------


def declared_dims(name: str, shape: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """The dims of the input ``name`` as the model declares them. Those of one name are one size, but only within an input: many
    files call axes of different inputs alike that have different sizes, which no runtime minds."""
    if shape is None:
        return None
    return tuple(
        d
        if isinstance(d, int) and d >= 0
        else Count.fresh()
        if d == "?" or isinstance(d, int)
        else Count.of_name(f"{name}:{d}")
        for d in shape
    )


def dims(value: Any) -> tuple[Any, ...] | None:
    """The shape of a Value, with Counts for sizes that are not known; None when the rank is not. Asked again it is
    the same."""
    if value.shape is None:
        return None
    if value.dims is None:
        value.dims = tuple(Count.fresh() if d is UNKNOWN else d for d in value.shape)
    return value.dims


def numbers(value: Any) -> np.ndarray | None:
    """The whole numbers that a small tensor holds, as an object array of ints and Counts; None when that is not
    known."""
    if value is None:
        return None
    if value.partial is not None:
        return value.partial
    if value.const is not None and value.const.size <= MOST and value.const.dtype.kind in "iub":
        return value.const.astype(object)
    return None


def with_unknown(value: Any) -> np.ndarray | None:
    """The same with UNKNOWN for every Count, as operators take it that cope with values of which only some are
    known."""
    found = numbers(value)
    if found is None:
        return None
    out = np.empty(found.shape, object)
    out.reshape(-1)[:] = [UNKNOWN if isinstance(n, Count) else n for n in found.reshape(-1)]
    return out


def through(op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Note what the unknown dims of an operator's outputs are, where its shape rule says so of the dims of its
    inputs."""
    partial = getattr(op, "partial", False)
    if all(v.shape is None or is_known(v.shape) for v in outputs) or any(v.shape is None for v in inputs):
        return
    if (op.data_dependent_shape or op.needs) and not partial:
        return
    given = [dims(v) for v in inputs]
    try:
        if op.means(Reshaping) and not partial:
            found: Any = _reshape(op.sizes(*(v.shape for v in inputs)), given[0])
        elif partial:
            found = op.infer_shape(*given, values=[numbers(v) for v in inputs])  # type: ignore[call-arg]  # as those take that are partial
        else:
            found = op.infer_shape(*given)
    except (Undecided, ValueError, TypeError):
        # the rule has to know more; of a single input perhaps not of every dim
        found = _one_by_one(op, given[0]) if len(inputs) == 1 and not partial else None
    for value, shape in zip(outputs, found if isinstance(found, list) else [found]):
        if value.shape is not None and shape is not None and len(shape) == len(value.shape):
            value.dims = tuple(
                d if d is not UNKNOWN else s if isinstance(s, Count) else Count.fresh()
                for d, s in zip(value.shape, shape)
            )


def _one_by_one(op: Op, given: Any) -> Any:
    """The dims of the outputs that are dims of the input as they are, whatever the others may be; None where nothing
    is found."""
    best: list[list[Any]] = []
    for axis, size in enumerate(given):
        if not isinstance(size, Count):
            continue
        shape = tuple(UNKNOWN if isinstance(d, Count) and a != axis else d for a, d in enumerate(given))
        try:
            found = op.infer_shape(shape)
        except (Undecided, ValueError, TypeError):
            continue
        shapes = found if isinstance(found, list) else [found]
        if any(s is None for s in shapes):
            return None
        best = best or [list(s) for s in shapes]
        for out, new in zip(best, shapes):
            out[:] = [n if isinstance(n, Count) else o for o, n in zip(out, new)]
    return list(map(tuple, best)) or None


def _reshape(sizes: Sequence[Any], given: Any) -> tuple[Any, ...]:
    """The dims that hybrid's reshapes speak of: numbers times dims of the data."""
    return tuple(
        UNKNOWN
        if size is INFERRED
        else math.prod([given[a] for a in size.axes]) * size.factor
        if size.axes
        else int(size.factor)
        for size in sizes
    )


# -- Reshape ----------------------------------------------------------------------------------------------------------


def codes(data: Any, shape: Any, *, allowzero: bool = False) -> tuple[int, ...] | None:
    """The target of an ONNX Reshape in MXNet's codes, 0 for a dim of data at its own place and -1 for one that is
    left; None where these cannot say it.

    A number that turns out to be 0 or -1 at run time means to ONNX what it does to MXNet: the -1 gets what the others
    leave."""
    target, own = numbers(shape), dims(data) or ()
    if target is None or target.ndim != 1:
        return None
    out: list[int | None] = []
    for place, size in enumerate(target):
        if not isinstance(size, Count):
            if allowzero and size == 0:
                return None
            out.append(int(size))
        else:
            out.append(0 if place < len(own) and own[place] == size else None)
    if None in out:
        walked = _walk(own, target_dims(shape, data))
        if walked is not None:
            return walked
    if out.count(None) == 1 and -1 not in out:
        out[out.index(None)] = -1
    return None if None in out or out.count(-1) > 1 else tuple(c for c in out if c is not None)


def _walk(own: Sequence[Any], target: Sequence[Any] | None) -> tuple[int, ...] | None:
    """Codes that go through both shapes side by side: 0 where dims are equal, -3 where two become one, -4 where one
    becomes two."""
    if target is None:
        return None
    out: list[int] = []
    source = place = 0
    while place < len(target):
        left, size = own[source:], target[place]
        rest = [*left, *target[place:]]
        if not any(isinstance(d, Count) for d in rest):
            return (*out, *target[place:]) if math.prod(left) == math.prod(target[place:]) and 0 not in rest else None
        if not left:
            return None
        if left[0] == size:
            out.append(0)
            source, place = source + 1, place + 1
        elif len(left) > 1 and left[0] * left[1] == size:
            out.append(-3)
            source, place = source + 2, place + 1
        elif place + 1 < len(target) and size * target[place + 1] == left[0]:
            two = [-1 if isinstance(n, Count) else n for n in (size, target[place + 1])]
            if two == [-1, -1] or 0 in two:
                return None
            out += [-4, *two]
            source, place = source + 1, place + 2
        else:
            return None
    return tuple(out) if source == len(own) else None


def split_merged(
    data: Any, shape: Any, sized: Callable[[Any, Any], tuple[Any, int] | None]
) -> tuple[Any, int, int, int] | None:
    """Find an input of the model whose dims, side by side, have as product a dim of data, and stand in the target of a
    reshape: (that input, the dim of data, first and last axis of the input); None where there is no such thing.

    sized: what finds an input with a size and of a dtype, and at which axis."""
    target, own = target_dims(shape, data) or (), dims(data) or ()
    pairs = list(zip(target, own))
    place = next((i for i, (size, have) in enumerate(pairs) if size != have), len(pairs))
    if place == len(pairs) or not isinstance(target[place], Count):
        return None
    owner = sized(target[place], data.dtype)
    if owner is None:
        return None
    other, begin = owner
    theirs = dims(other) or ()
    for end in range(begin + 2, len(theirs) + 1):
        count = end - begin
        if target[place : place + count] == theirs[begin:end] and math.prod(theirs[begin:end]) == own[place]:
            return other, place, begin, end
    return None


def whole_shape(shape: Any, dtype: np.dtype | None) -> Any:
    """The tensor whose shape a Value is, as it came from the graph; its dtype, which nobody has written down, is taken to
    be the one given. None where the Value is something else."""
    node = None if shape.entry is None else shape.entry.node
    found = numbers(shape)
    if node is None or node.op is None or node.op.name != "shape_array" or found is None:
        return None
    like = type(shape)("", tuple(UNKNOWN if isinstance(n, Count) else n for n in found), dtype, None, node.inputs[0])
    like.dims = tuple(found)
    return like


def target_dims(shape: Any, data: Any) -> tuple[Any, ...] | None:
    """The dims of data reshaped to a target whose numbers are known, but for those that the target does not say."""
    target, own = numbers(shape), dims(data)
    if target is None or target.ndim != 1:
        return None
    out = [own[i] if own and i < len(own) and not isinstance(n, Count) and n == 0 else n for i, n in enumerate(target)]
    rest = [n for n in out if isinstance(n, Count) or n != -1]
    if len(rest) == len(out) - 1 and own is not None:
        total, part = math.prod(own), math.prod(rest)
        left = total // part if isinstance(part, Count) or part else Count.fresh()
        out = [left if not isinstance(n, Count) and n == -1 else n for n in out]
    return tuple(out)


# -- what nodes compute -----------------------------------------------------------------------------------------------


def follow(op_type: str, inputs: Sequence[Any], attributes: Mapping[str, Any], result: Any) -> np.ndarray | None:
    """The whole numbers that a node's output holds, as far as they follow from what is known of its inputs; None
    where nothing does."""
    rule = _RULES.get(op_type)
    if rule is None or result.dtype is None or result.dtype.kind not in ("iu" if op_type == "Cast" else "iub"):
        return None
    if not is_known(result.shape) or math.prod(result.shape) > MOST:
        return None
    if op_type in ("Shape", "Size"):
        own = dims(inputs[0])
        if own is None:
            return None
        found = own[attributes.get("start", 0) : attributes.get("end")] if op_type == "Shape" else [math.prod(own)]
    else:
        if all(v is None or v.partial is None for v in inputs):
            return None
        known = [numbers(v) for v in inputs]
        if any(k is None and v is not None for k, v in zip(known, inputs)):
            return None
        found = rule(known, attributes, result.shape)
        if found is None:
            return None
    out = np.empty(result.shape, object)
    out.reshape(-1)[:] = (
        list(np.asarray(found, object).reshape(-1)) if not isinstance(found, tuple | list) else list(found)
    )
    return out


def note_shape(op_type: str, inputs: Sequence[Any], result: Any) -> None:
    """Note the dims of a tensor whose shape is what an input holds (ConstantOfShape), or follows from numbers
    (Range)."""
    if result.shape is None or is_known(result.shape):
        return
    known = [numbers(v) for v in inputs]
    if op_type == "ConstantOfShape" and known[0] is not None:
        found = known[0].reshape(-1)
    elif op_type == "Range" and all(k is not None for k in known):
        start, limit, step = (k.reshape(-1)[0] for k in known)  # type: ignore[union-attr]  # none is None
        found = [limit - start] if not isinstance(step, Count) and step == 1 else []
        if not found or not isinstance(found[0], Count) or not found[0].is_size:
            return
    else:
        return
    if len(found) == len(result.shape):
        result.dims = tuple(n if d is UNKNOWN else d for d, n in zip(result.shape, found))


def _same(known: Any, attributes: Any, shape: Any) -> Any:
    return known[0].reshape(shape)


def _gather(known: Any, attributes: Any, shape: Any) -> Any:
    where = known[1]
    return None if _open(where) else known[0].take(where.astype(np.int64), attributes.get("axis", 0))


def _slice(known: Any, attributes: Any, shape: Any) -> Any:
    def part(place: int, name: str) -> Any:
        given = known[place] if place < len(known) else None
        return attributes.get(name) if given is None else given.reshape(-1)

    starts, ends = part(1, "starts"), part(2, "ends")
    if any(_open(n) for n in known[1:] if n is not None) or known[0].ndim != 1 or len(starts) != 1:
        return None
    steps = part(4, "steps")
    step = 1 if steps is None else int(steps[0])
    return known[0][cut(int(starts[0]), int(ends[0]), step, len(known[0]))] if step else None


def _concat(known: Any, attributes: Any, shape: Any) -> Any:
    return np.concatenate(known, attributes.get("axis", 1))


def _expand(known: Any, attributes: Any, shape: Any) -> Any:
    return np.broadcast_to(known[0], shape)


def _product(known: Any, attributes: Any, shape: Any) -> Any:
    return [math.prod(known[0].reshape(-1))] if math.prod(shape) == 1 else None


def _each(function: Callable[..., Any]) -> Any:
    """A rule for an operator that goes element by element."""

    def rule(known: Any, attributes: Any, shape: Any) -> Any:
        return [function(*row) for row in zip(*(np.broadcast_to(k, shape).reshape(-1) for k in known))]

    return rule


def _open(values: Any) -> bool:
    return any(isinstance(n, Count) for n in values.reshape(-1))


def _divide(a: Any, b: Any) -> Any:
    if isinstance(a, Count) or isinstance(b, Count):
        return a // b
    return Count.of_operation("div", a, b) if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: Any, b: Any) -> Any:
    return Count.of_operation("mod", a, b) if not isinstance(b, Count) and b == 0 else a % b


def _modulo(known: Any, attributes: Any, shape: Any) -> Any:
    return None if attributes.get("fmod") else _each(_remainder)(known, attributes, shape)


def _extreme(name: str, choose: Any) -> Any:
    def function(*values: Any) -> Any:
        first = values[0]
        if all(_equal(first, v) is True for v in values[1:]):
            return first
        return Count.of_operation(name, *values) if any(isinstance(v, Count) for v in values) else choose(values)

    return function


def _equal(a: Any, b: Any) -> Any:
    """True, False, or a Count where that depends."""
    difference = a - b
    if not isinstance(difference, Count):
        return difference == 0
    for one in (difference, -difference):
        if one.is_size and () in one.terms:  # greater than 0, whatever the sizes
            return False
    return Count.of_operation("equal", a, b)


def _where(condition: Any, a: Any, b: Any) -> Any:
    if not isinstance(condition, Count):
        return a if condition else b
    return a if _equal(a, b) is True else Count.of_operation("where", condition, a, b)


_RULES: dict[str, Any] = {
    **dict.fromkeys(("Shape", "Size", "Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape", "Flatten"), _same),
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "Expand": _expand,
    "ReduceProd": _product,
    "Add": _each(lambda a, b: a + b),
    "Sub": _each(lambda a, b: a - b),
    "Mul": _each(lambda a, b: a * b),
    "Neg": _each(lambda a: -a),
    "Div": _each(_divide),
    "Mod": _modulo,
    "Min": _each(_extreme("min", min)),
    "Max": _each(_extreme("max", max)),
    "Equal": _each(_equal),
    "Where": _each(_where),
}
