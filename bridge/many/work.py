"""The work on many models, one after the other or on Dask. What is done is noted: the same command goes on after a break."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.execution.scheduler import usable_cpus

from ..engines import EngineError
from ..exits import MEANINGS, RUNTIME, SAYS_LITTLE, worst
from ..faces.data import versions
from ..older import Older, words
from ..paths import BadInput
from ..recorded import own_version
from ..result import identify
from .children import RETRIES, Task, attempt, close_children
from .lists import Job
from .notes import NOTES, Notes, key_of

Tell = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and the name of the last."""
Doing = Callable[[Sequence[Task]], Iterator[tuple[int, dict[str, Any]]]]
"""Does tasks, and gives the number of each and what came of it (children.attempt), as they come."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one model. output: in the folder that was written to. files: name and SHA-256 of each that appeared. result:
    what ``gluonnx convert --json`` says. again: it was done in an earlier run, and nothing it depends on has changed."""

    model: str
    output: str
    status: str
    exit: int
    detail: str
    attempts: int
    seconds: float
    files: tuple[tuple[str, str], ...]
    result: Mapping[str, Any] | None
    again: bool = False

    @property
    def says_little(self) -> bool:
        """True for a file that was written though what was compared proves little."""
        return not self.exit and self.status == MEANINGS[SAYS_LITTLE]

    def as_dict(self) -> dict[str, Any]:
        told = {
            n: getattr(self, n) for n in ("model", "output", "status", "exit", "detail", "attempts", "seconds", "again")
        }
        return {**told, "files": [{"name": n, "sha256": s} for n, s in self.files], "result": self.result}


@dataclass(frozen=True)
class ManyResult:
    """Outcomes of all models, in the order of the list."""

    outcomes: tuple[Outcome, ...]
    seconds: float

    @property
    def exit_status(self) -> int:
        """0 where all went well, else the worst of theirs."""
        return worst({o.exit for o in self.outcomes})

    @property
    def summary(self) -> str:
        """One line: how many of how many are well."""
        again, little = (sum(getattr(o, kind) for o in self.outcomes) for kind in ("again", "says_little"))
        well = sum(not o.exit for o in self.outcomes)
        further = f", {again} of them from before" if again else ""
        proved = f", of which {little} {'say' if little > 1 else 'says'} little" if little else ""
        return f"{well} of {len(self.outcomes)} ok{further}{proved}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": not self.exit_status,
            "exit": self.exit_status,
            "models": [o.as_dict() for o in self.outcomes],
            "seconds": self.seconds,
        }


def convert_all(jobs: Sequence[Job], out: Path, common: Sequence[str], do: Doing, tell: Tell) -> ManyResult:
    """Convert models into a folder, those apart that are there from before. do: gets it done. tell: hears of each one."""
    start = time.perf_counter()
    out = Path(os.path.abspath(out))
    for folder in {(out / job.output).parent for job in jobs}:
        folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(out / NOTES)
    keys = [key_of([common, job.arguments, job.output], job.reads) for job in jobs]
    found: dict[int, Outcome] = {}
    for number, (job, key) in enumerate(zip(jobs, keys)):
        if (before := _noted(job, notes.find(job.output, key), out)) is not None:
            found[number] = before
    left = [n for n in range(len(jobs)) if n not in found]
    older = {n: Older(out / jobs[n].output) for n in left}
    tell(len(found), len(jobs), "")
    here = os.getcwd()
    for place, told in do([jobs[n].task(common, out, here) for n in left]):
        number = left[place]
        job = jobs[number]
        outcome = found[number] = _outcome(job, told, out, older[number])
        if not outcome.exit:
            notes.write(job.output, keys[number], outcome.as_dict())
        tell(len(found), len(jobs), job.output)
    return ManyResult(tuple(found[n] for n in range(len(jobs))), time.perf_counter() - start)


def _outcome(job: Job, told: Mapping[str, Any], out: Path, older: Older) -> Outcome:
    status, code, result = MEANINGS.get(told["exit"], f"exit status {told['exit']}"), told["exit"], told["result"]
    detail, files = "", ()
    if told["killed"] is not None:
        status, detail = "killed", told["killed"]
        if told["attempts"] > RETRIES:
            detail += f", {told['attempts']} times"
    elif code:
        detail = "; ".join(str(result.get("error", "")).splitlines())
    else:
        made = [Path(f) for f in result["files"]]
        verified = result.get("verification") or {}
        if verified.get("verdict") == MEANINGS[SAYS_LITTLE]:
            status, detail = MEANINGS[SAYS_LITTLE], "; ".join(verified.get("warnings", ()))
        files = tuple((os.path.relpath(f.path, out), f.sha256) for f in identify(made))
    if code or told["killed"] is not None:
        detail = "; ".join([detail, *words(older.kept)])
    return Outcome(job.source, job.output, status, code, detail, told["attempts"], told["seconds"], files, result)


