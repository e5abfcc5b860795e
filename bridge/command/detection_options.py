"""Options about what detectors end in."""

from __future__ import annotations

from typing import Annotated

import typer

from converters.forms import NMS


def check_nms(name: str) -> str:
    """The callback of --nms. Raises typer.BadParameter."""
    if name not in NMS:
        raise typer.BadParameter(f"got {name!r}, wanted one of {', '.join(NMS)}")
    return name


NmsOption = Annotated[
    str,
    typer.Option(
        "--nms",
        callback=check_nms,
        help="Outputs of a detector: onnx (NonMaxSuppression), none (boxes and scores before it), or tensorrt-plugin "
        "(EfficientNMS_TRT). See docs/detection.md.",
    ),
]
