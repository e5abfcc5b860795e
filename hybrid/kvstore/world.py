"""The processes of one job, joined by MPI: who this one is, and what travels between it and the others.

One thread of its own does all that is said to MPI, so any MPI with threads will do, and no call of a program waits in it. What
travels is an exchange (exchanges.py), begun in the order of priorities. Messages find each other by their tags, never by the
order in which they are sent: ranks need not agree on one, and none waits for another but for the values that it needs.

A process that has died, hangs, or ends while others wait for it, ends them all with one error: exchanges that nothing comes for
fail after ``GLUONNX_DIST_TIMEOUT`` seconds (300), naming who is waited for; an error that the program does not catch, or that
an exchange ended by, aborts the job. docs/distributed.md, docs/decisions/0030-distributed-training-on-mpi.md.
"""

from __future__ import annotations

import atexit
import heapq
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.error import MXNetError
from ..execution.scheduler import SCHEDULER
from .exchanges import SLICE, Exchange, Gather

TIMEOUT = "GLUONNX_DIST_TIMEOUT"
MOST_IN_FLIGHT = 2 * SLICE
"""Bytes of exchanges that are under way before another begins, so that one with a higher priority may still come first."""
STANDSTILL = 0.01
"""Seconds without progress after which another begins all the same: what others wait for may be the one that is held back."""
GRACE = 1.0
"""Seconds in which what a process sent before it ended may still arrive."""
LIFE, REGISTER, BARRIER, FIRST = 1, 2, 3, 16
"""Tags: signs of life, names, barriers, and the first of those of names."""
ALIVE, ENDED = 0, 1


def timeout() -> float:
    """Seconds that an exchange waits for other processes. Raises MXNetError when the variable holds no positive number."""
    text = os.environ.get(TIMEOUT, "300")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise MXNetError(f"{TIMEOUT}: got {text!r}, wanted a number of seconds above 0")
    return seconds


