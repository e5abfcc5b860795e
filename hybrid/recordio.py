"""RecordIO: files of byte strings one after the other, with an index beside them, and images packed into such strings.

A record is a magic number, a word with its length (29 bits) and which part it is (3 bits), the bytes, and zeros up to a
multiple of 4. Where the magic number stands in the bytes themselves, at a multiple of 4, the record is cut there into
parts and the number is left out: a reader that lost its way finds the next record by looking for it. Files are the same as
MXNet's (dmlc-core), byte for byte.
"""

from __future__ import annotations

import io
import numbers
import os
import struct
import threading
import weakref
from collections import namedtuple
from typing import Any

import numpy as np

from .core.error import FormatError, MXNetError
from .formats.files import Replacement, lines, open_file, publish
from .formats.images import decode, encode

MAGIC = struct.pack("<I", 0xCED7230A)
WHOLE, FIRST, MIDDLE, LAST = range(4)
LENGTH_BITS = 29
HEADER = struct.Struct("<4sI")


class MXRecordIO:
    """A record file, read or written from the start to the end.

    uri: its path. flag: "r" or "w". Raises ValueError for another flag, MXNetError where the file cannot be opened.
    Works in one process: after a fork, reading goes on after ``reset`` only, in which the file is opened anew.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with_records = mx.recordio.MXRecordIO("data.rec", "w")
    >>> with_records.write(b"first")
    >>> with_records.write(b"second")
    >>> with_records.close()
    >>> records = mx.recordio.MXRecordIO("data.rec", "r")
    >>> records.read(), records.read(), records.read()
    (b'first', b'second', None)
    >>> records.reset()
    >>> records.read()
    b'first'
    >>> records.close()
    """

    def __init__(self, uri: Any, flag: str):
        self.uri = os.fspath(uri)
        self.flag = flag
        self.pid: int | None = None
        self.is_open = False
        self._made: list[Replacement] = []
        self.open()

    def open(self) -> None:
        """Open the file. One that is written stands in its place once it is closed, whole; until then the old one does.

        Raises ValueError for another flag than "r" and "w", MXNetError for a file that cannot be opened.

        Examples
        --------
        >>> from gluonnx import mx
        >>> records = mx.recordio.MXRecordIO("data.rec", "w")
        >>> records.write(b"first")
        >>> records.close()
        >>> records.flag = "r"
        >>> records.open()
        >>> records.read()
        b'first'
        >>> records.close()
        """
        if self.flag not in ("r", "w"):
            raise ValueError(f"Invalid flag {self.flag}; wanted 'r' or 'w'")
        self.writable = self.flag == "w"
        try:
            self._made = [Replacement(self.uri)] if self.writable else []
            self._file: Any = self._made[0].file if self.writable else open_file(self.uri)
        except OSError as error:
            reason = error.strerror or getattr(error.__cause__, "strerror", None) or error
            raise MXNetError(f"cannot open the record file {self.uri!r}: {reason}") from error
        self._size = 0
        if not self.writable:
            self._size = self._file.seek(0, io.SEEK_END)
            self._file.seek(0)
        self._lock = threading.Lock()
        if self.writable:  # who never calls close finds the file at the end of the program all the same, as with MXNet
            weakref.finalize(self, _publish, self._made)
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Close the file, which puts one that was written in its place; twice is fine."""
        if not self.is_open:
            return
        self.is_open, self.pid = False, None
        if self.writable:
            _publish(self._made)
        else:
            self._file.close()

    def reset(self) -> None:
        """Go back to the first record; a file that is written starts anew."""
        _forget(self._made)
        self.close()
        self.open()

    def __del__(self) -> None:
        if getattr(self, "is_open", False) and not self.writable:
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self.is_open and self.writable:
            raise MXNetError(f"record file {self.uri!r} is being written and cannot be copied; close it first")
        return {k: v for k, v in self.__dict__.items() if k not in ("_file", "_lock", "_made", "fidx")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        was_open = state.get("is_open", False)
        self.__dict__.update(state, is_open=False, _made=[])
        if was_open:
            self.open()

    def _want(self, writing: bool) -> None:
        """Raise AssertionError where the file was opened for the other direction."""
        if self.writable != writing:
            raise AssertionError(f"record file {self.uri!r} was opened for {'writing' if self.writable else 'reading'}")

    def _check_process(self, reopen: bool = False) -> None:
        """Raise MXNetError where the file is closed or was opened by another process, or open it anew."""
        if self.pid == os.getpid():
            return
        if not reopen:
            state = "closed" if self.pid is None else f"opened by process {self.pid}"
            raise MXNetError(
                f"Forbidden operation in multiple processes: record file {self.uri!r} is {state}; call reset()"
            )
        self.reset()

    def write(self, buf: bytes) -> None:
        """Append a record, buf. Raises MXNetError for one of 512 MiB or more.

        Raises TypeError for a text."""
        self._want(writing=True)
        self._check_process()
        if isinstance(buf, str):
            raise TypeError("a record must be bytes, got str; encode it first")
        buf = bytes(buf)
        if len(buf) >= 1 << LENGTH_BITS:
            raise MXNetError(
                f"record file {self.uri!r}: a record of {len(buf)} bytes is too long, the most is 2**29 - 1"
            )
        parts = _parts(buf)
        for number, part in enumerate(parts):
            kind = FIRST if number == 0 else MIDDLE if number < len(parts) - 1 else LAST
            kind = kind if len(parts) > 1 else WHOLE
            self._file.write(HEADER.pack(MAGIC, kind << LENGTH_BITS | len(part)))
            self._file.write(part)
        self._file.write(bytes(-len(parts[-1]) % 4))

    def read(self) -> bytes | None:
        """The next record, None at the end. Raises FormatError where the file is cut off or is no record file."""
        self._want(writing=False)
        self._check_process()
        parts: list[bytes] = []
        while True:
            start = self._file.tell()
            header = self._file.read(HEADER.size)
            if not header and not parts:
                return None
            if len(header) < HEADER.size:
                raise self._broken(start, "is cut off in the header of a record")
            magic, word = HEADER.unpack(header)
            if magic != MAGIC:
                raise self._broken(start, f"holds {magic.hex()} where a record must start with {MAGIC.hex()}")
            kind, length = word >> LENGTH_BITS, word & (1 << LENGTH_BITS) - 1
            if kind not in ((MIDDLE, LAST) if parts else (WHOLE, FIRST)):
                raise self._broken(start, f"has a part of kind {kind} out of order")
            padded = length + -length % 4
            if padded > self._size - self._file.tell():
                raise self._broken(start, f"is cut off: a record of {length} bytes starts there")
            parts.append(self._file.read(padded)[:length])
            if kind in (WHOLE, LAST):
                return MAGIC.join(parts)

    def positions(self) -> list[int]:
        """Positions at which the records start that ``read`` would give from here on; leaves the file at its end.

        Examples
        --------
        >>> from gluonnx import mx
        >>> records = mx.recordio.MXRecordIO("data.rec", "w")
        >>> records.write(b"first")
        >>> records.write(b"second")
        >>> records.close()
        >>> records = mx.recordio.MXRecordIO("data.rec", "r")
        >>> records.positions()
        [0, 16]
        >>> records.close()
        """
        self._want(writing=False)
        found = [self._file.tell()]
        while self.read() is not None:
            found.append(self._file.tell())
        return found[:-1]

    def read_at(self, position: int) -> bytes | None:
        """The record that starts at a position. Raises FormatError where the file has no such place.

        Examples
        --------
        >>> from gluonnx import mx
        >>> records = mx.recordio.MXRecordIO("data.rec", "w")
        >>> records.write(b"first")
        >>> records.write(b"second")
        >>> records.close()
        >>> records = mx.recordio.MXRecordIO("data.rec", "r")
        >>> records.read_at(16)
        b'second'
        >>> records.close()
        """
        self._check_process(reopen=True)
        if not 0 <= position <= self._size:
            raise self._broken(position, f"has no record: it has {self._size} bytes")
        with self._lock:
            self._file.seek(position)
            return self.read()

    def _broken(self, position: int, what: str) -> FormatError:
        return FormatError(f"Invalid RecordIO File {self.uri!r}: at byte {position} it {what}")


def _publish(made: list[Replacement]) -> None:
    """Put what was written in its place, unless this is a fork of the process that wrote it."""
    if made and made[0].pid == os.getpid():
        publish(*made)
    _forget(made)


def _forget(made: list[Replacement]) -> None:
    """Drop what was written and is not in its place."""
    for one in made:
        one.discard()
    made.clear()


def _parts(buf: bytes) -> list[bytes]:
    """The bytes cut at every magic number that starts at a multiple of 4."""
    if MAGIC not in buf:
        return [buf]
    words = np.frombuffer(buf, "<u4", len(buf) // 4)
    parts, start = [], 0
    for place in np.flatnonzero(words == int.from_bytes(MAGIC, "little")) * 4:
        parts.append(buf[start:place])
        start = place + 4
    return [*parts, buf[start:]]


class MXIndexedRecordIO(MXRecordIO):
    """A record file with an index (lines of key, tab, position) for reading in any order.

    Each process reads by itself: after a fork or when sent to another process it opens the file anew. Several threads may
    call ``read_idx`` at once. Raises FormatError for an index that cannot be read.

    Parameters
    ----------
    idx_path : path
        File of the index.
    uri : path
        Record file.
    flag : str
        'r' to read, 'w' to write both anew.
    key_type : callable, default int
        What makes a key of the text in the index.

    Examples
    --------
    >>> from gluonnx import mx
    >>> records = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w")
    >>> for number in range(3):
    ...     records.write_idx(number, f"record {number}".encode())
    >>> records.close()
    >>> records = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "r")
    >>> records.keys, records.read_idx(1)
    ([0, 1, 2], b'record 1')
    >>> records.close()
    """

    def __init__(self, idx_path: Any, uri: Any, flag: str, key_type: Any = int):
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: Any = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open both files, and read the index.

        Examples
        --------
        >>> from gluonnx import mx
        >>> records = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w")
        >>> records.write_idx(7, b"seven")
        >>> records.close()
        >>> records.flag = "r"
        >>> records.open()
        >>> records.keys
        [7]
        >>> records.close()
        """
        super().open()
        self.idx, self.keys = {}, []
        try:
            if self.writable:
                self._made.append(Replacement(self.idx_path))
                self.fidx = io.TextIOWrapper(self._made[1].file, "utf-8", newline="\n", write_through=True)
            else:
                for number, line in lines(self.idx_path):
                    self._read_line(number, line)
        except BaseException:
            _forget(self._made)
            self.close()
            raise

    def _read_line(self, number: int, line: str) -> None:
        fields = line.strip().split("\t")
        try:
            key, position = self.key_type(fields[0]), int(fields[1])
        except (ValueError, IndexError):
            raise FormatError(
                f"index {self.idx_path!r}, line {number}: got {line[:80]!r}, wanted a key, a tab and a position"
            ) from None
        self.idx[key] = position
        self.keys.append(key)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fidx = None
        super().__setstate__(state)

    def seek(self, idx: Any) -> None:
        """Make the record of a key, idx, the next one to be read. Raises KeyError for a key that the index does not hold.

        Raises FormatError for a place beyond the end of the file.

        Examples
        --------
        >>> from gluonnx import mx
        >>> records = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w")
        >>> for number in range(3):
        ...     records.write_idx(number, f"record {number}".encode())
        >>> records.close()
        >>> records = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "r")
        >>> records.seek(1)
        >>> records.read(), records.read()
        (b'record 1', b'record 2')
        >>> records.close()
        """
        self._want(writing=False)
        self._check_process(reopen=True)
        position = self.idx[idx]
        if not 0 <= position <= self._size:
            raise FormatError(
                f"index {self.idx_path!r}: {idx!r} is at {position}, but {self.uri!r} has {self._size} bytes; "
                "the two do not belong together"
            )
        self._file.seek(position)

    def tell(self) -> int:
        """Position at which the next record will be written.

        Examples
        --------
        >>> from gluonnx import mx
        >>> records = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w")
        >>> records.write_idx(0, b"first")
        >>> records.tell()
        16
        >>> records.close()
        """
        self._want(writing=True)
        return self._file.tell()

    def read_idx(self, idx: Any) -> bytes | None:
        """The record of a key, idx. Raises KeyError for a key that the index does not hold."""
        self._want(writing=False)
        self._check_process(reopen=True)
        with self._lock:
            self.seek(idx)
            return self.read()

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Append a record, buf, under a key, idx. Raises MXNetError for a key with tabs or line ends in it."""
        key = self.key_type(idx)
        if {"\t", "\n", "\r"} & set(str(key)):
            raise MXNetError(f"index {self.idx_path!r}: got the key {key!r}, wanted one without tabs and line ends")
        position = self.tell()
        self.write(buf)
        self.fidx.write(f"{key}\t{position}\n")
        self.idx[key] = position
        self.keys.append(key)


IRHeader = namedtuple("HEADER", ["flag", "label", "id", "id2"])  # its printed form is MXNet's
IRHeader.__doc__ = """Header of an image in a record.

