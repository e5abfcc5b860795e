"""Names of classes, kept in the metadata of an ONNX file.

ONNX has no place of its own for them. They stand under ``names``, as Ultralytics writes them and what reads such files expects: a
Python dict by class, ``{0: 'tench', 1: 'goldfish'}``."""

from __future__ import annotations

import ast
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from hybrid.core.error import FormatError, MissingFile
from hybrid.formats.files import lines

from ..paths import BadInput, listed
from . import detections

KEY = "names"
LONGEST = 1 << 22
"""Characters of the metadata up to which they are read: names of some 100,000 classes."""
MOST_SHARES = 20
"""Classes whose share of a picture is shown."""
SHOWN = 5
"""Classes that are shown of a row of scores."""
SUFFIXES = ("", ".txt", ".json", ".csv", ".tsv", ".names", ".labels", ".classes", ".list", ".lst")
"""Ends of names of files that are taken for names of classes: of a program any line would be a class."""
UNLABELLED = "255"
"""The number of pixels of no class in SageMaker's label pictures."""
CODE = re.compile(r"#!|def \w+\(|from [\w.]+ import |import \w+( as \w+)?$|#include\b")
"""Beginnings of lines that a program has, and no name of a class."""


def read_labels(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Names of classes from a text file, one a line, the first that of class 0; of .json a list of them, a name by the number of
    its class, or the label map of SageMaker's segmentation, in which pixels of no class (255) have a name too. Raises BadInput,
    also for what is no such file by its name or by what it holds."""
    place, path = os.fspath(path), Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise BadInput(
            f"labels {place}: a {path.suffix} file, wanted names of classes, one a line, in a file that ends in "
            f"{', '.join(filter(None, SUFFIXES))} or in nothing"
        )
    try:
        found = [text.strip() for _, text in lines(path)]
    except (FormatError, MissingFile) as error:
        raise BadInput(f"labels: {error}") from None
    if path.suffix.lower() == ".json":
        found = _of_json("\n".join(found), place)
    while found and not found[-1]:
        found.pop()
    program = next((i for i, text in enumerate(found, 1) if CODE.match(text)), None)
    if program is not None:
        raise BadInput(
            f"labels {place}: line {program} ({found[program - 1][:60]!r}) is of a program, wanted names of classes, one a line"
        )
    empty = [str(i) for i, text in enumerate(found, 1) if not text]
    if empty or not found:
        raise BadInput(
            f"labels {place}: {'line ' + ', '.join(empty[:5]) + ' is empty' if empty else 'holds none'}; wanted the name "
            "of a class a line, in the order of the network's outputs"
        )
    return tuple(found)


def _of_json(text: str, place: str) -> list[str]:
    """Names that JSON holds. Raises BadInput where it holds something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    wanted = 'JSON such as ["cat", "dog"] or {"0": "cat", "1": "dog"}'
    if isinstance(found, Mapping) and isinstance(found.get("map"), Mapping) and found.keys() <= {"map", "scale"}:
        found = {
            n: name for n, name in found["map"].items() if str(n) != UNLABELLED or len(found["map"]) > int(UNLABELLED)
        }
        if found and not any(isinstance(name, str) for name in found.values()):
            raise BadInput(
                f"labels {place}: its map says which class the numbers in label pictures stand for, and no names; wanted {wanted}"
            )
    names = _in_order(found)
    if not names:
        raise BadInput(f"labels {place}: wanted {wanted}")
    return [name.strip() for name in names]


def doubles(labels: Sequence[str]) -> list[str]:
    """A remark on names that several classes have: right where a data set has such, more often a slip."""
    counts = {name: count for name, count in Counter(labels).items() if count > 1}
    if not counts:
        return []
    shown = listed((f"{name!r} {count} times" for name, count in counts.items()), 3)
    return [f"labels: some classes have one name ({shown}); answers by name do not tell them apart"]


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
    return _in_order(found)


def _in_order(found: Any) -> tuple[str, ...]:
    """Names in the order of their classes, of a list or a name by number; none where it is neither."""
    if isinstance(found, Mapping) and sorted(map(str, found)) == sorted(map(str, range(len(found)))):
        found = [found.get(i, found.get(str(i))) for i in range(len(found))]
    if isinstance(found, list | tuple) and all(isinstance(n, str) for n in found):
        return tuple(found)
    return ()


def ranked(results: Mapping[str, Any], labels: Sequence[str], rows_of: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Words for outputs that are of classes, by the output and its row: the best of scores as long as there are names, and names of
    whole numbers; of rows of detections (rows_of: which outputs hold such) the likeliest, with names where there are some; of a
    class for each pixel the share that each has. Nothing of outputs that are something else."""
    out = []
    for name, value in results.items():
        if name in rows_of:
            out += detections.told(name, value, labels)
            continue
        array = np.asarray(value)
        classes = class_of_pixels(array, len(labels))
        if classes is not None:
            told = [_shares(each, labels) for each in classes]
            out += [(f"{name}[{i}]" if len(told) > 1 else name, text) for i, text in enumerate(told)]
            continue
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


def class_of_pixels(array: np.ndarray, count: int) -> np.ndarray | None:
    """The class of each pixel (N, H, W), of scores (N, classes, H, W) or (N, H, W, classes), or of classes already; None where the
    array is neither. count: how many names there are; without names only probabilities are taken for scores."""
    if not array.size or array.ndim not in (3, 4):
        return None
    if array.dtype.kind in "iu":
        whole = array[:, 0] if array.ndim == 4 and array.shape[1] == 1 else array
        fits = whole.ndim == 3 and count and int(whole.min()) >= 0 and int(whole.max()) < count
        return whole if fits else None
    if array.dtype.kind != "f" or array.ndim != 4:
        return None
    if count:
        axis = next((a for a in (1, 3) if count > 1 and array.shape[a] == count), None)
    else:
        sums = array.sum(axis=1, dtype=np.float64)
        axis = 1 if array.shape[1] > 1 and sums.size > 1 and array.min() >= 0 and np.all(abs(sums - 1) < 1e-2) else None
    return None if axis is None else array.argmax(axis=axis)


def _shares(classes: np.ndarray, labels: Sequence[str]) -> str:
    """Shares of a picture that classes have, the largest first."""
    counts = np.bincount(classes.reshape(-1).astype(np.int64))
    order = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
    shown = [
        f"{labels[i] if labels else f'class {i}'} {100 * counts[i] / classes.size:.3g} %" for i in order[:MOST_SHARES]
    ]
    return (
        "a class for each pixel: "
        + ", ".join(shown)
        + (f" and {len(order) - len(shown)} more" if len(order) > len(shown) else "")
    )


def _best(row: np.ndarray, labels: Sequence[str]) -> str:
    order = np.argsort(-row, kind="stable")[:SHOWN]
    return ", ".join(f"{labels[int(i)]} {row[i]:.4g}" for i in order)
