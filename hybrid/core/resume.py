"""The wishes of ``python -m hybrid --resume`` for this process, and whether anything heeds them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .error import MXNetError


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
    loop: tuple[int, Any] | None = None
    """Mark of the frame of the loop that goes through them: a loop that an error ended may hold on to them for long."""

    @classmethod
    @contextlib.contextmanager
    def among(cls, training: Any, loop: FrameType) -> Iterator[None]:
        """The batches of a training are gone through, by the loop in a frame."""
        cls.training, cls.loop = training, (id(loop), loop.f_code)
        try:
            yield
        finally:
            if cls.training is training:
                cls.training = cls.loop = None

    @classmethod
    def misses(cls, trainer: Any) -> bool:
        """True for a trainer that makes a step in that loop and that the training does not know."""
        if cls.training is None or trainer is None or cls.training.knows(trainer):
            return False
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and (id(frame), frame.f_code) != cls.loop:
            frame = frame.f_back
        return frame is not None


def tell_if_unkept(trainer: Any = None) -> None:
    """Say once, where a step of training is about to be made, that ``--resume`` was asked for and nothing is kept.

    Raises MXNetError for a step among the batches of a training that does not know its trainer."""
    if Settings.misses(trainer):
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
        "with loops over run.epochs(...) and run.batches(...): gluonnx explain training-unkept",
        file=sys.stderr,
        flush=True,
    )
