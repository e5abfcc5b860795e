"""Nested lists of arrays (or symbols), taken apart and put together again, for control flow.

A form says how: 0 for one thing, n > 0 for a symbol of n outputs, a list for a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Form = Any


def flatten(cls: type, things: Any, what: str) -> tuple[list[Any], Form]:
    """(everything in order, its form). Raises AssertionError for what is neither a ``cls`` nor a list, as MXNet does."""
    if isinstance(things, cls):
        count = len(getattr(things, "_entries", (things,)))  # a symbol of mx.sym.np has no length
        return ([things], 0) if count == 1 else (list(things), count)
    if not isinstance(things, list | tuple):
        raise AssertionError(f"{what} must be (nested) list of {cls.__name__}, but got {things} of type {type(things)}")
    flat: list[Any] = []
    forms = []
    for thing in things:
        parts, form = flatten(cls, thing, what)
        flat += parts
        forms.append(form)
    return flat, forms


def regroup(flat: list[Any], form: Form) -> Any:
    """The inverse of flatten; tuples come back as lists."""
    return _take(iter(flat), form)


def _take(things: Iterator[Any], form: Form) -> Any:
    if isinstance(form, list):
        return [_take(things, part) for part in form]
    return next(things) if form == 0 else [next(things) for _ in range(form)]
