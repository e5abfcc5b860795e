"""Options of a conversion, which ``gluonnx convert`` and ``deploy`` share, and what they come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from converters.forms import PLAIN, Forms

from ..models import Model
from ..opsets import parse_opset
from ..renaming import parse_renames
from .detection_options import NmsOption
from .graph_options import KeepGraph, NanGuards
from .options import SWITCHES, Comparing, Feeding, OpsetOption, OutputsOption, read_inputs
from .pipeline_options import Batch, Before, Behind, DynamicOption, read_dynamic, read_pictures
from .target_options import TargetOption

External = Annotated[
    bool | None,
    typer.Option(
        "--external-data/--no-external-data",
        help="Weights in a separate file; always above 2 GB.",
        rich_help_panel=SWITCHES,
    ),
]
Free = Annotated[
    list[str] | None, typer.Option(help="A parameter that becomes an input. May be repeated, or with commas.")
]
Rename = Annotated[
    list[str] | None,
    typer.Option(help="OLD=NEW: renames an input or output. May be repeated, or with commas."),
]


@dataclass(frozen=True)
class Conversion:
    """Options that say what is converted, and into which forms."""

    dynamic: DynamicOption = None
    batch: Batch = None
    opset: OpsetOption = None
    nms: NmsOption = PLAIN.nms
    targets: TargetOption = None
    outputs: OutputsOption = None
    external_data: External = None
    rename: Rename = None
    free: Free = None
    keep_graph: KeepGraph = False
    nan_guards: NanGuards = None


def read_conversion(
    model: Model, feeding: Feeding, options: Conversion, before: Before, behind: Behind, comparing: Comparing
) -> dict[str, Any]:
    """Read options as ``bridge.convert`` takes them. Raises BadInput."""
    ranges, wanted = feeding.ranges, before.read()
    axes, batch = read_dynamic(options.dynamic, options.batch)
    specs, pictures = read_pictures(
        model,
        feeding.image,
        read_inputs(model, feeding.input, feeding.inputs),
        ranges,
        wanted,
        axes,
        comparing.expected,
    )
    return {
        "inputs": specs,
        "dynamic": axes,
        "batch": batch,
        "preprocess": wanted,
        "postprocess": behind.read(),
        "opset": parse_opset(options.opset),
        "targets": options.targets,
        "outputs": options.outputs,
        "ranges": ranges,
        "external_data": options.external_data,
        "rename": parse_renames(options.rename or ()),
        "free": options.free,
        "forms": Forms(keep_graph=options.keep_graph, nan_guards=options.nan_guards, nms=options.nms),
        **comparing.read(model, specs, pictures),
    }
