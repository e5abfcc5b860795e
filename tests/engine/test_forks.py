"""Processes that are forked when the engine has worked, or works in other threads: what GluonNLP's loaders are made of."""

import io
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.core import forking
from hybrid.execution.scheduler import SCHEDULER
from hybrid.gluon.data.dataloader import ForkingPickler, default_mp_batchify_fn

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
_manager: Any = None
_kept: list[Any] = []


def in_child(run: Callable[[], None]) -> None:
    """Run in a forked process, which must end within seconds, and without an error."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            run()
            code = 0
        finally:
            os._exit(code)
    for _ in range(1000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("the forked process hangs")


def prepare(manager: Any) -> None:
    global _manager
    _manager = manager


def make_dataset(number: int) -> Any:
    """A data set of computed arrays, in the manager's process, which forgets what nobody keeps."""
    data = mx.nd.ones((6, 300)) * number
    _kept.append(_manager.list(zip(data + 1, [mx.nd.array([i]) for i in range(6)])))
    return _kept[-1]


def make_batch(indices: list[int], dataset: Any, counter: Any) -> tuple[bytes, Any]:
    made = default_mp_batchify_fn([dataset[i] for i in indices])
    buffer = io.BytesIO()
    ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(made)
    return buffer.getvalue(), counter


def test_pools_and_a_manager_pass_arrays_on() -> None:
    """As GluonNLP's DatasetLoader: one pool makes data sets, a manager's process holds them, another pool makes batches of them."""
    mx.nd.dot(
        mx.nd.ones((300, 300)), mx.nd.ones((300, 300))
    ).sum()  # not awaited: the engine works while processes are forked
    context = multiprocessing.get_context("fork")
    with (
        context.Manager() as manager,
        context.Pool(2, initializer=prepare, initargs=[manager]) as makers,
        context.Pool(2) as workers,
    ):
        datasets = [makers.apply_async(make_dataset, (n,)) for n in range(2)]
        counter = manager.Value("i", 0)
        batches = [
            workers.apply_async(make_batch, (indices, dataset.get(60), counter))
            for dataset in datasets
            for indices in ([0, 1, 2, 3], [4, 5])
        ]
        for i, batch in enumerate(batches):
            data, labels = pickle.loads(batch.get(60)[0])
            size = (4, 2)[i % 2]
            assert data.shape == (size, 300) and (data.asnumpy() == i // 2 + 1).all()
            assert labels.asnumpy().ravel().tolist() == [[0, 1, 2, 3], [4, 5]][i % 2]


def test_iterators_of_arrays_can_be_pickled() -> None:
    x = mx.nd.array([[1, 2], [3, 4]])
    rows = pickle.loads(pickle.dumps(zip(x, x + 1)))
    assert [(a.asnumpy().tolist(), b.asnumpy().tolist()) for a, b in rows] == [([1, 2], [2, 3]), ([3, 4], [4, 5])]


def test_what_another_thread_hands_over_is_done_before_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between the end of the waiting and the fork."""
    made: list[mx.nd.NDArray] = []
    drain = SCHEDULER.drain

    def late() -> None:
        drain()
        if not made:
            x = mx.nd.ones((400, 400))
            made.append(mx.nd.dot(x, x))

    monkeypatch.setattr(SCHEDULER, "drain", late)
    in_child(lambda: np.testing.assert_array_equal(made[0].asnumpy(), 400))
    assert made[0].asnumpy().sum() == 400.0**3


@pytest.mark.parametrize("kind", ["lock", "rlock", "cached_property"])
def test_locks_that_other_threads_hold_are_free_in_a_forked_process(kind: str) -> None:
    held, over = threading.Event(), threading.Event()

    class Slow:
        @forking.cached_property
        def value(self) -> int:
            if threading.current_thread() is not threading.main_thread():
                held.set()
                over.wait(60)
            return 3

    guard = forking.lock() if kind == "lock" else forking.rlock()

    def hold() -> None:
        if kind == "cached_property":
            Slow().value  # noqa: B018  computing it is the point
            return
        with guard:
            held.set()
            over.wait(60)

    def use() -> None:
        if kind == "cached_property":
            assert Slow().value == 3
        else:
            assert guard.acquire(timeout=5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        in_child(use)
    finally:
        over.set()
        thread.join()
