"""Reasons for which a check with a baseline fails, and what is none: a small network with an activation inside and two
outputs, in which faults are planted."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.compare import compare
from bridge.many.checks import _file
from bridge.project.config import ALL_REASONS, NAME, REASONS
from bridge.project.contents import CONTENTS, MOST, changed_interface, changed_operations, contents_of, packed, unpacked
from bridge.project.reasons import Held, reasons_of
from bridge.project.results import with_reasons
from bridge.recorded import load_recording
from bridge.result import VerifyResult

TOML = """
[model.net]
files = ["net", "net.onnx"]
baseline = "net.npz"
inputs = { data = [2, 3, 6, 6] }
"""
runner = CliRunner()


def call(*arguments: object, code: int = 0) -> str:
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def network(bias: float = 0.0) -> tuple[mx.sym.Symbol, dict[str, np.ndarray]]:
    """A sigmoid inside, and a list of classes beside one number. bias: of the last layers; a large negative one leaves nothing of
    either."""
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    x = mx.sym.Activation(x, act_type="sigmoid", name="gate")
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=1e-3, name="norm")
    many = mx.sym.FullyConnected(x, num_hidden=5, name="many")
    one = mx.sym.FullyConnected(x, num_hidden=1, name="one")
    random = np.random.default_rng(0)
    shapes = {"conv_weight": (4, 3, 3, 3), "conv_bias": (4,), "many_weight": (5, 64), "one_weight": (1, 64)}
    params = {n: random.normal(0, 0.2, s).astype(np.float32) for n, s in shapes.items()}
    params |= {"many_bias": np.full(5, bias, np.float32), "one_bias": np.full(1, bias, np.float32)}
    params |= {f"norm_{n}": np.full(4, v, np.float32) for n, v in (("gamma", 1.5), ("beta", 0.1))}
    params |= {"norm_moving_mean": np.full(4, 0.5, np.float32), "norm_moving_var": np.ones(4, np.float32)}
    return mx.sym.Group([mx.sym.relu(many, name="kind"), mx.sym.relu(one, name="age")]), params


def save(folder: Path, symbol: mx.sym.Symbol, params: dict[str, np.ndarray]) -> None:
    (folder / "net-symbol.json").write_text(symbol.tojson())
    of = {n: mx.nd.array(a) for n, a in params.items()}
    named = {f"{'aux' if 'moving' in n else 'arg'}:{n}": a for n, a in of.items()}
    mx.nd.save(str(folder / "net-0000.params"), named)


def convert(folder: Path, **more: object) -> None:
    told = {"inputs": {"data": (2, 3, 6, 6)}, "dynamic": {"data": {0: "n"}}, **more}
    bridge.convert(folder / "net", output=folder / "net.onnx", **told)


def halve(folder: Path) -> None:
    """Convert to float16, as the command does."""
    call(
        "convert", folder / "net", "-o", folder / "net.onnx", "--input", "data:2,3,6,6", "--dynamic", "batch", "--fp16"
    )


def made_in(folder: Path, bias: float) -> Path:
    folder.mkdir()
    save(folder, *network(bias))
    convert(folder)
    (folder / NAME).write_text(TOML)
    bridge.check(folder, update=True)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with a network and its baseline: one whose outputs say something, and one of which both are 0 everywhere."""
    folder = tmp_path_factory.mktemp("made")
    return {"telling": made_in(folder / "telling", 0.5), "mute": made_in(folder / "mute", -1e3)}


