"""Times of operators: ``mx.profiler``. ``dump`` writes a trace for chrome://tracing, ``dumps`` gives a table.

While the profiler runs, it is a hook around every operator, in whichever thread that runs; while it does not, nothing costs
anything. Operators run one by one then, as NumPy computes them, under the names that the model has: what the compiled part makes
of a network, and how long each of its steps takes, ``gluonnx bench --profile`` says. Memory and calls of an interface between
languages, which MXNet can record too, are not: there is no such interface.
"""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .core.attrs import kind_of
from .core.error import MXNetError
from .core.op import Op
from .execution.hooks import HOOKS, unwatch, watch
from .execution.scheduler import SCHEDULER
from .formats.files import write

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_state",
]


class _Record(NamedTuple):
    """Something that happened: times in ns; end is None for what has no duration (then value or scope says more)."""

    category: str
    name: str
    thread: int
    start: int
    end: int | None = None
    value: float | None = None
    scope: str | None = None


class _Profiler:
    """Settings, state and records; there is one."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {
            **dict.fromkeys(
                ("profile_all", "profile_memory", "profile_api", "aggregate_stats", "continuous_dump"), False
            ),
            **dict.fromkeys(("profile_symbolic", "profile_imperative"), True),
            "filename": "profile.json",
            "dump_period": 1.0,
            "profile_process": "worker",
        }
        self.running = self.paused = False
        self.records: list[_Record] = []
        self.inside = threading.local()

    @property
    def recording(self) -> bool:
        return self.running and not self.paused

    def note(self, *record: Any, **more: Any) -> None:
        """Add a record, when recording."""
        if self.recording:
            self.records.append(_Record(*record, **more))


_PROFILER = _Profiler()


# -- settings ---------------------------------------------------------------------------------------------------------------


def set_config(**kwargs: Any) -> None:
    """Settings: filename (profile.json), aggregate_stats (needed for dumps), profile_all, profile_symbolic and
    profile_imperative (operators: without all three none is recorded).

    profile_memory, profile_api, continuous_dump, dump_period and profile_process are taken and change nothing. Raises
    MXNetError for others and for values that fit no setting.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename="profile.json")
    >>> mx.profiler.set_state("run")
    >>> _ = mx.nd.relu(mx.nd.ones(2))
    >>> mx.profiler.set_state("stop")
    >>> "relu" in mx.profiler.dumps(reset=True)
    True
    """
    settings = _PROFILER.settings
    for name, value in kwargs.items():
        if name not in settings:
            raise MXNetError(f"Cannot find argument '{name}', Possible Arguments: {', '.join(sorted(settings))}")
        try:
            kind = type(settings[name])
            settings[name] = kind_of(kind).read(str(value)) if kind is bool else kind(value)
        except (TypeError, ValueError) as error:
            raise MXNetError(f"Invalid Parameter format for {name} but value={value!r}") from error


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Deprecated: mode is "symbolic" or "all".

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.profiler.set_config(profile_symbolic=True, filename="profile.json")  # the name of today
    """
    warnings.warn(
        "profiler.profiler_set_config() is deprecated. Please use profiler.set_config() instead", stacklevel=2
    )
    set_config(profile_symbolic=True, profile_all=mode == "all", filename=filename)


def _want_own(profile_process: str) -> None:
    """Raise KeyError for what is neither "worker" nor "server", MXNetError for "server", which there is none of."""
    if {"worker": False, "server": True}[profile_process]:
        raise MXNetError("profiler: there is no server process to profile; profile the worker")


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """ "run" starts recording, "stop" ends it. Raises KeyError for anything else.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.profiler.set_config(profile_all=True, aggregate_stats=True)
    >>> mx.profiler.set_state("run")
    >>> _ = mx.nd.exp(mx.nd.ones(2))
    >>> mx.profiler.set_state("stop")
    >>> "exp" in mx.profiler.dumps(reset=True)
    True
    """
    _want_own(profile_process)
    start = {"run": True, "stop": False}[state]
    if start == _PROFILER.running:
        return
    SCHEDULER.wait_all()
    _PROFILER.running, _PROFILER.paused = start, False
    if start:
        _PROFILER.records = []
        if any(_PROFILER.settings[f"profile_{what}"] for what in ("all", "symbolic", "imperative")):
            watch(_time_operator)
    elif _time_operator in HOOKS:
        unwatch(_time_operator)


def profiler_set_state(state: str = "stop") -> None:
    """Deprecated: set_state.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.profiler.set_state("stop")  # the name of today
    """
    warnings.warn("profiler.profiler_set_state() is deprecated. Please use profiler.set_state() instead", stacklevel=2)
    set_state(state)


