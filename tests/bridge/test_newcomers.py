"""Messages that somebody meets on the first day: what was got, what was wanted, what to do, and no more than a screen of it."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from PIL import Image
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge import report
from bridge.cli import app
from bridge.models import BadInput
from bridge.recorded import script_for_mxnet

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution and a layer behind it, for pictures of 8 x 8."""
    prefix = tmp_path_factory.mktemp("net") / "net"
    data = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    mx.sym.FullyConnected(data, num_hidden=5, name="fc").save(f"{prefix}-symbol.json")
    shapes = {"conv_weight": (4, 3, 3, 3), "conv_bias": (4,), "fc_weight": (5, 144), "fc_bias": (5,)}
    mx.nd.save(f"{prefix}-0000.params", {f"arg:{n}": mx.nd.random.normal(shape=s) for n, s in shapes.items()})
    return prefix


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((3, 8, 8), "wanted 4 dimensions, the batch first; try --input data:1,3,8,8"),
        (
            (1, 3, 9, 9),
            r"fc_weight: got shape \(5, 144\)[^$]*so data \(1, 3, 9, 9\) is not the size that the network was trained",
        ),
    ],
)
def test_a_shape_that_does_not_fit_is_answered_with_one_to_try(net: Path, shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        bridge.convert(net, inputs={"data": shape}, output=net.with_suffix(".onnx"))
    assert not net.with_suffix(".onnx").exists()


def test_a_run_of_sizes_alone_is_told_what_it_wants(net: Path) -> None:
    """--input and --range are there for pictures, and nothing is drawn."""
    told = CliRunner().invoke(app, ["run", str(net), "--input", "data:1,3,8,8"])
    said = " ".join(told.output.split())
    assert told.exit_code == 2 and "--input: run draws no numbers, and reads it for the size of --image alone" in said
    assert "give --inputs FILE.npz with arrays named data" in said
    Image.new("RGB", (8, 8)).save(net.with_suffix(".png"))
    told = CliRunner().invoke(app, ["run", str(net), "--image", str(net.with_suffix(".png"))])
    assert "takes data of no known size; say its shape: --input NAME:1,3,224,224" in " ".join(told.output.split())


def test_an_onnx_file_is_no_symbol_that_fails_to_load(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 18]> m (float[3, 3] x) => (float[3, 3] y) { y = Mish (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "turned.onnx")
    result = bridge.inspect(tmp_path / "turned.onnx")
    assert result.mxnet
    [facts] = [block for block in report.inspect_table(result).blocks if isinstance(block, report.Facts)]
    assert str(dict(facts.rows)["in MXNet 1.9.1"]).startswith("would not load if it was imported, as it lacks ")


def test_of_many_missing_parameters_the_count_is_said(tmp_path: Path) -> None:
    data = mx.sym.var("data")
    for i in range(20):
        data = mx.sym.FullyConnected(data, num_hidden=4, name=f"fc{i}")
    data.save(str(tmp_path / "deep-symbol.json"))
    result = bridge.inspect(tmp_path / "deep")
    assert len(result.missing) == 40
    [facts] = [block for block in report.inspect_table(result).blocks if isinstance(block, report.Facts)]
    said = dict(facts.rows)["missing"]
    assert str(said).startswith("40 parameters: fc0_weight, fc0_bias,")
    assert str(said).endswith("and 32 more")


def test_a_program_ends_with_its_own_lines_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import mxnet as mx\n\ndef go():\n    mx.nd.ones((2,), ctx=mx.gpu(99))\n\ngo()\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "hybrid", "train.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    first, second = done.stderr.splitlines()[:2]
    assert first == "Traceback (most recent call last):"
    assert second.startswith('  File "train.py", line 6'), done.stderr
    assert "runpy" not in done.stderr and "gpu(99)" in done.stderr.splitlines()[-1]


def test_the_script_for_mxnet_says_how_to_make_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mxnet", types.ModuleType("mxnet"))
    space: dict[str, object] = {"__name__": "script"}
    exec(script_for_mxnet(), space)
    asked = types.SimpleNamespace(
        input=[], range=[], inputs=[str(tmp_path / "in.npz")], runs=1, seed=0, draws="expected"
    )
    with pytest.raises(SystemExit, match=r"in.npz: no such file; wanted an .npz .* --input data:1,3,224,224"):
        space["sets_of_inputs"](asked)  # pyright: ignore[reportCallIssue]
    np.savez(tmp_path / "in.npz", data=np.ones((1, 2)))
    (case,), further = space["sets_of_inputs"](asked)  # pyright: ignore[reportCallIssue]
    assert list(case.feeds) == ["data"] and not further


def test_the_script_for_mxnet_takes_names_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    """As gluonnx record does; a name that there is not is said, with those that are near."""
    monkeypatch.setitem(sys.modules, "mxnet", types.ModuleType("mxnet"))
    space: dict[str, Any] = {"__name__": "script"}
    exec(script_for_mxnet(), space)
    inner = ["data", "fc1_output", "relu1_output", "a,b"]
    assert space["named"](["fc1_output, relu1_output", "a,b"], inner) == ["fc1_output", "relu1_output", "a,b"]
    with pytest.raises(SystemExit, match=r"--outputs fc2_output: .* did you mean fc1_output"):
        space["named"](["relu1_output,fc2_output"], inner)


def test_a_channel_of_one_number_that_cancels_is_no_fault(tmp_path: Path) -> None:
    """Folding a BatchNorm rounds weights; a sum that nearly cancels, in a channel of a single number, is small beside that."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 64, 1, 1)).astype("float32")
    weight = rng.normal(size=(32, 64)) * 0.2
    flat = x.ravel().astype("float64")
    weight[0] -= flat * (weight[0] @ flat - 1e-5) / (flat @ flat)
    data = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=32, no_bias=True, name="conv")
    mx.sym.BatchNorm(data, fix_gamma=False, name="bn").save(str(tmp_path / "net-symbol.json"))
    params = {"arg:conv_weight": weight.reshape(32, 64, 1, 1), "arg:bn_gamma": rng.uniform(0.5, 2, 32)}
    params |= {
        "arg:bn_beta": np.zeros(32),
        "aux:bn_moving_mean": np.zeros(32),
        "aux:bn_moving_var": rng.uniform(0.5, 2, 32),
    }
    mx.nd.save(str(tmp_path / "net-0000.params"), {n: mx.nd.array(a) for n, a in params.items()})
    done = bridge.convert(tmp_path / "net", inputs={"data": x}, output=tmp_path / "net.onnx")
    assert done.verification is not None and done.verification.equivalent
    wrong = {n: a * (1.001 if n == "arg:bn_gamma" else 1) for n, a in params.items()}
    mx.nd.save(str(tmp_path / "other.params"), {n: mx.nd.array(a) for n, a in wrong.items()})
    other = bridge.open_model(tmp_path / "net-symbol.json", tmp_path / "other.params")
    assert not bridge.verify(other, tmp_path / "net.onnx", inputs={"data": x}).equivalent
