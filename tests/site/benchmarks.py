"""docs/benchmarks.md, from records of runs of benchmarks/: ``python -m tests.site.benchmarks > docs/benchmarks.md`` writes it.

    python -m tests.site.benchmarks frontend --mxnet PYTHON      # runs benchmarks/frontend.py --json, and keeps what it says

A record in docs/benchmarks.jsonl takes the place of the one of the same benchmark before, with date, machine and load; but a run
of a busy machine takes no place of one of a quiet machine.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hybrid import native
from hybrid.core.version import VERSION
from hybrid.formats.files import write

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "docs" / "benchmarks.jsonl"
WIDTH = 100
HEAD = """\
# Benchmarks

Written by `python -m tests.site.benchmarks > docs/benchmarks.md` from
[benchmarks.jsonl](benchmarks.jsonl): for each benchmark its newest record.
`python -m tests.site.benchmarks NAME OPTIONS` runs `benchmarks/NAME.py` and keeps a new one.

Only ratios mean something: what is compared takes its turns on the same machine. *load* is the
number of processes that wanted a processor when the run began; where there were more than cores,
times say little.
"""
MOST = 9
"""Columns of a table; a single row of more stands upright."""


def record(name: str, options: list[str]) -> dict[str, Any]:
    """Run a benchmark and say where and when."""
    command = [f"benchmarks/{name}.py", *options, "--json"]
    load = os.getloadavg()[0]
    here = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=here, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"benchmarks/{name}.py ended with status {done.returncode}; nothing was recorded")
    return {
        "benchmark": name,
        "command": f"python {' '.join(command)}",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "versions": {"gluonnx": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        "machine": {"processor": _processor(), "cores": len(os.sched_getaffinity(0)), "kernels": native.level()},
        "load": round(load, 1),
        "results": results_of(done.stdout),
    }


def results_of(printed: str) -> Any:
    """Printed results of a benchmark with --json: one document, or lines of which each is one, among lines of words."""
    try:
        return json.loads(printed)
    except json.JSONDecodeError:
        found = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    if not found:
        raise SystemExit(f"got no JSON from the benchmark, wanted a document or an object a line: {printed[-300:]!r}")
    return found[0] if len(found) == 1 else found


def busy(record: dict[str, Any]) -> bool:
    """True where more processes wanted a processor than there were cores."""
    return record["load"] > record["machine"]["cores"]


def kept(records: Iterable[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """The records with a new one in its place, by benchmark; of a busy machine only where none of a quiet one is."""
    every = {r["benchmark"]: r for r in records}
    before = every.get(new["benchmark"])
    if before is None or busy(before) or not busy(new):
        every[new["benchmark"]] = new
    return [every[name] for name in sorted(every)]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def recorded() -> list[dict[str, Any]]:
    """All records, by benchmark."""
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()] if RECORDS.exists() else []


def page(records: Iterable[dict[str, Any]]) -> str:
    """The page's text: what there is, then a section for each record."""
    records = list(records)
    rows = [
        {
            "benchmark": f"[{r['benchmark']}](#{r['benchmark']})",
            "date": r["date"],
            "processor": f"{r['machine']['processor']}, {r['machine']['cores']} cores",
            "load": f"{r['load']}{', busy' if busy(r) else ''}",
        }
        for r in records
    ]
    sections = (line for record in records for line in _section(record))
    return "\n".join([HEAD, *_table(rows), *_warning(records), *sections])


def _warning(records: list[dict[str, Any]]) -> Iterator[str]:
    """A line on what of the page is not to be believed, where there is such."""
    loaded = [r["benchmark"] for r in records if busy(r)]
    if loaded and len(loaded) == len(records):
        said = "No run on a quiet machine is recorded yet: take sizes and memory from here, no times and no ratios of times."
    elif loaded:
        said = (
            f"The runs of {', '.join(loaded)} were on a busy machine: take sizes and memory from them, no times and no "
        )
        said += "ratios of times."
    else:
        return
    yield from (*textwrap.wrap(f"**{said}**", WIDTH), "")


