"""Writes a converted model: as a ModelProto, or straight to a file without holding the weights twice.

A protobuf message is a sequence of (tag, length, bytes) fields, so the file is the small parts as protobuf makes them with
each initializer's bytes copied from where they lie (usually the memory-mapped .params file).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from hybrid.formats.files import replacing, replacing_all

from .error import ConversionError
from .onnx_types import code_of

PROTOBUF_LIMIT = 2**31 - 1
EXTERNAL_OVER = 1024  # bytes; smaller tensors stay in the model file, where shape inference can read them
PAGE = 4096  # external tensors start at page boundaries, so that runtimes can map them

DATA_KEY = "gluonnx.data"
"""The member of a model's metadata that names the digest of its weights in a file of their own."""
DATA_HEAD = b"gluonnx external data "
"""Beginning of such a file; the digest follows, and at the next page the first tensor."""

LEAN = 4
"""The IR version from which weights need not be inputs too."""

# field numbers of onnx.proto
_MODEL_GRAPH, _GRAPH_INITIALIZER, _TENSOR_RAW = 7, 5, 9


class Converted(NamedTuple):
    """A model without its initializers, and the initializers."""

    model: onnx.ModelProto
    initializers: Mapping[str, np.ndarray]

    def proto(self) -> onnx.ModelProto:
        """One ModelProto with everything inside. Raises ValueError when protobuf cannot hold it (2 GB)."""
        if self.nbytes > PROTOBUF_LIMIT:
            raise ValueError(
                f"{self.nbytes} bytes of weights do not fit into one protobuf message; save to a file instead"
            )
        whole = onnx.ModelProto()
        whole.CopyFrom(self.listed)
        for name, array in self.initializers.items():
            whole.graph.initializer.append(stored_tensor(name, array))
        return whole

    @property
    def opset(self) -> int:
        """The version of the standard's operators that it is written in."""
        return next(o.version for o in self.model.opset_import if not o.domain)

    @property
    def listed(self) -> onnx.ModelProto:
        """The model without its weights, with these among its inputs where its IR version wants that."""
        if self.model.ir_version >= LEAN:
            return self.model
        listed = onnx.ModelProto()
        listed.CopyFrom(self.model)
        stored = [(t.name, t.data_type, tuple(t.dims)) for t in self.model.graph.initializer]
        stored += [(name, code_of(a.dtype), a.shape) for name, a in self.initializers.items()]
        listed.graph.input.extend(helper.make_tensor_value_info(*each) for each in stored)
        return listed

    @property
    def nbytes(self) -> int:
        return sum(map(_size, self.initializers.values()))

    def save(self, path: str | os.PathLike[str], *, external: bool | None = None) -> list[Path]:
        """Write the model to path, and past 2 GB (or with external) its weights to ``path + ".data"`` beside it.

        Both are written under other names and renamed at the end. Gives the files written."""
        path = Path(path)
        if external is None:
            external = self.nbytes + self.model.ByteSize() > PROTOBUF_LIMIT
        data = path.with_name(path.name + ".data")
        if not external:
            with replacing(path) as file:
                self._write_embedded(file)
            return [path]
        with replacing_all(path, data) as (file, weights):
            self._write_external(file, weights, data.name)
        return [path, data]

    def with_external_data(self, file_name: str) -> onnx.ModelProto:
        """The model with its larger weights as external data *inside* the file that save wrote under this name.

        A runtime that opens it maps the very bytes of that file instead of copying them."""
        whole = onnx.ModelProto()
        whole.CopyFrom(self.listed)
        prefix, parts = self._embed()
        position = len(prefix)
        for (name, array), head in zip(self.initializers.items(), parts):
            tensor = _header(name, array)
            if array.nbytes > EXTERNAL_OVER:
                _refer(tensor, file_name, position + len(head), _size(array))
            else:
                tensor.raw_data = _bytes_of(array)
            whole.graph.initializer.append(tensor)
            position += len(head) + _size(array)
        return whole

    def _embed(self) -> tuple[bytes, list[bytes]]:
        """Beginning of the file, and the bytes before those of each initializer."""
        parts = []
        for name, array in self.initializers.items():
            body = _header(name, array).SerializeToString() + tag(_TENSOR_RAW) + varint(_size(array))
            parts.append(tag(_GRAPH_INITIALIZER) + varint(len(body) + _size(array)) + body)
        return self._prefix(sum(map(len, parts)) + self.nbytes), parts

    def _prefix(self, initializers: int, digest: str = "") -> bytes:
        """Everything before the initializers, which take so many bytes: the model, and its graph as the last field.

        digest: of weights in a file of their own."""
        head = onnx.ModelProto()
        listed = self.listed
        head.CopyFrom(listed)
        head.ClearField("graph")
        if digest:
            head.metadata_props.add(key=DATA_KEY, value=digest)
        graph = listed.graph.SerializeToString()
        return head.SerializeToString() + tag(_MODEL_GRAPH) + varint(len(graph) + initializers) + graph

    def _write_embedded(self, file: IO[bytes]) -> None:
        prefix, parts = self._embed()
        file.write(prefix)
        for head, array in zip(parts, self.initializers.values()):
            file.write(head)
            _write_array(file, array)

    def _write_external(self, file: IO[bytes], weights: IO[bytes], weights_name: str) -> None:
        """The model, and the weights behind a page that names their digest, which the model names too: so that a model and
        weights that were not written together are noticed."""
        digest = hashlib.blake2b(digest_size=16)
        weights.write(bytes(PAGE))
        parts = []
        for name, array in self.initializers.items():
            tensor = _header(name, array)
            if array.nbytes > EXTERNAL_OVER:
                digest.update(f"{name} {tensor.data_type} {array.shape}".encode())
                _refer(tensor, weights_name, _append_aligned(weights, array, digest), _size(array))
            else:
                tensor.raw_data = _bytes_of(array)
            body = tensor.SerializeToString()
            parts.append(tag(_GRAPH_INITIALIZER) + varint(len(body)) + body)
        weights.seek(0)
        weights.write(DATA_HEAD + digest.hexdigest().encode())
        file.write(self._prefix(sum(map(len, parts)), digest.hexdigest()))
        for part in parts:
            file.write(part)


