"""Damaged tables, lists and MNIST's files: the numbers that stand there, or refused."""

from __future__ import annotations

import gzip
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import hybrid as mx
from hybrid.core.error import MXNetError
from hybrid.gluon.data.vision.datasets import read_idx
from hybrid.image.iterator import read_list

from . import REFUSED, RIGHT
from .damage import damaged

SURFACE = "text"
FOLDER = Path(__file__).parents[2] / "fixtures" / "data"
WORDS = (
    *(
        b"",
        b"nan",
        b"inf",
        b"-1",
        b"1e400",
        b"9" * 400,
        b"1_0",
        b"0x10",
        b"\xff\xfe",
        b"\xc3\xa4",
        b"\0",
        b" ",
        b"1:2:3",
        b":",
    ),
    *(b"2147483648", b"9007199254740993", b"1.5", b"\xef\xbb\xbf1", b"\r", b"\xe2\x80\xa8"),
)
Case = tuple[str, bytes]
"""A kind of file, and its bytes."""


def seeds() -> list[Case]:
    found: list[Case] = [(kind, (FOLDER / name).read_bytes()) for kind, name in FILES.items()]
    return [*found, ("ubyte.gz", gzip.compress(found[-1][1], mtime=0))]


FILES = {
    "csv": "data.csv",
    "csv-int": "label.csv",
    "svm": "data.svm",
    "lst": "images.lst",
    "labels": "train-labels-idx1-ubyte",
    "ubyte": "train-images-idx3-ubyte",
}
SEPARATORS = {"csv": b",", "csv-int": b",", "svm": b" ", "lst": b"\t"}


def mutate(rng: random.Random, seed: Case) -> Case:
    """Words and lines changed, or any bytes."""
    kind, data = seed
    if kind not in SEPARATORS or rng.random() < 0.4:
        return kind, damaged(rng, data)
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    words = lines[at].split(SEPARATORS[kind])
    place = rng.randrange(len(words))
    words[place : place + rng.choice((0, 1, 1))] = [rng.choice(WORDS) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    lines[at] = SEPARATORS[kind].join(words)
    return kind, b"\n".join(lines)


def judge(case: Case) -> str:
    kind, data = case
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder, f"a.{kind}")
        path.write_bytes(data)
        try:
            _read(kind, path, data)
        except MXNetError as error:
            assert str(path) in str(error) or "examples" in str(error), f"does not name the file: {error}"
            return REFUSED
    return RIGHT


def _read(kind: str, path: Path, data: bytes) -> None:
    if kind.startswith("csv"):
        whole = kind == "csv-int"
        shape = (1,) if whole else _width(FOLDER / FILES[kind])
        made = mx.io.CSVIter(data_csv=str(path), data_shape=shape, batch_size=1, dtype="int64" if whole else "float32")
        rows = [[word for word in line.split(",")] for line in data.decode().splitlines() if line.strip()]
        for row, batch in zip(rows, made, strict=True):
            got = batch.data[0].asnumpy().ravel()
            with np.errstate(over="ignore"):
                want = (
                    [int(float(w)) if "." in w or "e" in w else int(w) for w in row]
                    if whole
                    else np.float32([float(w) for w in row])
                )
            np.testing.assert_array_equal(got, np.array(want, got.dtype))
    elif kind == "svm":
        made = mx.io.LibSVMIter(data_libsvm=str(path), data_shape=_columns(), batch_size=1)
        for batch in made:
            row = batch.data[0]
            assert row.stype == "csr"
            assert row.asnumpy().shape == (1, *_columns())
    elif kind == "lst":
        for labels, name in read_list(path).values():
            assert labels.dtype == np.float32
            assert name.encode() in data
    else:
        rank = 1 if kind == "labels" else 3
        array = read_idx(str(path), rank)
        plain = gzip.decompress(data) if kind.endswith("gz") else data
        assert array.ndim == rank
        assert array.tobytes() == plain[4 + 4 * rank :]


def _width(path: Path) -> Any:
    return (len(path.read_text(encoding="utf-8").splitlines()[0].split(",")),)


def _columns() -> tuple[int]:
    return (64,)
