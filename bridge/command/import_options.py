"""Options of the command import alone."""

from __future__ import annotations

from typing import Annotated

import typer

DynamicAxes = Annotated[
    list[str] | None,
    typer.Option("--dynamic", help="NAME:AXIS=LABEL,..., such as data:0=batch: axes of any size. May be repeated."),
]
