"""Options that commands share, and what is read of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import bridge

from ..compare import Tolerance
from ..inputs import load_feeds, parse_inputs
from ..models import Model, names_to_fill

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
InputOption = Annotated[
    list[str] | None, typer.Option("--input", help="NAME:D1,D2,...[:DTYPE], such as data:1,3,224,224. May be repeated.")
]
FeedsOption = Annotated[Path | None, typer.Option("--inputs", help="Arrays by name (.npz), or the one input's (.npy).")]
AlsoOption = Annotated[
    list[Path] | None, typer.Option(help="Further inputs (.npz) to verify with, of other sizes. May be repeated.")
]
OutputsOption = Annotated[
    list[str] | None, typer.Option("--outputs", help="Cut the graph here, such as fc1_output. May be repeated.")
]
Expected = Annotated[
    Path | None,
    typer.Option(
        help="Recorded outputs (gluonnx record, record_with_mxnet.py) that are right, with the inputs they came from."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the inputs that are drawn.")]
Atol = Annotated[
    float | None,
    typer.Option(help="|a - b| may be atol + rtol |a| (atol 1e-5 with --rtol alone); then outputs alone decide."),
]
Rtol = Annotated[float | None, typer.Option(help="See --atol (1e-4 with --atol alone); then outputs alone decide.")]
Scaled = Annotated[
    bool, typer.Option("--scaled", help="--atol counts times the largest number of the channel, as it does by default.")
]
Repro = Annotated[Path | None, typer.Option(help="Folder for a minimal reproduction when the models differ.")]

Precision = Annotated[
    str,
    typer.Option(
        help="As what our engine holds constant weights of products: float32, bfloat16 or int8. The error is told."
    ),
]

Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit status 4 when an output agrees but says little: constant, saturated, empty."),
]


def set_time_limit(seconds: float) -> float:
    """The callback of --time-limit. Raises typer.BadParameter."""
    try:
        bridge.set_time_limit(seconds)
    except ValueError:
        raise typer.BadParameter(f"got {seconds:g}, wanted a positive number of seconds") from None
    return seconds


TimeLimit = Annotated[
    float,
    typer.Option(
        callback=set_time_limit,
        help="Seconds that onnxruntime may take to open a model, or to run it once; inf for no limit.",
    ),
]
Report = Annotated[Path | None, typer.Option("--report", help="Also write what is printed to a .md or .html file.")]


def read_inputs(model: Model, input: list[str] | None, inputs: Path | None) -> dict[str, Any]:
    """Read --input and --inputs: specs and arrays by name."""
    specs: dict[str, Any] = dict(parse_inputs(input or ()))
    return specs if inputs is None else specs | load_feeds(inputs, names_to_fill(model, specs))


def read_further_inputs(model: Model, specs: dict[str, Any], also: list[Path] | None) -> list[dict[str, Any]]:
    """Read --also: sets of arrays by name."""
    return [load_feeds(path, names_to_fill(model, specs)) for path in also or ()]


def as_limits(atol: float | None, rtol: float | None, scaled: bool) -> Tolerance | None:
    """Tolerance of --atol, --rtol and --scaled; None where neither is given."""
    if atol is None and rtol is None:
        return None
    usual = bridge.TOLERANCES["float32"]  # what is not given stays as it is
    return Tolerance(usual.atol if atol is None else atol, usual.rtol if rtol is None else rtol, scaled)
