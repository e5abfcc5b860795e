"""Options of the command import alone."""

from __future__ import annotations

from typing import Annotated

import typer

DynamicAxes = Annotated[
    list[str] | None,
    typer.Option("--dynamic", help="NAME:AXIS=LABEL,..., such as data:0=batch: axes of any size. May be repeated."),
]
ForMxnet = Annotated[
    bool,
    typer.Option(
        "--for-mxnet", help="Operators and forms of MXNet 1.9.1 alone, which it loads itself; else a refusal."
    ),
]
