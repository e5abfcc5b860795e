"""Run tests with probes in the product, and list what none of them decides.

    python -m tests.undecided                          the quick set, in two processes: about twice as long as without
    python -m tests.undecided --only 'hybrid/passes/'  files that match
    python -m tests.undecided --json                   one line of JSON per site
    python -m tests.undecided tests/graph              these tests alone

What runs in processes that tests start is not seen. Exit status: 0."""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.house.docs import ROOT

from .probes import Site

Left = dict[tuple[str, str, str, int], tuple[Site, int]]
"""Sites and what is left of them, by file, kind, text and which of several such it is."""


def merged(folder: Path) -> Left:
    """Expressions that all processes together leave open."""
    found: Left = {}
    for path in folder.glob("*.json"):
        seen: collections.Counter[tuple[str, str, str]] = collections.Counter()
        for *fields, left in json.loads(path.read_text()):
            site = Site(*fields)
            alike = site.file, site.kind, site.text
            key = (*alike, seen[alike])
            seen[alike] += 1
            found[key] = site, left & (found[key][1] if key in found else left)
    return found


def open_labels(site: Site, left: int) -> list[str]:
    """In words, what has not been seen of a site."""
    return [label for index, label in enumerate(site.labels) if left >> index & 1]


def main(argv: list[str]) -> int:
    """Run and list."""
    parser = argparse.ArgumentParser(prog="python -m tests.undecided", description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.undecided.plugin", "-p", "no:cacheprovider"]
        environment = os.environ | {"UNDECIDED": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        ended = subprocess.run(
            [*command, "-n", options.jobs, *options.paths], cwd=ROOT, env=environment, capture_output=True
        )
        print(ended.stdout.decode(errors="replace").strip().rpartition("\n")[2], file=sys.stderr)
        found = merged(Path(folder))
    sites = left_open = 0
    for (file, *_), (site, left) in sorted(found.items(), key=lambda row: (row[0][0], row[1][0].line)):
        labels = open_labels(site, left)
        sites, left_open = sites + len(site.labels), left_open + len(labels)
        if not labels or not re.search(options.only, file):
            continue
        if options.json:
            print(json.dumps({**site._asdict(), "open": labels}))
        else:
            print(f"{file}:{site.line} [{site.kind}] {site.text}: {'; '.join(labels)}")
    print(f"{left_open} of {sites} are decided by no test", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
