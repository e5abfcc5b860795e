"""The engine: any interleaving equals the serial order, errors reach the reader, and nothing runs far ahead."""

from __future__ import annotations

import gc
import multiprocessing
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hybrid as mx
from hybrid import autograd, native, nd, sym
from hybrid.core.op import Op
from hybrid.eager.cached_op import CachedOp
from hybrid.execution import scheduler
from hybrid.execution.scheduler import SCHEDULER, Scheduler, Var

BIG = 600  # matrices of that side are too large to be multiplied at once


@given(
    st.lists(
        st.tuples(
            st.sets(st.integers(0, 4), max_size=3), st.sets(st.integers(0, 4), min_size=1, max_size=2), st.booleans()
        ),
        min_size=1,
        max_size=25,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_interleaving_equals_the_serial_order(program: list[tuple[set[int], set[int], bool]]) -> None:
    def run(push) -> list[int]:
        cells = [1, 2, 3, 4, 5]

        def work(number: int, reads: set[int], writes: set[int], slow: bool):
            def task() -> None:
                seen = sum(cells[r] for r in sorted(reads))
                if slow:
                    time.sleep(0.0005)
                for w in sorted(writes):
                    cells[w] = (cells[w] * 31 + seen * 7 + number) % 1000003

            return task

        for number, (reads, writes, slow) in enumerate(program):
            push(work(number, reads, writes, slow), reads, writes)
        return cells

    serial = run(lambda task, reads, writes: task())
    own = Scheduler(3)
    held = [Var() for _ in range(5)]
    cells = run(lambda task, reads, writes: own.push(task, [held[r] for r in reads], [held[w] for w in writes]))
    own.wait_all()
    assert cells == serial
    assert all(v.writer is None and not v.readers for v in held)


def test_independent_work_runs_in_parallel() -> None:
    meeting = threading.Barrier(2, timeout=20)
    for _ in range(2):
        SCHEDULER.push(meeting.wait, [], [Var()])
    nd.waitall()  # a barrier that is not met breaks, and raises here


def test_operations_return_at_once() -> None:
    gate = threading.Event()
    x = nd.ones((BIG, BIG))
    SCHEDULER.push(lambda: gate.wait(20), [], [x._shared_var()])
    y = nd.dot(x, x)
    z = y.reshape((-1,))[:3] + 1
    assert (y.shape, y.dtype, z.shape) == ((BIG, BIG), np.float32, (3,))
    gate.set()
    assert z.asnumpy().tolist() == [BIG + 1] * 3


def test_views_and_writes_keep_their_order() -> None:
    gate = threading.Event()
    x = nd.zeros((4, 3))
    row = x[1]
    SCHEDULER.push(lambda: gate.wait(20), [], [x._shared_var()])
    before = x + 0
    row[:] = 5
    x[2:] += row
    after = x.copy()
    x[:] = -1
    gate.set()
    assert before.asnumpy().sum() == 0
    assert after.asnumpy().tolist() == [[0] * 3, [5] * 3, [5] * 3, [5] * 3]
    assert x.asnumpy().tolist() == [[-1] * 3] * 4


def test_shape_errors_raise_at_the_call() -> None:
    with pytest.raises(mx.MXNetError, match=r"dot.*600"):
        nd.dot(nd.ones((BIG, BIG)), nd.ones((BIG + 1, BIG)))


def failing() -> nd.NDArray:
    """An array of which the computation fails later."""
    data = nd.array(np.full((BIG, BIG), 7.0))
    return nd.linalg.potrf(0 - data)


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y.asnumpy(),
        lambda y: y.wait_to_read(),
        lambda y: print(y),
        lambda y: (y + 1).sum().asscalar(),
        lambda y: y[0].asnumpy(),
        lambda y: nd.waitall(),
    ],
)
def test_an_error_reaches_the_reader(read) -> None:
    y = failing()
    with pytest.raises(mx.MXNetError, match=r"_linalg_potrf.*\(600, 600\)|_linalg_potrf.*600,600|_linalg_potrf.*600"):
        read(y)
    nd.waitall()  # it was seen, so it is not told again


