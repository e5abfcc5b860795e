"""python -m tests.kills: writers are killed at random moments; exit status 1 when a file was lost."""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .writers import MIXED, WRITERS, Writer


def kills(writer: Writer, count: int, seed: int) -> dict[str, int]:
    """What so many kills left: ``whole`` files, ``mixed`` pairs that were noticed and can be mended, ``lost``; ``part`` is how
    many hit the process between the first byte and the last rename."""
    rng = random.Random(seed)
    found = {"whole": 0, "mixed": 0, "lost": 0, "part": 0}
    with tempfile.TemporaryDirectory(prefix="gluonnx-kills-") as name:
        folder = Path(name)
        start = time.perf_counter()
        writer.write(folder, 1)
        writer.write(folder, 2)
        span = 2 * (time.perf_counter() - start)
        for _ in range(count):
            _killed(writer, folder, rng.random() * span)
            parts = list(folder.glob(".gluonnx-*.part"))
            found["part"] += bool(parts)
            try:
                generation = writer.read(folder)
            except Exception as error:
                found["lost"] += 1
                print(f"lost: {type(error).__name__}: {error}", file=sys.stderr)
                writer.write(folder, 1)
                continue
            found["mixed" if generation == MIXED else "whole"] += 1
            for part in parts:
                shutil.rmtree(part) if part.is_dir() else part.unlink()
            if generation == MIXED:
                writer.write(folder, 2)
    return found


def _killed(writer: Writer, folder: Path, seconds: float) -> None:
    """A process that writes one generation after the other, killed so long after its first write began."""
    ready, begun = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(begun, b"x")
            generation = 3
            while True:
                writer.write(folder, generation)
                generation += 1
        except BaseException as error:
            os.write(2, f"the writer fails: {error!r}\n".encode())
        finally:
            os._exit(1)
    os.close(begun)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
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
    for name in options.only or WRITERS:
        start = time.monotonic()
        found = kills(WRITERS[name], options.count, options.seed)
        lost += found["lost"]
        seconds = time.monotonic() - start
        if options.json:
            commit = subprocess.run(
                ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
            )
            line = {
                "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "commit": commit.stdout.strip(),
                "writer": name,
            }
            print(
                json.dumps({**line, "count": options.count, "seconds": round(seconds, 1), "outcomes": found}),
                flush=True,
            )
        else:
            words = ", ".join(f"{n} {what}" for what, n in found.items() if n)
            print(f"{name:32} {options.count:6,} kills in {seconds:6.1f} s: {words}", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
