"""Exit statuses and JSON of every command: what the documents say is what is printed."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import hybrid as mx
from bridge.cli import COMMANDS, app
from bridge.command import running, shell
from hybrid import native
from tests.house.docs import ROOT

STATUSES, SCHEMA = ROOT / "docs" / "exit-statuses.md", ROOT / "docs" / "report-schema.md"
COMMON = {"schema", "command", "date", "versions", "machine"}
SIZE = ("--input", "data:2,4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """net and its copy; wrong, of other weights; flat, which is constant."""
    folder = tmp_path_factory.mktemp("statuses")
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    rng = np.random.default_rng(0)
    weights = {"net": rng.normal(size=(3, 4)), "wrong": rng.normal(size=(3, 4)), "flat": np.zeros((3, 4))}
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
        return done.exit_code, json.loads(done.stdout)

    return call


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
    assert not problems, "\n".join(map(str, problems))


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
