"""The process that tries cases: ``python -m tests.fuzz.worker JOB``, JOB being a Job as JSON. For driver.py alone."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import mmap
import os
import pickle
import random
import re
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from . import REFUSED, RIGHT

PROGRESS = struct.Struct("=qqqq")
"""Record that a worker writes where the driver sees it: the case it is at, and how many were right, refused and faults."""
SEED = 0x5EED


@dataclass
class Job:
    """Cases start, start + step, ... below stop, for at most so many seconds."""

    module: str
    seed: int
    start: int
    stop: int
    step: int
    seconds: float
    progress: str
    seeds: str
    """A file with the pickle of the surface's seeds."""
    keep: str
    limit: float
    """CPU seconds for one case."""
    memory: int
    """Bytes of address space above what the process has when it starts."""


class Endless(BaseException):
    """A case that has used up its time: no ``except Exception`` of the software under test takes it."""


def case_of(module: ModuleType, seeds: list[Any], seed: int, index: int) -> Any:
    """Case number ``index`` of a run with this seed."""
    rng = random.Random(f"{seed}:{module.SURFACE}:{index}")
    return module.mutate(rng, seeds[rng.randrange(len(seeds))])


def store(keep: str | Path, surface: str, kind: str, case: Any, text: str) -> Path:
    """Keep a case and what happened; one file for cases that fail the same way at the same place, the smallest."""
    folder = Path(keep) / surface
    folder.mkdir(parents=True, exist_ok=True)
    data = case if isinstance(case, bytes) else pickle.dumps(case)
    path = folder / f"{kind}.{'bytes' if isinstance(case, bytes) else 'pickle'}"
    if not path.exists() or path.stat().st_size > len(data):
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(text, errors="backslashreplace")
    return path


def load(path: Path) -> Any:
    """A case that ``store`` has written (pickles are this program's own)."""
    data = path.read_bytes()
    return data if path.suffix == ".bytes" else pickle.loads(data)


def kind_of(error: BaseException) -> str:
    """A name for the fault, the same for the same fault: the error's class and a digest of where it came from, or of its words
    where that is the surface itself."""
    places: list[str] = []
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        frames = [f for f in traceback.extract_tb(cause.__traceback__) if "/tests/fuzz/" not in f.filename]
        frames = frames[:2] if isinstance(error, Endless | RecursionError) else frames[-2:]  # these end anywhere
        places += [f"{os.path.basename(f.filename)}:{f.name}:{f.line}" for f in frames]
        cause = cause.__cause__
    places += re.findall(r"\[\w+\]", str(error).partition("\n")[0])[:1]  # the operator, where it says one
    words = places or re.findall(r"[A-Za-z_]+", str(error).partition("\n")[0])
    return f"{type(error).__name__}-{hashlib.sha256(' '.join(words).encode()).hexdigest()[:8]}"


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise Endless after so many seconds of CPU, and every second from then on for those who take any error."""

    def stop(*_: Any) -> None:
        raise Endless(f"no end after {seconds:g} s of CPU")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def attempt(module: ModuleType, case: Any, limit: float) -> str:
    """Verdict of judge on a case, within its time. Raises what judge raises, AssertionError for another verdict."""
    with limited(limit), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = module.judge(case)
    if verdict not in (RIGHT, REFUSED):
        raise AssertionError(f"{module.__name__}.judge said {verdict!r}, wanted {RIGHT!r} or {REFUSED!r}")
    return verdict


def address_space() -> int:
    """Bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()


def work(job: Job) -> None:
    """Try the job's cases. Faults go to the folder; the rest is counted."""
    module = importlib.import_module(job.module)
    seeds = pickle.loads(Path(job.seeds).read_bytes())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(job.progress, "r+b") as file, mmap.mmap(file.fileno(), PROGRESS.size) as shown:
        room = address_space() + job.memory
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        end = time.monotonic() + job.seconds
        right = refused = faults = 0
        index = job.start
        while index < job.stop and time.monotonic() < end:
            PROGRESS.pack_into(shown, 0, index, right, refused, faults)
            case = case_of(module, seeds, job.seed, index)
            try:
                if attempt(module, case, job.limit) == RIGHT:
                    right += 1
                else:
                    refused += 1
            except (Exception, Endless) as error:
                faults += 1
                text = f"case {index} of seed {job.seed}\n\n{traceback.format_exc(limit=-40)}"
                store(job.keep, module.SURFACE, kind_of(error), case, text)
            index += job.step
        PROGRESS.pack_into(shown, 0, index, right, refused, faults)


if __name__ == "__main__":
    sys.setrecursionlimit(1000)
    work(Job(**json.loads(sys.argv[1])))
