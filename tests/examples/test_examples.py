"""The programs of examples/: each runs as its first lines say, and prints what examples/README.md says it prints."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from bridge.recorded import load_recording
from tests.distributed.launching import environment, mpirun, needs_mpi
from tests.house.docs import ROOT

EXAMPLES = ROOT / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))
needs_pillow = pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="needs Pillow")


def python(folder: Path, *arguments: object, code: int = 0, **more: str) -> str:
    """Output of Python, run in a folder with warnings as errors."""
    told = [sys.executable, "-W", "error", *map(str, arguments)]
    done = subprocess.run(told, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=280)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def with_plugin() -> dict[str, str]:
    """Variables that make pytest load our plugin in a checkout; where gluonnx is installed, it does that by itself."""
    installed = importlib.metadata.entry_points(group="pytest11", name="gluonnx")
    return {} if installed else {"PYTEST_PLUGINS": "bridge.pytest_plugin"}


def percentages(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"([\d.]+)%", text)]


def test_programs_are_short_and_listed() -> None:
    readme = (EXAMPLES / "README.md").read_text()
    for path in (*PROGRAMS, EXAMPLES / "check_in_ci/test_models.py"):
        lines = path.read_text().splitlines()
        assert len(lines) < 80, path
        assert max(map(len, lines)) <= 100, path
        assert path.name == "digits.py" or path.name in readme or path.parent.name in readme
    assert len(PROGRAMS) >= 10
    first = [line for line in readme.splitlines() if not line.startswith(("|", "gluonnx"))]
    assert max(map(len, first)) <= 100


@pytest.mark.slow
def test_train_lenet(tmp_path: Path) -> None:
    said = python(tmp_path, EXAMPLES / "train_lenet.py")
    assert "equivalent" in said
    assert percentages(said)[-1] > 90
    assert {p.name for p in tmp_path.iterdir()} == {"lenet-symbol.json", "lenet-0000.params", "lenet.onnx"}


@pytest.mark.slow
def test_finetune_vit(tmp_path: Path) -> None:
    said = python(tmp_path, EXAMPLES / "finetune_vit.py")
    frozen, free = percentages(said)
    head, everything = map(int, re.findall(r"(\d+) weights", said))
    assert (head, everything > 10 * head, free > 80, free > frozen) == (170, True, True, True)
    assert (tmp_path / "tuned.onnx").is_file()


@pytest.mark.slow
def test_language_model(tmp_path: Path) -> None:
    said = python(tmp_path, EXAMPLES / "language_model.py")
    perplexities = [float(found) for found in re.findall(r"perplexity ([\d.]+)", said)]
    assert perplexities == sorted(perplexities, reverse=True)
    assert perplexities[-1] < 1.5
    sentence = r"(the|a) (old|red|fast) (cat|dog|bird) (sees|hears) (me|you|nothing|everybody)\."
    assert len(re.findall(sentence, said)) >= 5


@needs_pillow
@pytest.mark.slow
def test_detect(tmp_path: Path) -> None:
    said = python(tmp_path, EXAMPLES / "detect.py")
    boxes = re.findall(r"^class [012]: 0\.\d+ at \d+ \d+ \d+ \d+$", said, re.MULTILINE)
    assert len(boxes) >= 5
    assert (tmp_path / "detections.png").stat().st_size > 1000
    again = python(tmp_path, EXAMPLES / "detect.py", TINY, ROOT / "fixtures/data/a.png", "--least", 0.5)
    assert "class" in again


TINY = ROOT / "fixtures/models/ssd/model-symbol.json"


@needs_pillow
@pytest.mark.slow
def test_face_service(tmp_path: Path) -> None:
    """Loaded, asked for what there is not, told to stop while it is loaded: it ends well."""
    told = [sys.executable, "-W", "error", str(EXAMPLES / "face_service.py")]
    with subprocess.Popen(told, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        lines = iter(service.stdout.readline, "")
        url = next(line.split()[1] for line in lines if line.startswith("serving"))
        said = python(tmp_path, EXAMPLES / "face_client.py", url, "-n", 100)
        assert re.search(r"100 requests: \d+ a second, p50 [\d.]+ ms, p99 [\d.]+ ms", said)
        assert float(re.search(r"24 numbers each, at most (\S+) apart", said)[1]) < 1e-6  # type: ignore[index]
        for path, status in (("embed", 400), ("nothing", 404)):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(url.replace("embed", path), b"no picture")
            assert caught.value.code == status
            assert "error" in caught.value.read().decode()
        service.send_signal(signal.SIGTERM)
        assert next(lines).strip() == "stopped"
        assert service.wait(60) == 0


@pytest.mark.slow
def test_quantize(tmp_path: Path) -> None:
    said = python(tmp_path, EXAMPLES / "quantize.py")
    layers = re.findall(r"^(\S+_output) +(Conv|Relu|MaxPool|Flatten|Gemm) .*?([\d.]+)$", said, re.MULTILINE)
    assert len(layers) == 10
    assert all(float(decibels) > 20 for *_, decibels in layers)
    table = {name: (int(size), float(top)) for name, size, top in re.findall(r"(\w+) +(\d+) +([\d.]+)%", said)}
    assert table["int8"][0] < table["float32"][0] / 3
    assert table["int8"][1] > table["float32"][1] - 3 > 80


@needs_mpi
@pytest.mark.slow
def test_distributed(tmp_path: Path) -> None:
    told = [str(mpirun()), "-n", "2", sys.executable, str(EXAMPLES / "distributed.py")]
    done = subprocess.run(told, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    right = dict(re.findall(r"rank (\d) of 2: ([\d.]+)% right", done.stdout))
    assert right["0"] == right["1"]  # the same weights
    assert float(right["0"]) > 80
    assert (tmp_path / "distributed.onnx").is_file()


@pytest.mark.slow
def test_custom_operator(tmp_path: Path) -> None:
    said = python(tmp_path, EXAMPLES / "custom_operator.py")
    assert said.count("equivalent") == 2
    assert "swish(3) is 2.967" in said
    assert "slope 1.037" in said
    plugin = EXAMPLES / "custom_operator.py"
    told = ("-m", "gluonnx", "convert", "swish", "--input", "data:2,3", "-o", "again.onnx", "--plugin", plugin)
    assert "equivalent: wrote again.onnx" in python(tmp_path, *told)


@pytest.mark.slow
def test_check_in_ci(tmp_path: Path) -> None:
    """As the README has it; and with a weight moved, the check and the test fail."""
    for name in ("examples/check_in_ci", "fixtures/models/lenet", "fixtures/models/arcface"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "fixtures/recorded").mkdir()
    shutil.copy(ROOT / "fixtures/recorded/lenet.npz", tmp_path / "fixtures/recorded")
    folder = tmp_path / "examples/check_in_ci"
    part = (EXAMPLES / "README.md").read_text().split("cd examples/check_in_ci\n")[1].split("```")[0]
    part = part.replace("\\\n", "")
    for line in part.splitlines():
        words = line.split("#")[0].split()
        if words[:1] == ["cp"]:
            shutil.copy(folder / words[1], folder / words[2])
            continue
        said = python(folder, *(("-m", *words) if words[0] == "gluonnx" else words[1:]), **with_plugin())
    assert "3 passed" in said
    assert load_recording(folder / "lenet.npz").facts["held"], "and the fixture is as it was"
    assert "held" not in load_recording(tmp_path / "fixtures/recorded/lenet.npz").facts
    shutil.copy(folder / "face.onnx", folder / "lenet.onnx")
    assert "lenet.onnx" in python(folder, "-m", "gluonnx", "check", code=2)


@pytest.mark.slow
def test_batch_convert(tmp_path: Path) -> None:
    said = python(tmp_path, EXAMPLES / "batch_convert.py").splitlines()
    assert [line.split()[:2] for line in said] == [
        ["ok", f"{name}/model.onnx"] for name in ("lenet", "mobile_face", "logistic_regression", "text_cnn")
    ]
    assert all("from before" in line for line in python(tmp_path, EXAMPLES / "batch_convert.py").splitlines())
    assert (tmp_path / "converted/lenet/model.onnx").is_file()