def test_of_several_errors_the_first_is_raised() -> None:
    """By waitall the one that happened first of those that nobody has seen; by a reader that of the first input that has one."""

    def fail(text: str):
        def task() -> None:
            raise ValueError(text)

        return task

    own = Scheduler(1)
    one, two, three, result = (Var() for _ in range(4))

    def happen(*pairs: tuple[Var, str]) -> None:
        for var, text in pairs:
            own.push(fail(text), [], [var])
            own.drain()

    happen((one, "first"), (two, "second"), (three, "third"))
    with pytest.raises(ValueError, match=r"^first$"):
        own.wait_all()
    own.wait_all()  # which leaves none of them
    happen((one, "first"), (two, "second"), (three, "third"))
    with pytest.raises(ValueError, match=r"^first$"):
        own.wait(one)
    with pytest.raises(ValueError, match=r"^second$"):
        own.wait_all()
    happen((one, "first"), (two, "second"), (three, "third"))
    own.push(lambda: None, [three, one], [result])
    with pytest.raises(ValueError, match=r"^third$"):
        own.wait(result)
    with pytest.raises(ValueError, match=r"^first$"):
        own.wait_all()
    own.stop()


def test_naive_engine_does_everything_at_once() -> None:
    assert scheduler.set_engine_type("NaiveEngine") == "ThreadedEnginePerDevice"
    try:
        x = nd.ones((BIG, BIG))
        y = nd.dot(x, x)
        assert y._memory is not None and y._var.writer is None
    finally:
        assert scheduler.set_engine_type("ThreadedEnginePerDevice") == "NaiveEngine"
    with pytest.raises(ValueError, match="FooEngine"):
        scheduler.set_engine_type("FooEngine")


def test_bulk_size() -> None:
    before = scheduler.set_bulk_size(8)
    try:
        assert scheduler.set_bulk_size(4) == 8
        with scheduler.bulk(100):
            x = nd.ones((BIG, BIG))
            for _ in range(5):
                x = x + 1
            assert x[0, 0].asscalar() == 6
        with pytest.raises(ZeroDivisionError), scheduler.bulk(100):
            raise ZeroDivisionError
        assert scheduler.set_bulk_size(before) == 4
    finally:
        scheduler.set_bulk_size(before)


def test_memory_stays_bounded_when_a_loop_runs_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "PENDING_BYTES", 8 * 4 * BIG * BIG)
    ahead = 0
    x = nd.ones((BIG, BIG))
    for _ in range(60):
        y = nd.dot(x, x)
        ahead = max(ahead, SCHEDULER._bytes)
    y.wait_to_read()
    assert ahead <= 9 * 4 * BIG * BIG
    nd.waitall()
    assert SCHEDULER._bytes == SCHEDULER._pending == 0


def forget_calls() -> None:
    """Let eager calls find out anew what to do at once and what later."""
    for op in gc.get_objects():
        if isinstance(op, Op):
            op.calls.clear()


def test_results_do_not_depend_on_who_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    def train() -> np.ndarray:
        mx.random.seed(3)
        rng = np.random.default_rng(0)
        w, x = nd.array(rng.normal(size=(40, 30))), nd.array(rng.normal(size=(20, 30)))
        w.attach_grad()
        for _ in range(4):
            with autograd.record():
                y = nd.Dropout(nd.tanh(nd.dot(x, w.T)), p=0.5)
                loss = (y * y).sum()
            loss.backward()
            w -= 0.1 * w.grad
        return w.asnumpy()

    before = native.use(None)  # large operators run on kernels, small ones on NumPy: that is another question
    inline = train()
    monkeypatch.setattr("hybrid.eager.dispatch.SMALL", -1)
    forget_calls()
    np.testing.assert_array_equal(train(), inline)
    monkeypatch.undo()
    forget_calls()
    native.use(before)


