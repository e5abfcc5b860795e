"""``gluonnx run``, ``inspect``, ``compile`` and ``bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import bridge
from hybrid.core.precision import FLOAT32
from hybrid.formats.files import replacing

from .. import report
from ..compiling import END, compiled_file
from ..inputs import Feeds, load_feeds, parse_inputs, parse_ranges, save_arrays
from ..inspect import nodes as nodes_of
from ..job import check_target
from ..models import described, open_with
from ..opsets import parse_opset
from ..paths import BadInput, beside, file_of
from ..pipeline.detections import rows_of
from ..pipeline.labels import labels_of, ranked
from ..runtime import TIME_LIMIT
from .groups import grouped
from .options import (
    MORE_PICTURES,
    AsJson,
    Atol,
    Feeding,
    FeedsOption,
    ImageOption,
    InputOption,
    OpsetOption,
    OutputsOption,
    ParamsArgument,
    ParamsOption,
    Plugin,
    Precision,
    Report,
    Rtol,
    Scaled,
    Seed,
    TimeLimit,
    as_limits,
    one_params,
    read_feeding,
    read_images,
)
from .shell import BAD_INPUT, NOT_EQUIVALENT, errors, print_result, progress


def inspect(
    model: Annotated[str | None, typer.Argument(help="A symbol file, prefix or ONNX file.")] = None,
    params: ParamsArgument = None,
    params_option: ParamsOption = None,
    input: InputOption = None,
    opset: OpsetOption = None,
    operators: Annotated[
        bool,
        typer.Option("--operators", help="List operators instead: those of the model, or all of them without a model."),
    ] = False,
    nodes: Annotated[
        bool,
        typer.Option("--nodes", help="List nodes instead: shapes, parameters, names for --outputs."),
    ] = False,
    match: Annotated[
        str | None, typer.Option(help="With --nodes: only those with this text in their name, operator or outputs.")
    ] = None,
    report_to: Report = None,
    plugin: Plugin = None,
    as_json: AsJson = False,
) -> None:
    """Show inputs, outputs, parameters, operators, and all nodes that do not convert, with reasons."""
    if operators:
        with errors(as_json, report_to):
            table = bridge.operators(model)
            print_result(table.as_dict(), as_json, lambda: report.operators_table(table), report_to)
        return
    with errors(as_json, report_to):
        if model is None:
            raise BadInput(
                "no model; give a symbol file, a prefix or an ONNX file, or --operators for the table of all"
            )
        if match is not None and not nodes:
            raise BadInput("--match chooses among nodes: add --nodes")
        params = one_params(params, params_option)
        if nodes:
            listing = nodes_of(model, params, inputs=parse_inputs(input or ()), match=match)
            print_result(listing.as_dict(), as_json, lambda: report.nodes_table(listing), report_to)
            return
        result = bridge.inspect(model, params, inputs=parse_inputs(input or ()), opset=parse_opset(opset))
    with errors(as_json):
        status = BAD_INPUT if result.problems else 0
        print_result(result.as_dict(), as_json, lambda: report.inspect_table(result), report_to, status=status)
    if status:
        raise typer.Exit(status)


def run(
    model: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    params: ParamsArgument = None,
    params_option: ParamsOption = None,
    inputs: FeedsOption = None,
    input: Annotated[
        list[str] | None,
        typer.Option("--input", help="The size of --image, if the model says none: data:1,3,224,224. May be repeated."),
    ] = None,
    image: ImageOption = None,
    range: Annotated[
        list[str] | None,
        typer.Option("--range", help="The numbers of --image: NAME:LOW,HIGH, such as data:0,255. May be repeated."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write outputs here (.npz).")] = None,
    engine: Annotated[str | None, typer.Option(help="native or onnxruntime; by default what the model is for.")] = None,
    outputs: OutputsOption = None,
    precision: Precision = FLOAT32,
    compiled: Annotated[
        bool,
        typer.Option("--compiled", help="Run the file that gluonnx compile wrote beside the model."),
    ] = False,
    time_limit: TimeLimit = TIME_LIMIT,
    plugin: Plugin = None,
    as_json: AsJson = False,
) -> None:
    """Run a model on arrays from a file."""
    with errors(as_json, writes=[output]), progress(as_json) as tell:
        if compiled and (engine or outputs or precision != FLOAT32):
            raise BadInput(
                "--compiled runs the whole model by our engine: give no --engine, --outputs or --precision with it"
            )
        params = one_params(params, params_option)
        opened = bridge.open_model(model, params)
        names = list(bridge.inspect(opened).inputs)
        if inputs is None and not image:
            unread = [f"--{option}" for option, value in (("input", input), ("range", range)) if value]
            raise BadInput(
                *(
                    [f"{' and '.join(unread)}: run draws no numbers, and reads it for the size of --image alone"]
                    if unread
                    else []
                ),
                f"give --inputs FILE.npz with arrays named {', '.join(names)}, or --image for one of pictures",
            )
        if output is not None:
            check_target(output, inputs, *opened.files())
        tell(f"running {opened.name}")
        feeds = Feeds() if inputs is None else load_feeds(inputs, names)
        if image:
            shapes = Feeds({**parse_inputs(input or ()), **feeds}, feeds.sources)
            read, left = read_images(opened, image, shapes, parse_ranges(range or ()), together=True)
            if left:
                raise BadInput(MORE_PICTURES)
            feeds = Feeds({n: a for n, a in read.items() if isinstance(a, np.ndarray)}, read.sources)
        asked: Any = {"engine": engine, "outputs": outputs, "precision": precision}  # run checks them
        if compiled:
            results: Any = bridge.CompiledModel(model, params, compiled=compiled_file(file_of(Path(model)))).run(feeds)
        else:
            results = bridge.run(opened, feeds, **asked)
        cost = None
        if precision != FLOAT32:
            cost = bridge.precision_report(opened, feeds, outputs=outputs, precision=precision)
        if output is not None:
            with replacing(output) as file:
                save_arrays(file, results)
    with errors(as_json):
        told = {"model": opened.name, "outputs": described(results), "file": output and str(output)} | (
            {} if cost is None else {"precision": cost.as_dict()}
        )
        names = () if opened.proto is None else labels_of(opened.proto)
        rows = rows_of(opened)
        best = ranked(results, names, rows)
        pictures = {n: feeds.sources[n] for n in feeds.sources} if image else {}
        told |= {"pictures": pictures} if pictures else {}
        told |= {"ranked": [{"output": n, "text": text} for n, text in best]} if best else {}
        print_result(told, as_json, lambda: report.arrays(results, cost, names, rows, pictures))


@grouped
def compile_(
    model: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    params: ParamsArgument = None,
    params_option: ParamsOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="By default MODEL.gluonnx.")] = None,
    *,
    feeding: Feeding,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compile a model for given sizes on this machine and save the result, for a faster start."""
    with errors(as_json) as older, progress(as_json) as tell:
        older.note(output if output is not None else beside(model, END))
        params = one_params(params, params_option)
        opened = bridge.open_model(model, params)
        tell(f"compiling {opened.name}")
        specs = read_feeding(opened, feeding)
        result = bridge.compile(model, params=params, inputs=specs, output=output, seed=seed, ranges=feeding.ranges)
    with errors(as_json):
        print_result(result.as_dict(), as_json, lambda: report.compile_table(result))


