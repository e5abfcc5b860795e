"""Words of a check and of a recording, as one reads them who has never seen either: each says what it is of."""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.faces import words
from bridge.models import BadInput, names_of_two
from bridge.project.config import NAME

runner = CliRunner()


def call(*arguments: object, code: int = 0) -> str:
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def save(folder: Path, epoch: int, scale: float, **more: np.ndarray) -> None:
    """Two outputs behind a convolution with its normalization; scale: of the convolution's weights."""
    x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, no_bias=True, name="conv")
    x = mx.sym.relu(mx.sym.BatchNorm(x, fix_gamma=False, name="norm"), name="act")
    heads = [mx.sym.FullyConnected(x, num_hidden=n, name=name) for name, n in (("kind", 5), ("age", 2))]
    random = np.random.default_rng(0)
    shapes = {"conv_weight": (4, 3, 3, 3), "kind_weight": (5, 64), "age_weight": (2, 64)}
    params = {n: random.normal(0, 0.2, s).astype(np.float32) for n, s in shapes.items()}
    params |= {"kind_bias": np.zeros(5, np.float32), "age_bias": np.zeros(2, np.float32)}
    params |= {f"norm_{n}": np.full(4, v, np.float32) for n, v in (("gamma", 1.5), ("beta", 0.1))}
    params |= {"norm_moving_mean": np.full(4, 0.1, np.float32), "norm_moving_var": np.ones(4, np.float32)}
    params["conv_weight"] = params["conv_weight"] * np.float32(scale)
    params |= more
    (folder / "net-symbol.json").write_text(mx.sym.Group([mx.sym.relu(h, name=h.name + "s") for h in heads]).tojson())
    named = {f"{'aux' if 'moving' in n else 'arg'}:{n}": mx.nd.array(a) for n, a in params.items()}
    mx.nd.save(str(folder / f"net-{epoch:04}.params"), named)


def convert(folder: Path, epoch: int) -> None:
    told = {"params": folder / f"net-{epoch:04}.params", "inputs": {"data": (2, 3, 6, 6)}, "verify": False}
    bridge.convert(folder / "net", output=folder / "net.onnx", **told)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of a symbol with parameters of two epochs, and the ONNX file of the older one."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path, 12, 1.0)
    convert(tmp_path, 12)
    save(tmp_path, 31, 1.5)
    (tmp_path / NAME).write_text('[model.net]\nfiles = ["net", "net.onnx"]\ninputs = { data = [2, 3, 6, 6] }\n')
    return tmp_path


# -- weights ----------------------------------------------------------------------------------------------------------------


def test_the_epoch_whose_weights_a_file_has_is_named(folder: Path) -> None:
    detail = bridge.check(folder).files[0].detail
    assert detail.startswith("net.onnx has the weights of net-0012.params, and not those of net-0031.params; first: ")
    (folder / NAME).write_text((folder / NAME).read_text().replace('"net", "net.onnx"', '"net.onnx", "net"'))
    assert "net.onnx has the weights of net-0012.params" in bridge.check(folder).files[0].detail, "in any order"
    (folder / "net-0005.params").write_bytes(b"no parameters")
    save(folder, 12, 2.0)
    assert "has the weights" not in bridge.check(folder).files[0].detail, "those of neither"


def test_folded_weights_are_called_what_they_are_made_of(folder: Path) -> None:
    detail = bridge.check(folder).files[0].detail
    assert "weight conv_weight (folded with its batch normalization): 108 of 108 elements differ" in detail
    assert "_folded" not in detail


# -- outputs ----------------------------------------------------------------------------------------------------------------


def test_every_output_that_differs_is_told(folder: Path) -> None:
    detail = bridge.check(folder).files[0].detail
    assert "; kinds_output: " in detail
    assert "; ages_output: " in detail


def test_an_output_that_says_little_is_noted_where_another_differs(folder: Path) -> None:
    save(folder, 31, 1.5, age_bias=np.full(2, -1e3, np.float32))
    convert(folder, 31)
    save(folder, 31, 1.5, age_bias=np.full(2, -1e3, np.float32), kind_bias=np.ones(5, np.float32))
    (file,) = bridge.check(folder).files
    assert file.status == "differs"
    assert "output ages_output is one value everywhere: agreement there says little" in file.notes
    assert "ages_output" not in file.detail


def test_the_end_that_mxnet_gives_names_is_no_other_name(folder: Path) -> None:
    convert(folder, 31)
    whole = onnx.load(folder / "net.onnx")
    for one in ("kinds", "ages"):
        for node in whole.graph.node:
            node.output[:] = [one if o == f"{one}_output" else o for o in node.output]
        for output in whole.graph.output:
            output.name = one if output.name == f"{one}_output" else output.name
    onnx.save(whole, folder / "net.onnx")
    (file,) = bridge.check(folder).files
    assert (file.status, file.notes) == ("ok", ())
    whole.graph.node[-1].output[0] = whole.graph.output[-1].name = "years"
    onnx.save(whole, folder / "net.onnx")
    (file,) = bridge.check(folder).files
    assert file.notes == (
        "outputs have other names than in net, and were compared by their place: ages_output with years",
    )


# -- parameters -------------------------------------------------------------------------------------------------------------


