"""Exit statuses and JSON of every command: what the documents say is what is printed."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hybrid as mx
from bridge.cli import COMMANDS, app
from bridge.command import running, shell
from bridge.faces.data import dumps
from hybrid import native
from tests.bridge.schemas import Schema
from tests.house.docs import ROOT

STATUSES, SCHEMA = ROOT / "docs" / "exit-statuses.md", ROOT / "docs" / "report-schema.md"
FORMAL: dict[str, Any] = json.loads((ROOT / "docs" / "report-schema.json").read_text())
"""The JSON Schema of what SCHEMA says."""
COMMON = {"schema", "command", "exit", "date", "versions", "machine"}
SIZE = ("--input", "data:2,4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """net and its copy; wrong, of other weights; flat, which is constant; nan, which gives nothing else."""
    folder = tmp_path_factory.mktemp("statuses")
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    rng = np.random.default_rng(0)
    weights = {"net": rng.normal(size=(3, 4)), "wrong": rng.normal(size=(3, 4)), "flat": np.zeros((3, 4))}
    weights["nan"] = np.full((3, 4), np.nan)
    for name, weight in weights.items():
        params = {
            "fc_weight": mx.nd.array(weight),
            "fc_bias": mx.nd.array([1.0, 2.0, 3.0] if weight.any() else [0.0, 0.0, 0.0]),
        }
        mx.model.save_checkpoint(str(folder / name), 0, x, params, {})
    for end in ("symbol.json", "0000.params"):
        shutil.copy(folder / f"net-{end}", folder / f"copy-{end}")
    np.savez(folder / "x.npz", data=np.ones((2, 4), np.float32))
    (folder / "list.txt").write_text("net --input data:2,4\n")
    (folder / "gluonnx.toml").write_text(
        '[model.net]\nfiles = ["net-symbol.json", "copy-symbol.json"]\ninputs = {data = [2, 4]}\n'
    )
    return folder


@pytest.fixture
def told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Exit status and JSON of a command that runs in the folder."""
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> tuple[int, dict[str, Any]]:
        done = CliRunner().invoke(app, [*arguments, "--json"])
        assert done.stdout.count("\n") == 1 and not done.stderr, (arguments, done.stderr)
        data = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))
        assert data["exit"] == done.exit_code, arguments
        assert not faults(data, "error" if "error" in data else None), arguments
        return done.exit_code, data

    return call


def faults(data: dict[str, Any], heading: str | None = None) -> list[str]:
    """Faults of an object, beside the schema: of a part, and nothing beside it; without one of any part."""
    return Schema(FORMAL, alone=heading is not None).faults(data, heading)


def documented() -> dict[str, set[str]]:
    """Fields in the first table of each section of the schema, by its heading."""
    found = {}
    for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", SCHEMA.read_text(), re.M | re.S):
        rows = re.search(r"(?:^\|.*\n)+", body, re.M)
        if rows:
            found[heading] = {n for row in rows[0].splitlines()[2:] for n in re.findall(r"`(\w+)`", row.split("|")[1])}
    return found


# the heading of the schema, and what gives it; in this order: some read what others have written
CALLS = [
    ("convert", ("convert", "net", *SIZE, "-o", "net.onnx")),
    ("convert of a list", ("convert", "list.txt", "-o", "many")),
    ("import", ("import", "net.onnx", "-o", "back", *SIZE)),
    ("verify", ("verify", "net", "net.onnx", *SIZE)),
    ("verify --target", ("verify", "net.onnx", "--target", "onnxruntime", *SIZE)),
    ("deploy", ("deploy", "net", "served", "--to", "triton", *SIZE)),
    ("record", ("record", "net", *SIZE, "-o", "recorded.npz")),
    ("diff", ("diff", "net", "copy")),
    ("reduce", ("reduce", "net", "wrong", *SIZE, "-o", "reduced")),
    ("matrix", ("matrix", "net", "net.onnx", *SIZE)),
    ("check", ("check", ".")),
    ("inspect", ("inspect", "net")),
    ("inspect --nodes", ("inspect", "net", "--nodes")),
    ("inspect --operators", ("inspect", "--operators")),
    ("run", ("run", "net", "--inputs", "x.npz")),
    ("compile", ("compile", "net", *SIZE, "-o", "net.gnx")),
    ("bench", ("bench", "net", *SIZE, "--seconds", "0.01")),
    ("targets", ("targets",)),
    ("explain", ("explain", "opset")),
]


