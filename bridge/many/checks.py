"""``gluonnx check`` with a process for each model at a time."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..project.check import completed
from ..project.config import Entry, load_project
from ..project.results import CheckResult, FileResult
from .children import Task
from .notes import NOTES, Notes, key_of, read_with
from .work import Doing, Tell

FOLDER = "check"
"""Folder in that of notes, for those of checks."""


def check_all(
    where: Path, only: Sequence[Path], fail_on: tuple[str, ...] | None, time_limit: float, do: Doing, tell: Tell
) -> CheckResult:
    """Check the models of a project, as bridge.project.check does, but that no file has its ``result``. do: gets it done.
    tell: hears of each model. Models that are well are noted in the project's folder until all are, and not checked again by
    then. Raises BadInput for what is wrong with the project itself."""
    start = time.perf_counter()
    project = load_project(where, only)
    here = os.getcwd()
    notes = Notes(project.folder / NOTES / FOLDER) if os.access(project.folder, os.W_OK) else None
    names = [hashlib.sha256(entry.name.encode()).hexdigest()[:32] for entry in project.entries]
    keys = [_key(entry, time_limit) for entry in project.entries]
    found: dict[int, list[FileResult]] = {}
    for number, (name, key) in enumerate(zip(names, keys)):
        if notes is not None and (told := notes.find(name, key)) is not None:
            found[number] = [replace(_file(f), again=True) for f in told["files"]]
    left = [n for n in range(len(names)) if n not in found]
    tasks = [_task(project.entries[n], where, time_limit, here) for n in left]
    tell(len(found), len(names), "")
    for place, told in do(tasks):
        number = left[place]
        entry = project.entries[number]
        files = found[number] = _files(entry, told)
        if notes is not None and all(f.status == "ok" for f in files):
            notes.write(names[number], keys[number], {"model": entry.name, "files": [f.as_dict() for f in files]})
        tell(len(found), len(names), entry.name)
    reasons = project.fail_on if fail_on is None else fail_on
    result = completed(project, [file for n in range(len(names)) for file in found[n]], reasons, (), 0.0)
    if notes is not None and all(f.status in ("ok", "unlisted") for f in result.files):
        shutil.rmtree(notes.folder, ignore_errors=True)
        with suppress(OSError):  # notes of other commands are in it
            notes.folder.parent.rmdir()
    return replace(result, seconds=time.perf_counter() - start)


def _task(entry: Entry, where: Path, time_limit: float, here: str) -> Task:
    return Task("check", ("--time-limit", str(time_limit), str(where), str(entry.path(entry.files[0]))), here)


def _key(entry: Entry, time_limit: float) -> str:
    """Hash of everything that decides what a model's check says."""
    params = None if entry.params is None else entry.path(entry.params)
    given = entry.given_inputs()
    arrays = [p for p in (given if isinstance(given, list) else [given]) if isinstance(p, Path)]
    baseline = [] if entry.baseline is None else [entry.path(entry.baseline)]
    opened = [p for file in entry.files for p in read_with(entry.path(file), params)]
    return key_of([repr(replace(entry, folder=Path())), time_limit], [*opened, *baseline, *arrays])


def _files(entry: Entry, told: Mapping[str, Any]) -> list[FileResult]:
    """The files of one model, from what a process said."""
    result = told["result"]
    if result is None or "files" not in result:
        detail = told["killed"] or "; ".join(str((result or {}).get("error", "")).splitlines())
        return [FileResult(entry.name, entry.files[0], "failed", detail, seconds=told["seconds"])]
    return [_file(f) for f in result["files"] if f["model"] == entry.name]  # a file may belong to two


def _file(told: Mapping[str, Any]) -> FileResult:
    return FileResult(
        *(told["model"], told["file"], told["status"], told["detail"]),
        largest=None if told["largest"] is None else float(told["largest"]),
        before=None if told["before"] is None else float(told["before"]),
        seconds=told["seconds"],
        reasons={reason: tuple(words) for reason, words in told.get("reasons", {}).items()},
        notes=tuple(told.get("notes", ())),
    )
