"""gluonnx verify of a file on 8-bit integers: signal to noise decides, and the layer that loses it is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.faces import words
from bridge.precision.beside import QuantizedResult, quantized_side

SOURCE = Path(__file__).parents[2] / "fixtures/models/squeezenet/model"
SIZE = {"data": (1, 3, 40, 40)}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The network as float32 and on integers."""
    folder = tmp_path_factory.mktemp("beside")
    told = {"inputs": SIZE, "draws": ("expected",)}
    bridge.convert(SOURCE, output=folder / "float.onnx", rename={"data": "picture"}, **told)
    bridge.convert_in(bridge.Quantized(), SOURCE, output=folder / "int8.onnx", **told)
    return folder / "float.onnx", folder / "int8.onnx"


def test_which_side_is_on_integers(files: tuple[Path, Path]) -> None:
    symbol, floats, whole = (bridge.open_model(m) for m in (SOURCE, *files))
    assert quantized_side(symbol, whole) == 1 and quantized_side(whole, floats) == 0
    assert quantized_side(symbol, floats) is None and quantized_side(whole, whole) is None
    own = bridge.open_model(SOURCE.parents[1] / "quantized_dense" / "model")
    assert quantized_side(own, whole) is None  # MXNet's own integers: the same numbers are wanted


@pytest.mark.parametrize("order", ["symbol first", "integers first", "float ONNX"])
def test_signal_to_noise_decides(files: tuple[Path, Path], order: str) -> None:
    floats, whole = files
    a, b = {"symbol first": (SOURCE, whole), "integers first": (whole, SOURCE), "float ONNX": (floats, whole)}[order]
    found = bridge.verify(a, b, seed=3)
    assert isinstance(found, QuantizedResult) and found.equivalent and len(found.runs) == 8
    accuracy = found.accuracy
    assert accuracy is not None and accuracy.least == 10
    assert 20 < min(x.sqnr for x in accuracy.outputs) < 100
    assert {x.operator for x in accuracy.layers if x.reduced} >= {"Conv"} and len(accuracy.layers) > 20
    assert accuracy.bytes[0] > 0 and accuracy.bytes[1] == whole.stat().st_size
    assert "8-bit integers" in found.warnings[0] and json.dumps(found.as_dict())
    limited = bridge.verify(a, b, seed=3, tolerance=(1e-6, 1e-6))
    assert type(limited) is not QuantizedResult and not limited.equivalent


def test_the_size_is_said_as_where_the_file_was_written(files: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "int8.onnx"
    made = bridge.convert_in(bridge.Quantized(), SOURCE, output=path, inputs=SIZE, draws=("expected",)).accuracy
    found = bridge.verify(SOURCE, path, inputs=SIZE).accuracy
    assert made is not None and found is not None
    assert found.bytes == made.bytes and made.bytes[1] == path.stat().st_size
    beside = bridge.verify(files[0], path).accuracy
    assert beside is not None and beside.bytes == (files[0].stat().st_size, path.stat().st_size)
    model = onnx.load(path)
    kept = [p for p in model.metadata_props if p.key != "gluonnx.precision.before"]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    onnx.save(model, path)  # as somebody else writes it
    unsaid = bridge.verify(SOURCE, path, inputs=SIZE).accuracy
    assert unsaid is not None and unsaid.bytes[0] == pytest.approx(made.bytes[0], rel=0.1)


def test_a_file_that_holds_its_weights_is_one_file(tmp_path: Path) -> None:
    """Large ones stay in it while it is read, named by their place there."""
    dense = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, no_bias=True, name="dense")
    params = {"dense_weight": mx.nd.ones((64, 1024))}
    path = tmp_path / "dense.onnx"
    bridge.convert(dense, params, inputs={"data": (1, 1024)}, output=path, verify=False)
    assert bridge.open_model(path).files() == [path]


