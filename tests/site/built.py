"""Check of the built site: ``python -m tests.site.built FOLDER`` tells every link that leads nowhere, everything that a page
fetches from the network, pages that the search does not find,
and entries that errors name and that are not there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bridge.troubles import TROUBLES


class Page(HTMLParser):
    """A page's anchors, links and what it fetches."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if given.get("data-md-component") == "source":  # the theme's script asks for the repository's stars
            self.fetched.append("https://api.github.com")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and "stylesheet" not in given.get("rel", "") and "icon" not in given.get("rel", ""):
            return
        elif tag in ("link", "script", "img", "iframe", "source"):
            self.fetched += [given[name] for name in ("href", "src") if name in given]


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def faults(folder: Path) -> Iterator[str]:
    """Everything that is wrong with the pages in the folder, each with its page."""
    pages = sorted(folder.rglob("*.html"))
    if not pages:
        yield f"{folder} has no pages"
    for path in pages:
        if path.name == "404.html":  # its addresses are those of the published site
            continue
        page, name = read(path), path.relative_to(folder)
        for target in page.fetched:
            if urlsplit(target).netloc:
                yield f"{name} fetches {target}"
        for target in dict.fromkeys((*page.links, *page.fetched)):
            yield from (f"{name}: {target} {why}" for why in _nowhere(path, folder, target))
    yield from _search(folder, pages)


def addresses(folder: Path) -> Iterator[str]:
    """Entries that commands name at the end of an error and the page of errors does not have."""
    for trouble in TROUBLES:
        target = f"troubleshooting.html#{trouble.anchor}"
        yield from (f"an error names {target}, which {why}" for why in _nowhere(folder / "index.html", folder, target))


def _nowhere(path: Path, folder: Path, target: str) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if place.is_dir():
        place /= "index.html"
    if not place.is_relative_to(folder.resolve()) or not place.is_file():
        yield "is not there"
    elif parts.fragment and place.suffix == ".html" and unquote(parts.fragment) not in read(place).anchors:
        yield "has no such anchor"


def _search(folder: Path, pages: list[Path]) -> Iterator[str]:
    """Pages with text of which the index of the search has none."""
    file = folder / "search" / "search_index.json"
    if not file.is_file():
        yield "there is no index to search"
        return
    entries = json.loads(file.read_text(encoding="utf-8"))["docs"]
    told = {entry["location"].partition("#")[0] for entry in entries if entry["text"].strip()}
    for path in pages:
        name = path.relative_to(folder).as_posix()
        if name not in told | {"404.html", "index.html"}:
            yield f"a search does not find {name}"


def main(folder: Path) -> int:
    folder = folder.resolve()
    found = [*faults(folder), *addresses(folder)]
    print(
        "\n".join(found)
        or f"{len(list(folder.rglob('*.html')))} pages: all links lead somewhere, nothing is fetched, search finds all"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
