"""gluonnx check: projects and folders, baselines and their updates, tolerances, pages, JUnit XML and GitHub's faces."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
from bridge.cli import app
from bridge.project import github
from bridge.project.config import ALL_REASONS, NAME, Entry, Project, Rule, as_rules, load_project, tomllib
from bridge.project.junit import junit
from bridge.project.results import CheckResult, FileResult
from bridge.recorded import hashes, load_recording, with_facts
from tests.house.docs import ROOT
from tests.models.networks import FOLDER

LENET = FOLDER / "lenet"
RECORDED = ROOT / "fixtures" / "recorded" / "lenet.npz"
runner = CliRunner()


def call(*arguments: object, code: int = 0) -> str:
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with lenet's files, its conversion, and one in which a weight is 1 % wrong."""
    folder = tmp_path_factory.mktemp("made")
    for file in LENET.glob("model-*"):
        shutil.copy(file, folder / file.name.replace("model", "net"))
    told = {"inputs": LENET / "inputs.npz", "dynamic": {"data": {0: "n"}}, "verify": False}
    bridge.convert(folder / "net", output=folder / "net.onnx", **told)
    wrong = onnx.load(folder / "net.onnx")
    tensor = next(i for i in wrong.graph.initializer if i.name == "fullyconnected0_weight")
    tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * np.float32(1.01), tensor.name))
    onnx.save(wrong, folder / "wrong.onnx")
    return folder


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write a gluonnx.toml into a folder with the files; gives the folder."""

    def write(text: str, *files: str) -> Path:
        (tmp_path / "models").mkdir()
        for name in files or ("net-symbol.json", "net-0000.params", "net.onnx", "wrong.onnx"):
            shutil.copy(made / name, tmp_path / "models")
        (tmp_path / NAME).write_text(text)
        return tmp_path

    return write


PLAIN = """
[model.lenet]
files = ["models/net", "models/net.onnx"]
baseline = "baselines/lenet.npz"
"""


def with_baseline(folder: Path) -> None:
    (folder / "baselines").mkdir()
    shutil.copy(RECORDED, folder / "baselines" / "lenet.npz")


# -- verdicts ---------------------------------------------------------------------------------------------------------------


def test_models_are_held_to_what_mxnet_recorded(project: Callable[..., Path]) -> None:
    folder = project(PLAIN.replace('onnx"]', 'onnx", "models/wrong.onnx"]'))
    with_baseline(folder)
    result = bridge.check(folder)
    assert [(f.file, f.status) for f in result.files] == [
        ("models/net", "ok"),
        ("models/net.onnx", "ok"),
        ("models/wrong.onnx", "differs"),
    ]
    assert result.exit_status == 1
    wrong = result.files[2]
    assert wrong.detail.startswith("first: fullyconnected0 (FullyConnected)"), wrong.detail
    text = call("check", folder / NAME, code=1)
    assert re.search(r"models/wrong.onnx +FAIL +\d.\de-0\d +first: fullyconnected0", text.replace("\n", " "))
    assert "2 of 3 ok" in text
    call("check", folder, "--fail-on", "missing")


def test_without_a_baseline_the_first_file_is_right(project: Callable[..., Path]) -> None:
    folder = project(
        '[model.lenet]\nfiles = ["models/net", "models/net.onnx", "models/wrong.onnx"]\nranges = { data = [0, 1] }'
    )
    result = bridge.check(str(folder / NAME))
    assert [(f.file, f.status) for f in result.files] == [("models/net.onnx", "ok"), ("models/wrong.onnx", "differs")]
    assert result.files[0].result is not None
    assert "from 0 to 1" in str(result.files[0].result.runs[0]["inputs"])


def test_what_is_missing_bad_or_not_run(project: Callable[..., Path]) -> None:
    folder = project(
        """
        [model.baseline]
        files = ["models/net"]
        baseline = "none.npz"
        [model.file]
        files = ["models/net", "models/gone.onnx"]
        [model.bad]
        files = ["models/net", "models/text.onnx"]
        [model.damaged]
        files = ["models/net"]
        baseline = "models/text.onnx"
        """
    )
    (folder / "models" / "text.onnx").write_text("hello")
    result = bridge.check(folder)
    assert [f.status for f in result.files] == ["missing", "missing", "bad", "bad"]
    assert "no baseline none.npz; gluonnx check --update writes it" in result.files[0].detail
    assert result.files[1].detail == "no such file: models/gone.onnx"
    assert result.exit_status == 2
    assert bridge.check(folder, fail_on=("differs",)).exit_status == 2, "what cannot be read is never let pass"
    assert "MISSING" in call("check", folder, code=2)


def test_outputs_that_say_little_have_their_status(tmp_path: Path) -> None:
    x = onnx.helper.make_tensor_value_info("x", 1, (2, 3))
    y = onnx.helper.make_tensor_value_info("y", 1, (2, 3))
    graph = onnx.helper.make_graph([onnx.helper.make_node("Sub", ["x", "x"], ["y"])], "g", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    for name in ("flat.onnx", "flat_2.onnx"):
        onnx.save(model, tmp_path / name)
    (result,) = bridge.check(tmp_path).files
    assert result.status == "says-little"
    assert "one value everywhere" in result.detail
    assert bridge.check(tmp_path).exit_status == 4
    assert bridge.check(tmp_path, fail_on=("differs",)).ok
    assert "says little" in call("check", tmp_path, code=4)


# -- baselines --------------------------------------------------------------------------------------------------------------


def test_update_writes_baselines_and_tells_what_changed(project: Callable[..., Path]) -> None:
    folder = project(PLAIN + "inputs = { data = [2, 1, 28, 28] }\nranges = { data = [0, 1] }\nseed = 3\n")
    assert "lenet.npz written" in call("check", folder, "--update")
    kept = load_recording(folder / "baselines" / "lenet.npz")
    assert kept.runs[0].inputs["data"].shape == (2, 1, 28, 28)
    assert 0 <= kept.runs[0].inputs["data"].min() < kept.runs[0].inputs["data"].max() <= 1
    assert set(kept.facts["measured"]) == {"models/net", "models/net.onnx"}
    again = (folder / "baselines" / "lenet.npz").read_bytes()
    assert "lenet.npz unchanged" in call("check", folder, "--update")
    assert (folder / "baselines" / "lenet.npz").read_bytes() == again
    result = bridge.check(folder)
    assert result.ok
    assert result.files[1].before == result.files[1].largest
    parameters = folder / "models" / "net-0000.params"
    arrays = bridge.open_model(folder / "models" / "net").params
    import hybrid.formats.params as params

    changed = {f"arg:{n}": np.array(a) * np.float32(1.1) for n, a in arrays.items()}
    parameters.unlink()
    params.save(str(parameters), changed)
    assert bridge.check(folder).files[0].status == "differs"
    text = call("check", folder, "--update", code=1).replace("\n", " ")
    assert "lenet.npz not written, the old one stays: models/net.onnx differs from models/net" in text, text
    assert re.search(r"softmax_output: max abs \d\.\d\de-0\d, cosine 0\.\d+", text), text
    assert (folder / "baselines" / "lenet.npz").read_bytes() == again, "which of the two is right nobody knows"
    bridge.convert(folder / "models" / "net", output=folder / "models" / "net.onnx", inputs={"data": (2, 1, 28, 28)})
    assert "lenet.npz written" in call("check", folder, "--update")
    assert [f.status for f in bridge.check(folder).files] == ["ok", "ok"]


def clipped(folder: Path, most: float = 6.0, weight: float = 1.0, sizes: tuple[int, ...] = (1, 1, 8, 8)) -> None:
    """A small network with a relu6 that usual inputs do not reach, and its conversion."""
    import hybrid as mx

    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2, no_bias=True, name="conv")
    x = mx.sym.FullyConnected(mx.sym.clip(x, a_min=0, a_max=most, name="relu6"), num_hidden=3, name="top")
    weights = {
        "conv_weight": np.float32([0.5, -0.5]).reshape(2, 1, 1, 1) * np.float32(weight),
        "top_weight": np.linspace(-1, 1, 3 * 2 * 64, dtype=np.float32).reshape(3, -1),
        "top_bias": np.zeros(3, np.float32),
    }
    bridge.convert(x, weights, output=folder / "clip.onnx", inputs={"data": sizes})
    (folder / "clip-symbol.json").write_text(x.tojson())
    for old in folder.glob("clip-*.params"):
        old.unlink()
    mx.nd.save(str(folder / "clip-0012.params"), {f"arg:{n}": mx.nd.array(a) for n, a in weights.items()})


CLIPPED = """
[model.clip]
files = ["clip", "clip.onnx"]
baseline = "clip.npz"
inputs = { data = [1, 1, 8, 8] }
"""


def test_the_baseline_reaches_bounds_that_usual_inputs_do_not(tmp_path: Path) -> None:
    """relu6 that became relu60: the draws of one kind, all within 4.7, never came to it."""
    (tmp_path / NAME).write_text(CLIPPED)
    clipped(tmp_path)
    assert "reaches" not in call("check", tmp_path, "--update")
    kept = load_recording(tmp_path / "clip.npz")
    assert kept.kinds == ("expected", "wide", "edges")
    assert len(kept.asked) == 1
    assert kept.drawn
    clipped(tmp_path, 60.0)
    result = bridge.check(tmp_path)
    assert [f.status for f in result.files] == ["differs", "differs"]
    assert result.files[0].detail.startswith(
        "the symbol changed since the baseline: clip-symbol.json (relu6 (clip): a_max 6 -> 60); top_output: "
    )
    assert "note" not in call("check", tmp_path, code=1)
    clipped(tmp_path)
    assert bridge.check(tmp_path).ok
    (tmp_path / "other").mkdir()
    clipped(tmp_path / "other", 60.0)
    shutil.copy(tmp_path / "other" / "clip.onnx", tmp_path)
    result = bridge.check(tmp_path)
    assert [f.status for f in result.files] == ["ok", "differs"]
    assert result.files[1].detail.startswith("first: relu6 (clip), max 6 -> 60 (from clip to clip.onnx); "), (
        result.files[1].detail
    )


def test_bounds_that_no_draw_reaches_are_named(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(CLIPPED)
    clipped(tmp_path, 1e6)
    text = call("check", tmp_path, "--update").replace("\n", " ")
    assert "no recorded input reaches 1 of 2 bounds" in text
    assert "relu6 (clip): upper 1e+06" in text
    (tmp_path / "other").mkdir()
    clipped(tmp_path / "other", 2e6)
    shutil.copy(tmp_path / "other" / "clip.onnx", tmp_path)
    result = bridge.check(tmp_path)
    assert [f.status for f in result.files] == ["ok", "unreached"]
    words = "yet they differ (from clip to clip.onnx) at relu6 (Clip): max 1000000 -> 2000000"
    assert words in result.files[1].detail, result.files
    assert result.exit_status == 4
    before = (tmp_path / "clip.npz").read_bytes()
    text = call("check", tmp_path, "--update", code=4).replace("\n", " ")
    assert "clip.npz not written, the old one stays: clip.onnx differs from clip" in text, text
    assert (tmp_path / "clip.npz").read_bytes() == before
    allowed = bridge.check(tmp_path, fail_on=("differs", "says-little"))
    assert allowed.ok
    assert words in allowed.files[1].beside[0]


def test_what_no_input_tells_apart_is_told_without_a_baseline_of_ours(tmp_path: Path) -> None:
    """Of two files alone, and of a baseline by MXNet, which nobody updates."""
    clipped(tmp_path, 1e6)
    kept = bridge.record(tmp_path / "clip", {"data": (1, 1, 8, 8)}, draws=["expected"])
    (tmp_path / "other").mkdir()
    clipped(tmp_path / "other", 2e6)
    shutil.copy(tmp_path / "other" / "clip.onnx", tmp_path)
    words = "differ (from clip to clip.onnx) at relu6 (Clip): max 1000000 -> 2000000"
    (tmp_path / NAME).write_text(CLIPPED.replace('baseline = "clip.npz"', ""))
    (file,) = bridge.check(tmp_path).files
    assert file.status == "unreached"
    assert words in file.detail
    bridge.Recording(kept.runs, {"by": "MXNet 1.9.1"}).save(tmp_path / "clip.npz")
    (tmp_path / NAME).write_text(CLIPPED)
    assert words in bridge.check(tmp_path).files[1].detail
    text = call("check", tmp_path, "--update", code=4).replace("\n", " ")
    assert "no recorded input reaches 1 of 2 bounds" in text


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("", "ranges = { data = [0, 255] }", "the range of data is 0 to 255, and none was asked for"),
        ("ranges = { data = [0, 1] }", "ranges = { data = [0, 255] }", "0 to 255, and 0 to 1 was recorded"),
        ("", "seed = 3", "the seed is 3, and 0 was recorded"),
        ("", "runs = 3", "runs are 3, and 1 was recorded"),
    ],
)
def test_inputs_that_the_baseline_was_not_recorded_with(tmp_path: Path, before: str, after: str, words: str) -> None:
    clipped(tmp_path)
    (tmp_path / NAME).write_text(CLIPPED + before)
    bridge.check(tmp_path, update=True)
    (tmp_path / NAME).write_text(CLIPPED + after)
    result = bridge.check(tmp_path)
    assert {f.status for f in result.files} == {"bad"}
    assert words in result.files[0].detail
    assert "run gluonnx check --update" in result.files[0].detail
    call("check", tmp_path, "--update")
    assert bridge.check(tmp_path).ok


def test_sizes_and_arrays_that_were_not_recorded(tmp_path: Path) -> None:
    clipped(tmp_path)
    (tmp_path / NAME).write_text(CLIPPED)
    bridge.check(tmp_path, update=True)
    (tmp_path / NAME).write_text(CLIPPED.replace("[1, 1, 8, 8]", "[1, 1, 4, 16]"))
    assert "data is (1, 1, 4, 16), and (1, 1, 8, 8) was recorded" in bridge.check(tmp_path).files[0].detail
    (tmp_path / NAME).write_text(CLIPPED.replace("{ data = [1, 1, 8, 8] }", '"in.npz"'))
    np.savez(tmp_path / "in.npz", data=np.ones((1, 1, 8, 8), np.float32))
    assert "data has other numbers than were recorded" in bridge.check(tmp_path).files[0].detail
    bridge.check(tmp_path, update=True)
    assert bridge.check(tmp_path).ok
    assert load_recording(tmp_path / "clip.npz").kinds == ("given",)


@pytest.mark.parametrize("by_mxnet", [False, True])
@pytest.mark.parametrize("wrong", ["inputs = { image = [2, 1, 28, 28] }", "ranges = { image = [0, 1] }"])
def test_inputs_that_there_are_not(project: Callable[..., Path], wrong: str, by_mxnet: bool) -> None:
    """Names that the model has not, whoever recorded the baseline: before, only --update said so."""
    folder = project(PLAIN)
    with_baseline(folder)
    if not by_mxnet:
        (folder / "baselines" / "lenet.npz").unlink()
        (folder / NAME).write_text(f"{PLAIN}inputs = {{ data = [2, 1, 28, 28] }}")
        assert bridge.check(folder, update=True).ok
    (folder / NAME).write_text(PLAIN + wrong)
    result = bridge.check(folder)
    assert {f.status for f in result.files} == {"bad"}
    assert "got input 'image', wanted some of data; correct them there" in result.files[0].detail


def test_update_keeps_the_inputs_of_a_baseline_that_says_them_alone(tmp_path: Path) -> None:
    """One by gluonnx record, where gluonnx.toml says nothing of inputs."""
    clipped(tmp_path)
    (tmp_path / NAME).write_text(CLIPPED.replace("inputs = { data = [1, 1, 8, 8] }", ""))
    told = ("--input", "data:1,1,8,8", "--range", "data:0,255", "--runs", 2, "-o", tmp_path / "clip.npz")
    call("record", tmp_path / "clip-symbol.json", *told)
    kept = load_recording(tmp_path / "clip.npz")
    assert kept.kinds == ("expected", "expected", "wide", "edges")
    assert bridge.check(tmp_path).ok
    clipped(tmp_path, weight=2.0)
    call("check", tmp_path, "--update")
    new = load_recording(tmp_path / "clip.npz")
    assert (new.kinds, new.facts["ranges"]) == (kept.kinds, {"data": [0, 255]})
    for before, after in zip(kept.runs, new.runs):
        np.testing.assert_array_equal(before.inputs["data"], after.inputs["data"])


def test_an_old_baseline_is_read_and_told_of(tmp_path: Path) -> None:
    """One draw, and nothing said of how."""
    clipped(tmp_path)
    (tmp_path / NAME).write_text(CLIPPED)
    kept = bridge.record(tmp_path / "clip", {"data": (1, 1, 8, 8)}, draws=["expected"])
    facts = {k: v for k, v in kept.facts.items() if k not in ("kinds", "ranges")}
    bridge.Recording(kept.runs, facts).save(tmp_path / "clip.npz")
    result = bridge.check(tmp_path)
    assert result.ok
    assert "draws of one kind, by an older gluonnx" in result.files[0].notes[0]
    (tmp_path / NAME).write_text(CLIPPED + "ranges = { data = [0, 255] }")
    assert "the range of data is 0 to 255, and numbers from -" in bridge.check(tmp_path).files[0].detail


def test_files_that_changed_while_their_numbers_agree(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(CLIPPED)
    clipped(tmp_path)
    bridge.check(tmp_path, update=True)
    assert bridge.check(tmp_path).notes == ()
    clipped(tmp_path, weight=1 + 1e-7)
    result = bridge.check(tmp_path)
    assert result.ok
    assert result.files[0].changed == ("weights changed since the baseline: clip-0012.params (conv_weight)",)
    assert result.files[1].changed == ("the file changed since the baseline: clip.onnx (weight conv_weight)",)
    text = call("check", tmp_path, "--github").replace("\n", " ")
    assert "note: clip: clip: weights changed since the baseline: clip-0012.params" in text
    assert "::warning title=clip%3A clip::weights changed" in text
    text = call("check", tmp_path, "--fail-on", "changed", code=1).replace("\n", " ")
    assert "CHANGED" in text
    assert "0 of 2 ok" in text
    assert 'type="changed"' in junit(bridge.check(tmp_path, fail_on=("changed",)))
    call("check", tmp_path, "--update")
    call("check", tmp_path, "--fail-on", "changed")
    shutil.copy(tmp_path / "clip-0012.params", tmp_path / "clip-0013.params")
    (first, _) = bridge.check(tmp_path).files
    assert first.changed == ("clip-0013.params was read, and the baseline is of clip-0012.params",)
    for file in tmp_path.glob("*.params"):
        file.unlink()
    (first, _) = bridge.check(tmp_path).files
    assert first.status == "bad"
    assert first.detail.startswith("no clip-NNNN.params beside clip-symbol.json, and conv_weight, top_weight"), (
        first.detail
    )


def test_weights_of_the_first_file_are_named(tmp_path: Path) -> None:
    """By the file that still gives what was recorded."""
    (tmp_path / NAME).write_text(CLIPPED)
    clipped(tmp_path)
    bridge.check(tmp_path, update=True)
    kept = (tmp_path / "clip.onnx").read_bytes()
    clipped(tmp_path, weight=1.5)
    (tmp_path / "clip.onnx").write_bytes(kept)
    first, second = bridge.check(tmp_path).files
    assert (first.status, second.status) == ("differs", "ok")
    assert first.detail.startswith("first: conv (Convolution), weight conv_weight: "), first.detail
    assert re.search(r"top_output: \S+ of its largest number off \(", first.detail), first.detail


def test_a_tolerance_that_accepts_anything_is_told_of(tmp_path: Path) -> None:
    clipped(tmp_path)
    (tmp_path / NAME).write_text(CLIPPED + "tolerance = { atol = 1e9 }")
    bridge.check(tmp_path, update=True)
    result = bridge.check(tmp_path)
    assert result.ok
    assert "atol 1e+09 is larger than its largest number" in result.files[1].notes[0]
    (tmp_path / NAME).write_text(CLIPPED + "tolerance = { atol = 1e-5 }")
    assert bridge.check(tmp_path).notes == ()


def members(place: Path) -> dict[str, np.ndarray]:
    with np.load(place) as stored:
        return dict(stored)


def test_update_leaves_alone_what_mxnet_recorded(project: Callable[..., Path]) -> None:
    folder = project(PLAIN)
    with_baseline(folder)
    place = folder / "baselines" / "lenet.npz"
    before = members(place)
    facts = json.loads(str(before.pop("gluonnx")))
    assert "is by MXNet 1.9.1: its numbers stay as they are" in call("check", folder, "--update").replace("\n", " ")
    after = members(place)
    noted = json.loads(str(after.pop("gluonnx")))
    assert {k: (a.dtype, a.tobytes()) for k, a in before.items()} == {
        k: (a.dtype, a.tobytes()) for k, a in after.items()
    }
    assert facts == {k: noted[k] for k in facts}, "who recorded it, when and from which files"
    kept = place.read_bytes()
    assert "is by MXNet 1.9.1 and stays" in call("check", folder, "--update").replace("\n", " ")
    assert place.read_bytes() == kept, "nothing is new"
    np.savez(folder / "baselines" / "lenet.npz", y=np.ones(3))
    assert "no recording, which" in call("check", folder, "--update", code=2)


def test_a_baseline_by_mxnet_gets_facts_and_without_them_it_says_what_is_not_found(
    project: Callable[..., Path],
) -> None:
    folder = project(PLAIN, "net-symbol.json", "net-0000.params", "net.onnx")
    with_baseline(folder)
    place = folder / "baselines" / "lenet.npz"
    files = hashes(folder / "models" / name for name in ("net-symbol.json", "net-0000.params"))
    with_facts(load_recording(place), files=files).save(place)  # as the script writes it of files of these names
    every = tuple(ALL_REASONS)
    symbol, file = bridge.check(folder).files
    assert (symbol.status, file.status) == ("ok", "ok")
    assert "lenet.npz has only hashes of models/net, so that another interface is not seen" in symbol.notes[0]
    assert "lenet.npz has no facts about models/net.onnx" in file.beside[0]
    asked = bridge.check(folder, fail_on=every)
    assert [f.status for f in asked.files] == ["ok", "bad"]
    assert asked.exit_status == 2
    assert "gluonnx check --update adds the facts, and leaves its numbers" in asked.files[1].detail
    bridge.check(folder, update=True)
    assert [(f.status, f.beside) for f in bridge.check(folder, fail_on=every).files] == [("ok", ())] * 2
    model = onnx.load(folder / "models" / "net.onnx")
    weight = next(i for i in model.graph.initializer if i.name == "fullyconnected1_bias")
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight) + np.float32(1e-7), weight.name))
    node, output = model.graph.node[-1], model.graph.output[0]
    node.output[0] = output.name = "classes"
    onnx.save(model, folder / "models" / "net.onnx")
    changed = bridge.check(folder, fail_on=every).files[1]
    assert changed.status == "interface"
    assert "output softmax_output is called classes" in changed.detail
    assert "fullyconnected1_bias" in changed.changed[0]


def test_models_with_one_baseline_keep_what_it_notes_of_each_other(project: Callable[..., Path]) -> None:
    text = PLAIN + PLAIN.replace("[model.lenet]", "[model.again]").replace('"models/net", ', "")
    folder = project(text, "net-symbol.json", "net-0000.params", "net.onnx")
    with_baseline(folder)
    shutil.copy(folder / "models" / "net.onnx", folder / "models" / "more.onnx")
    text = (folder / NAME).read_text()
    head, tail = text.split("[model.again]")
    (folder / NAME).write_text(f"{head}[model.again]{tail.replace('net.onnx', 'more.onnx')}")
    bridge.check(folder, update=True)
    result = bridge.check(folder, fail_on=tuple(ALL_REASONS))
    assert [(f.file, f.status) for f in result.files] == [
        ("models/net", "ok"),
        ("models/net.onnx", "ok"),
        ("models/more.onnx", "ok"),
    ]


def test_the_change_since_the_baseline() -> None:
    def told(largest: float | None, before: float | None) -> str:
        return FileResult("m", "f", "ok", largest=largest, before=before).change

    assert told(0.97e-6, 1e-6) == "-3 % since the baseline"
    assert told(2e-6, 1e-6) == "+100 % since the baseline"
    assert told(1e-6, 0.0) == "0 when the baseline was written"
    assert told(1e-6, None) == told(1e-6, 1e-6) == told(None, 1.0) == ""


# -- tolerances -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tolerance", "status"),
    [
        ("{}", "differs"),
        ("{ atol = 0.5 }", "ok"),
        ("{ atol = 1e-6, rtol = 0 }", "differs"),
        ("{ cosine = 0.99 }", "ok"),
        ("{ cosine = 0.9999999 }", "differs"),
        ("{ softmax_output = { cosine = 0.99 } }", "ok"),
        ("{ atol = 0.5, softmax_output = { atol = 1e-6 } }", "differs"),
        ('{ "models/wrong.onnx" = { atol = 0.5 } }', "ok"),
        ('{ "models/net" = { atol = 0.5 } }', "differs"),
        ('{ atol = 1e-6, "models/wrong.onnx" = { softmax_output = { atol = 0.5, rtol = 0 } } }', "ok"),
        ("{ atol = 0.5, cosine = 0.9999999 }", "differs"),
    ],
)
def test_tolerances_of_outputs_and_files(made: Path, tolerance: str, status: str) -> None:
    told = tomllib.loads(f"tolerance = {tolerance}")["tolerance"]
    rules = as_rules(told, ("models/wrong.onnx", "models/net"))
    entry = Entry("lenet", ("wrong.onnx",), made, baseline=str(RECORDED), rules=rules.of("models/wrong.onnx"))
    (found,) = bridge.check(Project((entry,), made)).files
    assert found.status == status, found.detail
    if "9999999" in tolerance:
        assert "cosine 0." in found.detail
        assert "wanted 1 or more" in found.detail or "wanted 0.9999999 or more" in found.detail


def test_tolerances_of_outputs_that_there_are_not(project: Callable[..., Path]) -> None:
    folder = project(PLAIN + "tolerance = { fc1_output = { atol = 1 } }")
    with_baseline(folder)
    result = bridge.check(folder)
    assert {f.status for f in result.files} == {"bad"}
    assert "no such output or file; the outputs are softmax_output" in result.files[0].detail


# -- the file ---------------------------------------------------------------------------------------------------------------


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(
        """
        modle = 1
        [check]
        fail-on = ["difers"]
        report = "x"
        [model.a]
        files = "x"
        basline = "y"
        ranges = { data = [3, 1] }
        seed = -1
        runs = true
        map = { a = 1 }
        inputs = { data = [0] }
        tolerance = { atol = -1, cosine = 2, atl = 1, y = { rtol = "x" } }
        [model.b]
        files = ["x.onnx"]
        """
    )
    with pytest.raises(bridge.BadInput) as caught:
        load_project(tmp_path)
    text = str(caught.value)
    for words in (
        "unknown key 'modle' at the top, did you mean model? There is check, model",
        "[check] fail-on: got 'difers', wanted some of differs, interface, drift, unreached, says-little, missing, changed",
        "unknown key 'report' in [check]; There is fail-on",
        "[model.a] unknown key 'basline' here, did you mean baseline? There is files, params",
        "[model.a] files: got 'x', wanted a list of paths",
        "[model.a] ranges: got",
        "[model.a] seed: got -1, wanted a whole number of 0 or more",
        "[model.a] runs: got True",
        "[model.a] map: got",
        "[model.a] inputs: got",
        "[model.a] tolerance: atol: got -1, wanted a number of 0 or more",
        "[model.a] tolerance: cosine: got 2, wanted a number from 0 to 1",
        "[model.a] unknown key 'atl' in tolerance, did you mean atol?",
        "[model.a] tolerance.'y': rtol: got 'x'",
        "[model.b] one file and no baseline",
    ):
        assert words in text
    assert len(caught.value.problems) == 15
    assert "unknown key" in call("check", tmp_path, code=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[model", "not TOML"),
        ("", "no models"),
        ("model = 1", "wanted a table"),
        ("[model]\nx = 1", "wanted a table [model.x]"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(bridge.BadInput) as caught:
        load_project(tmp_path / NAME)
    assert words in str(caught.value)
    with pytest.raises(bridge.BadInput, match="no such file"):
        load_project(tmp_path / "other.toml")


def test_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / NAME).write_text(
        """
        [check]
        fail-on = ["differs"]
        [model.a]
        files = ["../models/x", "../models/x.onnx"]
        inputs = ["in.npz", "more.npz"]
        map = { data = "input" }
        tolerance = { atol = 1e-5, y = { cosine = 1 }, "../models/x.onnx" = { rtol = 1e-2, scaled = true } }
        """
    )
    project = load_project(tmp_path / "ci")
    (entry,) = project.entries
    assert project.fail_on == ("differs",)
    assert entry.path(entry.files[0]) == tmp_path / "models" / "x"
    assert entry.given_inputs() == [tmp_path / "ci" / "in.npz", tmp_path / "ci" / "more.npz"]
    rules = entry.rules.of("../models/x.onnx")
    assert rules.general == Rule(rtol=1e-2, scaled=True)
    assert rules.general.tolerance == (1e-5, 1e-2, True)
    assert rules.outputs == {"y": Rule(cosine=1)}
    assert entry.rules.of("../models/x").general == Rule(atol=1e-5)


def test_other_names_of_inputs(project: Callable[..., Path], made: Path) -> None:
    folder = project(PLAIN.replace("models/net.onnx", "models/renamed.onnx") + 'map = { data = "picture" }')
    with_baseline(folder)
    model = onnx.load(made / "net.onnx")
    model.graph.input[0].name = "picture"
    for node in model.graph.node:
        node.input[:] = ["picture" if n == "data" else n for n in node.input]
    onnx.save(model, folder / "models" / "renamed.onnx")
    result = bridge.check(folder)
    assert result.ok
    assert result.files[1].result is not None
    runs = result.files[1].result.runs
    assert runs[0]["inputs"]["data"]["second"] == "picture"
    assert "data there" in runs[-1]["inputs"]["picture"]["from"]


# -- folders ----------------------------------------------------------------------------------------------------------------


def test_a_folder_without_a_file(made: Path, tmp_path: Path) -> None:
    for name in ("net-symbol.json", "net-0000.params", "net.onnx"):
        shutil.copy(made / name, tmp_path)
    (tmp_path / "deep").mkdir()
    shutil.copy(made / "net.onnx", tmp_path / "deep" / "net.onnx")
    shutil.copy(made / "wrong.onnx", tmp_path / "deep" / "net_int8.onnx")
    shutil.copy(made / "net.onnx", tmp_path / "lonely.onnx")
    result = bridge.check(tmp_path)
    assert {(f.model, f.file, f.status) for f in result.files} == {
        ("net", "net.onnx", "ok"),
        ("deep/net", "deep/net_int8.onnx", "differs"),
    }
    assert result.alone == ("lonely.onnx",)
    told = "no gluonnx.toml here: models were found by their names and compared with each other, and "
    assert result.notes[0] == f"{told}no baseline was used"
    assert next(github.commands(result)) == f"::warning title=gluonnx check::{told}no baseline was used"
    assert told in " ".join(call("check", tmp_path, code=1).split())
    assert "no such file; wanted a gluonnx.toml" in " ".join(call("check", tmp_path / NAME, code=2).split())
    shutil.copy(RECORDED, tmp_path / "net.npz")
    result = bridge.check(tmp_path)
    assert [f.file for f in result.files if f.model == "net"] == ["net-symbol.json", "net.onnx"]
    assert result.remarks == (f"{told}but for net no baseline was used",)


def test_a_folder_with_nothing_to_compare(made: Path, tmp_path: Path) -> None:
    with pytest.raises(bridge.BadInput, match="no models that belong together"):
        bridge.check(tmp_path)
    shutil.copy(made / "net.onnx", tmp_path)
    with pytest.raises(bridge.BadInput, match=r"net\.onnx has nothing to be compared with"):
        bridge.check(tmp_path)


# -- faces ------------------------------------------------------------------------------------------------------------------

ODD = CheckResult(
    (
        FileResult("net", "a.onnx", "ok", largest=1e-7, seconds=0.5),
        FileResult("net", 'b<&">.onnx', "differs", "first: conv\x1b[31m\n100 % of, it", 0.1, None, None, 1.25),
        FileResult("odd|name", "c.onnx", "says-little", "y is one value everywhere"),
        FileResult("odd|name", "d.onnx", "missing", "no such file: d.onnx"),
        FileResult("odd|name", "e.onnx", "failed", "onnxruntime refused ]]> it"),
    ),
    fail_on=("differs", "missing"),
)


def test_junit_is_what_ci_systems_read() -> None:
    """The usual structure: suites with counts that are those of their cases; one failure, error or skipped in a case at most."""
    root = ET.fromstring(junit(ODD))
    assert root.tag == "testsuites"
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    names = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    for suite in root:
        assert suite.tag == "testsuite"
        assert suite.get("name")
        assert float(suite.get("time", "")) >= 0
        counts = dict.fromkeys(totals, 0)
        for case in suite:
            assert case.tag == "testcase"
            assert case.get("classname")
            assert case.get("name")
            assert float(case.get("time", "")) >= 0
            assert len(case) <= 1
            counts["tests"] += 1
            for inner in case:
                counts[names[inner.tag]] += 1
                assert inner.get("message")
        assert counts == {n: int(suite.get(n, "")) for n in counts}
        totals = {n: totals[n] + counts[n] for n in totals}
    assert totals == {n: int(root.get(n, "")) for n in totals} == {"tests": 5, "failures": 2, "errors": 1, "skipped": 1}
    assert root[0][1].get("name") == 'b<&">.onnx'
    assert "\\x1b[31m" in (root[0][1][0].text or "")


def test_annotations_are_escaped() -> None:
    lines = list(github.commands(ODD))
    assert lines[0] == '::error title=net%3A b<&">.onnx FAIL::first: conv\\x1b[31m%0A100 %25 of, it'
    assert lines[1] == "::warning title=odd|name%3A c.onnx says little::y is one value everywhere"
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::error", "::error"]


def test_the_summary_is_a_table() -> None:
    text = github.markdown(ODD)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 7
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert text.startswith("### ❌ gluonnx: 1 of 5 ok")
    assert 'b&lt;&"&gt;.onnx' in text


class Page(HTMLParser):
    """Tags that are open, and links."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.links += [v or "" for k, v in attrs if k in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_everything_at_once(project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages, JUnit XML, annotations and the summary, of a check that fails."""
    folder = project(PLAIN.replace("net.onnx", "wrong.onnx"))
    with_baseline(folder)
    summary = folder / "summary.md"
    summary.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    out = call("check", folder, "--report", folder / "out", "--junit", folder / "out/all.xml", "--github", code=1)
    assert re.search(r"^::error title=lenet%3A models/wrong.onnx FAIL::first: fullyconnected0", out, re.MULTILINE)
    assert summary.read_text().startswith("# before\n### ❌ gluonnx: 1 of 2 ok")
    assert ET.parse(folder / "out/all.xml").getroot().get("failures") == "1"
    page = Page((folder / "out" / "index.html").read_text())
    assert not page.open
    assert len(page.links) == 2
    assert all((folder / "out" / link).is_file() for link in page.links)
    assert "1 of 2 ok" in page.texts
    assert "not equivalent" in (folder / "out" / page.links[1]).read_text()
    assert (folder / "out" / "index.html").stat().st_size < 20_000
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    told = json.loads(call("check", folder, "--json", code=1))
    assert (told["ok"], told["exit"], len(told["files"])) == (False, 1, 2)
    assert told["files"][1]["verification"]["verdict"] == "not equivalent"


