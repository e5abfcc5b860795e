"""Models below a gluonnx.toml that it does not name: nobody would hear of one that is not held to anything."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from ..many.notes import NOTES
from ..paths import listed
from .config import NAME, Project, is_ignored
from .results import FileResult

SKIPPED = ("__pycache__", "__MACOSX", "node_modules", "site-packages", NOTES)
"""Folders of tools, which hold no models of a project; hidden ones, environments of Python, and folders with a gluonnx.toml of
their own are skipped too."""
ENDS = ("-symbol.json", ".onnx")
REASON = "unlisted"
SHOWN = 12
"""Models that a note names; all of them are in the result."""


def unlisted(project: Project) -> tuple[str, ...]:
    """Symbols and ONNX files below the project's folder that are none of its models' and that it does not ignore, as one would
    write them there. None of a folder without a gluonnx.toml, where names say what is a model, nor where some were asked for."""
    if project.by_name or project.some:
        return ()
    here = Path(os.path.abspath(project.folder))
    owned = [(entry, places) for entry in project.entries if (places := entry.places())]
    found = [
        written
        for path in _models(here, project.ignore)
        if not any(entry.owns(path, places) for entry, places in owned)
        and not is_ignored(written := path.relative_to(here).as_posix(), project.ignore)
    ]
    return tuple(sorted(found))


def _models(folder: Path, ignore: Sequence[str]) -> Iterator[Path]:
    """Symbols and ONNX files in a folder and below; links to folders are not followed."""
    for place, folders, files in os.walk(folder):
        where = Path(place)
        inside = [d for d in folders if not d.startswith(".") and d not in SKIPPED]
        inside = [d for d in inside if not is_ignored((where / d).relative_to(folder).as_posix(), ignore)]
        folders[:] = [d for d in inside if not any((where / d / own).exists() for own in ("pyvenv.cfg", NAME))]
        yield from (where / name for name in files if name.endswith(ENDS) and not name.startswith("."))


def told(found: Sequence[str], reasons: Sequence[str]) -> tuple[tuple[FileResult, ...], tuple[str, ...]]:
    """Results of files that are listed nowhere, where that is a reason to fail; else what is to be said of them."""
    said = f'list them in {NAME}, or leave them out: ignore = ["PATH or pattern"] under [check]'
    if REASON in reasons:
        detail = f"in no files of {NAME}, and held to nothing; {said.replace('them', 'it')}"
        return tuple(FileResult(_name(file), file, REASON, detail) for file in found), ()
    if not found:
        return (), ()
    ends: dict[str, list[str]] = {}
    for file in found:
        end = next(e for e in ENDS if file.endswith(e))
        ends.setdefault(file.removesuffix(end), []).append(end)
    models = [stem + (own[0] if len(own) == 1 else f" ({', '.join(own)})") for stem, own in ends.items()]
    return (), (f"not in {NAME}, and not checked: {listed(models, SHOWN)}; {said}",)


def _name(file: str) -> str:
    """The name of the model that a file is of, as one would call it."""
    name = PurePosixPath(file).name
    return next(name.removesuffix(end) for end in ENDS if name.endswith(end)) or name
