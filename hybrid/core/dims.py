"""Sizes that stand for others: what a graph becomes for one set of sizes, traced with these, holds for every set that passes
the same guards.

A Dim has a value, which is the size that it is now, and an expression of the symbols of its Trace. Arithmetic gives Dims. A
comparison is answered for the value, and where the expression does not decide it for all sizes alike, the answer becomes a guard
of the trace: what was made is right for sizes for which every guard gives the same. What needs a plain number (``int``,
``range``, an array of numbers) gets the value, and a guard that the size is that. So nothing that a rule does with sizes can be
wrong for others; it can only be known of fewer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

SMALLEST, LARGEST = 2, 2**31 - 1
"""Range of a symbol: programs for sizes of 0 and 1 are made apart, because broadcasting treats them so."""
SYMBOL, QUOTIENT, REMAINDER = range(3)
EQUAL, UNEQUAL, LESS, AT_MOST = range(4)
_FAR = 1 << 200

Key = frozenset[tuple[tuple[int, ...], int]]


class Trace:
    """Symbols, the expressions made of them, and the guards under which what was traced holds."""

    def __init__(self):
        self.atoms: list[tuple[int, Any, Any]] = []
        """(SYMBOL, its number, 0), or (QUOTIENT or REMAINDER, left, right) with Dims or numbers."""
        self._guards: dict[Any, tuple[int, Any, Any]] = {}
        self.symbols: list[Dim] = []
        self._known: dict[Key, Dim] = {}
        self._operations: dict[Any, Dim] = {}
        self._values: list[int] = []
        self._ranges: list[tuple[int, int]] = []

    def symbol(self, value: int) -> Dim:
        """A new symbol, which is this size now."""
        made = self._atom((SYMBOL, len(self.symbols), 0), value, (SMALLEST, LARGEST))
        self.symbols.append(made)
        return made

    @property
    def guards(self) -> list[tuple[int, Any, Any]]:
        """(relation, left, right): what has to be true of sizes."""
        return list(self._guards.values())

    def _atom(self, what: tuple[int, Any, Any], value: int, within: tuple[int, int]) -> Dim:
        self.atoms.append(what)
        self._values.append(value)
        self._ranges.append(within)
        found = self.sum({(len(self.atoms) - 1,): 1})
        assert isinstance(found, Dim)
        return found

    def sum(self, terms: dict[tuple[int, ...], int]) -> Any:
        """The polynomial with these terms: a Dim, or the number that it is."""
        terms = {k: f for k, f in terms.items() if f}
        if not terms or terms.keys() == {()}:
            return terms.get((), 0)
        key = frozenset(terms.items())
        found = self._known.get(key)
        if found is None:
            value = sum(f * math.prod(self._values[a] for a in k) for k, f in terms.items())
            found = self._known[key] = Dim(self, terms, value)
        return found

    def operation(self, kind: int, left: Any, right: Any) -> Any:
        """The quotient or remainder of two, rounded down."""
        key = kind, _identity(left), _identity(right)
        if key not in self._operations:
            a, b = _value(left), _value(right)
            (low, high), (least, most) = _range(left), _range(right)
            if least <= 0:
                within = (-_FAR, _FAR)
            elif kind == QUOTIENT:
                within = (min(low // least, low // most), max(high // least, high // most))
            else:
                within = (0, min(most - 1, high) if low >= 0 else most - 1)
            self._operations[key] = self._atom((kind, left, right), a // b if kind == QUOTIENT else a % b, within)
        return self._operations[key]

    def bounds(self, terms: dict[tuple[int, ...], int]) -> tuple[int, int]:
        """Between which numbers the polynomial lies."""
        low = high = 0
        for atoms, factor in terms.items():
            ends = [factor]
            for a in atoms:
                ends = [e * end for e in ends for end in self._ranges[a]]
                ends = [min(ends), max(ends)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def holds(self, relation: int, left: Any, right: Any) -> bool:
        """The answer for the values, which is a guard from now on unless it is the same for all sizes."""
        a, b = _value(left), _value(right)
        answer = (a == b, a != b, a < b, a <= b)[relation]
        difference = left - right
        low, high = _range(difference)
        certain = {
            EQUAL: high < 0 or low > 0 or low == high,
            LESS: high < 0 or low >= 0,
            AT_MOST: high <= 0 or low > 0,
        }[EQUAL if relation == UNEQUAL else relation]
        if not certain:
            if not answer:  # the opposite holds
                relation = {EQUAL: UNEQUAL, UNEQUAL: EQUAL, LESS: AT_MOST, AT_MOST: LESS}[relation]
                if relation in (LESS, AT_MOST):
                    left, right = right, left
            self._guards.setdefault((relation, _identity(left), _identity(right)), (relation, left, right))
        return answer


class Dim:
    """A size that stands for others; see the module's docstring."""

    __slots__ = ("_bounds", "terms", "trace", "value")

    def __init__(self, trace: Trace, terms: dict[tuple[int, ...], int], value: int):
        self.trace, self.terms, self.value = trace, terms, value
        self._bounds: tuple[int, int] | None = None

    def bounds(self) -> tuple[int, int]:
        """Between which numbers it lies for all sizes."""
        if self._bounds is None:
            self._bounds = self.trace.bounds(self.terms)
        return self._bounds

    # -- arithmetic -----------------------------------------------------------------------------------------------------

    def _plus(self, other: Any, sign: int) -> Any:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        out = dict(self.terms)
        for key, factor in terms.items():
            out[key] = out.get(key, 0) + sign * factor
        return self.trace.sum(out)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__
    numerator = property(lambda self: self)
    denominator = 1

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Any:
        return self.trace.sum({k: -f for k, f in self.terms.items()})

    def __pos__(self) -> Dim:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __mul__(self, other: Any) -> Any:
        terms = _terms(other)
        if terms is None:
            return NotImplemented
        out: dict[tuple[int, ...], int] = {}
        for (one, a), (two, b) in itertools.product(self.terms.items(), terms.items()):
            key = tuple(sorted(one + two))
            out[key] = out.get(key, 0) + a * b
        return self.trace.sum(out)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        if _terms(other) is None:
            return NotImplemented
        return _divide(self.trace, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        if _terms(other) is None:
            return NotImplemented
        return _divide(self.trace, int(other), self)

    def __mod__(self, other: Any) -> Any:
        if _terms(other) is None:
            return NotImplemented
        return _remainder(self.trace, self, other)

    def __rmod__(self, other: Any) -> Any:
        if _terms(other) is None:
            return NotImplemented
        return _remainder(self.trace, int(other), self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __pow__(self, power: Any) -> Any:
        return math.prod([self] * power) if type(power) is int and 0 <= power < 8 else int(self) ** power

    # -- comparison -----------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        if other is self:
            return True
        if isinstance(other, float) and other.is_integer():
            other = int(other)
        return self.trace.holds(EQUAL, self, other) if _terms(other) is not None else NotImplemented

    def __ne__(self, other: object) -> Any:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def _compare(self, relation: int, other: Any, swapped: bool) -> Any:
        if isinstance(other, float):
            return NotImplemented if math.isnan(other) else self._compare_real(relation, other, swapped)
        if _terms(other) is None:
            return NotImplemented
        return self.trace.holds(relation, other, self) if swapped else self.trace.holds(relation, self, other)

    def _compare_real(self, relation: int, other: float, swapped: bool) -> bool:
        """As whole numbers: n < 2.5 is n <= 2, n > 2.5 is n > 2."""
        if math.isinf(other):
            return (other > 0) != swapped
        if other.is_integer():
            return self._compare(relation, int(other), swapped)
        return (
            self._compare(LESS, math.floor(other), True)
            if swapped
            else self._compare(AT_MOST, math.floor(other), False)
        )

    def __lt__(self, other: Any) -> Any:
        return self._compare(LESS, other, False)

    def __le__(self, other: Any) -> Any:
        return self._compare(AT_MOST, other, False)

    def __gt__(self, other: Any) -> Any:
        return self._compare(LESS, other, True)

    def __ge__(self, other: Any) -> Any:
        return self._compare(AT_MOST, other, True)

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> int:
        return hash(self.value)

    # -- as a plain number ----------------------------------------------------------------------------------------------

    def __index__(self) -> int:
        self.trace.holds(EQUAL, self, self.value)
        return self.value

    __int__ = __trunc__ = __floor__ = __ceil__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __round__(self, digits: int | None = None) -> int:
        return self.__index__()

    def __truediv__(self, other: Any) -> Any:
        return int(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / int(self)

    def is_integer(self) -> bool:
        """True, as of int."""
        return True

    def __repr__(self) -> str:
        letters = [
            "*".join([*([str(f)] if f != 1 or not k else []), *(f"s{a}" for a in k)]) for k, f in self.terms.items()
        ]
        return f"{self.value}<{' + '.join(letters)}>"


Integral.register(Dim)


def plain(value: Any) -> Any:
    """The number that a size is now, of a Dim too; what holds for others is not asked. For texts and estimates."""
    return value.value if type(value) is Dim else value


def has_dims(value: Any) -> bool:
    """True where it is a Dim, or a tuple or array that holds one."""
    if type(value) is np.ndarray:
        return value.dtype == object and any(type(v) is Dim for v in value.flat)
    return type(value) is Dim or (type(value) is tuple and any(map(has_dims, value)))


def array_of(sizes: Iterable[Any]) -> np.ndarray:
    """The sizes as an array of int64; one of objects where there are Dims among them."""
    sizes = tuple(sizes)
    return np.array(sizes, object if has_dims(sizes) else np.int64)


def length_of(start: Any, stop: Any, step: Any, size: Any) -> Any:
    """Number of elements that a slice takes of an axis of that size; any of them may be a Dim."""
    if not has_dims((start, stop, step, size)):
        return len(range(*slice(start, stop, step).indices(size)))
    step = 1 if step is None else int(step)
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def place(at: Any, otherwise: Any) -> Any:
        if at is None:
            return otherwise
        at = at + size if at < 0 else at
        return low if at < low else high if at > high else at

    first, last = place(start, low if step > 0 else high), place(stop, high if step > 0 else low)
    distance = last - first if step > 0 else first - last
    return 0 if distance <= 0 else -(-distance // abs(step))


def dims_of(values: Iterable[Any]) -> Trace | None:
    """The trace that Dims among these belong to; None where there are none."""
    return next((v.trace for v in values if type(v) is Dim), None)


def _terms(value: Any) -> dict[tuple[int, ...], int] | None:
    if type(value) is Dim:
        return value.terms
    if type(value) is float and value.is_integer():
        return {(): int(value)}
    return {(): int(value)} if isinstance(value, int | np.integer) else None


def _value(value: Any) -> int:
    return value.value if type(value) is Dim else int(value)


def _range(value: Any) -> tuple[int, int]:
    return value.bounds() if type(value) is Dim else (int(value), int(value))


def _identity(value: Any) -> Any:
    return id(value) if type(value) is Dim else ("number", int(value))


def _divide(trace: Trace, left: Any, right: Any) -> Any:
    found = _quotient(left, right)
    if found is not None:
        return trace.sum(found)
    if not right:  # a guard that it is not 0
        raise ZeroDivisionError("integer division or modulo by zero")
    return trace.operation(QUOTIENT, left, right)


def _remainder(trace: Trace, left: Any, right: Any) -> Any:
    if not right:
        raise ZeroDivisionError("integer division or modulo by zero")
    if _quotient(left, right) is not None:
        return 0
    return trace.operation(REMAINDER, left, right)


def _quotient(left: Any, right: Any) -> dict[tuple[int, ...], int] | None:
    """The terms of left over right where that leaves no remainder, whatever the sizes."""
    above, below = _terms(left), _terms(right)
    assert above is not None and below is not None
    if len(below) == 1:
        return _by_term(above, *next(iter(below.items())))
    # of (a + b) * c over a + b: the ratio of the leading terms, if it is that of all
    lead = max(below)
    candidates = {k: f for k, f in above.items() if not _missing(k, lead)}
    first = _by_term({k: candidates[k] for k in list(candidates)[:1]}, lead, below[lead]) if candidates else None
    if not first:
        return None
    product: dict[tuple[int, ...], int] = {}
    for (one, a), (two, b) in itertools.product(first.items(), below.items()):
        key = tuple(sorted(one + two))
        product[key] = product.get(key, 0) + a * b
    return first if product == above else None


def _missing(key: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    rest = list(key)
    for atom in wanted:
        if atom not in rest:
            return True
        rest.remove(atom)
    return False


def _by_term(
    terms: dict[tuple[int, ...], int], atoms: tuple[int, ...], factor: int
) -> dict[tuple[int, ...], int] | None:
    if not factor:
        return None
    out = {}
    for key, f in terms.items():
        if _missing(key, atoms) or f % factor:
            return None
        rest = list(key)
        for atom in atoms:
            rest.remove(atom)
        out[tuple(rest)] = f // factor
    return out


class Ratio:
    """A fraction of numbers one of which is a Dim; see fraction."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Any, denominator: Any):
        if denominator != 1 and numerator % denominator == 0:
            numerator, denominator = numerator // denominator, 1
        self.numerator, self.denominator = numerator, denominator

    def __mul__(self, other: Any) -> Ratio:
        return Ratio(self.numerator * other.numerator, self.denominator * other.denominator)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Ratio:
        return Ratio(self.numerator * other.denominator, self.denominator * other.numerator)

    def __rtruediv__(self, other: Any) -> Ratio:
        return Ratio(other.numerator * self.denominator, other.denominator * self.numerator)

    def __eq__(self, other: Any) -> bool:
        return self.numerator * other.denominator == other.numerator * self.denominator

    def __lt__(self, other: Any) -> bool:
        return self.numerator * other.denominator < other.numerator * self.denominator

    __hash__ = None  # type: ignore[assignment]


def fraction(value: Any) -> Fraction | Ratio:
    """A whole number as a fraction, a Dim too."""
    if type(value) is Dim:
        return Ratio(value, 1)
    from fractions import Fraction  # which loads decimal numbers too

    return Fraction(value)


class Written:
    """A trace as the compiled part reads it: atoms, expressions and guards in numbers."""

    def __init__(self, trace: Trace | None):
        self.trace = trace
        self.atoms: list[tuple[int, int, int]] = []
        self.expressions: list[list[tuple[int, list[int]]]] = []
        self._numbers: dict[Any, int] = {}
        for kind, left, right in trace.atoms if trace else ():
            self.atoms.append((kind, left, 0) if kind == SYMBOL else (kind, self.number(left), self.number(right)))

    def number(self, value: Any) -> int:
        """The number of an expression."""
        key = _identity(value)
        if key not in self._numbers:
            terms = _terms(value)
            assert terms is not None
            self._numbers[key] = len(self.expressions)
            self.expressions.append([(f, list(k)) for k, f in terms.items()])
        return self._numbers[key]

    def extent(self, value: Any) -> Any:
        """A size for the compiled part: a number, or the number of an expression in a tuple."""
        return (self.number(value),) if type(value) is Dim else value

    def enter(self, value: Any) -> None:
        """Number the expressions of a size, or of all in a tuple or array, so that they can be read."""
        if type(value) is np.ndarray and value.dtype == object:
            value = tuple(value.flat)
        if type(value) is tuple:
            for v in value:
                self.enter(v)
        elif type(value) is Dim:
            self.number(value)

    def guards(self) -> list[tuple[int, int, int]]:
        """All guards up to now."""
        return [(r, self.number(a), self.number(b)) for r, a, b in self.trace.guards] if self.trace else []

    def read(self, value: Any, values: list[int]) -> Any:
        """A size, or a tuple or array of sizes, where expressions have these values."""
        if type(value) is Dim:
            return values[self.number(value)]
        if type(value) is tuple:
            return tuple(self.read(v, values) for v in value)
        if type(value) is np.ndarray and value.dtype == object:
            return np.array([self.read(v, values) for v in value.flat], np.int64).reshape(value.shape)
        return value
