"""Compiled files: a second start gives the same bits, and what is stale, damaged or foreign is noticed."""

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import convert_model_to_external_data
from typer.testing import CliRunner

import bridge
import hybrid as mx
import hybrid.formats.params
from bridge.cli import app
from bridge.compiling import CODE, CompiledModel
from bridge.engines import NativeEngine
from hybrid import native
from hybrid.core.error import FormatError, MXNetError
from hybrid.execution.saved import SavedProgram
from hybrid.formats.compiled import MAGIC, START, Mapped, Writer
from tests.models.networks import FOLDER, Network
from tests.models.onnx_networks import onnx_networks

pytestmark = pytest.mark.skipif(native.level() is None, reason="NumPy has no programs to save")

Feeds = dict[str, np.ndarray]


def normal(path: Path, feeds: Feeds) -> Feeds:
    """Outputs of the model itself on our engine."""
    return NativeEngine(bridge.open_model(path).native).run(feeds)


def same(got: Feeds, wanted: Feeds) -> bool:
    return [*got] == [*wanted] and all(a.tobytes() == wanted[n].tobytes() for n, a in got.items())


@pytest.fixture
def cnn(tmp_path: Path) -> tuple[Path, Feeds]:
    """An ONNX file, and inputs; compiled."""
    network = next(n for n in onnx_networks() if n.name == "torch_cnn_legacy")
    path = tmp_path / "cnn.onnx"
    shutil.copy(network.model, path)
    feeds = next(iter(network.runs()))[0]
    bridge.compile(path, inputs=feeds)
    return path, feeds


@pytest.fixture
def dense(tmp_path: Path) -> tuple[Path, Feeds]:
    """A symbol with a label, and parameters beside it; compiled."""
    network = Network("lenet", FOLDER / "lenet", json.loads((FOLDER / "lenet" / "birth.json").read_text()))
    for file in Path(network.prefix).parent.glob(f"{Path(network.prefix).name}-*"):
        shutil.copy(file, tmp_path / file.name)
    path = bridge.open_model(tmp_path / Path(network.prefix).name).path
    assert path is not None
    feeds = next(iter(network.runs()))[0]
    feeds = {n: a for n, a in feeds.items() if n in network.birth["inputs"]}
    bridge.compile(path, inputs=feeds)
    return path, feeds


@pytest.mark.parametrize("name", ["torch_cnn_legacy", "ort_qdq_cnn", "ort_dynamic_encoder", "hand_recurrent"])
def test_a_second_start_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    network = next(n for n in onnx_networks() if n.name == name)
    feeds = next(iter(network.runs()))[0]
    bridge.compile(network.model, inputs=feeds, output=tmp_path / "file")
    model = bridge.CompiledModel(network.model, compiled=tmp_path / "file")
    assert model.program is not None
    assert same(model.run(feeds), normal(network.model, feeds))


def test_a_symbol_starts_from_the_file_beside_it(dense: tuple[Path, Feeds], caplog: pytest.LogCaptureFixture) -> None:
    path, feeds = dense
    model = bridge.CompiledModel(path)
    assert model.program is not None
    assert same(model.run(feeds), normal(path, feeds))
    assert not caplog.records


