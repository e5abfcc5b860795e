"""A report on many models, as a person reads it."""

from __future__ import annotations

from ..faces.blocks import Block, Column, Grid, Line, Page, Tone
from ..printable import clean
from .work import ManyResult


def many_table(result: ManyResult, whole: bool = False) -> Page:
    """A line for each model that is not well or little proved, and how many are well. whole: a line for every one."""
    result = clean(result)
    shown = [o for o in result.outcomes if o.exit or o.says_little or whole]
    columns = [Column("model"), Column("output"), Column("status"), Column("s", right=True), Column("", fold=True)]
    rows = [
        (
            o.model,
            o.output,
            Line(o.status, "bad" if o.exit else "warn" if o.says_little else "good"),
            f"{o.seconds:.1f}",
            "; ".join(filter(None, ("from before" if o.again else "", o.detail))),
        )
        for o in shown
    ]
    tone: Tone = "bad" if result.exit_status else "good"
    blocks: list[Block] = [Grid(columns, rows)] if rows else []
    blocks.append(Line(f"{result.summary}, {result.seconds:.1f} s", tone))
    return Page("gluonnx convert", blocks, result.summary, tone)
