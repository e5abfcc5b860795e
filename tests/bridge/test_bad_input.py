"""Bad input: a message that says what was got and wanted, all problems at once, and nothing written."""

import io
import json
import os
import re
import shutil
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
import converters
import hybrid.formats.params
from bridge import domains, draws, inputs
from bridge.inputs import load_feeds
from hybrid.core.error import FormatError
from hybrid.core.op import Domain, Spec
from hybrid.core.shapes import UNKNOWN
from tests.models.networks import FOLDER

SHAPE = {"data": (2, 1, 28, 28)}


@pytest.fixture
def net(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER / "lenet", tmp_path, dirs_exist_ok=True)
    with np.load(tmp_path / "inputs.npz") as stored:
        SHAPE["data"] = stored["data"].shape
    return tmp_path / "model"


def edit(net: Path, change) -> None:
    path = net.with_name("model-symbol.json")
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def edit_params(net: Path, change) -> None:
    path = net.with_name("model-0000.params")
    params = {k: np.array(v) for k, v in hybrid.formats.params.load(path).items()}
    change(params)
    hybrid.formats.params.save(path, params)


def refused(net: Path, kind: type[Exception] = bridge.BadInput, **options) -> str:
    target = net.with_name("out.onnx")
    with pytest.raises(kind) as caught:
        bridge.convert(net, output=target, **{"inputs": SHAPE, **options})
    assert not target.exists()
    assert not list(net.parent.glob(".*")), "something was left behind"
    return str(caught.value)


def test_all_missing_parameters_are_named(net: Path) -> None:
    names = [k for k in hybrid.formats.params.load(net.with_name("model-0000.params")) if k.startswith("arg:")][:3]
    edit_params(net, lambda p: [p.pop(n) for n in names])
    text = refused(net)
    assert all(f"missing parameter {n.removeprefix('arg:')}" in text for n in names)


def test_no_parameter_file(net: Path) -> None:
    net.with_name("model-0000.params").unlink()
    assert "no .params file was found" in refused(net)


def test_all_wrong_shapes_are_named(net: Path) -> None:
    names = [k for k in hybrid.formats.params.load(net.with_name("model-0000.params")) if k.endswith("_bias")][:2]

    def change(params):
        for name in names:
            params[name] = np.zeros(len(params[name]) + 1, np.float32)

    edit_params(net, change)
    text = refused(net)
    assert all(f"parameter {n.removeprefix('arg:')}: got shape" in text for n in names)
    assert "wanted" in text


def test_extra_parameters_are_noted(net: Path) -> None:
    edit_params(net, lambda p: p.update({"arg:left_over": np.zeros(3, np.float32)}))
    assert bridge.convert(net, inputs=SHAPE).unused == ("left_over",)


def test_nan_weights_are_noted(net: Path) -> None:
    def change(params):
        name = next(k for k in params if k.endswith("_weight"))
        params[name].flat[0] = np.nan

    edit_params(net, change)
    # what NaN gives depends on the runtime (max pooling skips it or not), so the verdict may be either
    try:
        said = " ".join(bridge.convert(net, inputs=SHAPE).warnings)
    except bridge.NotEquivalent as error:
        said = str(error)
    assert "holds 1 NaN or infinite values" in said


def test_unknown_inputs_are_named(net: Path) -> None:
    text = refused(net, inputs={**SHAPE, "image": (1,), "x": (2,)})
    assert "unknown input image" in text
    assert "unknown input x" in text
    assert "data" in text


def test_an_input_without_a_shape_is_asked_for(net: Path) -> None:
    assert "cannot tell the shape of input data; give it, for instance --input data:" in refused(net, inputs=None)


def test_a_shape_that_does_not_fit_names_the_operator(net: Path) -> None:
    assert "Error in operator" in refused(net, inputs={"data": (1, 2)})


def test_a_shape_without_its_batch_gets_one_to_try(net: Path) -> None:
    text = refused(net, inputs={"data": (1, 2, 3)})
    assert "wanted 4 dimensions, the batch first; try --input data:1,1,2,3" in text


def test_every_unknown_operator_is_listed(net: Path) -> None:
    def change(data):
        applied = [n for n in data["nodes"] if n["op"] != "null"]
        applied[0]["op"], applied[2]["op"] = "NoSuchConv", "NoSuchPool"

    edit(net, change)
    text = refused(net, converters.UnsupportedModel)
    assert "NoSuchConv" in text
    assert "NoSuchPool" in text
    result = bridge.inspect(net)
    assert {p.operator for p in result.problems} == {"NoSuchConv", "NoSuchPool"}


