"""``gluonnx verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import bridge

from .. import report
from ..inputs import parse_names, parse_ranges
from ..runtime import TIME_LIMIT
from .options import (
    AsJson,
    Atol,
    Expected,
    FeedsOption,
    InputOption,
    OutputsOption,
    Report,
    Repro,
    Rtol,
    Scaled,
    Seed,
    Strict,
    TimeLimit,
    as_limits,
    read_inputs,
)
from .shell import errors, print_result, progress, status_of


def verify(
    a: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    b: Annotated[str | None, typer.Argument(help="The other one; may be left out with --expected.")] = None,
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    input: InputOption = None,
    inputs: FeedsOption = None,
    map: Annotated[
        list[str] | None,
        typer.Option(help="NAME=NAME: the first model's name of an input and the second's. May be repeated."),
    ] = None,
    range: Annotated[
        list[str] | None, typer.Option(help="NAME:LOW,HIGH of drawn numbers, such as data:0,255. May be repeated.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="How many sets of drawn inputs.")] = 1,
    outputs: OutputsOption = None,
    expected: Expected = None,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    repro: Repro = None,
    strict: Strict = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Compare two models on the same inputs; when they differ, name the first node that does."""
    with errors(as_json, report_to), progress(as_json) as tell:
        first = bridge.open_model(a, None if str(a).endswith(".onnx") else params)
        second = None if b is None else bridge.open_model(b, None if b.endswith(".onnx") else params)
        specs = read_inputs(first, input, inputs)
        result = bridge.verify(
            first,
            second,
            expected=expected,
            inputs=specs,
            names=parse_names(map or ()),
            ranges=parse_ranges(range or ()),
            files={} if inputs is None else {n: inputs.name for n, v in specs.items() if isinstance(v, np.ndarray)},
            seed=seed,
            runs=runs,
            tolerance=as_limits(atol, rtol, scaled),
            outputs=outputs,
            repro=repro,
            layers=report_to is not None,
            progress=tell,
        )
    with errors(as_json):
        print_result(result.as_dict(), as_json, lambda: report.verify_table(result), report_to)
    status = status_of(result, strict)
    if status:
        raise typer.Exit(status)
