"""Options that say how clean a written graph is."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import SWITCHES

KeepGraph = Annotated[
    bool,
    typer.Option(
        "--keep-graph",
        help="Fold and leave out nothing: each operator of the symbol stays, BatchNorm and Identity too.",
    ),
]
NanGuards = Annotated[
    bool | None,
    typer.Option(
        "--nan-guards/--no-nan-guards",
        help="MXNet's answers for NaN and for indexes beyond their table: everywhere, or nowhere; by default where they matter.",
        rich_help_panel=SWITCHES,
    ),
]
