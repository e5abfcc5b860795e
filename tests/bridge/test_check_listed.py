"""Models that a gluonnx.toml does not name, and paths that are none of its models': gluonnx check says so."""

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.project import github
from bridge.project.config import NAME, load_project
from bridge.project.junit import junit
from bridge.project.unlisted import unlisted

runner = CliRunner()
ONE = '[model.one]\nfiles = ["models/one/one", "models/one/one.onnx"]\n'
NOTE = "not in gluonnx.toml, and not checked: "


def call(*arguments: object, code: int = 0) -> str:
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a gluonnx.toml that lists one of two models."""
    monkeypatch.chdir(tmp_path)
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    params = {"arg:fc_weight": mx.nd.array([[1, 2, 3], [3, 1, 2]]), "arg:fc_bias": mx.nd.array([0, 1])}
    for name in ("one", "two"):
        folder = tmp_path / "models" / name
        folder.mkdir(parents=True)
        (folder / f"{name}-symbol.json").write_text(symbol.tojson())
        mx.nd.save(str(folder / f"{name}-0003.params"), params)
        bridge.convert(folder / name, inputs={"data": (1, 3)}, output=folder / f"{name}.onnx", verify=False)
    (tmp_path / NAME).write_text(ONE)
    return tmp_path


def test_models_that_are_not_listed_are_named(project: Path) -> None:
    said = call("check")
    assert "1 of 1 ok" in said
    assert f"note: {NOTE}models/two/two (-symbol.json, .onnx); list them in gluonnx.toml, or leave" in said
    shutil.copy(project / "models" / "two" / "two.onnx", project / "more.onnx")
    assert f"{NOTE}models/two/two (-symbol.json, .onnx), more.onnx; list" in call("check"), "each as it lies there"
    (project / "more.onnx").unlink()
    result = bridge.check(project)
    assert result.ok
    assert result.as_dict()["unlisted"] == ["models/two/two-symbol.json", "models/two/two.onnx"]
    assert [line for line in github.commands(result) if NOTE in line]
    told = json.loads(runner.invoke(app, ["check", "--json"]).output)
    assert told["unlisted"] == list(result.unlisted)


def test_they_are_a_reason_to_fail_where_somebody_says_so(project: Path) -> None:
    said = call("check", "--fail-on", "differs,unlisted", code=2)
    assert "two models/two/two.onnx UNLISTED in no files of gluonnx.toml" in said
    assert "1 of 3 ok" in said
    assert NOTE not in said
    (project / NAME).write_text(f'[check]\nfail-on = ["unlisted"]\n{ONE}')
    result = bridge.check(project)
    assert [(f.model, f.file, f.status) for f in result.files[1:]] == [
        ("two", "models/two/two-symbol.json", "unlisted"),
        ("two", "models/two/two.onnx", "unlisted"),
    ]
    assert 'type="unlisted"' in junit(result)
    (project / NAME).write_text(f'[check]\nfail-on = ["unlisted"]\n{ONE}{ONE.replace("one", "two")}')
    assert bridge.check(project).ok


def test_so_it_is_where_each_model_has_a_process(project: Path) -> None:
    """Of which none sees more than its own model."""
    (project / NAME).write_text(f"[check]\nfail-on = ['unlisted']\n{ONE}")
    assert "models/two/two.onnx UNLISTED" in call("check", "--on", "local", code=2)


@pytest.mark.parametrize("pattern", ["models/two", "./models/two/", "models/tw*", "*/two*", "models/two/*"])
def test_what_is_ignored_is_no_models_of_the_project(project: Path, pattern: str) -> None:
    (project / NAME).write_text(f'[check]\nignore = ["{pattern}"]\n{ONE}')
    assert bridge.check(project).unlisted == ()
    assert "note: models/two/two.onnx belongs to no model" in call("check", NAME, "models/two/two.onnx")


def test_what_is_to_be_ignored_is_a_list(project: Path) -> None:
    (project / NAME).write_text(f'[check]\nignore = "models/two"\n{ONE}')
    assert "[check] ignore: got 'models/two', wanted a list of paths or patterns" in call("check", code=2)


def test_folders_of_tools_and_of_other_projects_are_not_looked_through(project: Path) -> None:
    for place in (".git", ".venv", "node_modules", "env", "other", "link", "folder"):
        if place != "link":
            shutil.copytree(project / "models" / "two", project / place)
    (project / "env" / "pyvenv.cfg").touch()
    (project / "other" / NAME).write_text(ONE)
    shutil.rmtree(project / "models" / "two")
    os.symlink(project / "other", project / "link")
    assert unlisted(load_project(project)) == ("folder/two-symbol.json", "folder/two.onnx")


def test_a_listed_folder_holds_its_model(project: Path) -> None:
    for name in ("one", "two"):
        (project / "models" / name / f"{name}.onnx").unlink()
    (project / NAME).write_text('[model.both]\nfiles = ["models/one", "models/two"]\ninputs = { data = [1, 3] }\n')
    result = bridge.check(project)
    assert (result.ok, result.unlisted) == (True, ())
    assert "1 of 1 ok" in call("check", NAME, "models/two/two-symbol.json")


def test_nothing_is_unlisted_where_some_models_were_asked_for_or_there_is_no_list(project: Path) -> None:
    assert "not in gluonnx.toml" not in call("check", NAME, "models/one/one.onnx")
    (project / NAME).unlink()
    assert bridge.check(project).unlisted == ()


def test_a_path_that_belongs_to_no_model_is_an_error(project: Path) -> None:
    (project / "models" / "new").mkdir()
    shutil.copy(project / "models" / "one" / "one.onnx", project / "models" / "new")
    for path in ("models/new/one.onnx", "models/two/two", "models/two/two-symbol.json"):
        said = call("check", NAME, path, code=2)
        assert f"{path}: belongs to no model of gluonnx.toml; its models are one" in said
    said = call("check", NAME, "models/one/one.onnx", "models/on/one.onnx", code=2)
    assert "models/on/one.onnx: no such file, and belongs to no model of gluonnx.toml" in said
    assert "belongs to no model" in call("check", NAME, "models/two/two.onnx", "--on", "local", code=2)
    (project / NAME).unlink()
    assert "models/gone.onnx: no such file, and belongs to no model of ." in call(
        "check", ".", "models/gone.onnx", code=2
    )


def test_the_prefix_of_a_symbol_that_is_listed_by_its_file(project: Path) -> None:
    (project / NAME).write_text(ONE.replace('one/one",', 'one/one-symbol.json",'))
    assert "1 of 1 ok" in call("check", NAME, "models/one/one")


def test_a_hook_may_give_arrays_and_parameters_of_nobody(project: Path) -> None:
    """All files that changed, whatever they are."""
    shutil.copy(project / "models" / "two" / "two-0003.params", project / "more.params")
    said = call("check", NAME, "models/one/one.onnx", "more.params")
    assert "note: more.params belongs to no model of gluonnx.toml" in said
    assert "1 of 1 ok" in said
