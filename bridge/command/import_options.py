"""Options of the command import alone."""

from __future__ import annotations

from typing import Annotated

import typer

DynamicAxes = Annotated[
    list[str] | None,
    typer.Option("--dynamic", help="NAME:AXIS=LABEL,..., such as data:0=batch: axes of any size. May be repeated."),
]
Fp32 = Annotated[
    bool, typer.Option("--fp32", help="A symbol in float32 of a file in float16 or bfloat16, compared with that too.")
]
ForMxnet = Annotated[
    bool,
    typer.Option(
        "--for-mxnet", help="Operators and forms of MXNet 1.9.1 alone, which it loads itself; else a refusal."
    ),
]
