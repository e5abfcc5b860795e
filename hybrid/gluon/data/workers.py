"""Processes and threads that make batches, and how arrays come back from them.

Every process has a pipe of its own, so that one that dies harms no other. Batch after batch goes to the processes in turn, and
with each a seed, so that it is certain what is drawn for which batch, whoever makes it and whatever it made before. Large arrays
come back in shared memory that has no name: its file descriptor goes through the pipe, and when nobody maps it any more it is
gone, however the processes end. Where there is no such memory (it is Linux's) arrays come back through the pipe.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import multiprocessing
import os
import queue
import random as python_random
import signal
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from multiprocessing import connection, reduction
from typing import Any, NamedTuple

import numpy as np

from ... import ndarray as nd
from ... import random
from ...core import np_mode, rng
from ...eager.faces import dressed
from ...ndarray import NDArray

LARGE = 1 << 15
"""Arrays of more bytes come in shared memory: below, a copy through the pipe is quicker."""
PATIENCE = 1.0
"""Seconds that a process has to end by itself before it is ended: it holds nothing that could be left half done."""


class Seeds:
    """A seed for each batch that workers make: of a number that follows from ``numpy.random.seed``, and of the batch's own."""

    def __init__(self) -> None:
        drawing = np.random.RandomState()  # a copy: drawing from it leaves the program's own numbers as they are
        drawing.set_state(np.random.get_state())
        self.root, self.given = int(drawing.randint(2**31)), 0

    def __next__(self) -> int:
        self.given += 1
        return int(np.random.SeedSequence([self.root, self.given]).generate_state(1)[0])


def _reseed(seed: int) -> None:
    """Have this process draw what follows from a seed."""
    np.random.seed(seed)
    python_random.seed(seed)
    random.seed(seed)


class WorkerTraceback(Exception):
    """Traceback of an error in a worker process; the cause of that error in the main process."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class _Shared(NamedTuple):
    """An array whose memory follows."""

    shape: tuple[int, ...]
    dtype: np.dtype
    is_ndarray: bool


class _Small(NamedTuple):
    """An NDArray as a NumPy array."""

    array: np.ndarray


def _detach(batch: Any, memory: list[np.ndarray]) -> Any:
    """The batch with its arrays taken out, the large ones of which are put into the list."""
    if isinstance(batch, NDArray | np.ndarray):
        array = batch.asnumpy() if isinstance(batch, NDArray) else batch
        if array.nbytes > LARGE and hasattr(os, "memfd_create") and not array.dtype.hasobject:
            memory.append(np.ascontiguousarray(array))
            return _Shared(array.shape, array.dtype, isinstance(batch, NDArray))
        return _Small(array) if isinstance(batch, NDArray) else array
    if type(batch) in (list, tuple):
        return type(batch)(_detach(part, memory) for part in batch)
    if type(batch) is dict:
        return {key: _detach(part, memory) for key, part in batch.items()}
    return batch


def _attach(batch: Any, take: Callable[[_Shared], np.ndarray]) -> Any:
    """The batch with its arrays put in again."""
    if isinstance(batch, _Shared):
        array = take(batch)
        return dressed(nd.from_numpy(array)) if batch.is_ndarray else array
    if isinstance(batch, _Small):
        return dressed(nd.array(batch.array, dtype=batch.array.dtype))
    if type(batch) in (list, tuple):
        return type(batch)(_attach(part, take) for part in batch)
    if type(batch) is dict:
        return {key: _attach(part, take) for key, part in batch.items()}
    return batch


def _send_array(pipe: Any, array: np.ndarray) -> None:
    """The array's memory through the pipe, as a file descriptor."""
    handle = os.memfd_create("gluonnx-batch")
    with os.fdopen(handle, "wb") as file:
        file.write(array.data.cast("B"))
        file.flush()
        reduction.send_handle(pipe, handle, 0)


def _receive_array(pipe: Any, form: _Shared) -> np.ndarray:
    """The array that ``_send_array`` sends; it maps the memory, which is gone when the array is."""
    handle = reduction.recv_handle(pipe)
    try:
        memory = mmap.mmap(handle, 0)
    finally:
        os.close(handle)
    return np.frombuffer(memory, form.dtype).reshape(form.shape)


