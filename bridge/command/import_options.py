"""Options of the command import alone."""

from __future__ import annotations

from typing import Annotated

import typer

DynamicAxes = Annotated[
    list[str] | None,
    typer.Option(
        "--dynamic",
        help="Dynamic axes: NAME:AXIS=LABEL,..., such as data:0=batch; or batch, for that of all inputs. May be repeated.",
    ),
]
Fp32 = Annotated[bool, typer.Option("--fp32", help="Write a float32 symbol for a float16 or bfloat16 file.")]
ForMxnet = Annotated[
    bool,
    typer.Option("--for-mxnet", help="Use only what MXNet 1.9.1 itself can load; fail otherwise."),
]
