"""``gluonnx convert`` and ``gluonnx import``."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Annotated

import typer

import bridge

from .. import report
from ..job import check_target
from ..many.lists import is_list, options_of
from ..models import open_onnx
from ..paths import BadInput, beside, symbol_files
from ..refusing import asked_by
from ..renaming import parse_renames
from .conversion_options import Conversion, Rename, read_conversion
from .groups import grouped
from .import_options import DynamicAxes, ForMxnet, Fp32
from .many_options import Many, convert_list
from .options import (
    SWITCHES,
    Comparing,
    Feeding,
    General,
    ParamsArgument,
    ParamsOption,
    Verbose,
    one_params,
    read_images,
    read_inputs,
)
from .pipeline_options import Before, Behind, read_dynamic
from .precision_options import Asked, wishes_of
from .shell import errors, print_result, progress


@grouped
def convert(
    symbol: Annotated[
        str,
        typer.Argument(
            help="PREFIX-symbol.json, PREFIX, a folder, or an archive: .tar.gz, .tgz, .tar, .zip; or many: a list (.txt)."
        ),
    ],
    context: typer.Context,
    params: ParamsArgument = None,
    params_option: ParamsOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="By default PREFIX.onnx; .onnx is added to a name without extension."),
    ] = None,
    verify: Annotated[
        bool, typer.Option(help="Compare with onnxruntime before writing the file.", rich_help_panel=SWITCHES)
    ] = True,
    training: Annotated[
        bool,
        typer.Option(
            "--training", help="As in training: losses are outputs, labels inputs, BatchNorm and Dropout train."
        ),
    ] = False,
    verbose: Verbose = False,
    *,
    feeding: Feeding,
    options: Conversion,
    before: Before,
    behind: Behind,
    precision: Asked,
    comparing: Comparing,
    many: Many,
    general: General,
) -> None:
    """Convert an exported symbol with its parameters to ONNX; the file is written only if both give the same numbers."""
    if is_list(symbol, output):
        convert_list(context, symbol, params or params_option, output, many, general, verbose)
        return
    as_json, report_to = general.as_json, general.report_to
    with errors(as_json, report_to, verbose) as older, progress(as_json) as tell:
        place = output if output is not None else beside(symbol, ".onnx")
        # before the model is opened, which may be what fails
        older.note(*([] if place is None else _written(place, options.external_data)), comparing.repro)
        many.refuse(symbol)
        wanted = wishes_of(precision)
        convert_to = bridge.convert if wanted is None else functools.partial(bridge.convert_in, wanted)
        model = bridge.open_model(symbol, one_params(params, params_option), foreign=True)
        told = read_conversion(model, feeding, options, before, behind, comparing)
        target = output if output is not None else (model.place or Path(model.name)).with_name(f"{model.name}.onnx")
        target, *weights = _written(target, options.external_data)
        older.note(target, *weights)
        for place in (target, *weights):
            check_target(place, feeding.inputs, comparing.expected, behind.labels, *comparing.also or ())
        words = "convert", symbol, params or params_option
        with asked_by(words, options_of(context, ("params_option",)), model):
            result = convert_to(
                model,
                **told,
                output=target,
                verify=verify,
                training=training,
                strict=comparing.strict,
                layers=report_to is not None,
                progress=tell,
            )
    with errors(as_json):
        shown = report.convert_table if verbose else report.convert_brief
        print_result(result.as_dict(), as_json, lambda: report.convert_table(result), report_to, lambda: shown(result))


def _written(output: Path, external_data: bool | None) -> list[Path]:
    """The files that are to be written."""
    # what is there and is no file is for check_target to say
    as_it_is = output.suffix or (os.path.exists(output) and not os.path.isfile(output))
    target = output if as_it_is else output.with_name(f"{output.name}.onnx")
    return [target, *([target.with_name(f"{target.name}.data")] if external_data else [])]


@grouped
def import_(
    model: Annotated[Path, typer.Argument(help="An ONNX file, or an archive with one.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The prefix; by default the file's name, if no such file exists."),
    ] = None,
    dynamic: DynamicAxes = None,
    for_mxnet: ForMxnet = False,
    fp32: Fp32 = False,
    verify: Annotated[
        bool, typer.Option(help="Compare with onnxruntime before writing the files.", rich_help_panel=SWITCHES)
    ] = True,
    rename: Rename = None,
    *,
    feeding: Feeding,
    comparing: Comparing,
    general: General,
) -> None:
    """Convert an ONNX model to a symbol with parameters; the files are written only if both give the same numbers."""
    as_json, report_to = general.as_json, general.report_to
    with errors(as_json, report_to) as older, progress(as_json) as tell:
        writes = symbol_files(model.with_suffix("") if output is None and model.name else output or model)
        older.note(*writes, comparing.repro)
        opened = open_onnx(model)
        prefix = model.parent / opened.name if output is None else output
        if output is None:
            there = [str(p) for p in symbol_files(prefix) if p.exists()]
            if there:  # maybe what the ONNX file was converted from
                raise BadInput(
                    f"{' and '.join(there)}: there already; give a prefix with -o, the same one to write over them"
                )
        axes, batch = read_dynamic(dynamic, None)
        ranges, given = feeding.ranges, read_inputs(opened, feeding.input, feeding.inputs)
        specs, pictures = read_images(opened, feeding.image, given, ranges)
        result = (bridge.import_widened if fp32 else bridge.import_onnx)(
            opened,
            output=prefix,
            inputs=specs,
            dynamic=axes,
            batch=None if batch is None else "batch",
            for_mxnet=for_mxnet,
            rename=parse_renames(rename or ()),
            verify=verify,
            ranges=ranges,
            **comparing.read(opened, specs, pictures),
            strict=comparing.strict,
            layers=report_to is not None,
            progress=tell,
        )
    with errors(as_json):
        print_result(result.as_dict(), as_json, lambda: report.import_table(result), report_to)
