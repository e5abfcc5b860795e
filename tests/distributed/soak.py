"""python -m tests.distributed.soak [--minutes 60] [--seed N] [--only training|models]: a long run in which processes are killed.

Two ranks train under mpirun, and now and then one of them, or mpirun, is killed (or stopped) at a random moment. All have to end in
bounded time with something said, ``--resume`` has to go on, and in the end the weights have to be, bit for bit, those of a run that
nobody touched. Beside it many models are converted by ``--on local:2`` and by workers of Dask over TCP, of which a child, a worker
or the command is killed; in the end all files have to be those of a serial run. A line for each round; what was lost is said, and
makes the exit status 1. Wants mpi4py, an MPI, distributed, and /proc; it starts everything niced and leaves no process behind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np

from hybrid.kvstore import world
from tests.distributed.launching import PROGRAMS, command, environment
from tests.house.docs import ROOT
from tests.many.making import make_models

MARK = "GLUONNX_SOAK"
"""A variable of the environment, by which processes are known that belong to a part of this run."""
PATIENCE = 20
"""Seconds after which ranks give each other up."""
BOUND = 90
"""Seconds in which all have to end after one was killed: the patience, its rank's turn, and a busy machine."""
EPOCHS = 200
MODELS = 40
WORKER = "multiprocessing.spawn import spawn_main"
"""A part of the command line of a worker that a nanny of Dask has started."""


def family(mark: str) -> dict[int, str]:
    """Processes that belong to a part of this run, with their command lines."""
    found = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdigit() or int(place.name) == os.getpid():
            continue
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


