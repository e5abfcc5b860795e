"""Reads an ONNX file without loading its weights: they stay in the mapped file until an array is asked for.

A protobuf message is a sequence of (key, length, bytes) fields (protobuf.dev, "Encoding"). The walk below goes into the
large ones only and puts a reference in place of every tensor's large content; the little that is left is parsed as usual.
The reference is what ONNX has for content that lies elsewhere, external data: location, offset and length, here of the
model file itself. So one mechanism reads both, and any other tool that sees such a tensor knows that its data is not there.

Field numbers, the layout of each data type and the rules of external and sparse tensors are those of onnx.proto (IR version
14). Nothing is allocated on the word of a header: every length and every product of dims is first compared with the bytes
at hand.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import AttributeProto, NodeProto, SparseTensorProto, TensorProto

from hybrid.core.attrs import dtype as read_dtype
from hybrid.core.error import FormatError, MissingFile
from hybrid.core.memory_budget import afford
from hybrid.formats.files import find_finished, open_file
from hybrid.formats.npz import view
from hybrid.formats.params import describe, open_bytes

from .onnx_types import ELEMENT_TYPES, ElementType
from .writer import DATA_HEAD, DATA_KEY, PROTOBUF_LIMIT, tag, varint

STAYS_BELOW = 4096  # bytes of content that a tensor keeps in the parsed message
MOST_DENSE = PROTOBUF_LIMIT  # bytes that a sparse tensor may become: what a dense one could have inside the model
MOST_DEPTH = 100  # messages inside one another; protobuf's own limit
DAMAGED = "the model is damaged, export or fetch it again"

VARINT, EIGHT_BYTES, COUNTED, FOUR_BYTES = 0, 1, 2, 5  # wire types

# For each message the fields that hold messages in which tensors may stand; a `!` marks one that may stand there once.
INSIDE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor!", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse!", 23: "sparse"},
    "sparse": {1: "tensor!", 2: "tensor!"},
}
DATA_TYPE, RAW_DATA = 2, 9
CONTENT = {  # TensorProto's fields that hold elements
    4: "float_data",
    5: "int32_data",
    6: "string_data",
    7: "int64_data",
    9: "raw_data",
    10: "double_data",
    11: "uint64_data",
}
ELSEWHERE = (3, 13, 14)  # segment, external_data, data_location
AS_IN_MEMORY = (4, 10)  # typed fields whose elements stand there as they stand in memory
PLAIN = (AttributeProto.FLOAT, AttributeProto.INT, AttributeProto.STRING, AttributeProto.FLOATS, AttributeProto.INTS)
STRING = 8


FIELDS = {"float_data": "<f4", "double_data": "<f8", "int32_data": "<i4", "int64_data": "<i8", "uint64_data": "<u8"}


def read_model(source: Any, *, folder: str | os.PathLike[str] | None = None) -> OnnxFile:
    """Open an ONNX model: a path (mapped, and not to be rewritten in place while its arrays live), bytes, or a ModelProto.

    folder: where files with external data lie; by default the folder of the path.
    Raises MissingFile when there is no such file, FormatError for anything but a whole ONNX model.
    """
    if isinstance(source, onnx.ModelProto):
        name = "<ModelProto>"
        try:
            _check_text(source)
        except ValueError as problem:
            raise FormatError(f"{name}: {problem}; {DAMAGED}") from None
        return OnnxFile(source, name, None if folder is None else Path(folder))
    is_path = isinstance(source, str | os.PathLike)
    if is_path and os.path.isdir(source):
        raise FormatError(f"{source}: got a folder, wanted an ONNX model; give the .onnx file inside")
    data, name = open_bytes(source, mmap=True)
    here = "<the model>"
    if is_path and folder is None:
        folder, here = Path(source).parent, Path(source).name.encode(errors="replace").decode()
    proto = onnx.ModelProto()
    try:
        pieces = _without_content(data, 0, len(data), "model", here) or [data]
        size = sum(map(len, pieces))
        if size > PROTOBUF_LIMIT:
            raise ValueError(f"{size} bytes beside the weights, wanted at most {PROTOBUF_LIMIT}")
        proto.ParseFromString(b"".join(pieces))
        if not proto.graph.node and not proto.graph.output:
            raise ValueError("it holds no graph")
        _check_text(proto)
    except (ValueError, DecodeError) as problem:
        raise _foreign(name, bytes(data[:4096]), problem) from None
    file = OnnxFile(proto, name, None if folder is None else Path(folder), data, here)
    file.check_pair()
    return file


@dataclass(frozen=True, eq=False)
class OnnxFile:
    """An opened model. ``proto`` says everything but the content of large tensors, which ``array`` gives."""

    proto: onnx.ModelProto
    name: str
    """Name in errors."""
    folder: Path | None = None
    data: memoryview = dataclasses.field(default=memoryview(b""), repr=False)
    """The bytes that the references to ``here`` point into."""
    here: str | None = None
    _files: dict[str, memoryview] = dataclasses.field(default_factory=dict, repr=False)

    def array(self, tensor: TensorProto) -> np.ndarray:
        """The array (*dims) of any dense tensor of the model, read-only; strings as objects of type str.

        A view of the mapped file, which is not aligned where the offset does not suit the dtype (most are not: nothing in ONNX
        asks for it). NumPy computes with such arrays, but slowly, so who runs a graph aligns them (Program does). Raises
        FormatError, naming the tensor, when dims, data type and content do not fit; MissingFile for a file of external data.
        """
        kind = ELEMENT_TYPES.get(tensor.data_type)
        if kind is None:
            raise self._fail(tensor, f"got data type {tensor.data_type}, wanted one of 1 to {max(ELEMENT_TYPES)}; "
                                     "the model is damaged, or needs a newer gluonnx")  # fmt: skip
        if tensor.HasField("segment"):
            raise self._fail(tensor, "got one segment of a tensor, wanted a whole one; export the model again")
        dims = tuple(tensor.dims)
        if min(dims, default=0) < 0:
            raise self._fail(tensor, f"got dims {dims}, wanted none negative; {DAMAGED}")
        read = self._strings if tensor.data_type == STRING else self._numbers
        elements = read(tensor, kind, math.prod(dims))  # Python's integers: NumPy's would overflow on absurd dims
        try:
            array = elements.reshape(dims)
        except ValueError as problem:  # too many dims for NumPy, or no element but absurd sizes
            raise self._fail(tensor, f"got dims {dims}: {problem}; {DAMAGED}") from None
        array.flags.writeable = False
        return array

    def check_pair(self) -> None:
        """Raise FormatError for weights in another file that were not written together with the model.

        Only what gluonnx wrote can tell; weights that some other tool has written since are taken as they are."""
        known = next((p.value for p in self.proto.metadata_props if p.key == DATA_KEY), None)
        if known is None or self.folder is None:
            return
        places = {e.value for t in self.proto.graph.initializer for e in t.external_data if e.key == "location"}
        for place in sorted(places - {self.here}):
            path = self.folder / place
            if PureWindowsPath(place).name != place or not path.is_file():  # array() says what is wrong with these
                continue
            with open_file(path) as file:
                head = file.read(len(DATA_HEAD) + 32)
            if head.startswith(DATA_HEAD) and head[len(DATA_HEAD) :] != known.encode():
                part = find_finished(self.folder, lambda path: _starts(path, DATA_HEAD + known.encode()))
                rescue = f"; those that belong to it are whole, in {part}: rename that file" if part else ""
                raise FormatError(
                    f"{self.name}: its weights in {place} were not written together with it: got the digest "
                    f"{head[len(DATA_HEAD) :].decode('ascii', 'replace')}, wanted {known}; writing the two was cut short, or one "
                    f"was copied without the other{rescue}: convert or fetch both again"
                )

    def sparse(self, tensor: SparseTensorProto) -> np.ndarray:
        """The dense array (*dims) of a sparse tensor: values (n,) at indices (n,) into the flat array, or (n, rank).

        Raises FormatError as array does, and when an index is outside, stands twice, or the array would pass 2 GB.
        """
        values, indices, dims = self.array(tensor.values), self.array(tensor.indices), tuple(tensor.dims)
        size = math.prod(dims)
        if min(dims, default=0) < 0 or size * values.itemsize > MOST_DENSE:
            raise self._fail(tensor.values, f"got a sparse tensor of dims {dims}, wanted none negative and at most "
                                            f"{MOST_DENSE} bytes; {DAMAGED}")  # fmt: skip
        fits = indices.shape in (values.shape, (*values.shape, len(dims)))
        if values.ndim != 1 or indices.dtype != np.int64 or not fits:
            raise self._fail(tensor.values, f"got sparse values {values.shape} at {indices.dtype} indices {indices.shape}, "
                                            f"wanted (n,) at int64 (n,) or (n, {len(dims)}); {DAMAGED}")  # fmt: skip
        afford(size * values.itemsize, f"{self.name}: the sparse tensor {tensor.values.name!r} of dims {dims}")
        try:
            dense = np.full(dims, "", object) if values.dtype == object else np.zeros(dims, values.dtype)
        except ValueError as problem:  # as in array
            raise self._fail(tensor.values, f"got sparse dims {dims}: {problem}; {DAMAGED}") from None
        limits = dims if indices.ndim == 2 else (size,)
        if ((indices < 0) | (indices >= np.array(limits, np.int64))).any():
            raise self._fail(tensor.values, f"got a sparse index outside of dims {dims}; {DAMAGED}")
        steps = np.array([math.prod(limits[i + 1 :]) for i in range(len(limits))], np.int64)
        positions = indices.reshape(len(values), len(limits)) @ steps
        if len(np.unique(positions)) != len(positions):
            raise self._fail(tensor.values, f"got a sparse index twice, wanted each once; {DAMAGED}")
        dense.reshape(-1)[positions] = values
        dense.flags.writeable = False
        return dense

    def _fail(self, tensor: TensorProto, problem: str) -> FormatError:
        return FormatError(f"{self.name}: tensor {tensor.name!r}: {problem}")

    def _strings(self, tensor: TensorProto, kind: ElementType, count: int) -> np.ndarray:
        """All elements of a tensor of strings, in one dimension."""
        texts = getattr(tensor, kind.field)
        self._expect(tensor, kind.field, len(texts), count)
        try:
            return np.fromiter((text.decode("utf-8") for text in texts), object, count)
        except UnicodeDecodeError as problem:
            raise self._fail(tensor, f"got a string that is not UTF-8: {problem.reason}; export it again") from None

    def _numbers(self, tensor: TensorProto, kind: ElementType, count: int) -> np.ndarray:
        """All elements of a tensor of numbers, in one dimension."""
        try:
            dtype = read_dtype(kind.dtype).newbyteorder("<")
        except ValueError as problem:  # one that NumPy cannot hold alone
            raise self._fail(tensor, str(problem)) from None
        size = -(-count * kind.bits // 8)
        if tensor.data_location == TensorProto.EXTERNAL:
            data, start = self._external(tensor, size)
        elif raw := tensor.raw_data:
            self._expect(tensor, "raw_data", len(raw), size)
            data, start = memoryview(raw), 0
        else:
            return self._from_typed_fields(tensor, kind, dtype, count)
        if kind.bits < 8:
            return _unpack(view(data, np.dtype("u1"), (size,), start), kind.bits, count).view(dtype)
        return self._valid(tensor, np.ndarray((count,), dtype, data, start if start < len(data) else 0))

    def _from_typed_fields(self, tensor: TensorProto, kind: ElementType, dtype: np.dtype, count: int) -> np.ndarray:
        """The same from float_data, int32_data and so on, where bits of narrower types stand in whole numbers."""
        # two numbers make a complex one; two elements of 4 bits, or four of 2, share a number
        length = 2 * count if dtype.kind == "c" else -(-count * kind.bits // 8) if kind.bits < 8 else count
        values = getattr(tensor, kind.field)
        self._expect(tensor, kind.field, len(values), length)
        wide = np.array(values, FIELDS[kind.field])
        if wide.dtype.kind == "f":
            return wide.view(dtype)
        bits = max(kind.bits, 8)
        if bits < 8 * wide.itemsize and ((wide < -(1 << bits - 1)) | (wide >= 1 << bits)).any():
            raise self._fail(
                tensor, f"got {wide.min()} to {wide.max()} in {kind.field}, wanted {bits} bits each; {DAMAGED}"
            )
        codes = wide.astype(f"<u{bits // 8}")
        return self._valid(tensor, (codes if kind.bits >= 8 else _unpack(codes, kind.bits, count)).view(dtype))

    def _expect(self, tensor: TensorProto, name: str, got: int, wanted: int) -> None:
        """Raise FormatError unless a field holds as many elements (or raw bytes) as wanted, and no other field any."""
        others = [other for other in CONTENT.values() if other != name and len(getattr(tensor, other))]
        if got != wanted or others:
            also = f" and content in {', '.join(others)}" if others else ""
            raise self._fail(tensor, f"got {name} of length {got}{also}, wanted length {wanted} and no other content for "
                                     f"dims {list(tensor.dims)}; {DAMAGED}")  # fmt: skip

    def _valid(self, tensor: TensorProto, array: np.ndarray) -> np.ndarray:
        if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
            raise self._fail(tensor, f"got a byte other than 0 and 1 in a bool tensor; {DAMAGED}")
        return array

    def _external(self, tensor: TensorProto, size: int) -> tuple[memoryview, int]:
        """The file that holds a tensor's content, and where in it the `size` bytes start."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if len(entries) != len(tensor.external_data) or not entries.get("location"):
            raise self._fail(tensor, "got external data with no location, or one key twice; export the model again")
        numbers = [entries.get(key, "0") for key in ("offset", "length")]
        if not all(text.isascii() and text.isdigit() and len(text) < 20 for text in numbers):
            raise self._fail(tensor, f"got offset and length {numbers} of external data, wanted whole numbers; "
                                     "export the model again")  # fmt: skip
        start, length = map(int, numbers)
        location = entries["location"]
        data = self.data if location == self.here else self._file(tensor, location)
        if (length or size) != size or start + size > len(data):  # length 0 says no more than a missing one
            raise self._fail(tensor, f"got {length or 'all'} bytes at {start} of {location!r} ({len(data)} bytes), wanted "
                                     f"{size} for dims {list(tensor.dims)}; fetch model and data again")  # fmt: skip
        return data, start

    def _file(self, tensor: TensorProto, location: str) -> memoryview:
        """All bytes of a file of external data, which must be a regular one inside the model's folder."""
        if self.folder is None:
            raise self._fail(tensor, f"its data lies in the file {location!r}; say with folder= where that is")
        parts = PureWindowsPath(location)  # knows both separators, and drives
        if parts.drive or parts.root or ".." in parts.parts or "\0" in location:
            raise self._fail(tensor, f"got external data at {location!r}, wanted a path inside the model's folder; "
                                     "do not trust this model, or export it again")  # fmt: skip
        folder = os.path.realpath(self.folder)
        path = os.path.realpath(os.path.join(folder, location))
        if not Path(path).is_relative_to(folder):
            raise self._fail(tensor, f"got external data at {location!r}, a link out of the model's folder to {path!r}; "
                                     "copy that file into the folder")  # fmt: skip
        if not os.path.exists(path):
            raise MissingFile(f"{self.name}: tensor {tensor.name!r}: its data lies in {path!r} and there is no such file; "
                              "copy it there, it belongs to the model")  # fmt: skip
        if not os.path.isfile(path):
            raise self._fail(tensor, f"got external data at {location!r}, which is no regular file; export it again")
        if path not in self._files:
            self._files[path] = open_bytes(path, mmap=True)[0]
        return self._files[path]


