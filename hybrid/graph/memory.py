"""Where in one arena each short-lived tensor of a plan lives, so that two that are alive together never overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ALIGNMENT = 64  # a cache line, and the widest vector register


class Lifetime(NamedTuple):
    """A tensor of ``size`` bytes, written at step ``first`` and last read at step ``last``, both inclusive."""

    size: int
    first: int
    last: int


def place(tensors: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Offsets for the tensors and the arena's size.

    Largest first, each into the lowest gap that is free for its whole life (the greedy-by-size planner of Pisarchyk and
    Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
    """
    offsets = [0] * len(tensors)
    placed: list[tuple[int, int, Lifetime]] = []  # (offset, end, lifetime), sorted by offset
    total = 0
    for index in sorted(range(len(tensors)), key=lambda i: -tensors[i].size):
        tensor = tensors[index]
        size = -(-tensor.size // ALIGNMENT) * ALIGNMENT
        offset = 0
        for start, end, other in placed:
            if other.first > tensor.last or other.last < tensor.first:
                continue
            if offset + size <= start:
                break
            offset = max(offset, end)
        offsets[index] = offset
        placed.append((offset, offset + size, tensor))
        placed.sort(key=lambda p: p[0])
        total = max(total, offset + size)
    return offsets, total