def pause(profile_process: str = "worker") -> None:
    """Record nothing until resume.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.profiler.set_config(profile_all=True, aggregate_stats=True)
    >>> mx.profiler.set_state("run")
    >>> mx.profiler.pause()
    >>> _ = mx.nd.exp(mx.nd.ones(2))  # is not recorded
    >>> mx.profiler.resume()
    >>> mx.profiler.set_state("stop")
    >>> "exp" in mx.profiler.dumps(reset=True)
    False
    """
    _want_own(profile_process)
    SCHEDULER.wait_all()
    _PROFILER.paused = True


def resume(profile_process: str = "worker") -> None:
    """Go on after pause.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.profiler.set_state("run")
    >>> mx.profiler.pause()
    >>> mx.profiler.resume()
    >>> mx.profiler.set_state("stop")
    """
    _want_own(profile_process)
    SCHEDULER.wait_all()
    _PROFILER.paused = False


# -- operators --------------------------------------------------------------------------------------------------------------


def _time_operator(op: Op, compute: Callable[..., Any], *arrays: Any, **options: Any) -> Any:
    """A hook (execution/hooks.py): compute, timed where no other operator's is running in this thread."""
    if getattr(_PROFILER.inside, "operator", False):
        return compute(*arrays, **options)
    _PROFILER.inside.operator = True
    start = time.perf_counter_ns()
    try:
        return compute(*arrays, **options)
    finally:
        _PROFILER.inside.operator = False
        _PROFILER.note("operator", op.name, threading.get_ident(), start, time.perf_counter_ns())


def note_span(category: str, name: str, start: int, end: int) -> None:
    """Record, in a lane of its category, what this thread has done from start to end (``time.perf_counter_ns``)."""
    _PROFILER.note(category, name, threading.get_ident(), start, end)


# -- results ----------------------------------------------------------------------------------------------------------------


def _events() -> Iterator[dict[str, Any]]:
    """The records as trace events, times in microseconds."""
    processes = {c: i for i, c in enumerate(dict.fromkeys(r.category for r in _PROFILER.records))}
    for category, number in processes.items():
        yield {"ph": "M", "args": {"name": category}, "pid": number, "name": "process_name"}
    for r in _PROFILER.records:
        event = {"name": r.name, "cat": r.category, "pid": processes[r.category], "tid": r.thread, "ts": r.start / 1000}
        if r.end is not None:
            yield {**event, "ph": "X", "dur": (r.end - r.start) / 1000}
        elif r.scope is not None:
            yield {**event, "ph": "i", "s": r.scope}
        else:
            yield {**event, "ph": "C", "args": {r.name: r.value}}


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write what has been recorded to the file that set_config named, for chrome://tracing; finished ends the recording.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import json, pathlib
    >>> mx.profiler.set_config(profile_all=True, filename="profile.json")
    >>> mx.profiler.set_state("run")
    >>> _ = mx.nd.exp(mx.nd.ones(2))
    >>> mx.profiler.dump()
    >>> sorted(json.loads(pathlib.Path("profile.json").read_text()))
    ['displayTimeUnit', 'traceEvents']
    """
    _want_own(profile_process)
    if finished:
        set_state("stop")
    else:
        SCHEDULER.wait_all()
    events = {"traceEvents": list(_events()), "displayTimeUnit": "ms"}
    write(os.path.expanduser(_PROFILER.settings["filename"]), json.dumps(events, indent=1))


def dump_profile() -> None:
    """Deprecated: dump.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from pathlib import Path
    >>> mx.profiler.set_config(filename="profile.json")
    >>> mx.profiler.dump()  # the name of today
    >>> Path("profile.json").exists()
    True
    """
    warnings.warn("profiler.dump_profile() is deprecated. Please use profiler.dump() instead", stacklevel=2)
    dump(True)


_ORDERS: dict[str, Callable[[list[float]], float]] = {
    "total": sum,
    "avg": lambda times: sum(times) / len(times),
    "min": min,
    "max": max,
    "count": len,
}


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Report how often and how long (ms) everything ran, by category, as a table or as JSON; empty without aggregate_stats.

    reset forgets all records. Raises AssertionError for a format but "table" and "json", or an unknown sort_by.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.profiler.set_config(profile_all=True, aggregate_stats=True)
    >>> mx.profiler.set_state("run")
    >>> _ = mx.nd.exp(mx.nd.ones(2))
    >>> mx.profiler.set_state("stop")
    >>> "exp" in mx.profiler.dumps(reset=True, format="json")
    True
    """
    for name, value, known in (("format", format, ("table", "json")), ("sort_by", sort_by, tuple(_ORDERS))):
        if value not in known:
            raise AssertionError(
                f"Invalid value provided for {name}: {value}. Support: {', '.join(f'{k!r}' for k in known)}"
            )
    if not _PROFILER.settings["aggregate_stats"]:
        return ""
    SCHEDULER.wait_all()
    found: dict[str, dict[str, list[float]]] = {}
    for r in _PROFILER.records:
        if r.end is not None:
            found.setdefault(r.category, {}).setdefault(r.name, []).append((r.end - r.start) / 1e6)
    if reset:
        _PROFILER.records.clear()
    order = _ORDERS[sort_by]
    tables = {
        category: sorted(rows.items(), key=lambda row: order(row[1]), reverse=not ascending)
        for category, rows in sorted(found.items())
    }
    return _json(tables) if format == "json" else _table(tables)


