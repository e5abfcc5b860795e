"""Options that say how clean a written graph is."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import SWITCHES

KeepGraph = Annotated[
    bool,
    typer.Option(
        "--keep-graph",
        help="Fold and remove nothing: keep every operator of the symbol, also BatchNorm and Identity.",
    ),
]
NanGuards = Annotated[
    bool | None,
    typer.Option(
        "--nan-guards/--no-nan-guards",
        help="MXNet's results for NaN and for indexes outside of a table: everywhere or nowhere; by default where they matter.",
        rich_help_panel=SWITCHES,
    ),
]
