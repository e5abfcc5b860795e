"""The memory planner: where in one arena each short-lived tensor of a plan lives, so that no two alive at once overlap."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    times = _OccupiedTimes(max((t.last for t in tensors), default=0))
    offsets, arena = [0] * len(tensors), 0
    for index in sorted(range(len(tensors)), key=lambda i: -tensors[i].size):
        tensor = tensors[index]
        size = -(-tensor.size // ALIGNMENT) * ALIGNMENT
        offset = offsets[index] = times.lowest_gap(tensor.first, tensor.last, size)
        times.occupy(tensor.first, tensor.last, offset, offset + size)
        arena = max(arena, offset + size)
    afford(arena, "the memory of the graph's tensors", "give smaller inputs, or allow more with set_memory_budget")
    return offsets, arena


class _Intervals:
    """A set of bytes as intervals in order, no two of which touch."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        first, after = bisect_left(self.ends, start), bisect_right(self.starts, end)
        if first < after:  # they become one
            if self.starts[first] <= start and end <= self.ends[first]:
                return
            start, end = min(start, self.starts[first]), max(end, self.ends[after - 1])
        self.starts[first:after] = [start]
        self.ends[first:after] = [end]


class _OccupiedTimes:
    """Bytes that are taken at each step, as a tree over the steps: a node stands for BRANCHES ** level of them.

    A tensor covers the largest nodes that lie in its life, and touches these and all above; so both questions ask a few nodes on
    each level only, however many tensors there are, and what lies close in memory is one interval."""

    BRANCHES = 4

    def __init__(self, last: int):
        levels = 1
        while last + 1 >= self.BRANCHES**levels:
            levels += 1
        self._touched = [defaultdict[int, _Intervals](_Intervals) for _ in range(levels)]
        """Bytes that something takes at any time of a node, by level and node;"""
        self._covered = [defaultdict[int, _Intervals](_Intervals) for _ in range(levels)]
        """those that something takes all the time."""

    def _cover(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Level and number of the largest nodes that these steps are made of."""
        level, end = 0, last + 1
        while first < end:
            while first < end and first % self.BRANCHES:
                yield level, first
                first += 1
            while first < end and end % self.BRANCHES:
                end -= 1
                yield level, end
            level, first, end = level + 1, first // self.BRANCHES, end // self.BRANCHES

    def _above(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Level and number of the nodes that hold the first or the last of these steps."""
        for level in range(len(self._touched)):
            yield level, first
            if last != first:
                yield level, last
            first, last = first // self.BRANCHES, last // self.BRANCHES

    def occupy(self, first: int, last: int, start: int, end: int) -> None:
        """Take these bytes from the first to the last step."""
        for level, node in self._cover(first, last):
            self._covered[level][node].add(start, end)
            self._touched[level][node].add(start, end)
        for level, node in self._above(first, last):
            self._touched[level][node].add(start, end)

    def lowest_gap(self, first: int, last: int, size: int) -> int:
        """Return where the lowest ``size`` bytes start that nobody takes at any of these steps."""
        taken = [self._touched[level].get(node) for level, node in self._cover(first, last)]
        taken += [self._covered[level].get(node) for level, node in self._above(first, last)]
        sets = [(t.starts, t.ends) for t in taken if t is not None]
        offset, agreed, number = 0, 0, 0
        while agreed < len(sets):  # until all of them in a row have the gap
            starts, ends = sets[number]
            number = (number + 1) % len(sets)
            agreed += 1
            at = bisect_right(ends, offset)
            while at < len(starts) and starts[at] < offset + size:
                offset, agreed = ends[at], 1
                at += 1
        return offset
