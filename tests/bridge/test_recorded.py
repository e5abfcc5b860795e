"""Recorded truth: what MXNet gave is right, and a misreading that both our sides share shows beside it."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.domains import numbers_taken
from bridge.engines import Arrays, EngineError, NativeEngine
from bridge.inputs import load_feeds
from bridge.recorded import RecordedRun, Recording, is_recording, load_recording, script_for_mxnet
from hybrid.core.op import Domain
from hybrid.ir.infer import infer
from tests.house.docs import ROOT
from tests.models.networks import FOLDER

RECORDED = ROOT / "fixtures" / "recorded"
SCRIPT = ROOT / "bridge" / "scripts" / "record_with_mxnet.py"
LENET = FOLDER / "lenet"
runner = CliRunner()


def call(*arguments: object, code: int = 0) -> str:
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def net(tmp_path: Path) -> Path:
    shutil.copytree(LENET, tmp_path / "net")
    return tmp_path / "net" / "model"


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """lenet as ONNX, of any batch, held against MXNet's numbers before it appeared."""
    target = tmp_path_factory.mktemp("onnx") / "lenet.onnx"
    result = bridge.convert(
        LENET / "model", expected=RECORDED / "lenet.npz", output=target, dynamic={"data": {0: "batch"}}
    )
    assert result.verification is not None
    names = [d.name for d in result.verification.differences]
    assert names == ["softmax_output", *(f"softmax_output ({side} model, recorded)" for side in ("first", "second"))]
    return target


def misread(net: Path, operator: str, **attributes: str) -> None:
    """Change attributes of the first node of an operator, as a reading that takes them for something else would."""
    path = Path(f"{net}-symbol.json")
    symbol = json.loads(path.read_text(encoding="utf-8"))
    next(n for n in symbol["nodes"] if n["op"] == operator)["attrs"].update(attributes)
    path.write_text(json.dumps(symbol), encoding="utf-8")


# -- what MXNet recorded ----------------------------------------------------------------------------------------------------


def test_a_recording_says_who_when_and_of_what() -> None:
    recording = load_recording(RECORDED / "lenet.npz")
    assert recording.by == "MXNet 1.9.1"
    assert recording.by_mxnet
    assert recording.facts["script"] == SCRIPT.name
    assert recording.facts["date"].startswith("2026-")
    assert set(recording.facts["files"]) == {"model-symbol.json", "model-0000.params"}
    assert [r.inputs["data"].shape for r in recording.runs] == [(3, 1, 28, 28), (1, 1, 28, 28)]


@pytest.mark.parametrize("name", ["lenet", "lenet-all", "lstm_states"])
def test_our_engine_gives_what_mxnet_recorded(name: str) -> None:
    """A Module's checkpoint, all of its tensors, and a Gluon export."""
    result = bridge.verify(FOLDER / name.removesuffix("-all") / "model", expected=RECORDED / f"{name}.npz")
    assert result.verdict == "equivalent"
    assert result.a == f"{name}.npz (MXNet 1.9.1)"
    assert not result.warnings
    assert max(d.max_rel for d in result.differences) < 1e-6
    told = "10 of 10 tensors inside that were recorded are in the model too: 10 agree"
    assert result.recorded == ((told,) if name == "lenet-all" else ())


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_network_of_another_precision_is_recorded_by_sizes_alone(dtype: str, tmp_path: Path) -> None:
    """Nobody says what dtype its input has but its parameters."""
    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize()
    net.cast(dtype)
    net.hybridize()
    net(mx.nd.ones((2, 4), dtype=dtype))
    net.export(str(tmp_path / "net"))
    found = bridge.record(tmp_path / "net", inputs={"data": (2, 4)})
    assert {a.dtype for run in found.runs for a in (*run.inputs.values(), *run.outputs.values())} == {np.dtype(dtype)}


def test_what_only_training_reads_is_not_asked_for(tmp_path: Path) -> None:
    """As a detector's labels; where they are given, what is made of them is recorded too."""
    x, label = mx.sym.var("x"), mx.sym.var("label")
    loss = mx.sym.MakeLoss(mx.sym.softmax_cross_entropy(x, label), name="loss")
    net = mx.sym.Group([mx.sym.softmax(x, name="softmax"), loss])
    found = bridge.record(net, inputs={"x": (2, 3)})
    assert [[*run.inputs] for run in found.runs[:1]] == [["x"]] and [*found.runs[0].outputs] == ["softmax_output"]
    given = {"x": np.ones((2, 3), "f"), "label": np.zeros(2, "f")}
    assert [*bridge.record(net, inputs=given).runs[0].outputs] == ["softmax_output", "loss_output"]


def test_a_recording_is_not_made_smaller(net: Path, tmp_path: Path) -> None:
    """There is no pair of models for gluonnx reduce then."""
    kept = bridge.record(net, output=tmp_path / "kept.npz", inputs={"data": (2, 1, 28, 28)})
    off = {n: a + 1 for n, a in kept.runs[0].outputs.items()}
    wrong = Recording((RecordedRun(kept.runs[0].inputs, off),), kept.facts)
    wrong.save(tmp_path / "wrong.npz")
    result = bridge.verify(net, expected=tmp_path / "wrong.npz")
    assert result.verdict == "not equivalent" and "gluonnx reduce" not in str(result)


def test_the_converted_file_gives_it_too(converted: Path) -> None:
    assert bridge.verify(converted, expected=str(RECORDED / "lenet.npz")).equivalent
    both = bridge.verify(LENET / "model", converted, expected=RECORDED / "lenet.npz")
    assert both.equivalent
    assert len(both.differences) == 3
    assert len(both.runs) == 6


