"""Options of ``gluonnx convert`` and ``deploy`` for what stands before and behind the network, and for its batch axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..batching import BATCH
from ..inputs import Feeds, as_specs, parse_dynamic
from ..models import Model
from ..paths import BadInput
from ..pipeline.labels import read_labels
from ..pipeline.postprocess import Postprocess
from ..pipeline.preprocess import Dynamic, Preprocess, Ranges, parse_numbers, parse_resize, parse_size, preprocessed
from .options import read_images

BEFORE, BEHIND = "Pictures before the network, in the file", "Scores behind the network, in the file"

Mean = Annotated[
    str | None,
    typer.Option(help="Subtracted from pixels: 123.68,116.28,103.53, or one number.", rich_help_panel=BEFORE),
]
Scale = Annotated[
    str | None, typer.Option(help="Then multiplied: one number, or one per channel.", rich_help_panel=BEFORE)
]
Std = Annotated[
    str | None, typer.Option(help="Then divided by: one number, or one per channel.", rich_help_panel=BEFORE)
]
Unit = Annotated[
    bool,
    typer.Option("--unit", help="Map 0 to 255 to 0 to 1 before --mean, as ToTensor does.", rich_help_panel=BEFORE),
]
Layout = Annotated[
    str | None, typer.Option(help="The layout that the file takes: NHWC or NCHW.", rich_help_panel=BEFORE)
]
Uint8 = Annotated[bool, typer.Option("--uint8", help="The file takes uint8.", rich_help_panel=BEFORE)]
Bgr = Annotated[
    bool,
    typer.Option(
        "--bgr",
        help="The file takes blue, green, red; the network gets the reverse.",
        rich_help_panel=BEFORE,
    ),
]
Resize = Annotated[
    str | None,
    typer.Option(
        help="Resize images of any size to HEIGHTxWIDTH; or the shorter side to this length, with --crop.",
        rich_help_panel=BEFORE,
    ),
]
Crop = Annotated[str | None, typer.Option(help="Crop the center to HEIGHTxWIDTH.", rich_help_panel=BEFORE)]
PreprocessInput = Annotated[
    str | None, typer.Option(help="The image input, if there are several inputs.", rich_help_panel=BEFORE)
]
Twice = Annotated[
    bool,
    typer.Option(
        "--twice",
        help="Allow --unit, --mean, --scale, --std although the network normalises by itself.",
        rich_help_panel=BEFORE,
    ),
]
Softmax = Annotated[bool, typer.Option("--softmax", help="Turn scores into probabilities.", rich_help_panel=BEHIND)]
Argmax = Annotated[
    bool, typer.Option("--argmax", help="Output the best class instead of scores.", rich_help_panel=BEHIND)
]
TopK = Annotated[
    int | None,
    typer.Option("--top-k", help="Output the K best scores and their classes.", rich_help_panel=BEHIND),
]
Labels = Annotated[
    Path | None,
    typer.Option(help="Class names, one per line, for the file's metadata.", rich_help_panel=BEHIND),
]
PostprocessOutput = Annotated[
    str | None,
    typer.Option(
        help="The output with scores, if there are several and --labels does not tell.", rich_help_panel=BEHIND
    ),
]
ClassAxis = Annotated[
    int | None,
    typer.Option(help="The axis of the classes; by default as --labels tells, or 1.", rich_help_panel=BEHIND),
]
Batch = Annotated[int | None, typer.Option(help="The batch size of every input, such as 1.")]
DynamicOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Dynamic axes: NAME:AXIS=LABEL,..., such as data:0=batch; or batch, for that of all inputs. May be repeated."
    ),
]


def read_dynamic(texts: Sequence[str] | None, batch: int | None) -> tuple[Dynamic, int | str | None]:
    """Read --dynamic and --batch: dynamic axes by name, and what becomes of the batch axis. Raises BadInput."""
    named, words = [], []
    for text in texts or ():
        first, *rest = text.split(",", 1)
        words += [first] if first == BATCH else []
        named += rest if first == BATCH else [text]
    axes = parse_dynamic(named, [BATCH])
    if not words:
        return axes, batch
    if batch is not None:
        raise BadInput(f"got --batch {batch} and --dynamic batch, wanted one of them")
    return axes, BATCH


@dataclass(frozen=True)
class Before:
    """Options of what stands before the network."""

    mean: Mean = None
    scale: Scale = None
    std: Std = None
    unit: Unit = False
    layout: Layout = None
    uint8: Uint8 = False
    bgr: Bgr = False
    resize: Resize = None
    crop: Crop = None
    preprocess_input: PreprocessInput = None
    twice: Twice = False

    def read(self) -> Preprocess | None:
        """Read them; None where they ask for nothing. Raises BadInput."""
        found = Preprocess(
            layout=None if self.layout is None else self.layout.upper(),
            uint8=self.uint8,
            bgr=self.bgr,
            resize=parse_resize(self.resize),
            crop=parse_size("crop", self.crop),
            unit=self.unit,
            mean=parse_numbers("mean", self.mean),
            scale=parse_numbers("scale", self.scale),
            std=parse_numbers("std", self.std),
            input=self.preprocess_input,
            twice=self.twice,
        )
        if self.twice and not any((self.unit, self.mean, self.scale, self.std)):
            raise BadInput("--twice insists on --unit, --mean, --scale or --std: add one of them, or leave it out")
        if self.preprocess_input is not None and not found:
            raise BadInput(
                "--preprocess-input says where, and nothing says what: add --uint8, --mean, --layout or others"
            )
        return found if found else None


@dataclass(frozen=True)
class Behind:
    """Options of what stands behind the network."""

    softmax: Softmax = False
    argmax: Argmax = False
    top_k: TopK = None
    labels: Labels = None
    postprocess_output: PostprocessOutput = None
    class_axis: ClassAxis = None

    def read(self) -> Postprocess | None:
        """Read them; None where they ask for nothing. Raises BadInput."""
        labels, output, axis = self.names, self.postprocess_output, self.class_axis
        found = Postprocess(self.softmax, self.argmax, self.top_k, labels, output, axis)
        if (output is not None or axis is not None) and not found:
            raise BadInput(
                "--postprocess-output and --class-axis say where, and nothing says what: add --softmax, --top-k or others"
            )
        return found if found else None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes. Raises BadInput."""
        return () if self.labels is None else tuple(read_labels(self.labels))


def read_pictures(
    model: Model,
    image: list[str] | None,
    given: Feeds,
    ranges: Ranges,
    wanted: Preprocess | None,
    dynamic: Dynamic,
    recorded: Path | None = None,
) -> tuple[Feeds, list[Feeds]]:
    """The inputs with the first batch of --image, and those with further ones, in the form in which the file takes them. recorded:
    as read_images takes it."""
    if wanted is None or not image:
        return read_images(model, image, given, ranges, recorded=recorded)
    made = preprocessed(model, wanted, as_specs(given)[0], dynamic, ranges)
    arrays = as_specs(given)[1]
    first, further = read_images(
        made.model, image, Feeds({**made.specs, **arrays}, given.sources), made.ranges, recorded=recorded
    )
    if wanted.bgr:
        from ..images import turned

        for feeds in (first, *further):
            turned(feeds, made.name, made.layout.index("C"))
    return first, further
