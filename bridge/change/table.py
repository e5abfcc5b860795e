"""Differences of two models as a person reads them."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from ..printable import clean
from .diff import DiffResult
from .reduce import ReduceResult

STYLES = {"added": "green", "removed": "red"}


def diff_table(result: DiffResult) -> RenderableType:
    """The result of diff: verdict, differences under the names of their operations, what is the same in another form."""
    result = clean(result)
    head, *lines = str(result).splitlines()
    parts: list[RenderableType] = [Text(head, style="bold green" if result.same else "bold red")]
    for line in lines:
        if line.startswith("  "):
            parts.append(Text(line, style=STYLES.get(line.split(";")[0].strip(), "")))
        else:
            parts.append(Text(line, style="dim" if line.startswith(("the same", "...")) else ""))
    return Group(*parts)


def reduce_table(result: ReduceResult) -> RenderableType:
    """The result of reduce: the node, what differs there, what was written."""
    head, *lines = str(clean(result)).splitlines()
    return Group(Text(head, style="bold red"), *map(Text, lines))
