"""The check of a built site sees what it is for."""

from pathlib import Path

import pytest

from bridge.troubles import TROUBLES
from tests.site.built import addresses, faults, main

INDEX = '{"docs": [{"location": "a.html#x", "text": "words"}]}'


def site(folder: Path, body: str, index: str = INDEX) -> list[str]:
    """Faults of a site of one page, with a body."""
    (folder / "search").mkdir()
    (folder / "search" / "search_index.json").write_text(index)
    (folder / "a.html").write_text(f'<html><h1 id="x">A</h1>{body}</html>')
    return list(faults(folder))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('<a href="a.html#x">', None),
        ('<a href="#x"><a href="https://example.org/b">', None),
        ('<a href="b.html">', "a.html: b.html is not there"),
        ('<a href="#y">', "a.html: #y has no such anchor"),
        ('<a href="../b.html">', "a.html: ../b.html is not there"),
        ('<img src="b.png">', "a.html: b.png is not there"),
        ('<script src="https://example.org/a.js">', "a.html fetches https://example.org/a.js"),
        ('<a href="https://github.com/x" data-md-component="source">', "a.html fetches https://api.github.com"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "a.html fetches //example.org/a.css"),
    ],
)
def test_links_and_what_is_fetched(tmp_path: Path, body: str, told: str | None) -> None:
    assert site(tmp_path, body) == ([] if told is None else [told])


@pytest.mark.parametrize("index", ['{"docs": []}', '{"docs": [{"location": "a.html", "text": " "}]}'])
def test_pages_without_a_place_in_the_search(tmp_path: Path, index: str) -> None:
    assert site(tmp_path, "", index) == ["a search does not find a.html"]


def test_a_folder_without_pages(tmp_path: Path) -> None:
    assert list(faults(tmp_path)) == [f"{tmp_path} has no pages", "there is no index to search"]


def test_every_entry_that_an_error_names_is_asked_for(tmp_path: Path) -> None:
    first, *rest = TROUBLES
    assert len(list(addresses(tmp_path))) == len(TROUBLES)
    (tmp_path / "troubleshooting.html").write_text("".join(f'<a id="{t.anchor}"></a>' for t in rest))
    (told,) = addresses(tmp_path)
    assert told.endswith(f"#{first.anchor}, which has no such anchor") and told.startswith(
        "an error names troubleshooting.html#"
    )
    assert main(tmp_path) == 1
