"""The optimizer of SVRGModule: one of the usual ones for weights, and plain storing for what is kept of full gradients."""

from __future__ import annotations

import inspect
from typing import Any

from ...ndarray import NDArray
from ...optimizer import Optimizer, create

__all__: list[str] = []

_FULL = "_full"
"""Ending of the names under which a KVStore keeps full gradients."""
_COMMON = tuple(inspect.signature(Optimizer.__init__).parameters)[1:]


class _AssignmentOptimizer(Optimizer):
    """Writes gradients over what they are of."""

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        weight[:] = grad


class _SVRGOptimizer(Optimizer):
    """default_optimizer, a name or an Optimizer, for weights; other keywords are its own. What is called full in its name, in
    param_idx2name, is stored as it comes."""

    def __init__(self, default_optimizer: str | Optimizer, **kwargs: Any) -> None:
        super().__init__(**{k: v for k, v in kwargs.items() if k in _COMMON})
        named = isinstance(default_optimizer, str)
        self.default_opt: Optimizer = create(default_optimizer, **kwargs) if named else default_optimizer  # type: ignore[assignment]
        self.aux_opt: Optimizer = _AssignmentOptimizer()

    def _for(self, index: Any) -> Optimizer:
        name = index if index in self.idx2name.values() else self.idx2name[index]
        return self.aux_opt if "full" in name else self.default_opt

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return self._for(index).create_state(index, weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        self._for(index).update(index, weight, grad, state)
