"""Base of the iterators over records of images: decoded by threads, ahead of time, with the numbers of one thread."""

from __future__ import annotations

import copy
import itertools
import os
import random
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from .. import ndarray as nd
from .. import recordio
from ..context import resolve
from ..core.error import FormatError, MXNetError
from ..execution.scheduler import usable_cpus
from ..ndarray import NDArray
from .ahead import Ahead
from .files import MXDataIter

Room = tuple[np.ndarray, ...]
"""Memory for a batch, an example to a row of each: data, labels, and what else a subclass keeps."""

DRAWN = 10
"""The inter_method that is drawn anew for each image."""


class _Ready(NamedTuple):
    """A batch that was read ahead, or the error of its first broken record; and the state of the random numbers after it."""

    room: Room
    error: BaseException | None
    after: Any


class DecodingIter(MXDataIter):
    """Batches of examples that a record each is decoded to. From the first batch of an epoch on a thread makes them ahead.

    A subclass has _file, _starts and _random before its base's __init__, and says in _decode and _fill what threads do, several
    records at once and without chance; in _draw what is drawn for an example, all of it of _random. Examples are drawn for in the
    order of the batches, so that the numbers are the same however many threads there are and however far they read ahead."""

    _file: recordio.MXRecordIO
    _starts: list[int]
    """Positions of the records in the file."""
    _random: random.Random
    _ahead: Ahead | None = None

    def __init__(
        self,
        batch_size: int,
        round_batch: bool,
        data_name: str,
        label_name: str,
        preprocess_threads: int,
        prefetch_buffer: int,
    ):
        if preprocess_threads < 1 or prefetch_buffer < 0:
            raise MXNetError(
                f"{type(self).__name__}: got preprocess_threads={preprocess_threads}, prefetch_buffer={prefetch_buffer}; "
                "wanted at least 1 and 0"
            )
        self._threads = min(int(preprocess_threads), usable_cpus())
        self._prefetch = int(prefetch_buffer)
        super().__init__(len(self._starts), batch_size, round_batch, data_name, label_name)

    # -- what a subclass defines ------------------------------------------------------------------------------------------

    def _decode(self, start: int) -> Any:
        """Content of the record at a position."""
        raise NotImplementedError

    def _draw(self, start: int, example: Any) -> Any:
        """Choices for what _decode gave of the record at a position."""
        raise NotImplementedError

    def _fill(self, example: Any, choice: Any, row: Room) -> None:
        """Put an example into its row of a batch."""
        raise NotImplementedError

    def _room(self, count: int) -> Room:
        """Memory for a batch of so many examples."""
        raise NotImplementedError

    def _give(self, room: Room) -> tuple[np.ndarray, np.ndarray]:
        """Data and labels of a batch that is full."""
        return room[0], room[1]

    # -- batches ------------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ahead": None}

    def _rewind(self) -> None:
        self._drop_ahead()
        super()._rewind()

    def _drop_ahead(self) -> None:
        """Forget what was read ahead; the random numbers are those of the batches that were given, whatever was read."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.pid == os.getpid():
            ahead.close()

    def iter_next(self) -> bool:
        """Go to the next batch; False when none is left. Raises what its records raised when they were read."""
        if self._ahead is not None and self._ahead.pid != os.getpid():
            self._drop_ahead()
        if (
            self._ahead is None
            and self._prefetch
            and not self._ended
            and not (self._skip and self._current is not None)
        ):
            plan = [self._order[places] for places, _ in self._turns()]
            worker = copy.copy(self)  # as this one stands; it may be collected while the copy works
            worker._random, worker._current = copy.copy(self._random), None
            worker._file = recordio.MXRecordIO(self._file.uri, "r")  # a fork finds no lock of this one's held
            self._ahead = Ahead(lambda stopped: worker._prepare(plan, stopped), self._prefetch)
        return super().iter_next()

    def _batch(self, places: np.ndarray) -> tuple[list[NDArray], list[NDArray]]:
        data, labels = self._give(
            self._serial([self._starts[i] for i in places]) if self._ahead is None else self._take()
        )
        where = resolve(None)
        return [NDArray._own(data, where)], [NDArray._own(labels, where)]

    def _serial(self, starts: list[int]) -> Room:
        """A batch made here and now."""
        room = self._room(len(starts))
        for row, start in enumerate(starts):
            example = self._decode(start)
            self._fill(example, self._draw(start, example), _row(room, row))
        return room

    def _mean_image(self, path: Any) -> np.ndarray:
        """The mean image of a file, (channels, height, width); where it is not there it is made of every record once, as batches
        hold them. What is drawn meanwhile is drawn again for batches, so that they do not tell which it was.

        Raises FormatError for a file of something else, MXNetError where whole numbers have no mean."""
        if not os.path.exists(path):
            drawn, total = self._random.getstate(), 0.0
            for start in self._starts:
                data = self._serial([start])[0][0]
                if data.dtype.kind != "f":
                    raise MXNetError(
                        f"{type(self).__name__}: mean_img={str(path)!r} is not there, and {data.dtype} cannot hold a mean; make it "
                        "with ImageRecordIter"
                    )
                total = total + data.astype(np.float64)
            self._random.setstate(drawn)
            nd.save(path, {"mean_img": nd.array(total / max(len(self._starts), 1))})
        held = nd.load(path)
        arrays = list(held.values()) if isinstance(held, dict) else held
        shape = self._room(0)[0].shape[1:]
        if len(arrays) != 1 or arrays[0].shape != shape:
            raise FormatError(f"{path}: got arrays of shapes {[a.shape for a in arrays]}, wanted one of shape {shape}")
        return arrays[0].asnumpy().astype(np.float32)

    def _take(self) -> Room:
        """The batch that was read ahead. After an error all begins anew with the next one."""
        assert self._ahead is not None
        try:
            ready: _Ready = self._ahead.take()
        except BaseException:  # Ctrl-C: what comes next is for the batch that is not waited for any more
            self._drop_ahead()
            raise
        self._random.setstate(ready.after)
        if ready.error is not None:
            self._drop_ahead()
            try:
                raise ready.error
            finally:
                del ready  # which the traceback would hold, and the error it
        return ready.room

    def _prepare(self, plan: list[np.ndarray], stopped: Callable[[], bool]) -> Iterator[_Ready]:
        """The batches of a plan one after the other, up to the first that has an error. Threads decode records and fill batches
        with them; random numbers are drawn here, example after example, as without threads."""
        starts = iter([self._starts[example] for places in plan for example in places])
        with ThreadPoolExecutor(self._threads, "decode") as pool:
            decoded = deque(
                (start, pool.submit(self._decode, start)) for start in itertools.islice(starts, 2 * self._threads)
            )
            try:
                for places in plan:
                    room = self._room(len(places))
                    errors: list[BaseException] = []  # given away, since a traceback that leads here would hold them
                    filling = []
                    for row in range(len(places)):
                        if stopped():
                            return
                        start, future = decoded.popleft()
                        following = next(starts, None)
                        if following is not None:
                            decoded.append((following, pool.submit(self._decode, following)))
                        if (problem := future.exception()) is not None:
                            errors.append(problem)
                            break
                        example = future.result()
                        try:
                            choice = self._draw(start, example)
                        except Exception as raised:
                            errors.append(raised)
                            break
                        filled = pool.submit(self._fill, example, choice, _row(room, row))
                        filling.append((filled, self._random.getstate()))
                    after = self._random.getstate()
                    for filled, drawn in filling:
                        if (
                            problem := filled.exception()
                        ) is not None:  # of an example before the one known to be broken
                            errors[:], after = [problem], drawn
                            break
                    broken = bool(errors)
                    yield _Ready(room, errors.pop() if errors else None, after)
                    if broken:
                        return
            finally:
                for _, future in decoded:
                    future.cancel()


def _row(room: Room, number: int) -> Room:
    """One example's memory."""
    return tuple(array[number, ...] for array in room)