def test_a_wrong_attribute_is_listed(net: Path) -> None:
    def change(data):
        node = next(n for n in data["nodes"] if n["op"] == "Convolution")
        node["attrs"]["kernel"] = "five"
        node["attrs"]["colour"] = "red"

    edit(net, change)
    text = refused(net, converters.UnsupportedModel)
    assert "attribute kernel='five'" in text
    assert "unknown attribute colour" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "Git"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"", "empty"),
        (b"{", "JSON"),
        (b'{"nodes": []}', "heads"),
        (b"[1, 2]", "no MXNet symbol"),
    ],
)
def test_files_that_are_no_symbols(net: Path, content: bytes, said: str) -> None:
    net.with_name("model-symbol.json").write_bytes(content)
    assert said.lower() in refused(net, FormatError).lower()


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 20, 100, 1000, 5000])
def test_truncated_parameters(net: Path, cut: int) -> None:
    path = net.with_name("model-0000.params")
    path.write_bytes(path.read_bytes()[:cut])
    assert "model-0000.params" in refused(net, FormatError)


def test_graphs_that_are_broken(net: Path) -> None:
    text = net.with_name("model-symbol.json").read_text()

    def dangling(data):
        data["nodes"][3]["inputs"][0][0] = 10_000

    def cyclic(data):
        data["nodes"][3]["inputs"][0][0] = len(data["nodes"]) - 1

    def no_such_output(data):
        data["heads"][0][1] = 5

    for change, said in ((dangling, "refers to node 10000"), (cyclic, "cycle"), (no_such_output, "reads output 5")):
        net.with_name("model-symbol.json").write_text(text)
        edit(net, change)
        assert said in refused(net, FormatError)


def test_absurd_shapes_allocate_nothing(net: Path) -> None:
    def change(data):
        node = next(n for n in data["nodes"] if n["op"] == "FullyConnected")
        node["attrs"]["num_hidden"] = "2000000000"

    edit(net, change)
    assert "got shape" in refused(net)


def test_a_folder_that_is_not_there(net: Path) -> None:
    with pytest.raises(bridge.BadInput, match="no such folder"):
        bridge.convert(net, inputs=SHAPE, output=net.parent / "nowhere" / "out.onnx")


@pytest.mark.parametrize("name", ["model-symbol.json", "model-0000.params", "link.onnx"])
def test_what_is_read_is_not_written(net: Path, name: str) -> None:
    link = net.with_name("link.onnx")
    link.symlink_to(net.with_name("model-symbol.json"))
    before = {p: p.read_bytes() for p in net.parent.iterdir()}
    with pytest.raises(bridge.BadInput, match="would destroy it"):
        bridge.convert(net, inputs=SHAPE, output=net.with_name(name))
    assert link.is_symlink() and before == {p: p.read_bytes() for p in net.parent.iterdir()}


def test_a_pipe_is_not_replaced(net: Path) -> None:
    pipe = net.with_name("pipe.onnx")
    os.mkfifo(pipe)
    with pytest.raises(bridge.BadInput, match="a device or a pipe"):
        bridge.convert(net, inputs=SHAPE, output=pipe)
    assert pipe.is_fifo()


def test_an_import_does_not_replace_its_model(net: Path) -> None:
    source = net.with_name("x-symbol.json.onnx")
    bridge.convert(net, inputs=SHAPE, output=source)
    (net.with_name("x-symbol.json")).symlink_to(source)
    with pytest.raises(bridge.BadInput, match="would destroy it"):
        bridge.import_onnx(source, output=net.with_name("x"))


def test_dynamic_axes_without_labels(net: Path) -> None:
    for axes in ([0], {"0": "n"}, {0: 5}, {0: None}, {0.5: "n"}):
        assert f"dynamic data: got {axes!r}, wanted labels by axis" in refused(net, dynamic={"data": axes})


def test_a_reproduction_that_cannot_be_written_hides_no_verdict(net: Path) -> None:
    occupied = net.with_name("occupied")
    occupied.write_text("mine")
    text = refused(net, bridge.NotEquivalent, repro=occupied, tolerance=(0.0, 0.0))
    assert text.startswith("not equivalent") and occupied.read_text() == "mine"


def test_further_inputs_are_named_by_number(net: Path) -> None:
    fits = np.zeros(SHAPE["data"], "float32")
    text = refused(net, also=[{"data": fits}, {"nope": fits, "other": fits}])
    assert "set 2 of 2" in text and "'nope'" in text and "'other'" in text
    assert "set 1 of 1: Error in operator" in refused(net, also=[{"data": np.zeros((1, 9, 9, 9), "float32")}])


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(bridge.BadInput, match="no such file"):
        bridge.convert(tmp_path / "model")


