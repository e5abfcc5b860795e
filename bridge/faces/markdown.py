"""Pages as Markdown with the tables that GitHub shows."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from ..printable import clean, printable
from ..result import VerifyResult
from . import words
from .blocks import Block, Brief, Facts, Grid, Line, Page
from .text import PLAIN, strip

STRIP = 80
MARKS = {"good": "✅ ", "warn": "⚠️ ", "bad": "❌ "}
"""Signs that GitHub shows in colour."""


def page(shown: Page, facts: Mapping[str, Any]) -> str:
    """A page as a Markdown document."""
    verdict = f"{MARKS.get(shown.tone, '')}{printable(shown.verdict) or 'gluonnx'}"
    parts = [f"# {escape(verdict)}", f"{escape(printable(shown.title))}", *map(_block, shown.blocks)]
    command = printable(str(facts.get("command", "")))
    versions = ", ".join(f"{name} {version}" for name, version in facts.get("versions", {}).items())
    parts += [fenced(command, "bash"), escape(f"{facts.get('date', '')}, {versions}")]
    return "\n\n".join(p for p in parts if p) + "\n"


def escape(text: str) -> str:
    """Text whose characters mean nothing to Markdown or HTML."""
    text = re.sub(r"([\\`*_{}\[\]<>#|~$&@])", r"\\\1", text)
    return re.sub(r"^(\s*)([-+=]|\d+[.)])", r"\1\\\2", text).replace("\n", " ")


def code(text: str) -> str:
    """Text as code in a line, also within a table."""
    if not text:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    inner = f" {text} " if "`" in text else text
    return f"{fence}{inner}{fence}" if "|" not in text else escape(text)


def fenced(text: str, language: str = "text") -> str:
    """Text as a block of code."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """A table, as GitHub shows it. rows: Markdown."""
    marks = ["--:" if i < len(right) and right[i] else ":--" for i in range(len(heads))]
    lines = [heads, marks, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _block(block: Block) -> str:
    match block:
        case VerifyResult():
            return "\n\n".join(_verification(clean(block)))
        case Brief():
            return "\n\n".join(_verification(clean(block.result)))
        case Line():
            return f"{MARKS.get(block.tone, '')}{escape(block.text)}"
        case Facts():
            return table(("", ""), [(escape(n), escape(v)) for n, v in block.rows])
        case Grid():
            cells = [[escape(c if isinstance(c, str) else c.text) for c in row] for row in block.rows]
            shown = table([escape(c.name) for c in block.columns], cells, [c.right for c in block.columns])
            return f"**{escape(block.title)}**\n\n{shown}" if block.title else shown
    console = Console(file=io.StringIO(), width=120, color_system=None, **PLAIN)
    with console.capture() as captured:
        console.print(block)
    return fenced("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _verification(result: VerifyResult) -> Iterator[str]:
    given = result.runs[0].get("inputs", {}) if result.runs else {}
    rows = [
        (escape(side), escape(words.side(name, files)))
        for side, name, files in zip(("first", "second"), (result.a, result.b), result.files)
    ]
    rows += [(escape(f"input {n}"), escape(words.given(g))) for n, g in given.items()]
    rows += [("further inputs", escape(more))] if (more := words.further(result)) else []
    rows += [("tolerance", escape(rule)) for rule in words.rules(result.differences)]
    yield table(("", ""), rows)
    if result.differences:
        yield _outputs(result)
        if of_run := words.worst(result):
            yield escape(of_run)
    found = result.divergence
    if result.layers:
        before, after = words.spans(result)
        yield f"layers {before} {code(strip(result, STRIP).plain)} {after}".strip()
        yield from map(escape, words.reliefs(result))
    if found is not None:
        told = [("first", f"{code(found.node)} ({escape(found.operator)}): {escape(words.MEANINGS[found.kind])}")]
        told.append(("found", escape(words.reason(found))))
        told += [("where", escape(w)) for w in (result.place(found.node),) if w]
        told += [("what", escape(cause)) for cause in result.causes.get(found.node, ())]
        told += [("also", escape(line)) for line in words.others(result)]
        told += [("next", code(command)) for command in (words.next_command(result),) if command]
        yield table(("", ""), told)
    if result.inner:
        yield f"{result.inner} tensors inside were computed by both from the same values."
    yield from (f"{escape(said)}." for said in result.recorded)
    yield from (f"- {escape(note)}" for note in result.warnings)


def _outputs(result: VerifyResult) -> str:
    heads = ("output", "beyond", "max abs", "at", "max rel", "needs atol", "of scale", "cosine", "verdict")
    rows = []
    for d in result.differences:
        measures = (
            f"{d.beyond}/{d.size}",
            words.small(d.max_abs),
            words.place(d.index),
            words.small(d.relative),
            words.enough(d.needs),
            words.small(d.max_rel),
            f"{d.cosine:.7f}",
        )
        told = words.told(d) if d.equal else f"**{escape(d.reason)}**"
        rows.append((code(d.name), *(measures if d.compared else [""] * len(measures)), told))
    return table(heads, rows, [False, *[True] * 7, False])
