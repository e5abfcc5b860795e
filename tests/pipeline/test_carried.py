"""``verify`` of a network and its file: what the file's metadata say it does with pictures and scores, the network does too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.pipeline.postprocess import Postprocess
from bridge.pipeline.preprocess import Preprocess

STEPS = Preprocess(layout="NHWC", uint8=True, bgr=True, mean=(120, 110, 100), std=(50, 60, 70))


def network(seed: int = 0) -> bridge.Model:
    data = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.FullyConnected(mx.sym.Activation(data, act_type="relu"), num_hidden=5, name="fc")
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(1, 3, 8, 8))[0]))
    rng = np.random.default_rng(seed)
    return bridge.open_model(net, {n: rng.normal(size=s).astype("f") for n, s in shapes.items() if n != "data"})


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (STEPS, {"inputs": {"data": (1, 8, 8, 3)}, "batch": "batch"}),
        (Preprocess(layout="NHWC", uint8=True, resize=(8, 8), unit=True), {"batch": "batch"}),
        (Preprocess(resize=10, crop=(8, 8), mean=3, scale=0.5), {}),
        (STEPS, {"inputs": {"data": (1, 8, 8, 3)}, "rename": {"data": "picture"}}),
    ],
)
def test_the_network_does_what_the_file_does(tmp_path: Path, steps: Preprocess, told) -> None:
    path = tmp_path / "m.onnx"
    bridge.convert(network(), output=path, preprocess=steps, **told)
    assert bridge.verify(network(), path).verdict == "equivalent"
    assert bridge.verify(path, network()).verdict == "equivalent"
    assert bridge.verify(network(1), path).verdict == "not equivalent"


def test_it_is_said_and_can_be_left_out(tmp_path: Path) -> None:
    path, same = tmp_path / "m.onnx", {"inputs": {"data": (1, 3, 8, 8)}}
    bridge.convert(
        network(), output=path, preprocess=Preprocess(mean=(5, 6, 7), std=2), postprocess=Postprocess(True), **same
    )
    found = bridge.verify(network(), path)
    said = "m does this by itself, and here the network beside it did it too: mean 5,6,7, std 2; softmax"
    assert found.equivalent and said in found.warnings
    prefix = tmp_path / "net"
    mx.model.save_checkpoint(str(prefix), 0, _symbol(), {n: mx.nd.array(a) for n, a in network().params.items()}, {})
    plain = ["verify", str(prefix), str(path), "--input", "data:1,3,8,8", "--outputs", "fc_output"]
    assert CliRunner().invoke(app, plain).exit_code == 0
    assert CliRunner().invoke(app, [*plain, "--no-steps"]).exit_code == 1


def test_other_steps_than_the_files_are_found(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    bridge.convert(network(), inputs={"data": (1, 8, 8, 3)}, output=path, preprocess=STEPS)
    proto = onnx.load(path)
    for member in proto.metadata_props:
        member.value = member.value.replace("120", "128") if member.key == "gluonnx.preprocess" else member.value
    onnx.save(proto, path)
    assert bridge.verify(network(), path).verdict == "not equivalent"


@pytest.mark.parametrize("behind", [Postprocess(softmax=True), Postprocess(argmax=True), Postprocess(True, top_k=2)])
def test_steps_behind_the_network_too(tmp_path: Path, behind: Postprocess) -> None:
    path, shapes = tmp_path / "m.onnx", {"data": (1, 8, 8, 3)}
    bridge.convert(network(), inputs=shapes, output=path, preprocess=STEPS, postprocess=behind)
    assert bridge.verify(network(), path).verdict == "equivalent"
    cut = bridge.verify(network(), path, outputs=["conv_output"])  # before what is behind
    assert cut.verdict == "equivalent" and [d.name for d in cut.differences] == ["conv_output"]


def test_a_file_in_half_precision_that_takes_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    bridge.convert_in(bridge.Half(), network(), inputs={"data": (1, 8, 8, 3)}, output=path, preprocess=STEPS)
    assert bridge.verify(network(), path).verdict == "equivalent"
    assert bridge.verify(network(1), path).verdict == "not equivalent"


def test_a_file_that_takes_half_precision(tmp_path: Path) -> None:
    path, steps = tmp_path / "m.onnx", Preprocess(layout="NHWC", mean=(120, 110, 100), std=(50, 60, 70))
    bridge.convert_in(bridge.Half(io=True), network(), inputs={"data": (1, 8, 8, 3)}, output=path, preprocess=steps)
    assert bridge.verify(network(), path).verdict == "equivalent"
    fed = {"data": np.random.default_rng(0).integers(0, 256, (1, 8, 8, 3)).astype(np.float32)}
    assert bridge.verify(network(), path, inputs=fed).verdict == "equivalent"
    assert bridge.verify(network(1), path, inputs=fed).verdict == "not equivalent"


def test_bytes_and_pictures_are_fed_as_the_file_takes_them(tmp_path: Path) -> None:
    prefix, path = tmp_path / "net", tmp_path / "m.onnx"
    model = network()
    mx.model.save_checkpoint(str(prefix), 0, _symbol(), {n: mx.nd.array(a) for n, a in model.params.items()}, {})
    bridge.convert(prefix, inputs={"data": (1, 8, 8, 3)}, output=path, preprocess=STEPS)
    fed = tmp_path / "x.npy"
    np.save(fed, np.random.default_rng(0).integers(0, 256, (1, 8, 8, 3)).astype(np.uint8))
    call = CliRunner().invoke
    for more in (["--inputs", str(fed)], ["--image", "fixtures/data/a.png"], ["--input", "data:2,8,8,3"]):
        told = call(app, ["verify", str(prefix), str(path), *more])
        if more[0] == "--input":
            assert told.exit_code == 2, told.output  # the file's batch is 1
        else:
            assert told.exit_code == 0, told.output


def test_recorded_outputs_are_those_of_one_side(tmp_path: Path) -> None:
    """A recording of the network has the network's inputs; both sides are held against one of the file."""
    path = tmp_path / "m.onnx"
    bridge.convert(network(), inputs={"data": (1, 8, 8, 3)}, output=path, preprocess=STEPS)
    old, new = tmp_path / "old.npz", tmp_path / "new.npz"
    bridge.record(network(), inputs={"data": np.ones((1, 3, 8, 8), np.float32)}, output=old)
    bridge.record(path, inputs={"data": np.full((1, 8, 8, 3), 7, np.uint8)}, output=new)
    with pytest.raises(
        bridge.BadInput, match=r"got float32, and m takes uint8, for it prepares pictures itself \(bgr, layout"
    ):
        bridge.verify(network(), path, expected=old)
    assert bridge.verify(network(), path, expected=new).verdict == "equivalent"
    assert bridge.verify(network(1), path, expected=new).verdict == "not equivalent"