def _sendable(error: BaseException) -> BaseException:
    """The error, or where it cannot be sent one that says the same."""
    try:
        reduction.ForkingPickler.loads(reduction.ForkingPickler.dumps(error))  # type: ignore[attr-defined]
    except Exception as why:
        return RuntimeError(f"{type(error).__name__}: {error} (the error itself cannot be sent: {why})")
    return error


def _run(
    pipe: Any, others: list[Any], dataset: Any, batchify: Callable[[list[Any]], Any], mode: tuple[bool, bool]
) -> None:
    """Run a worker process: make the batches whose indices and seeds are sent to it, until None is sent or its parent is gone.

    mode: NumPy's ways, of the thread that wants the batches."""
    np_mode.set_mode(mode)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    for other in others:
        other.close()
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    for key, indices, seed in iter(tasks.get, None):
        _reseed(seed)
        memory: list[np.ndarray] = []
        try:
            answer = True, _detach(batchify([dataset[i] for i in indices]), memory)
        except Exception as error:
            memory.clear()
            answer = False, (_sendable(error), traceback.format_exc())
        try:
            _answer(pipe, key, answer, memory)
        except OSError:  # nobody listens any more
            return


def _answer(pipe: Any, key: int, answer: tuple[bool, Any], memory: list[np.ndarray]) -> None:
    try:
        pipe.send((key, *answer))
    except OSError:
        raise
    except Exception as error:  # something in the batch cannot be sent
        memory.clear()
        pipe.send((key, False, (_sendable(error), traceback.format_exc())))
    for array in memory:
        _send_array(pipe, array)


def _listen(pipe: Any, tasks: queue.SimpleQueue[Any]) -> None:
    """Take tasks from the pipe as they come, so that the parent never waits to hand one over."""
    parent = multiprocessing.parent_process()
    watched = [pipe] if parent is None else [pipe, parent.sentinel]
    try:
        while pipe in connection.wait(watched):
            task = pipe.recv()
            tasks.put(task)
            if task is None:
                return
    except (EOFError, OSError):
        pass  # the parent is gone
    tasks.put(None)


class ProcessWorkers:
    """Processes that each make every n-th batch.

    Raises what the dataset or batchify raised in a process, with WorkerTraceback as its cause;
    multiprocessing.TimeoutError for a batch that takes too long; RuntimeError for a process that died."""

    def __init__(self, count: int, dataset: Any, batchify: Callable[[list[Any]], Any]):
        chosen = multiprocessing.get_start_method(allow_none=True)
        # MXNet's programs count on forks, which Python 3.14 no longer starts with by itself
        context: Any = multiprocessing.get_context("fork" if chosen is None and sys.platform == "linux" else chosen)
        self._processes: list[Any] = []
        self._pipes: list[Any] = []
        self._keys = itertools.count()
        self._results: dict[int, tuple[bool, Any]] = {}
        self._dropped: set[int] = set()
        self._finalizer = weakref.finalize(self, _stop, os.getpid(), self._processes, self._pipes)
        nd.waitall()  # a forked process has no threads to finish what the engine still has to do
        try:
            for _ in range(count):
                self._start(context, dataset, batchify)
        except BaseException:
            self.close()
            raise

    def _start(self, context: Any, dataset: Any, batchify: Any) -> None:
        here, there = context.Pipe()
        forked = context.get_start_method() == "fork"
        others = [*self._pipes, here] if forked else []  # a fork has all the parent's pipes open as well
        process = context.Process(target=_run, args=(there, others, dataset, batchify, np_mode.mode()), daemon=True)
        with warnings.catch_warnings():
            # Python warns of forks beside threads: ours hold no lock that a worker needs, and waitall() came before
            warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
            process.start()
        there.close()
        self._processes.append(process)
        self._pipes.append(here)

    @property
    def alive(self) -> bool:
        """False after ``close``."""
        return self._finalizer.alive

    def submit(self, indices: Any, seed: int) -> int:
        """Have a batch made with the random numbers of a seed; gives the key to ask for it with."""
        key = next(self._keys)
        try:
            self._pipes[key % len(self._pipes)].send((key, indices, seed))
        except OSError:
            self._raise_died(key % len(self._pipes))
        return key

    def result(self, key: int, timeout: float) -> Any:
        """The batch, waiting for it at most so many seconds."""
        worker = key % len(self._pipes)
        while key not in self._results:
            if not connection.wait([self._pipes[worker]], timeout):
                self.close()
                raise multiprocessing.TimeoutError(
                    f"a DataLoader worker made no batch within {timeout} seconds; if the dataset is that slow, raise timeout"
                )
            try:
                self._receive(worker)
            except (EOFError, OSError):
                self._raise_died(worker)
        ok, value = self._results.pop(key)
        if ok:
            return value
        error, trace = value
        raise error from WorkerTraceback(trace)

    def drop(self, key: int) -> None:
        """A batch that nobody will ask for."""
        if self._results.pop(key, None) is None:
            self._dropped.add(key)

    def close(self) -> None:
        """End the processes."""
        self._finalizer()

    def _receive(self, worker: int) -> None:
        """Take the next batch that a process sent."""
        pipe = self._pipes[worker]
        key, ok, value = pipe.recv()
        value = _attach(value, lambda form: _receive_array(pipe, form)) if ok else value
        if key in self._dropped:
            self._dropped.discard(key)
        else:
            self._results[key] = ok, value

    def _raise_died(self, worker: int) -> None:
        process = self._processes[worker]
        process.join(PATIENCE)
        code = process.exitcode
        self.close()
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        raise RuntimeError(f"DataLoader worker {worker} (process {process.pid}) {how} while it made a batch")


