"""Stores that join the processes of a job (``dist_sync`` and its kin): every process keeps all arrays, and gets the same sums.

MXNet has servers that keep the arrays. Here each rank does, and updates its own by the sum of what all have pushed: the numbers
are those of one server, and what is saved is on every rank. docs/decisions/0030-distributed-training-on-mpi.md.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import optimizer as opt
from .. import profiler, runtime
from ..core.error import MXNetError
from ..core.op import Spec
from ..eager.array import pending
from ..eager.sparse import from_parts
from ..execution.scheduler import SCHEDULER, Var
from ..formats.params import RowSparse
from ..ndarray import NDArray
from .base import STORES, sum_arrays
from .collectives import exchange
from .compression import compress, expand, threshold_of
from .exchanges import Gather, Sum, add
from .kvstore import KVStore, _pairs
from .world import World, join

SYNC = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device", "dist_device")
_NUMBERS = itertools.count()


class DistStore(KVStore):
    """Arrays by key, the same in all processes of the job. What all of them push is added up before anything is done with it.

    ``push`` and ``pull`` return at once; what they say is done in the order of priorities, and whoever reads an array waits for
    it. Source: MXNet's KVStore of type dist_sync."""

    def __init__(self, kind: str = "dist_sync") -> None:
        super().__init__(kind)
        self._world = joined()
        self._number = next(_NUMBERS)
        self._turns: dict[Any, Var] = {}
        """Variables that make exchanges of one key go in the order of the program."""
        self._threshold: float | None = None
        self._residuals: dict[Any, np.ndarray] = {}

    @property
    def rank(self) -> int:
        return self._world.rank

    @property
    def num_workers(self) -> int:
        return self._world.size

    def _barrier(self) -> None:
        """Wait until all workers have come here, and what they pushed has been added up."""
        self._world.barrier()

    def init(self, key: Any, value: Any) -> None:
        """Keep the values that rank 0 gives. All ranks have to name the same keys in the same order. Raises MXNetError for a key
        that is there already, or that differs between ranks."""
        pairs = [(name, arrays[0]) for name, arrays in _pairs(key, value)]
        for i, (name, _) in enumerate(pairs):
            if name in self._kept or any(name == n for n, _ in pairs[:i]):
                raise MXNetError(f"duplicate init of key {name}")
        tags = self._world.tags(
            [self._name(n) for n, _ in pairs], [f"{a.stype} {a.shape} {np.dtype(a.dtype)}" for _, a in pairs]
        )
        shared = [self._from_first(name, array, tag) for (name, array), tag in zip(pairs, tags)]
        for (name, _), take in zip(pairs, shared):
            self._kept[name] = take()
            self._turns[name] = Var()

    def _name(self, key: Any) -> str:
        return f"key {key!r}" if self._number == 0 else f"key {key!r} of store {self._number}"

    def _from_first(self, key: Any, array: NDArray, tag: int) -> Callable[[], NDArray]:
        """Begin to bring an array of rank 0 here; the function that is given returns it."""
        world, name = self._world, f"init of {self._name(key)}"
        if world.size == 1:
            return array.copy
        over = threading.Event()
        errors: list[BaseException | None] = []

        def finish(error: BaseException | None) -> None:
            errors.append(error)
            over.set()

        def wait() -> None:
            while not over.wait(1.0):
                pass
            if errors[0] is not None:
                raise MXNetError(str(errors[0])) from None

        if array.stype != "default":
            parts = _parts(array)
            rows = Gather(world, name, tag, _pack(parts), root=0)
            rows.finish = finish
            world.start(rows)

            def take_rows() -> NDArray:
                wait()
                return from_parts(_unpack(rows.received[0], parts), array.context)

            return take_rows
        mine = array.asnumpy()
        out = np.empty_like(mine)
        whole = Sum(world, name, tag, mine.reshape(-1), out.reshape(-1), root=0)
        whole.finish = finish
        world.start(whole)

        def take() -> NDArray:
            wait()
            return NDArray._own(out, array.context)

        return take

    # -- push -----------------------------------------------------------------------------------------------------------

    def _sum(self, name: Any, arrays: list[NDArray], priority: int) -> NDArray:
        """The sum of what all ranks push, which may still be on its way."""
        local = self._fitting(name, sum_arrays(arrays))
        if local.stype != "default":
            return self._sum_rows(name, local, priority)
        if self._threshold is not None:
            return self._sum_compressed(name, local, priority)
        if self._world.size == 1:
            return local
        (tag,) = self._world.tags([self._name(name)], [""])
        return exchange(self._world, f"push of {self._name(name)}", tag, local, priority, turn=self._turns[name])

    def _fitting(self, name: Any, local: NDArray) -> NDArray:
        """The array to be pushed. Raises MXNetError unless it is of the shape and dtype of what is kept."""
        kept = self._of(name)
        if local.shape != kept.shape or local._dtype != kept._dtype:
            raise MXNetError(
                f"push of key {name}: got {np.dtype(local.dtype)}{local.shape}, wanted {np.dtype(kept.dtype)}{kept.shape}, as "
                "it was inited"
            )
        if self._threshold is not None and local.stype == "default" and local.dtype != np.float32:
            raise MXNetError(f"push of key {name}: got {np.dtype(local.dtype)}, and gradient compression takes float32")
        return local

    def _sum_compressed(self, name: Any, local: NDArray, priority: int) -> NDArray:
        """The sum of what all ranks' gradients are in two bits a number."""
        threshold = self._threshold
        assert threshold is not None
        total = pending(Spec(local.shape, local._dtype), local.context, NDArray)
        residual = self._residuals.setdefault(name, np.zeros(local.size, np.float32))
        (tag,) = self._world.tags([self._name(name)], [""])

        def start(finish: Callable[[BaseException | None], None]) -> None:
            out = total._storage().reshape(-1)
            codes = compress(local._storage().reshape(-1), residual, threshold)
            exchange = Gather(self._world, f"push of {self._name(name)}", tag, codes)

            def add_up(error: BaseException | None) -> None:
                if error is None:
                    add([expand(part, out.size, threshold) for part in exchange.received], out)
                finish(error)

            exchange.finish = add_up
            if self._world.size == 1:
                exchange.received = [codes]
                add_up(None)
            else:
                self._world.start(exchange, priority)

        SCHEDULER.push_elsewhere(start, [local._shared_var()], [total._shared_var(), self._turns[name]])
        return total

    def _sum_rows(self, name: Any, local: NDArray, priority: int) -> NDArray:
        """The sum of row_sparse arrays: only the rows that each stores travel. Which those are has to be waited for."""
        if self._world.size == 1:
            return local
        (tag,) = self._world.tags([self._name(name)], [""])
        SCHEDULER.wait(self._turns[name], write=True)
        parts = _parts(local)
        exchange = Gather(self._world, f"push of rows of {self._name(name)}", tag, _pack(parts))
        self._world.wait(exchange, priority)
        return from_parts(_sum_of_rows([_unpack(part, parts) for part in exchange.received]), local.context)

    def _apply(self, name: Any, total: NDArray, kept: NDArray) -> None:
        if self._world.size == 1 or not _draws(self._updater):
            super()._apply(name, total, kept)
            return
        # an optimizer that draws random numbers would draw others on every rank: rank 0 updates for all
        if self.rank == 0:
            super()._apply(name, total, kept)
        SCHEDULER.wait(self._turns[name], write=True)
        (tag,) = self._world.tags([self._name(name)], [""])
        mine, out = kept.asnumpy().reshape(-1), np.empty(kept.size, kept._dtype)
        self._world.wait(Sum(self._world, f"update of {self._name(name)}", tag, mine, out, root=0))
        kept[:] = NDArray(out.reshape(kept.shape), kept.context)

    # -- settings -------------------------------------------------------------------------------------------------------

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Send gradients in two bits a number: ``{"type": "2bit", "threshold": 0.5}``, or as they are: ``{"type": "none"}``.

        Raises ValueError without a type, MXNetError for others."""
        self._threshold = threshold_of(dict(compression_params))

    def _send_command_to_servers(self, head: int, body: str) -> None:
        """Raises MXNetError: what MXNet sends its servers are pickled optimizers and settings of their processes."""
        raise MXNetError(
            f"_send_command_to_servers({head}, ...): there are no servers here, every rank keeps the arrays; call set_optimizer "
            "for an optimizer, and mx.profiler on each rank"
        )


def _draws(updater: Any) -> bool:
    return isinstance(updater, opt.Updater) and isinstance(updater.optimizer, opt.SGLD)


def joined() -> World:
    """All processes of the job, whose exchanges the profiler sees."""
    world = join()
    if world.observe is None:
        world.observe = _note
        _share_threads(world.local_size)
    return world


def _share_threads(processes: int) -> None:
    """Give each process of a machine its part of the threads, where the program has not said how many it wants."""
    threads = runtime.get_num_threads()
    if processes > 1 and hasattr(os, "sched_getaffinity") and threads == len(os.sched_getaffinity(0)):
        runtime.set_num_threads(max(1, threads // processes))


def _note(name: str, begin: int, end: int) -> None:
    profiler.note_span("communication", name, begin, end)


# -- rows ---------------------------------------------------------------------------------------------------------------------


def _parts(array: Any) -> RowSparse:
    if array.stype != "row_sparse":
        raise MXNetError(f"a distributed store keeps and takes dense and row_sparse arrays, got {array.stype}")
    return array._parts


def _pack(rows: RowSparse) -> np.ndarray:
    """Row numbers and rows as bytes."""
    numbers = np.ascontiguousarray(rows.indices, np.int64).view(np.uint8)
    return np.concatenate([np.array([len(rows.indices)], np.int64).view(np.uint8), numbers, _raw(rows.data)])


def _raw(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _unpack(raw: np.ndarray, like: RowSparse) -> RowSparse:
    """The rows that bytes of _pack hold, of an array of the shape and dtype of another."""
    (count,) = raw[:8].view(np.int64)
    numbers, data = raw[8 : 8 + 8 * count].view(np.int64), raw[8 + 8 * count :]
    return RowSparse(data.view(like.data.dtype).reshape(count, *like.shape[1:]), numbers, like.shape)


def _sum_of_rows(parts: list[RowSparse]) -> RowSparse:
    """The sum, in the order of the list, row by row."""
    numbers = np.unique(np.concatenate([p.indices for p in parts]))
    total = np.zeros((len(numbers), *parts[0].shape[1:]), parts[0].data.dtype)
    for part in parts:
        total[np.searchsorted(numbers, part.indices)] += part.data
    return RowSparse(total, numbers, parts[0].shape)


STORES.update(dict.fromkeys(SYNC, DistStore))
