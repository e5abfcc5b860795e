"""Read and write MXNet `.params` files: lists of arrays, with or without names.

A file is: u64 0x112, u64 0, u64 count, the records, u64 count of names (0 or as many), each u64 length + UTF-8. All
little-endian. A record, by generation (dims are i64 but in V0; context and dtype are absent from a none array):

    V0  up to 0.10          u32 ndim, u32 dims, context, i32 dtype, data
    V1  0.11    0xF993FAC8  u32 ndim, dims, context, i32 dtype, data
    V2  0.12 on 0xF993FAC9  i32 storage, [storage shape,] shape, context, i32 dtype, [i32 dtype and shape of each
                            auxiliary array,] data [, auxiliary data]
    V3  np_shape 0xF993FACA as V2 and dense only; ndim is signed: 0 is a scalar, -1 is none, 0 is a real dimension

The dtype is one of attrs.DTYPE_FLAGS: 0 to 12 are MXNet's, those from 64 on are our own and only hybrid reads them. Types of
6, 4 and 2 bits take a byte an element. The data of strings is the u64 length of each, then the UTF-8 of all.

In V0 to V2 ndim 0 says "none": an array that was never given a shape, read as None. MXNet 2.0's Gluon writes an
uncompressed `.npz` under the same name, which is read too.

Nothing is allocated on the word of a header: every count is first compared with the bytes that are left. Arrays are
read-only views of the mapped file wherever their offset suits their dtype, which in a float32 file is always (headers
are multiples of 4); the odd ones in mixed files are copied once, because NumPy copies an unaligned operand on every use
(measured: a float32 matrix-vector product 6 times slower, 0.49 ms for 0.08) and native code may not take one at all.
"""

import math
import mmap as mmap_module
import os
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from mmap import ACCESS_READ
from mmap import mmap as map_file
from typing import Any

import numpy as np

from ..core.attrs import DTYPE_FLAGS
from ..core.attrs import dtype as read_dtype
from ..core.error import FormatError, OutOfMemory
from ..core.memory_budget import afford_array
from ..core.np_mode import is_np_shape
from .files import REPLACES_MAPPED, open_file, write
from .npz import load_npz, view

LIST_MAGIC = 0x112
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
MAX_NDIM = 32  # what every NumPy can hold; also tells a V0 ndim from an unknown magic
CPU0 = struct.pack("<ii", 1, 0)
DENSE, ROW_SPARSE, CSR_STORAGE = 0, 1, 2
NAMES = {flag: name for name, flag in DTYPE_FLAGS.items()}
HIGHEST = {
    "bool": 1,
    "int2": 3,
    "uint2": 3,
    "int4": 15,
    "uint4": 15,
    "float4_e2m1fn": 15,
    "float6_e2m3fn": 63,
    "float6_e3m2fn": 63,
}
"""The highest byte of dtypes that hold fewer than 8 bits, one element a byte."""


@dataclass(frozen=True, eq=False)
class RowSparse:
    """Rows `data` (n, *shape[1:]) standing at the differing `indices` (n,) of an array of `shape`.

    Raises FormatError when the parts do not fit together.
    """

    data: np.ndarray
    indices: np.ndarray
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        rows = np.asarray(self.indices)
        _fits(len(self.shape) >= 1, "row_sparse shape", self.shape, "at least one dimension")
        _fits(rows.ndim == 1 and rows.dtype.kind in "iu", "row indices", rows.shape, "(n,) integers")
        wanted = (len(rows), *self.shape[1:])
        _fits(self.data.shape == wanted, "row data", self.data.shape, wanted)
        _fits(_within(rows, self.shape[0]), "row indices", "one outside", f"0 to {self.shape[0] - 1}")
        once = bool((rows[1:] > rows[:-1]).all()) or len(np.unique(rows)) == len(rows)
        _fits(once, "row indices", "one twice", "each row once")

    def todense(self) -> np.ndarray:
        """All of the array. Raises OutOfMemory where that takes more than the memory budget."""
        dense = _room(self.shape, self.data.dtype)
        dense[self.indices] = self.data
        return dense


