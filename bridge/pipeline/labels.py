"""Names of classes, kept in the metadata of an ONNX file.

ONNX has no place of its own for them. They stand under ``names``, as Ultralytics writes them and what reads such files expects: a
Python dict by class, ``{0: 'tench', 1: 'goldfish'}``."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from hybrid.core.error import FormatError, MissingFile
from hybrid.formats.files import lines

from ..paths import BadInput
from . import detections

KEY = "names"
LONGEST = 1 << 22
"""Characters of the metadata up to which they are read: names of some 100,000 classes."""
SHOWN = 5
"""Classes that are shown of a row of scores."""


def read_labels(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Names of classes from a text file, one a line, the first that of class 0. Raises BadInput."""
    try:
        found = [text.strip() for _, text in lines(Path(path))]
    except (FormatError, MissingFile) as error:
        raise BadInput(f"labels: {error}") from None
    while found and not found[-1]:
        found.pop()
    empty = [str(i) for i, text in enumerate(found, 1) if not text]
    if empty or not found:
        raise BadInput(
            f"labels {os.fspath(path)}: {'line ' + ', '.join(empty[:5]) + ' is empty' if empty else 'holds none'}; wanted the name "
            "of a class a line, in the order of the network's outputs"
        )
    return tuple(found)


def as_metadata(labels: Sequence[str]) -> dict[str, str]:
    """Members of a model's metadata that say the names; none where there are no names."""
    return {KEY: repr(dict(enumerate(labels)))} if labels else {}


def labels_of(proto: onnx.ModelProto) -> tuple[str, ...]:
    """Names of classes that a model carries, also where another tool wrote them; none where it carries none that can be read."""
    text = next((p.value for p in proto.metadata_props if p.key == KEY), "")
    if not text or len(text) > LONGEST:
        return ()
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    if isinstance(found, Mapping) and sorted(map(str, found)) == sorted(map(str, range(len(found)))):
        found = [found.get(i, found.get(str(i))) for i in range(len(found))]
    if isinstance(found, list | tuple) and all(isinstance(n, str) for n in found):
        return tuple(found)
    return ()


def ranked(results: Mapping[str, Any], labels: Sequence[str], rows_of: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Words for outputs that are of classes, by the output and its row: the best of scores as long as there are names, and names of
    whole numbers; of rows of detections (rows_of: which outputs hold such) the likeliest, with names where there are some. Nothing
    of outputs that are something else."""
    out = []
    for name, value in results.items():
        if name in rows_of:
            out += detections.told(name, value, labels)
            continue
        array = np.asarray(value)
        if not labels:
            continue
        if not array.size or array.ndim > 2:
            continue
        rows = array.reshape(1, -1) if array.ndim < 2 else array
        if array.dtype.kind == "f" and array.ndim and array.shape[-1] == len(labels):
            told = [_best(row, labels) for row in rows]
        elif array.dtype.kind in "iu" and int(array.min()) >= 0 and int(array.max()) < len(labels):
            rows = array.reshape(-1, 1) if array.ndim < 2 else array
            told = [", ".join(labels[int(i)] for i in row[:SHOWN]) for row in rows]
        else:
            continue
        out += [(f"{name}[{i}]" if len(told) > 1 else name, text) for i, text in enumerate(told)]
    return out


def _best(row: np.ndarray, labels: Sequence[str]) -> str:
    order = np.argsort(-row, kind="stable")[:SHOWN]
    return ", ".join(f"{labels[int(i)]} {row[i]:.4g}" for i in order)
