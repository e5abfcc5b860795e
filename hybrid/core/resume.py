"""The wishes of ``python -m hybrid --resume`` for this process, and whether anything heeds them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from .error import MXNetError
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
    training: Any = None
    """The training whose batches are gone through, and which keeps a state."""

    @classmethod
    @contextlib.contextmanager
    def among(cls, training: Any) -> Iterator[None]:
        """The batches of a training are gone through."""
        before, cls.training = cls.training, training
        try:
            yield
        finally:
            cls.training = before


def tell_if_unkept(trainer: Any = None) -> None:
    """Say once, where a step of training is about to be made, that ``--resume`` was asked for and nothing is kept.

    Raises MXNetError for a step among the batches of a training that does not know its trainer."""
    if Settings.training is not None and trainer is not None and not Settings.training.knows(trainer):
        raise MXNetError(
            "Training: a Trainer makes a step that it was not given, and whose states would begin anew; wanted all networks and "
            "trainers of the loop: Training(net=[one, other], trainer=[trainer_of_one, trainer_of_other])"
        )
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
