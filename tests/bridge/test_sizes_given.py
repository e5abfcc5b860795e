"""Sizes that a user gives: what is proposed in their place, and what is said of pictures that are too small."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.inspect import nodes
from tests.models.networks import FOLDER


def network(folder: Path, layout: str = "NCHW", halvings: int = 3) -> Path:
    """Convolutions that halve a picture of three channels so often, and a global pooling, which takes any size."""
    data, weights, rng = mx.sym.var("data"), {}, np.random.default_rng(0)
    for i in range(halvings):
        kinds = 3 if not i else 4
        data = mx.sym.Convolution(
            data, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=4, no_bias=True, layout=layout, name=f"conv{i}"
        )
        shape = (4, kinds, 3, 3) if layout == "NCHW" else (4, 3, 3, kinds)
        weights[f"arg:conv{i}_weight"] = mx.nd.array(rng.normal(size=shape))
    pooled = mx.sym.Pooling(data, global_pool=True, pool_type="avg", kernel=(1, 1), layout=layout, name="pool")
    mx.sym.Flatten(pooled, name="flat").save(str(folder / "net-symbol.json"))
    mx.nd.save(str(folder / "net-0000.params"), weights)
    return folder / "net"


@pytest.mark.parametrize(
    ("layout", "given", "proposed"),
    [
        ("NCHW", (3, 32, 32), "1,3,32,32"),  # the batch is missing
        ("NCHW", (1, 3, 128), "1,3,128,128"),  # a side is missing
        ("NCHW", (32, 48, 3), "1,3,32,48"),  # a picture as decoders give it
        ("NCHW", (5, 6, 7), "1,3,224,224"),  # nothing fits
        ("NHWC", (32, 48, 3), "1,32,48,3"),
        ("NHWC", (3, 32, 48), "1,32,48,3"),
        ("NHWC", (1, 128, 3), "1,128,128,3"),
    ],
)
def test_what_is_proposed_has_the_channels_of_the_first_layer(
    layout: str, given: tuple[int, ...], proposed: str, tmp_path: Path
) -> None:
    net = network(tmp_path, layout)
    with pytest.raises(bridge.BadInput, match=rf"the batch first; try --input data:{proposed}$"):
        bridge.convert(net, inputs={"data": given})
    sizes = tuple(map(int, proposed.split(",")))
    assert bridge.convert(net, inputs={"data": sizes}, verify=False).outputs


@pytest.mark.parametrize(("side", "small"), [(8, False), (5, False), (4, True), (2, True)])
def test_a_picture_of_less_than_a_cell_is_told(side: int, small: bool, tmp_path: Path) -> None:
    """Three halvings: of 4 the third finds one number, and halves that."""
    found = bridge.convert(network(tmp_path), inputs={"data": (1, 3, side, side)}, verify=False).warnings
    said = [w for w in found if "less than one cell" in w]
    assert bool(said) == small
    if small:
        assert said[0].startswith(f"data (1, 3, {side}, {side}): conv") and "steps by 2 x 2 over the 1 x 1" in said[0]


def test_layers_that_only_look_around_a_cell_are_no_fault(tmp_path: Path) -> None:
    """The heads of an SSD look at a map of one cell with kernels of 3 x 3, and SE blocks at means."""
    data = mx.sym.Pooling(
        mx.sym.var("data"), global_pool=True, pool_type="avg", kernel=(1, 1), stride=(2, 2), name="mean"
    )
    symbol = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=2, no_bias=True, name="head")
    weights = {"head_weight": np.ones((2, 3, 3, 3), np.float32)}
    made = bridge.convert(symbol, weights, inputs={"data": (1, 3, 8, 8)}, verify=False)
    assert not [w for w in made.warnings if "cell" in w]


def test_a_size_that_nobody_gave_is_told_with_its_file(tmp_path: Path) -> None:
    for file in ("model-symbol.json", "model-0000.params"):
        shutil.copy(FOLDER / "lenet" / file, tmp_path)
    (tmp_path / "hyperparams.json").write_text('{"image_shape": "1,28,28"}')
    said = "input data: the shape (1, 1, 28, 28) is from hyperparams.json; --input gives another"
    assert said in bridge.convert(tmp_path, verify=False).warnings
    assert not [
        w for w in bridge.convert(tmp_path, inputs={"data": (1, 1, 28, 28)}, verify=False).warnings if "from" in w
    ]
    assert said in bridge.deploy(tmp_path, "triton", tmp_path / "repository").warnings
    found = bridge.inspect(tmp_path)
    assert found.sizes_from == {"data": "hyperparams.json"} == found.as_dict()["sizes_from"]
    table = CliRunner().invoke(app, ["inspect", str(tmp_path)]).stdout
    assert "float32 1 x 1 x 28 x 28, as hyperparams.json says" in table
    assert not bridge.inspect(tmp_path, inputs={"data": (1, 1, 28, 28)}).sizes_from
    assert nodes(tmp_path).nodes[0]["outputs"]["convolution0_output"]["shape"] == [1, 6, 24, 24]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((1, 4, 16, 20), r"4 channels, and the first convolution \(conv\) wants 3; try --input data:1,3,16,20"),
        ((1, 16, 20, 3), r"wants 3; is it NHWC\? try --input data:1,3,16,20"),
    ],
)
def test_channels_are_said_where_a_mean_for_each_is_subtracted_first(given: tuple[int, ...], said: str) -> None:
    """Not that the mean does not broadcast, which names an operator that nobody knows."""
    mean = mx.sym.BlockGrad(mx.sym.var("mean_const"))
    data = mx.sym.broadcast_sub(mx.sym.var("data"), mean) / 58
    data = mx.sym.Pad(data, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 1, 1))
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=2, no_bias=True, name="conv")
    weights = {"mean_const": np.ones((1, 3, 1, 1), np.float32), "conv_weight": np.ones((2, 3, 3, 3), np.float32)}
    with pytest.raises(bridge.BadInput, match=said):
        bridge.convert(net, weights, inputs={"data": given})
    with pytest.raises(bridge.BadInput, match=said):
        bridge.convert(net, weights, inputs={"data": np.ones(given, np.float32)})
    prepared = bridge.Preprocess(layout="NHWC", uint8=True)
    with pytest.raises(bridge.BadInput, match="takes NHWC, and so this has 20 channels, where the network takes 3"):
        bridge.convert(net, weights, inputs={"data": (1, 3, 16, 20)}, preprocess=prepared)
    with pytest.raises(bridge.BadInput, match=r"4 channels, and the network takes 3; try --input data:1,16,20,3$"):
        bridge.convert(net, weights, inputs={"data": (1, 16, 20, 4)}, preprocess=prepared)


@pytest.mark.parametrize(
    ("given", "steps", "proposed"),
    [
        ((1, 3, 32, 32), None, "1,1,28,28"),
        ((1, 32, 32, 3), bridge.Preprocess(layout="NHWC", uint8=True), "1,28,28,1"),
    ],
)
def test_what_is_proposed_for_other_channels_has_sides_that_fit(
    given: tuple[int, ...], steps: bridge.Preprocess | None, proposed: str
) -> None:
    """lenet takes one channel, and its dense layer 28 x 28: the same sides with one channel would be refused in turn."""
    with pytest.raises(bridge.BadInput, match=f"try --input data:{proposed}$"):
        bridge.convert(FOLDER / "lenet" / "model", inputs={"data": given}, preprocess=steps)


# -- arrays that are given for another purpose -------------------------------------------------------------------------------


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    """Six pictures for LeNet."""
    np.savez(tmp_path / "six.npz", data=np.random.default_rng(0).normal(size=(6, 1, 28, 28)).astype(np.float32))
    return tmp_path / "six.npz"


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        (["convert", "-o", "OUT.onnx", "--quantize", "SIX"], [1, 1, 28, 28]),
        (["convert", "-o", "OUT.onnx", "--fp16", "--examples", "SIX"], [1, 1, 28, 28]),
        (["convert", "-o", "OUT.onnx", "--fp16", "--examples", "SIX", "--rename", "data=picture"], [1, 1, 28, 28]),
        (["convert", "-o", "OUT.onnx", "--fp16", "--examples", "SIX", "--batch", "3"], [3, 1, 28, 28]),
        (["convert", "-o", "OUT.onnx", "--quantize", "SIX", "--dynamic", "batch"], ["batch", 1, 28, 28]),
        (["convert", "-o", "OUT.onnx", "--quantize", "SIX", "--input", "data:2,1,28,28"], [2, 1, 28, 28]),
        (["convert", "-o", "OUT.onnx", "--also", "SIX"], [6, 1, 28, 28]),
        (["deploy", "OUT", "--to", "python", "--quantize", "SIX"], [1, 1, 28, 28]),
    ],
)
def test_arrays_given_tell_sizes_that_nothing_else_does(
    options: list[str], shape: list[Any], arrays: Path, tmp_path: Path
) -> None:
    """Those of one example, or of further inputs; the file they are from is said."""
    command, *rest = [o.replace("OUT", str(tmp_path / "out")).replace("SIX", str(arrays)) for o in options]
    if "--rename" in options:
        with np.load(arrays) as held:
            held = dict(held)
        np.savez(arrays, picture=held["data"])
    done = CliRunner().invoke(app, [command, str(FOLDER / "lenet" / "model"), *rest, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    (found,) = told["inputs"].values()
    assert found["shape"] == shape
    assert any("is from six.npz; --input gives another" in w for w in told["warnings"]) == ("--input" not in options)


def test_sizes_that_the_model_or_a_file_tells_are_not_taken_from_arrays(tmp_path: Path) -> None:
    fixed = mx.sym.FullyConnected(mx.sym.var("x", shape=(2, 4)), num_hidden=3, no_bias=True, name="fc")
    weight = {"fc_weight": np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)}
    given = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    found = bridge.convert_in(bridge.Half(data={"x": given}), fixed, weight)
    assert found.inputs["x"]["shape"] == [2, 4] and not any("is from" in w for w in found.warnings)
    free = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, no_bias=True, name="fc")
    for data, shape in (({"x": given}, [1, 4]), ([{"x": given}, {"x": given}], [6, 4])):
        found = bridge.convert_in(bridge.Half(data=data), free, weight)
        assert found.inputs["x"]["shape"] == shape
        assert any("is from examples; --input gives another" in w for w in found.warnings)
    result = bridge.verify(*[bridge.open_model(free, weight)] * 2, also=[{"x": given}])
    assert result.runs[0]["shapes"] == {"x": (6, 4)} and any("is from further inputs" in w for w in result.warnings)
    with pytest.raises(bridge.BadInput, match="examples: no input y; there are x"):
        bridge.convert_in(bridge.Half(data={"y": given}), free, weight)


# -- sizes at which a network is another -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        ["convert", "NET", "-o", "OUT.onnx"],
        ["convert", "NET", "-o", "OUT.onnx", "--dynamic", "data:2=height,3=width"],
        ["deploy", "NET", "OUT", "--to", "python"],
        ["verify", "NET", "NET"],
        ["record", "NET", "-o", "OUT.npz"],
        ["matrix", "NET"],
        ["reduce", "NET", "NET", "-o", "OUT"],
    ],
    ids=" ".join,
)
def test_a_picture_of_one_place_is_refused_where_numbers_are_compared(line: list[str], tmp_path: Path) -> None:
    """The weights around the middle of each window are multiplied by nothing but borders: any others would do."""
    net = network(tmp_path)
    words = [w.replace("NET", str(net)).replace("OUT", str(tmp_path / "out")) for w in line]
    done = CliRunner().invoke(app, [*words, "--input", "data:1,3,1,1", "--json"])
    assert done.exit_code == 2, done.output
    told = json.loads(done.stdout)
    assert "data (1, 3, 1, 1): all 3 convolutions see one place of it" in told["error"]
    assert "(conv0 has a window of 3 x 3)" in told["error"] and "--input data:1,3,224,224" in told["error"]
    assert told["see"] == "gluonnx explain one-place"
    assert not (tmp_path / "out.onnx").exists()


def test_inspect_notes_a_picture_of_one_place(tmp_path: Path) -> None:
    found = bridge.inspect(network(tmp_path), inputs={"data": (1, 3, 1, 1)})
    assert not found.problems and any("see one place of it" in w for w in found.warnings)
    found = bridge.inspect(network(tmp_path), inputs={"data": (1, 3, 2, 2)})
    assert [w for w in found.warnings if "less than one cell" in w] and not any(
        "one place" in w for w in found.warnings
    )
    assert not bridge.inspect(network(tmp_path), inputs={"data": (1, 3, 32, 32)}).warnings


def test_one_layer_or_windows_of_one_take_a_picture_of_one_place(tmp_path: Path) -> None:
    """Somebody tries an operator, or the network is one of points."""
    net = network(tmp_path, halvings=1)
    assert bridge.convert(net, inputs={"data": (1, 3, 1, 1)}).verified
    data, rng, weights = mx.sym.var("data"), np.random.default_rng(0), {}
    for i in range(3):
        data = mx.sym.Convolution(data, kernel=(1, 1), num_filter=3, no_bias=True, name=f"c{i}")
        weights[f"c{i}_weight"] = rng.normal(size=(3, 3, 1, 1)).astype(np.float32)
    assert bridge.verify(*[bridge.open_model(data, weights)] * 2, inputs={"data": (2, 3, 1, 1)}).verdict == "equivalent"


def test_verify_notes_less_than_a_cell(tmp_path: Path) -> None:
    net = network(tmp_path)
    result = bridge.verify(net, net, inputs={"data": (1, 3, 2, 2)})
    assert len([w for w in result.warnings if "less than one cell" in w]) == 1
