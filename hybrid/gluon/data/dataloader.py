"""The DataLoader: batches of a dataset, made here or by worker processes or threads ahead of time."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...context import Context, cpu_pinned
from ...core import rng
from ...eager.faces import as_nd, dressed
from ...ndarray import NDArray
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .workers import ProcessWorkers, Seeds, ThreadWorkers

__all__ = ["DataLoader", "default_batchify_fn", "default_mp_batchify_fn"]


def default_batchify_fn(data: Any) -> Any:
    """A batch of samples: arrays stacked, numbers as an array of their dtype, tuples part by part (a list)."""
    if isinstance(data[0], NDArray):
        return dressed(nd.stack(*map(as_nd, data)))
    if isinstance(data[0], tuple):
        return [default_batchify_fn(part) for part in zip(*data)]
    array = np.asarray(data)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"cannot make a batch of {type(data[0]).__name__} such as {data[0]!r:.60}; give the DataLoader a batchify_fn"
        )
    return dressed(nd.array(array, dtype=array.dtype))


default_mp_batchify_fn = default_batchify_fn
"""MXNet's name for the one that worker processes use; shared memory is the DataLoader's own business here."""


def _as_in_context(data: Any, ctx: Context) -> Any:
    """The batch with its arrays on a device."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, list | tuple):
        return [_as_in_context(d, ctx) for d in data]
    return data


class DataLoader:
    """Batches of a dataset, epoch after epoch.

    batch_size, shuffle (or sampler) and last_batch ("keep", "discard", "rollover") say what is in a batch, or batch_sampler
    does alone. batchify_fn makes a batch of a list of samples. num_workers processes (with thread_pool: threads) make batches
    ahead, prefetch of them (by default two for each worker), and have timeout seconds for each. auto_reload: begin the
    next epoch as soon as one ends. pin_memory gives batches in the context ``cpu_pinned(pin_device_id)``.

    Worker processes start in the way that multiprocessing is set to (forks on Linux, where it is not); with "spawn" the
    dataset and batchify_fn must be picklable. What they draw from numpy.random, random and mx.random for a batch follows from
    ``numpy.random.seed`` before the DataLoader is made and from the number of the batch; of what threads draw mx.random alone does.

    Raises AssertionError for a timeout that is not above 0.

    Raises ValueError for arguments that contradict each other; in iteration what dataset and batchify_fn raise (from a
    process with its traceback as cause), multiprocessing.TimeoutError, and RuntimeError for a worker that died.

    Examples
    --------
    >>> from gluonnx import mx
    >>> dataset = mx.gluon.data.ArrayDataset(mx.nd.ones((10, 3)), mx.nd.zeros(10))
    >>> [data.shape for data, label in mx.gluon.data.DataLoader(dataset, batch_size=4)]
    [(4, 3), (4, 3), (2, 3)]
    >>> loader = mx.gluon.data.DataLoader(dataset, batch_size=4, num_workers=2, thread_pool=True)
    >>> loader.refresh()  # the first batches are made from now on
    >>> len([data for data, label in loader])
    3
    >>> loader.refresh()
    >>> loader.clean()  # what was made ahead is let go
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Any = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
    ):
        if timeout <= 0:
            raise AssertionError(f"timeout must be positive, given {timeout}")
        if batch_sampler is None:
            if batch_size is None:
                raise ValueError("batch_size must be specified unless batch_sampler is specified")
            if sampler is None:
                sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
            elif shuffle:
                raise ValueError("shuffle must not be specified if sampler is specified")
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError(
                "batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is specified."
            )
        self._dataset = dataset
        self._batch_sampler = batch_sampler
        self._batchify_fn = default_batchify_fn if batchify_fn is None else batchify_fn
        self._num_workers = max(0, num_workers)
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id  # GluonCV's loaders read these names
        self._prefetch = 2 * self._num_workers if prefetch is None else max(0, int(prefetch))
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._workers: Any = None
        self._seeds = Seeds()
        if self._num_workers:
            self._start_workers()
        self.auto_reload = auto_reload
        self._iter: Iterator[Any] | None = None
        self._before: dict[str, Any] | None = None
        """Its place, and the program's random numbers, before the epoch that ``_iter`` begins."""
        if auto_reload:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if self._iter is None:
            self.refresh()
        batches, self._iter = self._iter, None  # what was prefetched serves one pass
        assert batches is not None
        for batch in batches:
            yield _as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch
        if self._iter is None and self.auto_reload:
            self.refresh()

    def refresh(self) -> None:
        """Begin another epoch: with workers, have its first batches made now."""
        self._before = {**self._stands(), "random": rng.get_all_states()}
        if not self._num_workers:
            self._iter = (self._batchify_fn([self._dataset[i] for i in indices]) for indices in self._batch_sampler)
            return
        if not self._workers.alive:  # after an error
            self._start_workers()
        self._iter = _Ahead(self._workers, self._batch_sampler, self._seeds, self._prefetch, self._timeout)

    def clean(self) -> None:
        """Forget the batches that were made ahead for the next epoch."""
        self._iter = None

    def _stands(self) -> dict[str, Any]:
        """State that goes from one epoch to the next: the examples that roll over, and the seeds of workers."""
        over = self._batch_sampler._prev if isinstance(self._batch_sampler, BatchSampler) else []
        return {"over": list(over), "root": self._seeds.root, "given": self._seeds.given}

    @property
    def _may_draw_in_threads(self) -> bool:
        """True once threads may have drawn random numbers that no other run draws in that order."""
        return getattr(self._workers, "draws", False)

    def _standing(self) -> dict[str, np.ndarray]:
        """The place where it stands at the beginning of an epoch (hybrid/resuming)."""
        place = self._stands() if self._iter is None else self._before
        return {"loader": np.frombuffer(json.dumps(place, default=int).encode(), np.uint8)}  # indices may be NumPy's

    def _stand(self, place: Mapping[str, np.ndarray]) -> None:
        """Stand where _standing was asked; an epoch that was begun ahead of time is so again."""
        held = json.loads(bytes(place["loader"]))
        self.clean()
        if isinstance(self._batch_sampler, BatchSampler):
            self._batch_sampler._prev = list(held["over"])
        self._seeds.root, self._seeds.given = held["root"], held["given"]
        if "random" in held:
            rng.set_all_states(held["random"])
            self.refresh()

    def _start_workers(self) -> None:
        kind = ThreadWorkers if self._thread_pool else ProcessWorkers
        self._workers = kind(self._num_workers, self._dataset, self._batchify_fn)


