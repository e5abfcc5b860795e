"""Imported networks as they are shown: drawings without parameters, counts that agree, sizes that nothing says told once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.inspect import nodes
from tests.models.onnx_networks import FOLDER, OnnxNetwork

MODELS = FOLDER.parent / "models"
NETWORKS = (
    "hand_opset7", "mx151_cnn", "ort_int4_encoder", "ort_qdq_cnn", "skl_mlp", "torch_encoder_dynamo", "torch_indexing",
    "torch_lstm_lengths", "torch_unet",
)  # fmt: skip
"""Of several exporters; weights that are computed, quantised, of one number, whole numbers, and running means are among theirs."""
every = pytest.mark.parametrize("name", NETWORKS)


def total(printed: str, what: str) -> int:
    [found] = re.findall(rf"{what}: (\d+)", printed)
    return int(found)


@every
def test_drawings_show_the_inputs_and_no_parameters(name: str) -> None:
    """Whatever these are called; those of which nothing but a name says that they are inputs stay too."""
    symbol, arguments, states = mx.contrib.onnx.import_model(FOLDER / name / "model.onnx")
    inputs = {n for n in symbol.list_inputs() if n not in {**arguments, **states}}
    drawing = mx.viz.plot_network(symbol)
    ovals = {n.strip('"') for n in re.findall(r'\t("[^"]+"|\S+) \[label=[^\n]*shape=oval', drawing.source)}
    assert ovals == inputs
    bare = mx.viz.plot_network(symbol, hide_weights=False)
    assert all(n in bare.source for n in arguments)


def test_drawings_of_other_symbols_hide_what_operators_take_as_parameters() -> None:
    x, w, both = mx.sym.var("x"), mx.sym.var("kernel_of_mine"), mx.sym.var("both")
    y = mx.sym.FullyConnected(mx.sym.FullyConnected(x, w, num_hidden=2, no_bias=True), both, num_hidden=2, no_bias=True)
    source = mx.viz.plot_network(y + both).source
    assert "kernel_of_mine" not in source
    assert "\tboth [" in source and "\tx [" in source


@every
def test_every_parameter_counts_once(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In print_summary, which leaves out running means, in a block's summary, and in inspect, of a file and node by node."""
    network = OnnxNetwork(name, FOLDER / name)
    made = bridge.import_onnx(network.model, output=tmp_path / "net", verify=False)
    listed = nodes(tmp_path / "net")
    assert bridge.inspect(tmp_path / "net").parameters == made.parameters == listed.parameters
    mx.viz.print_summary(mx.sym.load(str(tmp_path / "net-symbol.json")))
    assert total(capsys.readouterr().out, "Total params") == made.parameters - listed.auxiliary
    block = mx.contrib.onnx.import_to_gluon(network.model)
    block.summary(*(mx.nd.array(v, dtype=v.dtype) for v in network.runs()[0][0].values()))
    out = capsys.readouterr().out
    assert total(out, "Unique parameters in model") == made.parameters
    trained = sum(p.data().size for p in block.collect_params().values() if p.grad_req != "null")
    shared = total(out, "Shared params in forward computation graph")
    assert trained <= total(out, "   Trainable params") <= trained + shared


def inspected(*args: Any) -> list[str]:
    result = CliRunner().invoke(app, ["inspect", *map(str, args)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [" ".join(line.split()) for line in result.output.splitlines()]


def test_sizes_that_nothing_says_are_told_once() -> None:
    lenet = MODELS / "lenet/model"
    told = "nothing says the sizes of data: give them to try every node, such as --input data:1,1,28,28"
    lines = inspected(lenet)
    assert lines[-2:] == ["every operator is known", told]
    assert {"input data float32", "output softmax_output float32"} <= {*lines}
    assert not any("unknown" in line for line in lines)
    listing = inspected(lenet, "--nodes")
    assert listing[-1] == told.replace("to try every node", "for the shapes")
    assert not any("unknown" in line for line in listing)
    for more in ((), ("--nodes",)):
        lines = inspected(lenet, "--input", "data:2,1,28,28", *more)
        assert not any("nothing says" in line for line in lines)
    found = bridge.inspect(lenet)
    assert found.sizes_wanted == {"data": "1,1,28,28"} == found.as_dict()["sizes_wanted"]


def test_nothing_is_made_up_where_the_network_tells_nothing() -> None:
    y = mx.sym.broadcast_add(mx.sym.var("a"), mx.sym.var("b", shape=(0, 3)))
    assert bridge.inspect(y, {}).sizes_wanted == {"a": "D1,D2,...", "b": "1,3"}
    assert bridge.inspect(y, {}, inputs={"a": (2, 3), "b": (2, 3)}).sizes_wanted == {}