def test_mixed_up_arguments(net: Path) -> None:
    with pytest.raises(bridge.BadInput, match="these are parameters"):
        bridge.open_model(net.with_name("model-0000.params"))
    with pytest.raises(FormatError):
        bridge.open_model(net.with_name("model-symbol.json"), net.with_name("model-symbol.json"))


def replace(net: Path, key: str, value: object, op: str = "Convolution") -> None:
    def change(data):
        next(n for n in data["nodes"] if n["op"] == op)[key] = value

    edit(net, change)


def test_names_that_are_no_text(net: Path) -> None:
    replace(net, "name", "\ud800")
    assert "is not text" in refused(net, FormatError)


def test_subgraphs_that_are_no_list(net: Path) -> None:
    replace(net, "subgraphs", None)
    assert "subgraphs is NoneType, wanted a list" in refused(net, FormatError)


def test_a_dtype_that_is_none(net: Path) -> None:
    replace(net, "attrs", {"__dtype__": "float31"}, op="null")
    assert "dtype 'float31' is not known" in refused(net)


@pytest.mark.parametrize(
    ("op", "attrs", "said"),
    [
        ("Concat", {"num_args": "4294967296"}, "num_args=.4294967296. is not int .wanted 1 to"),
        ("SliceChannel", {"num_outputs": "1000000000000"}, "num_outputs=.1000000000000. is not int .wanted 1 to"),
        ("tile", {"reps": "(1000000,1000000)"}, "and the memory budget is"),
        ("_zeros", {"shape": "(1000000,1000000)"}, "and the memory budget is"),
    ],
)
def test_absurd_attributes_allocate_nothing(tmp_path: Path, op: str, attrs: dict[str, str], said: str) -> None:
    """Neither names nor arrays are made on the word of an attribute."""
    data = {"op": "null", "name": "data", "inputs": []}
    node = {"op": op, "name": "big", "attrs": attrs, "inputs": [] if op == "_zeros" else [[0, 0, 0]]}
    head = {"op": "broadcast_add", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]]}
    path = tmp_path / "big-symbol.json"
    path.write_text(json.dumps({"nodes": [data, node, head], "arg_nodes": [0], "heads": [[2, 0, 0]]}))
    with pytest.raises((bridge.BadInput, converters.UnsupportedModel), match=said):
        bridge.convert(path, inputs={"data": (1, 1)})
    assert re.search(said, " ".join(p.reason for p in bridge.inspect(path, inputs={"data": (1, 1)}).problems))


def test_inputs_larger_than_memory(net: Path) -> None:
    assert "and the memory budget is" in refused(net, inputs={"data": (10**9, *SHAPE["data"][1:])})


def test_arrays_of_other_dtypes_say_which_is_wanted(net: Path) -> None:
    """np.random gives float64, which is the first thing a new user feeds."""
    feeds = {"data": np.zeros(SHAPE["data"])}
    assert "input data: got float64, wanted float32; convert it" in refused(net, inputs=feeds)
    bridge.convert(net, inputs=SHAPE, output=net.with_name("out.onnx"))
    for model in (net, net.with_name("out.onnx")):
        with pytest.raises(bridge.BadInput, match="input data: got float64, wanted float32"):
            bridge.run(model, feeds)
        for array in (np.array(["a"]), np.array([{}]), np.zeros(SHAPE["data"], complex)):
            with pytest.raises(bridge.BadInput, match="wanted numbers"):
                bridge.run(model, {"data": array})


def test_arrays_that_do_not_fit_an_onnx_model(net: Path) -> None:
    bridge.convert(net, inputs=SHAPE, output=net.with_name("out.onnx"), dynamic={"data": {0: "batch"}})
    for shape in ((3, 1), (3, *SHAPE["data"][1:-1], 99)):
        with pytest.raises(bridge.BadInput, match="input data: got shape"):
            bridge.run(net.with_name("out.onnx"), {"data": np.zeros(shape, np.float32)})


@pytest.mark.parametrize("limits", [(np.nan, 0), (0, np.inf), (-1, 0)])
def test_tolerances_that_everything_or_nothing_meets(net: Path, limits: tuple[float, float]) -> None:
    assert "got tolerance" in refused(net, tolerance=limits)


def test_zero_and_negative_sizes(net: Path) -> None:
    for size in (0, -1):
        assert "wanted sizes of 1 or more" in refused(net, inputs={"data": (size, *SHAPE["data"][1:])})