def test_bad_options(project: Callable[..., Path]) -> None:
    folder = project(PLAIN)
    assert "wanted a folder for index.html" in call("check", folder, "--report", folder / NAME, code=2).replace(
        "\n", " "
    )
    assert "no folder" in call("check", folder, "--report", folder / "a" / "b", code=2)
    assert "no such folder" in call("check", folder, "--junit", folder / "a" / "b.xml", code=2)
    assert "wanted some of" in call("check", folder, "--fail-on", "all", code=2)
    assert "give one of them" in call("check", folder, "--github", "--json", code=2)


def test_sizes_that_nothing_tells_are_asked_for_in_the_file(project: Callable[..., Path]) -> None:
    """Not by an option, which this command has none of."""
    folder = project('[model.net]\nfiles = ["models/net"]\nbaseline = "net.npz"\n')
    (file,) = bridge.check(folder, update=True).files
    assert (file.status, "--input" in file.detail) == ("bad", False)
    said = re.search(r"gluonnx\.toml, for instance (inputs = .*)", file.detail)
    assert said
    (folder / NAME).write_text(
        (folder / NAME).read_text() + said[1].replace("[1, 3, 224, 224]", "[2, 1, 28, 28]") + "\n"
    )
    assert bridge.check(folder, update=True).ok