@grouped
def bench(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Symbol files, prefixes or ONNX files.")],
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    *,
    feeding: Feeding,
    batch: Annotated[int | None, typer.Option(min=1, help="The batch size of every input.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of both engines; by default as many as gluonnx uses.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long each engine runs.")] = 2.0,
    profile: Annotated[bool, typer.Option("--profile", help="Also the time of every step.")] = False,
    precision: Precision = FLOAT32,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Time models on gluonnx's engine and on onnxruntime; a ratio above 1 means that gluonnx is faster."""
    with errors(as_json, report_to), progress(as_json) as tell:
        results = []
        for name in models:
            model = open_with(name, params)
            results.append(
                bridge.bench(
                    model,
                    inputs=read_feeding(model, feeding),
                    ranges=feeding.ranges,
                    batch=batch,
                    threads=threads,
                    seconds=seconds,
                    profile=profile,
                    seed=seed,
                    tolerance=as_limits(atol, rtol, scaled),
                    precision=precision,
                    progress=tell,
                )
            )
    with errors(as_json):
        status = 0 if all(r.equivalent for r in results) else NOT_EQUIVALENT
        told = {"models": [r.as_dict() for r in results]}
        print_result(told, as_json, lambda: report.bench_table(results), report_to, status=status)
    if status:
        raise typer.Exit(status)