def _stop(owner: int, processes: list[Any], pipes: list[Any]) -> None:
    """Ask the processes to end, and end those that do not."""
    if os.getpid() != owner:  # a copy of the object in a forked process
        return
    for pipe in pipes:
        with contextlib.suppress(OSError):  # which says that it has ended already
            pipe.send(None)
        pipe.close()  # one that waits to send a batch sees that nobody takes it
    for process in processes:
        process.join(PATIENCE)
        if process.is_alive():
            process.terminate()
            process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()


class ThreadWorkers:
    """As ProcessWorkers, with threads of this process: the engine's random numbers alone follow the seed, for no other generator
    is a thread's own."""

    def __init__(self, count: int, dataset: Any, batchify: Callable[[list[Any]], Any]):
        self._dataset, self._batchify = dataset, batchify
        self.draws = False
        """True once NumPy's or Python's generator moved while a thread made a batch: it may have been the thread that drew."""
        self._pool = ThreadPoolExecutor(count, "DataLoader")
        self._finalizer = weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    @property
    def alive(self) -> bool:
        """False after ``close``."""
        return self._finalizer.alive

    def submit(self, indices: Any, seed: int) -> Future[Any]:
        """Have a batch made; gives the key to ask for it with."""
        return self._pool.submit(self._make, indices, seed, np_mode.mode())

    def result(self, key: Future[Any], timeout: float) -> Any:
        """The batch, waiting for it at most so many seconds."""
        try:
            return key.result(timeout)
        except FutureTimeoutError as error:
            if key.done():
                raise  # the dataset's own
            self.close()
            raise multiprocessing.TimeoutError(
                f"a DataLoader thread made no batch within {timeout} seconds; if the dataset is that slow, raise timeout"
            ) from error

    def _make(self, indices: Any, seed: int, mode: tuple[bool, bool]) -> Any:
        np_mode.set_mode(mode)
        rng.reseed_here(seed)
        before = rng.look()
        try:
            return self._batchify([self._dataset[i] for i in indices])
        finally:
            self.draws = self.draws or bool(rng.moved(before, rng.look()) - {"engine"})

    def drop(self, key: Future[Any]) -> None:
        """A batch that nobody will ask for."""
        key.cancel()

    def close(self) -> None:
        """End the threads, each after the batch it is at."""
        self._finalizer()
