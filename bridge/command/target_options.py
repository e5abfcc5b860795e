"""The option ``--target``, and pages of what came of files on targets."""

from __future__ import annotations

from typing import Annotated

import typer

from ..faces.blocks import Column, Grid, Line, Page, Tone
from ..printable import clean
from ..targets.deployed import AGREES, DIFFERS, FITS, TargetsResult

TargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        help="Where the file is deployed, such as openvino: it is written for this engine, and run there if it is "
        "installed (gluonnx targets lists them). May be repeated, or with commas.",
    ),
]
VerifyTargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        help="Run an ONNX file on this engine, or check its nodes if that is not installed; all for every target. "
        "May be repeated, or with commas.",
    ),
]

TONES: dict[str, Tone] = {AGREES: "good", FITS: "good", DIFFERS: "bad"}


def targets_page(result: TargetsResult) -> Page:
    """A file on several targets, a row for each."""
    result = clean(result)
    columns = [
        Column("target"),
        Column("verdict"),
        Column("off by", right=True),
        Column("run with"),
        Column("", fold=True),
    ]
    rows: list[list[str | Line]] = []
    for o in result.outcomes:
        reason = f"at {o.node} ({o.operator}): {o.reason}" if o.node else o.reason
        reason = "; ".join(part for part in (reason, o.where_run) if part)
        error = "" if o.error is None else f"{o.error:.1e}"
        rows.append([o.target, Line(o.verdict, TONES.get(o.verdict, "warn")), error, o.release or "(not run)", reason])
    run, fitting = len(result.run), [o.target for o in result.outcomes if o.verdict == FITS]
    agree = sum(o.verdict == AGREES for o in result.outcomes)
    verdict = f"{agree} of {run} that were run agree" if run else "nothing was run, so no numbers were compared"
    if result.wrong:
        verdict += f"; other numbers on {', '.join(result.wrong)}"
    if fitting:
        verdict += f"; not run, fitting by the profile alone: {', '.join(fitting)}"
    tone: Tone = "bad" if result.wrong else "good" if run and agree == run else "warn"
    note = Line("off by: of the largest number of the output; fits: by the profile alone, where it is not run", "dim")
    return Page(f"{result.model} where it is deployed", [Grid(columns, rows), note, Line(verdict, tone)], verdict, tone)
