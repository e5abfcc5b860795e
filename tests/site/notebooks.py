"""Notebooks as pages: their words, their code, and what it showed, as it stands in the file (tests/house runs them anew)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
BLANK = re.compile(r"\n\s*\n")
HEADING = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)
HEADED = re.compile(r"\bh1(?= \{)")
"""The title of what a cell showed, and the style that it has: a page has one title, its own."""
PICTURES = ("image/png", "image/jpeg", "image/gif")


def pages() -> dict[str, str]:
    """Text by the name of the page, of every notebook in docs/notebooks."""
    return {f"notebooks/{path.stem}.md": page(path) for path in sorted(FOLDER.glob("*.ipynb"))}


def page(path: Path) -> str:
    """A notebook as Markdown; under its title it says where the file is."""
    book = json.loads(path.read_text(encoding="utf-8"))
    parts = [part for cell in book["cells"] for part in _cell(cell)]
    parts.insert(1, f"A notebook, with what its cells showed: [{path.name}]({path.name}).")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _cell(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        title, _, rest = source.partition("\n")  # the title alone, so that a line fits under it
        yield from (part for part in (title, rest) if part.strip())
    elif cell["cell_type"] == "code" and source.strip():
        yield fenced(source, "python")
        for output in cell["outputs"]:
            yield from shown(output)


def shown(output: Mapping[str, Any]) -> Iterator[str]:
    """Richest form of an output of a cell that a page can show, as HTML and Markdown. Raises ValueError for one that it cannot."""
    kind = output["output_type"]
    if kind == "stream":
        yield fenced("".join(output["text"]), "text")
        return
    if kind == "error":
        yield fenced("\n".join(output["traceback"]), "text")
        return
    data = {form: "".join(said) if isinstance(said, list) else said for form, said in output["data"].items()}
    for form in ("text/html", "image/svg+xml"):
        if form in data:
            whole = BLANK.sub("\n", data[form].strip())  # a blank line would end it
            whole = HEADED.sub(".h1", HEADING.sub(r'<div class="h1" role="heading" aria-level="2">\1</div>', whole))
            yield f'<div class="output">\n{whole}\n</div>'
            return
    for form in PICTURES:
        if form in data:
            yield f'<div class="output"><img alt="" src="data:{form};base64,{"".join(data[form].split())}"></div>'
            return
    if "text/markdown" in data:
        yield data["text/markdown"]
    elif "text/plain" in data:
        yield fenced(data["text/plain"], "text")
    else:
        raise ValueError(f"got an output of {', '.join(data)}, wanted text, HTML, Markdown or a picture")


def fenced(text: str, language: str) -> str:
    """Text as a block of code, behind a fence that is longer than any inside."""
    longest = max(map(len, re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{COLOURS.sub('', text).strip(chr(10))}\n{fence}"
