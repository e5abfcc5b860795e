"""``python -m tests.weak_mutation``: which slips no test of the quick set could see.

    python -m tests.weak_mutation                        the whole quick set, two processes
    python -m tests.weak_mutation tests/io tests/image   these tests alone
    python -m tests.weak_mutation --only hybrid/io       places of these files alone
    python -m tests.weak_mutation --json                 one line of JSON per place

Exit status: that of the tests, which have to pass on instrumented sources too (but those of what imports cost)."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.house.docs import ROOT

from .instrument import Place, lacking

UNFAIR = ("tests/house/test_import.py::test_import_is_quick",)
"""Tests of what sources cost, which instruments change."""


def observed(folder: Path) -> dict[Place, int]:
    """What all processes together saw."""
    found: dict[Place, int] = {}
    for path in folder.glob("*.json"):
        numbers: Counter[Place] = Counter()  # equal texts of one line are places in their order
        for *row, bits in json.loads(path.read_text()):
            place = Place(*row)
            numbers[place] += 1
            place = place._replace(text=f"{place.text} ({numbers[place]})") if numbers[place] > 1 else place
            found[place] = found.get(place, 0) | bits
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.weak_mutation")
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.weak_mutation.plugin", "-p", "no:cacheprovider"]
        skipped = [f"--deselect={test}" for test in UNFAIR]
        done = subprocess.run(
            [*command, "-n", str(asked.jobs), *skipped, *asked.tests],
            cwd=ROOT, env={**os.environ, "WEAK_MUTATION": folder}, stdout=sys.stderr, check=False,
        )  # fmt: skip
        found = {p: b for p, b in observed(Path(folder)).items() if p.file.startswith(tuple(asked.only))}
    holes = sorted((p, why) for p, bits in found.items() if (why := lacking(p.kind, bits)))
    for place, why in holes:
        row = f"{place.file}:{place.line}: {why}: {place.text}"
        print(json.dumps({**place._asdict(), "why": why}) if asked.json else row)
    if not asked.json:
        print(f"{len(found) - len(holes)} of {len(found)} places were told apart")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