def test_random_numbers_do_not_depend_on_who_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that waits, another one, or the caller at once: numbers are decided when they are asked for, and so are those that
    come after. Everything is handed over here, as if it were large."""
    x, p = nd.array(np.arange(1, 13).reshape(3, 4)), nd.array([[0.25, 0.25, 0.5]])
    data = sym.var("x")
    dropped = CachedOp(sym.Dropout(data, p=0.5) + sym.random.uniform(shape=(3, 4)))
    looped = CachedOp(sym.contrib.foreach(lambda row, s: (sym.Dropout(row, p=0.5), s + 1), data, sym.sum(data))[0])
    calls: dict[str, Callable[[], nd.NDArray]] = {
        "from nothing": lambda: nd.random.normal(shape=(3, 4)),
        "from arrays": lambda: nd.random.gamma(x, x, shape=5),
        "dropout": lambda: nd.Dropout(x, p=0.5),
        "shuffled": lambda: nd.random.shuffle(x),
        "chosen": lambda: nd.random.multinomial(p, shape=20),
        "like": lambda: nd.random.uniform_like(x),
        "to a place": lambda: nd.random.uniform(shape=(3, 4), out=nd.zeros((3, 4))),
        "a graph": lambda: dropped(x),
        "a body": lambda: looped(x),
    }

    def drawn(call: Callable[[], nd.NDArray], who: str) -> list[np.ndarray]:
        mx.random.seed(11)
        with autograd.train_mode():
            y = call()
            if who == "other":
                until = time.monotonic() + 20
                while y._var is not None and y._var.writer is not None and time.monotonic() < until:
                    time.sleep(0.0005)
            elif who == "waiting":
                y.wait_to_read()
            after = nd.random.uniform(shape=(2,))
            second = call()
        return [a.asnumpy() for a in (y, after, second)]

    for module in ("hybrid.eager.dispatch", "hybrid.eager.cached_op"):
        monkeypatch.setattr(f"{module}.SMALL", -1)
    monkeypatch.setattr("hybrid.execution.lower.QUICK", -1)
    forget_calls()
    try:
        for name, call in calls.items():
            drawn(call, "other")  # what is called first is computed by the caller
            scheduler.set_engine_type("NaiveEngine")
            wanted = drawn(call, "waiting")
            scheduler.set_engine_type("ThreadedEngine")
            for who in ("other", "waiting", "later"):
                for got, want in zip(drawn(call, who), wanted, strict=True):
                    np.testing.assert_array_equal(got, want, f"{name}, {who}")
    finally:
        scheduler.set_engine_type("ThreadedEngine")
        monkeypatch.undo()
        forget_calls()


def _child(queue) -> None:
    x = nd.ones((BIG, BIG))
    queue.put(float(nd.dot(x, x)[0, 0].asscalar()))


def test_a_forked_child_has_an_engine_of_its_own() -> None:
    nd.dot(nd.ones((BIG, BIG)), nd.ones((BIG, BIG))).wait_to_read()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == BIG
    child.join(20)
    assert child.exitcode == 0


def _read(queue, y) -> None:
    queue.put(float(y[0, 0].asscalar()))


def test_what_was_collected_before_a_fork_is_there_in_the_child() -> None:
    x = nd.ones((BIG, BIG))
    x.wait_to_read()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with scheduler.bulk(100):
        child = context.Process(target=_read, args=(queue, nd.dot(x, x)))
        child.start()
        try:
            assert queue.get(timeout=20) == BIG
        finally:
            child.terminate()
            child.join(20)


def test_settings_of_the_engine() -> None:
    """Names of MXNet's engines; sizes of bulks from nothing on; contexts by name and number."""
    before = scheduler.set_engine_type("ThreadedEngine")
    assert before == "ThreadedEnginePerDevice" and not SCHEDULER.naive
    assert scheduler.set_engine_type("ThreadedEnginePerDevice") == "ThreadedEnginePerDevice"
    kept = SCHEDULER.bulk
    for wrong in (-1, -8):
        with pytest.raises(ValueError, match="wanted 0"):
            scheduler.set_bulk_size(wrong)
    assert SCHEDULER.bulk == kept
    try:
        for size, used in ((0, 1), (1, 1), (2, 2)):
            scheduler.set_bulk_size(size)
            assert SCHEDULER.bulk == used
            assert (nd.ones((BIG, 2)) + 1).sum().asscalar() == 4 * BIG
    finally:
        scheduler.set_bulk_size(kept)
    one = mx.Context("cpu_pinned", 2)
    assert mx.Context(one) == one and mx.Context(one, 7).device_id == 2 and hash(mx.Context(one)) == hash(one)
    assert (mx.cpu(1), mx.cpu_pinned(1), mx.cpu_pinned()) == (
        mx.Context("cpu", 1),
        mx.Context("cpu_pinned", 1),
        mx.Context("cpu_pinned"),
    )
    assert mx.cpu(1) != mx.cpu(2) and mx.cpu(1) != mx.cpu_pinned(1) and mx.cpu(1) != "cpu(1)" and mx.cpu(1) != (1, 1)
    assert nd._internal._zeros(shape=(1,), ctx="cpu(3)").context == mx.cpu(3)
    for wrong in ("tpu(0)", "cpu", "cpu(x)", 3):
        with pytest.raises(TypeError, match="Context type error"):
            nd.zeros((1,), ctx=wrong)
    with pytest.raises(mx.MXNetError, match="runs on CPUs only"):
        nd.zeros((1,), ctx="gpu(0)")
