"""The notebooks of docs/notebooks run, and show what they hold."""

import json

import pytest

from tests.house.docs import ROOT
from tests.house.notebooks import run, run_cell, text_of

BOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LARGEST = 150_000
"""Bytes."""


@pytest.mark.parametrize("path", BOOKS, ids=lambda p: p.stem)
def test_notebooks_show_what_they_hold(path) -> None:
    for cell, outputs in run(path):
        assert text_of(outputs) == text_of(cell["outputs"]), "".join(cell["source"])
        assert [o["output_type"] for o in outputs] == [o["output_type"] for o in cell["outputs"]]


def test_notebooks_are_small_and_whole() -> None:
    assert len(BOOKS) == 3
    for path in BOOKS:
        assert path.stat().st_size < LARGEST
        book = json.loads(path.read_text())
        assert book["nbformat"] == 4 and book["cells"][0]["cell_type"] == "markdown"
        assert all(len(line) <= 100 for c in book["cells"] for line in "".join(c["source"]).splitlines())


def test_a_cell_shows_what_it_prints_and_its_value() -> None:
    names: dict[str, object] = {}
    outputs = run_cell("x = 3\nprint('a')\nx + 1", names, "cell")
    assert text_of(outputs) == ["a\n", "4"] and names["x"] == 3
    assert run_cell("x = 1", names, "cell") == run_cell("None", names, "cell") == []
    with pytest.raises(ZeroDivisionError):
        run_cell("1 / 0", names, "cell")