def test_an_output_that_is_a_folder(net: Path) -> None:
    with pytest.raises(bridge.BadInput, match="a folder; give the name of the file"):
        bridge.convert(net, inputs=SHAPE, output=net.parent)
    assert not list(net.parent.glob(f"{net.parent.name}*"))


def test_an_opset_that_is_none(net: Path) -> None:
    for opset in (0, 6, 99, "latest"):
        with pytest.raises(bridge.BadInput, match=f"got opset {opset}, wanted 7 to .* or 'newest'"):
            bridge.inspect(net, opset=opset)


def test_files_that_are_no_files() -> None:
    with pytest.raises(bridge.BadInput, match="not a regular file"):
        bridge.open_model("/dev/zero")


def test_files_of_arrays_that_are_damaged(tmp_path: Path) -> None:
    whole = tmp_path / "whole.npz"
    np.savez(whole, data=np.zeros((100, 100)))
    flipped = bytearray(whole.read_bytes())
    flipped[300] ^= 1
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000)}".ljust(117) + b"\n"
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    np.savez(tmp_path / "objects.npz", data=np.array([{}]))
    np.savez(tmp_path / "none.npz")
    cases = {
        "cut.npz": (whole.read_bytes()[:300], "damaged"),
        "flipped.npz": (bytes(flipped), "damaged"),
        "huge.npy": (b"\x93NUMPY\x01\x00v\x00" + header, "damaged"),
        "text.npz": (b"data 1 2 3", "not an .npz or .npy file"),
        "objects.npy": (None, "Python objects are never unpickled"),
        "objects.npz": (None, "Python objects are never unpickled"),
        "none.npz": (None, "holds no arrays"),
    }
    for name, (content, said) in cases.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(bridge.BadInput, match=said):
            load_feeds(tmp_path / name, ["data"])


