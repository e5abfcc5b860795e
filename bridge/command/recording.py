"""``gluonnx record``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import bridge

from .. import report
from ..draws import parse_kinds
from ..inputs import Feeds, parse_inputs, parse_ranges, sources_of
from ..models import BadInput
from ..paths import beside
from ..recorded import feeds_of, script_for_mxnet
from ..runtime import TIME_LIMIT
from .options import (
    AsJson,
    ImageOption,
    InputOption,
    OutputsOption,
    ParamsArgument,
    ParamsOption,
    RangeOption,
    Seed,
    TimeLimit,
    one_params,
    read_images,
)
from .shell import errors, print_result, progress


def record(
    model: Annotated[str | None, typer.Argument(help="A symbol file, prefix or ONNX file.")] = None,
    params: ParamsArgument = None,
    params_option: ParamsOption = None,
    inputs: Annotated[
        list[Path] | None,
        typer.Option(help="Arrays by name (.npz), a folder of such files, or an earlier recording. May be repeated."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The .npz; by default MODEL.npz.")] = None,
    input: InputOption = None,
    image: ImageOption = None,
    range: RangeOption = None,
    runs: Annotated[int, typer.Option(min=1, help="How many sets of random inputs.")] = 1,
    draws: Annotated[
        list[str] | None,
        typer.Option(
            help="Kinds of random inputs: expected, wide, edges; by default all. May be repeated, or with commas."
        ),
    ] = None,
    engine: Annotated[str | None, typer.Option(help="native or onnxruntime; by default what the model is for.")] = None,
    outputs: OutputsOption = None,
    seed: Seed = 0,
    script: Annotated[
        bool, typer.Option("--script", help="Print record_with_mxnet.py, which records with MXNet itself, and end.")
    ] = False,
    time_limit: TimeLimit = TIME_LIMIT,
    as_json: AsJson = False,
) -> None:
    """Record a model's inputs and outputs, for verify --expected and check."""
    if script:
        with errors(as_json):
            if as_json:
                raise BadInput("--script prints a program, where --json is one object: give one of them")
        typer.echo(script_for_mxnet(), nl=False)
        return
    with errors(as_json) as older, progress(as_json) as tell:
        if model is None:
            raise BadInput("no model; give a symbol file, a prefix or an ONNX file")
        older.note(output if output is not None else beside(model, ".npz"))
        if inputs and runs > 1:
            raise BadInput(f"--runs {runs}: of inputs that are drawn, and --inputs gives them; leave one of them out")
        opened = bridge.open_model(model, one_params(params, params_option))
        tell(f"running {opened.name}")
        drawn = parse_inputs(input or ())
        given: Any = (
            [Feeds({**drawn, **each}, sources_of(each)) for each in feeds_of(inputs, opened)]
            if inputs
            else (drawn or None)
        )
        if image:
            sets = [
                read_images(opened, image, each, parse_ranges(range or ()))
                for each in (given if inputs else [Feeds(drawn)])
            ]
            given = [each for first, further in sets for each in (first, *further)]
        elif not inputs and runs > 1:
            given = [drawn] * runs
        target = output if output is not None else (opened.place or Path(opened.name)).with_name(f"{opened.name}.npz")
        older.note(target)
        asked: Any = {"engine": engine, "outputs": outputs}  # run checks them
        ranges = parse_ranges(range or ())
        kinds = parse_kinds(draws)
        kept = bridge.record(opened, given, target, ranges=ranges, draws=kinds, seed=seed, **asked)
    with errors(as_json):
        print_result(kept.as_dict(), as_json, lambda: report.recording_table(kept))
