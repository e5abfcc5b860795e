"""A check as a person reads it on a terminal: a line for each file."""

from __future__ import annotations

from pathlib import Path

from ..faces.blocks import Block, Column, Grid, Line, Page, Tone
from ..printable import clean
from .github import figure
from .results import WORDS, CheckResult, FileResult


def check_table(result: CheckResult, index: Path | None = None) -> Page:
    """The lines, and how many files are well. index: the page that was written."""
    result = clean(result)
    columns = [Column("model"), Column("file"), Column("verdict"), Column("largest", right=True), Column("", fold=True)]
    rows = [
        (
            f.model,
            f.file,
            Line(WORDS[f.status], _tone(f, result)),
            figure(f),
            f.detail or ("from before" if f.again else f.change),
        )
        for f in result.files
    ]
    blocks: list[Block] = [Grid(columns, rows)]
    blocks += [Line(f"note: {words}", "warn") for words in result.notes]
    if result.alone:
        blocks.append(Line(f"note: nothing to compare with: {', '.join(result.alone)}", "warn"))
    tone: Tone = "good" if result.ok else "bad"
    blocks.append(Line(f"{result.summary}{'' if index is None else f'   {index}'}", tone))
    return Page("gluonnx check", blocks, result.summary, tone)


def _tone(file: FileResult, result: CheckResult) -> Tone:
    return "good" if file.status == "ok" else "bad" if result.fails(file) else "warn"
