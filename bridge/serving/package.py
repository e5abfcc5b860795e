"""The model that is to be deployed, and the files that a target makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hybrid.core.op import Spec
from hybrid.formats.files import read

from ..paths import BadInput

LABELS = "labels.txt"
TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Package:
    """An ONNX model that is ready, with what its target has to know."""

    name: str
    files: Mapping[str, Path]
    """The model (``model.onnx``) and the files with its weights, by the names that they have beside each other."""
    inputs: Mapping[str, Spec]
    outputs: Mapping[str, Spec]
    labels: tuple[str, ...] = ()
    max_batch: int = 8
    """The largest batch that a server may make of requests."""


@dataclass(frozen=True)
class Layout:
    """The files of a target. Contents are bytes, or a file that is moved; names are paths below the place, with slashes."""

    files: Mapping[str, bytes | Path]
    start: str
    """The command, or the call, that uses them."""
    kept: Sequence[str] = ()
    """Files that stay as they are where they are there already."""
    notes: Sequence[str] = ()


Target = Callable[[Package, Path], Layout]
"""Makes the files of a target from a package and the place where they will be. Raises BadInput for a place that does not fit."""


@dataclass(frozen=True)
class Kind:
    """A target by its name."""

    make: Target
    about: str
    archive: tuple[str, ...] = field(default=())
    """Ends of names of files that all goes into; a place of another name is a folder."""


def template(name: str) -> bytes:
    """A file that goes out as it is."""
    return read(TEMPLATES / f"{name}.txt")


def labels_file(labels: Sequence[str]) -> bytes:
    """Names of classes, one a line."""
    return "".join(f"{text}\n" for text in labels).encode()


def safe_name(text: str) -> str:
    """A name for folders, servers and addresses: letters, digits, ``_``, ``-`` and dots inside."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("._-") or "model"


def check_name(text: str) -> str:
    """The name, where servers take it as it is. Raises BadInput."""
    if len(text) > 200 or safe_name(text) != text:
        raise BadInput(
            f"name {text!r}: wanted letters, digits, '_', '-' and dots inside, such as {safe_name(text[:200])}"
        )
    return text
