"""Damaged .params files: read as a second, plain reader of the format reads them, or refused."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hybrid as mx
from hybrid.core.attrs import DTYPE_FLAGS
from hybrid.core.attrs import dtype as read_dtype
from hybrid.core.error import MXNetError
from hybrid.formats import params

from . import REFUSED, RIGHT
from .damage import damaged, number

SURFACE = "params"
FOLDER = Path(__file__).parents[2] / "fixtures" / "params"
LARGEST = 1 << 15  # bytes of a seed
_NAMES = {flag: name for name, flag in DTYPE_FLAGS.items()}


def seeds() -> list[bytes]:
    files = sorted(p for p in FOLDER.rglob("*") if p.is_file() and p.suffix in (".params", ".nd", ".npz"))
    return [p.read_bytes() for p in files if p.stat().st_size <= LARGEST]


def mutate(rng: random.Random, seed: bytes) -> bytes:
    """Numbers of headers changed, records left out, doubled or exchanged, or any bytes damaged."""
    try:
        fields, records = _walk(seed)
    except ValueError:
        return damaged(rng, seed)
    kind = rng.randrange(4)
    if kind == 0 or not records:
        return damaged(rng, seed)
    if kind == 1:
        start, stop = rng.choice(records)
        other = seed[slice(*rng.choice(records))]
        return seed[:start] + rng.choice((b"", other, seed[start:stop] * 2)) + seed[stop:]
    out = bytearray(seed)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, size = rng.choice(fields)
        out[at : at + size] = number(rng, size)
    return bytes(out)


def judge(case: bytes) -> str:
    try:
        loaded = params.load(case)
        arrays = mx.nd.load_frombuffer(case)
    except MXNetError:
        return REFUSED
    values = list(loaded.values()) if isinstance(loaded, dict) else loaded
    if not case.startswith(b"PK"):
        for got, want in zip(values, _read(case), strict=True):
            _same(got, want)
    shown = list(arrays.values()) if isinstance(arrays, dict) else arrays
    for got, want in zip(shown, values, strict=True):
        assert (got is None) == (want is None)
        assert got is None or tuple(got.shape) == tuple(want.shape), (got.shape, want.shape)
    return RIGHT


def _same(got: Any, want: Any) -> None:
    if want is None:
        assert got is None
        return
    if isinstance(want, list):  # strings
        assert [text for text in got.flat] == want
        return
    shape, parts = want
    assert tuple(got.shape) == shape, (got.shape, shape)
    held = (
        [got]
        if isinstance(got, np.ndarray)
        else [got.data, *((got.indptr,) if hasattr(got, "indptr") else ()), got.indices]
    )
    assert [bytes(np.ascontiguousarray(array).view(np.uint8)) if array.size else b"" for array in held] == parts


# -- the second reader --------------------------------------------------------------------------------------------------


def _read(data: bytes) -> list[Any]:
    """Contents of each record of a file that is known to be sound: (shape, the bytes of each part), strings, or None."""
    return [_record(data, start)[1] for start, _ in _walk(data)[1]]


def _walk(data: bytes) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Places of the numbers in headers (offset, size), and of records (start, stop). Raises ValueError for no such file."""
    if data[:8] != struct.pack("<Q", params.LIST_MAGIC):
        raise ValueError("no list")
    (count,) = struct.unpack_from("<Q", data, 16)
    fields, records, at = [(0, 8), (8, 8), (16, 8)], [], 24
    for _ in range(count):
        start, (at, _content, found) = at, _record(data, at)
        fields += found
        records.append((start, at))
    return [*fields, *_names(data, at)], records


def _names(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    yield at, 8
    (count,) = struct.unpack_from("<Q", data, at)
    at += 8
    for _ in range(count):
        yield at, 8
        at += 8 + struct.unpack_from("<Q", data, at)[0]


def _record(data: bytes, at: int) -> tuple[int, Any, list[tuple[int, int]]]:
    """End of a record, its contents, and the places of its numbers."""
    fields: list[tuple[int, int]] = []

    def take(code: str) -> int:
        nonlocal at
        size = struct.calcsize("<" + code)
        fields.append((at, size))
        at += size
        return struct.unpack_from("<" + code, data, at - size)[0]

    def shape(code: str = "q", signed: bool = False) -> tuple[int, ...] | None:
        rank = take("i" if signed else "I")
        if rank < 0 or (rank == 0 and not signed):
            return None
        sizes = tuple(take(code) for _ in range(rank))
        return None if signed and -1 in sizes else sizes

    magic = struct.unpack_from("<I", data, at)[0]
    storage, stored = 0, None
    if magic in (params.V1, params.V2, params.V3):
        take("I")
        storage = take("i") if magic != params.V1 else 0
        stored = shape() if storage else None
        whole = shape(signed=magic == params.V3)
    else:
        whole = shape("I")
    if whole is None:
        return at, None, fields
    take("i"), take("i")
    kinds = [take("i")]
    shapes = [stored if storage else whole]
    for _ in range(storage):
        kinds.append(take("i"))
        shapes.append(shape() or ())
    parts = []
    for kind, sizes in zip(kinds, shapes):
        total = 1
        for size in sizes or ():
            total *= size
        dtype = read_dtype(_NAMES[kind])
        if dtype.hasobject:
            lengths = [take("Q") for _ in range(total)]
            texts = []
            for length in lengths:
                texts.append(data[at : at + length].decode())
                at += length
            return at, texts, fields
        parts.append(data[at : at + total * dtype.itemsize])
        at += total * dtype.itemsize
    return at, (whole, parts), fields
