"""Every path that a command takes works from Python, as text and as Path."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
from bridge import paths
from bridge.cli import app
from hybrid import native
from tests.models.networks import FOLDER

LENET = FOLDER / "lenet"
AS = pytest.mark.parametrize("as_given", [str, Path], ids=["text", "path"])
Make = Callable[[Path], "str | os.PathLike[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with lenet's files and its conversion."""
    place = tmp_path_factory.mktemp("paths")
    shutil.copytree(LENET, place, dirs_exist_ok=True)
    told = {"inputs": LENET / "inputs.npz", "dynamic": {"data": {0: "n"}}, "verify": False}
    bridge.convert(place / "model", output=place / "x.onnx", **told)
    return place


@AS
def test_convert(folder: Path, tmp_path: Path, as_given: Make) -> None:
    prefix, inputs, also = (as_given(folder / n) for n in ("model", "inputs.npz", "inputs-2.npz"))
    for further in (also, [also]):
        result = bridge.convert(
            prefix,
            as_given(folder / "model-0000.params"),
            inputs=inputs,
            also=further,
            output=as_given(tmp_path / "y.onnx"),
            dynamic={"data": {0: "n"}},
            outputs="fullyconnected1",
            repro=as_given(tmp_path / "repro"),
        )
        assert result.verified
        assert list(result.outputs) == ["fullyconnected1_output"]
        assert result.verification is not None
        shapes = [run["shapes"]["data"] for run in result.verification.runs]
        assert (3, 1, 28, 28) in shapes
        assert (1, 1, 28, 28) in shapes
        told = [run["inputs"]["data"]["from"] for run in result.verification.runs]
        assert {"from inputs.npz", "from inputs-2.npz"} <= set(told)


@AS
def test_import(folder: Path, tmp_path: Path, as_given: Make) -> None:
    inputs, also = (as_given(folder / n) for n in ("inputs.npz", "inputs-2.npz"))
    result = bridge.import_onnx(
        as_given(folder / "x.onnx"), output=as_given(tmp_path / "y"), inputs=inputs, also=[also], repro=as_given(tmp_path / "r")
    )  # fmt: skip
    assert result.verification is not None
    told = [run["inputs"]["data"]["from"] for run in result.verification.runs]
    assert {"from inputs.npz", "from inputs-2.npz"} <= set(told)
    assert {(3, 1, 28, 28), (1, 1, 28, 28)} <= {tuple(run["shapes"]["data"]) for run in result.verification.runs}


@AS
def test_verify_writes_a_reproduction(folder: Path, tmp_path: Path, as_given: Make) -> None:
    changed = {n: np.array(a) * np.float32(1.5) for n, a in bridge.open_model(LENET / "model").params.items()}
    wrong = bridge.open_model(folder / "model", changed)
    repro = as_given(tmp_path / "repro")
    result = bridge.verify(as_given(folder / "x.onnx"), wrong, inputs=as_given(folder / "inputs.npz"), repro=repro)
    assert not result.equivalent
    assert result.repro == os.fspath(repro)
    assert any((tmp_path / "repro").iterdir())
    params, inputs = as_given(folder / "model-0000.params"), as_given(folder / "inputs.npz")
    both = as_given(folder / "x.onnx"), as_given(folder / "model")
    same = bridge.verify(*both, params=params, inputs=inputs, outputs="fullyconnected1_output")
    assert same.equivalent
    assert [d.name for d in same.differences] == ["fullyconnected1_output"]
    assert "from inputs.npz" in str(same.runs[0])


@AS
@pytest.mark.parametrize("model", ["model", "x.onnx"])
def test_run_and_bench(folder: Path, tmp_path: Path, as_given: Make, model: str) -> None:
    with np.load(folder / "inputs.npz") as stored:
        data = stored["data"]
    np.save(tmp_path / "data.npy", data)
    want = bridge.run(folder / "model", {"data": data})["softmax_output"]
    for inputs in (folder / "inputs.npz", tmp_path / "data.npy"):
        got = bridge.run(as_given(folder / model), as_given(inputs), outputs=["softmax_output"])
        np.testing.assert_allclose(got["softmax_output"], want, atol=1e-6)
    cost = bridge.precision_report(as_given(folder / model), as_given(folder / "inputs.npz"), precision="bfloat16")
    assert bool(cost.layers) == (native.level() is not None)  # NumPy holds no weights in fewer bits
    result = bridge.bench(as_given(folder / model), inputs=as_given(folder / "inputs.npz"), seconds=0.01, rounds=1)
    assert result.inputs == {"data": {"shape": [3, 1, 28, 28], "dtype": "float32"}}


