"""Hooks: who sees what is computed. An observer is one of a run; others stand around every operator, whoever runs it.

While there are any, only what ``observes`` runs (execution/backend.py): one operator after the other, as the model names them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.changes import hooks_changed
from ..core.op import Op
from ..ir.graph import Node

Observer = Callable[[Node, tuple[np.ndarray, ...]], None]
"""Is called with every node of a run and what it gave, which it must copy to keep."""
Hook = Callable[..., Any]
"""``hook(op, compute, *arrays, **options)`` gives what ``compute(*arrays, **options)`` does, in whichever thread it is called."""

HOOKS: list[Hook] = []


def watch(hook: Hook) -> None:
    """Have the hook stand around every operator from now on."""
    HOOKS.append(hook)
    hooks_changed()


def unwatch(hook: Hook) -> None:
    """Take the hook away."""
    HOOKS.remove(hook)
    hooks_changed()


def compute_of(op: Op) -> Callable[..., Any]:
    """The function that computes an operator: ``op.compute``, inside of the hooks."""
    compute: Callable[..., Any] = op.compute
    for hook in tuple(HOOKS):
        compute = functools.partial(hook, op, compute)
    return compute
