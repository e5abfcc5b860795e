"""Files that deploy writes, alone: the program in C++ for a compiler, handlers in processes of their own."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bridge

SOURCE = Path(__file__).parents[2] / "fixtures" / "models" / "squeezenet" / "model"
NAMES = tuple(f"class {i}" for i in range(10))
DECLARED = Path(__file__).with_name("declared")
PIXELS = np.random.default_rng(0).integers(0, 256, (1, 40, 48, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of pictures, with names."""
    path = tmp_path_factory.mktemp("alone") / "classifier.onnx"
    pictures = bridge.Preprocess(layout="NHWC", uint8=True, unit=True)
    wanted = bridge.Postprocess(labels=NAMES, softmax=False)
    told = {"inputs": {"data": (1, 40, 48, 3)}, "draws": ("expected",), "verify": False}
    bridge.convert(SOURCE, output=path, preprocess=pictures, postprocess=wanted, **told)
    return path


@pytest.fixture(scope="module")
def scores(model: Path) -> np.ndarray:
    """Scores that our engine gives the picture, (1, 10)."""
    (found,) = bridge.run(model, {"data": PIXELS}, engine="native").values()
    return found


def alone(code: str, folder: Path, *arguments: object) -> str:
    """Output of a program in a folder, in which nothing of ours can be imported."""
    words = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(folder: Path) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    words = [compiler, "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{DECLARED}", "main.cpp"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_the_program_in_cpp_is_right_for_a_compiler(model: Path, tmp_path: Path) -> None:
    """Against the part of onnxruntime's interface that it uses, which is declared beside this file; run it is with the real one
    (test_deploy.py). A call that the interface has not is noticed."""
    bridge.deploy(model, "cpp", tmp_path / "program")
    done = compiled(tmp_path / "program")
    assert done.returncode == 0, done.stderr
    source = tmp_path / "program" / "main.cpp"
    text = source.read_text()
    for old, new in (
        ("GetInputNameAllocated(i, allocator)", "GetInputName(i, allocator)"),
        ("array.bytes.size(), array.shape.data()", "array.shape.data()"),
    ):
        assert old in text
        text = text.replace(old, new)
    source.write_text(text)
    said = compiled(tmp_path / "program").stderr
    assert "GetInputName" in said and "CreateTensor" in said


SAGEMAKER = """
import sys
import inference
model = inference.model_fn(sys.argv[1])
for path, kind in zip(sys.argv[2::2], sys.argv[3::2]):
    with open(path, "rb") as file:
        data = inference.input_fn(file.read(), kind)
    print(inference.output_fn(inference.predict_fn(data, model), "application/json")[0])
assert not {"bridge", "hybrid", "converters", "gluonnx"} & set(sys.modules)
"""
SERVICE = """
import json, sys
from types import SimpleNamespace
import service
context = SimpleNamespace(system_properties={"model_dir": sys.argv[1]})
assert service.handle(None, context) is None
for path in sys.argv[2:]:
    with open(path, "rb") as file:
        print(json.dumps(service.handle([{"body": file.read()}], context)))
assert not {"bridge", "hybrid", "converters", "gluonnx"} & set(sys.modules)
"""


def bodies(folder: Path) -> dict[str, Path]:
    """The picture as it is sent, by content types."""
    sent = {"application/json": json.dumps(PIXELS.tolist()).encode()}
    npy, png = io.BytesIO(), io.BytesIO()
    np.save(npy, PIXELS)
    Image.fromarray(PIXELS[0]).save(png, "png")
    sent |= {"application/x-npy": npy.getvalue(), "image/png": png.getvalue()}
    out = {}
    for kind, content in sent.items():
        out[kind] = folder / kind.replace("/", "-")
        out[kind].write_bytes(content)
    return out


def test_the_handler_of_sagemaker_runs_alone(model: Path, scores: np.ndarray, tmp_path: Path) -> None:
    """model_fn, input_fn, predict_fn and output_fn, one after the other, as the inference toolkit calls them."""
    bridge.deploy(model, "sagemaker", tmp_path / "net")
    sent = [str(word) for kind, path in bodies(tmp_path).items() for word in (path, kind)]
    answers = alone(SAGEMAKER, tmp_path / "net" / "code", tmp_path / "net", *sent).splitlines()
    assert len(answers) == 3
    for said in answers:
        np.testing.assert_allclose(json.loads(said), scores, rtol=1e-4, atol=1e-6)


def test_the_service_of_multi_model_server_runs_alone(model: Path, scores: np.ndarray, tmp_path: Path) -> None:
    """handle, without data first, as the server does when it starts a worker."""
    bridge.deploy(model, "mms", tmp_path / "net")
    answers = alone(SERVICE, tmp_path / "net", tmp_path / "net", *bodies(tmp_path).values()).splitlines()
    assert len(answers) == 3
    for said in answers:
        ((best,),) = json.loads(said)
        order = np.argsort(-scores[0], kind="stable")[: len(best)]
        assert [b["class"] for b in best] == [NAMES[i] for i in order] and len(best) == 5
        np.testing.assert_allclose([b["probability"] for b in best], scores[0, order], rtol=1e-4)
