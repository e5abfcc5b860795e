"""Additions of the site to docs/, as mkdocs calls them (mkdocs.yml): pages made of the code, documents of the root, links."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import takewhile
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
    "api.md": 0.3,
    "architecture.md": 0.5,
    "backend-suite.md": 0.3,
    "benchmarks.md": 0.3,
    "changelog.md": 0.3,
    "clients.md": 0.5,
    "core.md": 0.3,
    "decisions/": 0.4,
    "install.md": 3,
    "migration.md": 2,
    "precision.md": 2,
    "from-onnx.md": 2,
    "commands.md": 1.5,
    "targets.md": 2,
    "verification.md": 2,
    "reference/": 0.6,
    "reliability.md": 0.3,
    "stories.md": 0.5,
    "troubleshooting.md": 2,
    "tutorials/": 1.5,
}
"""Weight of a page, or of those of a folder, in the search, 1 where nothing is said: pages that teach before those that list."""
WIDE = {"accuracy.md", "backend-suite.md", "benchmarks.md", "operators.md", "reliability.md"}
"""Pages of wide tables, which take the place of the table of contents too."""
FENCE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)[ ]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\(|(?:src|href)=\")([^)\s\"]+)")
FETCHED = re.compile(r'<script src="?https://unpkg\.com/iframe-worker/shim"?></script>')
SOURCE = ' data-md-component="source"'
"""The mark of the link to the repository, by which the theme asks api.github.com for stars."""
NAMED = re.compile(r"\[([\w./-]+\.md)\]\(([^)\s]+)")
WRITTEN = re.compile(r"^(?:Written by|This page is written by) `python.*?(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^# (.+?)\s*$", re.MULTILINE)
ITEM = re.compile(r"^(?:[-*] |\d+\. )")
FIRST = re.compile(r"^(?:[-*] |1\. )")
"""Beginnings of lists right behind a line of text: with another number a sentence may go on, as on GitHub."""


def on_config(config: Any) -> Any:
    """Put the pages of folders in their places in the navigation, and those that it does not name in theirs."""
    docs = Path(config["docs_dir"])
    made = {*DOCUMENTS, *_made()}
    written = (p.relative_to(docs).as_posix() for p in docs.rglob("*.md"))
    known = {*made, *(page for page in written if not config["exclude_docs"].match_file(page))}
    others = known - set(_pages(config["nav"]))  # a folder stands for those that are named nowhere
    nav = [_expanded(part, others) for part in config["nav"]]
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
    if not name.endswith("/"):
        return [name]
    inside = [page for page in known if posixpath.dirname(page) == name.rstrip("/")]
    made = [*_made()]  # in their order, and files by their names
    order = {page: made.index(page) if page in made else -1 for page in inside}
    return sorted(inside, key=lambda page: (not page.endswith("index.md"), order[page], page))


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
    weight = BOOST.get(place, BOOST.get(f"{posixpath.dirname(place)}/"))
    if weight is not None:
        page.meta["search"] = {"boost": weight}
    if place in WIDE:
        page.meta["hide"] = ["toc"]
    if place == operators.PAGE:
        markdown = operators.page(markdown)
    origin = DOCUMENTS.get(place, f"docs/{place}")
    titles = {file.src_uri: file.content_string for file in files.documentation_pages()}
    parts = FENCE.split(_written_last(markdown))
    return "".join(p if FENCE.fullmatch(p) else _lists(_links(_named(p, origin, titles), origin, place)) for p in parts)


def _written_last(text: str) -> str:
    """The page with the paragraph at its end that says which program writes it: readers come for something else."""
    found = WRITTEN.search(text)
    if found is None:
        return text
    said = found[0].strip()
    return f"{text[: found.start()]}{text[found.end() :].rstrip()}\n\n---\n\n{said}\n"


def _named(text: str, origin: str, texts: Mapping[str, str]) -> str:
    """Links to pages by their titles where the text gives the file's name; origin: the path of the file that has the links,
    from the root; texts: those of the pages, by their paths."""

    def titled(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), found[2].partition("#")[0]))
        page = next((page for page, name in DOCUMENTS.items() if name == path), path.removeprefix("docs/"))
        title = TITLE.search(texts.get(page, ""))
        return found[0] if title is None else f"[{title[1]}]({found[2]}"

    return NAMED.sub(titled, text)


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
        if inside.startswith("notebooks/") and posixpath.dirname(place) != "notebooks":
            inside = inside.removesuffix(".ipynb") + ".md"  # its page; the page itself links the file
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
        if FIRST.match(line) and made and made[-1].strip() and not _in_list(made):
            made.append("")
        made.append(line)
    return "\n".join(made)


def _in_list(lines: list[str]) -> bool:
    """True where the paragraph that the lines end in is an item of a list."""
    paragraph = list(takewhile(str.strip, reversed(lines)))
    return any(FIRST.match(line) for line in paragraph) or bool(paragraph and ITEM.match(paragraph[-1]))


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Take our own worker for pages that are opened as files, where the theme fetches one from the network (assets/worker.js); and
    ask nobody for the repository's stars."""
    worker = posixpath.relpath("assets/worker.js", posixpath.dirname(page.url) or ".")
    return FETCHED.sub(f'<script src="{worker}"></script>', output).replace(SOURCE, "")