def test_json_of_every_command_is_documented(told: Callable[..., tuple[int, dict[str, Any]]]) -> None:
    tables = documented()
    assert tables["Every command"] == COMMON
    assert {call[0] for _, call in CALLS} == {*COMMANDS}
    problems = []
    for heading, call in CALLS:
        if heading == "compile" and native.level() is None:  # NumPy has no programs to save
            continue
        status, data = told(*call)
        there = {*data} - COMMON
        if status not in (0, 1) or there != tables[heading]:
            problems.append((heading, status, data.get("error"), sorted(there ^ tables[heading])))
        problems += [(heading, fault) for fault in faults(data, heading)]
    assert not problems, "\n".join(map(str, problems))


def test_the_schema_has_the_fields_that_are_documented() -> None:
    tables = documented()
    parts = FORMAL["$defs"]
    assert {*parts["envelope"]["properties"]} == COMMON
    for heading in {heading for heading, _ in CALLS} - {"verify"}:
        assert {*parts[heading]["required"]} == tables[heading], heading
        assert {*parts[heading]["properties"]} - tables[heading] <= {
            "accuracy",
            "against",
            "pictures",
            "precision",
            "ranked",
        }
    assert {*parts["verification"]["required"]} == tables["verify"]
    assert {*parts["error"]["required"]} == tables["An error"]


# what is asked for, its part of the schema or "error", and the exit status
OTHERS = [
    (("verify", "net", "wrong", *SIZE), "verify", 1),
    (("verify", "net", "nan", *SIZE), "verify", 1),
    (("verify", "nan", "nan", *SIZE), "verify", 4),
    (("verify", "net", "--expected", "recorded.npz"), "verify", 0),
    (("diff", "net", "wrong"), "diff", 1),
    (("matrix", "net", "wrong", *SIZE), "matrix", 1),
    (("check", "apart"), "check", 1),
    (("targets", "openvino"), "targets", 0),
    (("inspect", "net", *SIZE), "inspect", 0),
    (("inspect", "net", "--operators"), "inspect --operators", 0),
    (("run", "nan", "--inputs", "x.npz", "-o", "out.npz"), "run", 0),
    (("run", "net", "--inputs", "x.npz", "--precision", "bfloat16"), "run", 0),
    (("convert", "nan", *SIZE, "-o", "nan.onnx"), "convert", 0),
    (("convert", "net", *SIZE, "-o", "half.onnx", "--fp16"), "convert", 0),
    (("convert", "net", *SIZE, "-o", "plain.onnx", "--no-verify", "--target", "onnxruntime"), "convert", 0),
    (("convert", "flat", *SIZE, "-o", "flat.onnx"), "convert", 0),
    (("convert", "flat", *SIZE, "-o", "strict.onnx", "--strict"), "error", 4),
    (("convert", "net", "-o", "sizes.onnx"), "error", 2),
    (("convert", "bad.txt", "-o", "many"), "error", 2),
    (("import", "broken.onnx"), "error", 2),
    (("deploy", "net", "served", "--to", "nowhere"), "error", 2),
    (("record", "--script"), "error", 2),
    (("reduce", "net", "copy", *SIZE, "-o", "none"), "error", 2),
    (("matrix", "net", "--runners", "nobody"), "error", 2),
    (("check", "nowhere"), "error", 2),
    (("compile", "nowhere"), "error", 2),
    (("bench", "net", "--seconds", "x"), "error", 2),
    (("targets", "nobody"), "error", 2),
    (("explain", "nobody"), "error", 2),
    (("verify",), "error", 2),
    (("verify", "net", "net", "--none"), "error", 2),
    (("nothing",), "error", 2),
    ((), "error", 2),
]


def test_json_of_what_goes_otherwise(told: Callable[..., tuple[int, dict[str, Any]]], folder: Path) -> None:
    (folder / "broken.onnx").write_bytes(b"none")
    (folder / "bad.txt").write_text("nowhere --input data:2,4\n")
    (folder / "apart").mkdir()
    for name in ("net", "wrong"):
        for end in ("symbol.json", "0000.params"):
            shutil.copy(folder / f"{name}-{end}", folder / "apart")
    (folder / "apart" / "gluonnx.toml").write_text(
        '[model.net]\nfiles = ["net-symbol.json", "wrong-symbol.json"]\ninputs = {data = [2, 4]}\n'
    )
    assert told("record", "net", *SIZE, "-o", "recorded.npz")[0] == 0
    problems = []
    for call, heading, wanted in OTHERS:
        status, data = told(*call)
        if status != wanted or ("error" in data) != (heading == "error"):
            problems.append((call, status, data.get("error")))
        problems += [(call, fault) for fault in faults(data, heading)]
    assert not problems, "\n".join(map(str, problems))
    status, data = told("convert", "flat", *SIZE, "-o", "strict.onnx", "--strict")
    assert data["verification"]["verdict"] == "says little" and data["problems"] == [data["error"]]
    status, data = told("record", "net", *SIZE, "-o", "recorded.npz")
    assert data["machine"]["cores"] and data["facts"]["date"]  # its own machine and date hide nobody's
    assert told("convert", "flat", *SIZE, "-o", "flat.onnx")[1]["verification"]["verdict"] == "says little"


