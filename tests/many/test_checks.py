"""gluonnx check --on goes on after a break, and checks anew what has changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bridge.convert import convert
from bridge.many.checks import check_all
from bridge.many.children import Task
from bridge.many.notes import NOTES, read_with
from bridge.paths import BadInput
from bridge.project.config import load_project
from bridge.project.results import CheckResult
from tests.models.networks import FOLDER


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three models and their conversions, which is the current one."""
    shutil.copytree(FOLDER / "mlp_activations", tmp_path / "a")
    convert(tmp_path / "a", output=tmp_path / "a" / "model.onnx", inputs={"data": (4, 20)}, external_data=True)
    for name in "bc":
        shutil.copytree(tmp_path / "a", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Doing:
    """Says that models are well without looking at them, some apart, and is interrupted after so many."""

    def __init__(self, most: int = 100, killed: Sequence[str] = ()) -> None:
        self.most, self.killed, self.asked = most, killed, []

    def __call__(self, tasks: Sequence[Task]) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, task in enumerate(tasks):
            if number == self.most:
                raise KeyboardInterrupt
            name = Path(task.arguments[-1]).parent.name
            self.asked.append(name)
            if name in self.killed:
                yield number, {"exit": 3, "result": None, "killed": "signal 9", "seconds": 0.1}
                continue
            entry = next(e for e in load_project(".").entries if e.name == f"{name}/model")
            told = {"model": entry.name, "status": "ok", "detail": "", "largest": 1e-7, "before": None, "seconds": 0.1}
            files = [{**told, "file": file} for file in entry.files[1:]]
            yield number, {"exit": 0, "result": json.loads(json.dumps({"files": files})), "killed": None}


def check(doing: Doing) -> CheckResult:
    return check_all(Path("."), (), None, 60.0, doing, lambda done, of, name: None)


def test_it_goes_on_after_a_break(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        check(Doing(most=2))
    rest = Doing()
    found = check(rest)
    assert rest.asked == ["c"]
    assert [f.again for f in found.files] == [True, True, False]
    assert [f.largest for f in found.files] == [1e-7] * 3
    assert found.ok
    assert found.summary == "3 of 3 ok, 2 of them from before"
    assert not (place / NOTES).exists()  # it has come to its end: the next one looks at all of them
    whole = Doing()
    check(whole)
    assert whole.asked == ["a", "b", "c"]


def test_what_is_not_well_is_checked_again(place: Path) -> None:
    assert check(Doing(killed="b")).exit_status == 3
    rest = Doing()
    assert check(rest).ok
    assert rest.asked == ["b"]


@pytest.mark.parametrize("changed", ["model-0000.params", "model.onnx", "model.onnx.data", "signature.json"])
def test_what_has_changed_is_checked_again(changed: str, place: Path) -> None:
    check(Doing(killed="c"))
    with (place / "b" / changed).open("ab") as file:
        file.write(b"{}")
    rest = Doing()
    check(rest)
    assert rest.asked == ["b", "c"]


def test_limits_and_settings_are_part_of_it(place: Path) -> None:
    check(Doing(killed="c"))
    text = "\n".join(f'[model."{n}/model"]\nfiles = ["{n}/model-symbol.json", "{n}/model.onnx"]' for n in "abc")
    (place / "gluonnx.toml").write_text(f"{text}\ntolerance = {{ atol = 1e-3 }}\n")
    rest = Doing()
    check(rest)
    assert rest.asked == ["c"]  # those of the others are as they were


def test_where_nothing_can_be_written_all_are_checked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    check(Doing(killed="c"))
    assert not (place / NOTES).exists()


def test_files_that_are_read(place: Path) -> None:
    assert [p.name for p in read_with(place / "a" / "model.onnx")] == ["model.onnx", "model.onnx.data"]
    names = [p.name for p in read_with(place / "a" / "model")]
    assert names[0] == "model-symbol.json"
    assert {"model-0000.params", "signature.json"} <= {*names}
    assert read_with(place / "none") == [place / "none"]


def test_a_process_looks_at_the_folder_of_its_model_alone(place: Path) -> None:
    whole = load_project(".").entries
    assert [load_project(".", [f"{n}/model.onnx"]).entries for n in "abc"] == [(e,) for e in whole]
    shutil.copyfile(place / "a" / "model.onnx", place / "model-fp16.onnx")
    assert load_project(".", ["model-fp16.onnx"]).entries == ()  # alone, as in the whole folder
    (place / "elsewhere").mkdir()
    shutil.copyfile(place / "a" / "model.onnx", place / "elsewhere" / "alone.onnx")
    assert load_project(".", ["elsewhere/alone.onnx", "a/model.onnx"]).entries == whole[:1]
    with pytest.raises(BadInput, match=r"gone\.onnx: no such file, and belongs to no model"):
        load_project(".", ["elsewhere/gone.onnx", "a/model.onnx"])
