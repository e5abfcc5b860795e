"""Refusals of deployments: before the work, as far as the reason is known by then."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.serving import deploy as deploying

ROOT = Path(__file__).parents[2]
LENET, TRUTH = ROOT / "fixtures" / "models" / "lenet" / "model", ROOT / "fixtures" / "recorded" / "lenet.npz"
SIZE: dict[str, Any] = {"inputs": {"data": (1, 1, 28, 28)}}


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is converted."""

    def convert(*_told: Any, **_more: Any) -> None:
        raise AssertionError("it was converted")

    monkeypatch.setattr(deploying, "convert", convert)


@pytest.mark.parametrize(
    ("to", "place", "there"),
    [
        ("sagemaker", "out", "out/code/inference.py"),
        ("sagemaker", "model.tar.gz", "model.tar.gz"),
        ("mms", "net.mar", "net.mar"),
        ("python", "out", "out/run.py"),
        ("cpp", "out", "out/labels.txt"),
    ],
)
def test_files_that_are_there(to: str, place: str, there: str, tmp_path: Path, no_work: None) -> None:
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("mine")
    labels = [f"digit {i}" for i in range(10)]
    with pytest.raises(bridge.BadInput, match=r"there already; choose another place, or add --replace"):
        bridge.deploy(LENET, to, tmp_path / place, labels=labels, **SIZE)
    with pytest.raises(AssertionError, match="it was converted"):
        bridge.deploy(LENET, to, tmp_path / place, labels=labels, replace=True, **SIZE)
    assert (tmp_path / there).read_text() == "mine"


@pytest.mark.parametrize("to", ["sagemaker", "mms", "python", "cpp"])
@pytest.mark.parametrize("there", ["c/1/model.onnx", "c/config.pbtxt"])
def test_a_repository_of_triton_takes_nothing_else(to: str, there: str, tmp_path: Path, no_work: None) -> None:
    (tmp_path / there).parent.mkdir(parents=True)
    (tmp_path / there).write_text("theirs")
    with pytest.raises(bridge.BadInput, match=r"a repository of Triton's, with c, .*; give another folder"):
        bridge.deploy(LENET, to, tmp_path, replace=True, **SIZE)
    with pytest.raises(AssertionError, match="it was converted"):
        bridge.deploy(LENET, "triton", tmp_path, **SIZE)