def test_the_schema_is_one_of_json_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(FORMAL)


def test_the_schema_is_held_to_every_field() -> None:
    """Faults are found: fields that are missing, of another type, or that the schema has not."""
    error = {"schema": "gluonnx-report/1", "command": "", "exit": 2, "date": "2026-01-31T12:00:00Z"}
    error |= {"versions": dict.fromkeys(("gluonnx", "python", "numpy", "onnx", "onnxruntime"), "1")}
    error |= {"machine": {"system": "", "processor": "", "cores": 1, "kernels": None}}
    error |= {"error": "no", "problems": ["no"], "see": ""}
    assert not faults(error) and not faults(error, "error")
    for change in (
        {"exit": "2"},
        {"exit": True},
        {"problems": []},
        {"problems": [3]},
        {"machine": "x86_64"},
        {"date": "now"},
    ):
        assert faults({**error, **change}) and faults({**error, **change}, "error"), change
    assert faults({**error, "more": 1}, "error") and not faults({**error, "more": 1})
    assert faults({k: v for k, v in error.items() if k != "see"}, "error")


def test_numbers_of_numpy_are_numbers() -> None:
    value = {"a": np.int64(3), "b": np.float32(np.nan), "c": np.array([1.5, np.inf]), "d": np.bool_(True)}
    assert json.loads(dumps(value)) == {"a": 3, "b": "nan", "c": [1.5, "inf"], "d": True}


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_json_on_a_terminal_is_one_line(folder: Path) -> None:
    import pty

    pid, file = pty.fork()
    if not pid:
        os.chdir(folder)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        call = [sys.executable, "-m", "gluonnx", "verify", "net", "copy", *SIZE, "--json"]
        os.execve(sys.executable, call, environment)
    found = b""
    with suppress(OSError):  # the other end is shut
        while piece := os.read(file, 1 << 16):
            found += piece
    os.close(file)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert json.loads(found)["verdict"] == "equivalent" and found.count(b"\n") == 1


def statuses() -> dict[int, str]:
    """Rows of the table of statuses."""
    return {int(n): row for n, row in re.findall(r"^\| (\d+) \| (.*)$", STATUSES.read_text(), re.M)}


def test_statuses_are_those_of_the_code() -> None:
    names = (shell.NOT_EQUIVALENT, shell.BAD_INPUT, shell.RUNTIME, shell.SAYS_LITTLE, shell.INTERNAL, shell.INTERRUPTED)
    assert {*statuses()} == {0, *names}


def test_statuses_as_they_are_given(
    told: Callable[..., tuple[int, dict[str, Any]]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told("verify", "net", "copy", *SIZE)[0] == 0
    assert told("verify", "net", "wrong", *SIZE)[0] == 1
    assert told("diff", "net", "wrong")[0] == 1
    status, data = told("convert", "nowhere", *SIZE, "-o", "nowhere.onnx")
    assert status == 2 and data["problems"] and not (folder / "nowhere.onnx").exists()
    assert told("verify", "flat", "flat", *SIZE)[0] == 4
    (folder / "broken.onnx").write_bytes(b"none")
    assert told("verify", "net", "broken.onnx", *SIZE)[0] == 2
    for error, status in (
        (shell.bridge.EngineError("it crashed"), 3),
        (ZeroDivisionError("ours"), 70),
        (KeyboardInterrupt(), 130),
    ):

        def fails(*_: Any, **__: Any) -> None:
            raise error  # noqa: B023  called at once

        monkeypatch.setattr(running.bridge, "inspect", fails)
        assert told("inspect", "net")[0] == status


def test_an_interrupted_command_says_what_became_of_its_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running.bridge, "inspect", interrupted)
    done = CliRunner().invoke(app, ["inspect", "net"])
    assert done.exit_code == 130
    assert done.stderr == "error: interrupted: what was not finished was not written\n"
    status_of_json = CliRunner().invoke(app, ["inspect", "net", "--json"])
    assert status_of_json.exit_code == 130
    assert json.loads(status_of_json.stdout)["error"].startswith("interrupted")
