"""Fixed shares of sweeps: what a run looks at of cases that are many and alike, the same ones on every machine and in every run.

A case is in a share by the checksum of its name. ``pytest --all-cases`` looks at all, ``pytest --turn 3`` at another share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

everything = False
"""True where all cases are looked at (``--all-cases``)."""
turn = 0
"""Number of the share that is looked at (``--turn``)."""


def number(name: str, count: int) -> int:
    """Number of the share, of so many, that the case of this name is in; 0 for the one that is looked at."""
    return (zlib.crc32(name.encode()) - turn) % count


def some(rows: Iterable[T], name: Callable[[T], str], count: int) -> Iterator[T]:
    """The rows in one share of so many, by their names; the first row where none is in it."""
    if everything:
        yield from rows
        return
    first: list[T] = []
    found = False
    for row in rows:
        if not number(name(row), count):
            found = True
            yield row
        elif not found and not first:
            first.append(row)
    if not found:
        yield from first


def one(values: Sequence[T], name: str) -> Sequence[T]:
    """The value whose turn it is for the case of this name, alone; all of them with ``--all-cases``."""
    return values if everything else (values[number(name, len(values))],)
