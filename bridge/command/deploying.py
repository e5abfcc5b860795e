"""``gluonnx deploy``."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated

import typer

import bridge

from .. import report
from ..job import check_target
from ..many.lists import options_of
from ..paths import BadInput
from ..refusing import asked_by
from ..serving.deploy import TARGETS
from .conversion_options import Conversion, read_conversion
from .groups import grouped
from .options import SWITCHES, Comparing, Feeding, General, ParamsArgument, ParamsOption, one_params
from .pipeline_options import Before, Behind
from .precision_options import Asked, wishes_of
from .shell import errors, print_result, progress


@grouped
def deploy(
    model: Annotated[str, typer.Argument(help="A symbol, as convert takes it, or an ONNX file.")],
    place: Annotated[Path, typer.Argument(help="The folder to write to, or an archive: model.tar.gz, NAME.mar.")],
    context: typer.Context,
    params: ParamsArgument = None,
    params_option: ParamsOption = None,
    to: Annotated[str, typer.Option(help=f"Required. What it is for: {', '.join(TARGETS)}.")] = "",
    name: Annotated[str | None, typer.Option(help="The model's name there; by default its own.")] = None,
    max_batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The largest batch that Triton may form, with --dynamic batch; 8 by default.",
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace existing files.")] = False,
    verify: Annotated[
        bool, typer.Option(help="Compare with onnxruntime before writing files.", rich_help_panel=SWITCHES)
    ] = True,
    *,
    feeding: Feeding,
    options: Conversion,
    before: Before,
    behind: Behind,
    precision: Asked,
    comparing: Comparing,
    general: General,
) -> None:
    """Write a model for a server: Triton, SageMaker, multi-model-server, or a program in Python or C++."""
    as_json, report_to = general.as_json, general.report_to
    with errors(as_json, report_to, writes=[place, comparing.repro]), progress(as_json) as tell:
        if to not in TARGETS:
            close = difflib.get_close_matches(to, TARGETS, 1)
            meant = f", did you mean {close[0]}?" if close else ","
            if not to:
                raise BadInput(f"--to is required, which says what the files are for: one of {', '.join(TARGETS)}")
            raise BadInput(f"--to {to}{meant} wanted one of {', '.join(TARGETS)}")
        opened = bridge.open_model(model, one_params(params, params_option), foreign=True)
        check_target(report_to, *opened.files()) if report_to is not None else None
        words = "deploy", model, place, params or params_option
        with asked_by(words, options_of(context, ("params_option",)), opened):
            result = bridge.deploy(
                opened,
                to,
                place,
                name=name,
                labels=behind.names,
                max_batch=max_batch,
                replace=replace,
                precision=wishes_of(precision),
                progress=tell,
                **read_conversion(opened, feeding, options, before, behind, comparing),
                verify=verify,
                strict=comparing.strict,
                layers=report_to is not None,
            )
    with errors(as_json):
        told = result.as_dict()
        print_result(told, as_json, lambda: report.deploy_page(result), report_to, lambda: report.deploy_table(result))
