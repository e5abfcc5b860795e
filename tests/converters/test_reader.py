"""converters.reader: every data type from every field, external and sparse data, and what is no ONNX model."""

import mmap
import os
import shutil
import struct
import tracemalloc
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

from converters import reader
from converters.reader import ELEMENT_TYPES, STAYS_BELOW, STRING, OnnxFile, data_files, read_model
from converters.writer import DATA_HEAD, DATA_KEY, varint
from hybrid.core.error import FormatError, MissingFile
from tests.grouped import over

RANDOM = np.random.default_rng(7)
LARGE = STAYS_BELOW + 1


def bits_of(array: np.ndarray) -> bytes:
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def model_of(*tensors: TensorProto, sparse=(), nodes=()) -> onnx.ModelProto:
    info = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])
    nodes = [*nodes, helper.make_node("Identity", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [], [info], list(tensors), sparse_initializer=list(sparse))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def raw(name: str, array: np.ndarray) -> TensorProto:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return TensorProto(name=name, data_type=kind, dims=array.shape, raw_data=bits_of(array))


def read_back(tensor: TensorProto) -> np.ndarray:
    file = read_model(model_of(tensor).SerializeToString())
    return file.array(file.proto.graph.initializer[0])


def base_of(array: np.ndarray):
    owner = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner.obj if isinstance(owner, memoryview) else owner


def example(kind: int, shape: tuple[int, ...]) -> tuple[TensorProto, TensorProto, np.ndarray]:
    """A tensor of random bits: in raw_data, in a typed field, and the array that both hold."""
    layout, count = ELEMENT_TYPES[kind], int(np.prod(shape))
    size = -(-count * layout.bits // 8)
    content = RANDOM.integers(0, 2 if layout.dtype == "bool" else 256, size, np.uint8)
    if count % 2 and layout.bits < 8:
        content[-1] &= (1 << layout.bits * (count % (8 // layout.bits))) - 1
    if layout.field in (
        "float_data",
        "double_data",
    ):  # no NaN: it may lose its payload on the way through Python's floats
        step = 4 if layout.field == "float_data" else 8
        content[step - 1 :: step] &= 0xBF
    in_raw = TensorProto(name="w", data_type=kind, dims=shape, raw_data=content.tobytes())
    typed = TensorProto(name="w", data_type=kind, dims=shape)
    part = {"complex64": "<f4", "complex128": "<f8"}.get(layout.dtype)
    if part is None:
        signed = layout.dtype.startswith("int") and layout.bits >= 8
        plain = layout.dtype if layout.dtype in ("float32", "float64") else None
        part = plain or f"<{'i' if signed else 'u'}{max(1, layout.bits // 8)}"
    getattr(typed, layout.field).extend(content.view(part).tolist())
    if layout.bits >= 8:
        name = layout.dtype
        dtype = np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)
        return in_raw, typed, content.view(dtype).reshape(shape)
    bits = np.unpackbits(content, bitorder="little").reshape(-1, layout.bits)[:count]
    codes = np.packbits(bits, axis=1, bitorder="little")[:, 0]
    return in_raw, typed, codes.view(getattr(ml_dtypes, layout.dtype)).reshape(shape)


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    return got.dtype == wanted.dtype and got.shape == wanted.shape and got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", [k for k in ELEMENT_TYPES if k != STRING], ids=lambda k: ELEMENT_TYPES[k].dtype)
@over("shape", [(3, 5), (), (0, 4), (71, 83)])
def test_every_data_type_from_raw_data_and_typed_fields(kind: int, shape: tuple[int, ...]) -> None:
    if not hasattr(ml_dtypes, ELEMENT_TYPES[kind].dtype) and ELEMENT_TYPES[kind].dtype not in np.sctypeDict:
        with pytest.raises(FormatError, match="ml_dtypes"):
            read_back(TensorProto(name="w", data_type=kind, dims=[0]))
        return
    in_raw, typed, wanted = example(kind, shape)
    assert same(read_back(in_raw), wanted)
    assert same(got := read_back(typed), wanted)
    assert not got.flags.writeable


@pytest.mark.parametrize("kind", [k for k in ELEMENT_TYPES if k != STRING], ids=lambda k: ELEMENT_TYPES[k].dtype)
def test_agrees_with_onnx(kind: int) -> None:
    if kind not in TensorProto.DataType.values() or tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 19):
        pytest.xfail("this onnx lacks the data type, or has dtypes of its own instead of those of ml_dtypes")
    for tensor in example(kind, (7, 3))[:2]:
        assert same(read_back(tensor), numpy_helper.to_array(tensor))


def test_strings() -> None:
    texts = np.array([["a", ""], ["żółw", "x\0y"]], object)
    got = read_back(helper.make_tensor("w", STRING, (2, 2), [t.encode() for t in texts.ravel()]))
    assert got.dtype == object and got.tolist() == texts.tolist()
    with pytest.raises(FormatError, match="tensor 'w': got a string that is not UTF-8"):
        read_back(TensorProto(name="w", data_type=STRING, dims=[1], string_data=[b"\xff"]))
    with pytest.raises(FormatError, match="content in raw_data"):
        read_back(TensorProto(name="w", data_type=STRING, dims=[5], raw_data=b"abcde"))


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (TensorProto(data_type=1, dims=[-1], raw_data=b"1234"), "none negative"),
        (TensorProto(data_type=1, dims=[-1, 3, -2], raw_data=b"1234" * 6), "none negative"),
        (TensorProto(data_type=1, dims=[1 << 40, 1 << 40], raw_data=b"1234"), "got raw_data of length 4"),
        (TensorProto(data_type=1, dims=[1 << 40]), "got float_data of length 0"),
        (TensorProto(data_type=1, dims=[2], raw_data=b"1234"), "wanted length 8"),
        (TensorProto(data_type=1, dims=[1], raw_data=b"1234", float_data=[1]), "and content in float_data"),
        (TensorProto(data_type=1, dims=[1], int32_data=[1]), "float_data of length 0 and content in int32_data"),
        (TensorProto(data_type=3, dims=[1], int32_data=[300]), "wanted 8 bits each"),
        (TensorProto(data_type=12, dims=[1], uint64_data=[1 << 32]), "wanted 32 bits each"),
        (TensorProto(data_type=9, dims=[1], raw_data=b"\2"), "other than 0 and 1"),
        (TensorProto(data_type=0, dims=[1], raw_data=b"1234"), "got data type 0"),
        (TensorProto(data_type=77, dims=[1], raw_data=b"1234"), "got data type 77"),
        (TensorProto(data_type=1, dims=[0, 1 << 62, 1 << 62]), "got dims"),
        (TensorProto(data_type=1, dims=[1] * 70, raw_data=b"1234"), "got dims"),
        (TensorProto(data_type=1, segment=TensorProto.Segment(begin=0, end=4), raw_data=b"1234"), "segment"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_tensors_that_contradict_themselves(tensor: TensorProto, message: str) -> None:
    tensor.name = "odd"
    with pytest.raises(FormatError, match=f"tensor 'odd': .*{message}"):
        read_back(tensor)


def test_weights_are_views_of_the_mapped_file(tmp_path: Path) -> None:
    arrays = {f"w{'_' * i}": RANDOM.standard_normal((64, 33)).astype(np.float32) for i in range(8)}
    path = tmp_path / "model.onnx"
    model = model_of(*(raw(name, array) for name, array in arrays.items()))
    model.graph.initializer[0].data_location = TensorProto.DEFAULT  # as onnx leaves it when it has loaded external data
    path.write_bytes(model.SerializeToString())
    file = read_model(path)
    assert file.proto.ByteSize() < 2000
    aligned = 0
    for tensor in file.proto.graph.initializer:
        got = file.array(tensor)
        assert same(got, arrays[tensor.name]) and not got.flags.writeable
        assert isinstance(base_of(got), mmap.mmap) and np.shares_memory(got, np.frombuffer(file.data, np.uint8))
        aligned += got.flags.aligned
        # what stands in the content's place means the same to others, who read the file again
        assert same(numpy_helper.to_array(tensor, str(tmp_path)), got)
    assert 1 <= aligned < 8  # both kinds have been seen


def test_mapped_from_bytes_and_typed_floats(tmp_path: Path) -> None:
    """The files that old MXNet wrote hold their weights as float_data, which stand there as they stand in memory."""
    for kind, dtype in ((1, "f4"), (11, "f8"), (14, "c8"), (15, "c16")):
        wanted = RANDOM.standard_normal(LARGE).astype(dtype)
        tensor = helper.make_tensor("w", kind, wanted.shape, wanted)
        file = read_model(model_of(tensor).SerializeToString())
        assert file.proto.ByteSize() < 300 and same(file.array(file.proto.graph.initializer[0]), wanted)
    unpacked = b"".join(b"\x25" + struct.pack("<f", i) for i in range(2000))  # each element a field of its own
    head = TensorProto(name="w", data_type=1, dims=[2000]).SerializeToString()
    assert same(read_back(TensorProto.FromString(head + unpacked)), np.arange(2000, dtype="f4"))


def test_everywhere_in_the_model() -> None:
    """Subgraphs, functions, constants and sparse tensors at once; small and large."""
    arrays = [RANDOM.standard_normal(size).astype("f4") for size in (3, LARGE)]
    tensors = [raw(f"w{i}", a) for i, a in enumerate(arrays)]
    inner = helper.make_graph([helper.make_node("Constant", [], ["c"], value=tensors[1])], "inner", [], [], tensors)
    nodes = [helper.make_node("If", ["x"], ["z"], then_branch=inner, else_branch=inner)]
    model = model_of(*tensors, nodes=nodes)
    constant = helper.make_node("Constant", [], ["f"], value=tensors[1])
    model.functions.append(helper.make_function("d", "F", [], ["f"], [constant], model.opset_import))
    file = read_model(model.SerializeToString())
    found = []

    def collect(graph):
        found.extend(graph.initializer)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    found.append(attribute.t)
                elif attribute.type == onnx.AttributeProto.GRAPH:
                    collect(attribute.g)

    collect(file.proto.graph)
    collect(onnx.GraphProto(node=file.proto.functions[0].node))
    assert len(found) == 2 + 2 * 3 + 1 and file.proto.ByteSize() < 3000
    for tensor in found:
        assert same(file.array(tensor), arrays[tensor.name == "w1"])
    assert all(same(read_model(model).array(t), arrays[t.name == "w1"]) for t in model.graph.initializer)


def sparse_of(values: np.ndarray, indices, dims) -> SparseTensorProto:
    tensors = raw("s", values), raw("i", np.array(indices, np.int64))
    return SparseTensorProto(values=tensors[0], indices=tensors[1], dims=dims)


def dense_of(tensor: SparseTensorProto) -> np.ndarray:
    file = read_model(model_of(sparse=[tensor]).SerializeToString())
    return file.sparse(file.proto.graph.sparse_initializer[0])


def test_sparse() -> None:
    values = np.array([1.5, -2, 3], "f4")
    wanted = np.zeros((3, 4), "f4")
    wanted[[2, 0, 1], [1, 3, 0]] = values  # in no order
    assert same(dense_of(sparse_of(values, [9, 3, 4], (3, 4))), wanted)
    assert same(dense_of(sparse_of(values, [[2, 1], [0, 3], [1, 0]], (3, 4))), wanted)
    assert same(dense_of(sparse_of(values[:0], np.zeros((0, 2)), (0, 4))), np.zeros((0, 4), "f4"))
    large = RANDOM.standard_normal(LARGE)
    assert same(dense_of(sparse_of(large, np.arange(LARGE)[::-1], (LARGE,))), large[::-1].copy())


@pytest.mark.parametrize(
    ("indices", "dims", "message"),
    [
        ([0, 1, 12], (3, 4), "outside"),
        ([0, 1, -1], (3, 4), "outside"),
        ([[0, 0], [0, 4], [0, 1]], (3, 4), "outside"),
        ([0, 1, 1], (3, 4), "twice"),
        ([[0, 0], [1, 0], [0, 0]], (3, 4), "twice"),
        ([0, 1], (3, 4), r"values \(3,\)"),
        ([[0], [1], [2]], (3, 4), r"values \(3,\)"),
        ([0, 1, 2], (-3, 4), "negative"),
        ([0, 1, 2], (1 << 40, 1 << 40), "at most"),
        ([0, 1, 2], (0, 1 << 62, 1 << 62), "got sparse dims"),
        ([0, 1, 2], (4, -1), r"dims \(4, -1\), wanted none negative"),
        ([0, 1, 2], (-2, 3, -5), r"dims \(-2, 3, -5\), wanted none negative"),
    ],
)
def test_sparse_tensors_that_contradict_themselves(indices, dims, message: str) -> None:
    with pytest.raises(FormatError, match=f"tensor 's': .*{message}"):
        dense_of(sparse_of(np.ones(3, "f4"), indices, dims))


def external(location: str, turned: bool = False, **entries: object) -> TensorProto:
    """turned: the entries in the other order, the location last."""
    tensor = TensorProto(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in list({"location": location, **entries}.items())[:: -1 if turned else 1]:
        tensor.external_data.add(key=key, value=str(value))
    return tensor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with w.bin (16 bytes: floats 0 to 3) in it and beside it."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "w.bin").write_bytes(np.arange(4, dtype="<f4").tobytes())
    shutil.copy(inside / "w.bin", tmp_path / "secret.bin")
    return inside


def read_from(folder: Path, tensor: TensorProto) -> np.ndarray:
    path = folder / "model.onnx"
    path.write_bytes(model_of(tensor).SerializeToString())
    file = read_model(path)
    return file.array(file.proto.graph.initializer[0])


def test_external_data(folder: Path) -> None:
    (folder / "sub").mkdir()
    os.symlink(folder / "w.bin", folder / "sub" / "link.bin")
    for location in ("w.bin", "./w.bin", "sub/link.bin"):
        for turned in (False, True):
            tensor = external(location, turned, offset=4, length=8, checksum="x")
            got = read_from(folder, tensor)
            assert got.tolist() == [1, 2] and isinstance(base_of(got), mmap.mmap) and not got.flags.writeable
            assert data_files(model_of(tensor), folder) == [folder / location]
    assert read_from(folder, external("w.bin")).tolist() == [0, 1]
    model = model_of(external("w.bin", offset="8"))
    for source in (model, model.SerializeToString()):
        file = read_model(source, folder=folder)
        assert file.array(file.proto.graph.initializer[0]).tolist() == [2, 3]
        with pytest.raises(FormatError, match="folder="):
            read_model(source).array(model.graph.initializer[0])


@pytest.mark.parametrize(
    ("location", "entries", "message"),
    [
        ("../secret.bin", {}, "inside the model's folder"),
        ("sub/../../secret.bin", {}, "inside the model's folder"),
        ("..\\secret.bin", {}, "inside the model's folder"),
        ("/etc/passwd", {}, "inside the model's folder"),
        ("C:\\secret.bin", {}, "inside the model's folder"),
        ("w.bin\0", {}, "inside the model's folder"),
        ("link.bin", {}, "a link out of the model's folder"),
        ("out/secret.bin", {}, "a link out of the model's folder"),
        ("beside.bin", {}, "a link out of the model's folder"),
        ("loop", {}, "no such file|no regular file"),
        (".", {}, "no regular file"),
        ("pipe", {}, "no regular file"),
        ("", {}, "no location"),
        ("w.bin", {"offset": 12}, "wanted 8"),
        ("w.bin", {"length": 4}, "got 4 bytes"),
        ("w.bin", {"length": 16}, "got 16 bytes"),
        ("w.bin", {"offset": -4}, "whole numbers"),
        ("w.bin", {"offset": "9" * 30}, "whole numbers"),
        ("w.bin", {"length": "٣"}, "whole numbers"),
        ("w.bin", {"offset": 1 << 62, "length": 8}, "wanted 8"),
        ("empty.bin", {}, "wanted 8"),
    ],
)
def test_external_data_that_leaves_the_folder_or_the_file(folder: Path, location, entries, message: str) -> None:
    os.symlink("../secret.bin", folder / "link.bin")
    os.symlink("..", folder / "out")
    other = folder.with_name(folder.name + "2")  # its name begins as the folder's does
    other.mkdir()
    (other / "secret.bin").write_bytes(bytes(64))
    os.symlink(other / "secret.bin", folder / "beside.bin")
    os.symlink("loop", folder / "loop")
    os.mkfifo(folder / "pipe")
    (folder / "empty.bin").touch()
    with pytest.raises((FormatError, MissingFile), match=f"tensor 'w': .*({message})"):
        read_from(folder, external(location, **entries))


def test_a_missing_file_of_external_data(folder: Path) -> None:
    with pytest.raises(MissingFile, match=r"tensor 'w': its data lies in .*gone.bin' and there is no such file"):
        read_from(folder, external("gone.bin"))
    twice = external("w.bin")
    twice.external_data.add(key="location", value="other.bin")
    with pytest.raises(FormatError, match="one key twice"):
        read_from(folder, twice)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an empty file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:12\n", "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (b'{"nodes": [], "heads": []}', "a JSON file"),
        (struct.pack("<QQQQ", 0x112, 0, 0, 0), "a .params file"),
        (b"PK\x03\x04 a Torch file", "wanted a whole ONNX model"),
        (bytes(range(255, 0, -1)), "wanted a whole ONNX model"),
        (b"\x08\x08", "holds no graph"),
    ],
)
def test_what_is_no_onnx_model(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    for source in (path, content):
        with pytest.raises(FormatError, match=message):
            read_model(source)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        read_model(tmp_path / "gone.onnx")
    with pytest.raises(FormatError, match="got a folder"):
        read_model(tmp_path)
    with pytest.raises(TypeError):
        read_model(7)


@pytest.mark.parametrize("name", [b"tttt", b"iiii", b"aaaa", b"llll", b"nnnn"])
def test_names_that_are_not_text(name: bytes) -> None:
    """Of a tensor, an input, an attribute, an external location, and a node in a subgraph."""
    inner = helper.make_graph([helper.make_node("Relu", ["x"], ["r"], name="nnnn")], "inner", [], [])
    nodes = [helper.make_node("If", ["iiii"], ["z"], then_branch=inner, aaaa=1)]
    model = model_of(raw("tttt", np.ones(3, "f4")), external("llll"), nodes=nodes).SerializeToString()
    read_model(model)
    damaged = model.replace(name, b"\xffyz ")
    for source in (damaged, onnx.ModelProto.FromString(damaged)):
        with pytest.raises(FormatError, match="not UTF-8"):
            read_model(source)


def filled(message: Message, path: tuple[str, ...], words: dict[bytes, tuple[str, ...]]) -> None:
    """Give every text and every message inside a message; words: what the texts are and where."""
    for field in message.DESCRIPTOR.fields:
        place, old = (*path, field.name), getattr(message, field.name)
        many = hasattr(old, "extend")
        if field.type == FieldDescriptor.TYPE_STRING:
            word = f"<{len(words):04}>"
            words[word.encode()] = place
            old.append(word) if many else setattr(message, field.name, word)
        elif field.type == FieldDescriptor.TYPE_MESSAGE and field.name not in path and len(path) < 5:
            filled(old.add() if many else old, place, words)


NOT_READ = {"doc_string", "metadata_props", "overload", "device_configurations"}


def test_every_text_of_a_model_is_looked_at() -> None:
    """But for descriptions, and what onnx has for others."""
    model, words = onnx.ModelProto(), dict[bytes, tuple[str, ...]]()
    filled(model, (), words)
    whole, taken, tried = model.SerializeToString(), set(), set()
    read_model(whole)
    for word, place in words.items():
        if word in whole and place[-3:] not in tried and (not NOT_READ.intersection(place) or len(place) < 3):
            tried.add(place[-3:])
            try:
                read_model(whole.replace(word, b"<\xff" + word[2:]))
            except FormatError as error:
                assert "not UTF-8" in str(error)
            else:
                taken.add(place)
    assert {("doc_string",), ("metadata_props", "key"), ("graph", "doc_string")} <= taken
    assert all(NOT_READ.intersection(place) for place in taken)
    assert len(tried) > 100


WHOLE = model_of(
    raw("a", RANDOM.standard_normal((40, 40)).astype("f4")),
    raw("b", np.arange(3)),
    sparse=[sparse_of(np.ones(2, "f4"), [0, 3], (2, 2))],
    nodes=[helper.make_node("Constant", [], ["c"], value=raw("c", np.ones(LARGE, "i1")))],
).SerializeToString()


def read_all(data: bytes) -> None:
    """Succeeds or raises one of the errors that a caller expects."""
    try:
        file: OnnxFile = read_model(data)
    except FormatError:
        return
    graph = file.proto.graph
    tensors = [*graph.initializer, *(a.t for n in graph.node for a in n.attribute if a.HasField("t"))]
    for read, part in [*((file.array, t) for t in tensors), *((file.sparse, s) for s in graph.sparse_initializer)]:
        try:
            read(part)
        except FormatError:
            continue


@given(st.data())
def test_damaged_files_end_in_a_typed_error(data: st.DataObject) -> None:
    damaged = bytearray(WHOLE)
    interesting = st.one_of(st.integers(0, 120), st.integers(6400, 6640), st.integers(0, len(WHOLE) - 1))
    for _ in range(data.draw(st.integers(1, 4))):
        at, byte = data.draw(interesting), data.draw(st.integers(0, 255))
        damaged[min(at, len(damaged) - 1)] = byte
    cut = data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))
    read_all(bytes(damaged[:cut]))


def test_every_truncation_is_noticed() -> None:
    for size in range(0, len(WHOLE) - 20, 37):
        with pytest.raises(FormatError):
            read_model(WHOLE[:size])


def test_nothing_is_allocated_on_the_word_of_a_header() -> None:
    tracemalloc.start()
    for tensor in (
        TensorProto(name="w", data_type=1, dims=[1 << 33], raw_data=b"1234"),
        TensorProto(name="w", data_type=STRING, dims=[1 << 30]),
        TensorProto(name="w", data_type=22, dims=[1 << 40], int32_data=[1]),
    ):
        with pytest.raises(FormatError):
            read_back(tensor)
    with pytest.raises(FormatError):
        read_model(WHOLE[:3] + b"\x3a\xff\xff\xff\xff\x7f" + WHOLE[3:])
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_messages_too_deep() -> None:
    """A nest of subgraphs that no protobuf would parse is refused before Python's stack is used up."""
    body = raw("w", np.ones(LARGE, "f4")).SerializeToString()
    message = b"\x2a" + length(body) + body
    for _ in range(300):
        for key in (b"\x32", b"\x2a", b"\x0a"):  # attribute.g, node.attribute, graph.node
            message = key + length(message) + message
    with pytest.raises(FormatError, match="inside one another"):
        read_model(b"\x08\x08\x3a" + length(message) + message)


def length(message: bytes) -> bytes:
    size, out = len(message), b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return out + bytes([size])


def field(number: int, wire: int, content: bytes) -> bytes:
    """A field as protobuf writes it; counted content with its length."""
    return varint(number << 3 | wire) + (varint(len(content)) if wire == 2 else b"") + content


def in_graph(*extra: bytes, tensor: bytes) -> bytes:
    """A model whose graph holds a tensor and what else is given, before and after it."""
    model = model_of()
    graph = b"".join([*extra, field(5, 2, tensor), *extra, model.graph.SerializeToString()])
    model.ClearField("graph")
    return model.SerializeToString() + field(7, 2, graph)


def test_fields_of_every_kind_are_passed_over() -> None:
    """As in messages of a newer ONNX: of 4 and 8 bytes, numbers and counted ones, around and in large messages."""
    array = RANDOM.standard_normal(LARGE).astype("f4")
    unknown = [
        field(1000, 5, b"\x21" * 4),
        field(1001, 1, b"\x22" * 8),
        field(77, 0, varint(1 << 40)),
        field(1002, 2, b"\x23" * 300),
    ]
    for content in (field(9, 2, array.tobytes()), field(4, 2, array.tobytes())):
        head = TensorProto(name="w", data_type=1, dims=array.shape).SerializeToString()
        for tensor in (head + content, content + head, b"".join([*unknown, head, *unknown, content, *unknown])):
            file = read_model(in_graph(*unknown, tensor=tensor))
            (found,) = file.proto.graph.initializer
            assert same(file.array(found), array)
            assert file.proto.ByteSize() < 2000  # the content stays where it is
    for broken, message in (
        (field(1001, 1, b"\x22" * 8)[:-1], "wants 8 bytes|no field|no whole number"),
        (field(1000, 3, b""), "no field that ONNX has"),
        (field(0, 0, b"\x01"), "no field that ONNX has"),
        (b"\xff" * 12, "no whole number"),
    ):
        graph = field(5, 2, raw("w", array).SerializeToString()) + broken
        with pytest.raises(FormatError, match=f"wanted a whole ONNX model.*({message})"):
            read_model(model_of().SerializeToString() + field(7, 2, graph))


def test_content_that_cannot_stay_where_it_is() -> None:
    """In two fields the last counts, as protobuf has it; a segment, and a type that is not known, are refused when asked for."""
    array = RANDOM.standard_normal(LARGE).astype("f4")
    head = TensorProto(name="w", data_type=1, dims=array.shape).SerializeToString()
    twice = head + field(9, 2, (array * 2).tobytes()) + field(9, 2, array.tobytes())
    file = read_model(in_graph(tensor=twice))
    assert same(file.array(file.proto.graph.initializer[0]), array)
    parts = raw("w", array)
    parts.segment.begin, parts.segment.end = 0, 5
    strange = TensorProto(name="w", data_type=99, dims=array.shape, raw_data=array.tobytes())
    for tensor, message in ((parts, "got one segment"), (strange, "got data type 99")):
        file = read_model(in_graph(tensor=tensor.SerializeToString()))
        with pytest.raises(FormatError, match=message):
            file.array(file.proto.graph.initializer[0])
    tensor = field(5, 2, raw("t", array).SerializeToString())
    attribute = field(1, 2, b"value") + tensor + tensor
    node = field(2, 2, b"c") + field(4, 2, b"Constant") + field(5, 2, attribute)
    with pytest.raises(FormatError, match="field 5 of attribute twice"):
        read_model(in_graph(field(1, 2, node), tensor=head))


def test_sparse_tensors_at_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([1.5, -2, 3], "f4")
    monkeypatch.setattr(reader, "MOST_DENSE", 48)
    assert same(dense_of(sparse_of(values, [11, 3, 0], (3, 4)))[2, 3], np.float32(1.5))
    with pytest.raises(FormatError, match=r"dims \(13,\), wanted none negative and at most 48 bytes"):
        dense_of(sparse_of(values, [11, 3, 0], (13,)))
    assert not dense_of(sparse_of(values, [11, 3, 0], (3, 4))).flags.writeable
    assert dense_of(sparse_of(values[:0], np.zeros((0, 1)), (0,))).shape == (0,)


def test_numbers_below_zero_are_passed_over() -> None:
    """They take ten bytes, wherever they stand beside weights that stay in the file."""
    inner = helper.make_graph([], "inner", [], [], [raw("w", np.arange(-LARGE, 0, dtype="i8"))])
    nodes = [helper.make_node("Loop", ["x"], ["z"], body=inner, at=-1, below=-(1 << 63), several=[-3, 5, -7])]
    model = model_of(raw("v", np.arange(LARGE, dtype="f4")), nodes=nodes)
    model.model_version = model.ir_version = -9
    file = read_model(model.SerializeToString())
    assert file.proto.ByteSize() < 2000
    assert (file.proto.model_version, file.proto.ir_version) == (-9, -9)
    node = file.proto.graph.node[0]
    got = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert [got["at"], got["below"], list(got["several"])] == [-1, -(1 << 63), [-3, 5, -7]]
    assert same(file.array(got["body"].initializer[0]), np.arange(-LARGE, 0, dtype="i8"))


def test_limits_of_messages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sizes that protobuf takes, and those left to it because they are small."""
    path = tmp_path / "model.onnx"
    path.write_bytes(WHOLE)
    whole = len(WHOLE)
    beside = read_model(path).proto
    pieces = reader._without_content(memoryview(WHOLE), 0, whole, "model", "model.onnx")
    assert pieces is not None
    size = sum(map(len, pieces))
    for limit, fits in ((size, True), (size - 1, False)):
        monkeypatch.setattr(reader, "PROTOBUF_LIMIT", limit)
        if fits:
            assert read_model(path).proto == beside
        else:
            with pytest.raises(FormatError, match=f"{size} bytes beside the weights, wanted at most {limit}"):
                read_model(path)
    monkeypatch.undo()
    for count, outside in ((reader.STAYS_BELOW, False), (reader.STAYS_BELOW + 1, True)):
        array = np.arange(count, dtype="u1")
        file = read_model(in_graph(tensor=raw("w", array).SerializeToString()))
        (found,) = file.proto.graph.initializer
        assert bool(found.external_data) == outside
        assert same(file.array(found), array)
    bare = onnx.ModelProto(ir_version=8)
    bare.graph.output.append(helper.make_tensor_value_info("w", 1, [3]))
    bare.graph.initializer.append(raw("w", np.ones(3, "f4")))
    for only in ("node", "output"):
        model = onnx.ModelProto()
        model.CopyFrom(bare)
        if only == "node":
            del model.graph.output[:]
            model.graph.node.append(helper.make_node("Neg", ["w"], ["y"]))
        assert read_model(model.SerializeToString()).proto == model
    with pytest.raises(FormatError, match="wanted a whole ONNX model"):  # bytes are no path
        read_model(b".")


def test_places_in_other_files(folder: Path) -> None:
    """The longest number, the very end of a file, and tensors without elements anywhere in it."""
    got = read_from(folder, external("w.bin", offset="0" * 18 + "8", length=8))
    assert got.tolist() == [2, 3]
    for key in ("offset", "length"):
        with pytest.raises(FormatError, match="wanted whole numbers"):
            read_from(folder, external("w.bin", **{key: "0" * 19 + "8"}))
    for start in (0, 4, 16):  # 16 is where the file ends
        empty = external("w.bin", offset=start)
        empty.dims[:] = [0, 3]
        assert read_from(folder, empty).shape == (0, 3)
    with pytest.raises(FormatError, match="wanted 0 for dims"):
        late = external("w.bin", offset=17)
        late.dims[:] = [0]
        read_from(folder, late)


def test_sparse_tensors_of_other_forms() -> None:
    values, places = np.array([1.5, -2], "f4"), np.array([3, 0], np.int64)
    for numbers, indices, said in (
        (values.reshape(2, 1), places.reshape(2, 1), r"got sparse values \(2, 1\) at int64 indices \(2, 1\)"),
        (values, places.astype(np.int32), r"got sparse values \(2,\) at int32 indices \(2,\)"),
        (values, places[:1], r"at int64 indices \(1,\)"),
    ):
        sparse = SparseTensorProto(dims=[2, 2])
        sparse.values.CopyFrom(raw("w", numbers))
        sparse.indices.CopyFrom(raw("i", indices))
        with pytest.raises(FormatError, match=said):
            dense_of(sparse)


def test_only_files_beside_the_model_are_held_to_its_digest(folder: Path) -> None:
    """Each of them; what lies elsewhere is refused or taken when it is asked for."""
    (folder / "sub").mkdir()
    content = {name: DATA_HEAD + name.encode() * 32 + bytes(64) for name in "ab"}
    for place in ("first.bin", "second.bin", "sub/third.bin"):
        (folder / place).write_bytes(content["a"])

    def opened(*places: str, digest: str = "a" * 32, turned: bool = False) -> OnnxFile:
        model = model_of(*(external(p, turned, offset=len(DATA_HEAD) + 32) for p in places))
        model.metadata_props.add(key=DATA_KEY, value=digest)
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return read_model(path)

    opened("first.bin", "second.bin")
    for wrong in ("first.bin", "second.bin"):
        (folder / wrong).write_bytes(content["b"])
        with pytest.raises(FormatError, match=f"its weights in {wrong} were not written together with it"):
            opened("first.bin", "second.bin", turned=wrong == "second.bin")
        (folder / wrong).write_bytes(content["a"])
    (folder / "sub" / "third.bin").write_bytes(content["b"])
    file = opened("sub/third.bin", "gone.bin")
    assert file.array(file.proto.graph.initializer[0]).tolist() == [0, 0]
    model = model_of(external("first.bin"))
    model.metadata_props.add(key=DATA_KEY, value="b" * 32)
    assert read_model(model.SerializeToString()).folder is None
    del model.metadata_props[:]  # another tool wrote the model again, and dropped what it does not know
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    assert read_model(folder / "model.onnx").array(model.graph.initializer[0]).shape == (2,)


def test_which_tensors_stay_in_the_file() -> None:
    """Those whose content lies there as it is in memory, in one counted field, of a type that is known."""
    content = bytes(STAYS_BELOW + 8)
    kind = field(2, 0, varint(1))
    for message, stays in (
        (kind + field(9, 2, content), True),
        (kind + field(4, 2, content), True),
        (field(2, 0, varint(11)) + field(10, 2, content), True),
        (kind + field(9, 2, content[:STAYS_BELOW]), False),
        (kind + field(10, 2, content), False),
        (field(2, 0, varint(11)) + field(4, 2, content), False),
        (field(2, 0, varint(7)) + field(7, 2, content), False),
        (field(2, 0, varint(STRING)) + field(9, 2, content), False),
        (field(2, 0, varint(STRING)) + field(6, 2, content), False),
        (field(2, 2, b"\x01") + field(9, 2, content), False),
        (field(2, 0, varint(99)) + field(9, 2, content), False),
        (field(9, 2, content), False),
        (kind + field(8, 2, content), False),
        (kind + field(4, 5, b"\x00" * 4) + field(8, 2, content), False),
        (kind + field(4, 5, b"\x00" * 4) + field(9, 2, content), False),
        (kind + field(9, 2, content) + field(14, 0, varint(0)), True),
        (kind + field(9, 2, content) + field(14, 0, varint(1)), False),
        (kind + field(9, 2, content) + field(13, 2, b""), False),
    ):
        found = reader._reference(memoryview(message), 0, len(message), "here")
        assert (found is not None) == stays, message[:16]
        if found is not None:
            told = {e.key: e.value for e in TensorProto.FromString(b"".join(found)).external_data}
            assert told == {"location": "here", "offset": str(message.index(content)), "length": str(len(content))}
