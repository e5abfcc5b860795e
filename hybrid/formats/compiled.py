"""Write and map `.gluonnx` files: a description and blocks of memory, as a program that was compiled once is to be found again.

A file is: 16 bytes that say what it is, 32 of the checksum of all that follows, u64 size of the file, u64 where the description
begins, blocks, each at a multiple of 64, and the description as JSON to the end. All little-endian. The description names a
block by where it begins, counted from the start of the file, and how many bytes it has.

Nothing is taken on the file's word: the whole of it is summed before any of it is used, and every block lies inside the file. A
file that was cut off, changed or written by another version is a FormatError. The checksum tells accidents; who can forge it can
write to the model as well.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterable
from mmap import ACCESS_READ
from mmap import mmap as map_file
from typing import Any

import numpy as np

from .. import native
from ..core.error import FormatError
from .files import open_file, replacing

MAGIC = b"gluonnx program\x01"
"""Its last byte is the version of what is described here."""
SIZES = struct.Struct("<QQ")
START = len(MAGIC) + 32 + SIZES.size
ALIGNMENT = 64
PIECE = 1 << 20
"""Bytes that are summed at a time."""

Block = tuple[int, int]
"""The place where it begins, and how many bytes it has."""


def checksum(path: Any, start: int = 0) -> str:
    """The checksum of a file, from a byte on: of those of its pieces. It is read rather than mapped, so that what a run does
    not need takes no memory."""
    sums = []
    with open_file(path) as file:
        file.seek(start)
        buffer = memoryview(bytearray(PIECE))
        while size := file.readinto(buffer):  # type: ignore[attr-defined]  # a binary file has it
            sums.append(native.checksum(buffer[:size]))
    return native.checksum(b"".join(sums)).hex()


class Writer:
    """A file in the making: blocks, and then the description, which says where they are."""

    def __init__(self) -> None:
        self._at = _aligned(START)
        self._pieces: list[tuple[int, np.ndarray]] = []

    def add(self, array: np.ndarray, more: int = 0) -> Block:
        """A block with an array's memory, and so many zeros behind it. The array is kept until the file is written."""
        block = self._at, array.nbytes + more
        self._pieces.append((self._at, array))
        self._at = _aligned(self._at + block[1])
        return block

    def write(self, path: str | os.PathLike[str], description: Any) -> int:
        """Write the file, which appears when it is whole; gives its size."""
        text = json.dumps(description, separators=(",", ":")).encode()
        size = self._at + len(text)
        with replacing(path) as file:
            file.seek(len(MAGIC) + 32)
            file.write(SIZES.pack(size, self._at))
            for at, array in self._pieces:
                file.seek(at)
                file.write(array.reshape(-1).view(np.uint8).data)
            file.seek(self._at)
            file.write(text)
            file.flush()
            found = checksum(file.name, len(MAGIC) + 32)
            file.seek(0)
            file.write(MAGIC + bytes.fromhex(found))
        return size


class Mapped:
    """A file that was checked, mapped into memory. Raises FormatError where it is none, or not whole."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        with open_file(path) as file:
            head = file.read(START)
            size = os.fstat(file.fileno()).st_size
            if len(head) < START or head[: len(MAGIC) - 1] != MAGIC[:-1]:
                raise self._wrong("it is no program that gluonnx compile wrote")
            if head[: len(MAGIC)] != MAGIC:
                raise self._wrong(f"it has version {head[len(MAGIC) - 1]}, and version {MAGIC[-1]} is read")
            whole, described = SIZES.unpack(head[-SIZES.size :])
            if whole != size or not START <= described <= size:
                raise self._wrong(f"it has {size:,} bytes, wanted {whole:,}; it was cut off or changed")
            if checksum(path, len(MAGIC) + 32) != head[len(MAGIC) : len(MAGIC) + 32].hex():
                raise self._wrong("its checksum is another; it was changed")
            self._memory = np.frombuffer(map_file(file.fileno(), size, access=ACCESS_READ), np.uint8)
        try:
            self.description: Any = json.loads(bytes(self._memory[described:]))
        except ValueError as error:
            raise self._wrong(f"its description cannot be read: {error}") from None

    def _wrong(self, why: str) -> FormatError:
        return FormatError(f"{self.path}: {why}")

    def memory(self, block: Any) -> np.ndarray:
        """The bytes of a block."""
        start, size = block
        if type(start) is not int or type(size) is not int or min(start, size) < 0 or start + size > len(self._memory):
            raise self._wrong("it names memory that it does not have")
        if start % ALIGNMENT:
            raise self._wrong("it names memory that is not aligned")
        return self._memory[start : start + size]

    def array(self, block: Any, dtype: np.dtype, shape: Iterable[int]) -> np.ndarray:
        """A block as an array."""
        sizes, memory = tuple(shape), self.memory(block)
        if min(sizes, default=0) < 0 or math.prod(sizes) * dtype.itemsize != len(memory):
            raise self._wrong("it names an array that does not fit its memory")
        return memory.view(dtype).reshape(sizes)


def _aligned(at: int) -> int:
    return -(-at // ALIGNMENT) * ALIGNMENT
