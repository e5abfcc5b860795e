"""The commands: exit codes, JSON, what a person reads, silence in a pipe."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hybrid as mx
from bridge.cli import COMMANDS, app, command
from bridge.older import Older
from tests.models.networks import FOLDER, networks

NETWORK = next(n for n in networks() if n.name == "lenet")
SHAPE = ",".join(map(str, NETWORK.runs()[0][0]["data"].shape))
runner = CliRunner()


@pytest.fixture
def net(tmp_path: Path) -> Path:
    shutil.copytree(NETWORK.folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / "model"


def call(*arguments: object, code: int = 0):
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


def test_convert_then_verify_inspect_run(net: Path, tmp_path: Path) -> None:
    target, answer = tmp_path / "x.onnx", tmp_path / "y.npz"
    text = call("convert", f"{net}-symbol.json", "-o", target, "--input", f"data:{SHAPE}").stdout
    assert "equivalent" in text
    assert "softmax_output" in text
    assert target.exists()
    assert call("verify", net, target).stdout.startswith("EQUIVALENT  model-symbol.json (sha ")
    assert "Conv" in call("inspect", target).stdout
    assert "every node converts" in call("inspect", net, "--input", f"data:{SHAPE}").stdout
    for model, engine in ((target, "onnxruntime"), (net, "native"), (net, "onnxruntime")):
        call("run", model, "--inputs", NETWORK.folder / "inputs.npz", "-o", answer, "--engine", engine)
        with np.load(answer) as got:
            want = NETWORK.runs()[0][1]["softmax_output"]
            np.testing.assert_allclose(got["softmax_output"], want, atol=1e-5)


def test_the_table_of_operators(net: Path, tmp_path: Path) -> None:
    found = json.loads(call("inspect", "--operators", "--json").stdout)
    rows = {row["name"]: row for row in found["operators"]}
    assert rows["Convolution"]["gradient"] == "yes"
    assert rows["Convolution"]["opsets"] == [7]
    assert rows["_contrib_BilinearResize2D"]["opsets"] == [11]
    assert "Conv" in rows["Convolution"]["read"]
    assert rows["sgd_update"]["reason"]
    assert all(len(reason.split()) > 2 for reason in found["absent"].values())
    file = tmp_path / "operators.md"
    text = call("inspect", net, "--operators", "--report", file).stdout
    assert "Convolution" in text
    assert "BatchNorm" not in text
    assert "Convolution" in file.read_text()
    assert "give a symbol file" in call("inspect", code=2).stderr


@pytest.mark.parametrize("ending", ["md", "html"])
def test_reports_are_written_as_files(net: Path, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"report.{ending}"
    call("convert", net, "--input", f"data:{SHAPE}", "--report", file)
    assert "equivalent" in file.read_text()
    assert "gluonnx" in file.read_text()
    call("inspect", net, "--input", f"data:{SHAPE}", "--report", file)
    assert "every node converts" in file.read_text()
    call("verify", net, net.with_name("model.onnx"), "--atol", "0", "--rtol", "0", "--report", file, code=1)
    assert "not equivalent" in file.read_text() and "gluonnx reduce" in file.read_text()
    assert "wanted a file that ends in" in call("inspect", net, "--report", tmp_path / "x.pdf", code=2).stderr.replace(
        "\n", " "
    )


def test_default_output_is_beside_the_symbol(net: Path) -> None:
    call("convert", net, "--input", f"data:{SHAPE}")
    assert net.with_name("model.onnx").exists()


def test_json(net: Path, tmp_path: Path) -> None:
    data = json.loads(
        call(
            "convert", net, "-o", tmp_path / "x.onnx", "--input", f"data:{SHAPE}", "--dynamic", "data:0=n", "--json"
        ).stdout
    )
    assert data["verification"]["equivalent"] is True
    assert data["inputs"]["data"]["shape"][0] == "n"
    assert json.loads(call("inspect", net, "--json").stdout)["problems"] == []
    data = json.loads(call("verify", net, tmp_path / "x.onnx", "--input", f"data:{SHAPE}", "--json").stdout)
    assert data["equivalent"] is True
    data = json.loads(call("run", net, "--inputs", NETWORK.folder / "inputs.npz", "--json").stdout)
    assert data["outputs"]["softmax_output"]["dtype"] == "float32"
    data = json.loads(call("convert", net, "--json", code=2).stdout)
    assert "cannot tell the shape of input data" in data["error"]


def test_not_equivalent_is_exit_1(net: Path, tmp_path: Path) -> None:
    import onnx

    target = tmp_path / "x.onnx"
    call("convert", net, "-o", target, "--input", f"data:{SHAPE}")
    model = onnx.load(target)
    tensor = next(i for i in model.graph.initializer if i.name.endswith("_weight"))
    tensor.raw_data = (np.frombuffer(tensor.raw_data, np.float32) * np.float32(1.1)).tobytes()
    onnx.save(model, target)
    text = call("verify", net, target, code=1).stdout
    assert text.startswith("NOT EQUIVALENT  model-symbol.json (sha ")
    first = next(n.output[0] for n in model.graph.node if tensor.name in n.input)
    assert f"tensor {first}" in text and "the node itself computes something else" in text


def test_bad_arguments_are_exit_2(net: Path) -> None:
    for arguments, said in (
        (("convert", net, "--input", "data"), "wanted NAME:D1,D2"),
        (("convert", net, "--input", f"data:{SHAPE}", "--dynamic", "data:batch"), "wanted NAME:AXIS=LABEL"),
        (("convert", net, "--input", f"data:{SHAPE}", "--dynamic", "data:9=batch"), "dynamic axis 9"),
        (("convert", "nowhere"), "no such file"),
        (("convert", net, "--input", "data:-1,1,28,28"), "give one size here and its name in --dynamic data:0=batch"),
        (("convert", net, "--input", f"data:{SHAPE}", "--input", f"data:{SHAPE}"), "data is given twice"),
        (("convert", net, "--input", f"data:{SHAPE}", "--dynamic", "data:0=a,0=b"), "axis 0 of data is called a too"),
        (("convert", net, "--input", f"data:{SHAPE}:float31"), "dtype 'float31' is not known"),
        (
            ("run", net, "--inputs", NETWORK.folder / "inputs.npz", "-o", net.parent),
            "a folder; give the name of the file",
        ),
        (("run", net, "--inputs", f"{net}-symbol.json"), "not an .npz or .npy file"),
        (("run", net), "give --inputs"),
        (("run", net, "--inputs", "nowhere.npz"), "no such file"),
        (("convert", net, "--input", f"data:{SHAPE}", "--opset", "3"), "got opset 3"),
    ):
        assert said in call(*arguments, code=2).stderr.replace("\n", " ")


def test_unsupported_nodes_are_exit_2(net: Path) -> None:
    path = net.with_name("model-symbol.json")
    path.write_text(path.read_text().replace('"Pooling"', '"Puddling"'))
    assert "Puddling" in call("inspect", net, code=2).stdout
    assert "Puddling" in call("convert", net, "--input", f"data:{SHAPE}", code=2).stderr


@pytest.mark.parametrize("command", ["convert", "verify", "inspect", "run"])
def test_help(command: str) -> None:
    assert "--json" in call(command, "--help").stdout


def test_the_module_is_the_command_and_is_silent_in_a_pipe(net: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "bridge",
        "convert",
        str(net),
        "-o",
        str(tmp_path / "x.onnx"),
        "--input",
        f"data:{SHAPE}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=FOLDER.parents[1])
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_inspect_names_unknown_inputs(net: Path, tmp_path: Path) -> None:
    call("convert", net, "-o", tmp_path / "x.onnx", "--input", f"data:{SHAPE}")
    for model in (net, tmp_path / "x.onnx"):
        text = call("inspect", model, "--input", f"dta:{SHAPE}", "--input", "foo:1", code=2).stderr
        assert "unknown input dta: the model takes data" in text and "unknown input foo" in text


@pytest.mark.parametrize(
    "command",
    ["bridge inspect --operators", "hybrid.native", "hybrid.native --help", "hybrid -h", "converters.coverage"],
)
def test_a_reader_that_has_seen_enough(command: str) -> None:
    """``gluonnx inspect --operators | head -1`` ends without a word, and so do the other commands."""
    run = [sys.executable, "-m", *command.split()]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=FOLDER.parents[1]) as done:
        assert done.stdout is not None and done.stderr is not None
        if command.startswith("bridge"):  # in the midst of it; the others before they begin
            done.stdout.readline()
        done.stdout.close()
        assert done.stderr.read() == b"" and done.wait() == 0


def test_arrays_that_are_read_are_not_written(net: Path, tmp_path: Path) -> None:
    arrays = tmp_path / "mine.npz"
    np.savez(arrays, data=NETWORK.runs()[0][0]["data"])
    before = arrays.read_bytes()
    for arguments in (("run", net, "--inputs", arrays), ("convert", net, "--inputs", arrays)):
        assert "would destroy it" in call(*arguments, "-o", arrays, code=2).stderr
    more = ("convert", net, "--input", f"data:{SHAPE}", "--also", arrays, "-o", arrays)
    assert "would destroy it" in call(*more, code=2).stderr
    # nor where the weights would go, by whatever name they are read
    beside = tmp_path / "out.onnx.data"
    arrays.rename(beside)
    arrays.symlink_to(beside)
    other = tmp_path / "other.npz"
    other.write_bytes(before)
    for read in (("--inputs", arrays), ("--inputs", beside), ("--inputs", other, "--also", other, "--also", arrays)):
        told = call("convert", net, *read, "-o", tmp_path / "out.onnx", "--external-data", code=2).stderr
        assert f"{beside}: read as well" in told.replace("\n", "")
    assert beside.read_bytes() == before


def test_parameters_that_are_given_are_those_of_every_symbol(tmp_path: Path) -> None:
    """And of no ONNX file, on whichever side; without them there are none."""
    layer = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    for name, symbol in (("a", layer * 2), ("b", layer + layer)):
        symbol.save(str(tmp_path / f"{name}-symbol.json"))
    stored = tmp_path / "their.params"
    mx.nd.save(
        str(stored), {"arg:fc_weight": mx.nd.array([[1, -2, 3], [4, 5, -6]]), "arg:fc_bias": mx.nd.array([1, 2])}
    )
    a, b, out = tmp_path / "a", tmp_path / "b", tmp_path / "c.onnx"
    shape = ("--input", "x:4,3")
    call("convert", a, stored, *shape, "-o", out)
    for pair in ((a, b), (b, a), (a, out), (out, b)):
        call("verify", *pair, "--params", stored, *shape)
    call("verify", out, out, "--params", stored, *shape)
    for pair in ((a, b), (out, b), (b, out)):
        assert "missing parameter" in call("verify", *pair, *shape, code=2).stderr
    call("bench", a, out, b, "--params", stored, *shape, "--seconds", 0.001)


def test_labels_are_no_inputs_of_files(tmp_path: Path) -> None:
    """One array is enough for a network with a label at its head, and an .npz with labels is taken too."""
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    rng = np.random.default_rng(0)
    params = {"fc_weight": mx.nd.array(rng.normal(size=(3, 4))), "fc_bias": mx.nd.array(rng.normal(size=3))}
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, mx.sym.SoftmaxOutput(x, name="softmax"), params, {})
    data = rng.normal(size=(2, 4)).astype("float32")
    np.save(tmp_path / "x.npy", data)
    np.savez(tmp_path / "x.npz", data=data, softmax_label=np.zeros(2, "float32"))
    out = tmp_path / "out.onnx"
    for inputs in ("x.npy", "x.npz"):
        call("convert", tmp_path / "net", "-o", out, "--inputs", tmp_path / inputs, "--also", tmp_path / inputs)
        call("verify", tmp_path / "net", out, "--inputs", tmp_path / inputs)
        call("run", tmp_path / "net", "--inputs", tmp_path / inputs)


def test_any_name_is_shown_as_it_is(net: Path, tmp_path: Path) -> None:
    """Names with colons are told from shapes; brackets are no style, and ``:x:`` is no emoji."""
    path = net.with_name("model-symbol.json")
    path.write_text(path.read_text().replace('"data"', '"a[/b]:x:0"').replace('"softmax"', '"out[red]:x:"'))
    shape = ("--input", f"a[/b]:x:0:{SHAPE}", "--dynamic", "a[/b]:x:0:0=batch")
    said = call("convert", net, "-o", tmp_path / "x.onnx", *shape).stdout
    assert "a[/b]:x:0 (" in said
    assert "out[red]:x:_output" in said
    assert "a[/b]:x:0" in call("convert", net, code=2).stderr


def test_lines_in_a_pipe_are_whole(net: Path) -> None:
    """No padding, and nothing is folded, however long: grep finds it."""
    lines = call("inspect", net).stdout.splitlines()
    assert all(line == line.rstrip() for line in lines)


def test_not_equivalent_says_that_nothing_was_written(net: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.onnx"
    tight = ("--atol", "0", "--rtol", "1e-12")
    assert (
        "nothing was written" in call("convert", net, "-o", target, "--input", f"data:{SHAPE}", *tight, code=1).stderr
    )
    assert not target.exists()


def test_an_error_says_that_an_older_file_is_still_there(net: Path, tmp_path: Path) -> None:
    """A script that goes on after an error would deploy it."""
    target, sizes = tmp_path / "x.onnx", ("--input", f"data:{SHAPE}")
    wrong = {
        1: ("convert", net, "-o", tmp_path / "x", *sizes, "--atol", "0", "--rtol", "1e-12"),
        2: ("convert", tmp_path / "nothing", "-o", target),  # of which not even the model is opened
    }
    for code, line in wrong.items():
        assert "is as it was" not in call(*line, code=code).stderr
    target.write_bytes(b"older")
    for code, line in wrong.items():
        assert call(*line, code=code).stderr.splitlines()[-1] == f"{target}, which was there, is as it was"
        told = json.loads(call(*line, "--json", code=code).stdout)
        assert told["kept"] == [str(target)]
        assert target.read_bytes() == b"older"
    beside = tmp_path / "x.onnx.data"
    beside.write_bytes(b"older")
    last = call(*wrong[1], "--external-data", code=1).stderr.splitlines()[-2:]
    assert last == [f"{place}, which was there, is as it was" for place in (target, beside)]
    assert "is as it was" not in call("convert", net, "-o", target, *sizes).stderr
    assert target.read_bytes() != b"older"


def test_a_file_that_was_written_over_is_not_as_it_was(tmp_path: Path) -> None:
    full, places = tmp_path / "full", [tmp_path / name for name in ("a", "b", "c", "d")]
    for place in places[:3]:
        place.write_bytes(b"older")
    for folder in (full, tmp_path / "empty"):
        folder.mkdir()
    (full / "one").write_bytes(b"older")
    older = Older(*places, None, tmp_path, full, tmp_path / "empty")
    (tmp_path / "new").write_bytes(b"newer")
    (tmp_path / "new").replace(places[1])
    places[2].unlink()
    places[3].write_bytes(b"newer")
    older.note(*places[:3], places[3])  # what is noted first counts
    assert older.kept == [str(places[0]), str(full), str(places[3])]
    (full / "two").write_bytes(b"newer")
    assert older.kept == [str(places[0]), str(places[3])]


WRITTEN = ("output", "place", "repro", "junit_to")
"""Parameters that name what is written. A report is written after an error too."""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_which_older_files_are_still_there(name: str, tmp_path: Path) -> None:
    """Whatever it writes to, when not even its model is opened."""
    there = []
    line: list[object] = [name]
    for parameter in command(name).params:
        file = tmp_path / f"{parameter.name}.npz"
        if parameter.name in WRITTEN:
            file = file if parameter.name != "output" or name != "import" else tmp_path / "output-symbol.json"
            file.write_bytes(b"older")
            there.append(str(file))
            given = tmp_path / "output" if file.suffix == ".json" else file
            line += [given] if parameter.param_type_name == "argument" else [parameter.opts[0], given]
        elif parameter.required or (parameter.param_type_name == "argument" and parameter.name in ("model", "where")):
            line.append(tmp_path / "nothing")
    if not there:
        assert name in ("diff", "matrix", "targets", "inspect", "bench", "explain")
        return
    assert json.loads(call(*line, "--json", code=2).stdout)["kept"] == there
    said = call(*line, code=2).stderr.splitlines()
    assert said[-len(there) :] == [f"{file}, which was there, is as it was" for file in there]


def test_what_is_written_by_default_is_noted_too(net: Path) -> None:
    """Beside a model that does not open, or that takes other sizes."""
    there = {
        n: net.with_name(f"model.{end}") for n, end in (("convert", "onnx"), ("record", "npz"), ("compile", "gluonnx"))
    }
    for file in there.values():
        file.write_bytes(b"older")
    for cut in (False, True):
        if cut:
            net.with_name("model-symbol.json").write_bytes(b"{")
        for name, file in there.items():
            told = call(name, net, "--input", "data:1,7,1,1", "--json", code=2).stdout
            assert json.loads(told)["kept"] == [str(file)], name


def test_of_many_models_those_that_fail_say_what_is_still_there(net: Path, tmp_path: Path) -> None:
    out, models = tmp_path / "out", tmp_path / "models.txt"
    out.mkdir()
    (out / "model.onnx").write_bytes(b"older")
    models.write_text(f"{net} --input data:1,7,1,1\n")
    said = call("convert", models, "-o", out, code=2).stdout
    assert f"{out / 'model.onnx'}, which was there, is as it was" in said


def test_seeds_are_of_any_size(net: Path, tmp_path: Path) -> None:
    """As the library takes them."""
    drawn = []
    for seed in (0, 2**31, 2**40):
        target = tmp_path / f"{seed}.onnx"
        call("convert", net, "-o", target, "--input", f"data:{SHAPE}", "--seed", seed)
        drawn.append(target.exists())
    assert all(drawn)
    assert (
        "0" in call("convert", net, "-o", tmp_path / "x.onnx", "--input", f"data:{SHAPE}", "--seed", -1, code=2).stderr
    )


LONG = "x" * 300


@pytest.mark.parametrize("name", ["", ".", LONG, f"{LONG}.txt"])
@pytest.mark.parametrize("command_line", [
    ["convert", "NAME"], ["convert", "NET", "-o", "NAME"], ["import", "NAME"], ["import", "FILE", "-o", "NAME"],
    ["inspect", "NAME"], ["run", "NET", "--inputs", "NAME"], ["record", "NET", "-o", "NAME"], ["record", "NAME"],
    ["compile", "NET", "-o", "NAME"], ["compile", "NAME"], ["deploy", "NAME", "out", "--to", "python"], ["check", "NAME"],
    ["diff", "NAME", "NET"], ["verify", "NET", "--expected", "NAME"], ["convert", "NET", "--quantize", "NAME"],
], ids=" ".join)  # fmt: skip
def test_names_that_no_system_takes_are_errors_like_others(
    command_line: list[str], name: str, net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    words = {"NAME": name, "NET": str(net), "FILE": str(FOLDER.parent / "onnx" / "nothing.onnx")}
    said = call(*(words.get(w, w) for w in command_line), code=2).stderr
    assert said.startswith("error: ") and "Traceback" not in said


def test_what_would_say_nothing_is_refused(net: Path, tmp_path: Path) -> None:
    """Bounds that nothing is below, draws beside numbers that are given, arrays of no numbers, folders and devices for files."""
    np.savez(tmp_path / "zero.npz", data=np.zeros((0, 1, 28, 28), np.float32))
    np.savez(tmp_path / "other.npz", dat=np.zeros((1, 1, 28, 28), np.float32))
    sizes = ("--input", f"data:{SHAPE}")
    for line, said in (
        (("convert", net, *sizes, "--quantize", "drawn", "--least", "nan"), "least: got nan, wanted"),
        (("record", net, "--inputs", tmp_path / "zero.npz", "--runs", "2"), "--runs 2: of inputs that are drawn"),
        (("convert", net, "--inputs", tmp_path / "zero.npz"), "got shape (0, 1, 28, 28), wanted sizes of 1 or more"),
        (("convert", net, "--quantize", tmp_path / "other.npz"), "other.npz: no input dat; there are data"),
        (("convert", net, "--inputs", tmp_path), f"{tmp_path}: a folder; wanted an .npz"),
        (("convert", net, *sizes, "-o", "/dev/null"), "/dev/null: a device or a pipe"),
        (("import", net.with_name("nothing.onnx"), "-o", "."), ".: a folder; give the prefix of the files to write"),
    ):
        assert said in call(*line, code=2).stderr


@pytest.mark.parametrize("options", [["--quantize", "drawn"], ["--fp16"], []], ids=str)
def test_no_note_is_said_twice(options: list[str], net: Path, tmp_path: Path) -> None:
    """On the terminal and in reports, where deploy's holds that of the conversion."""
    array = np.random.default_rng(0).normal(size=[int(d) for d in SHAPE.split(",")]).astype(np.float32)
    array[0, 0, 0, 0] = np.nan if not options else 0
    np.savez(tmp_path / "x.npz", data=array)
    report = tmp_path / "report.md"
    for line in (
        ("convert", net, "-o", tmp_path / "x.onnx", "-v"),
        ("convert", net, "-o", tmp_path / "x.onnx"),
        ("deploy", net, tmp_path / "out", "--to", "python", "--replace"),
        *([("verify", net, tmp_path / "x.onnx")] if not options else []),
    ):
        extra = [] if line[0] == "verify" else options
        fed = ("--input", f"data:{SHAPE}") if "drawn" in options else ("--inputs", tmp_path / "x.npz")
        said = call(*line, *extra, *fed, "--report", report).stdout
        assert ("note: " in said) == (options != ["--fp16"])
        for text in (said, report.read_text()):
            notes = [part for part in text.splitlines() if "note: " in part or "numbers: what comes" in part]
            assert len(notes) == len(set(notes)), notes
        told = json.loads(call(*line, *extra, *fed, "--json").stdout)
        assert len(told["warnings"]) == len(set(told["warnings"]))
        assert not set(told["warnings"]) & set((told.get("accuracy") or {"notes": ()})["notes"])
