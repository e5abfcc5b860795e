"""onnxruntime, in a process of its own: a file may hold what ends the process that runs it, and then it is not this one.

onnxruntime 1.32 ends its process on LSTM and GRU of nothing, Unique of slices without elements, Einsum of nothing, caches of
Attention that are no arrays, and on what nobody has met yet. So a model is opened and run in a copy of this process, which begins
when it is first wanted, at the cost of a fork, lives as long as somebody has a session there, and is told by a pipe what to do. A
file may hold a loop without an end, too: what takes longer than the time limit ends the copy.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import itertools
import math
import mmap
import multiprocessing
import os
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, NoReturn

import numpy as np
import onnx
import onnxruntime

from converters.onnx_types import dtype_of

LABEL = f"onnxruntime {onnxruntime.__version__}"
ALIGNMENT = 64
"""Bytes: where arrays begin in shared memory."""
TIME_LIMIT = 600.0
"""Seconds that opening or running a model once may take, unless somebody sets others."""

CPU = "CPUExecutionProvider"
LEVELS = {
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
"""Levels of onnxruntime's graph optimizations."""

_limit: float | None = TIME_LIMIT


def set_time_limit(seconds: float | None) -> float | None:
    """End, from now on, what onnxruntime takes longer for than so many seconds, opening a model or running it once, with
    EngineError; None for no limit. At first it is 600. Gives what was set before. Raises ValueError for what is no positive number.
    Where processes are not copied (not Linux) there is no limit.

    >>> import bridge
    >>> before = bridge.set_time_limit(30)
    >>> bridge.set_time_limit(before)
    30.0"""
    global _limit
    if seconds is not None and not seconds > 0:
        raise ValueError(f"set_time_limit: got {seconds}, wanted a positive number of seconds, or None")
    before, _limit = _limit, None if seconds is None or math.isinf(seconds) else float(seconds)
    return before


class RunFailed(RuntimeError):
    """onnxruntime refused a model or failed on it; the text is its own."""


class ProcessEnded(RuntimeError):
    """The process that onnxruntime ran in has ended."""


class Late(ProcessEnded):
    """The process that onnxruntime ran in was ended, since it took too long."""


class Settings(NamedTuple):
    """Settings of a session; OnnxEngine says what each means."""

    frugal: bool = False
    plain: bool = False
    threads: int = 0
    level: str = "all"
    provider: str = CPU


def options_for(settings: Settings, spinning: bool = True) -> onnxruntime.SessionOptions:
    """Settings as onnxruntime takes them. spinning: its threads keep their processor for a while when a run is over."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors arrive as exceptions; printed too, they break up what is shown
    if not spinning:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if settings.frugal:
        # packed copies of the weights pay off over many runs, here there are few
        options.add_session_config_entry("session.disable_prepacking", "1")
    options.graph_optimization_level = LEVELS["none" if settings.plain else settings.level]
    if settings.threads:
        options.intra_op_num_threads = settings.threads
    return options


class OwnSession:
    """A model opened in this process: for measuring, once it has been run elsewhere, and where processes are not copied."""

    def __init__(self, source: str | bytes, settings: Settings, spinning: bool = True):
        try:
            self._session = onnxruntime.InferenceSession(
                source, options_for(settings, spinning), providers=[settings.provider]
            )
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise RunFailed(str(error)) from error
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        self._reads = {i.name for i in (*inputs, *self._session.get_overridable_initializers())}
        self._gives = [o.name for o in outputs]
        self._has_bfloat16 = any("bfloat16" in v.type for v in (*inputs, *outputs))

    def run(self, feeds: Mapping[str, np.ndarray]) -> list[tuple[str, Any]]:
        """The outputs by name. Feeds that the model does not take are left out."""
        given = {k: v for k, v in feeds.items() if k in self._reads}
        try:
            results = self._run_on_values(given) if self._has_bfloat16 else self._session.run(None, given)
        except Exception as error:
            raise RunFailed(str(error)) from error
        return list(zip(self._gives, results))

    def _run_on_values(self, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The outputs, where a tensor that goes in or comes out is bfloat16, which onnxruntime has no NumPy dtype for."""
        given = {}
        for name, array in feeds.items():
            if array.dtype.name == "bfloat16":
                bits = np.ascontiguousarray(array).view(np.uint16)
                given[name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)
            else:
                given[name] = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
        results = []
        for value in self._session.run_with_ort_values(self._gives, given):
            if "bfloat16" not in value.data_type():
                results.append(value.numpy())
                continue
            held = ctypes.string_at(value.data_ptr(), 2 * math.prod(value.shape()))  # a copy: the value goes
            bits = np.frombuffer(held, np.uint16)
            results.append(bits.view(dtype_of(onnx.TensorProto.BFLOAT16)).reshape(value.shape()))
        return results


class Session:
    """A model opened in the other process. Raises RunFailed, or ProcessEnded when onnxruntime ended that process."""

    def __init__(self, source: str | bytes, settings: Settings):
        self.runner = current()
        self._number = next(self.runner.numbers)
        self.runner.ask("open", self._number, source, settings)

    def run(self, feeds: Mapping[str, np.ndarray]) -> list[tuple[str, Any]]:
        """As OwnSession.run."""
        return self.runner.ask("run", self._number, dict(feeds))

    def close(self) -> None:
        """Give the memory back now."""
        with contextlib.suppress(ProcessEnded):
            self.runner.ask("close", self._number)

    def __del__(self) -> None:
        # not at once: the collection may come in the midst of a question
        if hasattr(self, "_number"):
            self.runner.closing.append(self._number)