def data_files(proto: onnx.ModelProto, folder: Path) -> list[Path]:
    """The files of external data that a model in a folder names, wherever in it; whether they are there or not."""
    return sorted(folder / place for place in _locations(proto))


def _locations(message: Message) -> set[str]:
    if isinstance(message, TensorProto):
        return {entry.value for entry in message.external_data if entry.key == "location"}
    found: set[str] = set()
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            found.update(*map(_locations, [value] if isinstance(value, Message) else value))
    return found


def _starts(path: str, wanted: bytes) -> bool:
    with open_file(path) as file:
        return file.read(len(wanted)) == wanted


def _unpack(packed: np.ndarray, bits: int, count: int) -> np.ndarray:
    """uint8 (count,) from bytes that hold elements of 2 or 4 bits, the first in the lowest."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((packed[:, None] >> shifts) & np.uint8((1 << bits) - 1)).reshape(-1)[:count]


def _without_content(
    data: memoryview, start: int, end: int, message: str, here: str, depth: int = 0
) -> list[memoryview | bytes] | None:
    """A message in pieces, a reference to `here` in place of each tensor's large content; None where there is none.

    Small messages are passed over whole, which makes this linear in the large ones. Raises ValueError for a message that
    is damaged or too deep.
    """
    if depth > MOST_DEPTH:
        raise ValueError(f"more than {MOST_DEPTH} messages inside one another")
    pieces: list[memoryview | bytes] = []
    kept, seen = start, set()
    for number, wire, at, body, stop in _fields(data, start, end):
        inside = INSIDE[message].get(number) if wire == COUNTED else None
        if inside is None:
            continue
        if inside.endswith("!"):
            if number in seen:  # protobuf would merge them, and mix the content of one with the reference to the other
                raise ValueError(f"field {number} of {message} twice")
            seen.add(number)
            inside = inside[:-1]
        if stop - body <= STAYS_BELOW:
            continue
        if inside == "tensor":
            parts = _reference(data, body, stop, here)
        else:
            parts = _without_content(data, body, stop, inside, here, depth + 1)
        if parts is not None:
            pieces += [data[kept:at], tag(number), varint(sum(map(len, parts))), *parts]
            kept = stop
    return [*pieces, data[kept:end]] if pieces else None


def _reference(data: memoryview, start: int, end: int, here: str) -> list[memoryview | bytes] | None:
    """A tensor in pieces, a reference in place of its content; None where that is small or must be decoded."""
    kind, content = 0, None
    for number, wire, at, body, stop in _fields(data, start, end):
        value = _read_varint(data, body, stop)[0] if wire == VARINT else None
        if number in ELSEWHERE and value != TensorProto.DEFAULT:
            return None
        if number == DATA_TYPE and value is not None:
            kind = value
        elif number in CONTENT:
            if content or wire != COUNTED:  # in parts, or in two fields
                return None
            content = number, at, body, stop
    if content is None or kind not in ELEMENT_TYPES:
        return None
    number, at, body, stop = content
    fits = (
        kind != STRING
        if number == RAW_DATA
        else number in AS_IN_MEMORY and CONTENT[number] == ELEMENT_TYPES[kind].field
    )
    if not fits or stop - body <= STAYS_BELOW:
        return None
    tensor = TensorProto(data_location=TensorProto.EXTERNAL)
    for key, value in (("location", here), ("offset", body), ("length", stop - body)):
        tensor.external_data.add(key=key, value=str(value))
    return [data[start:at], data[stop:end], tensor.SerializeToString()]  # last, so that its data_location counts


def _fields(data: memoryview, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Of each field of a message: number, wire type, and where it, its content and the next one start."""
    while at < end:
        start = at
        key, at = _read_varint(data, at, end)
        number, wire = key >> 3, key & 7
        if wire == COUNTED:
            size, at = _read_varint(data, at, end)
        elif wire == VARINT:
            size = _read_varint(data, at, end)[1] - at
        elif wire in (FOUR_BYTES, EIGHT_BYTES):
            size = 4 if wire == FOUR_BYTES else 8
        else:
            size = -1
        if size < 0 or not number:
            raise ValueError(f"no field that ONNX has, at offset {start}")
        if size > end - at:
            raise ValueError(f"field {number} at offset {start} wants {size} bytes, {end - at} are left")
        yield number, wire, start, at, at + size
        at += size


