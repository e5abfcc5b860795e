"""Commands and options that messages propose are taken at their word: each gets further than the message that proposed it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from hybrid import native

S: Any = mx.sym
UNITS, HIGH, WIDE = 3, 8, 12
SIZES = {"left": (2, 3, HIGH, WIDE), "right": (2, 3, HIGH, WIDE), "words": (2, 5), "length": (2,)}


def two_eyes() -> Any:
    """Two pictures through the same weights, and words of some length through a GRU both ways, whose state is an input."""
    weight = S.var("stem_weight")
    eyes = [
        S.Convolution(
            S.var(side), weight=weight, kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name=f"of_{side}"
        )
        for side in ("left", "right")
    ]
    seen = S.Pooling(eyes[0] * eyes[1], global_pool=True, kernel=(1, 1), name="pool")
    table = S.transpose(S.Embedding(S.var("words"), input_dim=9, output_dim=4, name="table"), axes=(1, 0, 2))
    rnn = S.RNN(
        table, S.var("rnn_parameters"), S.var("state"), mode="gru", state_size=UNITS, num_layers=2, bidirectional=True,
        name="rnn",
    )  # fmt: skip
    last = S.SequenceLast(rnn, sequence_length=S.var("length"), use_sequence_length=True, name="last")
    joint = S.Concat(S.Flatten(seen), last, dim=1, name="joint")
    return S.softmax(S.FullyConnected(joint, num_hidden=4, name="top"), name="scores")


def picture() -> Any:
    """A picture of which one branch has an operator that few engines have."""
    x = S.Convolution(S.var("data"), kernel=(3, 3), num_filter=4, pad=(1, 1), name="first")
    pooled = S.ROIPooling(x, S.var("rois"), pooled_size=(2, 2), spatial_scale=1.0, name="regions")
    return S.Group([S.FullyConnected(pooled, num_hidden=2, name="face"), S.relu(x, name="map")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("proposals")
    sizes = {**SIZES, "state": (4, 2, UNITS)}
    for name, net, shapes in (
        ("eyes", two_eyes(), sizes),
        ("picture", picture(), {"data": (1, 3, 16, 16), "rois": (2, 5)}),
    ):
        rng = np.random.default_rng(0)
        found = dict(zip(net.list_arguments(), net.infer_shape(**shapes)[0]))
        arrays = {n: mx.nd.array(rng.normal(size=s, scale=0.3)) for n, s in found.items() if n not in shapes}
        mx.model.save_checkpoint(str(where / name), 0, net, arrays, {})
    bridge.convert(str(where / "eyes"), inputs=SIZES, batch="batch", output=where / "open.onnx", verify=False)
    return where


def call(words: list[str]) -> tuple[int, str]:
    result = CliRunner().invoke(app, words)
    return result.exit_code, " ".join(result.output.split())


def proposed(said: str, words: list[str]) -> list[str]:
    """The command line that a message proposes: a whole one, or its options in the place of those of the same input."""
    if whole := re.search(r"(?:fits|converts): gluonnx (.*?) for more:", said):
        return shlex.split(whole[1])
    found = dict.fromkeys(re.findall(r"--(?:input) [\w.]+:[\w,]+|--batch \d+", said))
    assert found, said
    for option in found:
        name, value = option.split()
        begins = value.split(":")[0]
        while (
            at := next((i for i, w in enumerate(words) if w == name and words[i + 1].split(":")[0] == begins), None)
        ) is not None:
            words = words[:at] + words[at + 2 :]
        words = [*words, name, value]
    return words


LINES = [
    "convert eyes -o out.onnx",
    "convert eyes -o out.onnx --input left:2,3,8,12",
    "convert eyes -o out.onnx --input left:3,8,12",
    "convert eyes -o out.onnx --input left:2,8,12,3",
    "bench eyes --seconds 0.01 --input left:2,3,8,12",
    "compile eyes -o out.gluonnx --input left:2,3,8,12",
    "compile open.onnx -o out.gluonnx --input left:2,3,8,12",
    "verify eyes eyes --input left:2,3,8,12",
    "convert picture -o out.onnx --uint8 --layout NHWC --input data:1,3,16,16 --input rois:2,5",
    "convert picture -o out.onnx --uint8 --layout NHWC --input data:1,16,16,3 --input rois:2,5 --dynamic data:0=n "
    "--target onnx2torch",
    "convert picture -o out.onnx --unit --softmax --postprocess-output face_output --input data:1,3,16,16 --input rois:2,5 "
    "--target onnx2torch",
    "convert picture -o out.onnx --input data:1,3,16,16 --target onnx2torch",
    "deploy picture out --to python --uint8 --input data:1,3,16,16 --input rois:2,5 --target onnx2torch",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_what_is_proposed_gets_further(
    line: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if line.startswith("compile") and native.level() is None:
        pytest.skip("compiled files are for the compiled part")
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    words, messages = shlex.split(line), []
    status, said = call(words)
    assert status == 2, said
    while status == 2:
        assert said not in messages, said  # the same again
        messages.append(said)
        assert len(messages) < 5, messages
        words = proposed(said, words)
        status, said = call(words)
    assert status == 0, (words, said)


@pytest.mark.parametrize(
    "command", ["bench open.onnx --seconds 0.01", "verify open.onnx eyes", "verify eyes open.onnx"]
)
def test_a_batch_that_is_not_in_front_is_that_of_the_others(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As convert takes it: of states too."""
    monkeypatch.chdir(folder)
    for given in ("", " --input left:3,3,8,12 --input right:3,3,8,12"):
        status, said = call(shlex.split(command + given))
        assert status == 0, said
    if "bench" in command:
        assert "state 4x3x3" in said
        assert "state 4x5x3" in call(shlex.split(f"{command} --batch 5"))[1]


def test_a_refusal_keeps_what_was_asked_for(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the batch stays open, which --input cannot say; and what is wrong is not told by options of the proposal."""
    monkeypatch.chdir(tmp_path)
    line = f"convert {folder / 'picture'} -o small.onnx --uint8 --layout NHWC --input data:1,16,16,3 --input rois:2,5"
    _, said = call([*shlex.split(line), "--dynamic", "batch", "--target", "onnx2torch"])
    assert "explain target-lacks" in said
    words = proposed(said, [])
    assert not any("rois" in word for word in words)  # nothing of the part reads them
    assert call(words)[0] == 0
    (data,) = onnx.load("small.onnx").graph.input
    assert [d.dim_param or d.dim_value for d in data.type.tensor_type.shape.dim] == ["batch", 16, 16, 3]
    assert data.type.tensor_type.elem_type == onnx.TensorProto.UINT8
