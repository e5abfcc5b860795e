"""python -m tests.kills: writers are killed at random moments; exit status 1 when a file was lost."""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hybrid.formats import files

from .writers import MIXED, WRITERS, Writer

LONG_AGO = 1_000_000_000
"""A time of which everything is old enough to be swept."""


def kills(writer: Writer, count: int, seed: int) -> dict[str, int]:
    """Remains of so many kills: ``whole`` files, ``mixed`` pairs that were noticed and can be mended, ``lost``; ``part`` is how
    many hit the process between the first byte and the last rename.

    A third of the processes end right before or after a rename, the others at any moment of a write. Nobody tidies up between two
    kills: the next process finds what the others left, and takes it for old."""
    rng = random.Random(seed)
    found = {"whole": 0, "mixed": 0, "lost": 0, "part": 0}
    with tempfile.TemporaryDirectory(prefix="gluonnx-kills-") as name:
        folder = Path(name, "written")
        folder.mkdir()
        writer.write(folder, 1)
        span, renames = _measured(writer, folder)
        known, generation = writer.read(folder), 10_000  # as many digits for each
        before = _left(folder)
        for _ in range(count):
            at_rename = rng.randint(1, renames + 1) if renames and rng.random() < 1 / 3 else 0
            _killed(writer, folder, generation, at_rename, max(rng.random() * span, 1e-6))
            left = _left(folder)
            found["part"] += bool(left - before)
            for path in left:
                os.utime(path, (LONG_AGO, LONG_AGO))
            before = left
            try:
                got = writer.read(folder)
                if got == MIXED:
                    _mended(writer, folder, Path(name, "copy"))
                elif got != known and got < generation:
                    raise AssertionError(f"generation {got} is back: {known} was there, and {generation} was to come")
            except Exception as error:
                found["lost"] += 1
                print(f"lost: {type(error).__name__}: {error}", file=sys.stderr)
                shutil.rmtree(folder)
                folder.mkdir()
                writer.write(folder, generation)
                got, before = generation, set()
            else:
                found["mixed" if got == MIXED else "whole"] += 1
            known, generation = got, max(got, generation) + 1
    return found


def _left(folder: Path) -> set[Path]:
    """Files that killed processes left."""
    return set(folder.glob(".gluonnx-*"))


def _mended(writer: Writer, folder: Path, copy: Path) -> None:
    """Put what was to come in its place, in a copy: they then belong together. Raises AssertionError where it is missing."""
    shutil.copytree(folder, copy)
    try:
        places = [path for path in copy.iterdir() if not path.name.startswith(".")]
        for left in copy.glob(".gluonnx-*.whole"):
            (place,) = (p for p in places if left.stem.endswith(files._place_id(str(p))))
            before = place.read_bytes()
            os.replace(left, place)
            if writer.read(copy) != MIXED:
                return
            place.write_bytes(before)
        raise AssertionError("what is missing was not found")
    finally:
        shutil.rmtree(copy)


def _child(work: Callable[[], None]) -> int:
    """A process that does it."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(2, f"the writer fails: {error!r}\n".encode())
        finally:
            os._exit(1)
    return child


def _watch(folder: Path, opened: Callable[[], None], renamed: Callable[[], None]) -> None:
    """Be told when this process opens a file in the folder to write to it, and before it renames one."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & (os.O_WRONLY | os.O_RDWR) and str(path).startswith(str(folder)):
                opened()
        elif event == "os.rename":
            renamed()

    sys.addaudithook(hook)


def _measured(writer: Writer, folder: Path) -> tuple[float, int]:
    """Seconds from the first file that a write opens to its end, and how many files it renames."""
    out, into = os.pipe()
    starts: list[float] = []
    renames: list[float] = []

    def work() -> None:
        _watch(folder, lambda: starts.append(time.perf_counter()), lambda: renames.append(0.0))
        spans = []
        for generation in (2, 3, 4):
            starts.clear()
            writer.write(folder, generation)
            spans.append(time.perf_counter() - starts[0])
        os.write(into, json.dumps([statistics.median(spans), len(renames) // 3]).encode())

    child = _child(work)
    os.close(into)
    with open(out, "rb") as file:
        text = file.read()
    os.waitpid(child, 0)
    span, count = json.loads(text)
    return span, count


def _killed(writer: Writer, folder: Path, generation: int, at_rename: int, seconds: float) -> None:
    """A process that writes one generation after the other, ended before its rename of that number, or else so long after it
    opened its first file: by SIGALRM, which nothing handles, so that the kernel ends it as SIGKILL would, in that very moment."""
    seen = [0]

    def opened() -> None:
        if not at_rename and not seen[0]:
            seen[0] = 1
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def renamed() -> None:
        if at_rename:
            seen[0] += 1
            if seen[0] == at_rename:
                os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        _watch(folder, opened, renamed)
        number = generation
        while True:
            writer.write(folder, number)
            number += 1

    _, status = os.waitpid(_child(work), 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError("the writer failed by itself")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="kills for each writer")
    parser.add_argument("--only", action="append", choices=WRITERS, help="this writer alone; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="figures as a line of JSON for each writer")
    options = parser.parse_args(argv)
    logging.disable(logging.INFO)
    lost = 0
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    for name in options.only or WRITERS:
        start = time.monotonic()
        found = kills(WRITERS[name], options.count, options.seed)
        lost += found["lost"]
        seconds = time.monotonic() - start
        if options.json:
            line = {
                "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "commit": commit,
                "writer": name,
            }
            figures = {"kills": options.count, "lost": found["lost"], "seconds": round(seconds, 1), "outcomes": found}
            print(json.dumps({**line, **figures}), flush=True)
        else:
            words = ", ".join(f"{n} {what}" for what, n in found.items() if n)
            print(f"{name:32} {options.count:6,} kills in {seconds:6.1f} s: {words}", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
