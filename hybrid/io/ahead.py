"""Steps of a generator made ahead of time, by a thread of this process."""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any


class Ahead:
    """Steps of a generator, made up to ``count`` of them before they are asked for. Whoever takes from it knows how many there are.

    make: called with a function that says whether nobody wants more, gives the generator; it must not hold whoever holds this
    object, so that both can be collected, with which the thread ends. pid: the process that has the thread; a fork has none."""

    def __init__(self, make: Callable[[Callable[[], bool]], Iterator[Any]], count: int):
        self.pid = os.getpid()
        self._results: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._slots = threading.Semaphore(count)
        stopped = threading.Event()
        self._thread = threading.Thread(
            target=_run, args=(make(stopped.is_set), self._results, self._slots, stopped), name="ahead", daemon=True
        )
        self._finalizer = weakref.finalize(self, _stop, self.pid, self._slots, stopped)
        self._thread.start()

    def take(self) -> Any:
        """The next step. Raises what the generator raised, RuntimeError after its last."""
        result, error = self._results.get()
        self._slots.release()
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End the thread, and wait until it has ended."""
        self._finalizer()
        self._thread.join()


def _run(
    steps: Iterator[Any], results: queue.SimpleQueue[Any], slots: threading.Semaphore, stopped: threading.Event
) -> None:
    try:
        while slots.acquire() and not stopped.is_set():
            results.put((next(steps), None))
    except StopIteration:  # which would end a loop over batches before its time, unseen
        results.put((None, RuntimeError("no more was to be made ahead")))
    except BaseException as error:
        results.put((None, error))


def _stop(owner: int, slots: threading.Semaphore, stopped: threading.Event) -> None:
    if os.getpid() == owner:  # in a fork what the thread held may never be let go of
        stopped.set()
        slots.release()
