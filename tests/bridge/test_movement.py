"""Outputs that hardly move with the inputs: agreement there says little, and a note says so."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.engines import NativeEngine, OnnxEngine
from bridge.models import open_model
from bridge.movement import follows
from bridge.recorded import RecordedRun, Recording

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 6)).astype(np.float32)


def network(scale: float, bias: Any = 0.0, softmax: bool = True, units: int = 5, seed: int = 0) -> Any:
    """A classifier whose scores move by about scale around a bias."""
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=units, name="fc")
    weight = np.random.default_rng(seed).standard_normal((units, 6)) * scale
    params = {"fc_weight": weight.astype(np.float32), "fc_bias": np.full(units, bias, np.float32) + np.float32(0)}
    if isinstance(bias, np.ndarray):
        params["fc_bias"] = bias.astype(np.float32)
    return open_model(mx.sym.softmax(fc, name="out") if softmax else fc, params)


def recorded(model: Any, data: np.ndarray = X) -> Recording:
    (found,) = bridge.run(model, {"data": data}).items()
    return Recording((RecordedRun({"data": data}, dict([found])),))


ONE, INPUTS = "is one value everywhere, up to the tolerance", "hardly moves between inputs: by less than the tolerance"


@pytest.mark.parametrize(("scale", "says"), [(1e-7, ONE), (1e-2, ""), (1.0, "")])
def test_probabilities_that_are_all_one_say_little(scale: float, says: str) -> None:
    """Also of one row alone, and beside a recording, where a network with other weights agrees as well."""
    model, other = network(scale), network(scale, seed=1)
    for data in (X, X[:1]):
        result = bridge.verify(model, model, inputs={"data": data})
        assert result.verdict == "equivalent"
        assert any(
            w.startswith(f"output out_output {says}: agreement there says little") for w in result.warnings
        ) == bool(says)
        assert [d.still for d in result.differences] == ["elements" if says else ""]
        assert result.little == ((f"out_output {says}",) if says else ())
        held = bridge.verify(other if says else model, expected=recorded(model, data))
        assert held.verdict == ("says little" if says else "equivalent")
        assert held.little == result.little


def test_an_output_of_a_bias_alone_hardly_moves() -> None:
    """Its elements differ, so that the bias is proved, and nothing of what is before."""
    bias = np.array([0.5, -1.0, 2.0, 0.1, 3.0])
    model = network(1e-8, bias, softmax=False)
    result = bridge.verify(model, model, inputs={"data": X})
    assert result.differences[0].still == "inputs"
    assert result.little == (f"fc_output {INPUTS}",)
    assert (
        network(1.0, bias, softmax=False)
        and not bridge.verify(network(1.0, bias, softmax=False), model, inputs={"data": X}).equivalent
    )
    moving = network(1e-2, bias, softmax=False)
    assert bridge.verify(moving, moving, inputs={"data": X}).little == ()


def test_inputs_that_do_not_move_tell_nothing() -> None:
    """Rows that are the same give the same; the same rows in two runs do too."""
    model = network(1.0, softmax=False)
    same = np.repeat(X[:1], 3, axis=0)
    assert bridge.verify(model, model, inputs={"data": same}).little == ()
    assert bridge.verify(model, model, inputs={"data": same}, also=[{"data": same}]).little == ()
    one = network(1.0, softmax=False, units=1)
    assert bridge.verify(one, one, inputs={"data": X[:1]}, also=[{"data": X[:1]}]).little == ()


def test_a_tolerance_that_is_given_counts() -> None:
    model = network(1e-2, 1.0, softmax=False)
    assert bridge.verify(model, model, inputs={"data": X}).little == ()
    found = bridge.verify(model, model, inputs={"data": X}, tolerance=(1.0, 0.0))
    assert found.verdict == "equivalent" and found.little == (f"fc_output {ONE}",)


def test_one_element_that_never_moves_is_constant(tmp_path: Path) -> None:
    """In several runs; of one run nobody knows."""
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    params = {"fc_weight": np.ones((1, 6), np.float32), "fc_bias": np.float32([-1e9])}
    dead = open_model(mx.sym.Group([mx.sym.relu(fc, name="age"), fc * 1]), params)
    found = bridge.verify(dead, dead, inputs={"data": (1, 6)})
    assert found.differences[0].constant
    assert "age_output is one value everywhere" in found.little[0]
    alone = bridge.verify(dead, dead, inputs={"data": X[:1]})
    assert alone.little == () and not alone.differences[0].constant
    mx.model.save_checkpoint(
        str(tmp_path / "net"),
        0,
        dead.graph and mx.sym.relu(fc, name="age"),
        {n: mx.nd.array(a) for n, a in params.items()},
        {},
    )
    told = [
        "convert",
        str(tmp_path / "net"),
        "--input",
        "data:1,6",
        "-o",
        str(tmp_path / "m.onnx"),
        "--strict",
        "--json",
    ]
    done = CliRunner().invoke(app, told)
    assert done.exit_code == 4, done.output
    assert not (tmp_path / "m.onnx").exists()
    assert "one value everywhere" in json.dumps(json.loads(done.stdout))


def test_what_follows_from_sizes_is_no_dead_output(tmp_path: Path) -> None:
    x: Any = mx.sym.var("data")
    net = mx.sym.Group([mx.sym.contrib.MultiBoxPrior(x, sizes=(0.3, 0.5), name="anchors"), mx.sym.relu(x, name="up")])
    inputs = {"data": (1, 2, 3, 3)}
    found = bridge.convert(net, {}, inputs=inputs, output=tmp_path / "m.onnx").verification
    assert found is not None and found.verdict == "equivalent" and found.little == ()
    right = OnnxEngine(open_model(tmp_path / "m.onnx"))
    left = NativeEngine(open_model(net, {}), inputs)
    assert [follows(right, n) for n in right.outputs] == [False, True]
    assert [follows(left, n) for n in left.outputs] == [True, True]  # as far as can be told


def test_rows_that_are_ranked_otherwise_are_told() -> None:
    """All numbers agree, and the winner of hardly a row does: what is near each other are the classes."""
    weight = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32) * 1e-7
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc")
    data = np.ones((4, 6), np.float32) + X * np.float32(0.1)

    def model(sign: float) -> Any:
        return open_model(fc, {"fc_weight": weight * np.float32(sign), "fc_bias": np.ones(5, np.float32)})

    note = "output fc_output agrees, and yet the largest number of a row is at the same place in 0.0% of its rows"
    for found in (
        bridge.verify(model(-1), expected=recorded(model(1), data)),
        bridge.verify(model(1), model(-1), inputs={"data": data}, tolerance=(1e-5, 1e-4)),
    ):
        assert found.verdict != "not equivalent" and found.differences[0].top1 == 0
        assert any(w.startswith(note) for w in found.warnings), found.warnings
    assert not any(
        "at the same place in" in w for w in bridge.verify(model(1), model(1), inputs={"data": data}).warnings
    )
