"""The scheduler: runs work later, in the order that its reads and writes demand, and in parallel where they do not.

A Var stands for a piece of memory. ``push`` hands over a function with the Vars it reads and those it writes; it runs
when everything before it that writes what it reads, or touches what it writes, has finished. An error stays with the
Vars that the failed work should have written, and reaches whoever waits for them.

Every place (cpu(0), cpu(1), ...) has a queue of its own. Who looks for work takes it from the place of which least is running, and
of those from the one that has waited longest, so that no place stands still behind what another one has handed over.

Who waits helps: a waiting thread runs tasks itself, so nothing stands still while another thread wakes up.

It is Python, with or without the compiled part: a task costs 4 us to hand over and run, and what is handed over takes 100 us and
more (backend.SMALL), so that C++, whose threads would need the interpreter for every task as well, could win 3 percent at best.
Programs that tasks run release the interpreter, and share the threads of the compiled part between them.
"""

from __future__ import annotations

import atexit
import copy
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import native  # noqa: F401  what it does at exit has to come after what is done here
from ..core.changes import LAST, draw
from ..core.error import MXNetError

PENDING_TASKS = 1000
PENDING_BYTES = 1 << 28
"""Bytes by which work that has not been done may run ahead of a program; ``push`` waits beyond."""
MOST_WORKERS = 16
"""Threads that are started at most where there are more places with work than CPUs."""


class Var:
    """A piece of memory: who writes it, who reads it, and which error kept it from being written.

    shape and dtype are those of an array that has no memory yet. version: another number after every write, and for every
    Var; ``external`` memory may be written to by somebody that the engine does not know, so that no version says anything."""

    __slots__ = ("dtype", "error", "external", "readers", "shape", "version", "writer")

    def __init__(self, shape: Any = None, dtype: Any = None):
        self.shape, self.dtype = shape, dtype
        self.writer: Task | None = None
        self.readers: list[Task] = []
        self.error: BaseException | None = None
        self.version = draw()
        self.external = False

    def mark_written(self) -> None:
        """To be called when the memory is about to be written to, or has been, otherwise than by a task."""
        self.version = LAST.change = draw()

    def value_version(self) -> int:
        """A number that is the same as long as the memory holds the same values."""
        return draw() if self.external else self.version


class Task:
    """Work that was handed over."""

    __slots__ = ("done", "elsewhere", "place", "reads", "run", "size", "users", "waits", "writes")

    def __init__(
        self,
        run: Callable[..., object],
        reads: Iterable[Var],
        writes: Iterable[Var],
        size: int = 0,
        place: Hashable = None,
        elsewhere: bool = False,
    ):
        self.run, self.size, self.place, self.elsewhere = run, size, place, elsewhere
        self.reads, self.writes = _different(reads), _different(writes)
        self.waits = 0
        self.users: list[Task] = []
        self.done = False


def _different(given: Iterable[Var]) -> tuple[Var, ...]:
    """Each once, in their order."""
    found = tuple(given)
    return tuple(dict.fromkeys(found)) if len(found) > 1 else found


class Place:
    """A queue of tasks whose turn has come, and how many that came from it are running."""

    __slots__ = ("queue", "running")

    def __init__(self) -> None:
        self.queue: deque[Task] = deque()
        self.running = 0


class Queues:
    """Tasks whose turn has come, by place. The caller holds a lock."""

    def __init__(self) -> None:
        self._places: dict[Hashable, Place] = {}
        self.waiting: list[Place] = []
        """Those of which there are tasks; the one that was served longest ago comes first."""

    def __len__(self) -> int:
        return sum(len(p.queue) for p in self.waiting)

    def in_use(self) -> int:
        """Number of places that have work, waiting or running."""
        return sum(bool(p.queue or p.running) for p in self._places.values())

    def put(self, task: Task) -> None:
        """Let a task wait behind those of its place."""
        place = self._places.get(task.place)
        if place is None:
            place = self._places[task.place] = Place()
        if not place.queue:
            self.waiting.append(place)
        place.queue.append(task)

    def take(self) -> Task:
        """Take the task that is to run next, which counts as running from now on."""
        waiting = self.waiting
        if len(waiting) == 1:  # as a rule
            place = waiting[0]
            if len(place.queue) == 1:
                waiting.clear()
        else:
            place = min(waiting, key=lambda p: p.running)
            waiting.remove(place)
            if len(place.queue) > 1:
                waiting.append(place)
        place.running += 1
        return place.queue.popleft()

    def put_back(self, task: Task) -> None:
        """Let a task that was taken be the next of its place again."""
        self.leave(task)
        place = self._places[task.place]
        if not place.queue:
            self.waiting.append(place)
        place.queue.appendleft(task)

    def leave(self, task: Task) -> None:
        """Count a task as running no more."""
        self._places[task.place].running -= 1


