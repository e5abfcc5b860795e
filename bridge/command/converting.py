"""``gluonnx convert`` and ``gluonnx import``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

import typer

import bridge
from converters.forms import PLAIN, Forms

from .. import report
from ..inputs import parse_dynamic, parse_ranges
from ..job import check_target
from ..opsets import parse_opset
from ..paths import BadInput
from ..renaming import parse_renames
from ..runtime import TIME_LIMIT
from .detection_options import NmsOption
from .graph_options import KeepGraph, NanGuards
from .import_options import DynamicAxes, ForMxnet
from .options import (
    AlsoOption,
    AsJson,
    Atol,
    Expected,
    FeedsOption,
    ImageOption,
    InputOption,
    OpsetOption,
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
    Verbose,
    as_limits,
    read_further_inputs,
    read_images,
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
    read_pictures,
    read_postprocess,
    read_preprocess,
)
from .precision_options import (
    Activations,
    Asked,
    Data,
    Fp16,
    Fp16Io,
    Fp32,
    KeepFloat,
    Least,
    Method,
    Percentile,
    Quantize,
    Truth,
    Weights,
    wishes_of,
)
from .shell import errors, print_result, progress
from .target_options import TargetOption


def convert(
    symbol: Annotated[
        str, typer.Argument(help="PREFIX-symbol.json, PREFIX, a folder, or an archive: .tar.gz, .tgz, .tar, .zip.")
    ],
    params: Annotated[Path | None, typer.Argument(help="By default the newest PREFIX-NNNN.params.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="By default PREFIX.onnx; .onnx is added to a name without ending."),
    ] = None,
    input: InputOption = None,
    inputs: FeedsOption = None,
    image: ImageOption = None,
    range: RangeOption = None,
    dynamic: DynamicOption = None,
    batch: Batch = None,
    opset: OpsetOption = None,
    nms: NmsOption = PLAIN.nms,
    targets: TargetOption = None,
    outputs: OutputsOption = None,
    verify: Annotated[bool, typer.Option(help="Compare with onnxruntime before the file appears.")] = True,
    also: AlsoOption = None,
    expected: Expected = None,
    external_data: Annotated[
        bool | None,
        typer.Option("--external-data/--no-external-data", help="Weights beside the file; by itself past 2 GB."),
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option(help="OLD=NEW: another name for an input or output. May be repeated.")
    ] = None,
    free: Annotated[list[str] | None, typer.Option(help="A parameter that is to be an input. May be repeated.")] = None,
    plugin: Plugin = None,
    training: Annotated[
        bool,
        typer.Option(
            "--training", help="As it trains: losses are outputs, labels inputs, BatchNorm and Dropout train."
        ),
    ] = False,
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
    labels: Labels = None,
    postprocess_output: PostprocessOutput = None,
    class_axis: ClassAxis = None,
    keep_graph: KeepGraph = False,
    nan_guards: NanGuards = None,
    fp16: Fp16 = False,
    fp16_io: Fp16Io = False,
    fp32: Fp32 = False,
    quantize: Quantize = None,
    calibration: Method = "minmax",
    percentile: Percentile = 99.99,
    activations: Activations = "uint8",
    weights: Weights = None,
    keep_float: KeepFloat = None,
    least: Least = None,
    examples: Data = None,
    truth: Truth = None,
    seed: Seed = 0,
    atol: Atol = None,
    rtol: Rtol = None,
    scaled: Scaled = False,
    repro: Repro = None,
    strict: Strict = False,
    time_limit: TimeLimit = TIME_LIMIT,
    report_to: Report = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Convert an exported symbol with its parameters to ONNX; the file appears only when both give the same numbers."""
    with errors(as_json, report_to, verbose), progress(as_json) as tell:
        wanted = wishes_of(
            Asked(
                fp16,
                fp16_io,
                fp32,
                quantize,
                calibration,
                percentile,
                activations,
                weights,
                keep_float,
                least,
                examples,
                truth,
            )
        )
        convert_to = bridge.convert if wanted is None else functools.partial(bridge.convert_in, wanted)
        model = bridge.open_model(symbol, params, foreign=True)
        ranges = parse_ranges(range or ())
        axes, batch_axis = read_dynamic(dynamic, batch)
        pictures_first = read_preprocess(mean, scale, std, unit, layout, uint8, bgr, resize, crop, preprocess_input)
        scores_then = read_postprocess(softmax, argmax, top_k, labels, postprocess_output, class_axis)
        specs, pictures = read_pictures(model, image, read_inputs(model, input, inputs), ranges, pictures_first, axes)
        target = output if output is not None else (model.path or Path(model.name)).with_name(f"{model.name}.onnx")
        target = target if target.suffix or target.is_dir() else target.with_name(f"{target.name}.onnx")
        for place in (target, target.with_name(f"{target.name}.data"))[: 2 if external_data else 1]:
            check_target(place, inputs, expected, labels, *also or ())
        result = convert_to(
            model,
            inputs=specs,
            output=target,
            dynamic=axes,
            batch=batch_axis,
            preprocess=pictures_first,
            postprocess=scores_then,
            opset=parse_opset(opset),
            targets=targets,
            outputs=outputs,
            verify=verify,
            also=[*pictures, *read_further_inputs(model, specs, also)],
            ranges=ranges,
            expected=expected,
            seed=seed,
            tolerance=as_limits(atol, rtol, scaled),
            external_data=external_data,
            rename=parse_renames(rename or ()),
            free=free,
            training=training,
            forms=Forms(keep_graph=keep_graph, nan_guards=nan_guards, nms=nms),
            repro=repro,
            strict=strict,
            layers=report_to is not None,
            progress=tell,
        )
    with errors(as_json):
        shown = report.convert_table if verbose else report.convert_brief
        print_result(result.as_dict(), as_json, lambda: report.convert_table(result), report_to, lambda: shown(result))


