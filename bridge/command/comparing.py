"""``gluonnx matrix``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bridge

from ..faces.blocks import TONES, Column, Grid, Line, Page
from ..inputs import Feeds
from ..matrix import MatrixResult
from ..models import open_with
from ..paths import BadInput
from ..printable import clean
from ..runners import SPECS
from ..runtime import TIME_LIMIT
from .groups import grouped
from .options import AsJson, Atol, Feeding, Report, Rtol, Scaled, Seed, TimeLimit, as_limits, read_feeding
from .shell import NOT_EQUIVALENT, errors, print_result, progress

SHOWN = 10  # reasons below the table


@grouped
def matrix(
    models: Annotated[list[str], typer.Argument(help="Symbol files, prefixes, ONNX files, or recordings (.npz).")],
    runners: Annotated[str, typer.Option(help=f"Separated by commas: {SPECS}.")] = "gluonnx,gluonnx:plain,onnxruntime",
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    *,
    feeding: Feeding,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Run models on several runners with the same inputs and compare all of them. Exit status 1 if any differ."""
    with errors(as_json, report_to), progress(as_json) as tell:
        opened = [m if m.endswith(".npz") else open_with(m, params) for m in models]
        first = next((m for m in opened if not isinstance(m, str)), None)
        if first is None and feeding != Feeding():
            raise BadInput("recordings hold their inputs; give others beside a model alone")
        given = Feeds() if first is None else read_feeding(first, feeding)
        result = bridge.matrix(
            opened,
            [r.strip() for r in runners.split(",") if r.strip()],
            inputs=given or None,
            ranges=feeding.ranges,
            params=params,
            seed=seed,
            tolerance=as_limits(atol, rtol, scaled),
            progress=tell,
        )
        status = 0 if result.equal else NOT_EQUIVALENT
        print_result(result.as_dict(), as_json, lambda: matrix_table(result), report_to, status=status)
    if status:
        raise typer.Exit(status)


def matrix_table(result: MatrixResult) -> Page:
    """The result of matrix: a row and a column for each runner."""
    result = clean(result)
    columns = [Column("max / scale"), *(Column(str(i + 1), right=True) for i in range(len(result.runners)))]
    rows: list[list[str | Line]] = []
    for i, (name, *texts) in enumerate(result.rows(), 1):
        rows.append([f"{i} {name}", *(Line(t, "bad" if t.endswith(("!", "failed")) else "good") for t in texts)])
    reasons = {
        c.reason: f"{a}, {b}: {c.output} {c.reason}"
        for a, row in zip(result.runners, result.cells)
        for b, c in zip(result.runners, row)
        if c is not None and c.reason
    }
    verdict, tone = ("all agree", TONES["equivalent"]) if result.equal else ("not all agree", TONES["not equivalent"])
    lines = [Line(f"{name} failed: {text}", "bad") for name, text in result.errors.items()]
    lines += [Line(text, "dim") for text in list(reasons.values())[:SHOWN]]
    return Page("runners beside each other", [Grid(columns, rows), *lines, Line(verdict, tone)], verdict, tone)
