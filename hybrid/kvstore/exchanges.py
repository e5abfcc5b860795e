"""Exchanges between the processes of a job: sums of arrays, values of one process for all, bytes of each for all.

An exchange is a generator that sends and receives, and yields what it waits for; the thread of communication (world.py) takes it
on whenever that has come. Everything is bytes to MPI: sums are made here, in the order of ranks, so that they have the same bits
in all processes and in every run.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

SLICE = 1 << 22
"""Bytes of an array that travel as one; longer ones are cut, so that others can come in between."""
SMALL = 1 << 14
"""Bytes up to which every process sends all to all others: one trip instead of two."""


class Exchange:
    """Base. name: for errors and traces; tag: the number by which messages find it, with the two after it."""

    size = 0
    """Bytes that it moves, about."""
    serves_to_the_end = False
    """True when those whom it asks answer even when their program has ended."""

    def __init__(self, world: Any, name: str, tag: int) -> None:
        self.world, self.name, self.tag = world, name, tag
        self.finish: Callable[[BaseException | None], None] = lambda error: None
        self.over = False
        self.failure: str | None = None
        self.asked = self.moved = 0.0
        self.began = 0
        self._steps: Iterator[Callable[[], bool]] | None = None
        self._ready: Callable[[], bool] = lambda: True
        self._awaited: list[tuple[int, Any]] = []

    def parts(self) -> Sequence[Exchange]:
        """The exchanges that it is cut into, all of which are begun in this order."""
        return (self,)

    def begin(self, now: float) -> None:
        """It is its turn."""
        self.moved, self.began = now, time.perf_counter_ns()
        self._steps = self._run()

    def advance(self, now: float) -> bool:
        """Go on where what was waited for has come; says whether it had."""
        if self.over or not self._ready():
            return False
        assert self._steps is not None
        self.moved = now
        self._awaited = []
        try:
            self._ready = next(self._steps)
        except StopIteration:
            self.over = True
        return True

    def missing(self) -> list[int]:
        """Ranks that it waits for, to send or to take."""
        return sorted({rank for rank, request in self._awaited if not request.Test()})

    def _run(self) -> Iterator[Callable[[], bool]]:
        """Send and receive; yields functions that say whether to go on."""
        raise NotImplementedError

    def _others(self) -> list[int]:
        """The other ranks, beginning behind this one, so that not all turn to the same at once."""
        world = self.world
        return [(world.rank + i) % world.size for i in range(1, world.size)]

    def _send(self, array: np.ndarray, rank: int, phase: int = 0) -> None:
        raw = _bytes(array)
        self.world.sent += raw.size
        mpi = self.world.mpi
        self._awaited.append((rank, self.world.communicator.Isend([raw, mpi.BYTE], rank, self.tag + phase)))

    def _receive(self, array: np.ndarray, rank: int, phase: int = 0) -> None:
        mpi = self.world.mpi
        self._awaited.append((rank, self.world.communicator.Irecv([_bytes(array), mpi.BYTE], rank, self.tag + phase)))

    def _arrived(self) -> Callable[[], bool]:
        """All that was sent and is to be received since the last step has been."""
        requests = [request for _, request in self._awaited]
        return lambda: self.world.mpi.Request.Testall(requests)


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def add(parts: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Write the sum of arrays into another, added in their order; half precision is added in single."""
    wide = np.float32 if out.dtype.itemsize == 2 and out.dtype.kind in "fV" else None
    if out.dtype == np.bool_:
        np.logical_or.reduce(parts, out=out)
    elif wide is not None:
        total = parts[0].astype(wide)
        for part in parts[1:]:
            total += part.astype(wide)
        out[...] = total.astype(out.dtype)
    else:
        np.add(parts[0], parts[1], out=out) if len(parts) > 1 else np.copyto(out, parts[0])
        for part in parts[2:]:
            np.add(out, part, out=out)


