"""docs/reliability.md from the records of campaigns: python -m tests.reliability > docs/reliability.md

Campaigns print records as lines of JSON (``python -m tests.fuzz --json``, ``tests.kills``, ``tests.mutants`` likewise); those worth
keeping are added to docs/reliability.jsonl. A record says when, of which commit, of what, how many cases, and how they ended.
Counts of one surface are added up over all records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
RECORDS, PAGE = DOCS / "reliability.jsonl", DOCS / "reliability.md"

HEAD = """# Reliability

Written by `python -m tests.reliability` from [reliability.jsonl](reliability.jsonl); every line there is what a command printed.

What may happen to any input is that it works, with the numbers that NumPy, onnxruntime or MXNet give, or that a typed error says
what was got, what was wanted and what to do, in bounded time and memory. Anything else counts as a fault: a crash, a run without
end, an error that is not typed, an answer on one side only (NumPy, compiled, inference), a wrong number.
"""
FUZZ = """
## Mutated inputs

`python -m tests.fuzz --hours N`; the first 1,500 cases of each surface are a stage of CI. *right*: it worked, and the numbers
agreed; *refused*: a typed error.

| surface | cases | right | refused | faults | newest | commit |
|---|---|---|---|---|---|---|
"""
KILLS = """
## Processes killed while they write

`python -m tests.kills`: ended by a signal at any moment of a write, a third of them right before or after a rename; afterwards the
old file or the new one stands there, whole.

| writer | kills | files lost | newest | commit |
|---|---|---|---|---|
"""
MUTANTS = """
## Planted faults

`python -m tests.mutants`: realistic slips in one line (tests/mutants/faults.py), which a test of the quick set has to notice.

| area | planted | caught | survivors |
|---|---|---|---|
"""
OTHER = """
## Sanitizers, threads, long runs

| what | result | command | date | commit |
|---|---|---|---|---|
"""
GOOD = ("right", "refused")


def records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDS.read_text().splitlines() if line.strip()]


def _newest(rows: list[dict[str, Any]]) -> str:
    row = max(rows, key=lambda r: r["date"])
    return f"{row['date'][:10]} | {row['commit']}"


def _by(rows: Iterable[dict[str, Any]], key: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return dict(sorted(found.items()))


def page(rows: list[dict[str, Any]]) -> str:
    """The page as Markdown."""
    out = [HEAD, FUZZ]
    for surface, some in _by((r for r in rows if "surface" in r), "surface").items():
        ends = Counter[str]()
        for row in some:
            ends.update(row["outcomes"])
        faults = sum(n for what, n in ends.items() if what not in GOOD)
        counts = f"{sum(r['count'] for r in some):,} | {ends['right']:,} | {ends['refused']:,} | {faults:,}"
        out.append(f"| {surface} | {counts} | {_newest(some)} |\n")
    out.append(KILLS)
    for writer, some in _by((r for r in rows if "writer" in r), "writer").items():
        kills, lost = (sum(r[k] for r in some) for k in ("kills", "lost"))
        out.append(f"| {writer} | {kills:,} | {lost:,} | {_newest(some)} |\n")
    out.append(MUTANTS)
    for area, some in _by((r for r in rows if "area" in r), "area").items():
        survivors = ", ".join(r["name"] for r in some if not r["caught"]) or "none"
        out.append(f"| {area} | {len(some)} | {sum(r['caught'] for r in some)} | {survivors} |\n")
    out.append(OTHER)
    for row in (r for r in rows if "what" in r):
        out.append(f"| {row['what']} | {row['result']} | `{row['command']}` | {row['date'][:10]} | {row['commit']} |\n")
    return "".join(out)


if __name__ == "__main__":
    print(page(records()), end="")