def test_a_cut_model_is_held_to_what_was_recorded_of_it(converted: Path) -> None:
    result = bridge.verify(converted, expected=RECORDED / "lenet-all.npz", outputs=["fullyconnected0_output"])
    assert [d.name for d in result.differences] == ["fullyconnected0_output"]
    assert result.equivalent
    with pytest.raises(bridge.BadInput, match=r"has 1 output\(s\) \(softmax_output\).* cut it at the ones"):
        bridge.verify(converted, expected=RECORDED / "lenet.npz", outputs=["fullyconnected0_output"])


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("Activation", {"act_type": "softsign"}),
        ("Convolution", {"no_bias": "1"}),
    ],
)
def test_a_misreading_that_both_sides_share_is_caught(
    net: Path, tmp_path: Path, operator: str, attributes: dict[str, str]
) -> None:
    if operator == "Convolution":  # without its bias as an input
        path = Path(f"{net}-symbol.json")
        symbol = json.loads(path.read_text(encoding="utf-8"))
        next(n for n in symbol["nodes"] if n["op"] == operator)["inputs"].pop()
        path.write_text(json.dumps(symbol), encoding="utf-8")
    misread(net, operator, **attributes)
    target = tmp_path / "wrong.onnx"
    shape = {"data": (3, 1, 28, 28)}
    bridge.convert(net, inputs=shape, output=target, dynamic={"data": {0: "batch"}}, verify=False)
    assert bridge.verify(net, target, inputs={"data": (2, 1, 28, 28)}).equivalent, "nothing but a recording tells"
    result = bridge.verify(net, target, expected=RECORDED / "lenet.npz")
    assert result.verdict == "not equivalent"
    assert any("agree with each other and not with lenet.npz" in w for w in result.warnings)
    assert any("another content than when" in w for w in result.warnings)
    target.unlink()
    with pytest.raises(bridge.NotEquivalent):
        bridge.convert(net, expected=RECORDED / "lenet.npz", output=target, dynamic={"data": {0: "batch"}})
    assert not target.exists()


def test_a_recording_of_all_tensors_names_the_node(net: Path) -> None:
    misread(net, "Pooling", pool_type="avg")
    result = bridge.verify(net, expected=RECORDED / "lenet-all.npz")
    assert result.verdict == "not equivalent"
    assert result.divergence is not None
    assert (result.divergence.node, result.divergence.kind) == ("pooling0", "local")
    assert result.faults == ("pooling0",)
    before = [x.tensor for x in result.layers if x.accumulated is not None and x.accumulated.equal]
    assert before == ["convolution0_output", "activation0_output"]


def test_who_is_right_is_said(net: Path, converted: Path) -> None:
    misread(net, "Activation", act_type="softsign")
    result = bridge.verify(net, converted, expected=RECORDED / "lenet.npz")
    assert result.verdict == "not equivalent"
    assert any(w.startswith("the second model gives what was recorded") for w in result.warnings)
    assert result.divergence is not None
    assert result.divergence.node == "activation0"


def test_runs_of_a_recording_are_told_beside_those_of_two_models(net: Path, converted: Path) -> None:
    """Also where several runs give the very same numbers: the run is kept, and not found again by them."""
    known = load_recording(RECORDED / "lenet.npz").runs[0]
    wrong = known.outputs["softmax_output"] + np.float32(0.25)
    expected = Recording((known, RecordedRun(known.inputs, {"softmax_output": wrong}), known))
    result = bridge.verify(net, converted, expected=expected)
    assert len(result.runs) == 9 and len(result.differences) == 3
    assert [result.run_of[d.name] for d in result.differences] == [0, 4, 7]
    assert [d["run"] for d in result.as_dict()["differences"]] == [0, 4, 7]
    assert all(result.runs[i]["differences"][0]["max_abs"] == pytest.approx(0.25) for i in (4, 7))
    shown = " ".join(str(result).split())
    assert "an output is worst, one of 9: " in shown and "runs 1, 5, 8 (given" in shown
    assert re.findall(r" (\d) differs", shown) == ["5", "8"]


# -- recordings of our own --------------------------------------------------------------------------------------------------


def test_what_is_recorded_is_read_again(net: Path, tmp_path: Path) -> None:
    kept = bridge.record(
        net, inputs=[LENET / "inputs.npz", {"data": (2, 1, 28, 28)}], output=tmp_path / "kept.npz", seed=4
    )
    again = load_recording(tmp_path / "kept.npz")
    assert again.facts == json.loads(json.dumps(kept.facts))
    assert [r.inputs["data"].shape for r in again.asked] == [(3, 1, 28, 28), (2, 1, 28, 28)]
    assert again.kinds == ("given", "expected", "wide", "edges")
    assert not again.drawn, "not all of it"
    for mine, theirs in zip(kept.runs, again.runs):
        np.testing.assert_array_equal(mine.outputs["softmax_output"], theirs.outputs["softmax_output"])
    assert not again.by_mxnet
    assert bridge.verify(net, expected=tmp_path / "kept.npz").differences[0].max_abs == 0
    np.testing.assert_array_equal(np.load(tmp_path / "kept.npz")["1/inputs/data"], again.runs[1].inputs["data"])
    over = bridge.record(net, inputs=RECORDED / "lenet.npz", engine="onnxruntime", outputs=["fullyconnected0"])
    assert len(over.runs) == 2
    assert list(over.runs[0].outputs) == ["fullyconnected0_output"]


