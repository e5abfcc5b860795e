"""Reduced precision by the functions and commands that run and measure models: what it costs is always told."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from hybrid import native
from tests.models.networks import networks

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

NETWORK = next(n for n in networks() if n.name == "lenet")
MODEL, FEEDS = NETWORK.folder / "model", NETWORK.folder / "inputs.npz"
GIVEN, WANT = NETWORK.runs()[0]
SHAPE = GIVEN["data"].shape


def call(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    target = tmp_path / "x.onnx"
    bridge.convert(MODEL, inputs={"data": SHAPE}, output=target, verify=False)
    return target


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_run_tells_the_error(precision: str, imported: Path, tmp_path: Path) -> None:
    answer = tmp_path / "y.npz"
    for model in (MODEL, imported):
        told = json.loads(call("run", model, "--inputs", FEEDS, "-o", answer, "--precision", precision, "--json"))
        cost = told["precision"]
        assert cost["precision"] == precision
        (output,) = cost["outputs"]
        with np.load(answer) as got:
            (name,) = got.files
            want = WANT["softmax_output"]
            error = np.abs(got[name] - want).max() / np.abs(want).max()
        assert output["output"] == name
        assert output["error"] == pytest.approx(error, rel=0.05, abs=1e-5) and output["error"] > 1e-6
        assert len(cost["layers"]) == 2  # the dense ones
        text = call("run", model, "--inputs", FEEDS, "--precision", precision)
        assert f"weights as {precision}" in text and f"{output['error']:.2e}" in text
        assert all(f"{r['error']:.2e}" in text for r in cost["layers"])


def test_without_it_nothing_is_told() -> None:
    assert "precision" not in json.loads(call("run", MODEL, "--inputs", FEEDS, "--json"))
    assert "weights as" not in call("run", MODEL, "--inputs", FEEDS)


def test_wrong_ones_are_bad_input() -> None:
    for command in (
        ("run", MODEL, "--inputs", FEEDS),
        ("bench", MODEL, "--input", f"data:{','.join(map(str, SHAPE))}"),
    ):
        result = CliRunner().invoke(app, [*map(str, command), "--precision", "int3", "--json"])
        assert result.exit_code == 2
        assert "got 'int3', wanted one of float32, bfloat16, int8" in result.stdout + result.output
    with pytest.raises(bridge.BadInput, match="got precision 'int8' with engine onnxruntime, wanted native"):
        bridge.run(MODEL, GIVEN, engine="onnxruntime", precision="int8")


def test_bench_compares_weights_as_they_are_and_tells_the_rest(tmp_path: Path) -> None:
    given = ("bench", MODEL, "--input", f"data:{','.join(map(str, SHAPE))}", "--seconds", "0.02")
    (told,) = json.loads(call(*given, "--profile", "--precision", "int8", "--json"))["models"]
    assert told["equivalent"] and all(d["max_rel"] < 1e-3 for d in told["differences"])
    assert told["precision"]["precision"] == "int8" and len(told["precision"]["layers"]) == 2
    assert told["precision"]["outputs"][0]["error"] > 1e-6
    assert sum(s["kernel"].startswith("int8 ") for s in told["steps"]) == 2
    target = tmp_path / "report.md"
    text = call(*given, "--precision", "bfloat16", "--report", target)
    assert "weights as bfloat16" in text and "weights as bfloat16" in target.read_text()


def test_comparisons_know_nothing_of_the_setting(tmp_path: Path) -> None:
    """Conversions are verified with weights as they are, and so is what is measured."""
    before = mx.set_precision("int8")
    try:
        want = bridge.run(MODEL, GIVEN)["softmax_output"]
        np.testing.assert_allclose(want, WANT["softmax_output"], atol=1e-6)
        bridge.convert(MODEL, inputs={"data": SHAPE}, output=tmp_path / "y.onnx")  # raises where both differ
        assert bridge.verify(MODEL, tmp_path / "y.onnx", inputs={"data": SHAPE}).equivalent
        measured = bridge.bench(MODEL, inputs={"data": SHAPE}, seconds=0.02)
        assert max(d.max_rel for d in measured.differences) < 1e-4
        assert measured.precision is None and measured.as_dict()["precision"] is None
    finally:
        mx.set_precision(before)