def test_the_layer_that_loses_the_signal_is_named(files: tuple[Path, Path], tmp_path: Path) -> None:
    model = onnx.load(files[1])
    conv = next(n for n in model.graph.node if n.output[0] == "convolution3_output")
    makers = {o: n for n in model.graph.node for o in n.output}
    weight = next(i for i in model.graph.initializer if i.name == makers[conv.input[1]].input[0])
    array = onnx.numpy_helper.to_array(weight).copy()
    weight.CopyFrom(onnx.numpy_helper.from_array(array[::-1].copy(), weight.name))  # filters in another order
    onnx.save(model, tmp_path / "wrong.onnx")
    found = bridge.verify(SOURCE, tmp_path / "wrong.onnx", inputs=SIZE)
    assert found.verdict == "not equivalent" and found.divergence is not None
    assert (found.divergence.node, found.divergence.operator) == ("convolution3", "Conv")
    [output] = found.differences
    assert output.equal  # near enough by itself, which the row says without calling it equal under such a verdict
    assert re.fullmatch(r"\d+\.\d dB of signal to noise, and a layer inside is off", words.told(output))
    good = bridge.verify(SOURCE, files[1], inputs=SIZE).differences[0]
    assert re.fullmatch(r"\d+\.\d dB of signal to noise", words.told(good))


def test_a_file_that_is_wrong_in_one_output_alone(files: tuple[Path, Path], tmp_path: Path) -> None:
    """NaN is no noise."""
    model = onnx.load(files[1])
    softmax = model.graph.node[-1]
    softmax.output[0] = "inside"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32([np.nan] + [0] * 9), "hole"))
    model.graph.node.append(onnx.helper.make_node("Add", ["inside", "hole"], ["softmax_output"], "hole"))
    onnx.save(model, tmp_path / "hole.onnx")
    found = bridge.verify(SOURCE, tmp_path / "hole.onnx", inputs=SIZE)
    assert found.verdict == "not equivalent"
    assert [d.name for d in found.differences if not d.equal] == ["softmax_output"]


@pytest.fixture(scope="module")
def of_pixels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network on integers, calibrated on numbers from 0 to 255, of which its graph says nothing."""
    path = tmp_path_factory.mktemp("pixels") / "int8.onnx"
    pixels = np.random.default_rng(5).integers(0, 256, (4, *SIZE["data"])).astype(np.float32)
    data = [{"data": p} for p in pixels]
    bridge.convert_in(bridge.Quantized(data=data), SOURCE, output=path, inputs=SIZE, draws=("expected",))
    return path


@pytest.mark.parametrize("integers_first", [False, True])
def test_inputs_are_drawn_from_what_integers_were_calibrated_on(of_pixels: Path, integers_first: bool) -> None:
    pair = (of_pixels, SOURCE) if integers_first else (SOURCE, of_pixels)
    found = bridge.verify(*pair, seed=3)
    told = [r["inputs"]["data"]["from"] for r in found.runs]
    assert found.equivalent
    assert all("evenly from 0 to 255" in t for t in told), told
    said = "inputs were drawn from the range that the file was calibrated on (data 0 to 255)"
    assert any(w.startswith(said) for w in found.warnings), found.warnings
    outside = bridge.verify(*pair, seed=3, ranges={"data": (-1, 1)})  # which is what was asked for
    assert "evenly from -1 to 1" in outside.runs[0]["inputs"]["data"]["from"]
    assert not outside.equivalent and not any("drawn from the range" in w for w in outside.warnings)


def test_what_a_network_is_known_to_expect_is_drawn_whatever_integers_hold(tmp_path: Path) -> None:
    """Else a file that was calibrated on other numbers than it will get would be called good."""
    net = mx.sym.load(f"{SOURCE}-symbol.json")
    pictures = (mx.sym.Variable("pictures") - 127.5) * 0.0078125
    pixels = net(data=pictures)
    params = mx.nd.load(f"{SOURCE}-0000.params")
    inputs = {"pictures": SIZE["data"]}
    data = [{"pictures": np.random.default_rng(5).uniform(0, 1, SIZE["data"]).astype(np.float32)}]
    path = tmp_path / "int8.onnx"
    bridge.convert_in(bridge.Quantized(data=data), pixels, params, output=path, inputs=inputs, draws=("expected",))
    plain = tmp_path / "plain.onnx"
    bridge.convert(pixels, params, output=plain, inputs=inputs, verify=False)
    found = bridge.verify(plain, path, seed=3)
    assert "from 0 to 255" in found.runs[0]["inputs"]["pictures"]["from"], found.runs[0]["inputs"]
    assert not found.equivalent


def test_the_command_line(files: tuple[Path, Path], tmp_path: Path) -> None:
    words = ["verify", str(SOURCE), str(files[1]), "--report", str(tmp_path / "report.html")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "accuracy by layer" in result.output and "nodes on integers" in result.output
    assert "accuracy by layer" in (tmp_path / "report.html").read_text()
