"""Stand in for expressions, and note what has been seen of them.

Every probe has the number of its site first. ``LEFT[site]`` holds a bit for each thing that has not been seen."""

from __future__ import annotations

import contextlib
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np


class Site(NamedTuple):
    """An expression: where it is, what kind of probe it has, its text, and what may be seen, a bit each."""

    file: str
    line: int
    kind: str
    text: str
    labels: tuple[str, ...]


SITES: list[Site] = []
LEFT: list[int] = []
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq, "NotEq": operator.ne,
    "Is": operator.is_, "IsNot": operator.is_not, "In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b,
}  # fmt: skip
ORDERED = ("Lt", "LtE", "Gt", "GtE")
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv, "FloorDiv": operator.floordiv,
    "Mod": operator.mod, "BitOr": operator.or_, "BitAnd": operator.and_,
}  # fmt: skip
ALL = -1


def add(site: Site) -> int:
    """The number of a new site."""
    SITES.append(site)
    LEFT.append((1 << len(site.labels)) - 1)
    return len(SITES) - 1


def seen(site: int, bits: int) -> None:
    """Note that these have been seen; ALL: nothing is to be seen here."""
    LEFT[site] &= ~bits


def passed(site: int) -> None:
    """A function or handler is run."""
    LEFT[site] = 0


def outcome(site: int, value: Any) -> Any:
    """The condition of a branch: true, false."""
    if LEFT[site]:
        seen(site, 1 if value else 2)
    return value


def decided(site: int, conjunction: bool, operands: Sequence[Callable[[], Any]]) -> Any:
    """``and`` or ``or``: each operand without which the result would be another."""
    for index, operand in enumerate(operands):
        value = operand()
        if index == len(operands) - 1 or bool(value) != conjunction:
            break
    if LEFT[site] >> index & 1 and _matters(operands[index + 1 :], value, conjunction):
        seen(site, 1 << index)
    return value


def _matters(later: Sequence[Callable[[], Any]], value: Any, conjunction: bool) -> bool:
    """True where without this value, which ended an ``and`` or ``or``, the result would be another."""
    with contextlib.suppress(Exception):  # an error without it is another result, too
        if not later:
            return bool(value) != conjunction or not isinstance(value, bool)
        other = value
        for operand in later:
            other = operand()
            if bool(other) != conjunction:
                return not isinstance(value, bool) and other is not value
    return True


def compared(site: int, name: str, left: Any, right: Any) -> Any:
    """A comparison: true and false; an ordered one: less, equal, greater, without each of which two of ``< <= > >= == !=`` are one.
    Arrays have both outcomes."""
    result = COMPARE[name](left, right)
    if LEFT[site] and name not in ORDERED:
        seen(site, (1 if result else 2) if result is True or result is False else 3)
    elif LEFT[site]:
        try:
            ways = left < right, left == right, left > right
            seen(site, sum(bool(np.any(way)) << bit for bit, way in enumerate(ways)))
        except Exception:
            seen(site, ALL)
    return result


def member(site: int, negated: bool, value: Any, values: tuple[Any, ...]) -> bool:
    """``in`` a tuple: none of them, each of them."""
    found = value in values
    if LEFT[site]:
        seen(site, 2 << values.index(value) if found else 1)
    return found is not negated


def _parameters(function: Any) -> tuple[tuple[str, ...], dict[str, Any], tuple[str, ...]] | None:
    """Names of the positional parameters that a call gives, defaults by name, and names that have none; None for what has no
    parameters to look at."""
    bound = isinstance(function, types.MethodType | type)
    if isinstance(function, types.MethodType):
        function = function.__func__
    elif isinstance(function, type):
        function = function.__init__
    if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
        return None
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    given = function.__defaults__ or ()
    defaults = dict(zip(names[len(names) - len(given) :], given)) | (function.__kwdefaults__ or {})
    every = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names[bound:], defaults, tuple(n for n in every if n not in defaults)


def _same(value: Any, default: Any) -> bool:
    with contextlib.suppress(Exception):
        return value is default or (type(value) is type(default) and bool(value == default))
    return False


def _empty(value: Any) -> bool:
    with contextlib.suppress(Exception):
        return not value
    return False