class Runner:
    """A copy of this process that holds sessions. It ends when nobody refers to this object any more."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.closing: list[int] = []
        """Sessions to close before the next question."""
        self._over = False
        self._owner, self._lock = os.getpid(), threading.Lock()
        self._pipe, theirs = multiprocessing.Pipe()
        with warnings.catch_warnings():  # of threads: the copy has none of them, and waits for none
            warnings.simplefilter("ignore", DeprecationWarning)
            self._copy = os.fork()
        if not self._copy:
            _serve(theirs)
        theirs.close()
        self._end = weakref.finalize(self, _end, self._pipe, self._copy, self._owner)

    @property
    def ended(self) -> bool:
        """True where it is no more; a process that was forked from its owner has none."""
        return self._over or os.getpid() != self._owner

    def ask(self, *question: Any) -> Any:
        """The answer. Raises RunFailed with onnxruntime's words, ProcessEnded, or Late when it took too long."""
        with self._lock:
            if self.ended:
                raise ProcessEnded("it has ended before")
            try:
                while self.closing:
                    self._ask("close", self.closing.pop())
                good, answer = self._ask(*question)
            except (EOFError, ConnectionError):
                self._over = True
                status = os.waitstatus_to_exitcode(os.waitpid(self._copy, 0)[1])
                self._end.detach()
                self._pipe.close()
                raise ProcessEnded(signal.Signals(-status).name if status < 0 else f"status {status}") from None
            except BaseException:  # an answer that nobody has waited for, or not any more, would be taken for the next
                self._over = True
                self._end()
                raise
        if not good:
            raise RunFailed(answer)
        return answer

    def _ask(self, *question: Any) -> tuple[bool, Any]:
        _send(self._pipe, question)
        limit = _limit
        if not self._pipe.poll(limit):
            raise Late(f"{limit:g} s")
        return _receive(self._pipe)


def _end(pipe: Connection, copy: int, owner: int) -> None:
    """End a copy of the process ``owner``, if this is that."""
    pipe.close()
    if os.getpid() == owner:
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)


class _Place(NamedTuple):
    """The place of an array in shared memory, and its form."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype


def _exchange(thing: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    """The thing with what is of that type exchanged, in lists, tuples and dictionaries too."""
    if isinstance(thing, kind):
        return function(thing)
    if type(thing) in (list, tuple):
        return type(thing)(_exchange(part, kind, function) for part in thing)
    if type(thing) is dict:
        return {key: _exchange(part, kind, function) for key, part in thing.items()}
    return thing


def _send(pipe: Connection, thing: Any) -> None:
    """The thing through the pipe; its arrays in shared memory, which goes as a file descriptor: pipes are slow."""
    parts: list[np.ndarray] = []
    starts = [0]

    def placed(array: np.ndarray) -> Any:
        if array.dtype.hasobject or not array.size:
            return array
        parts.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        start = starts[-1]
        starts.append(start - (-array.nbytes // ALIGNMENT) * ALIGNMENT)
        return _Place(start, array.shape, array.dtype)

    message = _exchange(thing, np.ndarray, placed)
    pipe.send((message, bool(parts)))
    if not parts:
        return
    handle = os.memfd_create("gluonnx-arrays")
    try:
        for start, part in zip(starts, parts):
            while part.size:  # one call writes 2 GB at most
                written = os.pwrite(handle, part.data, start)
                start, part = start + written, part[written:]
        reduction.send_handle(pipe, handle, 0)  # type: ignore[attr-defined]
    finally:
        os.close(handle)


def _receive(pipe: Connection) -> Any:
    """The thing that ``_send`` sends. Its arrays are in the memory that came, which is gone when the last of them is."""
    message, has_memory = pipe.recv()
    if not has_memory:
        return message
    handle = reduction.recv_handle(pipe)  # type: ignore[attr-defined]
    try:
        memory = mmap.mmap(handle, 0, mmap.MAP_SHARED | mmap.MAP_POPULATE)
    finally:
        os.close(handle)

    def found(place: _Place) -> np.ndarray:
        return np.frombuffer(memory, place.dtype, math.prod(place.shape), place.start).reshape(place.shape)

    return _exchange(message, _Place, found)


def _serve(pipe: Connection) -> NoReturn:
    """Answer until the pipe ends: the work of the copy, which has nothing of the process open but that."""
    try:
        import resource  # which Windows lacks

        faulthandler.disable()
        for number in (signal.SIGINT, signal.SIGTERM):  # the one who asks decides when it is over
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):  # what it says when it ends is told as an error
            os.dup2(nothing, standard)
        os.closerange(3, pipe.fileno())
        os.closerange(pipe.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sessions: dict[int, OwnSession] = {}
        with contextlib.suppress(EOFError):
            while True:
                _send(pipe, _answer(sessions, *_receive(pipe)))
    finally:
        os._exit(0)


def _answer(sessions: dict[int, OwnSession], what: str, number: int, *given: Any) -> tuple[bool, Any]:
    """True and the result, or False and what onnxruntime says."""
    try:
        match what:
            case "open":
                # between two questions the one who asks has work for every processor
                sessions[number] = OwnSession(*given, spinning=False)
            case "run":
                return True, sessions[number].run(*given)
            case _:
                sessions.pop(number, None)
    except RunFailed as error:
        return False, str(error)
    return True, None


_running: weakref.ref[Runner] | None = None
_starting = threading.Lock()


def current() -> Runner:
    """The copy of this process that there is, or a new one."""
    global _running
    with _starting:
        found = _running() if _running is not None else None
        if found is None or found.ended:
            found = Runner()
            _running = weakref.ref(found)
        return found


def open_session(source: str | bytes, settings: Settings) -> Session | OwnSession:
    """A model, opened where its end is survived; in this process where there are no copies of processes."""
    return (Session if sys.platform == "linux" else OwnSession)(source, settings)
