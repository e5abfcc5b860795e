"""The help of every command ends with two examples, and they run."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from typer.testing import CliRunner

import bridge
from bridge.cli import COMMANDS, app
from bridge.command.examples import EXAMPLES
from hybrid import native
from tests.house.docs import ROOT

LENET = ROOT / "fixtures" / "models" / "lenet"
CONFIG = """[model.lenet]
files = ["model", "model.onnx"]
"""
DIFFERS = {"diff": 1}
"""Exit statuses that are not 0."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the examples are written for."""
    made = tmp_path_factory.mktemp("examples")
    for name in ("model-symbol.json", "model-0000.params"):
        shutil.copy(LENET / name, made)
    np.savez(made / "inputs.npz", data=np.load(LENET / "inputs.npz")["data"][:1])
    bridge.convert(made / "model-symbol.json", output=made / "model.onnx", inputs={"data": (1, 1, 28, 28)})
    other = onnx.load(made / "model.onnx")
    weight = next(t for t in other.graph.initializer if len(t.dims) == 2)
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * 2, weight.name))
    onnx.save(other, made / "other.onnx")
    (made / "gluonnx.toml").write_text(CONFIG)
    return made


@pytest.fixture
def here(folder: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it as the current folder."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def examples_of(command: str) -> list[str]:
    """Examples at the end of a command's help."""
    told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    return [line.strip() for line in told.rpartition("Examples:")[2].splitlines() if line.strip()]


def test_every_command_has_two() -> None:
    assert [*EXAMPLES] == [*COMMANDS]
    for command, said in EXAMPLES.items():
        assert examples_of(command) == [*said]
        assert len(said) == 2 and all(line.startswith(f"gluonnx {command}") for line in said)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_of_the_help_is_cut_in_a_narrow_window(command: str) -> None:
    told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80", "TERM": "dumb"}).output
    assert "--help" in told and max(map(len, told.splitlines())) <= 80
    assert "\u2026" not in told, "a column is too narrow: give options with a long second form a group of their own"


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_run(command: str, here: Path) -> None:
    if command == "compile" and native.level() is None:
        pytest.skip("NumPy has no programs to save")
    for line in EXAMPLES[command]:
        for made in ("smallest", "served", "program"):
            shutil.rmtree(here / made, ignore_errors=True)
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == DIFFERS.get(command, 0), f"{line}\n{done.output}\n{done.exception!r}"
        assert all(list(here.glob(f"{name}*")) for name in re.findall(r"(?:-o|--report) (\S+)", line))
