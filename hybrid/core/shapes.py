"""Shapes with dims that may be unknown.

A shape is a tuple of dims, or None when even the rank is unknown. A dim is an int or UNKNOWN. UNKNOWN absorbs
arithmetic (``(UNKNOWN + 2) // 3 is UNKNOWN``) and refuses decisions (``UNKNOWN == 3`` raises Undecided), so shape rules
are written as plain arithmetic: they give partial answers where they can, and where they would have to guess the driver
in ir/infer.py learns that there is no answer yet. Zero is an ordinary size here; MXNet's legacy reading of 0 as
"unknown" exists only in from_legacy and to_legacy (and in operators that are given a shape, see Op.zero_is_size).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, TypeGuard, overload

from .np_mode import is_np_shape

Shape = tuple[Any, ...]  # of int | UNKNOWN
MaybeShape = Shape | None


class Undecided(Exception):
    """A shape rule had to compare an unknown dim; its answer has to wait for more information."""


class Unknown:
    """The size that is not known (yet). One instance: UNKNOWN."""

    __slots__ = ()

    def _absorb(self, _other: object) -> Unknown:
        return self

    def _raise_undecided(self, *_others: object) -> Any:
        raise Undecided

    __add__ = __radd__ = __sub__ = __rsub__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _absorb
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __index__ = __int__ = __float__ = _raise_undecided

    def __neg__(self) -> Unknown:
        return self

    def __mul__(self, other: object) -> Any:
        return 0 if other is not self and other == 0 else self

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if isinstance(other, Integral):
            raise Undecided
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return 0x5EED

    def __repr__(self) -> str:
        return "?"

    def __reduce__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()
MOST_DIMS = 64
"""Dims that an array can have: NumPy's limit."""


def of_rank(rank: int) -> Shape:
    """A shape of which no more is known than how many dims it has, which may be the size of another tensor. Raises ValueError where
    no array has so many."""
    if not 0 <= rank <= MOST_DIMS:
        raise ValueError(f"it would have {rank} dims, wanted 0 to {MOST_DIMS}")
    return (UNKNOWN,) * rank


def is_known(shape: MaybeShape) -> TypeGuard[tuple[int, ...]]:
    """True when the rank and every dim are known."""
    if shape is None:
        return False
    for d in shape:  # noqa: SIM110  asked of every tensor again and again, and any() takes twice as long
        if d is UNKNOWN:
            return False
    return True


def fits(shape: MaybeShape, array: tuple[int, ...]) -> bool:
    """True when the shape of an array agrees with what is known of it."""
    return shape is None or (len(shape) == len(array) and all(d is UNKNOWN or d == n for d, n in zip(shape, array)))


def identical(a: MaybeShape, b: MaybeShape) -> bool:
    """Equality that treats UNKNOWN as equal to itself only (``==`` on shapes may raise Undecided)."""
    if a is b or a is None or b is None:
        return a is b
    return len(a) == len(b) and all(x is y or (x is not UNKNOWN and y is not UNKNOWN and x == y) for x, y in zip(a, b))


@overload
def merge(a: Shape, b: MaybeShape) -> Shape: ...
@overload
def merge(a: MaybeShape, b: Shape) -> Shape: ...
@overload
def merge(a: MaybeShape, b: MaybeShape) -> MaybeShape: ...
def merge(a: MaybeShape, b: MaybeShape) -> MaybeShape:
    """Join what is known from either shape. Raises ValueError when they contradict each other."""
    if a is None or b is None or a is b:
        return b if a is None else a
    if len(a) != len(b):
        raise ValueError(f"shapes {show(a)} and {show(b)} differ in rank")
    out = []
    for x, y in zip(a, b):
        if x is UNKNOWN or y is UNKNOWN:
            out.append(y if x is UNKNOWN else x)
        elif x != y:
            raise ValueError(f"shapes {show(a)} and {show(b)} differ")
        else:
            out.append(x)
    return tuple(out)


def compatible(a: Shape, b: Shape) -> bool:
    """True when two shapes may turn out to be one."""
    return len(a) == len(b) and all(x is UNKNOWN or y is UNKNOWN or x == y for x, y in zip(a, b))


def merge_all(shapes: Iterable[MaybeShape]) -> MaybeShape:
    """merge over any number of shapes; None when nothing is known of any."""
    out: MaybeShape = None
    for shape in shapes:
        out = merge(out, shape)
    return out


def broadcast(*shapes: Shape) -> Shape:
    """The NumPy broadcast of shapes, aligned at the right. Raises ValueError when they do not broadcast.

    A dim that is unknown beside a dim other than 1 is taken to be that dim or 1, so the result is known."""
    rank = max(map(len, shapes))
    out = []
    for axis in range(-rank, 0):
        dims = [s[axis] for s in shapes if len(s) >= -axis]
        sizes = {d for d in dims if d is not UNKNOWN and d != 1}
        if len(sizes) > 1:
            numbers = [d for d in sizes if isinstance(d, Integral)]
            if len(numbers) > 1:
                raise ValueError(f"shapes {', '.join(map(show, shapes))} do not broadcast")
            # others stand for sizes that differ, unless one of them turns out to be 1
            out.append(numbers[0] if numbers else UNKNOWN)
            continue
        out.append(sizes.pop() if sizes else UNKNOWN if any(d is UNKNOWN for d in dims) else 1)
    return tuple(out)


def show(shape: MaybeShape) -> str:
    """A shape as people write it: ``(2, ?, 7)``, or ``unknown`` when the rank is."""
    if shape is None:
        return "unknown"
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def from_legacy(shape: Sequence[int] | None) -> MaybeShape:
    """MXNet's reading of a shape: a dim of 0 or -1 is unknown, an empty shape is an unknown rank; with np_shape 0 is a size, and
    None alone an unknown rank."""
    if shape is None or (len(shape) == 0 and not is_np_shape()):
        return None
    unknown = (-1,) if is_np_shape() else (0, -1)
    return tuple(UNKNOWN if d in unknown else int(d) for d in shape)


def to_legacy(shape: MaybeShape) -> tuple[int, ...] | None:
    """The inverse of from_legacy, for what MXNet's API returns: None with np_shape alone."""
    if is_np_shape():
        return None if shape is None else tuple(-1 if d is UNKNOWN else d for d in shape)
    return () if shape is None else tuple(0 if d is UNKNOWN else d for d in shape)