class Sum(Exchange):
    """The sum of an array over all ranks, or with root the array of that rank, in ``out``; both of them flat."""

    def __init__(
        self, world: Any, name: str, tag: int, mine: np.ndarray, out: np.ndarray, root: int | None = None
    ) -> None:
        super().__init__(world, name, tag)
        self.mine, self.out, self.root = mine, out, root
        self.size = out.nbytes

    def parts(self) -> Sequence[Exchange]:
        step = max(1, SLICE // self.out.itemsize)
        if self.out.size <= step:
            return (self,)
        left = [-(-self.out.size // step)]

        def one_is_over(error: BaseException | None) -> None:
            left[0] -= 1
            if left[0] == 0 or (error is not None and left[0] >= 0):
                left[0] = min(left[0], 0)
                self.finish(error)

        made = []
        for i in range(0, self.out.size, step):
            part = Sum(self.world, self.name, self.tag, self.mine[i : i + step], self.out[i : i + step], self.root)
            part.finish = one_is_over
            made.append(part)
        return made

    def _run(self) -> Iterator[Callable[[], bool]]:
        return self._all_to_all() if self.out.nbytes <= SMALL else self._by_shares()

    def _gives(self, rank: int) -> bool:
        return self.root is None or rank == self.root

    def _combine(self, parts: dict[int, np.ndarray], out: np.ndarray) -> None:
        ordered = [parts[r] for r in sorted(parts)]
        add(ordered, out)

    def _all_to_all(self) -> Iterator[Callable[[], bool]]:
        """Each rank that has a value sends it to all others, and all add them up."""
        here = self.world.rank
        parts = {here: self.mine} if self._gives(here) else {}
        for rank in self._others():
            if self._gives(rank):
                parts[rank] = np.empty_like(self.out)
                self._receive(parts[rank], rank)
        for rank in self._others():
            if self._gives(here):
                self._send(self.mine, rank)
        yield self._arrived()
        self._combine(parts, self.out)

    def _by_shares(self) -> Iterator[Callable[[], bool]]:
        """Each rank adds up its share of the array and sends it to all others: every number travels to its adder, and back."""
        world = self.world
        cuts = [len(self.out) * r // world.size for r in range(world.size + 1)]
        shares = [slice(a, b) for a, b in itertools.pairwise(cuts)]
        own = shares[world.rank]
        parts = {world.rank: self.mine[own]} if self._gives(world.rank) else {}
        for rank in self._others():
            if self._gives(rank):
                parts[rank] = np.empty_like(self.out[own])
                self._receive(parts[rank], rank)
        for rank in self._others():
            if self._gives(world.rank):
                self._send(self.mine[shares[rank]], rank)
        yield self._arrived()
        for rank in self._others():
            self._receive(self.out[shares[rank]], rank, 1)
        self._combine(parts, self.out[own])
        for rank in self._others():
            self._send(self.out[own], rank, 1)
        yield self._arrived()


class Gather(Exchange):
    """Bytes of every rank in ``received``, by rank; each may have as many as it likes. With root that rank's alone."""

    def __init__(self, world: Any, name: str, tag: int, mine: np.ndarray, root: int | None = None) -> None:
        super().__init__(world, name, tag)
        self.mine = _bytes(np.ascontiguousarray(mine))
        self.root = root
        self.received: list[np.ndarray] = [np.zeros(0, np.uint8)] * world.size
        self.size = self.mine.size

    def _run(self) -> Iterator[Callable[[], bool]]:
        world = self.world
        mpi = world.mpi
        if self.root in (None, world.rank):
            self.received[world.rank] = self.mine
            for rank in self._others():
                self._send(self.mine, rank)
        sent = self._arrived()
        outgoing = self._awaited
        waiting = {r for r in self._others() if self.root in (None, r)}
        incoming: list[tuple[int, Any]] = []
        status = mpi.Status()

        def ready() -> bool:
            for rank in sorted(waiting):
                message = world.communicator.Improbe(source=rank, tag=self.tag, status=status)
                if message is not None:
                    buffer = np.empty(status.Get_count(mpi.BYTE), np.uint8)
                    self.received[rank] = buffer
                    incoming.append((rank, message.Irecv([buffer, mpi.BYTE])))
                    waiting.discard(rank)
            self._awaited = [*outgoing, *incoming, *((r, _Nothing) for r in waiting)]
            return not waiting and mpi.Request.Testall([r for _, r in incoming]) and sent()

        yield ready


class _Nothing:
    """Stands for a message that nothing has been heard of."""

    @staticmethod
    def Test() -> bool:  # noqa: N802  as of MPI's requests
        return False
