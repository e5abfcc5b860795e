"""The store named ``horovod``: it keeps nothing, and only adds up and copies, over all processes of the job."""

from __future__ import annotations

from typing import Any

from ..base import _as_list
from ..core.error import MXNetError
from ..ndarray import NDArray
from .base import AddingStore, KVStoreBase, sum_arrays
from .collectives import broadcast, sum_over_ranks
from .dist import joined


@KVStoreBase.register
class Horovod(AddingStore):
    """Sums of gradients over all processes, for a Trainer that updates by itself. Source: MXNet 2.0's store of that name."""

    def __init__(self) -> None:
        self._world = joined()

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Copy rank 0's value to all of out, in all processes."""
        found = broadcast(self._world, f"broadcast {key}", _as_list(value)[0], 0, priority)
        for target in _as_list(out):
            target[:] = found

    def total(self, key: Any, values: list[NDArray], priority: int) -> NDArray:
        if any(v.stype != "default" for v in values):
            raise MXNetError("horovod: got a sparse array, wanted dense ones; dist_sync takes both")
        return sum_over_ranks(self._world, f"pushpull {key}", sum_arrays(values), priority)

    @property
    def type(self) -> str:
        return "horovod"

    @property
    def rank(self) -> int:
        return self._world.rank

    @property
    def local_rank(self) -> int:
        """The number of this process among those on its machine."""
        return self._world.local_rank

    @property
    def num_workers(self) -> int:
        return self._world.size
