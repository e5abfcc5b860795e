"""Runs surfaces: starts workers, kills those that hang, goes on after those that died, counts."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType

from . import REFUSED, RIGHT
from .worker import PROGRESS, Job, case_of, store

SECONDS = 10.0
"""CPU seconds that a case may take, where its surface says nothing."""
MEMORY = 4 << 30
"""Bytes that a worker may take above what it has when it starts."""
PATIENCE, START = 12, 60.0
"""A case is killed after so many times its CPU seconds by the clock: it may wait, and others run here too; and START seconds more,
in which a worker has to begin."""
PORTION = 5000
"""Cases after which a worker is followed by a new one, which has no memory of them."""
FAULT = "fault"
CRASH = "crash"
ENDLESS = "endless"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Figures:
    """Figures of a surface's cases."""

    surface: str
    seed: int
    count: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    kept: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        return self.count - self.outcomes[RIGHT] - self.outcomes[REFUSED]


class Worker:
    """A process at its portion of the cases."""

    def __init__(self, job: Job):
        self.job = job
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it has been counted
        self.seen, self.since = -1, time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.worker", json.dumps(asdict(job))],
            cwd=ROOT,
            env=os.environ | ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.errors,
        )

    def progress(self) -> tuple[int, int, int, int]:
        """The case it is at; how many were right, refused, faults."""
        return PROGRESS.unpack(Path(self.job.progress).read_bytes())  # type: ignore[return-value]

    def hangs(self) -> bool:
        """True where it has been at one case for longer than any may take."""
        at = self.progress()[0]
        if at != self.seen:
            self.seen, self.since = at, time.monotonic()
        return time.monotonic() - self.since > START + PATIENCE * self.job.limit

    def abort(self) -> None:
        """End it, with what its threads are at in what it said, if it can say that."""
        self.process.send_signal(signal.SIGABRT)
        try:
            self.process.wait(START)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def said(self) -> str:
        """The end of what it wrote to the standard error."""
        self.errors.seek(0)
        return self.errors.read()[-8000:].decode(errors="backslashreplace")


def run(
    module: ModuleType,
    *,
    seed: int,
    count: int | None,
    seconds: float | None,
    jobs: int,
    keep: Path,
    say: Callable[[str], None],
) -> Figures:
    """Try a surface's cases from number 0 on: so many, or for so long, whichever ends first."""
    figures = Figures(module.SURFACE, seed)
    start, stop = time.monotonic(), count if count is not None else sys.maxsize
    end = start + seconds if seconds is not None else float("inf")
    seeds = module.seeds()
    before = {p.name for p in (keep / module.SURFACE).glob("*.txt")}
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "seeds"
        stored.write_bytes(pickle.dumps(seeds))

        def begin(lane: int, at: int) -> Worker | None:
            left = end - time.monotonic()
            if at >= stop or left <= 0:
                return None
            place = Path(folder) / f"progress{lane}"
            place.write_bytes(PROGRESS.pack(at, 0, 0, 0))
            return Worker(
                Job(
                    module.__name__,
                    seed,
                    at,
                    min(stop, at + PORTION * jobs),
                    jobs,
                    min(left, 1e9),
                    str(place),
                    str(stored),
                    str(keep),
                    getattr(module, "SECONDS", SECONDS),
                    getattr(module, "MEMORY", MEMORY),
                )
            )

        def finish(worker: Worker, hung: bool) -> int:
            """Count what it did; where the next one begins."""
            at, right, refused, faults = worker.progress()
            done = right + refused + faults
            figures.outcomes.update({RIGHT: right, REFUSED: refused, FAULT: faults})
            status = worker.process.returncode
            if status:
                if at == worker.job.start and not done and status > 0:
                    raise RuntimeError(f"{module.SURFACE}: the worker did not start:\n{worker.said()}")
                kind = ENDLESS if hung else CRASH
                figures.outcomes[kind] += 1
                done += 1
                ended = signal.Signals(-status).name if status < 0 else f"status {status}"
                text = f"case {at} of seed {seed}: {kind}, {ended}\n\n{worker.said()}"
                case = case_of(module, seeds, seed, at)
                store(keep, module.SURFACE, f"{kind}-{ended.replace(' ', '-')}-{at}", case, text)
                say(text.splitlines()[0])
                at += worker.job.step
            figures.count += done
            worker.errors.close()
            return at

        lanes = [begin(lane, lane) for lane in range(jobs)]
        try:
            while any(lanes):
                time.sleep(0.05)
                for lane, worker in enumerate(lanes):
                    if worker is None:
                        continue
                    hung = worker.hangs()
                    if hung:
                        worker.abort()
                    if worker.process.poll() is not None:
                        lanes[lane] = begin(lane, finish(worker, hung))
        finally:
            for worker in lanes:
                if worker is not None:
                    worker.process.kill()
                    worker.process.wait()
    figures.seconds = time.monotonic() - start
    figures.kept = sorted({p.name for p in (keep / module.SURFACE).glob("*.txt")} - before)
    return figures
