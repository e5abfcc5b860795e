"""The store of processes that do not wait for each other (``dist_async``): every push changes the arrays as it comes.

Each array has one owner among the ranks, which keeps it and updates it in a thread of its own. Pushes and pulls are messages to
the owner and back; it does what one rank asks in the order of asking. docs/decisions/0030-distributed-training-on-mpi.md.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import optimizer as opt
from ..core.error import MXNetError
from ..eager.sparse import from_parts, rows_of_array
from ..execution.scheduler import SCHEDULER
from ..formats.files import write
from ..formats.params import RowSparse
from ..ndarray import NDArray
from ..optimizer import states
from .base import STORES, sum_arrays
from .compression import compress, expand
from .dist import DistStore, _pack, _parts, _raw, _unpack
from .exchanges import Exchange
from .kvstore import _pairs
from .world import World

ASYNC = ("dist_async", "dist_device_async", "dist_async_device")
PUSH, PUSH_ROWS, PUSH_BITS, PULL, PULL_ROWS, STATES = range(6)
"""Kinds of requests: the first number of one."""
ANSWER = 2
"""A number that is added to a tag for answers."""


class _Ask(Exchange):
    """A request to the owner of an array; ``answer`` is what it said."""

    serves_to_the_end = True

    def __init__(self, world: World, name: str, tag: int, owner: int, what: int, content: np.ndarray) -> None:
        super().__init__(world, name, tag)
        self.owner = owner
        self.request = np.concatenate([np.array([what], np.int64).view(np.uint8), content])
        self.answer = np.zeros(0, np.uint8)
        self.size = self.request.size

    def _run(self) -> Iterator[Callable[[], bool]]:
        world, mpi = self.world, self.world.mpi
        if self.owner == world.rank:
            box: list[np.ndarray] = []
            _server(world).requests.put((world.rank, self.tag, self.request, box.append))
            yield lambda: bool(box)
            self.answer = box[0]
            return
        world.sent += self.request.size
        sent = world.requests.Isend([self.request, mpi.BYTE], self.owner, self.tag)
        incoming: list[Any] = []
        status = mpi.Status()

        def ready() -> bool:
            if not incoming:
                message = world.communicator.Improbe(source=self.owner, tag=self.tag + ANSWER, status=status)
                if message is not None:
                    self.answer = np.empty(status.Get_count(mpi.BYTE), np.uint8)
                    incoming.append(message.Irecv([self.answer, mpi.BYTE]))
            return bool(incoming) and incoming[0].Test() and sent.Test()

        yield ready

    def missing(self) -> list[int]:
        return [self.owner]


class _Server:
    """The thread that answers for the arrays that this rank owns. ``poll`` is its ear, in the thread of communication."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.handlers: dict[int, Callable[[int, np.ndarray], np.ndarray]] = {}
        self.requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._arriving: deque[tuple[int, int, np.ndarray, Any]] = deque()
        self._leaving: list[tuple[Any, np.ndarray]] = []
        self._status = world.mpi.Status()
        threading.Thread(target=self._serve, name="hybrid-server", daemon=True).start()

    def poll(self) -> bool:
        """Take requests in and send answers out; says whether there were any."""
        world, mpi, moved = self.world, self.world.mpi, False
        while (message := world.requests.Improbe(status=self._status)) is not None:
            buffer = np.empty(self._status.Get_count(mpi.BYTE), np.uint8)
            source, tag = self._status.Get_source(), self._status.Get_tag()
            self._arriving.append((source, tag, buffer, message.Irecv([buffer, mpi.BYTE])))
            moved = True
        while self._arriving and self._arriving[0][3].Test():
            source, tag, buffer, _ = self._arriving.popleft()
            self.requests.put((source, tag, buffer, None))
            moved = True
        while not self._answers.empty():
            source, tag, answer = self._answers.get()
            world.sent += answer.size
            self._leaving.append((world.communicator.Isend([answer, mpi.BYTE], source, tag + ANSWER), answer))
            moved = True
        self._leaving = [(request, answer) for request, answer in self._leaving if not request.Test()]
        return moved

    def _serve(self) -> None:
        while True:
            source, tag, request, take = self.requests.get()
            try:
                (what,) = request[:8].view(np.int64)
                answer = self.handlers[tag](int(what), request[8:])
            except Exception as error:
                self.world.fail(
                    f"rank {self.world.rank} cannot do what rank {source} asks: {type(error).__name__}: {error}"
                )
                return
            if take is not None:
                take(answer)
            else:
                self._answers.put((source, tag, answer))


