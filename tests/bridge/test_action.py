"""The GitHub action and the pre-commit hook: their commands are run as they stand in the files."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bridge.cli import app
from bridge.models import BadInput
from bridge.project.config import load_project
from tests.house.docs import ROOT
from tests.models.networks import FOLDER

ACTION = (ROOT / "action.yml").read_text()
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text()
PROJECT = '[model.lenet]\nfiles = ["model"]\nbaseline = "lenet.npz"\n'


def steps() -> list[dict[str, str]]:
    """The action's steps: their keys, and ``env.NAME`` of what they get. Of YAML no more than the file uses."""
    found: list[dict[str, str]] = []
    for part in re.split(r"^    - ", ACTION.partition("  steps:\n")[2], flags=re.MULTILINE)[1:]:
        step: dict[str, str] = {}
        block = ""
        for line in ("      " + part).splitlines():
            if line.startswith("        "):
                name, _, value = line.strip().partition(": ")
                if block == "run":
                    step["run"] += line[8:] + "\n"
                else:
                    step[f"{block}.{name}"] = value
            else:
                block, _, value = line.strip().partition(":")
                step[block] = "" if value.strip() == "|" else value.strip()
        found.append(step)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project, and a ``gluonnx`` on the path that is this checkout."""
    for file in FOLDER.joinpath("lenet").glob("model-*"):
        shutil.copy(file, tmp_path)
    shutil.copy(ROOT / "fixtures" / "recorded" / "lenet.npz", tmp_path)
    (tmp_path / "gluonnx.toml").write_text(PROJECT)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "gluonnx"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m bridge "$@"\n'
    )
    command.chmod(0o755)
    return tmp_path


def in_place(place: Path, **environment: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}", **environment}


def run_check(place: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Run the action's step with inputs of these values, as a runner does: bash -e -o pipefail."""
    step = next(s for s in steps() if s.get("id") == "check")
    defaults = dict(re.findall(r"^  ([a-z-]+):\n    description: .*\n    default: (.*)$", ACTION, re.MULTILINE))
    values = {**{n: v.strip('"') for n, v in defaults.items()}, **given}
    told = {
        name.removeprefix("env."): values[re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value)[1]]  # type: ignore[index]
        for name, value in step.items()
        if name.startswith("env.")
    }
    files = {"GITHUB_STEP_SUMMARY": str(place / "summary.md"), "GITHUB_OUTPUT": str(place / "outputs.txt")}
    script = place / "step.sh"
    script.write_text(step["run"])
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
    return subprocess.run(
        command, cwd=place, env=in_place(place, **files, **told), capture_output=True, text=True, check=False
    )


def test_the_action_says_what_fails(place: Path) -> None:
    symbol = (place / "model-symbol.json").read_text()
    (place / "wrong-symbol.json").write_text(symbol.replace('"act_type": "tanh"', '"act_type": "relu"'))
    shutil.copy(place / "model-0000.params", place / "wrong-0000.params")
    (place / "gluonnx.toml").write_text(PROJECT.replace('"model"', '"model", "wrong"'))
    done = run_check(place, report="out put")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 of 2 ok" in done.stdout
    assert "::error title=lenet%3A wrong FAIL::first: activation0 (Activation)" in done.stdout
    assert "::error title=lenet%3A model" not in done.stdout
    assert "::warning title=lenet%3A model::lenet.npz has only hashes of model" in done.stdout
    assert (place / "outputs.txt").read_text() == "status=1\nreport=out put\n"
    pages = {p.name for p in (place / "out put").iterdir()}
    assert pages == {"index.html", "junit.xml", "lenet--model.html", "lenet--wrong.html"}
    assert (place / "summary.md").read_text().startswith("### ❌ gluonnx: 1 of 2 ok")


@pytest.mark.slow
def test_the_step_that_installs_does(tmp_path: Path) -> None:
    """As it stands in the file, of this checkout, in pure Python, where what it depends on is there; the command that it leaves is
    of what was installed."""
    (step,) = (s for s in steps() if "env.INSTALL" in s)
    venv.create(tmp_path / "env", with_pip=importlib.util.find_spec("pip") is None)  # else it is there too
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (site / "there.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
    (tmp_path / "step.sh").write_text(step["run"])
    path = f"{tmp_path / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    told = {**os.environ, "INSTALL": str(ROOT), "GLUONNX_PURE": "1", "PATH": path}
    told.pop("PYTHONPATH", None)
    for command in (
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(tmp_path / "step.sh")],
        ["gluonnx", "--version"],
    ):
        done = subprocess.run(command, cwd=tmp_path, env=told, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"gluonnx \d", done.stdout)
    assert (site / "bridge" / "cli.py").exists()


def test_every_value_of_the_action_is_an_input_of_its() -> None:
    inputs = set(re.findall(r"^  ([a-z-]+):\n    description: .*\n    default: ", ACTION, re.MULTILINE))
    assert inputs == {"path", "fail-on", "report", "artifact", "install"}
    assert set(re.findall(r"inputs\.([a-z-]+)", ACTION)) == inputs
    for step in steps():
        assert step["name"]
        if "run" in step:
            assert step["shell"] == "bash"
            names = set(re.findall(r"\$\{?([A-Z_]+)", step["run"])) - {"GITHUB_OUTPUT"}
            assert names == {n.removeprefix("env.") for n in step if n.startswith("env.")}
            assert "${{" not in step["run"], "what a user gives is no part of a script"