_Tables = dict[str, list[tuple[str, list[float]]]]


def _statistics(times: list[float]) -> tuple[float, ...]:
    return sum(times), min(times), max(times), sum(times) / len(times)


def _table(tables: _Tables) -> str:
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    titles = ("Total Count", "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")
    for category, rows in tables.items():
        lines += [category, "=" * 17, f"{'Name':25}" + " ".join(f"{t:>16}" for t in titles)]
        lines.append(f"{'----':25}" + " ".join(f"{'-' * len(t):>16}" for t in titles))
        for name, times in rows:
            numbers = " ".join(f"{n:16.4f}" for n in _statistics(times))
            lines.append(f"{name:25}{len(times):16d} {numbers}")
        lines.append("")
    return "\n".join(lines) + "\n"


def _json(tables: _Tables) -> str:
    keys = ("Total", "Min", "Max", "Avg")
    shown = {
        c: {n: {"Count": len(t), **dict(zip(keys, _statistics(t)))} for n, t in rows} for c, rows in tables.items()
    }
    return json.dumps({"Time": shown, "Memory": {}, "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)


# -- what programs record themselves ----------------------------------------------------------------------------------------


class Domain:
    """A category of tasks, frames, counters and markers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> domain = mx.profiler.Domain("loading")
    >>> task, frame = domain.new_task("read"), domain.new_frame("batch")
    >>> marker = domain.new_marker("seen")
    >>> counter = domain.new_counter("files", 0)
    """

    def __init__(self, name: str):
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A Task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A Frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """A Counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A Marker of this domain."""
        return Marker(self, name)


class _Span:
    """Base of what lasts from start to stop."""

    def __init__(self, category: str, name: str):
        self.name = name
        self._category = category
        self._start: int | None = None

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """It begins."""
        self._start = time.perf_counter_ns()

    def stop(self) -> None:
        """It ends; without a start nothing is recorded."""
        if self._start is not None:
            _PROFILER.note(self._category, self.name, threading.get_ident(), self._start, time.perf_counter_ns())
            self._start = None


class Task(_Span):
    """Work of a domain, from start to stop.

    Examples
    --------
    >>> from gluonnx import mx
    >>> task = mx.profiler.Task(mx.profiler.Domain("loading"), "read")
    >>> task.start()
    >>> task.stop()
    """

    def __init__(self, domain: Domain, name: str):
        super().__init__(domain.name, name)


class Frame(_Span):
    """A step of a series (a frame, a batch) of a domain, from start to stop.

    Examples
    --------
    >>> from gluonnx import mx
    >>> frame = mx.profiler.Frame(mx.profiler.Domain("loading"), "batch")
    >>> frame.start()
    >>> frame.stop()
    """

    def __init__(self, domain: Domain, name: str):
        super().__init__(f"{domain.name},frame", name)


class Event(_Span):
    """Something of no domain, from start to stop.

    Examples
    --------
    >>> from gluonnx import mx
    >>> event = mx.profiler.Event("pause")
    >>> event.start()
    >>> event.stop()
    """

    def __init__(self, name: str):
        super().__init__("event", name)


class Counter:
    """A number that changes, of a domain.

    Examples
    --------
    >>> from gluonnx import mx
    >>> counter = mx.profiler.Counter(mx.profiler.Domain("loading"), "files", 3)
    >>> counter.set_value(5)
    >>> counter.increment(2)
    >>> counter.decrement()
    >>> counter += 1
    """

    def __init__(self, domain: Domain, name: str, value: float | None = None):
        self.name = name
        self._category = domain.name
        self._value: float = 0
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        return self.name

    def set_value(self, value: float) -> None:
        """It is this much now."""
        self._value = value
        _PROFILER.note(self._category, self.name, threading.get_ident(), time.perf_counter_ns(), value=value)

    def increment(self, delta: float = 1) -> None:
        """It is so much more."""
        self.set_value(self._value + delta)

    def decrement(self, delta: float = 1) -> None:
        """It is so much less."""
        self.set_value(self._value - delta)

    def __iadd__(self, delta: float) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Counter:
        self.decrement(delta)
        return self


class Marker:
    """A moment, of a domain.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.profiler.Marker(mx.profiler.Domain("loading"), "seen").mark("process")
    """

    def __init__(self, domain: Domain, name: str):
        self.name = name
        self._category = f"{domain.name},instant_marker"

    def mark(self, scope: str = "process") -> None:
        """Now. scope: what it concerns, "global", "process", "thread", "task" or "marker"."""
        note = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}[scope]
        _PROFILER.note(self._category, self.name, threading.get_ident(), time.perf_counter_ns(), scope=note)
