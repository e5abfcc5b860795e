"""``gluonnx verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bridge

from .. import report
from ..inputs import parse_names, parse_ranges
from ..paths import BadInput
from ..runtime import TIME_LIMIT
from .options import (
    AlsoOption,
    AsJson,
    Atol,
    Expected,
    FeedsOption,
    ImageOption,
    InputOption,
    OutputsOption,
    Plugin,
    RangeOption,
    Report,
    Repro,
    Rtol,
    Scaled,
    Seed,
    Strict,
    TimeLimit,
    as_limits,
    read_further_inputs,
    read_images,
    read_inputs,
)
from .shell import NOT_EQUIVALENT, RUNTIME, errors, print_result, progress, status_of
from .target_options import VerifyTargetOption, targets_page


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
    image: ImageOption = None,
    also: AlsoOption = None,
    range: RangeOption = None,
    runs: Annotated[int, typer.Option(min=1, help="How many draws of what the models expect.")] = 1,
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
    plugin: Plugin = None,
    target: VerifyTargetOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare two models on the same inputs; when they differ, name the first node. With --target, run one where it is deployed."""
    with errors(as_json, report_to), progress(as_json) as tell:
        if target:
            if b is not None or expected is not None:
                raise BadInput(
                    "--target runs one ONNX file beside our engine: leave out the second model and --expected"
                )
            first = bridge.open_model(a)
            limits, sizes = as_limits(atol, rtol, scaled), read_inputs(first, input, inputs)
            told = {"inputs": sizes, "seed": seed, "ranges": parse_ranges(range or ()), "tolerance": limits}
            on_targets = bridge.verify_targets(first, target, progress=tell, **told)
            print_result(on_targets.as_dict(), as_json, lambda: targets_page(on_targets), report_to)
            raise typer.Exit(
                NOT_EQUIVALENT if on_targets.wrong else RUNTIME if on_targets.failed and "all" not in target else 0
            )
        first = bridge.open_model(a, None if str(a).endswith(".onnx") else params)
        second = None if b is None else bridge.open_model(b, None if b.endswith(".onnx") else params)
        ranges = parse_ranges(range or ())
        specs, pictures = read_images(first, image, read_inputs(first, input, inputs), ranges)
        result = bridge.verify(
            first,
            second,
            expected=expected,
            inputs=specs,
            names=parse_names(map or ()),
            ranges=ranges,
            also=[*pictures, *read_further_inputs(first, specs, also)],
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
