"""Stored tensors: arrays of elements smaller than a byte, which ONNX packs; weights inside, beside and mapped."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from converters import ConversionError, writer
from converters.reader import read_model
from converters.writer import Converted
from hybrid.core.error import FormatError
from tests.versions import old_runtime

ml_dtypes = pytest.importorskip("ml_dtypes")

VALUES = np.arange(15).reshape(3, 5)  # an odd number: the last byte is half empty


def model(kind: Any, shape: tuple[int, ...]) -> Converted:
    """w, given as it is."""
    node = onnx.helper.make_node("Identity", ["w"], ["y"])
    output = onnx.helper.make_tensor_value_info("y", kind, shape)
    graph = onnx.helper.make_graph([node], "stored", [], [output])
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    dtype = np.dtype(getattr(ml_dtypes, {onnx.TensorProto.INT4: "int4", onnx.TensorProto.UINT4: "uint4"}[kind]))
    low = -8 if kind == onnx.TensorProto.INT4 else 0
    return Converted(proto, {"w": np.resize(VALUES + low, shape).astype(dtype)})


@pytest.mark.parametrize("kind", [onnx.TensorProto.INT4, onnx.TensorProto.UINT4], ids=["int4", "uint4"])
@pytest.mark.parametrize("shape", [(3, 5), (1,), (0, 4), (70, 71)], ids=str)
@pytest.mark.parametrize("external", [None, True], ids=["inside", "beside"])
def test_halves_of_bytes(kind: int, shape: tuple[int, ...], external: bool | None, tmp_path: Path) -> None:
    converted = model(kind, shape)
    want = converted.initializers["w"]
    assert converted.nbytes == (want.size + 1) // 2
    protos = [converted.proto(), onnx.load(converted.save(tmp_path / "m.onnx", external=external)[0])]
    for proto in protos:
        (tensor,) = proto.graph.initializer
        stored = onnx.numpy_helper.to_array(tensor)
        assert stored.shape == want.shape
        assert stored.astype(int).tolist() == want.astype(int).tolist()


@old_runtime("has no integers of 4 bits")
def test_onnxruntime_reads_them(tmp_path: Path) -> None:
    converted = model(onnx.TensorProto.INT4, (3, 5))
    nodes = converted.model.graph.node
    nodes.append(onnx.helper.make_node("Cast", ["w"], ["z"], to=onnx.TensorProto.FLOAT))
    del converted.model.graph.output[:]
    converted.model.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, (3, 5)))
    session = onnxruntime.InferenceSession(converted.proto().SerializeToString(), providers=["CPUExecutionProvider"])
    assert np.asarray(session.run(None, {})[0]).astype(int).tolist() == (VALUES - 8).tolist()


def weights() -> dict[str, np.ndarray]:
    """Of sizes right at and above what stays in the model, in several dtypes and layouts."""
    numbers = np.random.default_rng(11).standard_normal
    return {
        "least": numbers(256).astype(np.float32),
        "more": numbers(257).astype(np.float32),
        "turned": numbers((40, 30)).T,
        "swapped": numbers(600).astype(">f4"),
        "whole": np.arange(-700, 700),
        "nothing": np.zeros((0, 3), np.float32),
        "one": np.float32(2.5).reshape(()),
        "truth": np.arange(3000).reshape(30, 100) % 3 == 1,
    }


def stored(arrays: dict[str, np.ndarray]) -> Converted:
    """A model that gives each array as it is, and its own metadata."""
    nodes = [onnx.helper.make_node("Identity", [n], [f"{n}_out"]) for n in arrays]
    infos = [onnx.helper.make_empty_tensor_value_info(f"{n}_out") for n in arrays]
    graph = onnx.helper.make_graph(nodes, "stored", [], infos)
    opsets = [onnx.helper.make_opsetid("ai.onnx.ml", 3), onnx.helper.make_opsetid("", 17)]
    proto = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    proto.metadata_props.add(key="own", value="kept")
    return Converted(proto, arrays)


def check(proto: onnx.ModelProto, base: str = "") -> None:
    arrays = weights()
    found = {t.name: onnx.numpy_helper.to_array(t, base) for t in proto.graph.initializer}
    assert list(found) == list(arrays)
    assert [n.input[0] for n in proto.graph.node] == list(arrays)
    assert [(o.domain, o.version) for o in proto.opset_import] == [("ai.onnx.ml", 3), ("", 17)]
    for name, want in arrays.items():
        assert (found[name].shape, found[name].dtype) == (want.shape, want.dtype.newbyteorder("="))
        np.testing.assert_array_equal(found[name], want, err_msg=name)


def test_weights_inside(tmp_path: Path) -> None:
    converted = stored(weights())
    assert converted.nbytes == sum(a.nbytes for a in weights().values())
    assert converted.opset == 17
    (path,) = converted.save(tmp_path / "m.onnx")
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
    for proto in (converted.proto(), onnx.load(path)):
        check(proto)
        assert [(p.key, p.value) for p in proto.metadata_props] == [("own", "kept")]
    again = read_model(path)
    for tensor in again.proto.graph.initializer:
        np.testing.assert_array_equal(again.array(tensor), weights()[tensor.name])


def test_weights_mapped_from_the_file_that_holds_them(tmp_path: Path) -> None:
    converted = stored(weights())
    converted.save(tmp_path / "m.onnx")
    content = (tmp_path / "m.onnx").read_bytes()
    mapped = converted.with_external_data("m.onnx")
    check(mapped, str(tmp_path))
    outside = {t.name: {e.key: e.value for e in t.external_data} for t in mapped.graph.initializer if t.external_data}
    assert set(outside) == {"more", "turned", "swapped", "whole", "truth"}
    for name, at in outside.items():
        start, length = int(at["offset"]), int(at["length"])
        want = weights()[name]
        assert at["location"] == "m.onnx"
        assert content[start : start + length] == want.astype(want.dtype.newbyteorder("<")).tobytes()


def test_weights_lie_behind_halves_of_bytes_where_they_are_said_to(tmp_path: Path) -> None:
    """Elements of 4 bits take half of what NumPy holds them in; whole and cut off within a byte, large and small, in any place."""
    floats = np.linspace(-1, 1, 300).astype(np.float32)
    halves = {f"half{n}": (np.arange(n) % 16).astype(ml_dtypes.uint4) for n in (4001, 7, 3000)}
    arrays = {"first": floats, "half4001": halves["half4001"], "second": -floats, "half7": halves["half7"], "third": floats[:9],
              "half3000": halves["half3000"], "last": floats * 2}  # fmt: skip
    for external in (False, True):
        converted = stored(arrays)
        paths = converted.save(tmp_path / "m.onnx", external=external)
        models = [read_model(paths[0])]
        if not external:
            models.append(read_model(converted.with_external_data("m.onnx"), folder=tmp_path))
        for found in models:
            for tensor in found.proto.graph.initializer:
                np.testing.assert_array_equal(
                    found.array(tensor), arrays[tensor.name], err_msg=f"{tensor.name} {external}"
                )
            assert [t.name for t in found.proto.graph.initializer] == list(arrays)


def test_weights_beside_start_at_pages_and_are_named_by_their_digest(tmp_path: Path) -> None:
    model_path, data = stored(weights()).save(tmp_path / "m.onnx", external=True)
    assert (model_path.name, data.name) == ("m.onnx", "m.onnx.data")
    check(onnx.load(model_path))
    bare, content = onnx.load(model_path, load_external_data=False), data.read_bytes()
    end = 0
    for tensor in bare.graph.initializer:
        at = {e.key: e.value for e in tensor.external_data}
        assert bool(at) == (weights()[tensor.name].nbytes > 1024)
        if at:
            assert (at["location"], int(at["offset"]) % 4096) == ("m.onnx.data", 0)
            assert int(at["offset"]) >= max(end, 4096)
            end = int(at["offset"]) + int(at["length"])
            assert int(at["length"]) == weights()[tensor.name].nbytes
    assert end == len(content)
    told = {p.key: p.value for p in bare.metadata_props}
    assert told["own"] == "kept"
    assert content.startswith(b"gluonnx external data " + told["gluonnx.data"].encode() + b"\0")
    assert len(told["gluonnx.data"]) == 32


def digest(arrays: dict[str, np.ndarray], path: Path) -> str:
    model_path, _ = stored(arrays).save(path, external=True)
    props = onnx.load(model_path, load_external_data=False).metadata_props
    return next(p.value for p in props if p.key == "gluonnx.data")


def test_weights_of_another_model_are_noticed(tmp_path: Path) -> None:
    """Whatever the difference: a number, a name, a shape, a dtype of the same bits. What another tool wrote is taken as it is."""
    long = np.arange(2000, dtype=np.float32)
    several = [{"w": long}, {"w": long + 1}, {"v": long}, {"w": long.reshape(2, 1000)}, {"w": long.view(np.int32)}]
    folders = [tmp_path / str(i) for i in range(len(several))]
    for folder in folders:
        folder.mkdir()
    found = [digest(arrays, folder / "m.onnx") for arrays, folder in zip(several, folders)]
    assert len(set(found)) == len(found)
    assert digest(several[0], tmp_path / "m.onnx") == found[0]
    path = tmp_path / "m.onnx"
    file = read_model(path)
    np.testing.assert_array_equal(file.array(file.proto.graph.initializer[0]), long)
    (tmp_path / "m.onnx.data").write_bytes((folders[1] / "m.onnx.data").read_bytes())
    with pytest.raises(FormatError) as error:
        read_model(path)
    told = f"m.onnx.data were not written together with it: got the digest {found[1]}, wanted {found[0]}; "
    assert told in str(error.value)
    assert "rename that file" not in str(error.value)
    whole = tmp_path / ".gluonnx-1-00000000-0123456789abcdef.whole"
    whole.write_bytes((folders[0] / "m.onnx.data").read_bytes())
    with pytest.raises(FormatError, match=r"whole, in .*0123456789abcdef\.whole: rename that file"):
        read_model(path)
    (tmp_path / "m.onnx.data").write_bytes(bytes(4096) + (long * 2).tobytes())
    other = read_model(path)
    np.testing.assert_array_equal(other.array(other.proto.graph.initializer[0]), long * 2)


def test_models_too_large_for_one_message_have_weights_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    converted = stored(weights())
    exact = converted.nbytes + converted.model.ByteSize()
    for limit, files in ((exact, ["m.onnx"]), (exact - 1, ["m.onnx", "m.onnx.data"])):
        monkeypatch.setattr(writer, "PROTOBUF_LIMIT", limit)
        assert [p.name for p in converted.save(tmp_path / "m.onnx")] == files
        check(onnx.load(tmp_path / "m.onnx"))
    converted.proto()
    monkeypatch.setattr(writer, "PROTOBUF_LIMIT", converted.nbytes - 1)
    with pytest.raises(ValueError, match=f"{converted.nbytes} bytes of weights do not fit"):
        converted.proto()


def test_words_are_words_alone() -> None:
    tensor = writer.words_of("w", np.array([["a", "é"], ["", "ßß"]], object))
    assert (tensor.data_type, list(tensor.dims)) == (onnx.TensorProto.STRING, [2, 2])
    assert list(tensor.string_data) == [b"a", "é".encode(), b"", "ßß".encode()]
    with pytest.raises(ConversionError, match="constant w: got 2 among strings"):
        writer.words_of("w", np.array(["a", 2], object))