def test_the_hook_checks_the_models_that_changed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = re.search(r"^  entry: (.*)$", HOOKS, re.MULTILINE)
    files = re.search(r"^  files: (.*)$", HOOKS, re.MULTILINE)
    assert entry is not None
    assert files is not None
    for name, taken in (("a/model-symbol.json", True), ("x.onnx", True), ("gluonnx.toml", True), ("a.toml", False)):
        assert bool(re.search(files[1], name)) == taken

    program, *arguments = shlex.split(entry[1])
    assert program == "gluonnx"
    monkeypatch.chdir(place)
    (place / "gluonnx.toml").write_text(PROJECT + '[model.other]\nfiles = ["gone.onnx"]\nbaseline = "lenet.npz"\n')
    for changed, status, said in (
        ("model-0000.params", 0, "1 of 1 ok"),
        ("gluonnx.toml", 2, "1 of 2 ok"),  # then all are checked
        ("unknown.onnx", 2, "unknown.onnx: no such file, and belongs to no model"),
    ):
        done = CliRunner().invoke(app, [*arguments, changed])
        assert done.exit_code == status, done.output
        assert said in done.output


def test_what_belongs_to_a_model(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    project = load_project()
    for name in (
        "model-symbol.json",
        "model-0000.params",
        "model-0012.params",
        "lenet.npz",
        place / "lenet.npz",
        "./model.params",
    ):
        assert len(project.only([name]).entries) == 1, name
    for name in ("model-x.params", "models-symbol.json", "a/model-symbol.json", "model.onnx"):
        with pytest.raises(BadInput, match=r"belongs to no model of gluonnx\.toml; its models are lenet"):
            project.only([name])


def value_of(expression: str, known: dict[str, str]) -> str:
    """A text of the action with its ``${{ }}`` worked out, as a runner does: names, '==', '!=', '&&', '||', always()."""

    def worked_out(found: re.Match[str]) -> str:
        python = re.sub(r"(inputs|github|steps)(\.[\w-]+)+", lambda m: repr(known.get(m[0], "")), found[1])
        python = python.replace("&&", " and ").replace("||", " or ").replace("always()", "True")
        assert re.fullmatch(r"[\s()=!]*(('[^']*'|and|or|True)[\s()=!]*)*", python), python
        found_value = eval(python)  # of texts and four words alone
        return str(found_value).lower() if isinstance(found_value, bool) else found_value

    return re.sub(r"\$\{\{ (.*?) \}\}", worked_out, expression)


def wheel(folder: Path) -> Path:
    """A package of the name gluonnx that holds next to nothing, ready to be installed without an index."""
    folder.mkdir(parents=True)
    path = folder / "gluonnx-0.0.1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("gluonnx_is_here.py", "")
        archive.writestr("gluonnx-0.0.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: gluonnx\nVersion: 0.0.1\n")
        archive.writestr(
            "gluonnx-0.0.1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        names = ("gluonnx_is_here.py", *(f"gluonnx-0.0.1.dist-info/{n}" for n in ("METADATA", "WHEEL", "RECORD")))
        archive.writestr("gluonnx-0.0.1.dist-info/RECORD", "".join(f"{n},,\n" for n in names))
    return path


@pytest.mark.parametrize(
    ("given", "installs", "status", "uploaded"),
    [
        ({}, True, 0, "gluonnx-report: gluonnx-report"),
        ({"artifact": "", "report": "out put"}, True, 0, ""),
        ({"path": "nothing here", "artifact": "pages", "report": "out put"}, True, 2, "pages: out put"),
        ({}, False, 1, ""),  # where nothing was installed, there is no report
    ],
)
def test_all_steps_one_after_the_other(
    place: Path, given: dict[str, str], installs: bool, status: int, uploaded: str
) -> None:
    """The action as a runner goes through it, from the install to the upload, of which only what it is told is looked at."""
    pytest.importorskip("pip")
    defaults = dict(re.findall(r"^  ([a-z-]+):\n    description: .*\n    default: (.*)$", ACTION, re.MULTILINE))
    values = {n: v.strip('"') for n, v in defaults.items()} | given
    known = {f"inputs.{n}": v for n, v in values.items()}
    known["github.action_path"] = str(wheel(place / "a place") if installs else place / "nowhere.whl")
    (place / "bin" / "python").symlink_to(sys.executable)
    site = place / "site"
    files = {"GITHUB_STEP_SUMMARY": str(place / "summary.md"), "GITHUB_OUTPUT": str(place / "outputs.txt")}
    pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_TARGET": str(site), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    (place / "outputs.txt").touch()
    failed, told = 0, ""
    for step in steps():
        wanted = value_of(step.get("if", "${{ always() }}"), known) == "true"
        if not wanted or (failed and "always()" not in step.get("if", "")):
            continue
        if "uses" in step:
            assert step["uses"].startswith("actions/upload-artifact@v")
            told = ": ".join(value_of(step[f"with.{n}"], known) for n in ("name", "path"))
            assert (place / value_of(step["with.path"], known)).is_dir()
            continue
        own = {n.removeprefix("env."): value_of(v, known) for n, v in step.items() if n.startswith("env.")}
        script = place / "step.sh"
        script.write_text(step["run"])
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        environment = in_place(place, **files, **pip, **own)
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        failed = failed or done.returncode
        lines = (place / "outputs.txt").read_text().splitlines()
        known |= (
            {f"steps.{step['id']}.outputs.{n}": v for n, _, v in (x.partition("=") for x in lines)}
            if "id" in step
            else {}
        )
    assert failed == status
    assert told == uploaded
    assert (site / "gluonnx_is_here.py").exists() == installs
