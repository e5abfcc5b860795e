"""Places in the scheduler: any schedule gives the serial numbers, no place starves another, errors stay where they belong."""

from __future__ import annotations

import gc
import os
import threading
import time
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hybrid as mx
from hybrid import autograd, gluon, nd
from hybrid.eager.cached_op import CachedOp
from hybrid.execution.scheduler import MOST_WORKERS, SCHEDULER, Queues, Scheduler, Task, Var
from hybrid.kvstore.base import sum_arrays

BIG = 600  # matrices of that side are too large to be multiplied at once
STEPS = st.tuples(
    st.integers(0, 4),  # place
    st.sets(st.integers(0, 4), max_size=3),  # reads
    st.sets(st.integers(0, 4), min_size=1, max_size=2),  # writes
    st.sampled_from(["fast", "slow", "fails"]),
)


@given(st.lists(STEPS, min_size=1, max_size=30), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_any_schedule_equals_the_serial_order(program: list[Any], workers: int) -> None:
    """Values, and which of them an error has reached: all that follow from what failed, and no others."""
    wanted: list[Any] = [1, 2, 3, 4, 5]
    for number, (_, reads, writes, how) in enumerate(program):
        seen = [wanted[r] for r in sorted(reads)]
        failed = next((x for x in seen if isinstance(x, str)), f"step {number}" if how == "fails" else None)
        for w in writes:
            wanted[w] = failed or sum(seen) * 7 + number
    own = Scheduler(workers)
    cells, held = [1, 2, 3, 4, 5], [Var() for _ in range(5)]

    def work(number: int, reads: set[int], writes: set[int], how: str) -> None:
        seen = sum(cells[r] for r in sorted(reads))
        if how == "slow":
            time.sleep(0.0003)
        if how == "fails":
            raise ValueError(f"step {number}")
        for w in writes:
            cells[w] = seen * 7 + number

    for number, (place, reads, writes, how) in enumerate(program):
        own.push(
            lambda n=number, r=reads, w=writes, h=how: work(n, r, w, h),
            [held[r] for r in reads],
            [held[w] for w in writes],
            0,
            place,
        )
    own.drain()
    found = [c if v.error is None else str(v.error) for c, v in zip(cells, held)]
    assert found == wanted
    assert not own._ready and not own._ready.in_use()
    own.stop()


def task(place: int) -> Task:
    return Task(lambda: None, (), (), 0, place)


def test_the_place_of_which_least_is_running_comes_next() -> None:
    queues = Queues()
    for place in (0, 0, 0, 1, 2):
        queues.put(task(place))
    taken = [queues.take() for _ in range(4)]
    assert [t.place for t in taken] == [0, 1, 2, 0]
    queues.put(task(1))
    queues.leave(taken[1])
    assert queues.take().place == 1  # 0 has two running
    assert len(queues) == 1 and queues.in_use() == 3


def test_a_task_put_back_is_the_next_of_its_place() -> None:
    queues = Queues()
    first, second = task(0), task(0)
    queues.put(first)
    queues.put(second)
    assert queues.take() is first
    queues.put_back(first)
    assert [queues.take(), queues.take()] == [first, second] and not queues


def test_no_place_waits_for_all_of_another() -> None:
    """One worker: what the second place has comes after one task of the first, not after twenty."""
    own, order, gate = Scheduler(1), [], threading.Event()
    own.push(lambda: gate.wait(20), [], [Var()], 0, 0)
    for _ in range(20):
        own.push(lambda: order.append(0), [], [Var()], 0, 0)
    own.push(lambda: order.append(1), [], [Var()], 0, 1)
    gate.set()
    own.drain()
    own.stop()
    assert order.index(1) <= 2 and len(order) == 21


def test_places_that_meet_get_a_worker_each() -> None:
    """More places than workers, each task waiting for all the others: as on as many devices."""
    count = min(8, MOST_WORKERS)
    own, meeting = Scheduler(1), threading.Barrier(count, timeout=20)
    for place in range(count):
        own.push(meeting.wait, [], [Var()], 0, place)
    deadline = time.monotonic() + 20
    while own._pending and time.monotonic() < deadline:
        time.sleep(0.001)
    own.stop()
    assert not meeting.broken and not own._failures


def test_two_contexts_compute_at_the_same_time() -> None:
    running, most, lock = set(), [0], threading.Lock()
    met = threading.Event()
    for i in range(2):

        def work(i: int = i) -> None:
            with lock:
                running.add(i)
                most[0] = max(most[0], len(running))
                if len(running) == 2:
                    met.set()
            met.wait(20)
            with lock:
                running.discard(i)

        x = nd.zeros((2,), ctx=mx.cpu(i))
        SCHEDULER.push(work, [], [x._shared_var()], 0, x.context.queue)
    nd.waitall()
    assert most[0] == 2


def test_a_hundred_places() -> None:
    """A value that goes round a hundred places, five times, with work of its own on each, comes back with the right value."""
    places = [mx.cpu(i) for i in range(100)]
    held = [nd.ones((BIG, BIG), ctx=p) for p in places]
    x = nd.zeros((BIG, BIG), ctx=places[-1])
    for _ in range(5):
        for place, own in zip(places, held):
            x = x.as_in_context(place) + own
    assert x.context == places[-1] and np.all(x.asnumpy() == 500)
    assert len(SCHEDULER._threads) <= max(SCHEDULER.workers, MOST_WORKERS)


def test_an_error_on_one_place_reaches_its_arrays_alone() -> None:
    one, two = (nd.ones((BIG, BIG), ctx=mx.cpu(i)) for i in range(2))

    def fail() -> None:
        raise RuntimeError("the first place fails")

    SCHEDULER.push(fail, [], [one._shared_var()], 0, one.context.queue)
    behind, beside = nd.dot(one, one), nd.dot(two, two)
    across = beside.as_in_context(mx.cpu(0)) + 1
    both = behind.as_in_context(mx.cpu(1)) + beside
    assert across.asnumpy()[0, 0] == BIG + 1
    for array in (behind, both):
        with pytest.raises(RuntimeError, match="the first place fails"):
            array.asnumpy()
    nd.waitall()  # it has been met
    again = nd.dot(two, two)
    SCHEDULER.push(fail, [], [one._shared_var()], 0, one.context.queue)
    with pytest.raises(RuntimeError, match="the first place fails"):
        nd.waitall()
    assert again.asnumpy()[1, 1] == BIG


def test_arrays_may_go_while_places_work() -> None:
    gate = threading.Event()
    x = nd.ones((BIG, BIG), ctx=mx.cpu(1))
    SCHEDULER.push(lambda: gate.wait(20), [], [x._shared_var()], 0, x.context.queue)
    y = nd.dot(x, x)
    z = y.as_in_context(mx.cpu(2)) * 2
    gone = weakref.ref(y)
    del x, y
    gc.collect()
    gate.set()
    assert z.asnumpy()[3, 4] == 2 * BIG
    nd.waitall()
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_while_places_work() -> None:
    """The child has what all places were computing, and places of its own."""
    held = [nd.dot(nd.ones((BIG, BIG), ctx=mx.cpu(i)), nd.ones((BIG, BIG), ctx=mx.cpu(i))) for i in range(4)]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            more = [nd.dot(x, x) for x in held]
            code = 0 if all(x.asnumpy()[0, 0] == BIG**3 for x in more) else 2
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert all(x.asnumpy()[0, 0] == BIG for x in held)


def test_each_place_holds_its_own_weights() -> None:
    """A hybridized block on two contexts with different weights: nothing is packed again for the other one."""
    net = gluon.nn.Dense(64, in_units=64)
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    net.hybridize()
    for i, array in enumerate(net.weight.list_data()):
        array[:] = i + 1
    for _ in range(2):
        for i in range(2):
            assert np.all(net(nd.ones((3, 64), ctx=mx.cpu(i))).asnumpy() == 64 * (i + 1))
    op = net._cached_op
    assert isinstance(op, CachedOp)
    programs = [op.program(False, mx.cpu(i).queue) for i in range(2)]
    assert programs[0] is not programs[1] and op.program(True, mx.cpu(0).queue) is op.program(True, mx.cpu(1).queue)
    net.weight.data(mx.cpu(1))[:] = 5
    assert [net(nd.ones((1, 64), ctx=mx.cpu(i))).asnumpy()[0, 0] for i in range(2)] == [64, 320]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("predict", [False, True])
def test_a_trainer_over_places(hybrid: bool, predict: bool) -> None:
    """A batch split over three places trains as a whole one does, also with gradients of inference."""
    data = np.random.default_rng(1).normal(size=(12, 20)).astype(np.float32)
    label = np.arange(12) % 5
    found = []
    for contexts in ([mx.cpu(0)], [mx.cpu(0), mx.cpu(7), mx.cpu(3)]):
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(16, activation="tanh", in_units=20), gluon.nn.Dense(5, in_units=16))
        net.initialize(mx.init.Constant(0.1), ctx=contexts)
        for p in net.collect_params().values():
            p.set_data(nd.array(np.random.default_rng(p.shape[0]).normal(size=p.shape)))
        if hybrid:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        for _ in range(4):
            parts = zip(gluon.utils.split_and_load(data, contexts), gluon.utils.split_and_load(label, contexts))
            with autograd.record(train_mode=not predict):
                losses = [loss(net(x), y) for x, y in parts]
            autograd.backward(losses)
            trainer.step(12)
        found.append([p.data(c).asnumpy() for p in net.collect_params().values() for c in contexts[-1:]])
    for one, other in zip(*found):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


def test_gradients_of_places_are_added_up_where_they_are() -> None:
    """Memory is taken for the sum alone: places of the CPU read what lies on others."""
    parts = [nd.full((600, 600), i + 1, ctx=mx.cpu(i)) for i in range(2)]
    nd.waitall()
    tracemalloc.start()
    total = sum_arrays(parts)
    total.wait_to_read()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total.context == mx.cpu(0) and np.all(total.asnumpy() == 3)
    assert peak < 1.5 * 600 * 600 * 4, "no copy of a part beside it"
    assert [p.asnumpy()[0, 0] for p in parts] == [1, 2]
