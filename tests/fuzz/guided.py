"""python -m tests.fuzz.guided SURFACE --minutes N: cases that are bred for the lines of the parser that they reach.

Needs atheris (libFuzzer for Python; ``pip install atheris``), which is no dependency of anything else. The surface's own ``mutate``
and libFuzzer's changes of bytes take turns, what reaches new branches is kept and changed further, and ``judge`` is the surface's
own: the same faults, counted the same way."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from . import RIGHT, driver, worker

PARSERS = {
    "params": ["hybrid.formats.params", "hybrid.formats.npz", "hybrid.core.attrs", "hybrid.ndarray"],
    "symbols": ["hybrid.ir", "hybrid.core.attrs", "hybrid.core.op", "hybrid.core.shapes", "bridge.inspect"],
    "states": ["hybrid.optimizer", "hybrid.ndarray"],
    "recordio": ["hybrid.recordio", "hybrid.formats.files"],
    "feeds": ["bridge.inputs", "hybrid.formats.npz", "zipfile"],
    "images": ["hybrid.formats.images"],
}
"""The packages whose branches are counted, by surface."""
BETWEEN = b"\n--gluonnx--\n"
"""Separator of the files of a case that is several."""
LONGEST = 1 << 16
MARGIN = 60
"""Seconds after its end at which a run is killed."""


def encoded(case: Any) -> bytes:
    """A case, or a seed, as libFuzzer has it."""
    if isinstance(case, tuple):
        return BETWEEN.join(case)
    return case if isinstance(case, bytes) else f"{json.dumps(case['feeds'])}\n{json.dumps(case['symbol'])}".encode()


def decoded(surface: str, data: bytes) -> Any:
    """The case that ``judge`` takes."""
    if surface == "recordio":
        first, _, second = data.partition(BETWEEN)
        return first, second
    return data


def seed_of(surface: str, data: bytes) -> Any:
    """Seed that ``mutate`` takes. Raises ValueError, KeyError or TypeError for bytes that are none."""
    if surface == "symbols":
        first, _, text = data.partition(b"\n")
        found = {"feeds": json.loads(first), "symbol": json.loads(text)}
        return found if isinstance(found["symbol"], dict) else found["symbol"]["nodes"]
    return decoded(surface, data)


def fuzz(surface: str, corpus: str, keep: str, progress: str, seconds: int, seed: int) -> None:
    """The process that libFuzzer runs in, which ends it."""
    import atheris  # type: ignore[import-not-found]  # optional

    with atheris.instrument_imports(include=PARSERS[surface]):  # type: ignore[attr-defined]
        from . import surfaces

        module = surfaces()[surface]
    counts = {"right": 0, "refused": 0, "fault": 0}
    shown = open(progress, "r+b", buffering=0)  # noqa: SIM115 - to the end of the process

    def one(data: bytes) -> None:
        case = decoded(surface, data)
        try:
            if not _fits(surface, case):
                return
            counts[worker.attempt(module, case, getattr(module, "SECONDS", driver.SECONDS))] += 1
        except (Exception, worker.Endless) as error:
            counts["fault"] += 1
            worker.store(keep, surface, worker.kind_of(error), case, traceback.format_exc(limit=-40))
        shown.seek(0)
        shown.write(worker.PROGRESS.pack(0, *counts.values()))

    def change(data: bytes, longest: int, number: int) -> bytes:
        rng = random.Random(number)
        if rng.random() < 0.5:
            try:
                return encoded(module.mutate(rng, seed_of(surface, data)))[:longest]
            except Exception:  # bytes that are no seed any more
                pass
        return atheris.Mutate(data, longest)

    options = [f"-max_total_time={seconds}", f"-seed={seed or 1}", f"-max_len={LONGEST}", f"-artifact_prefix={keep}/",
               "-rss_limit_mb=8192", "-timeout=120", "-verbosity=1", corpus]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], one, custom_mutator=change)
    atheris.Fuzz()


def _fits(surface: str, case: Any) -> bool:
    """True where it is a case: the feeds of a symbol are the campaign's own words, not the user's."""
    if surface != "symbols":
        return True
    try:
        feeds = json.loads(case.partition(b"\n")[0])
        return isinstance(feeds, dict) and all(
            isinstance(d, str) and all(type(n) is int and 0 <= n < 100 for n in s) and len(s) < 8
            for d, s in feeds.values()
        )
    except (ValueError, TypeError, RecursionError):
        return False


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("surface", choices=PARSERS)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where cases go that are faults")
    parser.add_argument(
        "--corpus", type=Path, metavar="FOLDER", help="cases of earlier runs, to which new ones are added"
    )
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    seconds = max(1, round(60 * options.minutes))
    if options.worker:
        fuzz(options.surface, str(options.corpus), options.worker[0], options.worker[1], seconds, options.seed)
    keep = options.keep or Path(tempfile.mkdtemp(prefix="gluonnx-guided-"))
    keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        corpus, progress = options.corpus or Path(scratch, "corpus"), Path(scratch, "progress")
        corpus.mkdir(parents=True, exist_ok=True)
        progress.write_bytes(worker.PROGRESS.pack(0, 0, 0, 0))
        _write_seeds(options.surface, corpus)
        again = [options.surface, "--minutes", options.minutes, "--seed", options.seed, "--corpus", corpus]
        start = time.monotonic()
        ended = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.guided", *map(str, again), "--worker", str(keep), str(progress)],
            cwd=driver.ROOT, env=os.environ | driver.ENVIRONMENT, capture_output=True, timeout=seconds + MARGIN * 10, check=False,
        )  # fmt: skip
        said = ended.stderr.decode(errors="replace")
        _, *counts = worker.PROGRESS.unpack(progress.read_bytes())
    outcomes: dict[str, int] = dict(zip((RIGHT, "refused", "fault"), counts))
    if ended.returncode:
        outcomes["crash"] = 1
    _show(
        options,
        outcomes,
        time.monotonic() - start,
        re.findall(r"cov: (\d+)", said),
        sorted(p.name for p in keep.rglob("*")),
    )
    if ended.returncode or not sum(counts):
        print(said[-4000:], file=sys.stderr)
    return 1 if set(k for k, v in outcomes.items() if v) - {RIGHT, "refused"} or not sum(counts) else 0


def _write_seeds(surface: str, corpus: Path) -> None:
    from . import surfaces

    for i, seed in enumerate(surfaces()[surface].seeds()):
        data = encoded(seed)
        if len(data) <= LONGEST:
            (corpus / f"seed{i}").write_bytes(data)


def _show(
    options: argparse.Namespace, outcomes: dict[str, int], seconds: float, reached: list[str], kept: list[str]
) -> None:
    """A record as the other campaigns print it, and how many branches were reached at the beginning and at the end."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=driver.ROOT, capture_output=True, text=True, check=False
    )
    line = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit.stdout.strip(),
        "surface": f"{options.surface}, guided by coverage",
        "seed": options.seed,
        "count": sum(outcomes.values()),
        "seconds": round(seconds, 1),
        "outcomes": {k: v for k, v in outcomes.items() if v},
        "branches": [int(n) for n in (reached[:1] + reached[-1:])],
        "kept": kept,
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
