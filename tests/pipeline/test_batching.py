"""The batch axis of networks: found, fixed and left open; nodes listed and chosen; and all of it from the command line."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.command.pipeline_options import read_pictures
from bridge.inputs import Feeds
from bridge.inspect import nodes

MODELS = Path(__file__).parents[2] / "fixtures" / "models"
RIGHT = {
    "gru_states": {"data0": [6, "batch", 5], "data1": [2, "batch", 6]},
    "lstm_implicit": {"data": [7, "batch", 5]},
    "siamese": {"left": ["batch", 1, 14, 14], "right": ["batch", 1, 14, 14]},
    "tagger_sequence_reverse": {"data0": [8, "batch"], "data1": ["batch"]},
    "foreach_loop": {"data": [5, "batch", 4], "state": ["batch", 4]},
    "module_lstm_unrolled": {"data": ["batch", 5]},
}
"""Inputs with their batch axis, by network: time comes first in some."""


@pytest.mark.parametrize("name", RIGHT)
def test_the_batch_axis_is_found_and_verified_at_two_sizes(name: str) -> None:
    result = bridge.convert(MODELS / name / "model", inputs=MODELS / name / "inputs.npz", batch="batch")
    assert {n: i["shape"] for n, i in result.inputs.items()} == RIGHT[name]
    assert result.verification is not None and result.verification.verdict == "equivalent"
    shapes = [run["shapes"] for run in result.verification.runs]
    axis = {n: s.index("batch") for n, s in RIGHT[name].items() if "batch" in s}
    assert all(len({s[n][a] for s in shapes}) == 2 for n, a in axis.items())


@pytest.mark.parametrize("name", ["faster_rcnn", "interleaved_attention", "unrolled_bidirectional"])
def test_no_other_axis_is_taken_for_the_batch(name: str) -> None:
    """A network of one image; one whose mask has a row for each head of each; one whose time comes first, which nothing says."""
    with pytest.raises(bridge.BadInput, match=r"cannot tell the batch axis .* --dynamic data0?:0=batch"):
        bridge.convert(MODELS / name / "model", inputs=MODELS / name / "inputs.npz", batch="batch")


def dense():
    return bridge.open_model(
        mx.sym.FullyConnected(mx.sym.var("data", shape=(0, 4)), num_hidden=2, no_bias=True, name="fc"),
        {"fc_weight": np.ones((2, 4), np.float32)},
    )


def test_a_batch_that_the_symbol_leaves_open_is_fixed() -> None:
    assert bridge.convert(dense(), batch=3).inputs["data"]["shape"] == [3, 4]
    assert bridge.convert(dense(), batch="batch").inputs["data"]["shape"] == ["batch", 4]
    archive = MODELS.parent / "sagemaker" / "classification.tar.gz"
    assert bridge.convert(archive, batch=3).inputs["data"]["shape"] == [3, 3, 20, 20]


def test_contradictions_and_what_cannot_be_told() -> None:
    for told, said in (
        ({"inputs": {"data": (2, 4)}, "batch": 3}, "say one of them"),
        ({"batch": 3, "dynamic": {"data": {0: "n"}}}, "say one of them"),
        ({"batch": 0}, "wanted 1 or more"),
        ({"batch": "n"}, "wanted a size"),
    ):
        with pytest.raises(bridge.BadInput, match=said):
            bridge.convert(dense(), **told)
    data = mx.sym.var("data")
    weight = {"b": np.ones((2, 12), np.float32)}
    fixed = bridge.open_model(mx.sym.broadcast_add(mx.sym.reshape(data, shape=(2, 12)), mx.sym.var("b")), weight)
    with pytest.raises(bridge.BadInput, match="cannot tell the batch axis"):
        bridge.convert(fixed, inputs={"data": (2, 3, 4)}, batch="batch")


def test_nodes_are_listed_and_chosen(tmp_path: Path) -> None:
    source = MODELS / "squeezenet" / "model"
    shapes = {"data": (1, 3, 56, 56)}
    found = nodes(source, inputs=shapes, match="Convolution")
    assert len(found.nodes) == 8 and {n["operator"] for n in found.nodes} == {"Convolution"}
    output = found.nodes[3]["outputs"]
    (name,) = output
    bridge.convert(source, inputs=shapes, outputs=name, output=tmp_path / "cut.onnx")
    listed = nodes(tmp_path / "cut.onnx", match=name.upper())
    assert [n["outputs"][name]["shape"] for n in listed.nodes if name in n["outputs"]] == [output[name]["shape"]]
    with pytest.raises(bridge.BadInput, match=r"no node .* there are Convolution 8"):
        nodes(source, match="convx")
    with pytest.raises(bridge.BadInput, match="did you mean"):
        bridge.convert(source, inputs=shapes, outputs="convolution33_output")


def called(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.output


def test_the_command_line(tmp_path: Path) -> None:
    target, labels = tmp_path / "m.onnx", tmp_path / "labels.txt"
    labels.write_text("".join(f"class {i}\n" for i in range(10)))
    source = MODELS / "squeezenet" / "model"
    pictures = (
        "--resize",
        64,
        "--crop",
        "56x56",
        "--uint8",
        "--layout",
        "nhwc",
        "--mean",
        "123,117,104",
        "--scale",
        0.017,
    )
    code, said = called(
        "convert", source, "-o", target, *pictures, "--bgr", "--top-k", 2, "--labels", labels, "--dynamic", "batch"
    )
    assert code == 0
    assert "data uint8 (batch,height,width,3) -> softmax_scores (batch,2), softmax_classes int64 (batch,2)" in said
    code, said = called("inspect", target, "--json")
    assert code == 0 and json.loads(said)["classes"][0] == "class 0"
    code, said = called("run", target, "--image", "fixtures/data/a.png")
    assert code == 0 and "classes of softmax_classes" in said and "class " in said.splitlines()[-1]
    code, said = called("inspect", target, "--nodes", "--match", "topk")
    assert code == 0 and "softmax_scores" in said
    for options, text in (
        (("--batch", 2, "--dynamic", "batch"), "wanted one of them"),
        (("--resize", "8by8"), "wanted HEIGHTxWIDTH"),
        (("--mean", "a,b"), "wanted a number"),
        (("--preprocess-input", "data"), "nothing says what"),
        (("--class-axis", 1), "nothing says what"),
        (("--labels", tmp_path / "none.txt"), "none.txt"),
        (("--top-k", 11, "--input", "data:1,3,64,64"), "has 10 classes"),
    ):
        before = target.read_bytes()
        code, said = called("convert", source, "-o", target, *options)
        assert code == 2 and text in said, (options, said)
        assert target.read_bytes() == before
    assert called("inspect", target, "--match", "x")[0] == 2


def test_pictures_to_verify_with_come_in_the_order_of_channels_that_the_file_takes() -> None:
    data = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=3, no_bias=True, name="same")
    model = bridge.open_model(data, {"same_weight": np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1)})
    found = []
    for bgr in (False, True):
        wanted = bridge.Preprocess(layout="NHWC", uint8=True, bgr=bgr, resize=(8, 8))
        first, further = read_pictures(model, ["fixtures/data/a.png"], Feeds(), {}, wanted, {})
        assert not further and first["data"].dtype == np.uint8
        found.append(first["data"])
    assert np.array_equal(found[0], found[1][..., ::-1]) and not np.array_equal(*found)


def test_pictures_to_verify_with_are_as_the_file_takes_them(tmp_path: Path) -> None:
    source, target = MODELS / "squeezenet" / "model", tmp_path / "m.onnx"
    options = ("--uint8", "--unit", "--layout", "NHWC", "--resize", "64x64", "--image", "fixtures/data/a.png", "--json")
    code, said = called("convert", source, "-o", target, *options)
    assert code == 0
    run = json.loads(said)["verification"]["runs"][0]
    assert run["inputs"]["data"]["dtype"] == "uint8" and "a.png" in run["inputs"]["data"]["from"]
    assert any(p.key == "gluonnx.preprocess" for p in onnx.load(target).metadata_props)