def _refer(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    """Say that the tensor's bytes lie in another file."""
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def _header(name: str, array: np.ndarray) -> TensorProto:
    return TensorProto(name=name, dims=array.shape, data_type=code_of(array.dtype))


def stored_tensor(name: str, array: np.ndarray) -> TensorProto:
    """A tensor of numbers, as a message of its own."""
    tensor = _header(name, array)
    tensor.raw_data = _bytes_of(array)
    return tensor


def words_of(name: str, array: np.ndarray) -> TensorProto:
    """A tensor of strings (of str, any shape), whose content has a field of its own. Raises ConversionError for others."""
    words = array.reshape(-1).tolist()
    other = next((w for w in words if not isinstance(w, str)), None)
    if other is not None:
        raise ConversionError(f"constant {name}: got {other!r} among strings, wanted strings alone or numbers alone")
    content = [w.encode("utf-8", "surrogateescape") for w in words]
    return TensorProto(name=name, dims=array.shape, data_type=TensorProto.STRING, string_data=content)


_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
"""dtypes of which ONNX packs several elements into a byte, the first into the lowest bits."""


def _size(array: np.ndarray) -> int:
    """Bytes that the array takes in a file."""
    return -(-array.size * _BITS[array.dtype.name] // 8) if array.dtype.name in _BITS else array.nbytes


def _to_file_form(array: np.ndarray) -> np.ndarray:
    """The array as a file holds it: little-endian, small elements packed."""
    if array.dtype.name not in _BITS:
        return np.ascontiguousarray(
            array, array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
        )
    bits = _BITS[array.dtype.name]
    count = 8 // bits
    codes = np.zeros(_size(array) * count, np.uint8)
    codes[: array.size] = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & (1 << bits) - 1
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(codes.reshape(-1, count) << shifts, axis=1)


def _bytes_of(array: np.ndarray) -> bytes:
    return _to_file_form(array).tobytes()


def _write_array(file: IO[bytes], array: np.ndarray) -> None:
    if array.size:
        file.write(_to_file_form(array).reshape(-1).view(np.uint8).data)


def _append_aligned(file: IO[bytes], array: np.ndarray, digest: Any) -> int:
    position = file.tell()
    offset = -(-position // PAGE) * PAGE
    file.write(b"\0" * (offset - position))
    content = _to_file_form(array).reshape(-1).view(np.uint8).data
    digest.update(content)
    file.write(content)
    return offset


def tag(field: int) -> bytes:
    """Beginning of a field of counted bytes (a message, bytes, text); its length follows."""
    return varint(field << 3 | 2)  # wire type 2: length-delimited


def varint(value: int) -> bytes:
    """A number as protobuf writes it: 7 bits a byte, lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
