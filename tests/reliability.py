"""docs/reliability.md from the records of campaigns: python -m tests.reliability > docs/reliability.md

Campaigns print records as lines of JSON (``python -m tests.fuzz --json``, ``tests.kills``, ``tests.mutants`` likewise); those worth
keeping are added to docs/reliability.jsonl. A record says when, of which commit, of what, how many cases, and how they ended.
Of a surface the records of the newest commit are added up; what others found before, and was mended since, is a column."""

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
agreed; *refused*: a typed error; *before*: cases of earlier commits, and the faults among them, which were mended.

| surface | cases | right | refused | faults | day | commit | before | faults then |
|---|---|---|---|---|---|---|---|---|
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

`python -m tests.mutants`: realistic slips in one line (tests/mutants/faults.py), which a test of the quick set has to notice; the
last run of each counts.

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


def _ends(rows: list[dict[str, Any]]) -> Counter[str]:
    """Counts of cases by how they ended."""
    return sum((Counter(r["outcomes"]) for r in rows), Counter[str]())


def _cases(rows: list[dict[str, Any]]) -> int:
    return sum(r["count"] for r in rows)


def _faults(rows: list[dict[str, Any]]) -> int:
    return sum(n for what, n in _ends(rows).items() if what not in GOOD)


def page(rows: list[dict[str, Any]]) -> str:
    """The page as Markdown."""
    out = [HEAD, FUZZ]
    for surface, some in _by((r for r in rows if "surface" in r), "surface").items():
        commit = max(some, key=lambda r: r["date"])["commit"]
        now, before = ([r for r in some if (r["commit"] == commit) is there] for there in (True, False))
        ends = _ends(now)
        counts = f"{_cases(now):,} | {ends['right']:,} | {ends['refused']:,} | {_faults(now):,}"
        out.append(f"| {surface} | {counts} | {_newest(now)} | {_cases(before):,} | {_faults(before):,} |\n")
    out.append(KILLS)
    for writer, some in _by((r for r in rows if "writer" in r), "writer").items():
        kills, lost = (sum(r[k] for r in some) for k in ("kills", "lost"))
        out.append(f"| {writer} | {kills:,} | {lost:,} | {_newest(some)} |\n")
    out.append(MUTANTS)
    tried = {(r["area"], r["name"]): r for r in sorted((r for r in rows if "area" in r), key=lambda r: r["date"])}
    for area, some in _by(tried.values(), "area").items():
        survivors = ", ".join(r["name"] for r in some if not r["caught"]) or "none"
        out.append(f"| {area} | {len(some)} | {sum(r['caught'] for r in some)} | {survivors} |\n")
    out.append(OTHER)
    for row in (r for r in rows if "what" in r):
        out.append(f"| {row['what']} | {row['result']} | `{row['command']}` | {row['date'][:10]} | {row['commit']} |\n")
    return "".join(out)


if __name__ == "__main__":
    print(page(records()), end="")