def import_(
    model: Annotated[Path, typer.Argument(help="An ONNX file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The prefix; by default the file's name, if nothing is there.")
    ] = None,
    input: InputOption = None,
    inputs: FeedsOption = None,
    image: ImageOption = None,
    range: RangeOption = None,
    dynamic: DynamicAxes = None,
    for_mxnet: ForMxnet = False,
    verify: Annotated[bool, typer.Option(help="Compare with onnxruntime before the files appear.")] = True,
    also: AlsoOption = None,
    expected: Expected = None,
    rename: Annotated[
        list[str] | None, typer.Option(help="OLD=NEW: another name for an input or output. May be repeated.")
    ] = None,
    plugin: Plugin = None,
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
    """Read an ONNX model as a symbol with parameters; the files appear only when both give the same numbers."""
    with errors(as_json, report_to), progress(as_json) as tell:
        opened = bridge.open_model(model)
        if not opened.is_onnx:
            raise BadInput(f"{model}: an MXNet symbol already; import takes an ONNX file")
        if output is None:
            there = [
                p
                for p in (f"{model.with_suffix('')}-{end}" for end in ("symbol.json", "0000.params"))
                if Path(p).exists()
            ]
            if there:  # maybe what the ONNX file was converted from
                raise BadInput(
                    f"{' and '.join(there)}: there already; give a prefix with -o, the same one to write over them"
                )
        ranges = parse_ranges(range or ())
        specs, pictures = read_images(opened, image, read_inputs(opened, input, inputs), ranges)
        result = bridge.import_onnx(
            model,
            output=output if output is not None else model.with_suffix(""),
            inputs=specs,
            dynamic=parse_dynamic(dynamic or ()),
            for_mxnet=for_mxnet,
            expected=expected,
            rename=parse_renames(rename or ()),
            verify=verify,
            also=[*pictures, *read_further_inputs(opened, specs, also)],
            ranges=ranges,
            seed=seed,
            tolerance=as_limits(atol, rtol, scaled),
            repro=repro,
            strict=strict,
            layers=report_to is not None,
            progress=tell,
        )
    with errors(as_json):
        print_result(result.as_dict(), as_json, lambda: report.import_table(result), report_to)
