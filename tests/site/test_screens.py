"""Pictures of what users see are there, small, fetch nothing, and are told of."""

import re

import pytest

from tests.house.docs import ROOT

pytest.importorskip("rich")

from bridge.faces.blocks import Line, Page
from tests.site.screens import FOLDER, SCREENS, terminal


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_there_and_small(name: str) -> None:
    assert 1_000 < (FOLDER / name).stat().st_size < 120_000
    told = (FOLDER / "README.md").read_text()
    assert f"`{name}`" in told


@pytest.mark.parametrize("name", ["convert.svg", "verify.svg"])
def test_a_terminal_fetches_nothing_and_says_what_the_page_says(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert "url(http" not in text and "@import" not in text and "/tmp" not in text
    assert f"pictures/{name})" in (ROOT / "docs" / "index.md").read_text()
    assert ("equivalent:" if name == "convert.svg" else "EQUIVALENT") in text


def test_a_terminal_shows_the_command_and_what_it_prints() -> None:
    said = terminal("gluonnx x", Page("t", (Line("a <b>", "good"),), "", ""))
    words = [re.sub("&#160;", " ", t) for t in re.findall(r"<text[^>]*>([^<]+)</text>", said)]
    assert "$ gluonnx x" in words and "a &lt;b&gt;" in words and "url(" not in said.replace("url(#", "")