@dataclass(frozen=True, eq=False)
class CSR:
    """Values `data` (n,) at columns `indices` (n,), row i holding those from indptr[i] to indptr[i + 1].

    Raises FormatError when the parts do not fit together.
    """

    data: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        starts, columns = np.asarray(self.indptr), np.asarray(self.indices)
        _fits(len(self.shape) == 2, "CSR shape", self.shape, "(rows, columns)")
        whole = starts.dtype.kind in "iu" and columns.dtype.kind in "iu"
        _fits(whole, "indptr and indices", f"{starts.dtype} and {columns.dtype}", "integers")
        _fits(starts.shape == (self.shape[0] + 1,), "indptr", starts.shape, (self.shape[0] + 1,))
        _fits(self.data.ndim == 1, "CSR data", self.data.shape, "(n,)")
        _fits(columns.shape == self.data.shape, "column indices", columns.shape, self.data.shape)
        rising = starts[0] == 0 and starts[-1] == len(columns) and not (starts[1:] < starts[:-1]).any()
        _fits(rising, "indptr", "other bounds", f"rising from 0 to {len(columns)}")
        _fits(_within(columns, self.shape[1]), "column indices", "one outside", f"0 to {self.shape[1] - 1}")

    def todense(self) -> np.ndarray:
        """As for RowSparse."""
        dense = _room(self.shape, self.data.dtype)
        dense[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr.astype(np.int64))), self.indices] = self.data
        return dense


