"""The model that is to be deployed, and the files that a target makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hybrid.core.op import Spec
from hybrid.formats.files import read

from ..paths import BadInput, listed

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
    chosen: Container[str] = ()
    """Outputs that are the best of something, or their places, and no score of each class."""
    max_batch: int | None = None
    """The largest batch that a server may make of requests; None where nobody said one."""
    from_symbol: bool = False
    """True where it was converted for this, so that options of the conversion can be given."""
    prepared: str | None = None
    """The input whose pixels the file prepares."""
    beside: Container[str] = ()
    """Inputs whose sizes were taken from files beside the symbol, as the network was trained."""

    @property
    def takes_pictures(self) -> bool:
        """True where an input takes the pixels of pictures as they are decoded."""
        return any(
            len(s.shape or ()) == 4 and (s.dtype == np.uint8 or n == self.prepared) for n, s in self.inputs.items()
        )

    @property
    def how_to_open(self) -> str:
        """Words for what leaves the batch open."""
        if self.from_symbol:
            return "add --dynamic batch to leave the batch open"
        return "convert with --dynamic batch to leave the batch open, or deploy the symbol with it"

    def fixed_batch(self) -> str:
        """Words for the one batch that requests have to have; empty where any will do, or inputs have batches of their own."""
        firsts = {s.shape[0] if s.shape else None for s in self.inputs.values()}
        first, *others = firsts or {None}
        if others or not isinstance(first, int):
            return ""
        trained = first > 1 and all(n in self.beside for n in self.inputs)
        shapes = listed(f"{n} is {' x '.join(map(str, s.shape or ()))}" for n, s in self.inputs.items())
        return f"every request holds exactly {first}{', the batch of the training' if trained else ''} ({shapes})"


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