def _section(record: dict[str, Any]) -> Iterator[str]:
    name, machine = record["benchmark"], record["machine"]
    said = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8").split('"""')[1].replace("``", "`")
    yield from (f"## {name}", "")
    for part in said.split("\n\n"):
        if not part.startswith((" ", "python ")):  # how it is called
            dash = "- " if part.startswith("- ") else ""  # a list
            for item in part.removeprefix(dash).split(f"\n{dash}" if dash else "\n\n"):
                words = " ".join(item.split())
                yield from textwrap.wrap(words, WIDTH, initial_indent=dash, subsequent_indent=" " * len(dash))
            yield ""
    yield from (f"`{record['command']}`", "")
    versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    level = machine["kernels"] or "none, NumPy does everything"
    where = (
        f"{record['date']}, {machine['processor']}, {machine['cores']} cores, kernels: {level}, load {record['load']}"
    )
    where += f"; {versions}."
    yield from (*textwrap.wrap(where, WIDTH), "")
    if busy(record):
        yield from ("**A busy machine: times and their ratios say little here, sizes hold.**", "")
    by_length = sorted(tables(record["results"]), key=lambda table: len(table[1]))  # means before what they are of
    for title, rows in by_length:
        if title:
            yield from (f"### {name}: {title}", "")
        yield from _table(rows)


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    if len(rows) == 1 and len(columns) > MOST:
        rows = [{"figure": column, "value": rows[0][column]} for column in columns]
        columns = ["figure", "value"]
    words = {c for c in columns if any(isinstance(row.get(c), str) for row in rows)} - {"value"}
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---' if c in words else '---:' for c in columns)}|"
    for row in rows:
        yield f"| {' | '.join(_cell(row.get(column, '')) for column in columns)} |"
    yield ""


def tables(results: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    """Results as tables: title and rows. Rows that name a section are those of its table, objects by name get the name as their
    first cell or, where they hold such themselves, a table each; lists of objects are tables; objects inside a row are columns
    of their own."""
    if isinstance(results, list):
        found: dict[str, list[dict[str, Any]]] = {}
        for row in results:
            if {*row} != {"machine"}:  # which the record tells
                rest = {k: v for k, v in row.items() if k != "section"}
                found.setdefault(str(row.get("section", "")), []).append(dict(_flat(rest)))
        return [(title, [r for r in rows if r]) for title, rows in found.items() if any(rows)]
    alone = {k: v for k, v in results.items() if not isinstance(v, dict | list)}
    lists = {k: v for k, v in results.items() if isinstance(v, list) and v and all(isinstance(r, dict) for r in v)}
    named = {k: v for k, v in results.items() if isinstance(v, dict)}
    rows = [dict(_flat(row)) for row in named.values()]
    made: list[tuple[str, list[dict[str, Any]]]] = []
    deep = bool(named) and all(v and all(isinstance(i, dict) for i in v.values()) for v in named.values())
    if not deep and named and (not alone or len({tuple(row) for row in rows}) == 1 < len(rows)):
        rows = [{"": k, **row} for k, row in zip(named, rows)]
        made = [("", rows)] if not alone else [("", [alone]), ("by kind", rows)]
    elif deep and not alone:
        made = [(k, [{"": n, **dict(_flat(row))} for n, row in v.items()]) for k, v in named.items()]
    elif alone or named:
        made = [("", [dict(_flat({k: v for k, v in results.items() if k not in lists}))])]
    for title, part in lists.items():
        made += [(title, rows) for _, rows in tables(part)]
    return made


def _flat(row: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name} ")
        elif not isinstance(value, list):
            yield f"{before}{name}", value


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    if sys.argv[1:]:
        found = record(sys.argv[1], sys.argv[2:])
        every = kept(recorded(), found)
        if found not in every:
            print(f"kept the record of a quiet machine; at this run the load was {found['load']}", file=sys.stderr)
        write(RECORDS, "".join(f"{json.dumps(record)}\n" for record in every))
    else:
        print(page(recorded()), end="")