def _room(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros for a sparse array to stand in."""
    afford_array(shape, dtype, "a sparse array made dense,")
    try:
        return np.zeros(shape, dtype)
    except (MemoryError, ValueError) as problem:  # more dims or elements than NumPy can address
        raise OutOfMemory(f"a sparse array of shape {shape} cannot be made dense: {problem}") from None


Array = np.ndarray | RowSparse | CSR | None
Named = Mapping[str, Array]


def _fits(truth: bool, what: str, got: object, wanted: object) -> None:
    if not truth:
        raise FormatError(f"{what}: got {got}, wanted {wanted}")


def _within(indices: np.ndarray, size: int) -> bool:
    return not len(indices) or bool(indices.min() >= 0 and indices.max() < size)


def load(source: Any, *, mmap: bool = True) -> dict[str, Array] | list[Array]:
    """Read a `.params` file: a dict when it holds names, else a list.

    source: a path, bytes, or a binary file object (read from where it stands to its end). Dense arrays are read-only.
    With mmap (paths only) they are views of the mapped file: opening costs no reading, and the file must then not be
    rewritten in place while they live (`save` never does; it renames). A none array is None.
    Raises FormatError, naming the file, the array and the offset, for anything but a whole and sane file.
    """
    data, name = open_bytes(source, mmap)
    if bytes(data[:4]) == b"PK\x03\x04":
        return {**load_npz(data, name)}
    return _Reader(data, name).load()


def load_record(data: bytes) -> Array:
    """The one array of a record without a file around it, as MXNet pickles arrays. Raises FormatError as load does."""
    return load(struct.pack("<QQQ", LIST_MAGIC, 0, 1) + data + struct.pack("<Q", 0))[0]  # type: ignore[index]


def release(arrays: Iterable[Any]) -> None:
    """Give back the memory that reading mapped arrays has filled; they stay valid and are read again when needed.

    Arrays that are no views of a mapped file are left alone. Does nothing where the system cannot (other than Linux).
    """
    files = {}
    for array in arrays:
        owner = getattr(array, "base", None)
        while isinstance(owner, np.ndarray):
            owner = owner.base
        mapped = getattr(owner, "obj", owner)
        if isinstance(mapped, map_file):
            files[id(mapped)] = mapped
    for mapped in files.values():
        if hasattr(mmap_module, "MADV_DONTNEED"):
            mapped.madvise(mmap_module.MADV_DONTNEED)


def split(named: Named | list[Array], aux: Iterable[str] = ()) -> tuple[dict[str, Array], dict[str, Array]]:
    """Part loaded arrays into (arguments, auxiliary states), names without their `arg:` and `aux:`.

    Names without either (Gluon's save_parameters) are arguments unless listed in `aux`: only the graph can tell them
    apart. Raises FormatError for a list and when two names become one.
    """
    if not named:  # a model without parameters: no arrays and so no names either
        return {}, {}
    if not isinstance(named, Mapping):
        raise FormatError(f"got a list of {len(named)} arrays without names, wanted named arrays; save them as a dict")
    states = set(aux)
    parts: dict[str, dict[str, Array]] = {"arg": {}, "aux": {}}
    for full, array in named.items():
        kind, colon, name = full.partition(":")
        if not colon or kind not in parts:
            kind, name = "aux" if full in states else "arg", full
        if name in parts[kind]:
            raise FormatError(f"two arrays are called {name!r}, one of them {full!r}; rename one")
        parts[kind][name] = array
    return parts["arg"], parts["aux"]


def open_bytes(source: Any, mmap: bool) -> tuple[memoryview, str]:
    """All bytes of a source, and what to call it in errors."""
    if isinstance(source, (str, os.PathLike)):
        with open_file(source) as file:
            # only a regular file with something in it can be mapped
            mapped = mmap and REPLACES_MAPPED and os.path.isfile(source) and os.fstat(file.fileno()).st_size
            data = map_file(file.fileno(), 0, access=ACCESS_READ) if mapped else file.read()
        return memoryview(data), os.fspath(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return memoryview(bytes(source)), f"<{len(source)} bytes>"
    if not hasattr(source, "read"):
        raise TypeError(f"got {type(source).__name__}, wanted a path, bytes or a binary file object")
    data = source.read()
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError(f"got a file object that reads {type(data).__name__}, wanted one opened in binary mode ('rb')")
    return memoryview(bytes(data)), str(getattr(source, "name", "<file object>"))


class _Reader:
    """A position in the bytes of one list file; every advance is checked against the bytes left."""

    def __init__(self, data: memoryview, name: str) -> None:
        self.data, self.name = data, name
        self.at = 0
        self.part = "list header"

    def error(self, problem: str, at: int | None = None) -> FormatError:
        return FormatError(f"{self.name}: {self.part}, offset {self.at if at is None else at}: {problem}")

    def skip(self, size: int, what: str) -> int:
        """Advance by size and give the offset before it."""
        start, left = self.at, len(self.data) - self.at
        if size > left:
            raise self.error(f"{what} wants {size} bytes, got {left}; the file is cut short or damaged, fetch it again")
        self.at += size
        return start

    def number(self, code: str, what: str) -> int:
        form = "<" + code
        return struct.unpack_from(form, self.data, self.skip(struct.calcsize(form), what))[0]

    def count(self, what: str, smallest: int) -> int:
        """A u64 count of things of at least `smallest` bytes each."""
        count, left = self.number("Q", f"number of {what}"), len(self.data) - self.at
        if count * smallest > left:
            raise self.error(
                f"got {count} {what} promised, but {left} bytes hold at most {left // smallest}; "
                "the file is cut short or damaged, fetch it again",
                self.at - 8,
            )
        return count

    def load(self) -> dict[str, Array] | list[Array]:
        if len(self.data) < 8 or struct.unpack_from("<Q", self.data)[0] != LIST_MAGIC:
            raise FormatError(f"{self.name}: {_recognise(bytes(self.data[:4096]))}")
        self.skip(16, "list header")
        total = self.count("arrays", 4)
        arrays = []
        for index in range(total):
            self.part = f"array {index} of {total}"
            arrays.append(self.record())
        self.part = "names"
        names = self.names(total)
        if self.at != len(self.data):
            raise self.error(f"got {len(self.data) - self.at} bytes after the last name, wanted the end of the file; "
                            "two files were joined, or it is damaged")  # fmt: skip
        return dict(zip(names, arrays, strict=True)) if names else arrays

    def names(self, total: int) -> list[str]:
        at = self.at
        count = self.count("names", 8)
        if count not in (0, total):
            raise self.error(f"got {count} names for {total} arrays, wanted {total} or none", at)
        seen: dict[str, int] = {}
        for index in range(count):
            self.part = f"name {index} of {count}"
            size = self.number("Q", "length")
            start = self.skip(size, "text")
            try:
                name = str(self.data[start : self.at], "utf-8")
            except UnicodeDecodeError as problem:
                raise self.error(f"got a name that is not UTF-8: {problem.reason}", start) from None
            if name in seen:
                raise self.error(f"got {name!r} twice (also name {seen[name]}), wanted each name once", start)
            seen[name] = index
        return list(seen)

    def record(self) -> Array:
        at = self.at
        magic = self.number("I", "record")
        storage = DENSE
        if magic in (V2, V3):
            storage = self.number("i", "storage type")
            if storage not in ((DENSE, ROW_SPARSE, CSR_STORAGE) if magic == V2 else (DENSE,)):
                raise self.error(f"got storage type {storage}, wanted 0 (dense), in V2 also 1 (rows), 2 (csr)", at + 4)
        elif magic != V1 and magic > MAX_NDIM:
            raise self.error(
                f"got record magic {magic:#x}, wanted {V1:#x}, {V2:#x}, {V3:#x} or (V0) up to {MAX_NDIM} dimensions; "
                "the file is damaged, or from a newer MXNet",
                at,
            )
        stored = self.shape("storage shape") if storage else None
        if magic in (V1, V2, V3):
            shape = self.shape("shape", numpy=magic == V3)
        else:
            self.at = at  # in V0 the number of dimensions stands where the magic is now
            shape = self.shape("shape", code="I")
        if shape is None:
            return None
        self.skip(8, "context")
        dtype = self.dtype()
        if not storage:
            return self.array(dtype, shape, "data")
        if stored is None:
            raise self.error("got no storage shape, wanted one for a sparse array", at)
        return self.sparse(storage, shape, stored, dtype)

    def sparse(self, storage: int, shape: tuple[int, ...], stored: tuple[int, ...], dtype: np.dtype) -> Array:
        names = ("indices",) if storage == ROW_SPARSE else ("indptr", "indices")
        heads = [(self.dtype(), self.shape(f"shape of {name}") or (), name) for name in names]
        if any(kind.hasobject for kind in (dtype, *(head[0] for head in heads))):
            raise self.error("got strings in a sparse array, wanted numbers; the file is damaged")
        data = self.array(dtype, stored, "data")
        parts = [self.array(*head) for head in heads]
        try:
            return RowSparse(data, parts[0], shape) if storage == ROW_SPARSE else CSR(data, parts[0], parts[1], shape)
        except ValueError as problem:
            raise self.error(f"sparse {problem}") from None

    def shape(self, what: str, *, code: str = "q", numpy: bool = False) -> tuple[int, ...] | None:
        """A shape, or None for an array that was never given one."""
        at = self.at
        ndim = self.number("i" if numpy else "I", f"{what}: number of dimensions")
        if ndim > MAX_NDIM or ndim < -1:
            raise self.error(f"{what}: got {ndim} dimensions, wanted at most {MAX_NDIM}; the file is damaged", at)
        if ndim == (-1 if numpy else 0):
            return None
        form = f"<{ndim}{code}"
        start = self.skip(struct.calcsize(form), what)
        shape = struct.unpack_from(form, self.data, start)
        if numpy and -1 in shape and min(shape) == -1:
            return None
        if any(size < 0 for size in shape):
            raise self.error(f"{what}: got {shape}, wanted no negative size; the file is damaged", start)
        return shape

    def dtype(self) -> np.dtype:
        at = self.at
        flag = self.number("i", "dtype")
        if flag not in NAMES:
            raise self.error(f"got dtype flag {flag}, wanted one of {min(NAMES)} to {max(NAMES)} that is known; "
                            "the file is damaged or too new", at)  # fmt: skip
        try:
            return read_dtype(NAMES[flag]).newbyteorder("<")
        except ValueError as problem:  # one that NumPy cannot hold alone
            raise self.error(str(problem), at) from None

    def array(self, dtype: np.dtype, shape: tuple[int, ...], what: str) -> np.ndarray:
        if dtype.hasobject:
            return self.strings(shape, what)
        size = dtype.itemsize * math.prod(shape)  # Python's integers: NumPy's would overflow on an absurd shape
        start = self.skip(size, f"{what} {dtype.name}{list(shape)}")
        highest = HIGHEST.get(dtype.name, 255)
        if highest < 255 and size and np.frombuffer(self.data, np.uint8, size, start).max() > highest:
            raise self.error(
                f"{what}: got a byte above {highest} in an array of {dtype.name}; the file is damaged", start
            )
        try:
            return view(self.data, dtype, shape, start)
        except ValueError as problem:  # zero-size with other dims past what NumPy can address
            raise self.error(f"{what}: got shape {shape}: {problem}", start) from None

    def strings(self, shape: tuple[int, ...], what: str) -> np.ndarray:
        """An array of str: the u64 lengths of all, then their UTF-8."""
        count = math.prod(shape)
        start = self.skip(8 * count, f"{what}: lengths of strings {list(shape)}")
        lengths = struct.unpack_from(f"<{count}Q", self.data, start)
        at = self.skip(sum(lengths), f"{what}: text of strings {list(shape)}")
        array = np.empty(count, object)
        for index, length in enumerate(lengths):
            try:
                array[index] = str(self.data[at : at + length], "utf-8")
            except UnicodeDecodeError as problem:
                raise self.error(f"{what}: got a string that is not UTF-8: {problem.reason}", at) from None
            at += length
        try:
            array = array.reshape(shape)
        except ValueError as problem:  # as in array()
            raise self.error(f"{what}: got shape {shape}: {problem}", start) from None
        array.flags.writeable = False
        return array


FOREIGN = [  # how a file starts, what it is, what to do
    (rb"\Z", "an empty file", "the copy or download failed, fetch it again"),
    (rb"version https://git-lfs", "a Git LFS pointer, not the file it points to", "run `git lfs pull`"),
    (rb"(?i)\s*<(!doctype|html|head|\?xml)", "a web page", "the link led to a page about the file, fetch the raw file"),
    (rb"\x1f\x8b", "a gzip file", "unpack it with `gunzip` or `tar xzf` and give the .params inside"),
    (rb"BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!", "an archive", "unpack it and give the .params inside"),
    (rb"(?s).{257}ustar", "a tar archive", "unpack it and give the .params inside"),
    (rb"\x93NUMPY", "a NumPy .npy file", "read it with numpy.load and write it with hybrid.formats.params.save"),
    (rb"\x80[\x02-\x05]", "a Python pickle (a Torch file?)", "convert it where it was made, pickles are never opened"),
    (rb"\x89HDF", "an HDF5 file (Keras?)", "convert it where it was made"),
    (rb'(?s).{4}\0{4}\{"', "a safetensors file", "read it with the safetensors package"),
    (rb"(\xef\xbb\xbf)?\s*[\{\[]", "a JSON file (a symbol?)", "give the .params file that belongs to it"),
    (rb"\x08[\x01-\x1f][\x12\x1a\x22\x28\x3a\x42]", "an ONNX model", "open it as a model, it holds its own parameters"),
    (rb"\x0a\x23\xd7\xce", "a RecordIO file of samples", "give the .params file of the model"),
    (rb"\0{6}\x01\x12", "a .params file in big-endian order", "save it again on a little-endian machine"),
    (rb"\x12\x01\0{6}", "a .params file", "give the model-symbol.json that belongs to it"),
    (rb"\x12(\x01\0*)?\Z", "the first bytes of a .params file", "fetch it again"),
    (rb"", "an unknown kind of file", "give one made by mx.nd.save, save_checkpoint, export or save_parameters"),
]


def describe(head: bytes) -> tuple[str, str]:
    """Recognise a foreign file by its first bytes: what it is, and what to do about it."""
    return next((what, do) for start, what, do in FOREIGN if re.match(start, head))


def _recognise(head: bytes) -> str:
    """Say what a file is that is no list of arrays, and what to do."""
    what, do = describe(head)
    start = f" starting with {head[:8].hex(' ')}" if what == FOREIGN[-1][1] else ""
    return f"got {what}{start}, wanted a .params file; {do}"


def save(target: Any, data: Any) -> None:
    """Write arrays as MXNet 1.9.1 does, byte for byte: V2, or V3 throughout under np_shape and when one is 0-d or zero-size.

    target: a path or a binary file object. data: a dict of name to array, a list of arrays, or one array; each a NumPy
    array (or anything with a dtype and __array__), RowSparse or CSR. A path is written beside itself and renamed, so on
    any error the old file stands as it was. MXNet 1.9.1 itself has no int16 and no unsigned integer but uint8; 2.0 has. Dtypes with
    flags of our own (attrs.OWN_DTYPES; object arrays hold str) are for hybrid alone.
    Raises TypeError for other data, FormatError for what the format cannot say.
    """
    chunks = encode_list(data)
    if not isinstance(target, (str, os.PathLike)):
        for chunk in chunks:
            target.write(chunk)
        return
    write(target, chunks)


def encode_list(data: Any) -> list[Any]:
    """All bytes of a list file as buffers; contiguous arrays are not copied. Whole before anything is written."""
    names: list[str] = []
    if isinstance(data, Mapping):
        names, values = list(data), list(data.values())
    else:
        values = list(data) if isinstance(data, (list, tuple)) else [data]
    labels = [repr(name) for name in names] or [f"number {index}" for index in range(len(values))]
    arrays = [_storable(value, label) for value, label in zip(values, labels, strict=True)]
    odd = any(isinstance(array, np.ndarray) and not (array.ndim and array.size) for array in arrays)
    magic = V3 if odd or is_np_shape() else V2
    chunks: list[Any] = [struct.pack("<QQQ", LIST_MAGIC, 0, len(arrays))]
    for array, label in zip(arrays, labels, strict=True):
        if isinstance(array, np.ndarray):
            chunks += [struct.pack("<Ii", magic, DENSE), _shape(array.shape), CPU0]
            chunks.append(struct.pack("<i", DTYPE_FLAGS[array.dtype.name]))
            chunks += _strings(array, label) if array.dtype.hasobject else [_bytes(array)]
        elif magic == V3 or 0 in array.shape:
            raise FormatError(
                f"array {label} is sparse, and it or another is 0-d or zero-size, or np_shape is on, which one file cannot say; "
                "use .todense(), or save them apart with np_shape off"
            )
        else:
            chunks += _sparse_chunks(array)
    chunks.append(struct.pack("<Q", len(names)))
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"got the name {name!r}, wanted a str")
        text = name.encode()
        chunks += [struct.pack("<Q", len(text)), text]
    return chunks


def _sparse_chunks(array: RowSparse | CSR) -> list[Any]:
    csr = isinstance(array, CSR)
    parts = (array.indptr, array.indices) if csr else (array.indices,)
    chunks = [struct.pack("<Ii", V2, CSR_STORAGE if csr else ROW_SPARSE), _shape(array.data.shape)]
    chunks += [_shape(array.shape), CPU0, struct.pack("<i", DTYPE_FLAGS[array.data.dtype.name])]
    for part in parts:
        chunks += [struct.pack("<i", DTYPE_FLAGS[part.dtype.name]), _shape(part.shape)]
    return [*chunks, _bytes(array.data), *map(_bytes, parts)]


def _storable(value: Any, label: str) -> np.ndarray | RowSparse | CSR:
    """A value as what the format can say: little-endian, C order, of a dtype with a flag."""
    if isinstance(value, RowSparse):
        data, indices = (_numbers(part, label) for part in (value.data, value.indices))
        return RowSparse(data, indices, tuple(value.shape))
    if isinstance(value, CSR):
        data, indptr, indices = (_numbers(part, label) for part in (value.data, value.indptr, value.indices))
        return CSR(data, indptr, indices, tuple(value.shape))
    return _plain(value, label)


def _plain(value: Any, label: str) -> np.ndarray:
    if not (hasattr(value, "dtype") and hasattr(value, "__array__")):
        raise TypeError(f"array {label}: got {type(value).__name__}, wanted a NumPy array, RowSparse or CSR")
    array = np.asarray(value)
    array = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    if array.ndim > MAX_NDIM or array.dtype.name not in DTYPE_FLAGS:
        wanted = f"{', '.join(DTYPE_FLAGS)} (object: of str), up to {MAX_NDIM}-d"
        raise FormatError(f"array {label}: got {array.dtype}{list(array.shape)}, wanted {wanted}")
    return array


def _numbers(value: Any, label: str) -> np.ndarray:
    """A part of a sparse array, which cannot hold strings: where it holds nothing it is zero."""
    array = _plain(value, label)
    if array.dtype.hasobject:
        raise FormatError(f"array {label}: got strings in a sparse array, wanted numbers; save it dense")
    return array


def _shape(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def _bytes(array: np.ndarray) -> memoryview:
    raw = array.reshape(-1).view(np.uint8)
    highest = HIGHEST.get(array.dtype.name, 1)
    return (
        raw & highest if highest > 1 else raw
    ).data  # the bits that a narrow dtype does not look at are zeros in files


def _strings(array: np.ndarray, label: str) -> list[bytes]:
    for text in array.flat:
        if not isinstance(text, str):
            raise FormatError(f"array {label}: got {type(text).__name__} in an array of objects, wanted str only")
    try:
        texts = [text.encode() for text in array.flat]
    except UnicodeEncodeError as problem:
        raise FormatError(f"array {label}: got {problem.object!r}, which is not Unicode: {problem.reason}") from None
    return [struct.pack(f"<{len(texts)}Q", *map(len, texts)), *texts]