def test_the_commands(net: Path, converted: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.npz"
    told = json.loads(call("record", net, "--inputs", LENET / "inputs.npz", "-o", kept, "--json"))
    assert told["runs"][0]["outputs"]["softmax_output"]["shape"] == [3, 10]
    assert "EQUIVALENT" in call("verify", converted, "--expected", kept)
    assert "EQUIVALENT" in call("verify", net, converted, "--expected", kept)
    drawn = call("record", net, "--input", "data:2,1,28,28", "--range", "data:0,255", "--runs", 2, "-o", kept)
    assert "of run 1" in drawn
    assert load_recording(kept).runs[1].inputs["data"].max() > 200
    misread(net, "Activation", act_type="softsign")
    assert "NOT EQUIVALENT" in call("verify", net, "--expected", kept, code=1)
    assert "one model; give another" in call("verify", net, code=2)


def test_the_script_is_printed_and_is_for_old_pythons() -> None:
    text = call("record", "--script")
    assert SCRIPT.read_text().splitlines()[-1] == text.splitlines()[-1]
    assert "def first_that_runs(" in text, "the draws are in it"
    tree = ast.parse(text, feature_version=(3, 6))
    needs = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    needs |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert needs - set(sys.stdlib_module_names) == {"mxnet", "numpy"}


def record_with_the_script(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Recording:
    """The recording that the script for MXNet makes, with MXNet's interface of this package in MXNet's place."""
    monkeypatch.setitem(sys.modules, "mxnet", mx)
    monkeypatch.setattr(sys, "argv", ["record_with_mxnet.py", *map(str, arguments), "-o", "script.npz"])
    exec(script_for_mxnet(), {"__name__": "__main__"})
    return load_recording("script.npz")


def test_the_script_names_what_ran_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under gluonnx's mxnet a recording is gluonnx's, in the file and wherever it is named."""
    monkeypatch.chdir(tmp_path)
    mx.sym.relu(mx.sym.var("data"), name="first").save("net-symbol.json")
    Path("script.py").write_text(script_for_mxnet(), encoding="utf-8")
    command = [sys.executable, "-m", "hybrid", "script.py", "net", "--input", "data:1,4", "-o", "t.npz"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "recorded by gluonnx in the place of MXNet in t.npz" in done.stdout
    assert "gluonnx ran here and not MXNet" in done.stderr
    recording = load_recording("t.npz")
    assert recording.by.startswith("gluonnx") and not recording.by_mxnet
    told = call("verify", "net", "--expected", "t.npz")
    assert "gluonnx in the place of MXNet" in told and "MXNet 1" not in told


@pytest.fixture
def relu6(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network of a bound that usual numbers do not come to, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    mx.sym.clip(mx.sym.var("data"), a_min=0, a_max=6, name="bound").save("bound-symbol.json")
    return tmp_path / "bound"


def test_the_script_draws_what_record_draws(
    relu6: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for shape, range_, runs in (("2,9", None, 1), ("2,9", "-1,2", 2)):
        asked = ["--input", f"data:{shape}", "--runs", runs, *(["--range", f"data:{range_}"] if range_ else [])]
        theirs = record_with_the_script(monkeypatch, relu6, *asked)
        call("record", relu6, *asked, "-o", "own.npz")
        ours = load_recording("own.npz")
        assert theirs.kinds == ours.kinds == ("expected",) * runs + ("wide", "edges")
        for one, other in zip(theirs.runs, ours.runs, strict=True):
            np.testing.assert_array_equal(one.inputs["data"], other.inputs["data"])
            np.testing.assert_array_equal(one.outputs["bound_output"], other.outputs["bound_output"])
        assert theirs.drawn and not theirs.by_mxnet
    assert bridge.verify(relu6, expected="script.npz").equivalent
    assert "left out" not in capsys.readouterr().out


def test_a_bound_that_usual_draws_do_not_reach_is_recorded_by_the_script(
    relu6: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """relu6 that is read as relu60."""
    record_with_the_script(monkeypatch, relu6, "--input", "data:1,16")
    wrong = mx.sym.clip(mx.sym.var("data"), a_min=0, a_max=60, name="bound")
    assert bridge.verify(wrong, expected="script.npz").verdict == "not equivalent"
    record_with_the_script(monkeypatch, relu6, "--input", "data:1,16", "--draws", "expected")
    assert bridge.verify(wrong, expected="script.npz").equivalent
    with pytest.raises(SystemExit, match="got wider, wanted some of expected,wide,edges"):
        record_with_the_script(monkeypatch, relu6, "--input", "data:1,16", "--draws", "wide,wider")


def test_the_script_records_a_recording_again(
    relu6: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what gluonnx knows of inputs, and which draws nobody asked for; one of those may be refused."""
    bridge.record(relu6, {"data": (1, 16)}, "own.npz", seed=3)
    again = record_with_the_script(monkeypatch, relu6, "--inputs", "own.npz")
    own = load_recording("own.npz")
    assert again.kinds == own.kinds == ("expected", "wide", "edges")
    assert all(np.array_equal(a.inputs["data"], b.inputs["data"]) for a, b in zip(again.runs, own.runs, strict=True))
    bind = mx.sym.Symbol.bind

    def refuse(self: mx.sym.Symbol, ctx: object, args: dict[str, mx.nd.NDArray], **more: object) -> object:
        if np.abs(args["data"].asnumpy()).max() > 50:
            raise mx.base.MXNetError("too large\nfor this")
        return bind(self, ctx, args, **more)

    monkeypatch.setattr(mx.sym.Symbol, "bind", refuse)
    assert record_with_the_script(monkeypatch, relu6, "--inputs", "own.npz").kinds == ("expected", "wide")
    assert "the draw of edges was left out: MXNet does not take it (too large)" in capsys.readouterr().out
    milder = record_with_the_script(monkeypatch, relu6, "--input", "data:1,16")
    assert milder.kinds == ("expected", "wide", "edges")
    assert 1 < max(np.abs(r.inputs["data"]).max() for r in milder.runs) <= 50


def test_the_script_draws_with_an_old_numpy_too(relu6: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(np.random, "default_rng")
    found = record_with_the_script(monkeypatch, relu6, "--input", "data:4,16", "--range", "data:-3,3")
    assert found.kinds == ("expected", "wide", "edges")
    usual, _, edges = (r.inputs["data"] for r in found.runs)
    assert 2 < np.abs(usual).max() < 3 and np.isin([-3, 0, 3], edges).all()
    normal = record_with_the_script(monkeypatch, relu6, "--input", "data:4,16")
    assert np.abs(normal.runs[1].inputs["data"]).max() > 10


def test_the_kinds_of_draws_that_are_recorded(relu6: Path) -> None:
    for asked, kinds in (
        (["--draws", "expected"], ("expected",)),
        (["--draws", "expected,wide"], ("expected", "wide")),
        (["--draws", "edges", "--draws", "wide"], ("expected", "wide", "edges")),
        ([], ("expected", "wide", "edges")),
    ):
        call("record", relu6, "--input", "data:1,8", "-o", "own.npz", *asked)
        assert load_recording("own.npz").kinds == kinds
    said = call("record", relu6, "--input", "data:1,8", "--draws", "wider", code=2)
    assert "--draws: got wider, wanted some of expected, wide, edges" in " ".join(said.split())


def test_a_recorded_draw_that_nobody_asked_for_may_be_refused(relu6: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = bridge.record(relu6, {"data": (1, 16)})
    ran = NativeEngine.run

    def refuse(self: NativeEngine, feeds: Arrays) -> Arrays:
        if np.abs(feeds["data"]).max() > 50:
            raise EngineError("too large\nfor this")
        return ran(self, feeds)

    monkeypatch.setattr(NativeEngine, "run", refuse)
    result = bridge.verify(relu6, expected=kept)
    assert result.equivalent and [r["kind"] for r in result.runs] == ["expected", "wide"]
    (note,) = result.warnings
    assert note.startswith("the recorded draw of edges was left out: ") and note.endswith(" refuses it (too large)")
    asked = Recording(kept.runs, {k: v for k, v in kept.facts.items() if k != "kinds"})
    with pytest.raises(EngineError, match="too large"):
        bridge.verify(relu6, expected=asked)


def the_script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the script for MXNet defines, with this package in MXNet's place."""
    monkeypatch.setitem(sys.modules, "mxnet", mx)
    found: dict[str, Any] = {"__name__": "script"}
    exec(script_for_mxnet(), found)
    return found


def lengths(operator: str, **more: Any) -> tuple[mx.sym.Symbol, dict[str, tuple[int, ...]]]:
    given = mx.sym.var("x"), mx.sym.var("n")
    return getattr(mx.sym, operator)(*given, use_sequence_length=True, **more), {"x": (5, 3, 4), "n": (3,)}


def regions(operator: Any, **more: Any) -> tuple[mx.sym.Symbol, dict[str, tuple[int, ...]]]:
    return operator(mx.sym.var("x"), mx.sym.var("n"), **more), {"x": (3, 8, 12, 16), "n": (6, 5)}


def recurrent() -> tuple[mx.sym.Symbol, dict[str, tuple[int, ...]]]:
    names = ("x", "weights", "state", "cell", "n")
    out = mx.sym.RNN(*map(mx.sym.var, names), mode="lstm", state_size=4, num_layers=1, use_sequence_length=True)
    return out, {"x": (5, 3, 4), "state": (1, 3, 4), "cell": (1, 3, 4), "n": (3,)}


def two_tables() -> tuple[mx.sym.Symbol, dict[str, tuple[int, ...]]]:
    n = mx.sym.var("n")
    turned = mx.sym.transpose(mx.sym.Cast(n, dtype="int32"))
    first, second = (
        mx.sym.Embedding(x, input_dim=size, output_dim=2, name=f"table{size}") for x, size in ((n, 7), (turned, 4))
    )
    return first + second, {"n": (3, 3)}


SAID = {
    "mask": lambda: lengths("SequenceMask"),
    "mask, batch first": lambda: (lengths("SequenceMask", axis=1)[0], {"x": (3, 5, 4), "n": (3,)}),
    "last": lambda: lengths("SequenceLast"),
    "reverse": lambda: lengths("SequenceReverse"),
    "a layer": recurrent,
    "an embedding": lambda: (mx.sym.Embedding(mx.sym.var("n"), input_dim=7, output_dim=2), {"n": (2, 3)}),
    "two tables": two_tables,
    "take": lambda: (mx.sym.take(mx.sym.var("x"), mx.sym.var("n"), axis=1), {"x": (9, 6), "n": (4,)}),
    "pick": lambda: (mx.sym.pick(mx.sym.var("x"), mx.sym.var("n"), axis=1), {"x": (4, 6), "n": (4,)}),
    "pick of rows": lambda: (mx.sym.pick(mx.sym.var("x"), mx.sym.var("n")), {"x": (4, 6), "n": (4,)}),
    "batch_take": lambda: (mx.sym.batch_take(mx.sym.var("x"), mx.sym.var("n")), {"x": (4, 6), "n": (4,)}),
    "one_hot": lambda: (mx.sym.one_hot(mx.sym.reshape(mx.sym.var("n"), shape=(-1,)), depth=8), {"n": (4, 1)}),
    "gather": lambda: (mx.sym.gather_nd(mx.sym.var("x"), mx.sym.var("n")), {"x": (4, 6, 2), "n": (2, 3)}),
    "softmax": lambda: (
        mx.sym.softmax(mx.sym.var("x"), mx.sym.var("n"), axis=1, use_length=True),
        {"x": (4, 6), "n": (4,)},
    ),
    "labels": lambda: (mx.sym.CTCLoss(mx.sym.var("x"), mx.sym.var("n")), {"x": (5, 3, 7), "n": (3, 2)}),
    "labels, blank last": lambda: (
        mx.sym.CTCLoss(mx.sym.var("x"), mx.sym.var("n"), blank_label="last"),
        {"x": (5, 3, 7), "n": (3, 2)},
    ),
    "lengths of labels": lambda: (
        mx.sym.CTCLoss(mx.sym.var("x"), mx.sym.var("l"), label_lengths=mx.sym.var("n"), use_label_lengths=True),
        {"x": (5, 3, 7), "l": (3, 2), "n": (3,)},
    ),
    "pooled": lambda: regions(mx.sym.ROIPooling, pooled_size=(2, 2), spatial_scale=0.5),
    "aligned": lambda: regions(mx.sym.contrib.ROIAlign, pooled_size=(2, 2), spatial_scale=1.0),
    "by places": lambda: regions(
        mx.sym.contrib.PSROIPooling, pooled_size=2, output_dim=2, group_size=2, spatial_scale=0.25
    ),
}
"""Networks of which the script has to know the numbers that n takes, and the shapes of their inputs."""


@pytest.mark.parametrize("name", SAID)
def test_the_script_knows_what_inputs_take(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the operators say it."""
    symbol, shapes = SAID[name]()
    wanted = numbers_taken(infer(symbol.graph, shapes))["n"].domain
    assert wanted is not None

    def plain(domain: Domain) -> Any:
        if domain.columns:
            return [plain(column) for column in domain.columns]
        return float(domain.low), float(domain.high), domain.integer

    found = the_script(monkeypatch)["Known"](symbol, {}).taken(shapes)["n"]
    exact = [(float(low), float(high), whole) for low, high, whole in (found if isinstance(found, list) else [found])]
    assert exact == (plain(wanted) if wanted.columns else [plain(wanted)])


def test_what_the_script_knows_nothing_of(monkeypatch: pytest.MonkeyPatch) -> None:
    known = the_script(monkeypatch)["Known"]
    x, n = mx.sym.var("x"), mx.sym.var("n")
    assert known(mx.sym.SequenceMask(x), {}).taken({"x": (5, 3, 4)}) == {}
    assert known(mx.sym.take(x, n), {}).taken({"n": (3,)}) == {}, "the size of x is not given"
    assert known(mx.sym.broadcast_add(x, n), {}).taken({"x": (2, 3), "n": (2, 3)}) == {}


def test_the_script_draws_lengths_and_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whole numbers, also within a range that is asked for; a state needs no size, and what does is proposed as it would fit."""
    monkeypatch.chdir(tmp_path)
    x = mx.sym.Embedding(mx.sym.var("words"), input_dim=20, output_dim=4, name="table")
    x = mx.sym.transpose(x, axes=(1, 0, 2))
    states, length = (mx.sym.var("state"), mx.sym.var("cell")), mx.sym.var("length")
    x = mx.sym.RNN(x, mx.sym.var("weights"), *states, mode="lstm", state_size=3, num_layers=2, name="rnn")
    x = mx.sym.SequenceReverse(x, length, use_sequence_length=True, name="turned")
    mx.sym.SequenceLast(x, length, use_sequence_length=True, name="last").save("net-symbol.json")
    rng = np.random.default_rng(0)
    params = {"table_weight": rng.normal(size=(20, 4)), "weights": rng.normal(size=(204,))}
    mx.nd.save("net-0000.params", {f"arg:{n}": mx.nd.array(a) for n, a in params.items()})
    sizes = ("--input", "words:3,9", "--input", "length:3")
    found = record_with_the_script(monkeypatch, "net", *sizes)
    call("record", "net", *sizes, "-o", "own.npz")
    own = load_recording("own.npz")
    assert found.kinds == own.kinds
    for one, other in zip(found.runs, own.runs, strict=True):
        assert set(one.inputs) == {"words", "length", "state", "cell"}
        for name, highest in (("words", 19), ("length", 9)):
            assert np.array_equal(one.inputs[name], np.rint(one.inputs[name]))
            assert 0 <= one.inputs[name].min() <= one.inputs[name].max() <= highest
        for name in ("length", "state", "cell"):
            np.testing.assert_array_equal(one.inputs[name], other.inputs[name])
    limited = record_with_the_script(monkeypatch, "net", *sizes, "--range", "length:2.5,4")
    drawn = np.concatenate([r.inputs["length"] for r in limited.runs])
    assert set(drawn.tolist()) <= {3.0, 4.0}
    with pytest.raises(SystemExit, match="length: no number in its --range that the network takes"):
        record_with_the_script(monkeypatch, "net", *sizes, "--range", "length:20,30")
    with pytest.raises(
        SystemExit, match=r"no value for \['length'\]; give it in --inputs, or its size as --input length:3"
    ):
        record_with_the_script(monkeypatch, "net", *sizes[:2])
    with pytest.raises(SystemExit, match=r"no value for \['words', .*--input words:D1,D2,\.\.\."):
        record_with_the_script(monkeypatch, "net", *sizes[2:])
    capsys.readouterr()


@pytest.mark.mxnet
def test_the_script_records_with_mxnet(tmp_path: Path) -> None:
    import os

    command = [os.environ["MXNET_PYTHON"], str(SCRIPT), str(LENET / "model"), "--input", "data:2,1,28,28"]
    subprocess.run([*command, "-o", "out.npz"], cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": ""})
    assert bridge.verify(LENET / "model", expected=tmp_path / "out.npz").equivalent


def test_a_recording_of_one_run_is_a_file_of_inputs(net: Path, tmp_path: Path) -> None:
    feeds = dict(np.load(LENET / "inputs.npz"))
    bridge.record(net, feeds, tmp_path / "one.npz")
    found = bridge.run(net, load_feeds(tmp_path / "one.npz", ["data"]))
    for name, array in outputs_of(net).items():
        np.testing.assert_array_equal(found[name], array)
    assert "softmax_output" in call("run", net, "--inputs", tmp_path / "one.npz")
    bridge.record(net, [feeds, feeds], tmp_path / "two.npz")
    said = call("run", net, "--inputs", tmp_path / "two.npz", code=2)
    assert "two.npz: a recording of 2 runs, wanted inputs of one; where models are compared --expected takes" in said


def test_what_mxnet_fuses_wrongly_is_told(tmp_path: Path) -> None:
    """A convolution that an activation and an addition read: MXNet 1.9.1 with oneDNN adds what is behind the activation."""

    def residual(fused: bool) -> mx.sym.Symbol:
        before = mx.sym.Convolution(mx.sym.var("data"), num_filter=4, kernel=(3, 3), pad=(1, 1), name="before")
        active = mx.sym.Activation(before, act_type="relu", name="active")
        behind = mx.sym.Convolution(active, num_filter=4, kernel=(3, 3), pad=(1, 1), name="behind")
        return mx.sym.elemwise_add(behind, active if fused else before, name="sum")

    rng = np.random.default_rng(3)
    right = residual(False)
    shapes = dict(zip(right.list_arguments(), right.infer_shape(data=(2, 3, 6, 6))[0]))
    params = {n: mx.nd.array(rng.normal(size=s)) for n, s in shapes.items() if n != "data"}
    feeds = {"data": rng.normal(size=shapes["data"]).astype(np.float32)}
    numbers = {fused: dict(bridge.run(residual(fused), feeds, params=params)) for fused in (True, False)}
    result = bridge.verify(right, params=params, expected=Recording((RecordedRun(feeds, numbers[True]),)))
    assert not result.equivalent
    assert any(
        w.startswith("before: MXNet with oneDNN") and "MXNET_SUBGRAPH_BACKEND=NONE" in w for w in result.warnings
    )
    assert bridge.verify(right, params=params, expected=Recording((RecordedRun(feeds, numbers[False]),))).equivalent
    other = Recording((RecordedRun(feeds, {n: a + 1 for n, a in numbers[True].items()}),))
    assert not any("oneDNN" in w for w in bridge.verify(residual(True), params=params, expected=other).warnings)


@pytest.mark.parametrize("by_mxnet", (False, True))
def test_a_softmax_of_four_axes_that_mxnet_computes_wrongly_is_told(by_mxnet: bool) -> None:
    """MXNet 1.9.1 with oneDNN takes it over the last axis, in inference and at rank 4 alone."""

    def softmax(shape: tuple[int, ...], **attrs: bool) -> bridge.VerifyResult:
        net = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="probabilities", **attrs)
        x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
        y = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        facts = {"by": "MXNet 1.9.1"} if by_mxnet else {}
        return bridge.verify(net, expected=Recording((RecordedRun({"data": x}, {"probabilities_output": y}),), facts))

    found = softmax((2, 3, 4, 5))
    assert not found.equivalent
    assert any(w.startswith("probabilities: of four axes") and "MXNET_MKLDNN_ENABLED=0" in w for w in found.warnings), (
        found.warnings
    )
    for shape, attrs in (((2, 3, 4), {}), ((2, 3, 4, 5), {"multi_output": True})):
        found = softmax(shape, **attrs)
        assert not found.equivalent
        assert not any("oneDNN" in w for w in found.warnings)
    for shape, attrs in (((2, 1, 1, 5), {}), ((2, 3, 4, 5), {"preserve_shape": True})):
        assert softmax(shape, **attrs).equivalent


# -- pairing, tolerances, bad files -----------------------------------------------------------------------------------------


def outputs_of(net: Path) -> dict[str, np.ndarray]:
    return dict(bridge.run(net, dict(np.load(LENET / "inputs.npz"))))


def test_outputs_alone_want_their_inputs(net: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "out.npz", **outputs_of(net))
    assert bridge.verify(net, expected=tmp_path / "out.npz", inputs=LENET / "inputs.npz").equivalent
    assert "EQUIVALENT" in call("verify", net, "--expected", tmp_path / "out.npz", "--inputs", LENET / "inputs.npz")
    with pytest.raises(bridge.BadInput, match="holds outputs alone; give the inputs"):
        bridge.verify(net, expected=tmp_path / "out.npz")
    with pytest.raises(bridge.BadInput, match=r"wanted arrays of data, .*got sizes"):
        bridge.verify(net, expected=tmp_path / "out.npz", inputs={"data": (3, 1, 28, 28)})
    with pytest.raises(bridge.BadInput, match="holds the inputs too"):
        bridge.verify(net, expected=RECORDED / "lenet.npz", inputs=LENET / "inputs.npz")


def test_inputs_and_outputs_by_their_names_alone(net: Path, tmp_path: Path) -> None:
    """An .npz that ``np.savez`` makes of both, with no word on which is which."""
    feeds, found = dict(np.load(LENET / "inputs.npz")), outputs_of(net)
    np.savez(tmp_path / "both.npz", **feeds, **found)
    result = bridge.verify(net, expected=tmp_path / "both.npz")
    assert result.equivalent and list(result.runs[0]["inputs"]) == ["data"]
    size = f"data:{','.join(map(str, feeds['data'].shape))}"
    said = call("convert", net, "-o", tmp_path / "n.onnx", "--input", size, "--expected", tmp_path / "both.npz")
    assert "equivalent" in said
    assert bridge.verify(net, expected=tmp_path / "both.npz", inputs=tmp_path / "both.npz").equivalent
    with pytest.raises(bridge.BadInput, match="holds the inputs too; leave out --inputs"):
        bridge.verify(net, expected=tmp_path / "both.npz", inputs={"data": feeds["data"] + 1})
    np.savez(
        tmp_path / "told.npz",
        **{f"inputs/{n}": a for n, a in feeds.items()},
        **{f"outputs/{n}": a for n, a in found.items()},
    )
    assert bridge.verify(net, expected=tmp_path / "told.npz").equivalent
    np.savez(
        tmp_path / "twice.npz",
        **{"inputs/data": feeds["data"], "0/inputs/data": feeds["data"], "outputs/x": feeds["data"]},
    )
    with pytest.raises(bridge.BadInput, match="both with its number and without"):
        bridge.verify(net, expected=tmp_path / "twice.npz")
    np.savez(tmp_path / "text.npz", **feeds, **found, words=np.array(["yes", "no"]))
    with pytest.raises(bridge.BadInput, match=r"'words.npy' holds text, wanted numbers alone; leave it out"):
        bridge.verify(net, expected=tmp_path / "text.npz")
    wrong = {n: a + np.float32(0.01) for n, a in found.items()}
    np.savez(tmp_path / "wrong.npz", **feeds, **wrong)
    assert not bridge.verify(net, expected=tmp_path / "wrong.npz").equivalent
    np.savez(tmp_path / "inputs.npz", **feeds)
    with pytest.raises(bridge.BadInput, match=r"holds inputs alone \(data\), wanted outputs with them"):
        bridge.verify(net, expected=tmp_path / "inputs.npz")


def test_names_are_paired(converted: Path) -> None:
    """Inputs and outputs by name, else by position."""
    known = load_recording(RECORDED / "lenet.npz").runs[0]
    other = Recording((RecordedRun({"x": known.inputs["data"]}, {"y": known.outputs["softmax_output"]}),))
    result = bridge.verify(converted, expected=other)
    assert result.equivalent
    assert result.runs[0]["inputs"]["data"]["from"] == "from a recording (not said by whom), x there"
    assert bridge.verify(converted, expected=other, names={"x": "data"}).equivalent
    with pytest.raises(bridge.BadInput, match="nobody is neither in"):
        bridge.verify(converted, expected=other, names={"nobody": "data"})
    two = Recording((RecordedRun(known.inputs, {"y": known.outputs["softmax_output"], "z": known.inputs["data"]}),))
    with pytest.raises(bridge.BadInput, match=r"has 2 output\(s\) \(y, z\).* gives 1"):
        bridge.verify(converted, expected=two)
    none = Recording((RecordedRun({"a": known.inputs["data"], "b": known.inputs["data"]}, known.outputs),))
    with pytest.raises(bridge.BadInput, match="say which are one"):
        bridge.verify(converted, expected=none)


def test_an_input_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    net = mx.sym.var("x") + mx.sym.var("label")
    net.save(f"{tmp_path}/net-symbol.json")
    one = {"x": np.ones((2, 3), np.float32)}
    known = Recording((RecordedRun(one, {"y": one["x"]}),))
    with pytest.raises(bridge.BadInput, match=r"has inputs x \(2, 3\).*; record it again, with label too"):
        bridge.verify(tmp_path / "net", expected=known)


def test_recorded_tensors_are_found_inside_by_their_names(converted: Path) -> None:
    """As many as the model has outputs, and of their shapes, so that places would say something, and something wrong."""
    known = load_recording(RECORDED / "lenet-all.npz").runs[0]
    inside = {"fullyconnected0_output": known.outputs["fullyconnected0_output"]}
    alone = Recording((RecordedRun(known.inputs, inside),))
    for result in (bridge.verify(LENET / "model", expected=alone), bridge.verify(converted, expected=alone)):
        assert result.verdict == "equivalent" and [d.name for d in result.differences] == ["fullyconnected0_output"]
    both = bridge.verify(LENET / "model", converted, expected=alone)
    assert both.verdict == "equivalent"
    sides = [f"fullyconnected0_output ({side} model, recorded)" for side in ("first", "second")]
    assert [d.name for d in both.differences] == ["softmax_output", *sides]
    more = Recording((RecordedRun(known.inputs, {**inside, "none": known.outputs["softmax_output"]}),))
    partly = bridge.verify(LENET / "model", expected=more)
    assert partly.verdict == "equivalent" and partly.warnings == ("none: recorded, and not in the model; not compared",)
    wrong = Recording((RecordedRun(known.inputs, {n: a * np.float32(1.01) for n, a in inside.items()}),))
    assert bridge.verify(LENET / "model", converted, expected=wrong).verdict == "not equivalent"


def test_places_tell_nothing_where_names_do() -> None:
    """Tensors inside have the shapes of the outputs here; where one model calls them otherwise, the other alone is held."""
    x = mx.sym.var("x")
    net = mx.sym.Group(
        [mx.sym.exp(mx.sym.sin(x, name="one"), name="up"), mx.sym.exp(mx.sym.cos(x, name="two"), name="down")]
    )
    other = mx.sym.Group([mx.sym.exp(mx.sym.sin(x), name="up"), mx.sym.exp(mx.sym.cos(x), name="down")])
    data = {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)}
    recording = Recording((RecordedRun(data, {"one_output": np.sin(data["x"]), "two_output": np.cos(data["x"])}),))
    for first, second, held in ((net, net, "both"), (net, other, "first"), (other, net, "second")):
        result = bridge.verify(first, second, expected=recording)
        assert result.verdict == "equivalent"
        sides = [s for s in ("first", "second") if any(f"({s} model, recorded)" in d.name for d in result.differences)]
        assert sides == (["first", "second"] if held == "both" else [held])
        assert any("only the other is held against it" in w for w in result.warnings) == (held != "both")


def test_pairs_by_place_are_told_and_need_shapes_that_fit() -> None:
    x = mx.sym.var("x")
    net = mx.sym.Group([mx.sym.exp(x, name="up"), mx.sym.sum(x, axis=1, name="sum")])
    data = {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)}
    exp, total = np.exp(data["x"]), data["x"].sum(1)

    def held(**outputs: np.ndarray) -> bridge.VerifyResult:
        return bridge.verify(net, expected=Recording((RecordedRun(data, outputs),)))

    told = held(a=exp, b=total)
    assert told.equivalent
    assert told.warnings == ("a with up_output, b with sum_output: recorded under another name, and paired by place",)
    one = held(sum_output=total, a=exp)  # the other place is left
    assert one.equivalent and one.warnings == ("a with up_output: recorded under another name, and paired by place",)
    with pytest.raises(
        bridge.BadInput, match=r"of other shapes in the same places are a \(2,\) and up_output \(2, 3\), b"
    ):
        held(a=total, b=exp)


def test_recorded_tensors_inside_are_told(converted: Path, net: Path) -> None:
    both = bridge.verify(LENET / "model", converted, expected=RECORDED / "lenet-all.npz")
    assert both.verdict == "equivalent" and len(both.recorded) == 2
    assert both.recorded[0] == "10 of 10 tensors inside that were recorded are in the first model too: 10 agree"
    assert both.recorded[1].endswith("are in the second model too: 10 agree")
    shown = call("verify", LENET / "model", converted, "--expected", RECORDED / "lenet-all.npz")
    assert "recorded  10 of 10 tensors inside" in " ".join(shown.replace("recorded  ", "recorded//").split()).replace(
        "//", "  "
    )
    misread(net, "Pooling", pool_type="avg")
    (said,) = bridge.verify(net, expected=RECORDED / "lenet-all.npz").recorded
    assert "2 agree" in said and "1 do not, nor do their nodes given what was recorded" in said


def test_the_tolerance_is_that_of_the_coarser_dtype(net: Path) -> None:
    known = load_recording(RECORDED / "lenet.npz").runs[0]
    ((name, numbers),) = known.outputs.items()
    half = Recording((RecordedRun(known.inputs, {name: numbers.astype(np.float16)}),))
    assert bridge.verify(net, expected=half).equivalent
    wrong = Recording((RecordedRun(known.inputs, {name: numbers * np.float32(1.001)}),))
    result = bridge.verify(net, expected=wrong)
    assert result.verdict == "not equivalent"
    assert "from float64 as the model is read" in result.differences[0].reason
    assert bridge.verify(net, expected=wrong, tolerance=(1e-3, 1e-2)).equivalent
    assert not bridge.verify(net, expected=half, tolerance=(1e-7, 0)).equivalent


def test_outputs_that_say_little_are_a_verdict_of_their_own(net: Path) -> None:
    known = load_recording(RECORDED / "lenet.npz").runs[0]
    zeros = {"softmax_output": known.outputs["softmax_output"] * 0}
    result = bridge.verify(net, expected=Recording((RecordedRun(known.inputs, zeros),)))
    assert result.verdict == "not equivalent"
    flat = Recording((RecordedRun(known.inputs, {"y": known.inputs["data"] * 0}),))
    flat = bridge.verify(mx.sym.zeros_like(mx.sym.var("data")), expected=flat)
    assert flat.verdict == "says little"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"0/inputs/data": 1, "0/outputs/y": 1, "other": 1}, "got other beside recorded runs"),
        ({"0/outputs/y": 1, "2/outputs/y": 1}, "got runs 0, 2, wanted 0, 1"),
        ({"0/inputs/data": 1}, "run 0 without outputs"),
        ({"0/outputs/y": 1, "gluonnx": "[1]"}, "no JSON object"),
        ({"0/outputs/y": 1, "gluonnx": "{"}, "no JSON object"),
        ({"0/outputs/y": 1, "gluonnx": '{"format": 2}'}, "of format 2, wanted 1 or older"),
        ({"gluonnx": "{}"}, "holds no outputs"),
    ],
)
def test_bad_recordings_are_refused(tmp_path: Path, members: dict[str, object], words: str) -> None:
    np.savez(tmp_path / "bad.npz", **{n: np.array(v) for n, v in members.items()})
    with pytest.raises(bridge.BadInput) as caught:
        load_recording(tmp_path / "bad.npz")
    assert words in str(caught.value)
    assert "bad.npz" in str(caught.value)


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    for name, content, words in (
        ("x.npz", b"hello there", "not an .npz"),
        ("x.npy", b"", "one array without a name"),
        ("y.npz", b"PK\3\4 and then nothing", "damaged"),
    ):
        (tmp_path / name).write_bytes(content)
        assert not is_recording(tmp_path / name)
        with pytest.raises(bridge.BadInput, match=words):
            load_recording(tmp_path / name)
    with pytest.raises(bridge.BadInput, match="no such file"):
        load_recording(tmp_path / "none.npz")
    pickled = np.array([{}], dtype=object)
    np.savez(tmp_path / "pickled.npz", **{"0/outputs/y": pickled})
    with pytest.raises(bridge.BadInput, match="never unpickled"):
        load_recording(tmp_path / "pickled.npz")
    with pytest.raises(bridge.BadInput, match="a folder without"):
        (tmp_path / "empty").mkdir()
        bridge.record(LENET / "model", inputs=tmp_path / "empty")


def test_recordings_go_with_verified_inference(net: Path) -> None:
    for told in ({"training": True}, {"verify": False}):
        with pytest.raises(bridge.BadInput, match="those of inference, verified"):
            bridge.convert(net, expected=RECORDED / "lenet.npz", **told)
