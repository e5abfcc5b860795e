"""One counter of changes: whoever keeps what it has found out compares numbers, and so knows whether that still holds.

Every change draws the next number. It is kept where somebody asks for it:

- ``Var.version`` (execution/scheduler.py): the last write to a piece of memory;
- ``LAST.structure``: the last block that got a child, or was to be traced anew (gluon/hybrid_block.py);
- ``LAST.backends``: the last change of what a graph would become if it were bound now: a backend that came or went, the
  compiled part's CPU level and number of threads;
- ``LAST.settings``: the last of those, or of hooks that came or went (execution/backend.py);
- ``LAST.exchange``: the last exchange of arrays that are known by their place (those of parameters);
- ``LAST.change``: the last of all these: while it is the same, everything is;
- the last seed (core/rng.py), which decides about numbers to come, and about nothing that anybody keeps.

Numbers are drawn by moments that only have to be told apart, too: runs between which nobody writes to what they were given.
"""

from __future__ import annotations

import itertools

draw = itertools.count(1).__next__
"""Gives a number that nobody has had."""


class _Last:
    """Numbers of the last changes. Each is another one after a change; not a larger one, where threads change things at once."""

    __slots__ = ("backends", "change", "exchange", "settings", "structure")

    def __init__(self) -> None:
        self.backends = self.change = self.exchange = self.settings = self.structure = 0


LAST = _Last()


def changed() -> None:
    """To be called when arrays that are known by their place have been exchanged for others."""
    LAST.exchange = LAST.change = draw()


def structure_changed() -> None:
    """To be called when a block has other children, or is to be traced anew."""
    LAST.structure = LAST.change = draw()


def backends_changed() -> None:
    """To be called when a graph would become something else if it were bound now."""
    LAST.backends = LAST.settings = LAST.change = draw()


def hooks_changed() -> None:
    """To be called when a hook has come or gone."""
    LAST.settings = LAST.change = draw()
