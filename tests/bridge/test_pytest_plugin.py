"""The pytest plugin, in runs of pytest of their own: failures that say where, recordings beside tests, and no cost at the start."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import bridge
from bridge.project.config import tomllib
from bridge.recorded import load_recording
from tests.house.docs import ROOT
from tests.models.networks import FOLDER

LENET = FOLDER / "lenet"
RECORDED = ROOT / "fixtures" / "recorded" / "lenet.npz"
Run = Callable[..., str]


def pytest_in(folder: Path, arguments: list[str]) -> tuple[int, str]:
    """The exit status and the output of pytest in a folder, in a copy of this process, which has loaded everything already."""
    place = folder / "output.txt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which a copy does without
        copy = os.fork()
    if not copy:
        status = 70
        try:
            os.chdir(folder)
            os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            status = int(pytest.main(arguments))
            sys.stdout.flush()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), place.read_text()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run tests in a folder with lenet's files under models; gives what pytest prints."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "models").mkdir()
    for file in LENET.glob("model-*"):
        shutil.copy(file, tmp_path / "models")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")

    def call(text: str, *arguments: str, passed: int = 0, failed: int = 0) -> str:
        (tmp_path / "test_models.py").write_text(text)
        status, out = pytest_in(tmp_path, ["-p", "bridge.pytest_plugin", *arguments])
        assert status == (1 if failed else 0), out
        for count, word in ((passed, "passed"), (failed, "failed")):
            found = re.search(rf"(\d+) {word}", out)
            assert (int(found[1]) if found else 0) == count, out
        return out

    return call


@pytest.fixture(scope="module")
def wrong() -> onnx.ModelProto:
    """lenet as ONNX, with one weight 1 % wrong."""
    from converters import convert

    model = bridge.open_model(LENET / "model")
    proto = convert(model.graph, model.params, {"data": (3, 1, 28, 28)}).proto()
    tensor = next(i for i in proto.graph.initializer if i.name == "fullyconnected0_weight")
    tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * np.float32(1.01), tensor.name))
    return proto


EQUIVALENT = """
import pytest

def test_alone(gluonnx):
    result = gluonnx.assert_equivalent("models/model", baseline="lenet.npz")
    assert result.equivalent

def test_both(gluonnx):
    gluonnx.assert_equivalent("models/model", "models/wrong.onnx", inputs={"data": (3, 1, 28, 28)})

@pytest.mark.gluonnx("models/model", baseline="lenet.npz")
def test_marked():
    pass

@pytest.mark.gluonnx("models/wrong.onnx", baseline="lenet-3.npz")
def test_marked_wrong():
    raise RuntimeError("the body comes after the comparison")

@pytest.mark.parametrize("limit", [0.1, 1e-9])
def test_rules(gluonnx, limit):
    gluonnx.assert_equivalent("models/wrong.onnx", baseline="lenet-3.npz", tolerance={"softmax_output": {"atol": limit, "rtol": 0}})
"""


def test_failures_say_where(run: Run, tmp_path: Path, wrong: onnx.ModelProto) -> None:
    onnx.save(wrong, tmp_path / "models" / "wrong.onnx")
    shutil.copy(RECORDED, tmp_path / "lenet.npz")
    recording = load_recording(RECORDED)
    bridge.Recording(recording.runs[:1], recording.facts).save(tmp_path / "lenet-3.npz")
    out = run(EQUIVALENT, passed=3, failed=3)
    assert re.search(r"^E +AssertionError: NOT EQUIVALENT", out, re.MULTILINE), out
    assert re.search(r"^E .*fullyconnected0", out, re.MULTILINE), "the node"
    assert "the body comes after" not in out
    assert "pytest_plugin.py" not in out, "frames of the plugin are hidden"
    reports = sorted(p.name for p in (tmp_path / ".pytest_cache" / "d" / "gluonnx").iterdir())
    assert reports == [
        "test_models.py-test_both.html",
        "test_models.py-test_marked_wrong.html",
        "test_models.py-test_rules-1e-09.html",
    ]
    for name in reports:
        assert f"report: .pytest_cache/d/gluonnx/{name}" in out
        assert "not equivalent" in (tmp_path / ".pytest_cache" / "d" / "gluonnx" / name).read_text()


def test_what_is_told_of_tests_that_pass_or_ask_wrongly(run: Run) -> None:
    text = """
def test_loose(gluonnx):
    gluonnx.assert_equivalent("models/model", "models/model", inputs={"data": (1, 1, 28, 28)}, tolerance=(100, 0))

def test_words(gluonnx):
    gluonnx.assert_equivalent("models/model", "models/model", inputs={"data": (1, 1, 28, 28)}, atol=1e-5)

def test_one(gluonnx):
    gluonnx.assert_equivalent("models/model", "models/model", inputs={"data": (1, 1, 28, 28)}, tolerance=1e-5)

def test_recorded(gluonnx):
    gluonnx.check_recorded("models/model", {"data": (1, 1, 28, 28)}, rtol=1e-5)
"""
    out = run(text, "-W", "default", passed=1, failed=3)
    assert "UserWarning: output softmax_output: atol 100 is larger than its largest number" in out
    assert "TypeError: gluonnx.assert_equivalent has no atol; give tolerance=(atol, rtol)" in out
    assert "got tolerance 1e-05, wanted (atol, rtol)" in out
    assert "TypeError: gluonnx.check_recorded has no rtol; give tolerance=(atol, rtol)" in out


def test_recordings_beside_tests(run: Run, tmp_path: Path) -> None:
    text = """
import numpy as np

def test_snapshot(gluonnx):
    gluonnx.check_recorded("models/model", {"data": (2, 1, 28, 28)}, seed=3)

def test_named(gluonnx):
    gluonnx.check_recorded("models/model", {"data": np.full((1, 1, 28, 28), VALUE, np.float32)}, name="half")
"""
    plain = text.replace("VALUE", "0.5")
    out = run(plain, failed=2)
    assert "no recording yet: wrote" in out
    first = tmp_path / "test_models" / "test_snapshot.npz"
    kept = load_recording(first)
    assert kept.runs[0].inputs["data"].shape == (2, 1, 28, 28)
    assert (tmp_path / "test_models" / "half.npz").is_file()
    before = first.read_bytes()
    run(plain, passed=2)
    assert first.read_bytes() == before
    assert "was recorded on other inputs" in run(text.replace("VALUE", "0.25"), passed=1, failed=1)
    moved = bridge.Recording(
        tuple(r._replace(outputs={n: a + np.float32(0.01) for n, a in r.outputs.items()}) for r in kept.runs),
        kept.facts,
    )
    moved.save(first)
    assert "NOT EQUIVALENT" in run(plain, "-k", "snapshot", failed=1)
    run(plain, "--gluonnx-update", passed=2)
    np.testing.assert_array_equal(
        load_recording(first).runs[0].outputs["softmax_output"], kept.runs[0].outputs["softmax_output"]
    )


def test_the_plugin_costs_nothing_at_the_start() -> None:
    """pytest loads it whatever it tests."""
    heavy = ("numpy", "onnx", "onnxruntime", "hybrid", "converters", "rich", "typer")
    code = f"import sys, bridge.pytest_plugin; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_entry_point_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"gluonnx": "bridge.pytest_plugin"}
    assert any(d.startswith("tomli") and "python_version < '3.11'" in d for d in project["dependencies"])
