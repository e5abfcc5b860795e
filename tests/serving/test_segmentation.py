"""A network that gives a class for each pixel, as in SageMaker: names, shares, class maps, what was compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.pipeline.labels import class_of_pixels, ranked, read_labels

NAMES = ("ground", "car", "tree")
MAP = {"scale": 1, "map": {"0": "ground", "1": "car", "2": "tree", "255": "ignore"}}
SIZE = (6, 8)
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classes are the largest of red, green and blue; two heads as in training."""
    folder = tmp_path_factory.mktemp("network")
    data = mx.sym.var("data")
    known = {"score_weight": np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1), "score_bias": np.zeros(3, np.float32)}
    score = mx.sym.Convolution(data * 0.01, num_filter=3, kernel=(1, 1), name="score")
    aux = mx.sym.Convolution(data * 0.01, num_filter=3, kernel=(1, 1), name="aux")
    heads = [mx.sym.SoftmaxOutput(s, name=n, multi_output=True) for s, n in ((score, "softmax"), (aux, "side"))]
    known |= {n.replace("score", "aux"): v * np.float32(0.5) for n, v in known.items()}
    mx.sym.Group(heads).save(str(folder / "net-symbol.json"))
    mx.nd.save(str(folder / "net-0000.params"), {f"arg:{n}": mx.nd.array(v) for n, v in known.items()})
    (folder / "train_label_map.json").write_text(json.dumps(MAP))
    picture = Image.new("RGB", SIZE[::-1], RED)
    picture.paste(GREEN, (0, 0, 4, 3))
    picture.paste(BLUE, (7, 0, 8, 6))
    picture.save(folder / "lot.png")
    picture.resize((16, 12), Image.Resampling.NEAREST).save(folder / "large.png")
    return folder


@pytest.fixture(scope="module")
def program(network: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("program") / "program"
    pictures = bridge.Preprocess(layout="NHWC", uint8=True)
    labels = read_labels(network / "train_label_map.json")
    bridge.deploy(network, "python", place, labels=labels, inputs={"data": (1, *SIZE, 3)}, preprocess=pictures)
    return place


def ran(program: Path, *words: object, code: str = "run.py") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *([] if code == "run.py" else ["-c", code]), *map(str, words)]
    if code == "run.py":
        command.insert(1, str(program / code))
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=program)


SHARES = "a class for each pixel: ground 62.50 %, car 25.00 %, tree 12.50 %"


def test_the_program_prints_shares_and_writes_the_class_of_each_pixel(
    program: Path, network: Path, tmp_path: Path
) -> None:
    found = ran(program, network / "lot.png", "--classes", tmp_path / "c.png")
    assert found.returncode == 0, found.stderr
    assert f"softmax_output[0] {SHARES}" in found.stdout and f"side_output[0] {SHARES}" in found.stdout
    assert "resized" not in found.stdout
    classes = np.asarray(Image.open(tmp_path / "c.png"))
    assert classes.shape == SIZE and np.bincount(classes.reshape(-1)).tolist() == [30, 12, 6]
    assert ran(program, network / "lot.png", "--classes", tmp_path / "c.npy").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy")[0], classes)


def test_the_program_says_that_it_resized_and_what_is_wrong_in_a_line(
    program: Path, network: Path, tmp_path: Path
) -> None:
    assert "large.png is 16 x 12 and was resized to 8 x 6" in ran(program, network / "large.png").stdout
    (tmp_path / "text.png").write_text("no picture")
    for words, said in (
        (["nothere.png"], "error: nothere.png: No such file"),
        ([tmp_path / "text.png"], "not a picture that Pillow can read"),
    ):
        found = ran(program, *words)
        assert found.returncode == 1 and said in found.stderr and "Traceback" not in found.stderr
    hidden = (
        "import sys; sys.modules['PIL'] = None; sys.path.insert(0, '.'); import run; sys.argv[0] = 'run.py'; run.main()"
    )
    found = ran(program, network / "lot.png", code=hidden)
    assert found.returncode == 1 and "pictures need Pillow" in found.stderr and "Traceback" not in found.stderr


def test_run_prints_shares_and_from_which_size_a_picture_was_resized(network: Path, program: Path) -> None:
    told = CliRunner().invoke(app, ["run", str(program / "model.onnx"), "--image", str(network / "large.png")]).output
    assert "a class for each pixel: ground 62.5 %, car 25 %, tree 12.5 %" in told
    assert "resized from 12x16 to 6x8 (height x width)" in told
    words = ["run", str(network), "--image", str(network / "lot.png"), "--input", "data:1,3,6,8", "--json"]
    found = json.loads(CliRunner().invoke(app, words).stdout)
    assert found["ranked"][0]["text"] == "a class for each pixel: class 0 62.5 %, class 1 25 %, class 2 12.5 %"
    assert "resized" not in found["pictures"]["data"]