def test_lacking_parameters_are_called_by_the_symbol_that_lacks_them(folder: Path) -> None:
    for path in folder.glob("*.params"):
        path.rename(path.with_suffix(".old"))
    (file,) = bridge.check(folder).files
    said = 'missing; params = "PATH" in gluonnx.toml names another file'
    assert file.detail.startswith(
        "no net-NNNN.params beside net-symbol.json, and conv_weight, norm_gamma, norm_beta and"
    )
    assert said in file.detail
    assert "net.onnx-" not in file.detail
    text = call("verify", "net", "net.onnx", code=2)
    assert "no .params file was found beside net-symbol.json, and" in text
    assert "are missing; give it with --params FILE" in text


def test_every_command_takes_parameters_as_an_option(folder: Path) -> None:
    for path in folder.glob("*.params"):
        path.rename(path.with_suffix(".old"))
    shape = ("--input", "data:2,3,6,6")
    assert "parameters" in call("inspect", "net", "--params", "net-0012.old")
    assert "579 parameters" in call("inspect", "net", "--params", "net-0012.old", "--nodes", *shape)
    call("convert", "net", "--params", "net-0012.old", *shape, "-o", "made.onnx")
    call("record", "net", "--params", "net-0012.old", *shape, "-o", "made.npz")
    np.savez(folder / "in.npz", data=np.ones((2, 3, 6, 6), np.float32))
    call("run", "net", "--params", "net-0012.old", "--inputs", "in.npz")
    call("verify", "net", "made.onnx", "--params", "net-0012.old")
    said = call("inspect", "net", "net-0031.old", "--params", "net-0012.old", code=2)
    assert "--params net-0012.old: net-0031.old was given behind the model already; give one of them" in said
    (folder / "list.txt").write_text("net --params net-0012.old --input data:2,3,6,6\n")
    call("convert", "list.txt", "-o", "out")
    assert (folder / "out" / "net.onnx").exists()
    said = call("convert", "list.txt", "--params", "net-0012.old", "-o", "out", code=2)
    assert "parameters for a whole list" in said


# -- recordings -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(folder: Path) -> dict[str, np.ndarray]:
    """Inputs and outputs by their names, as one saves them who has another framework."""
    convert(folder, 31)
    run = bridge.record(folder / "net", {"data": (2, 3, 6, 6)}, draws=()).runs[0]
    return {**run.inputs, **{n.removesuffix("_output"): a for n, a in run.outputs.items()}}


def test_inputs_and_outputs_side_by_side_are_a_recording(folder: Path, recorded: dict[str, np.ndarray]) -> None:
    outputs = {f"{n}_output": a for n, a in recorded.items() if n != "data"}
    np.savez(folder / "both.npz", data=recorded["data"], **outputs)
    result = bridge.verify("net", expected="both.npz")
    assert (result.verdict, result.recorded) == ("equivalent", ())
    assert "input data" in call("verify", "net", "net.onnx", "--expected", "both.npz")
    np.savez(folder / "out.npz", **outputs)
    with pytest.raises(BadInput, match="holds outputs alone"):
        bridge.verify("net", expected="out.npz")


def test_an_input_is_said_to_come_from_its_own_file(folder: Path, recorded: dict[str, np.ndarray]) -> None:
    np.savez(folder / "out.npz", **{f"{n}_output": a for n, a in recorded.items() if n != "data"})
    np.savez(folder / "in.npz", data=recorded["data"])
    for models in (["net"], ["net", "net.onnx"]):
        result = bridge.verify(*models, expected="out.npz", inputs="in.npz")
        assert [r["inputs"]["data"]["from"] for r in result.runs] == ["from in.npz"] * len(result.runs)
    result = bridge.verify("net", expected="out.npz", inputs={"data": recorded["data"]})
    assert result.runs[0]["inputs"]["data"]["from"] == "given"


def test_there_is_no_next_step_where_the_models_agree(folder: Path, recorded: dict[str, np.ndarray]) -> None:
    outputs = {f"{n}_output": a + 1 for n, a in recorded.items() if n != "data"}
    np.savez(folder / "both.npz", data=recorded["data"], **outputs)
    result = bridge.verify("net", "net.onnx", expected="both.npz")
    assert (result.verdict, result.between) == ("not equivalent", "equivalent")
    assert words.next_command(result) == ""
    assert result.as_dict()["between"] == "equivalent"
    assert (result.a, result.b) == ("net-symbol.json", "net.onnx")
    convert(folder, 12)
    result = bridge.verify("net", "net.onnx", expected="both.npz")
    assert result.between == "not equivalent"
    assert words.next_command(result).startswith("gluonnx reduce net-symbol.json net.onnx")


def test_two_models_of_one_name_are_told_apart(folder: Path, recorded: dict[str, np.ndarray]) -> None:
    del recorded
    said = call("reduce", "net", "net.onnx", "--input", "data:2,3,6,6", "-o", "repro", code=2)
    assert "net-symbol.json and net.onnx give the same numbers on these inputs" in said
    (folder / "other").mkdir()
    shutil.copy("net.onnx", "other")
    models = [bridge.open_model(path) for path in ("net.onnx", "other/net.onnx")]
    assert names_of_two(*models) == ("net.onnx", "other/net.onnx")


def test_draws_are_not_called_expected_to_people(folder: Path, recorded: dict[str, np.ndarray]) -> None:
    del recorded
    text = call("verify", "net", "net.onnx", "--input", "data:2,3,6,6")
    assert "expected" not in text
    told = json.loads(runner.invoke(app, ["verify", "net", "net.onnx", "--input", "data:2,3,6,6", "--json"]).output)
    assert told["runs"][0]["kind"] == "expected", "what programs read has stayed"
    assert [words.kind({"kind": kind}) for kind in ("given", "expected", "wide")] == ["given", "drawn", "wide"]
