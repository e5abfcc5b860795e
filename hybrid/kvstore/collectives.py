"""Sums and copies of arrays over all processes, which may still be on their way when a call returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.op import Spec
from ..eager.array import pending
from ..execution.scheduler import SCHEDULER, Var
from ..ndarray import NDArray
from .exchanges import Sum
from .world import World


def exchange(
    world: World,
    name: str,
    tag: int,
    local: NDArray,
    priority: float,
    root: int | None = None,
    turn: Var | None = None,
) -> NDArray:
    """The sum of an array over all ranks, or with root the array of that rank; it comes later.

    turn: what is written as well, so that exchanges of one name go in the order of the program."""
    total: NDArray = pending(Spec(local.shape, local._dtype), local.context, NDArray)

    def start(finish: Callable[[BaseException | None], None]) -> None:
        mine, out = local._storage(), total._storage()
        made = Sum(world, name, tag, np.ascontiguousarray(mine).reshape(-1), out.reshape(-1), root)
        made.finish = finish
        world.start(made, priority)

    SCHEDULER.push_elsewhere(start, [local._shared_var()], [total._shared_var(), *([] if turn is None else [turn])])
    return total


_TURNS: dict[str, Var] = {}


def _named(world: World, name: str, local: Any, priority: float, root: int | None) -> NDArray:
    if world.size == 1:
        return local.copy()
    (tag,) = world.tags([name], [f"{local.shape} {np.dtype(local.dtype)}"])
    return exchange(world, name, tag, local, priority, root, _TURNS.setdefault(name, Var()))


def sum_over_ranks(world: World, name: str, local: NDArray, priority: float = 0) -> NDArray:
    """The sum of a dense array over all ranks; all of them have to name it so, with the same shape, in the same order when they
    first do. Raises MXNetError for another shape or dtype in another rank."""
    return _named(world, name, local, priority, None)


def broadcast(world: World, name: str, local: NDArray, root: int, priority: float = 0) -> NDArray:
    """The array of rank ``root``, in all ranks, as sum_over_ranks says."""
    return _named(world, name, local, priority, root)
