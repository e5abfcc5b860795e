"""The README: two screens, lines that fit, badges that are true."""

import re

import pytest

from tests.house import badges
from tests.house.docs import ROOT

README = ROOT / "README.md"
PAGES = ["README.md", "examples/README.md"]
PAGES += [f"docs/{name}.md" for name in ("commands", "engine", "from-onnx", "programs", "python", "supported")]


def test_it_is_two_screens() -> None:
    assert len(README.read_text().splitlines()) <= 110


@pytest.mark.parametrize("page", PAGES)
def test_lines_fit(page: str) -> None:
    exempt = "|" if page != "README.md" else "\0"  # rows of tables, elsewhere
    long = [line for line in (ROOT / page).read_text().splitlines() if len(line) > 100 and line[:1] != exempt]
    assert not long, "\n".join(long)


def test_badges_are_true() -> None:
    for name, text in badges.badges().items():
        assert (badges.FOLDER / f"{name}.svg").read_text() == text, "python -m tests.house.badges draws them anew"
        assert f"docs/pictures/badges/{name}.svg" in README.read_text()


def test_pictures_are_there() -> None:
    shown = re.findall(r'(?:\]\(|src=")([^)"]+\.(?:svg|png))', README.read_text())
    assert len(shown) > 4
    assert all((ROOT / picture).exists() for picture in shown)