def test_a_second_start_loads_nothing_of_onnx(cnn: tuple[Path, Feeds], tmp_path: Path) -> None:
    path, feeds = cnn
    compiled, inputs = path.with_suffix(".gluonnx"), tmp_path / "inputs.npz"
    np.savez(inputs, **feeds)  # type: ignore[arg-type]  # no name is one of its options
    code = f"""
import sys, numpy as np, bridge
got = bridge.CompiledModel({str(path)!r}, compiled={str(compiled)!r}).run(dict(np.load({str(inputs)!r})))
print(*(n for n in ("onnx", "converters", "hybrid.ir", "hybrid.passes", "logging") if n in sys.modules))
print(*(a.tobytes().hex() for a in got.values()))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded, numbers = done.stdout.split("\n", 1)
    assert loaded == ""
    assert numbers.split() == [a.tobytes().hex() for a in normal(path, feeds).values()]


def test_heads_of_training_are_left_out(tmp_path: Path) -> None:
    """As the model itself leaves them out; with a label it gives them too."""
    dense = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    loss = mx.sym.MakeLoss(mx.sym.square(dense - mx.sym.var("fc_label")), name="loss")
    mx.sym.Group([mx.sym.softmax(dense, name="prob"), loss]).save(str(tmp_path / "net-symbol.json"))
    rng = np.random.default_rng(3)
    numbers = {"arg:fc_weight": rng.normal(size=(3, 4)), "arg:fc_bias": rng.normal(size=3)}
    mx.nd.save(str(tmp_path / "net-0000.params"), {n: mx.nd.array(a) for n, a in numbers.items()})
    feeds = {"data": rng.normal(size=(2, 4)).astype(np.float32)}
    found = bridge.compile(tmp_path / "net", inputs=feeds)
    assert [*found.outputs] == ["prob_output"] and [*found.inputs] == ["data"]
    model = CompiledModel(tmp_path / "net")
    assert model.program is not None
    for given in (feeds, {"data": feeds["data"][:1]}, feeds | {"fc_label": np.ones((2, 3), np.float32)}):
        got = model.run(given)
        assert same(got, bridge.run(tmp_path / "net", given))
        assert [*got] == ["prob_output", "loss_output"][: len(given)]


def test_other_sizes_are_run_by_the_model_itself(cnn: tuple[Path, Feeds]) -> None:
    path, feeds = cnn
    fewer = {n: a[:1] for n, a in feeds.items()}
    assert same(bridge.CompiledModel(path).run(fewer), normal(path, fewer))
    with pytest.raises(bridge.BadInput, match="unknown input picture: the model takes image"):
        bridge.CompiledModel(path).run({"picture": feeds["image"]})


# -- what is not as it was --------------------------------------------------------------------------------------------------


def test_every_part_of_a_file_is_summed(cnn: tuple[Path, Feeds], tmp_path: Path) -> None:
    """A flipped bit anywhere, and any end that is missing or too much, is noticed."""
    whole = cnn[0].with_suffix(".gluonnx").read_bytes()
    wrong = tmp_path / "wrong"
    places = {*range(START), *range(START, len(whole), 41), *range(len(whole) - 40, len(whole))}
    for at in places:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        wrong.write_bytes(damaged)
        with pytest.raises(FormatError):
            Mapped(wrong)
    for size in (*range(START + 1), *range(START, len(whole), 977), len(whole) - 1):
        wrong.write_bytes(whole[:size])
        with pytest.raises(FormatError):
            Mapped(wrong)
    for content in (whole + b"\0", b"", b"{}", whole[:START] + bytes(len(whole) - START)):
        wrong.write_bytes(content)
        with pytest.raises(FormatError):
            Mapped(wrong)


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:3000] + b"\xff" + b[3001:], lambda b: b""])
def test_a_damaged_file_is_not_used(cnn: tuple[Path, Feeds], damage: Any, caplog: pytest.LogCaptureFixture) -> None:
    path, feeds = cnn
    file = path.with_suffix(".gluonnx")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(FormatError, match=r"cnn\.gluonnx"):
        bridge.CompiledModel(path, compiled=file)
    with caplog.at_level(logging.WARNING):
        assert same(bridge.CompiledModel(path).run(feeds), normal(path, feeds))
    assert "the model itself is read" in caplog.text


def test_changed_weights_are_noticed(cnn: tuple[Path, Feeds]) -> None:
    """Also those of the same size, in a file with the same time."""
    path, feeds = cnn
    before = os.stat(path)
    model = onnx.load(path)
    weight = next(i for i in model.graph.initializer if len(i.dims) == 4)
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * 2, weight.name))
    onnx.save(model, path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(FormatError, match="compiled from other files"):
        bridge.CompiledModel(path, compiled=path.with_suffix(".gluonnx"))
    assert same(bridge.CompiledModel(path).run(feeds), normal(path, feeds))


def test_changed_weights_beside_a_model_are_noticed(tmp_path: Path) -> None:
    table = np.arange(1200, dtype=np.float32).reshape(4, 300)
    nodes = [helper.make_node("MatMul", ["x", "table"], ["y"])]
    path = graph_file(tmp_path / "product.onnx", nodes, {"x": (TensorProto.FLOAT, [2, 4])}, {"table": table})
    (tmp_path / "weights").mkdir()
    model = onnx.load(path)
    convert_model_to_external_data(model, location="weights/table.bin", size_threshold=0)
    onnx.save(model, path)
    bridge.compile(path)
    assert bridge.CompiledModel(path).program is not None
    file = tmp_path / "weights" / "table.bin"
    file.write_bytes((2 * table).tobytes())
    feeds = {"x": np.ones((2, 4), np.float32)}
    changed = bridge.CompiledModel(path)
    assert changed.program is None
    np.testing.assert_array_equal(changed.run(feeds)["y"], feeds["x"] @ (2 * table))
    file.unlink()
    with pytest.raises((MXNetError, OSError)):
        bridge.CompiledModel(path, compiled=path.with_suffix(".gluonnx"))


def test_changed_parameters_and_newer_ones_are_noticed(dense: tuple[Path, Feeds]) -> None:
    path, feeds = dense
    params = bridge.open_model(path).params_path
    assert params is not None
    newer = params.with_name(f"{params.stem.rpartition('-')[0]}-9999.params")
    arrays = hybrid.formats.params.load(params)
    assert isinstance(arrays, dict)
    hybrid.formats.params.save(newer, {n: a * 2 for n, a in arrays.items()})  # type: ignore[operator]
    assert bridge.CompiledModel(path).program is None
    assert same(bridge.CompiledModel(path).run(feeds), normal(path, feeds))
    assert bridge.CompiledModel(path, params).program is not None


def test_a_copy_of_a_model_is_known_by_its_content(cnn: tuple[Path, Feeds], tmp_path: Path) -> None:
    path, _ = cnn
    other = tmp_path / "other"
    other.mkdir()
    for file in (path, path.with_suffix(".gluonnx")):
        shutil.copyfile(file, other / file.name)
    assert bridge.CompiledModel(other / path.name).program is not None


def test_another_build_or_level_is_refused(cnn: tuple[Path, Feeds], tmp_path: Path) -> None:
    for key, value in {"level": "v9", "kernels": "0", "sources": "0"}.items():
        description = Mapped(cnn[0].with_suffix(".gluonnx")).description
        description["build"][key] = value
        with pytest.raises(FormatError, match="for CPU level v9" if key == "level" else "another version of gluonnx"):
            SavedProgram(Mapped(rewritten(cnn[0], description, tmp_path)), CODE)
    file = cnn[0].with_suffix(".gluonnx").read_bytes()
    (tmp_path / "newer").write_bytes(MAGIC[:-1] + b"\x02" + file[len(MAGIC) :])
    with pytest.raises(FormatError, match="version 2"):
        Mapped(tmp_path / "newer")


def test_without_the_compiled_part_the_model_itself_is_read(
    cnn: tuple[Path, Feeds], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, feeds = cnn
    wanted = normal(path, feeds)
    before = native.use(None)
    try:
        assert bridge.CompiledModel(path).program is None
        monkeypatch.setattr(native, "_core", None)
        model = bridge.CompiledModel(path)
        assert model.program is None
        for name, array in model.run(feeds).items():
            np.testing.assert_allclose(array, wanted[name], rtol=1e-4, atol=1e-5)
    finally:
        monkeypatch.undo()
        native.use(before)


def rewritten(path: Path, description: Any, tmp_path: Path) -> Path:
    """The compiled file with another description and a checksum that fits."""
    whole = path.with_suffix(".gluonnx").read_bytes()
    writer = Writer()
    end = int.from_bytes(whole[START - 8 : START], "little")
    writer.add(np.frombuffer(whole[64 * -(-START // 64) : end], np.uint8))
    writer.write(tmp_path / "forged", description)
    return tmp_path / "forged"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all numbers in a description."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if type(value) is int else []
    return found + [p for k, v in items for p in leaves(v, (*path, k))]


def test_numbers_of_a_forged_description_are_held_against_the_file(cnn: tuple[Path, Feeds], tmp_path: Path) -> None:
    """With a checksum that fits, what it claims is refused, or is another program that runs within its memory."""
    path, feeds = cnn
    description = Mapped(path.with_suffix(".gluonnx")).description
    text = json.dumps(description)
    where = [p for p in leaves(description) if p[0] != "files"]
    refused = 0
    for i, place in enumerate(where[:: max(1, len(where) // 100)]):
        forged = json.loads(text)
        inner = forged
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = (-1, 1 << 40, inner[place[-1]] + 64, 1 << 62)[i % 4]
        try:
            program = SavedProgram(Mapped(rewritten(path, forged, tmp_path)), CODE)
            if (arrays := program.arrange(feeds)) is not None:
                program.run(arrays)
        except MXNetError:
            refused += 1
    assert refused > 60
    for broken in (
        [],
        {},
        {"build": description["build"]},
        {**description, "steps": [1]},
        {**description, "packed": []},
    ):
        with pytest.raises(FormatError):
            SavedProgram(Mapped(rewritten(path, broken, tmp_path)), CODE)


# -- what cannot be saved ---------------------------------------------------------------------------------------------------


def graph_file(
    path: Path, nodes: list[Any], inputs: dict[str, Any], arrays: Feeds, dtype: int = TensorProto.FLOAT
) -> Path:
    """A model of some nodes whose output is y."""
    given = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
    stored = [numpy_helper.from_array(a, n) for n, a in arrays.items()]
    graph = helper.make_graph(nodes, "g", given, [helper.make_tensor_value_info("y", dtype, None)], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_steps_that_cannot_be_saved_are_named(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("RoiAlign", ["r", "rois", "at"], ["y"], "regions"),
    ]
    held = {"rois": np.array([[0.0, 0, 2, 2]]), "at": np.array([0])}
    inputs = {"x": (TensorProto.DOUBLE, [1, 2, 4, 4])}
    path = graph_file(tmp_path / "regions.onnx", nodes, inputs, held, TensorProto.DOUBLE)
    with pytest.raises(MXNetError, match=r"cannot be saved: .*(regions|RoiAlign|ROIAlign)"):
        bridge.compile(path)
    assert [f.name for f in tmp_path.iterdir()] == ["regions.onnx"]


def test_values_that_a_kernel_refuses_go_to_the_model_itself(tmp_path: Path) -> None:
    """A position that there is not: NumPy says what is wrong with it, as without the file."""
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    nodes = [helper.make_node("GatherND", ["table", "at"], ["g"]), helper.make_node("Relu", ["g"], ["y"])]
    path = graph_file(tmp_path / "gather.onnx", nodes, {"at": (TensorProto.INT64, [2, 1])}, {"table": table})
    bridge.compile(path)
    model = bridge.CompiledModel(path)
    assert model.program is not None
    assert same(model.run({"at": np.array([[3], [1]])}), {"y": table[[3, 1]]})
    beyond = {"at": np.array([[0], [4]])}
    with pytest.raises(MXNetError) as wanted:
        normal(path, beyond)
    with pytest.raises(type(wanted.value)) as got:
        model.run(beyond)
    assert str(got.value) == str(wanted.value)


# -- the command ------------------------------------------------------------------------------------------------------------


def test_the_command(cnn: tuple[Path, Feeds], tmp_path: Path) -> None:
    path, feeds = cnn
    target, size = path.with_suffix(".gluonnx"), ",".join(map(str, feeds["image"].shape))
    made = CliRunner().invoke(app, ["compile", str(path), "--input", f"image:{size}", "-o", str(target), "--json"])
    found = json.loads(made.stdout)
    assert made.exit_code == 0
    assert found["inputs"]["image"] == {"shape": list(feeds["image"].shape), "dtype": "float32"}
    assert found["bytes"] == target.stat().st_size
    np.savez(tmp_path / "inputs.npz", **feeds)  # type: ignore[arg-type]  # as above
    asked = ["run", str(path), "--inputs", str(tmp_path / "inputs.npz"), "--compiled"]
    done = CliRunner().invoke(app, [*asked, "-o", str(tmp_path / "outputs.npz")])
    assert done.exit_code == 0
    assert same(dict(np.load(tmp_path / "outputs.npz")), normal(path, feeds))
    target.write_bytes(b"no")
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 2
    assert "no program that gluonnx compile wrote" in json.loads(done.stdout)["error"]
    refused = CliRunner().invoke(app, [*asked, "--engine", "native"])
    assert refused.exit_code == 2
