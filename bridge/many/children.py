"""Processes in which commands run, one after the other: what kills one, a model, the memory budget or anybody, ends one attempt."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exits import RUNTIME
from ..paths import BadInput
from ..processes import end_family

TICK = 0.05
"""Seconds between two looks at a process at work."""
RETRIES = 2
"""Times that a model is tried again whose process was killed by somebody else."""
SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_PROC = Path("/proc")


@dataclass(frozen=True)
class Task:
    """A command for one model. arguments: without --json. folder: where its paths begin. plugins: they stay in a process for good,
    so that one serves tasks with the same ones only."""

    command: str
    arguments: tuple[str, ...]
    folder: str
    plugins: tuple[str, ...] = ()


class Killed(Exception):
    """The process has ended in the midst of a task."""


class TooLarge(Exception):
    """The process has taken more than its memory budget, and was ended."""


def parse_size(text: str) -> int:
    """Bytes of a size such as 512M or 1.5G. Raises BadInput."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None or not float(match[1]):
        raise BadInput(f"memory: got {text!r}, wanted a size, such as 512M or 2G")
    if not _PROC.joinpath("self", "statm").exists():
        raise BadInput("memory: a budget wants /proc, which Linux has; leave it out here")
    return int(float(match[1]) * SIZES[match[2].upper()])


class Child:
    """A process in which commands run. memory: bytes that it may take, with those that it starts; None for no budget."""

    def __init__(self, plugins: tuple[str, ...] = (), memory: int | None = None):
        self.plugins, self.memory = plugins, memory
        home = str(Path(__file__).parents[2])
        paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  close closes it
        self._last = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bridge.many.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            cwd=home,  # its folder is searched for modules first, and the user's may hold a random.py
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # an interruption by the user is for the process that asked, which ends this one
        )
        self.pid = self._process.pid

    def ask(self, task: Task) -> dict[str, Any]:
        """Exit status and result of a command. Raises Killed or TooLarge when the process ended instead."""
        told = json.dumps({"command": task.command, "arguments": task.arguments, "folder": task.folder})
        answer: list[bytes] = []
        out = self._process.stdout
        assert out is not None
        assert self._process.stdin is not None
        reader = threading.Thread(target=lambda: answer.append(_line(out)), daemon=True)
        reader.start()
        try:
            self._process.stdin.write(f"{told}\n".encode())
            self._process.stdin.flush()
        except OSError:
            self.close()
            raise Killed(self._last_words()) from None
        while True:
            reader.join(TICK)
            if not reader.is_alive():
                break
            if self._process.poll() is not None:  # what it has started may hold the pipe open
                reader.join(TICK)
                break
            if self.memory is not None and (taken := taken_by(self.pid, self.memory)) > self.memory:
                self.close()
                raise TooLarge(f"took {taken >> 20} MiB, more than the {self.memory >> 20} MiB of --memory")
        if answer and answer[0].endswith(b"\n"):
            return json.loads(answer[0])
        self.close()
        raise Killed(self._last_words())

    def _last_words(self) -> str:
        """The end of the process in words, and the last line that it wrote where it ended by itself."""
        code = self._process.wait()
        if code < 0:
            return f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
        return f"its process ended with status {code}" + (f": {self._last}" if self._last else "")

    def close(self) -> None:
        """End the process and those that it started."""
        code = self._process.poll()
        end_family(self._process)
        self._process.wait()
        if code is not None and not self._said.closed:
            self._said.seek(0)
            self._last = (self._said.read().decode(errors="replace").strip().splitlines() or [""])[-1]
        self._said.close()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _line(pipe: Any) -> bytes:
    try:
        return pipe.readline()
    except (OSError, ValueError):  # closed meanwhile
        return b""


# -- memory -----------------------------------------------------------------------------------------------------------------


def taken_by(pid: int, enough: int = 0) -> int:
    """Bytes that a process holds, with those it has started. Pages that copies share count once for each, as long as that is not
    more than ``enough``; past it, where the system tells, by their shares."""
    family = list(descendants(pid))
    resident = sum(map(_resident, family))
    return resident if resident <= enough else sum(map(_proportional, family))


def descendants(pid: int) -> Iterator[int]:
    """A process and those that come from it."""
    yield pid
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            for each in (task / "children").read_text().split():
                yield from descendants(int(each))


def _resident(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):  # gone by now
        return 0


def _proportional(pid: int) -> int:
    with suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return _resident(pid)


# -- the children of a worker -------------------------------------------------------------------------------------------------

_children: dict[tuple[str, int], Child] = {}
"""By the run that they belong to, and the thread that uses them."""
_closed: set[str] = set()
_lock = threading.Lock()


def attempt(task: Task, run: str, memory: int | None) -> dict[str, Any]:
    """Do a task in the child process of this thread, and again when somebody kills that.

    run: name of the run that the child belongs to. Gives ``exit``, ``result``, ``attempts``, ``seconds``, and ``killed``: None,
    or words for what ended the last attempt."""
    start = time.perf_counter()
    words = ""
    for number in range(1, 2 + RETRIES):
        child = _child(run, task.plugins, memory)
        try:
            found = child.ask(task)
        except (Killed, TooLarge) as end:
            _drop(run)
            words = str(end)
            if isinstance(end, TooLarge) or run in _closed:
                break
            continue
        return {**found, "killed": None, "attempts": number, "seconds": time.perf_counter() - start}
    return {
        "exit": RUNTIME,
        "result": None,
        "killed": words,
        "attempts": number,
        "seconds": time.perf_counter() - start,
    }


def _child(run: str, plugins: tuple[str, ...], memory: int | None) -> Child:
    key = run, threading.get_ident()
    found = _children.get(key)
    if found is not None and found.plugins != plugins:
        _drop(run)
        found = None
    if found is None:
        with _lock:
            if run in _closed:
                raise BadInput("interrupted")
            found = _children[key] = Child(plugins, memory)
    return found


def _drop(run: str) -> None:
    with _lock:
        child = _children.pop((run, threading.get_ident()), None)
    if child is not None:
        child.close()


def close_children(run: str) -> None:
    """End the children of a run that are in this process; what they do is not tried again."""
    with _lock:
        _closed.add(run)
        mine: Sequence[Child] = [_children.pop(key) for key in list(_children) if key[0] == run]
    for child in mine:
        child.close()