class World:
    """All processes of a job as this one sees them. ``join`` makes the one that there is."""

    def __init__(self, mpi: Any, communicator: Any, requests: Any) -> None:
        self.mpi, self.communicator, self.requests = mpi, communicator, requests
        self.rank: int = communicator.Get_rank()
        self.size: int = communicator.Get_size()
        self.timeout = timeout()
        self.sent = 0
        """Bytes of exchanges that this process has sent so far."""
        self.failure: MXNetError | None = None
        self.observe: Callable[[str, int, int], None] | None = None
        """Told (name, begin, end in ns) of every exchange, when somebody wants to know."""
        self.answer: Callable[[], bool] | None = None
        """A function that the thread calls in every round, a server's ear; says whether there was something to do."""
        self._tags: dict[str, int] = {}
        self._inbox: list[tuple[float, int, Exchange]] = []
        self._count = 0
        self._wanted = threading.Condition()
        self._ending = False
        self._over = threading.Event()
        now = time.monotonic()
        self._heard = [now] * self.size
        self._ended: list[float | None] = [None] * self.size
        self._signs: dict[int, Any] = {}
        self._sign_due = now
        self._pid = os.getpid()
        if self.size > 1:
            self._thread = threading.Thread(target=self._serve, name="hybrid-communication", daemon=True)
            self._thread.start()
            hosts = self.gather_json("host", os.uname().nodename if hasattr(os, "uname") else "")
            self.local_rank = hosts[: self.rank].count(hosts[self.rank])
            self.local_size = hosts.count(hosts[self.rank])
        else:
            self.local_rank, self.local_size = 0, 1

    # -- what callers say -----------------------------------------------------------------------------------------------

    def start(self, exchange: Exchange, priority: float = 0) -> None:
        """Begin an exchange when its turn comes; ``exchange.finish(error)`` is called once, in the thread of communication."""
        with self._wanted:
            if self.failure is None and not self._over.is_set():
                exchange.asked = time.monotonic()
                for part in exchange.parts():
                    self._count += 1
                    heapq.heappush(self._inbox, (-priority, self._count, part))
                self._wanted.notify()
                return
        exchange.finish(self.failure or MXNetError("the job's processes have said goodbye to each other already"))

    def wait(self, exchange: Exchange, priority: float = 0) -> Exchange:
        """Begin an exchange, and return when it is over. Raises MXNetError when it failed."""
        over = threading.Event()
        found: list[BaseException | None] = []
        before = exchange.finish

        def finish(error: BaseException | None) -> None:
            found.append(error)
            before(error)
            over.set()

        exchange.finish = finish
        self.start(exchange, priority)
        while not over.wait(1.0):  # with a timeout, for without one no interrupt gets through
            pass
        if found[0] is not None:
            raise MXNetError(str(found[0])) from None
        return exchange

    def tags(self, names: Sequence[str], descriptions: Sequence[str]) -> list[int]:
        """A number for each of these names, the same in all processes, which all have to ask for them in the same order.

        descriptions: what has to be the same as well (shape, dtype). Raises MXNetError, naming the first that differs."""
        new = [(n, d) for n, d in zip(names, descriptions) if n not in self._tags]
        if new and self.size > 1:
            everywhere = self.gather_json("names", new)
            for rank, other in enumerate(everywhere):
                if [tuple(x) for x in other] != new:
                    raise MXNetError(_difference(self.rank, new, rank, other))
        for name, _ in new:
            self._tags[name] = FIRST + 4 * len(self._tags)
        return [self._tags[n] for n in names]

    def gather_json(self, what: str, value: Any) -> list[Any]:
        """A value of each process, by rank."""
        exchange = Gather(self, f"{what} of all ranks", REGISTER, np.frombuffer(json.dumps(value).encode(), np.uint8))
        self.wait(exchange)
        return [json.loads(bytes(part)) for part in exchange.received]

    def gather(self, name: str, mine: np.ndarray, priority: float = 0) -> list[np.ndarray]:
        """Bytes of each process, as many as each likes, by rank."""
        (tag,) = self.tags([name], ["bytes"])
        exchange = Gather(self, name, tag, mine)
        self.wait(exchange, priority)
        return exchange.received

    def barrier(self) -> None:
        """Return when all processes have come here, and what this one has begun before is over."""
        SCHEDULER.drain()
        if self.size > 1:
            self.wait(Gather(self, "a barrier", BARRIER, np.zeros(0, np.uint8)))

    def silent(self, seconds: float) -> list[int]:
        """Ranks that have given no sign of life for so long."""
        now = time.monotonic()
        return [r for r in range(self.size) if r != self.rank and now - self._heard[r] > seconds]

    # -- the thread -----------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            self._rounds()
        except BaseException as error:
            self.fail(f"communication failed: {type(error).__name__}: {error}")
        self._over.set()
        self.fail("the job's processes have said goodbye to each other already")

    def _rounds(self) -> None:
        active: list[Exchange] = []
        moved_at = time.monotonic()
        pause = 0.0
        while True:
            now = time.monotonic()
            moved = self._listen(now)
            flying = sum(x.size for x in active)
            with self._wanted:
                while self._inbox and (flying < MOST_IN_FLIGHT or now - moved_at > STANDSTILL):
                    exchange = heapq.heappop(self._inbox)[2]
                    exchange.begin(now)
                    active.append(exchange)
                    flying += exchange.size
                    moved_at, moved = now, True
            for exchange in active:
                moved = exchange.advance(now) or moved
            if any(x.over for x in active):
                done = [x for x in active if x.over]
                active = [x for x in active if not x.over]
                for exchange in done:
                    self._note(exchange)
                    exchange.finish(None)
            if self.answer is not None:
                moved = self.answer() or moved
            problem = self._stuck(active, now)
            if problem is not None:
                self.fail(problem)
                for exchange in active:
                    exchange.finish(self.failure)
                return
            if moved:
                moved_at, pause = now, 0.0
                continue
            if self._ending and not active and not self._inbox and all(e is not None for e in self._ended):
                return
            # in turns short and long: a core that only asks is a core that does not compute
            pause = min(max(2 * pause, 2e-5), 1e-3 if active else 2e-3)
            if active or self.answer is not None:
                time.sleep(pause)
            else:
                with self._wanted:
                    if not self._inbox:
                        self._wanted.wait(0.02)
                moved_at = time.monotonic()

    def _note(self, exchange: Exchange) -> None:
        if self.observe is not None:
            self.observe(exchange.name, exchange.began, time.perf_counter_ns())

    def _listen(self, now: float) -> bool:
        """Hear the others' signs of life and give one when it is due."""
        status = self.mpi.Status()
        heard = False
        while self.communicator.Iprobe(source=self.mpi.ANY_SOURCE, tag=LIFE, status=status):
            source, word = status.Get_source(), np.zeros(1, np.int64)
            self.communicator.Recv([word, self.mpi.INT64_T], source=source, tag=LIFE)
            self._heard[source] = now
            if word[0] == ENDED:
                self._ended[source] = now
            heard = True
        saying_goodbye = self._ending and self._ended[self.rank] is None and not self._inbox
        if now >= self._sign_due or saying_goodbye:
            self._sign_due = now + min(5.0, self.timeout / 10)
            word = np.full(1, ENDED if saying_goodbye else ALIVE, np.int64)
            for other in range(self.size):
                before = self._signs.get(other)
                if other != self.rank and (saying_goodbye or before is None or before[0].Test()):
                    self._signs[other] = (self.communicator.Isend([word, self.mpi.INT64_T], other, LIFE), word, before)
            if saying_goodbye:
                self._ended[self.rank] = now
            heard = heard or saying_goodbye
        return heard

    def _stuck(self, active: Sequence[Exchange], now: float) -> str | None:
        """The fault of an exchange that is not going on, in words; None when there is none."""
        # the lowest rank speaks first, and ends the others before they say the same
        patience = self.timeout + min(self.rank * 0.3, 3.0)
        for exchange in active:
            if exchange.failure is not None:
                return exchange.failure
            waited = now - exchange.moved
            if waited < min(GRACE, patience):
                continue
            missing = exchange.missing()
            gone = [r for r in missing if (e := self._ended[r]) is not None and now - e > GRACE]
            if gone and not exchange.serves_to_the_end:
                return f"{_ranks(gone)} ended while rank {self.rank} of {self.size} waits in {exchange.name!r}"
            if waited > patience:
                dead = [r for r in missing if now - self._heard[r] > min(10.0, self.timeout / 2)]
                alive = [r for r in missing if r not in dead]
                reasons = [f"no sign of life from {_ranks(dead)} (stopped, or out of reach)"] if dead else []
                reasons += [f"still running, but not in the same call: {_ranks(alive)}"] if alive else []
                return (
                    f"rank {self.rank} of {self.size} has waited {waited:.0f} s in {exchange.name!r}: "
                    f"{'; '.join(reasons) or 'nothing arrives'}. Set {TIMEOUT} (seconds) to wait longer"
                )
        return None

    # -- the end --------------------------------------------------------------------------------------------------------

    def fail(self, reason: str) -> None:
        """Have everything that waits or will be begun fail."""
        with self._wanted:
            if self.failure is None:
                self.failure = MXNetError(f"distributed training: {reason}")
            waiting, self._inbox = self._inbox, []
        for _, _, exchange in waiting:
            exchange.finish(self.failure)

    def close(self) -> None:
        """Wait until all processes are here, then stop the thread. Aborts the job after a failure."""
        if self.size == 1 or os.getpid() != self._pid or (self._over.is_set() and self.failure is None):
            return
        SCHEDULER.drain()
        with self._wanted:
            self._ending = True
            self._wanted.notify()
        limit = time.monotonic() + self.timeout
        while not self._over.wait(0.2):
            if time.monotonic() > limit:
                waited = [r for r, e in enumerate(self._ended) if e is None]
                self.fail(
                    f"rank {self.rank} of {self.size} is done, and has waited {self.timeout:.0f} s for {_ranks(waited)}"
                )
                break
        if any(e is None for e in self._ended):
            self.abort(str(self.failure))

    def abort(self, reason: str) -> None:
        """End all processes of the job, this one included, with one line on stderr."""
        sys.stdout.flush()
        print(f"gluonnx: {reason}; all {self.size} ranks are ended", file=sys.stderr, flush=True)
        self.communicator.Abort(1)


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _difference(here: int, own: Sequence[Any], rank: int, other: Sequence[Any]) -> str:
    """The difference between the names of two ranks, in words."""
    for i in range(max(len(own), len(other))):
        mine, theirs = (tuple(x[i]) if i < len(x) else ("nothing", "") for x in (own, other))
        if mine != theirs:
            return (
                f"rank {here} has {' '.join(mine)} where rank {rank} has {' '.join(theirs)}; all ranks must name the same "
                "keys, of the same shapes and dtypes, in the same order"
            )
    return f"rank {here} and rank {rank} differ"


