"""python -m tests.fuzz: what users give, changed at random; exit status 1 when any case is a fault."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import driver, surfaces, worker


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--only", action="append", metavar="SURFACE", help="this surface alone; may be repeated")
    parser.add_argument("--count", type=int, metavar="N", help="so many cases of each surface")
    parser.add_argument("--minutes", type=float, default=0.0, metavar="N", help="so long, shared by the surfaces")
    parser.add_argument("--hours", type=float, default=0.0, metavar="N", help="so long, shared by the surfaces")
    parser.add_argument("--seed", type=int, default=worker.SEED, help="of the numbers that choose the cases")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where cases go that are faults")
    parser.add_argument("--json", action="store_true", help="figures as a line of JSON for each surface")
    parser.add_argument("--again", type=Path, metavar="FILE", help="judge a kept case once more, in this process")
    options = parser.parse_args(argv)
    known = surfaces()
    if unknown := sorted(set(options.only or ()) - set(known)):
        parser.error(f"--only {', '.join(unknown)}: the surfaces are {', '.join(known)}")
    if options.again:
        module = known[options.again.parent.name]
        print(worker.attempt(module, worker.load(options.again), getattr(module, "SECONDS", driver.SECONDS)))
        return 0
    seconds = 60 * options.minutes + 3600 * options.hours
    if not seconds and options.count is None:
        parser.error("give --count, --minutes or --hours")
    keep = options.keep or Path(tempfile.mkdtemp(prefix="gluonnx-fuzz-"))
    chosen = options.only or list(known)
    end, faults = time.monotonic() + seconds, 0
    for i, name in enumerate(chosen):
        found = driver.run(
            known[name],
            seed=options.seed,
            count=options.count,
            seconds=(end - time.monotonic()) / (len(chosen) - i) if seconds else None,
            jobs=options.jobs,
            keep=keep,
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
        faults += found.faults
        show(found, options.json)
    if faults:
        print(f"{faults} faults; cases are kept in {keep}", file=sys.stderr)
    return 1 if faults else 0


def show(found: driver.Figures, as_json: bool) -> None:
    outcomes = {k: v for k, v in found.outcomes.items() if v}
    if as_json:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=driver.ROOT, capture_output=True, text=True, check=False
        )
        line = {
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": commit.stdout.strip(),
            "surface": found.surface,
            "seed": found.seed,
            "count": found.count,
            "seconds": round(found.seconds, 1),
            "outcomes": outcomes,
            "kept": found.kept,
        }
        print(json.dumps(line), flush=True)
        return
    words = ", ".join(f"{count:,} {what}" for what, count in outcomes.items())
    print(f"{found.surface:14} {found.count:10,} cases in {found.seconds:7.1f} s: {words or 'none'}", flush=True)
    for name in found.kept:
        print(f"{'':14} {name}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