def called(site: int, function: Any, positional: int, keywords: Sequence[str]) -> Any:
    """A function about to be called: each argument that is not the default it would have anyway; among those that the function
    takes as ``**`` each that is not empty."""
    known = _parameters(function) if LEFT[site] else None
    if known is None:
        seen(site, ALL)
        return function
    names, defaults, wanted = known

    def watched(*arguments: Any, **more: Any) -> Any:
        places = [*names[:positional], *[None] * (positional - len(names)), *keywords]
        values = [*arguments[:positional], *(more.get(k) for k in keywords)]
        for index, (name, value) in enumerate(zip(places, values)):
            extra = name is not None and name not in wanted
            if not (_same(value, defaults[name]) if name in defaults else extra and _empty(value)):
                seen(site, 1 << index)
        return function(*arguments, **more)

    return watched


def every(site: int, name: str, values: Iterable[Any]) -> bool:
    """``any`` or ``all``: where the other would say otherwise."""
    ends, truths = name == "any", []
    turns = iter(values)
    for value in turns:
        truths.append(bool(value))
        if truths[-1] == ends:
            break
    result = ends if truths and truths[-1] == ends else not ends
    if LEFT[site]:
        try:
            truths += map(bool, turns)
        except Exception:
            seen(site, 1)
        if any(truths) and not all(truths):
            seen(site, 1)
    return result


def extreme(site: int, name: str, values: Sequence[Any]) -> Any:
    """``min`` or ``max`` of arguments: each of them alone."""
    choose: Callable[[Iterable[Any]], Any] = min if name == "min" else max
    result = choose(values)
    if LEFT[site]:
        with contextlib.suppress(Exception):
            for index in range(len(values)):
                if choose([*values[:index], *values[index + 1 :]]) != result:
                    seen(site, 1 << index)
    return result


def ended(site: int, values: Any) -> Any:
    """Record that the first and the last of the values differ: one of them is indexed."""
    if LEFT[site] and (not isinstance(values, list | tuple | str) or (len(values) > 1 and values[0] is not values[-1])):
        seen(site, 1)
    return values


def repeated(site: int, values: Iterable[Any]) -> Iterable[Any]:
    """Record that a loop goes over two values at least."""
    return _counted(site, values) if LEFT[site] else values


def _counted(site: int, values: Iterable[Any]) -> Iterator[Any]:
    for count, value in enumerate(values):
        if count == 1:
            seen(site, 1)
        yield value


def cut(site: int, values: Any, lower: Any, upper: Any) -> Any:
    """A slice: bounds that cut something off."""
    if LEFT[site]:
        with contextlib.suppress(TypeError):
            seen(
                site,
                (1 if lower not in (0, None) else 0)
                | (2 if upper is not None and (upper < 0 or upper < len(values)) else 0),
            )
    return values[lower:upper]


def looked_up(site: int, values: Any, key: Any, default: Any) -> Any:
    """``get`` with a default: there, missing."""
    if LEFT[site]:
        seen(site, (1 if key in values else 2) if isinstance(values, dict) else ALL)
    return values.get(key, default)


def attribute(site: int, owner: Any, name: str, default: Any) -> Any:
    """``getattr`` with a default: there, missing."""
    if LEFT[site]:
        seen(site, 1 if hasattr(owner, name) else 2)
    return getattr(owner, name, default)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "abs": abs,
    "neg": operator.neg,
    "sorted": sorted,
    "set": set,
    "reversed": reversed,
}


def changed(site: int, name: str, value: Any) -> Any:
    """A function of one argument: that it changes anything."""
    value = list(value) if name in ("sorted", "set") else value
    result = CHANGES[name](value)
    if LEFT[site]:
        with contextlib.suppress(Exception):
            other = (
                len(result) != len(value)
                if name == "set"
                else len(value) > 1
                if name == "reversed"
                else result != value
            )
            if np.any(other):
                seen(site, 1)
    return result


def computed(site: int, name: str, left: Any, right: Any) -> Any:
    """Arithmetic of numbers: that each operand changes the other; a quotient with a remainder."""
    result = ARITHMETIC[name](left, right)
    if LEFT[site]:
        number = type(left) in (int, float) and type(right) in (int, float)
        with contextlib.suppress(Exception):
            if not number and name not in ("BitOr", "BitAnd"):
                seen(site, ALL)
            elif name == "FloorDiv":
                seen(site, (1 if left % right else 0) | (2 if right != 1 else 0))
            else:
                seen(site, (1 if result != left else 0) | (2 if result != right else 0))
    return result