def test_the_handler_of_sagemaker_gives_the_class_of_each_pixel_as_a_picture(network: Path, tmp_path: Path) -> None:
    pictures = bridge.Preprocess(layout="NHWC", uint8=True)
    told = {"inputs": {"data": (1, *SIZE, 3)}, "preprocess": pictures, "verify": False}
    bridge.deploy(network, "sagemaker", tmp_path / "m", **told)
    code = (
        "import sys; sys.path.insert(0, 'code'); import inference as i; m = i.model_fn('.'); "
        f"p = i.predict_fn(i.input_fn(open({str(network / 'lot.png')!r}, 'rb').read(), 'image/png'), m); "
        "body, kind = i.output_fn(p, 'image/png'); assert kind == 'image/png'; open('out.png', 'wb').write(body)"
    )
    found = ran(tmp_path / "m", code=code)
    assert found.returncode == 0, found.stderr
    classes = np.asarray(Image.open(tmp_path / "m" / "out.png"))
    assert classes.shape == SIZE and np.bincount(classes.reshape(-1)).tolist() == [30, 12, 6]


def test_classes_of_pixels_are_told_from_other_arrays() -> None:
    scores = np.random.default_rng(0).random((2, 3, 4, 5), np.float32)
    assert class_of_pixels(scores, 3) is not None and class_of_pixels(scores, 4) is None
    assert class_of_pixels(scores, 0) is None  # features, as far as one can tell
    assert class_of_pixels(scores / scores.sum(1, keepdims=True), 0) is not None
    assert class_of_pixels(scores.transpose(0, 2, 3, 1), 3) is not None
    assert ranked({"c": scores.argmax(1)}, NAMES)[1][0] == "c[1]"
    assert class_of_pixels(np.full((1, 4, 4), 7), 3) is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"map": {"0": 5, "1": 0}}, "no names"),
        ({"map": {"0": "a", "2": "b"}}, "wanted JSON such as"),
        ({"map": {"0": "a"}, "other": 1}, "wanted JSON such as"),
        ({"scale": 1, "map": {}}, "wanted JSON such as"),
    ],
)
def test_label_maps_without_names_are_refused(content: object, said: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(bridge.BadInput, match=said):
        read_labels(tmp_path / "m.json")
    (tmp_path / "m.json").write_text(json.dumps(MAP))
    assert read_labels(tmp_path / "m.json") == NAMES


def test_names_go_to_the_output_that_holds_as_many_classes(network: Path) -> None:
    for names, said in (
        (("a", "b"), r"2 names, and no output has as many classes: softmax_output \(1, 3, 6, 8\), side"),
        (NAMES, ""),
    ):
        told = {"inputs": {"data": (1, 3, *SIZE)}, "postprocess": bridge.Postprocess(labels=names), "verify": False}
        if said:
            with pytest.raises(bridge.BadInput, match=said):
                bridge.convert(network, **told)
        else:
            assert bridge.convert(network, **told).bytes
    with pytest.raises(bridge.BadInput, match=r"which output holds scores\?.* --outputs"):
        told["postprocess"] = bridge.Postprocess(labels=NAMES, argmax=True)
        bridge.convert(network, **told)


def test_deploy_says_what_was_recorded_was_compared(network: Path, tmp_path: Path) -> None:
    feeds = {"data": np.random.default_rng(0).uniform(0, 255, (2, 3, *SIZE)).astype(np.float32)}
    bridge.convert(network, inputs={"data": (2, 3, *SIZE)}, output=tmp_path / "m.onnx", verify=False)
    np.savez(tmp_path / "answers.npz", **bridge.run(tmp_path / "m.onnx", feeds))
    np.savez(tmp_path / "in.npz", **feeds)
    (tmp_path / "labels.txt").write_text("\n".join(NAMES))
    words = ["deploy", str(network), str(tmp_path / "r"), "--to", "triton", "--inputs", str(tmp_path / "in.npz")]
    words += ["--expected", str(tmp_path / "answers.npz"), "--labels", str(tmp_path / "labels.txt")]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert "compared all 2 outputs in 1 run" in found.output
    assert "beside answers.npz: " in found.output
    assert "softmax_output holds a score of each of 3 classes for every pixel" in " ".join(found.output.split())


def test_tensors_in_a_recording_that_are_not_in_the_model_are_told_without_a_count_of_none(
    network: Path, tmp_path: Path
) -> None:
    feeds = {"data": np.random.default_rng(0).uniform(0, 255, (1, 3, *SIZE)).astype(np.float32)}
    made = bridge.record(network, feeds)
    made.facts["outputs"] = list(made.runs[0].outputs)
    made.runs[0].outputs["from_elsewhere"] = np.zeros(3, np.float32)
    found = bridge.verify(network, expected=made)
    assert found.equivalent
    assert found.recorded == (
        "of other tensors in the recording (1) the model has none by its name: the outputs alone were compared",
    )
    made.runs[0].outputs["data"] = made.runs[0].outputs.pop("from_elsewhere")
    assert bridge.verify(network, expected=made).recorded == (), "an input is none of them"


def test_a_model_against_a_file_that_was_cut_says_how_to_compare(network: Path, tmp_path: Path) -> None:
    bridge.convert(
        network, inputs={"data": (1, 3, *SIZE)}, outputs="softmax_output", output=tmp_path / "m.onnx", verify=False
    )
    with pytest.raises(bridge.BadInput, match=r"got 2 outputs .* against 1 .*: --outputs softmax_output"):
        bridge.verify(network, tmp_path / "m.onnx", inputs={"data": (1, 3, *SIZE)})
    assert bridge.verify(
        network, tmp_path / "m.onnx", inputs={"data": (1, 3, *SIZE)}, outputs="softmax_output"
    ).equivalent
