"""Samplers: in which order the examples of a dataset are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["BatchSampler", "FilterSampler", "IntervalSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """Base class: iterating gives indices (or lists of them: batches), and there are ``len()`` of them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Backwards(mx.gluon.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    ...     def __len__(self):
    ...         return 3
    >>> loader = mx.gluon.data.DataLoader([10, 20, 30], batch_size=3, sampler=Backwards())
    >>> [batch.asnumpy().tolist() for batch in loader]
    [[30, 20, 10]]
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """start, start + 1, ...: ``length`` indices.

    Examples
    --------
    >>> from gluonnx import mx
    >>> list(mx.gluon.data.SequentialSampler(3, start=2))
    [2, 3, 4]
    """

    def __init__(self, length: int, start: int = 0):
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """0 to length - 1 in an order that ``numpy.random`` draws anew for every pass.

    Examples
    --------
    >>> from gluonnx import mx
    >>> sorted(map(int, mx.gluon.data.RandomSampler(4)))
    [0, 1, 2, 3]
    """

    def __init__(self, length: int):
        self._length = length

    def __iter__(self) -> Iterator[Any]:
        indices = np.arange(self._length)
        np.random.shuffle(indices)  # scripts seed this generator, and expect MXNet's order
        return iter(indices)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples that a function says True for; it is asked once, at the start.

    Parameters
    ----------
    fn : callable
        What says of a sample whether it is kept.
    dataset : Dataset
        Samples by number.

    Examples
    --------
    >>> from gluonnx import mx
    >>> list(mx.gluon.data.FilterSampler(lambda x: x > 10, [5, 20, 30]))
    [1, 2]
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Any):
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class IntervalSampler(Sampler):
    """Every interval-th index: 0, interval, ...; with rollover then 1, 1 + interval, ... until all were there.

    Raises AssertionError for an interval above length.

    Examples
    --------
    >>> from gluonnx import mx
    >>> list(mx.gluon.contrib.data.IntervalSampler(5, 2))
    [0, 2, 4, 1, 3]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True):
        if interval > length:
            raise AssertionError(f"Interval {interval} must be smaller than or equal to length {length}")
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        return self._length


class BatchSampler(Sampler):
    """Lists of batch_size indices of another sampler.

    last_batch: what becomes of the rest: "keep" gives it as a shorter batch, "discard" drops it, "rollover" puts it in
    front of the next pass. Raises ValueError for another word, when it is used.

    Examples
    --------
    >>> from gluonnx import mx
    >>> sampler = mx.gluon.data.SequentialSampler(5)
    >>> list(mx.gluon.data.BatchSampler(sampler, 2, "keep"))
    [[0, 1], [2, 3], [4]]
    >>> list(mx.gluon.data.BatchSampler(sampler, 2, "discard"))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Any, batch_size: int, last_batch: str = "keep"):
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._prev: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        self._check()
        batch, self._prev = self._prev, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._prev = batch

    def __len__(self) -> int:
        self._check()
        if self._last_batch == "keep":
            return -(-len(self._sampler) // self._batch_size)
        return (len(self._prev) + len(self._sampler)) // self._batch_size

    def _check(self) -> None:
        if self._last_batch not in ("keep", "discard", "rollover"):
            raise ValueError(f"last_batch must be one of 'keep', 'discard', or 'rollover', but got {self._last_batch}")
