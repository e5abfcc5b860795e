"""Options that commands share, and what is read of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import bridge
from hybrid.core.op import Spec

from ..compare import Tolerance
from ..inputs import Feeds, load_feeds, parse_inputs, parse_ranges
from ..models import Model, names_to_fill
from ..paths import BadInput
from ..plugins import load_plugin
from ..printable import printable
from ..runtime import TIME_LIMIT

SWITCHES = "On and off"
"""The group of options that have a form with no-: beside others they would take a column of every line of the help."""

MORE_PICTURES = "more pictures than one batch; give fewer, or a larger batch (--input)"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
InputOption = Annotated[
    list[str] | None, typer.Option("--input", help="NAME:D1,D2,...[:DTYPE], such as data:1,3,224,224. May be repeated.")
]
FeedsOption = Annotated[Path | None, typer.Option("--inputs", help="Arrays by name (.npz), or the one input's (.npy).")]
ImageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--image",
        help="An image or a folder of images, resized to the image input; or NAME=PATH. May be repeated.",
    ),
]
RangeOption = Annotated[
    list[str] | None,
    typer.Option("--range", help="NAME:LOW,HIGH of random inputs and of images, such as data:0,255. May be repeated."),
]
AlsoOption = Annotated[
    list[Path] | None, typer.Option(help="More inputs (.npz) to verify with, of other sizes. May be repeated.")
]
ParamsArgument = Annotated[Path | None, typer.Argument(help="By default the newest PREFIX-NNNN.params.")]
ParamsOption = Annotated[
    Path | None, typer.Option("--params", help="The parameters, in place of the second argument.", show_default=False)
]
OpsetOption = Annotated[
    str | None,
    typer.Option(
        help="7 to the newest that onnx defines, or newest; by default the oldest from 13 on that can express the network."
    ),
]
OutputsOption = Annotated[
    list[str] | None,
    typer.Option("--outputs", help="Cut the graph here, such as fc1_output. May be repeated, or with commas."),
]


def one_params(argument: Path | None, option: Path | None) -> Path | None:
    """The file of parameters, given behind the model or as an option. Raises BadInput where both are."""
    if argument is not None and option is not None:
        raise BadInput(f"--params {option}: {argument} was given behind the model already; give one of them")
    return option if argument is None else argument


def load_plugins(names: list[str] | None) -> list[str] | None:
    """The callback of --plugin, called before anything is opened. Raises typer.BadParameter."""
    for name in names or ():
        try:
            load_plugin(name)
        except BadInput as error:
            raise typer.BadParameter(printable(str(error))) from None
    return names


Plugin = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        callback=load_plugins,
        is_eager=True,
        help="Your own Python file or module that registers operators; it is executed. See docs/plugins.md. May be repeated.",
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print all details.")]
Expected = Annotated[
    Path | None,
    typer.Option(help="A recording of the right outputs and their inputs (gluonnx record, record_with_mxnet.py)."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of random inputs.")]
Atol = Annotated[
    float | None,
    typer.Option(help="|a - b| may be atol + rtol |a| (atol 1e-5 if only --rtol is given); then only outputs decide."),
]
Rtol = Annotated[
    float | None, typer.Option(help="See --atol (1e-4 if only --atol is given); then only outputs decide.")
]
Scaled = Annotated[
    bool,
    typer.Option("--scaled", help="Multiply --atol by the largest number of the channel, as the default rule does."),
]
Repro = Annotated[Path | None, typer.Option(help="Folder for a minimal reproduction if the models differ.")]

Precision = Annotated[
    str,
    typer.Option(
        help="How gluonnx's engine stores constant weights of products: float32, bfloat16 or int8. Prints the error."
    ),
]

Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit status 4 if an output agrees but proves little: constant, saturated, empty."),
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
Report = Annotated[
    Path | None, typer.Option("--report", help="Also write a report: .html (with pictures), .md or .json.")
]


def read_inputs(model: Model, input: list[str] | None, inputs: Path | None) -> Feeds:
    """Read --input and --inputs: specs and arrays by name."""
    specs: dict[str, Any] = dict(parse_inputs(input or ()))
    arrays = Feeds() if inputs is None else load_feeds(inputs, names_to_fill(model, specs))
    return Feeds({**specs, **arrays}, arrays.sources)


def read_further_inputs(model: Model, specs: Mapping[str, Any], also: list[Path] | None) -> list[Feeds]:
    """Read --also: sets of arrays by name."""
    return [load_feeds(path, names_to_fill(model, specs)) for path in also or ()]


def read_images(
    model: Model,
    image: list[str] | None,
    given: Feeds,
    ranges: Mapping[str, tuple[float, float]],
    together: bool = False,
    declared: Mapping[str, Spec] | None = None,
    recorded: Path | None = None,
) -> tuple[Feeds, list[Feeds]]:
    """The inputs with the first batch of --image, and those with further ones. declared: what another file says of inputs, for
    those of which this model says nothing. recorded: outputs that the pictures are held against, row by row. Raises BadInput."""
    if not image:
        return given, []
    from ..images import load_images

    known = {**(declared or {}), **given}
    sets = load_images(image, model, inputs=known, ranges=ranges, together=together or recorded is not None)
    first, *further = (Feeds({**given, **each}, {**given.sources, **each.sources}) for each in sets)
    if further and recorded is not None:
        sizes = [
            f"--input {n}:{','.join(map(str, (a.shape[0] * len(sets), *a.shape[1:])))}" for n, a in sets[0].items()
        ]
        raise BadInput(
            f"--image makes {len(sets)} runs, a batch of {len(next(iter(sets[0].values())))} in each, and one run is held against "
            f"{recorded}: {' '.join(sizes)} puts all pictures into one batch, whose rows are those of the files by their names"
        )
    return first, further


def read_feeding(model: Model, feeding: Feeding) -> Feeds:
    """Read what a model is fed with where that is one batch. Raises BadInput."""
    given = read_inputs(model, feeding.input, feeding.inputs)
    found, further = read_images(model, feeding.image, given, feeding.ranges, together=True)
    if further:
        raise BadInput(MORE_PICTURES)
    return found


def as_limits(atol: float | None, rtol: float | None, scaled: bool) -> Tolerance | None:
    """Tolerance of --atol, --rtol and --scaled; None where neither is given."""
    if atol is None and rtol is None:
        return None
    usual = bridge.TOLERANCES["float32"]  # what is not given stays as it is
    return Tolerance(usual.atol if atol is None else atol, usual.rtol if rtol is None else rtol, scaled)


@dataclass(frozen=True)
class Feeding:
    """Options that say what a model is fed with."""

    input: InputOption = None
    inputs: FeedsOption = None
    image: ImageOption = None
    range: RangeOption = None

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """(low, high) of draws by name. Raises BadInput."""
        return parse_ranges(self.range or ())


@dataclass(frozen=True)
class Comparing:
    """Options that say how two sides are compared."""

    also: AlsoOption = None
    expected: Expected = None
    seed: Seed = 0
    atol: Atol = None
    rtol: Rtol = None
    scaled: Scaled = False
    repro: Repro = None
    strict: Strict = False

    @property
    def tolerance(self) -> Tolerance | None:
        return as_limits(self.atol, self.rtol, self.scaled)

    def read(self, model: Model, specs: Mapping[str, Any], pictures: Sequence[Feeds] = ()) -> dict[str, Any]:
        """The options as functions of bridge take them. pictures: further inputs, of --image."""
        return {
            "also": [*pictures, *read_further_inputs(model, specs, self.also)],
            "expected": self.expected,
            "seed": self.seed,
            "tolerance": self.tolerance,
            "repro": self.repro,
        }


@dataclass(frozen=True)
class General:
    """Options of commands of all kinds."""

    plugin: Plugin = None
    time_limit: TimeLimit = TIME_LIMIT
    report_to: Report = None
    as_json: AsJson = False
