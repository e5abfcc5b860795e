"""The memory planner: where in one arena each short-lived tensor of a plan lives, so that no two alive at once overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.error import OutOfMemory
from ..core.memory_budget import afford

ALIGNMENT = 64  # a cache line, and the widest vector register
MOST = 2**62  # bytes; what can be added up without going over


class Lifetime(NamedTuple):
    """A tensor of ``size`` bytes, written at step ``first`` and last read at step ``last``, both inclusive."""

    size: int
    first: int
    last: int


def assign_offsets(tensors: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Offsets for the tensors and the arena's size.

    Largest first, each into the lowest gap that is free for its whole life (the greedy-by-size planner of Pisarchyk and
    Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). Raises OutOfMemory when they
    take more than the memory budget.
    """
    needed = sum(t.size for t in tensors)
    if needed > MOST:
        raise OutOfMemory(f"the graph's tensors take {needed} bytes, which no memory has; give smaller inputs")
    # arrays, because every tensor is held against all that are placed: 10,000 take half a second, in Python 20
    order = sorted(range(len(tensors)), key=lambda i: -tensors[i].size)
    first, last, start, end = np.zeros((4, len(tensors)), np.int64)
    for count, index in enumerate(order):
        tensor = tensors[index]
        size = -(-tensor.size // ALIGNMENT) * ALIGNMENT
        together = np.flatnonzero((first[:count] <= tensor.last) & (last[:count] >= tensor.first))
        together = together[np.argsort(start[together])]
        ends = np.maximum.accumulate(np.concatenate([[0], end[together]]))  # of all up to each gap
        gaps = np.flatnonzero(ends[:-1] + size <= start[together])
        offset = ends[gaps[0]] if gaps.size else ends[-1]
        first[count], last[count], start[count], end[count] = tensor.first, tensor.last, offset, offset + size
    offsets = [0] * len(tensors)
    for index, offset in zip(order, start.tolist()):
        offsets[index] = offset
    arena = int(end.max(initial=0))
    afford(arena, "the memory of the graph's tensors", "give smaller inputs, or allow more with set_memory_budget")
    return offsets, arena
