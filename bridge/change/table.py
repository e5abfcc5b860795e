"""Differences of two models as a person reads them."""

from __future__ import annotations

from ..faces.blocks import Line, Page, Tone
from ..printable import clean
from .diff import GROUPS, DiffResult
from .reduce import ReduceResult

TONES: dict[str, Tone] = {"added": "good", "removed": "bad"}


def diff_table(result: DiffResult) -> Page:
    """The result of diff: verdict, differences under the names of their operations, what is the same in another form."""
    result = clean(result)
    head, *lines = str(result).splitlines()
    blocks = [Line(head, "good" if result.same else "bad")]
    for line in lines:
        if line.startswith("  "):
            blocks.append(Line(line, TONES.get(line.split(";")[0].strip(), "")))
        else:
            blocks.append(Line(line, "dim" if line.startswith(("the same", "...", GROUPS[-1])) else ""))
    verdict = "the same" if result.same else "different"
    return Page(f"{result.a} and {result.b}", blocks, verdict, "good" if result.same else "bad")


def reduce_table(result: ReduceResult) -> Page:
    """The result of reduce: the node, what differs there, what was written."""
    head, *lines = str(clean(result)).splitlines()
    title = f"{clean(result.a)} against {clean(result.b)}"
    return Page(title, [Line(head, "bad"), *map(Line, lines)], "not equivalent", "bad")
