"""``gluonnx deploy``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bridge

from .. import report
from ..inputs import parse_ranges
from ..job import check_target
from ..opsets import parse_opset
from ..paths import BadInput
from ..pipeline.labels import read_labels
from ..renaming import parse_renames
from ..runtime import TIME_LIMIT
from ..serving.deploy import TARGETS
from .options import (
    AsJson,
    Atol,
    FeedsOption,
    InputOption,
    OpsetOption,
    OutputsOption,
    Plugin,
    RangeOption,
    Report,
    Rtol,
    Scaled,
    Seed,
    TimeLimit,
    as_limits,
    read_inputs,
)
from .pipeline_options import (
    Argmax,
    Batch,
    Bgr,
    ClassAxis,
    Crop,
    DynamicOption,
    Labels,
    Layout,
    Mean,
    PostprocessOutput,
    PreprocessInput,
    Resize,
    Scale,
    Softmax,
    Std,
    TopK,
    Uint8,
    Unit,
    read_dynamic,
    read_postprocess,
    read_preprocess,
)
from .shell import errors, print_result, progress


def deploy(
    model: Annotated[str, typer.Argument(help="A symbol, as convert takes it, or an ONNX file.")],
    place: Annotated[Path, typer.Argument(help="The folder to write to, or an archive: model.tar.gz, NAME.mar.")],
    params: Annotated[Path | None, typer.Argument(help="By default the newest PREFIX-NNNN.params.")] = None,
    to: Annotated[str, typer.Option(help=f"What it is for: {', '.join(TARGETS)}.")] = "",
    name: Annotated[str | None, typer.Option(help="The model's name there; by default its own.")] = None,
    labels: Labels = None,
    max_batch: Annotated[int, typer.Option(min=1, help="The largest batch that Triton makes of requests.")] = 8,
    replace: Annotated[bool, typer.Option("--replace", help="Replace files that are there already.")] = False,
    input: InputOption = None,
    inputs: FeedsOption = None,
    range: RangeOption = None,
    dynamic: DynamicOption = None,
    batch: Batch = None,
    opset: OpsetOption = None,
    outputs: OutputsOption = None,
    rename: Annotated[
        list[str] | None, typer.Option(help="OLD=NEW: another name for an input or output. May be repeated.")
    ] = None,
    verify: Annotated[bool, typer.Option(help="Compare with onnxruntime before files appear.")] = True,
    mean: Mean = None,
    scale: Scale = None,
    std: Std = None,
    unit: Unit = False,
    layout: Layout = None,
    uint8: Uint8 = False,
    bgr: Bgr = False,
    resize: Resize = None,
    crop: Crop = None,
    preprocess_input: PreprocessInput = None,
    softmax: Softmax = False,
    argmax: Argmax = False,
    top_k: TopK = None,
    postprocess_output: PostprocessOutput = None,
    class_axis: ClassAxis = None,
    plugin: Plugin = None,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    as_json: AsJson = False,
) -> None:
    """Lay a model out for what serves it: Triton, SageMaker, multi-model-server, or a program in Python or C++."""
    with errors(as_json, report_to), progress(as_json) as tell:
        if to not in TARGETS:
            kinds = "; ".join(f"{n}, {k.about}" for n, k in TARGETS.items())
            raise BadInput(f"--to {to or 'nothing'}: wanted one of {kinds}")
        opened = bridge.open_model(model, params, foreign=True)
        check_target(report_to, *opened.files()) if report_to is not None else None
        axes, batch_axis = read_dynamic(dynamic, batch)
        result = bridge.deploy(
            opened,
            to,
            place,
            name=name,
            labels=() if labels is None else read_labels(labels),
            max_batch=max_batch,
            replace=replace,
            inputs=read_inputs(opened, input, inputs),
            ranges=parse_ranges(range or ()),
            dynamic=axes,
            batch=batch_axis,
            opset=parse_opset(opset),
            outputs=outputs,
            rename=parse_renames(rename or ()),
            verify=verify,
            preprocess=read_preprocess(mean, scale, std, unit, layout, uint8, bgr, resize, crop, preprocess_input),
            postprocess=read_postprocess(softmax, argmax, top_k, labels, postprocess_output, class_axis),
            seed=seed,
            tolerance=as_limits(atol, rtol, scaled),
            progress=tell,
        )
    with errors(as_json):
        print_result(result.as_dict(), as_json, lambda: report.deploy_table(result), report_to)