_JOINED: list[World] = []


def joined_world() -> World | None:
    """The World that this process has joined already, if any."""
    return _JOINED[0] if _JOINED else None


def join() -> World:
    """The World of this process; joining it, where this is the first call, waits for all others to do so.

    A process that no ``mpirun`` started is a world of one. Raises MXNetError without mpi4py, or when MPI has no threads."""
    if _JOINED and _JOINED[0]._pid == os.getpid():
        return _JOINED[0]
    if _JOINED:
        raise MXNetError("this process was forked from one of a distributed job, and is none of its ranks")
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise MXNetError(
            "distributed training needs mpi4py and an MPI: pip install mpi4py, and where the machine has no MPI of its own "
            f"pip install mpich; importing mpi4py said: {error}"
        ) from None
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise MXNetError(
            "distributed training: this MPI allows calls from the main thread only, wanted THREAD_SERIALIZED"
        )
    everybody = MPI.COMM_WORLD
    copies = [_duplicate(everybody) for _ in range(2)]
    made = World(MPI, *copies)
    _JOINED.append(made)
    if made.size == 1:
        problem = "distributed training: no mpirun started this process, so it is a world of one (rank 0 of 1)"
        logging.getLogger().warning(problem)  # logging.warning would set up the root logger before the program does
    else:
        _end_together(made)
    return made


def _duplicate(communicator: Any) -> Any:
    """A communicator of one's own; all processes have to ask for it."""
    if communicator.Get_size() == 1:
        return communicator.Dup()
    made, request = communicator.Idup()
    limit, pause = time.monotonic() + timeout(), 1e-4
    while not request.Test():
        if time.monotonic() > limit:
            print(
                f"gluonnx: rank {communicator.Get_rank()} has waited {timeout():.0f} s for the other ranks to make a "
                f"distributed store ({TIMEOUT}); all ranks are ended",
                file=sys.stderr,
                flush=True,
            )
            communicator.Abort(1)
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
    return made


def _end_together(world: World) -> None:
    """Have an error that nobody catches end all processes, and a good end wait for them."""
    shown = sys.excepthook

    def show_and_abort(kind: Any, error: Any, trace: Any) -> None:
        shown(kind, error, trace)
        sys.stderr.flush()
        world.abort(f"rank {world.rank} ended by {kind.__name__}")

    sys.excepthook = show_and_abort
    atexit.register(world.close)