_SERVERS: dict[int, _Server] = {}


def _server(world: World) -> _Server:
    """The one of this process, made when it is first asked for."""
    if id(world) not in _SERVERS:
        _SERVERS[id(world)] = made = _Server(world)
        world.answer = made.poll if world.size > 1 else None
    return _SERVERS[id(world)]


class AsyncStore(DistStore):
    """Arrays by key, each kept by one of the ranks, which applies every push of every worker to it at once.

    An optimizer has to be set before anything is pushed. Source: MXNet's KVStore of type dist_async."""

    def __init__(self, kind: str = "dist_async") -> None:
        super().__init__(kind)
        self._server = _server(self._world)
        self._tags: dict[Any, int] = {}
        (self._states_tag,) = self._world.tags([f"states of store {self._number}"], [""])
        self._server.handlers[self._states_tag] = lambda what, content: np.frombuffer(
            self._with_states("save").get_states(), np.uint8
        )

    def init(self, key: Any, value: Any) -> None:
        super().init(key, value)
        for name, _ in _pairs(key, value):
            (tag,) = self._world.tags([self._name(name)], [""])
            self._tags[name] = tag
            self._server.handlers[tag] = lambda what, content, name=name: self._serve(name, what, content)
        self._world.barrier()  # nobody asks before all can answer

    def set_optimizer(self, optimizer: opt.Optimizer) -> None:
        """Every push is a gradient from now on; all ranks have to come here."""
        super().set_optimizer(optimizer)
        self._world.barrier()

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Send the sum of values to the owner, which updates what it keeps. Raises MXNetError without an optimizer."""
        if self._updater is None:
            raise MXNetError(f"{self.type}: a push needs an optimizer; call set_optimizer (or set_updater) first")
        for name, arrays in _pairs(key, value):
            local = self._fitting(name, sum_arrays(arrays))
            if local.stype != "default":
                rows = _pack(_parts(local))
                self._ask(name, PUSH_ROWS, lambda rows=rows: rows, [], lambda answer: None, priority)
                continue
            if self._threshold is None:
                what, content = PUSH, lambda local=local: _raw(local._storage())
            else:
                what, content = PUSH_BITS, lambda local=local, name=name: self._bits(name, local)
            self._ask(name, what, content, [], lambda answer: None, priority, reads=[local])

    def _bits(self, name: Any, local: NDArray) -> np.ndarray:
        residual = self._residuals.setdefault(name, np.zeros(local.size, np.float32))
        assert self._threshold is not None
        threshold = np.array([self._threshold], np.float64).view(np.uint8)
        return np.concatenate([threshold, compress(local._storage().reshape(-1), residual, self._threshold)])

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Ask the owner for what it keeps. The arrays have it when somebody reads them."""
        if out is None:
            raise AssertionError("pull: wanted arrays in out")
        for name, arrays in _pairs(key, out):
            kept = self._of(name)
            dense = [a for a in arrays if a.stype == "default"]
            if not ignore_sparse:
                for array in arrays:
                    if array.stype != "default":
                        self._rows(name, array, np.arange(kept.shape[0]))
            if not dense:
                continue

            def take(answer: np.ndarray, kept: NDArray = kept, dense: list[NDArray] = dense) -> None:
                values = answer.view(kept._dtype).reshape(kept.shape)
                for array in dense:
                    array._storage()[...] = values

            for array in dense:
                if array.shape != kept.shape:
                    raise MXNetError(f"pull of key {name}: got an array of shape {array.shape}, wanted {kept.shape}")
                array._check_writable()
            self._ask(name, PULL, lambda: np.zeros(0, np.uint8), dense, take, priority)

    def _rows(self, name: Any, out: Any, rows: np.ndarray) -> None:
        held = self._of(name)
        SCHEDULER.wait(self._turns[name], write=True)
        what = f"pull of rows of {self._name(name)}"
        wanted = np.ascontiguousarray(rows, np.int64)
        ask = _Ask(self._world, what, self._tags[name], self._owner(name), PULL_ROWS, wanted.view(np.uint8))
        self._talk(ask)
        data = ask.answer.view(held._dtype).reshape(len(rows), *held.shape[1:])
        found = RowSparse(data, wanted, held.shape)
        if out.stype == "row_sparse":
            out.__init__(found, out.context)
        else:
            out[:] = found.todense()

    # -- asking ---------------------------------------------------------------------------------------------------------

    def _owner(self, name: Any) -> int:
        return list(self._kept).index(name) % self._world.size

    def _ask(
        self,
        name: Any,
        what: int,
        content: Callable[[], np.ndarray],
        writes: list[NDArray],
        take: Callable[[np.ndarray], None],
        priority: int,
        reads: Any = (),
    ) -> None:
        """Ask the owner when it is this key's turn; take is given the answer."""
        label = f"{'pull' if what == PULL else 'push'} of {self._name(name)}"

        def start(finish: Callable[[BaseException | None], None]) -> None:
            ask = _Ask(self._world, label, self._tags[name], self._owner(name), what, content())

            def end(error: BaseException | None) -> None:
                if error is None:
                    take(ask.answer)
                finish(error)

            ask.finish = end
            if self._world.size == 1:
                ask.answer = self._serve(name, what, ask.request[8:])
                end(None)
            else:
                self._world.start(ask, priority)

        written = [self._turns[name], *(a._shared_var() for a in writes)]
        SCHEDULER.push_elsewhere(start, [a._shared_var() for a in reads], written)

    def _talk(self, ask: _Ask) -> None:
        if self._world.size == 1:
            (name,) = (n for n, t in self._tags.items() if t == ask.tag)
            ask.answer = self._serve(name, int(ask.request[:8].view(np.int64)[0]), ask.request[8:])
        else:
            self._world.wait(ask)

    # -- answering, in the server's thread ------------------------------------------------------------------------------

    def _serve(self, name: Any, what: int, content: np.ndarray) -> np.ndarray:
        kept: Any = self._kept[name]
        if what == PULL:
            return _raw(kept.asnumpy())
        if what == PULL_ROWS:
            return _raw(rows_of_array(kept, content.view(np.int64)))
        if what == PUSH_ROWS:
            like = (
                kept._parts
                if kept.stype == "row_sparse"
                else RowSparse(_no_rows(kept), np.zeros(0, np.int64), kept.shape)
            )
            pushed: Any = from_parts(_unpack(content, like), kept.context)
        elif what == PUSH_BITS:
            (threshold,) = content[:8].view(np.float64)
            pushed = NDArray._own(expand(content[8:], kept.size, threshold).reshape(kept.shape), kept.context)
        else:
            pushed = NDArray._own(content.view(kept._dtype).reshape(kept.shape), kept.context)
        self._updater(name, pushed, kept)
        kept.wait_to_read()
        return np.zeros(0, np.uint8)

    # -- states ---------------------------------------------------------------------------------------------------------

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of all keys, which their owners are asked for, to a file. One rank may do so alone."""
        updater = self._with_states("save")
        for rank in range(self._world.size):
            if rank != self.rank:
                ask = _Ask(self._world, f"states of rank {rank}", self._states_tag, rank, STATES, np.zeros(0, np.uint8))
                self._world.wait(ask)
                found, _ = states.load(bytes(ask.answer))
                for name, state in found.items():
                    if self._owner(name) == rank:
                        updater.states[name] = state
                        updater.states_synced[name] = True
        write(fname, updater.get_states(dump_optimizer))


def _no_rows(kept: NDArray) -> np.ndarray:
    return np.zeros((0, *kept.shape[1:]), kept._dtype)


STORES.update(dict.fromkeys(ASYNC, AsyncStore))