class Part:
    """One of the things that run at the same time: rounds of work, each killed at times, each held to what is wanted."""

    name = ""

    def __init__(self, folder: Path, chance: random.Random, until: float) -> None:
        self.folder, self.chance, self.until = folder, chance, until
        self.lost: list[str] = []
        self.rounds = self.kills = 0

    def environment(self) -> dict[str, str]:
        return environment(**{MARK: self.mark, world.TIMEOUT: str(PATIENCE)})

    @property
    def mark(self) -> str:
        return f"{os.getpid()}-{self.name}"

    def say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {self.name:8} {text}", flush=True)

    def lose(self, text: str) -> None:
        self.lost.append(text)
        self.say(f"LOST: {text}")

    def start(self, words: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words, cwd=self.folder, env=self.environment(), stdout=log, stderr=log, preexec_fn=lambda: os.nice(15)
        )

    def call(self, words: Sequence[str], disturb: float | None = None) -> tuple[int, str, str]:
        """Run to the end, and kill somebody after so many seconds. Gives the exit status, what was said, and who was killed."""
        with tempfile.TemporaryFile() as log:
            process = self.start(words, log)
            who, limit = "", 900.0
            if disturb is not None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(disturb)
                if process.poll() is None and (who := self.kill(process.pid)):
                    self.kills += 1
                    limit = BOUND if self.ends_all else limit
            begin = time.monotonic()
            try:
                process.wait(limit)
            except subprocess.TimeoutExpired:
                self.lose(
                    f"still there {time.monotonic() - begin:.0f} s after {who or 'its start'}: {family(self.mark)}"
                )
                self.clear()
                process.wait()
            log.seek(0)
            return process.returncode, log.read().decode(errors="replace"), who

    ends_all = True
    """True where a kill ends the command."""

    def victims(self, first: int) -> dict[str, list[int]]:
        """Those that may be killed, by what they are; first: the process that was started."""
        raise NotImplementedError

    def kill(self, first: int) -> str:
        """Kill one of the victims, and say which; nothing where there is none yet."""
        kinds = {kind: pids for kind, pids in self.victims(first).items() if pids}
        if not kinds:
            return ""
        kind = self.chance.choice(sorted(kinds))
        pid = self.chance.choice(kinds[kind])
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP if kind.startswith("stopped") else signal.SIGKILL)
            return kind
        return ""

    def clear(self) -> None:
        """Kill whatever is there of this part."""
        for pid in family(self.mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def none_left(self) -> None:
        """Hold the part to leaving no process behind, in a few seconds."""
        end = time.monotonic() + 30
        while (left := family(self.mark)) and time.monotonic() < end:
            time.sleep(0.5)
        if left:
            self.lose(f"left behind: {left}")
            self.clear()

    def round(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        try:
            while time.monotonic() < self.until:
                self.round()
                self.rounds += 1
        except Exception as error:
            self.lose(f"{type(error).__name__}: {error}")
            raise
        finally:
            self.clear()


class Training(Part):
    """Two ranks that train, by a Trainer and by Module in turns."""

    name = "training"

    def __init__(self, folder: Path, chance: random.Random, until: float) -> None:
        super().__init__(folder, chance, until)
        self.whole: dict[str, list[dict[str, bytes]]] = {}
        self.takes: dict[str, float] = {}

    def words(self, form: str, state: str, out: str) -> list[str]:
        words = command(2, "resuming.py", form, "dist_sync", state, out, "-", EPOCHS)
        if form == "module" and state != "-":
            at = words.index(str(PROGRAMS / "resuming.py"))
            words[at:at] = ["--resume", state, "--every", "2"]
        return words

    def victims(self, first: int) -> dict[str, list[int]]:
        ranks = [
            pid for pid, words in family(self.mark).items() if " -m hybrid " in words and "mpi" not in words.split()[0]
        ]
        return {"a rank": ranks, "stopped rank": ranks, "mpirun": [first]} if len(ranks) == 2 else {}

    def weights(self, out: str) -> list[dict[str, bytes]]:
        found = []
        for rank in range(2):
            with np.load(self.folder / f"{out}-{rank}.npz") as held:
                found.append({name: held[name].tobytes() for name in held.files if name != "done"})
        return found

    def round(self) -> None:
        form = ("gluon", "module")[self.rounds % 2]
        if form not in self.whole:
            begin = time.monotonic()
            status, said, _ = self.call(self.words(form, "-", f"whole-{form}"))
            if status:
                raise RuntimeError(f"{form}, with nobody killed: status {status}: {said}")
            self.whole[form], self.takes[form] = self.weights(f"whole-{form}"), time.monotonic() - begin
            self.say(f"{form}: undisturbed in {self.takes[form]:.0f} s")
        name = f"{self.rounds}-{form}"
        killed: list[str] = []
        for _ in range(self.chance.randint(2, 5)):
            disturb = self.chance.uniform(0.05, 1.0) * self.takes[form]
            status, said, who = self.call(self.words(form, f"state-{name}", f"out-{name}"), disturb)
            if not status:
                break
            if not who:
                self.lose(f"{name}: status {status} with nobody killed: {said}")
            killed.append(who)
            if who != "mpirun" and not said.strip():
                self.lose(f"{name}: ended by {who} without a word")
            if who == "stopped rank" and "no sign of life" not in said and "all 2 ranks are ended" not in said:
                self.lose(f"{name}: {who}, and this was said: {said}")
            self.none_left()
        else:
            status, said, _ = self.call(self.words(form, f"state-{name}", f"out-{name}"))
            if status:
                self.lose(f"{name}: going on ended with status {status}: {said}")
                return
        same = self.weights(f"out-{name}") == self.whole[form]
        self.say(f"round {name}: {len(killed)} kills ({', '.join(killed)}), {'same bits' if same else 'OTHER BITS'}")
        if not same:
            self.lose(f"{name}: other weights after {killed}")
        self.none_left()


class Models(Part):
    """Many models, on this machine and on workers of Dask over TCP in turns."""

    name = "models"
    ends_all = False

    def __init__(self, folder: Path, chance: random.Random, until: float) -> None:
        super().__init__(folder, chance, until)
        (folder / "list.txt").write_text("\n".join(make_models(folder, MODELS)), encoding="utf-8")
        self.serial: dict[str, bytes] = {}
        self.takes = 0.0

    def words(self, out: str, *more: str) -> list[str]:
        return [sys.executable, "-m", "bridge", "convert", "list.txt", "-o", out, *more]

    def made(self, out: str) -> dict[str, bytes]:
        place = self.folder / out
        return {
            p.relative_to(place).as_posix(): p.read_bytes()
            for p in place.rglob("*")
            if p.is_file() and ".gluonnx" not in p.parts
        }

    def victims(self, first: int) -> dict[str, list[int]]:
        everybody = family(self.mark)
        return {
            "a child": [pid for pid, words in everybody.items() if "bridge.many.child" in words],
            "a worker": [pid for pid, words in everybody.items() if WORKER in words],
            "the command": [first],
        }

    def kill(self, first: int) -> str:
        """As of any part, but that the kind comes first, for it may be a while until there are such: a start takes longer than a
        model. Workers are killed once they have children, which is when they work."""
        kinds = ["a child", "the command", *(["a worker"] if self.victims(first)["a worker"] else [])]
        kind = self.chance.choice(kinds)
        while Path(f"/proc/{first}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z":
            found = self.victims(first)
            if found["a child"] or kind == "the command":
                time.sleep(self.chance.uniform(0, 2))
                pid = self.chance.choice(self.victims(first)[kind] or [0])
                if pid:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        return kind
            time.sleep(0.2)
        return ""

    def round(self) -> None:
        if not self.serial:
            begin = time.monotonic()
            status, said, _ = self.call(self.words("serial"))
            if status:
                raise RuntimeError(f"serially, with nobody killed: status {status}: {said}")
            self.serial, self.takes = self.made("serial"), time.monotonic() - begin
            self.say(f"{len(self.serial)} files serially in {self.takes:.0f} s")
        out = f"out-{self.rounds}"
        if self.rounds % 2 == 0:
            self.converted(out, "--on", "local:2")
        else:
            self.on_a_cluster(out)
        self.none_left()

    def converted(self, out: str, *more: str) -> None:
        killed: list[str] = []
        for attempt in range(4):
            disturb = self.chance.uniform(0.05, 0.7) * self.takes / (1 + attempt)
            status, said, who = self.call(self.words(out, *more), disturb if attempt < 3 else None)
            killed += [who] if who else []
            if not status:
                break
            if who != "the command":
                self.lose(f"{out}: status {status} after {who or 'nothing'}: {said}")
        same = self.made(out) == self.serial
        where = more[-1].partition(":")[0]
        said = ", ".join(killed) or "none"
        self.say(f"round {out} {where}: kills: {said}; {'same files' if same else 'OTHER FILES'}")
        if not same:
            others = [name for name, content in self.serial.items() if self.made(out).get(name) != content]
            self.lose(f"{out}: others or missing: {others}")

    def on_a_cluster(self, out: str) -> None:
        dask = [sys.executable, "-m", "dask"]
        with (self.folder / f"{out}.log").open("wb") as log:
            file = self.folder / f"{out}.json"
            scheduler = self.start(
                [
                    *dask,
                    "scheduler",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--host",
                    "127.0.0.1",
                    "--scheduler-file",
                    str(file),
                ],
                log,
            )
            workers = []
            try:
                for _ in range(2):
                    workers.append(
                        self.start(
                            [
                                *dask,
                                "worker",
                                "--scheduler-file",
                                str(file),
                                "--nthreads",
                                "1",
                                "--no-dashboard",
                                "--local-directory",
                                str(self.folder),
                            ],
                            log,
                        )
                    )
                end = time.monotonic() + 180
                while len([w for w in family(self.mark).values() if WORKER in w]) < 2 or not file.exists():
                    if time.monotonic() > end:
                        raise RuntimeError(f"no cluster: {(self.folder / f'{out}.log').read_text()}")
                    time.sleep(0.5)
                time.sleep(10)
                address = json.loads(file.read_text())["address"]
                self.converted(out, "--on", address)
            finally:
                for process in (*workers, scheduler):
                    process.terminate()
                for process in (*workers, scheduler):
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(60)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", choices=[part.name for part in (Training, Models)])
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.minutes:g} minutes: {shlex.join(sys.argv)} in {ROOT}", flush=True)
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="gluonnx-soak-") as place:
        parts = []
        for number, kind in enumerate((Training, Models)):
            folder = Path(place) / kind.name
            folder.mkdir()
            if options.only in (None, kind.name):
                parts.append(kind(folder, random.Random(2 * options.seed + number), until))
        threads = [threading.Thread(target=part.run) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for part in parts:
        part.say(f"{part.rounds} rounds, {part.kills} kills, {len(part.lost)} lost")
    return int(any(part.lost for part in parts))


if __name__ == "__main__":
    sys.exit(main())
