"""The data iterators that a program has made, in their order, and its calls of them while a training is kept."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

CALLS = ("reset", "next", "iter_next", "getdata", "getlabel", "__next__", "__iter__")
"""Methods of iterators by which a program goes through data."""


class Made:
    """The iterators of this process, numbered as they were made."""

    count = 0
    active: Any = None
    """The one that is told of the calls (hybrid/resuming/again.py); None: nobody is."""
    _numbers: dict[int, int] = {}
    _things: dict[int, weakref.ref[Any]] = {}

    @classmethod
    def add(cls, thing: Any) -> None:
        cls.count += 1
        number, place = cls.count, id(thing)

        def forget(_: Any) -> None:
            cls._things.pop(number, None)
            if cls._numbers.get(place) == number:
                del cls._numbers[place]

        cls._numbers[place] = number
        cls._things[number] = weakref.ref(thing, forget)

    @classmethod
    def number(cls, thing: Any) -> int | None:
        """Number of an iterator; None for other things."""
        number = cls._numbers.get(id(thing))
        return number if number is not None and cls.thing(number) is thing else None

    @classmethod
    def thing(cls, number: int) -> Any:
        """The iterator of this number; None for one that is gone."""
        held = cls._things.get(number)
        return None if held is None else held()


def told(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an iterator whose calls are told to what is active."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        active = Made.active
        if active is None:
            return method(self, *args, **kwargs)
        return active.call(self, method, args, kwargs)

    return call


def tell_calls(kind: type) -> None:
    """Have a class of iterators tell of calls of its own methods."""
    for name in CALLS:
        method = vars(kind).get(name)
        if isinstance(method, FunctionType):
            setattr(kind, name, told(method))