@pytest.mark.parametrize("compressed", [False, True])
def test_what_an_npz_claims_is_held_to_the_file_first(tmp_path: Path, compressed: bool) -> None:
    """Headers that promise gigabytes cost nothing, in the array's header or in the archive's directory."""
    path = tmp_path / "a.npz"
    kept = {"data": np.arange(6.0).reshape(2, 3).T, "none": np.zeros((0, 3)), "one": np.array(True)}
    (np.savez_compressed if compressed else np.savez)(path, **kept)
    got = load_feeds(path, ["data"])
    for name, array in kept.items():
        np.testing.assert_array_equal(got[name], array, strict=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (40000, 40000), }".ljust(117) + b"\n"
        archive.writestr("data.npy", b"\x93NUMPY\x01\x00v\x00" + header + bytes(64))
    tracemalloc.start()
    with pytest.raises(bridge.BadInput, match=r"takes 6400000000 bytes, got 64"):
        load_feeds(path, ["data"])
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<I", 128 + 2**31)
    path.write_bytes(content)
    with pytest.raises(bridge.BadInput, match=r"claims 2147483776 bytes out of"):
        load_feeds(path, ["data"])
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("|O", "2,"),
        ("<f3", "2,"),
        (",", "2,"),
        ("<f4", "3" * 19),
        ("<f4", "9" * 30),
        ("<f4", "-1, 2"),
        ("<f4", "2)*(3"),
        ("<f4,<f4", "1,"),
    ],
)
def test_headers_of_arrays_are_no_programs(tmp_path: Path, kind: str, shape: str) -> None:
    """NumPy reads them with the parser of Python and its own of types, which raise what they like."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}".ljust(117).encode() + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + header + bytes(8))
    with pytest.raises(bridge.BadInput, match=r"a\.npy: damaged, or not of plain numbers"):
        load_feeds(tmp_path / "a.npy", ["data"])


def test_an_array_without_dims_stays_one(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.float32(3))
    assert load_feeds(tmp_path / "a.npy", ["data"])["data"].shape == ()


def test_parameters_that_are_no_dict(net: Path) -> None:
    """A tuple that load_checkpoint returns, given as the parameters."""
    params = hybrid.formats.params.split(hybrid.formats.params.load(net.with_name("model-0000.params")))
    with pytest.raises(bridge.BadInput, match="got tuple, wanted a path or a dict"):
        bridge.open_model(net, params)


def test_an_array_without_a_value_is_missing(net: Path) -> None:
    params = dict(hybrid.formats.params.load(net.with_name("model-0000.params")))
    name = next(n for n in params if n.endswith("_weight"))
    assert f"missing parameter {name.removeprefix('arg:')}" in refused(net, params={**params, name: None})


def test_archives_that_numpy_would_not_write(tmp_path: Path) -> None:
    """Two arrays of one name, other compressions, encryption, and more bytes than the file has."""
    array = io.BytesIO()
    np.save(array, np.arange(6.0).reshape(2, 3))
    path = tmp_path / "a.npz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data.npy", array.getvalue())
            archive.writestr("data.npy", array.getvalue())
    with pytest.raises(bridge.BadInput, match="it holds two arrays of one name"):
        load_feeds(path, ["data"])
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("data.npy", array.getvalue())
        with pytest.raises(bridge.BadInput, match=r"'data\.npy' is encrypted or compressed otherwise than"):
            load_feeds(path, ["data"])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.npy", array.getvalue())
    whole = path.read_bytes()
    at = whole.rindex(b"PK\x01\x02")
    locked = bytearray(whole)
    locked[at + 8] |= 1
    path.write_bytes(locked)
    with pytest.raises(bridge.BadInput, match=r"'data\.npy' is encrypted or compressed otherwise than"):
        load_feeds(path, ["data"])
    size = len(array.getvalue())
    for claimed, said in (
        (len(whole) + 1, f"claims {size} bytes out of {len(whole) + 1}, in a file of {len(whole)}"),
        (size, ""),
    ):
        told = bytearray(whole)
        told[at + 20 : at + 24] = struct.pack("<I", claimed)
        path.write_bytes(told)
        if said:
            with pytest.raises(bridge.BadInput, match=said):
                load_feeds(path, ["data"])
        else:
            np.testing.assert_array_equal(load_feeds(path, ["data"])["data"], np.arange(6.0).reshape(2, 3))
    np.save(tmp_path / "one.npy", np.arange(3))
    assert load_feeds(tmp_path / "one.npy", ["x"])["x"].tolist() == [0, 1, 2]
    with pytest.raises(bridge.BadInput, match=r"one array for 2 inputs; wanted an \.npz with x, y"):
        load_feeds(tmp_path / "one.npy", ["x", "y"])


class Short(io.BytesIO):
    """A file that gives less than was asked of it."""

    def readinto(self, into: Any) -> int:
        return super().readinto(into[:-1])


def test_arrays_that_are_cut_off(tmp_path: Path) -> None:
    content = io.BytesIO()
    np.save(content, np.arange(4000.0))
    size = len(content.getvalue())
    assert inputs._array(io.BytesIO(content.getvalue()), size, "a", tmp_path)[-1] == 3999
    with pytest.raises(ValueError, match="a is cut off"):
        inputs._array(Short(content.getvalue()), size, "a", tmp_path)


def test_what_is_no_input() -> None:
    class Arrayed:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.float32([1, 2])

    specs, arrays = inputs.as_specs(
        {"a": (np.int64(2), 3), "b": [4], "c": np.float16([[1]]), "d": Arrayed(), "e": Spec(None)}
    )
    assert [s.shape for s in specs.values()] == [(2, 3), (4,), (1, 1), (2,), None]
    assert {n: a.tolist() for n, a in arrays.items()} == {"c": [[1]], "d": [1, 2]}
    assert all(type(d) is int for d in specs["a"].shape or ())
    for value, said in (
        ("12", "got '12', wanted a shape, an array or a Spec"),
        ([2, "n"], r"got \[2, 'n'\], wanted a shape"),
        ([2, 1.5], r"got \[2, 1.5\], wanted a shape"),
        (5, "got 5, wanted a shape"),
        ([2, 0], r"got shape \(2, 0\), wanted sizes of 1 or more"),
        (np.array(["w"], object), "got an array of object, wanted numbers"),
        (np.array(["w"]), "got an array of <U1, wanted numbers"),
    ):
        with pytest.raises(bridge.BadInput, match=f"^input x: {said}"):
            inputs.as_specs({"x": value})
    for shape, said in (
        ((2, -1), r"got shape \(2, -1\), wanted no negative size"),
        ((UNKNOWN, 2), "the shape has unknown dims"),
    ):
        with pytest.raises(bridge.BadInput, match=said):
            draws.draw({"x": Spec(shape)}, {})
    like = {"x": np.float32([7, 8]), "empty": np.zeros(0, np.float32)}
    drawn = draws.draw({n: Spec((50,), np.dtype(np.float32)) for n in ("x", "y", "empty")}, {}, 3, like)
    assert set(drawn["x"].tolist()) == {7.0, 8.0}
    for name in ("y", "empty"):
        assert len(set(drawn[name].tolist())) == 50
    low, high = Domain(0, 5, True), Domain(2, 9, False)
    assert domains.intersect(low, high) == domains.intersect(high, low) == Domain(2, 5, True)
    assert domains.intersect(Domain(0, 9, False), Domain(1, 4, False)) == Domain(1, 4, False)
