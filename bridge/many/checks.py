"""``gluonnx check`` with a process for each model at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..project.check import CheckResult, FileResult
from ..project.config import Entry, load_project
from .children import Task
from .work import Doing, Tell


def check_all(
    where: Path, only: Sequence[Path], fail_on: tuple[str, ...] | None, time_limit: float, do: Doing, tell: Tell
) -> CheckResult:
    """Check the models of a project, as bridge.project.check does, but that no file has its ``result``. do: gets it done.
    tell: hears of each model. Raises BadInput for what is wrong with the project itself."""
    start = time.perf_counter()
    project = load_project(where)
    if only:
        project = project.only(only)
    here = os.getcwd()
    tasks = [
        Task("check", ("--time-limit", str(time_limit), str(where), str(entry.path(entry.files[0]))), here)
        for entry in project.entries
    ]
    found: dict[int, list[FileResult]] = {}
    tell(0, len(tasks), "")
    for number, told in do(tasks):
        found[number] = _files(project.entries[number], told)
        tell(len(found), len(tasks), project.entries[number].name)
    files = tuple(file for n in range(len(tasks)) for file in found[n])
    reasons = project.fail_on if fail_on is None else fail_on
    return CheckResult(files, reasons, (), project.alone, time.perf_counter() - start)


def _files(entry: Entry, told: Mapping[str, Any]) -> list[FileResult]:
    """The files of one model, from what a process said."""
    result = told["result"]
    if result is None or "files" not in result:
        detail = told["killed"] or "; ".join(str((result or {}).get("error", "")).splitlines())
        return [FileResult(entry.name, entry.files[0], "failed", detail, seconds=told["seconds"])]
    return [
        FileResult(
            *(f["model"], f["file"], f["status"], f["detail"]),
            largest=None if f["largest"] is None else float(f["largest"]),
            before=None if f["before"] is None else float(f["before"]),
            seconds=f["seconds"],
        )
        for f in result["files"]
        if f["model"] == entry.name  # a file may belong to two
    ]
