"""Layers of a network: inspect --nodes, with shapes and parameters."""

import json
import re
from pathlib import Path

from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.inspect import nodes

runner = CliRunner()


def test_nodes_tell_their_parameters_and_add_up_to_the_whole(tmp_path: Path) -> None:
    """Parameters that two nodes share are the first one's; running means, which a summary of MXNet leaves out, are told apart."""
    data, weight = mx.sym.var("data"), mx.sym.var("shared_weight")
    first = mx.sym.Convolution(data, weight, kernel=(3, 3), num_filter=3, no_bias=True, pad=(1, 1), name="conv")
    bn = mx.sym.BatchNorm(first, fix_gamma=False, name="bn")
    again = mx.sym.Convolution(bn, weight, kernel=(3, 3), num_filter=3, no_bias=True, pad=(1, 1), name="again")
    net = mx.sym.FullyConnected(again, num_hidden=4, name="fc")
    sizes = {"shared_weight": (3, 3, 3, 3), "fc_weight": (4, 48), "fc_bias": (4,), "bn_gamma": (3,), "bn_beta": (3,)}
    averages = {"bn_moving_mean": mx.nd.zeros(3), "bn_moving_var": mx.nd.ones(3)}
    arguments = {n: mx.nd.random.normal(shape=s) for n, s in sizes.items()}
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, net, arguments, averages)
    found = nodes(tmp_path / "net", inputs={"data": (1, 3, 4, 4)})
    counts = {n["node"]: (n["parameters"], n["auxiliary"]) for n in found.nodes}
    assert counts == {"conv": (81, 0), "bn": (12, 6), "again": (0, 0), "fc": (196, 0)}
    assert (found.parameters, found.auxiliary) == (289, 6)
    assert found.parameters == bridge.inspect(tmp_path / "net").parameters
    line = ["inspect", str(tmp_path / "net"), "--nodes", "--input", "data:1,3,4,4"]
    shown = runner.invoke(app, line).stdout
    assert "289 parameters, 6 of them running means and variances" in shown
    assert re.search(r"fc_output\s+\(1,4\)\s+196\s+FullyConnected\s+fc\b", shown)
    (chosen,) = json.loads(runner.invoke(app, [*line, "--match", "bn", "--json"]).stdout)["nodes"]
    assert (chosen["parameters"], chosen["auxiliary"]) == (12, 6)
    made = bridge.convert(tmp_path / "net", inputs={"data": (1, 3, 4, 4)}, output=tmp_path / "net.onnx")
    assert nodes(tmp_path / "net.onnx").parameters == bridge.inspect(made.files[0]).parameters
