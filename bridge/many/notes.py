"""Notes of what went well, by which the same command goes on after a break."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from converters.reader import data_files
from hybrid.formats.files import write

from ..archives import BESIDE
from ..faces.data import dumps, versions
from ..paths import BadInput, file_of, newest_params
from ..recorded import own_version
from ..result import identify

NOTES = ".gluonnx"
"""Folder in the one that is worked in, for what is noted of each model."""


class Notes:
    """A folder of notes, each of a name. What has another key than it had is as good as not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _place(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def find(self, name: str, key: str) -> dict[str, Any] | None:
        """The note of that name; None for nothing, for another key, and for what is no note of ours."""
        try:
            told = json.loads(self._place(name).read_bytes())
            return told if told["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, name: str, key: str, told: Mapping[str, Any]) -> None:
        """Note something, whole or not at all."""
        place = self._place(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        write(place, dumps({"key": key, **told}))


def key_of(told: object, reads: Iterable[Path]) -> str:
    """Hash of everything that decides what comes of a model: versions, what is told, and each file's name and content."""
    files = [(p.name, f.sha256) for p in reads for f in identify([p])]
    return hashlib.sha256(json.dumps([versions(own_version()), told, files], default=str).encode()).hexdigest()


def read_with(path: Path, params: Path | None = None) -> list[Path]:
    """The files that opening a model reads: its own, parameters, those of external data, and sizes that stand beside it; of a model
    that is not there its path."""
    try:
        file = file_of(path)
    except BadInput:
        return [path]
    found = [file]
    if file.suffix == ".onnx":
        with suppress(DecodeError, OSError):  # whoever opens it says so
            found += data_files(onnx.load(os.fspath(file), load_external_data=False), file.parent)
    if file.suffix == ".json":
        params = newest_params(file) if params is None else params
        found += [file.parent / name for name in BESIDE]
    return found if params is None else [*found, params]
