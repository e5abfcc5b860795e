"""Steps of training with a KVStore or without, over lists of arrays: one list for each parameter, of one array a context.

Programs with a loop of their own call them too, by MXNet's names in ``mxnet.model``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ndarray import NDArray

Lists = Sequence[Sequence[Any]]


def init_store(
    store: Any, weights: Lists, arguments: Mapping[str, NDArray], names: Sequence[str], on_store: bool
) -> None:
    """Have the store keep the parameters; where it updates them, the contexts get them from it."""
    for index, (name, arrays) in enumerate(zip(names, weights)):
        store.init(name, arguments[name])
        if on_store and arguments[name].stype == "default":
            store.pull(name, arrays, priority=-index)


def update_on_store(weights: Lists, gradients: Lists, store: Any, names: Sequence[str]) -> None:
    """Give the gradients to the store, which updates, and take the weights from it."""
    for index, (name, arrays, parts) in enumerate(zip(names, weights, gradients)):
        if parts[0] is not None:
            store.push(name, parts, priority=-index)
            store.pull(name, arrays, priority=-index)


def update_here(
    weights: Lists,
    gradients: Lists,
    updater: Any,
    devices: int,
    store: Any = None,
    names: Sequence[str] | None = None,
) -> None:
    """Update every context's weights; the store, where there is one, adds the gradients up. Indices count contexts too."""
    updates: list[list[tuple[int, NDArray, NDArray]]] = [[] for _ in range(devices)]
    for index, (arrays, parts) in enumerate(zip(weights, gradients)):
        if parts[0] is None:
            continue
        if store is not None:
            assert names is not None
            store.push(names[index], parts, priority=-index)
            store.pull(names[index], parts, priority=-index)
        for k, (weight, gradient) in enumerate(zip(arrays, parts)):
            updates[k].append((index * devices + k, gradient, weight))
    for update in filter(None, updates):
        updater(*map(list, zip(*update)))