class _Ahead:
    """One epoch's batches, a few of which the workers make ahead."""

    def __init__(self, workers: Any, batch_sampler: Any, seeds: Seeds, prefetch: int, timeout: float):
        self._workers, self._seeds, self._timeout = workers, seeds, timeout
        self._indices = iter(batch_sampler)
        self._pending: deque[Any] = deque()
        for _ in range(prefetch):
            self._submit()

    def _submit(self) -> None:
        indices = next(self._indices, None)
        if indices is not None:
            self._pending.append(self._workers.submit(indices, next(self._seeds)))

    def __iter__(self) -> _Ahead:
        return self

    def __next__(self) -> Any:
        self._submit()
        if not self._pending:
            raise StopIteration
        return self._workers.result(self._pending.popleft(), self._timeout)

    def __del__(self) -> None:
        for key in getattr(self, "_pending", ()):  # the pass was left before its end
            self._workers.drop(key)


class _MultiWorkerIter:
    """Batches that a pool of the caller's makes; not used here: loaders of GluonCV and others derive from it.

    worker_fn(indices, batchify_fn, dataset) gives a pickled batch, or with a dataset (threads) the batch itself. Derived
    classes replace ``_push_next``, which hands the pool one more batch to make."""

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Callable[[list[Any]], Any],
        batch_sampler: Any,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] | None = None,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: float = 120,
    ):
        if worker_fn is None:
            raise TypeError("_MultiWorkerIter: needs worker_fn; DataLoader has workers of its own")
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = self._sent_idx = 0
        self._iter = iter(batch_sampler)
        self._worker_fn = worker_fn
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._dataset, self._data_loader, self._timeout = dataset, data_loader, timeout
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def _push_next(self) -> None:
        indices = next(self._iter, None)
        if indices is None:
            return
        task = (indices, self._batchify_fn, self._dataset)
        self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, task)
        self._sent_idx += 1

    def __iter__(self) -> _MultiWorkerIter:
        return self

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        batch = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        self._rcvd_idx += 1
        if self._dataset is None:
            batch = ForkingPickler.loads(batch)  # type: ignore[attr-defined]
        return _as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch

    next = __next__
