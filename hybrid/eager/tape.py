"""The tape of autograd: records of what made arrays of arrays, kept by the arrays they made.

Every thread has a state of its own: whether operations are recorded, and whether they are to behave as in training.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

from ..core.op import Op

Array = Any
"""An NDArray, which is above this."""


class _State(threading.local):
    recording = False
    training = False


STATE = _State()
_numbers = itertools.count()


class StateScope:
    """``with`` block in which the state is another; None leaves a part of it as it is."""

    def __init__(self, recording: bool | None, training: bool | None):
        self._wanted = recording, training
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((STATE.recording, STATE.training))
        recording, training = self._wanted
        if recording is not None:
            STATE.recording = recording
        if training is not None:
            STATE.training = training

    def __exit__(self, *exception: object) -> None:
        STATE.recording, STATE.training = self._before.pop()


class Leaf:
    """A place where gradients arrive: the array that holds them and how they are put there (write, add, null)."""

    __slots__ = ("fresh", "grad", "request")

    def __init__(self, grad: Any, request: str):
        self.grad, self.request = grad, request
        self.fresh = False


Origin = Any
"""Origin of an array: None, a Leaf, or (TapeRecord, output index)."""


class TapeRecord:
    """One recorded computation. ``number`` grows with time, so users have greater numbers than what they use.

    ``backward(dys)`` gives the gradients of the inputs from those of the outputs (None: zeros). ``spent``: a way back has gone
    through it and has released it."""

    __slots__ = ("number", "outputs", "parents", "spent", "training")

    def __init__(self, parents: Sequence[Origin], outputs: int):
        self.number = next(_numbers)
        self.parents = tuple(parents)
        self.outputs = outputs
        self.training = STATE.training
        self.spent = False

    def backward(self, dys: Sequence[Array | None]) -> Sequence[Array | None]:
        """Gradients of the inputs, in order."""
        raise NotImplementedError

    def release(self) -> None:
        """Forget the arrays that were kept for backward: nobody goes through this any more."""
        self.spent = True


def living(origin: Origin) -> Origin:
    """The origin as far as gradients can still go there: None behind a record that is spent.

    What is recorded of an array whose graph was gone through takes it as a constant, as in MXNet: the state of one piece of a
    sequence in the next, or a loss that is added up over several ways back."""
    return None if type(origin) is tuple and origin[0].spent else origin


class OpRecord(TapeRecord):
    """The application of an operator. What its gradient rule reads is kept; backward.py applies the rule."""

    __slots__ = ("inputs", "op", "results", "specs")

    def __init__(
        self, op: Op, parents: Sequence[Origin], inputs: dict[int, Array], results: dict[int, Array], specs: Any
    ):
        super().__init__(parents, len(specs))
        self.op, self.specs = op, specs
        self.inputs: dict[int, Array] | None = inputs
        self.results: dict[int, Array] | None = results

    def release(self) -> None:
        super().release()
        self.inputs = self.results = None
