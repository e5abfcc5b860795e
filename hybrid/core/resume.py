"""The wishes of ``python -m hybrid --resume`` for this process, and whether anything heeds them."""

from __future__ import annotations

import sys

from .version import SITE


class Settings:
    """The command line's wishes: the folder of the state, and the batches after which it is written."""

    folder: str | None = None
    every: int | None = None
    used = False
    """True once something keeps its state there."""
    told = False
    """True once the program was told that nothing does."""
    trainings = 0
    """Number of those that keep their states there, each in a file of its own."""


def tell_if_unkept() -> None:
    """Say once, where a step of training is about to be made, that ``--resume`` was asked for and nothing is kept."""
    if Settings.folder is None or Settings.used or Settings.told:
        return
    Settings.told = True
    print(
        f"gluonnx: --resume {Settings.folder}: this program trains, and nothing of it is kept: it will begin anew. Wanted "
        "Module.fit, or before the first step\n"
        "  run = mx.resuming.Training(net=net, trainer=trainer)\n"
        f"with loops over run.epochs(...) and run.batches(...): {SITE}/tutorials/training-script.html",
        file=sys.stderr,
        flush=True,
    )
