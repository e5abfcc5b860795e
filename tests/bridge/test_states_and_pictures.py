"""A reader of printed strips with LSTM states, bytes in with the channels last, and networks for faces: what somebody new met."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge import fitting
from bridge.cli import app
from bridge.faces import text, words
from bridge.models import Model
from bridge.stems import PIXELS, expected
from hybrid.core.op import Spec
from hybrid.formats.images import encode

S: Any = mx.sym
HIGH, WIDE, UNITS = 8, 12, 4


def gluonnx(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def saved(folder: Path, name: str, net: Any, sizes: dict[str, tuple[int, ...]]) -> Path:
    rng = np.random.default_rng(0)
    (folder / f"{name}-symbol.json").write_text(net.tojson())
    arrays = {f"arg:{n}": mx.nd.array(rng.normal(size=s, scale=0.3)) for n, s in sizes.items()}
    mx.nd.save(str(folder / f"{name}-0000.params"), arrays)
    return folder / name


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bytes, turned and made small, through a convolution and an LSTM whose states come in and go out."""
    x = S.transpose(S.Cast(S.var("strip"), dtype="float32"), axes=(0, 3, 1, 2))
    x = S.Pad((x / 255 - 0.6) / 0.25, mode="edge", pad_width=(0, 0, 0, 0, 0, 0, 1, 1))
    x = S.Convolution(x, kernel=(3, 3), num_filter=2, pad=(1, 1), name="conv")
    x = S.transpose(S.reshape(x, shape=(0, -3, 0)), axes=(2, 0, 1))
    rnn = S.RNN(
        x,
        S.var("weights"),
        S.var("h"),
        S.var("c"),
        mode="lstm",
        state_size=UNITS,
        num_layers=2,
        state_outputs=True,
        name="rnn",
    )
    net = S.Group([S.FullyConnected(rnn[0], num_hidden=5, flatten=False, name="letters"), rnn[1], rnn[2]])
    count = 4 * UNITS * (2 * HIGH + UNITS + 2) + 4 * UNITS * (UNITS + UNITS + 2)
    sizes = {
        "conv_weight": (2, 3, 3, 3),
        "conv_bias": (2,),
        "weights": (count,),
        "letters_weight": (5, UNITS),
        "letters_bias": (5,),
    }
    return saved(tmp_path_factory.mktemp("reader"), "reader", net, sizes)


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network for faces of 8 x 8, whose last convolution covers all that is left, with three pictures."""
    x = (S.var("data") - 127.5) * 0.0078125
    x = S.Convolution(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=3, no_bias=True, name="first")
    x = S.Convolution(x, kernel=(4, 4), num_filter=3, num_group=3, no_bias=True, name="last")
    folder = tmp_path_factory.mktemp("faces")
    for number in range(3):
        pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3)).astype(np.uint8)
        (folder / f"{number}.png").write_bytes(encode(pixels, ".png"))
    return saved(folder, "face", S.Flatten(x, name="fc"), {"first_weight": (3, 3, 3, 3), "last_weight": (3, 1, 4, 4)})


def test_pictures_and_bytes_go_together(faces: Path, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    told = ("--image", faces.parent, "--uint8")
    said = gluonnx("convert", faces, "-o", tmp_path / "b.onnx", "--input", "data:1,3,8,8", *told)
    assert "equivalent" in said and "data uint8 (1,3,8,8)" in said and "0.png, RGB from 0 to 255 (and 2 more" in said
    last = ("--input", "data:1,8,8,3", "--layout", "NHWC", "--dynamic", "batch", "--bgr")
    said = gluonnx("convert", faces, "-o", tmp_path / "c.onnx", *last, *told)
    assert "data uint8 (batch,8,8,3)" in said and "0.png, BGR from 0 to 255" in said
    assert "uint8 1 x 8 x 8 x 3" in gluonnx("verify", faces, tmp_path / "c.onnx", "--image", faces.parent)


def test_pictures_beside_a_file_and_beside_what_was_recorded(faces: Path, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    file, pictures = tmp_path / "f.onnx", ("--image", faces.parent)
    gluonnx("convert", faces, "-o", file, "--input", "data:1,3,8,8", "--dynamic", "batch")
    assert "EQUIVALENT" in gluonnx("verify", faces, file, *pictures)  # the size is the file's
    assert "data:1,3,224,224" in gluonnx("verify", faces, "--expected", file, *pictures, code=2).replace("NAME", "data")
    sets = bridge.load_images(faces.parent, bridge.open_model(faces), inputs={"data": (3, 3, 8, 8)})
    rows = bridge.run(str(faces), dict(sets[0]))["fc_output"]
    np.savez(tmp_path / "emb.npz", embedding=rows)
    said = gluonnx("verify", faces, file, *pictures, "--expected", tmp_path / "emb.npz")
    assert "float32 3 x 3 x 8 x 8" in said and "EQUIVALENT" in said
    np.savez(tmp_path / "other.npz", embedding=rows[::-1])  # row by row, so that their order counts
    assert "NOT EQUIVALENT" in gluonnx("verify", faces, file, *pictures, "--expected", tmp_path / "other.npz", code=1)
    single = ("--input", "data:1,3,8,8", "--expected", tmp_path / "emb.npz")
    for command in (("verify", faces, file), ("convert", faces, "-o", tmp_path / "g.onnx", "--dynamic", "batch")):
        said = gluonnx(*command, *single, *pictures, code=2)
        assert "--image makes 3 runs, a batch of 1 in each" in said and "--input data:3,3,8,8 puts all" in said


def test_bytes_of_pictures_are_drawn_as_such(reader: Path, tmp_path: Path) -> None:
    graph = bridge.open_model(reader).graph
    assert graph is not None
    assert expected(graph)["strip"] == PIXELS  # behind a cast and a transpose, around another mean
    found = bridge.convert(reader, inputs={"strip": mx_spec("uint8")}, output=tmp_path / "r.onnx")
    assert found.verification is not None
    assert "whole numbers from 0 to 255" in found.verification.runs[0]["inputs"]["strip"]["from"]
    assert not any("strip" in w for w in found.warnings)
    plain = bridge.verify(
        *[lambda feeds: {"y": feeds["strip"].astype("f").sum(axis=(1, 2, 3))}] * 2, inputs={"strip": mx_spec("uint8")}
    )
    assert "whole numbers from 0 to 255" in plain.runs[0]["inputs"]["strip"]["from"]


def mx_spec(dtype: str | None) -> Any:
    from hybrid.core.op import Spec

    return Spec((1, HIGH, WIDE, 3), None if dtype is None else np.dtype(dtype))


def test_a_dtype_that_was_forgotten_is_noted(reader: Path, tmp_path: Path) -> None:
    found = bridge.convert(reader, inputs={"strip": mx_spec(None)}, output=tmp_path / "r.onnx")
    assert found.verification is not None
    assert "evenly from 0 to 255" in found.verification.runs[0]["inputs"]["strip"]["from"]
    [note] = [w for w in found.warnings if "strip" in w]
    assert note.endswith(f"--input strip:1,{HIGH},{WIDE},3:uint8")
    said = bridge.convert(reader, inputs={"strip": mx_spec("float32")}, output=tmp_path / "s.onnx")
    assert not any("strip" in w for w in said.warnings)  # it was said


def test_what_is_proposed_for_states_follows_from_the_sequence(
    reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.onnx"
    said = gluonnx("convert", reader, "-o", file, code=2)  # no usual side fits
    assert "--input strip:1,HEIGHT,WIDTH,3" in said and "--input h:2,1,4" in said and "--input c:2,1,4" in said
    monkeypatch.setattr("bridge.fitting.SIDES", (5, HIGH))
    said = gluonnx("convert", reader, "-o", file, code=2)
    assert f"--input strip:1,{HIGH},{HIGH},3" in said and "input h" not in said and "input c" not in said
    rnn = S.RNN(
        S.var("x"), S.var("weights"), S.var("h"), S.var("c"), mode="lstm", state_size=4, num_layers=1, name="rnn"
    )
    plain = saved(tmp_path, "plain", rnn, {"weights": (4 * 4 * (6 + 4 + 2),)})
    said = gluonnx("convert", plain, "-o", file, code=2)
    assert "--input x:16,1,6" in said and "input h" not in said
    assert "equivalent" in gluonnx("convert", plain, "-o", file, "--input", "x:16,1,6", "--dynamic", "batch")
    open_axes = ("--dynamic", "batch", "--dynamic", "strip:2=width")
    dynamic = gluonnx("convert", reader, "-o", file, "--input", f"strip:1,{HIGH},{WIDE},3:uint8", *open_axes)
    # the length of what is read is no size with a name, and said by what it was
    assert "letters_output (?,batch,5)" in dynamic and "width 12 and 25, ? of letters_output 14 and 27:" in dynamic
    said = gluonnx("verify", reader, file, code=2)
    assert "--input strip:" in said and "input h" not in said  # whose only open size is the batch


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            ("strip:1,8,12,3", "h:1,2,4", "c:1,2,4"),
            ("input h (1, 2, 4): wanted (2, 1, 4) beside strip", "--input c:2,1,4"),
        ),
        (("strip:1,3,8,12",), ("input strip (1, 3, 8, 12) does not fit", "is it NCHW? try --input strip:1,8,12,3")),
        (("strip:1,16,12,3", "h:2,1,4", "c:2,1,4"), ("--input strip:1,8,12,3 would fit",)),
    ],
)
def test_sizes_that_do_not_fit_are_said_by_the_input(
    reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    monkeypatch.setattr("bridge.fitting.SIDES", (5, 8))
    texts = [part for each in given for part in ("--input", each)]
    said = gluonnx("convert", reader, "-o", tmp_path / "r.onnx", *texts, code=2)
    assert all(part in said for part in wanted), said


def test_another_side_of_a_picture_is_proposed(faces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.fitting.SIDES", (5, 8))
    said = gluonnx("convert", faces, "-o", tmp_path / "f.onnx", "--input", "data:1,3,6,6", code=2)
    assert "data (1, 3, 6, 6) is no size that the network takes" in said and "--input data:1,3,8,8 would fit" in said


def test_a_file_of_bytes_is_held_to_recorded_bytes(faces: Path, tmp_path: Path) -> None:
    """Bytes are the same numbers in the network's float32; whatever else a file does is no part of what was recorded."""
    rng = np.random.default_rng(1)
    pictures = [rng.integers(0, 256, (2, 3, 8, 8)).astype(np.float32) for _ in range(2)]
    bridge.record(faces, [{"data": x} for x in pictures]).save(tmp_path / "truth.npz")
    told = {"expected": tmp_path / "truth.npz", "output": tmp_path / "bytes.onnx"}
    made = bridge.convert(faces, preprocess=bridge.Preprocess(uint8=True), **told).verification
    assert made is not None and {"fc_output (second model, recorded)"} <= {d.name for d in made.differences}
    session = onnxruntime.InferenceSession(tmp_path / "bytes.onnx")
    (y,) = session.run(None, {"data": pictures[1].astype(np.uint8)})
    truth = np.load(tmp_path / "truth.npz")
    np.testing.assert_allclose(y, truth["1/outputs/fc_output"], rtol=1e-4, atol=1e-4)
    wrong = dict(truth) | {"0/outputs/fc_output": truth["0/outputs/fc_output"] + 1}
    np.savez(tmp_path / "wrong.npz", **wrong)
    with pytest.raises(bridge.NotEquivalent):
        bridge.convert(faces, preprocess=bridge.Preprocess(uint8=True), expected=tmp_path / "wrong.npz")
    for value in (0.5, 256, -1, np.nan):
        odd = pictures[0].copy()
        odd[0, 0, 0, 0] = value
        recording = bridge.record(faces, {"data": odd})
        with pytest.raises(bridge.BadInput, match="data of run 1 holds other numbers than whole ones from 0 to 255"):
            bridge.convert(faces, preprocess=bridge.Preprocess(uint8=True), expected=recording)
    for steps in ({"preprocess": bridge.Preprocess(uint8=True, bgr=True)}, {"postprocess": bridge.Postprocess(True)}):
        with pytest.raises(
            bridge.BadInput, match="convert twice: with --expected and without pre- and post-processing"
        ):
            bridge.convert(faces, expected=tmp_path / "truth.npz", **steps)