@pytest.mark.parametrize(
    ("to", "place", "said"),
    [
        (
            "triton",
            "net.mar",
            r"writes a folder, and no \.mar file; give a folder, such as .*net; --to mms writes one$",
        ),
        ("triton", "net.tar.gz", r"no \.tar\.gz file; .*net; --to sagemaker writes one$"),
        ("mms", "net.zip", r"writes a folder or NAME\.mar, and no \.zip file; give a folder, such as .*net$"),
        ("python", "run.py", r"no \.py file; give a folder, such as .*run$"),
    ],
)
def test_names_of_files_where_folders_are_made(to: str, place: str, said: str, tmp_path: Path, no_work: None) -> None:
    with pytest.raises(bridge.BadInput, match=said):
        bridge.deploy(LENET, to, tmp_path / place, **SIZE)
    (tmp_path / place).mkdir()  # a folder that somebody calls so
    with pytest.raises(AssertionError, match="it was converted"):
        bridge.deploy(LENET, to, tmp_path / place, **SIZE)
    with pytest.raises(AssertionError, match="it was converted"):
        bridge.deploy(LENET, to, tmp_path / "resnet.v1", **SIZE)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": [f"number {i}" for i in range(10)]}, "labels.txt holds other names of classes"),
        ({"batch": "batch", "max_batch": 16}, r"config\.pbtxt says 8, for all versions"),
    ],
)
def test_what_a_repository_says_of_all_versions(
    options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [f"digit {i}" for i in range(10)]
    bridge.deploy(LENET, "triton", tmp_path, name="net", labels=labels, batch="batch", verify=False, **SIZE)
    monkeypatch.setattr(deploying, "convert", None)
    with pytest.raises(bridge.BadInput, match=said):
        bridge.deploy(LENET, "triton", tmp_path, name="net", **{"batch": "batch", **options}, **SIZE)


@pytest.fixture
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two models are compared."""

    def check(*_told: Any, **_more: Any) -> None:
        raise AssertionError("they were compared")

    for name in ("bridge.verify", "bridge.conversion.proof"):
        monkeypatch.setattr(sys.modules[name], "check", check)


def test_a_recording_of_other_outputs(tmp_path: Path, no_runs: None) -> None:
    """Of the network before its last layer: that there are as many outputs does not make them the same, that there are others is
    known before anything is run."""
    with np.load(TRUTH) as stored:
        arrays = dict(stored)
    two = {n: a for n, a in arrays.items() if "/inputs/" in n}
    for name, array in arrays.items():
        if "/outputs/" in name:
            two |= {name.replace("softmax_output", f"{which}_output"): array for which in ("first", "second")}
    np.savez(tmp_path / "two.npz", **two)
    told = r"has 2 output\(s\) \(first_output, second_output\), and model-symbol.json gives 1 \(softmax_output\)"
    with pytest.raises(bridge.BadInput, match=told):
        bridge.deploy(LENET, "triton", tmp_path / "repository", expected=tmp_path / "two.npz", batch="batch")
    made = bridge.convert(LENET, output=tmp_path / "lenet.onnx", verify=False, batch="batch", **SIZE).files[0]
    with pytest.raises(bridge.BadInput, match=told):
        bridge.verify(LENET, made, expected=tmp_path / "two.npz")
    with pytest.raises(
        bridge.BadInput, match=r"run 2 is \(1, 1, 28, 28\), .* take \(3, 1, 28, 28\) alone; .* --dynamic batch"
    ):
        bridge.deploy(LENET, "triton", tmp_path / "repository", expected=TRUTH)
    with pytest.raises(AssertionError, match="they were compared"):
        bridge.deploy(LENET, "triton", tmp_path / "repository", expected=TRUTH, batch="batch")


def test_sizes_beside_a_recording_that_says_them(tmp_path: Path) -> None:
    """Those that it has are no contradiction, also where the batch is left open; others are refused with what it has."""
    axes: dict[str, Any] = {"dynamic": {"data": {0: "n"}}}
    batch: dict[str, Any] = {"batch": "batch"}
    for number, (size, options) in enumerate(((3, axes), (1, axes), (8, axes), (8, batch))):
        out, given = tmp_path / f"{number}.onnx", {"data": (size, 1, 28, 28)}
        made = bridge.convert(LENET, inputs=given, expected=TRUTH, output=out, draws=("expected",), **options)
        assert made.verification is not None
        assert any("recorded" in d.name for d in made.verification.differences)
    for size in (3, 1):  # those of its two runs
        assert bridge.verify(LENET, inputs={"data": (size, 1, 28, 28)}, expected=TRUTH).equivalent
    for size in ((8, 1, 28, 28), (3, 1, 28, 29), (3, 784)):
        with pytest.raises(
            bridge.BadInput, match=r"data is float32 \(3, 1, 28, 28\) and float32 \(1, 1, 28, 28\) there"
        ):
            bridge.convert(LENET, inputs={"data": size}, expected=TRUTH)
    with pytest.raises(bridge.BadInput, match=r"got image \(3, 1, 28, 28\), and its inputs are data"):
        bridge.convert(LENET, inputs={"image": (3, 1, 28, 28)}, expected=TRUTH)
    with pytest.raises(bridge.BadInput, match="holds the inputs too; leave out --inputs"):
        bridge.convert(LENET, inputs={"data": np.zeros((3, 1, 28, 28), np.float32)}, expected=TRUTH)
