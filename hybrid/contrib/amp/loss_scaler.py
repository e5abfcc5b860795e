"""Dynamic loss scaling: as large a scale as leaves the gradients finite."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...eager.functions import OPERATORS
from ...eager.tape import StateScope

if TYPE_CHECKING:
    from ...gluon.parameter import Parameter

_CHUNK = 200
"""Arrays that are looked at in one call."""


class LossScaler:
    """A scale for losses that begins at 2**16, is halved after a step with gradients that are not finite, and doubled, up to 2**24,
    after 2000 steps without one."""

    def __init__(self) -> None:
        self._loss_scale = 2.0**16
        self._next_loss_scale = self._loss_scale
        self._max_loss_scale = 2.0**24
        self._scale_seq_len = 2000
        self._unskipped = 0

    @property
    def loss_scale(self) -> float:
        """The scale of losses at present."""
        return self._loss_scale

    def has_overflow(self, params: Iterable[Parameter]) -> bool:
        """True where a gradient is not finite (they are the same on all devices); the scale becomes what this step and those before
        it make of it, one step late, as in MXNet."""
        gradients = [p._grad[0] for p in params if p._grad is not None]
        with StateScope(False, False):
            found = [
                OPERATORS.multi_all_finite(*gradients[i : i + _CHUNK], num_arrays=len(gradients[i : i + _CHUNK]))
                for i in range(0, len(gradients), _CHUNK)
            ]
        overflow = not all(array.asscalar() for array in found)
        self._loss_scale = self._next_loss_scale
        if overflow:
            self._next_loss_scale = self._loss_scale / 2.0
            self._unskipped = 0
            logging.info("AMP: decreasing loss scale to %f", self._next_loss_scale)
        else:
            self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._unskipped = 0
            self._next_loss_scale = min(self._max_loss_scale, self._loss_scale * 2.0)
            logging.info("AMP: increasing loss scale to %f", self._next_loss_scale)
        return overflow