def _read_varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """A number of 7 bits a byte, lowest first, and where it ends."""
    value = 0
    for position in range(at, min(at + 10, end)):
        byte = data[position]
        value |= (byte & 0x7F) << 7 * (position - at)
        if byte < 0x80:
            return value, position + 1
    raise ValueError(f"no whole number at offset {at}")


def _check_text(message: Message) -> None:
    """Raise ValueError for names that are not UTF-8: protobuf gives them as bytes, where everybody expects str."""
    texts, parts = [], []
    if isinstance(message, NodeProto):  # not by ListFields, which takes three times as long: 0.15 s for 10,000 nodes
        texts += [message.name, message.op_type, message.domain, *message.input, *message.output]
        for attribute in message.attribute:
            texts.append(attribute.name)
            if attribute.type not in PLAIN:
                parts.append(attribute)
    elif isinstance(message, TensorProto):  # nor here, where it would copy the content
        texts.append(message.name)
        parts += message.external_data
    else:
        for field, value in message.ListFields():
            if field.type == FieldDescriptor.TYPE_MESSAGE and field.name != "metadata_props":
                parts += [value] if isinstance(value, Message) else value
            elif field.type == FieldDescriptor.TYPE_STRING and field.name != "doc_string":
                texts += [value] if isinstance(value, str | bytes) else value
    for text in texts:
        if isinstance(text, bytes):
            raise ValueError(f"the text {text!r} is not UTF-8")
    for part in parts:
        _check_text(part)


def _foreign(name: str, head: bytes, problem: Exception) -> FormatError:
    what, do = describe(head)
    if what in ("an ONNX model", "an unknown kind of file"):
        return FormatError(f"{name}: got {head[:8].hex(' ')}..., wanted a whole ONNX model ({problem}); {DAMAGED}")
    advice = "" if ".params" in do else f"; {do}"
    return FormatError(f"{name}: got {what}, wanted an ONNX model{advice}")
