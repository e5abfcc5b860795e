"""Additions of the site to docs/, as mkdocs calls them (mkdocs.yml): pages made of the code, documents of the root, links."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # mkdocs runs this file by its path

from mkdocs.structure.files import File, Files  # noqa: E402

from hybrid.core.version import REPOSITORY  # noqa: E402
from tests.site import decisions, notebooks, operators, reference  # noqa: E402

DOCUMENTS = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages that are documents of the root."""
REST = "Convert and prove"
"""The section that pages go to which mkdocs.yml does not name."""
BOOST = {
    "accuracy.md": 0.3,
    "backend-suite.md": 0.3,
    "benchmarks.md": 0.3,
    "changelog.md": 0.3,
    "core.md": 0.5,
    "reliability.md": 0.3,
}
BOOST |= {"troubleshooting.md": 2, "operators.md": 1.5}
"""Weight of a page in the search, 1 where nothing is said: tables of measurements after pages that teach."""
FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)[ ]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\(|(?:src|href)=\")([^)\s\"]+)")
FETCHED = re.compile(r'<script src="?https://unpkg\.com/iframe-worker/shim"?></script>')
ITEM = re.compile(r"^(?:[-*] |\d+\. )")


def on_config(config: Any) -> Any:
    """Put the pages of folders in their places in the navigation, and those that it does not name in theirs."""
    docs = Path(config["docs_dir"])
    made = {*DOCUMENTS, *_made()}
    known = {*made, *(p.relative_to(docs).as_posix() for p in docs.rglob("*.md"))}
    nav = [_expanded(part, known) for part in config["nav"]]
    left = sorted(known - set(_pages(nav)))
    next(part for part in nav if REST in part)[REST] += left
    config["nav"] = [part for part in nav if [*part.values()] != [[]]]
    return config


def _made() -> dict[str, str]:
    """Text by the name of the page, of those that are made of the code and of other pages."""
    return {decisions.PAGE: decisions.page(), **notebooks.pages(), **reference.pages()}


def _expanded(part: Any, known: set[str]) -> Any:
    """A part of the navigation with pages in the place of folders."""
    if isinstance(part, dict):
        ((title, inner),) = part.items()
        if isinstance(inner, list):
            inner = [p for i in inner for p in (_of_folder(i, known) if isinstance(i, str) else [_expanded(i, known)])]
        return {title: inner}
    return part


def _of_folder(name: str, known: set[str]) -> list[str]:
    inside = [page for page in known if posixpath.dirname(page) == name.rstrip("/")]
    return sorted(inside, key=lambda page: (not page.endswith("index.md"), page)) if name.endswith("/") else [name]


def _pages(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _pages(inner)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are no files of docs/."""
    texts = {page: (ROOT / name).read_text(encoding="utf-8") for page, name in DOCUMENTS.items()}
    for page, text in (texts | _made()).items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Add to pages what the code says; turn links that leave docs/ to where the site or the repository has what they name; begin
    lists as Markdown here wants it."""
    place = page.file.src_uri
    if place in BOOST:
        page.meta["search"] = {"boost": BOOST[place]}
    if place == operators.PAGE:
        markdown = operators.page(markdown)
    origin = DOCUMENTS.get(place, f"docs/{place}")
    parts = FENCE.split(markdown)
    return "".join(p if FENCE.fullmatch(p) else _lists(_links(p, origin, place)) for p in parts)


def _links(text: str, origin: str, place: str) -> str:
    """origin: the path of the file that has the links, from the root; place: that of the page, from docs/."""

    def turned(found: re.Match[str]) -> str:
        target, _, anchor = found[2].partition("#")
        if not target or "://" in target or target.startswith(("mailto:", "data:")):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        inside = {name: page for page, name in DOCUMENTS.items()}.get(path) or path.removeprefix("docs/")
        if inside == path and not path.startswith("docs/"):
            inside = ""
        if path == "docs/decisions":
            inside = decisions.PAGE
        if path == "README.md":
            inside = "index.md"
        if inside:
            new = posixpath.relpath(inside, posixpath.dirname(place) or ".")
        else:
            new = f"{REPOSITORY}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}"
        return f"{found[1]}{new}{'#' if anchor else ''}{anchor}"

    return LINK.sub(turned, text)


def _lists(text: str) -> str:
    """A blank line before each list that follows a line of text, as GitHub reads it without one."""
    lines = text.split("\n")
    made: list[str] = []
    for line in lines:
        if ITEM.match(line) and made and made[-1].strip() and not _in_list(made):
            made.append("")
        made.append(line)
    return "\n".join(made)


def _in_list(lines: list[str]) -> bool:
    """True where the paragraph that the lines end in is an item of a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if ITEM.match(line):
            return True
    return False


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Take our own worker for pages that are opened as files, where the theme fetches one from the network (assets/worker.js)."""
    return FETCHED.sub(
        f'<script src="{posixpath.relpath("assets/worker.js", posixpath.dirname(page.url) or ".")}"></script>', output
    )
