"""``gluonnx verify``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

import bridge
from hybrid.core.op import Spec

from .. import report
from ..inputs import parse_names
from ..models import Model, names_to_fill, open_with, specs_of_onnx
from ..paths import BadInput, names_in
from ..pipeline.preprocess import taken_by
from .groups import grouped
from .options import SWITCHES, Comparing, Feeding, General, OutputsOption, read_feeding, read_images, read_inputs
from .shell import NOT_EQUIVALENT, RUNTIME, SAYS_LITTLE, errors, print_result, progress, status_of
from .target_options import VerifyTargetOption, targets_page


@grouped
def verify(
    a: Annotated[str, typer.Argument(help="A symbol file, prefix or ONNX file.")],
    b: Annotated[str | None, typer.Argument(help="The other model; optional with --expected.")] = None,
    params: Annotated[Path | None, typer.Option(help="Parameters of the symbol(s); by default the newest.")] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=NAME: an input of the first model and its name in the second. May be repeated, or with commas."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="How many random inputs in the expected range.")] = 1,
    outputs: OutputsOption = None,
    steps: Annotated[
        bool,
        typer.Option(
            help="Apply the file's pre- and postprocessing, by its metadata, to the other model.",
            rich_help_panel=SWITCHES,
        ),
    ] = True,
    target: VerifyTargetOption = None,
    *,
    feeding: Feeding,
    comparing: Comparing,
    general: General,
) -> None:
    """Compare two models on the same inputs; if they differ, name the first node. With --target, run one on other engines."""
    as_json, report_to = general.as_json, general.report_to
    with errors(as_json, report_to, writes=[comparing.repro]), progress(as_json) as tell:
        ranges = feeding.ranges
        if target := names_in(target):
            if b is not None or comparing.expected is not None:
                raise BadInput(
                    "--target runs one ONNX file beside our engine: leave out the second model and --expected"
                )
            first = bridge.open_model(a)
            told = {
                "inputs": read_feeding(first, feeding),
                "seed": comparing.seed,
                "ranges": ranges,
                "tolerance": comparing.tolerance,
            }
            on_targets = bridge.verify_targets(first, target, progress=tell, **told)
            status = NOT_EQUIVALENT if on_targets.wrong else RUNTIME if on_targets.failed and "all" not in target else 0
            if not status and not on_targets.run:  # what fits by its profile proves no numbers
                status = SAYS_LITTLE
            print_result(on_targets.as_dict(), as_json, lambda: targets_page(on_targets), report_to, status=status)
            raise typer.Exit(status)
        first = open_with(a, params)
        second = None if b is None else open_with(b, params)
        # inputs are those of the file where one prepares pictures itself, which the network beside it then does too
        carried = steps and second is not None and taken_by(second.proto) and not taken_by(first.proto)
        fed = second if carried and second is not None else first
        names = parse_names(map or ())
        specs, pictures = read_images(
            fed, feeding.image, read_inputs(fed, feeding.input, feeding.inputs), ranges,
            declared=None if second is None else _declared(fed, second, names), recorded=comparing.expected,
        )  # fmt: skip
        result = bridge.verify(
            first,
            second,
            inputs=specs,
            names=names,
            ranges=ranges,
            **comparing.read(fed, specs, pictures),
            runs=runs,
            outputs=outputs,
            steps=steps,
            layers=report_to is not None,
            progress=tell,
        )
    with errors(as_json):
        status = status_of(result, comparing.strict)
        print_result(result.as_dict(), as_json, lambda: report.verify_table(result), report_to, status=status)
    if status:
        raise typer.Exit(status)


def _declared(model: Model, other: Model, names: Mapping[str, str]) -> dict[str, Spec]:
    """Shapes of a network's inputs as the ONNX file beside it declares them. names: the file's names by the network's."""
    if model.is_onnx or other.proto is None:
        return {}
    own, found = names_to_fill(model), specs_of_onnx(other.proto)
    if len(own) == len(found) == 1 and own[0] not in names:  # whatever it is called
        return {own[0]: Spec(next(iter(found.values())).shape)}
    return {n: Spec(found[names.get(n, n)].shape) for n in own if names.get(n, n) in found}
