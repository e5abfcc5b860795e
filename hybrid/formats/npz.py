"""Read an uncompressed `.npz`, which is what Gluon of MXNet 2.0 writes as `.params`. Nothing is ever unpickled."""

import io
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.error import FormatError

NPY_HEADER = re.compile(
    rb"\x93NUMPY(?:\x01\0(..)|[\x02\x03]\0(....))\{ *'descr': *'([<>|=]?[biuf]\d{1,2}|\|V2)', *"
    rb"'fortran_order': *(True|False), *'shape': *\(((?:\d{1,19}(?:, *\d{1,19})*,?)?)\),? *\} *\n",
    re.DOTALL,
)
LONGEST_HEADER = 4096


def npy_header(head: bytes) -> tuple[np.dtype, tuple[int, ...], Any, int]:
    """(dtype, shape, order, where the elements begin) of an .npy file of plain numbers that begins so. V2, which NumPy writes for
    types that it has not itself, is bfloat16. Raises ValueError: a header is text in Python, of which only this form is read."""
    found = NPY_HEADER.match(head)
    if found is None:
        raise ValueError("no .npy header of plain numbers; Python objects are never unpickled here")
    short, long, kind, fortran, sizes = found.groups()
    end = found.end()
    if end != (10 + int.from_bytes(short, "little") if long is None else 12 + int.from_bytes(long, "little")):
        raise ValueError(f"an .npy header of {end} bytes that claims another length")
    try:
        dtype = np.dtype(kind.decode())
    except TypeError as problem:
        raise ValueError(f"no readable .npy header: {problem}") from None
    return dtype, tuple(int(n) for n in sizes.split(b",") if n.strip()), "F" if fortran == b"True" else "C", end


def view(data: memoryview, dtype: np.dtype, shape: tuple[int, ...], start: int, order: Any = "C") -> np.ndarray:
    """The read-only array at an offset: a view, or a copy where the offset does not suit the dtype."""
    array = np.ndarray(shape, dtype, data, start if start < len(data) else 0, order=order)
    if not array.flags.aligned:
        array = array.copy(order)
    array.flags.writeable = False
    return array


def load_npz(data: memoryview, name: str) -> dict[str, np.ndarray]:
    """The arrays by name, read-only views of data where their offset suits their dtype; name is the file's, for errors.

    Raises FormatError for anything but a whole .npz of plain numbers."""

    import zipfile  # which loads all compressions that Python has

    def refuse(problem: str) -> FormatError:
        return FormatError(f"{name}: {problem}")

    try:
        with zipfile.ZipFile(_Seekable(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OSError) as problem:
        raise refuse(f"got a damaged or cut zip file ({problem}), wanted a .params file; fetch it again") from None
    members = [entry.filename for entry in entries]
    if any(member.endswith("data.pkl") for member in members):
        raise refuse("got a Torch file, wanted a .params file; convert it in Torch, pickles are never opened here")
    if not members or not all(member.endswith(".npy") for member in members):
        raise refuse(f"got a zip file holding {members[:5]}, wanted a .params file; unpack it, give the .params inside")
    arrays: dict[str, np.ndarray] = {}
    left = len(data)
    for entry in entries:
        key = entry.filename[: -len(".npy")]
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise refuse(f"{key!r} is compressed or encrypted, wanted a plain .npz as MXNet 2.0 writes; "
                         "read it with numpy.load and write it with hybrid.formats.params.save")  # fmt: skip
        left -= entry.file_size
        if left < 0:  # members that overlap: their copies could outgrow the file
            raise refuse(f"got members larger than the {len(data)} bytes that hold them; the file is damaged")
        if key in arrays:
            raise refuse(f"got {key!r} twice, wanted each name once")
        arrays[key] = _npy_member(data, entry, lambda problem, key=key: refuse(f"array {key!r}: {problem}"))
    return arrays


def _npy_member(data: memoryview, entry: Any, refuse: Callable[[str], FormatError]) -> np.ndarray:
    local = bytes(data[entry.header_offset : entry.header_offset + 30])
    if len(local) < 30 or local[:4] != b"PK\x03\x04":
        raise refuse(f"no zip header at offset {entry.header_offset}; the file is damaged")
    start = entry.header_offset + 30 + sum(struct.unpack_from("<HH", local, 26))
    stop = start + entry.file_size
    if stop > len(data):
        raise refuse(f"wants bytes up to {stop}, got {len(data)}; the file is cut short or damaged, fetch it again")
    try:
        dtype, shape, order, length = npy_header(bytes(data[start : min(stop, start + LONGEST_HEADER)]))
    except ValueError as problem:
        raise refuse(f"got {problem}, wanted one as MXNet 2.0 writes") from None
    start += length
    size = dtype.itemsize * math.prod(shape)
    if size != stop - start:
        raise refuse(f"{dtype}{list(shape)} wants {size} bytes, got {stop - start}; the file is damaged")
    return view(data, dtype, shape, start, order)


class _Seekable(io.RawIOBase):
    """A memoryview as a file: zipfile wants one, and io.BytesIO would copy a mapped file into memory.

    read is bounded by what there is, because zipfile asks for as much as the archive's directory claims.
    """

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        at = offset + (0, self.at, len(self.data))[whence]
        if at < 0:
            raise OSError(f"seek to {at}")
        self.at = at
        return at

    def tell(self) -> int:
        return self.at

    def read(self, size: int = -1) -> bytes:
        chunk = bytes(self.data[self.at :] if size < 0 else self.data[self.at : self.at + size])
        self.at += len(chunk)
        return chunk
