"""``gluonnx diff`` and ``gluonnx reduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bridge

from ..change.table import diff_table, reduce_table
from ..models import open_with
from ..runtime import TIME_LIMIT
from .groups import grouped
from .options import (
    AsJson,
    Atol,
    Feeding,
    Report,
    Rtol,
    Scaled,
    Seed,
    TimeLimit,
    as_limits,
    read_feeding,
)
from .shell import NOT_EQUIVALENT, errors, print_result, progress


def diff(
    a: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    b: Annotated[str, typer.Argument(help="The other model.")],
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Compare two models without running them: operators, attributes, weights, wiring. Exit status 1 on any difference."""
    with errors(as_json, report_to):
        result = bridge.diff(a, b, params=params)
        status = 0 if result.same else NOT_EQUIVALENT
        print_result(result.as_dict(), as_json, lambda: diff_table(result), report_to, status=status)
    if status:
        raise typer.Exit(status)


@grouped
def reduce(
    a: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    b: Annotated[str, typer.Argument(help="The other model.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write; it must not contain anything else.")],
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    *,
    feeding: Feeding,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    time_limit: TimeLimit = TIME_LIMIT,
    as_json: AsJson = False,
) -> None:
    """Find the smallest part of two models that gives different numbers; write it with its data and a script."""
    with errors(as_json), progress(as_json) as tell:
        first = open_with(a, params)
        result = bridge.reduce(
            first,
            b,
            output,
            inputs=read_feeding(first, feeding),
            ranges=feeding.ranges,
            params=params,
            seed=seed,
            tolerance=as_limits(atol, rtol, scaled),
            progress=tell,
        )
    with errors(as_json):
        print_result(result.as_dict(), as_json, lambda: reduce_table(result))