def test_a_search_for_sides_is_told_and_ends(faces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest is that where none fits: each square is tried, and few other shapes."""
    tried: list[tuple[int, ...]] = []
    fits = fitting.fits

    def counted(model: Model, specs: Mapping[str, Spec]) -> bool:
        tried.extend(s.shape for s in specs.values() if s.shape is not None)
        return fits(model, specs) and not specs

    monkeypatch.setattr(fitting, "fits", counted)
    told: list[str] = []
    with pytest.raises(bridge.BadInput, match="operator"):
        bridge.convert(faces, inputs={"data": (1, 3, 6, 6)}, progress=told.append)
    assert told == ["reading the model", "looking for a size of data that fits"]
    sides = [shape[2:] for shape in tried if shape[:2] == (1, 3) and shape[2:] != (6, 6)]
    assert len(sides) == len({*sides}) < 64
    assert {(side, side) for side in fitting.SIDES} <= {*sides}


def test_a_table_of_several_outputs_names_runs_in_a_column(reader: Path, tmp_path: Path) -> None:
    file, truth = tmp_path / "r.onnx", tmp_path / "t.npz"
    bridge.convert(reader, inputs={"strip": mx_spec("uint8")}, output=file)
    bridge.record(reader, {"strip": mx_spec("uint8")}, output=truth)
    found = bridge.verify(reader, file, expected=truth)
    shown = text.as_text(found, 160)
    assert (
        len({*words.runs_of(found)}) > 1 and shown.count("tolerance ") == 1 and len(words.rules(found.differences)) > 1
    )
    head, *rows = [line.split() for line in shown.splitlines() if line.startswith(("output ", "letters", "rnn"))]
    assert head[-2:] == ["run", "verdict"]
    assert [row[-2] for row in rows] == words.runs_of(found)
    [line] = [line for line in text.as_text(found, 400).splitlines() if line.startswith("numbers and counts")]
    assert line.count("strip (1,8,12,3)") <= 2  # runs of one kind and size are said once
