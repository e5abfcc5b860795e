"""Programs written for MXNet show what they showed there (fixtures/gluon/programs)."""

import json
import warnings
from pathlib import Path

import pytest

import hybrid as mx
from tests.gluon import graph_programs, programs  # noqa: F401  they fill PROGRAMS
from tests.gluon.stage import PROGRAMS, Stage

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures" / "gluon" / "programs" / "shown.json").read_text())


def test_all_programs_are_recorded() -> None:
    assert set(PROGRAMS) == set(RECORDED)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, tmp_path: Path) -> None:
    stage = Stage(mx, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PROGRAMS[name](stage)
    assert len(stage.lines) == len(RECORDED[name])
    for got, wanted in zip(stage.lines, RECORDED[name], strict=True):
        if wanted[0] == "raises":
            kinds = [k for k in wanted[1] if k not in ("BaseException",)]
            assert got[0] == "raises", f"no error where MXNet raised {kinds[0]}: {got}"
            assert kinds[0] in got[1], f"got {got[1]}, wanted {kinds[0]}"
        else:
            assert got == wanted
