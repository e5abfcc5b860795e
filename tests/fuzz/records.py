"""Damaged record files and indices: every record is what a second, plain reader finds, or the file is refused."""

from __future__ import annotations

import random
import struct
import sys
import tempfile
from pathlib import Path

from hybrid import recordio
from hybrid.core.error import MXNetError

from . import REFUSED, RIGHT
from .damage import damaged, number

SURFACE = "recordio"
FOLDERS = [Path(__file__).parents[2] / "fixtures" / name for name in ("recordio", "data")]
Case = tuple[bytes, bytes]
"""A record file and its index."""


def seeds() -> list[Case]:
    files = [path for folder in FOLDERS for path in sorted(folder.glob("*.rec"))]
    return [
        (p.read_bytes(), p.with_suffix(".idx").read_bytes() if p.with_suffix(".idx").exists() else b"") for p in files
    ]


def mutate(rng: random.Random, seed: Case) -> Case:
    """Headers of records changed, records moved, positions of the index changed, or any bytes damaged."""
    data, index = seed
    kind = rng.randrange(5)
    if kind == 0:
        return damaged(rng, data), index
    if kind == 1 and index:
        return data, damaged(rng, index)
    if kind == 2 and index:
        lines = index.split(b"\n")
        at = rng.randrange(len(lines))
        words = (b"", b"-1", b"9" * 30, b"1e3", b"\xff", b"0x10", str(rng.randrange(len(data) + 9)).encode())
        lines[at] = b"\t".join([lines[at].split(b"\t")[0], rng.choice(words), *rng.choice(([], [b"x"]))])
        return data, b"\n".join(lines)
    places = [at for at in range(0, len(data) - 7, 4) if data[at : at + 4] == recordio.MAGIC]
    out = bytearray(data)
    at = rng.choice(places)
    if kind == 3:
        place = at + rng.choice((0, 4, 4, 4))
        out[place : place + 4] = number(rng, 4)
    else:
        out[at:at] = rng.choice((out[at : at + 8], out[at : at + 4], bytes(4), struct.pack("<II", 0xCED7230A, 1 << 29)))
    return bytes(out), index


def judge(case: Case) -> str:
    data, index = case
    want = _records(data)
    with tempfile.TemporaryDirectory() as folder:
        path, idx = Path(folder, "a.rec"), Path(folder, "a.idx")
        path.write_bytes(data)
        idx.write_bytes(index)
        got = []
        reader = recordio.MXRecordIO(path, "r")
        try:
            while (record := reader.read()) is not None:
                got.append(record)
                _unpacked(record)
        except MXNetError:
            assert want is None or len(got) < len(want), "a whole file is refused"
            assert want is None, "a whole file is refused"
        else:
            assert got == want
        finally:
            reader.close()
        if index:
            try:
                indexed = recordio.MXIndexedRecordIO(idx, path, "r")
            except MXNetError:
                return REFUSED
            for key in indexed.keys:
                try:
                    record = indexed.read_idx(key)
                except MXNetError:
                    want = None
                else:
                    (first,) = _records(data[indexed.idx[key] :], 1) or [None]  # a place may be inside another record
                    assert record == first
            indexed.close()
    return RIGHT if want is not None else REFUSED


def _unpacked(record: bytes) -> None:
    try:
        header, rest = recordio.unpack(record)
    except MXNetError:
        assert len(record) < 24 + 4 * (struct.unpack_from("<I", record)[0] if len(record) >= 24 else 0)
        return
    assert record.endswith(rest)
    assert len(record) == 24 + 4 * header.flag + len(rest)


def _records(data: bytes, most: int = sys.maxsize) -> list[bytes] | None:
    """The records of a file, or so many first ones, by the words of dmlc's description; None for a file that breaks it."""
    records, parts, at = [], [], 0
    while at < len(data) and len(records) < most:
        if len(data) - at < 8 or data[at : at + 4] != recordio.MAGIC:
            return None
        (word,) = struct.unpack_from("<I", data, at + 4)
        kind, length = word >> 29, word % (1 << 29)
        if kind > 3 or (kind in (0, 1)) == bool(parts) or at + 8 + (length + 3) // 4 * 4 > len(data):
            return None
        parts.append(data[at + 8 : at + 8 + length])
        at += 8 + (length + 3) // 4 * 4
        if kind in (0, 3):
            records.append(recordio.MAGIC.join(parts))
            parts = []
    return None if parts else records