@pytest.mark.skipif(native.level() is None, reason="NumPy has no programs to save")
@AS
def test_compile_inspect_and_record(folder: Path, tmp_path: Path, as_given: Make) -> None:
    inputs, file = as_given(folder / "inputs.npz"), as_given(tmp_path / "x.gluonnx")
    params = as_given(folder / "model-0000.params")
    made = bridge.compile(as_given(folder / "model"), params=params, inputs=inputs, output=file)
    assert made.inputs["data"]["shape"] == [3, 1, 28, 28]
    model = bridge.CompiledModel(as_given(folder / "model"), params, compiled=file)
    kept = bridge.record(as_given(folder / "model"), inputs, as_given(tmp_path / "kept.npz"), params=params)
    np.testing.assert_array_equal(model.run(inputs)["softmax_output"], kept.runs[0].outputs["softmax_output"])
    assert bridge.inspect(as_given(folder / "model"), params, inputs=inputs).inputs["data"]["shape"] == [3, 1, 28, 28]


def test_files_that_do_not_fit_are_refused(folder: Path, tmp_path: Path) -> None:
    calls = (
        lambda p: bridge.convert(folder / "model", inputs=p),
        lambda p: bridge.convert(folder / "model", inputs={"data": (1, 1, 28, 28)}, also=p),
        lambda p: bridge.import_onnx(folder / "x.onnx", inputs=p),
        lambda p: bridge.verify(folder / "model", folder / "x.onnx", inputs=p),
        lambda p: bridge.run(folder / "model", p),
        lambda p: bridge.bench(folder / "model", inputs=p),
        *((lambda p: bridge.compile(folder / "model", inputs=p),) if native.level() is not None else ()),
        lambda p: bridge.inspect(folder / "model", inputs=p),
        lambda p: bridge.record(folder / "model", p),
    )
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", other=np.ones((1, 1, 28, 28), np.float32))
    for call in calls:
        for name, words in (("none.npz", "no such file"), ("text.npz", "not an .npz"), ("other.npz", "other")):
            with pytest.raises(bridge.BadInput, match=words):
                call(tmp_path / name)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with more below it than is looked at, and two models in it: one near, one far."""
    monkeypatch.setattr(paths, "MOST_ENTRIES", 12)
    for number in range(10):
        (tmp_path / f"disk/a{number}/deep").mkdir(parents=True)
    for place in ("a1", "a9/deep"):
        (tmp_path / f"disk/{place}/net-symbol.json").write_text("{}")
    return tmp_path / "disk"


def test_a_disk_is_not_walked(disk: Path) -> None:
    """Models nearby are named, and those far away are not."""
    said = r"below it are a1/net-symbol\.json \(looked at 12 files and folders, of more that are below it\)$"
    with pytest.raises(bridge.BadInput, match=said):
        bridge.inspect(disk)
    found, whole = paths.files_below(disk)
    assert not whole and len(found) == 13


def test_many_models_are_not_looked_for_on_a_disk(disk: Path) -> None:
    (disk / "a0/net-symbol.json").write_text("{}")
    (disk / "a1/deep").rmdir()
    for command in (["convert", str(disk), "-o", f"{disk}/../out"], ["check", str(disk)]):
        ran = CliRunner().invoke(app, command)
        assert ran.exit_code == 2
        assert "more than 12 files and folders below it; give the folder that holds the models" in ran.stderr


def test_folders_in_folders_are_all_looked_at(tmp_path: Path) -> None:
    for place in ("x", "x/y/z", ".hidden", "__MACOSX"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "net-symbol.json").write_text("{}")
    (tmp_path / "x/again").symlink_to(tmp_path, target_is_directory=True)
    found = [p.relative_to(tmp_path).as_posix() for p in paths.symbols_of(tmp_path, deep=True)]
    assert found == [".hidden/net-symbol.json", "x/net-symbol.json", "x/y/z/net-symbol.json"]
