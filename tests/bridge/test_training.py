"""convert(training=True): from a saved network to a verified model that trains."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
from bridge.cli import app
from hybrid import symbol
from tests.converters.test_training import drawn, net


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, dict[str, np.ndarray]]:
    made = net()
    feeds = drawn(made.graph, {"data": (5, 2, 6, 6)})
    made.save(str(tmp_path / "net-symbol.json"))
    return tmp_path / "net-symbol.json", {n: a for n, a in feeds.items() if n not in ("data", "softmax_label")}


def test_losses_labels_and_statistics_of_a_dynamic_batch(saved: tuple[Path, dict[str, np.ndarray]]) -> None:
    symbol_file, params = saved
    target = symbol_file.with_name("net.onnx")
    result = bridge.convert(
        symbol_file, params, inputs={"data": (5, 2, 6, 6)}, output=target, dynamic={"data": {0: "batch"}}, training=True
    )
    assert result.verified
    assert len(result.verification.runs) == 4  # type: ignore[union-attr]
    assert any("Dropout left out" in w for w in result.warnings)
    assert result.inputs["softmax_label"]["shape"] == ["batch"]
    assert list(result.outputs)[2:] == [
        *("softmax_loss_output", "weight_loss_output", "bn_moving_mean_new_output", "bn_moving_var_new_output")
    ]
    kinds = {n.op_type for n in onnx.load(target).graph.node}
    assert {"Dropout", "BatchNormalization", "RandomUniformLike"} <= kinds


def test_without_chance_nothing_is_left_out(tmp_path: Path) -> None:
    made = symbol.LinearRegressionOutput(
        symbol.FullyConnected(symbol.var("data"), num_hidden=1, name="fc"), name="head"
    )
    params = {"fc_weight": np.ones((1, 3), np.float32), "fc_bias": np.zeros(1, np.float32)}
    result = bridge.convert(made, params, inputs={"data": (4, 3)}, output=tmp_path / "x.onnx", training=True)
    assert not result.warnings
    assert list(result.inputs) == ["data", "head_label"]
    assert list(result.outputs) == ["head_output", "head_loss_output"]
    plain = bridge.convert(made, params, inputs={"data": (4, 3)})
    assert list(plain.inputs) == ["data"]


def test_an_open_axis_that_weights_fix_is_named_with_the_node() -> None:
    """As it is without --training: what inference says of sizes that were made up is no matter of who converts."""
    made = symbol.SoftmaxOutput(
        symbol.FullyConnected(symbol.var("data"), num_hidden=3, no_bias=True, name="fc"), name="softmax"
    )
    params = {"fc_weight": np.ones((3, 3 * 8 * 8), np.float32)}
    dynamic = {"data": {0: "batch", 2: "height"}}
    with pytest.raises(bridge.BadInput, match=r"fc .* has weights for one size alone.* leave data:2=height out"):
        bridge.convert(made, params, inputs={"data": (2, 3, 8, 8)}, dynamic=dynamic, training=True)


def test_the_command(tmp_path: Path) -> None:
    made = symbol.SVMOutput(symbol.var("data"), name="svm")
    made.save(str(tmp_path / "svm-symbol.json"))
    arguments = ["convert", str(tmp_path / "svm"), "--input", "data:4,3", "--training", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert list(json.loads(done.stdout)["outputs"]) == ["svm_output", "svm_loss_output"]