class Scheduler:
    """A pool of threads and the tasks they have to do."""

    def __init__(self, workers: int):
        self.workers = workers
        self.naive = False
        """Do everything at once, in the calling thread (MXNet's NaiveEngine)."""
        self.bulk = 1
        """Number of tasks that are collected before a thread is woken."""
        self._reset()

    def _reset(self) -> None:
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._ready = Queues()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._asleep = 0
        """Threads that sleep until something changes: idle ones, and those that wait for a value."""
        self._stopping = False
        self._collected = 0
        self._pending = 0
        self._bytes = 0
        self._failures: list[BaseException] = []

    def push(
        self,
        run: Callable[[], object],
        reads: Iterable[Var],
        writes: Iterable[Var],
        size: int = 0,
        place: Hashable = None,
    ) -> None:
        """Run ``run()`` when its turn comes. size: bytes of new memory that it holds until then; place: whose queue it waits in."""
        self._hand_over(Task(run, reads, writes, size, place))

    def push_elsewhere(
        self,
        start: Callable[[Callable[[BaseException | None], None]], None],
        reads: Iterable[Var],
        writes: Iterable[Var],
    ) -> None:
        """Have work begin when its turn comes that somebody else does, a network for one: no thread waits here meanwhile.

        ``start(finish)`` begins it; ``finish(error)``, None when all went well, is to be called once, from any thread. Until then
        what is read may not change, and who needs what is written waits."""
        self._hand_over(Task(start, reads, writes, elsewhere=True))

    def _hand_over(self, task: Task) -> None:
        written, size = task.writes, task.size
        with self.lock:
            before: dict[int, Task] = {}
            for var in task.reads:
                if var.writer is not None:
                    before[id(var.writer)] = var.writer
                if var not in written:
                    var.readers.append(task)
            for var in written:
                if var.writer is not None:
                    before[id(var.writer)] = var.writer
                if var.readers:
                    before.update((id(other), other) for other in var.readers)
                    var.readers = []
                var.writer = task
                var.mark_written()
            task.waits = len(before)
            for other in before.values():
                other.users.append(task)
            self._pending += 1
            self._bytes += size
            if not task.waits:
                self._ready.put(task)
            if not self.naive:
                self._collected += 1
                if self._collected >= self.bulk:
                    self._wake()
        if self.naive:
            self._wait(lambda: task.done)
        elif self._pending > PENDING_TASKS or self._bytes > PENDING_BYTES:
            self._wait(lambda: self._pending <= PENDING_TASKS // 2 and self._bytes <= PENDING_BYTES // 2)

    def wait(self, var: Var, *, write: bool = False, whole: bool = False) -> None:
        """Return when the memory has been written (for ``write``: also read by everyone who has to).

        Raises the error that kept it from being written; ``whole`` says that all of it is about to be written anew, so
        that such an error is of no interest any more."""
        if var.writer is not None or (write and var.readers):
            self._wait(lambda: var.writer is None and not (write and var.readers))
        if write:
            var.mark_written()
        if whole:
            var.error = None
        if var.error is not None:
            self._raise(var.error)

    def finish(self, var: Var) -> None:
        """Return when the memory has been written, or what was to write it has failed: the error stays for who reads."""
        if var.writer is not None:
            self._wait(lambda: var.writer is None)

    def drain(self) -> None:
        """Return when nothing is left to do. Errors stay with the results: whoever reads those will meet them."""
        if self._pending:
            self._wait(lambda: not self._pending)

    def wait_all(self) -> None:
        """Return when nothing is left to do. Raises the first error that nobody has seen yet."""
        self.drain()
        if self._failures:
            first = self._failures[0]
            self._failures.clear()
            self._raise(first)

    def stop(self) -> None:
        """Let all threads end; the next work starts new ones."""
        with self.lock:
            threads, self._threads = self._threads, []
            self._stopping = True
            self._changed.notify_all()
        for thread in threads:
            thread.join()
        self._stopping = False

    def _raise(self, error: BaseException) -> None:
        with self.lock:
            self._failures = [e for e in self._failures if e is not error]
        raise copy.copy(error).with_traceback(None) from error

    def _wake(self) -> None:
        self._collected = 0
        if not self._ready.waiting:
            return
        if self._idle:
            self._changed.notify(len(self._ready))
        elif self.workers and len(self._threads) < max(self.workers, min(self._ready.in_use(), MOST_WORKERS)):
            thread = threading.Thread(target=self._work, name=f"hybrid-engine-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while True:
            with self.lock:
                while not self._ready.waiting:
                    if self._stopping:
                        return
                    self._idle += 1
                    self._sleep()
                    self._idle -= 1
                task = self._ready.take()
            self._execute(task)

    def _wait(self, over: Callable[[], bool]) -> None:
        """Run tasks in this thread until it is over."""
        while True:
            with self.lock:
                while not self._ready.waiting:
                    if over():
                        return
                    self._sleep()
                if over():
                    return
                task = self._ready.take()
                if self._ready.waiting:
                    self._wake()
            self._execute(task)

    def _sleep(self) -> None:
        """Wait until something changes. The caller holds the lock."""
        self._asleep += 1
        try:
            self._changed.wait()
        finally:
            self._asleep -= 1

    def _execute(self, task: Task) -> None:
        error = next((v.error for v in task.reads if v.error is not None), None)
        inherited = error is not None
        interrupt: KeyboardInterrupt | None = None
        if error is None:
            try:
                if task.elsewhere:
                    task.run(lambda failed: self._finish_elsewhere(task, failed))
                    with self.lock:
                        self._ready.leave(task)  # nobody here is busy with it
                    return
                task.run()
            except KeyboardInterrupt as raised:  # meant for the program, which happens to work here while it waits
                interrupt = raised
                if not any(v in task.reads for v in task.writes):
                    with self.lock:
                        self._ready.put_back(task)
                    raise
                error = MXNetError("interrupted while changing an array in place, of which only a part may be done")
            except BaseException as raised:  # whatever it is, it belongs to who waits for the result
                error = raised
        self._finish(task, error, inherited, here=True)
        if interrupt is not None:
            raise interrupt

    def _finish_elsewhere(self, task: Task, error: BaseException | None) -> None:
        self._finish(task, error, inherited=False, here=False)
        with self.lock:
            self._wake()

    def _finish(self, task: Task, error: BaseException | None, inherited: bool, here: bool) -> None:
        with self.lock:
            if error is not None and not inherited:
                self._failures.append(error)
            for var in task.writes:
                if var.writer is task:
                    var.writer = None
                var.error = error
                var.mark_written()
            for var in task.reads:
                if task in var.readers:
                    var.readers.remove(task)
            if here:
                self._ready.leave(task)
            task.done = True
            # cleared, since an error's traceback may keep this task, which would keep all that came after it
            users, task.users = task.users, []
            for user in users:
                user.waits -= 1
                if not user.waits:
                    self._ready.put(user)
            self._pending -= 1
            self._bytes -= task.size
            if self._asleep:
                self._changed.notify_all()


def usable_cpus() -> int:
    """Number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


SCHEDULER = Scheduler(max(2, usable_cpus()))


def _stop_before_fork() -> None:
    """Finish and stop: a fork copies this thread only, so that in the child nobody would do what is left to do. Other threads of
    the program cannot hand over more until the fork is done: the child would wait for it for ever."""
    while True:
        SCHEDULER.drain()
        SCHEDULER.stop()
        SCHEDULER.lock.acquire()
        if not SCHEDULER._pending and not SCHEDULER._threads:
            return
        SCHEDULER.lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_stop_before_fork,
        after_in_parent=lambda: SCHEDULER.lock.release(),
        after_in_child=SCHEDULER._reset,
    )
atexit.register(SCHEDULER.drain)


def set_bulk_size(size: int) -> int:
    """Collect up to ``size`` small operations before handing them over together; gives the size before.

    Raises ValueError for a negative size.

    Examples
    --------
    >>> from gluonnx import mx
    >>> before = mx.engine.set_bulk_size(10)
    >>> _ = mx.engine.set_bulk_size(before)
    """
    if size < 0:
        raise ValueError(f"set_bulk_size: got {size}, wanted 0 (no bulking) or more")
    before, SCHEDULER.bulk = SCHEDULER.bulk, max(1, size)
    return before


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """``with bulk(16):`` collects operations as set_bulk_size does.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.engine.bulk(10):
    ...     x = mx.nd.ones(2) + 1
    >>> x.asnumpy()
    array([2., 2.], dtype=float32)
    """
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)


def set_engine_type(name: str) -> str:
    """Choose the engine by MXNet's name, ``NaiveEngine`` (everything at once, for debugging), ``ThreadedEngine`` or
    ``ThreadedEnginePerDevice``; gives the name before. MXNet reads it from the variable MXNET_ENGINE_TYPE."""
    if name not in ("NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"):
        raise ValueError(f"engine type {name!r} is not NaiveEngine, ThreadedEngine or ThreadedEnginePerDevice")
    SCHEDULER.wait_all()
    before = "NaiveEngine" if SCHEDULER.naive else "ThreadedEnginePerDevice"
    SCHEDULER.naive = name == "NaiveEngine"
    return before
