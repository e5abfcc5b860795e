"""Learning rates that change with the number of updates. ``mx.lr_scheduler``."""

from __future__ import annotations

import itertools
import logging
from math import cos, pi

__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "PolyScheduler",
]


class LRScheduler:
    """Base: called with the number of updates so far, gives the rate. The first warmup_steps lead up to base_lr.

    Raises AssertionError for warmup_steps that is no int, ValueError for a negative one, for a warmup_begin_lr above
    base_lr, and for another warmup_mode.

    Parameters
    ----------
    base_lr : float, default 0.01
        Learning rate after the warm-up.
    warmup_steps : int, default 0
        Number of updates of the warm-up; 0: none.
    warmup_begin_lr : float, default 0
        Learning rate at the beginning of the warm-up.
    warmup_mode : str, default 'linear'
        linear: growing up to base_lr; constant: warmup_begin_lr all the while.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Halved(mx.lr_scheduler.LRScheduler):
    ...     def __call__(self, num_update):
    ...         if num_update < self.warmup_steps:
    ...             return self.get_warmup_lr(num_update)
    ...         return self.base_lr / 2
    >>> schedule = Halved(base_lr=0.8, warmup_steps=4)
    >>> [schedule(update) for update in (0, 2, 4)]
    [0.0, 0.4, 0.4]
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        if not isinstance(warmup_steps, int):
            raise AssertionError(f"warmup_steps={warmup_steps!r}, wanted a whole number")
        if warmup_begin_lr > base_lr:
            raise ValueError("Base lr has to be higher than warmup_begin_lr")
        if warmup_steps < 0:
            raise ValueError("Warmup steps has to be positive or 0")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError("Supports only linear and constant modes of warmup")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate while warming up, after num_update updates. Raises AssertionError past warmup_steps.

        Examples
        --------
        >>> from gluonnx import mx
        >>> schedule = mx.lr_scheduler.PolyScheduler(max_update=100, base_lr=1.0, warmup_steps=10)
        >>> schedule.get_warmup_lr(5)
        0.5
        """
        if num_update >= self.warmup_steps:
            raise AssertionError(f"num_update={num_update} is past warmup_steps={self.warmup_steps}")
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = (self.warmup_final_lr - self.warmup_begin_lr) * float(num_update) / float(self.warmup_steps)
        return self.warmup_begin_lr + rise

    def __call__(self, num_update: int) -> float:
        raise NotImplementedError("must override this")


class FactorScheduler(LRScheduler):
    """Multiplies the rate with factor every ``step`` updates, down to stop_factor_lr.

    Raises ValueError for a step below 1 and a factor above 1.

    Parameters
    ----------
    base_lr : float, default 0.01
        Learning rate after the warm-up.
    warmup_steps : int, default 0
        Number of updates of the warm-up; 0: none.
    warmup_begin_lr : float, default 0
        Learning rate at the beginning of the warm-up.
    warmup_mode : str, default 'linear'
        linear: growing up to base_lr; constant: warmup_begin_lr all the while.

    Examples
    --------
    >>> from gluonnx import mx
    >>> schedule = mx.lr_scheduler.FactorScheduler(step=10, factor=0.5, base_lr=1.0)
    >>> [schedule(update) for update in (1, 11, 21)]
    [1.0, 0.5, 0.25]"""

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        if factor > 1.0:
            raise ValueError("Factor must be no more than 1 to make lr reduce")
        self.step, self.factor, self.stop_factor_lr = step, factor, stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                logging.info(
                    "Update[%d]: now learning rate arrived at %0.5e, will not change in the future",
                    num_update,
                    self.base_lr,
                )
            else:
                logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate with factor after each of the numbers of updates in ``step``, an increasing list.

    Raises AssertionError for a step that is no list of numbers, ValueError where these do not increase or begin below
    1, and for a factor above 1.

    Parameters
    ----------
    base_lr : float, default 0.01
        Learning rate after the warm-up.
    warmup_steps : int, default 0
        Number of updates of the warm-up; 0: none.
    warmup_begin_lr : float, default 0
        Learning rate at the beginning of the warm-up.
    warmup_mode : str, default 'linear'
        linear: growing up to base_lr; constant: warmup_begin_lr all the while.

    Examples
    --------
    >>> from gluonnx import mx
    >>> schedule = mx.lr_scheduler.MultiFactorScheduler(step=[10, 20], factor=0.5, base_lr=1.0)
    >>> [schedule(update) for update in (1, 11, 21)]
    [1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        step: list[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not (isinstance(step, list) and step):
            raise AssertionError(f"step={step!r}, wanted a list of at least one number of updates")
        if any(after <= before for before, after in itertools.pairwise(step)):
            raise ValueError("Schedule step must be an increasing integer list")
        if step[0] < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        if factor > 1.0:
            raise ValueError("Factor must be no more than 1 to make lr reduce")
        self.step, self.factor = step, factor
        self.cur_step_ind = 0
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class _Decay(LRScheduler):
    """Base of those that go from base_lr to final_lr in max_update updates."""

    def __init__(
        self,
        max_update: int,
        base_lr: float,
        final_lr: float,
        warmup_steps: int,
        warmup_begin_lr: float,
        warmup_mode: str,
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(max_update, int):
            raise AssertionError(f"max_update={max_update!r}, wanted a whole number")
        if max_update < 1:
            raise ValueError("maximum number of updates must be strictly positive")
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def _remaining(self, done: float) -> float:
        """Share of the way that is left (1 to 0) when so much of it (0 to 1) is done."""
        raise NotImplementedError

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            left = self._remaining((num_update - self.warmup_steps) / self.max_steps)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * left
        return self.base_lr


class PolyScheduler(_Decay):
    """From base_lr to final_lr as the power ``pwr`` of what is left.

    Parameters
    ----------
    max_update : int
        Update at which the last learning rate is reached.
    base_lr : float, default 0.01
        Learning rate after the warm-up.
    warmup_steps : int, default 0
        Number of updates of the warm-up; 0: none.
    warmup_begin_lr : float, default 0
        Learning rate at the beginning of the warm-up.
    warmup_mode : str, default 'linear'
        linear: growing up to base_lr; constant: warmup_begin_lr all the while.

    Examples
    --------
    >>> from gluonnx import mx
    >>> schedule = mx.lr_scheduler.PolyScheduler(max_update=10, base_lr=1.0, pwr=2)
    >>> [round(schedule(update), 3) for update in (0, 5, 10)]
    [1.0, 0.25, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: int = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _remaining(self, done: float) -> float:
        return (1 - done) ** self.power


class CosineScheduler(_Decay):
    """From base_lr to final_lr along half a cosine (Loshchilov and Hutter, arXiv 1608.03983).

    Parameters
    ----------
    max_update : int
        Update at which the last learning rate is reached.
    base_lr : float, default 0.01
        Learning rate after the warm-up.
    warmup_steps : int, default 0
        Number of updates of the warm-up; 0: none.
    warmup_begin_lr : float, default 0
        Learning rate at the beginning of the warm-up.
    warmup_mode : str, default 'linear'
        linear: growing up to base_lr; constant: warmup_begin_lr all the while.

    Examples
    --------
    >>> from gluonnx import mx
    >>> schedule = mx.lr_scheduler.CosineScheduler(max_update=10, base_lr=1.0, final_lr=0.1)
    >>> [round(schedule(update), 3) for update in (0, 5, 10)]
    [1.0, 0.55, 0.1]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _remaining(self, done: float) -> float:
        return (1 + cos(pi * done)) / 2