flag: how many labels follow; 0: the one in the header. label: a number or an array. id, id2: numbers that identify it.

Examples
--------
>>> from gluonnx import mx
>>> record = mx.recordio.pack(mx.recordio.IRHeader(flag=0, label=3, id=7, id2=0), b"bytes")
>>> header, content = mx.recordio.unpack(record)
>>> header.label, header.id, content
(3.0, 7, b'bytes')
"""
_IMAGE_HEADER = struct.Struct("<IfQQ")


def pack(header: Any, s: bytes) -> bytes:
    """A record of a header (an IRHeader) and the bytes s of an image (or any bytes).

    >>> from hybrid import recordio
    >>> header, data = recordio.unpack(recordio.pack(recordio.IRHeader(0, 3.0, 7, 0), b"image"))
    >>> header.label, header.id, data
    (3.0, 7, b'image')"""
    header = IRHeader(*header)
    if isinstance(header.label, numbers.Number):
        labels = b""
        header = header._replace(flag=0)
    else:
        array = np.asarray(header.label, dtype="<f4")
        labels = array.tobytes()
        header = header._replace(flag=array.size, label=0)
    return _IMAGE_HEADER.pack(*header) + labels + s


def unpack(s: bytes) -> tuple[Any, bytes]:
    """The header of a record s and the bytes after it. Raises FormatError where the record is too short for what it says it
    holds.

    Examples
    --------
    >>> from gluonnx import mx
    >>> record = mx.recordio.pack(mx.recordio.IRHeader(0, 3, 1, 0), b"bytes")
    >>> header, content = mx.recordio.unpack(record)
    >>> header.label, header.id, content
    (3.0, 1, b'bytes')
    """
    if len(s) < _IMAGE_HEADER.size:
        raise FormatError(f"a packed record has at least {_IMAGE_HEADER.size} bytes, got {len(s)}")
    header = IRHeader(*_IMAGE_HEADER.unpack_from(s))
    s = s[_IMAGE_HEADER.size :]
    if header.flag > 0:
        if len(s) < 4 * header.flag:
            raise FormatError(f"a packed record says it has {header.flag} labels, but only {len(s)} bytes follow")
        header = header._replace(label=np.frombuffer(s, np.dtype("<f4"), header.flag))
        s = s[4 * header.flag :]
    return header, s


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[Any, np.ndarray]:
    """The header of a record s and the image: (height, width, 3) in the order blue, green, red, or (height, width) where it is
    gray.

    iscolor: 1 always color, 0 always gray, -1 as stored (with opacity as the fourth channel).
    Raises FormatError for what is no image; needs Pillow.

    Examples
    --------
    >>> from gluonnx import mx
    >>> pixels = mx.nd.full((4, 4, 3), 200, dtype="uint8").asnumpy()
    >>> record = mx.recordio.pack_img(mx.recordio.IRHeader(0, 3, 1, 0), pixels, img_fmt=".png")
    >>> mx.recordio.unpack_img(record, iscolor=0)[1].shape
    (4, 4)
    """
    header, data = unpack(s)
    return header, _swap(decode(data, iscolor))


def pack_img(header: Any, img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """A record of a header and an image as ``unpack_img`` gives it, compressed.

    img: the image, uint8. quality: 1 to 100 for .jpg, 0 to 9 (the effort) for .png. img_fmt: the extension. Needs Pillow.

    Examples
    --------
    >>> from gluonnx import mx
    >>> pixels = mx.nd.full((4, 4, 3), 200, dtype="uint8").asnumpy()
    >>> record = mx.recordio.pack_img(mx.recordio.IRHeader(0, 3, 1, 0), pixels, img_fmt=".png")
    >>> header, image = mx.recordio.unpack_img(record)
    >>> header.label, image.shape, int(image[0, 0, 0])
    (3.0, (4, 4, 3), 200)
    """
    return pack(header, encode(_swap(np.asarray(img)), img_fmt, quality))


def _swap(image: np.ndarray) -> np.ndarray:
    """Red and blue exchanged, which MXNet's records have the other way round than its arrays; gray stays."""
    if image.ndim == 2 or image.shape[2] < 3:
        return image
    order = [2, 1, 0, 3][: image.shape[2]]
    return np.ascontiguousarray(image[:, :, order])
