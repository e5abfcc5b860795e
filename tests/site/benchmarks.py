"""docs/benchmarks.md, from records of runs of benchmarks/: ``python -m tests.site.benchmarks > docs/benchmarks.md`` writes it.

    python -m tests.site.benchmarks frontend --mxnet PYTHON      # runs benchmarks/frontend.py --json, and keeps what it says

A record in docs/benchmarks.jsonl takes the place of the one of the same benchmark before, with date, machine and load.
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

Only ratios within one row mean something: what is compared takes its turns in processes of its
own. *load* is the number of processes that wanted a processor when the run began.
"""


def record(name: str, options: list[str]) -> dict[str, Any]:
    """Run a benchmark and say where and when."""
    command = [f"benchmarks/{name}.py", *options, "--json"]
    load = os.getloadavg()[0]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    try:
        results = json.loads(done.stdout)
    except json.JSONDecodeError:  # an object a line
        results = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        "benchmark": name,
        "command": f"python {' '.join(command)}",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "versions": {"gluonnx": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        "machine": {"processor": _processor(), "cores": len(os.sched_getaffinity(0)), "kernels": native.level()},
        "load": round(load, 1),
        "results": results,
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def recorded() -> list[dict[str, Any]]:
    """All records, by benchmark."""
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()] if RECORDS.exists() else []


def page(records: Iterable[dict[str, Any]]) -> str:
    """The page's text."""
    return "\n".join([HEAD, *(line for record in records for line in _section(record))])


def _section(record: dict[str, Any]) -> Iterator[str]:
    name, machine = record["benchmark"], record["machine"]
    said = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8").split('"""')[1].split("\n\n")[0]
    yield from (f"## {name}", "", *textwrap.wrap(" ".join(said.split()), WIDTH), "")
    yield from (f"`{record['command']}`", "")
    versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    level = machine["kernels"] or "none, NumPy does everything"
    where = (
        f"{record['date']}, {machine['processor']}, {machine['cores']} cores, kernels: {level}, load {record['load']}"
    )
    where += f"; {versions}."
    yield from (*textwrap.wrap(where, WIDTH), "")
    if record["load"] > machine["cores"]:
        yield from ("**A busy machine: times and their ratios say little here, sizes hold.**", "")
    rows = _rows(record["results"])
    columns = list(dict.fromkeys(column for row in rows for column in row))
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---' if isinstance(rows[0].get(c), str) else '---:' for c in columns)}|"
    for row in rows:
        yield f"| {' | '.join(_cell(row.get(column, '')) for column in columns)} |"
    yield ""


def _rows(results: Any) -> list[dict[str, Any]]:
    """Results as rows: objects by name get the name as their first cell, objects inside are columns of their own."""
    if isinstance(results, dict):
        by_name = all(isinstance(row, dict) for row in results.values())
        results = [{"": name, **row} for name, row in results.items()] if by_name else [results]
    return [dict(_flat(row)) for row in results]


def _flat(row: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name} ")
        elif not isinstance(value, list):
            yield f"{before}{name}", value


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    if sys.argv[1:]:
        found = record(sys.argv[1], sys.argv[2:])
        every = {r["benchmark"]: r for r in (*recorded(), found)}
        write(RECORDS, "".join(f"{json.dumps(every[name])}\n" for name in sorted(every)))
    else:
        print(page(recorded()), end="")
