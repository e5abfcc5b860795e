"""A check as a person reads it on a terminal: a line for each file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..printable import clean
from .check import WORDS, CheckResult, FileResult
from .github import figure


def check_table(result: CheckResult, index: Path | None = None) -> RenderableType:
    """The lines, and how many files are well. index: the page that was written."""
    table = Table.grid(padding=(0, 2))
    for column in ("model", "file", "verdict", "largest", "told"):
        table.add_column(column, overflow="fold", justify="right" if column == "largest" else "left")
    for file in result.files:
        told = clean(file.detail or file.change)
        style = _style(file, result)
        table.add_row(
            clean(file.model), clean(file.file), Text(WORDS[file.status], style=style), figure(file), Text(told)
        )
    parts: list[RenderableType] = [table]
    parts += [Text(f"note: {clean(words)}", style="yellow") for words in result.updated]
    if result.alone:
        parts.append(Text(f"note: nothing to compare with: {clean(', '.join(result.alone))}", style="yellow"))
    page = "" if index is None else f"   {index}"
    parts.append(Text(f"{result.summary}{page}", style="bold green" if result.ok else "bold red"))
    return Group(*parts)


def _style(file: FileResult, result: CheckResult) -> str:
    return "green" if file.status == "ok" else "bold red" if result.fails(file) else "yellow"
