"""Optimizers that MXNet calls contributed. ``mx.optimizer.contrib``."""

from __future__ import annotations

from typing import Any

from .. import ndarray as nd
from ..ndarray import NDArray, zeros
from .base import Array, Optimizer, register
from .sparse import by_rows

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one history for each row of a matrix, for embeddings. It has no weight decay.

    Parameters
    ----------
    eps : float, default 1e-05
        Number that is added to the denominator, against division by 0."""

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: Array) -> NDArray:
        """One number for each row. Raises AssertionError for a weight that is no matrix."""
        if weight.ndim != 2:
            raise AssertionError(f"GroupAdaGrad: got a weight of shape {weight.shape}, wanted a matrix")
        return zeros((weight.shape[0], 1), weight.context, weight.dtype)

    def update(self, index: Any, weight: Array, grad: Array, state: Array) -> None:
        lr, wd = self._start(index, weight, grad)
        if wd:
            raise AssertionError("Weight decay is not supported for GroupAdaGrad")
        options = self._options(epsilon=self.float_stable_eps)
        by_rows(nd.contrib.group_adagrad_update, weight, grad, [state], lr=lr, **options)