@pytest.fixture
def project(made: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    def copied(kind: str = "telling") -> Path:
        shutil.copytree(made[kind], tmp_path / kind)
        return tmp_path / kind

    return copied


def change_onnx(folder: Path, change: Callable[[onnx.ModelProto], object]) -> None:
    model = onnx.load(folder / "net.onnx")
    change(model)
    onnx.save(model, folder / "net.onnx")


def change_symbol(folder: Path, change: Callable[[dict], object]) -> None:
    told = json.loads((folder / "net-symbol.json").read_text())
    change(told)
    (folder / "net-symbol.json").write_text(json.dumps(told, indent=5))


def change_weight(folder: Path, name: str, factor: float) -> None:
    symbol, params = network(-1e3 if folder.name == "mute" else 0.5)
    save(folder, symbol, {**params, name: params[name] * np.float32(factor)})


def tanh(model: onnx.ModelProto) -> None:
    next(n for n in model.graph.node if n.op_type == "Sigmoid").op_type = "Tanh"


def rename(model: onnx.ModelProto, old: str, new: str) -> None:
    for node in model.graph.node:
        node.input[:] = [new if n == old else n for n in node.input]
        node.output[:] = [new if n == old else n for n in node.output]
    for output in model.graph.output:
        output.name = new if output.name == old else output.name


def statuses(folder: Path) -> list[str]:
    return [f.status for f in bridge.check(folder).files]


def test_what_is_well_is_ok(project: Callable[[str], Path]) -> None:
    result = bridge.check(project("telling"))
    assert [(f.status, f.beside) for f in result.files] == [("ok", ()), ("ok", ())]


def test_a_file_that_is_listed_no_more(project: Callable[[str], Path]) -> None:
    """One that the baseline was written with: before, one fewer was one fewer to fail."""
    folder = project("telling")
    fewer = TOML.replace('"net", "net.onnx"', '"net"')
    (folder / NAME).write_text(fewer)
    result = bridge.check(folder)
    assert [(f.file, f.status) for f in result.files] == [("net", "ok"), ("net.onnx", "missing")]
    assert "net.npz was written with it, and it is none of the files of this model any more" in result.files[1].detail
    assert result.exit_status == 2
    call("check", folder, "--fail-on", "differs")
    assert "net.onnx: none of the files any more" in call("check", folder, "--update")
    assert statuses(folder) == ["ok"]


def test_a_file_that_is_listed_otherwise_is_not_missing(project: Callable[[str], Path]) -> None:
    """From another folder, with its suffix, or by another model with the same baseline."""
    folder = project("telling")
    inside = TOML.replace('"net', f'"{folder.name}/net').replace('/net"', '/net-symbol.json"')
    (folder.parent / NAME).write_text(inside)
    assert statuses(folder.parent) == ["ok", "ok"]
    both = TOML.replace('"net", "net.onnx"', '"net"') + TOML.replace("model.net", "model.other").replace('"net", ', "")
    (folder / NAME).write_text(both)
    assert statuses(folder) == ["ok", "ok"]


# -- says little ------------------------------------------------------------------------------------------------------------


def test_outputs_that_say_little_beside_a_baseline(project: Callable[[str], Path]) -> None:
    """By default, of the file that was recorded too."""
    folder = project("mute")
    result = bridge.check(folder)
    assert [f.status for f in result.files] == ["says-little", "says-little"]
    assert result.exit_status == 4
    for file in result.files:
        assert file.detail == "kind_output is one value everywhere; age_output is one value everywhere"
    told = json.loads(runner.invoke(app, ["check", str(folder), "--json"]).stdout)
    assert list(told["files"][1]["reasons"]) == ["says-little"]
    (folder / NAME).write_text(TOML + "tolerance = { atol = 1e-5 }")
    assert statuses(folder) == ["says-little", "says-little"], "a tolerance tells constant outputs apart no better"


def test_one_output_that_says_little_is_noted(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    symbol, params = network(0.5)
    save(folder, symbol, {**params, "one_bias": np.full(1, -1e3, np.float32)})
    convert(folder)
    for file in bridge.check(folder, update=True).files:
        assert file.status == "ok"
        assert file.notes == ("output age_output is one value everywhere: agreement there says little",)


# -- between the files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["telling", "mute"])
def test_an_activation_inside_is_seen_beside_a_baseline(project: Callable[[str], Path], kind: str) -> None:
    folder = project(kind)
    change_onnx(folder, tanh)
    result = bridge.check(folder)
    assert [f.status for f in result.files] == ["ok" if kind == "telling" else "says-little", "differs"]
    assert result.exit_status == 1
    detail = result.files[1].detail
    assert detail.startswith("first: gate (Activation), Sigmoid became Tanh (from net to net.onnx)"), detail
    assert detail.endswith("; it is net.onnx that changed since the baseline, and not net"), detail
    assert result.files[1].changed == ("the file changed since the baseline: net.onnx (gate: Sigmoid became Tanh)",)
    before = (folder / "net.npz").read_bytes()
    text = call("check", folder, "--update", code=1)
    assert "net.npz not written, the old one stays: net.onnx differs from net" in text
    assert "unchanged" not in text
    assert (folder / "net.npz").read_bytes() == before


def test_weights_of_the_first_file_where_outputs_say_little(project: Callable[[str], Path]) -> None:
    folder = project("mute")
    change_weight(folder, "conv_weight", 1.01)
    first, second = bridge.check(folder).files
    assert (first.status, second.status) == ("says-little", "differs")
    assert "ratio 0.990099 (from net to net.onnx)" in second.detail, second.detail
    assert second.detail.endswith("; it is net that changed since the baseline, and not net.onnx"), second.detail
    assert first.changed == ("weights changed since the baseline: net-0000.params (conv_weight)",)


def test_a_first_file_that_is_wrong_by_itself_is_the_one_that_fails(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    change_weight(folder, "conv_weight", 1.01)
    first, second = bridge.check(folder).files
    assert (first.status, second.status) == ("differs", "ok")
    assert "ratio 1.01 (from net.onnx to net)" in first.detail, first.detail


def test_a_step_that_only_one_file_has_is_a_difference(project: Callable[[str], Path]) -> None:
    """Inputs that were recorded go into every file as they are, though this one says that it subtracts a mean."""
    folder = project("mute")
    told = ("--input", "data:2,3,6,6", "--dynamic", "batch", "--mean", 1)
    call("convert", folder / "net", "-o", folder / "net.onnx", *told)
    file = bridge.check(folder).files[1]
    assert file.status == "differs"
    assert "is added; it reads data (from net to net.onnx)" in file.detail, file.detail


def test_pytest_fails_for_what_the_command_fails_for(project: Callable[[str], Path], tmp_path: Path) -> None:
    from bridge.pytest_plugin import Gluonnx

    class Config:
        rootpath = tmp_path

    class Item:
        path, config, nodeid = tmp_path / "test_x.py", Config, "test_x"

    folder = project("telling")
    asserted = Gluonnx(Item).assert_equivalent
    files = (folder / "net", folder / "net.onnx")
    assert asserted(*files, baseline=folder / "net.npz").equivalent
    convert(folder, opset=17)
    with pytest.warns(UserWarning, match=r"opset of ai\.onnx 13 -> 17"):
        asserted(*files, baseline=folder / "net.npz")
    with pytest.raises(AssertionError, match=r"opset of ai\.onnx 13 -> 17"):
        asserted(*files, baseline=folder / "net.npz", fail_on=[*REASONS, "changed"])
    with pytest.raises(bridge.BadInput, match="fail-on: got 'change', wanted some of differs"):
        asserted(*files, baseline=folder / "net.npz", fail_on="change")
    convert(folder)
    change_onnx(folder, lambda m: rename(m, "age_output", "years"))
    with pytest.warns(UserWarning) as told:
        asserted(*files, baseline=folder / "net.npz", fail_on="differs")
    assert "output age_output is called years, since the baseline" in [str(w.message) for w in told]
    with pytest.raises(AssertionError, match="output age_output is called years, since the baseline"):
        asserted(*files, baseline=folder / "net.npz")
    halve(folder)
    with pytest.raises(AssertionError, match=r"^DRIFT: (?s:.*)\nDRIFT: weights are float16, and were float32"):
        asserted(*files, baseline=folder / "net.npz", little=True)
    mute = project("mute")
    files = (mute / "net", mute / "net.onnx")
    with pytest.raises(AssertionError, match="SAYS LITTLE"):
        asserted(*files, baseline=mute / "net.npz")
    assert asserted(*files, baseline=mute / "net.npz", little=True).verdict == "says little"
    change_onnx(mute, tanh)
    with pytest.raises(AssertionError, match="Sigmoid became Tanh"):
        asserted(*files, baseline=mute / "net.npz", little=True)


# -- inputs and outputs -----------------------------------------------------------------------------------------------------


def test_names_of_outputs_are_those_of_the_baseline(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    change_onnx(folder, lambda m: rename(m, "age_output", "years"))
    result = bridge.check(folder)
    assert [f.status for f in result.files] == ["ok", "interface"]
    assert result.files[1].detail == "output age_output is called years, since the baseline"
    assert result.exit_status == 1
    assert any("compared by their place: age_output with years" in w for w in result.files[1].notes)
    assert re.search(r"net.onnx INTERFACE \S+ output age_output is called years", call("check", folder, code=1))
    told = bridge.check(folder, fail_on=("differs",))
    assert told.ok
    assert "output age_output is called years, since the baseline" in told.files[1].beside


def age_renamed(told: dict) -> None:
    next(n for n in told["nodes"] if n["name"] == "age")["name"] = "years"


def test_names_of_outputs_of_a_symbol(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    change_symbol(folder, age_renamed)
    first, _ = bridge.check(folder).files
    assert (first.status, first.detail) == ("interface", "output age_output is called years_output, since the baseline")
    old = load_recording(folder / "net.npz")
    facts = {k: v for k, v in old.facts.items() if k not in (CONTENTS, "held", "measured")}
    bridge.Recording(old.runs, facts).save(folder / "net.npz")
    first, _ = bridge.check(folder).files
    assert first.status == "interface", "an old baseline has the names of outputs all the same"


def test_the_order_of_outputs_is_that_of_the_baseline(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    change_symbol(folder, lambda told: told["heads"].reverse())
    first, _ = bridge.check(folder).files
    assert first.status == "interface"
    assert first.detail.startswith(
        "the outputs are in another order: age_output, kind_output, not kind_output, age_output"
    )


def test_an_old_baseline_without_contents_is_read(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    old = load_recording(folder / "net.npz")
    bridge.Recording(old.runs, {k: v for k, v in old.facts.items() if k != CONTENTS}).save(folder / "net.npz")
    assert [(f.status, f.beside) for f in bridge.check(folder).files] == [("ok", ()), ("ok", ())]
    change_onnx(folder, lambda m: setattr(m, "doc_string", "hi"))
    assert bridge.check(folder).files[1].changed == ("the file changed since the baseline: net.onnx",)


def test_a_batch_that_is_fixed_now_is_named(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    bridge.convert(folder / "net", output=folder / "net.onnx", inputs={"data": (1, 3, 6, 6)})
    file = bridge.check(folder).files[1]
    assert file.status == "bad"
    assert file.detail.startswith("input data: shape (?,3,6,6) -> (1,3,6,6), since the baseline; "), file.detail
    assert file.detail.endswith("input data: got shape (2, 3, 6, 6), net.onnx wants (1, 3, 6, 6)"), file.detail


def test_words_for_inputs_and_outputs() -> None:
    def told(*tensors: list) -> dict:
        return {"interface": {"inputs": [["x", "float32", ["?", 3]]], "outputs": list(tensors)}}

    a, b = ["a", "float32", ["?", 2]], ["b", "float32", None]
    assert changed_interface(told(a, b), told(a, b)) == []
    assert changed_interface(told(a, b), told(b, a)) == ["the outputs are in another order: b, a, not a, b"]
    assert changed_interface(told(a, b), told(a)) == ["output b is gone"]
    assert changed_interface(told(a), told(a, b)) == ["output b is new"]
    half = ["a", "float16", [1, 2]]
    assert changed_interface(told(a), told(half)) == ["output a: float32 -> float16, shape (?,2) -> (1,2)"]
    assert changed_interface({}, told(a)) == []


# -- what changed -----------------------------------------------------------------------------------------------------------


def reordered(model: onnx.ModelProto) -> None:
    """The two last branches in each other's place."""
    names = [n.name for n in model.graph.node]
    nodes = list(model.graph.node)
    at, last = names.index("many"), len(nodes)
    heads = nodes[at:last]
    one = [n for n in heads if "one" in n.name or "age" in n.name]
    del model.graph.node[:]
    model.graph.node.extend([*nodes[:at], *one, *(n for n in heads if n not in one)])


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: change_symbol(folder, lambda told: None),
        lambda folder: change_onnx(folder, lambda m: setattr(m, "doc_string", "hi")),
        lambda folder: change_onnx(folder, lambda m: setattr(m.graph.node[0], "doc_string", "hi")),
        lambda folder: change_onnx(folder, reordered),
        lambda folder: change_onnx(folder, lambda m: rename(m, "conv_output", "other")),
        lambda folder: change_weight(folder, "conv_weight", 1.0),
        lambda folder: convert(folder),
    ],
    ids=["indent", "doc_string", "doc_string of a node", "order", "names inside", "saved again", "converted again"],
)
def test_what_is_written_otherwise_is_not_changed(
    project: Callable[[str], Path], change: Callable[[Path], None]
) -> None:
    folder = project("telling")
    change(folder)
    result = bridge.check(folder, fail_on=ALL_REASONS)
    assert [(f.status, f.changed) for f in result.files] == [("ok", ()), ("ok", ())]


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        (lambda f: convert(f, opset=17), 1, "net.onnx (opset of ai.onnx 13 -> 17"),
        (
            lambda f: change_symbol(
                f, lambda told: next(n for n in told["nodes"] if n["name"] == "norm")["attrs"].update(eps="0.01")
            ),
            0,
            "net-symbol.json (norm (BatchNorm): eps 0.001 -> 0.01)",
        ),
        (lambda f: change_onnx(f, tanh), 1, "net.onnx (gate: Sigmoid became Tanh)"),
        (
            lambda f: change_weight(f, "many_bias", 1.01),
            0,
            "weights changed since the baseline: net-0000.params (many_bias)",
        ),
        (lambda f: halve(f), 1, "float32 -> float16"),
    ],
    ids=["opset", "attribute", "operator", "weight", "dtype"],
)
def test_what_changed_is_named(
    project: Callable[[str], Path], change: Callable[[Path], None], place: int, words: str
) -> None:
    folder = project("telling")
    change(folder)
    (said,) = bridge.check(folder).files[place].changed
    assert words in said


def test_update_says_what_it_changed(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    before = (folder / "net.npz").read_bytes()
    assert "net.npz unchanged" in call("check", folder, "--update")
    assert (folder / "net.npz").read_bytes() == before
    change_onnx(folder, lambda m: rename(m, "age_output", "years"))
    text = call("check", folder, "--update")
    assert "net.npz written: its numbers are unchanged, what it notes of the files is not" in text
    assert "net.onnx: the file net.onnx (output age_output is called years)" in text
    assert (folder / "net.npz").read_bytes() != before
    assert statuses(folder) == ["ok", "ok"]


def test_contents_that_are_too_large_keep_inputs_and_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    symbol, params = network()
    contents = contents_of(bridge.open_model(symbol, params), {})
    assert [t[0] for t in contents["interface"]["outputs"]] == ["kind_output", "age_output"]
    assert unpacked(packed(contents)) == json.loads(json.dumps(contents))
    assert len(packed(contents)) < MOST
    monkeypatch.setattr("bridge.project.contents.MOST", 10)
    kept = unpacked(packed(contents))
    assert list(kept) == ["interface"]
    assert changed_operations(kept, contents) == []
    monkeypatch.setattr("bridge.project.contents.MOST_UNPACKED", 1000)
    assert unpacked(packed({"interface": "x" * 2000})) == {}  # which claims more than it may
    assert unpacked("no such thing") == unpacked(None) == unpacked(packed(contents)[:20]) == {}


# -- drift ------------------------------------------------------------------------------------------------------------------


def test_half_precision_in_the_place_of_single_fails(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    halve(folder)
    result = bridge.check(folder)
    assert [f.status for f in result.files] == ["ok", "drift"]
    assert result.exit_status == 1
    assert "weights are float16, and were float32 when the baseline was written" in result.files[1].detail
    assert result.files[1].change.endswith("times that of the baseline")
    assert "DRIFT" in call("check", folder, code=1)
    call("check", folder, "--fail-on", "differs,says-little")
    old = load_recording(folder / "net.npz")
    bridge.Recording(old.runs, {k: v for k, v in old.facts.items() if k != CONTENTS}).save(folder / "net.npz")
    (words,) = bridge.check(folder).files[1].reasons["drift"]
    assert "of scale off, and" in words, "by its numbers alone, beside a baseline that knows nothing else"
    call("check", folder, "--update")
    assert statuses(folder) == ["ok", "ok"]


@pytest.mark.parametrize(
    ("off", "before", "settled", "drifts"),
    [
        (2e-4, 1e-6, "", True),
        (2e-4, 0.0, "", True),
        (5e-5, 0.0, "", False),
        (2e-4, 1e-5, "", False),
        (2e-4, 1e-7, "float64", False),
    ],
)
def test_how_far_a_file_may_drift(off: float, before: float, settled: str, drifts: bool) -> None:
    """A hundred times; what float64 takes for rounding is none, as another machine rounds otherwise."""
    want = np.array([1, 0.5], np.float32)
    difference = replace(compare("y", np.array(want * (1 + off), np.float32), want).accept(settled), settled_by=settled)
    kept = bridge.record(mx.sym.relu(mx.sym.var("x"), name="y"), {"x": want}, params={})
    kept = bridge.Recording(kept.runs, {**kept.facts, "measured": {"y": before}})
    model = bridge.open_model(mx.sym.relu(mx.sym.var("x"), name="y"), {})
    result = VerifyResult("a", "b", "equivalent", (), (difference,))
    assert ("drift" in reasons_of(result, Held(model, "y", kept), "").found) == drifts


# -- inputs -----------------------------------------------------------------------------------------------------------------


def test_inputs_that_the_network_does_not_take(project: Callable[[str], Path]) -> None:
    """Are no reason to write the baseline anew."""
    folder = project("telling")
    (folder / NAME).write_text(TOML.replace("[2, 3, 6, 6]", "[2, 4, 6, 6]"))
    for file in bridge.check(folder).files:
        assert file.status == "bad"
        assert "net does not take the inputs that gluonnx.toml has" in file.detail
        assert "conv" in file.detail
        assert "--update" not in file.detail
    (folder / NAME).write_text(TOML.replace("[2, 3, 6, 6]", "[3, 3, 6, 6]"))
    assert "correct gluonnx.toml, or run gluonnx check --update" in bridge.check(folder).files[0].detail


def test_a_baseline_of_what_is_inside_is_held_to_no_output(project: Callable[[str], Path]) -> None:
    """Not to the one that stands at its place: it is refused, or compared where it is made."""
    folder = project("telling")
    (folder / NAME).unlink()
    bridge.record(folder / "net", {"data": (2, 3, 6, 6)}, folder / "net.npz", outputs=["many_output", "one_output"])
    for file in bridge.check(folder).files:
        assert file.status in ("ok", "bad")
        if file.status == "bad":
            assert "no output many_output, one_output in net" in file.detail
            assert 'outputs = ["many_output"' in file.detail
        else:
            assert file.result is not None
            assert {"many_output", "one_output"} <= {d.name.partition(" ")[0] for d in file.result.differences}
    (folder / NAME).write_text(TOML + 'outputs = ["many_output", "one_output"]')
    assert statuses(folder) == ["ok", "ok"]


def test_what_differs_behind_the_outputs_that_are_compared(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    x = mx.sym.softmax(network(0.5)[0][0], axis=1, name="top")
    save(folder, x, network(0.5)[1])
    convert(folder)
    (folder / NAME).write_text(TOML + 'outputs = ["kind_output"]')
    assert bridge.check(folder, update=True).ok
    save(folder, mx.sym.softmax(network(0.5)[0][0], axis=0, name="top"), network(0.5)[1])
    result = bridge.check(folder)
    assert result.files[1].status == "unreached", result.files
    assert "(from net to net.onnx) at top (Softmax): axis 0 -> " in result.files[1].detail


# -- across processes -------------------------------------------------------------------------------------------------------


def test_reasons_come_back_from_another_process(project: Callable[[str], Path]) -> None:
    folder = project("telling")
    change_onnx(folder, lambda m: rename(m, "age_output", "years"))
    file = bridge.check(folder, fail_on=("differs",)).files[1]
    assert file.status == "ok"
    read = _file(json.loads(json.dumps(file.as_dict())))
    assert read.reasons == file.reasons
    (again,) = with_reasons([read], REASONS)
    assert again.status == "interface"