@pytest.mark.parametrize("text", ["[1]", "{", '{"swirl": true}', '{"input": "data", "mean": "grey"}'])
def test_metadata_that_cannot_be_read_are_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.onnx"
    bridge.convert(network(), inputs={"data": (1, 8, 8, 3)}, output=path, preprocess=STEPS)
    proto = onnx.load(path)
    for member in proto.metadata_props:
        member.value = text if member.key == "gluonnx.preprocess" else member.value
    onnx.save(proto, path)
    with pytest.raises(bridge.BadInput, match=r"gluonnx\.preprocess"):
        bridge.verify(network(), path)


def test_steps_that_a_checked_file_should_not_do_are_found(tmp_path: Path) -> None:
    """``check`` feeds what was recorded to all files as they are: a mean too much is a fault there, and the node is named."""
    params = {n: mx.nd.array(a) for n, a in network().params.items()}
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, _symbol(), params, {})
    path, given = tmp_path / "m.onnx", {"data": (1, 3, 8, 8)}
    bridge.convert(tmp_path / "net", inputs=given, output=path)
    (tmp_path / "gluonnx.toml").write_text(
        '[model.net]\nfiles = ["net", "m.onnx"]\nbaseline = "net.npz"\ninputs = { data = [1, 3, 8, 8] }\n'
    )
    words = ["check", str(tmp_path)]
    made = CliRunner().invoke(app, [*words, "--update"])
    assert made.exit_code == 0, made.output
    bridge.convert(tmp_path / "net", inputs=given, output=path, preprocess=Preprocess(mean=1))
    told = CliRunner().invoke(app, [*words, "--json"])
    assert told.exit_code == 1, told.output
    text = " ".join(CliRunner().invoke(app, words).output.split())
    assert "m.onnx FAIL" in text and "conv" in text.partition("FAIL")[2].partition("1 of 2 ok")[0], text


def _symbol():
    data = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    return mx.sym.FullyConnected(mx.sym.Activation(data, act_type="relu"), num_hidden=5, name="fc")