def _noted(job: Job, told: Mapping[str, Any] | None, out: Path) -> Outcome | None:
    """The note of a model, if its files are as they were written."""
    try:
        files = tuple((f["name"], f["sha256"]) for f in told["files"]) if told is not None else ()
        if told is None or [f.sha256 for f in identify(out / name for name, _ in files)] != [s for _, s in files]:
            return None
        keep = {n: told[n] for n in ("status", "exit", "detail", "attempts", "seconds", "result")}
    except (KeyError, TypeError):  # not ours
        return None
    return Outcome(job.source, job.output, files=files, again=True, **keep)


# -- who does it ------------------------------------------------------------------------------------------------------------


@contextmanager
def workers(on: str | None, memory: int | None, out: Path | None = None) -> Iterator[Doing]:
    """The way to get tasks done: one after the other (on: None), on this machine (``local``, ``local:N``), or by a scheduler of
    Dask at an address.

    memory: bytes that each may take. out: a folder that all have to see. Raises BadInput for what is no such place."""
    run = uuid.uuid4().hex
    if on is None:
        try:
            yield lambda tasks: ((n, attempt(task, run, memory)) for n, task in enumerate(tasks))
        finally:
            close_children(run)
        return
    with _client(on) as client:
        _same_everywhere(client, out)
        try:
            yield lambda tasks: _spread(client, tasks, run, memory)
        finally:
            if on.partition(":")[0] == "local":
                close_children(run)
            else:
                client.run(close_children, run)


@contextmanager
def _client(on: str) -> Iterator[Any]:
    """The way to Dask. Raises BadInput."""
    count = parse_local(on)
    try:
        from distributed import Client, LocalCluster  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise BadInput(f"--on {on}: wants Dask; pip install distributed") from None
    if count is None:
        try:
            client = Client(on, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BadInput(f"--on {on}: no scheduler of Dask answers there: {error}") from None
        with client:
            yield client
        return
    told: dict[str, Any] = {
        "n_workers": count,
        "threads_per_worker": 1,
        "memory_limit": 0,
        "dashboard_address": "127.0.0.1:0",
    }
    with (
        # threads hand out the work; what may be killed is the child process that each has
        LocalCluster(**told, processes=False, silence_logs=logging.ERROR) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def parse_local(on: str) -> int | None:
    """Workers of ``local`` (one for each processor) or ``local:N``; None for an address. Raises BadInput."""
    word, _, number = on.partition(":")
    if word != "local":
        if ":" not in on:
            raise BadInput(
                f"--on {on}: wanted local, local:N, or the address of a scheduler, such as tcp://10.0.0.1:8786"
            )
        return None
    if on == "local":
        return usable_cpus()
    if not number.isdecimal() or not int(number):
        raise BadInput(f"--on {on}: wanted local:N with N workers, 1 or more")
    return int(number)


def about(out: str | None) -> tuple[dict[str, str], bool]:
    """The versions that a worker has, and whether it sees a folder."""
    return versions(own_version()), out is None or os.path.isdir(out)


def _same_everywhere(client: Any, out: Path | None) -> None:
    """Raise BadInput unless there are workers, all with the versions that are here, and all see the folder."""
    place = None if out is None else os.path.abspath(out)
    try:
        found = client.run(about, place)
    except Exception as error:  # a worker without gluonnx says so in its own way
        raise BadInput(
            f"a worker cannot load gluonnx ({type(error).__name__}: {error}); install the same version there"
        ) from None
    if not found:
        raise BadInput("the scheduler has no workers; start some: dask worker ADDRESS")
    here = versions(own_version())
    problems = []
    for worker, (theirs, sees) in found.items():
        other = [f"{n} {theirs.get(n)}, here {v}" for n, v in here.items() if theirs.get(n) != v]
        if other:
            problems.append(f"worker {worker}: other versions ({'; '.join(other)}); install the same everywhere")
        if not sees:
            problems.append(f"worker {worker}: does not see the folder {place}; give one that all machines share")
    if problems:
        raise BadInput(*problems)


def _spread(client: Any, tasks: Sequence[Task], run: str, memory: int | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Do tasks on the workers. No more are handed out than are worked on, so that a worker that dies takes nothing else along."""
    from distributed import KilledWorker, as_completed  # pyright: ignore[reportMissingImports]

    waiting: Iterator[tuple[int, Task]] = iter(enumerate(tasks))
    number_of: dict[str, int] = {}

    def submit(most: int) -> Iterable[Any]:
        for _, (number, task) in zip(range(most), waiting):
            future = client.submit(attempt, task, run, memory, pure=False)
            number_of[future.key] = number
            yield future

    width = max(1, sum(client.nthreads().values()))
    running = as_completed(list(submit(width)), loop=client.loop)
    for future in running:
        number = number_of.pop(future.key)
        try:
            told = future.result()
        except KilledWorker as error:
            words = f"the workers that had it died ({error})"
            told = {"exit": RUNTIME, "result": None, "killed": words, "attempts": 1, "seconds": 0.0}
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            raise EngineError("the scheduler is gone; the same command goes on with what is left") from None
        width = max(1, sum(client.nthreads().values()))
        for more in submit(max(0, width - len(number_of))):
            running.add(more)
        yield number, told
