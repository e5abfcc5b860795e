"""``gluonnx diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bridge

from ..change.table import diff_table
from .options import AsJson, Report
from .shell import NOT_EQUIVALENT, errors, print_result


def diff(
    a: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    b: Annotated[str, typer.Argument(help="The other one.")],
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Compare two models without running them: operators, attributes, weights, wiring. Exit status 1 on any difference."""
    with errors(as_json, report_to):
        result = bridge.diff(a, b, params=params)
        print_result(result.as_dict(), as_json, lambda: diff_table(result), report_to)
    if not result.same:
        raise typer.Exit(NOT_EQUIVALENT)
