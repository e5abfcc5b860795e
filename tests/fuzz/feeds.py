"""Damaged .npz and .npy files of inputs: the arrays that NumPy reads from them, or refused."""

from __future__ import annotations

import io
import random
import tempfile
import warnings
from pathlib import Path

import numpy as np

from bridge.inputs import load_feeds
from bridge.models import BadInput
from hybrid.core.error import MXNetError

from . import REFUSED, RIGHT
from .damage import damaged, number

SURFACE = "feeds"
MEMORY = 1 << 30
MARKS = (
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"'shape': (",
    b"'descr': '",
    b"NUMPY",
)
"""Bytes that numbers stand behind."""


def seeds() -> list[bytes]:
    arrays = {
        "data": np.arange(12, dtype=np.float32).reshape(3, 4),
        "turned": np.arange(6).reshape(2, 3).T,
        "none": np.zeros((0, 3), np.float16),
        "one": np.array(True),
    }
    found = []
    for save in (np.savez, np.savez_compressed):
        out = io.BytesIO()
        save(out, **arrays)
        found.append(out.getvalue())
    for array in arrays.values():
        out = io.BytesIO()
        np.save(out, array)
        found.append(out.getvalue())
    return found


def mutate(rng: random.Random, seed: bytes) -> bytes:
    """Numbers of headers changed, digits of shapes and types, or any bytes."""
    mark = rng.choice(MARKS)
    places = [at for at in range(len(seed)) if seed.startswith(mark, at)]
    if not places or rng.random() < 0.3:
        return damaged(rng, seed)
    at = rng.choice(places) + len(mark)
    if mark.startswith(b"'"):
        text = rng.choice((b"9" * rng.randrange(1, 30), b"-1", b"<f8", b"|O", b"|V2", b">i4", b"0,", b",", b"1, 2"))
        return seed[:at] + text + seed[at + (len(text) if rng.random() < 0.8 else 0) :]
    size = rng.choice((1, 2, 4, 8))
    at += rng.randrange(44)
    return seed[:at] + number(rng, size) + seed[at + size :]


def judge(case: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of headers by Python 2
        path = Path(folder, "a.npz")
        path.write_bytes(case)
        try:
            got = load_feeds(path, ["data"])
        except (BadInput, MXNetError) as error:
            assert str(path) in str(error), f"does not name the file: {error}"
            return REFUSED
        loaded = np.load(path, allow_pickle=False)
        want = dict(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else {"data": loaded}
        assert list(got) == list(want)
        for name, array in want.items():
            assert got[name].dtype == array.dtype
            assert got[name].shape == array.shape
            assert got[name].tobytes() == array.tobytes()
    return RIGHT
